// Streams resolved, fences recorded, and streams of the library's own, called directly. On the fake driver also: what
// happens when any call of the driver fails.
#include <atomic>
#include <thread>
#include <vector>

#include "staging_inside.hpp"

#include "cuda/stream.hpp"
#include "cuda/stream/event_fence.hpp"
#include "cuda/stream/internal_stream.hpp"
#include "cuda/stream/resolved_stream.hpp"
#include "cuda/stream/stream_handles.hpp"
#include "cuda/stream_access.hpp"

namespace {

using via::Fence;
using via::ResolvedStream;
using via::UniqueFence;
using via::cuda::driver;

CUstream new_stream() {
    CUstream stream = nullptr;
    enter_primary();
    assert_int_equal(driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    return stream;
}

ResolvedStream resolved(via_stream *given, int32_t device_id = 0) {
    ResolvedStream stream{};
    assert_int_equal(via::cuda::resolve(given, device_id, &stream), VIA_OK);
    return stream;
}

ResolvedStream internal(int32_t number) {
    ResolvedStream stream{};
    assert_int_equal(via::cuda::internal_stream(0, number, &stream), VIA_OK);
    return stream;
}

Fence *recorded(const ResolvedStream &stream) {
    Fence *fence = nullptr;
    assert_int_equal(via::cuda::record_fence(stream, &fence), VIA_OK);
    assert_non_null(fence);
    return fence;
}

void hold(CUstream stream) { fake(fake_stream_hold)(stream); }
void release(CUstream stream) { fake(fake_stream_release)(stream); }

void every_handle_is_resolved_to_what_it_means(void **) {
    enter_primary();
    CUcontext primary = nullptr;
    assert_int_equal(via::cuda::primary_context(0, &primary), VIA_OK);
    via_stream *foreign = nullptr;
    CUstream native = new_stream();
    assert_int_equal(via::cuda::wrap_stream(native, 0, &foreign), VIA_OK);
    const struct {
        via_stream *stream;
        CUstream handle;
    } cases[] = {
        {nullptr, CU_STREAM_LEGACY},
        {via::cuda::legacy_stream(), CU_STREAM_LEGACY},
        {via::cuda::legacy_stream_of(0), CU_STREAM_LEGACY},
        {via::cuda::per_thread_stream(), CU_STREAM_PER_THREAD},
        {foreign, native},
    };
    for (const auto &one : cases) {
        const ResolvedStream stream = resolved(one.stream);
        assert_ptr_equal(stream.handle, one.handle);
        assert_ptr_equal(stream.context, primary);
        assert_true(stream.context_id == via::cuda::context_id(primary));
        assert_int_equal(stream.device_id, 0);
        assert_false(stream.capturing);
        assert_true(via::cuda::is_idle(stream));
    }
    ResolvedStream none{};
    assert_int_equal(via::cuda::resolve(via::cuda::no_sync_stream(), 0, &none), VIA_ERROR_INVALID_ARGUMENT);
    via::cuda::release_stream(foreign);
    (void)driver().cuStreamDestroy(native);
}

void a_fence_is_reached_once_and_for_all(void **) {
    need_fake_driver();
    const ResolvedStream stream = internal(0);
    hold(stream.handle);
    const UniqueFence fence(recorded(stream));
    assert_false(fence.get()->is_complete());
    assert_false(via::cuda::is_idle(stream));
    std::thread other([&] { release(stream.handle); });
    assert_int_equal(fence.get()->wait(), VIA_OK);
    other.join();
    assert_true(fence.get()->is_complete());
    hold(stream.handle);
    const UniqueFence later(recorded(stream));
    assert_true(fence.get()->is_complete());
    assert_int_equal(fence.get()->wait(), VIA_OK);
    assert_false(later.get()->is_complete());
    release(stream.handle);
}

void a_fence_that_nobody_owns_is_used_again(void **) {
    need_fake_driver();
    const ResolvedStream stream = internal(0);
    recorded(stream)->release();
    const int64_t before = fake(fake_call_count)("cuEventCreate");
    for (int i = 0; i < 500; ++i) {
        Fence *fence = recorded(stream);
        fence->retain();
        fence->release();
        fence->release();
    }
    assert_int_equal(fake(fake_call_count)("cuEventCreate"), before);
}

// It may be taken again while the work it stood for is still to come: only its owners could have asked.
void a_fence_used_again_stands_for_the_new_point_alone(void **) {
    need_fake_driver();
    const ResolvedStream first = internal(0);
    const ResolvedStream second = internal(1);
    const ResolvedStream third = internal(2);
    hold(first.handle);
    Fence *fence = recorded(first);
    assert_int_equal(fence->make_stream_wait(third), VIA_OK);
    fence->release();
    const UniqueFence again(recorded(second));
    assert_int_equal(again.get()->wait(), VIA_OK);
    assert_true(again.get()->is_complete());
    assert_false(via::cuda::is_idle(third));
    release(first.handle);
    assert_int_equal(via::cuda::wait_for_stream(third), VIA_OK);
}

void a_stream_waits_only_for_what_is_still_to_come(void **) {
    need_fake_driver();
    const ResolvedStream first = internal(0);
    const ResolvedStream second = internal(1);
    hold(first.handle);
    const UniqueFence fence(recorded(first));
    assert_int_equal(fence.get()->make_stream_wait(second), VIA_OK);
    assert_false(via::cuda::is_idle(second));
    release(first.handle);
    assert_int_equal(via::cuda::wait_for_stream(second), VIA_OK);
    const int64_t before = fake(fake_call_count)("cuStreamWaitEvent");
    assert_int_equal(fence.get()->make_stream_wait(second), VIA_OK);
    assert_int_equal(fake(fake_call_count)("cuStreamWaitEvent"), before);
}

bool is_asked_about(const ResolvedStream &of, const ResolvedStream &waiting) {
    const UniqueFence fence(recorded(of));
    const int64_t before = fake(fake_call_count)(nullptr);
    assert_int_equal(fence.get()->make_stream_wait(waiting), VIA_OK);
    return fake(fake_call_count)(nullptr) != before;
}

void a_stream_waits_for_its_own_work_without_a_call(void **) {
    need_fake_driver();
    const ResolvedStream stream = internal(0);
    hold(stream.handle);
    assert_false(is_asked_about(stream, stream));
    assert_true(is_asked_about(stream, internal(1)));
    release(stream.handle);
    enter_primary();
    assert_false(is_asked_about(resolved(nullptr), resolved(via::cuda::legacy_stream_of(0))));
    // Each thread has one of its own; two handles may be of two streams, one of which is dead.
    assert_true(is_asked_about(resolved(via::cuda::per_thread_stream()), resolved(via::cuda::per_thread_stream())));
    CUstream native = new_stream();
    via_stream *streams[2] = {};
    for (via_stream *&wrapped : streams) {
        assert_int_equal(via::cuda::wrap_stream(native, 0, &wrapped), VIA_OK);
    }
    assert_false(is_asked_about(resolved(streams[0]), resolved(streams[0])));
    assert_true(is_asked_about(resolved(streams[0]), resolved(streams[1])));
    const UniqueFence first(recorded(resolved(streams[0])));
    const UniqueFence second(recorded(resolved(streams[0])));
    const UniqueFence third(recorded(resolved(streams[1])));
    assert_true(second.get()->happens_after(*first.get()));
    assert_false(first.get()->happens_after(*second.get()));
    assert_false(third.get()->happens_after(*first.get()));
    for (via_stream *wrapped : streams) {
        via::cuda::release_stream(wrapped);
    }
    (void)driver().cuStreamDestroy(native);
}

void fences_of_a_destroyed_context_are_reached(void **) {
    need_fake_driver();
    enter_primary();
    const int64_t misuse = fake(fake_misuse_total)();
    CUcontext context = nullptr;
    assert_int_equal(cu(cuCtxCreate)(&context, nullptr, 0, 0), CUDA_SUCCESS);
    via_stream *stream = nullptr;
    assert_int_equal(via::cuda::create_stream(0, &stream), VIA_OK);
    const ResolvedStream on_context = resolved(stream);
    assert_ptr_equal(on_context.context, context);
    Fence *fence = recorded(on_context);
    Fence *idle = recorded(on_context);
    idle->release();
    assert_int_equal(cu(cuCtxDestroy)(context), CUDA_SUCCESS);
    assert_true(fence->is_complete());
    assert_int_equal(fence->wait(), VIA_OK);
    assert_int_equal(fence->make_stream_wait(internal(0)), VIA_OK);
    fence->release();
    via::cuda::release_stream(stream);
    // The next context uses the pool again, whose events are gone.
    assert_int_equal(cu(cuCtxCreate)(&context, nullptr, 0, 0), CUDA_SUCCESS);
    assert_int_equal(via::cuda::create_stream(0, &stream), VIA_OK);
    for (int i = 0; i < 3; ++i) {
        const UniqueFence next(recorded(resolved(stream)));
        assert_int_equal(next.get()->wait(), VIA_OK);
    }
    via::cuda::release_stream(stream);
    assert_int_equal(cu(cuCtxDestroy)(context), CUDA_SUCCESS);
    assert_int_equal(fake(fake_misuse_total)(), misuse);
}

void CUDA_CB ask_inside(void *given) {
    Fence *fence = *static_cast<Fence **>(given);
    const bool asked_well = !fence->is_complete() && fence->wait() == VIA_ERROR_WOULD_DEADLOCK;
    fence->release();
    *static_cast<Fence **>(given) = asked_well ? nullptr : fence;
}

void nothing_is_asked_of_the_driver_inside_its_callbacks(void **) {
    need_fake_driver();
    const int64_t misuse = fake(fake_misuse_total)();
    const ResolvedStream held = internal(0);
    const ResolvedStream stream = internal(1);
    hold(held.handle);
    Fence *fence = recorded(held);
    assert_int_equal(cu(cuLaunchHostFunc)(stream.handle, ask_inside, &fence), CUDA_SUCCESS);
    assert_int_equal(via::cuda::wait_for_stream(stream), VIA_OK);
    assert_null(fence);
    release(held.handle);
    assert_int_equal(fake(fake_misuse_total)(), misuse);
}

void internal_streams_are_made_once_and_are_several(void **) {
    for (int32_t i = 0; i < via::cuda::kInternalStreams; ++i) {
        const ResolvedStream stream = internal(i);
        assert_ptr_equal(internal(i).handle, stream.handle);
        for (int32_t j = 0; j < i; ++j) {
            assert_ptr_not_equal(internal(j).handle, stream.handle);
        }
    }
}

void fences_serve_many_threads(void **) {
    constexpr int kThreads = 4;
    std::vector<std::thread> threads;
    std::atomic<int> failures{0};
    for (int32_t i = 0; i < kThreads; ++i) {
        threads.emplace_back([&, i] {
            ResolvedStream stream{};
            failures += via::cuda::internal_stream(0, i % via::cuda::kInternalStreams, &stream) != VIA_OK;
            Fence *kept[8] = {};
            for (int turn = 0; turn < 400; ++turn) {
                Fence *&slot = kept[turn % 8];
                if (slot != nullptr) {
                    failures += slot->wait() != VIA_OK || !slot->is_complete();
                    slot->release();
                }
                failures += via::cuda::record_fence(stream, &slot) != VIA_OK;
            }
            for (Fence *fence : kept) {
                fence->release();
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    assert_int_equal(failures.load(), 0);
}

// Resolve, record, ask, order and wait, in a context of its own so that every event must be made anew.
via::Status do_it_all(via_stream *stream) {
    ResolvedStream resolved_stream{};
    VIA_TRY(via::cuda::resolve(stream, 0, &resolved_stream));
    UniqueFence fence;
    VIA_TRY(via::cuda::record_fence(resolved_stream, fence.out()));
    (void)fence.get()->is_complete();
    ResolvedStream other{};
    VIA_TRY(via::cuda::internal_stream(0, 3, &other));
    VIA_TRY(fence.get()->make_stream_wait(other));
    return fence.get()->wait();
}

void any_call_of_the_driver_may_fail(void **) {
    need_fake_driver();
    enter_primary();
    const int64_t misuse = fake(fake_misuse_total)();
    via_stream *streams[] = {nullptr, via::cuda::per_thread_stream(), nullptr};
    assert_int_equal(via::cuda::create_stream(0, &streams[2]), VIA_OK);
    for (via_stream *stream : streams) {
        for (int64_t n = 1;; ++n) {
            const int64_t injected = fake(fake_faults_injected)();
            fake(fake_fail_at)(nullptr, n, CUDA_ERROR_UNKNOWN);
            const via::Status status = do_it_all(stream);
            fake(fake_clear_faults)();
            assert_true(status == VIA_OK || status == VIA_ERROR_CUDA);
            if (fake(fake_faults_injected)() == injected) {
                assert_int_equal(status, VIA_OK);
                break;
            }
        }
        assert_int_equal(do_it_all(stream), VIA_OK);
    }
    via::cuda::release_stream(streams[2]);
    assert_int_equal(fake(fake_misuse_total)(), misuse);
}

// The last one: what the tests before have made goes with the context.
void internal_streams_are_made_again_after_a_reset(void **) {
    need_fake_driver();
    const int64_t misuse = fake(fake_misuse_total)();
    const ResolvedStream before = internal(0);
    const UniqueFence fence(recorded(before));
    leave_primary();
    assert_int_equal(cu(cuDevicePrimaryCtxReset)(0), CUDA_SUCCESS);
    const ResolvedStream after = internal(0);
    assert_ptr_equal(after.context, before.context);
    assert_true(after.context_id != before.context_id);
    assert_true(fence.get()->is_complete());
    const UniqueFence next(recorded(after));
    assert_int_equal(next.get()->wait(), VIA_OK);
    assert_int_equal(fake(fake_misuse_total)(), misuse);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(every_handle_is_resolved_to_what_it_means),
        cmocka_unit_test(a_fence_is_reached_once_and_for_all),
        cmocka_unit_test(a_fence_that_nobody_owns_is_used_again),
        cmocka_unit_test(a_fence_used_again_stands_for_the_new_point_alone),
        cmocka_unit_test(a_stream_waits_only_for_what_is_still_to_come),
        cmocka_unit_test(a_stream_waits_for_its_own_work_without_a_call),
        cmocka_unit_test(fences_of_a_destroyed_context_are_reached),
        cmocka_unit_test(nothing_is_asked_of_the_driver_inside_its_callbacks),
        cmocka_unit_test(internal_streams_are_made_once_and_are_several),
        cmocka_unit_test(fences_serve_many_threads),
        cmocka_unit_test(any_call_of_the_driver_may_fail),
        cmocka_unit_test(internal_streams_are_made_again_after_a_reset),
    };
    return run_inside(tests);
}
