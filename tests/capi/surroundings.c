/* What a process may be in: short of threads and memory, interrupted by signals, at its end, or inside a callback. */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../limits.h"
#include "child.h"
#include "file_support.h"

enum { BYTES = 4 << 20, SMALL = 4096, patience_s = 60, nobody = 65534 };

static unsigned char from[BYTES];
static unsigned char to[BYTES];
static unsigned char other[BYTES];

static void rest_ms(int ms) { nanosleep(&(struct timespec){0, ms * 1000000L}, NULL); }

static void fill_bytes(unsigned seed) {
    for (int i = 0; i < BYTES; ++i) {
        from[i] = (unsigned char)(i * 7 + (i >> 9) + (int)seed);
    }
    memset(to, 0, BYTES);
}

static via_array *whole(unsigned char *bytes) {
    via_array *array = NULL;
    CHECK(via_wrap(bytes, VIA_UINT8, 1, SHAPE(BYTES), NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &array) == VIA_OK);
    return array;
}

/* The wait status of a process of its own. */
static int run_alone(void (*body)(void)) {
    fflush(NULL);
    const pid_t process = fork_child();
    if (process == 0) {
        alarm(patience_s);
        body();
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(process, &status, 0), process);
    return status;
}

#define ALONE(body) assert_int_equal(run_alone(body), 0)

/* ---------------------------------------------------------------------------------------------------------- limits */

static int start_nothing(void) {
    pthread_t thread;
    return pthread_create(&thread, NULL, (void *(*)(void *))(uintptr_t)&start_nothing, NULL);
}

static void work_without_threads(void) {
    via_array *dst = whole(to);
    via_array *src = whole(from);
    via_task *task = NULL;
    fill_bytes(1);
    CHECK(setgid(nobody) == 0 && setuid(nobody) == 0);
    CHECK(setrlimit(RLIMIT_NPROC, &(struct rlimit){0, RLIM_INFINITY}) == 0 ||
          setrlimit(RLIMIT_NPROC, &(struct rlimit){0, 0}) == 0);
    if (start_nothing() != EAGAIN) {
        _exit(0); /* this system does not count them */
    }
    CHECK(via_set_num_threads(8) == VIA_OK);
    CHECK(via_copy(dst, src) == VIA_OK && memcmp(to, from, BYTES) == 0);
    CHECK(via_copy_submit(dst, src, NULL, &task) == VIA_ERROR_OUT_OF_MEMORY && task == NULL);
    CHECK(strstr(via_last_error(), "thread") != NULL);
    via_array_release(dst);
    via_array_release(src);
}

static void without_threads_copies_go_on_and_tasks_are_refused(void **state) {
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    ALONE(work_without_threads);
}

/* Address space for a little more than there is. */
static void work_without_memory(void) {
    via_array *dst = whole(to);
    via_array *src = whole(from);
    via_array *none = NULL;
    via_file *file = NULL;
    fill_bytes(2);
    CHECK(make_scratch(NULL) == 0);
    put_file("bytes.bin", from, BYTES);
    CHECK(setrlimit(RLIMIT_AS, &(struct rlimit){1 << 20, RLIM_INFINITY}) == 0);
    CHECK(via_empty(NULL, VIA_UINT8, 1, SHAPE(64 << 20), NULL, &none) == VIA_ERROR_OUT_OF_MEMORY && none == NULL);
    CHECK(via_copy(dst, src) == VIA_OK && memcmp(to, from, BYTES) == 0);
    memset(to, 0, BYTES);
    CHECK(via_file_open(path_of("bytes.bin"), NULL, &file) == VIA_OK);
    CHECK(via_file_array(file, 0, VIA_UINT8, 1, SHAPE(BYTES), &none) != VIA_OK && none == NULL);
    const via_status status = via_file_read(file, 0, dst, NULL);
    CHECK(status == VIA_OK ? memcmp(to, from, BYTES) == 0 : status == VIA_ERROR_OUT_OF_MEMORY);
    via_file_release(file);
    CHECK(setrlimit(RLIMIT_AS, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY}) == 0);
    via_array_release(dst);
    via_array_release(src);
    CHECK(remove_scratch(NULL) == 0);
}

static void without_memory_what_needs_none_goes_on(void **state) {
    (void)state;
#if defined(__SANITIZE_ADDRESS__)
    skip();
#endif
    if (!can_limit_memory()) {
        skip();
    }
    ALONE(work_without_memory);
}

/* --------------------------------------------------------------------------------------------------------- signals */

static atomic_int interruptions;
static void count_interruption(int number) {
    (void)number;
    atomic_fetch_add(&interruptions, 1);
}

/* A hundred microseconds apart, and no call of the system goes on by itself. */
static void interrupt_often(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = count_interruption;
    CHECK(sigaction(SIGVTALRM, &action, NULL) == 0 && sigaction(SIGPROF, &action, NULL) == 0);
    const struct itimerval often = {{0, 100}, {0, 100}};
    CHECK(setitimer(ITIMER_PROF, &often, NULL) == 0);
}

static void use_file(const via_file_options *options) {
    via_file *file = NULL;
    via_array *dst = whole(to);
    via_array *src = whole(from);
    via_task *task = NULL;
    CHECK(via_file_open(path_of("bytes.bin"), options, &file) == VIA_OK);
    CHECK(via_file_write(file, 0, src, NULL) == VIA_OK);
    CHECK(via_file_read(file, 0, dst, NULL) == VIA_OK && memcmp(to, from, BYTES) == 0);
    memset(to, 0, BYTES);
    CHECK(via_file_read_submit(file, 0, dst, NULL, &task) == VIA_OK);
    CHECK(via_task_wait(task) == VIA_OK && memcmp(to, from, BYTES) == 0);
    via_task_release(task);
    via_array_release(dst);
    via_array_release(src);
    via_file_release(file);
}

static void work_interrupted(void) {
    CHECK(make_scratch(NULL) == 0);
    fill_bytes(3);
    put_file("bytes.bin", from, BYTES);
    interrupt_often();
    for (unsigned turn = 0; turn < 20; ++turn) {
        via_array *dst = whole(to);
        via_array *src = whole(from);
        via_task *task = NULL;
        fill_bytes(turn);
        CHECK(via_copy_submit(dst, src, NULL, &task) == VIA_OK);
        CHECK(via_task_wait(task) == VIA_OK && memcmp(to, from, BYTES) == 0);
        via_task_release(task);
        via_array_release(dst);
        via_array_release(src);
        use_file(OPTIONS_OF(.mode = VIA_MODE_READ_WRITE));
        use_file(OPTIONS_OF(.mode = VIA_MODE_READ_WRITE, .atomic_write = 1));
        use_file(OPTIONS_OF(.mode = VIA_MODE_READ_WRITE, .page_cache = VIA_PAGE_CACHE_AVOID, .durable = turn % 4 == 0));
    }
    CHECK(setitimer(ITIMER_PROF, &(const struct itimerval){{0, 0}, {0, 0}}, NULL) == 0);
    CHECK(atomic_load(&interruptions) > 0);
    CHECK(remove_scratch(NULL) == 0);
}

static void signals_interrupt_nothing(void **state) {
    (void)state;
    ALONE(work_interrupted);
}

/* ----------------------------------------------------------------------------------------------------- the end of it
 */

static void *copy_for_ever(void *unused) {
    (void)unused;
    for (;;) {
        via_array *dst = whole(to);
        via_array *src = whole(from);
        via_task *task = NULL;
        CHECK(via_copy(dst, src) == VIA_OK);
        CHECK(via_copy_submit(dst, src, NULL, &task) == VIA_OK);
        via_task_release(task);
        via_array_release(dst);
        via_array_release(src);
    }
    return NULL;
}

static void exit_amid_copies(void) {
    pthread_t threads[3];
    CHECK(via_set_num_threads(3) == VIA_OK);
    for (int i = 0; i < 3; ++i) {
        CHECK(pthread_create(&threads[i], NULL, copy_for_ever, NULL) == 0);
    }
    rest_ms(5);
    exit(0);
}

static void a_process_may_exit_while_threads_copy(void **state) {
    (void)state;
    for (int turn = 0; turn < 20; ++turn) {
        ALONE(exit_amid_copies);
    }
}

static void exit_now(int32_t status, const char *text, void *context) {
    (void)status;
    (void)text;
    (void)context;
    exit(0);
}

static void exit_with_release(void *context) { exit_now(0, NULL, context); }

static void exit_in_done_callback(void) {
    via_array *dst = whole(to);
    via_array *src = whole(from);
    via_task *task = NULL;
    CHECK(via_copy_submit(dst, src, NULL, &task) == VIA_OK);
    CHECK(via_task_on_complete(task, exit_now, NULL) == VIA_OK);
    rest_ms(900);
    rest_ms(900);
    _exit(1);
}

static void exit_in_release_callback(void) {
    via_array *array = NULL;
    CHECK(via_wrap(to, VIA_UINT8, 1, SHAPE(BYTES), NULL, VIA_DEVICE_CPU, 0, 0, exit_with_release, NULL, &array) ==
          VIA_OK);
    via_array_release(array);
    _exit(1);
}

static void a_process_may_exit_in_a_callback(void **state) {
    (void)state;
    ALONE(exit_in_done_callback);
    ALONE(exit_in_release_callback);
}

static void close_library(void) {
    via_array *dst = whole(to);
    via_array *src = whole(from);
    Dl_info info;
    fill_bytes(5);
    CHECK(dladdr((const void *)(uintptr_t)&via_copy, &info) != 0);
    void *again = dlopen(info.dli_fname, RTLD_NOW);
    via_task *task = NULL;
    CHECK(again != NULL && via_copy_submit(dst, src, NULL, &task) == VIA_OK);
    for (int i = 0; i < 3; ++i) {
        (void)dlclose(again);
    }
    CHECK(via_task_wait(task) == VIA_OK && memcmp(to, from, BYTES) == 0);
    via_task_release(task);
    via_array_release(dst);
    via_array_release(src);
}

static void the_library_stays_when_it_is_closed_amid_a_task(void **state) {
    (void)state;
    ALONE(close_library);
}

/* ------------------------------------------------------------------------------------------------- inside a callback
 */

static atomic_int called;

/* All of it, as if from anywhere else; only tasks are not waited for. */
static void use_everything(void) {
    via_array *dst = NULL;
    via_array *src = NULL;
    via_array *made = NULL;
    via_task *task = NULL;
    via_batch *batch = NULL;
    via_memory *memory = NULL;
    via_stats_info stats = VIA_STATS_INFO_INIT;
    CHECK(via_wrap(other, VIA_UINT8, 1, SHAPE(SMALL), NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &dst) == VIA_OK);
    CHECK(via_wrap(other + SMALL, VIA_UINT8, 1, SHAPE(SMALL), NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &src) == VIA_OK);
    CHECK(via_set_num_threads(2) == VIA_OK);
    CHECK(via_copy(dst, src) == VIA_OK);
    CHECK(via_fill(dst, NULL, NULL) == VIA_OK);
    CHECK(via_copy_async(dst, src, NULL) == VIA_OK);
    CHECK(via_memory_create(VIA_MEMORY_HOST, 0, &memory) == VIA_OK);
    CHECK(via_empty(memory, VIA_UINT8, 1, SHAPE(SMALL), NULL, &made) == VIA_OK);
    CHECK(via_batch_create(&batch) == VIA_OK);
    CHECK(via_batch_add(batch, made, src) == VIA_OK);
    CHECK(via_batch_run(batch, NULL) == VIA_OK);
    CHECK(via_batch_submit(batch, NULL, &task) == VIA_OK);
    via_task_release(task);
    CHECK(via_copy_submit(dst, src, NULL, &task) == VIA_OK);
    const via_status waited = via_task_wait(task);
    CHECK(waited == VIA_OK || waited == VIA_ERROR_WOULD_DEADLOCK);
    CHECK(via_task_cancel(task) == VIA_OK);
    via_task_release(task);
    CHECK(via_stats(&stats) == VIA_OK);
    via_batch_release(batch);
    via_array_release(made);
    via_memory_release(memory);
    via_array_release(dst);
    via_array_release(src);
    atomic_fetch_add(&called, 1);
}

static void use_everything_done(int32_t status, const char *text, void *context) {
    (void)status;
    (void)text;
    via_task_release(context); /* the last share of the task that ends */
    use_everything();
}

static void use_everything_released(void *context) {
    (void)context;
    use_everything();
}

static int32_t use_everything_allocating(int64_t nbytes, int64_t alignment, void *of_stream, void *context,
                                         void **out_address) {
    (void)of_stream;
    (void)context;
    use_everything();
    *out_address = aligned_alloc((size_t)alignment, ((size_t)nbytes + 63) / 64 * 64);
    return 0;
}

static void use_everything_freeing(void *address, int64_t nbytes, void *of_stream, void *context) {
    (void)nbytes;
    (void)of_stream;
    (void)context;
    use_everything();
    free(address);
}

static void await_calls(int count) {
    for (int i = 0; i < 10000 && atomic_load(&called) < count; ++i) {
        rest_ms(1);
    }
    CHECK(atomic_load(&called) == count);
}

static void work_in_callbacks(void) {
    via_array *dst = whole(to);
    via_array *src = NULL;
    via_array *made = NULL;
    via_memory *memory = NULL;
    via_task *task = NULL;
    CHECK(via_wrap(from, VIA_UINT8, 1, SHAPE(BYTES), NULL, VIA_DEVICE_CPU, 0, 0, use_everything_released, NULL, &src) ==
          VIA_OK);
    CHECK(via_copy_submit(dst, src, NULL, &task) == VIA_OK);
    CHECK(via_task_on_complete(task, use_everything_done, task) == VIA_OK);
    via_array_release(dst);
    via_array_release(src);
    await_calls(2);
    CHECK(via_memory_create_custom(VIA_DEVICE_CPU, 0, use_everything_allocating, NULL, use_everything_freeing, NULL,
                                   use_everything_released, NULL, &memory) == VIA_OK);
    CHECK(via_empty(memory, VIA_UINT8, 1, SHAPE(SMALL), NULL, &made) == VIA_OK);
    via_memory_release(memory);
    via_array_release(made);
    await_calls(5);
}

static void every_callback_may_use_the_library(void **state) {
    (void)state;
    ALONE(work_in_callbacks);
}

static void fork_in_callback(void *context) {
    const pid_t process = fork_child();
    if (process == 0) {
        alarm(patience_s);
        atomic_store(&called, 0);
        use_everything();
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(process, &status, 0) == process && status == 0);
    atomic_fetch_add((atomic_int *)context, 1);
}

static void fork_in_done_callback(int32_t status, const char *text, void *context) {
    (void)status;
    (void)text;
    fork_in_callback(context);
}

static void fork_in_callbacks(void) {
    via_array *dst = whole(to);
    via_array *src = NULL;
    via_task *task = NULL;
    atomic_int forks = 0;
    CHECK(via_wrap(from, VIA_UINT8, 1, SHAPE(BYTES), NULL, VIA_DEVICE_CPU, 0, 0, fork_in_callback, &forks, &src) ==
          VIA_OK);
    CHECK(via_copy_submit(dst, src, NULL, &task) == VIA_OK);
    CHECK(via_task_on_complete(task, fork_in_done_callback, &forks) == VIA_OK);
    CHECK(via_task_wait(task) == VIA_OK);
    via_task_release(task);
    via_array_release(dst);
    via_array_release(src);
    for (int i = 0; i < 10000 && atomic_load(&forks) < 2; ++i) {
        rest_ms(1);
    }
    CHECK(atomic_load(&forks) == 2);
}

static void every_callback_may_fork(void **state) {
    (void)state;
    ALONE(fork_in_callbacks);
}

/* Each array exports what the one before it has. */
static void chain_exports(void) {
    enum { LENGTH_OF_CHAIN = 200000 };
    via_array *last = whole(from);
    for (int i = 0; i < LENGTH_OF_CHAIN; ++i) {
        struct DLManagedTensorVersioned *tensor = NULL;
        via_array *next = NULL;
        CHECK(via_to_dlpack(last, NULL, NULL, &tensor) == VIA_OK);
        CHECK(via_from_dlpack(tensor, NULL, NULL, &next) == VIA_OK);
        via_array_release(last);
        last = next;
    }
    via_array_release(last);
}

static void a_long_chain_of_exports_ends(void **state) {
    (void)state;
    ALONE(chain_exports);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_threads_copies_go_on_and_tasks_are_refused),
        cmocka_unit_test(without_memory_what_needs_none_goes_on),
        cmocka_unit_test(signals_interrupt_nothing),
        cmocka_unit_test(a_process_may_exit_while_threads_copy),
        cmocka_unit_test(a_process_may_exit_in_a_callback),
        cmocka_unit_test(the_library_stays_when_it_is_closed_amid_a_task),
        cmocka_unit_test(every_callback_may_use_the_library),
        cmocka_unit_test(every_callback_may_fork),
        cmocka_unit_test(a_long_chain_of_exports_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
