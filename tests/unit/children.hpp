// Forked children of tests, also under sanitizers.
#pragma once

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
constexpr bool kUnderThreadSanitizer = true;
#else
constexpr bool kUnderThreadSanitizer = false;
#endif
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kUnderAddressSanitizer = true;
#else
constexpr bool kUnderAddressSanitizer = false;
#endif
constexpr bool kUnderSanitizer = kUnderThreadSanitizer || kUnderAddressSanitizer;

// Returns the letter of /proc for what a thread of this process does: 'S' if it sleeps; 0 if there is no such thread.
inline char thread_state(const char *thread) {
    char path[64];
    char line[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", thread);
    FILE *file = fopen(path, "r");
    if (file != nullptr) {
        (void)!fgets(line, sizeof line, file);
        fclose(file);
    }
    const char *end_of_name = strrchr(line, ')');
    return end_of_name != nullptr && end_of_name[1] == ' ' ? end_of_name[2] : '\0';
}

inline bool other_threads_sleep() {
    DIR *threads = opendir("/proc/self/task");
    bool sleep = true;
    for (const dirent *entry = readdir(threads); entry != nullptr; entry = readdir(threads)) {
        const bool is_other = entry->d_name[0] != '.' && atoi(entry->d_name) != gettid();
        sleep = sleep && (!is_other || thread_state(entry->d_name) == 'S');
    }
    closedir(threads);
    return sleep;
}

// Forks. AddressSanitizer of GCC 12 does not hold its allocator's locks meanwhile: a child that is forked while another
// thread holds one hangs. So wait a moment until all sleep, above all those that have just begun.
inline pid_t fork_with_allocator() {
    constexpr int32_t kMostLooks = 40;
    for (int32_t looks = 0; kUnderAddressSanitizer && looks < kMostLooks && !other_threads_sleep(); ++looks) {
        usleep(500);
    }
    return fork();
}

// The exit code of a function run in a forked child; -1 if it was killed, which it is after 20 seconds.
template <typename Child>
int exit_code_of_child(const Child &child) {
    const pid_t pid = fork_with_allocator();
    if (pid == 0) {
        alarm(20);
        _exit(child());
    }
    int status = 0;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
