/* Processes whose main thread leaves by pthread_exit, as those of other threads go on: they end, and signals end them.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "support.h"

enum { bytes = 8 << 20, patience_ms = 15000, soon_ms = 3000 };

static char from[bytes];
static char to[bytes];
static atomic_int is_called;

static void rest_ms(int ms) { nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL); }

static void copy_on_two_threads(void) {
    via_array *dst = NULL;
    via_array *src = NULL;
    CHECK(via_set_num_threads(2) == VIA_OK);
    CHECK(via_wrap(to, VIA_UINT8, 1, SHAPE(bytes), NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &dst) == VIA_OK);
    CHECK(via_wrap(from, VIA_UINT8, 1, SHAPE(bytes), NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &src) == VIA_OK);
    CHECK(via_copy(dst, src) == VIA_OK);
    via_array_release(dst);
    via_array_release(src);
}

static void stay_for_long(int32_t status, const char *text, void *context) {
    (void)status;
    (void)text;
    (void)context;
    atomic_store(&is_called, 1);
    rest_ms(2 * patience_ms);
}

/* Behind the caller; `complete` may be NULL. */
static void copy_as_a_task(via_complete_fn complete) {
    via_array *dst = NULL;
    via_array *src = NULL;
    via_task *task = NULL;
    CHECK(via_wrap(to, VIA_UINT8, 1, SHAPE(bytes), NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &dst) == VIA_OK);
    CHECK(via_wrap(from, VIA_UINT8, 1, SHAPE(bytes), NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &src) == VIA_OK);
    CHECK(via_copy_submit(dst, src, NULL, &task) == VIA_OK);
    CHECK(complete == NULL || via_task_on_complete(task, complete, NULL) == VIA_OK);
    CHECK(via_task_wait(task) == VIA_OK);
    while (complete != NULL && !atomic_load(&is_called)) {
        rest_ms(1);
    }
    via_task_release(task);
    via_array_release(dst);
    via_array_release(src);
}

static void leave_after_copies(void) {
    copy_on_two_threads();
    pthread_exit(NULL);
}

static void leave_after_a_task(void) {
    copy_as_a_task(NULL);
    pthread_exit(NULL);
}

static void leave_next_to_a_callback(void) {
    copy_on_two_threads();
    copy_as_a_task(stay_for_long);
    pthread_exit(NULL);
}

/* The wait status of the process once it has ended; -1 if it does not within the time. */
static int await_end(pid_t process, int most_ms) {
    int status = 0;
    for (int waited = 0; waited < most_ms; waited += 10) {
        if (waitpid(process, &status, WNOHANG) == process) {
            return status;
        }
        rest_ms(10);
    }
    return -1;
}

static pid_t start(void (*body)(void)) {
    const pid_t process = fork_child();
    if (process == 0) {
        body();
    }
    assert_true(process > 0);
    return process;
}

static void end_for_good(pid_t process) {
    kill(process, SIGKILL);
    waitpid(process, NULL, 0);
}

static void assert_ends(void (*body)(void)) {
    const pid_t process = start(body);
    const int status = await_end(process, patience_ms);
    if (status == -1) {
        end_for_good(process);
    }
    assert_int_equal(status, 0);
}

static void a_process_ends_whose_main_thread_left_after_copies(void **state) {
    (void)state;
    assert_ends(leave_after_copies);
}

static void a_process_ends_whose_main_thread_left_after_a_task(void **state) {
    (void)state;
    assert_ends(leave_after_a_task);
}

/* The callback goes on for longer than anybody waits. */
static void a_signal_ends_a_process_whose_main_thread_has_left(void **state) {
    (void)state;
    const pid_t process = start(leave_next_to_a_callback);
    assert_int_equal(await_end(process, 500), -1);
    kill(process, SIGTERM);
    const int status = await_end(process, soon_ms);
    if (status == -1) {
        end_for_good(process);
    }
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
}

/* One that the program blocks everywhere is for sigwait, and stays so. */
static void leave_with_signals_blocked(void) {
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    leave_next_to_a_callback();
}

static void a_signal_that_the_program_blocks_stays_blocked(void **state) {
    (void)state;
    const pid_t process = start(leave_with_signals_blocked);
    assert_int_equal(await_end(process, 500), -1);
    kill(process, SIGTERM);
    assert_int_equal(await_end(process, 500), -1);
    kill(process, SIGINT);
    const int status = await_end(process, soon_ms);
    if (status == -1) {
        end_for_good(process);
    }
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGINT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_ends_whose_main_thread_left_after_copies),
        cmocka_unit_test(a_process_ends_whose_main_thread_left_after_a_task),
        cmocka_unit_test(a_signal_ends_a_process_whose_main_thread_has_left),
        cmocka_unit_test(a_signal_that_the_program_blocks_stays_blocked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
