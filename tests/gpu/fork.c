/* A forked child: nothing of CUDA's can be used there, everything can be released, and the parent goes on. */
#include "../capi/child.h"
#include "support.h"

#include <sys/wait.h>
#include <unistd.h>

typedef struct before_fork {
    via_stream *foreign;
    via_stream *owned;
    via_event *marker;
    via_array *array; /* with fences pending */
    atomic_int released;
} before_fork;

#define FORKED(call) CHECK((call) == VIA_ERROR_FORKED && strstr(via_last_error(), "forked") != NULL)

static void use_nothing(before_fork *given) {
    via_stream *stream = NULL;
    via_event *marker = NULL;
    int32_t done = 7;
    FORKED(via_stream_create(0, &stream));
    FORKED(via_stream_wrap(NULL, 0, &stream));
    FORKED(via_stream_wrap(via_stream_handle(given->foreign), 0, &stream));
    FORKED(via_stream_synchronize(given->owned));
    FORKED(via_stream_synchronize(via_stream_legacy()));
    FORKED(via_stream_query(given->foreign, &done));
    FORKED(via_stream_set_current(0, given->owned));
    FORKED(via_stream_set_current(0, NULL));
    FORKED(via_stream_current(0, &stream));
    FORKED(via_stream_wait(given->owned, given->marker));
    FORKED(via_event_create(0, &marker));
    FORKED(via_event_wrap(via_event_handle(given->marker), 0, &marker));
    FORKED(via_event_record(given->marker, given->owned));
    FORKED(via_event_query(given->marker, &done));
    FORKED(via_event_synchronize(given->marker));
    FORKED(via_array_record_stream(given->array, given->owned));
    FORKED(via_array_set_ready(given->array, via_stream_legacy()));
    CHECK(stream == NULL && marker == NULL && done == 0);
}

static void let_everything_go(before_fork *given) {
    CHECK((uintptr_t)via_stream_handle(via_stream_legacy()) == 1);
    CHECK(via_stream_device_id(given->owned) == 0);
    via_array_release(given->array);
    CHECK(atomic_load(&given->released) == 1);
    via_stream_release(given->foreign);
    via_stream_release(given->owned);
    via_event_release(given->marker);
}

static void child(before_fork *given, int64_t calls_so_far) {
    use_nothing(given);
    let_everything_go(given);
    if (on_fake_driver()) {
        CHECK(fake(fake_misused)(FAKE_CALL_IN_FORKED_CHILD) == 0);
        CHECK(fake(fake_call_count)(NULL) == calls_so_far);
    }
    _exit(0);
}

static void in_a_fresh_process(void) {
    assert_true(driver_is_there());
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    static char values[64];
    static before_fork given;
    CUstream native = new_stream();
    given.array = wrap_bytes(values, 64, VIA_DEVICE_CPU, 0, &given.released);
    ok(via_stream_wrap(native, 0, &given.foreign));
    ok(via_stream_create(0, &given.owned));
    ok(via_event_create(0, &given.marker));
    ok(via_stream_set_current(0, given.owned));
    hold(native);
    ok(via_array_record_stream(given.array, given.foreign));
    ok(via_array_set_ready(given.array, given.foreign));
    const int64_t calls = on_fake_driver() ? fake(fake_call_count)(NULL) : 0;
    const pid_t pid = fork_child();
    assert_true(pid >= 0);
    if (pid == 0) {
        child(&given, calls);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    via_array_release(given.array);
    assert_int_equal(atomic_load(&given.released), 0);
    release(native);
    await_count(&given.released, 1);
    ok(via_stream_synchronize(given.owned));
    ok(via_stream_set_current(0, NULL));
    via_stream_release(given.foreign);
    via_stream_release(given.owned);
    via_event_release(given.marker);
}

static void a_forked_child_uses_nothing_and_lets_everything_go(void **state) {
    (void)state;
    APART(in_a_fresh_process);
}

/* The record of whether a row number was out of range is memory that the child lacks. */
static void fork_behind_a_copy_by_index(void) {
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    const CUdeviceptr numbers = device_memory(sizeof(int32_t));
    via_array *dst = wrap_device(device_memory(64), 64, NULL);
    via_array *src = wrap_device(device_memory(64), 64, NULL);
    via_array *index = NULL;
    write_device(numbers, &(int32_t){3}, sizeof(int32_t));
    ok(via_wrap((void *)(uintptr_t)numbers, VIA_INT32, 1, SHAPE(1), NULL, VIA_DEVICE_CUDA, 0, 0, NULL, NULL, &index));
    ok(via_copy_indexed(dst, index, src, index, 0, NULL, wrap_native(new_stream(), 0)));
    const pid_t pid = fork_child();
    assert_true(pid >= 0);
    if (pid == 0) {
        CHECK(via_array_is_ready(dst) == 1);
        CHECK(via_array_synchronize(dst) == VIA_OK);
        via_array_release(dst);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    ok(via_array_synchronize(dst));
    via_array_release(dst);
    via_array_release(src);
    via_array_release(index);
}

static void a_forked_child_waits_for_no_copy_by_an_index_on_a_device(void **state) {
    (void)state;
    need_kernels();
    APART(fork_behind_a_copy_by_index);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_forked_child_uses_nothing_and_lets_everything_go),
        GPU_TEST(a_forked_child_waits_for_no_copy_by_an_index_on_a_device),
    };
    return run_gpu_tests(tests);
}
