// The routes of strided copies, called directly, so that each is taken by small copies too, in many pieces. On the
// fake driver also: what happens when the device is full, and when any call of the driver fails.
#include "staging_inside.hpp"
#include "strided_sample.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "core/async/task.hpp"
#include "core/system/thread_count.hpp"
#include "cuda/launch/module.hpp"
#include "cuda/route/link_copy.hpp"
#include "cuda/route/peer_copy.hpp"
#include "cuda/staging/staging.hpp"
#include "cuda/stream/internal_stream.hpp"
#include "cuda/transfer_plan.hpp"

namespace {

using via::ResolvedStream;
using via::Status;
using via::cuda::LinkCopyPlan;
using via::cuda::LinkRoute;
using via::cuda::PeerPlan;
using via::cuda::PeerReach;
using via::cuda::PeerRoute;
using via::cuda::Side;
using via::cuda::StagedCopy;
using via::cuda::Transfer;

constexpr Side kDevice{VIA_DEVICE_CUDA, 0};
constexpr Side kOtherDevice{VIA_DEVICE_CUDA, 1};
constexpr Side kPinned{VIA_DEVICE_CUDA_HOST, 0};
constexpr Side kPageable{VIA_DEVICE_CPU, 0};

// ---------------------------------------------------------------------------------------------- memory

void enter_device(int32_t device_id, via::cuda::ContextScope *scope) {
    CUcontext context = nullptr;
    assert_int_equal(via::cuda::primary_context(device_id, &context), VIA_OK);
    assert_int_equal(scope->enter(context), VIA_OK);
}

char *allocate(const Side &side, size_t nbytes) {
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

void release(const Side &side, char *address) {
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

void copy_on_host(const via::cuda::Move &move, via::cuda::Cache) {
    copy_naively(move.dst, move.src, move.run, move.ndim, move.axes);
}

using Route = std::function<Status(const Transfer &transfer, const ResolvedStream &use)>;

ResolvedStream stream_of(int32_t device_id) {
    ResolvedStream use{};
    assert_int_equal(via::cuda::internal_stream(device_id, 0, &use), VIA_OK);
    return use;
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

    Status run(const Route &route, const ResolvedStream &use) const {
        const Status status = route(transfer_, use);
        return status == VIA_OK ? via::cuda::wait_for_stream(use) : status;
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

void check(const StridedSample &layout, const Side &dst, const Side &src, const Route &route, Random *random,
           int32_t device_id = 0) {
    const ResolvedStream use = stream_of(device_id);
    const Trial trial(layout, dst, src, random);
    if (trial.run(route, use) != VIA_OK) {
        print_error("%s\n", via::last_error_text());
        assert_true(false);
    }
    assert_true(trial.is_right());
}

Route by_link(LinkRoute route, int64_t scratch_bytes) {
    return [=](const Transfer &transfer, const ResolvedStream &use) {
        return via::cuda::enqueue_pinned(transfer, {route, 0, scratch_bytes, 0}, use);
    };
}

Route by_ring(bool kernels, via_task *task = nullptr) {
    return [=](const Transfer &transfer, const ResolvedStream &) {
        via::UniqueFence mark;
        const StagedCopy copy = via::cuda::staged_copy(transfer, via::cuda::plan_staged(transfer, kernels), task);
        const Status status = via::cuda::run_staged(copy, mark.out());
        return status == VIA_OK && mark.get() != nullptr ? mark.get()->wait() : status;
    };
}

Route by_peers(const PeerReach &reach, int64_t piece_bytes) {
    return [=](const Transfer &transfer, const ResolvedStream &use) {
        PeerPlan plan = via::cuda::plan_peer_copy(transfer, reach, use.device_id);
        plan.piece_bytes = piece_bytes;
        return via::cuda::enqueue_peer_copy(transfer, plan, use);
    };
}

constexpr PeerReach kNothingReached{};
constexpr PeerReach kScratchReached{.writes = false, .reads = false, .scratch = true};

// Peer access between the primary contexts of two devices, both ways, for as long as a scope lasts.
class PeerAccess {
public:
    PeerAccess() {
        change([](CUcontext peer) { return cu(cuCtxEnablePeerAccess)(peer, 0); });
    }
    ~PeerAccess() {
        change([](CUcontext peer) { return cu(cuCtxDisablePeerAccess)(peer); });
    }
    PeerAccess(const PeerAccess &) = delete;
    PeerAccess &operator=(const PeerAccess &) = delete;

private:
    template <class Call>
    static void change(const Call &call) {
        for (const int32_t device_id : {0, 1}) {
            CUcontext peer = nullptr;
            assert_int_equal(via::cuda::primary_context(1 - device_id, &peer), VIA_OK);
            via::cuda::ContextScope scope;
            enter_device(device_id, &scope);
            assert_int_equal(call(peer), CUDA_SUCCESS);
        }
    }
};

Route by_bounce(bool kernels) {
    return [=](const Transfer &transfer, const ResolvedStream &use) {
        return via::cuda::copy_bounced(transfer, via::cuda::plan_bounce(transfer, kernels), use);
    };
}

// Columns of a matrix, transposed or with gaps between elements or rows; large enough for several slots.
std::vector<StridedSample> matrices(bool host_is_dst) {
    return {matrix_sample(host_is_dst, 4, 700, 900, 4, 2800),  matrix_sample(host_is_dst, 4, 700, 900, 7200, 8),
            matrix_sample(host_is_dst, 4, 700, 900, 7200, 4),  matrix_sample(host_is_dst, 12, 300, 500, 15000, 24),
            matrix_sample(!host_is_dst, 4, 700, 900, 7200, 8), matrix_sample(!host_is_dst, 2, 900, 900, 2, 1800),
            matrix_sample(!host_is_dst, 1, 3, 900000, 1, 3)};
}

int device_count() { return via::cuda::driver().device_count; }

void load(int32_t device_id) { assert_int_equal(via::cuda::load_kernels(stream_of(device_id)), VIA_OK); }

// ---------------------------------------------------------------------------------------------- tests

// The first to ask for scratch memory, which is kept once there is some.
void a_full_device_is_copied_to_and_from_without_scratch_memory(void **) {
    need_fake_driver();
    load(0);
    Random random(1);
    const StridedSample layout = matrix_sample(false, 4, 300, 400, 4, 1200);
    const auto without_memory = [](const Route &route) {
        return [=](const Transfer &transfer, const ResolvedStream &use) {
            fake(fake_fail_at)("cuMemAlloc", -1, CUDA_ERROR_OUT_OF_MEMORY);
            fake(fake_fail_at)("cuMemAllocFromPoolAsync", -1, CUDA_ERROR_OUT_OF_MEMORY);
            const int64_t before = fake(fake_faults_injected)();
            const std::string text = via_last_error();
            const Status status = route(transfer, use);
            assert_true(fake(fake_faults_injected)() > before);
            assert_string_equal(via_last_error(), text.c_str());
            fake(fake_clear_faults)();
            return status;
        };
    };
    check(layout, kDevice, kPageable, without_memory(by_ring(true)), &random);
    check(layout, kPageable, kDevice, without_memory(by_ring(true)), &random);
    check(layout, kDevice, kPinned, without_memory(by_link(LinkRoute::Packed, 50000)), &random);
    check(layout, kPinned, kDevice, without_memory(by_link(LinkRoute::Packed, 50000)), &random);
}

void every_route_over_the_link_copies_any_layout(void **) {
    load(0);
    for (unsigned seed = 0; seed < 60; ++seed) {
        Random random(seed);
        const StridedSample layout = random_sample(&random, 40, 4, 9);
        const int64_t scratch = random.between(1, 3 * layout.nbytes);
        check(layout, kDevice, kPinned, by_link(LinkRoute::Packed, scratch), &random);
        check(layout, kPinned, kDevice, by_link(LinkRoute::Packed, scratch), &random);
        check(layout, kDevice, kPinned, by_link(LinkRoute::Raw, scratch), &random);
        check(layout, kDevice, kPinned, by_link(LinkRoute::Rows, 0), &random);
        check(layout, kPinned, kDevice, by_link(LinkRoute::Rows, 0), &random);
    }
}

void the_ring_copies_any_layout(void **) {
    load(0);
    for (unsigned seed = 0; seed < 60; ++seed) {
        Random random(seed);
        const StridedSample layout = random_sample(&random, 40, 5, 9);
        for (const bool kernels : {true, false}) {
            check(layout, kDevice, kPageable, by_ring(kernels), &random);
            check(layout, kPageable, kDevice, by_ring(kernels), &random);
        }
    }
}

void the_ring_copies_matrices_slot_by_slot(void **) {
    load(0);
    Random random(3);
    for (const bool kernels : {true, false}) {
        for (const StridedSample &layout : matrices(false)) {
            check(layout, kDevice, kPageable, by_ring(kernels), &random);
        }
        for (const StridedSample &layout : matrices(true)) {
            check(layout, kPageable, kDevice, by_ring(kernels), &random);
        }
    }
}

// Threads that pack two copies. Those of the first wait for the second to begin, and then, if they go on with the
// first, for as long as the second has one thread only.
struct Packers {
    std::mutex mutex;
    std::condition_variable changed;
    std::set<std::thread::id> first;
    std::set<std::thread::id> second;
    const char *second_begin = nullptr;
    const char *second_end = nullptr;

    template <class Condition>
    bool wait(std::unique_lock<std::mutex> &lock, const Condition &condition) {
        changed.notify_all();
        return changed.wait_for(lock, std::chrono::seconds(20), condition);
    }
    void meet(const char *src) {
        std::unique_lock<std::mutex> lock(mutex);
        const bool is_second = src >= second_begin && src < second_end;
        const bool again = !(is_second ? second : first).insert(std::this_thread::get_id()).second;
        assert_true(wait(lock, [&] { return second.size() >= (is_second || again ? 2 : 1); }));
    }
};

Packers packers;

void meet_and_copy(const via::cuda::Move &move, via::cuda::Cache) {
    packers.meet(move.src);
    copy_naively(move.dst, move.src, move.run, move.ndim, move.axes);
}

void workers_of_one_copy_leave_it_for_another(void **) {
    load(0);
    const int32_t threads = via::num_threads();
    assert_int_equal(via::set_num_threads(4), VIA_OK);
    Random random(5);
    const StridedSample layout = matrix_sample(false, 4, 700, 900, 7200, 8);
    const Trial first(layout, kDevice, kPageable, &random);
    const Trial second(layout, kDevice, kPageable, &random);
    packers.second_begin = static_cast<const char *>(second.transfer().src);
    packers.second_end = packers.second_begin + layout.src_bytes;
    const auto copy = [](const Trial &trial) {
        Transfer transfer = trial.transfer();
        transfer.host_copy = meet_and_copy;
        assert_int_equal(by_ring(true)(transfer, {}), VIA_OK);
    };
    std::thread earlier([&] { copy(first); });
    {
        std::unique_lock<std::mutex> lock(packers.mutex);
        assert_true(packers.wait(lock, [] { return packers.first.size() == 4; }));
    }
    copy(second);
    earlier.join();
    assert_true(first.is_right() && second.is_right());
    assert_int_equal(via::set_num_threads(threads), VIA_OK);
}

void check_bounces(const Route &route) {
    for (unsigned seed = 0; seed < 60; ++seed) {
        Random random(seed);
        const StridedSample layout = random_sample(&random, 40, 4, 9);
        check(layout, kDevice, kPageable, route, &random);
        check(layout, kPageable, kDevice, route, &random);
        check(layout, kPinned, kDevice, route, &random);
    }
    Random random(9);
    check(matrix_sample(false, 4, 200, 300, 4, 800), kDevice, kPageable, route, &random);
    check(matrix_sample(true, 4, 200, 300, 2400, 8), kPageable, kDevice, route, &random);
}

void the_host_and_the_driver_copy_any_layout(void **) { check_bounces(by_bounce(false)); }

void the_host_and_a_kernel_copy_any_layout(void **) {
    load(0);
    check_bounces(by_bounce(true));
}

void need_two_devices() {
    if (device_count() < 2) {
        skip();
    }
    load(0);
    load(1);
}

void two_devices_copy_any_layout_on_a_stream_of_either(void **) {
    need_two_devices();
    for (unsigned seed = 0; seed < 60; ++seed) {
        Random random(seed);
        const StridedSample layout = random_sample(&random, 40, 4, 9);
        const int64_t piece = random.between(1, layout.nbytes);
        const int32_t device_id = static_cast<int32_t>(seed % 2);
        for (const PeerReach &reach : {kNothingReached, kScratchReached}) {
            check(layout, kDevice, kOtherDevice, by_peers(reach, piece), &random, device_id);
            check(layout, kOtherDevice, kDevice, by_peers(reach, piece), &random, device_id);
        }
    }
}

void with_peer_access_one_kernel_copies_any_layout(void **) {
    need_two_devices();
    const PeerAccess access;
    for (unsigned seed = 0; seed < 60; ++seed) {
        Random random(seed);
        const StridedSample layout = random_sample(&random, 40, 4, 9);
        for (const bool writes : {true, false}) {
            const PeerReach reach{.writes = writes, .reads = !writes, .scratch = false};
            check(layout, kDevice, kOtherDevice, by_peers(reach, 1), &random, static_cast<int32_t>(seed % 2));
        }
    }
}

// The fake driver notices who touches what it does not reach, and what goes through the host.
void what_devices_reach_is_what_the_driver_says(void **) {
    need_fake_driver();
    need_two_devices();
    Random random(21);
    const Trial trial(matrix_sample(false, 4, 300, 400, 4, 1200), kDevice, kOtherDevice, &random);
    const auto reach = [&] { return via::cuda::find_reach(trial.transfer(), 0); };
    assert_true(!reach().writes && !reach().reads && reach().scratch);
    const PeerAccess access;
    assert_true(reach().writes && reach().reads);
}

void pieces_cross_without_the_host_though_nobody_has_switched_access_on(void **) {
    need_fake_driver();
    need_two_devices();
    Random random(22);
    const int64_t before = fake(fake_bytes_through_host)();
    for (const int32_t device_id : {0, 1}) {
        for (const StridedSample &layout : matrices(false)) {
            check(layout, kDevice, kOtherDevice, by_peers(kScratchReached, layout.nbytes / 5), &random, device_id);
        }
    }
    assert_int_equal(fake(fake_bytes_through_host)(), before);
    const Transfer plain{nullptr, nullptr, 1, kDevice, kOtherDevice, nullptr, nullptr};
    assert_int_equal(via::cuda::plan_peer_copy(plain, kScratchReached, 0).route, PeerRoute::Driver);
    assert_int_equal(fake(fake_misuse_total)(), 0);
}

// Where a pool is not opened, has no room, or is not reached all the same, the driver's way serves.
void what_cannot_be_opened_goes_through_the_host(void **) {
    need_fake_driver();
    need_two_devices();
    Random random(23);
    const StridedSample layout = matrix_sample(false, 4, 300, 400, 4, 1200);
    const struct {
        const char *function;
        CUresult result;
    } refusals[] = {{"cuMemPoolSetAccess", CUDA_ERROR_TOO_MANY_PEERS},
                    {"cuMemAllocFromPoolAsync", CUDA_ERROR_OUT_OF_MEMORY},
                    {"cuMemcpyAsync", CUDA_ERROR_INVALID_VALUE},
                    {"cuLaunchKernel", CUDA_ERROR_INVALID_VALUE}};
    for (const auto &refusal : refusals) {
        for (const int32_t device_id : {0, 1}) {
            assert_int_equal(cu(cuDevicePrimaryCtxReset)(device_id), CUDA_SUCCESS);
            load(device_id);
        }
        const std::string text = via_last_error();
        const Route refused = [&](const Transfer &transfer, const ResolvedStream &use) {
            fake(fake_fail_at)(refusal.function, 1, refusal.result);
            const Status status = by_peers(kScratchReached, 50000)(transfer, use);
            fake(fake_clear_faults)();
            return status;
        };
        const int64_t before = fake(fake_faults_injected)();
        const int64_t crossed = fake(fake_bytes_through_host)();
        check(layout, kDevice, kOtherDevice, refused, &random);
        assert_int_equal(fake(fake_faults_injected)(), before + 1);
        assert_true(fake(fake_bytes_through_host)() > crossed);
        assert_string_equal(via_last_error(), text.c_str());
    }
}

// The side that has whole rows leaves them to the link; what has none is packed, and turned by the destination's
// device.
void rows_are_left_to_the_link(void **) {
    const StridedSample turned = matrix_sample(false, 4, 3000, 4000, 4, 12000);
    const StridedSample gaps_in_src = matrix_sample(false, 4, 3000, 4000, 32000, 8);
    const StridedSample gaps_in_dst = matrix_sample(true, 4, 3000, 4000, 32000, 8);
    const auto plan_of = [](const StridedSample &layout, const PeerReach &reach, int32_t device_id) {
        static char memory[1];
        return via::cuda::plan_peer_copy({memory, memory, layout.nbytes, kDevice, kOtherDevice, nullptr, nullptr,
                                          layout.run, layout.ndim(), layout.axes.data()},
                                         reach, device_id);
    };
    constexpr PeerReach kAll{true, true, true};
    for (const int32_t device_id : {0, 1}) {
        assert_int_equal(plan_of(gaps_in_src, kAll, device_id).route, PeerRoute::Push);
        const PeerPlan scattered = plan_of(gaps_in_dst, kAll, device_id);
        assert_true(scattered.route == PeerRoute::Pull || (scattered.unpacks && !scattered.src_kernel));
        const PeerPlan packed = plan_of(gaps_in_src, kScratchReached, device_id);
        assert_true(packed.direct && packed.src_kernel && !packed.dst_kernel && packed.unpacks);
        const PeerPlan unpacked = plan_of(turned, kScratchReached, device_id);
        assert_true(unpacked.direct && !unpacked.src_kernel && unpacked.dst_kernel);
    }
    assert_true(!plan_of(turned, kNothingReached, 0).src_kernel && plan_of(turned, kNothingReached, 0).unpacks);
    assert_true(plan_of(turned, kNothingReached, 1).src_kernel && !plan_of(turned, kNothingReached, 1).unpacks);
    for (const int32_t device_id : {0, 1}) {
        const PeerPlan in = plan_of(gaps_in_src, kNothingReached, device_id);
        const PeerPlan out = plan_of(gaps_in_dst, kNothingReached, device_id);
        assert_true(in.src_kernel && !in.unpacks && !out.src_kernel && out.unpacks && !in.direct && !out.direct);
    }
}

// Up to 4 MiB a kernel goes element by element in the order of the destination: a source in another order would be
// asked for each of them across the link.
void a_little_is_not_read_element_by_element_from_the_other_device(void **) {
    const auto route_of = [](int64_t rows, int64_t columns) {
        static char memory[1];
        StridedSample layout = matrix_sample(false, 4, rows, columns, 4, 4 * rows);
        for (via::Axis &axis : layout.axes) {
            axis.dst_step *= 2;
        }
        return via::cuda::plan_peer_copy({memory, memory, layout.nbytes, kDevice, kOtherDevice, nullptr, nullptr,
                                          layout.run, layout.ndim(), layout.axes.data()},
                                         {true, true, true}, 0)
            .route;
    };
    assert_int_equal(route_of(600, 1000), PeerRoute::Pieces);
    assert_int_equal(route_of(1200, 1000), PeerRoute::Pull);
}

// As many as were ever under way at once, and of those no more than a few: a copy takes one that is idle.
void streams_for_the_other_device_are_kept(void **) {
    need_fake_driver();
    need_two_devices();
    Random random(24);
    const StridedSample layout = matrix_sample(false, 4, 30, 40, 4, 120);
    check(layout, kDevice, kOtherDevice, by_peers(kScratchReached, 1000), &random);
    const int64_t streams = fake(fake_live)(FAKE_STREAMS);
    const int64_t made = fake(fake_call_count)("cuStreamCreate");
    for (int i = 0; i < 10; ++i) {
        check(layout, kDevice, kOtherDevice, by_peers(kScratchReached, 1000), &random);
    }
    assert_int_equal(fake(fake_call_count)("cuStreamCreate"), made);
    assert_int_equal(fake(fake_live)(FAKE_STREAMS), streams);
}

void either_device_may_be_reset_between_two_copies(void **) {
    need_fake_driver();
    need_two_devices();
    Random random(25);
    const StridedSample layout = matrix_sample(false, 4, 300, 400, 4, 1200);
    for (const int32_t device_id : {0, 1, 0, 1}) {
        const int64_t before = fake(fake_bytes_through_host)();
        check(layout, kDevice, kOtherDevice, by_peers(kScratchReached, 50000), &random, device_id);
        check(layout, kOtherDevice, kDevice, by_peers(kScratchReached, 50000), &random, device_id);
        assert_int_equal(fake(fake_bytes_through_host)(), before);
        assert_int_equal(cu(cuDevicePrimaryCtxReset)(device_id), CUDA_SUCCESS);
        load(device_id);
    }
    assert_int_equal(fake(fake_misuse_total)(), 0);
}

void scratch_memory_comes_from_one_pool(void **) {
    need_fake_driver();
    load(0);
    Random random(5);
    const StridedSample layout = matrix_sample(false, 4, 100, 100, 4, 400);
    check(layout, kDevice, kPinned, by_link(LinkRoute::Packed, 10000), &random);
    const int64_t made = fake(fake_call_count)("cuMemPoolCreate");
    for (int i = 0; i < 5; ++i) {
        check(layout, kDevice, kPinned, by_link(LinkRoute::Packed, 10000), &random);
    }
    assert_int_equal(fake(fake_call_count)("cuMemPoolCreate"), made);
    assert_int_equal(fake(fake_live)(FAKE_POOL_ALLOCATIONS), 0);
}

// ---------------------------------------------------------------------------------------------- tasks

struct StagedTask {
    via::TaskWork work;
    const Trial *trial;
    std::atomic<bool> may_start{false};
};

Status run_task(via::TaskWork *work, via_task *task, via::Fence **) {
    auto *staged = reinterpret_cast<StagedTask *>(work);
    while (!staged->may_start.load()) {
        std::this_thread::yield();
    }
    return staged->trial->run(by_ring(true, task), stream_of(0));
}

void end_task(via::TaskWork *) {}

Status run_as_task(const Trial &trial, const std::function<void(via_task *)> &meanwhile, int64_t *out_done) {
    StagedTask staged{{run_task, end_task}, &trial};
    via_task *task = nullptr;
    assert_int_equal(via::start_task(&staged.work, trial.transfer().nbytes, nullptr, false, &task), VIA_OK);
    std::thread neighbour([&] { meanwhile(task); });
    staged.may_start = true;
    const Status status = via::wait_for_task(task);
    neighbour.join();
    int64_t total = 0;
    via::task_progress(task, out_done, &total);
    assert_int_equal(total, trial.transfer().nbytes);
    via::release_task(task);
    return status;
}

void a_task_reports_how_far_it_is(void **) {
    load(0);
    Random random(7);
    for (const StridedSample &layout :
         {matrix_sample(false, 4, 900, 1000, 8000, 8), matrix_sample(false, 4, 900, 1000, 0, 4)}) {
        const Trial trial(layout, kDevice, kPageable, &random);
        int64_t done = 0;
        assert_int_equal(run_as_task(trial, [](via_task *) {}, &done), VIA_OK);
        assert_int_equal(done, layout.nbytes);
        assert_true(trial.is_right());
    }
}

void cancel_once_begun(via_task *task) {
    int64_t done = 0;
    int64_t total = 0;
    while (done == 0 && !via::task_ended(task)) {
        via::task_progress(task, &done, &total);
    }
    via::cancel_task(task);
}

void a_cancelled_task_stops_between_two_chunks_and_the_next_copy_works(void **) {
    load(0);
    Random random(8);
    const StridedSample in = matrix_sample(false, 4, 2000, 2000, 16000, 8);
    const StridedSample out = matrix_sample(true, 4, 2000, 2000, 16000, 8);
    const struct {
        const StridedSample &layout;
        const Side &dst;
        const Side &src;
    } copies[] = {{in, kDevice, kPageable}, {out, kPageable, kDevice}};
    for (const auto &copy : copies) {
        int64_t done = 0;
        const Trial trial(copy.layout, copy.dst, copy.src, &random);
        const Status status = run_as_task(trial, cancel_once_begun, &done);
        assert_true(status == VIA_ERROR_CANCELLED || (status == VIA_OK && trial.is_right()));
        check(matrix_sample(false, 4, 300, 400, 4, 1200), kDevice, kPageable, by_ring(true), &random);
    }
}

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

void synchronize_devices() {
    for (int32_t device_id = 0; device_id < device_count(); ++device_id) {
        via::cuda::ContextScope scope;
        enter_device(device_id, &scope);
        assert_int_equal(cu(cuCtxSynchronize)(), CUDA_SUCCESS);
    }
}

// Fails the n-th call for every n until none is left to fail: the copy says so, leaves nothing behind, and the next one
// works.
void fail_every_call(const StridedSample &layout, const Side &dst, const Side &src, const Route &route,
                     int32_t device_id = 0) {
    Random random(11);
    const ResolvedStream use = stream_of(device_id);
    check(layout, dst, src, route, &random, device_id);
    const int64_t streams = fake(fake_live)(FAKE_STREAMS);
    bool failed = true;
    for (int64_t n = 1; failed; n += next_fault) {
        assert_int_in_range(n, 1, 1000);
        const Trial trial(layout, dst, src, &random);
        const Alive before = Alive::now();
        const int64_t injected = fake(fake_faults_injected)();
        fake(fake_fail_at)(nullptr, n, CUDA_ERROR_UNKNOWN);
        const Status status = trial.run(route, use);
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

void any_failing_call_over_the_link_is_reported_and_leaves_nothing_behind(void **) {
    need_fake_driver();
    load(0);
    enter_primary();
    const StridedSample in = matrix_sample(false, 4, 20, 30, 4, 80);
    const StridedSample out = matrix_sample(true, 4, 20, 30, 240, 8);
    fail_every_call(in, kDevice, kPinned, by_link(LinkRoute::Packed, 900));
    fail_every_call(in, kDevice, kPinned, by_link(LinkRoute::Raw, 900));
    fail_every_call(out, kPinned, kDevice, by_link(LinkRoute::Packed, 900));
    fail_every_call(out, kPinned, kDevice, by_link(LinkRoute::Rows, 0));
    for (const bool kernels : {false, true}) {
        fail_every_call(out, kPageable, kDevice, by_bounce(kernels));
        fail_every_call(in, kDevice, kPageable, by_bounce(kernels));
    }
    leave_primary();
}

void any_failing_call_of_the_ring_is_reported_and_leaves_nothing_behind(void **) {
    need_fake_driver();
    load(0);
    enter_primary();
    fail_every_call(matrix_sample(false, 4, 400, 500, 4, 1600), kDevice, kPageable, by_ring(true));
    fail_every_call(matrix_sample(true, 4, 400, 500, 4, 1600), kPageable, kDevice, by_ring(true));
    fail_every_call(matrix_sample(true, 4, 400, 500, 4000, 8), kPageable, kDevice, by_ring(false));
    leave_primary();
}

void any_failing_call_between_devices_is_reported_and_leaves_nothing_behind(void **) {
    need_fake_driver();
    need_two_devices();
    enter_primary();
    StridedSample both = matrix_sample(true, 4, 20, 30, 240, 8);
    for (via::Axis &axis : both.axes) {
        axis.src_step *= 2;
    }
    both.src_bytes *= 2;
    for (const int32_t device_id : {0, 1}) {
        fail_every_call(both, kDevice, kOtherDevice, by_peers(kNothingReached, 900), device_id);
        fail_every_call(both, kDevice, kOtherDevice, by_peers(kScratchReached, 900), device_id);
    }
    const PeerAccess access;
    fail_every_call(both, kDevice, kOtherDevice, by_peers({.writes = true, .reads = false, .scratch = false}, 0), 0);
    leave_primary();
}

void a_reset_of_the_primary_context_makes_a_new_pool_and_new_scratch_memory(void **) {
    need_fake_driver();
    Random random(13);
    const StridedSample layout = matrix_sample(false, 4, 300, 400, 4, 1200);
    for (int i = 0; i < 2; ++i) {
        load(0);
        check(layout, kDevice, kPinned, by_link(LinkRoute::Packed, 50000), &random);
        check(layout, kDevice, kPageable, by_ring(true), &random);
        assert_int_equal(cu(cuDevicePrimaryCtxReset)(0), CUDA_SUCCESS);
    }
    assert_int_equal(fake(fake_misuse_total)(), 0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_full_device_is_copied_to_and_from_without_scratch_memory),
        cmocka_unit_test(every_route_over_the_link_copies_any_layout),
        cmocka_unit_test(the_host_and_a_kernel_copy_any_layout),
        cmocka_unit_test(the_ring_copies_any_layout),
        cmocka_unit_test(the_ring_copies_matrices_slot_by_slot),
        cmocka_unit_test(workers_of_one_copy_leave_it_for_another),
        cmocka_unit_test(two_devices_copy_any_layout_on_a_stream_of_either),
        cmocka_unit_test(with_peer_access_one_kernel_copies_any_layout),
        cmocka_unit_test(what_devices_reach_is_what_the_driver_says),
        cmocka_unit_test(pieces_cross_without_the_host_though_nobody_has_switched_access_on),
        cmocka_unit_test(what_cannot_be_opened_goes_through_the_host),
        cmocka_unit_test(streams_for_the_other_device_are_kept),
        cmocka_unit_test(either_device_may_be_reset_between_two_copies),
        cmocka_unit_test(scratch_memory_comes_from_one_pool),
        cmocka_unit_test(a_task_reports_how_far_it_is),
        cmocka_unit_test(a_cancelled_task_stops_between_two_chunks_and_the_next_copy_works),
        cmocka_unit_test(any_failing_call_over_the_link_is_reported_and_leaves_nothing_behind),
        cmocka_unit_test(any_failing_call_of_the_ring_is_reported_and_leaves_nothing_behind),
        cmocka_unit_test(any_failing_call_between_devices_is_reported_and_leaves_nothing_behind),
        cmocka_unit_test(a_reset_of_the_primary_context_makes_a_new_pool_and_new_scratch_memory),
    };
    const CMUnitTest tests_without_kernels[] = {
        cmocka_unit_test(the_host_and_the_driver_copy_any_layout),
        cmocka_unit_test(rows_are_left_to_the_link),
        cmocka_unit_test(a_little_is_not_read_element_by_element_from_the_other_device),
    };
    const int without = run_inside(tests_without_kernels);
    if (without != 0 || *via::cuda::why_no_kernels(0) == '\0') {
        return without != 0 ? without : run_inside(tests);
    }
    print_message("skipped: kernels: off, %s\n", via::cuda::why_no_kernels(0));
    return 0;
}
