#include "strided_source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "viaduct/viaduct.h"

enum { ROWS = 8, COLUMNS = 10, PITCH = 16, WINDOW_ROWS = 4, WINDOW_COLUMNS = 6, FIRST_ROW = 2 };

static float *image = NULL;

static float *window(void) { return image + FIRST_ROW * PITCH; }

static void say(const char *text) {
    printf("  C: %s\n", text);
    fflush(stdout);
}

/* Each pixel says where it is: 23 in row 2, column 3; the padding says -1. */
static int make_image(void) {
    image = aligned_alloc(64, ROWS * PITCH * sizeof *image);
    if (image == NULL) {
        return 0;
    }
    for (int i = 0; i < ROWS * PITCH; ++i) {
        image[i] = i % PITCH < COLUMNS ? (float)(i / PITCH * 10 + i % PITCH) : -1.0F;
    }
    return 1;
}

static void free_image(void *context) {
    image = NULL;
    free(context);
    say("the last user has released it; the image is freed");
}

int32_t strided_source_export(struct DLManagedTensorVersioned **out_tensor) {
    const int64_t shape[] = {WINDOW_ROWS, WINDOW_COLUMNS};
    const int64_t strides[] = {PITCH, 1};
    via_array *array = NULL;
    *out_tensor = NULL;
    if (image != NULL || !make_image()) {
        return VIA_ERROR_OUT_OF_MEMORY;
    }
    via_status status =
        via_wrap(window(), VIA_FLOAT32, 2, shape, strides, VIA_DEVICE_CPU, 0, 0, free_image, image, &array);
    if (status != VIA_OK) {
        free_image(image); /* a failed wrap has not taken it */
        return status;
    }
    status = via_to_dlpack(array, NULL, NULL, out_tensor);
    via_array_release(array); /* from here on the tensor alone holds the image */
    return status;
}

float strided_source_read(int32_t row, int32_t column) { return image == NULL ? NAN : window()[row * PITCH + column]; }

int32_t strided_source_take(struct DLManagedTensorVersioned *tensor) {
    via_array *array = NULL;
    via_status status = via_from_dlpack(tensor, NULL, NULL, &array);
    if (status != VIA_OK) {
        return status;
    }
    const int64_t *shape = via_array_shape(array);
    const float *first = via_array_data(array);
    printf("  C: got %lld x %lld floats at %p, the first %g, the last %g\n", (long long)shape[0], (long long)shape[1],
           (const void *)first, first[0], first[via_array_size(array) - 1]);
    fflush(stdout);
    via_array_release(array);
    return VIA_OK;
}
