/**
 * @file viaduct.h
 * @brief Viaduct: wraps memory that already exists as strided arrays, and shares and copies them.
 *
 * Wraps a pointer once. Exports the array without a copy through DLPack, the array interfaces and Arrow's C device
 * interface. Copies it, where a copy is wanted, at the speed of the hardware. This header is the whole public
 * interface: plain C11, nothing inline.
 *
 * The rules below hold for every function.
 *
 * Status. Every function that can fail returns a via_status; 0 is VIA_OK. Only a failing call changes the calling
 * thread's via_last_error() and via_last_error_code(). Getters, retain and release never fail and leave both alone.
 * They accept NULL, for which getters return 0 or NULL.
 *
 * Outputs. Parameters named out_... are outputs, and no others are. They must not be NULL unless the function says so.
 * A failing call sets pointer and number outputs to NULL or 0, and leaves output structs unchanged.
 *
 * Ownership. The caller owns a handle returned through out_..., and releases it with its release function. A pointer
 * returned by value (a shape, a text, a shared stream) is borrowed: it is valid as long as its parent. Views and
 * exported tensors hold a reference to the memory: release their parent handle at any time.
 *
 * Thread safety. Handles are reference counted atomically: call retain and release from any thread. Arrays are
 * immutable, so any number of threads may read one. The library holds no lock while a callback runs.
 *
 * Misuse. Set VIADUCT_CHECK=1 in the environment before the library is loaded to check handles. A released handle, or
 * one of another kind, then fails with VIA_ERROR_INVALID_ARGUMENT. Functions that cannot fail write a line to stderr
 * and do nothing. Without VIADUCT_CHECK the behaviour is undefined.
 *
 * Fork. A forked child may use the library at once, whatever other threads of the parent were doing. If the parent had
 * used CUDA, calls that need CUDA fail with VIA_ERROR_FORKED there. All other calls work.
 *
 * Environment. A program that runs with another user's rights (setuid, file capabilities) reads no VIADUCT_ variable.
 *
 * Callbacks. A callback must return normally: no C++ exception and no longjmp may leave it. Each callback type states
 * which thread calls it. The library saves the last error before a callback and restores it afterwards.
 *
 * Library threads. They end after 2 idle seconds. They block all signals except SIGSEGV, SIGBUS, SIGFPE, SIGILL,
 * SIGTRAP, SIGSYS and SIGABRT. A process started by a callback on such a thread inherits that signal mask.
 *
 * Structs. Every struct begins with struct_size. Initialise a struct with its ..._INIT macro; a struct_size of 0 is an
 * error. Zero is the default of every other field. Callers built against an older header pass a smaller struct_size,
 * and get the fields that they know.
 *
 * Sizes. Counts, extents, strides and offsets are int64_t. Strides count elements, as in DLPack, unless they are said
 * to be in bytes. NumPy's strides, and those of this library's Python arrays, count bytes. Device types have the
 * numbers of DLPack's DLDeviceType (dlpack.h 1.3).
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

/** Version of this header. via_version() returns that of the library. */
enum {
    VIA_VERSION_MAJOR = 1, /**< incompatible changes */
    VIA_VERSION_MINOR = 0, /**< compatible additions */
    VIA_VERSION_PATCH = 0  /**< bug fixes only */
};

/** Result of a call. Only ever a return type; parameters and fields carry it as int32_t. */
typedef enum via_status {
    VIA_OK = 0,                     /**< success */
    VIA_ERROR_INVALID_ARGUMENT = 1, /**< an argument is NULL, out of range, or contradicts another */
    VIA_ERROR_DTYPE = 2,            /**< an element type is unknown, or differs from the expected one */
    VIA_ERROR_SHAPE = 3,            /**< a shape is malformed, or differs from the expected one */
    VIA_ERROR_INDEX = 4,            /**< an axis or an index lies outside the array */
    VIA_ERROR_OVERFLOW = 5,         /**< a product or sum of extents does not fit */
    VIA_ERROR_OUT_OF_MEMORY = 6,    /**< an allocation failed, of whatever kind of memory */
    VIA_ERROR_READ_ONLY = 7,        /**< the destination is read-only */
    VIA_ERROR_OVERLAP = 8,          /**< source and destination, or elements of a destination, share bytes */
    VIA_ERROR_NEEDS_COPY = 9,       /**< a copy is needed, and none is allowed */
    VIA_ERROR_EXCHANGE = 10,        /**< the protocol cannot describe the array, or the tensor breaks its rules */
    VIA_ERROR_VERSION = 11,         /**< an unsupported version of a library, struct or protocol */
    VIA_ERROR_DEVICE = 12,          /**< no such device, or the memory is on another one */
    VIA_ERROR_POINTER = 13,         /**< the address is unknown or unreadable, or the array exceeds its memory */
    VIA_ERROR_UNSUPPORTED = 14,     /**< this build, machine or driver does not support it */
    VIA_ERROR_CUDA = 15,            /**< the CUDA driver failed; via_last_error_code() returns its CUresult */
    VIA_ERROR_STREAM_CAPTURE = 16,  /**< the call cannot be captured into a graph; nothing was touched */
    VIA_ERROR_FORKED = 17,          /**< the process used CUDA before fork; the child cannot use it */
    VIA_ERROR_WOULD_DEADLOCK = 18,  /**< waiting here could never end */
    VIA_ERROR_CANCELLED = 19,       /**< the task was cancelled */
    VIA_ERROR_IO = 20,              /**< a system call failed; via_last_error_code() returns errno */
    VIA_ERROR_FORMAT = 21,          /**< the content of a file does not match its format */
    VIA_ERROR_CALLBACK = 22,        /**< a callback of the caller reported failure */
    VIA_ERROR_INTERNAL = 23         /**< a bug in this library: please report the text */
} via_status;

/** Kinds of memory, with DLPack's numbers. */
enum {
    VIA_DEVICE_ANY = 0,          /**< in via_wrap: detected from the address; in options: wherever the array is */
    VIA_DEVICE_CPU = 1,          /**< ordinary host memory */
    VIA_DEVICE_CUDA = 2,         /**< memory of a CUDA device */
    VIA_DEVICE_CUDA_HOST = 3,    /**< pinned host memory */
    VIA_DEVICE_CUDA_MANAGED = 13 /**< CUDA managed (unified) memory */
};

/**
 * Common element types. A dtype is DLPack's code | bits << 8 | lanes << 16, with a code of DLPack 1.3 and 1 to 32767
 * lanes. Integers have 1 to 64 bits, floats 16 to 128, complex numbers 32 to 128 and opaque handles 8 to 128: powers of
 * two only. Other codes have the bits listed here. A negative dtype is a record (a C struct) of that many bytes: see
 * via_dtype_record.
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
    VIA_FLOAT16 = 0x00011002,            /**< IEEE 754 half precision */
    VIA_FLOAT32 = 0x00012002,            /**< IEEE 754 single precision */
    VIA_FLOAT64 = 0x00014002,            /**< IEEE 754 double precision */
    VIA_OPAQUE64 = 0x00014003,           /**< opaque handle, meaningful to its owner only */
    VIA_BFLOAT16 = 0x00011004,           /**< the upper half of a float32 */
    VIA_COMPLEX32 = 0x00012005,          /**< two float16 */
    VIA_COMPLEX64 = 0x00014005,          /**< two float32 */
    VIA_COMPLEX128 = 0x00018005,         /**< two float64 */
    VIA_BOOL = 0x00010806,               /**< a byte, 0 or 1 */
    VIA_FLOAT8_E3M4 = 0x00010807,        /**< 3 exponent and 4 mantissa bits, encoded as in IEEE 754 */
    VIA_FLOAT8_E4M3 = 0x00010808,        /**< 4 exponent and 3 mantissa bits, encoded as in IEEE 754 */
    VIA_FLOAT8_E4M3B11FNUZ = 0x00010809, /**< the same with a bias of 11, no infinity and no negative zero */
    VIA_FLOAT8_E4M3FN = 0x0001080A,      /**< the same without infinity */
    VIA_FLOAT8_E4M3FNUZ = 0x0001080B,    /**< the same with a bias of 8, no infinity and no negative zero */
    VIA_FLOAT8_E5M2 = 0x0001080C,        /**< 5 exponent and 2 mantissa bits, encoded as in IEEE 754 */
    VIA_FLOAT8_E5M2FNUZ = 0x0001080D,    /**< the same with a bias of 16, no infinity and no negative zero */
    VIA_FLOAT8_E8M0FNU = 0x0001080E,     /**< unsigned power of two, a scale for other elements */
    VIA_FLOAT6_E2M3FN = 0x0001060F,      /**< 2 exponent and 3 mantissa bits; finite values only */
    VIA_FLOAT6_E3M2FN = 0x00010610,      /**< 3 exponent and 2 mantissa bits; finite values only */
    VIA_FLOAT4_E2M1FN = 0x00010411       /**< 2 exponent and 1 mantissa bits; finite values only; two share a byte */
};

/** Limit on dimensions, the same as NumPy's. */
enum {
    VIA_MAX_NDIM = 64 /**< most dimensions of an array */
};

/** Flags of via_wrap. */
enum {
    VIA_WRAP_READ_ONLY = 1,    /**< forbid writes through the array, its views and its exports */
    VIA_WRAP_BYTE_STRIDES = 2, /**< take strides in bytes */
    VIA_WRAP_UNCHECKED = 4,    /**< do not look up the address in the driver */
    VIA_WRAP_DETECT = 8,       /**< detect device_type and device_id from the address; ignore those given */
    VIA_WRAP_PROBE = 16        /**< check that the first and last byte of host memory are readable: two system calls */
};

/** Flags returned by via_array_flags. */
enum {
    VIA_ARRAY_READ_ONLY = 1,     /**< the array must not be written */
    VIA_ARRAY_COPIED = 2,        /**< the import made a copy: writes do not reach the original */
    VIA_ARRAY_MISALIGNED = 4,    /**< some element does not start at a multiple of its natural alignment */
    VIA_ARRAY_SUBBYTE_PADDED = 8 /**< elements narrower than a byte take a byte each (DLPack's flag) */
};

/** Memory orders, for via_array_is_contiguous. */
enum {
    VIA_ORDER_ROW_MAJOR = 0,    /**< the last index moves fastest, as in C */
    VIA_ORDER_COLUMN_MAJOR = 1, /**< the first index moves fastest, as in Fortran */
    VIA_ORDER_ANY = 2           /**< no gaps and no overlap, in any order of the axes */
};

/** Whether an import or export may copy. */
enum {
    VIA_COPY_IF_NEEDED = 0, /**< share the memory where possible, copy otherwise */
    VIA_COPY_NEVER = 1,     /**< share the memory, or fail with VIA_ERROR_NEEDS_COPY */
    VIA_COPY_ALWAYS = 2     /**< make a writable copy */
};

/** Kinds of memory that via_memory_create makes. */
enum {
    VIA_MEMORY_HOST = 1,        /**< host memory, aligned to 64 bytes */
    VIA_MEMORY_PINNED = 2,      /**< pinned host memory */
    VIA_MEMORY_DEVICE = 3,      /**< memory of one CUDA device */
    VIA_MEMORY_DEVICE_POOL = 4, /**< the same, allocated and freed in stream order */
    VIA_MEMORY_MANAGED = 5,     /**< CUDA managed memory */
    VIA_MEMORY_SHARED = 6       /**< host memory that other processes can map: see via_array_export_ipc */
};

/** How a file is opened. */
enum {
    VIA_MODE_READ = 0,         /**< existing file, read-only */
    VIA_MODE_READ_WRITE = 1,   /**< existing file, readable and writable */
    VIA_MODE_COPY_ON_WRITE = 2 /**< existing file; mapped arrays are writable, and writes never reach the file */
};

/** Formats of a file. */
enum {
    VIA_FORMAT_AUTO = 0, /**< .npy if the file starts with its magic, otherwise raw */
    VIA_FORMAT_RAW = 1,  /**< elements without a header */
    VIA_FORMAT_NPY = 2   /**< NumPy's .npy, versions 1.0 to 3.0 */
};

/**
 * Which conversions via_convert may do, with NumPy's names and meaning. The kinds are bool, unsigned, signed, float and
 * complex, in this order.
 */
enum {
    VIA_CASTING_SAME_KIND = 0, /**< safe ones, and any within a kind or to a later one */
    VIA_CASTING_SAFE = 1,      /**< only those that keep every value (and 64-bit integers to float64) */
    VIA_CASTING_EQUIV = 2,     /**< a change of byte order */
    VIA_CASTING_UNSAFE = 3     /**< every conversion */
};

/** Results for floats too large for a destination of at most 8 bits. */
enum {
    VIA_OVERFLOW_INFINITY = 0, /**< infinity; NaN in types without it; the largest number in types without NaN */
    VIA_OVERFLOW_SATURATE = 1  /**< the largest number of its sign */
};

/** Byte orders. */
enum {
    VIA_BYTE_ORDER_NATIVE = 0, /**< this machine's */
    VIA_BYTE_ORDER_LITTLE = 1, /**< the lowest byte first */
    VIA_BYTE_ORDER_BIG = 2     /**< the highest byte first */
};

/** How transfers use the system's page cache. */
enum {
    VIA_PAGE_CACHE_AUTO = 0, /**< read cached pages from it and bypass it for others; durable writes bypass it */
    VIA_PAGE_CACHE_USE = 1,  /**< read and write through it, and leave the pages in it */
    VIA_PAGE_CACHE_AVOID = 2 /**< bypass it for pages that are not cached, in writes too */
};

/* -------------------------------------------------------------------------------------- handles and callbacks */

typedef struct via_array via_array;     /**< strided array: a view of memory and a reference to its storage */
typedef struct via_memory via_memory;   /**< allocator */
typedef struct via_stream via_stream;   /**< CUDA stream: work in order on a device */
typedef struct via_event via_event;     /**< CUDA event: a point in a stream */
typedef struct via_task via_task;       /**< asynchronous copy or file transfer */
typedef struct via_batch via_batch;     /**< many copies planned as one */
typedef struct via_file via_file;       /**< open file */
typedef struct via_archive via_archive; /**< named arrays (tensors) of one or more files */

/*
 * Structs of DLPack and of Arrow's C device interface, declared but not defined: this header needs neither library.
 * Include dlpack/dlpack.h, 1.2 or newer, to look inside a tensor. The tarball contains dlpack/dlpack.h; other packages
 * do not. None contains Arrow's.
 */
struct DLManagedTensorVersioned;
struct DLManagedTensor;
struct ArrowSchema;
struct ArrowDeviceArray;

/**
 * Releases wrapped memory. Called exactly once, after the last view and export is gone, on the thread that dropped the
 * last reference. With recorded accesses or tasks it may be called on a thread of the library. free() fits.
 */
typedef void (*via_release_fn)(void *context);

/**
 * Allocates nbytes (more than 0) aligned to `alignment` bytes, and stores the address in *out_address. `stream` is the
 * native handle (a CUstream; 1 legacy, 2 per-thread) of the stream given to via_empty, NULL for none. The memory may be
 * usable only after the work queued on that stream so far. Returns 0 on success, any other number on failure. Called on
 * the thread that requests memory.
 */
typedef int32_t (*via_alloc_fn)(int64_t nbytes, int64_t alignment, void *stream, void *context, void **out_address);

/**
 * Frees memory of the alloc callback, after all recorded accesses have completed. `stream` is the one given to alloc if
 * that stream certainly still exists: one made by via_stream_create, which the array holds, or the legacy stream. It is
 * NULL otherwise, since a foreign stream may have been destroyed. Called on the thread that dropped the last reference,
 * or on a thread of the library.
 */
typedef void (*via_free_fn)(void *address, int64_t nbytes, void *stream, void *context);

/**
 * Reports the end of a task. `status` is its via_status; `text` is the error text ("" for VIA_OK), borrowed during the
 * call. Called exactly once, on a thread of the library, at most 64 calls at a time. If the task has ended already, it
 * is called on the registering thread.
 */
typedef void (*via_complete_fn)(int32_t status, const char *text, void *context);

/* -------------------------------------------------------------------------------------------- library */

/** Returns the version of the library: major * 1000000 + minor * 1000 + patch. */
VIA_API int32_t via_version(void);

/**
 * Checks that the library supports programs built against header version major.minor: the same major version, and at
 * least that minor version. Call it first: via_require(VIA_VERSION_MAJOR, VIA_VERSION_MINOR).
 * Errors: VIA_ERROR_VERSION.
 */
VIA_CHECKED via_status via_require(int32_t major, int32_t minor);

/** Returns the name of a status, "VIA_ERROR_SHAPE" for 3; "VIA_ERROR_UNKNOWN" for other numbers. Never NULL. */
VIA_API const char *via_status_name(int32_t status);

/**
 * Returns the text of the calling thread's last failing call: "function: argument is X; expected Y". Returns "" before
 * the first failure, never NULL. The text is valid UTF-8: other bytes, as in a file name, are written as a backslash,
 * an x and two hexadecimal digits. Borrowed until this thread's next failing call.
 */
VIA_API const char *via_last_error(void);

/** Returns the errno or CUresult of the calling thread's last failing call; 0 if it had none. */
VIA_API int32_t via_last_error_code(void);

/**
 * Counts the usable devices of a type: 1 for VIA_DEVICE_CPU. For VIA_DEVICE_CUDA stores 0 if the driver is missing or
 * unusable, and in the forked child of a process that used it. via_device_info returns the reason. Loads the driver.
 * Errors: VIA_ERROR_INVALID_ARGUMENT for another type.
 */
VIA_CHECKED via_status via_device_count(int32_t device_type, int32_t *out_count);

/** Properties of a device, from via_device_info. Texts end with a 0 byte. */
typedef struct via_device_properties {
    int32_t struct_size;        /**< size of the struct, as ..._INIT sets it */
    int32_t device_type;        /**< as requested */
    int32_t device_id;          /**< as requested */
    int32_t compute_capability; /**< major * 10 + minor for a CUDA device, otherwise 0 */
    int32_t driver_version;     /**< the CUDA driver's number (13000 for 13.0), otherwise 0 */
    int32_t num_threads;        /**< threads that a host copy may use */
    int64_t total_bytes;        /**< memory of the device; for the CPU, the memory that the process may use */
    int64_t staging_bytes;      /**< limit of pinned memory for copies of that device, otherwise 0 */
    char name[128];             /**< the maker's name of the device */
    char routes[512];           /**< a line for each route of a copy: on, or off with the reason */
} via_device_properties;
/** Initialiser of a via_device_properties. */
#define VIA_DEVICE_PROPERTIES_INIT {sizeof(via_device_properties), 0, 0, 0, 0, 0, 0, 0, {0}, {0}}

/**
 * Describes one device, VIA_DEVICE_CPU or VIA_DEVICE_CUDA. Initialise *out_properties with VIA_DEVICE_PROPERTIES_INIT.
 * Loads the driver, and creates no context. The CPU's `routes` state why CUDA cannot be used.
 * Errors: VIA_ERROR_DEVICE, VIA_ERROR_UNSUPPORTED (no usable driver; the text states why), VIA_ERROR_FORKED.
 */
VIA_CHECKED via_status via_device_info(int32_t device_type, int32_t device_id, via_device_properties *out_properties);

/**
 * Sets the number of threads, the caller's included, that one host copy may use. 0 restores the default:
 * VIADUCT_NUM_THREADS, or else the CPUs that this process may run on. Applies to copies that start later.
 * Errors: VIA_ERROR_INVALID_ARGUMENT below 0 or above 1024.
 */
VIA_CHECKED via_status via_set_num_threads(int32_t count);

/** Returns the number of threads that one host copy may use. */
VIA_API int32_t via_num_threads(void);

/**
 * Loads in advance what a CUDA device otherwise loads at first use: streams, events, staging memory and the primary
 * context, which is retained for good. Call it before a graph capture or a timed section. Leaves the thread's current
 * context unchanged.
 * Errors: VIA_ERROR_UNSUPPORTED, VIA_ERROR_FORKED, VIA_ERROR_DEVICE, VIA_ERROR_CUDA.
 */
VIA_CHECKED via_status via_cuda_warmup(int32_t device_id);

/**
 * Measures the sizes at which one copy route between the host and a CUDA device becomes faster than another, and uses
 * them from then on. Takes seconds; call it while nothing else copies. Errors: as via_cuda_warmup.
 */
VIA_CHECKED via_status via_calibrate(int32_t device_id);

/**
 * Saves the results of via_calibrate to a file. The path is any bytes. Errors: VIA_ERROR_UNSUPPORTED, VIA_ERROR_IO,
 * VIA_ERROR_FORMAT for what is no regular file.
 */
VIA_CHECKED via_status via_calibration_save(const char *path);

/**
 * Restores the results saved by via_calibration_save. Errors: VIA_ERROR_UNSUPPORTED, VIA_ERROR_IO, VIA_ERROR_FORMAT
 * (also for anything but a regular file).
 */
VIA_CHECKED via_status via_calibration_load(const char *path);

/**
 * Counts of live objects, from via_stats. Bytes are those that the library allocated. They leave out wrapped memory,
 * and pool memory that returns to the driver once the work using it has completed.
 */
typedef struct via_stats_info {
    int32_t struct_size;         /**< size of the struct, as ..._INIT sets it */
    int32_t pad;                 /**< not read */
    int64_t live_arrays;         /**< array handles with at least one owner, views included */
    int64_t live_storages;       /**< wrapped memory and allocations that have not been released yet */
    int64_t outstanding_exports; /**< exported tensors whose consumers have not released them */
    int64_t pending_releases;    /**< releases that wait for work, or for other processes, using the memory */
    int64_t host_bytes;          /**< host memory allocated by the library */
    int64_t pinned_bytes;        /**< pinned host memory, without staged_bytes */
    int64_t device_bytes;        /**< device memory */
    int64_t managed_bytes;       /**< managed memory */
    int64_t staged_bytes;        /**< pinned memory held for staging */
    int64_t pending_tasks;       /**< tasks that have not ended */
} via_stats_info;
/** Initialiser of a via_stats_info. */
#define VIA_STATS_INFO_INIT {sizeof(via_stats_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/**
 * Counts live objects. Initialise *out_stats with VIA_STATS_INFO_INIT. While other threads work, the numbers are of
 * slightly different times.
 */
VIA_CHECKED via_status via_stats(via_stats_info *out_stats);

/* --------------------------------------------------------------------------------------------- dtypes */

/** Returns the dtype of a record of `nbytes` bytes (pass a C struct's sizeof); 0 if nbytes is below 1 or above 2^30. */
VIA_API int32_t via_dtype_record(int64_t nbytes);

/** Returns 1 if the number is a dtype, otherwise 0. */
VIA_API int32_t via_dtype_is_valid(int32_t dtype);

/** Returns the bits of one element, lanes included; 0 if the number is no dtype. */
VIA_API int64_t via_dtype_bits(int32_t dtype);

/**
 * Writes the name of a dtype: NumPy's if it has one ("float32", "complex128"), otherwise that of ml_dtypes ("bfloat16",
 * "float8_e4m3fn"). Lanes and records read "float32x4" and "record12". Writes at most `capacity` bytes, including the
 * terminating 0. Errors: VIA_ERROR_DTYPE, VIA_ERROR_INVALID_ARGUMENT (capacity too small; 32 is always enough).
 */
VIA_CHECKED via_status via_dtype_name(int32_t dtype, int64_t capacity, char *out_name);

/** Finds the dtype of a name written by via_dtype_name. Errors: VIA_ERROR_DTYPE. */
VIA_CHECKED via_status via_dtype_from_name(const char *name, int32_t *out_dtype);

/**
 * Returns 1 if a casting rule (VIA_CASTING_...) allows via_convert from `dtype` to `wanted`, otherwise 0: also for
 * numbers that are no dtype or no rule.
 */
VIA_API int32_t via_dtype_can_cast(int32_t dtype, int32_t wanted, int32_t casting);

/* ------------------------------------------------------------------------------------------------ wrap */

/**
 * Wraps existing memory as an array. Copies nothing and touches no element.
 *
 * @param address     the element at index 0 of every axis (strides may be negative); NULL only without elements
 * @param dtype       the element type; negative for a record of that many bytes
 * @param ndim        number of dimensions, 0 to VIA_MAX_NDIM
 * @param shape       ndim extents, each 0 or more; NULL only if ndim is 0. Copied.
 * @param strides     ndim strides in elements (in bytes with VIA_WRAP_BYTE_STRIDES); NULL for row-major. Copied.
 * @param device_type the kind of memory; VIA_DEVICE_ANY detects it
 * @param device_id   the device; 0 for host, pinned and managed memory
 * @param flags       VIA_WRAP_... or-ed together
 * @param release     called once when the memory is no longer used; NULL if it outlives every use
 * @param context     passed to release
 * @param out_array   the array, owned by the caller
 *
 * On success the memory must stay valid until `release` runs. On failure `release` is never called.
 *
 * Checks CUDA memory by one driver query, about 0.1 us on an H200. Skips it for arrays without elements and with
 * VIA_WRAP_UNCHECKED. The memory must be of the named kind and device, and its allocation must hold the whole array.
 * Refuses a writable array of memory that is mapped read-only. Managed memory may be named as a device's. An array may
 * span adjacent mappings of virtual memory. For a suballocator the driver knows the whole allocation only. Cannot
 * detect an address that was freed in stream order or reused.
 *
 * Trusts host addresses unless VIA_WRAP_PROBE is set or the device is detected: then the first and last byte must be
 * readable. Name ordinary host memory VIA_DEVICE_CPU, even where a device can access it.
 * Errors: VIA_ERROR_INVALID_ARGUMENT, VIA_ERROR_DTYPE, VIA_ERROR_SHAPE, VIA_ERROR_OVERFLOW, VIA_ERROR_DEVICE (another
 * kind, another device, or no such device), VIA_ERROR_POINTER (unknown, or the array exceeds the allocation),
 * VIA_ERROR_READ_ONLY, VIA_ERROR_UNSUPPORTED, VIA_ERROR_FORKED, VIA_ERROR_CUDA, VIA_ERROR_OUT_OF_MEMORY.
 */
VIA_CHECKED via_status via_wrap(void *address, int32_t dtype, int32_t ndim, const int64_t *shape,
                                const int64_t *strides, int32_t device_type, int32_t device_id, int32_t flags,
                                via_release_fn release, void *context, via_array **out_array);

/** Adds a reference to the handle. Any thread. */
VIA_API void via_array_retain(via_array *array);

/**
 * Drops a reference. The last one destroys the handle; wrapped memory is released once no view or export remains. Any
 * thread.
 */
VIA_API void via_array_release(via_array *array);

/**
 * Returns 1 if via_array_release() would now free device, pinned or managed memory, or close that of another process:
 * the driver may wait for all work of the device. Otherwise returns 0. A caller gives up a lock that this work may need
 * before it releases: callbacks in Python need the interpreter's. Any thread.
 */
VIA_API int32_t via_array_release_waits(via_array *array);

/* --------------------------------------------------------------------------------------------- inspect */

/** Returns the address of the element at index 0 of every axis. NULL if an array without elements was given none. */
VIA_API void *via_array_data(via_array *array);

/** Returns the element type. */
VIA_API int32_t via_array_dtype(via_array *array);

/** Returns the number of dimensions. */
VIA_API int32_t via_array_ndim(via_array *array);

/** Returns the ndim extents, borrowed from the array; NULL if ndim is 0. */
VIA_API const int64_t *via_array_shape(via_array *array);

/**
 * Returns the ndim strides in elements, borrowed; NULL if ndim is 0 or some stride is no whole number of elements.
 * Python's strides count bytes: see via_array_byte_strides.
 */
VIA_API const int64_t *via_array_strides(via_array *array);

/** Returns the ndim strides in bytes, borrowed; NULL if ndim is 0 or some stride is no whole number of bytes. */
VIA_API const int64_t *via_array_byte_strides(via_array *array);

/** Returns the kind of memory, a VIA_DEVICE_... */
VIA_API int32_t via_array_device_type(via_array *array);

/** Returns the device; 0 for host, pinned and managed memory. */
VIA_API int32_t via_array_device_id(via_array *array);

/** Returns the number of elements. */
VIA_API int64_t via_array_size(via_array *array);

/** Returns the bytes that a dense array of the elements takes: narrow elements are packed, unless they are padded. */
VIA_API int64_t via_array_nbytes(via_array *array);

/** Returns VIA_ARRAY_... or-ed together. */
VIA_API int32_t via_array_flags(via_array *array);

/**
 * Returns 1 if the elements are dense in that VIA_ORDER_..., otherwise 0. Ignores axes of extent 1. Returns 1 for an
 * array without elements.
 */
VIA_API int32_t via_array_is_contiguous(via_array *array, int32_t order);

/**
 * Returns the context that the memory was wrapped with if `release` is the function it was wrapped with, otherwise
 * NULL. A producer recovers its own object from a view this way, and never takes another producer's for its own.
 */
VIA_API void *via_array_context(via_array *array, via_release_fn release);

/** Properties of an address, from via_pointer_query. */
typedef struct via_pointer_info {
    int32_t struct_size; /**< size of the struct, as ..._INIT sets it */
    int32_t device_type; /**< VIA_DEVICE_CPU for memory unknown to every device */
    int32_t device_id;   /**< the device; 0 for host, pinned and managed memory */
    int32_t read_only;   /**< 1 if the memory cannot be written */
    void *base_address;  /**< start of the allocation; of the mapping, for host and mapped device memory */
    int64_t nbytes;      /**< its size; 0, with base_address NULL, if the driver does not report it */
} via_pointer_info;
/** Initialiser of a via_pointer_info. */
#define VIA_POINTER_INFO_INIT {sizeof(via_pointer_info), 0, 0, 0, 0, 0}

/**
 * Finds out which memory an address points to. Initialise *out_info with VIA_POINTER_INFO_INIT. Reports pinned
 * host memory, whoever locked it, as VIA_DEVICE_CUDA_HOST. Queries the CUDA driver only if the process has initialised
 * it. Allowed during a stream capture. The result is a snapshot: the memory may be freed at any time.
 * Errors: VIA_ERROR_POINTER for an address without readable memory, VIA_ERROR_CUDA inside a callback of the driver,
 * VIA_ERROR_IO if /proc/self/maps cannot be read.
 */
VIA_CHECKED via_status via_pointer_query(const void *address, via_pointer_info *out_info);

/* ----------------------------------------------------------------------------------------------- views */
/*
 * A view shares the memory of its array and holds a reference to it: the array may be released first. Views never copy;
 * where only a copy would do, the function fails with VIA_ERROR_NEEDS_COPY. Views of read-only arrays are read-only.
 * Each view is a new handle, to be released by the caller. On failure *out_array is NULL and the array is unchanged.
 * Errors of all: VIA_ERROR_INVALID_ARGUMENT for NULL, VIA_ERROR_OUT_OF_MEMORY.
 */

/**
 * Takes count[i] elements of each axis i, starting at start[i], with a step of step[i]. A negative step goes backwards;
 * 0 is refused. A NULL start means 0, a NULL step 1, a NULL count all that follow. Slices are not clipped: every
 * element must exist.
 * Errors: VIA_ERROR_INDEX, VIA_ERROR_INVALID_ARGUMENT; VIA_ERROR_NEEDS_COPY if a view of elements narrower than a byte
 * would start inside a byte.
 */
VIA_CHECKED via_status via_array_slice(via_array *array, const int64_t *start, const int64_t *count,
                                       const int64_t *step, via_array **out_array);

/**
 * Selects one index of `axis`, and drops that axis. Negative numbers count from the end. Errors: as via_array_slice.
 */
VIA_CHECKED via_status via_array_select(via_array *array, int32_t axis, int64_t index, via_array **out_array);

/**
 * Permutes the axes: axis i of the view is axis axes[i] of the array; negative axes count from the end. NULL reverses
 * them. Errors: VIA_ERROR_INDEX.
 */
VIA_CHECKED via_status via_array_permute(via_array *array, const int32_t *axes, via_array **out_array);

/**
 * Gives the same elements, in row-major order, another shape. One extent may be -1: it is computed.
 * Errors: VIA_ERROR_SHAPE, VIA_ERROR_OVERFLOW, VIA_ERROR_NEEDS_COPY.
 */
VIA_CHECKED via_status via_array_reshape(via_array *array, int32_t ndim, const int64_t *shape, via_array **out_array);

/**
 * Repeats axes of extent 1, and adds axes in front, by strides of 0. The result is read-only.
 * Errors: VIA_ERROR_SHAPE, VIA_ERROR_OVERFLOW.
 */
VIA_CHECKED via_status via_array_broadcast(via_array *array, int32_t ndim, const int64_t *shape, via_array **out_array);

/**
 * Drops the `count` axes listed, each of extent 1; negative axes count from the end. axes NULL with count 0 drops every
 * axis of extent 1. Errors: VIA_ERROR_INDEX, VIA_ERROR_SHAPE.
 */
VIA_CHECKED via_status via_array_squeeze(via_array *array, int32_t count, const int32_t *axes, via_array **out_array);

/**
 * Adds an axis of extent 1 as `axis` of the view, 0 to ndim; negative axes count from the end.
 * Errors: VIA_ERROR_INDEX, VIA_ERROR_SHAPE (VIA_MAX_NDIM axes already).
 */
VIA_CHECKED via_status via_array_expand(via_array *array, int32_t axis, via_array **out_array);

/**
 * Reinterprets the same bytes as elements of another dtype. If the element size changes, the last axis must be dense
 * and hold a whole number of new elements. An array without dimensions keeps its element size.
 * Errors: VIA_ERROR_DTYPE, VIA_ERROR_NEEDS_COPY, VIA_ERROR_SHAPE, VIA_ERROR_OVERFLOW.
 */
VIA_CHECKED via_status via_array_reinterpret(via_array *array, int32_t dtype, via_array **out_array);

/**
 * Views one field of every element: `dtype` at `byte_offset` inside it. ndim and shape add the axes of a field that is
 * a row-major array (0 and NULL for a single value). The array's elements must be whole bytes, of any dtype: a field
 * may also be the real or imaginary part of a complex number.
 * Errors: VIA_ERROR_DTYPE, VIA_ERROR_INDEX, VIA_ERROR_SHAPE, VIA_ERROR_OVERFLOW.
 */
VIA_CHECKED via_status via_array_field(via_array *array, int64_t byte_offset, int32_t dtype, int32_t ndim,
                                       const int64_t *shape, via_array **out_array);

/** Views the same array as read-only. Errors: those of all views only. */
VIA_CHECKED via_status via_array_as_read_only(via_array *array, via_array **out_array);

/* ---------------------------------------------------------------------------------------------- create */

/**
 * Makes an allocator of a VIA_MEMORY_... kind. device_id is the CUDA device; 0 for host memory. Every device can access
 * pinned and managed memory, so arrays of them have device id 0. Allocates in the thread's current context if it
 * belongs to the device, otherwise in the primary context, which is retained. Resetting or destroying a context frees
 * its memory.
 * Errors: VIA_ERROR_INVALID_ARGUMENT, VIA_ERROR_DEVICE, VIA_ERROR_UNSUPPORTED, VIA_ERROR_FORKED,
 * VIA_ERROR_OUT_OF_MEMORY.
 */
VIA_CHECKED via_status via_memory_create(int32_t kind, int32_t device_id, via_memory **out_memory);

/**
 * Makes an allocator of the caller's callbacks, for memory of device_type and device_id. Checks the memory it returns
 * for a CUDA device as via_wrap does, and frees it if it is something else. Calls `release` (may be NULL) once, after
 * the handle and every array made from it are gone; on failure never.
 * Errors: VIA_ERROR_INVALID_ARGUMENT, VIA_ERROR_DEVICE, VIA_ERROR_UNSUPPORTED, VIA_ERROR_FORKED,
 * VIA_ERROR_OUT_OF_MEMORY.
 */
VIA_CHECKED via_status via_memory_create_custom(int32_t device_type, int32_t device_id, via_alloc_fn alloc,
                                                void *alloc_context, via_free_fn free_memory, void *free_context,
                                                via_release_fn release, void *context, via_memory **out_memory);

/** Adds a reference to the handle. */
VIA_API void via_memory_retain(via_memory *memory);

/** Drops a reference. Arrays made from the allocator keep it alive as long as they need it. */
VIA_API void via_memory_release(via_memory *memory);

/** Returns the kind of memory, a VIA_DEVICE_... */
VIA_API int32_t via_memory_device_type(via_memory *memory);

/** Returns the device; 0 for host, pinned and managed memory. */
VIA_API int32_t via_memory_device_id(via_memory *memory);

/**
 * Allocates a row-major array with uninitialised elements. `memory` NULL means host memory.
 *
 * `stream` orders the allocation of VIA_MEMORY_DEVICE_POOL (NULL is the device's legacy stream) and of a custom CUDA
 * allocator (NULL is none). It must be NULL for every other kind. The array is ready after the work queued on that
 * stream so far: later work of the stream may use the memory at once.
 *
 * Frees the memory once all recorded accesses (via_array_record_stream) have completed. Waits for none of them on the
 * calling thread. The driver's own calls that free device, pinned and managed memory wait for all work of the device,
 * and hold up launches of other threads meanwhile: release such memory where the device may rest, or allocate
 * VIA_MEMORY_DEVICE_POOL, which is freed in stream order. Allocating and releasing leave every stream capture valid.
 * Errors: VIA_ERROR_INVALID_ARGUMENT, VIA_ERROR_DTYPE, VIA_ERROR_SHAPE, VIA_ERROR_OVERFLOW, VIA_ERROR_OUT_OF_MEMORY,
 * VIA_ERROR_CALLBACK; VIA_ERROR_POINTER, VIA_ERROR_DEVICE (wrong memory from a custom allocator, or a stream of another
 * device); VIA_ERROR_STREAM_CAPTURE (pool memory on a stream being captured), VIA_ERROR_CUDA, VIA_ERROR_FORKED;
 * VIA_ERROR_IO (VIA_MEMORY_SHARED where the system forbids it).
 */
VIA_CHECKED via_status via_empty(via_memory *memory, int32_t dtype, int32_t ndim, const int64_t *shape,
                                 via_stream *stream, via_array **out_array);

/* -------------------------------------------------------------------------------------------- exchange */
/*
 * Exports hold a reference to the array's memory: its handle may be released first. Imports consume a tensor on success
 * only. The library then owns it, and calls its deleter when the last view is released, or at once if the import
 * copied. A failing import leaves the tensor untouched: the caller still owns it, and ends it with via_dlpack_delete.
 *
 * Streams. An export of CUDA memory makes `stream` wait until the array is ready. NULL means the legacy default stream;
 * via_stream_no_sync() leaves the ordering to the caller. Exports do not order what the consumer does later. For host
 * memory `stream` is NULL or no_sync, and the export waits on the host. For pinned and managed memory it does the same
 * unless a stream is given. A wait on the host, also of via_array_export_ipc, fails as via_array_synchronize does. An
 * import takes the tensor as ready after the work queued on `stream` so far. NULL means the legacy stream for CUDA and
 * managed memory, and ready now for host and pinned memory.
 *
 * Devices. An import of CUDA, pinned or managed memory checks it by a driver query. The memory must be of the named
 * kind and device; managed memory may be named as a device's. Pinned and managed memory have device_id 0; imports
 * accept other ids.
 */

/** Options of DLPack export and import. */
typedef struct via_dlpack_options {
    int32_t struct_size; /**< size of the struct, as ..._INIT sets it */
    int32_t max_major;   /**< newest DLPack version that the consumer accepts, major part; 0.0 for no limit */
    int32_t max_minor;   /**< its minor part */
    /**
     * Device of the result; VIA_DEVICE_ANY for the array's own. Pinned and managed memory is shared as the host's, and
     * managed memory as a CUDA device's, without a copy; every other change of device copies.
     */
    int32_t target_device_type;
    int32_t target_device_id; /**< its device id */
    int32_t copy;             /**< VIA_COPY_... */
} via_dlpack_options;
/** Initialiser of a via_dlpack_options. */
#define VIA_DLPACK_OPTIONS_INIT {sizeof(via_dlpack_options), 0, 0, 0, 0, 0}

/**
 * Exports the array as a DLPack 1.x tensor; options may be NULL. The caller passes *out_tensor on, or ends it with
 * via_dlpack_delete. DLPack cannot describe records. Strides that are no whole elements need a copy.
 * Errors: VIA_ERROR_EXCHANGE, VIA_ERROR_VERSION (max version below 1.0: use via_to_dlpack_legacy),
 * VIA_ERROR_INVALID_ARGUMENT (also a stream for host memory), VIA_ERROR_NEEDS_COPY, VIA_ERROR_DEVICE,
 * VIA_ERROR_UNSUPPORTED, VIA_ERROR_OUT_OF_MEMORY; those of the driver.
 */
VIA_CHECKED via_status via_to_dlpack(via_array *array, const via_dlpack_options *options, via_stream *stream,
                                     struct DLManagedTensorVersioned **out_tensor);

/**
 * Imports a DLPack 1.x tensor as an array; options may be NULL (max_major and max_minor are ignored). Checks every
 * field. Consumes the tensor on success only.
 * Errors: VIA_ERROR_VERSION (another major version), VIA_ERROR_EXCHANGE, VIA_ERROR_DTYPE, VIA_ERROR_SHAPE,
 * VIA_ERROR_OVERFLOW, VIA_ERROR_INVALID_ARGUMENT (also a stream for host memory), VIA_ERROR_DEVICE, VIA_ERROR_POINTER,
 * VIA_ERROR_READ_ONLY, VIA_ERROR_NEEDS_COPY, VIA_ERROR_UNSUPPORTED, VIA_ERROR_OUT_OF_MEMORY; those of the driver.
 */
VIA_CHECKED via_status via_from_dlpack(struct DLManagedTensorVersioned *tensor, const via_dlpack_options *options,
                                       via_stream *stream, via_array **out_array);

/**
 * Exports as via_to_dlpack does, in the form before 1.0. That form has no flags: a read-only array is refused unless it
 * is copied.
 */
VIA_CHECKED via_status via_to_dlpack_legacy(via_array *array, const via_dlpack_options *options, via_stream *stream,
                                            struct DLManagedTensor **out_tensor);

/**
 * Imports as via_from_dlpack does, from the form before 1.0. That form has no read-only flag: the array is writable.
 */
VIA_CHECKED via_status via_from_dlpack_legacy(struct DLManagedTensor *tensor, const via_dlpack_options *options,
                                              via_stream *stream, via_array **out_array);

/** Calls the deleter, if any, of a tensor that was not consumed, of any major version. Ignores NULL. */
VIA_API void via_dlpack_delete(struct DLManagedTensorVersioned *tensor);

/** Calls the deleter, if any, of a tensor of the form before 1.0 that was not consumed. Ignores NULL. */
VIA_API void via_dlpack_delete_legacy(struct DLManagedTensor *tensor);

/**
 * NumPy's __array_interface__ and the __cuda_array_interface__ (both version 3) as one flat struct: the content of the
 * Python dictionary, with nothing to own.
 */
typedef struct via_array_interface {
    int32_t struct_size; /**< size of the struct, as ..._INIT sets it */
    int32_t version;     /**< 3 */
    int32_t ndim;        /**< number of dimensions */
    int32_t read_only;   /**< 1 if the memory must not be written */
    int32_t has_strides; /**< 0: row-major, and strides are not read */
    int32_t has_stream;  /**< CUDA only: 1 if `stream` is set, 0 for None */
    int64_t stream;      /**< CUDA only: 1 legacy, 2 per-thread, otherwise the address of a CUstream; never 0 */
    void *address;       /**< NULL without elements */
    int64_t shape[64];   /**< ndim extents */
    int64_t strides[64]; /**< ndim strides in bytes */
    char typestr[16];    /**< NumPy's typestr: "<f4", or "|V12" for a record */
} via_array_interface;
/** Initialiser of a via_array_interface. */
#define VIA_ARRAY_INTERFACE_INIT {sizeof(via_array_interface), 0, 0, 0, 0, 0, 0, 0, {0}, {0}, {0}}

/**
 * Describes host, pinned or managed memory as __array_interface__ does, after waiting on the host until it is ready.
 * Initialise *out_description with VIA_ARRAY_INTERFACE_INIT. The description borrows: the array must outlive its use.
 * Errors: VIA_ERROR_EXCHANGE (a dtype without typestr, or memory of a CUDA device).
 */
VIA_CHECKED via_status via_to_array_interface(via_array *array, via_array_interface *out_description);

/**
 * Wraps the memory of an __array_interface__; release and context as in via_wrap.
 * Errors: as via_wrap; VIA_ERROR_VERSION for a version other than 2 or 3.
 */
VIA_CHECKED via_status via_from_array_interface(const via_array_interface *description, via_release_fn release,
                                                void *context, via_array **out_array);

/**
 * Describes CUDA, pinned or managed memory as __cuda_array_interface__ does, after making `stream` wait until it is
 * ready. The description names that stream. NULL means the legacy stream; no_sync orders nothing and names none. The
 * description borrows: the array must outlive its use.
 * Errors: VIA_ERROR_EXCHANGE (a dtype without typestr, or ordinary host memory); those of the driver.
 */
VIA_CHECKED via_status via_to_cuda_array_interface(via_array *array, via_stream *stream,
                                                   via_array_interface *out_description);

/**
 * Wraps the memory of a __cuda_array_interface__; release and context as in via_wrap. The array is ready after the
 * stream that the description names, or now if it names none. Detects the device and the kind of memory by a driver
 * query; memory without elements counts as device 0's.
 * Errors: as via_wrap; VIA_ERROR_VERSION for a version other than 2 or 3; VIA_ERROR_EXCHANGE for stream 0;
 * VIA_ERROR_POINTER for memory unknown to the driver; VIA_ERROR_UNSUPPORTED without CUDA.
 */
VIA_CHECKED via_status via_from_cuda_array_interface(const via_array_interface *description, via_release_fn release,
                                                     void *context, via_array **out_array);

/**
 * Exports a row-major array of integers, float16 to float64 or records through Arrow's C device interface. One
 * dimension is a plain column, more are the canonical extension type arrow.fixed_shape_tensor.
 *
 * The caller owns both structs, uninitialised before the call, and ends them with their own release members or
 * via_arrow_release. On failure both are zeroed, which counts as released. Arrow has no read-only flag: consumers must
 * treat columns as immutable. Device memory that is not ready carries a sync_event, which the column owns. Other memory
 * is waited for on the host.
 * Errors: VIA_ERROR_EXCHANGE (a dtype without Arrow type, or no dimension), VIA_ERROR_NEEDS_COPY (not row-major),
 * VIA_ERROR_OVERFLOW (a row of more than 2^31 - 1 values), VIA_ERROR_OUT_OF_MEMORY; those of the driver.
 */
VIA_CHECKED via_status via_to_arrow_device(via_array *array, struct ArrowSchema *out_schema,
                                           struct ArrowDeviceArray *out_array);

/**
 * Imports an Arrow device array without nulls, of a primitive type or (nested) fixed-size lists of one. The result is
 * read-only. Consumes both structs on success (their release members become NULL), neither on failure.
 *
 * Metadata of arrow.fixed_shape_tensor gives the axes: shape, transposed as `permutation` requires. dim_names are
 * checked and dropped. The array is ready after the column's sync_event. `stream`, if it is one, is made to wait for
 * that event.
 * Errors: VIA_ERROR_EXCHANGE, VIA_ERROR_DTYPE, VIA_ERROR_SHAPE (too many nested lists), VIA_ERROR_OVERFLOW,
 * VIA_ERROR_INVALID_ARGUMENT (a stream for host memory), VIA_ERROR_DEVICE, VIA_ERROR_POINTER, VIA_ERROR_UNSUPPORTED,
 * VIA_ERROR_OUT_OF_MEMORY; those of the driver.
 */
VIA_CHECKED via_status via_from_arrow_device(struct ArrowSchema *schema, struct ArrowDeviceArray *column,
                                             via_stream *stream, via_array **out_array);

/** Releases each of the two that is not NULL and not yet released. */
VIA_API void via_arrow_release(struct ArrowSchema *schema, struct ArrowDeviceArray *column);

/*
 * Interprocess sharing. Other processes of the same host can use an array in place. Its memory must be
 * VIA_MEMORY_SHARED, or a plain allocation of a CUDA device: VIA_MEMORY_DEVICE, cuMemAlloc or cudaMalloc. Memory pools,
 * mappings, pinned and managed memory cannot be shared. The exporter sends plain bytes by any means. Any number of
 * processes may import them, any number of times, as long as an array of the exporter holds the memory. An import holds
 * it too, and may outlive the exporter's arrays and the exporter. A crash of either side leaves nothing behind.
 *
 * Host memory returns to the system when no process maps it. Device memory is released or freed by its owner when the
 * exporter has no array of it and every importer has released it or died. It stays usable for importers after the
 * exporter's death. A forked child of an importer counts as that importer until both have ended or called exec.
 *
 * Both processes must have the same user and process namespace, with /proc mounted. One file descriptor is open for
 * each allocation of VIA_MEMORY_SHARED, for each exported device allocation, and for each import. The processes
 * themselves order their later work.
 */

enum {
    VIA_IPC_MAX_BYTES = 1280 /**< longest description written by via_array_export_ipc */
};

/**
 * Describes the array for via_array_import_ipc. Writes *out_length bytes to out_bytes if they fit `capacity`; NULL and
 * 0 query the length. Waits on the host until the array is ready.
 * Errors: VIA_ERROR_UNSUPPORTED (memory that cannot be shared), VIA_ERROR_POINTER, VIA_ERROR_IO,
 * VIA_ERROR_OUT_OF_MEMORY, VIA_ERROR_CUDA, VIA_ERROR_FORKED.
 */
VIA_CHECKED via_status via_array_export_ipc(via_array *array, int64_t capacity, void *out_bytes, int64_t *out_length);

/**
 * Imports an array that another process described, at an address of this process. Read-only arrays stay read-only.
 * Checks every byte, and that the array lies within the memory. A process cannot import its own device memory.
 * Errors: VIA_ERROR_EXCHANGE (malformed bytes, or memory that is no longer shared), VIA_ERROR_VERSION, VIA_ERROR_DEVICE
 * (a device that is not visible to this process), VIA_ERROR_IO (not permitted), VIA_ERROR_OUT_OF_MEMORY,
 * VIA_ERROR_UNSUPPORTED, VIA_ERROR_CUDA, VIA_ERROR_FORKED; those of via_wrap for the description itself.
 */
VIA_CHECKED via_status via_array_import_ipc(const void *bytes, int64_t length, via_array **out_array);

/* ---------------------------------------------------------------------------------- streams and events */
/*
 * Streams and events are CUDA's. Without usable CUDA every call here fails with VIA_ERROR_UNSUPPORTED and states why.
 * In the forked child of a process that used CUDA it fails with VIA_ERROR_FORKED; retain and release still work there.
 * A missing device is VIA_ERROR_DEVICE. A failure of the driver is VIA_ERROR_CUDA, with the driver's name for it.
 *
 * Distinguish four arguments: via_stream_legacy(), via_stream_per_thread(), via_stream_no_sync() and NULL. no_sync is
 * no stream, and only exchange functions accept it. NULL means what the function states. The shared streams exist
 * everywhere and are borrowed: retain and release ignore them. The legacy and per-thread streams belong to the device
 * of the array or event, otherwise to that of the current context, otherwise to device 0. They are those of the
 * thread's current context if it belongs to that device, otherwise of the primary context. Every call resolves them
 * anew. No call here needs a current context, and none changes it.
 *
 * Use handles from any thread. A stream or event whose context was reset or destroyed is refused with VIA_ERROR_CUDA,
 * and may still be released. Never use a foreign stream or event after its owner destroyed it: this crashes the driver
 * and cannot be detected.
 *
 * Stream capture. The owner of a stream may capture it. No call here disturbs a capture on another stream. Calls that
 * cannot be captured fail with VIA_ERROR_STREAM_CAPTURE before they touch anything, and the capture stays valid. Such
 * calls query a captured stream, wait for one, or wait across the border of a capture. Using the legacy stream also
 * fails while a blocking stream of its context is captured.
 */

/**
 * Creates a stream of a device that does not synchronise with the legacy stream. Creates it in the thread's current
 * context if that belongs to the device, otherwise in the primary context.
 * Errors: VIA_ERROR_DEVICE, VIA_ERROR_OUT_OF_MEMORY.
 */
VIA_CHECKED via_status via_stream_create(int32_t device_id, via_stream **out_stream);

/**
 * Wraps a foreign CUstream. Its owner keeps it: it must exist until the work queued through the handle has completed
 * and the handle is no longer used. Native handles 0 and 1 are the legacy stream, 2 the calling thread's stream.
 * device_id -1 means the stream's own device; for these three values it means the device of the memory in each call.
 * Allowed while the stream is captured. Errors: VIA_ERROR_DEVICE, also for a stream of another device; VIA_ERROR_CUDA.
 */
VIA_CHECKED via_status via_stream_wrap(void *native_stream, int32_t device_id, via_stream **out_stream);

/** Returns CUDA's legacy default stream. Borrowed, never NULL. */
VIA_API via_stream *via_stream_legacy(void);

/** Returns CUDA's per-thread default stream, that of the thread that passes it to a call. Borrowed, never NULL. */
VIA_API via_stream *via_stream_per_thread(void);

/** Returns a value that is no stream and disables ordering, for exchange functions. Borrowed, never NULL. */
VIA_API via_stream *via_stream_no_sync(void);

/** Adds a reference to the handle. */
VIA_API void via_stream_retain(via_stream *stream);

/**
 * Drops a reference. The last one destroys a stream of via_stream_create without waiting: queued work still runs.
 * Allowed anywhere, also in a callback of the driver. A capture of that stream ends with it.
 */
VIA_API void via_stream_release(via_stream *stream);

/** Returns the CUstream; 1 and 2 for the legacy and per-thread streams, NULL for no_sync. */
VIA_API void *via_stream_handle(via_stream *stream);

/** Returns the stream's device; 0 for the shared streams, which belong to no particular one. */
VIA_API int32_t via_stream_device_id(via_stream *stream);

/** Waits on the host for the work queued on the stream so far. Errors: VIA_ERROR_STREAM_CAPTURE, VIA_ERROR_CUDA. */
VIA_CHECKED via_status via_stream_synchronize(via_stream *stream);

/** Stores 1 if the work queued on the stream so far has completed, otherwise 0. Errors: as via_stream_synchronize. */
VIA_CHECKED via_status via_stream_query(via_stream *stream, int32_t *out_done);

/**
 * Sets the calling thread's current stream for a device. Holds a reference until another one is set or the thread ends.
 * NULL restores the legacy stream. Errors: VIA_ERROR_DEVICE, also for a stream of another device;
 * VIA_ERROR_INVALID_ARGUMENT for via_stream_no_sync(), VIA_ERROR_OUT_OF_MEMORY.
 */
VIA_CHECKED via_status via_stream_set_current(int32_t device_id, via_stream *stream);

/**
 * Returns the calling thread's current stream for a device, initially the legacy stream; the caller releases it.
 * Errors: VIA_ERROR_DEVICE.
 */
VIA_CHECKED via_status via_stream_current(int32_t device_id, via_stream **out_stream);

/**
 * Makes later work of the stream wait, on the device, for the point that the event marks now. Waiting for an event that
 * was never recorded does nothing. Event and stream may belong to different contexts and devices. On a captured stream
 * the event must have been recorded in the same capture. An event recorded in a capture adds any other stream that
 * waits for it to that capture.
 * Errors: VIA_ERROR_INVALID_ARGUMENT for NULL and via_stream_no_sync(), VIA_ERROR_STREAM_CAPTURE, VIA_ERROR_CUDA.
 */
VIA_CHECKED via_status via_stream_wait(via_stream *stream, via_event *marker);

/**
 * Creates an event of a device, without timing, in the context that via_stream_create would choose.
 * Errors: VIA_ERROR_DEVICE, VIA_ERROR_OUT_OF_MEMORY, VIA_ERROR_CUDA.
 */
VIA_CHECKED via_status via_event_create(int32_t device_id, via_event **out_event);

/**
 * Wraps a foreign CUevent. Its owner keeps it: it must exist as long as the handle is used.
 * Errors: VIA_ERROR_DEVICE, VIA_ERROR_INVALID_ARGUMENT for NULL, VIA_ERROR_OUT_OF_MEMORY.
 */
VIA_CHECKED via_status via_event_wrap(void *native_event, int32_t device_id, via_event **out_event);

/** Adds a reference to the handle. */
VIA_API void via_event_retain(via_event *marker);

/**
 * Drops a reference. Streams and threads that wait for the event go on waiting. Allowed wherever via_stream_release is.
 */
VIA_API void via_event_release(via_event *marker);

/** Returns the CUevent. */
VIA_API void *via_event_handle(via_event *marker);

/**
 * Records the event: it marks the end of the work queued on the stream so far, and replaces the earlier point. On a
 * captured stream it marks a node of the graph, for via_stream_wait only.
 * Errors: VIA_ERROR_DEVICE for a stream of another device; VIA_ERROR_INVALID_ARGUMENT for one of another context, NULL
 * and via_stream_no_sync(); VIA_ERROR_STREAM_CAPTURE, VIA_ERROR_CUDA.
 */
VIA_CHECKED via_status via_event_record(via_event *marker, via_stream *stream);

/** Stores 1 if the marked point has been reached, otherwise 0. Errors: VIA_ERROR_STREAM_CAPTURE, VIA_ERROR_CUDA. */
VIA_CHECKED via_status via_event_query(via_event *marker, int32_t *out_done);

/** Waits on the host until the marked point has been reached. Errors: as via_event_query. */
VIA_CHECKED via_status via_event_synchronize(via_event *marker);

/**
 * Records an access: the work queued on the stream so far uses the memory, of any kind. The release waits for it, on a
 * thread of the library if it has to wait. Marks a point now; holds no reference to the stream. On a captured stream
 * the graph and its instances hold the memory instead, for as long as they exist.
 * Errors: VIA_ERROR_INVALID_ARGUMENT for NULL and via_stream_no_sync(), VIA_ERROR_STREAM_CAPTURE, VIA_ERROR_CUDA,
 * VIA_ERROR_OUT_OF_MEMORY.
 */
VIA_CHECKED via_status via_array_record_stream(via_array *array, via_stream *stream);

/**
 * Records a write: the work queued on the stream so far writes the content. Reads, exports and the release wait for it.
 * Marks a point now, which replaces that of the previous write. On a captured stream: as via_array_record_stream.
 * Errors: as via_array_record_stream.
 */
VIA_CHECKED via_status via_array_set_ready(via_array *array, via_stream *stream);

/** Returns 1 if no recorded write of the content is pending, otherwise 0: an export would not have to wait. */
VIA_API int32_t via_array_is_ready(via_array *array);

/**
 * Waits on the host until the content is ready. Call it before the CPU reads pinned or managed memory.
 * Errors: VIA_ERROR_CUDA; VIA_ERROR_WOULD_DEADLOCK inside a callback; those of a task that was to write it and fails
 * during the wait; once VIA_ERROR_INDEX, for a copy by index that found a number out of range (via_copy_indexed).
 */
VIA_CHECKED via_status via_array_synchronize(via_array *array);

/* ------------------------------------------------------------------------------------------------ copy */
/*
 * A copy takes two arrays of equal shape and dtype, of any layout. The source may be broadcast (strides of 0) and have
 * negative strides. Gaps of the destination are not written. Every refused copy leaves both arrays untouched.
 * VIA_ERROR_READ_ONLY refuses a read-only destination, VIA_ERROR_OVERLAP one that overlaps itself or the source,
 * VIA_ERROR_SHAPE and VIA_ERROR_DTYPE unequal arrays.
 *
 * Devices. Each array may be on any device, with any layout. Peer access is neither needed nor enabled: copies between
 * two devices pass through memory of the library that both reach, or go directly where access is enabled. Copy engines
 * move what they can. Kernels of the library move the rest of device memory, and host threads that of host memory.
 * via_copy_explain reports the route. A device without kernels (via_device_info states why) is slower at strided copies
 * to and from the host. It refuses other strided copies, and those of more than 1000 calls of a copy engine, with
 * VIA_ERROR_UNSUPPORTED. A copy may read the bytes between elements of a source that are less than a page apart. It
 * detects pinned host memory where that matters. The first strided copy of a context loads the kernels, which waits for
 * the context's work; via_cuda_warmup loads them in advance. A strided copy needs a stream of a device that has one of
 * the arrays. Copies through memory of the library keep up to 192 MiB of a device's memory allocated. Elements narrower
 * than a byte, with runs or strides that are no whole bytes, are copied bit by bit by one host thread. Device arrays of
 * that kind pass through host memory, and each call waits.
 *
 * Ordering. Every copy runs after the last recorded writes of both arrays (via_array_set_ready, imports, earlier
 * asynchronous copies), and makes its destination ready when it completes. It does not wait for recorded accesses. The
 * streams below may belong to any context. NULL, legacy and per-thread streams are those of the device that has an
 * array. Between two devices they are those of the current device if it has an array, otherwise of dst's. Without a
 * device array they are those of the current device, otherwise of device 0. No stream ever waits for the CPU.
 *
 * Thread safety. All functions may be called from any thread. None needs a current context or changes it. Errors of
 * all: VIA_ERROR_CUDA, VIA_ERROR_FORKED, VIA_ERROR_UNSUPPORTED (no usable driver), VIA_ERROR_OUT_OF_MEMORY.
 */

/**
 * Copies, and returns when the host and every stream see the result. With CUDA, pinned or managed memory the copy runs
 * after the work queued on the legacy stream, on both devices if there are two.
 * Errors: also VIA_ERROR_STREAM_CAPTURE if the legacy stream cannot be used because a blocking stream is captured.
 */
VIA_CHECKED via_status via_copy(via_array *dst, via_array *src);

/**
 * Queues a copy on a stream; NULL is the legacy stream. Holds both arrays until the copy has run. With NULL, copies
 * between host arrays as via_copy does while CUDA is not in use.
 *
 * From pageable host memory the source has been read on return; the call may wait for earlier work of the stream. To
 * pageable host memory, and within host memory, the data has arrived on return.
 *
 * On a captured stream the copy becomes part of the graph. The graph holds both arrays, and allocates and frees scratch
 * memory itself. A capture refuses pageable memory, and strided copies without device memory. It also refuses copies
 * whose kernels are not loaded, and copies between two devices that take work of both.
 * Errors: also VIA_ERROR_STREAM_CAPTURE, VIA_ERROR_INVALID_ARGUMENT (via_stream_no_sync() is no stream),
 * VIA_ERROR_DEVICE (a strided copy on a stream of a device that has no array).
 */
VIA_CHECKED via_status via_copy_async(via_array *dst, via_array *src, via_stream *stream);

/**
 * Submits a copy as a task and returns at once, for any kinds of memory. Starts after the work queued on the stream so
 * far; NULL and via_stream_no_sync() are no stream: pass the legacy stream to wait for it. Orders later work of the
 * stream by via_task_join only. Holds both arrays until the task has ended; dst is ready then. Between arrays of host
 * memory it needs no device.
 * Errors: also VIA_ERROR_STREAM_CAPTURE for a stream being captured.
 */
VIA_CHECKED via_status via_copy_submit(via_array *dst, via_array *src, via_stream *stream, via_task **out_task);

/**
 * Queues `count` copies on a stream, as via_copy_async does one. The pairs must not overlap one another. Checks all
 * pairs before it touches the first. The lists may be NULL if `count` is 0. Errors: as via_copy_async.
 */
VIA_CHECKED via_status via_copy_batch(int32_t count, via_array *const *dsts, via_array *const *srcs,
                                      via_stream *stream);

/** Options of conversions: via_convert and others. */
typedef struct via_convert_options {
    int32_t struct_size; /**< size of the struct, as ..._INIT sets it */
    int32_t casting;     /**< VIA_CASTING_...: which conversions are allowed */
    int32_t overflow;    /**< VIA_OVERFLOW_...: floats too large for a destination of at most 8 bits */
    int32_t byte_order;  /**< VIA_BYTE_ORDER_... of the elements of src */
    void *scale;         /**< float32 numbers that elements are multiplied by, only read; NULL: 1 */
    void *offset;        /**< float32 numbers that are added then, only read; NULL: 0 */
    int64_t scale_count; /**< numbers in each of both: the extent of scale_axis; 0 or 1: one for all elements */
    int32_t scale_axis;  /**< axis of dst that they go along; a negative one counts from the end */
    int32_t pad;         /**< not read */
} via_convert_options;
/** Initialiser of a via_convert_options. */
#define VIA_CONVERT_OPTIONS_INIT {sizeof(via_convert_options), 0, 0, 0, 0, 0, 0, 0, 0}

/**
 * Copies rows by index: row src_index[k] of src to row dst_index[k] of dst, for each k. A row is the part of an array
 * at one index of `axis`; a negative axis counts from the end. dst and src have one dtype and equal extents along the
 * other axes, and any layout. An index is an array of int32 or int64 with one dimension. NULL means 0, 1, 2 ... for as
 * many rows as the other index has; if both are NULL, for all rows. Rows of src may be read several times. dst and src
 * may be one array if no row of it is both read and written, and both indices are in host memory.
 *
 * An index in host, pinned or managed memory is read and checked before anything moves; dst_index must not repeat a
 * row. An index on a device belongs to the device of dst or src, and its numbers are checked there. A row whose number
 * is out of range is not copied, and nothing is written elsewhere. The call fails then if `stream` is NULL. Otherwise
 * the next wait of the host for dst fails, once: via_array_synchronize(dst), or a copy by the host. A captured graph
 * reports no error. Rows that such a dst_index repeats hold bytes of any of their sources.
 *
 * With `options` the rows are converted on the way as via_convert does, and dst may have another dtype. NULL stands for
 * a copy of equal dtypes. Options have been read on return. scale_axis must differ from `axis`. An index on a device is
 * then read by the host, which waits for the stream. dst and src must then share no bytes.
 *
 * With `stream` NULL the copy is ordered as via_copy and complete on return. Otherwise it is ordered as via_copy_async,
 * and holds all arrays until it has run. Device memory needs the library's kernels. Between pageable memory and a
 * device, and between two devices, rows pass through up to 128 MiB of device memory. The host then reads an index on a
 * device, for which it waits for the stream. A capture refuses these copies. Elements narrower than a byte whose rows
 * are no whole bytes are copied within host memory only.
 * Errors: as via_copy and via_copy_async, with `options` as via_convert; VIA_ERROR_INDEX for a number or an axis out of
 * range, VIA_ERROR_OVERLAP also for a repeated row of dst_index, VIA_ERROR_DTYPE and VIA_ERROR_SHAPE also for an index,
 * VIA_ERROR_DEVICE.
 */
VIA_CHECKED via_status via_copy_indexed(via_array *dst, via_array *dst_index, via_array *src, via_array *src_index,
                                        int32_t axis, const via_convert_options *options, via_stream *stream);

/**
 * Submits a copy by index as a task, as via_copy_submit does a copy. An index in host memory has been read on return. A
 * number out of range in an index on a device is the task's failure.
 * Errors: as via_copy_indexed and via_copy_submit.
 */
VIA_CHECKED via_status via_copy_indexed_submit(via_array *dst, via_array *dst_index, via_array *src,
                                               via_array *src_index, int32_t axis, const via_convert_options *options,
                                               via_stream *stream, via_task **out_task);

/**
 * Copies src to dst, which has another dtype, and converts on the way. dst and src have equal shapes, any layout and
 * any device. `options` may be NULL for the defaults. The result has the same bits wherever the conversion runs,
 * whatever rounding, flushing of subnormal numbers and traps (fenv.h) the program has set:
 *
 * - Integers to integers keep the low bits. Booleans are 0 and 1; anything that is not zero, NaN too, becomes 1.
 * - Floats to integers lose their fraction. Out of range they become the nearest limit, and NaN 0.
 * - Numbers to floats round once, to nearest, ties to even. Overflow becomes infinity; see VIA_OVERFLOW_... for 8 bits
 *   and fewer. A NaN stays a quiet one of its sign, with the upper bits of its payload in types of 16 bits or more.
 *   Types without NaN get a zero, as in ml_dtypes. float8_e8m0fnu gets the nearest power of two, and NaN for zero and
 *   for what is negative.
 * - Complex numbers lose their imaginary part to real types. To bool, either part counts.
 *
 * With options.scale or options.offset a destination of floats becomes `src * scale + offset` in float32. src is
 * rounded to float32, the product and the sum are rounded each, and the sum is rounded to dst. The casting rule applies
 * to the dtypes of src and dst. A NaN result is quiet and positive, and has no payload. Scale and offset are in host
 * memory, and have been read on return.
 *
 * dst and src may have lanes, if both have as many. Elements narrower than a byte must take a byte each. Equal dtypes
 * are copied as via_copy does. With a byte order that is not this machine's, the bytes of src are swapped on the way.
 *
 * With `stream` NULL the conversion is ordered as via_copy and complete on return. Otherwise it is ordered as
 * via_copy_async, and holds both arrays until it has run. Device memory needs the library's kernels. Between pageable
 * memory and a device the narrower of the two dtypes crosses the link: the host converts what becomes narrower, the
 * device what becomes wider. If the device's elements are not adjacent, or are converted there, they pass through up to
 * 128 MiB of device memory. Between two devices the narrower one crosses too. A capture refuses conversions between
 * pageable memory and a device, between two devices, and by the host.
 * Errors: as via_copy and via_copy_async. VIA_ERROR_DTYPE also for what the casting rule does not allow; the text names
 * both dtypes, the rule, and one that allows it. VIA_ERROR_UNSUPPORTED also for packed elements. With a scale or an
 * offset, VIA_ERROR_DTYPE for other destinations than floats and for complex sources, VIA_ERROR_SHAPE for a wrong
 * scale_count, VIA_ERROR_INDEX for scale_axis.
 */
VIA_CHECKED via_status via_convert(via_array *dst, via_array *src, const via_convert_options *options,
                                   via_stream *stream);

/**
 * Submits a conversion as a task, as via_copy_submit does a copy. `options` has been read on return.
 * Errors: as via_convert and via_copy_submit.
 */
VIA_CHECKED via_status via_convert_submit(via_array *dst, via_array *src, const via_convert_options *options,
                                          via_stream *stream, via_task **out_task);

/**
 * Describes how via_convert would convert, as via_copy_explain does a copy: the route, and where elements change.
 * Errors: as via_convert.
 */
VIA_CHECKED via_status via_convert_explain(via_array *dst, via_array *src, const via_convert_options *options,
                                           int64_t capacity, char *out_text, int64_t *out_length);

/**
 * Copies nbytes between two raw addresses, each of the kind of memory that the driver reports. With `stream` NULL it
 * works as via_copy, otherwise as via_copy_async but without holding the memory: it must stay valid until the copy has
 * run. If either side is device memory, refuses an allocation that is known to end before nbytes do. nbytes may be 0.
 * Errors: VIA_ERROR_INVALID_ARGUMENT, VIA_ERROR_POINTER, VIA_ERROR_OVERLAP, VIA_ERROR_STREAM_CAPTURE.
 */
VIA_CHECKED via_status via_memcpy(void *dst, const void *src, int64_t nbytes, via_stream *stream);

/**
 * Sets every element to the bytes at `element`, in host memory; NULL means zero. They are one element as a dense array
 * holds it; an element narrower than a byte takes the low bits. They have been read on return. With `stream` NULL the
 * fill is ordered as via_copy and complete on return, otherwise ordered as via_copy_async, holding dst until it has
 * run. On a CUDA device the stream must belong to that device, packed elements must come in whole bytes, and elements
 * that are not adjacent need the library's kernels. During a capture an element has at most 16 units, or repeats one.
 * A unit has 4, 2 or 1 bytes, as the address and the size of the element allow.
 * Errors: VIA_ERROR_READ_ONLY, VIA_ERROR_OVERLAP, VIA_ERROR_UNSUPPORTED, VIA_ERROR_DEVICE, VIA_ERROR_STREAM_CAPTURE.
 */
VIA_CHECKED via_status via_fill(via_array *dst, const void *element, via_stream *stream);

/**
 * Describes how via_copy would copy (route, collapsed shape, threads, bytes) as text, without copying. Writes at most
 * `capacity` bytes including the terminating 0, and stores the whole length without it. NULL and 0 query the length.
 * Errors: as via_copy.
 */
VIA_CHECKED via_status via_copy_explain(via_array *dst, via_array *src, int64_t capacity, char *out_text,
                                        int64_t *out_length);

/* --------------------------------------------------------------------------------- tasks and batches */

/*
 * A task is asynchronous work that ends once: done, failed or cancelled. Any thread may use it. Copies, fills and
 * batches that wait for a task go on if it fails; its own status is the failure. A task releases its arrays before it
 * counts as ended. That happens on the thread that ran, awaited or cancelled it, or on a thread of the library if a
 * device did the rest. In a forked child, a task of the parent that had not ended has failed with VIA_ERROR_FORKED. Its
 * callback is not called there, and the child never releases what it held.
 */

/** Adds a reference to the handle. */
VIA_API void via_task_retain(via_task *task);

/** Drops a reference. A task that is still running is detached: it runs to its end, and calls its callback. */
VIA_API void via_task_release(via_task *task);

/**
 * Waits for the end and returns the task's own status, with its text and code. Any number of threads may wait.
 * Errors: VIA_ERROR_WOULD_DEADLOCK inside a callback of the library, unless the task has ended; the task's own.
 */
VIA_CHECKED via_status via_task_wait(via_task *task);

/** Stores 1 if the task has ended, in any way, otherwise 0. Errors: VIA_ERROR_INVALID_ARGUMENT for NULL. */
VIA_CHECKED via_status via_task_poll(via_task *task, int32_t *out_done);

/**
 * Stores the bytes known to be moved so far, and the total. The first number never decreases. It equals the total once
 * the task has ended with VIA_OK. Bytes moved by a device in one operation count when that operation has completed.
 * Errors: VIA_ERROR_INVALID_ARGUMENT for NULL.
 */
VIA_CHECKED via_status via_task_progress(via_task *task, int64_t *out_done, int64_t *out_total);

/**
 * Requests cancellation, without waiting. A task that has not begun has then ended with VIA_ERROR_CANCELLED, and has
 * touched nothing. A running task ends so at its next check, with its destination partly written. A task that a device
 * is running, or that has ended, is not affected. Errors: VIA_ERROR_INVALID_ARGUMENT for NULL.
 */
VIA_CHECKED via_status via_task_cancel(via_task *task);

/**
 * Makes later work of the stream (NULL means the legacy stream) wait, on the device, for the task. Waits on the host
 * until the whole task has been submitted to a device. Errors: the task's own, if it has failed already;
 * VIA_ERROR_WOULD_DEADLOCK as in via_task_wait; VIA_ERROR_UNSUPPORTED without CUDA, VIA_ERROR_FORKED, VIA_ERROR_CUDA.
 */
VIA_CHECKED via_status via_task_join(via_task *task, via_stream *stream);

/**
 * Registers `complete`, to be called once, on a thread of the library, when the task has ended. If it has ended
 * already, the callback runs on this thread before the call returns. A task accepts one callback in its life.
 * Errors: VIA_ERROR_INVALID_ARGUMENT for a second callback and for NULL; the callback is then never called.
 */
VIA_CHECKED via_status via_task_on_complete(via_task *task, via_complete_fn complete, void *context);

/*
 * A batch holds copies. Run and submit it any number of times, from several threads at once. Do not call via_batch_add,
 * via_batch_add_indexed or via_batch_add_convert concurrently with other uses of the batch. Submitted tasks continue
 * without the new copy. Copies of a batch must not overlap one another, which is not checked.
 */

/** Creates an empty batch; running it without copies is allowed. Errors: VIA_ERROR_OUT_OF_MEMORY. */
VIA_CHECKED via_status via_batch_create(via_batch **out_batch);

/** Adds a reference to the handle. */
VIA_API void via_batch_retain(via_batch *batch);

/** Drops a reference. The last one releases the arrays once the batch's runs and tasks have ended. */
VIA_API void via_batch_release(via_batch *batch);

/**
 * Adds one copy, and holds both arrays. On failure the batch is unchanged.
 * Errors: as via_copy; VIA_ERROR_OVERFLOW beyond 2^30 copies; VIA_ERROR_OUT_OF_MEMORY.
 */
VIA_CHECKED via_status via_batch_add(via_batch *batch, via_array *dst, via_array *src);

/**
 * Adds one copy by index, and holds all arrays. Reads and checks an index in host memory now, and prepares the copy:
 * each run takes one launch where via_copy_indexed does. An index on a device is read by each run. On failure the batch
 * is unchanged. Errors: as via_copy_indexed and via_batch_add.
 */
VIA_CHECKED via_status via_batch_add_indexed(via_batch *batch, via_array *dst, via_array *dst_index, via_array *src,
                                             via_array *src_index, int32_t axis, const via_convert_options *options);

/**
 * Adds one conversion, and holds both arrays. Prepares it now, and reads `options`. On failure the batch is unchanged.
 * Errors: as via_convert and via_batch_add.
 */
VIA_CHECKED via_status via_batch_add_convert(via_batch *batch, via_array *dst, via_array *src,
                                             const via_convert_options *options);

/** Returns the number of copies. */
VIA_API int64_t via_batch_size(via_batch *batch);

/**
 * Queues all copies on a stream, as via_copy_batch does. The first run plans them, which takes longer. So do the first
 * run after an addition, and the first on a stream of another device. With NULL, copies between arrays of host memory
 * need no device. Errors: as via_copy_async.
 */
VIA_CHECKED via_status via_batch_run(via_batch *batch, via_stream *stream);

/**
 * Submits all copies as one task, as via_copy_submit does one. The text of a failure names the copy ("copy 3 of 10"):
 * the copies before it are done, those after it not begun. Copies that a device runs in one operation come first, and
 * fail together ("7 of 10 copies, done together").
 * Errors: as via_copy_submit; VIA_ERROR_OVERFLOW for more than 2^63 - 1 bytes together.
 */
VIA_CHECKED via_status via_batch_submit(via_batch *batch, via_stream *stream, via_task **out_task);

/* ------------------------------------------------------------------------------------------------ file */

/*
 * A file holds elements only (raw), or a NumPy header followed by elements (.npy). A byte_offset counts from the first
 * element: no call reaches the header. Elements are in row-major order, or in column-major order if the header or the
 * options say so. Arrays of any layout are read and written in that order.
 *
 * A transfer of a .npy file is whole. byte_offset is 0, and the array has the header's element type and shape (ignoring
 * axes of extent 1). Use windows for parts. With as_bytes in the options, a .npy file transfers as a raw file does: any
 * shape and element type, from any byte_offset. A window then accepts any element type of the same size.
 *
 * Any number of threads may use a file at once; transfers of the same bytes run in no particular order. Errors of all:
 * VIA_ERROR_IO, with errno in via_last_error_code() and its name in the text. Texts contain the path.
 *
 * Paths. Functions follow symbolic links; a dangling link is ENOENT. They never open a directory, FIFO, socket or
 * device: VIA_ERROR_UNSUPPORTED. They wait for a lease on the file (Samba, nfsd), as open(2) does.
 */

/** Options of via_file_open and via_file_create. */
typedef struct via_file_options {
    int32_t struct_size;  /**< size of the struct, as ..._INIT sets it */
    int32_t mode;         /**< VIA_MODE_...; ignored by via_file_create */
    int32_t file_format;  /**< VIA_FORMAT_...; via_file_create takes AUTO as .npy if the path ends so, otherwise raw */
    int32_t column_major; /**< 1: elements in Fortran order; ignored for an existing .npy file */
    int32_t durable;      /**< 1: a write returns when the data would survive a power cut */
    int32_t atomic_write; /**< 1: a write replaces the whole file, or leaves it unchanged: see via_file_write */
    int32_t page_cache;   /**< VIA_PAGE_CACHE_... */
    int32_t as_bytes;     /**< 1: a transfer may differ from the file's shape and element type: see above */
} via_file_options;
/** Initialiser of a via_file_options. */
#define VIA_FILE_OPTIONS_INIT {sizeof(via_file_options), 0, 0, 0, 0, 0, 0, 0}

/** Properties of a file, from via_file_info. */
typedef struct via_file_properties {
    int32_t struct_size;  /**< size of the struct, as ..._INIT sets it */
    int32_t file_format;  /**< VIA_FORMAT_RAW or VIA_FORMAT_NPY */
    int32_t dtype;        /**< .npy, window: element type; 0 for raw */
    int32_t ndim;         /**< .npy, window: number of dimensions */
    int32_t column_major; /**< 1: Fortran order */
    int32_t byte_order;   /**< VIA_BYTE_ORDER_... of the elements; _NATIVE for this machine's */
    int64_t nbytes;       /**< current size of the whole file */
    int64_t byte_offset;  /**< offset of the first element in the whole file */
    int64_t shape[64];    /**< .npy, window: ndim extents */
} via_file_properties;
/** Initialiser of a via_file_properties. */
#define VIA_FILE_PROPERTIES_INIT {sizeof(via_file_properties), 0, 0, 0, 0, 0, 0, 0, {0}}

/**
 * Opens an existing regular file; options may be NULL. The path is any bytes that the system accepts. Checks every
 * character of a .npy header. The file must hold all elements that its header states, and may hold more. Treats a
 * record as that many bytes, without its fields. Refuses elements that are neither numbers nor records (text, times,
 * Python objects). Numbers in another byte order than this machine's are swapped by reads and writes, of windows too;
 * neither a window of another element type nor a mapping with dtype 0 is made of them. Errors:
 * VIA_ERROR_INVALID_ARGUMENT, VIA_ERROR_UNSUPPORTED (no regular file), VIA_ERROR_OUT_OF_MEMORY; for a header
 * VIA_ERROR_FORMAT, VIA_ERROR_VERSION, VIA_ERROR_DTYPE, VIA_ERROR_SHAPE, VIA_ERROR_OVERFLOW.
 */
VIA_CHECKED via_status via_file_open(const char *path, const via_file_options *options, via_file **out_file);

/**
 * Creates a file for an array of `dtype` and `shape`, filled with zeros, or truncates an existing file to it; options
 * may be NULL. For a raw file dtype and shape define the size only. Allocates no disk blocks: the file is sparse until
 * it is written, or mapped (see via_file_array).
 *
 * With atomic_write, an existing file stays until the first write is complete. That write then replaces whatever file
 * has the path. A forked child must leave this write to its parent: it gets VIA_ERROR_FORKED, and releasing its handle
 * leaves the file alone.
 * Errors: VIA_ERROR_INVALID_ARGUMENT, VIA_ERROR_DTYPE (also one that a .npy file cannot name), VIA_ERROR_SHAPE,
 * VIA_ERROR_OVERFLOW, VIA_ERROR_UNSUPPORTED, VIA_ERROR_OUT_OF_MEMORY.
 */
VIA_CHECKED via_status via_file_create(const char *path, int32_t dtype, int32_t ndim, const int64_t *shape,
                                       const via_file_options *options, via_file **out_file);

/**
 * Makes a window: a strided part of a file, as a file of its own. byte_offset, dtype, ndim and shape name an array in
 * the file, as for via_file_array. The window has counts[i] indices of each axis i, from starts[i], with a step of
 * steps[i]; NULL as for via_array_slice. A window of a window takes the window's indices, with byte_offset, dtype and
 * ndim 0.
 *
 * Reads and writes of a window take byte_offset 0, and an array of its element type and shape (ignoring axes of extent
 * 1). A read touches the pages that hold the window, and those of gaps too small for a read of their own. A write
 * leaves all bytes between the window's elements unchanged. via_file_array maps a window. via_file_info describes it,
 * with the byte_offset of its element at index 0. The window holds a reference to the file.
 * Errors: VIA_ERROR_INVALID_ARGUMENT, VIA_ERROR_INDEX, VIA_ERROR_DTYPE, VIA_ERROR_SHAPE, VIA_ERROR_OVERFLOW,
 * VIA_ERROR_UNSUPPORTED for packed elements, VIA_ERROR_OUT_OF_MEMORY.
 */
VIA_CHECKED via_status via_file_window(via_file *file, int64_t byte_offset, int32_t dtype, int32_t ndim,
                                       const int64_t *shape, const int64_t *starts, const int64_t *counts,
                                       const int64_t *steps, via_file **out_file);

/**
 * Makes a file of the same elements in another dtype, from a .npy file or a window. Its reads and writes take arrays of
 * that dtype and the file's shape at byte_offset 0. They convert on the way as via_convert does. The file's elements
 * are src of a read and dst of a write. Numbers narrower in an array than in the file cross a link in the array's
 * dtype, others in the file's. `options` may be NULL, and has been read on return; scale_axis is one of the file's.
 * byte_order is that of the file's elements, for windows of raw files: the header of a .npy file states it. A file that
 * converts already is converted again from its own elements; their byte order stays. The caller owns the result, which
 * holds the file. It has no mappings, and windows only if it changes nothing but the byte order. A transfer of a device
 * needs the library's kernels, unless its elements are adjacent.
 *
 * Checks reads now, and writes too if the mode allows them: at least one of them must be possible. The other fails when
 * it is called, before anything is touched.
 * Errors: as via_convert; VIA_ERROR_INVALID_ARGUMENT (also for a raw file, and for a byte_order that a .npy file
 * does not have), VIA_ERROR_UNSUPPORTED (as_bytes for a .npy file).
 */
VIA_CHECKED via_status via_file_convert(via_file *file, int32_t dtype, const via_convert_options *options,
                                        via_file **out_file);

/** Adds a reference to the handle. */
VIA_API void via_file_retain(via_file *file);

/** Drops a reference. The last one closes the file once its transfers have ended. Mapped arrays stay valid. */
VIA_API void via_file_release(via_file *file);

/**
 * Describes the file. Initialise *out_properties with VIA_FILE_PROPERTIES_INIT. Errors: VIA_ERROR_INVALID_ARGUMENT for
 * NULL and for a struct_size of 0.
 */
VIA_CHECKED via_status via_file_info(via_file *file, via_file_properties *out_properties);

/**
 * Maps the file from byte_offset as an array in the file's order; nothing is read before it is accessed. For .npy,
 * dtype 0 and ndim 0 take all three from the header, at byte_offset 0. The array is read-only with VIA_MODE_READ or
 * atomic_write. Copy-on-write arrays are writable; writes never reach the file. An atomic write replaces the mapped
 * file by another one: the array keeps the old content.
 *
 * Accessing an array of a file that was truncated meanwhile kills the process (SIGBUS); via_file_read reports it
 * instead. Writing to a hole of a file on a full disk does the same; via_file_write reports it instead. For a writable
 * array of a file of via_file_create, this function therefore allocates the disk blocks, and returns VIA_ERROR_IO
 * (ENOSPC) if there are too few. The danger remains for files opened with holes, and on file systems that cannot
 * allocate blocks in advance.
 * Errors: VIA_ERROR_INVALID_ARGUMENT (also for bytes beyond the end of the file), VIA_ERROR_DTYPE, VIA_ERROR_SHAPE,
 * VIA_ERROR_OVERFLOW, VIA_ERROR_UNSUPPORTED (a file that converts), VIA_ERROR_OUT_OF_MEMORY.
 */
VIA_CHECKED via_status via_file_array(via_file *file, int64_t byte_offset, int32_t dtype, int32_t ndim,
                                      const int64_t *shape, via_array **out_array);

/**
 * Reads the elements of an array, of any layout on any device, from the file at byte_offset. With `stream` NULL the
 * read is ordered as via_copy, otherwise it starts after the work queued on that stream so far. On return the elements
 * have arrived, for the host and every stream. On failure part of the array may have been written; the text states how
 * many bytes were moved. A file that has become too short is VIA_ERROR_IO. Several threads read. Pages that are not
 * cached bypass the page cache, through memory of the library, so that a large read leaves the cache unchanged: see
 * page_cache.
 * Errors: VIA_ERROR_INVALID_ARGUMENT (also for bytes beyond the end of the file), VIA_ERROR_READ_ONLY, VIA_ERROR_DTYPE,
 * VIA_ERROR_OVERLAP, VIA_ERROR_OVERFLOW, VIA_ERROR_UNSUPPORTED (packed elements that are not adjacent),
 * VIA_ERROR_STREAM_CAPTURE, VIA_ERROR_CUDA, VIA_ERROR_FORKED, VIA_ERROR_OUT_OF_MEMORY; for a window or a .npy file also
 * VIA_ERROR_SHAPE.
 */
VIA_CHECKED via_status via_file_read(via_file *file, int64_t byte_offset, via_array *dst, via_stream *stream);

/**
 * Writes the elements of an array to the file at byte_offset. Ordered as via_file_read. On return the system has all of
 * them; with `durable` they and the directory entry are on disk. A write beyond the end extends a raw file, but not a
 * .npy file. On failure part of the file may have been written. A write beyond the process's file size limit
 * (RLIMIT_FSIZE) is VIA_ERROR_IO with EFBIG, without a signal.
 *
 * With atomic_write, copies the file first, except what the array replaces. The complete copy then replaces the file.
 * On failure the file is unchanged, unless only flushing its name (`durable`) failed: then the name is the new file's.
 * The copy lies in the same directory under a name that ends in .part. A process that is killed leaves it there.
 * - Concurrent writers. Replaces only the file that was copied, unmodified. Returns VIA_ERROR_IO with ESTALE if another
 *   handle or program replaced, changed or removed it meanwhile. Open a replaced file again to write it.
 * - Permissions. Lets no other user open the copy before it has the file's permissions. Preserves permissions, the
 *   access control list (ACL) and extended attributes named `user.`, or returns VIA_ERROR_IO. Preserves owner, group
 *   and other attributes if the process may set them. If the group cannot be preserved, grants the new group no more
 *   than others have, and refuses a file with an ACL (EPERM). Other hard links keep the old file.
 * Errors: as via_file_read; VIA_ERROR_READ_ONLY for a file opened for reading; VIA_ERROR_FORKED for a file that the
 * parent created with atomic_write; VIA_ERROR_UNSUPPORTED if the path now names something other than a regular file.
 */
VIA_CHECKED via_status via_file_write(via_file *file, int64_t byte_offset, via_array *src, via_stream *stream);

/**
 * Submits a read as a task and returns at once. Starts after the work queued on the stream so far; NULL and
 * via_stream_no_sync() are no stream. Holds file and array until the task has ended; dst is ready then. Progress counts
 * bytes, and stays at its value after a failure or cancellation. Errors: as via_file_read.
 */
VIA_CHECKED via_status via_file_read_submit(via_file *file, int64_t byte_offset, via_array *dst, via_stream *stream,
                                            via_task **out_task);

/**
 * Submits a write as via_file_read_submit does a read; do not write the array until the task has ended.
 * Errors: as via_file_write.
 */
VIA_CHECKED via_status via_file_write_submit(via_file *file, int64_t byte_offset, via_array *src, via_stream *stream,
                                             via_task **out_task);

/**
 * Writes one array to a file: via_file_create and via_file_write with atomic_write, after which the file holds all of
 * it. On failure an existing file is unchanged, and there is no new one. Options may be NULL. Errors: those of both.
 */
VIA_CHECKED via_status via_save(const char *path, via_array *array, const via_file_options *options);

/**
 * Reads a whole file into a new row-major array: that of a .npy header, otherwise all bytes as VIA_UINT8. Allocates as
 * via_empty (memory NULL means the host), and reads as via_file_open and via_file_read. Options may be NULL. The caller
 * owns the array; there is none after a failure. Errors: those of all three.
 */
VIA_CHECKED via_status via_load(const char *path, via_memory *memory, const via_file_options *options,
                                via_array **out_array);

/* ------------------------------------------------------------------------------------------------ archives */

/*
 * An archive lists the tensors of one or more files: named arrays in row-major order, or column-major as a .npy file
 * may have them. Tensors are numbered from 0: those of a file in the order of their bytes, and files in the order of
 * their names. The content of a file says its format:
 * - safetensors;
 * - .npz, with stored entries only; names are those of the entries without ".npy", and checksums are not compared.
 *   Entries whose elements have no dtype (objects, texts, times) are listed, but not read. Calls with their number, and
 *   reads of an archive that has them, return VIA_ERROR_DTYPE: select the others;
 * - GGUF 2 and 3, little-endian; shapes are row-major (the innermost extent last), quantised blocks are VIA_UINT8 with
 *   their bytes as the last extent, and metadata are texts: numbers in decimal, arrays as JSON.
 *
 * A buffer is an array of via_archive_nbytes() elements of VIA_UINT8 that holds all tensors, each from a multiple of 64
 * bytes on. Bytes between them are 0. Read the buffer, and make a view of each tensor with via_archive_array. Tensors
 * and files are read in the order of their bytes by one pool of threads; neighbours share a read.
 *
 * Any number of threads may use an archive at once. Do not call via_archive_add, via_archive_slice or
 * via_archive_convert concurrently with other uses of it. Submitted tasks continue without the change. Errors of all:
 * VIA_ERROR_INVALID_ARGUMENT for NULL, VIA_ERROR_OUT_OF_MEMORY. Texts contain the path and the name of the tensor.
 */

/**
 * Opens an archive and reads its headers. The path is that of a file, of an index (a file that ends in .index.json), or
 * of a directory with one *.safetensors.index.json, or with *.safetensors files. Options may be NULL; those for writes
 * and for files of one array must be 0. Checks every byte of a header, and refuses duplicate names, overlaps, holes
 * (but in .npz), sizes other than those of dtype and shape, invalid UTF-8, and headers over 100,000,000 bytes.
 * Errors: VIA_ERROR_FORMAT, VIA_ERROR_VERSION, VIA_ERROR_DTYPE, VIA_ERROR_SHAPE, VIA_ERROR_OVERFLOW,
 * VIA_ERROR_INVALID_ARGUMENT, VIA_ERROR_IO, VIA_ERROR_UNSUPPORTED (no regular file, compressed entries of .npz,
 * big-endian GGUF).
 */
VIA_CHECKED via_status via_archive_open(const char *path, const via_file_options *options, via_archive **out_archive);

/**
 * Adds the tensors of another path, opened with the options of the archive. They get the numbers after those present.
 * On failure the archive is unchanged. Errors: as via_archive_open; VIA_ERROR_FORMAT for a name that is there already.
 */
VIA_CHECKED via_status via_archive_add(via_archive *archive, const char *path);

/** Adds a reference to the handle. */
VIA_API void via_archive_retain(via_archive *archive);

/** Drops a reference. The last one closes the files once reads have ended. */
VIA_API void via_archive_release(via_archive *archive);

/** Returns the number of tensors. */
VIA_API int64_t via_archive_size(via_archive *archive);

/** Returns the number of bytes of a buffer. */
VIA_API int64_t via_archive_nbytes(via_archive *archive);

/** Returns the name of a tensor, borrowed from the archive; NULL if the number is out of range. */
VIA_API const char *via_archive_name(via_archive *archive, int64_t number);

/**
 * Returns the name of a tensor's type in its format, such as "BF16", or "Q4_K" for GGUF's quantised blocks, which are
 * arrays of VIA_UINT8. Of an entry of a .npz file it is the name of the dtype; empty if it has none. Borrowed from the
 * archive; NULL if the number is out of range.
 */
VIA_API const char *via_archive_type_name(via_archive *archive, int64_t number);

/** Stores the number of the tensor of a name. Errors: VIA_ERROR_INDEX if there is none. */
VIA_CHECKED via_status via_archive_find(via_archive *archive, const char *name, int64_t *out_number);

/**
 * Writes the metadata of the headers as a JSON object of texts. Of a name in several files, the first file's text
 * counts. Writes at most `capacity` bytes including the terminating 0, and stores the whole length without it. NULL and
 * 0 query the length. Errors: VIA_ERROR_INVALID_ARGUMENT also for a negative capacity.
 */
VIA_CHECKED via_status via_archive_metadata(via_archive *archive, int64_t capacity, char *out_metadata,
                                            int64_t *out_length);

/**
 * Makes a window of a tensor in its file; see via_file_window. via_file_info describes its element type and shape. The
 * caller owns the window, which holds the file. Errors: VIA_ERROR_INDEX; VIA_ERROR_UNSUPPORTED for packed elements.
 */
VIA_CHECKED via_status via_archive_file(via_archive *archive, int64_t number, via_file **out_file);

/**
 * Makes an archive of `count` tensors, numbered in the order given, with a buffer of its own. It holds the files. The
 * caller owns it. Errors: VIA_ERROR_INDEX; VIA_ERROR_INVALID_ARGUMENT for a number that is given twice.
 */
VIA_CHECKED via_status via_archive_select(via_archive *archive, int32_t count, const int64_t *numbers,
                                          via_archive **out_archive);

/**
 * Reduces a tensor to `count` indices of an axis, from `start` on: the rows or columns of one process. Shape, window
 * and bytes are those of the part from now on. A read reads only that part; a further slice takes its indices. A
 * negative axis counts from the end. Changes this archive only: slice a selection to keep the whole. As for
 * via_archive_add, nothing else may use the archive meanwhile. On failure it is unchanged. Errors: VIA_ERROR_INDEX;
 * VIA_ERROR_UNSUPPORTED for packed elements, and for a cut through the blocks of a quantised tensor.
 */
VIA_CHECKED via_status via_archive_slice(via_archive *archive, int64_t number, int32_t axis, int64_t start,
                                         int64_t count);

/**
 * Reads a tensor as another dtype from now on: window, bytes and views have that dtype, and a read converts on the way
 * as via_convert does. Number -1 means all tensors of floats. The tensor's own dtype restores it. `options` may be
 * NULL; scale and offset must be 0, and byte_order 0 or this machine's. Elements cross a link in the narrower of both
 * dtypes, except for tensors below 1 MiB. Changes this archive only, and nothing else may use it meanwhile: see
 * via_archive_slice. On failure it is unchanged. Errors: as via_convert; VIA_ERROR_INDEX; VIA_ERROR_UNSUPPORTED for
 * elements narrower than a byte.
 */
VIA_CHECKED via_status via_archive_convert(via_archive *archive, int64_t number, int32_t dtype,
                                           const via_convert_options *options);

/**
 * Makes a view of a tensor in a buffer; touches no element. The caller owns the view, which holds the buffer's memory.
 * Errors: VIA_ERROR_INDEX; VIA_ERROR_DTYPE and VIA_ERROR_SHAPE for an array that is no buffer of this archive.
 */
VIA_CHECKED via_status via_archive_array(via_archive *archive, int64_t number, via_array *buffer,
                                         via_array **out_array);

/**
 * Allocates a buffer as via_empty (memory NULL means the host), and reads it as via_archive_read. The caller owns the
 * buffer; there is none after a failure. Errors: those of both.
 */
VIA_CHECKED via_status via_archive_load(via_archive *archive, via_memory *memory, via_stream *stream,
                                        via_array **out_buffer);

/**
 * Reads all tensors into a buffer, on any device. Ordered as via_file_read. On return the elements have arrived, for
 * the host and every stream. On failure part of the buffer may have been written. Files that changed since the archive
 * was opened, or while they are read, are VIA_ERROR_IO with ESTALE. Errors: as via_archive_array for the buffer, and as
 * via_file_read.
 */
VIA_CHECKED via_status via_archive_read(via_archive *archive, via_array *buffer, via_stream *stream);

/**
 * Submits a read as via_file_read_submit does. The task holds files and buffer until it has ended.
 * Errors: as via_archive_read.
 */
VIA_CHECKED via_status via_archive_read_submit(via_archive *archive, via_array *buffer, via_stream *stream,
                                               via_task **out_task);

/**
 * Writes `count` arrays, on any devices and of any layout, to a safetensors file, each under its name. `metadata` is a
 * JSON object of texts as via_archive_metadata writes, or NULL. With shard_bytes above 0 a file has at most so many
 * bytes of elements, or one array. If that takes several files, `model.safetensors` becomes
 * `model-00001-of-00003.safetensors` and so on, with the index `model.safetensors.index.json`. A file has the arrays of
 * wide elements first, otherwise in the order given. `names` and `metadata` are UTF-8, and read during the call.
 *
 * Ordered as via_file_write. Options may be NULL; durable and page_cache count, and those for files of one array must
 * be 0. Writes all files under temporary names and renames them when they are complete, the index last: an existing
 * file is replaced whole, as by via_file_write with atomic_write. On failure nothing is left, unless a file could not
 * be renamed: those renamed before it stay.
 * Errors: VIA_ERROR_INVALID_ARGUMENT (also for a name that is given twice), VIA_ERROR_DTYPE for elements that the
 * format cannot name, VIA_ERROR_UNSUPPORTED for packed elements that are not adjacent or no whole bytes,
 * VIA_ERROR_FORMAT for metadata, VIA_ERROR_IO, VIA_ERROR_OVERFLOW, VIA_ERROR_CUDA, VIA_ERROR_FORKED. Texts contain the
 * name.
 */
VIA_CHECKED via_status via_archive_save(const char *path, int32_t count, via_array *const *arrays,
                                        const char *const *names, const char *metadata, int64_t shard_bytes,
                                        const via_file_options *options, via_stream *stream);

/**
 * Submits a save as via_file_write_submit does a write. The task holds the arrays until it has ended.
 * Errors: as via_archive_save.
 */
VIA_CHECKED via_status via_archive_save_submit(const char *path, int32_t count, via_array *const *arrays,
                                               const char *const *names, const char *metadata, int64_t shard_bytes,
                                               const via_file_options *options, via_stream *stream,
                                               via_task **out_task);

#ifdef __cplusplus
}
#endif

#endif
