// The routes of strided copies between the host and a device, called directly, so that each is taken by small copies
// too, in many pieces. On the fake driver also: what happens when the device is full, and when any call of the driver
// fails.
#include "strided_trial.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "core/async/task.hpp"
#include "core/system/thread_count.hpp"
#include "cuda/route/link_copy.hpp"
#include "cuda/staging/staging.hpp"
#include "cuda/stream/internal_stream.hpp"

namespace {

using via::cuda::LinkRoute;

Route by_link(LinkRoute route, int64_t scratch_bytes) {
    return [=](const Transfer &transfer, const ResolvedStream &stream) {
        return via::cuda::enqueue_pinned(transfer, {route, 0, scratch_bytes, 0}, stream);
    };
}

Route by_ring(bool kernels, via_task *task = nullptr) {
    return [=](const Transfer &transfer, const ResolvedStream &) {
        via::UniqueFence fence;
        const Status status =
            via::cuda::run_staged({transfer, via::cuda::plan_staged(transfer, kernels), task}, fence.out());
        return status == VIA_OK && fence.get() != nullptr ? fence.get()->wait() : status;
    };
}

Route by_bounce(bool kernels) {
    return [=](const Transfer &transfer, const ResolvedStream &stream) {
        via::cuda::ContextScope scope;
        const Status status = scope.enter(stream.context);
        return status == VIA_OK ? via::cuda::copy_bounced(transfer, {via::cuda::plan_staged(transfer, kernels)}, stream)
                                : status;
    };
}

// ---------------------------------------------------------------------------------------------- tests

// The first to ask for scratch memory, which is kept once there is some.
void a_full_device_is_copied_to_and_from_without_scratch_memory(void **) {
    need_fake_driver();
    load(0);
    Random random(1);
    const StridedSample layout = matrix_sample(false, 4, 300, 400, 4, 1200);
    const auto without_memory = [](const Route &route) {
        return [=](const Transfer &transfer, const ResolvedStream &stream) {
            fake(fake_fail_at)("cuMemAlloc", -1, CUDA_ERROR_OUT_OF_MEMORY);
            fake(fake_fail_at)("cuMemAllocFromPoolAsync", -1, CUDA_ERROR_OUT_OF_MEMORY);
            const int64_t before = fake(fake_faults_injected)();
            const std::string text = via_last_error();
            const Status status = route(transfer, stream);
            assert_true(fake(fake_faults_injected)() > before);
            assert_string_equal(via_last_error(), text.c_str());
            fake(fake_clear_faults)();
            return status;
        };
    };
    check(layout, kDevice, kPageable, without_memory(by_ring(true)), &random);
    check(layout, kPageable, kDevice, without_memory(by_ring(true)), &random);
    check(layout, kDevice, kPageable, without_memory(by_bounce(true)), &random);
    check(layout, kPageable, kDevice, without_memory(by_bounce(true)), &random);
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

// Collects the streams that wait for others.
class Waiting {
public:
    Waiting() : wait_(driver_table().cuStreamWaitEvent) {
        streams.clear();
        next = wait_;
        driver_table().cuStreamWaitEvent = [](CUstream stream, CUevent event, unsigned flags) {
            streams.insert(stream);
            return next(stream, event, flags);
        };
    }
    ~Waiting() { driver_table().cuStreamWaitEvent = wait_; }
    Waiting(const Waiting &) = delete;
    Waiting &operator=(const Waiting &) = delete;
    static size_t count() { return streams.size(); }

private:
    using Wait = decltype(via::cuda::Driver::cuStreamWaitEvent);
    static inline std::set<CUstream> streams;
    static inline Wait next = nullptr;
    const Wait wait_;
};

// One piece has nothing to overlap with.
void several_pieces_pass_between_two_streams(void **) {
    need_fake_driver();
    load(0);
    Random random(5);
    const StridedSample layout = matrix_sample(false, 4, 300, 400, 4, 1200);
    for (const bool to_device : {true, false}) {
        for (const bool whole : {true, false}) {
            const Waiting waiting;
            check(layout, to_device ? kDevice : kPinned, to_device ? kPinned : kDevice,
                  by_link(LinkRoute::Packed, whole ? 480000 : 100000), &random);
            assert_int_equal(Waiting::count(), whole ? 0 : 2);
        }
    }
}

// The side stream joins the capture and leaves it.
void several_pieces_are_captured(void **) {
    load(0);
    Random random(6);
    const StridedSample layout = matrix_sample(false, 4, 300, 400, 4, 1200);
    for (const bool to_device : {true, false}) {
        check_captured(layout, to_device ? kDevice : kPinned, to_device ? kPinned : kDevice,
                       by_link(LinkRoute::Packed, 100000), &random);
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
// first after a piece of it, for as long as the second has one thread only.
struct Packers {
    static constexpr int64_t kPiece = 128 << 10;
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::thread::id, int64_t> first;  // with the bytes that each has packed
    std::map<std::thread::id, int64_t> second;
    const char *second_begin = nullptr;
    const char *second_end = nullptr;

    template <class Condition>
    bool wait(std::unique_lock<std::mutex> &lock, const Condition &condition) {
        changed.notify_all();
        return changed.wait_for(lock, std::chrono::seconds(20), condition);
    }
    void meet(const char *src, int64_t nbytes) {
        std::unique_lock<std::mutex> lock(mutex);
        const bool is_second = src >= second_begin && src < second_end;
        int64_t &packed = (is_second ? second : first)[std::this_thread::get_id()];
        const bool again = packed >= kPiece;
        packed += nbytes;
        assert_true(wait(lock, [&] { return second.size() >= (is_second || again ? 2 : 1); }));
    }
};

Packers packers;

void meet_and_copy(const via::cuda::Move &move, bool) {
    packers.meet(move.src, move.nbytes);
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
    for (const StridedSample &layout : matrices(false)) {
        check(layout, kDevice, kPageable, route, &random);
    }
    for (const StridedSample &layout : matrices(true)) {
        check(layout, kPageable, kDevice, route, &random);
        check(layout, kPinned, kDevice, route, &random);
    }
}

void the_host_and_the_driver_copy_any_layout(void **) { check_bounces(by_bounce(false)); }

void the_host_and_a_kernel_copy_any_layout(void **) {
    load(0);
    check_bounces(by_bounce(true));
}

// Threads of a ring copy a piece each. The one thread that bounces a copy may have helpers for each piece.
void only_pieces_that_bounce_are_helped(void **) {
    load(0);
    static std::atomic<int> alone{0};
    static std::atomic<int> helped{0};
    const auto copy = [](const Route &route, via::cuda::Side dst, via::cuda::Side src) {
        alone = helped = 0;
        Random random(6);
        const auto counted = [&](const Transfer &transfer, const ResolvedStream &stream) {
            Transfer known = transfer;
            known.host_copy = [](const via::cuda::Move &move, bool may_be_helped) {
                (may_be_helped ? helped : alone)++;
                copy_naively(move.dst, move.src, move.run, move.ndim, move.axes);
            };
            return route(known, stream);
        };
        check(matrix_sample(is_device(src), 4, 300, 400, 4800, 8), dst, src, counted, &random);
    };
    copy(by_bounce(true), kDevice, kPageable);
    assert_true(alone == 0 && helped > 0);
    copy(by_bounce(false), kPageable, kDevice);
    assert_true(alone == 0 && helped > 0);
    copy(by_ring(true), kDevice, kPageable);
    assert_true(alone > 0 && helped == 0);
}

// Bytes that are dense on the host cross in one call, and nobody but the driver touches them there.
void up_to_a_mebibyte_is_bounced_in_one_piece(void **) {
    need_fake_driver();
    load(0);
    Random random(4);
    const auto count = [](const char *name) { return fake(fake_call_count)(name); };
    const auto untouched = [](const Transfer &transfer, const ResolvedStream &stream) {
        Transfer dense = transfer;
        dense.host_copy = [](const via::cuda::Move &, bool) { assert_true(false); };
        return by_bounce(true)(dense, stream);
    };
    const int64_t up = count("cuMemcpyHtoDAsync");
    const int64_t down = count("cuMemcpyDtoHAsync");
    check(matrix_sample(false, 4, 500, 500, 4, 2000), kDevice, kPageable, untouched, &random);
    check(matrix_sample(true, 4, 500, 500, 4, 2000), kPageable, kDevice, untouched, &random);
    check(matrix_sample(false, 4, 500, 500, 4, 2000), kDevice, kPageable, by_bounce(false), &random);
    check(matrix_sample(true, 4, 500, 500, 4, 2000), kPageable, kDevice, by_bounce(false), &random);
    assert_int_equal(count("cuMemcpyHtoDAsync") - up, 2);
    assert_int_equal(count("cuMemcpyDtoHAsync") - down, 2);
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

struct StagedTask final : via::TaskWork {
    explicit StagedTask(const Trial &given) : trial(given) {}

    Status run(via_task *task, via::Fence **) override {
        while (!may_start.load()) {
            std::this_thread::yield();
        }
        return trial.run(by_ring(true, task), stream_of(0));
    }
    void end() override {}

    const Trial &trial;
    std::atomic<bool> may_start{false};
};

Status run_as_task(const Trial &trial, const std::function<void(via_task *)> &meanwhile, int64_t *out_done) {
    StagedTask staged(trial);
    via_task *task = nullptr;
    assert_int_equal(via::start_task(&staged, trial.transfer().nbytes, nullptr, false, &task), VIA_OK);
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
        cmocka_unit_test(several_pieces_pass_between_two_streams),
        cmocka_unit_test(several_pieces_are_captured),
        cmocka_unit_test(the_host_and_a_kernel_copy_any_layout),
        cmocka_unit_test(the_ring_copies_any_layout),
        cmocka_unit_test(the_ring_copies_matrices_slot_by_slot),
        cmocka_unit_test(workers_of_one_copy_leave_it_for_another),
        cmocka_unit_test(only_pieces_that_bounce_are_helped),
        cmocka_unit_test(up_to_a_mebibyte_is_bounced_in_one_piece),
        cmocka_unit_test(scratch_memory_comes_from_one_pool),
        cmocka_unit_test(a_task_reports_how_far_it_is),
        cmocka_unit_test(a_cancelled_task_stops_between_two_chunks_and_the_next_copy_works),
        cmocka_unit_test(any_failing_call_over_the_link_is_reported_and_leaves_nothing_behind),
        cmocka_unit_test(any_failing_call_of_the_ring_is_reported_and_leaves_nothing_behind),
        cmocka_unit_test(a_reset_of_the_primary_context_makes_a_new_pool_and_new_scratch_memory),
    };
    const CMUnitTest tests_without_kernels[] = {
        cmocka_unit_test(the_host_and_the_driver_copy_any_layout),
    };
    return run_routes(tests_without_kernels, tests);
}
