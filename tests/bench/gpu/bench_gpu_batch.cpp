// How fast many copies at once are, next to a loop over the driver's copies and the driver's own call for many: rows of
// JSON, one a line, for bench.py. A time is that of the calls and of the wait for the last byte.
#include "bench_gpu.hpp"

using namespace bench;

namespace {

constexpr int64_t kKiB = 1 << 10;
constexpr int64_t kMiB = 1 << 20;
constexpr int64_t kGiB = 1 << 30;

enum class CopyRoute { Within, ToDevice, ToHost };

constexpr const char *kWays[] = {"on the device", "pinned to device", "device to pinned"};

CUdeviceptr memories[2];
char *pinned;
CUstream native;
via_stream *stream;
int64_t most_bytes = 2 * kGiB;  // of all copies of a row; larger ones have fewer copies, for a quick look

void finish() { cu_ok(cu(cuStreamSynchronize)(native)); }

// Copies of one size, or of several in turn, from places apart to places apart.
class Copies {
public:
    Copies(CopyRoute way, int64_t count, const std::vector<int64_t> &sizes) : way_(way) {
        int64_t at = 0;
        for (int64_t i = 0; i < count; ++i) {
            const int64_t nbytes = std::min(sizes[static_cast<size_t>(i) % sizes.size()], most_bytes / 2);
            if (at + nbytes > most_bytes) {
                break;
            }
            dsts_.push_back(dst_memory() + static_cast<CUdeviceptr>(at));
            srcs_.push_back(src_memory() + static_cast<CUdeviceptr>(at));
            sizes_.push_back(static_cast<size_t>(nbytes));
            at += (nbytes + 255) / 256 * 256;
        }
    }

    size_t count() const { return sizes_.size(); }
    int32_t dst_type() const { return way_ == CopyRoute::ToHost ? VIA_DEVICE_CUDA_HOST : VIA_DEVICE_CUDA; }
    int32_t src_type() const { return way_ == CopyRoute::ToDevice ? VIA_DEVICE_CUDA_HOST : VIA_DEVICE_CUDA; }
    CUdeviceptr dst_memory() const {
        return way_ == CopyRoute::ToHost ? reinterpret_cast<CUdeviceptr>(pinned) : memories[0];
    }
    CUdeviceptr src_memory() const {
        return way_ == CopyRoute::ToDevice ? reinterpret_cast<CUdeviceptr>(pinned) : memories[1];
    }
    CUdeviceptr dst(size_t i) const { return dsts_[i]; }
    CUdeviceptr src(size_t i) const { return srcs_[i]; }
    int64_t nbytes(size_t i) const { return static_cast<int64_t>(sizes_[i]); }

    void by_loop() {
        for (size_t i = 0; i < count(); ++i) {
            switch (way_) {
                case CopyRoute::Within:
                    cu_ok(cu(cuMemcpyDtoDAsync)(dsts_[i], srcs_[i], sizes_[i], native));
                    break;
                case CopyRoute::ToDevice:
                    cu_ok(cu(cuMemcpyHtoDAsync)(dsts_[i], reinterpret_cast<void *>(srcs_[i]), sizes_[i], native));
                    break;
                case CopyRoute::ToHost:
                    cu_ok(cu(cuMemcpyDtoHAsync)(reinterpret_cast<void *>(dsts_[i]), srcs_[i], sizes_[i], native));
                    break;
            }
        }
        finish();
    }

#if CUDA_VERSION >= 13000
    void by_one_call() {
        CUmemcpyAttributes attributes{};
        attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
        size_t first = 0;
        cu_ok(
            cu(cuMemcpyBatchAsync)(dsts_.data(), srcs_.data(), sizes_.data(), count(), &attributes, &first, 1, native));
        finish();
    }
#endif

private:
    const CopyRoute way_;
    std::vector<CUdeviceptr> dsts_;
    std::vector<CUdeviceptr> srcs_;
    std::vector<size_t> sizes_;
};

// The arrays of copies: wrapped one by one, or slices of one array on either side.
class Arrays {
public:
    Arrays(const Copies &copies, bool slices) {
        const Bytes dst(reinterpret_cast<void *>(copies.dst_memory()), most_bytes, copies.dst_type());
        const Bytes src(reinterpret_cast<void *>(copies.src_memory()), most_bytes, copies.src_type());
        for (size_t i = 0; i < copies.count(); ++i) {
            dsts_.push_back(slices ? slice(dst, copies.dst(i) - copies.dst_memory(), copies.nbytes(i))
                                   : wrap(copies.dst(i), copies.nbytes(i), copies.dst_type()));
            srcs_.push_back(slices ? slice(src, copies.src(i) - copies.src_memory(), copies.nbytes(i))
                                   : wrap(copies.src(i), copies.nbytes(i), copies.src_type()));
        }
        check(via_batch_create(&batch_));
        for (size_t i = 0; i < copies.count(); ++i) {
            check(via_batch_add(batch_, dsts_[i], srcs_[i]));
        }
    }
    ~Arrays() {
        via_batch_release(batch_);
        std::for_each(dsts_.begin(), dsts_.end(), via_array_release);
        std::for_each(srcs_.begin(), srcs_.end(), via_array_release);
    }
    Arrays(const Arrays &) = delete;
    Arrays &operator=(const Arrays &) = delete;

    void run_prepared() {
        check(via_batch_run(batch_, stream));
        finish();
    }

    void run_from_arrays() {
        check(via_copy_batch(static_cast<int32_t>(dsts_.size()), dsts_.data(), srcs_.data(), stream));
        finish();
    }

    void run_task() {
        via_task *task = nullptr;
        check(via_batch_submit(batch_, stream, &task));
        check(via_task_wait(task));
        via_task_release(task);
    }

private:
    static via_array *wrap(CUdeviceptr address, int64_t nbytes, int32_t device_type) {
        via_array *array = nullptr;
        check(via_wrap(reinterpret_cast<void *>(address), VIA_UINT8, 1, &nbytes, nullptr, device_type, 0, 0, nullptr,
                       nullptr, &array));
        return array;
    }

    static via_array *slice(const Bytes &whole, CUdeviceptr at, int64_t nbytes) {
        const auto start = static_cast<int64_t>(at);
        via_array *array = nullptr;
        check(via_array_slice(whole.get(), &start, &nbytes, nullptr, &array));
        return array;
    }

    std::vector<via_array *> dsts_;
    std::vector<via_array *> srcs_;
    via_batch *batch_ = nullptr;
};

int turns_for(size_t count) { return count > 10000 ? 5 : count > 100 ? 15 : 101; }

void print_us(const std::string &name, Copies *copies, std::function<void()> work, const std::string &target) {
    std::vector<Case> cases = {{"viaduct", std::move(work)}, {"loop", [=] { copies->by_loop(); }}};
#if CUDA_VERSION >= 13000
    cases.push_back({"cuMemcpyBatchAsync", [=] { copies->by_one_call(); }});
#endif
    print_row(name, "us", cases, compare(cases, 1, turns_for(copies->count())), -1, target);
}

std::string value_at_most(double value) { return "{\"value_at_most\": " + std::to_string(value) + "}"; }

// 4096 of 4 KiB, the case that is known from paged caches; across the link at no less than 40 GB/s.
void many_small(CopyRoute way, bool slices, double prepared_us, double arrays_us) {
    Copies copies(way, 4096, {4 * kKiB});
    Arrays arrays(copies, slices);
    const std::string name = std::string("4096 copies of 4 KiB, ") + kWays[static_cast<int>(way)] +
                             (slices ? ", slices of one array" : ", arrays apart");
    print_us(name + ", prepared", &copies, [&] { arrays.run_prepared(); }, value_at_most(prepared_us));
    print_us(name + ", from arrays", &copies, [&] { arrays.run_from_arrays(); }, value_at_most(arrays_us));
    print_us(name + ", as a task", &copies, [&] { arrays.run_task(); }, "null");
}

void few(CopyRoute way, int64_t count, int64_t nbytes, const std::string &target) {
    Copies copies(way, count, {nbytes});
    Arrays arrays(copies, false);
    const std::string size = nbytes < kKiB ? std::to_string(nbytes) + " B" : size_name(nbytes);
    const std::string name = std::to_string(count) + " copies of " + size + ", " + kWays[static_cast<int>(way)];
    print_us(name + ", prepared", &copies, [&] { arrays.run_prepared(); }, target);
    print_us(name + ", from arrays", &copies, [&] { arrays.run_from_arrays(); }, target);
}

void unequal(const std::string &name, CopyRoute way, int64_t count, const std::vector<int64_t> &sizes) {
    Copies copies(way, count, sizes);
    Arrays arrays(copies, false);
    print_us(name + ", prepared", &copies, [&] { arrays.run_prepared(); }, at_most(1.02, 5, "loop"));
}

}  // namespace

int main(int count, char **arguments) {
    most_bytes = count > 1 ? std::atoll(arguments[1]) : most_bytes;
    cu_ok(cu(cuCtxSetCurrent)(primary_context(0)));
    check(via_cuda_warmup(0));
    cu_ok(cu(cuStreamCreate)(&native, CU_STREAM_NON_BLOCKING));
    check(via_stream_wrap(native, 0, &stream));
    memories[0] = device_memory(most_bytes);
    memories[1] = device_memory(most_bytes);
    pinned = pinned_memory(most_bytes);
    std::memset(pinned, 1, static_cast<size_t>(most_bytes));
    for (const bool slices : {true, false}) {
        many_small(CopyRoute::Within, slices, 60, 150);
        many_small(CopyRoute::ToDevice, slices, 419, 550);
        many_small(CopyRoute::ToHost, slices, 419, 550);
    }
    for (const CopyRoute way : {CopyRoute::Within, CopyRoute::ToDevice, CopyRoute::ToHost}) {
        few(way, 16, kKiB, at_most(1, 0, "loop"));
        few(way, 2, 4 * kKiB, at_most(1, 1, "loop"));
        few(way, 64, kMiB, at_most(1, 0, "loop"));
        few(way, 100000, 256, at_most(1, 0, "loop"));
    }
    unequal("1 GiB and 255 of 4 KiB, on the device", CopyRoute::Within, 256, [] {
        std::vector<int64_t> sizes(256, 4 * kKiB);
        sizes[0] = kGiB;
        return sizes;
    }());
    unequal("1 MiB and 4 KiB in turn, 512, pinned to device", CopyRoute::ToDevice, 512, {kMiB, 4 * kKiB});
    via_stream_release(stream);
    return 0;
}
