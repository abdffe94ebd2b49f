/*
 * Forks while another thread holds a lock of the library, once for each lock and each place that takes it: the child
 * gets VIA_ERROR_FORKED or an answer, and never waits for a thread that it lacks.
 *
 * The library's calls of pthread_mutex_lock and its kin lead here first (see slots.h). The scenarios of the fault loops
 * run on a thread of their own, each in a fresh process: first to find where locks are taken, then once for each of
 * these places, where the thread stays, the lock held, until the process has forked. A fork that waits for the lock
 * makes it go on after a while. The child then uses all that there is, and what the parent was using.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../capi/child.h"
#include "../capi/file_support.h"
#include "../capi/last_words.h"
#include "faults.h"
#include "scenario.h"
#include "slots.h"

enum { most_sites = 1024, patience_s = 20, stay_ms = 40, fewest_locks = 12 };

/* Where a lock is taken: the place in the library that does, and the lock if it is a variable of the library's. */
typedef struct site {
    uintptr_t caller;
    uintptr_t lock;
} site;

/* What the processes share. */
typedef struct board {
    atomic_int site_count;
    atomic_int tried;  /* this many of the sites */
    atomic_int missed; /* and these were not met again */
    site sites[most_sites];
} board;

static board *found;
static uintptr_t library_base;

static _Atomic uintptr_t armed; /* the index of a site and 1; 0: none */
static atomic_int parked;
static atomic_int forking;
static atomic_int forked;
static pthread_t main_thread;
static int is_child;

const char *what_failed(void) { return ""; }

static void rest_ms(int ms) { nanosleep(&(struct timespec){0, ms * 1000000L}, NULL); }

static int is_of_library(uintptr_t address) {
    Dl_info info;
    return dladdr((const void *)address, &info) != 0 && (uintptr_t)info.dli_fbase == library_base;
}

static site site_of(const void *caller, const void *lock) {
    const uintptr_t address = (uintptr_t)lock;
    return (site){(uintptr_t)caller - library_base, is_of_library(address) ? address - library_base : 0};
}

/* Its index, after adding it where it is new; -1 where there is no room. */
static int index_of(site given) {
    static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&adding);
    const int count = atomic_load(&found->site_count);
    int i = 0;
    while (i < count && memcmp(&found->sites[i], &given, sizeof given) != 0) {
        ++i;
    }
    if (i == count && count < most_sites) {
        found->sites[i] = given;
        atomic_store(&found->site_count, count + 1);
    }
    pthread_mutex_unlock(&adding);
    return i < most_sites ? i : -1;
}

/* The lock is held: stays until the process has forked, or for a while once it has begun to. */
static void stay(void) {
    atomic_store(&parked, 1);
    int waited_ms = 0;
    while (!atomic_load(&forked) && waited_ms < stay_ms) {
        rest_ms(1);
        waited_ms += atomic_load(&forking);
    }
}

static void holds_lock(const void *caller, const void *lock) {
    if (is_child || pthread_equal(pthread_self(), main_thread)) {
        return;
    }
    const int index = index_of(site_of(caller, lock));
    uintptr_t wanted = (uintptr_t)index + 1;
    if (index >= 0 && atomic_compare_exchange_strong(&armed, &wanted, 0)) {
        stay();
    }
}

/* ---------------------------------------------------------------------------------------------------- the functions */

static int meet_lock(pthread_mutex_t *lock) {
    const int answer = pthread_mutex_lock(lock);
    holds_lock(__builtin_return_address(0), lock);
    return answer;
}

static int meet_trylock(pthread_mutex_t *lock) {
    const int answer = pthread_mutex_trylock(lock);
    if (answer == 0) {
        holds_lock(__builtin_return_address(0), lock);
    }
    return answer;
}

static _Thread_local void (*once_body)(void);
static _Thread_local const void *once_caller;
static _Thread_local const void *once_lock;

static void run_once_body(void) {
    holds_lock(once_caller, once_lock);
    once_body();
}

static int meet_once(pthread_once_t *control, void (*body)(void)) {
    once_body = body;
    once_caller = __builtin_return_address(0);
    once_lock = control;
    return pthread_once(control, run_once_body);
}

static int (*original_guard)(void *);

static int meet_guard(void *guard) {
    const int is_ours = original_guard(guard);
    if (is_ours) {
        holds_lock(__builtin_return_address(0), guard);
    }
    return is_ours;
}

static void meet_slot(const char *function, void **slot, void *context) {
    static const struct {
        const char *name;
        void (*meets)(void);
    } met[] = {{"pthread_mutex_lock", (void (*)(void))meet_lock},
               {"pthread_mutex_trylock", (void (*)(void))meet_trylock},
               {"pthread_once", (void (*)(void))meet_once},
               {"__cxa_guard_acquire", (void (*)(void))meet_guard}};
    for (int32_t i = 0; i < LENGTH(met); ++i) {
        if (strcmp(met[i].name, function) == 0) {
            *slot = (void *)(uintptr_t)met[i].meets;
            *(int *)context += 1;
        }
    }
    if (strcmp(function, "__cxa_guard_acquire") == 0) {
        original_guard = (int (*)(void *))(uintptr_t)dlsym(RTLD_DEFAULT, function);
    }
}

static int meet_locks(void) {
    int count = 0;
    Dl_info info;
    if (dladdr((const void *)(uintptr_t)&via_wrap, &info) != 0) {
        library_base = (uintptr_t)info.dli_fbase;
    }
    visit_slots("libviaduct.so", meet_slot, &count);
    return count;
}

/* ------------------------------------------------------------------------------------- what both processes may use */

enum { BYTES = 1 << 20, PIECES = 3 };

static unsigned char values[2 * BYTES];
static via_file *file;
static via_file *file_past_cache;
static via_array *arrays[2 * PIECES];
static via_batch *batch;
static via_stream *stream;
static via_event *marker;
static via_task *task;
static via_array *on_device;
static atomic_int is_prepared;

static void prepare_shared(void) {
    via_memory *memory = NULL;
    assert_int_equal(make_scratch(NULL), 0);
    put_file("shared.bin", values, BYTES);
    ok(via_file_open(path_of("shared.bin"), OPTIONS_OF(.mode = VIA_MODE_READ_WRITE), &file));
    ok(via_file_open(path_of("shared.bin"), OPTIONS_OF(.page_cache = VIA_PAGE_CACHE_AVOID), &file_past_cache));
    ok(via_memory_create(VIA_MEMORY_DEVICE, 0, &memory));
    for (int i = 0; i < 2 * PIECES; ++i) {
        ok(via_empty(i < PIECES ? memory : NULL, VIA_UINT8, 1, SHAPE(BYTES / 8), NULL, &arrays[i]));
    }
    ok(via_empty(memory, VIA_UINT8, 1, SHAPE(BYTES), NULL, &on_device));
    via_memory_release(memory);
    ok(via_batch_create(&batch));
    for (int i = 0; i < PIECES; ++i) {
        ok(via_batch_add(batch, arrays[i], arrays[i + PIECES]));
    }
    ok(via_stream_create(0, &stream));
    ok(via_event_create(0, &marker));
    ok(via_copy_submit(arrays[PIECES], arrays[0], stream, &task));
    atomic_store(&is_prepared, 1);
}

static void finish_shared(void) {
    atomic_store(&is_prepared, 0);
    via_file_release(file);
    via_file_release(file_past_cache);
    via_batch_release(batch);
    for (int i = 0; i < 2 * PIECES; ++i) {
        via_array_release(arrays[i]);
    }
    via_array_release(on_device);
    via_stream_release(stream);
    via_event_release(marker);
    via_task_release(task);
    unlink(path_of("shared.bin"));
    rmdir(scratch);
}

/* As many answers as there are calls, each as the scenario's rules want them. */
typedef via_status (*judge)(via_status status, const char *call);

#define ASK(call)                    \
    do {                             \
        doing = #call;               \
        (void)judged((call), #call); \
    } while (0)

static void use_shared(judge judged) {
    via_array *whole = NULL;
    via_file_properties properties = VIA_FILE_PROPERTIES_INIT;
    via_task *submitted = NULL;
    int32_t done = 0;
    ASK(via_wrap(values, VIA_UINT8, 1, SHAPE(BYTES), NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &whole));
    ASK(via_file_info(file, &properties));
    ASK(via_file_read(file, 0, whole, NULL));
    ASK(via_file_write(file, 0, whole, NULL));
    ASK(via_file_read(file_past_cache, 0, whole, NULL));
    ASK(via_file_read_submit(file, 0, whole, NULL, &submitted));
    if (submitted != NULL) {
        ASK(via_task_wait(submitted));
    }
    via_task_release(submitted);
    submitted = NULL;
    ASK(via_batch_run(batch, NULL));
    ASK(via_batch_run(batch, stream));
    ASK(via_batch_submit(batch, stream, &submitted));
    if (submitted != NULL) {
        ASK(via_task_wait(submitted));
    }
    via_task_release(submitted);
    ASK(via_event_record(marker, stream));
    ASK(via_event_query(marker, &done));
    ASK(via_stream_wait(stream, marker));
    ASK(via_stream_synchronize(stream));
    ASK(via_array_record_stream(arrays[0], stream));
    ASK(via_array_set_ready(arrays[0], stream));
    ASK(via_array_synchronize(arrays[0]));
    ASK(via_copy(on_device, whole));
    ASK(via_copy_async(whole, on_device, stream));
    ASK(via_fill(on_device, NULL, stream));
    ASK(via_stream_set_current(0, stream));
    ASK(via_stream_set_current(0, NULL));
    ASK(via_array_synchronize(whole));
    ASK(via_task_poll(task, &done));
    ASK(via_task_wait(task));
    via_array_release(whole);
}

static via_status must_work(via_status status, const char *call) {
    if (status != VIA_OK) {
        complain("%s answered %s: %s", call, via_status_name(status), via_last_error());
    }
    return status;
}

static via_status run_shared(void) {
    use_shared(must_work);
    return VIA_OK;
}

static const scenario shared_scenarios[] = {
    {"what both use", run_shared, prepare_shared, finish_shared, 0, 0, 0},
    {NULL, NULL, NULL, NULL, 0, 0, 0},
};

/* ------------------------------------------------------------------------------------------------------- the child */

/* A driver that only the program had used is asked once more in the child, and refuses itself. */
static via_status may_be_refused(via_status status, const char *call) {
    if (status != VIA_OK && status != VIA_ERROR_FORKED && status != VIA_ERROR_UNSUPPORTED && status != VIA_ERROR_CUDA) {
        complain("the child: %s answered %s: %s", call, via_status_name(status), via_last_error());
    }
    return status;
}

static void note_call(int32_t status, const char *text, void *context) {
    (void)status;
    (void)text;
    atomic_fetch_add((atomic_int *)context, 1);
}

static void *fail_once(void *context) {
    via_array *none = NULL;
    *(via_status *)context = via_wrap(NULL, -1, 1, SHAPE(1), NULL, 1, 0, 0, NULL, NULL, &none);
    return NULL;
}

#undef ASK
#define ASK(call) (doing = #call, (void)must_work((call), #call))

/* Strided and large enough for several threads, and as a task. */
static void copy_on_host(void) {
    via_array *all[2] = {NULL};
    via_array *transposed = NULL;
    via_task *copying = NULL;
    atomic_int called = 0;
    for (int i = 0; i < 2; ++i) {
        ASK(via_wrap(values + i * BYTES, VIA_FLOAT32, 2, SHAPE(512, 512), NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL,
                     &all[i]));
    }
    ASK(via_array_permute(all[1], NULL, &transposed));
    ASK(via_set_num_threads(3));
    ASK(via_copy(all[0], transposed));
    ASK(via_copy_async(all[0], transposed, NULL));
    ASK(via_copy_batch(1, &all[0], &transposed, NULL));
    ASK(via_copy_submit(all[0], transposed, NULL, &copying));
    ASK(via_task_on_complete(copying, note_call, &called));
    ASK(via_task_wait(copying));
    await_count(&called, 1);
    via_task_release(copying);
    via_array_release(transposed);
    for (int i = 0; i < 2; ++i) {
        via_array_release(all[i]);
    }
}

static void use_files(void) {
    via_file *made = NULL;
    via_array *mapped = NULL;
    via_array *source = NULL;
    ASK(via_wrap(values, VIA_UINT8, 1, SHAPE(4096), NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &source));
    ASK(via_file_create(path_of("child.npy"), VIA_UINT8, 1, SHAPE(4096), NULL, &made));
    ASK(via_file_write(made, 0, source, NULL));
    ASK(via_file_array(made, 0, 0, 0, NULL, &mapped));
    via_array_release(mapped);
    via_array_release(source);
    via_file_release(made);
    unlink(path_of("child.npy"));
}

static void use_a_thread(void) {
    pthread_t thread;
    via_status status = VIA_OK;
    CHECK(pthread_create(&thread, NULL, fail_once, &status) == 0);
    pthread_join(thread, NULL);
    CHECK(status != VIA_OK);
}

static void ask_for_devices(void) {
    via_stream *none = NULL;
    via_memory *memory = NULL;
    via_array *array = NULL;
    (void)may_be_refused(via_stream_create(0, &none), "via_stream_create");
    (void)may_be_refused(via_memory_create(VIA_MEMORY_PINNED, 0, &memory), "via_memory_create");
    (void)may_be_refused(via_empty(memory, VIA_UINT8, 1, SHAPE(64), NULL, &array), "via_empty");
    (void)may_be_refused(via_cuda_warmup(0), "via_cuda_warmup");
    via_array_release(array);
    via_memory_release(memory);
    via_stream_release(none);
}

static void child(void) {
    is_child = 1;
    alarm(patience_s);
    if (atomic_load(&is_prepared)) {
        use_shared(may_be_refused);
        via_task_release(task);
        via_batch_release(batch);
        via_file_release(file);
        via_file_release(file_past_cache);
        via_stream_release(stream);
        via_event_release(marker);
    }
    CHECK(make_scratch(NULL) == 0);
    copy_on_host();
    use_files();
    stay_healthy(0);
    use_a_thread();
    ask_for_devices();
    (void)remove_scratch(NULL);
    _exit(complaints() > 0);
}

/* ------------------------------------------------------------------------------------------------- one run of one */

static void *run_scenario(void *context) {
    const scenario *given = context;
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    if (given->prepare != NULL) {
        given->prepare();
    }
    const via_status status = given->run();
    if (status != VIA_OK) {
        complain("%s answered %s: %s", given->name, via_status_name(status), via_last_error());
    }
    for (int turn = 0; turn < 2000 && (!owners_are_settled() || stats_now().pending_releases > 0); ++turn) {
        rest_ms(1);
    }
    if (given->finish != NULL) {
        given->finish();
    }
    return NULL;
}

static atomic_int ended;

static void *run_and_report(void *context) {
    run_scenario(context);
    atomic_store(&ended, 1);
    return NULL;
}

static void fork_now(const char *name) {
    atomic_store(&forking, 1);
    const pid_t process = fork();
    if (process == 0) {
        child();
    }
    atomic_store(&forked, 1);
    int status = 0;
    if (process < 0 || waitpid(process, &status, 0) != process || status != 0) {
        complain("%s: the child ended with %#x", name, (unsigned)status);
    }
}

/* In a process of its own: the scenario runs, and this thread forks where it holds the lock. `index` -1: nowhere. */
static void run_here(const scenario *given, int index) {
    pthread_t runner;
    alarm(3 * patience_s);
    main_thread = pthread_self();
    atomic_store(&armed, (uintptr_t)(index + 1));
    CHECK(pthread_create(&runner, NULL, run_and_report, (void *)(uintptr_t)given) == 0);
    while (!atomic_load(&parked) && !atomic_load(&ended)) {
        rest_ms(1);
    }
    if (atomic_load(&parked)) {
        fork_now(given->name);
    } else if (index >= 0) {
        atomic_fetch_add(&found->missed, 1);
    }
    pthread_join(runner, NULL);
    _exit(complaints() > 0);
}

/* Threads that do everything at once, in a process that forks again and again. */
enum { hammering_threads = 3, hammering_forks = 60 };

static void *hammer(void *context) {
    (void)context;
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    while (!atomic_load(&ended)) {
        use_shared(may_be_refused);
        stay_healthy(1);
    }
    return NULL;
}

static void hammer_and_fork(void) {
    pthread_t threads[hammering_threads];
    alarm(6 * patience_s);
    main_thread = pthread_self();
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    prepare_shared();
    for (int i = 0; i < hammering_threads; ++i) {
        CHECK(pthread_create(&threads[i], NULL, hammer, NULL) == 0);
    }
    for (int i = 0; i < hammering_forks && complaints() == 0; ++i) {
        fork_now("threads that do everything");
    }
    atomic_store(&ended, 1);
    for (int i = 0; i < hammering_threads; ++i) {
        pthread_join(threads[i], NULL);
    }
    finish_shared();
    _exit(complaints() > 0);
}

static int run_apart_from_others(const scenario *given, int index) {
    if (index >= 0) {
        note_place("fork with the lock held that is taken before libviaduct.so+%#lx",
                   (unsigned long)found->sites[index].caller);
    }
    fflush(NULL);
    const pid_t process = fork();
    if (process == 0) {
        setenv("CMOCKA_TEST_ABORT", "1", 1); /* what fails here must not go on with the tests */
        given != NULL ? run_here(given, index) : hammer_and_fork();
    }
    int status = 0;
    return process > 0 && waitpid(process, &status, 0) == process ? status : -1;
}

static int fork_at_new_locks(const scenario *given) {
    int failures = 0;
    if (run_apart_from_others(given, -1) != 0) {
        print_error("%s: did not come through\n", given->name);
        ++failures;
    }
    while (atomic_load(&found->tried) < atomic_load(&found->site_count)) {
        const int index = atomic_fetch_add(&found->tried, 1);
        const int status = run_apart_from_others(given, index);
        if (status != 0) {
            print_error("%s, %s: ended with %#x\n", given->name, noted_place(), (unsigned)status);
            ++failures;
        }
    }
    return failures;
}

/* ------------------------------------------------------------------------------------------------------- the tests */

static void a_child_forked_at_a_lock_does_not_wait(void **state) {
    int failures = 0;
    for (const scenario *at = *state; at->name != NULL; ++at) {
        failures += at->seconds ? 0 : fork_at_new_locks(at);
    }
    assert_int_equal(failures, 0);
}

static void children_of_a_process_whose_threads_do_everything_do_not_wait(void **state) {
    (void)state;
    note_place("forks among threads");
    assert_int_equal(run_apart_from_others(NULL, -1), 0);
}

static int is_among(uintptr_t lock, int before) {
    for (int i = 0; i < before; ++i) {
        if (found->sites[i].lock == lock) {
            return 1;
        }
    }
    return 0;
}

static void most_locks_were_met(void **state) {
    (void)state;
    const int count = atomic_load(&found->site_count);
    int locks = 0;
    for (int i = 0; i < count; ++i) {
        locks += found->sites[i].lock != 0 && !is_among(found->sites[i].lock, i);
    }
    print_message("forks: %d places that take locks, %d locks of the library itself; %d places not met again\n", count,
                  locks, atomic_load(&found->missed));
    assert_true(locks >= fewest_locks);
    assert_true(atomic_load(&found->missed) * 8 < count);
}

#define FORK_TEST(list) {#list, a_child_forked_at_a_lock_does_not_wait, NULL, NULL, (void *)(uintptr_t)(list)}

int main(void) {
    if (!on_fake_driver()) {
        print_message("skipped: the driver is not the fake driver\n");
        return 77;
    }
    main_thread = pthread_self();
    report_frames_on(SIGALRM);
    found = mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED || meet_locks() == 0) {
        print_error("the library's locks cannot be met\n");
        return 1;
    }
    const struct CMUnitTest tests[] = {
        FORK_TEST(shared_scenarios),
        FORK_TEST(array_scenarios),
        FORK_TEST(exchange_scenarios),
        FORK_TEST(order_scenarios),
        FORK_TEST(memory_scenarios),
        FORK_TEST(copy_scenarios),
        FORK_TEST(indexed_and_converted_scenarios),
        FORK_TEST(task_scenarios),
        FORK_TEST(file_scenarios),
        FORK_TEST(archive_scenarios),
        cmocka_unit_test(most_locks_were_met),
        cmocka_unit_test(children_of_a_process_whose_threads_do_everything_do_not_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
