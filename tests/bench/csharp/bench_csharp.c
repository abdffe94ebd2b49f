/* What BenchCSharp compares its calls with: an empty call, and the same work in C. */
#include <stddef.h>
#include <stdint.h>

#include "viaduct/viaduct.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT void bench_empty(void *handle) { (void)handle; }

/* So many wraps and releases in C; -1 if one fails. */
EXPORT int32_t bench_wrap_and_release(int32_t count) {
    static float pixels[64 * 64];
    static const int64_t shape[] = {64, 64};
    for (int32_t i = 0; i < count; ++i) {
        via_array *array = NULL;
        if (via_wrap(pixels, VIA_FLOAT32, 2, shape, NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &array) != VIA_OK) {
            return -1;
        }
        via_array_release(array);
    }
    return count;
}
