/* Says what a process was doing when a signal ended it. */
#ifndef VIADUCT_TESTS_LAST_WORDS_H
#define VIADUCT_TESTS_LAST_WORDS_H

#include <execinfo.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* The call under way, for the report. */
static const char *volatile doing = "something";

/* Ends the process as the signal would have. */
static void report_frames(int number) {
    void *frames[32];
    const char *const parts[] = {"ended by a signal in ", doing, "; its frames:\n"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
        (void)!write(STDERR_FILENO, parts[i], strlen(parts[i]));
    }
    backtrace_symbols_fd(frames, backtrace(frames, sizeof frames / sizeof *frames), STDERR_FILENO);
    signal(number, SIG_DFL);
    raise(number);
}

/* Call it once before the first fork: the first backtrace loads a library, and a child may have to wait for its lock.
 */
static inline void report_frames_on(int number) {
    (void)backtrace((void *[1]){NULL}, 1);
    signal(number, report_frames);
}

#endif
