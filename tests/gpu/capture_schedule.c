/* Graph capture under schedules at random: what is captured is done when the graph runs, in order, and not before; what
 * cannot be captured is refused and breaks nothing; what goes on next to it is not held up. */
#include "support.h"

enum { most_steps = 60, arrays = 5, nbytes = 256, captured_streams = 2 };

static uint32_t dice_state;

static int dice(int sides) {
    dice_state = dice_state * 1664525u + 1013904223u;
    return (int)((dice_state >> 16) % (uint32_t)sides);
}

/* A copy of one array to another, or, with no source, a fill. */
typedef struct step {
    int dst;
    int src;
    unsigned char value;
} step;

typedef struct schedule {
    CUstream native[captured_streams]; /* the second is drawn in by an event of the first */
    via_stream *stream[captured_streams];
    CUstream neighbour_native;
    via_stream *neighbour;
    CUdeviceptr memory[arrays];
    via_array *array[arrays];
    unsigned char content[arrays];
    int last_stream[arrays]; /* that an array was used on in this capture */
    CUdeviceptr next_to_memory;
    via_array *neighbour_array;
    step steps[most_steps];
    int count;
    int refusals;
} schedule;

static atomic_int released;

static void follow(via_stream *later, via_stream *earlier) {
    via_event *marker = NULL;
    ok(via_event_create(0, &marker));
    ok(via_event_record(marker, earlier));
    ok(via_stream_wait(later, marker));
    via_event_release(marker);
}

static void use_on(schedule *plan, int a, int s) {
    if (plan->last_stream[a] != s) {
        follow(plan->stream[s], plan->stream[1 - s]);
    }
    plan->last_stream[a] = s;
}

static void capture_copy(schedule *plan) {
    const int s = dice(captured_streams);
    const int dst = dice(arrays);
    const int src = (dst + 1 + dice(arrays - 1)) % arrays;
    use_on(plan, dst, s);
    use_on(plan, src, s);
    ok(via_copy_async(plan->array[dst], plan->array[src], plan->stream[s]));
    plan->steps[plan->count++] = (step){dst, src, 0};
}

static void capture_fill(schedule *plan) {
    const int s = dice(captured_streams);
    const int dst = dice(arrays);
    const unsigned char value = (unsigned char)dice(256);
    use_on(plan, dst, s);
    ok(via_fill(plan->array[dst], &value, plan->stream[s]));
    plan->steps[plan->count++] = (step){dst, -1, value};
}

/* Each is refused as a whole, and the capture does not notice. */
static void ask_for_too_much(schedule *plan) {
    via_stream *stream = plan->stream[dice(captured_streams)];
    int32_t done = 0;
    via_task *task = NULL;
    via_event *marker = NULL;
    switch (dice(5)) {
        case 0:
            refused(VIA_ERROR_STREAM_CAPTURE, "captured", via_stream_query(stream, &done));
            break;
        case 1:
            refused(VIA_ERROR_STREAM_CAPTURE, "captured", via_stream_synchronize(stream));
            break;
        case 2:
            refused(VIA_ERROR_STREAM_CAPTURE, "captured",
                    via_copy_submit(plan->array[0], plan->array[1], stream, &task));
            break;
        case 3:
            ok(via_event_create(0, &marker));
            ok(via_event_record(marker, plan->neighbour));
            refused(VIA_ERROR_STREAM_CAPTURE, "captured", via_stream_wait(stream, marker));
            break;
        default:
            ok(via_event_create(0, &marker));
            ok(via_event_record(marker, stream));
            refused(VIA_ERROR_STREAM_CAPTURE, "captured", via_event_synchronize(marker));
    }
    via_event_release(marker);
    plan->refusals++;
}

/* Copies, waits and releases that have nothing to do with the capture. */
static void work_next_to(schedule *plan) {
    static unsigned char bytes[nbytes];
    const unsigned char value = (unsigned char)dice(256);
    via_array *host = NULL;
    ok(via_fill(plan->neighbour_array, &value, plan->neighbour));
    ok(via_array_record_stream(plan->neighbour_array, plan->neighbour));
    ok(via_wrap(bytes, VIA_UINT8, 1, SHAPE(nbytes), NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &host));
    ok(via_copy_async(host, plan->neighbour_array, plan->neighbour));
    ok(via_stream_synchronize(plan->neighbour));
    assert_bytes((char *)bytes, nbytes, value);
    via_array_release(host);
}

static void set_content(schedule *plan, int a, unsigned char value) {
    cu_ok(cu(cuMemsetD8)(plan->memory[a], value, nbytes));
    cu_ok(cu(cuStreamSynchronize)(NULL)); /* which the captured streams do not wait for */
    plan->content[a] = value;
}

static void begin_schedule(schedule *plan) {
    memset(plan, 0, sizeof *plan);
    atomic_store(&released, 0);
    for (int s = 0; s < captured_streams; ++s) {
        plan->native[s] = new_stream();
        plan->stream[s] = wrap_native(plan->native[s], 0);
    }
    plan->neighbour_native = new_stream();
    plan->neighbour = wrap_native(plan->neighbour_native, 0);
    plan->next_to_memory = device_memory(nbytes);
    plan->neighbour_array = wrap_device(plan->next_to_memory, nbytes, NULL);
    for (int a = 0; a < arrays; ++a) {
        plan->memory[a] = device_memory(nbytes);
        set_content(plan, a, (unsigned char)(100 + a));
        plan->array[a] = wrap_device(plan->memory[a], nbytes, &released);
    }
}

static CUgraph capture_schedule(schedule *plan) {
    static const CUstreamCaptureMode modes[] = {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                                CU_STREAM_CAPTURE_MODE_RELAXED};
    begin_capture(plan->native[0], modes[dice(LENGTH(modes))]);
    follow(plan->stream[1], plan->stream[0]);
    const int wanted = 5 + dice(most_steps - 5);
    for (int turn = 0; turn < 1000 && plan->count < wanted; ++turn) {
        switch (dice(6)) {
            case 0:
                ask_for_too_much(plan);
                break;
            case 1:
                work_next_to(plan);
                break;
            case 2:
                capture_fill(plan);
                break;
            default:
                capture_copy(plan);
        }
        assert_int_equal(capture_status(plan->native[0]), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    }
    follow(plan->stream[0], plan->stream[1]);
    return end_capture(plan->native[0]);
}

static void expect_content(schedule *plan) {
    for (int a = 0; a < arrays; ++a) {
        assert_device_bytes(plan->memory[a], nbytes, plan->content[a]);
    }
}

/* What the graph does, done here. */
static void follow_steps(schedule *plan) {
    for (int i = 0; i < plan->count; ++i) {
        const step *each = &plan->steps[i];
        plan->content[each->dst] = each->src < 0 ? each->value : plan->content[each->src];
    }
}

static void run_schedule(unsigned seed, int *steps, int *refusals) {
    static schedule plan;
    dice_state = seed;
    note("seed %u", seed);
    begin_schedule(&plan);
    CUgraph graph = capture_schedule(&plan);
    expect_content(&plan);
    CUgraphExec exec = instantiate(graph);
    for (int a = 0; a < arrays; ++a) {
        via_array_release(plan.array[a]);
    }
    if (dice(2) == 0) {
        put_away(graph);
    }
    for (int launches = 0; launches < 3; ++launches) {
        launch(exec, plan.native[dice(captured_streams)]);
        follow_steps(&plan);
        expect_content(&plan);
        work_next_to(&plan);
        set_content(&plan, dice(arrays), (unsigned char)dice(256));
    }
    via_array_release(plan.neighbour_array);
    put_everything_away();
    await_count(&released, arrays);
    *steps += plan.count;
    *refusals += plan.refusals;
}

static void what_is_captured_happens_when_the_graph_runs_in_any_schedule(void **state) {
    (void)state;
    int steps = 0;
    int refusals = 0;
    for (unsigned seed = 1; seed <= 25; ++seed) {
        if (on_fake_driver()) {
            fake(fake_set)(FAKE_JITTER, seed);
        }
        run_schedule(seed, &steps, &refusals);
    }
    if (on_fake_driver()) {
        fake(fake_set)(FAKE_JITTER, 0);
    }
    printf("schedules: 1 of %d steps, each launched 3 times; %d calls refused\n", steps, refusals);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(what_is_captured_happens_when_the_graph_runs_in_any_schedule),
    };
    return run_gpu_tests(tests);
}
