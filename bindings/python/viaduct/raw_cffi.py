"""The C API by cffi: `ffi` and `lib`, and DECLARATIONS, the header as cffi reads it.

The library is the one that the package itself uses. `lib.via_stats(stats)` takes what C takes: begin a struct with
`ffi.new("via_stats_info *", {"struct_size": ffi.sizeof("via_stats_info")})`. For a module compiled ahead of time, give
DECLARATIONS to a builder of your own. Made from the header by bindings/generate; do not edit.
"""

from __future__ import annotations

from typing import Any

import cffi  # type: ignore[import-untyped, unused-ignore]

from . import _viaduct

DECLARATIONS = """
enum {
    VIA_VERSION_MAJOR = 1,
    VIA_VERSION_MINOR = 0,
    VIA_VERSION_PATCH = 0,
    VIA_OK = 0,
    VIA_ERROR_INVALID_ARGUMENT = 1,
    VIA_ERROR_DTYPE = 2,
    VIA_ERROR_SHAPE = 3,
    VIA_ERROR_INDEX = 4,
    VIA_ERROR_OVERFLOW = 5,
    VIA_ERROR_OUT_OF_MEMORY = 6,
    VIA_ERROR_READ_ONLY = 7,
    VIA_ERROR_OVERLAP = 8,
    VIA_ERROR_NEEDS_COPY = 9,
    VIA_ERROR_EXCHANGE = 10,
    VIA_ERROR_VERSION = 11,
    VIA_ERROR_DEVICE = 12,
    VIA_ERROR_POINTER = 13,
    VIA_ERROR_UNSUPPORTED = 14,
    VIA_ERROR_CUDA = 15,
    VIA_ERROR_STREAM_CAPTURE = 16,
    VIA_ERROR_FORKED = 17,
    VIA_ERROR_WOULD_DEADLOCK = 18,
    VIA_ERROR_CANCELLED = 19,
    VIA_ERROR_IO = 20,
    VIA_ERROR_FORMAT = 21,
    VIA_ERROR_CALLBACK = 22,
    VIA_ERROR_INTERNAL = 23,
    VIA_DEVICE_ANY = 0,
    VIA_DEVICE_CPU = 1,
    VIA_DEVICE_CUDA = 2,
    VIA_DEVICE_CUDA_HOST = 3,
    VIA_DEVICE_CUDA_MANAGED = 13,
    VIA_INT4 = 66560,
    VIA_INT8 = 67584,
    VIA_INT16 = 69632,
    VIA_INT32 = 73728,
    VIA_INT64 = 81920,
    VIA_UINT4 = 66561,
    VIA_UINT8 = 67585,
    VIA_UINT16 = 69633,
    VIA_UINT32 = 73729,
    VIA_UINT64 = 81921,
    VIA_FLOAT16 = 69634,
    VIA_FLOAT32 = 73730,
    VIA_FLOAT64 = 81922,
    VIA_OPAQUE64 = 81923,
    VIA_BFLOAT16 = 69636,
    VIA_COMPLEX32 = 73733,
    VIA_COMPLEX64 = 81925,
    VIA_COMPLEX128 = 98309,
    VIA_BOOL = 67590,
    VIA_FLOAT8_E3M4 = 67591,
    VIA_FLOAT8_E4M3 = 67592,
    VIA_FLOAT8_E4M3B11FNUZ = 67593,
    VIA_FLOAT8_E4M3FN = 67594,
    VIA_FLOAT8_E4M3FNUZ = 67595,
    VIA_FLOAT8_E5M2 = 67596,
    VIA_FLOAT8_E5M2FNUZ = 67597,
    VIA_FLOAT8_E8M0FNU = 67598,
    VIA_FLOAT6_E2M3FN = 67087,
    VIA_FLOAT6_E3M2FN = 67088,
    VIA_FLOAT4_E2M1FN = 66577,
    VIA_MAX_NDIM = 64,
    VIA_WRAP_READ_ONLY = 1,
    VIA_WRAP_BYTE_STRIDES = 2,
    VIA_WRAP_UNCHECKED = 4,
    VIA_WRAP_DETECT = 8,
    VIA_WRAP_PROBE = 16,
    VIA_ARRAY_READ_ONLY = 1,
    VIA_ARRAY_COPIED = 2,
    VIA_ARRAY_MISALIGNED = 4,
    VIA_ARRAY_SUBBYTE_PADDED = 8,
    VIA_ORDER_ROW_MAJOR = 0,
    VIA_ORDER_COLUMN_MAJOR = 1,
    VIA_ORDER_ANY = 2,
    VIA_COPY_IF_NEEDED = 0,
    VIA_COPY_NEVER = 1,
    VIA_COPY_ALWAYS = 2,
    VIA_MEMORY_HOST = 1,
    VIA_MEMORY_PINNED = 2,
    VIA_MEMORY_DEVICE = 3,
    VIA_MEMORY_DEVICE_POOL = 4,
    VIA_MEMORY_MANAGED = 5,
    VIA_MEMORY_SHARED = 6,
    VIA_MODE_READ = 0,
    VIA_MODE_READ_WRITE = 1,
    VIA_MODE_COPY_ON_WRITE = 2,
    VIA_FORMAT_AUTO = 0,
    VIA_FORMAT_RAW = 1,
    VIA_FORMAT_NPY = 2,
    VIA_CASTING_SAME_KIND = 0,
    VIA_CASTING_SAFE = 1,
    VIA_CASTING_EQUIV = 2,
    VIA_CASTING_UNSAFE = 3,
    VIA_OVERFLOW_INFINITY = 0,
    VIA_OVERFLOW_SATURATE = 1,
    VIA_BYTE_ORDER_NATIVE = 0,
    VIA_BYTE_ORDER_LITTLE = 1,
    VIA_BYTE_ORDER_BIG = 2,
    VIA_PAGE_CACHE_AUTO = 0,
    VIA_PAGE_CACHE_USE = 1,
    VIA_PAGE_CACHE_AVOID = 2,
    VIA_IPC_MAX_BYTES = 1280
};
typedef int32_t via_status;
typedef struct via_array via_array;
typedef struct via_memory via_memory;
typedef struct via_stream via_stream;
typedef struct via_event via_event;
typedef struct via_task via_task;
typedef struct via_batch via_batch;
typedef struct via_file via_file;
typedef struct via_archive via_archive;
struct DLManagedTensorVersioned;
struct DLManagedTensor;
struct ArrowSchema;
struct ArrowDeviceArray;
typedef struct via_device_properties {
    int32_t struct_size;
    int32_t device_type;
    int32_t device_id;
    int32_t compute_capability;
    int32_t driver_version;
    int32_t num_threads;
    int64_t total_bytes;
    int64_t staging_bytes;
    char name[128];
    char routes[512];
} via_device_properties;
typedef struct via_stats_info {
    int32_t struct_size;
    int32_t pad;
    int64_t live_arrays;
    int64_t live_storages;
    int64_t outstanding_exports;
    int64_t pending_releases;
    int64_t host_bytes;
    int64_t pinned_bytes;
    int64_t device_bytes;
    int64_t managed_bytes;
    int64_t staged_bytes;
    int64_t pending_tasks;
} via_stats_info;
typedef struct via_pointer_info {
    int32_t struct_size;
    int32_t device_type;
    int32_t device_id;
    int32_t read_only;
    void *base_address;
    int64_t nbytes;
} via_pointer_info;
typedef struct via_dlpack_options {
    int32_t struct_size;
    int32_t max_major;
    int32_t max_minor;
    int32_t target_device_type;
    int32_t target_device_id;
    int32_t copy;
} via_dlpack_options;
typedef struct via_array_interface {
    int32_t struct_size;
    int32_t version;
    int32_t ndim;
    int32_t read_only;
    int32_t has_strides;
    int32_t has_stream;
    int64_t stream;
    void *address;
    int64_t shape[64];
    int64_t strides[64];
    char typestr[16];
} via_array_interface;
typedef struct via_convert_options {
    int32_t struct_size;
    int32_t casting;
    int32_t overflow;
    int32_t byte_order;
    void *scale;
    void *offset;
    int64_t scale_count;
    int32_t scale_axis;
    int32_t pad;
} via_convert_options;
typedef struct via_file_options {
    int32_t struct_size;
    int32_t mode;
    int32_t file_format;
    int32_t column_major;
    int32_t durable;
    int32_t atomic_write;
    int32_t page_cache;
    int32_t as_bytes;
} via_file_options;
typedef struct via_file_properties {
    int32_t struct_size;
    int32_t file_format;
    int32_t dtype;
    int32_t ndim;
    int32_t column_major;
    int32_t byte_order;
    int64_t nbytes;
    int64_t byte_offset;
    int64_t shape[64];
} via_file_properties;
typedef void (*via_release_fn)(void *context);
typedef int32_t (*via_alloc_fn)(int64_t nbytes, int64_t alignment, void *stream, void *context, void **out_address);
typedef void (*via_free_fn)(void *address, int64_t nbytes, void *stream, void *context);
typedef void (*via_complete_fn)(int32_t status, const char *text, void *context);
int32_t via_version(void);
via_status via_require(int32_t major, int32_t minor);
const char *via_status_name(int32_t status);
const char *via_last_error(void);
int32_t via_last_error_code(void);
via_status via_device_count(int32_t device_type, int32_t *out_count);
via_status via_device_info(int32_t device_type, int32_t device_id, via_device_properties *out_properties);
via_status via_set_num_threads(int32_t count);
int32_t via_num_threads(void);
via_status via_cuda_warmup(int32_t device_id);
via_status via_calibrate(int32_t device_id);
via_status via_calibration_save(const char *path);
via_status via_calibration_load(const char *path);
via_status via_stats(via_stats_info *out_stats);
int32_t via_dtype_record(int64_t nbytes);
int32_t via_dtype_is_valid(int32_t dtype);
int64_t via_dtype_bits(int32_t dtype);
via_status via_dtype_name(int32_t dtype, int64_t capacity, char *out_name);
via_status via_dtype_from_name(const char *name, int32_t *out_dtype);
int32_t via_dtype_can_cast(int32_t dtype, int32_t wanted, int32_t casting);
via_status via_wrap(void *address, int32_t dtype, int32_t ndim, const int64_t *shape, const int64_t *strides, int32_t device_type, int32_t device_id, int32_t flags, via_release_fn release, void *context, via_array **out_array);
void via_array_retain(via_array *array);
void via_array_release(via_array *array);
int32_t via_array_release_waits(via_array *array);
void *via_array_data(via_array *array);
int32_t via_array_dtype(via_array *array);
int32_t via_array_ndim(via_array *array);
const int64_t *via_array_shape(via_array *array);
const int64_t *via_array_strides(via_array *array);
const int64_t *via_array_byte_strides(via_array *array);
int32_t via_array_device_type(via_array *array);
int32_t via_array_device_id(via_array *array);
int64_t via_array_size(via_array *array);
int64_t via_array_nbytes(via_array *array);
int32_t via_array_flags(via_array *array);
int32_t via_array_is_contiguous(via_array *array, int32_t order);
void *via_array_context(via_array *array, via_release_fn release);
via_status via_pointer_query(const void *address, via_pointer_info *out_info);
via_status via_array_slice(via_array *array, const int64_t *start, const int64_t *count, const int64_t *step, via_array **out_array);
via_status via_array_select(via_array *array, int32_t axis, int64_t index, via_array **out_array);
via_status via_array_permute(via_array *array, const int32_t *axes, via_array **out_array);
via_status via_array_reshape(via_array *array, int32_t ndim, const int64_t *shape, via_array **out_array);
via_status via_array_broadcast(via_array *array, int32_t ndim, const int64_t *shape, via_array **out_array);
via_status via_array_squeeze(via_array *array, int32_t count, const int32_t *axes, via_array **out_array);
via_status via_array_expand(via_array *array, int32_t axis, via_array **out_array);
via_status via_array_reinterpret(via_array *array, int32_t dtype, via_array **out_array);
via_status via_array_field(via_array *array, int64_t byte_offset, int32_t dtype, int32_t ndim, const int64_t *shape, via_array **out_array);
via_status via_array_as_read_only(via_array *array, via_array **out_array);
via_status via_memory_create(int32_t kind, int32_t device_id, via_memory **out_memory);
via_status via_memory_create_custom(int32_t device_type, int32_t device_id, via_alloc_fn alloc, void *alloc_context, via_free_fn free_memory, void *free_context, via_release_fn release, void *context, via_memory **out_memory);
void via_memory_retain(via_memory *memory);
void via_memory_release(via_memory *memory);
int32_t via_memory_device_type(via_memory *memory);
int32_t via_memory_device_id(via_memory *memory);
via_status via_empty(via_memory *memory, int32_t dtype, int32_t ndim, const int64_t *shape, via_stream *stream, via_array **out_array);
via_status via_to_dlpack(via_array *array, const via_dlpack_options *options, via_stream *stream, struct DLManagedTensorVersioned **out_tensor);
via_status via_from_dlpack(struct DLManagedTensorVersioned *tensor, const via_dlpack_options *options, via_stream *stream, via_array **out_array);
via_status via_to_dlpack_legacy(via_array *array, const via_dlpack_options *options, via_stream *stream, struct DLManagedTensor **out_tensor);
via_status via_from_dlpack_legacy(struct DLManagedTensor *tensor, const via_dlpack_options *options, via_stream *stream, via_array **out_array);
void via_dlpack_delete(struct DLManagedTensorVersioned *tensor);
void via_dlpack_delete_legacy(struct DLManagedTensor *tensor);
via_status via_to_array_interface(via_array *array, via_array_interface *out_description);
via_status via_from_array_interface(const via_array_interface *description, via_release_fn release, void *context, via_array **out_array);
via_status via_to_cuda_array_interface(via_array *array, via_stream *stream, via_array_interface *out_description);
via_status via_from_cuda_array_interface(const via_array_interface *description, via_release_fn release, void *context, via_array **out_array);
via_status via_to_arrow_device(via_array *array, struct ArrowSchema *out_schema, struct ArrowDeviceArray *out_array);
via_status via_from_arrow_device(struct ArrowSchema *schema, struct ArrowDeviceArray *column, via_stream *stream, via_array **out_array);
void via_arrow_release(struct ArrowSchema *schema, struct ArrowDeviceArray *column);
via_status via_array_export_ipc(via_array *array, int64_t capacity, void *out_bytes, int64_t *out_length);
via_status via_array_import_ipc(const void *bytes, int64_t length, via_array **out_array);
via_status via_stream_create(int32_t device_id, via_stream **out_stream);
via_status via_stream_wrap(void *native_stream, int32_t device_id, via_stream **out_stream);
via_stream *via_stream_legacy(void);
via_stream *via_stream_per_thread(void);
via_stream *via_stream_no_sync(void);
void via_stream_retain(via_stream *stream);
void via_stream_release(via_stream *stream);
void *via_stream_handle(via_stream *stream);
int32_t via_stream_device_id(via_stream *stream);
via_status via_stream_synchronize(via_stream *stream);
via_status via_stream_query(via_stream *stream, int32_t *out_done);
via_status via_stream_set_current(int32_t device_id, via_stream *stream);
via_status via_stream_current(int32_t device_id, via_stream **out_stream);
via_status via_stream_wait(via_stream *stream, via_event *marker);
via_status via_event_create(int32_t device_id, via_event **out_event);
via_status via_event_wrap(void *native_event, int32_t device_id, via_event **out_event);
void via_event_retain(via_event *marker);
void via_event_release(via_event *marker);
void *via_event_handle(via_event *marker);
via_status via_event_record(via_event *marker, via_stream *stream);
via_status via_event_query(via_event *marker, int32_t *out_done);
via_status via_event_synchronize(via_event *marker);
via_status via_array_record_stream(via_array *array, via_stream *stream);
via_status via_array_set_ready(via_array *array, via_stream *stream);
int32_t via_array_is_ready(via_array *array);
via_status via_array_synchronize(via_array *array);
via_status via_copy(via_array *dst, via_array *src);
via_status via_copy_async(via_array *dst, via_array *src, via_stream *stream);
via_status via_copy_submit(via_array *dst, via_array *src, via_stream *stream, via_task **out_task);
via_status via_copy_batch(int32_t count, via_array * const *dsts, via_array * const *srcs, via_stream *stream);
via_status via_copy_indexed(via_array *dst, via_array *dst_index, via_array *src, via_array *src_index, int32_t axis, const via_convert_options *options, via_stream *stream);
via_status via_copy_indexed_submit(via_array *dst, via_array *dst_index, via_array *src, via_array *src_index, int32_t axis, const via_convert_options *options, via_stream *stream, via_task **out_task);
via_status via_convert(via_array *dst, via_array *src, const via_convert_options *options, via_stream *stream);
via_status via_convert_submit(via_array *dst, via_array *src, const via_convert_options *options, via_stream *stream, via_task **out_task);
via_status via_convert_explain(via_array *dst, via_array *src, const via_convert_options *options, int64_t capacity, char *out_text, int64_t *out_length);
via_status via_memcpy(void *dst, const void *src, int64_t nbytes, via_stream *stream);
via_status via_fill(via_array *dst, const void *element, via_stream *stream);
via_status via_copy_explain(via_array *dst, via_array *src, int64_t capacity, char *out_text, int64_t *out_length);
void via_task_retain(via_task *task);
void via_task_release(via_task *task);
via_status via_task_wait(via_task *task);
via_status via_task_poll(via_task *task, int32_t *out_done);
via_status via_task_progress(via_task *task, int64_t *out_done, int64_t *out_total);
via_status via_task_cancel(via_task *task);
via_status via_task_join(via_task *task, via_stream *stream);
via_status via_task_on_complete(via_task *task, via_complete_fn complete, void *context);
via_status via_batch_create(via_batch **out_batch);
void via_batch_retain(via_batch *batch);
void via_batch_release(via_batch *batch);
via_status via_batch_add(via_batch *batch, via_array *dst, via_array *src);
via_status via_batch_add_indexed(via_batch *batch, via_array *dst, via_array *dst_index, via_array *src, via_array *src_index, int32_t axis, const via_convert_options *options);
via_status via_batch_add_convert(via_batch *batch, via_array *dst, via_array *src, const via_convert_options *options);
int64_t via_batch_size(via_batch *batch);
via_status via_batch_run(via_batch *batch, via_stream *stream);
via_status via_batch_submit(via_batch *batch, via_stream *stream, via_task **out_task);
via_status via_file_open(const char *path, const via_file_options *options, via_file **out_file);
via_status via_file_create(const char *path, int32_t dtype, int32_t ndim, const int64_t *shape, const via_file_options *options, via_file **out_file);
via_status via_file_window(via_file *file, int64_t byte_offset, int32_t dtype, int32_t ndim, const int64_t *shape, const int64_t *starts, const int64_t *counts, const int64_t *steps, via_file **out_file);
via_status via_file_convert(via_file *file, int32_t dtype, const via_convert_options *options, via_file **out_file);
void via_file_retain(via_file *file);
void via_file_release(via_file *file);
via_status via_file_info(via_file *file, via_file_properties *out_properties);
via_status via_file_array(via_file *file, int64_t byte_offset, int32_t dtype, int32_t ndim, const int64_t *shape, via_array **out_array);
via_status via_file_read(via_file *file, int64_t byte_offset, via_array *dst, via_stream *stream);
via_status via_file_write(via_file *file, int64_t byte_offset, via_array *src, via_stream *stream);
via_status via_file_read_submit(via_file *file, int64_t byte_offset, via_array *dst, via_stream *stream, via_task **out_task);
via_status via_file_write_submit(via_file *file, int64_t byte_offset, via_array *src, via_stream *stream, via_task **out_task);
via_status via_save(const char *path, via_array *array, const via_file_options *options);
via_status via_load(const char *path, via_memory *memory, const via_file_options *options, via_array **out_array);
via_status via_archive_open(const char *path, const via_file_options *options, via_archive **out_archive);
via_status via_archive_add(via_archive *archive, const char *path);
void via_archive_retain(via_archive *archive);
void via_archive_release(via_archive *archive);
int64_t via_archive_size(via_archive *archive);
int64_t via_archive_nbytes(via_archive *archive);
const char *via_archive_name(via_archive *archive, int64_t number);
const char *via_archive_type_name(via_archive *archive, int64_t number);
via_status via_archive_find(via_archive *archive, const char *name, int64_t *out_number);
via_status via_archive_metadata(via_archive *archive, int64_t capacity, char *out_metadata, int64_t *out_length);
via_status via_archive_file(via_archive *archive, int64_t number, via_file **out_file);
via_status via_archive_select(via_archive *archive, int32_t count, const int64_t *numbers, via_archive **out_archive);
via_status via_archive_slice(via_archive *archive, int64_t number, int32_t axis, int64_t start, int64_t count);
via_status via_archive_convert(via_archive *archive, int64_t number, int32_t dtype, const via_convert_options *options);
via_status via_archive_array(via_archive *archive, int64_t number, via_array *buffer, via_array **out_array);
via_status via_archive_load(via_archive *archive, via_memory *memory, via_stream *stream, via_array **out_buffer);
via_status via_archive_read(via_archive *archive, via_array *buffer, via_stream *stream);
via_status via_archive_read_submit(via_archive *archive, via_array *buffer, via_stream *stream, via_task **out_task);
via_status via_archive_save(const char *path, int32_t count, via_array * const *arrays, const char * const *names, const char *metadata, int64_t shard_bytes, const via_file_options *options, via_stream *stream);
via_status via_archive_save_submit(const char *path, int32_t count, via_array * const *arrays, const char * const *names, const char *metadata, int64_t shard_bytes, const via_file_options *options, via_stream *stream, via_task **out_task);
"""

ffi: Any = cffi.FFI()
ffi.cdef(DECLARATIONS)

# The extension module is linked to the library: its symbols are found by way of it, wherever the library lies.
lib: Any = ffi.dlopen(_viaduct.__file__)
