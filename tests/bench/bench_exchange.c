/*
 * Times the C exchange API from C, as an extension uses it at each call: a tensor from a Python object, and its deleter
 * when done. bench_python.py loads it and calls with the GIL held.
 */
#include <dlpack/dlpack.h>
#include <stdint.h>
#include <time.h>

double bench_exchange(const DLPackExchangeAPI *api, void *object, int64_t count);
double bench_borrow(const DLPackExchangeAPI *api, void *object, int64_t count);

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* Nanoseconds of one exchange, from `count` of them; negative if one fails. */
__attribute__((visibility("default"))) double bench_exchange(const DLPackExchangeAPI *api, void *object,
                                                             int64_t count) {
    const double start = now();
    for (int64_t i = 0; i < count; ++i) {
        DLManagedTensorVersioned *tensor = NULL;
        if (api->managed_tensor_from_py_object_no_sync(object, &tensor) != 0) {
            return -1;
        }
        tensor->deleter(tensor);
    }
    return (now() - start) / (double)count;
}

/* The same for a tensor that is borrowed for a call. */
__attribute__((visibility("default"))) double bench_borrow(const DLPackExchangeAPI *api, void *object, int64_t count) {
    const double start = now();
    for (int64_t i = 0; i < count; ++i) {
        DLTensor tensor;
        if (api->dltensor_from_py_object_no_sync(object, &tensor) != 0) {
            return -1;
        }
    }
    return (now() - start) / (double)count;
}
