/*
 * What the tests that need a CUDA driver have in common. Each runs on the fake driver and on a real GPU; what steers
 * the fake driver skips itself on a real one: steer().
 *
 * One process loads one driver once, so nothing is reset between tests: each puts away what it made, and is checked
 * for it. A test that wants another driver, other settings or an untouched library runs a function in a process of its
 * own: run_apart().
 */
#ifndef VIADUCT_TESTS_GPU_SUPPORT_H
#define VIADUCT_TESTS_GPU_SUPPORT_H

#include "../capi/support.h"
#include "../repeats.h"

#include <cuda.h>
#include <sys/types.h>

#include "fakecuda.h"

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

/* A function of the driver, or of the fake driver's control interface, by its name: cu(cuMemAlloc)(&memory, 64). */
#define cu(function) ((__typeof__(&(function)))driver_symbol(TEXT(function)))
#define fake(function) ((__typeof__(&(function)))driver_symbol(TEXT(function)))

/* Runs a call of the driver that must succeed, or answer `result`. */
#define cu_ok(call) expect_result((call), CUDA_SUCCESS, #call, __FILE__, __LINE__)
#define cu_refused(result, call) expect_result((call), (result), #call, __FILE__, __LINE__)

/* The address of a function of the driver; a failed test if it has none. */
uintptr_t driver_symbol(const char *name);
void expect_result(CUresult found, CUresult expected, const char *call, const char *file, int line);

/* 1 if the driver is the fake driver. */
int on_fake_driver(void);

/* Skips the test on a real driver: for those that steer the fake driver. */
#define steer()                        \
    do {                               \
        if (!on_fake_driver()) skip(); \
    } while (0)

/* Skips the test where there is only one device. */
#define need_two_devices()              \
    do {                                \
        if (device_count() < 2) skip(); \
    } while (0)

/* Skips the test, and says so, where device 0 has no kernels: a library that was built without nvcc has none. */
#define need_kernels()                    \
    do {                                  \
        if (!kernels_are_there()) skip(); \
    } while (0)

/*
 * Under compute-sanitizer, which its runner says by a variable of the environment: some calls wait for a stream that is
 * held, though the driver alone does not. cuStreamDestroy waits for the work of its stream, and copies between places
 * for that of other streams. Whoever holds a stream up meanwhile would wait for ever, so such tests skip themselves;
 * they are about order, and the memory that they touch others touch too.
 */
#define skip_where_calls_wait()             \
    do {                                    \
        if (under_memory_checker()) skip(); \
    } while (0)

/* There too memory that goes with its context counts as leaked. */
#define skip_where_all_must_be_freed()      \
    do {                                    \
        if (under_memory_checker()) skip(); \
    } while (0)

int under_memory_checker(void);

/* Under its tools that follow each access of a kernel, gigabytes take minutes: sizes are the fake driver's there. */
int under_kernel_tool(void);
int is_kernel_tool(const char *name);

int device_count(void);
int can_reach(CUdevice device, CUdevice peer);

/*
 * Runs the tests of a program: `return run_gpu_tests(tests);`. 77 where no driver with a device can be had, which
 * ctest and the runner of the GPU tests take as skipped.
 */
#define run_gpu_tests(tests) (driver_is_there() ? cmocka_run_group_tests(tests, NULL, end_gpu_tests) : 77)

/* The same for a program whose every test needs kernels. */
#define run_kernel_tests(tests) (driver_is_there() && kernels_are_there() ? run_gpu_tests(tests) : 77)

int driver_is_there(void);
int kernels_are_there(void);
int end_gpu_tests(void **state);

/*
 * A test that begins with the primary context of device 0 current, and must leave alive nothing but what the library
 * keeps for good: primary contexts, its own few streams, pooled events, staging memory, kernels. On the fake driver it
 * must have misused nothing either. What the helpers below made is put away before that is looked at.
 */
#define GPU_TEST(function)                                                                        \
    {                                                                                             \
        #function, run_gpu_test, begin_gpu_test, end_gpu_test, &(CMUnitTestFunction) { function } \
    }

int begin_gpu_test(void **state);
void run_gpu_test(void **state);
int end_gpu_test(void **state);

/* What a test in a loop is at: reported if it fails, since cmocka's line is that of every turn. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A test whose function runs in a fresh process, untouched by the others; `settings`: see run_apart. */
#define APART(function) run_apart((function), (const char *const[]){NULL})

/*
 * Runs a function in a process of its own, in which neither the library nor a driver has been touched, with the
 * environment variables of a list that ends with NULL ("VIADUCT_FAKECUDA_PEERS=0") set besides. The test fails if the
 * function does. It must not skip.
 */
void run_apart(void (*function)(void), const char *const *settings);

/* The same next to the test: the function reads from descriptor 0 what comes from `to`, and `from` what it writes to 1.
 */
typedef struct other_process {
    pid_t process;
    int to;
    int from;
} other_process;
other_process start_apart(void (*function)(void), const char *const *settings);

/* Closes both pipes and waits: its exit status, or the signal that ended it, negative. */
int end_apart(const other_process *ended);

/* ------------------------------------------------------------------------------------------------ memory */

/* All of these are freed at the end of the test; freeing earlier: put_away(). */
CUdeviceptr device_memory(size_t bytes);
CUdeviceptr device_memory_on(CUdevice device, size_t bytes);
CUdeviceptr managed_memory(size_t bytes);
char *pinned_memory(size_t bytes);
char *pageable_memory(size_t bytes); /* aligned to pages, untouched */
char *registered_memory(size_t bytes);

/* Frees, destroys or releases now what a helper made. */
void put_away(const void *thing);
#define put_away_memory(address) put_away((const void *)(uintptr_t)(address))

/* A context of the application's own on device 0, which is current then. */
CUcontext new_context(void);

/* Destroys a context with all that was made while it was current; that of device 0 is current then. */
void end_context(CUcontext context);

/* Bytes of any kind of memory, moved by the driver and waited for; a stream that is held does not hold them up. */
void read_device(void *bytes, CUdeviceptr address, size_t count);
void write_device(CUdeviceptr address, const void *bytes, size_t count);

/* Byte i of the pattern is a function of i and seed, so that shifted, missing and foreign bytes are found. */
void fill_pattern(void *bytes, size_t count, unsigned seed);
void assert_pattern(const void *bytes, size_t count, unsigned seed);
void assert_bytes(const void *bytes, size_t count, unsigned char value);
void write_pattern(CUdeviceptr address, size_t count, unsigned seed);
void assert_device_pattern(CUdeviceptr address, size_t count, unsigned seed);
void assert_device_bytes(CUdeviceptr address, size_t count, unsigned char value);

/* A row-major array of bytes; `released` may be NULL. */
via_array *wrap_bytes(const void *address, int64_t count, int32_t device_type, int32_t device_id, atomic_int *released);
#define wrap_device(address, count, released) \
    wrap_bytes((const void *)(uintptr_t)(address), (count), VIA_DEVICE_CUDA, 0, (released))

/* ------------------------------------------------------------------------------------------------ streams */

CUcontext primary(CUdevice device); /* retained once for the program */
CUstream new_stream(void);          /* non-blocking, in the current context */
CUstream new_stream_on(CUdevice device);
CUstream new_blocking_stream(void);
CUevent new_event(void);

/* A native stream as a handle; released at the end of the test. */
via_stream *wrap_native(CUstream stream, int32_t device_id);

/*
 * Nothing that is given to the stream from now on runs until it is released. Under initcheck, which has more calls wait
 * for such a stream than memcheck has, the test ends here, skipped, whatever it leaves behind. Works on any driver,
 * and not on a stream that is being captured. What waits for it, waits: a stream held for longer than hold_limit_ms is
 * released, and fails the test at its end. NULL: the legacy stream of the current context. On a real driver the hold is
 * itself work of the stream, which a fence of its work so far waits for; on the fake driver a held stream without work
 * is done.
 */
enum { hold_limit_ms = 20000 };
void hold(CUstream stream);
void release(CUstream stream);

/* 1 if the work given to the stream so far is done. */
int is_done(CUstream stream);
void finish(CUstream stream);

/* Asks until the condition is not 0, for at most 10 seconds; the answer then. */
int eventually(int (*condition)(void *context), void *context);
/* Until the counter has that value. */
void await_count(atomic_int *counter, int value);

/* ------------------------------------------------------------------------------------------------ capture */

void begin_capture(CUstream stream, CUstreamCaptureMode mode);
/* The graph of what was captured; destroyed at the end of the test. */
CUgraph end_capture(CUstream stream);
CUgraphExec instantiate(CUgraph graph);
size_t node_count(CUgraph graph);
/* Launches and waits. */
void launch(CUgraphExec graph, CUstream stream);
CUstreamCaptureStatus capture_status(CUstream stream);

/* For apart.c, hold.c and support.c. */
void put_everything_away(void);
void release_all(void);
void end_holds(void);
/* How many have been released for waiting too long, and the test's last call of the driver before that. */
int overdue_holds(const char **out_call);
const char *last_driver_call(void);

#endif
