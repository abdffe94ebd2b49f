/* What BenchJava compares its calls with: an empty call, and the same work in C. */
#include <jni.h>
#include <stddef.h>
#include <stdint.h>

#include "viaduct/viaduct.h"

JNIEXPORT void JNICALL Java_org_viaduct_BenchJava_empty(JNIEnv *jenv, jclass owner) {
    (void)jenv;
    (void)owner;
}

/* So many wraps and releases in C; -1 if one fails. */
JNIEXPORT jint JNICALL Java_org_viaduct_BenchJava_wrapAndRelease(JNIEnv *jenv, jclass owner, jint count) {
    static float pixels[64 * 64];
    static const int64_t shape[] = {64, 64};
    (void)jenv;
    (void)owner;
    for (jint i = 0; i < count; ++i) {
        via_array *array = NULL;
        if (via_wrap(pixels, VIA_FLOAT32, 2, shape, NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &array) != VIA_OK) {
            return -1;
        }
        via_array_release(array);
    }
    return count;
}
