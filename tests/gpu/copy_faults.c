/* What copies do when the driver fails at any of its calls: a status with its text, nothing leaked, nothing broken. */
#include "pending_copy.h"

typedef struct attempt {
    via_array *dst;
    via_array *src;
    via_stream *stream;
    char *dst_data;
    const char *src_data;
    int64_t count;
    CUstream native;
    int32_t at;
    int32_t result;
} attempt;

static void arm(const attempt *a) { fake(fake_fail_at)(NULL, a->at, a->result); }

static via_status try_copy(const attempt *a) { return via_copy(a->dst, a->src); }
static via_status try_async(const attempt *a) { return via_copy_async(a->dst, a->src, a->stream); }
static via_status try_memcpy(const attempt *a) { return via_memcpy(a->dst_data, a->src_data, a->count, NULL); }
static via_status try_fill(const attempt *a) { return via_fill(a->dst, NULL, a->stream); }

static via_status try_task(const attempt *a) {
    via_task *task = NULL;
    via_status status = via_copy_submit(a->dst, a->src, a->stream, &task);
    if (status != VIA_OK) {
        assert_null(task);
        return status;
    }
    status = via_task_wait(task);
    via_task_release(task);
    return status;
}

static via_status try_captured(const attempt *a) {
    CUgraph graph = NULL;
    fake(fake_clear_faults)();
    cu_ok(cu(cuStreamBeginCapture)(a->native, CU_STREAM_CAPTURE_MODE_RELAXED));
    arm(a);
    const via_status status = via_copy_async(a->dst, a->src, a->stream);
    fake(fake_clear_faults)();
    (void)cu(cuStreamEndCapture)(a->native, &graph);
    if (graph != NULL) {
        cu_ok(cu(cuGraphDestroy)(graph));
    }
    return status;
}

typedef via_status (*attempt_function)(const attempt *self);

static const char earlier[] = "via_copy: dst is NULL";

/* Makes call after call fail, until an attempt meets none that does. */
static void fail_at_every_call(place dst, place src, int64_t count, attempt_function function, int32_t result) {
    int64_t injected = 0;
    int32_t attempts = 0;
    atomic_int released = 0;
    pair both = new_pair(dst, src, count);
    block to = both.dst;
    block from = both.src;
    do {
        atomic_store(&released, 0);
        to.array = wrap_block(&to, &released);
        from.array = wrap_block(&from, &released);
        CUstream native = new_stream();
        const attempt given = {to.array,   from.array, wrap_native(native, 0), to.data, from.data, count, native,
                               ++attempts, result};
        const int64_t before = fake(fake_faults_injected)();
        refused(VIA_ERROR_INVALID_ARGUMENT, earlier, via_copy(NULL, NULL));
        arm(&given);
        const via_status status = function(&given);
        fake(fake_clear_faults)();
        injected = fake(fake_faults_injected)() - before;
        CUcontext current = NULL;
        cu_ok(cu(cuCtxGetCurrent)(&current));
        assert_ptr_equal(current, primary(0));
        if (status != VIA_OK) {
            assert_true(injected > 0);
            assert_true(via_last_error()[0] != '\0');
        } else {
            assert_true(holds_words(via_last_error(), earlier)); /* what has been handled is not reported */
        }
        finish(native);
        finish_legacy();
        release_block(&to);
        release_block(&from);
        await_count(&released, 2);
        put_away(given.stream);
        put_away(native);
    } while (injected > 0 && attempts < 400);
    assert_true(attempts > 1);
    refill_pair(&both);
    ok(via_copy(both.dst.array, both.src.array));
    assert_block(&both.dst, 1);
    end_pair(&both);
}

static const place pairs[][2] = {{DEVICE, PINNED},   {PINNED, DEVICE},   {DEVICE, DEVICE},
                                 {DEVICE, PAGEABLE}, {PAGEABLE, DEVICE}, {MANAGED, PINNED}};

static void fail_everywhere(attempt_function function) {
    for (int32_t i = 0; i < LENGTH(pairs); ++i) {
        fail_at_every_call(pairs[i][0], pairs[i][1], 5000, function, CUDA_ERROR_UNKNOWN);
    }
    fail_at_every_call(DEVICE, PINNED, 5000, function, CUDA_ERROR_OUT_OF_MEMORY);
}

static void a_copy_survives_any_failing_call(void **state) {
    (void)state;
    steer();
    fail_everywhere(try_copy);
}

static void an_asynchronous_copy_survives_any_failing_call(void **state) {
    (void)state;
    steer();
    fail_everywhere(try_async);
}

static void a_task_survives_any_failing_call(void **state) {
    (void)state;
    steer();
    fail_everywhere(try_task);
}

static void a_raw_copy_and_a_fill_survive_any_failing_call(void **state) {
    (void)state;
    steer();
    fail_everywhere(try_memcpy);
    fail_at_every_call(DEVICE, DEVICE, 5000, try_fill, CUDA_ERROR_UNKNOWN);
    fail_at_every_call(PINNED, DEVICE, 5000, try_fill, CUDA_ERROR_UNKNOWN);
}

static void a_captured_copy_survives_any_failing_call(void **state) {
    (void)state;
    steer();
    fail_at_every_call(DEVICE, PINNED, 5000, try_captured, CUDA_ERROR_UNKNOWN);
}

static void a_staged_copy_survives_any_failing_call(void **state) {
    (void)state;
    steer();
    fail_at_every_call(DEVICE, PAGEABLE, 20 << 20, try_copy, CUDA_ERROR_UNKNOWN);
    fail_at_every_call(PAGEABLE, DEVICE, 20 << 20, try_async, CUDA_ERROR_UNKNOWN);
    fail_at_every_call(DEVICE, PAGEABLE, 20 << 20, try_async, CUDA_ERROR_UNKNOWN);
}

static void a_peer_copy_survives_any_failing_call(void **state) {
    (void)state;
    steer();
    need_two_devices();
    fail_at_every_call(DEVICE, OTHER_DEVICE, 5000, try_copy, CUDA_ERROR_UNKNOWN);
    fail_at_every_call(OTHER_DEVICE, DEVICE, 5000, try_async, CUDA_ERROR_UNKNOWN);
}

static void a_copy_that_failed_leaves_no_fence(void **state) {
    (void)state;
    steer();
    pair both = new_pair(DEVICE, PINNED, 5000);
    CUstream native = new_stream();
    hold(native);
    fake(fake_fail_at)("cuMemcpyHtoDAsync", 1, CUDA_ERROR_UNKNOWN);
    refused(VIA_ERROR_CUDA, "cuMemcpyHtoDAsync|CUDA_ERROR_UNKNOWN",
            via_copy_async(both.dst.array, both.src.array, wrap_native(native, 0)));
    assert_int_equal(via_last_error_code(), CUDA_ERROR_UNKNOWN);
    ok(via_copy(both.dst.array, both.src.array));
    assert_block(&both.dst, 1);
    release(native);
    end_pair(&both);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_copy_survives_any_failing_call),          GPU_TEST(an_asynchronous_copy_survives_any_failing_call),
        GPU_TEST(a_task_survives_any_failing_call),          GPU_TEST(a_raw_copy_and_a_fill_survive_any_failing_call),
        GPU_TEST(a_captured_copy_survives_any_failing_call), GPU_TEST(a_staged_copy_survives_any_failing_call),
        GPU_TEST(a_peer_copy_survives_any_failing_call),     GPU_TEST(a_copy_that_failed_leaves_no_fence),
    };
    return run_gpu_tests(tests);
}
