// What tests of the routes of strided copies share: memory of either side, copies checked byte by byte, and drivers
// that fail at every call.
#pragma once

#include "staging_inside.hpp"
#include "strided_sample.hpp"

#include <cstdlib>
#include <functional>
#include <vector>

#include "cuda/launch/module.hpp"
#include "cuda/stream/internal_stream.hpp"
#include "cuda/transfer_plan.hpp"

using via::ResolvedStream;
using via::Status;
using via::cuda::kPageable;
using via::cuda::kPinned;
using via::cuda::Side;
using via::cuda::Transfer;

constexpr Side kDevice{VIA_DEVICE_CUDA, 0};
constexpr Side kOtherDevice{VIA_DEVICE_CUDA, 1};

// ---------------------------------------------------------------------------------------------- memory

inline void enter_device(int32_t device_id, via::cuda::ContextScope *scope) {
    CUcontext context = nullptr;
    assert_int_equal(via::cuda::primary_context(device_id, &context), VIA_OK);
    assert_int_equal(scope->enter(context), VIA_OK);
}

inline char *allocate(const Side &side, size_t nbytes) {
    via::cuda::ContextScope scope;
    enter_device(side.device_id, &scope);
    void *host = nullptr;
    CUdeviceptr device = 0;
    switch (side.device_type) {
        case VIA_DEVICE_CPU:
            return static_cast<char *>(std::malloc(nbytes));
        case VIA_DEVICE_CUDA_HOST:
            assert_int_equal(via::cuda::driver().cuMemHostAlloc(&host, nbytes, CU_MEMHOSTALLOC_PORTABLE), CUDA_SUCCESS);
            return static_cast<char *>(host);
        default:
            assert_int_equal(via::cuda::driver().cuMemAlloc(&device, nbytes), CUDA_SUCCESS);
            return reinterpret_cast<char *>(device);
    }
}

inline void release(const Side &side, char *address) {
    switch (side.device_type) {
        case VIA_DEVICE_CPU:
            return std::free(address);
        case VIA_DEVICE_CUDA_HOST:
            return (void)via::cuda::driver().cuMemFreeHost(address);
        default:
            return (void)via::cuda::driver().cuMemFree(reinterpret_cast<CUdeviceptr>(address));
    }
}

// Bytes on one side, with others before and behind them that nobody may write.
class Memory {
public:
    Memory(const Side &side, int64_t nbytes)
        : side_(side), size_(static_cast<size_t>(nbytes) + 2 * kGuard), address_(allocate(side, size_)) {}
    ~Memory() { release(side_, address_); }
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;

    static constexpr size_t kGuard = 128;
    char *data() const { return address_ + kGuard; }
    void set(const std::vector<char> &bytes) const { move(address_, bytes.data()); }
    std::vector<char> get() const {
        std::vector<char> bytes(size_);
        move(bytes.data(), address_);
        return bytes;
    }
    std::vector<char> fill(Random *random) const {
        std::vector<char> bytes(size_);
        random->fill(&bytes);
        set(bytes);
        return bytes;
    }

private:
    void move(void *dst, const void *src) const {
        via::cuda::ContextScope scope;
        enter_device(side_.device_id, &scope);
        assert_int_equal(via::cuda::driver().cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(dst),
                                                           reinterpret_cast<CUdeviceptr>(src), size_, CU_STREAM_LEGACY),
                         CUDA_SUCCESS);
        assert_int_equal(via::cuda::driver().cuStreamSynchronize(CU_STREAM_LEGACY), CUDA_SUCCESS);
    }

    const Side side_;
    const size_t size_;
    char *const address_;
};

// ---------------------------------------------------------------------------------------------- copies

inline void copy_on_host(const via::cuda::Move &move, bool) {
    copy_naively(move.dst, move.src, move.run, move.ndim, move.axes);
}

using Route = std::function<Status(const Transfer &transfer, const ResolvedStream &stream)>;

inline ResolvedStream stream_of(int32_t device_id) {
    ResolvedStream stream{};
    assert_int_equal(via::cuda::internal_stream(device_id, 0, &stream), VIA_OK);
    return stream;
}

// One strided copy, and what will be there after it.
class Trial {
public:
    Trial(const StridedSample &layout, const Side &dst, const Side &src, Random *random)
        : layout_(layout), dst_(dst, layout.dst_bytes), src_(src, layout.src_bytes) {
        const std::vector<char> given = src_.fill(random);
        expected_ = dst_.fill(random);
        copy_naively(expected_.data() + Memory::kGuard, given.data() + Memory::kGuard + layout.src_first, layout.run,
                     layout.ndim(), layout_.axes.data());
        transfer_ = {dst_.data(),   src_.data() + layout.src_first,
                     layout.nbytes, dst,
                     src,           nullptr,
                     nullptr,       layout.run,
                     layout.ndim(), layout_.axes.data(),
                     copy_on_host};
    }
    Trial(const Trial &) = delete;
    Trial &operator=(const Trial &) = delete;

    Status run(const Route &route, const ResolvedStream &stream) const {
        const Status status = route(transfer_, stream);
        return status == VIA_OK ? via::cuda::wait_for_stream(stream) : status;
    }
    bool is_right() const { return dst_.get() == expected_; }
    const Transfer &transfer() const { return transfer_; }

private:
    const StridedSample layout_;
    const Memory dst_;
    const Memory src_;
    std::vector<char> expected_;
    Transfer transfer_{};
};

inline void check(const StridedSample &layout, const Side &dst, const Side &src, const Route &route, Random *random,
                  int32_t device_id = 0) {
    const ResolvedStream stream = stream_of(device_id);
    const Trial trial(layout, dst, src, random);
    if (trial.run(route, stream) != VIA_OK) {
        print_error("%s\n", via::last_error_text());
        assert_true(false);
    }
    assert_true(trial.is_right());
}

// The copy is done by the graph that is captured of it, and not before.
inline void check_captured(const StridedSample &layout, const Side &dst, const Side &src, const Route &route,
                           Random *random, int32_t device_id = 0) {
    const Trial trial(layout, dst, src, random);
    ResolvedStream stream = stream_of(device_id);
    via::cuda::ContextScope scope;
    enter_device(device_id, &scope);
    CUgraph graph = nullptr;
    CUgraphExec made = nullptr;
    assert_int_equal(cu(cuStreamBeginCapture)(stream.handle, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    stream.capturing = true;
    const Status status = route(trial.transfer(), stream);
    assert_int_equal(cu(cuStreamEndCapture)(stream.handle, &graph), CUDA_SUCCESS);
    assert_int_equal(status, VIA_OK);
    assert_false(trial.is_right());
    assert_int_equal(cu(cuGraphInstantiate)(&made, graph, 0), CUDA_SUCCESS);
    assert_int_equal(cu(cuGraphLaunch)(made, stream.handle), CUDA_SUCCESS);
    assert_int_equal(via::cuda::wait_for_stream(stream_of(device_id)), VIA_OK);
    assert_true(trial.is_right());
    assert_int_equal(cu(cuGraphExecDestroy)(made), CUDA_SUCCESS);
    assert_int_equal(cu(cuGraphDestroy)(graph), CUDA_SUCCESS);
}

// Columns of a matrix, transposed or with gaps between elements or rows; large enough for several slots.
inline std::vector<StridedSample> matrices(bool host_is_dst) {
    return {matrix_sample(host_is_dst, 4, 700, 900, 4, 2800),  matrix_sample(host_is_dst, 4, 700, 900, 7200, 8),
            matrix_sample(host_is_dst, 4, 700, 900, 7200, 4),  matrix_sample(host_is_dst, 12, 300, 500, 15000, 24),
            matrix_sample(!host_is_dst, 4, 700, 900, 7200, 8), matrix_sample(!host_is_dst, 2, 900, 900, 2, 1800),
            matrix_sample(!host_is_dst, 1, 3, 900000, 1, 3)};
}

inline int device_count() { return via::cuda::driver().device_count; }

inline void load(int32_t device_id) { assert_int_equal(via::cuda::load_kernels(stream_of(device_id)), VIA_OK); }

// ---------------------------------------------------------------------------------------------- faults

struct Alive {
    int64_t pool;
    int64_t device;
    int64_t pinned;

    static Alive now() {
        return {fake(fake_live)(FAKE_POOL_ALLOCATIONS), fake(fake_live)(FAKE_DEVICE_ALLOCATIONS),
                fake(fake_live)(FAKE_PINNED_ALLOCATIONS)};
    }
    bool operator==(const Alive &) const = default;
};

inline void synchronize_devices() {
    for (int32_t device_id = 0; device_id < device_count(); ++device_id) {
        via::cuda::ContextScope scope;
        enter_device(device_id, &scope);
        assert_int_equal(cu(cuCtxSynchronize)(), CUDA_SUCCESS);
    }
}

// Fails the n-th call for every n until none is left to fail: the copy says so, leaves nothing behind, and the next one
// works.
inline void fail_every_call(const StridedSample &layout, const Side &dst, const Side &src, const Route &route,
                            int32_t device_id = 0) {
    Random random(11);
    const ResolvedStream stream = stream_of(device_id);
    check(layout, dst, src, route, &random, device_id);
    const int64_t streams = fake(fake_live)(FAKE_STREAMS);
    bool failed = true;
    for (int64_t n = 1; failed; n += QUICK_OR(3, next_fault)) {
        assert_int_in_range(n, 1, 1000);
        const Trial trial(layout, dst, src, &random);
        const Alive before = Alive::now();
        const int64_t injected = fake(fake_faults_injected)();
        fake(fake_fail_at)(nullptr, n, CUDA_ERROR_UNKNOWN);
        const Status status = trial.run(route, stream);
        failed = fake(fake_faults_injected)() != injected;
        fake(fake_clear_faults)();
        assert_true(status == VIA_OK || (failed && status == VIA_ERROR_CUDA));
        assert_true(failed || trial.is_right());
        synchronize_devices();
        assert_true(Alive::now() == before);
    }
    check(layout, dst, src, route, &random, device_id);
    // One that the driver was made to refuse to destroy stays.
    assert_int_in_range(fake(fake_live)(FAKE_STREAMS), streams, streams + 1);
    assert_int_equal(fake(fake_misuse_total)(), 0);
}

// Runs the tests that need no kernels, and the others where there are some.
template <size_t kWithout, size_t kCount>
int run_routes(const CMUnitTest (&tests_without_kernels)[kWithout], const CMUnitTest (&tests)[kCount]) {
    const int without = run_inside(tests_without_kernels);
    if (without != 0 || *via::cuda::why_no_kernels(0) == '\0') {
        return without != 0 ? without : run_inside(tests);
    }
    print_message("skipped: kernels: off, %s\n", via::cuda::why_no_kernels(0));
    return 0;
}
