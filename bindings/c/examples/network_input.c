/*
 * Frames of a camera, pixel by pixel, become the input of a network, plane by plane: of each frame the middle, every
 * second pixel, permuted, on a GPU where there is one. One prepared batch does it for all frames at once, and again
 * when new frames have come; a value for each plane, broadcast over it, says where there is no frame.
 */
#include <stdio.h>
#include <stdlib.h>

#include "viaduct/viaduct.h"

enum {
    FRAMES = 4,
    HEIGHT = 480,
    WIDTH = 640,
    CHANNELS = 3,
    ROWS = 112,
    COLUMNS = 112,
    STEP = 2,
    FRAME_BYTES = HEIGHT * WIDTH * CHANNELS
};

static void check(via_status status) {
    if (status != VIA_OK) {
        fprintf(stderr, "%s: %s\n", via_status_name(status), via_last_error());
        exit(1);
    }
}

static unsigned char pixel(int64_t time, int64_t frame, int64_t row, int64_t column, int64_t channel) {
    return (unsigned char)(time * 31 + frame * 17 + row * 7 + column * 3 + channel * 101);
}

static void take_frames(unsigned char *bytes, int64_t time) {
    for (int64_t i = 0; i < (int64_t)FRAMES * FRAME_BYTES; ++i) {
        const int64_t frame = i / FRAME_BYTES, at = i % FRAME_BYTES / CHANNELS;
        bytes[i] = pixel(time, frame, at / WIDTH, at % WIDTH, i % CHANNELS);
    }
}

/* A view of the middle of one frame, plane by plane. */
static via_array *middle_of(via_array *frames, int64_t frame) {
    static const int64_t count[] = {ROWS, COLUMNS, CHANNELS}, step[] = {STEP, STEP, 1};
    static const int32_t planes[] = {2, 0, 1};
    const int64_t start[] = {(HEIGHT - ROWS * STEP) / 2, (WIDTH - COLUMNS * STEP) / 2, 0};
    via_array *one = NULL, *middle = NULL, *transposed = NULL;
    check(via_array_select(frames, 0, frame, &one));
    check(via_array_slice(one, start, count, step, &middle));
    check(via_array_permute(middle, planes, &transposed));
    via_array_release(one);
    via_array_release(middle);
    return transposed;
}

/* Device memory, or the host's where there is no device. */
static via_array *new_input(void) {
    static const int64_t shape[] = {FRAMES, CHANNELS, ROWS, COLUMNS};
    int32_t devices = 0;
    via_memory *memory = NULL;
    via_array *input = NULL;
    check(via_device_count(VIA_DEVICE_CUDA, &devices));
    if (devices > 0) {
        check(via_memory_create(VIA_MEMORY_DEVICE, 0, &memory));
    }
    check(via_empty(memory, VIA_UINT8, 4, shape, NULL, &input));
    via_memory_release(memory);
    printf("the input is on %s\n", devices > 0 ? "a GPU" : "the host: there is no GPU");
    return input;
}

/* One value for each plane, over all of it, in every frame's place: no byte of the broadcast is stored. */
static void clear(via_array *input) {
    unsigned char values[CHANNELS] = {124, 116, 104};
    static const int64_t shape[] = {CHANNELS, 1, 1};
    via_array *plane = NULL, *everywhere = NULL;
    check(via_wrap(values, VIA_UINT8, 3, shape, NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &plane));
    check(via_array_broadcast(plane, 4, via_array_shape(input), &everywhere));
    check(via_copy(input, everywhere));
    via_array_release(everywhere);
    via_array_release(plane);
}

static via_batch *prepare(via_array *input, via_array *frames) {
    via_batch *batch = NULL;
    check(via_batch_create(&batch));
    for (int64_t frame = 0; frame < FRAMES; ++frame) {
        via_array *place = NULL, *middle = middle_of(frames, frame);
        check(via_array_select(input, 0, frame, &place));
        check(via_batch_add(batch, place, middle));
        via_array_release(place); /* the batch holds both */
        via_array_release(middle);
    }
    return batch;
}

static void run(via_batch *batch) {
    via_task *task = NULL;
    check(via_batch_submit(batch, NULL, &task));
    check(via_task_wait(task));
    via_task_release(task);
}

/* How many bytes of the input are not what they should be; `time` negative: after clear(). */
static int64_t count_wrong(via_array *input, int64_t time) {
    via_array *seen = NULL;
    check(via_empty(NULL, VIA_UINT8, 4, via_array_shape(input), NULL, &seen));
    check(via_copy(seen, input));
    const unsigned char *bytes = via_array_data(seen);
    int64_t wrong = 0;
    for (int64_t i = 0; i < (int64_t)FRAMES * CHANNELS * ROWS * COLUMNS; ++i) {
        const int64_t column = i % COLUMNS, row = i / COLUMNS % ROWS, channel = i / (ROWS * COLUMNS) % CHANNELS;
        const unsigned char wanted =
            time < 0 ? (unsigned char[]){124, 116, 104}[channel]
                     : pixel(time, i / (CHANNELS * ROWS * COLUMNS), (HEIGHT - ROWS * STEP) / 2 + row * STEP,
                             (WIDTH - COLUMNS * STEP) / 2 + column * STEP, channel);
        wrong += bytes[i] != wanted;
    }
    via_array_release(seen);
    return wrong;
}

int main(void) {
    static const int64_t shape[] = {FRAMES, HEIGHT, WIDTH, CHANNELS};
    unsigned char *bytes = malloc((size_t)FRAMES * FRAME_BYTES);
    via_array *frames = NULL;
    int64_t wrong = 0;
    if (bytes == NULL) {
        return 1;
    }
    check(via_require(VIA_VERSION_MAJOR, VIA_VERSION_MINOR));
    check(via_wrap(bytes, VIA_UINT8, 4, shape, NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &frames));
    via_array *input = new_input();
    clear(input);
    wrong += count_wrong(input, -1);
    via_batch *batch = prepare(input, frames);
    for (int64_t time = 0; time < 3; ++time) {
        take_frames(bytes, time);
        run(batch);
        wrong += count_wrong(input, time);
    }
    printf("%d frames, 3 times: %lld bytes wrong\n", FRAMES, (long long)wrong);
    via_batch_release(batch);
    via_array_release(input);
    via_array_release(frames);
    free(bytes);
    return wrong != 0;
}
