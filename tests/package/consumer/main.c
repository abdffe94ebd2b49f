#include <viaduct/viaduct.h>

#include <stdio.h>

static void count_release(void *context) { ++*(int *)context; }

static int wrap_and_release(void) {
    float values[6] = {0, 1, 2, 3, 4, 5};
    const int64_t shape[2] = {2, 3};
    int released = 0;
    via_array *array = NULL;
    if (via_wrap(values, VIA_FLOAT32, 2, shape, NULL, VIA_DEVICE_CPU, 0, 0, count_release, &released, &array) !=
        VIA_OK) {
        fprintf(stderr, "%s\n", via_last_error());
        return 1;
    }
    const int same = via_array_data(array) == values && via_array_shape(array)[1] == 3;
    via_array_release(array);
    return !(same && released == 1);
}

int main(void) {
    if (via_require(VIA_VERSION_MAJOR, VIA_VERSION_MINOR) != VIA_OK || wrap_and_release() != 0) {
        return 1;
    }
    printf("viaduct %d\n", (int)via_version());
    return 0;
}
