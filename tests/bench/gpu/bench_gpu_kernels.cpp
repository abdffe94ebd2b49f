// Every plan that a kernel has for random layouts: what it is estimated to take, what it takes, and what planning
// takes, in microseconds. Rows of JSON, one a line. They show where the choice of plan_kernel loses, what each kernel
// is worth (kernels.py), and what the constants of its costs should be.
//
//     bench_gpu_kernels [LAYOUTS [SEED [LARGEST]]]     LARGEST in bytes
//     bench_gpu_kernels - < FILE                       a line each: see read_layout
//     bench_gpu_kernels push|pull ...                  the same between two devices: dst, or src, is on the second
//     bench_gpu_kernels [push|pull] scatter ...        dst has the layout, and src is dense
//
// Random layouts are of the same kind as those of layouts_gpu.py. Made of the library's objects, to reach the planners.
#include "bench_gpu.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <numeric>
#include <random>
#include <sstream>

#include "copy/normalise.hpp"
#include "copy/plan.hpp"
#include "core/base/text_buffer.hpp"
#include "cuda/launch/kernel_cost.hpp"
#include "cuda/launch/kernel_plan_box.hpp"
#include "cuda/launch/kernel_plan_elements.hpp"
#include "cuda/launch/kernel_plan_tiles.hpp"
#include "cuda/launch/module.hpp"

using namespace bench;

namespace {

using via::cuda::KernelPlan;
using via::cuda::Shape;
using via::kernels::Id;

constexpr int64_t kSourceBytes = int64_t{6} << 30;
constexpr int32_t kTurns = 5;
constexpr int32_t kLaunches = 3;

// One side of a copy; the other one is dense.
struct Layout {
    int64_t item;
    std::vector<int64_t> shape;
    std::vector<int64_t> strides;  // in elements, as the next one
    int64_t offset;
};

int64_t count_of(const std::vector<int64_t> &extents) {
    return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

int64_t bytes_of(const Layout &layout) { return count_of(layout.shape) * layout.item; }

int64_t span_of(const Layout &layout) {
    int64_t last = layout.offset;
    for (size_t i = 0; i < layout.shape.size(); ++i) {
        last += (layout.shape[i] - 1) * layout.strides[i];
    }
    return (last + 1) * layout.item;
}

bool fits(const Layout &layout, int64_t largest) {
    return span_of(layout) <= std::min(kSourceBytes, 24 * largest) && bytes_of(layout) <= 2 * largest;
}

// Reads a layout as a line of numbers: the item's bytes, the number of axes, extents, strides, and the offset.
bool read_layout(const std::string &line, Layout *out_layout) {
    std::istringstream numbers(line);
    size_t ndim = 0;
    numbers >> out_layout->item >> ndim;
    for (auto *list : {&out_layout->shape, &out_layout->strides}) {
        list->resize(ndim);
        for (int64_t &number : *list) {
            numbers >> number;
        }
    }
    numbers >> out_layout->offset;
    return static_cast<bool>(numbers);
}

class Population {
public:
    Population(uint32_t seed, int64_t largest) : random_(seed), largest_(largest) {}

    // Layouts that fit the memory.
    Layout next() {
        Layout layout = any();
        while (!fits(layout, largest_)) {
            layout = any();
        }
        return layout;
    }

private:
    double part() { return std::uniform_real_distribution<>()(random_); }
    int64_t choose(std::initializer_list<int64_t> of) {
        return of.begin()[std::uniform_int_distribution<size_t>(0, of.size() - 1)(random_)];
    }

    // Draws memory whose axes have steps and gaps, and permutes its axes.
    Layout any() {
        const int64_t item = choose({1, 2, 2, 4, 4, 8, 16});
        const auto ndim = static_cast<size_t>(choose({2, 3, 3, 4, 4, 5}));
        const int64_t target = std::min(choose({1 << 20, 1 << 24, 1 << 26, 1 << 28}), largest_);
        std::vector<double> weights(ndim);
        std::generate(weights.begin(), weights.end(), [this] { return part() + 0.05; });
        const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
        const double whole = std::log(static_cast<double>(target / item)) / all;
        std::vector<int64_t> extents;
        std::vector<int64_t> steps;
        for (const double weight : weights) {
            extents.push_back(
                std::max<int64_t>(static_cast<int64_t>(std::exp(whole * weight)) + choose({0, 0, 1, 3}), 1));
            steps.push_back(part() < 0.3 ? choose({1, 1, 2, 3}) : 1);
        }
        extents.back() = part() < 0.3 ? choose({2, 3, 4, 5, 7}) : extents.back();
        std::vector<int64_t> strides(ndim);
        int64_t stride = 1;
        for (size_t i = ndim; i-- > 0;) {
            strides[i] = stride * steps[i];
            stride *= extents[i] * steps[i] + choose({0, 0, 5});
        }
        std::vector<size_t> axes(ndim);
        std::iota(axes.begin(), axes.end(), size_t{0});
        std::shuffle(axes.begin(), axes.end(), random_);
        Layout layout{item, {}, {}, 0};
        for (const size_t axis : axes) {
            layout.shape.push_back(extents[axis]);
            layout.strides.push_back(strides[axis]);
        }
        return layout;
    }

    std::mt19937 random_;
    int64_t largest_;
};

int32_t device_of(CUdeviceptr memory) {
    int32_t device = 0;
    cu_ok(cu(cuPointerGetAttribute)(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory));
    return device;
}

// An array of raw device memory.
class Wrapped {
public:
    Wrapped(CUdeviceptr memory, int64_t item, const std::vector<int64_t> &shape, const std::vector<int64_t> &strides) {
        const int32_t dtype = item == 1   ? VIA_UINT8
                              : item == 2 ? VIA_INT16
                              : item == 4 ? VIA_FLOAT32
                              : item == 8 ? VIA_FLOAT64
                                          : VIA_COMPLEX128;
        check(via_wrap(reinterpret_cast<void *>(memory), dtype, static_cast<int32_t>(shape.size()), shape.data(),
                       strides.empty() ? nullptr : strides.data(), VIA_DEVICE_CUDA, device_of(memory), 0, nullptr,
                       nullptr, &array_));
    }
    ~Wrapped() { via_array_release(array_); }
    Wrapped(const Wrapped &) = delete;
    Wrapped &operator=(const Wrapped &) = delete;
    via_array *get() const { return array_; }

private:
    via_array *array_ = nullptr;
};

// The memory of both sides, of which at most one is on the second device.
struct Memory {
    CUdeviceptr dst;
    CUdeviceptr src;
    via::cuda::FarSide far_side;
    bool scatters;  // dst has the layout
};

// Returns false if nothing is left to loop over.
bool find_shape(const Layout &layout, const Memory &memory, Shape *out_shape) {
    const std::vector<int64_t> dense;
    const auto offset = static_cast<CUdeviceptr>(layout.offset * layout.item);
    const Wrapped to(memory.dst + (memory.scatters ? offset : 0), layout.item, layout.shape,
                     memory.scatters ? layout.strides : dense);
    const Wrapped from(memory.src + (memory.scatters ? 0 : offset), layout.item, layout.shape,
                       memory.scatters ? dense : layout.strides);
    via::Plan plan;
    check(via::normalise_copy(to.get(), from.get(), &plan));
    via::cuda::Transfer transfer{plan.dst, plan.src, plan.nbytes, {}, {}};
    transfer.run = plan.run;
    transfer.ndim = plan.ndim;
    transfer.axes = plan.axes;
    via::cuda::find_shape(transfer, out_shape);
    out_shape->far_side = memory.far_side;
    return plan.ndim > 0;
}

struct Candidate {
    std::string name;
    KernelPlan plan;
    std::vector<double> taken;
};

std::string text_of(const KernelPlan &plan) {
    char text[200];
    via::TextBuffer words(text, sizeof text);
    via::cuda::describe_kernel(plan, &words);
    return text;
}

std::vector<Candidate> candidates_of(const Shape &shape) {
    std::vector<Candidate> found;
    KernelPlan plan;
    if (shape.far_side == via::cuda::FarSide::Dst) {
        via::cuda::plan_elements(shape, &plan);
        found.push_back({"elements all", plan, {}});
    }
    for (int32_t axis = -1; axis < shape.ndim; ++axis) {
        if (via::cuda::plan_elements_along(shape, axis, via::cuda::kThreadsWanted, &plan)) {
            found.push_back({"elements " + std::to_string(axis), plan, {}});
        }
    }
    const std::pair<const char *, bool (*)(const Shape &, KernelPlan *)> families[] = {
        {"rows", via::cuda::plan_rows}, {"channels", via::cuda::plan_channels}, {"tiles", via::cuda::plan_tiles}};
    for (const auto &[name, make] : families) {
        if (make(shape, &plan)) {
            const bool is_loose = plan.kernel >= Id::via_tile_loose_1 && plan.kernel <= Id::via_tile_loose_8;
            found.push_back({is_loose ? "loose tiles" : name, plan, {}});
        }
    }
    for (const via::cuda::BoxKind &kind : via::cuda::kBoxKinds) {
        if (via::cuda::plan_box(shape, INFINITY, &plan, {&kind, 1})) {
            const std::string name =
                "box " + std::to_string(kind.dst) + ":" + std::to_string(kind.src) + "/" + std::to_string(kind.part);
            found.push_back({name, plan, {}});
        }
    }
    return found;
}

class Stream {
public:
    Stream() {
        cu_ok(cu(cuStreamCreate)(&native_, CU_STREAM_NON_BLOCKING));
        check(via_stream_wrap(native_, 0, &stream_));
        check(via::cuda::resolve(stream_, 0, &resolved_));
        check(via::cuda::load_kernels(resolved_));
        cu_ok(cu(cuEventCreate)(&first_, CU_EVENT_DEFAULT));
        cu_ok(cu(cuEventCreate)(&last_, CU_EVENT_DEFAULT));
    }

    // Microseconds of the stream for a launch.
    double time(const KernelPlan &plan) {
        cu_ok(cu(cuEventRecord)(first_, native_));
        for (int32_t i = 0; i < kLaunches; ++i) {
            check(via::cuda::launch(plan.kernel, plan.blocks, &plan.params, resolved_));
        }
        cu_ok(cu(cuEventRecord)(last_, native_));
        cu_ok(cu(cuEventSynchronize)(last_));
        float milliseconds = 0;
        cu_ok(cu(cuEventElapsedTime)(&milliseconds, first_, last_));
        return static_cast<double>(milliseconds) * 1e3 / kLaunches;
    }

private:
    CUstream native_ = nullptr;
    via_stream *stream_ = nullptr;
    CUevent first_ = nullptr;
    CUevent last_ = nullptr;
    via::ResolvedStream resolved_{};
};

std::string listed(const std::vector<int64_t> &values) {
    std::string text;
    for (const int64_t value : values) {
        text += (text.empty() ? "" : ", ") + std::to_string(value);
    }
    return "[" + text + "]";
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<int64_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

CUdeviceptr memory_on(CUcontext context, int64_t nbytes) {
    cu_ok(cu(cuCtxSetCurrent)(context));
    return device_memory(nbytes);
}

Memory make_memory(const std::string &ends, bool scatters, int64_t largest) {
    const CUcontext own = primary_context(0);
    const bool pushes = ends == "push";
    const bool pulls = ends == "pull";
    const CUcontext other = pushes || pulls ? primary_context(1) : own;
    Memory memory{};
    memory.scatters = scatters;
    memory.src = memory_on(pulls ? other : own, scatters ? 2 * largest : std::min(kSourceBytes, 24 * largest));
    memory.dst = memory_on(pushes ? other : own, scatters ? std::min(kSourceBytes, 24 * largest) : 2 * largest);
    memory.far_side = pushes ? via::cuda::FarSide::Dst : pulls ? via::cuda::FarSide::Src : via::cuda::FarSide::None;
    cu_ok(cu(cuCtxSetCurrent)(own));
    if (other != own) {
        cu_ok(cu(cuCtxEnablePeerAccess)(other, 0));
    }
    return memory;
}

void show(const Layout &layout, const Shape &shape, const std::vector<Candidate> &candidates, const KernelPlan &chosen,
          double planned) {
    std::printf(
        R"({"item": %lld, "shape": %s, "strides": %s, "nbytes": %lld, "chosen": "%s", "planned": %.3g, "plans": [)",
        static_cast<long long>(layout.item), listed(layout.shape).c_str(), listed(layout.strides).c_str(),
        static_cast<long long>(shape.nbytes), text_of(chosen).c_str(), planned);
    for (size_t i = 0; i < candidates.size(); ++i) {
        const Candidate &each = candidates[i];
        std::printf(R"(%s{"name": "%s", "us": %.5g, "estimate": %.5g, "text": "%s"})", i == 0 ? "" : ", ",
                    each.name.c_str(), median(each.taken), via::cuda::cost_across_link(shape, each.plan),
                    text_of(each.plan).c_str());
    }
    std::printf("]}\n");
}

void measure(const Layout &layout, const Memory &memory, Stream *stream) {
    Shape shape;
    if (!find_shape(layout, memory, &shape)) {
        return;
    }
    KernelPlan chosen;
    const auto begin = std::chrono::steady_clock::now();
    via::cuda::plan_kernel_of(shape, &chosen);
    const std::chrono::duration<double, std::micro> planned = std::chrono::steady_clock::now() - begin;
    std::vector<Candidate> candidates = candidates_of(shape);
    candidates.push_back({"chosen", chosen, {}});
    for (int32_t turn = 0; turn < kTurns; ++turn) {
        for (Candidate &each : candidates) {
            each.taken.push_back(stream->time(each.plan));
        }
    }
    show(layout, shape, candidates, chosen, planned.count());
}

}  // namespace

int main(int count, char **arguments) {
    const auto take = [&](const char *word) {
        const bool is_next = count > 1 && std::string(arguments[1]) == word;
        count -= is_next ? 1 : 0;
        arguments += is_next ? 1 : 0;
        return is_next;
    };
    const std::string ends = take("push") ? "push" : take("pull") ? "pull" : "";
    const bool scatters = take("scatter");
    const bool reads = count > 1 && std::string(arguments[1]) == "-";
    const int layouts = count > 1 && !reads ? std::atoi(arguments[1]) : 100;
    const int seed = count > 2 ? std::atoi(arguments[2]) : 1;
    const int64_t largest = count > 3 ? std::atoll(arguments[3]) : int64_t{256} << 20;
    const Memory memory = make_memory(ends, scatters, largest);
    Stream stream;
    Population population(static_cast<uint32_t>(seed), largest);
    for (int i = 0; i < layouts && !reads; ++i) {
        measure(population.next(), memory, &stream);
    }
    for (std::string line; reads && std::getline(std::cin, line);) {
        Layout layout;
        if (!read_layout(line, &layout) || !fits(layout, largest)) {
            std::fprintf(stderr, "left out: %s\n", line.c_str());
            continue;
        }
        measure(layout, memory, &stream);
    }
    return 0;
}
