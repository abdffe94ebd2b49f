/* How a test forks, and what its child may use: nothing of cmocka's. */
#ifndef VIADUCT_TESTS_CHILD_H
#define VIADUCT_TESTS_CHILD_H

#include <unistd.h>

/* The exit status says which of the checks failed. */
#define CHECK(condition)               \
    do {                               \
        if (!(condition)) {            \
            _exit(__LINE__ % 250 + 1); \
        }                              \
    } while (0)

#if defined(__SANITIZE_ADDRESS__)

#include <dirent.h>
#include <stdio.h>
#include <time.h>

/* 1 if another thread of this process runs, or is about to. */
static inline int another_thread_runs(void) {
    DIR *threads = opendir("/proc/self/task");
    int running = 0;
    const struct dirent *entry = NULL;
    while (threads != NULL && (entry = readdir(threads)) != NULL) {
        char path[300];
        char state = 'S';
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", entry->d_name);
        FILE *stat = entry->d_name[0] != '.' ? fopen(path, "r") : NULL;
        if (stat != NULL) {
            running += fscanf(stat, "%*d (%*[^)]) %c", &state) == 1 && state != 'S';
            fclose(stat);
        }
    }
    if (threads != NULL) {
        closedir(threads);
    }
    return running > 1; /* this thread runs */
}

/* AddressSanitizer's allocator of gcc 12 does not take its locks before a fork, as glibc's does: a child waits for ever
 * for a lock that another thread held. A thread that sleeps holds none. */
static inline pid_t fork_child(void) {
    const struct timespec millisecond = {0, 1000000};
    for (int i = 0; i < 2000 && another_thread_runs(); ++i) {
        nanosleep(&millisecond, NULL);
    }
    return fork();
}

#else

static inline pid_t fork_child(void) { return fork(); }

#endif

#endif
