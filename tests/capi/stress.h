/*
 * Many threads that do all there is to do, at random, with arrays, tensors and tasks that they hand one another: who
 * ends a thing is rarely who made it. Whatever is wrapped must be released exactly once.
 *
 * VIADUCT_STRESS_OPERATIONS sets how many operations each thread does. VIADUCT_STRESS_WITHOUT_FORK leaves forks out,
 * for tools to which what the other threads of a child's parent held is lost.
 */
#ifndef VIADUCT_TESTS_STRESS_H
#define VIADUCT_TESTS_STRESS_H

#include <pthread.h>

#include "last_words.h"
#include "scene.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { STRESS_OPERATIONS = 600, EXITS = 2 };
#else
enum { STRESS_OPERATIONS = 4000, EXITS = 5 };
#endif
enum { STRESS_THREADS = 16, SLOTS = 48, SIDE = 24, FORK_EVERY = 2000 };

/* Wrapped memory: every byte is the same, so that a copy of any view of it can be reported. */
typedef struct owner {
    atomic_int ended;
    struct owner *next;
    unsigned char bytes[SIDE * SIDE];
} owner;

typedef struct worker {
    pthread_t thread;
    uint32_t dice;
    int64_t operations;
    int64_t forks;
    int64_t copies;
    owner *owners;
} worker;

typedef struct action {
    void (*act)(worker *self);
    int weight;
} action;

/* What threads hand one another of one kind of memory. */
typedef struct pool {
    int most_axes; /* of arrays of which views are made */
    _Atomic(via_array *) arrays[SLOTS];
    _Atomic(struct DLManagedTensorVersioned *) tensors[SLOTS];
} pool;

static pool host = {.most_axes = 8};
static _Atomic(via_task *) tasks[SLOTS];
static atomic_int wrong;

/* In a thread cmocka cannot jump: what does not hold is counted and said. */
#define must(holds) must_hold((holds) != 0, #holds, __LINE__)

static inline int must_hold(int holds, const char *what, int line) {
    if (!holds && atomic_fetch_add(&wrong, 1) < 10) {
        fprintf(stderr, "line %d: %s does not hold; last error: %s\n", line, what, via_last_error());
    }
    return holds;
}

static inline int roll(worker *self, int sides) {
    self->dice ^= self->dice << 13;
    self->dice ^= self->dice >> 17;
    self->dice ^= self->dice << 5;
    return (int)(self->dice % (uint32_t)sides);
}

#define take(slots, self) atomic_exchange(&(slots)[roll((self), SLOTS)], NULL)
#define put(slots, self, thing) atomic_exchange(&(slots)[roll((self), SLOTS)], (thing))

static void put_in(worker *self, pool *to, via_array *array) { via_array_release(put(to->arrays, self, array)); }
static void empty_place(pool *from, int place) {
    via_array_release(atomic_exchange(&from->arrays[place], NULL));
    via_dlpack_delete(atomic_exchange(&from->tensors[place], NULL));
}

static void put_array(worker *self, via_array *array) { put_in(self, &host, array); }

static void end_owner(void *context) { must(atomic_fetch_add(&((owner *)context)->ended, 1) == 0); }

static void wrap_one(worker *self) {
    owner *made = malloc(sizeof *made);
    via_array *array = NULL;
    *made = (owner){.next = self->owners};
    self->owners = made;
    memset(made->bytes, 1 + roll(self, 255), sizeof made->bytes);
    if (must(via_wrap(made->bytes, VIA_UINT8, 2, SHAPE(SIDE, SIDE), NULL, VIA_DEVICE_CPU, 0, 0, end_owner, made,
                      &array) == VIA_OK)) {
        put_array(self, array);
    }
}

static via_status view_at_random(worker *self, via_array *array, via_array **out_view) {
    switch (roll(self, 4)) {
        case 0:
            return via_array_permute(array, NULL, out_view);
        case 1:
            return via_array_as_read_only(array, out_view);
        case 2:
            return via_array_expand(array, 0, out_view);
        default:
            return via_array_squeeze(array, 0, NULL, out_view);
    }
}

/* A view takes the place of its array, which is released here. Deep ones are released. */
static void view_in(worker *self, pool *from) {
    via_array *array = take(from->arrays, self);
    via_array *view = NULL;
    if (array != NULL && via_array_ndim(array) < from->most_axes &&
        must(view_at_random(self, array, &view) == VIA_OK)) {
        put_in(self, from, view);
    }
    via_array_release(array);
}

/* One handle in two places, to be released by two threads. */
static void share_one(worker *self) {
    via_array *array = take(host.arrays, self);
    if (array != NULL) {
        via_array_retain(array);
        put_array(self, array);
        put_array(self, array);
    }
}

static void export_in(worker *self, pool *from, via_stream *stream) {
    via_array *array = take(from->arrays, self);
    struct DLManagedTensorVersioned *tensor = NULL;
    if (array != NULL && must(via_to_dlpack(array, NULL, stream, &tensor) == VIA_OK)) {
        via_dlpack_delete(put(from->tensors, self, tensor));
    }
    via_array_release(array);
}

static void import_in(worker *self, pool *from, via_stream *stream) {
    struct DLManagedTensorVersioned *tensor = take(from->tensors, self);
    via_array *array = NULL;
    if (tensor != NULL && must(via_from_dlpack(tensor, NULL, stream, &array) == VIA_OK)) {
        put_in(self, from, array);
    }
}

static via_array *like(via_array *array) {
    via_array *made = NULL;
    must(via_empty(NULL, VIA_UINT8, via_array_ndim(array), via_array_shape(array), NULL, &made) == VIA_OK);
    return made;
}

/* Whatever the view, the copy is of one byte all over. */
static void expect_even(via_array *copy) {
    const unsigned char *bytes = via_array_data(copy);
    must(bytes[0] != 0 && bytes[0] == bytes[SIDE * SIDE - 1] && bytes[0] == bytes[SIDE * SIDE / 2]);
}

static void copy_in(worker *self, pool *from) {
    via_array *array = take(from->arrays, self);
    if (array == NULL) {
        return;
    }
    via_array *copy = like(array);
    if (must(via_copy(copy, array) == VIA_OK)) {
        expect_even(copy);
    }
    self->copies++;
    via_array_release(copy);
    put_in(self, from, array);
}

static void count_down(int32_t status, const char *text, void *context) {
    must((status == VIA_OK || status == VIA_ERROR_CANCELLED) && text != NULL);
    atomic_fetch_sub((atomic_int *)context, 1);
}

static atomic_int callbacks_owed;

/* A task that others wait for, cancel, ask or drop. */
static void submit_in(worker *self, pool *from, via_stream *stream) {
    via_array *array = take(from->arrays, self);
    via_task *task = NULL;
    if (array == NULL) {
        return;
    }
    via_array *copy = like(array);
    if (must(via_copy_submit(copy, array, stream, &task) == VIA_OK)) {
        if (roll(self, 2) == 0) {
            atomic_fetch_add(&callbacks_owed, 1);
            must(via_task_on_complete(task, count_down, &callbacks_owed) == VIA_OK);
        }
        via_task_release(put(tasks, self, task));
    }
    self->copies++;
    via_array_release(copy);
    put_in(self, from, array);
}

static void view_one(worker *self) { view_in(self, &host); }
static void export_one(worker *self) { export_in(self, &host, NULL); }
static void import_one(worker *self) { import_in(self, &host, NULL); }
static void copy_one(worker *self) { copy_in(self, &host); }
static void submit_one(worker *self) { submit_in(self, &host, NULL); }

static void meet_a_task(worker *self) {
    via_task *task = take(tasks, self);
    int32_t done = 0;
    int64_t bytes = 0;
    int64_t total = 0;
    if (task == NULL) {
        return;
    }
    switch (roll(self, 3)) {
        case 0:
            must(via_task_cancel(task) == VIA_OK);
            break;
        case 1: {
            const via_status status = via_task_wait(task);
            must(status == VIA_OK || status == VIA_ERROR_CANCELLED);
            break;
        }
        default:
            must(via_task_poll(task, &done) == VIA_OK);
            must(via_task_progress(task, &bytes, &total) == VIA_OK && total == SIDE * SIDE);
    }
    via_task_release(task);
}

static void fail_one(worker *self) {
    via_array *array = take(host.arrays, self);
    via_array *view = NULL;
    via_stats_info stats = VIA_STATS_INFO_INIT;
    if (array != NULL) {
        must(via_array_select(array, 99, 0, &view) == VIA_ERROR_INDEX && view == NULL);
        must(strstr(via_last_error(), "axis is 99") != NULL);
        put_array(self, array);
    }
    must(via_stats(&stats) == VIA_OK);
}

/* Not under a sanitizer: its own allocator's locks are held for ever in a child of a fork that another thread held them
 * over, and ThreadSanitizer cannot follow the threads that a child starts. */
static int forks_are_wanted(void) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    return 0;
#else
    return getenv("VIADUCT_STRESS_WITHOUT_FORK") == NULL;
#endif
}

/* The child works with what it finds, while the parent's other threads were in the middle of anything. */
static void fork_one(worker *self) {
    if (roll(self, FORK_EVERY / 20) != 0 || !forks_are_wanted()) {
        return;
    }
    const pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 20; ++i) {
            wrap_one(self);
            view_one(self);
            export_one(self);
            import_one(self);
            copy_one(self);
        }
        _exit(wrong != 0);
    }
    int status = 0;
    must(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    self->forks++;
}

#define HOST_ACTIONS                                                                                                \
    {wrap_one, 9}, {view_one, 4}, {share_one, 2}, {export_one, 2}, {import_one, 2}, {copy_one, 2}, {submit_one, 1}, \
        {meet_a_task, 1}, {fail_one, 1}, {fork_one, 1}

static const action *all_actions;
static int action_count;

static void act_at_random(worker *self) {
    int sum = 0;
    for (int i = 0; i < action_count; ++i) {
        sum += all_actions[i].weight;
    }
    int rest = roll(self, sum);
    const action *chosen = all_actions;
    while (rest >= chosen->weight) {
        rest -= (chosen++)->weight;
    }
    chosen->act(self);
}

static void *work(void *context) {
    worker *self = context;
    for (int64_t i = 0; i < self->operations; ++i) {
        act_at_random(self);
    }
    return NULL;
}

static int64_t operations_wanted(void) {
    const char *given = getenv("VIADUCT_STRESS_OPERATIONS");
    const long long count = given != NULL ? atoll(given) : 0;
    return count > 0 ? count : STRESS_OPERATIONS;
}

static void empty_slots(void) {
    for (int i = 0; i < SLOTS; ++i) {
        empty_place(&host, i);
        via_task *task = atomic_exchange(&tasks[i], NULL);
        if (task != NULL) {
            const via_status status = via_task_wait(task);
            must(status == VIA_OK || status == VIA_ERROR_CANCELLED);
        }
        via_task_release(task);
    }
}

static int64_t count_not_ended_once(const worker *workers) {
    int64_t count = 0;
    for (int i = 0; i < STRESS_THREADS; ++i) {
        for (const owner *each = workers[i].owners; each != NULL; each = each->next) {
            count += each->ended != 1;
        }
    }
    return count;
}

static int is_something_left(const worker *workers) {
    return count_not_ended_once(workers) > 0 || callbacks_owed > 0 || stats_now().pending_tasks > 0;
}

/* Tasks that nobody holds run on, and may be the last to hold an array. */
static void wait_for_the_rest(const worker *workers) {
    for (int i = 0; i < 10000 && is_something_left(workers); ++i) {
        usleep(1000);
    }
    assert_int_equal(count_not_ended_once(workers), 0);
    assert_int_equal(callbacks_owed, 0);
    assert_int_equal(stats_now().pending_tasks, 0);
}

static void free_owners(worker *workers) {
    for (int i = 0; i < STRESS_THREADS; ++i) {
        while (workers[i].owners != NULL) {
            owner *ended = workers[i].owners;
            workers[i].owners = ended->next;
            free(ended);
        }
    }
}

/* All threads at once; says how much was done, a line that `./dev trust` reads. */
static void stress(const char *name, const action *actions, int count, uint32_t seed) {
    static worker workers[STRESS_THREADS];
    int64_t forks = 0;
    int64_t copies = 0;
    all_actions = actions;
    action_count = count;
    report_frames_on(SIGSEGV); /* cmocka's own handler jumps, which a thread cannot */
    for (int i = 0; i < STRESS_THREADS; ++i) {
        workers[i] = (worker){.dice = seed * 7919u + (uint32_t)i * 104729u + 1, .operations = operations_wanted()};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < STRESS_THREADS; ++i) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        forks += workers[i].forks;
        copies += workers[i].copies;
    }
    empty_slots();
    wait_for_the_rest(workers);
    assert_int_equal(wrong, 0);
    free_owners(workers);
    printf("stress %s: %d threads x %lld operations, %lld copies, %lld forks\n", name, STRESS_THREADS,
           (long long)operations_wanted(), (long long)copies, (long long)forks);
    fflush(stdout);
}

/* A scene: the program ends by itself while its threads are in the middle of everything. */
static void exit_in_the_middle(const action *actions, int count) {
    static worker workers[STRESS_THREADS];
    all_actions = actions;
    action_count = count;
    for (int i = 0; i < STRESS_THREADS; ++i) {
        workers[i] = (worker){.dice = (uint32_t)getpid() * 7919u + (uint32_t)i + 1, .operations = INT64_MAX};
        expect(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
    }
    usleep(20000);
    exit(wrong != 0);
}

static inline void expect_exits(const char *name) {
    for (int i = 0; i < EXITS; ++i) {
        const ending found = play(name, NULL);
        if (found.exit_status != 0) {
            print_error("ended with %d (signal %d) and said:\n%s\n", found.exit_status, found.signal, found.text);
            fail();
        }
    }
}

#endif
