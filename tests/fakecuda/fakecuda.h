/**
 * @file fakecuda.h
 * @brief How a test steers the fake driver for the CUDA driver, and asks what was done to it.
 *
 * The fake driver is a shared library that is opened in the place of libcuda.so.1. It has no GPU: it copies for real,
 * on streams that run behind the caller, between memory that the host may and may not touch. A test opens it with
 * dlopen and finds these functions with dlsym: fake_load does so. Where the real driver's behaviour is known from a
 * recording (facts/), the fake driver does the same; where the real driver would crash (a destroyed handle, a stale
 * pointer), it counts the misuse and answers an error.
 *
 * All of these may be called from any thread, also while driver calls are under way, but not from inside a kernel or
 * host function unless said so.
 */
#ifndef FAKECUDA_FAKECUDA_H
#define FAKECUDA_FAKECUDA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Settings. Each goes back to its default at fake_reset, where the environment variable named may change it. */
typedef enum fake_setting {
    FAKE_DEVICES = 0,        /**< how many devices cuInit finds: 1; VIADUCT_FAKECUDA_DEVICES */
    FAKE_DRIVER_VERSION = 1, /**< 13000; newer functions are not found; VIADUCT_FAKECUDA_VERSION */
    FAKE_DEVICE_MEMORY = 2,  /**< bytes of each device: 8 GiB; VIADUCT_FAKECUDA_MEMORY */
    FAKE_CAPABILITY = 3,     /**< compute capability of each device, 90 for 9.0; VIADUCT_FAKECUDA_CAPABILITY */
    FAKE_PEERS = 4,          /**< 1 if devices can reach one another: 1; VIADUCT_FAKECUDA_PEERS */
    FAKE_INIT_RESULT = 5,    /**< what cuInit answers: 0; VIADUCT_FAKECUDA_INIT */
    FAKE_MODULE_RESULT = 6,  /**< what loading a sound image answers: 0 */
    FAKE_FILL = 7,           /**< byte that new memory is filled with: 0xCD; -1 leaves zeros, saving time */
    FAKE_FREE_WAITS = 8,     /**< 1 as in the real driver: freeing waits for the device; 0 frees at once */
    FAKE_STAGED_BYTES = 9,   /**< pageable copies to the device of more bytes wait for the stream: 2 MiB */
    FAKE_WAIT_LIMIT = 10,    /**< milliseconds that a call may wait before the process is aborted: 60000 */
    FAKE_HOLD_NEW = 11,      /**< 1: streams are held from their creation on: 0 */
    FAKE_JITTER = 12,        /**< not 0: seed of random pauses before each piece of work; VIADUCT_FAKECUDA_JITTER */
    FAKE_LOAD_UNSAFE = 13,   /**< 1: a capture forbids loading modules, as it may with eager loading: 0 */
    FAKE_PAGE_TABLES = 14,   /**< 1: devices walk the host's page tables: 0; VIADUCT_FAKECUDA_PAGE_TABLES */
    FAKE_REVERSED = 15,      /**< 1: devices are numbered the other way round: 0; VIADUCT_FAKECUDA_REVERSED */
    FAKE_LOAD_TIME = 16,     /**< milliseconds that loading a module takes: 0 */
    FAKE_SETTING_COUNT = 17
} fake_setting;

/** Kinds of objects that can be alive. */
typedef enum fake_kind {
    FAKE_CONTEXTS = 0,        /**< created contexts, and primary contexts that are active */
    FAKE_PRIMARY_RETAINS = 1, /**< retains of primary contexts not yet released */
    FAKE_STREAMS = 2,         /**< created streams */
    FAKE_EVENTS = 3,
    FAKE_DEVICE_ALLOCATIONS = 4, /**< by cuMemAlloc and its like */
    FAKE_POOL_ALLOCATIONS = 5,   /**< by cuMemAllocAsync */
    FAKE_MANAGED_ALLOCATIONS = 6,
    FAKE_PINNED_ALLOCATIONS = 7,
    FAKE_HOST_REGISTRATIONS = 8,
    FAKE_RESERVATIONS = 9, /**< address ranges */
    FAKE_MAPPINGS = 10,
    FAKE_PHYSICAL_HANDLES = 11,
    FAKE_POOLS = 12,   /**< created pools */
    FAKE_MODULES = 13, /**< modules and libraries */
    FAKE_GRAPHS = 14,
    FAKE_GRAPH_EXECS = 15,
    FAKE_USER_OBJECTS = 16,
    FAKE_KIND_COUNT = 17
} fake_kind;

/** Things that a correct program never does. */
typedef enum fake_misuse {
    FAKE_STREAM_AFTER_DESTROY = 0,
    FAKE_EVENT_AFTER_DESTROY = 1,
    FAKE_CONTEXT_AFTER_DESTROY = 2,
    FAKE_OTHER_AFTER_DESTROY = 3, /**< graphs, modules, functions, pools, user objects */
    FAKE_USE_AFTER_FREE = 4,      /**< memory gone when work on it ran, or named in a call */
    FAKE_USE_BEFORE_ALLOC = 5,    /**< stream-ordered memory used by work not ordered after its allocation */
    FAKE_DOUBLE_FREE = 6,
    FAKE_ILLEGAL_ADDRESS = 7, /**< work that touched what is no memory of its device */
    FAKE_CALL_IN_HOST_FUNCTION = 8,
    FAKE_CALL_IN_FORKED_CHILD = 9,
    FAKE_CAPTURE_BROKEN = 10,        /**< captures that some call invalidated */
    FAKE_UNMAPPED_WHILE_LOCKED = 11, /**< host memory whose addresses became another's before it was unregistered */
    FAKE_MISUSE_COUNT = 12
} fake_misuse;

/**
 * Back to the beginning: as if the process had just opened the driver. Drops work that has not begun, waits for work
 * that has, ends all threads, frees everything, forgets kernels, settings, faults, counts. No other thread may be
 * inside the driver.
 */
void fake_reset(void);

/** Changes a setting; those that describe devices must be changed before cuInit. */
void fake_set(fake_setting setting, int64_t value);
int64_t fake_get(fake_setting setting);

/** Before cuInit: whether one device can reach another, and one attribute (a CUdevice_attribute) of a device. */
void fake_set_peer(int32_t device, int32_t peer, int32_t can_access);
void fake_set_attribute(int32_t device, int32_t attribute, int32_t value);

/* ------------------------------------------------------------------------------------------------ streams */

/*
 * A stream is a CUstream as the calling thread would pass it: NULL and CU_STREAM_LEGACY mean the legacy stream of the
 * current context, CU_STREAM_PER_THREAD this thread's.
 */

/** Nothing further of this stream runs until it is released; what runs now goes on. */
void fake_stream_hold(void *stream);

/** Lets a held stream run on. */
void fake_stream_release(void *stream);

/** Lets a held stream run `count` more pieces of work (a copy, a kernel, an event record or wait: one each). */
void fake_stream_step(void *stream, int32_t count);

/** Pieces of work of this stream that have not ended. */
int32_t fake_stream_pending(void *stream);

/** A pause before each piece of work of this stream. */
void fake_stream_delay(void *stream, int32_t microseconds);

/** Stores up to `capacity` of the created streams alive, oldest first, and returns how many there are. */
int32_t fake_streams(void **out_streams, int32_t capacity);

/** Holds or releases every stream of every context, the legacy and per-thread ones included. */
void fake_hold_all(void);
void fake_release_all(void);

/* ------------------------------------------------------------------------------------------------ memory */

/** Reads or writes device memory as the device would; 0 if the range is no memory. Pinned and managed fit too. */
int32_t fake_device_read(uint64_t address, void *out_bytes, size_t count);
int32_t fake_device_write(uint64_t address, const void *bytes, size_t count);

/** Bytes allocated on a device now. */
int64_t fake_device_used(int32_t device);

/* ------------------------------------------------------------------------------------------------ kernels */

/** The shape of a launch, given to a kernel. */
typedef struct fake_launch {
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t shared_bytes;
    int32_t device;
} fake_launch;

/** A kernel: called once a launch, in stream order, on a thread of the driver; args[i] points at the i-th parameter. */
typedef void (*fake_kernel)(void **args, const fake_launch *launch, void *user);

/**
 * Makes every module and library have a kernel of this name. `param_sizes` holds the size in bytes of each of its
 * `param_count` parameters, whose values are copied when it is launched.
 */
void fake_register_kernel(const char *name, fake_kernel kernel, void *user, int32_t param_count,
                          const size_t *param_sizes);

/** What a function attribute (a CUfunction_attribute) of a kernel is; by default that of a small kernel. */
void fake_set_kernel_attribute(const char *name, int32_t attribute, int32_t value);

/**
 * For use inside kernels: where the driver sees [address, address + count). Where that is no memory which the device
 * may touch, NULL, and the context is poisoned with CUDA_ERROR_ILLEGAL_ADDRESS.
 */
void *fake_device_address(uint64_t address, size_t count);

/* ------------------------------------------------------------------------------------------------ faults */

/**
 * Makes the N-th driver call from now on (1 is the next) answer `result` and do nothing else; of `function` only if
 * that is not NULL (the name with or without its _v2). Once; -1 for N: every such call. Further faults add up.
 */
void fake_fail_at(const char *function, int64_t n, int32_t result);

/** The same for that call and every one after it, until faults are cleared. */
void fake_fail_from(const char *function, int64_t n, int32_t result);

/** Poisons all contexts right before that call, as a kernel does that faults meanwhile; the call then goes its way. */
void fake_poison_at(const char *function, int64_t n, int32_t result);

void fake_clear_faults(void);

/** Calls of this thread neither fail nor count for faults while `spared` is 1: those of a test amid its faults. */
void fake_spare_thread(int32_t spared);

/** How many faults have been injected since the reset: all together, and in all forms of one function. */
int64_t fake_faults_injected(void);
int64_t fake_fault_count(const char *function);

/** Poisons the current context, as a faulting kernel does. */
void fake_poison(int32_t result);

/* ------------------------------------------------------------------------------------------------ what happened */

/** How often a function was called; NULL for all together. Inner calls of the driver do not count. */
int64_t fake_call_count(const char *function);

/** Writes the newest calls, oldest first, one "name = result" a line, into the buffer; returns the calls so far. */
int64_t fake_calls(char *out_text, size_t capacity);

int64_t fake_live(fake_kind kind);

/** All of the kinds above that a program must have released at its end, summed up. */
int64_t fake_live_objects(void);

/** "2 streams, 1 event" of what is alive; "" for nothing. Returns its whole length. */
size_t fake_live_text(char *out_text, size_t capacity);

int64_t fake_misused(fake_misuse misuse);

/** Bytes that copies have brought from one device to another by way of the host, since neither reaches the memory of
    the other: by peer access, or by a pool that is open to it. */
int64_t fake_bytes_through_host(void);

/** All misuse together, but for broken captures, which a program may mean to test. */
int64_t fake_misuse_total(void);

#ifdef __cplusplus
}
#endif

#endif
