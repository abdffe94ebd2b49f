/*
 * What the smallest calls cost: rows of JSON, one a line, for bench.py.
 *
 * Each row compares medians of repetitions that take turns with the peer's, so that a slower moment of the machine
 * falls on both.
 */
#include <dlpack/dlpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <viaduct/viaduct.h>

enum { kCalls = 100000, kRepetitions = 41 };

/* About what the handle of a 2-D array takes. */
enum { kHandleBytes = 192 };

static float pixels[64 * 64];
static const int64_t kShape[2] = {64, 64};
static via_array *exported;

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void check(via_status status) {
    if (status != VIA_OK) {
        fprintf(stderr, "%s\n", via_last_error());
        exit(1);
    }
}

static void malloc_and_free(void) {
    void *block = malloc(kHandleBytes);
    __asm__ volatile("" : : "r"(block) : "memory");
    free(block);
}

static void wrap_and_release(void) {
    via_array *array;
    check(via_wrap(pixels, VIA_FLOAT32, 2, kShape, NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &array));
    via_array_release(array);
}

static void export_and_delete(void) {
    struct DLManagedTensorVersioned *tensor;
    check(via_to_dlpack(exported, NULL, NULL, &tensor));
    tensor->deleter(tensor);
}

static void export_import_and_release(void) {
    struct DLManagedTensorVersioned *tensor;
    via_array *array;
    check(via_to_dlpack(exported, NULL, NULL, &tensor));
    check(via_from_dlpack(tensor, NULL, NULL, &array));
    via_array_release(array);
}

static void view_and_release(void) {
    via_array *view;
    check(via_array_permute(exported, NULL, &view));
    via_array_release(view);
}

static double time_per_call(void (*call)(void)) {
    const double start = now_ns();
    for (int i = 0; i < kCalls; ++i) {
        call();
    }
    return (now_ns() - start) / kCalls;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values) {
    qsort(values, kRepetitions, sizeof *values, by_size);
    return values[kRepetitions / 2];
}

static void row(const char *name, void (*call)(void), const char *target) {
    static double ours[kRepetitions];
    static double peers[kRepetitions];
    for (int i = 0; i < kRepetitions; ++i) {
        peers[i] = time_per_call(malloc_and_free);
        ours[i] = time_per_call(call);
    }
    printf(
        "{\"case\": \"C: %s\", \"unit\": \"ns\", \"viaduct\": %.2f, \"peers\": {\"malloc+free\": %.2f}, "
        "\"limit\": null, \"target\": %s}\n",
        name, median(ours), median(peers), target);
}

int main(void) {
    check(via_wrap(pixels, VIA_FLOAT32, 2, kShape, NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &exported));
    row("wrap + release, 2-D", wrap_and_release, "{\"peer\": \"malloc+free\", \"at_most\": 4.0}");
    row("DLPack export + deleter", export_and_delete, "{\"peer\": \"malloc+free\", \"at_most\": 3.0}");
    row("DLPack export + import + release", export_import_and_release, "null");
    row("transposed view + release", view_and_release, "null");
    via_array_release(exported);
    return 0;
}
