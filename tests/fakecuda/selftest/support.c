#include "support.h"

#include <dlfcn.h>

uintptr_t symbol(const char *name) {
    static void *library = NULL;
    if (library == NULL) {
        library = dlopen(getenv("VIADUCT_LIBCUDA"), RTLD_NOW | RTLD_LOCAL);
    }
    if (library == NULL) {
        fail_msg("%s", dlerror());
    }
    void *found = dlsym(library, name);
    if (found == NULL) {
        fail_msg("no %s", name);
    }
    return (uintptr_t)found;
}

int begin_test(void **state) {
    (void)state;
    fake(fake_reset)();
    fake(fake_set)(FAKE_DEVICES, 2);
    fake(fake_set)(FAKE_WAIT_LIMIT, 20000);
    ok(cu(cuInit)(0));
    ok(cu(cuCtxSetCurrent)(primary(0)));
    return 0;
}

int end_test(void **state) {
    (void)state;
    fake(fake_reset)();
    return 0;
}

CUcontext primary(CUdevice device) {
    CUcontext context = NULL;
    ok(cu(cuDevicePrimaryCtxRetain)(&context, device));
    return context;
}

CUdeviceptr device_memory(size_t bytes) {
    CUdeviceptr memory = 0;
    ok(cu(cuMemAlloc)(&memory, bytes));
    return memory;
}

char *pinned_memory(size_t bytes) {
    void *memory = NULL;
    ok(cu(cuMemHostAlloc)(&memory, bytes, 0));
    return memory;
}

CUstream new_stream(void) {
    CUstream stream = NULL;
    ok(cu(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

CUevent new_event(void) {
    CUevent event = NULL;
    ok(cu(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING));
    return event;
}

int byte_at(CUdeviceptr address) {
    unsigned char byte = 0;
    assert_int_equal(fake(fake_device_read)(address, &byte, 1), 1);
    return byte;
}

int host_can_read(const void *address) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const ssize_t written = write(ends[1], address, 1);
    close(ends[0]);
    close(ends[1]);
    return written == 1;
}

CUfunction kernel(const char *name) {
    CUmodule module = NULL;
    CUfunction function = NULL;
    ok(cu(cuModuleLoadData)(&module, ".version 8.0"));
    ok(cu(cuModuleGetFunction)(&function, module, name));
    return function;
}
