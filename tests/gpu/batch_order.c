/* Copies of a batch that are done together, in the order of streams and fences: what they wait for, what waits for
   them, what holds their arrays, what a graph makes of them, and what becomes of them when the driver fails. */
#include <sys/wait.h>
#include <unistd.h>

#include "../capi/child.h"
#include "pending_copy.h"

/* Slices of one array to slices of another, both of a device: enough for a table, or so few that they travel along. */
enum { many = 300, few = 5, slice_bytes = 200 };

typedef struct slices {
    block dst;
    block src;
    via_array *dsts[many];
    via_array *srcs[many];
    int32_t count;
    via_batch *batch;
} slices;

static slices new_slices(int32_t count, atomic_int *released) {
    slices made = {.dst = new_block(DEVICE, (int64_t)count * slice_bytes, released),
                   .src = new_block(DEVICE, (int64_t)count * slice_bytes, released),
                   .count = count};
    write_block(&made.src, 1);
    write_block(&made.dst, 2);
    ok(via_batch_create(&made.batch));
    for (int32_t i = 0; i < count; ++i) {
        const int64_t first = (int64_t)i * slice_bytes;
        ok(via_array_slice(made.dst.array, &first, SHAPE(slice_bytes), NULL, &made.dsts[i]));
        ok(via_array_slice(made.src.array, &first, SHAPE(slice_bytes), NULL, &made.srcs[i]));
        ok(via_batch_add(made.batch, made.dsts[i], made.srcs[i]));
    }
    return made;
}

/* All that holds the arrays but runs, tasks and graphs; the memory stays. */
static void let_arrays_go(slices *gone) {
    for (int32_t i = 0; i < gone->count; ++i) {
        via_array_release(gone->dsts[i]);
        via_array_release(gone->srcs[i]);
    }
    release_block(&gone->dst);
    release_block(&gone->src);
    via_batch_release(gone->batch);
}

static void end_slices(slices *gone) {
    let_arrays_go(gone);
    put_away(gone->dst.memory);
    put_away(gone->src.memory);
}

typedef via_status (*run_function)(const slices *of, via_stream *stream);

static via_status run_from_arrays(const slices *of, via_stream *stream) {
    return via_copy_batch(of->count, of->dsts, of->srcs, stream);
}
static via_status run_prepared(const slices *of, via_stream *stream) { return via_batch_run(of->batch, stream); }
static via_status run_as_task(const slices *of, via_stream *stream) {
    via_task *task = NULL;
    const via_status status = via_batch_submit(of->batch, stream, &task);
    via_task_release(task);
    return status;
}

static const run_function runs[] = {run_from_arrays, run_prepared, run_as_task};

static void end_task(via_task *task) {
    ok(via_task_wait(task));
    via_task_release(task);
}

/* ------------------------------------------------------------------------------------------------ fences */

static void readers_of_a_destination_wait_for_the_batch(void **state) {
    (void)state;
    ok(via_cuda_warmup(0)); /* loading kernels waits for streams */
    block seen = new_block(PINNED, slice_bytes, NULL);
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    for (int32_t i = 0; i < LENGTH(runs); ++i) {
        slices of = new_slices(many, NULL);
        for (int32_t round = 0; round < 3; ++round) {
            via_task *reader = NULL;
            write_block(&of.dst, 2);
            hold(native);
            keep_busy(native);
            ok(runs[i](&of, stream));
            ok(via_copy_submit(seen.array, of.dsts[many - 1], NULL, &reader));
            assert_true(is_undone(reader));
            release(native);
            end_task(reader);
            finish(native);
            assert_block(&of.dst, 1);
            char expected[slice_bytes];
            read_device(expected, number_of(of.dst.data) + (many - 1) * slice_bytes, slice_bytes);
            assert_memory_equal(seen.data, expected, slice_bytes);
        }
        end_slices(&of);
    }
    end_block(&seen);
}

/* What the source holds when the batch gets to it, `seed`, is written after the work queued on a stream that is held.
 */
static void write_source_behind(slices *of, unsigned seed, CUstream writer) {
    write_block(&of->dst, 2);
    hold(writer);
    write_behind(&of->src, seed, writer);
    ok(via_array_set_ready(of->srcs[many / 2], wrap_native(writer, 0)));
}

static void a_batch_waits_for_its_sources_however_often_it_has_run(void **state) {
    (void)state;
    ok(via_cuda_warmup(0));
    CUstream native = new_stream();
    CUstream writer = new_stream();
    via_stream *stream = wrap_native(native, 0);
    for (int32_t i = 0; i < LENGTH(runs); ++i) {
        slices of = new_slices(many, NULL);
        for (unsigned round = 0; round < 4; ++round) {
            if (round != 1) {
                ok(runs[i](&of, stream));
                ok(via_copy(of.dst.array, of.src.array));
            }
            write_source_behind(&of, 5 + round, writer);
            ok(runs[i](&of, stream));
            nanosleep(&(struct timespec){0, 3000000}, NULL);
            assert_block(&of.dst, 2);
            release(writer);
            ok(via_copy(of.src.array, of.dst.array));
            assert_block(&of.dst, 5 + round);
        }
        end_slices(&of);
    }
}

static void runs_of_one_batch_come_one_after_the_other_on_any_stream(void **state) {
    (void)state;
    ok(via_cuda_warmup(0));
    CUstream first = new_stream();
    CUstream second = new_stream();
    slices of = new_slices(many, NULL);
    for (int32_t round = 0; round < 4; ++round) {
        write_block(&of.dst, 2);
        hold(first);
        keep_busy(first);
        ok(via_batch_run(of.batch, wrap_native(first, 0)));
        ok(via_batch_run(of.batch, wrap_native(second, 0)));
        via_task *task = NULL;
        ok(via_batch_submit(of.batch, NULL, &task));
        assert_true(is_undone(task));
        assert_block(&of.dst, 2);
        release(first);
        finish(second);
        end_task(task);
        assert_block(&of.dst, 1);
    }
    end_slices(&of);
}

static void arrays_are_held_until_the_batch_has_run(void **state) {
    (void)state;
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    for (int32_t i = 0; i < LENGTH(runs); ++i) {
        atomic_int released = 0;
        slices of = new_slices(many, &released);
        ok(runs[i](&of, stream));
        hold(native);
        keep_busy(native);
        ok(runs[i](&of, stream));
        let_arrays_go(&of);
        nanosleep(&(struct timespec){0, 3000000}, NULL);
        assert_int_equal(atomic_load(&released), 0);
        release(native);
        await_count(&released, 2);
        put_away(of.dst.memory);
        put_away(of.src.memory);
    }
}

static void a_batch_that_a_later_write_replaces_is_still_an_access(void **state) {
    (void)state;
    CUstream native = new_stream();
    CUstream idle = new_stream();
    via_stream *stream = wrap_native(native, 0);
    for (int32_t i = 0; i < LENGTH(runs); ++i) {
        atomic_int released = 0;
        slices of = new_slices(many, &released);
        ok(runs[i](&of, stream)); /* the arrays are tracked from now on */
        finish(native);
        hold(native);
        keep_busy(native);
        ok(runs[i](&of, stream));
        ok(via_array_set_ready(of.dst.array, wrap_native(idle, 0)));
        finish(idle);
        let_arrays_go(&of);
        assert_int_equal(atomic_load(&released), 0);
        release(native);
        await_count(&released, 2);
        put_away(of.dst.memory);
        put_away(of.src.memory);
    }
}

static void a_batch_that_has_run_releases_its_arrays_at_once(void **state) {
    (void)state;
    atomic_int released = 0;
    slices of = new_slices(many, &released);
    CUstream native = new_stream();
    ok(via_batch_run(of.batch, wrap_native(native, 0)));
    finish(native);
    let_arrays_go(&of);
    assert_int_equal(atomic_load(&released), 2);
}

/* So many that their table is a large one; one byte each. */
static void run_very_many(via_stream *stream) {
    enum { very_many = 200000 };
    block dst = new_block(DEVICE, very_many, NULL);
    block src = new_block(DEVICE, very_many, NULL);
    via_array **arrays = malloc(2 * very_many * sizeof *arrays);
    assert_non_null(arrays);
    for (int64_t i = 0; i < very_many; ++i) {
        ok(via_array_slice(dst.array, &i, SHAPE(1), NULL, &arrays[i]));
        ok(via_array_slice(src.array, &i, SHAPE(1), NULL, &arrays[very_many + i]));
    }
    write_block(&dst, 2);
    write_block(&src, 1);
    ok(via_copy_batch(very_many, arrays, arrays + very_many, stream));
    ok(via_stream_synchronize(stream));
    assert_block(&dst, 1);
    for (int32_t i = 0; i < 2 * very_many; ++i) {
        via_array_release(arrays[i]);
    }
    free(arrays);
    end_block(&dst);
    end_block(&src);
}

/* Behind work that ends later, so that the next one needs another table. */
static void run_behind_work(const slices *of, CUstream native) {
    hold(native);
    keep_busy(native);
    ok(run_from_arrays(of, wrap_native(native, 0)));
}

static int64_t unlocked_now(void) { return on_fake_driver() ? fake(fake_call_count)("cuMemHostUnregister") : 0; }

/* The driver unlocks memory only once all streams have come to an end, and keeps all threads waiting for that. */
static void tables_of_any_size_hold_no_other_batch_up(void **state) {
    (void)state;
    skip_where_calls_wait();
    ok(via_cuda_warmup(0));
    CUstream native = new_stream();
    CUstream other = new_stream();
    via_stream *stream = wrap_native(native, 0);
    const int64_t unlocked = unlocked_now();
    slices of = new_slices(many, NULL);
    slices neighbour = new_slices(many, NULL);
    ok(run_from_arrays(&of, stream));
    finish(native);
    run_very_many(stream);
    /* Two batches at once, so that whichever table the first takes, it is met behind another by the last. */
    run_behind_work(&neighbour, other);
    ok(run_from_arrays(&of, stream));
    release(other);
    finish(other);
    finish(native);
    write_block(&of.dst, 2);
    run_behind_work(&neighbour, other);
    ok(run_from_arrays(&of, stream));
    finish(native);
    assert_block(&of.dst, 1);
    release(other);
    finish(other);
    assert_int_equal(unlocked_now(), unlocked);
    end_slices(&neighbour);
    end_slices(&of);
}

/* ------------------------------------------------------------------------------------------------ threads */

enum { threads = 6, rounds = 30 };

typedef struct runner {
    const slices *of;
    int32_t number;
    int32_t failures;
    pthread_t thread;
    via_stream *stream;
} runner;

static void *run_often(void *context) {
    runner *self = context;
    for (int32_t i = 0; i < rounds; ++i) {
        self->failures +=
            ((self->number + i) % 3 == 0 ? run_from_arrays : run_prepared)(self->of, self->stream) != VIA_OK;
    }
    return NULL;
}

/* On one stream, since runs that are given to several at once write the same bytes at the same time. */
static void threads_run_one_batch_at_once(void **state) {
    (void)state;
    static runner runners[threads];
    atomic_int released = 0;
    slices of = new_slices(many, &released);
    via_stream *stream = wrap_native(new_stream(), 0);
    for (int32_t i = 0; i < threads; ++i) {
        runners[i] = (runner){.of = &of, .number = i, .stream = stream};
        assert_int_equal(pthread_create(&runners[i].thread, NULL, run_often, &runners[i]), 0);
    }
    for (int32_t i = 0; i < threads; ++i) {
        pthread_join(runners[i].thread, NULL);
        assert_int_equal(runners[i].failures, 0);
    }
    ok(via_copy(of.src.array, of.dst.array));
    assert_block(&of.dst, 1);
    let_arrays_go(&of);
    await_count(&released, 2);
}

/* In the child nothing of cmocka's may be used. */
static int child_of(const slices *of, const atomic_int *released) {
    const int refused_there = via_batch_run(of->batch, via_stream_legacy()) == VIA_ERROR_FORKED;
    let_arrays_go((slices *)(uintptr_t)of);
    return refused_there && atomic_load(released) == 2 ? 0 : 1;
}

static void a_forked_child_can_let_a_batch_go_that_its_parent_runs(void **state) {
    (void)state;
    ok(via_cuda_warmup(0));
    atomic_int released = 0;
    slices of = new_slices(many, &released);
    CUstream native = new_stream();
    hold(native);
    keep_busy(native);
    ok(via_batch_run(of.batch, wrap_native(native, 0)));
    const pid_t pid = fork_child();
    if (pid == 0) {
        _exit(child_of(&of, &released));
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    release(native);
    let_arrays_go(&of);
    await_count(&released, 2);
}

/* ------------------------------------------------------------------------------------------------ graphs */

static void a_captured_batch_is_one_node_and_outlives_batch_and_arrays(void **state) {
    (void)state;
    need_kernels();
    static const int32_t counts[] = {few, many};
    ok(via_cuda_warmup(0));
    for (int32_t i = 0; i < 2 * LENGTH(counts); ++i) {
        atomic_int released = 0;
        slices of = new_slices(counts[i / 2], &released);
        CUstream native = new_stream();
        via_stream *stream = wrap_native(native, 0);
        ok(runs[i % 2](&of, stream));
        finish(native);
        write_block(&of.dst, 2);
        begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
        ok(runs[i % 2](&of, stream));
        CUgraph graph = end_capture(native);
        assert_int_equal(node_count(graph), 1);
        assert_block(&of.dst, 2);
        let_arrays_go(&of);
        CUgraphExec exec = instantiate(graph);
        put_away(graph);
        for (unsigned seed = 5; seed < 8; ++seed) {
            write_block(&of.src, seed);
            /* Others use tables meanwhile. */
            slices other = new_slices(many, NULL);
            ok(run_from_arrays(&other, stream));
            launch(exec, native);
            assert_block(&other.dst, 1);
            assert_block(&of.dst, seed);
            end_slices(&other);
        }
        assert_int_equal(atomic_load(&released), 0);
        put_away(exec);
        await_count(&released, 2);
        put_away(of.dst.memory);
        put_away(of.src.memory);
    }
}

static void a_captured_batch_waits_for_nothing_later_and_marks_nothing(void **state) {
    (void)state;
    need_kernels();
    ok(via_cuda_warmup(0));
    slices of = new_slices(many, NULL);
    CUstream native = new_stream();
    begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(via_batch_run(of.batch, wrap_native(native, 0)));
    ok(via_copy(of.dst.array, of.src.array));
    assert_int_equal(node_count(end_capture(native)), 1);
    assert_block(&of.dst, 1);
    end_slices(&of);
}

static void without_kernels_loaded_a_batch_is_captured_copy_by_copy(void) {
    cu_ok(cu(cuInit)(0));
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    slices of = new_slices(many, NULL);
    CUstream native = new_stream();
    begin_capture(native, CU_STREAM_CAPTURE_MODE_RELAXED);
    ok(via_batch_run(of.batch, wrap_native(native, 0)));
    CUgraph graph = end_capture(native);
    assert_int_equal(node_count(graph), many);
    CUgraphExec exec = instantiate(graph);
    launch(exec, native);
    assert_block(&of.dst, 1);
    put_away(exec);
    put_away(graph);
    let_arrays_go(&of);
}

static void a_capture_needs_no_kernels_that_are_not_loaded(void **state) {
    (void)state;
    APART(without_kernels_loaded_a_batch_is_captured_copy_by_copy);
}

/* ------------------------------------------------------------------------------------------------ faults */

static via_status run_task_and_wait(const slices *of, via_stream *stream) {
    via_task *task = NULL;
    via_status status = via_batch_submit(of->batch, stream, &task);
    if (status == VIA_OK) {
        status = via_task_wait(task);
    }
    via_task_release(task);
    return status;
}

static via_status run_captured(const slices *of, via_stream *stream) {
    CUgraph graph = NULL;
    CUstream native = (CUstream)via_stream_handle(stream);
    if (cu(cuStreamBeginCapture)(native, CU_STREAM_CAPTURE_MODE_RELAXED) != CUDA_SUCCESS) {
        return VIA_ERROR_CUDA;
    }
    const via_status status = via_batch_run(of->batch, stream);
    fake(fake_clear_faults)();
    (void)cu(cuStreamEndCapture)(native, &graph);
    if (graph != NULL) {
        cu_ok(cu(cuGraphDestroy)(graph));
    }
    return status;
}

/* Makes call after call fail, until a run meets none that does. */
static void fail_at_every_call(run_function run, int32_t count, int warm) {
    int64_t injected = 0;
    int32_t attempts = 0;
    do {
        atomic_int released = 0;
        slices of = new_slices(count, &released);
        CUstream native = new_stream();
        via_stream *stream = wrap_native(native, 0);
        if (warm) {
            ok(run(&of, stream));
            finish(native);
            write_block(&of.dst, 2);
        }
        const int64_t before = fake(fake_faults_injected)();
        fake(fake_fail_at)(NULL, ++attempts, CUDA_ERROR_UNKNOWN);
        const via_status status = run(&of, stream);
        fake(fake_clear_faults)();
        injected = fake(fake_faults_injected)() - before;
        /* A context that could not be popped stays. */
        cu_ok(cu(cuCtxSetCurrent)(primary(0)));
        assert_true(status == VIA_OK || (injected > 0 && via_last_error()[0] != '\0'));
        finish(native);
        finish_legacy();
        /* A task whose context cannot be reported any more counts as ended. */
        const int is_certain = run != run_captured && (run != run_task_and_wait || injected == 0);
        assert_true(status != VIA_OK || !is_certain || block_holds(&of.dst, 1));
        let_arrays_go(&of);
        await_count(&released, 2);
        put_away(stream);
        put_away(native);
        put_away(of.dst.memory);
        put_away(of.src.memory);
    } while (injected > 0 && attempts < 400);
    assert_int_in_range(attempts, 5, 399);
}

static void a_run_survives_any_failing_call(void **state) {
    (void)state;
    need_kernels();
    steer();
    ok(via_cuda_warmup(0));
    for (int32_t i = 0; i < 4; ++i) {
        fail_at_every_call(run_from_arrays, i % 2 == 0 ? few : many, i / 2);
        fail_at_every_call(run_prepared, i % 2 == 0 ? few : many, i / 2);
    }
}

static void a_task_survives_any_failing_call(void **state) {
    (void)state;
    need_kernels();
    steer();
    ok(via_cuda_warmup(0));
    fail_at_every_call(run_task_and_wait, many, 0);
    fail_at_every_call(run_task_and_wait, few, 1);
}

static void a_captured_run_survives_any_failing_call(void **state) {
    (void)state;
    need_kernels();
    steer();
    ok(via_cuda_warmup(0));
    fail_at_every_call(run_captured, many, 0);
    fail_at_every_call(run_captured, few, 0);
}

static void a_table_that_cannot_be_had_is_done_without(void **state) {
    (void)state;
    steer();
    ok(via_cuda_warmup(0));
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    slices of[12];
    /* Tables that are in use cannot be had either. */
    hold(native);
    keep_busy(native);
    fake(fake_fail_at)("cuMemHostRegister", -1, CUDA_ERROR_OUT_OF_MEMORY);
    for (int32_t i = 0; i < LENGTH(of); ++i) {
        of[i] = new_slices(many, NULL);
        ok(run_from_arrays(&of[i], stream));
    }
    fake(fake_clear_faults)();
    release(native);
    finish(native);
    for (int32_t i = 0; i < LENGTH(of); ++i) {
        assert_block(&of[i].dst, 1);
        end_slices(&of[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(readers_of_a_destination_wait_for_the_batch),
        GPU_TEST(a_batch_waits_for_its_sources_however_often_it_has_run),
        GPU_TEST(runs_of_one_batch_come_one_after_the_other_on_any_stream),
        GPU_TEST(arrays_are_held_until_the_batch_has_run),
        GPU_TEST(a_batch_that_a_later_write_replaces_is_still_an_access),
        GPU_TEST(a_batch_that_has_run_releases_its_arrays_at_once),
        GPU_TEST(tables_of_any_size_hold_no_other_batch_up),
        GPU_TEST(threads_run_one_batch_at_once),
        GPU_TEST(a_forked_child_can_let_a_batch_go_that_its_parent_runs),
        GPU_TEST(a_captured_batch_is_one_node_and_outlives_batch_and_arrays),
        GPU_TEST(a_captured_batch_waits_for_nothing_later_and_marks_nothing),
        GPU_TEST(a_capture_needs_no_kernels_that_are_not_loaded),
        GPU_TEST(a_run_survives_any_failing_call),
        GPU_TEST(a_task_survives_any_failing_call),
        GPU_TEST(a_captured_run_survives_any_failing_call),
        GPU_TEST(a_table_that_cannot_be_had_is_done_without),
    };
    return run_gpu_tests(tests);
}
