/*
 * The driver is noticed whenever somebody starts it, and started by nothing that merely looks at host memory. Each test
 * is in a process of its own, in which neither the library nor the driver has been touched.
 */
#include "support.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

#include "../capi/child.h"
#include "../capi/file_support.h"

enum { count = 300 };

static char host[count];
static char other[count];

static int driver_is_open(void) {
    const char *given = getenv("VIADUCT_LIBCUDA");
    void *library = dlopen(given != NULL ? given : "libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (library != NULL) {
        dlclose(library);
    }
    return library != NULL;
}

/* A memory checker has opened one before anything else ran. */
static void assert_no_driver(void) { assert_true(under_memory_checker() || !driver_is_open()); }

/* Often enough that whatever is remembered of the answer has been. */
static void copy_host_memory(unsigned seed) {
    for (int i = 0; i < 100; ++i) {
        fill_pattern(host, count, seed);
        ok(via_memcpy(other, host, count, NULL));
        assert_pattern(other, count, seed);
    }
}

/* What the host reads by itself is no device's memory: on the fake driver it would be the end of the process. */
static void assert_devices_are_noticed(void) {
    via_pointer_info info = VIA_POINTER_INFO_INIT;
    cu_ok(cu(cuInit)(0));
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    const CUdeviceptr device = device_memory(count);
    void *address = (void *)(uintptr_t)device;
    write_pattern(device, count, 7);
    ok(via_memcpy(other, address, count, NULL));
    assert_pattern(other, count, 7);
    ok(via_pointer_query(address, &info));
    assert_int_equal(info.device_type, VIA_DEVICE_CUDA);
    put_away_memory(device);
}

/* NULL is the legacy stream, on which nothing is where nobody uses CUDA. */
static void copy_arrays_without_a_stream(void) {
    via_array *dst = wrap_bytes(other, count, VIA_DEVICE_CPU, 0, NULL);
    via_array *src = wrap_bytes(host, count, VIA_DEVICE_CPU, 0, NULL);
    via_batch *batch = NULL;
    fill_pattern(host, count, 3);
    ok(via_copy_async(dst, src, NULL));
    assert_pattern(other, count, 3);
    fill_pattern(host, count, 4);
    ok(via_batch_create(&batch));
    ok(via_batch_add(batch, dst, src));
    ok(via_batch_run(batch, NULL));
    assert_pattern(other, count, 4);
    via_batch_release(batch);
    via_array_release(dst);
    via_array_release(src);
}

static void copy_then_load(void) {
    copy_host_memory(1);
    copy_arrays_without_a_stream();
    assert_no_driver();
    assert_devices_are_noticed();
}

static void copies_of_host_memory_open_no_driver_and_notice_one_opened_later(void **state) {
    (void)state;
    APART(copy_then_load);
}

static void load_then_copy(void) {
    assert_devices_are_noticed();
    copy_host_memory(2);
}

static void a_driver_started_before_the_first_copy_is_noticed(void **state) {
    (void)state;
    APART(load_then_copy);
}

static void copy_between_loading_and_starting(void) {
    copy_host_memory(3);
    assert_no_driver();
    (void)driver_symbol("cuInit");
    assert_true(driver_is_open());
    copy_host_memory(4);
    assert_devices_are_noticed();
}

static void a_driver_started_long_after_it_was_opened_is_noticed(void **state) {
    (void)state;
    APART(copy_between_loading_and_starting);
}

/* One that no test needs, and no program has. */
static void *open_another(void) { return dlopen("libutil.so.1", RTLD_NOW | RTLD_LOCAL); }

static void copy_while_libraries_come_and_go(void) {
    copy_host_memory(5);
    void *library = open_another();
    copy_host_memory(6);
    assert_true(library == NULL || dlclose(library) == 0);
    copy_host_memory(7);
    library = open_another();
    assert_no_driver();
    assert_devices_are_noticed();
    assert_true(library == NULL || dlclose(library) == 0);
    copy_host_memory(8);
}

static void a_driver_is_noticed_among_libraries_that_come_and_go(void **state) {
    (void)state;
    APART(copy_while_libraries_come_and_go);
}

static void copy_where_the_closed_one_was(void) {
    void *library = open_another();
    copy_host_memory(9);
    assert_true(library == NULL || dlclose(library) == 0);
    assert_devices_are_noticed();
}

static void a_driver_that_takes_the_place_of_a_closed_library_is_noticed(void **state) {
    (void)state;
    APART(copy_where_the_closed_one_was);
}

static void *copy_in_thread(void *unused) {
    (void)unused;
    copy_host_memory(10);
    return NULL;
}

static void copy_elsewhere_then_load(void) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, copy_in_thread, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_devices_are_noticed();
}

static void what_one_thread_found_missing_another_finds_later(void **state) {
    (void)state;
    APART(copy_elsewhere_then_load);
}

static void *count_devices(void *out_status) {
    int32_t count_found = 0;
    *(via_status *)out_status = via_device_count(VIA_DEVICE_CUDA, &count_found);
    return NULL;
}

/* A driver that comes through a pipe, and keeps who opens it waiting for as long as nothing is written. */
static void fork_while_loading(void) {
    assert_int_equal(make_scratch(NULL), 0);
    assert_int_equal(mkfifo(path_of("driver"), 0600), 0);
    assert_int_equal(setenv("VIADUCT_LIBCUDA", path_of("driver"), 1), 0);
    pthread_t thread;
    via_status found = VIA_OK;
    assert_int_equal(pthread_create(&thread, NULL, count_devices, &found), 0);
    int pipe = -1;
    while ((pipe = open(path_of("driver"), O_WRONLY | O_NONBLOCK)) < 0) {
        sched_yield();
    }
    const pid_t child = fork_child();
    if (child == 0) {
        via_stream *stream = NULL;
        alarm(30);
        CHECK(via_memcpy(other, host, count, NULL) == VIA_OK);
        CHECK(via_stream_create(0, &stream) == VIA_ERROR_FORKED);
        _exit(0);
    }
    int status = 0;
    const pid_t ended = waitpid(child, &status, 0);
    close(pipe);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(ended, child);
    assert_int_equal(status, 0);
    assert_int_equal(remove_scratch(NULL), 0);
}

/* A memory checker's own fork looks up a function, for which it waits until whatever is being loaded has been. */
static void a_child_forked_while_the_driver_is_loaded_does_not_wait_for_it(void **state) {
    (void)state;
    if (under_memory_checker()) {
        skip();
    }
    APART(fork_while_loading);
}

static atomic_int copying;
static atomic_int has_forked;

static void *copy_until_forked(void *unused) {
    (void)unused;
    char from[64] = {0};
    char to[64];
    atomic_fetch_add(&copying, 1);
    while (!atomic_load(&has_forked)) {
        ok(via_memcpy(to, from, sizeof to, NULL));
    }
    return NULL;
}

/* From then on each copy looks for a driver among the libraries, whose list is locked meanwhile. */
static void fork_amid_copies(void) {
    enum { threads = 2 };
    pthread_t copiers[threads];
    assert_non_null(open_another());
    for (int i = 0; i < threads; ++i) {
        assert_int_equal(pthread_create(&copiers[i], NULL, copy_until_forked, NULL), 0);
    }
    await_count(&copying, threads);
    int status = 0;
    for (int64_t i = 0; i < REPEATS(2000) && status == 0; ++i) {
        const pid_t child = fork(); /* the threads allocate nothing */
        if (child == 0) {
            alarm(10);
            CHECK(via_memcpy(other, host, count, NULL) == VIA_OK);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
    }
    atomic_store(&has_forked, 1);
    for (int i = 0; i < threads; ++i) {
        assert_int_equal(pthread_join(copiers[i], NULL), 0);
    }
    assert_int_equal(status, 0);
}

static void a_child_forked_amid_looks_for_a_driver_that_is_missing_does_not_wait(void **state) {
    (void)state;
    if (under_memory_checker()) {
        skip(); /* it has opened one */
    }
    run_apart(fork_amid_copies, (const char *const[]){"VIADUCT_LIBCUDA=/nonexistent", NULL});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_of_host_memory_open_no_driver_and_notice_one_opened_later),
        cmocka_unit_test(a_driver_started_before_the_first_copy_is_noticed),
        cmocka_unit_test(a_driver_started_long_after_it_was_opened_is_noticed),
        cmocka_unit_test(a_driver_is_noticed_among_libraries_that_come_and_go),
        cmocka_unit_test(a_driver_that_takes_the_place_of_a_closed_library_is_noticed),
        cmocka_unit_test(what_one_thread_found_missing_another_finds_later),
        cmocka_unit_test(a_child_forked_while_the_driver_is_loaded_does_not_wait_for_it),
        cmocka_unit_test(a_child_forked_amid_looks_for_a_driver_that_is_missing_does_not_wait),
    };
    return run_gpu_tests(tests);
}
