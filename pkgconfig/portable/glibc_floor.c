/* Defines functions that glibc has had only since 2.29 or later, in terms of those of 2.28. They are hidden in each
 * library that is linked with them, and serve the static libstdc++ too. Newer ones of the process are called where that
 * makes a difference: a wait by the clock that is asked for, names of errors that are not listed here. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* libstdc++ takes the slower way, which is always right. */
char __libc_single_threaded = 0;

/* ------------------------------------------------------------------------------------------------ 2.30 */

pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); }

typedef int (*clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);

static const int64_t kSecond = 1000000000;

static int64_t nanoseconds(const struct timespec *time) { return time->tv_sec * kSecond + time->tv_nsec; }

static int64_t now(clockid_t clock) {
    struct timespec time = {0, 0};
    (void)clock_gettime(clock, &time);
    return nanoseconds(&time);
}

/* The system clock may be set meanwhile, so a wait may end early or late. */
static int wait_by_system_clock(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                                const struct timespec *until) {
    const int64_t end = now(CLOCK_REALTIME) + nanoseconds(until) - now(clock);
    const struct timespec then = {.tv_sec = end / kSecond, .tv_nsec = end % kSecond};
    return pthread_cond_timedwait(condition, mutex, &then);
}

int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *until) {
    static _Atomic(clockwait) newer;
    clockwait wait = newer;
    if (wait == NULL) {
        wait = (clockwait)(uintptr_t)dlsym(RTLD_DEFAULT, "pthread_cond_clockwait");
        newer = wait = wait != NULL ? wait : wait_by_system_clock;
    }
    return wait(condition, mutex, clock, until);
}

/* ------------------------------------------------------------------------------------------------ 2.32 */

#define NAME(error) \
    case error:     \
        return #error

static const char *usual_name(int error) {
    switch (error) {
        NAME(EPERM);
        NAME(ENOENT);
        NAME(EINTR);
        NAME(EIO);
        NAME(ENXIO);
        NAME(EBADF);
        NAME(EAGAIN);
        NAME(ENOMEM);
        NAME(EACCES);
        NAME(EFAULT);
        NAME(EBUSY);
        NAME(EEXIST);
        NAME(EXDEV);
        NAME(ENODEV);
        NAME(ENOTDIR);
        NAME(EISDIR);
        NAME(EINVAL);
        NAME(ENFILE);
        NAME(EMFILE);
        NAME(ETXTBSY);
        NAME(EFBIG);
        NAME(ENOSPC);
        NAME(ESPIPE);
        NAME(EROFS);
        NAME(EPIPE);
        NAME(ENAMETOOLONG);
        NAME(ENOSYS);
        NAME(ELOOP);
        NAME(EOVERFLOW);
        NAME(EOPNOTSUPP);
        NAME(ENOBUFS);
        NAME(ETIMEDOUT);
        NAME(ESTALE);
        NAME(EDQUOT);
        NAME(ECANCELED);
        default:
            return NULL;
    }
}

typedef const char *(*text_of_error)(int);

const char *strerrorname_np(int error) {
    text_of_error newer = (text_of_error)(uintptr_t)dlsym(RTLD_DEFAULT, "strerrorname_np");
    return newer != NULL ? newer(error) : usual_name(error);
}

const char *strerrordesc_np(int error) {
    text_of_error newer = (text_of_error)(uintptr_t)dlsym(RTLD_DEFAULT, "strerrordesc_np");
    return newer != NULL ? newer(error) : strerror(error);
}

/* ------------------------------------------------------------------------------------------------ 2.33 */

/* What these were before, with the version of the struct first. */
#ifdef __x86_64__
enum { STRUCT_VERSION = 1 };
#else
enum { STRUCT_VERSION = 0 };
#endif
extern int __xstat(int version, const char *path, struct stat *out);
extern int __lxstat(int version, const char *path, struct stat *out);
extern int __fxstat(int version, int file, struct stat *out);

int stat(const char *restrict path, struct stat *restrict out) { return __xstat(STRUCT_VERSION, path, out); }

int lstat(const char *restrict path, struct stat *restrict out) { return __lxstat(STRUCT_VERSION, path, out); }

int fstat(int file, struct stat *out) { return __fxstat(STRUCT_VERSION, file, out); }

/* ------------------------------------------------------------------------------------------------ 2.38 */

/* Newer headers have C23's functions called, which also take numbers in base 2. Those of before go by their own names,
 * which a newer header would turn into these. */
extern long older_strtol(const char *text, char **end, int base) __asm__("strtol");
extern unsigned long older_strtoul(const char *text, char **end, int base) __asm__("strtoul");
extern int older_vsscanf(const char *text, const char *format, va_list values) __asm__("vsscanf");

long __isoc23_strtol(const char *text, char **end, int base) { return older_strtol(text, end, base); }

long long __isoc23_strtoll(const char *text, char **end, int base) { return older_strtol(text, end, base); }

unsigned long __isoc23_strtoul(const char *text, char **end, int base) { return older_strtoul(text, end, base); }

unsigned long long __isoc23_strtoull(const char *text, char **end, int base) { return older_strtoul(text, end, base); }

int __isoc23_sscanf(const char *text, const char *format, ...) {
    va_list values;
    va_start(values, format);
    const int count = older_vsscanf(text, format, values);
    va_end(values);
    return count;
}
