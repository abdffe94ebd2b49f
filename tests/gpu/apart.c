/* Functions of a test that run in a process of their own. */
#include "support.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The function travels as its distance from this variable, which is the same in every process of a program. */
static const char anchor;
#define APART_VARIABLE "VIADUCT_GPU_TEST_APART"

/* Before main, and so before anything has touched the library or a driver. */
__attribute__((constructor)) static void run_if_apart(void) {
    const char *distance = getenv(APART_VARIABLE);
    if (distance == NULL) {
        return;
    }
    const uintptr_t address = (uintptr_t)&anchor + (uintptr_t)strtoll(distance, NULL, 10);
    unsetenv(APART_VARIABLE);
    ((void (*)(void))address)();
    let_go_of_all();
    put_everything_away();
    end_holds();
    exit(0);
}

/* The environment with more settings in front, where getenv finds them first. */
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
    memcpy(all + next, environ, (count - 1 - next) * sizeof *all);
    return all;
}

void run_apart(void (*function)(void), const char *const *settings) {
    char apart[64];
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    assert_true(length > 0);
    path[length] = '\0';
    snprintf(apart, sizeof apart, APART_VARIABLE "=%lld", (long long)((uintptr_t)function - (uintptr_t)&anchor));
    char **environment = environment_with(settings, apart);
    char *arguments[] = {path, NULL};
    pid_t child = 0;
    assert_int_equal(posix_spawn(&child, path, NULL, NULL, arguments, environment), 0);
    free(environment);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) {
        fail_msg("the process of the test ended by signal %d", WTERMSIG(status));
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}
