/**
 * @file viaduct.h
 * @brief Viaduct: memory that already exists, as strided arrays that every runtime can use.
 *
 * Wrap a pointer once; lend it without a copy (DLPack, array interfaces, Arrow device); copy it, when a copy is
 * wanted, at the speed of the hardware. This header is the whole public surface: plain C11, nothing inline.
 *
 * The rules, stated once:
 *
 * Status. Every function that can fail returns a via_status, 0 being VIA_OK. A failing call, and nothing else,
 * sets the calling thread's via_last_error() and via_last_error_code(). Getters, retain and release never fail,
 * never touch that text, and accept NULL (they return 0 or NULL).
 *
 * Outputs. Parameters named out_... are outputs, and only those; they must not be NULL unless said otherwise. On
 * failure a pointer or number output is NULL or 0, and an output struct is left as it was.
 *
 * Ownership. A handle that comes back through out_... is the caller's, to be released with its release function.
 * A pointer returned by value (a shape, a text, a shared stream) is borrowed and lives as long as its parent. Views
 * and exported tensors hold the memory themselves: their parent handle may be released first.
 *
 * Threads. Handles are reference counted atomically; retain and release may be called from any thread. Arrays do not
 * change after they are made, so any number of threads may read one. Nothing here locks while a callback runs.
 *
 * Misuse. With VIADUCT_CHECK=1 in the environment when the library is loaded, a handle that was released already, or is
 * one of another kind, is refused with VIA_ERROR_INVALID_ARGUMENT; functions that cannot fail write a line to stderr
 * and do nothing. Without it, that is undefined.
 *
 * Fork. A child may use the library at once, whatever other threads of the parent were doing. What needs CUDA answers
 * VIA_ERROR_FORKED there if the parent had used CUDA; all else works.
 *
 * Environment. A program that runs with another user's rights (setuid, file capabilities) reads no VIADUCT_ variable.
 *
 * Callbacks must return normally: no C++ exception and no longjmp may leave one. Each type says from which thread it
 * is called. The last error is saved before a callback and restored after it.
 *
 * Threads of the library end when they have been idle for 2 seconds. They block all signals but those of their own
 * faults; a process that a callback starts there inherits that mask.
 *
 * Structs begin with struct_size, set by the struct's ..._INIT macro; 0 there is an error. Zero is the default of
 * every other field. Callers built against an older header pass a smaller struct_size and get the fields they know.
 *
 * Sizes. Counts, extents, strides and offsets are int64_t. Strides count elements, as in DLPack, unless said to be
 * in bytes; those of NumPy, and of this library's arrays in Python, count bytes. Device types have the numbers of
 * DLPack's DLDeviceType (dlpack.h 1.3).
 */
#ifndef VIADUCT_VIADUCT_H
#define VIADUCT_VIADUCT_H

#include <stdint.h>

/** @cond */
#if defined(SWIG)
#define VIA_API
#define VIA_CHECKED
#elif defined(__GNUC__)
#define VIA_API __attribute__((visibility("default")))
#define VIA_CHECKED __attribute__((visibility("default"), warn_unused_result))
#else
#define VIA_API
#define VIA_CHECKED
#endif
/** @endcond */

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------- constants */

/** The version of this header; via_version() is the library's. */
enum {
    VIA_VERSION_MAJOR = 1, /**< another one breaks programs */
    VIA_VERSION_MINOR = 0, /**< a greater one adds to what there is */
    VIA_VERSION_PATCH = 0  /**< a greater one mends */
};

/** What a call came to. Only ever a return type; parameters and fields carry it as int32_t. */
typedef enum via_status {
    VIA_OK = 0,                     /**< it was done */
    VIA_ERROR_INVALID_ARGUMENT = 1, /**< an argument is out of its range, NULL, or at odds with another */
    VIA_ERROR_DTYPE = 2,            /**< an element type is unknown, or not the one expected */
    VIA_ERROR_SHAPE = 3,            /**< a shape is malformed, or not the one expected */
    VIA_ERROR_INDEX = 4,            /**< an axis or an index lies outside the array */
    VIA_ERROR_OVERFLOW = 5,         /**< a product or sum of extents does not fit */
    VIA_ERROR_OUT_OF_MEMORY = 6,    /**< memory could not be had, of whichever kind */
    VIA_ERROR_READ_ONLY = 7,        /**< the destination may not be written */
    VIA_ERROR_OVERLAP = 8,          /**< source and destination, or elements of a destination, share bytes */
    VIA_ERROR_NEEDS_COPY = 9,       /**< only a copy could do it, and a copy was not allowed */
    VIA_ERROR_EXCHANGE = 10,        /**< the protocol cannot say what this array is, or the tensor breaks its rules */
    VIA_ERROR_VERSION = 11,         /**< a library, struct or protocol version that cannot be served */
    VIA_ERROR_DEVICE = 12,          /**< no such device, or not the device that the memory is on */
    VIA_ERROR_POINTER = 13,         /**< the address is unknown, unreadable, or ends before the array does */
    VIA_ERROR_UNSUPPORTED = 14,     /**< this build, machine or driver cannot do it */
    VIA_ERROR_CUDA = 15,            /**< the CUDA driver refused; via_last_error_code() is its CUresult */
    VIA_ERROR_STREAM_CAPTURE = 16,  /**< it cannot be captured into a graph; nothing was touched */
    VIA_ERROR_FORKED = 17,          /**< CUDA was used before fork; the child cannot use it */
    VIA_ERROR_WOULD_DEADLOCK = 18,  /**< waiting here could never end */
    VIA_ERROR_CANCELLED = 19,       /**< the task was cancelled */
    VIA_ERROR_IO = 20,              /**< the operating system refused; via_last_error_code() is errno */
    VIA_ERROR_FORMAT = 21,          /**< a file is not what it claims to be */
    VIA_ERROR_CALLBACK = 22,        /**< a callback of the caller reported failure */
    VIA_ERROR_INTERNAL = 23         /**< a fault of this library: please report the text */
} via_status;

/** Kinds of memory, with DLPack's numbers. */
enum {
    VIA_DEVICE_ANY = 0,          /**< in via_wrap: find out from the address; in options: wherever it is now */
    VIA_DEVICE_CPU = 1,          /**< ordinary host memory */
    VIA_DEVICE_CUDA = 2,         /**< memory of a CUDA device */
    VIA_DEVICE_CUDA_HOST = 3,    /**< page-locked (pinned) host memory */
    VIA_DEVICE_CUDA_MANAGED = 13 /**< CUDA managed (unified) memory */
};

/**
 * Element types: DLPack's code | bits << 8 | lanes << 16, with a code of DLPack 1.3, lanes from 1 to 32767, and bits
 * that the code comes in: integers 1 to 64, floats 16 to 128, complex numbers 32 to 128, opaque handles 8 to 128
 * (powers of two all), the others as here. These are the common ones. A negative dtype is a record (a C struct) of that
 * many bytes: see via_dtype_record.
 */
enum {
    VIA_INT4 = 0x00010400,               /**< signed integer; two share a byte */
    VIA_INT8 = 0x00010800,               /**< signed integer */
    VIA_INT16 = 0x00011000,              /**< signed integer */
    VIA_INT32 = 0x00012000,              /**< signed integer */
    VIA_INT64 = 0x00014000,              /**< signed integer */
    VIA_UINT4 = 0x00010401,              /**< unsigned integer; two share a byte */
    VIA_UINT8 = 0x00010801,              /**< unsigned integer */
    VIA_UINT16 = 0x00011001,             /**< unsigned integer */
    VIA_UINT32 = 0x00012001,             /**< unsigned integer */
    VIA_UINT64 = 0x00014001,             /**< unsigned integer */
    VIA_FLOAT16 = 0x00011002,            /**< half precision of IEEE 754 */
    VIA_FLOAT32 = 0x00012002,            /**< single precision */
    VIA_FLOAT64 = 0x00014002,            /**< double precision */
    VIA_OPAQUE64 = 0x00014003,           /**< a handle that only its owner understands */
    VIA_BFLOAT16 = 0x00011004,           /**< the upper half of a float32 */
    VIA_COMPLEX32 = 0x00012005,          /**< two of float16 */
    VIA_COMPLEX64 = 0x00014005,          /**< two of float32 */
    VIA_COMPLEX128 = 0x00018005,         /**< two of float64 */
    VIA_BOOL = 0x00010806,               /**< a byte, 0 or 1 */
    VIA_FLOAT8_E3M4 = 0x00010807,        /**< 3 bits of exponent, 4 of mantissa, as IEEE 754 would */
    VIA_FLOAT8_E4M3 = 0x00010808,        /**< 4 bits of exponent, 3 of mantissa, as IEEE 754 would */
    VIA_FLOAT8_E4M3B11FNUZ = 0x00010809, /**< the same with a bias of 11, no infinity and no negative zero */
    VIA_FLOAT8_E4M3FN = 0x0001080A,      /**< the same without infinity */
    VIA_FLOAT8_E4M3FNUZ = 0x0001080B,    /**< the same with a bias of 8, no infinity and no negative zero */
    VIA_FLOAT8_E5M2 = 0x0001080C,        /**< 5 bits of exponent, 2 of mantissa, as IEEE 754 would */
    VIA_FLOAT8_E5M2FNUZ = 0x0001080D,    /**< the same with a bias of 16, no infinity and no negative zero */
    VIA_FLOAT8_E8M0FNU = 0x0001080E,     /**< a power of two without a sign, to scale others with */
    VIA_FLOAT6_E2M3FN = 0x0001060F,      /**< 2 bits of exponent, 3 of mantissa; finite values only */
    VIA_FLOAT6_E3M2FN = 0x00010610,      /**< 3 bits of exponent, 2 of mantissa; finite values only */
    VIA_FLOAT4_E2M1FN = 0x00010411       /**< 2 bits of exponent, 1 of mantissa; finite values only; two share a byte */
};

/** The most dimensions an array may have (NumPy's limit too). */
enum {
    VIA_MAX_NDIM = 64 /**< of shapes and strides */
};

/** Flags of via_wrap. */
enum {
    VIA_WRAP_READ_ONLY = 1,    /**< nothing may write through this array, its views or its exports */
    VIA_WRAP_BYTE_STRIDES = 2, /**< the strides given are in bytes */
    VIA_WRAP_UNCHECKED = 4,    /**< do not look the address up in the driver */
    VIA_WRAP_DETECT = 8,       /**< find device_type and device_id from the address; those given are not read */
    VIA_WRAP_PROBE = 16        /**< host memory: its first and last byte must be readable (a system call each) */
};

/** What via_array_flags tells. */
enum {
    VIA_ARRAY_READ_ONLY = 1,     /**< may not be written */
    VIA_ARRAY_COPIED = 2,        /**< made by copying what was offered, so writes do not reach the original */
    VIA_ARRAY_MISALIGNED = 4,    /**< some element does not start at a multiple of its natural alignment */
    VIA_ARRAY_SUBBYTE_PADDED = 8 /**< elements narrower than a byte have a byte each (DLPack's flag) */
};

/** Memory orders, for via_array_is_contiguous. */
enum {
    VIA_ORDER_ROW_MAJOR = 0,    /**< the last index moves fastest, as in C */
    VIA_ORDER_COLUMN_MAJOR = 1, /**< the first index moves fastest, as in Fortran */
    VIA_ORDER_ANY = 2           /**< no gaps and no overlap, whatever the order of the axes */
};

/** When an exchange may copy. */
enum {
    VIA_COPY_IF_NEEDED = 0, /**< lend; copy only where lending cannot be done */
    VIA_COPY_NEVER = 1,     /**< lend, or fail with VIA_ERROR_NEEDS_COPY */
    VIA_COPY_ALWAYS = 2     /**< always a fresh, writable copy */
};

/** Kinds of memory that via_memory_create makes. */
enum {
    VIA_MEMORY_HOST = 1,        /**< host memory, aligned to 64 bytes */
    VIA_MEMORY_PINNED = 2,      /**< page-locked host memory */
    VIA_MEMORY_DEVICE = 3,      /**< memory of one CUDA device */
    VIA_MEMORY_DEVICE_POOL = 4, /**< the same, allocated and freed in stream order */
    VIA_MEMORY_MANAGED = 5,     /**< CUDA managed memory */
    VIA_MEMORY_SHARED = 6       /**< host memory that other processes can map: see via_array_export_ipc */
};

/** How a file is opened. */
enum {
    VIA_MODE_READ = 0,         /**< an existing file, to read */
    VIA_MODE_READ_WRITE = 1,   /**< an existing file, to read and write */
    VIA_MODE_COPY_ON_WRITE = 2 /**< an existing file; arrays mapped from it may be written, the file is not */
};

/** What the bytes of a file are. */
enum {
    VIA_FORMAT_AUTO = 0, /**< .npy if the file starts with its magic, else raw */
    VIA_FORMAT_RAW = 1,  /**< elements and nothing else */
    VIA_FORMAT_NPY = 2   /**< NumPy's .npy, versions 1.0 to 3.0 */
};

/** How transfers use the system's cache of file pages. */
enum {
    VIA_PAGE_CACHE_AUTO = 0, /**< read from it what is there, and the rest past it; durable writes go past it */
    VIA_PAGE_CACHE_USE = 1,  /**< everything goes through it, and stays there for who comes next */
    VIA_PAGE_CACHE_AVOID = 2 /**< what is not there yet goes past it, writes too */
};

/* -------------------------------------------------------------------------------------- handles and callbacks */

typedef struct via_array via_array;   /**< a strided array: a view of memory and a share in keeping it alive */
typedef struct via_memory via_memory; /**< a place to allocate from */
typedef struct via_stream via_stream; /**< an order of work on a device */
typedef struct via_event via_event;   /**< a point in a stream */
typedef struct via_task via_task;     /**< a copy or file transfer under way */
typedef struct via_batch via_batch;   /**< many copies prepared as one */
typedef struct via_file via_file;     /**< an open file */

/*
 * The structs of DLPack and of Arrow's C device interface. Including this header needs neither. To look inside a
 * tensor, include dlpack/dlpack.h, 1.2 or newer: it is not part of this package, and Arrow's is not either.
 */
struct DLManagedTensorVersioned;
struct DLManagedTensor;
struct ArrowSchema;
struct ArrowDeviceArray;

/**
 * Ends the loan of wrapped memory. Called exactly once, on whichever thread lets go last, after every view and export
 * is gone; for memory with recorded uses or tasks, possibly on a thread of the library. free() fits.
 */
typedef void (*via_release_fn)(void *context);

/**
 * Allocates nbytes (more than 0) aligned to `alignment` bytes, and stores the address in *out_address. `stream` is
 * the native handle (a CUstream; 1 legacy, 2 per-thread) of the stream given to via_empty, NULL for none: the memory
 * need be usable only behind that stream's work so far. Returns 0, or anything else for failure. Called on the thread
 * that asks for memory.
 */
typedef int32_t (*via_alloc_fn)(int64_t nbytes, int64_t alignment, void *stream, void *context, void **out_address);

/**
 * Frees what the alloc callback gave, once the uses recorded have ended. `stream` is what alloc was given if that
 * stream is sure to live (made by via_stream_create, which the array holds; the legacy stream), else NULL: a foreign
 * stream may be gone. Called on whichever thread lets go last, or on a thread of the library.
 */
typedef void (*via_free_fn)(void *address, int64_t nbytes, void *stream, void *context);

/**
 * Tells that a task has ended: `status` is its via_status, `text` the error text ("" for VIA_OK), borrowed for the
 * call. Called exactly once, on a thread of the library (at most 64 calls at a time) or, if the task has ended already,
 * on the registering one.
 */
typedef void (*via_complete_fn)(int32_t status, const char *text, void *context);

/* -------------------------------------------------------------------------------------------- library */

/** The library's version: major * 1000000 + minor * 1000 + patch. */
VIA_API int32_t via_version(void);

/**
 * Checks that the library serves a program built against header version major.minor: the same major version, and at
 * least that minor one. Call it first: via_require(VIA_VERSION_MAJOR, VIA_VERSION_MINOR).
 * Errors: VIA_ERROR_VERSION.
 */
VIA_CHECKED via_status via_require(int32_t major, int32_t minor);

/** The name of a status, "VIA_ERROR_SHAPE" for 3; "VIA_ERROR_UNKNOWN" for a number that is none. Never NULL. */
VIA_API const char *via_status_name(int32_t status);

/**
 * What the calling thread's last failing call found: function, argument, found, expected, in valid UTF-8: other bytes,
 * as a file's name may have, are written as two hexadecimal digits behind a backslash and an x. Borrowed
 * until this thread's next failing call; "" before the first. Never NULL.
 */
VIA_API const char *via_last_error(void);

/** The errno or CUresult behind the calling thread's last failing call; 0 where there was none. */
VIA_API int32_t via_last_error_code(void);

/**
 * How many devices of a type can be used: 1 for VIA_DEVICE_CPU; for VIA_DEVICE_CUDA, 0 where the driver is missing or
 * unusable, and in the forked child of a process that used it (via_device_info says why). Loads the driver.
 * Errors: VIA_ERROR_INVALID_ARGUMENT for another type.
 */
VIA_CHECKED via_status via_device_count(int32_t device_type, int32_t *out_count);

/** What via_device_info tells. Texts end with a 0 byte. */
typedef struct via_device_properties {
    int32_t struct_size;        /**< of the struct, as its ..._INIT sets it */
    int32_t device_type;        /**< as asked for */
    int32_t device_id;          /**< as asked for */
    int32_t compute_capability; /**< major * 10 + minor for a CUDA device, else 0 */
    int32_t driver_version;     /**< as the CUDA driver numbers it (13000 for 13.0), else 0 */
    int32_t num_threads;        /**< threads that a host copy may use */
    int64_t total_bytes;        /**< memory of the device; for the CPU, what the process may have of the machine's */
    int64_t staging_bytes;      /**< page-locked memory that copies of that device may hold, else 0 */
    char name[128];             /**< the maker's name for it */
    char routes[512];           /**< a line for each route of a copy: on, or off and why */
} via_device_properties;
/** What a via_device_properties begins as: its size, and every default. */
#define VIA_DEVICE_PROPERTIES_INIT {(int32_t)sizeof(via_device_properties), 0, 0, 0, 0, 0, 0, 0, {0}, {0}}

/**
 * Describes one device, VIA_DEVICE_CPU or VIA_DEVICE_CUDA; *out_properties must be initialised with
 * VIA_DEVICE_PROPERTIES_INIT. Loads the driver, and makes no context. The CPU's routes tell why CUDA cannot be used.
 * Errors: VIA_ERROR_DEVICE, VIA_ERROR_UNSUPPORTED (no usable driver; the text says why), VIA_ERROR_FORKED.
 */
VIA_CHECKED via_status via_device_info(int32_t device_type, int32_t device_id, via_device_properties *out_properties);

/**
 * Sets how many threads, the caller's included, one host copy may use; 0 goes back to the default, which is
 * VIADUCT_NUM_THREADS or else the CPUs this process may run on. For copies that start later.
 * Errors: VIA_ERROR_INVALID_ARGUMENT below 0 or above 1024.
 */
VIA_CHECKED via_status via_set_num_threads(int32_t count);

/** How many threads one host copy may use now. */
VIA_API int32_t via_num_threads(void);

/**
 * Loads now, for one CUDA device, all that is otherwise loaded at first use, so that a later graph capture or a
 * timed section does not meet it: the primary context, retained for good, streams, events and staging memory. The
 * thread's current context stays. Errors: VIA_ERROR_UNSUPPORTED, VIA_ERROR_FORKED, VIA_ERROR_DEVICE, VIA_ERROR_CUDA.
 */
VIA_CHECKED via_status via_cuda_warmup(int32_t device_id);

/**
 * Measures where one copy route becomes faster than another between the host and a CUDA device, and uses the answer
 * from then on. Takes seconds; call it while nothing else copies. Errors: as via_cuda_warmup.
 */
VIA_CHECKED via_status via_calibrate(int32_t device_id);

/** Saves what via_calibrate found to a file, whose path is any bytes. Errors: VIA_ERROR_UNSUPPORTED, VIA_ERROR_IO. */
VIA_CHECKED via_status via_calibration_save(const char *path);

/**
 * Restores what via_calibration_save wrote. Errors: VIA_ERROR_UNSUPPORTED, VIA_ERROR_IO, VIA_ERROR_FORMAT (also for
 * something other than a regular file).
 */
VIA_CHECKED via_status via_calibration_load(const char *path);

/** What via_stats counts: all of it now, none of it since the start. */
typedef struct via_stats_info {
    int32_t struct_size;         /**< of the struct, as its ..._INIT sets it */
    int32_t pad;                 /**< not read */
    int64_t live_arrays;         /**< array handles not yet released by all who hold them, views included */
    int64_t live_storages;       /**< loans and allocations whose release has not run yet */
    int64_t outstanding_exports; /**< exported tensors whose consumers have not let go */
    int64_t pending_releases;    /**< releases that wait for work, or for other processes, that use the memory */
    int64_t host_bytes;          /**< bytes allocated here, by kind; neither wrapped memory is counted nor pool memory
                                      that goes back to the driver once the work that uses it is done */
    int64_t pinned_bytes;        /**< the same of page-locked host memory, without staged_bytes */
    int64_t device_bytes;        /**< the same of device memory */
    int64_t managed_bytes;       /**< the same of managed memory */
    int64_t staged_bytes;        /**< page-locked memory held for staging */
    int64_t pending_tasks;       /**< tasks that have not ended */
} via_stats_info;
/** What a via_stats_info begins as: its size, and every default. */
#define VIA_STATS_INFO_INIT {(int32_t)sizeof(via_stats_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/** Counts what is alive. While other threads work, the numbers are of slightly different moments. */
VIA_CHECKED via_status via_stats(via_stats_info *out_stats);

/* --------------------------------------------------------------------------------------------- dtypes */

/** The dtype of a record of `nbytes` bytes (a C struct: pass its sizeof); 0 if nbytes is below 1 or over 2^30. */
VIA_API int32_t via_dtype_record(int64_t nbytes);

/** 1 if the number is a dtype, else 0. */
VIA_API int32_t via_dtype_is_valid(int32_t dtype);

/** Bits of one element, lanes included; 0 if the number is no dtype. */
VIA_API int64_t via_dtype_bits(int32_t dtype);

/**
 * The dtype's name: NumPy's where NumPy has one ("float32", "complex128"), else ml_dtypes' ("bfloat16",
 * "float8_e4m3fn"); "float32x4" with lanes, "record12" for a record of 12 bytes. Writes at most `capacity` bytes,
 * the ending 0 included. Errors: VIA_ERROR_DTYPE, VIA_ERROR_INVALID_ARGUMENT (too short: 32 is enough).
 */
VIA_CHECKED via_status via_dtype_name(int32_t dtype, int64_t capacity, char *out_name);

/** The dtype of a name that via_dtype_name gives. Errors: VIA_ERROR_DTYPE. */
VIA_CHECKED via_status via_dtype_from_name(const char *name, int32_t *out_dtype);

/* ------------------------------------------------------------------------------------------------ wrap */

/**
 * Makes an array of memory that exists. Nothing is copied and nothing is touched.
 *
 * @param address     the element with index 0 everywhere (strides may be negative); NULL only if there are no elements
 * @param dtype       the element type; negative for a record of that many bytes
 * @param ndim        number of dimensions, 0 to VIA_MAX_NDIM
 * @param shape       ndim extents, each 0 or more; NULL only if ndim is 0. Copied.
 * @param strides     ndim steps in elements (in bytes with VIA_WRAP_BYTE_STRIDES); NULL for row-major. Copied.
 * @param device_type where the memory is; VIA_DEVICE_ANY to find out, which loads the CUDA driver
 * @param device_id   which device; 0 for host, pinned and managed memory
 * @param flags       VIA_WRAP_... or-ed together
 * @param release     called once when nobody uses the memory any more; NULL if it outlives every use
 * @param context     handed to release
 * @param out_array   the array
 *
 * On success the memory is lent until `release` runs. On failure `release` is never called and the memory is as it
 * was. CUDA memory is looked up in the driver, in about 0.1 us, unless there are no elements or VIA_WRAP_UNCHECKED is
 * set: it must be of that kind and on that device, the allocation must hold the whole array, and memory that may only
 * be read makes no writable array. Managed memory may be named as a device's. Adjacent mappings of virtual memory may
 * carry one array; of an allocator that parcels out one allocation, only that allocation is known. An address that was
 * freed in stream order, or is in use again, need not be noticed. Ordinary memory is no device memory even where a
 * device reaches it: name it VIA_DEVICE_CPU. A host address is taken on trust, which costs nothing, unless its place is
 * to be found out or VIA_WRAP_PROBE is set; then its first and last byte must be readable.
 * Errors: VIA_ERROR_INVALID_ARGUMENT, VIA_ERROR_DTYPE, VIA_ERROR_SHAPE, VIA_ERROR_OVERFLOW, VIA_ERROR_DEVICE (another
 * kind, another device, none such), VIA_ERROR_POINTER (unknown, or the array reaches outside), VIA_ERROR_READ_ONLY,
 * VIA_ERROR_UNSUPPORTED, VIA_ERROR_FORKED, VIA_ERROR_CUDA, VIA_ERROR_OUT_OF_MEMORY.
 */
VIA_CHECKED via_status via_wrap(void *address, int32_t dtype, int32_t ndim, const int64_t *shape,
                                const int64_t *strides, int32_t device_type, int32_t device_id, int32_t flags,
                                via_release_fn release, void *context, via_array **out_array);

/** One more owner of the handle. Any thread. */
VIA_API void via_array_retain(via_array *array);

/** One owner less; the last one ends the handle, and the loan with it once views and exports are gone too. */
VIA_API void via_array_release(via_array *array);

/* --------------------------------------------------------------------------------------------- inspect */

/** The address of the element with index 0 everywhere. NULL for an array without elements that was given none. */
VIA_API void *via_array_data(via_array *array);

/** The element type. */
VIA_API int32_t via_array_dtype(via_array *array);

/** The number of dimensions. */
VIA_API int32_t via_array_ndim(via_array *array);

/** The ndim extents, borrowed from the array; NULL if ndim is 0. */
VIA_API const int64_t *via_array_shape(via_array *array);

/**
 * The ndim strides in elements (Python's count bytes), borrowed; NULL if ndim is 0 or some stride is not a whole number
 * of elements.
 */
VIA_API const int64_t *via_array_strides(via_array *array);

/** The ndim strides in bytes, as Python's, borrowed; NULL if ndim is 0 or some stride is not a whole number of bytes.
 */
VIA_API const int64_t *via_array_byte_strides(via_array *array);

/** Where the memory is: a VIA_DEVICE_... */
VIA_API int32_t via_array_device_type(via_array *array);

/** Which device; 0 for host, pinned and managed memory. */
VIA_API int32_t via_array_device_id(via_array *array);

/** The number of elements. */
VIA_API int64_t via_array_size(via_array *array);

/** The bytes of all elements, as a dense array would hold them (elements below a byte packed, unless padded). */
VIA_API int64_t via_array_nbytes(via_array *array);

/** VIA_ARRAY_... or-ed together. */
VIA_API int32_t via_array_flags(via_array *array);

/** 1 if the elements lie dense in that VIA_ORDER_..., else 0. Extents of 1 have no say; no elements means 1. */
VIA_API int32_t via_array_is_contiguous(via_array *array, int32_t order);

/**
 * The context that the array's memory was wrapped with, if `release` is the function it was wrapped with; else NULL.
 * So a producer recovers its own object from a view of it, and nobody mistakes another's.
 */
VIA_API void *via_array_context(via_array *array, via_release_fn release);

/** What via_pointer_query tells. */
typedef struct via_pointer_info {
    int32_t struct_size; /**< of the struct, as its ..._INIT sets it */
    int32_t device_type; /**< VIA_DEVICE_CPU for memory that no device knows */
    int32_t device_id;   /**< which device; 0 for host, pinned and managed memory */
    int32_t read_only;   /**< 1 if the memory cannot be written */
    void *base_address;  /**< start of the allocation; of the mapping, for host and mapped device memory */
    int64_t nbytes;      /**< its size; 0 and base_address NULL if the driver does not say */
} via_pointer_info;
/** What a via_pointer_info begins as: its size, and every default. */
#define VIA_POINTER_INFO_INIT {(int32_t)sizeof(via_pointer_info), 0, 0, 0, 0, 0}

/**
 * Finds out what an address points to; *out_info must be initialised with VIA_POINTER_INFO_INIT. Host memory that was
 * page-locked, by whomever, is VIA_DEVICE_CUDA_HOST. Loads the CUDA driver where there is one, and may be called during
 * a capture. A snapshot: the memory may be gone a moment later. Errors: VIA_ERROR_POINTER for an address that is no
 * memory; VIA_ERROR_CUDA where the driver cannot be asked (inside its callbacks); VIA_ERROR_IO where /proc/self/maps
 * cannot be read.
 */
VIA_CHECKED via_status via_pointer_query(const void *address, via_pointer_info *out_info);

/* ----------------------------------------------------------------------------------------------- views */
/*
 * A view shares the memory of its array and holds it: the array may be released first. No view copies; where only a
 * copy could do it the answer is VIA_ERROR_NEEDS_COPY. A view of a read-only array is read-only. Each view is a new
 * handle, to be released. On failure *out_array is NULL and the array is as it was.
 */

/**
 * `count[i]` elements of each axis, from index start[i] on, step[i] apart (not 0; negative goes backwards). NULL for
 * start means 0, for step 1, for count as many as there are. All elements named must exist.
 * Errors: VIA_ERROR_INDEX, VIA_ERROR_INVALID_ARGUMENT; VIA_ERROR_NEEDS_COPY if the view of elements narrower than a
 * byte would start inside one.
 */
VIA_CHECKED via_status via_array_slice(via_array *array, const int64_t *start, const int64_t *count,
                                       const int64_t *step, via_array **out_array);

/** The array without `axis`, at `index` along it; both count from the end if negative. Errors: as via_array_slice. */
VIA_CHECKED via_status via_array_select(via_array *array, int32_t axis, int64_t index, via_array **out_array);

/** Axis i of the view is axis axes[i] of the array; NULL reverses them. Errors: VIA_ERROR_INDEX. */
VIA_CHECKED via_status via_array_permute(via_array *array, const int32_t *axes, via_array **out_array);

/**
 * The same elements in row-major order under another shape; one extent may be -1, to be worked out.
 * Errors: VIA_ERROR_SHAPE, VIA_ERROR_OVERFLOW, VIA_ERROR_NEEDS_COPY.
 */
VIA_CHECKED via_status via_array_reshape(via_array *array, int32_t ndim, const int64_t *shape, via_array **out_array);

/**
 * Repeats extents of 1, and adds axes in front, by strides of 0; the result is read-only.
 * Errors: VIA_ERROR_SHAPE, VIA_ERROR_OVERFLOW.
 */
VIA_CHECKED via_status via_array_broadcast(via_array *array, int32_t ndim, const int64_t *shape, via_array **out_array);

/**
 * Drops the `count` axes named, each of extent 1 (negative ones count from the end); axes NULL and count 0 drops
 * every axis of extent 1. Errors: VIA_ERROR_INDEX, VIA_ERROR_SHAPE.
 */
VIA_CHECKED via_status via_array_squeeze(via_array *array, int32_t count, const int32_t *axes, via_array **out_array);

/**
 * Adds an axis of extent 1 so that it becomes `axis` (0 to ndim; negative counts from the end).
 * Errors: VIA_ERROR_INDEX, VIA_ERROR_SHAPE (VIA_MAX_NDIM axes already).
 */
VIA_CHECKED via_status via_array_expand(via_array *array, int32_t axis, via_array **out_array);

/**
 * The same bytes as elements of another dtype. With another element size the last axis must be dense and hold a
 * whole number of the new elements; an array of no dimensions keeps its size.
 * Errors: VIA_ERROR_DTYPE, VIA_ERROR_NEEDS_COPY, VIA_ERROR_SHAPE.
 */
VIA_CHECKED via_status via_array_reinterpret(via_array *array, int32_t dtype, via_array **out_array);

/**
 * One field of every element: `dtype` at `byte_offset` inside it. ndim and shape append the axes of a field that is
 * itself a row-major array (0 and NULL for a single value). The array's elements must be whole bytes: records, but
 * also the real or imaginary half of a complex number.
 * Errors: VIA_ERROR_DTYPE, VIA_ERROR_INDEX, VIA_ERROR_SHAPE, VIA_ERROR_OVERFLOW.
 */
VIA_CHECKED via_status via_array_field(via_array *array, int64_t byte_offset, int32_t dtype, int32_t ndim,
                                       const int64_t *shape, via_array **out_array);

/** The same array, not to be written. */
VIA_CHECKED via_status via_array_as_read_only(via_array *array, via_array **out_array);

/* ---------------------------------------------------------------------------------------------- create */

/**
 * A place to allocate from: `kind` is a VIA_MEMORY_..., device_id the CUDA device (0 for host memory). Pinned and
 * managed memory is made for that device and reached by all, so its arrays have the device id 0. Allocations are made
 * in the thread's current context if that is the device's, else in the primary one, which is retained; a context that
 * is reset or destroyed takes its memory with it.
 * Errors: VIA_ERROR_INVALID_ARGUMENT, VIA_ERROR_DEVICE, VIA_ERROR_UNSUPPORTED, VIA_ERROR_FORKED,
 * VIA_ERROR_OUT_OF_MEMORY.
 */
VIA_CHECKED via_status via_memory_create(int32_t kind, int32_t device_id, via_memory **out_memory);

/**
 * The caller's own allocator, for memory of device_type and device_id. What it gives for a CUDA device is looked up as
 * via_wrap does, and given back if it is something else. `release` (may be NULL) is called once, after the handle and
 * every array made from it are gone. On failure it is not called.
 * Errors: VIA_ERROR_INVALID_ARGUMENT, VIA_ERROR_DEVICE, VIA_ERROR_UNSUPPORTED, VIA_ERROR_FORKED,
 * VIA_ERROR_OUT_OF_MEMORY.
 */
VIA_CHECKED via_status via_memory_create_custom(int32_t device_type, int32_t device_id, via_alloc_fn alloc,
                                                void *alloc_context, via_free_fn free_memory, void *free_context,
                                                via_release_fn release, void *context, via_memory **out_memory);

/** One more owner of the handle. */
VIA_API void via_memory_retain(via_memory *memory);

/** One owner less; arrays made from it keep what they need. */
VIA_API void via_memory_release(via_memory *memory);

/** Where its memory is: a VIA_DEVICE_... */
VIA_API int32_t via_memory_device_type(via_memory *memory);

/** Which device; 0 for host, pinned and managed memory. */
VIA_API int32_t via_memory_device_id(via_memory *memory);

/**
 * A new row-major array, its elements not initialised. `memory` NULL means host memory. `stream` orders the
 * allocation of VIA_MEMORY_DEVICE_POOL (NULL is the device's legacy stream) and of the caller's own CUDA allocator
 * (NULL is none); it must be NULL for every other kind. Then the array is ready behind that stream's work so far: later
 * work of the stream may use the memory at once. The memory is freed once the uses recorded have ended
 * (via_array_record_stream), which holds nobody up; uses that were not recorded are not waited for. Allocating and
 * releasing disturb no capture.
 * Errors: VIA_ERROR_INVALID_ARGUMENT, VIA_ERROR_DTYPE, VIA_ERROR_SHAPE, VIA_ERROR_OVERFLOW, VIA_ERROR_OUT_OF_MEMORY,
 * VIA_ERROR_CALLBACK; VIA_ERROR_POINTER, VIA_ERROR_DEVICE (what the caller's allocator gave, or the stream's device);
 * VIA_ERROR_STREAM_CAPTURE (pool memory on a stream being captured), VIA_ERROR_CUDA, VIA_ERROR_FORKED.
 */
VIA_CHECKED via_status via_empty(via_memory *memory, int32_t dtype, int32_t ndim, const int64_t *shape,
                                 via_stream *stream, via_array **out_array);

/* -------------------------------------------------------------------------------------------- exchange */
/*
 * Exports hold the array: its handle may be released first. Imports consume on success only: then the tensor belongs
 * to the library, which calls its deleter when the last view lets go (or at once, if the import copied). On any
 * failure the tensor is untouched and still the caller's, who ends it with via_dlpack_delete.
 *
 * Streams. An export of CUDA memory makes `stream` wait until the array is ready; NULL means the legacy default
 * stream, via_stream_no_sync() leaves ordering to the caller. What the consumer does later is not covered by that. For
 * host memory `stream` is NULL (or no_sync) and the export waits on the host; so it does for pinned and managed memory,
 * unless a stream is given. An import takes the tensor as ready after the stream's work so far: NULL means the legacy
 * stream for CUDA and managed memory, and that it is ready now for host and pinned memory.
 *
 * Devices. An import of CUDA, pinned or managed memory is looked up in the driver: it must be of the kind and device
 * named, though managed memory may go as a device's. Pinned and managed memory have device_id 0; other ids are taken.
 */

/** Options of DLPack export and import. */
typedef struct via_dlpack_options {
    int32_t struct_size; /**< of the struct, as its ..._INIT sets it */
    int32_t max_major;   /**< newest DLPack version the consumer takes; 0.0 for no limit */
    int32_t max_minor;   /**< the part after the point */
    /** Where the result must be; VIA_DEVICE_ANY for where it is. Pinned and managed memory is lent as the host's, and
     * managed memory as a CUDA device's, without a copy; any other move is one. */
    int32_t target_device_type;
    int32_t target_device_id; /**< which of them */
    int32_t copy;             /**< VIA_COPY_... */
} via_dlpack_options;
/** What a via_dlpack_options begins as: its size, and every default. */
#define VIA_DLPACK_OPTIONS_INIT {(int32_t)sizeof(via_dlpack_options), 0, 0, 0, 0, 0}

/**
 * Lends the array as a DLPack 1.x tensor; options may be NULL. The caller hands *out_tensor on, or ends it with
 * via_dlpack_delete. Records have no DLPack form; strides that are not whole elements have none without a copy.
 * Errors: VIA_ERROR_EXCHANGE, VIA_ERROR_VERSION (max version below 1.0: use via_to_dlpack_legacy),
 * VIA_ERROR_NEEDS_COPY, VIA_ERROR_DEVICE, VIA_ERROR_UNSUPPORTED, VIA_ERROR_OUT_OF_MEMORY.
 */
VIA_CHECKED via_status via_to_dlpack(via_array *array, const via_dlpack_options *options, via_stream *stream,
                                     struct DLManagedTensorVersioned **out_tensor);

/**
 * Takes a DLPack 1.x tensor over as an array; options may be NULL (max version is not read). Every field is checked.
 * Errors: VIA_ERROR_VERSION (another major version), VIA_ERROR_EXCHANGE, VIA_ERROR_DTYPE, VIA_ERROR_SHAPE,
 * VIA_ERROR_OVERFLOW, VIA_ERROR_DEVICE, VIA_ERROR_NEEDS_COPY, VIA_ERROR_UNSUPPORTED, VIA_ERROR_OUT_OF_MEMORY.
 */
VIA_CHECKED via_status via_from_dlpack(struct DLManagedTensorVersioned *tensor, const via_dlpack_options *options,
                                       via_stream *stream, via_array **out_array);

/** As via_to_dlpack in the form before 1.0, which has no flags: a read-only array is refused unless it is copied. */
VIA_CHECKED via_status via_to_dlpack_legacy(via_array *array, const via_dlpack_options *options, via_stream *stream,
                                            struct DLManagedTensor **out_tensor);

/** As via_from_dlpack for the form before 1.0. The array is writable, since the form cannot say otherwise. */
VIA_CHECKED via_status via_from_dlpack_legacy(struct DLManagedTensor *tensor, const via_dlpack_options *options,
                                              via_stream *stream, via_array **out_array);

/** Calls the tensor's deleter, if it has one. For a tensor that nobody took, of any major version. NULL is ignored. */
VIA_API void via_dlpack_delete(struct DLManagedTensorVersioned *tensor);

/** The same for the form before 1.0. */
VIA_API void via_dlpack_delete_legacy(struct DLManagedTensor *tensor);

/**
 * NumPy's __array_interface__ and the __cuda_array_interface__ (both version 3) as one flat struct: what the Python
 * dictionary holds, with nothing to own.
 */
typedef struct via_array_interface {
    int32_t struct_size; /**< of the struct, as its ..._INIT sets it */
    int32_t version;     /**< 3 */
    int32_t ndim;        /**< number of dimensions */
    int32_t read_only;   /**< 1: not to be written */
    int32_t has_strides; /**< 0: row-major, strides not read */
    int32_t has_stream;  /**< CUDA only: 1 if `stream` is meant, 0 for None */
    int64_t stream;      /**< CUDA only: 1 legacy, 2 per-thread, else the address of a CUstream; never 0 */
    void *address;       /**< NULL if there are no elements */
    int64_t shape[64];   /**< ndim extents */
    int64_t strides[64]; /**< ndim strides in bytes */
    char typestr[16];    /**< as NumPy writes it, "<f4"; "|V12" for a record */
} via_array_interface;
/** What a via_array_interface begins as: its size, and every default. */
#define VIA_ARRAY_INTERFACE_INIT {(int32_t)sizeof(via_array_interface), 0, 0, 0, 0, 0, 0, 0, {0}, {0}, {0}}

/**
 * Describes host, pinned or managed memory as __array_interface__ does, once it is ready; *out_description must be
 * initialised with VIA_ARRAY_INTERFACE_INIT. It borrows: the array must outlive its use.
 * Errors: VIA_ERROR_EXCHANGE (no typestr for this dtype, or memory of a CUDA device).
 */
VIA_CHECKED via_status via_to_array_interface(via_array *array, via_array_interface *out_description);

/** Wraps what an __array_interface__ describes; release and context as in via_wrap. Errors: as via_wrap. */
VIA_CHECKED via_status via_from_array_interface(const via_array_interface *description, via_release_fn release,
                                                void *context, via_array **out_array);

/**
 * Describes CUDA, pinned or managed memory as __cuda_array_interface__ does, after making `stream` wait until it is
 * ready; the description names that stream. NULL means the legacy stream, no_sync orders and names none. It borrows.
 * Errors: VIA_ERROR_EXCHANGE (no typestr for this dtype, or ordinary host memory); the driver's.
 */
VIA_CHECKED via_status via_to_cuda_array_interface(via_array *array, via_stream *stream,
                                                   via_array_interface *out_description);

/**
 * Wraps what a __cuda_array_interface__ describes, ready after the stream it names, or now if it names none; release
 * and context as in via_wrap. The driver tells which device, pinned or managed memory it is; memory without elements is
 * taken as device 0's.
 * Errors: as via_wrap; VIA_ERROR_EXCHANGE for stream 0; VIA_ERROR_POINTER for memory that the driver does not know;
 * VIA_ERROR_UNSUPPORTED without CUDA.
 */
VIA_CHECKED via_status via_from_cuda_array_interface(const via_array_interface *description, via_release_fn release,
                                                     void *context, via_array **out_array);

/**
 * Lends a row-major numeric array through Arrow's C device interface: one dimension as a plain column, more as the
 * canonical extension type arrow.fixed_shape_tensor. The structs are the caller's, uninitialised, and end with their
 * own release members or via_arrow_release; on failure both are zeroed, which is released. Arrow cannot say read-only:
 * consumers must treat columns as immutable. Memory of a device that is not ready goes with a sync_event, which the
 * column owns; other memory is waited for on the host.
 * Errors: VIA_ERROR_EXCHANGE (a dtype without Arrow type, no dimension), VIA_ERROR_NEEDS_COPY (not row-major),
 * VIA_ERROR_OVERFLOW (a row of more than 2^31 - 1 values), VIA_ERROR_OUT_OF_MEMORY; the driver's.
 */
VIA_CHECKED via_status via_to_arrow_device(via_array *array, struct ArrowSchema *out_schema,
                                           struct ArrowDeviceArray *out_array);

/**
 * Takes over an Arrow device array without nulls, of a primitive type or (nested) fixed-size lists of one; the result
 * is read-only. On success both structs have been consumed (their release members are NULL); on failure neither.
 * Metadata of arrow.fixed_shape_tensor gives the axes: shape, turned as permutation says; dim_names are checked, not
 * kept. The array is ready when the column's sync_event has been reached; `stream`, if it is one, is made to wait for
 * that. Errors: VIA_ERROR_EXCHANGE, VIA_ERROR_DTYPE, VIA_ERROR_SHAPE (too many nested lists), VIA_ERROR_OVERFLOW,
 * VIA_ERROR_INVALID_ARGUMENT (a stream for host memory), VIA_ERROR_DEVICE, VIA_ERROR_POINTER, VIA_ERROR_UNSUPPORTED,
 * VIA_ERROR_OUT_OF_MEMORY; the driver's.
 */
VIA_CHECKED via_status via_from_arrow_device(struct ArrowSchema *schema, struct ArrowDeviceArray *column,
                                             via_stream *stream, via_array **out_array);

/** Releases whichever of the two is not NULL and not yet released. */
VIA_API void via_arrow_release(struct ArrowSchema *schema, struct ArrowDeviceArray *column);

/*
 * Other processes of the host. An array whose memory is of VIA_MEMORY_SHARED or of a CUDA device's own allocation
 * (VIA_MEMORY_DEVICE, cuMemAlloc, cudaMalloc; not of pools, mappings, pinned or managed memory) can be used by other
 * processes in place. What the exporter sends them, by any means, is plain bytes; any number of processes may import
 * them, any number of times, as long as an array of the exporter holds the memory. An import holds it too, in a process
 * of its own: it may outlive the exporter's arrays, and the exporter. Nothing is left behind, whoever crashes.
 *
 * Host memory goes back to the system when nobody has it mapped. Device memory goes back to its owner (release, free)
 * when the exporter has no array of it and every importer has let go or has died; it stays usable for importers after
 * the exporter's death. A forked child of an importer counts as that importer until both have ended or called exec.
 *
 * Both processes are of one user and one process namespace, whose /proc is mounted. One descriptor is open for each
 * allocation of VIA_MEMORY_SHARED, for each of a device that has been exported, and for each import. Later work is
 * ordered by the processes themselves.
 */

enum {
    VIA_IPC_MAX_BYTES = 1280 /**< no description of an array for other processes is longer */
};

/**
 * Describes the array for via_array_import_ipc: *out_length bytes, written to out_bytes if they are no more
 * than `capacity`; NULL and 0 ask for the length. Waits on the host until the array is ready.
 * Errors: VIA_ERROR_UNSUPPORTED (memory that cannot be shared), VIA_ERROR_POINTER, VIA_ERROR_IO,
 * VIA_ERROR_OUT_OF_MEMORY, VIA_ERROR_CUDA, VIA_ERROR_FORKED.
 */
VIA_CHECKED via_status via_array_export_ipc(via_array *array, int64_t capacity, void *out_bytes, int64_t *out_length);

/**
 * Takes in an array that another process described, at an address of this process. Read-only arrays stay so. Every
 * byte is checked, and the array lies within the memory. Device memory cannot be imported by the process it is of.
 * Errors: VIA_ERROR_EXCHANGE (not such bytes, or the memory is no longer shared), VIA_ERROR_VERSION, VIA_ERROR_DEVICE
 * (a device that this process does not see), VIA_ERROR_IO (not permitted), VIA_ERROR_OUT_OF_MEMORY,
 * VIA_ERROR_UNSUPPORTED, VIA_ERROR_CUDA, VIA_ERROR_FORKED; those of via_wrap for the description itself.
 */
VIA_CHECKED via_status via_array_import_ipc(const void *bytes, int64_t length, via_array **out_array);

/* ----------------------------------------------------------------------------------------------- order */
/*
 * Streams and events are CUDA's. Where CUDA cannot be used every call here answers VIA_ERROR_UNSUPPORTED and says why;
 * in the forked child of a process that used it, VIA_ERROR_FORKED, while retain and release go on working. A device
 * that is not there is VIA_ERROR_DEVICE, a failure of the driver VIA_ERROR_CUDA with the driver's own name in the text.
 *
 * Four handles are four different things: via_stream_legacy(), via_stream_per_thread(), via_stream_no_sync(), which is
 * no stream and is taken by exchange alone, and NULL, which means what the function says. The shared ones exist
 * everywhere and are borrowed: retain and release do nothing to them. The legacy and per-thread streams are those of
 * the device at hand (the array's or the event's; else that of the current context, else 0): of the thread's current
 * context if that is the device's, else of its primary one. They are looked up anew in every call. No call here needs
 * a context to be current, and none changes which one is.
 *
 * Handles may be used by any thread. A stream or event whose context has been reset or destroyed is refused with
 * VIA_ERROR_CUDA and may still be released. A foreign stream or event that its owner destroyed must not be used any
 * more: the driver does not survive it, and nobody can tell.
 *
 * Graph capture. A stream may be captured by whoever owns it; nothing here disturbs a capture on another stream. What
 * cannot be captured is refused with VIA_ERROR_STREAM_CAPTURE before anything is touched, so that the capture goes on:
 * to ask or to wait for a captured stream, to wait across the border of a capture, and any use of the legacy stream
 * while a blocking stream of its context is captured.
 */

/**
 * A new stream of a device, not synchronising with the legacy stream; in the thread's current context if that is the
 * device's, else in the primary one. Errors: VIA_ERROR_DEVICE, VIA_ERROR_OUT_OF_MEMORY.
 */
VIA_CHECKED via_status via_stream_create(int32_t device_id, via_stream **out_stream);

/**
 * A foreign CUstream as a handle. The stream stays its owner's and must live until the work queued through the handle
 * is done, and until the handle is used no more. Handle values 0 and 1 are the legacy stream, 2 the calling thread's.
 * device_id -1 means the stream's own device; for the three values, that of the memory which it is used with. Allowed
 * while the stream is captured. Errors: VIA_ERROR_DEVICE, also for a stream of another device; VIA_ERROR_CUDA.
 */
VIA_CHECKED via_status via_stream_wrap(void *native_stream, int32_t device_id, via_stream **out_stream);

/** CUDA's legacy default stream. Borrowed, never NULL. */
VIA_API via_stream *via_stream_legacy(void);

/** CUDA's per-thread default stream: of whichever thread makes the call it is passed to. Borrowed, never NULL. */
VIA_API via_stream *via_stream_per_thread(void);

/** Not a stream: "do not order anything", for exchange. Borrowed, never NULL. */
VIA_API via_stream *via_stream_no_sync(void);

/** One more owner of the handle. */
VIA_API void via_stream_retain(via_stream *stream);

/**
 * One owner less. The last one ends a stream made by via_stream_create, without waiting: what was queued still runs.
 * Allowed anywhere, in a callback of the driver too; a capture of that very stream ends with it.
 */
VIA_API void via_stream_release(via_stream *stream);

/** The CUstream; 1 and 2 for legacy and per-thread streams, NULL for no_sync. */
VIA_API void *via_stream_handle(via_stream *stream);

/** The stream's device; 0 for the shared streams, which are of no particular one. */
VIA_API int32_t via_stream_device_id(via_stream *stream);

/** Waits on the host until the stream's work so far is done. Errors: VIA_ERROR_STREAM_CAPTURE, VIA_ERROR_CUDA. */
VIA_CHECKED via_status via_stream_synchronize(via_stream *stream);

/** Stores 1 if the stream's work so far is done, else 0. Errors: as via_stream_synchronize. */
VIA_CHECKED via_status via_stream_query(via_stream *stream, int32_t *out_done);

/**
 * Makes `stream` the calling thread's current one for a device, and holds it until another is set or the thread ends;
 * NULL goes back to the legacy stream. Errors: VIA_ERROR_DEVICE, also for a stream of another device.
 */
VIA_CHECKED via_status via_stream_set_current(int32_t device_id, via_stream *stream);

/** The calling thread's current stream for a device, at first the device's legacy stream; the caller's to release. */
VIA_CHECKED via_status via_stream_current(int32_t device_id, via_stream **out_stream);

/**
 * Makes later work of the stream wait, on the device, for what the event marks now; an event that was never recorded
 * marks nothing. Event and stream may be of different contexts and devices. On a captured stream the event must have
 * been recorded in the same capture; recorded in a capture, it draws any other stream into that capture.
 */
VIA_CHECKED via_status via_stream_wait(via_stream *stream, via_event *marker);

/** A new event of a device, without timing, in the context that via_stream_create would choose. */
VIA_CHECKED via_status via_event_create(int32_t device_id, via_event **out_event);

/** A foreign CUevent as a handle; it stays its owner's, and must live as long as the handle is used. */
VIA_CHECKED via_status via_event_wrap(void *native_event, int32_t device_id, via_event **out_event);

/** One more owner of the handle. */
VIA_API void via_event_retain(via_event *marker);

/** One owner less; who already waits for the event goes on waiting. Allowed anywhere, as via_stream_release is. */
VIA_API void via_event_release(via_event *marker);

/** The CUevent. */
VIA_API void *via_event_handle(via_event *marker);

/**
 * Marks the end of the stream's work so far, in the place of what was marked before. On a captured stream it marks a
 * place in the graph, for via_stream_wait only. Errors: VIA_ERROR_DEVICE, VIA_ERROR_INVALID_ARGUMENT for a stream of
 * another device or context.
 */
VIA_CHECKED via_status via_event_record(via_event *marker, via_stream *stream);

/** Stores 1 if the marked point has been reached, else 0. Errors: VIA_ERROR_STREAM_CAPTURE, VIA_ERROR_CUDA. */
VIA_CHECKED via_status via_event_query(via_event *marker, int32_t *out_done);

/** Waits on the host until the marked point has been reached. Errors: as via_event_query. */
VIA_CHECKED via_status via_event_synchronize(via_event *marker);

/**
 * The memory, of any kind, is used by the stream's work so far: its release waits for that, and comes from a thread of
 * the library if it has to wait. A point is marked now; the stream itself is not kept. On a captured stream the graph
 * and its instances hold the memory instead, for as long as they live.
 */
VIA_CHECKED via_status via_array_record_stream(via_array *array, via_stream *stream);

/**
 * The content is written by the stream's work so far: reads and exports wait for that, and so does the release. A
 * point is marked now, in the place of the one before. On a captured stream: as via_array_record_stream.
 */
VIA_CHECKED via_status via_array_set_ready(via_array *array, via_stream *stream);

/** 1 if nothing that is known of still writes the content, else 0: an export would have nothing to wait for. */
VIA_API int32_t via_array_is_ready(via_array *array);

/** Waits on the host until the content is ready; for pinned and managed memory, before the CPU reads it. */
VIA_CHECKED via_status via_array_synchronize(via_array *array);

/* ------------------------------------------------------------------------------------------------ copy */
/*
 * A copy takes two arrays of equal shape and dtype, of any layout; the source may be broadcast (strides of 0) and go
 * backwards. Gaps of the destination are not written. Refused: a destination that is read-only or overlaps itself
 * (VIA_ERROR_READ_ONLY, VIA_ERROR_OVERLAP), arrays that overlap each other (VIA_ERROR_OVERLAP), other shapes or
 * dtypes (VIA_ERROR_SHAPE, VIA_ERROR_DTYPE). Whatever is refused was not touched.
 *
 * Places. The arrays may be anywhere, on two devices too: peer access need not be switched on, and is not. Any layout
 * does. What a device's copy engines cannot do, kernels of the library do, on each device with its own memory, and
 * threads of the host with memory of the host's: via_copy_explain tells. Where a device has no kernels (via_device_info
 * says why), strided copies between it and the host take longer, and others answer VIA_ERROR_UNSUPPORTED, as do those
 * that would take a stream thousands of calls. Bytes that lie between elements of a source, less than a page apart, may
 * be read along with them. Host memory that somebody has page-locked is noticed where that makes a difference. The
 * first strided copy of a context loads the kernels, which waits for the context's work; via_cuda_warmup does so
 * beforehand. A strided copy needs a stream of the device that the memory is on, or of one of the two. For strided
 * copies to and from the host a device keeps up to 128 MiB of its memory once there have been some.
 * Elements narrower than a byte whose runs or strides are no whole bytes are copied bit by bit, by one thread of the
 * host; what a device has of them passes through the host's memory, and each call waits for it.
 *
 * Order. Every copy comes after the points at which both arrays are ready (via_array_set_ready, imports, earlier
 * asynchronous copies), and its destination is ready when it has run; recorded uses are not waited for. The streams
 * below may be of any context; a special one means that of the device that has an array: of two devices the current
 * one, else dst's; without any, the current one, else 0. No stream ever waits for the CPU.
 *
 * Threads. All of these may be called from any thread at once. None needs a current context or leaves another one.
 * Errors of all: VIA_ERROR_CUDA, VIA_ERROR_FORKED, VIA_ERROR_UNSUPPORTED (no usable driver), VIA_ERROR_OUT_OF_MEMORY.
 */

/**
 * Copies, and returns when every stream and the host see the result. With CUDA, pinned or managed memory it comes after
 * the legacy stream's work, on both devices if there are two.
 * Errors: also VIA_ERROR_STREAM_CAPTURE where the legacy stream cannot be used because a blocking stream is captured.
 */
VIA_CHECKED via_status via_copy(via_array *dst, via_array *src);

/**
 * Copies in stream order; NULL is the legacy stream. Where CUDA is not in use, NULL between arrays of host memory
 * copies as via_copy does: it needs no device and starts no driver. Both arrays are held until it has run. From
 * pageable host memory the source has been read on return, and the call may wait for earlier work of the stream; to
 * pageable memory, and within host memory, the data has arrived on return. On a stream being captured the copy becomes
 * part of the graph, which holds both arrays, and allocates and frees what memory the copy takes in between; pageable
 * memory, strided copies without a device's memory, those whose kernels have not been loaded, and those between two
 * devices that take work of both are refused then. Errors: also VIA_ERROR_STREAM_CAPTURE, VIA_ERROR_INVALID_ARGUMENT
 * (via_stream_no_sync() is no stream).
 */
VIA_CHECKED via_status via_copy_async(via_array *dst, via_array *src, via_stream *stream);

/**
 * Starts a copy after the stream's work so far, and returns at once, wherever the memory is; NULL (or
 * via_stream_no_sync()) is no stream: name the legacy one to wait for it. Later work of the stream is ordered after it
 * only by via_task_join. Both arrays are held until it has ended, dst being ready then. Between arrays of host memory
 * it needs no device.
 * Errors: also VIA_ERROR_STREAM_CAPTURE for a stream being captured.
 */
VIA_CHECKED via_status via_copy_submit(via_array *dst, via_array *src, via_stream *stream, via_task **out_task);

/**
 * Copies `count` pairs of arrays as via_copy_async does; the pairs must not overlap one another. All are checked before
 * the first is touched. Errors: as via_copy_async.
 */
VIA_CHECKED via_status via_copy_batch(int32_t count, via_array *const *dsts, via_array *const *srcs,
                                      via_stream *stream);

/**
 * Copies nbytes between two raw addresses, each of host, pinned, managed or device memory as the driver says. `stream`
 * NULL: as via_copy; else as via_copy_async, but nothing is held: the memory must live until the stream has got there.
 * With device memory on either side, an allocation known to end before nbytes do is refused; nbytes 0 is fine.
 * Errors: VIA_ERROR_INVALID_ARGUMENT, VIA_ERROR_POINTER, VIA_ERROR_OVERLAP, VIA_ERROR_STREAM_CAPTURE.
 */
VIA_CHECKED via_status via_memcpy(void *dst, const void *src, int64_t nbytes, via_stream *stream);

/**
 * Sets every element to the bytes at `element` (host memory, one element as a dense array holds it; for elements
 * narrower than a byte, in the low bits), which have been read on return; NULL means zero. `stream` NULL: ordered as
 * via_copy, and done on return; else as via_copy_async, dst being held until it has run. On a CUDA device the elements
 * must be adjacent, and the stream one of that device; captured, they have at most 16 words, or repeat 1, 2 or 4 bytes.
 * Errors: VIA_ERROR_READ_ONLY, VIA_ERROR_OVERLAP, VIA_ERROR_UNSUPPORTED, VIA_ERROR_DEVICE, VIA_ERROR_STREAM_CAPTURE.
 */
VIA_CHECKED via_status via_fill(via_array *dst, const void *element, via_stream *stream);

/**
 * Writes how via_copy would do it (route, collapsed shape, threads, bytes) as text, at most `capacity` bytes with
 * the ending 0, and its whole length without that to *out_length. Nothing is copied. Errors: as via_copy.
 */
VIA_CHECKED via_status via_copy_explain(via_array *dst, via_array *src, int64_t capacity, char *out_text,
                                        int64_t *out_length);

/* --------------------------------------------------------------------------------- tasks and batches */

/*
 * A task is work that was started behind the caller and ends once: done, failed or cancelled. Any thread may use it.
 * Before it counts as ended it lets go of its arrays, on the thread that ran it, waited for it or cancelled it, or on a
 * thread of the library where a device did the rest. In the child of a fork a task of the parent that had not ended has
 * failed, with VIA_ERROR_FORKED, and its callback is not called; the child keeps what it held.
 */

/** One more owner of the handle. */
VIA_API void via_task_retain(via_task *task);

/** One owner less; a task still running is detached: it runs on, and its callback is called. */
VIA_API void via_task_release(via_task *task);

/**
 * Waits for the end and returns the task's own status, with its text and code, to as many as ask.
 * Errors: VIA_ERROR_WOULD_DEADLOCK inside a callback of the library, unless the task has ended; the task's own.
 */
VIA_CHECKED via_status via_task_wait(via_task *task);

/** Stores 1 if the task has ended, however, else 0. */
VIA_CHECKED via_status via_task_poll(via_task *task, int32_t *out_done);

/**
 * Stores the bytes known to be moved so far and the bytes in all. The first number never goes back; it is the second
 * once the task has ended with VIA_OK. What a device does in one go counts when it is done.
 */
VIA_CHECKED via_status via_task_progress(via_task *task, int64_t *out_done, int64_t *out_total);

/**
 * Asks the task to stop; does not wait for it. One that has not begun has then ended with VIA_ERROR_CANCELLED and has
 * touched nothing. One that runs ends so as soon as it notices, its destination partly written; one that a device is
 * at, or that has ended, stays what it is.
 */
VIA_CHECKED via_status via_task_cancel(via_task *task);

/**
 * Makes later work of the stream (NULL means the legacy one) wait, on the device, for the task. Waits on the host as
 * long as the task has not been given to a device whole. Errors: the task's own, if it has failed already;
 * VIA_ERROR_WOULD_DEADLOCK as in via_task_wait; VIA_ERROR_UNSUPPORTED without CUDA, VIA_ERROR_FORKED, VIA_ERROR_CUDA.
 */
VIA_CHECKED via_status via_task_join(via_task *task, via_stream *stream);

/**
 * Has `complete` called once, when the task has ended: on a thread of the library, or on this one before the call
 * returns if the task has ended already. A task has one callback at most, ever.
 * Errors: VIA_ERROR_INVALID_ARGUMENT for a second one and for NULL; it is not called then.
 */
VIA_CHECKED via_status via_task_on_complete(via_task *task, via_complete_fn complete, void *context);

/*
 * A batch keeps its copies and may be run and submitted any number of times, by several threads at once; nothing else
 * may be going on while one is added, but for tasks made of it, which do not get it. Copies of a batch must not overlap
 * one another, which is not checked.
 */

/** A batch of copies, empty. It may stay so. Errors: VIA_ERROR_OUT_OF_MEMORY. */
VIA_CHECKED via_status via_batch_create(via_batch **out_batch);

/** One more owner of the handle. */
VIA_API void via_batch_retain(via_batch *batch);

/** One owner less; the last one lets go of the arrays once its runs and the tasks made of it have ended. */
VIA_API void via_batch_release(via_batch *batch);

/**
 * Adds one copy and holds both arrays. On failure the batch is as it was.
 * Errors: as via_copy; VIA_ERROR_OVERFLOW beyond 2^30 copies; VIA_ERROR_OUT_OF_MEMORY.
 */
VIA_CHECKED via_status via_batch_add(via_batch *batch, via_array *dst, via_array *src);

/** The number of copies. */
VIA_API int64_t via_batch_size(via_batch *batch);

/**
 * Runs all copies in stream order, as via_copy_batch does. The first run plans them, which takes longer than a run; so
 * does one after more have been added, and one on a stream of another device. Errors: as via_copy_async.
 */
VIA_CHECKED via_status via_batch_run(via_batch *batch, via_stream *stream);

/**
 * Runs all copies as one task, as via_copy_submit does one. The text of a failure names the copy ("copy 3 of 10"):
 * those before it have been done, those after it not begun. Copies that a device does in one go come first, and fail as
 * such ("7 of 10 copies, done together").
 */
VIA_CHECKED via_status via_batch_submit(via_batch *batch, via_stream *stream, via_task **out_task);

/* ------------------------------------------------------------------------------------------------ file */

/*
 * A file holds elements, and nothing else (raw) or a header of NumPy's before them (.npy). A byte_offset counts from
 * the first element on, so that no call reaches the header. Elements are in row-major order, or in column-major order
 * where the header or the options say so; an array of any layout takes and gives them in that order.
 *
 * A transfer of a .npy file is all of it: byte_offset is 0, and the array has the shape (axes of extent 1 aside) and
 * the element type of the header. Parts are windows. With as_bytes in the options, a transfer of a .npy file is as that
 * of a raw file: any shape and element type, from any byte_offset on; and that of a window takes any elements as large.
 *
 * Files may be used by any number of threads at once; which of two transfers of the same bytes comes first is not said.
 * Errors of all: VIA_ERROR_IO with the errno in via_last_error_code(), and its name in the text. Texts have the path.
 *
 * Paths. Functions follow symbolic links; a link that leads nowhere is ENOENT. They never open a directory, FIFO,
 * socket or device: VIA_ERROR_UNSUPPORTED. They wait for a lease on the file (Samba, nfsd), as open(2) does.
 */

/** Options of via_file_open and via_file_create. */
typedef struct via_file_options {
    int32_t struct_size;  /**< of the struct, as its ..._INIT sets it */
    int32_t mode;         /**< VIA_MODE_...; not read by via_file_create */
    int32_t file_format;  /**< VIA_FORMAT_...; via_file_create takes AUTO as .npy if the path ends so, else raw */
    int32_t column_major; /**< 1: the elements are in Fortran order; not read where there is a .npy header already */
    int32_t durable;      /**< 1: a write returns when the data would survive a power cut */
    int32_t atomic_write; /**< 1: a write replaces the file whole, or not at all: see via_file_write */
    int32_t page_cache;   /**< VIA_PAGE_CACHE_... */
    int32_t as_bytes;     /**< 1: a transfer need not have the shape and the element type of the file: see below */
} via_file_options;
/** What a via_file_options begins as: its size, and every default. */
#define VIA_FILE_OPTIONS_INIT {(int32_t)sizeof(via_file_options), 0, 0, 0, 0, 0, 0, 0}

/** What via_file_info tells. */
typedef struct via_file_properties {
    int32_t struct_size;  /**< of the struct, as its ..._INIT sets it */
    int32_t file_format;  /**< VIA_FORMAT_RAW or VIA_FORMAT_NPY */
    int32_t dtype;        /**< .npy, window: of the elements; 0 for raw */
    int32_t ndim;         /**< .npy, window */
    int32_t column_major; /**< 1: Fortran order */
    int32_t pad;          /**< not read */
    int64_t nbytes;       /**< of the whole file, as it is now */
    int64_t byte_offset;  /**< of the first element in the whole file */
    int64_t shape[64];    /**< .npy, window: ndim extents */
} via_file_properties;
/** What a via_file_properties begins as: its size, and every default. */
#define VIA_FILE_PROPERTIES_INIT {(int32_t)sizeof(via_file_properties), 0, 0, 0, 0, 0, 0, 0, {0}}

/**
 * Opens an existing regular file; options may be NULL. The path is any bytes that the system takes. A .npy header is
 * checked to the last character, and the file must hold what it promises; more may follow. Fields of a record are not
 * kept: it is so many bytes. Elements that are not numbers or records (text, times, Python objects), and those of
 * another byte order, are refused. Errors: VIA_ERROR_INVALID_ARGUMENT, VIA_ERROR_UNSUPPORTED (no regular file),
 * VIA_ERROR_OUT_OF_MEMORY; of a header VIA_ERROR_FORMAT, VIA_ERROR_VERSION, VIA_ERROR_DTYPE, VIA_ERROR_SHAPE,
 * VIA_ERROR_OVERFLOW.
 */
VIA_CHECKED via_status via_file_open(const char *path, const via_file_options *options, via_file **out_file);

/**
 * Creates a file of the size such an array needs, all zeros, or cuts an existing one to it; options may be NULL. Of a
 * raw file dtype and shape say the size only. With atomic_write, what is there stays until the first write is whole.
 * That write then replaces it, whoever put it there meanwhile. A child of fork must leave this write to its parent: it
 * gets VIA_ERROR_FORKED, and its release leaves the file alone.
 * Sets no blocks of the disk aside: the file is sparse until it is written, or mapped (see via_file_array).
 * Errors: VIA_ERROR_INVALID_ARGUMENT, VIA_ERROR_DTYPE (also one that a .npy file cannot name), VIA_ERROR_SHAPE,
 * VIA_ERROR_OVERFLOW, VIA_ERROR_UNSUPPORTED, VIA_ERROR_OUT_OF_MEMORY.
 */
VIA_CHECKED via_status via_file_create(const char *path, int32_t dtype, int32_t ndim, const int64_t *shape,
                                       const via_file_options *options, via_file **out_file);

/**
 * A window of a file, as a file of its own: of what lies there from byte_offset on (dtype, ndim and shape as for
 * via_file_array), counts[i] indices of each axis, from starts[i] on, steps[i] apart; NULL as for via_array_slice. Of
 * another window: in its indices, with byte_offset, dtype and ndim 0.
 * Reads and writes of it take byte_offset 0, and an array of its shape, axes of extent 1 aside, and element type.
 * A read touches the pages that hold the window, and those of gaps too small to be worth a read of their own; a write
 * leaves all that lies between its elements alone. via_file_array maps it, and via_file_info describes it, with
 * byte_offset that of its element of index 0. The window holds the file.
 * Errors: VIA_ERROR_INVALID_ARGUMENT, VIA_ERROR_INDEX, VIA_ERROR_DTYPE, VIA_ERROR_SHAPE, VIA_ERROR_OVERFLOW,
 * VIA_ERROR_UNSUPPORTED for packed elements, VIA_ERROR_OUT_OF_MEMORY.
 */
VIA_CHECKED via_status via_file_window(via_file *file, int64_t byte_offset, int32_t dtype, int32_t ndim,
                                       const int64_t *shape, const int64_t *starts, const int64_t *counts,
                                       const int64_t *steps, via_file **out_file);

/** One more owner of the handle. */
VIA_API void via_file_retain(via_file *file);

/** One owner less; the last one closes the file, once transfers are done. Mapped arrays live on. */
VIA_API void via_file_release(via_file *file);

/** Describes the file; *out_properties must be initialised with VIA_FILE_PROPERTIES_INIT. */
VIA_CHECKED via_status via_file_info(via_file *file, via_file_properties *out_properties);

/**
 * Maps the file, from byte_offset on, as an array in the file's order; nothing is read until it is touched. For .npy,
 * dtype 0 and ndim 0 take all three from the header, at byte_offset 0. The array is read-only unless the mode says
 * otherwise, and with atomic_write; copy-on-write arrays may be written, and the file does not hear of it. An atomic
 * write puts another file in the place of the mapped one, whose content the array keeps. Touching an array of a file
 * that was cut short meanwhile is fatal (SIGBUS): via_file_read reports it instead. Writing an array where the file has
 * a hole is fatal too when the disk is full: via_file_write reports it instead. For a file of via_file_create and a
 * writable array this function therefore sets blocks aside, and returns VIA_ERROR_IO (ENOSPC) if there are too few. The
 * danger remains for files opened with holes in them, and on file systems that set no blocks aside. Errors:
 * VIA_ERROR_INVALID_ARGUMENT (also for bytes that the file does not have), VIA_ERROR_DTYPE, VIA_ERROR_SHAPE,
 * VIA_ERROR_OVERFLOW, VIA_ERROR_OUT_OF_MEMORY.
 */
VIA_CHECKED via_status via_file_array(via_file *file, int64_t byte_offset, int32_t dtype, int32_t ndim,
                                      const int64_t *shape, via_array **out_array);

/**
 * Reads the array's elements, of any layout and anywhere, from the file at byte_offset on. `stream` NULL: ordered as
 * via_copy; else after that stream's work so far. Either way the elements have arrived on return, for every stream and
 * for the host. On failure part of the array may have been written, and the text tells how much had been moved; a file
 * that has become too short is VIA_ERROR_IO. Several threads read; what is not in the page cache goes past it, through
 * memory of the library's, so that a large read leaves the cache as it was: see page_cache.
 * Errors: VIA_ERROR_INVALID_ARGUMENT (also for bytes that the file does not have), VIA_ERROR_READ_ONLY,
 * VIA_ERROR_DTYPE, VIA_ERROR_OVERLAP, VIA_ERROR_OVERFLOW, VIA_ERROR_UNSUPPORTED (packed elements that are not
 * adjacent), VIA_ERROR_STREAM_CAPTURE, VIA_ERROR_CUDA, VIA_ERROR_FORKED, VIA_ERROR_OUT_OF_MEMORY; of a window or a
 * .npy file VIA_ERROR_SHAPE too.
 */
VIA_CHECKED via_status via_file_read(via_file *file, int64_t byte_offset, via_array *dst, via_stream *stream);

/**
 * Writes the array's elements to the file at byte_offset on; ordered as via_file_read, and all of them given to the
 * system on return: with `durable`, down to the disk and the folder. A raw file grows with what is written behind its
 * end; a .npy file does not. On failure part of the file may have been written. A write beyond the process's limit on
 * file sizes (RLIMIT_FSIZE) is VIA_ERROR_IO with EFBIG, and no signal.
 *
 * With atomic_write, copies the file first, but for what the array replaces; the copy takes its place when it is whole.
 * Otherwise the file is as it was, unless all that failed was to flush its name (`durable`), which then is the new
 * file's. The copy lies beside the file under a name that ends in .part. A process that is killed leaves it there.
 * - Two writers. Replaces only the file that was copied, as it was. Returns VIA_ERROR_IO with ESTALE if another handle
 *   or program replaced, changed or removed it meanwhile. Open a file that was replaced again to write it.
 * - Rights. Lets nobody else open the copy before it has the file's rights. Keeps permissions, access list (ACL) and
 *   extended attributes named `user.`, or returns VIA_ERROR_IO. Keeps owner, group and other attributes where the
 *   process may set them. Where the group cannot be kept, gives the new one no more rights than others have, and
 *   refuses a file with an access list (EPERM). Leaves other hard links with the old file.
 * Errors: as via_file_read; VIA_ERROR_READ_ONLY for a file that was opened to read; VIA_ERROR_FORKED for one that the
 * parent created with atomic_write; VIA_ERROR_UNSUPPORTED if what has its name by now is no regular file.
 */
VIA_CHECKED via_status via_file_write(via_file *file, int64_t byte_offset, via_array *src, via_stream *stream);

/**
 * As via_file_read, returning at once; starts after the stream's work so far, NULL (or via_stream_no_sync()) being no
 * stream. File and array are held until the task has ended, dst being ready then. Its progress is in bytes, and remains
 * where a failure or a cancellation found it.
 */
VIA_CHECKED via_status via_file_read_submit(via_file *file, int64_t byte_offset, via_array *dst, via_stream *stream,
                                            via_task **out_task);

/** As via_file_write, returning at once; the array must not be written until the task has ended. */
VIA_CHECKED via_status via_file_write_submit(via_file *file, int64_t byte_offset, via_array *src, via_stream *stream,
                                             via_task **out_task);

#ifdef __cplusplus
}
#endif

#endif
