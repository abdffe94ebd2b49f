#define _GNU_SOURCE /* asprintf, cpu_set_t, statx, RTLD_DI_LINKMAP */
#include "faults.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "driver.h"
#include "slots.h"

/* -------------------------------------------------------------------------------------------------- when to fail */

enum { most_functions = 256, most_scenarios = 256 };

/* Shared with child processes, whose faults count too. */
typedef struct tally {
    _Atomic int64_t kinds[FAULT_KINDS];
    _Atomic int64_t functions[most_functions]; /* in the order of `met` */
    _Atomic int64_t driver_functions[most_functions];
    _Atomic int64_t calls_of_child;
    char called[most_scenarios][most_functions]; /* of the driver's */
} tally;

static tally *counted;
static atomic_int armed = -1;
static atomic_int staying;
static _Atomic int64_t left;
static _Atomic int64_t struck;
static const char *_Atomic first_struck;
static int64_t meant;
static int64_t calls;

/* The functions that are met: where the next one is, and what it is called. */
typedef struct met_function {
    const char *name;
    fault_kind kind;
    void (*meets)(void);
    uintptr_t original;
} met_function;

extern met_function met[];

static int strikes(int number) {
    const fault_kind kind = met[number].kind;
    if (atomic_load(&armed) != (int)kind) {
        return 0;
    }
    const int64_t before = atomic_fetch_sub(&left, 1);
    if (before != 1 && !(before < 1 && atomic_load(&staying))) {
        return 0;
    }
    if (atomic_fetch_add(&struck, 1) == 0) {
        atomic_store(&first_struck, met[number].name);
    }
    atomic_fetch_add(&counted->kinds[kind], 1);
    atomic_fetch_add(&counted->functions[number], 1);
    return 1;
}

void arm_fault(const fault_plan *plan, int64_t n) {
    atomic_store(&struck, 0);
    atomic_store(&first_struck, NULL);
    meant = n;
    atomic_store(&left, n);
    if (plan->kind == FAULT_DRIVER) {
        arm_driver(plan, n);
        return;
    }
    atomic_store(&staying, plan->stays);
    atomic_store(&armed, (int)plan->kind);
}

const char *what_failed(void) {
    const char *name = atomic_load(&first_struck);
    name = name == NULL ? failed_of_driver() : name;
    return name == NULL ? "" : name;
}

int64_t disarm_faults(void) {
    const char *name = what_failed();
    const int64_t of_driver = disarm_driver(counted->driver_functions);
    atomic_store(&first_struck, *name != '\0' ? name : NULL);
    calls = atomic_exchange(&armed, -1) >= 0 ? meant - atomic_load(&left) : calls_of_driver();
    atomic_fetch_add(&counted->kinds[FAULT_DRIVER], of_driver);
    return atomic_load(&struck) + of_driver;
}

int64_t calls_met(void) { return calls; }

void report_calls_of_child(int scenario) {
    atomic_store(&counted->calls_of_child, calls);
    if (scenario >= 0) {
        note_called_of_driver(counted->called[scenario]);
    }
}

int was_called(int scenario, int function) { return counted->called[scenario][function]; }

int64_t calls_of_child(void) { return atomic_load(&counted->calls_of_child); }

/* ------------------------------------------------------------------------------------------- what is not given back */

typedef struct block {
    struct block *next;
    const void *address;
    const char *function;
    int64_t number;
} block;

enum { block_lists = 4096 };

static pthread_mutex_t holding = PTHREAD_MUTEX_INITIALIZER;
static block *blocks[block_lists];
static int64_t block_count;
static int64_t block_number;
static int64_t mapped_bytes;
static int64_t unknown_frees;

static block **list_of(const void *address) { return &blocks[(uintptr_t)address / 16 % block_lists]; }

static void *remember(void *address, const char *function) {
    block *made = address != NULL ? malloc(sizeof *made) : NULL;
    if (made != NULL) {
        pthread_mutex_lock(&holding);
        *made = (block){*list_of(address), address, function, block_number++};
        *list_of(address) = made;
        block_count++;
        pthread_mutex_unlock(&holding);
    }
    return address;
}

static void forget(const void *address) {
    if (address == NULL) {
        return;
    }
    pthread_mutex_lock(&holding);
    block **at = list_of(address);
    while (*at != NULL && (*at)->address != address) {
        at = &(*at)->next;
    }
    block *gone = *at;
    if (gone != NULL) {
        *at = gone->next;
        block_count--;
    } else {
        unknown_frees++;
    }
    pthread_mutex_unlock(&holding);
    free(gone);
}

static int64_t count_files(void) {
    int64_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder != NULL && readdir(folder) != NULL) {
        ++count;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count;
}

holdings count_holdings(void) {
    pthread_mutex_lock(&holding);
    const holdings found = {block_count, mapped_bytes, 0};
    pthread_mutex_unlock(&holding);
    return (holdings){found.blocks, found.mapped, count_files()};
}

int64_t freed_twice(void) {
    pthread_mutex_lock(&holding);
    const int64_t found = unknown_frees;
    pthread_mutex_unlock(&holding);
    return found;
}

int64_t blocks_so_far(void) {
    pthread_mutex_lock(&holding);
    const int64_t found = block_number;
    pthread_mutex_unlock(&holding);
    return found;
}

void print_blocks_since(int64_t number) {
    pthread_mutex_lock(&holding);
    for (int i = 0; i < block_lists; ++i) {
        for (const block *at = blocks[i]; at != NULL; at = at->next) {
            if (at->number >= number) {
                fprintf(stderr, "  block %lld, made by %s, is still there\n", (long long)(at->number - number),
                        at->function);
            }
        }
    }
    pthread_mutex_unlock(&holding);
}

/* ---------------------------------------------------------------------------------------------------- the functions */

/* Where each is in `met`. */
enum {
    at_malloc,
    at_calloc,
    at_realloc,
    at_aligned_alloc,
    at_strdup,
    at_asprintf,
    at_new,
    at_new_array,
    at_realpath,
    at_mmap,
    at_munmap,
    at_syscall,
#define FAULT_CALL(result, name, ...) at_##name,
#define FAULT_END(result, name, ...) at_##name,
#include "calls.def"
#undef FAULT_CALL
#undef FAULT_END
    at_free,
    at_end
};

#define original(name, type) ((type)met[at_##name].original)

#define refuse(answer, error)              \
    do {                                   \
        if ((error) != 0) errno = (error); \
        return (answer);                   \
    } while (0)

static void *meet_malloc(size_t size) {
    if (strikes(at_malloc)) {
        refuse(NULL, ENOMEM);
    }
    return remember(original(malloc, void *(*)(size_t))(size), "malloc");
}

static void *meet_calloc(size_t count, size_t size) {
    if (strikes(at_calloc)) {
        refuse(NULL, ENOMEM);
    }
    return remember(original(calloc, void *(*)(size_t, size_t))(count, size), "calloc");
}

/* To nobody's surprise the block moves: what still points at the old one is found by a memory checker. */
static void *meet_realloc(void *old, size_t size) {
    if (strikes(at_realloc)) {
        refuse(NULL, ENOMEM);
    }
    forget(old);
    return remember(original(realloc, void *(*)(void *, size_t))(old, size), "realloc");
}

static void *meet_aligned_alloc(size_t alignment, size_t size) {
    if (strikes(at_aligned_alloc)) {
        refuse(NULL, ENOMEM);
    }
    return remember(original(aligned_alloc, void *(*)(size_t, size_t))(alignment, size), "aligned_alloc");
}

static char *meet_strdup(const char *text) {
    if (strikes(at_strdup)) {
        refuse(NULL, ENOMEM);
    }
    return remember(original(strdup, char *(*)(const char *))(text), "strdup");
}

__attribute__((format(printf, 2, 3))) static int meet_asprintf(char **out, const char *format, ...) {
    if (strikes(at_asprintf)) {
        refuse(-1, ENOMEM);
    }
    va_list arguments;
    va_start(arguments, format);
    const int length = vasprintf(out, format, arguments);
    va_end(arguments);
    if (length >= 0) {
        remember(*out, "asprintf");
    }
    return length;
}

typedef void *(*new_function)(size_t, const void *);

static void *meet_new(size_t size, const void *nothrow) {
    return strikes(at_new) ? NULL : remember(original(new, new_function)(size, nothrow), "new");
}

static void *meet_new_array(size_t size, const void *nothrow) {
    return strikes(at_new_array) ? NULL : remember(original(new_array, new_function)(size, nothrow), "new[]");
}

static char *meet_realpath(const char *path, char *out) {
    if (strikes(at_realpath)) {
        refuse(NULL, EACCES);
    }
    char *found = original(realpath, char *(*)(const char *, char *))(path, out);
    return out == NULL ? remember(found, "realpath") : found;
}

/* Bytes, since one mapping may be given back in parts. */
static void count_mapped(int64_t change) {
    pthread_mutex_lock(&holding);
    mapped_bytes += change;
    pthread_mutex_unlock(&holding);
}

static void *meet_mmap(void *start, size_t length, int protection, int flags, int file, off_t at) {
    if (strikes(at_mmap)) {
        refuse(MAP_FAILED, ENOMEM);
    }
    void *found =
        original(mmap, void *(*)(void *, size_t, int, int, int, off_t))(start, length, protection, flags, file, at);
    count_mapped(found != MAP_FAILED ? (int64_t)length : 0);
    return found;
}

static int meet_munmap(void *start, size_t length) {
    const int answer = original(munmap, int (*)(void *, size_t))(start, length);
    count_mapped(answer == 0 ? -(int64_t)length : 0);
    if (strikes(at_munmap)) {
        refuse(-1, ENOMEM);
    }
    return answer;
}

/* What ends a block, in all its forms: the last argument is not looked at where there is none. */
typedef void (*free_function)(void *, uintptr_t);

#define MEET_FREE(number)                                               \
    static void meet_free_##number(void *given, uintptr_t more) {       \
        forget(given);                                                  \
        ((free_function)met[at_free + (number)].original)(given, more); \
    }
MEET_FREE(0)
MEET_FREE(1)
MEET_FREE(2)
MEET_FREE(3)
MEET_FREE(4)
MEET_FREE(5)

/* But for futexes, which do not fail: whoever waits for one would ask for ever. */
static long meet_syscall(long number, long a, long b, long c, long d, long e, long f) {
    if (number != SYS_futex && strikes(at_syscall)) {
        refuse(-1, ENOSYS);
    }
    return original(syscall, long (*)(long, long, long, long, long, long, long))(number, a, b, c, d, e, f);
}

#define FAULT_CALL(result, name, parameters, arguments, answer, error) \
    static result meet_##name parameters {                             \
        if (strikes(at_##name)) {                                      \
            refuse(answer, error);                                     \
        }                                                              \
        return original(name, result(*) parameters) arguments;         \
    }
#define FAULT_END(result, name, parameters, arguments, answer, error)        \
    static result meet_##name parameters {                                   \
        const result given = original(name, result(*) parameters) arguments; \
        if (strikes(at_##name)) {                                            \
            refuse(answer, error);                                           \
        }                                                                    \
        return given;                                                        \
    }
#include "calls.def"
#undef FAULT_CALL
#undef FAULT_END

met_function met[] = {
    {"malloc", FAULT_ALLOCATION, (void (*)(void))meet_malloc, 0},
    {"calloc", FAULT_ALLOCATION, (void (*)(void))meet_calloc, 0},
    {"realloc", FAULT_ALLOCATION, (void (*)(void))meet_realloc, 0},
    {"aligned_alloc", FAULT_ALLOCATION, (void (*)(void))meet_aligned_alloc, 0},
    {"strdup", FAULT_ALLOCATION, (void (*)(void))meet_strdup, 0},
    {"asprintf", FAULT_ALLOCATION, (void (*)(void))meet_asprintf, 0},
    {"_ZnwmRKSt9nothrow_t", FAULT_ALLOCATION, (void (*)(void))meet_new, 0},
    {"_ZnamRKSt9nothrow_t", FAULT_ALLOCATION, (void (*)(void))meet_new_array, 0},
    {"realpath", FAULT_SYSTEM, (void (*)(void))meet_realpath, 0},
    {"mmap", FAULT_SYSTEM, (void (*)(void))meet_mmap, 0},
    {"munmap", FAULT_SYSTEM, (void (*)(void))meet_munmap, 0},
    {"syscall", FAULT_SYSTEM, (void (*)(void))meet_syscall, 0},
#define FAULT_CALL(result, name, ...) {#name, FAULT_SYSTEM, (void (*)(void))meet_##name, 0},
#define FAULT_END(result, name, ...) {#name, FAULT_SYSTEM, (void (*)(void))meet_##name, 0},
#include "calls.def"
#undef FAULT_CALL
#undef FAULT_END
    {"free", FAULT_KINDS, (void (*)(void))meet_free_0, 0},
    {"_ZdlPv", FAULT_KINDS, (void (*)(void))meet_free_1, 0},
    {"_ZdaPv", FAULT_KINDS, (void (*)(void))meet_free_2, 0},
    {"_ZdlPvm", FAULT_KINDS, (void (*)(void))meet_free_3, 0},
    {"_ZdlPvRKSt9nothrow_t", FAULT_KINDS, (void (*)(void))meet_free_4, 0},
    {"_ZdaPvRKSt9nothrow_t", FAULT_KINDS, (void (*)(void))meet_free_5, 0},
};

enum { met_count = sizeof met / sizeof *met };

/* Those that cannot fail, those whose failure is not for the library to fix (a lock, a clock), and those that only say
 * what is written. Names that begin with an underscore are the compiler's own, its libraries' and the sanitizers'. */
static const char *const harmless[] = {"abort",
                                       "backtrace",
                                       "dladdr",
                                       "getpagesize",
                                       "gettext",
                                       "getpid",
                                       "gettid",
                                       "sched_getcpu",
                                       "clock_gettime",
                                       "dirname",
                                       "dl_iterate_phdr",
                                       "dlerror",
                                       "ferror",
                                       "fprintf",
                                       "fputs",
                                       "fwrite",
                                       "fputc",
                                       "memchr",
                                       "memcmp",
                                       "memcpy",
                                       "memmove",
                                       "memset",
                                       "nanosleep",
                                       "pthread_attr_destroy",
                                       "pthread_attr_setdetachstate",
                                       "pthread_attr_setstacksize",
                                       "pthread_cond_broadcast",
                                       "pthread_cond_clockwait",
                                       "pthread_cond_destroy",
                                       "pthread_cond_signal",
                                       "pthread_cond_timedwait",
                                       "pthread_cond_wait",
                                       "pthread_key_delete",
                                       "pthread_mutex_lock",
                                       "pthread_mutex_trylock",
                                       "pthread_mutex_unlock",
                                       "pthread_once",
                                       "pthread_self",
                                       "pthread_setcancelstate",
                                       "pthread_setname_np",
                                       "pthread_sigmask",
                                       "sched_yield",
                                       "secure_getenv",
                                       "sigaddset",
                                       "sigdelset",
                                       "sigemptyset",
                                       "sigfillset",
                                       "sigtimedwait",
                                       "snprintf",
                                       "sprintf",
                                       "sscanf",
                                       "stderr",
                                       "strchr",
                                       "strcmp",
                                       "strcspn",
                                       "strerror",
                                       "strerrordesc_np",
                                       "strerrorname_np",
                                       "sqrt",
                                       "strlen",
                                       "strncmp",
                                       "strrchr",
                                       "strstr",
                                       "strtod",
                                       "strtol",
                                       "strtoll",
                                       "strtoul",
                                       "tolower",
                                       "usleep",
                                       "vsnprintf",
                                       "vsscanf"};

static char unknown[1024];

static int is_harmless(const char *function) {
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; ++i) {
        if (strcmp(harmless[i], function) == 0) {
            return 1;
        }
    }
    return function[0] == '_';
}

static void meet_slot(const char *function, void **slot, void *context) {
    for (int i = 0; i < met_count; ++i) {
        if (strcmp(met[i].name, function) == 0) {
            /* A place may still lead to the loader, which would write the function's own address there. */
            met[i].original = (uintptr_t)dlsym(RTLD_DEFAULT, function);
            *slot = (void *)(uintptr_t)met[i].meets;
            *(int *)context += met[i].kind != FAULT_KINDS;
            return;
        }
    }
    if (!is_harmless(function)) {
        const size_t length = strlen(unknown);
        snprintf(unknown + length, sizeof unknown - length, " %s", function);
    }
}

int meet_calls(void) {
    int count = 0;
    counted = mmap(NULL, sizeof *counted, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (counted != MAP_FAILED) {
        visit_slots("libviaduct.so", meet_slot, &count);
    }
    return count;
}

const char *unknown_functions(void) { return unknown; }

int64_t faults_of_kind(fault_kind kind) { return atomic_load(&counted->kinds[kind]); }

static void add_name(char *names, int32_t capacity, const char *name) {
    const size_t length = strlen(names);
    snprintf(names + length, (size_t)capacity - length, " %s", name);
}

int never_failed_of_driver(char *out_names, int32_t capacity) {
    int count = 0;
    *out_names = '\0';
    for (int i = 0; driver_functions[i] != NULL; ++i) {
        if (atomic_load(&counted->driver_functions[i]) == 0) {
            add_name(out_names, capacity, driver_functions[i]);
            ++count;
        }
    }
    return count;
}
