/* Last writes and accesses under schedules at random: whatever the streams do in between, the order holds. */
#include "support.h"

/* An export to a consumer on the stream, given back at once: what is left of it is the wait. */
static void export_to(via_array *array, via_stream *stream) {
    struct DLManagedTensorVersioned *tensor = NULL;
    ok(via_to_dlpack(array, NULL, stream, &tensor));
    via_dlpack_delete(tensor);
}

enum { most_streams = 4, most_arrays = 3, steps = 150 };

static uint32_t dice_state;

static int dice(int sides) {
    dice_state = dice_state * 1664525u + 1013904223u;
    return (int)((dice_state >> 16) % (uint32_t)sides);
}

/*
 * Arrays whose whole content is written, read and copied on streams chosen at random, some of them held for a while,
 * with the order kept by set_ready, exports and record_stream alone. Each reader copies into pinned memory of its own;
 * it must see the content of the write that it was made to wait for, whatever the streams do in between.
 */
typedef struct schedule {
    CUstream native[most_streams];
    via_stream *stream[most_streams];
    int is_held[most_streams];
    CUdeviceptr memory[most_arrays];
    via_array *array[most_arrays];
    unsigned char content[most_arrays];
    int reader_of[most_arrays]; /* the streams that read since the last write, as bits */
    char *seen[steps];
    unsigned char expected[steps];
} schedule;

static void write_next(schedule *plan, int a, int s, unsigned char value) {
    /* The writer comes after the last write, and after everybody who still reads. */
    export_to(plan->array[a], plan->stream[s]);
    for (int reader = 0; reader < most_streams; ++reader) {
        if ((plan->reader_of[a] & 1 << reader) != 0) {
            via_event *marker = NULL;
            ok(via_event_create(0, &marker));
            ok(via_event_record(marker, plan->stream[reader]));
            ok(via_stream_wait(plan->stream[s], marker));
            via_event_release(marker);
        }
    }
    cu_ok(cu(cuMemsetD8Async)(plan->memory[a], value, 256, plan->native[s]));
    ok(via_array_set_ready(plan->array[a], plan->stream[s]));
    plan->content[a] = value;
    plan->reader_of[a] = 0;
}

static void read_next(schedule *plan, int a, int s, int step) {
    plan->seen[step] = pinned_memory(256);
    plan->expected[step] = plan->content[a];
    export_to(plan->array[a], plan->stream[s]);
    cu_ok(cu(cuMemcpyAsync)((CUdeviceptr)(uintptr_t)plan->seen[step], plan->memory[a], 256, plan->native[s]));
    ok(via_array_record_stream(plan->array[a], plan->stream[s]));
    plan->reader_of[a] |= 1 << s;
}

static void hold_or_release(schedule *plan, int s) {
    if (plan->is_held[s]) {
        release(plan->native[s]);
    } else {
        hold(plan->native[s]);
    }
    plan->is_held[s] = !plan->is_held[s];
}

static void begin_schedule(schedule *plan, atomic_int *released) {
    memset(plan, 0, sizeof *plan);
    for (int s = 0; s < most_streams; ++s) {
        plan->native[s] = s == 0 ? new_blocking_stream() : new_stream();
        plan->stream[s] = wrap_native(plan->native[s], 0);
    }
    for (int a = 0; a < most_arrays; ++a) {
        plan->memory[a] = device_memory(256);
        plan->array[a] = wrap_device(plan->memory[a], 256, released);
        write_next(plan, a, dice(most_streams), (unsigned char)(200 + a));
    }
}

static void end_schedule(schedule *plan, atomic_int *released) {
    for (int a = 0; a < most_arrays; ++a) {
        via_array_release(plan->array[a]);
    }
    for (int s = 0; s < most_streams; ++s) {
        if (plan->is_held[s]) {
            release(plan->native[s]);
        }
    }
    for (int s = 0; s < most_streams; ++s) {
        finish(plan->native[s]);
    }
    await_count(released, most_arrays);
    for (int step = 0; step < steps; ++step) {
        if (plan->seen[step] != NULL) {
            assert_bytes(plan->seen[step], 256, plan->expected[step]);
        }
    }
}

static void run_schedule(unsigned seed) {
    static schedule plan;
    atomic_int released = 0;
    dice_state = seed;
    begin_schedule(&plan, &released);
    for (int step = 0; step < steps; ++step) {
        const int a = dice(most_arrays);
        const int s = dice(most_streams);
        switch (dice(4)) {
            case 0:
                hold_or_release(&plan, s);
                break;
            case 1:
                write_next(&plan, a, s, (unsigned char)step);
                break;
            default:
                read_next(&plan, a, s, step);
        }
    }
    end_schedule(&plan, &released);
}

static void readers_see_the_write_they_waited_for_in_any_schedule(void **state) {
    (void)state;
    enum { schedules = 5 };
    for (unsigned seed = 1; seed <= schedules; ++seed) {
        if (on_fake_driver()) {
            fake(fake_set)(FAKE_JITTER, seed);
        }
        run_schedule(seed);
    }
    if (on_fake_driver()) {
        fake(fake_set)(FAKE_JITTER, 0);
    }
    printf("schedules: %d of %d steps\n", schedules, steps);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(readers_see_the_write_they_waited_for_in_any_schedule),
    };
    return run_gpu_tests(tests);
}
