/* What strided copies do when the driver fails at any of its calls: a status with its text, nothing leaked, and the
   next copy works. */
#include "pending_copy.h"
#include "strided_routes.h"

typedef via_status (*attempt_function)(const strided_pair *both, via_stream *stream);

static via_status try_copy(const strided_pair *both, via_stream *stream) {
    (void)stream;
    return via_copy(both->dst.array, both->src.array);
}

static via_status try_async(const strided_pair *both, via_stream *stream) {
    return via_copy_async(both->dst.array, both->src.array, stream);
}

static via_status try_task(const strided_pair *both, via_stream *stream) {
    via_task *task = NULL;
    via_status status = via_copy_submit(both->dst.array, both->src.array, stream, &task);
    if (status == VIA_OK) {
        status = via_task_wait(task);
        via_task_release(task);
    }
    return status;
}

static void finish_devices(CUstream native) {
    cu_ok(cu(cuCtxSetCurrent)(primary(0))); /* one that could not be popped stays */
    finish(native);
    for (int device = 0; device < (device_count() > 1 ? 2 : 1); ++device) {
        cu_ok(cu(cuCtxSetCurrent)(primary(device)));
        cu_ok(cu(cuCtxSynchronize)());
    }
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
}

/* 1 if a call was made to fail. */
static int fail_at(int64_t n, place to, place from, int64_t rows, int64_t columns, attempt_function function) {
    strided_pair both = new_transposed_pair(to, from, rows, columns, 4);
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    const int64_t before = fake(fake_faults_injected)();
    fake(fake_fail_at)(NULL, n, CUDA_ERROR_UNKNOWN);
    const via_status status = function(&both, stream);
    fake(fake_clear_faults)();
    const int injected = fake(fake_faults_injected)() > before;
    if (status != VIA_OK) {
        assert_true(injected);
        assert_true(via_last_error()[0] != '\0');
    }
    finish_devices(native);
    end_strided_pair(&both);
    put_away(stream);
    put_away(native);
    return injected;
}

static void fail_at_every_call(place to, place from, int64_t rows, int64_t columns, attempt_function function) {
    int64_t n = 1;
    while (fail_at(n, to, from, rows, columns, function)) {
        assert_int_in_range(++n, 1, 600);
    }
    assert_true(n > 1);
    strided_pair again = new_transposed_pair(to, from, rows, columns, 4);
    char *expected = expect_copy(&again.of, &again.dst, &again.src);
    ok(via_copy(again.dst.array, again.src.array));
    assert_true(holds_bytes(&again.dst, expected));
    free(expected);
    end_strided_pair(&again);
}

/* A little, which takes few calls, and what takes scratch memory or slots. */
static void fail_everywhere(attempt_function function) {
    static const place pairs[][2] = {{DEVICE, PINNED}, {PINNED, DEVICE}, {DEVICE, PAGEABLE}, {PAGEABLE, DEVICE}};
    ok(via_cuda_warmup(0));
    for (int32_t i = 0; i < LENGTH(pairs); ++i) {
        fail_at_every_call(pairs[i][0], pairs[i][1], 20, 30, function);
        fail_at_every_call(pairs[i][0], pairs[i][1], 200, 300, function);
    }
    if (device_count() > 1) {
        ok(via_cuda_warmup(1));
        fail_at_every_call(DEVICE, OTHER_DEVICE, 20, 30, function);
        fail_at_every_call(OTHER_DEVICE, DEVICE, 20, 30, function);
    }
}

static void a_strided_copy_survives_any_failing_call(void **state) {
    (void)state;
    steer();
    fail_everywhere(try_copy);
}

static void an_asynchronous_strided_copy_survives_any_failing_call(void **state) {
    (void)state;
    steer();
    fail_everywhere(try_async);
}

static void a_strided_task_survives_any_failing_call(void **state) {
    (void)state;
    steer();
    fail_everywhere(try_task);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_strided_copy_survives_any_failing_call),
        GPU_TEST(an_asynchronous_strided_copy_survives_any_failing_call),
        GPU_TEST(a_strided_task_survives_any_failing_call),
    };
    return run_kernel_tests(tests);
}
