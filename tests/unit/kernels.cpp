// The kernels of strided copies, compiled for the host: whatever plan there is for a copy does what a naive one does,
// writes nothing else, and reads nothing but the source.
#include "kernel_bounds.hpp"

#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "copy/normalise.hpp"
#include "copy/plan.hpp"
#include "core/base/text_buffer.hpp"
#include "cuda/launch/kernel_plan.hpp"
#include "cuda/launch/kernel_plan_box.hpp"
#include "cuda/launch/kernel_plan_elements.hpp"
#include "cuda/launch/kernel_plan_tiles.hpp"

namespace {

using via::cuda::KernelPlan;
using via::cuda::Shape;
using via::kernels::Id;

// ------------------------------------------------------------------------------------------------ launches

constexpr auto kKernels = static_cast<size_t>(Id::count);

template <class Kernel>
void run_kernel(const KernelPlan &plan, bool backwards) {
    typename Kernel::Params params;
    std::memcpy(static_cast<void *>(&params), &plan.params, sizeof params);
    const auto shared = std::make_unique<typename Kernel::Shared>();
    for (uint32_t block = 0; block < plan.blocks; ++block) {
        Kernel::run(params, *shared, block, via::kernels::Threads{Kernel::kThreads, backwards});
    }
}

using Runner = void (*)(const KernelPlan &, bool);

constexpr std::array<Runner, kKernels> kRunners = [] {
    using namespace via::kernels;
    return std::array<Runner, kKernels>{
#define VIA_RUNNER(name, ...) run_kernel<__VA_ARGS__>,
        VIA_ALL_KERNELS(VIA_RUNNER)
#undef VIA_RUNNER
    };
}();

std::array<int, kKernels> launches;

void run_plan(const KernelPlan &plan, bool backwards) {
    const auto number = static_cast<size_t>(plan.kernel);
    ++launches[number];
    kRunners[number](plan, backwards);
}

// ------------------------------------------------------------------------------------------------ copies

// Memory for one layout, which begins at an address of any alignment and ends where the layout does.
struct Memory {
    Memory(Random *random, const TestLayout &layout, int64_t alignment)
        : shift(static_cast<size_t>(random->between(0, 63) / alignment * alignment)),
          start(shift - static_cast<size_t>(layout.low)),
          count(static_cast<size_t>(layout.high - layout.low)),
          bytes(count + shift + 64) {
        random->fill(&bytes);
    }
    char *data() { return bytes.data() + start; }
    Bounds bounds() const {
        const auto low = reinterpret_cast<uint64_t>(bytes.data() + shift);
        return {low, low + count};
    }
    size_t shift;
    size_t start;
    size_t count;
    std::vector<char> bytes;
};

struct Copy {
    Copy(Random *random, std::vector<int64_t> extents, int64_t bytes, TestLayout dst_layout, TestLayout src_layout,
         int64_t alignment)
        : shape(std::move(extents)),
          item(bytes),
          to(std::move(dst_layout)),
          from(std::move(src_layout)),
          dst(random, to, alignment),
          src(random, from, alignment),
          before(dst.bytes),
          expected(dst.bytes) {
        naive_copy(expected.data() + dst.start, src.data(), shape, to.steps, from.steps, item);
    }

    std::vector<int64_t> shape;
    int64_t item;
    TestLayout to;
    TestLayout from;
    Memory dst;
    Memory src;
    std::vector<char> before;
    std::vector<char> expected;
};

// Plans are made for memory further on, and moved: they depend on addresses within a sector alone.
constexpr uint64_t kDstAway = 7 * via::cuda::kPlanAlignment;
constexpr uint64_t kSrcAway = 3 * via::cuda::kPlanAlignment;

void check_plan(Copy *copy, const KernelPlan &made) {
    KernelPlan plan = made;
    via::cuda::move_plan(0 - kDstAway, 0 - kSrcAway, &plan);
    reachable = {{copy->src.bounds(), copy->dst.bounds()}};
    for (const bool backwards : {false, true}) {
        std::copy(copy->before.begin(), copy->before.end(), copy->dst.bytes.begin());
        run_plan(plan, backwards);
        if (copy->dst.bytes != copy->expected) {
            char text[200];
            via::TextBuffer words(text, sizeof text);
            via::cuda::describe_kernel(plan, &words);
            print_error("%s\n", text);
            assert_true(false);
        }
    }
}

bool find_shape(Copy *copy, Shape *shape) {
    const Wrapped dst(copy->dst.data(), dtype_of_size(copy->item), copy->shape, copy->to.steps);
    const Wrapped src(copy->src.data(), dtype_of_size(copy->item), copy->shape, copy->from.steps);
    via::Plan plan;
    assert_int_equal(via::normalise_copy(dst.get(), src.get(), &plan), VIA_OK);
    via::cuda::Transfer transfer{plan.dst, plan.src, plan.nbytes, {}, {}};
    transfer.run = plan.run;
    transfer.ndim = plan.ndim;
    transfer.axes = plan.axes;
    via::cuda::find_shape(transfer, shape);
    shape->dst += kDstAway;
    shape->src += kSrcAway;
    shape->extent.low += kSrcAway;
    return plan.ndim > 0;
}

// One kind after the other: what a copy leaves out, the next ones have.
void check_boxes(Copy *copy, const Shape &shape) {
    static size_t next = 0;
    KernelPlan plan;
    const via::cuda::BoxKind &kind = via::cuda::kBoxKinds[next++ % std::size(via::cuda::kBoxKinds)];
    if (via::cuda::plan_box(shape, INFINITY, &plan, {&kind, 1})) {
        assert_true(plan.cost > 0);
        check_plan(copy, plan);
    }
}

// In every way that there is a plan for.
void check_copy(Copy *copy) {
    Shape shape;
    if (!find_shape(copy, &shape)) {
        return;
    }
    KernelPlan plan;
    Shape across = shape;
    across.far_side = via::cuda::FarSide::Dst;
    via::cuda::plan_elements(across, &plan);
    check_plan(copy, plan);
    for (int32_t axis = -1; axis < shape.ndim; ++axis) {
        const int64_t threads = axis % 2 == 0 ? via::cuda::kThreadsWanted : 1;
        if (via::cuda::plan_elements_along(shape, axis, threads, &plan)) {
            check_plan(copy, plan);
        }
    }
    for (auto *make : {via::cuda::plan_rows, via::cuda::plan_channels, via::cuda::plan_tiles}) {
        if (make(shape, &plan)) {
            check_plan(copy, plan);
        }
    }
    Shape large = shape;
    large.nbytes = int64_t{1} << 30;  // large copies have a kernel of their own
    if (shape.element == 4 && via::cuda::plan_tiles(large, &plan)) {
        check_plan(copy, plan);
    }
    check_boxes(copy, shape);
}

// Threads run one after the other here.
const int kCopies = REPEATS(2000);

constexpr int64_t kItems[] = {1, 2, 3, 4, 5, 6, 8, 12, 16, 20, 24, 32, 48, 100};

std::vector<int64_t> random_shape(Random *random, int64_t most, int64_t longest) {
    std::vector<int64_t> shape;
    int64_t size = 1;
    for (int64_t ndim = random->between(1, 5); ndim > 0; --ndim) {
        const int64_t room = std::max<int64_t>(most / size, 1);
        shape.push_back(random->chance(6) ? 1 : random->between(1, std::min(room, longest)));
        size *= shape.back();
    }
    return shape;
}

void copies_between_random_layouts_equal_naive_ones(void **) {
    Random random(1);
    for (int i = 0; i < kCopies; ++i) {
        const int64_t item = kItems[random.between(0, std::size(kItems) - 1)];
        const std::vector<int64_t> shape = random_shape(&random, 6000, 80);
        // One after the other: compilers differ in which argument they evaluate first, and so in what is sampled.
        const TestLayout from = random_layout(&random, shape, item, true);
        const TestLayout to = random_layout(&random, shape, item, false);
        Copy copy(&random, shape, item, to, from, 1);
        check_copy(&copy);
    }
}

// Axes in the order given, the last one innermost; rows, if there is a pad, being so many bytes further apart.
TestLayout layout_of(const std::vector<int64_t> &shape, const std::vector<size_t> &order, int64_t item, int64_t pad) {
    TestLayout layout;
    layout.steps.resize(shape.size());
    int64_t unit = item;
    for (size_t i = order.size(); i-- > 0;) {
        layout.steps[order[i]] = unit;
        unit = unit * shape[order[i]] + (i + 1 == order.size() ? pad : 0);
    }
    measure_layout(shape, item, &layout);
    return layout;
}

std::vector<size_t> random_order(Random *random, size_t count) {
    std::vector<size_t> order(count);
    for (size_t i = 0; i < count; ++i) {
        order[i] = i;
        std::swap(order[i], order[static_cast<size_t>(random->between(0, static_cast<int64_t>(i)))]);
    }
    return order;
}

void check_permuted(Random *random, const std::vector<int64_t> &shape, int64_t item, int64_t alignment) {
    const int64_t pad = random->chance(3) ? random->between(1, 40) / alignment * alignment : 0;
    Copy copy(random, shape, item, layout_of(shape, random_order(random, shape.size()), item, pad),
              layout_of(shape, random_order(random, shape.size()), item, pad), alignment);
    check_copy(&copy);
}

void permutes_of_dense_arrays_equal_naive_ones(void **) {
    Random random(2);
    for (int i = 0; i < kCopies / 2; ++i) {
        const int64_t item = kItems[random.between(0, std::size(kItems) - 1)];
        const int64_t alignment = random.chance(2) ? 16 : 1;
        std::vector<int64_t> shape = random_shape(&random, 20000, 300);
        if (alignment == 16) {
            for (int64_t &extent : shape) {
                extent = extent > 4 ? extent / 4 * 4 : extent;
            }
        }
        check_permuted(&random, shape, item, alignment);
    }
}

// Past a tile's ends on all sides.
void transposes_larger_than_a_tile_equal_naive_ones(void **) {
    Random random(3);
    for (const int64_t item : {1, 2, 4, 8, 16, 3, 12}) {
        for (int i = 0; i < QUICK_OR(2, 4); ++i) {
            const std::vector<int64_t> shape = {random.between(1, 3), random.between(100, 400),
                                                random.between(100, 400)};
            const int64_t whole = i % 2 == 0 ? 16 : 1;
            const std::vector<int64_t> rounded = {shape[0], (shape[1] + whole - 1) / whole * whole,
                                                  (shape[2] + whole - 1) / whole * whole};
            Copy copy(&random, rounded, item, layout_of(rounded, {0, 1, 2}, item, 0),
                      layout_of(rounded, {0, 2, 1}, item, 0), whole);
            check_copy(&copy);
        }
    }
}

// Tiles that have whole rows of dst store them as one run, wherever it begins.
void transposes_to_short_rows_equal_naive_ones(void **) {
    Random random(10);
    int joined = 0;
    for (int i = 0; i < QUICK_OR(16, 60); ++i) {
        const int64_t item = random.between(1, 2);
        const std::vector<int64_t> shape = {random.between(1, 3), random.between(40, 400),
                                            random.between(16, 95) / item};
        Copy copy(&random, shape, item, layout_of(shape, {0, 1, 2}, item, 0),
                  layout_of(shape, {0, 2, 1}, item, item * random.between(0, 5)), item);
        Shape planned;
        KernelPlan plan;
        assert_true(find_shape(&copy, &planned));
        if (via::cuda::plan_tiles(planned, &plan)) {
            joined += plan.params.tile.joined.divisor == shape[2] ? 1 : 0;
            check_plan(&copy, plan);
        }
    }
    assert_true(joined >= QUICK_OR(8, 30));
}

// Of every second to fifth byte, in either direction: tiles drop those between, and read nothing behind the last.
void transposes_of_strided_bytes_equal_naive_ones(void **) {
    Random random(9);
    for (const int64_t step : {-4, -3, -2, 2, 3, 4, 5}) {
        for (int i = 0; i < QUICK_OR(2, 6); ++i) {
            const std::vector<int64_t> shape = {random.between(1, 3), random.between(20, 400), random.between(20, 400)};
            TestLayout from = layout_of(shape, {0, 2, 1}, 1, 0);
            const int64_t row = shape[1] * std::abs(step) + (random.chance(2) ? 0 : random.between(0, 9));
            from.steps = {row * shape[2], step, row};
            measure_layout(shape, 1, &from);
            Copy copy(&random, shape, 1, layout_of(shape, {0, 1, 2}, 1, random.between(0, 5)), from, 1);
            Shape planned;
            KernelPlan plan;
            assert_true(find_shape(&copy, &planned));
            const bool is_tiled = via::cuda::plan_tiles(planned, &plan);
            assert_true(!is_tiled || plan.params.tile.b_pitch == static_cast<uint32_t>(std::abs(step)) || step == 5);
            check_copy(&copy);
        }
    }
}

constexpr size_t kPlanes[] = {0, 1, 2};
constexpr size_t kPixels[] = {0, 2, 1};

std::vector<size_t> order_of(const size_t (&axes)[3]) { return {std::begin(axes), std::end(axes)}; }

// Planes, or images, have gaps behind them in either array.
void check_channels(Random *random, int64_t item, int64_t channels, int64_t pixels, int64_t alignment) {
    const std::vector<int64_t> shape = {random->between(1, 3), channels, pixels};
    const auto gap = [&] { return random->between(0, 40) / alignment * alignment; };
    const TestLayout planes = layout_of(shape, order_of(kPlanes), item, gap());
    Copy first(random, shape, item, layout_of(shape, order_of(kPixels), item, 0), planes, alignment);
    check_copy(&first);
    Copy second(random, shape, item, layout_of(shape, order_of(kPlanes), item, gap()),
                layout_of(shape, order_of(kPixels), item, 0), alignment);
    check_copy(&second);
}

void channels_joined_and_split_equal_naive_ones(void **) {
    Random random(4);
    const int64_t part = QUICK_OR(4, 1);
    for (const int64_t item : {1, 2, 4, 8}) {
        for (const int64_t channels : {2, 3, 4, 5, 8, 15}) {
            check_channels(&random, item, channels, random.between(100, 9000 / part), 1);
            check_channels(&random, item, channels, random.between(5000 / part, 9000 / part) / item, item);
            check_channels(&random, item, channels, random.between(100 / part, 600 / part) * 16, 16);
        }
    }
}

// Some of the channels that a pixel has, forwards and backwards, in rows with gaps.
void some_channels_of_pixels_equal_naive_ones(void **) {
    Random random(8);
    for (int i = 0; i < QUICK_OR(30, 200); ++i) {
        const int64_t item = int64_t{1} << random.between(0, 2);
        const int64_t channels = random.between(2, 4);
        const int64_t whole = random.chance(2) ? 16 : 1;
        const std::vector<int64_t> shape = {random.between(1, 3), random.between(1, channels),
                                            random.between(600, 5000) / whole * whole};
        const int64_t route = random.chance(3) ? -1 : 1;
        TestLayout from = layout_of(shape, order_of(kPixels), item, 0);
        from.steps = {item * (shape[2] * channels + random.between(0, 9)), route * item, item * channels};
        measure_layout(shape, item, &from);
        Copy copy(&random, shape, item, layout_of(shape, order_of(kPlanes), item, random.between(0, 2) * whole), from,
                  whole);
        check_copy(&copy);
    }
}

void strided_bytes_equal_naive_ones(void **) {
    Random random(7);
    for (const int64_t step : {-8, -3, -2, -1, 2, 3, 5, 8}) {
        const std::vector<int64_t> shape = {random.between(1, 3), random.between(1024, 9000)};
        TestLayout from = layout_of(shape, {0, 1}, 1, 0);
        from.steps = {shape[1] * std::abs(step) + random.between(0, 5), step};
        measure_layout(shape, 1, &from);
        Copy copy(&random, shape, 1, layout_of(shape, {0, 1}, 1, random.between(0, 5)), from, 1);
        check_copy(&copy);
    }
}

// The kernel of wide rows, which only more than 2^31 sixteens ask for: as many are said to be there, and the launch is
// cut down to those that are.
void check_wide(Copy *copy, const Shape &shape) {
    constexpr int64_t kMany = int64_t{1} << 40;
    Shape larger = shape;
    larger.nbytes += kMany * shape.run;
    KernelPlan narrow;
    KernelPlan wide;
    if (via::cuda::plan_rows(shape, &narrow) && via::cuda::plan_rows(larger, &wide)) {
        wide.params.rows_wide.count = narrow.params.rows.count;
        wide.blocks = narrow.blocks;
        check_plan(copy, wide);
    }
}

void wide_arithmetic_equals_a_naive_copy(void **) {
    Random random(5);
    for (int i = 0; i < QUICK_OR(30, 150); ++i) {
        const int64_t item = random.chance(3) ? random.between(50, 700) : int64_t{1} << random.between(0, 4);
        const std::vector<int64_t> shape = random_shape(&random, 200000 / item, 60);
        const int64_t alignment = random.chance(2) && item % 4 == 0 ? 4 : 1;
        const TestLayout from = random_layout(&random, shape, item, true);
        const TestLayout to = random_layout(&random, shape, item, false);
        Copy copy(&random, shape, item, to, from, alignment);
        if (Shape found; find_shape(&copy, &found)) {
            check_wide(&copy, found);
        }
    }
}

void rows_of_words_equal_naive_ones(void **) {
    Random random(6);
    for (int i = 0; i < 60; ++i) {
        const int64_t item = random.between(130, 600) * 4;
        const std::vector<int64_t> shape = {random.between(1, 9), random.between(2, 9)};
        Copy copy(&random, shape, item, layout_of(shape, {0, 1}, item, 4 * random.between(0, 9)),
                  layout_of(shape, {1, 0}, item, 4 * random.between(1, 9)), 4);
        if (Shape found; find_shape(&copy, &found)) {
            check_copy(&copy);
            check_wide(&copy, found);
        }
    }
}

// Two elements along each axis, and no axis continues another.
void copies_of_many_axes_equal_naive_ones(void **) {
    Random random(8);
    for (int i = 0; i < 40; ++i) {
        const std::vector<int64_t> shape(static_cast<size_t>(random.between(7, 12)), 2);
        const int64_t item = int64_t{1} << random.between(0, 4);
        check_permuted(&random, shape, item, item);
    }
}

// What a block may have on every GPU without asking for more, which some refuse.
void no_block_takes_more_shared_memory_than_any_gpu_gives(void **) {
    for (const via::kernels::Info &info : via::kernels::kInfos) {
        assert_int_in_range(info.shared_bytes, 0, 48 << 10);
    }
}

// Those of batches are run by the tests of batches, those of rows by indexed_kernel.cpp, and those of
// conversions by convert_kernel.cpp.
bool is_run_elsewhere(size_t kernel) {
    const auto number = static_cast<Id>(kernel);
    return number == Id::via_copy_list || number == Id::via_copy_table ||
           (number >= Id::via_convert_f64_f32 && number <= Id::via_convert_16_1) ||
           (number >= Id::via_indexed_1 && number <= Id::via_indexed_16);
}

void every_kernel_has_been_run(void **) {
    for (size_t i = 0; i < kKernels; ++i) {
        if (is_run_elsewhere(i)) {
            continue;
        }
        if (launches[i] == 0) {
            print_error("%s was not run\n", via::kernels::kInfos[i].name);
        }
        assert_true(launches[i] > 0);
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(copies_between_random_layouts_equal_naive_ones),
        cmocka_unit_test(permutes_of_dense_arrays_equal_naive_ones),
        cmocka_unit_test(transposes_larger_than_a_tile_equal_naive_ones),
        cmocka_unit_test(transposes_to_short_rows_equal_naive_ones),
        cmocka_unit_test(transposes_of_strided_bytes_equal_naive_ones),
        cmocka_unit_test(channels_joined_and_split_equal_naive_ones),
        cmocka_unit_test(some_channels_of_pixels_equal_naive_ones),
        cmocka_unit_test(strided_bytes_equal_naive_ones),
        cmocka_unit_test(wide_arithmetic_equals_a_naive_copy),
        cmocka_unit_test(rows_of_words_equal_naive_ones),
        cmocka_unit_test(copies_of_many_axes_equal_naive_ones),
        cmocka_unit_test(no_block_takes_more_shared_memory_than_any_gpu_gives),
        cmocka_unit_test(every_kernel_has_been_run),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
