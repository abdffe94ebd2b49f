/* Functions of a test that run in a process of their own. */
#include "support.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The function travels as its distance from this variable, which is the same in every process of a program. */
static const char anchor;
#define APART_VARIABLE "VIADUCT_GPU_TEST_APART"

/*
 * Before main, and so before anything has touched the library or a driver. Outside of a test cmocka would end the
 * process without a word of what failed, unless it is to abort.
 */
__attribute__((constructor)) static void run_if_apart(void) {
    const char *distance = getenv(APART_VARIABLE);
    if (distance == NULL) {
        return;
    }
    const uintptr_t address = (uintptr_t)&anchor + (uintptr_t)strtoll(distance, NULL, 10);
    unsetenv(APART_VARIABLE);
    setenv("CMOCKA_TEST_ABORT", "1", 1);
    ((void (*)(void))address)();
    release_all();
    put_everything_away();
    end_holds();
    exit(0);
}

/* Whether a setting, NAME=VALUE, is of the same name as one of those. */
static int is_replaced(const char *old, const char *const *settings) {
    for (const char *const *at = settings; *at != NULL; ++at) {
        if (strncmp(old, *at, (size_t)(strchr(*at, '=') - *at) + 1) == 0) {
            return 1;
        }
    }
    return 0;
}

/* The environment with more settings, which replace those of their names: where there are two, QEMU takes the last. */
static char **environment_with(const char *const *settings, char *apart) {
    size_t count = 2;
    for (char **at = environ; *at != NULL; ++at) {
        ++count;
    }
    for (const char *const *at = settings; *at != NULL; ++at) {
        ++count;
    }
    char **all = calloc(count, sizeof *all);
    assert_non_null(all);
    size_t next = 0;
    all[next++] = apart;
    for (const char *const *at = settings; *at != NULL; ++at) {
        all[next++] = (char *)(uintptr_t)*at;
    }
    for (char **at = environ; *at != NULL; ++at) {
        if (!is_replaced(*at, settings)) {
            all[next++] = *at;
        }
    }
    return all;
}

/* A fresh process of this program; its descriptors 0 and 1 are `ends`, unless those are negative. */
static pid_t spawn(void (*function)(void), const char *const *settings, const int *ends) {
    char apart[64];
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    assert_true(length > 0);
    path[length] = '\0';
    snprintf(apart, sizeof apart, APART_VARIABLE "=%lld", (long long)((uintptr_t)function - (uintptr_t)&anchor));
    char **environment = environment_with(settings, apart);
    char *arguments[] = {path, NULL};
    posix_spawn_file_actions_t actions;
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    for (int i = 0; i < 2 && ends[i] >= 0; ++i) {
        assert_int_equal(posix_spawn_file_actions_adddup2(&actions, ends[i], i), 0);
    }
    pid_t child = 0;
    assert_int_equal(posix_spawn(&child, path, &actions, NULL, arguments, environment), 0);
    posix_spawn_file_actions_destroy(&actions);
    free(environment);
    return child;
}

/* Its exit status, or the signal that ended it, negative. */
static int await_process(pid_t process) {
    int status = 0;
    assert_int_equal(waitpid(process, &status, 0), process);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

void run_apart(void (*function)(void), const char *const *settings) {
    const int status = await_process(spawn(function, settings, (const int[]){-1, -1}));
    if (status < 0) {
        fail_msg("the process of the test ended by signal %d", -status);
    }
    assert_int_equal(status, 0);
}

/* No process that is started later has the ends that stay here: the other side then reads their end. */
static void make_pipe(int *ends, int stays) {
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fcntl(ends[stays], F_SETFD, FD_CLOEXEC), 0);
}

other_process start_apart(void (*function)(void), const char *const *settings) {
    int to[2];
    int from[2];
    make_pipe(to, 1);
    make_pipe(from, 0);
    const other_process started = {spawn(function, settings, (const int[]){to[0], from[1]}), to[1], from[0]};
    close(to[0]);
    close(from[1]);
    return started;
}

int end_apart(const other_process *ended) {
    close(ended->to);
    close(ended->from);
    return await_process(ended->process);
}
