#include "support.h"

#include "../../src/cuda/driver/resource_limits.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <time.h>

enum { most_things = 1024 };

/* ------------------------------------------------------------------------------------------------ the driver */

static void *driver_library(void) {
    static void *library = NULL;
    if (library == NULL) {
        const char *given = getenv("VIADUCT_LIBCUDA");
        library = dlopen(given != NULL && *given != '\0' ? given : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

static const char *_Atomic last_call;

const char *last_driver_call(void) { return atomic_load(&last_call); }

uintptr_t driver_symbol(const char *name) {
    void *library = driver_library();
    atomic_store(&last_call, name);
    void *found = library != NULL ? dlsym(library, name) : NULL;
    if (found == NULL) {
        fail_msg("the driver has no %s: %s", name, library != NULL ? "expected a newer one" : "there is none");
    }
    return (uintptr_t)found;
}

void expect_result(CUresult found, CUresult expected, const char *call, const char *file, int line) {
    if (found != expected) {
        const char *name = "?";
        cu(cuGetErrorName)(found, &name);
        print_error("%s\n  answered %d (%s); expected %d\n", call, (int)found, name, (int)expected);
        _fail(file, line);
    }
}

int on_fake_driver(void) { return driver_library() != NULL && dlsym(driver_library(), "fake_reset") != NULL; }

int under_memory_checker(void) { return getenv("VIADUCT_TEST_MEMCHECK") != NULL; }
int under_kernel_tool(void) { return getenv("VIADUCT_TEST_KERNEL_TOOL") != NULL; }

int is_kernel_tool(const char *name) {
    const char *tool = getenv("VIADUCT_TEST_KERNEL_TOOL");
    return tool != NULL && strcmp(tool, name) == 0;
}

int driver_is_there(void) {
    int count = 0;
    const char *why = "it cannot be opened";
    if (driver_library() != NULL) {
        CUresult result = cu(cuInit)(0);
        result = result == CUDA_SUCCESS ? cu(cuDeviceGetCount)(&count) : result;
        if (result == CUDA_SUCCESS && count > 0) {
            return 1;
        }
        cu(cuGetErrorName)(result, &why);
    }
    print_message("skipped: no CUDA driver with a device (%s)\n", why);
    return 0;
}

int kernels_are_there(void) {
    via_device_properties found = VIA_DEVICE_PROPERTIES_INIT;
    if (via_device_info(VIA_DEVICE_CUDA, 0, &found) == VIA_OK && holds_words(found.routes, "kernels: on")) {
        return 1;
    }
    const char *kernels = strstr(found.routes, "kernels: off");
    print_message("skipped: %s\n", kernels != NULL ? kernels : via_last_error());
    return 0;
}

int device_count(void) {
    int count = 0;
    cu_ok(cu(cuInit)(0));
    cu_ok(cu(cuDeviceGetCount)(&count));
    return count;
}

int can_reach(CUdevice device, CUdevice peer) {
    int can = 0;
    cu_ok(cu(cuDeviceCanAccessPeer)(&can, device, peer));
    return can;
}

CUcontext primary(CUdevice device) {
    static CUcontext contexts[8];
    assert_int_in_range(device, 0, LENGTH(contexts) - 1);
    if (contexts[device] == NULL) {
        cu_ok(cu(cuInit)(0));
        cu_ok(cu(cuDevicePrimaryCtxRetain)(&contexts[device], device));
    }
    return contexts[device];
}

/* Sets a device's primary context current until the end of a block. */
static CUcontext enter_device(CUdevice device) {
    CUcontext before = NULL;
    CUcontext wanted = primary(device);
    cu_ok(cu(cuCtxGetCurrent)(&before));
    cu_ok(cu(cuCtxSetCurrent)(wanted));
    return before;
}

static void leave_device(CUcontext before) { cu_ok(cu(cuCtxSetCurrent)(before)); }

/* ------------------------------------------------------------------------------------------------ things made */

typedef struct thing {
    const void *address;
    void (*end)(const void *address, size_t bytes);
    size_t bytes;
    CUcontext context;
} thing;

static thing things[most_things];
static int thing_count;

static void remember(const void *address, void (*end)(const void *, size_t), size_t bytes) {
    assert_true(thing_count < most_things);
    CUcontext context = NULL;
    cu(cuCtxGetCurrent)(&context);
    things[thing_count++] = (thing){address, end, bytes, context};
}

static void end_thing(const thing *gone) {
    CUcontext before = NULL;
    cu(cuCtxGetCurrent)(&before);
    cu(cuCtxSetCurrent)(gone->context);
    gone->end(gone->address, gone->bytes);
    cu(cuCtxSetCurrent)(before);
}

void put_away(const void *address) {
    int i = thing_count - 1;
    while (i >= 0 && things[i].address != address) {
        --i;
    }
    assert_true(i >= 0);
    const thing gone = things[i];
    memmove(&things[i], &things[i + 1], (size_t)(thing_count - i - 1) * sizeof *things);
    --thing_count;
    end_thing(&gone);
}

CUcontext new_context(void) {
    CUcontext context = NULL;
    cu_ok(cu(cuCtxCreate)(&context, NULL, 0, 0));
    return context;
}

void end_context(CUcontext context) {
    for (int i = thing_count - 1; i >= 0; --i) {
        if (things[i].context == context) {
            put_away(things[i].address);
        }
    }
    cu_ok(cu(cuCtxDestroy)(context));
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
}

void put_everything_away(void) {
    while (thing_count > 0) {
        const thing gone = things[--thing_count];
        end_thing(&gone);
    }
}

static void end_device(const void *address, size_t bytes) {
    (void)bytes;
    cu(cuMemFree)((CUdeviceptr)(uintptr_t)address);
}

static void end_pinned(const void *address, size_t bytes) {
    (void)bytes;
    cu(cuMemFreeHost)((void *)(uintptr_t)address);
}

static void end_pageable(const void *address, size_t bytes) { munmap((void *)(uintptr_t)address, bytes); }

static void end_registered(const void *address, size_t bytes) {
    cu(cuMemHostUnregister)((void *)(uintptr_t)address);
    end_pageable(address, bytes);
}

static void end_stream(const void *address, size_t bytes) {
    (void)bytes;
    cu(cuStreamDestroy)((CUstream)(uintptr_t)address);
}

static void end_event(const void *address, size_t bytes) {
    (void)bytes;
    cu(cuEventDestroy)((CUevent)(uintptr_t)address);
}

static void end_graph(const void *address, size_t bytes) {
    (void)bytes;
    cu(cuGraphDestroy)((CUgraph)(uintptr_t)address);
}

static void end_graph_exec(const void *address, size_t bytes) {
    (void)bytes;
    cu(cuGraphExecDestroy)((CUgraphExec)(uintptr_t)address);
}

static void end_handle(const void *address, size_t bytes) {
    (void)bytes;
    via_stream_release((via_stream *)(uintptr_t)address);
}

/* ------------------------------------------------------------------------------------------------ memory */

/* On a stream of its own, whatever others wait for: what is written to the memory next must not come before. */
static void initialise(CUdeviceptr memory, size_t bytes) {
    CUstream stream = NULL;
    cu_ok(cu(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
    cu_ok(cu(cuMemsetD8Async)(memory, 0xA5, bytes, stream));
    cu_ok(cu(cuStreamSynchronize)(stream));
    cu_ok(cu(cuStreamDestroy)(stream));
}

CUdeviceptr device_memory(size_t bytes) {
    CUdeviceptr memory = 0;
    cu_ok(cu(cuMemAlloc)(&memory, bytes));
    if (under_kernel_tool()) {
        initialise(memory, bytes); /* for initcheck, which is after the library's own memory */
    }
    remember((const void *)(uintptr_t)memory, end_device, bytes);
    return memory;
}

CUdeviceptr device_memory_on(CUdevice device, size_t bytes) {
    const CUcontext before = enter_device(device);
    const CUdeviceptr memory = device_memory(bytes);
    leave_device(before);
    return memory;
}

CUdeviceptr managed_memory(size_t bytes) {
    CUdeviceptr memory = 0;
    cu_ok(cu(cuMemAllocManaged)(&memory, bytes, CU_MEM_ATTACH_GLOBAL));
    remember((const void *)(uintptr_t)memory, end_device, bytes);
    return memory;
}

char *pinned_memory(size_t bytes) {
    void *memory = NULL;
    cu_ok(cu(cuMemHostAlloc)(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE));
    remember(memory, end_pinned, bytes);
    return memory;
}

static char *map_pages(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

char *pageable_memory(size_t bytes) {
    char *memory = map_pages(bytes);
    remember(memory, end_pageable, bytes);
    return memory;
}

char *registered_memory(size_t bytes) {
    char *memory = map_pages(bytes);
    cu_ok(cu(cuMemHostRegister)(memory, bytes, CU_MEMHOSTREGISTER_PORTABLE));
    remember(memory, end_registered, bytes);
    return memory;
}

/* The calls without Async would follow the legacy stream, and with it every blocking stream. */
static void copy_apart(CUdeviceptr dst, CUdeviceptr src, size_t count) {
    CUstream stream = NULL;
    cu_ok(cu(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
    cu_ok(cu(cuMemcpyAsync)(dst, src, count, stream));
    cu_ok(cu(cuStreamSynchronize)(stream));
    cu_ok(cu(cuStreamDestroy)(stream));
}

void read_device(void *bytes, CUdeviceptr address, size_t count) {
    copy_apart((CUdeviceptr)(uintptr_t)bytes, address, count);
}

void write_device(CUdeviceptr address, const void *bytes, size_t count) {
    copy_apart(address, (CUdeviceptr)(uintptr_t)bytes, count);
}

static char *heap(size_t count) {
    char *memory = malloc(count > 0 ? count : 1);
    assert_non_null(memory);
    return memory;
}

void write_pattern(CUdeviceptr address, size_t count, unsigned seed) {
    char *bytes = heap(count);
    fill_pattern(bytes, count, seed);
    write_device(address, bytes, count);
    free(bytes);
}

void assert_device_pattern(CUdeviceptr address, size_t count, unsigned seed) {
    char *bytes = heap(count);
    read_device(bytes, address, count);
    assert_pattern(bytes, count, seed);
    free(bytes);
}

void assert_device_bytes(CUdeviceptr address, size_t count, unsigned char value) {
    char *bytes = heap(count);
    read_device(bytes, address, count);
    assert_bytes(bytes, count, value);
    free(bytes);
}

via_array *wrap_bytes(const void *address, int64_t count, int32_t device_type, int32_t device_id,
                      atomic_int *released) {
    via_array *array = NULL;
    ok(via_wrap((void *)(uintptr_t)address, VIA_UINT8, 1, &count, NULL, device_type, device_id, 0,
                released != NULL ? count_release : NULL, released, &array));
    assert_non_null(array);
    return array;
}

/* ------------------------------------------------------------------------------------------------ streams */

static CUstream make_stream(unsigned int flags) {
    CUstream stream = NULL;
    cu_ok(cu(cuStreamCreate)(&stream, flags));
    remember(stream, end_stream, 0);
    return stream;
}

CUstream new_stream(void) { return make_stream(CU_STREAM_NON_BLOCKING); }

CUstream new_blocking_stream(void) { return make_stream(CU_STREAM_DEFAULT); }

CUstream new_stream_on(CUdevice device) {
    const CUcontext before = enter_device(device);
    CUstream stream = new_stream();
    leave_device(before);
    return stream;
}

CUevent new_event(void) {
    CUevent event = NULL;
    cu_ok(cu(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING));
    remember(event, end_event, 0);
    return event;
}

via_stream *wrap_native(CUstream stream, int32_t device_id) {
    via_stream *handle = NULL;
    ok(via_stream_wrap(stream, device_id, &handle));
    assert_non_null(handle);
    remember(handle, end_handle, 0);
    return handle;
}

int is_done(CUstream stream) {
    const CUresult result = cu(cuStreamQuery)(stream);
    if (result != CUDA_ERROR_NOT_READY) {
        cu_ok(result);
    }
    return result == CUDA_SUCCESS;
}

void finish(CUstream stream) { cu_ok(cu(cuStreamSynchronize)(stream)); }

static void pause_ms(int milliseconds) {
    nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000L}, NULL);
}

int eventually(int (*condition)(void *context), void *context) {
    for (int turn = 0; turn < 10000; ++turn) {
        if (condition(context)) {
            return 1;
        }
        pause_ms(1);
    }
    return condition(context);
}

void await_count(atomic_int *counter, int value) {
    for (int turn = 0; turn < 10000 && atomic_load(counter) != value; ++turn) {
        pause_ms(1);
    }
    assert_int_equal(atomic_load(counter), value);
}

/* ------------------------------------------------------------------------------------------------ capture */

void begin_capture(CUstream stream, CUstreamCaptureMode mode) { cu_ok(cu(cuStreamBeginCapture)(stream, mode)); }

CUgraph end_capture(CUstream stream) {
    CUgraph graph = NULL;
    cu_ok(cu(cuStreamEndCapture)(stream, &graph));
    assert_non_null(graph);
    remember(graph, end_graph, 0);
    return graph;
}

CUgraphExec instantiate(CUgraph graph) {
    CUgraphExec exec = NULL;
    cu_ok(cu(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    remember(exec, end_graph_exec, 0);
    return exec;
}

size_t node_count(CUgraph graph) {
    size_t count = 0;
    cu_ok(cu(cuGraphGetNodes)(graph, NULL, &count));
    return count;
}

void launch(CUgraphExec graph, CUstream stream) {
    cu_ok(cu(cuGraphLaunch)(graph, stream));
    finish(stream);
}

CUstreamCaptureStatus capture_status(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cu_ok(cu(cuStreamIsCapturing)(stream, &status));
    return status;
}

/* ------------------------------------------------------------------------------------- the test around a test */

typedef struct alive {
    via_stats_info stats;
    int64_t kinds[FAKE_KIND_COUNT];
    int64_t misuse;
} alive;

static alive look_around(void) {
    alive found = {.stats = stats_now()};
    found.stats.staged_bytes = 0; /* staging memory stays */
    if (on_fake_driver()) {
        for (int i = 0; i < FAKE_KIND_COUNT; ++i) {
            found.kinds[i] = fake(fake_live)((fake_kind)i);
        }
        found.misuse = fake(fake_misuse_total)();
    }
    return found;
}

static alive before_test;
static int unfinished;
static char noted[256];

int begin_gpu_test(void **state) {
    (void)state;
    if (driver_library() == NULL) {
        return -1;
    }
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    before_test = look_around();
    noted[0] = '\0';
    return 0;
}

void run_gpu_test(void **state) {
    const CMUnitTestFunction function = *(const CMUnitTestFunction *)*state;
    unfinished = 1;
    function(state);
    unfinished = 0;
}

void note(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(noted, sizeof noted, format, arguments);
    va_end(arguments);
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* How many of a kind may be alive at the end: what the library keeps is bounded, all else is as it was. */
static int64_t most_alive(int kind, int64_t before) {
    switch (kind) {
        case FAKE_CONTEXTS:
        case FAKE_PRIMARY_RETAINS:
        case FAKE_MODULES:
            return INT64_MAX;
        case FAKE_HOST_REGISTRATIONS:
            return larger(before,
                          via_max_pinned_blocks + via_max_descriptor_tables + (int64_t)via_max_rings * device_count());
        case FAKE_STREAMS:
            return larger(before, (int64_t)(via_max_internal_streams + via_max_side_streams) * device_count());
        case FAKE_EVENTS: /* and an idle table keeps the fence of its last run */
            return larger(before, (int64_t)(via_max_idle_fences + via_max_rings * via_max_ring_slots) * device_count() +
                                      fake(fake_live)(FAKE_HOST_REGISTRATIONS));
        case FAKE_DEVICE_ALLOCATIONS: /* scratch memory of the rings */
            return larger(before, (int64_t)via_max_rings * device_count());
        case FAKE_POOLS: /* of other scratch memory */
            return larger(before, device_count());
        default:
            return before;
    }
}

static int same_stats_now(void *context) {
    via_stats_info now = stats_now();
    now.staged_bytes = 0;
    return memcmp(context, &now, sizeof now) == 0;
}

/* After a burst the library keeps more fences than it means to, and releases one with each that it uses. A fence that
   is not given back before the next is taken would add to them. */
static void release_surplus_fences(int64_t most) {
    char byte = 0;
    for (int round = 0; round < 4096 && fake(fake_live)(FAKE_EVENTS) > most; ++round) {
        via_array *array = wrap_bytes(&byte, 1, VIA_DEVICE_CPU, 0, NULL);
        ok(via_array_record_stream(array, via_stream_legacy()));
        finish(CU_STREAM_LEGACY);
        via_array_release(array);
    }
}

static int nothing_leaked(const alive *before) {
    /* Releases that waited for the device come a moment after it. */
    via_stats_info stats = before->stats;
    int clean = eventually(same_stats_now, &stats);
    if (on_fake_driver()) {
        release_surplus_fences(most_alive(FAKE_EVENTS, before->kinds[FAKE_EVENTS]));
        clean &= eventually(same_stats_now, &stats);
    }
    const alive after = look_around();
    if (!clean) {
        same_stats(&before->stats, &after.stats);
        print_error("pending releases %lld -> %lld, pinned bytes %lld -> %lld, device bytes %lld -> %lld\n",
                    (long long)before->stats.pending_releases, (long long)after.stats.pending_releases,
                    (long long)before->stats.pinned_bytes, (long long)after.stats.pinned_bytes,
                    (long long)before->stats.device_bytes, (long long)after.stats.device_bytes);
    }
    for (int i = 0; on_fake_driver() && i < FAKE_KIND_COUNT; ++i) {
        if (after.kinds[i] > most_alive(i, before->kinds[i])) {
            char text[512];
            fake(fake_live_text)(text, sizeof text);
            print_error("%lld of kind %d -> %lld; alive are %s\n", (long long)before->kinds[i], i,
                        (long long)after.kinds[i], text);
            clean = 0;
        }
    }
    if (after.misuse != before->misuse) {
        print_error("misuse of the driver: %lld -> %lld\n", (long long)before->misuse, (long long)after.misuse);
        clean = 0;
    }
    return clean;
}

int end_gpu_test(void **state) {
    (void)state;
    if (unfinished && noted[0] != '\0') {
        print_error("the test was at: %s\n", noted);
    }
    release_all();
    cu(cuCtxSetCurrent)(primary(0));
    put_everything_away();
    const char *call = NULL;
    const int overdue = overdue_holds(&call);
    if (overdue > 0) {
        print_error(
            "%d held streams had to be released: something waited for them; the test's last call of the driver "
            "was %s\n",
            overdue, call);
    }
    const int given_up = unfinished && is_kernel_tool("initcheck");
    return given_up || (nothing_leaked(&before_test) && overdue == 0) ? 0 : -1;
}

/* So that a memory checker finds nothing of these helpers' own. */
int end_gpu_tests(void **state) {
    (void)state;
    end_holds();
    return 0;
}
