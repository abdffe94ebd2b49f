/* Many threads, and processes that end in the middle of things. */
#include "support.h"

#include <fcntl.h>

enum { THREADS = 8, ROUNDS = 30, BYTES = 4096 };

static CUcontext shared_context;

/* Streams, events and memory of its own: what comes back must be what was sent. */
static void *send_and_fetch(void *number) {
    char sent[BYTES], back[BYTES];
    ok(cu(cuCtxSetCurrent)(shared_context));
    const CUstream first = new_stream(), second = new_stream();
    const CUevent event = new_event();
    for (int round = 0; round < ROUNDS; ++round) {
        memset(sent, (int)(uintptr_t)number + round, sizeof sent);
        const CUdeviceptr a = device_memory(BYTES);
        CUdeviceptr b = 0;
        ok(cu(cuMemcpyHtoDAsync)(a, sent, BYTES, first));
        ok(cu(cuEventRecord)(event, first));
        ok(cu(cuStreamWaitEvent)(second, event, 0));
        ok(cu(cuMemAllocAsync)(&b, BYTES, second));
        ok(cu(cuMemcpyDtoDAsync)(b, a, BYTES, second));
        ok(cu(cuMemcpyDtoHAsync)(back, b, BYTES, second));
        assert_memory_equal(sent, back, BYTES);
        ok(cu(cuMemFreeAsync)(b, second));
        ok(cu(cuMemFree)(a));
    }
    ok(cu(cuEventDestroy)(event));
    ok(cu(cuStreamDestroy)(first));
    ok(cu(cuStreamDestroy)(second));
    return NULL;
}

static void run_threads(void *(*body)(void *)) {
    pthread_t threads[THREADS];
    ok(cu(cuCtxGetCurrent)(&shared_context));
    for (uintptr_t i = 0; i < THREADS; ++i) {
        assert_int_equal(pthread_create(&threads[i], NULL, body, (void *)i), 0);
    }
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(threads[i], NULL);
    }
}

static void threads_do_not_disturb_one_another(void **state) {
    (void)state;
    run_threads(send_and_fetch);
    assert_int_equal(fake(fake_misuse_total)(), 0);
    assert_int_equal(fake(fake_live_objects)(), 2);
}

static void random_schedules_change_nothing_that_is_ordered(void **state) {
    (void)state;
    for (int seed = 1; seed <= 3; ++seed) {
        fake(fake_set)(FAKE_JITTER, seed);
        run_threads(send_and_fetch);
    }
    assert_int_equal(fake(fake_misuse_total)(), 0);
}

static void *share_one_stream(void *stream) {
    ok(cu(cuCtxSetCurrent)(shared_context));
    const CUdeviceptr memory = device_memory(64);
    for (int i = 0; i < ROUNDS; ++i) {
        ok(cu(cuMemsetD8Async)(memory, (unsigned char)i, 64, CU_STREAM_LEGACY));
        ok(cu(cuMemsetD8Async)(memory, (unsigned char)i, 64, CU_STREAM_PER_THREAD));
    }
    ok(cu(cuStreamSynchronize)(CU_STREAM_PER_THREAD));
    assert_int_equal(byte_at(memory), ROUNDS - 1);
    (void)stream;
    return NULL;
}

static void threads_share_the_legacy_stream(void **state) {
    (void)state;
    run_threads(share_one_stream);
}

static void CUDA_CB be_slow(void *unused) {
    (void)unused;
    usleep(50000);
}

/* How a process ends that is this program, started anew to do one thing. */
static int end_of(const char *what) {
    const pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "threads", what, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

static void leave_work_running(void) {
    for (int i = 0; i < 4; ++i) {
        const CUstream stream = new_stream();
        ok(cu(cuLaunchHostFunc)(stream, be_slow, NULL));
        ok(cu(cuMemsetD8Async)(device_memory(1 << 20), 1, 1 << 20, stream));
    }
}

static void leave_work_held(void) {
    const CUstream stream = new_stream();
    fake(fake_stream_hold)(stream);
    ok(cu(cuMemsetD8Async)(device_memory(64), 1, 64, stream));
}

static void a_process_may_end_while_streams_run(void **state) {
    (void)state;
    assert_int_equal(end_of("leave work running"), 0);
    assert_int_equal(end_of("leave work held"), 0);
}

static void wait_for_ever(void) {
    /* The message is expected; it would only confuse whoever reads the test's output. */
    assert_int_equal(dup2(open("/dev/null", O_WRONLY), STDERR_FILENO), STDERR_FILENO);
    fake(fake_set)(FAKE_WAIT_LIMIT, 50);
    leave_work_held();
    cu(cuCtxSynchronize)();
}

static void waiting_for_a_held_stream_ends_in_an_abort(void **state) {
    (void)state;
    assert_int_not_equal(end_of("wait for ever"), 0);
}

static int do_one_thing(const char *what) {
    begin_test(NULL);
    if (strcmp(what, "leave work running") == 0) {
        leave_work_running();
    } else if (strcmp(what, "leave work held") == 0) {
        leave_work_held();
    } else {
        wait_for_ever();
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1) {
        return do_one_thing(argv[1]);
    }
    const struct CMUnitTest tests[] = {
        TEST(threads_do_not_disturb_one_another),
        TEST(random_schedules_change_nothing_that_is_ordered),
        TEST(threads_share_the_legacy_stream),
        TEST(a_process_may_end_while_streams_run),
        TEST(waiting_for_a_held_stream_ends_in_an_abort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
