/*
 * Fault loops, after SQLite's: each scenario runs again and again, the N-th allocation, call of the system or call of
 * the driver failing, for every N until it comes through. After each the answer was a status with its text, every owner
 * was reported once, nothing is held that was not before, and what is done next works.
 *
 *   fault [WORDS]     the scenarios whose names hold the words
 *
 * VIADUCT_FAULTS=all: every N, where else of the longer loops some are left out; few: fewer of them, for sanitizers.
 * How many were tried is printed, and with every N where some were left out all the same.
 */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "driver.h"
#include "faults.h"
#include "scenario.h"
#include "slots.h"

enum { most_scenarios = 256, patience_s = 60, every_n_up_to = 32 };

static const fault_plan plans[] = {
    {.name = "an allocation", .kind = FAULT_ALLOCATION},
    {.name = "allocations from one on", .kind = FAULT_ALLOCATION, .stays = 1},
    {.name = "a call of the system", .kind = FAULT_SYSTEM},
    {.name = "calls of the system from one on", .kind = FAULT_SYSTEM, .stays = 1},
    {.name = "a call of the driver", .kind = FAULT_DRIVER, .result = CUDA_ERROR_UNKNOWN},
    {.name = "a call of the driver for want of memory", .kind = FAULT_DRIVER, .result = CUDA_ERROR_OUT_OF_MEMORY},
    {.name = "calls of the driver from one on", .kind = FAULT_DRIVER, .stays = 1, .result = CUDA_ERROR_ILLEGAL_ADDRESS},
};
static const fault_plan poison = {.name = "contexts at a call of the driver",
                                  .kind = FAULT_DRIVER,
                                  .poisons = 1,
                                  .result = CUDA_ERROR_ILLEGAL_ADDRESS};

static const scenario *const lists[] = {array_scenarios,  exchange_scenarios, order_scenarios,
                                        memory_scenarios, copy_scenarios,     indexed_and_converted_scenarios,
                                        task_scenarios,   file_scenarios,     archive_scenarios};

/* The one with that number; NULL behind the last. */
static const scenario *scenario_at(int number) {
    for (int32_t i = 0; i < LENGTH(lists); ++i) {
        for (const scenario *at = lists[i]; at->name != NULL; ++at) {
            if (number-- == 0) {
                return at;
            }
        }
    }
    return NULL;
}

static int every_n;
static int few_n;
static const char *wanted_words;
static int64_t tried_n;
static int64_t left_out_n; /* between those that were tried */

static void count_loop(const scenario *given, const fault_plan *plan, int64_t tried, int64_t last) {
    tried_n += tried;
    left_out_n += last - tried;
    if (every_n && last > tried) {
        print_message("%s, %s failing: %lld of the first %lld N\n", given->name, plan->name, (long long)tried,
                      (long long)last);
    }
}

/* -------------------------------------------------------------------------------------------------- one run of one */

/* What is alive in the driver, in the library, and what the library has of the system. */
typedef struct account {
    holdings held;
    int64_t driver[FAKE_KIND_COUNT];
    via_stats_info stats;
    int64_t misuse;
    int64_t freed_twice;
} account;

static account take_account(void) {
    account found = {.held = count_holdings(), .stats = stats_now(), .freed_twice = freed_twice()};
    found.stats.staged_bytes = 0;
    for (int i = 0; i < FAKE_KIND_COUNT; ++i) {
        found.driver[i] = fake(fake_live)((fake_kind)i);
    }
    found.misuse = fake(fake_misuse_total)();
    return found;
}

/* What there is when nothing is under way. */
static via_stats_info at_rest;

static int is_settled(void) {
    via_stats_info stats = stats_now();
    stats.staged_bytes = 0; /* staging memory stays */
    return owners_are_settled() && memcmp(&stats, &at_rest, sizeof stats) == 0;
}

/* What is left of the work behind the caller: owners may be reported by threads of the library. */
static void settle(int turns) {
    for (int i = 0; i < turns && !is_settled(); ++i) {
        nanosleep(&(struct timespec){0, 100000}, NULL);
    }
}

static void finish_devices(void) {
    for (int device = device_count() - 1; device >= 0; --device) {
        cu(cuCtxSetCurrent)(primary(device));
        cu(cuCtxSynchronize)();
    }
}

/* A driver that could not be loaded is not tried again: the host's part must work all the same. */
static int has_device(void) {
    int32_t count = 0;
    ok(via_device_count(VIA_DEVICE_CUDA, &count));
    return count > 0;
}

/* Returns how many faults there were. */
static int64_t run_once(const scenario *given, const fault_plan *plan, int64_t n, via_status *out_status) {
    forget_owners();
    fake(fake_spare_thread)(1);
    if (given->prepare != NULL) {
        given->prepare();
    }
    fake(fake_spare_thread)(0);
    arm_fault(plan, n);
    *out_status = given->run();
    settle(plan->stays ? 0 : 20000);
    const int64_t faults = disarm_faults();
    finish_devices();
    if (!is_settled()) {
        stay_healthy(has_device() && !plan->poisons); /* what had no thread to wait for it goes on with the next work */
        settle(100000);
    }
    look_at_owners(plan->kind == FAULT_DRIVER && (plan->stays || plan->poisons));
    if (given->finish != NULL) {
        given->finish();
    }
    finish_devices();
    put_everything_away();
    if (*out_status != VIA_OK && faults == 0) {
        complain("failed without a fault: %s", via_last_error());
    } else if (plan->kind == FAULT_ALLOCATION && *out_status != VIA_OK && *out_status != VIA_ERROR_OUT_OF_MEMORY) {
        complain("no memory is %s: %s", via_status_name(*out_status), via_last_error());
    }
    return faults;
}

/* ------------------------------------------------------------------------------------------------------- what stays */

/* The first number of two accounts that has grown; its name, or NULL. */
static const char *grown(const account *before, const account *after) {
    static const char *const kinds[FAKE_KIND_COUNT] = {
        "contexts",           "retained contexts", "streams",       "events",        "device allocations",
        "pool allocations",   "managed blocks",    "pinned blocks", "registrations", "reservations",
        "mappings of memory", "physical handles",  "pools",         "modules",       "graphs",
        "executable graphs",  "user objects"};
    for (int i = 0; i < FAKE_KIND_COUNT; ++i) {
        if (after->driver[i] > before->driver[i]) {
            return kinds[i];
        }
    }
    return after->held.blocks > before->held.blocks   ? "blocks"
           : after->held.mapped > before->held.mapped ? "mapped bytes"
           : after->held.files > before->held.files   ? "open files"
                                                      : NULL;
}

/* What a call does not end that is there to end it, and fails, stays: nobody could do anything about it. */
static int may_leak(const fault_plan *plan) {
    static const char *const ends[] = {"cuMemFree",        "cuMemFreeHost",      "cuMemHostUnregister",
                                       "cuMemFreeAsync",   "cuEventDestroy",     "cuStreamDestroy",
                                       "cuMemPoolDestroy", "cuUserObjectRelease"};
    int is_end = 0;
    for (int32_t i = 0; i < LENGTH(ends); ++i) {
        is_end |= strcmp(what_failed(), ends[i]) == 0;
    }
    return plan->kind == FAULT_DRIVER && (plan->stays || plan->poisons || is_end);
}

/* What is kept for later is kept once, or once for each thread that runs tasks, of which a busy machine makes up to 64.
   A fault that leaves something behind more often leaks. */
static void find_leak(const scenario *given, const fault_plan *plan, int64_t n, account before) {
    const int most_turns = 80;
    const int64_t blocks = blocks_so_far();
    const char *what = "";
    for (int turn = 0; what != NULL && turn < most_turns; ++turn) {
        via_status status = VIA_OK;
        run_once(given, plan, n, &status);
        const int is_explained = may_leak(plan); /* the N-th call need not be the one that failed before */
        stay_healthy(1);
        const account after = take_account();
        what = is_explained ? NULL : grown(&before, &after);
        before = after;
    }
    if (what != NULL) {
        print_blocks_since(blocks);
        complain("%s stay", what);
    }
}

static void compare_accounts(const scenario *given, const fault_plan *plan, int64_t n, const account *before) {
    const account after = take_account();
    if (!same_stats(&at_rest, &after.stats)) {
        complain("the statistics differ, %lld releases being pending", (long long)after.stats.pending_releases);
        at_rest = after.stats;
    }
    if (after.misuse > before->misuse) {
        complain("the driver was misused %lld times", (long long)(after.misuse - before->misuse));
    }
    if (after.freed_twice > before->freed_twice) {
        complain("%lld blocks were given back twice", (long long)(after.freed_twice - before->freed_twice));
    }
    if (grown(before, &after) != NULL && !may_leak(plan)) {
        find_leak(given, plan, n, *before);
    }
}

/* ---------------------------------------------------------------------------------------------------------- the loops
 */

/* From one N to the next, where there are so many calls. A calibration makes the same calls hundreds of times: of its
   many thousands each step leaves out as many as is little next to those before. */
static int64_t step_of(const scenario *given, const fault_plan *plan, int64_t calls, int64_t n) {
    if (every_n) {
        return given->seconds ? 1 + n / every_n_up_to : 1;
    }
    const int64_t most_faults = few_n ? 2 : plan->stays ? 3 : 6;
    return calls <= most_faults ? 1 : calls / most_faults + 1;
}

static void fail_one_after_another(const scenario *given, const fault_plan *plan) {
    via_status status = VIA_OK;
    for (int turn = 0; turn < 3 && !given->seconds; ++turn) {
        run_once(given, plan, INT64_MAX, &status);
    }
    const int64_t calls = calls_met();
    const int64_t most_n = given->seconds && !every_n ? 1 : INT64_MAX;
    int64_t tried = 0;
    int64_t last = 0;
    int64_t faults = 1;
    for (int64_t n = 1; n <= most_n && faults > 0 && complaints() == 0; n += step_of(given, plan, calls, n)) {
        note_place("%s, %s failing, the %lldth", given->name, plan->name, (long long)n);
        alarm(patience_s);
        const account before = take_account();
        faults = run_once(given, plan, n, &status);
        stay_healthy(1);
        compare_accounts(given, plan, n, &before);
        ++tried;
        last = n;
    }
    alarm(0);
    count_loop(given, plan, tried, last);
}

static void survives_whatever_fails(void **state) {
    const scenario *given = *state;
    forget_complaints();
    for (int32_t i = 0; i < LENGTH(plans) && complaints() == 0; ++i) {
        const int is_driver = plans[i].kind == FAULT_DRIVER;
        if (given->driver_holds ? !is_driver || !plans[i].stays : !given->seconds || every_n || is_driver) {
            fail_one_after_another(given, &plans[i]);
        }
    }
    assert_int_equal(complaints(), 0);
}

/* ------------------------------------------------------------------------------------------- as the first of a process
 */

static int failed_apart[most_scenarios];
static int running = -1; /* the number of the scenario whose calls are noted */

/* Ends the process: 0 if there was a fault and all is well, 2 if there was none. */
static void run_apart_from_others(const scenario *given, const fault_plan *plan, int64_t n) {
    via_status status = VIA_OK;
    alarm(patience_s);
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    at_rest.struct_size = (int32_t)sizeof at_rest;
    if (plan->poisons) {
        run_once(given, plan, INT64_MAX, &status);
    }
    const int64_t faults = run_once(given, plan, n, &status);
    report_calls_of_child(running);
    stay_healthy(!plan->poisons && has_device());
    const via_stats_info after = take_account().stats;
    if (!same_stats(&at_rest, &after)) {
        complain("the statistics differ, %lld releases being pending", (long long)after.pending_releases);
    }
    if (freed_twice() > 0) {
        complain("%lld blocks were given back twice", (long long)freed_twice());
    }
    _exit(complaints() > 0 ? 1 : faults > 0 ? 0 : 2);
}

/* 1 if there was a fault. */
static int fork_and_run(const scenario *given, const fault_plan *plan, int64_t n, int *out_failed) {
    note_place("%s, first of all, %s failing, the %lldth", given->name, plan->name, (long long)n);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        run_apart_from_others(given, plan, n);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        print_error("%s: there is no process: %s\n", noted_place(), strerror(errno));
        *out_failed = 1;
        return 0;
    }
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code != 0 && code != 2) {
        print_error("%s: the process ended with %#x\n", noted_place(), (unsigned)status);
        *out_failed = 1;
    }
    return code == 0;
}

static void fail_first_calls(const scenario *given, const fault_plan *plan, int *out_failed) {
    const int64_t most_faults = few_n ? 1 : 3;
    (void)fork_and_run(given, plan, INT64_MAX, out_failed);
    const int64_t step = every_n ? 1 : calls_of_child() / most_faults + 1;
    int64_t tried = 0;
    int64_t n = 1;
    while (!*out_failed && fork_and_run(given, plan, n, out_failed)) {
        ++tried;
        n += step;
    }
    count_loop(given, plan, tried + 1, n);
}

/* Of a function that is called only where that one has failed. */
static const char *what_it_is_behind(const char *function) {
    return strcmp(function, "cuMemPoolDestroy") == 0  ? "cuMemPoolSetAttribute"
           : strcmp(function, "cuCtxSetCurrent") == 0 ? "cuCtxPopCurrent"
                                                      : NULL;
}

static int number_of_function(const char *name) {
    int number = 0;
    while (strcmp(driver_functions[number], name) != 0) {
        ++number;
    }
    return number;
}

/* Each function of the driver by its name, in the first scenario in which the library calls it. */
static void fail_by_name(int function, int *out_failed) {
    const char *name = driver_functions[function];
    const fault_plan plan = {.name = name,
                             .kind = FAULT_DRIVER,
                             .result = CUDA_ERROR_UNKNOWN,
                             .function = name,
                             .behind = what_it_is_behind(name)};
    const int called = plan.behind != NULL ? number_of_function(plan.behind) : function;
    int failed = 0;
    for (int i = 0; scenario_at(i) != NULL && !failed; ++i) {
        failed = was_called(i, called) && fork_and_run(scenario_at(i), &plan, 1, out_failed);
    }
}

/* What each scenario calls, and then all of that. */
static void fail_all_by_name(int *out_failed) {
    for (int i = 0; scenario_at(i) != NULL && !*out_failed; ++i) {
        running = i;
        (void)fork_and_run(scenario_at(i), &plans[0], INT64_MAX, out_failed);
    }
    running = -1;
    for (int i = 0; driver_functions[i] != NULL && !*out_failed; ++i) {
        fail_by_name(i, out_failed);
    }
}

static void survives_whatever_fails_first(void **state) { assert_int_equal(failed_apart[*(const int *)*state], 0); }

static void end_stuck(int number) {
    (void)number;
    static const char text[] = "\nstuck at: ";
    (void)!write(2, text, sizeof text - 1);
    (void)!write(2, noted_place(), strlen(noted_place()));
    (void)!write(2, "\n", 1);
    abort();
}

static int set_up(void **state) {
    (void)state;
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    ok(via_cuda_warmup(0));
    stay_healthy(1);
    at_rest = take_account().stats;
    return 0;
}

static struct CMUnitTest tests[most_scenarios];
static size_t test_count;
static int indices[most_scenarios];

static void add_test(const char *name, void (*function)(void **), const void *state) {
    assert_true(test_count < most_scenarios);
    tests[test_count++] = (struct CMUnitTest){name, function, NULL, NULL, (void *)(uintptr_t)state};
}

/* Before anything else has touched the library or the driver. */
static void run_first(const scenario *given, int index) {
    for (int32_t i = 0; i < LENGTH(plans) && !failed_apart[index]; ++i) {
        fail_first_calls(given, &plans[i], &failed_apart[index]);
    }
    if (!failed_apart[index]) {
        fail_first_calls(given, &poison, &failed_apart[index]);
    }
    indices[index] = index;
    add_test(given->name, survives_whatever_fails_first, &indices[index]);
}

static void add_scenarios(void) {
    for (int i = 0; scenario_at(i) != NULL; ++i) {
        const scenario *at = scenario_at(i);
        if (strstr(at->name, wanted_words) != NULL) {
            if (at->apart) {
                run_first(at, i);
            }
            add_test(at->name, survives_whatever_fails, at);
        }
    }
}

/* Of the library that a newer one adds to, and nobody here knows. */
static void every_function_that_the_library_takes_is_known(void **state) {
    (void)state;
    assert_string_equal(unknown_functions(), "");
}

/* The place of a function that has not been called yet leads to the program itself. */
static void note_called(const char *function, void **slot, void *context) {
    if (strncmp(function, "via_", 4) == 0 && !is_in_program(*slot)) {
        strcat(strcat(context, function), "\n");
    }
}

static void every_function_of_the_library_is_called(void **state) {
    (void)state;
    static char called[1 << 14] = "\n";
    char line[128] = "\n";
    int missing = 0;
    FILE *symbols = fopen(VIADUCT_SYMBOLS, "r");
    assert_non_null(symbols);
    visit_slots("", note_called, called);
    while (fscanf(symbols, "%126s %*s", line + 1) == 1) {
        if (strstr(called, strcat(line, "\n")) == NULL) {
            print_error("no scenario calls %s", line + 1);
            missing = 1;
        }
    }
    fclose(symbols);
    assert_int_equal(missing, 0);
}

/* The first is called only where cuGraphRetainUserObject has failed. If it fails besides, the driver keeps an object
   that holds the arrays of a copy, and nobody may release them: whether it will call back, nobody knows. The next is
   for tests of the library's inside. The last is called where there is one device, and fails in gpu.copy_brief. */
static const char *const never_met[] = {" cuUserObjectRelease ", " cuMemcpy ", " cuStreamWriteValue32 "};

static void every_function_of_the_driver_has_failed(void **state) {
    (void)state;
    static char names[4096];
    never_failed_of_driver(names, sizeof names);
    strcat(names, " ");
    for (int32_t i = 0; i < LENGTH(never_met); ++i) {
        char *found = strstr(names, never_met[i]);
        if (found != NULL) {
            memset(found, ' ', strlen(never_met[i]) - 1);
        }
    }
    if (strspn(names, " ") != strlen(names)) {
        fail_msg("never failed:%s", names);
    }
}

static int failed_by_name;
static void each_function_of_the_driver_may_fail(void **state) {
    (void)state;
    assert_int_equal(failed_by_name, 0);
}

static void add_completeness(void) {
    add_test("every_function_that_the_library_takes_is_known", every_function_that_the_library_takes_is_known, NULL);
    fail_all_by_name(&failed_by_name);
    add_test("each_function_of_the_driver_may_fail", each_function_of_the_driver_may_fail, NULL);
}

static void read_arguments(int count, char **arguments) {
    const char *how_many = getenv("VIADUCT_FAULTS");
    every_n = how_many != NULL && strcmp(how_many, "all") == 0;
    few_n = how_many != NULL && strcmp(how_many, "few") == 0;
    wanted_words = count > 1 ? arguments[1] : "";
}

/* Asked in a process of its own: here nothing of the library may have been called. */
static int others_have_kernels(void) {
    const pid_t asked = fork();
    if (asked == 0) {
        const int found = kernels_are_there();
        fflush(stdout);
        _exit(found ? 0 : 1);
    }
    int status = 0;
    return asked > 0 && waitpid(asked, &status, 0) == asked && status == 0;
}

int main(int count, char **arguments) {
    read_arguments(count, arguments);
    if (!on_fake_driver()) {
        print_message("skipped: the driver is not the fake driver\n");
        return 77;
    }
    if (!others_have_kernels()) {
        return 77;
    }
    signal(SIGALRM, end_stuck);
    if (meet_calls() == 0) {
        print_error("the library's calls cannot be met\n");
        return 1;
    }
    if (*wanted_words == '\0') {
        add_completeness();
    }
    add_scenarios();
    if (*wanted_words == '\0') {
        add_test("every_function_of_the_library_is_called", every_function_of_the_library_is_called, NULL);
        add_test("every_function_of_the_driver_has_failed", every_function_of_the_driver_has_failed, NULL);
    }
    const int failures = _cmocka_run_group_tests("fault", tests, test_count, set_up, NULL);
    const int64_t kinds[] = {faults_of_kind(FAULT_ALLOCATION), faults_of_kind(FAULT_DRIVER),
                             faults_of_kind(FAULT_SYSTEM)};
    printf("fault: %lld faults injected: %lld allocations, %lld driver calls, %lld system calls; %d failures\n",
           (long long)(kinds[0] + kinds[1] + kinds[2]), (long long)kinds[0], (long long)kinds[1], (long long)kinds[2],
           failures);
    printf("fault: %lld N tried, %lld left out in between\n", (long long)tried_n, (long long)left_out_n);
    return failures > 0;
}
