"""The C API by ctypes: every function with its argument types, every struct, callback and constant of viaduct.h.

The library is the one that the package itself uses. Each kind of handle is a pointer type of its own: make one by
`via_array()` and hand it over by `ctypes.byref`; a handle of another kind is a ctypes.ArgumentError. Its `value` is the
address, which is taken in its place. Structs are made with their size, so that `via_stats_info()` is
ready to be handed over; `via_release_fn()` is NULL. Nothing is translated: a status is an int, and its text
via_last_error(). Callbacks must be kept alive by their owner until they can no longer be called.
Made from the header by bindings/generate; do not edit.
"""

from __future__ import annotations

import ctypes
from typing import Any

from . import _viaduct

# The extension module is linked to the library: its symbols are found by way of it, wherever the library lies.
library = ctypes.CDLL(_viaduct.__file__)


class _Sized(ctypes.Structure):
    """A struct that begins with its size."""

    def __init__(self, *arguments: Any, **fields: Any) -> None:
        super().__init__(*arguments, **fields)
        if not arguments and "struct_size" not in fields:
            self.struct_size = ctypes.sizeof(self)


def _declare(name: str, returns: Any, /, **parameters: Any) -> Any:
    function = getattr(library, name)
    function.argtypes = list(parameters.values())
    function.restype = returns
    return function


VIA_VERSION_MAJOR = 1
VIA_VERSION_MINOR = 0
VIA_VERSION_PATCH = 0
VIA_OK = 0
VIA_ERROR_INVALID_ARGUMENT = 1
VIA_ERROR_DTYPE = 2
VIA_ERROR_SHAPE = 3
VIA_ERROR_INDEX = 4
VIA_ERROR_OVERFLOW = 5
VIA_ERROR_OUT_OF_MEMORY = 6
VIA_ERROR_READ_ONLY = 7
VIA_ERROR_OVERLAP = 8
VIA_ERROR_NEEDS_COPY = 9
VIA_ERROR_EXCHANGE = 10
VIA_ERROR_VERSION = 11
VIA_ERROR_DEVICE = 12
VIA_ERROR_POINTER = 13
VIA_ERROR_UNSUPPORTED = 14
VIA_ERROR_CUDA = 15
VIA_ERROR_STREAM_CAPTURE = 16
VIA_ERROR_FORKED = 17
VIA_ERROR_WOULD_DEADLOCK = 18
VIA_ERROR_CANCELLED = 19
VIA_ERROR_IO = 20
VIA_ERROR_FORMAT = 21
VIA_ERROR_CALLBACK = 22
VIA_ERROR_INTERNAL = 23
VIA_DEVICE_ANY = 0
VIA_DEVICE_CPU = 1
VIA_DEVICE_CUDA = 2
VIA_DEVICE_CUDA_HOST = 3
VIA_DEVICE_CUDA_MANAGED = 13
VIA_INT4 = 66560
VIA_INT8 = 67584
VIA_INT16 = 69632
VIA_INT32 = 73728
VIA_INT64 = 81920
VIA_UINT4 = 66561
VIA_UINT8 = 67585
VIA_UINT16 = 69633
VIA_UINT32 = 73729
VIA_UINT64 = 81921
VIA_FLOAT16 = 69634
VIA_FLOAT32 = 73730
VIA_FLOAT64 = 81922
VIA_OPAQUE64 = 81923
VIA_BFLOAT16 = 69636
VIA_COMPLEX32 = 73733
VIA_COMPLEX64 = 81925
VIA_COMPLEX128 = 98309
VIA_BOOL = 67590
VIA_FLOAT8_E3M4 = 67591
VIA_FLOAT8_E4M3 = 67592
VIA_FLOAT8_E4M3B11FNUZ = 67593
VIA_FLOAT8_E4M3FN = 67594
VIA_FLOAT8_E4M3FNUZ = 67595
VIA_FLOAT8_E5M2 = 67596
VIA_FLOAT8_E5M2FNUZ = 67597
VIA_FLOAT8_E8M0FNU = 67598
VIA_FLOAT6_E2M3FN = 67087
VIA_FLOAT6_E3M2FN = 67088
VIA_FLOAT4_E2M1FN = 66577
VIA_MAX_NDIM = 64
VIA_WRAP_READ_ONLY = 1
VIA_WRAP_BYTE_STRIDES = 2
VIA_WRAP_UNCHECKED = 4
VIA_WRAP_DETECT = 8
VIA_WRAP_PROBE = 16
VIA_ARRAY_READ_ONLY = 1
VIA_ARRAY_COPIED = 2
VIA_ARRAY_MISALIGNED = 4
VIA_ARRAY_SUBBYTE_PADDED = 8
VIA_ORDER_ROW_MAJOR = 0
VIA_ORDER_COLUMN_MAJOR = 1
VIA_ORDER_ANY = 2
VIA_COPY_IF_NEEDED = 0
VIA_COPY_NEVER = 1
VIA_COPY_ALWAYS = 2
VIA_MEMORY_HOST = 1
VIA_MEMORY_PINNED = 2
VIA_MEMORY_DEVICE = 3
VIA_MEMORY_DEVICE_POOL = 4
VIA_MEMORY_MANAGED = 5
VIA_MEMORY_SHARED = 6
VIA_MODE_READ = 0
VIA_MODE_READ_WRITE = 1
VIA_MODE_COPY_ON_WRITE = 2
VIA_FORMAT_AUTO = 0
VIA_FORMAT_RAW = 1
VIA_FORMAT_NPY = 2
VIA_CASTING_SAME_KIND = 0
VIA_CASTING_SAFE = 1
VIA_CASTING_EQUIV = 2
VIA_CASTING_UNSAFE = 3
VIA_OVERFLOW_INFINITY = 0
VIA_OVERFLOW_SATURATE = 1
VIA_BYTE_ORDER_NATIVE = 0
VIA_BYTE_ORDER_LITTLE = 1
VIA_BYTE_ORDER_BIG = 2
VIA_PAGE_CACHE_AUTO = 0
VIA_PAGE_CACHE_USE = 1
VIA_PAGE_CACHE_AVOID = 2
VIA_IPC_MAX_BYTES = 1280


class via_array(ctypes.c_void_p):
    """A via_array *: a handle."""


class via_memory(ctypes.c_void_p):
    """A via_memory *: a handle."""


class via_stream(ctypes.c_void_p):
    """A via_stream *: a handle."""


class via_event(ctypes.c_void_p):
    """A via_event *: a handle."""


class via_task(ctypes.c_void_p):
    """A via_task *: a handle."""


class via_batch(ctypes.c_void_p):
    """A via_batch *: a handle."""


class via_file(ctypes.c_void_p):
    """A via_file *: a handle."""


class via_archive(ctypes.c_void_p):
    """A via_archive *: a handle."""


class via_device_properties(_Sized):
    struct_size: int
    device_type: int
    device_id: int
    compute_capability: int
    driver_version: int
    num_threads: int
    total_bytes: int
    staging_bytes: int
    name: bytes
    routes: bytes
    _fields_ = [
        ("struct_size", ctypes.c_int32),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("compute_capability", ctypes.c_int32),
        ("driver_version", ctypes.c_int32),
        ("num_threads", ctypes.c_int32),
        ("total_bytes", ctypes.c_int64),
        ("staging_bytes", ctypes.c_int64),
        ("name", ctypes.c_char * 128),
        ("routes", ctypes.c_char * 512),
    ]


class via_stats_info(_Sized):
    struct_size: int
    pad: int
    live_arrays: int
    live_storages: int
    outstanding_exports: int
    pending_releases: int
    host_bytes: int
    pinned_bytes: int
    device_bytes: int
    managed_bytes: int
    staged_bytes: int
    pending_tasks: int
    _fields_ = [
        ("struct_size", ctypes.c_int32),
        ("pad", ctypes.c_int32),
        ("live_arrays", ctypes.c_int64),
        ("live_storages", ctypes.c_int64),
        ("outstanding_exports", ctypes.c_int64),
        ("pending_releases", ctypes.c_int64),
        ("host_bytes", ctypes.c_int64),
        ("pinned_bytes", ctypes.c_int64),
        ("device_bytes", ctypes.c_int64),
        ("managed_bytes", ctypes.c_int64),
        ("staged_bytes", ctypes.c_int64),
        ("pending_tasks", ctypes.c_int64),
    ]


class via_pointer_info(_Sized):
    struct_size: int
    device_type: int
    device_id: int
    read_only: int
    base_address: int | None
    nbytes: int
    _fields_ = [
        ("struct_size", ctypes.c_int32),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("read_only", ctypes.c_int32),
        ("base_address", ctypes.c_void_p),
        ("nbytes", ctypes.c_int64),
    ]


class via_dlpack_options(_Sized):
    struct_size: int
    max_major: int
    max_minor: int
    target_device_type: int
    target_device_id: int
    copy: int
    _fields_ = [
        ("struct_size", ctypes.c_int32),
        ("max_major", ctypes.c_int32),
        ("max_minor", ctypes.c_int32),
        ("target_device_type", ctypes.c_int32),
        ("target_device_id", ctypes.c_int32),
        ("copy", ctypes.c_int32),
    ]


class via_array_interface(_Sized):
    struct_size: int
    version: int
    ndim: int
    read_only: int
    has_strides: int
    has_stream: int
    stream: int
    address: int | None
    shape: ctypes.Array[ctypes.c_int64]
    strides: ctypes.Array[ctypes.c_int64]
    typestr: bytes
    _fields_ = [
        ("struct_size", ctypes.c_int32),
        ("version", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("read_only", ctypes.c_int32),
        ("has_strides", ctypes.c_int32),
        ("has_stream", ctypes.c_int32),
        ("stream", ctypes.c_int64),
        ("address", ctypes.c_void_p),
        ("shape", ctypes.c_int64 * 64),
        ("strides", ctypes.c_int64 * 64),
        ("typestr", ctypes.c_char * 16),
    ]


class via_convert_options(_Sized):
    struct_size: int
    casting: int
    overflow: int
    byte_order: int
    scale: int | None
    offset: int | None
    scale_count: int
    scale_axis: int
    pad: int
    _fields_ = [
        ("struct_size", ctypes.c_int32),
        ("casting", ctypes.c_int32),
        ("overflow", ctypes.c_int32),
        ("byte_order", ctypes.c_int32),
        ("scale", ctypes.c_void_p),
        ("offset", ctypes.c_void_p),
        ("scale_count", ctypes.c_int64),
        ("scale_axis", ctypes.c_int32),
        ("pad", ctypes.c_int32),
    ]


class via_file_options(_Sized):
    struct_size: int
    mode: int
    file_format: int
    column_major: int
    durable: int
    atomic_write: int
    page_cache: int
    as_bytes: int
    _fields_ = [
        ("struct_size", ctypes.c_int32),
        ("mode", ctypes.c_int32),
        ("file_format", ctypes.c_int32),
        ("column_major", ctypes.c_int32),
        ("durable", ctypes.c_int32),
        ("atomic_write", ctypes.c_int32),
        ("page_cache", ctypes.c_int32),
        ("as_bytes", ctypes.c_int32),
    ]


class via_file_properties(_Sized):
    struct_size: int
    file_format: int
    dtype: int
    ndim: int
    column_major: int
    byte_order: int
    nbytes: int
    byte_offset: int
    shape: ctypes.Array[ctypes.c_int64]
    _fields_ = [
        ("struct_size", ctypes.c_int32),
        ("file_format", ctypes.c_int32),
        ("dtype", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("column_major", ctypes.c_int32),
        ("byte_order", ctypes.c_int32),
        ("nbytes", ctypes.c_int64),
        ("byte_offset", ctypes.c_int64),
        ("shape", ctypes.c_int64 * 64),
    ]


via_release_fn = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
via_alloc_fn = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)
)
via_free_fn = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
via_complete_fn = ctypes.CFUNCTYPE(None, ctypes.c_int32, ctypes.c_char_p, ctypes.c_void_p)

via_version = _declare("via_version", ctypes.c_int32)
via_require = _declare("via_require", ctypes.c_int, major=ctypes.c_int32, minor=ctypes.c_int32)
via_status_name = _declare("via_status_name", ctypes.c_char_p, status=ctypes.c_int32)
via_last_error = _declare("via_last_error", ctypes.c_char_p)
via_last_error_code = _declare("via_last_error_code", ctypes.c_int32)
via_device_count = _declare(
    "via_device_count", ctypes.c_int, device_type=ctypes.c_int32, out_count=ctypes.POINTER(ctypes.c_int32)
)
via_device_info = _declare(
    "via_device_info",
    ctypes.c_int,
    device_type=ctypes.c_int32,
    device_id=ctypes.c_int32,
    out_properties=ctypes.POINTER(via_device_properties),
)
via_set_num_threads = _declare("via_set_num_threads", ctypes.c_int, count=ctypes.c_int32)
via_num_threads = _declare("via_num_threads", ctypes.c_int32)
via_cuda_warmup = _declare("via_cuda_warmup", ctypes.c_int, device_id=ctypes.c_int32)
via_calibrate = _declare("via_calibrate", ctypes.c_int, device_id=ctypes.c_int32)
via_calibration_save = _declare("via_calibration_save", ctypes.c_int, path=ctypes.c_char_p)
via_calibration_load = _declare("via_calibration_load", ctypes.c_int, path=ctypes.c_char_p)
via_stats = _declare("via_stats", ctypes.c_int, out_stats=ctypes.POINTER(via_stats_info))
via_dtype_record = _declare("via_dtype_record", ctypes.c_int32, nbytes=ctypes.c_int64)
via_dtype_is_valid = _declare("via_dtype_is_valid", ctypes.c_int32, dtype=ctypes.c_int32)
via_dtype_bits = _declare("via_dtype_bits", ctypes.c_int64, dtype=ctypes.c_int32)
via_dtype_name = _declare(
    "via_dtype_name",
    ctypes.c_int,
    dtype=ctypes.c_int32,
    capacity=ctypes.c_int64,
    out_name=ctypes.POINTER(ctypes.c_char),
)
via_dtype_from_name = _declare(
    "via_dtype_from_name", ctypes.c_int, name=ctypes.c_char_p, out_dtype=ctypes.POINTER(ctypes.c_int32)
)
via_dtype_can_cast = _declare(
    "via_dtype_can_cast", ctypes.c_int32, dtype=ctypes.c_int32, wanted=ctypes.c_int32, casting=ctypes.c_int32
)
via_wrap = _declare(
    "via_wrap",
    ctypes.c_int,
    address=ctypes.c_void_p,
    dtype=ctypes.c_int32,
    ndim=ctypes.c_int32,
    shape=ctypes.POINTER(ctypes.c_int64),
    strides=ctypes.POINTER(ctypes.c_int64),
    device_type=ctypes.c_int32,
    device_id=ctypes.c_int32,
    flags=ctypes.c_int32,
    release=via_release_fn,
    context=ctypes.c_void_p,
    out_array=ctypes.POINTER(via_array),
)
via_array_retain = _declare("via_array_retain", None, array=via_array)
via_array_release = _declare("via_array_release", None, array=via_array)
via_array_release_waits = _declare("via_array_release_waits", ctypes.c_int32, array=via_array)
via_array_data = _declare("via_array_data", ctypes.c_void_p, array=via_array)
via_array_dtype = _declare("via_array_dtype", ctypes.c_int32, array=via_array)
via_array_ndim = _declare("via_array_ndim", ctypes.c_int32, array=via_array)
via_array_shape = _declare("via_array_shape", ctypes.POINTER(ctypes.c_int64), array=via_array)
via_array_strides = _declare("via_array_strides", ctypes.POINTER(ctypes.c_int64), array=via_array)
via_array_byte_strides = _declare("via_array_byte_strides", ctypes.POINTER(ctypes.c_int64), array=via_array)
via_array_device_type = _declare("via_array_device_type", ctypes.c_int32, array=via_array)
via_array_device_id = _declare("via_array_device_id", ctypes.c_int32, array=via_array)
via_array_size = _declare("via_array_size", ctypes.c_int64, array=via_array)
via_array_nbytes = _declare("via_array_nbytes", ctypes.c_int64, array=via_array)
via_array_flags = _declare("via_array_flags", ctypes.c_int32, array=via_array)
via_array_is_contiguous = _declare("via_array_is_contiguous", ctypes.c_int32, array=via_array, order=ctypes.c_int32)
via_array_context = _declare("via_array_context", ctypes.c_void_p, array=via_array, release=via_release_fn)
via_pointer_query = _declare(
    "via_pointer_query", ctypes.c_int, address=ctypes.c_void_p, out_info=ctypes.POINTER(via_pointer_info)
)
via_array_slice = _declare(
    "via_array_slice",
    ctypes.c_int,
    array=via_array,
    start=ctypes.POINTER(ctypes.c_int64),
    count=ctypes.POINTER(ctypes.c_int64),
    step=ctypes.POINTER(ctypes.c_int64),
    out_array=ctypes.POINTER(via_array),
)
via_array_select = _declare(
    "via_array_select",
    ctypes.c_int,
    array=via_array,
    axis=ctypes.c_int32,
    index=ctypes.c_int64,
    out_array=ctypes.POINTER(via_array),
)
via_array_permute = _declare(
    "via_array_permute",
    ctypes.c_int,
    array=via_array,
    axes=ctypes.POINTER(ctypes.c_int32),
    out_array=ctypes.POINTER(via_array),
)
via_array_reshape = _declare(
    "via_array_reshape",
    ctypes.c_int,
    array=via_array,
    ndim=ctypes.c_int32,
    shape=ctypes.POINTER(ctypes.c_int64),
    out_array=ctypes.POINTER(via_array),
)
via_array_broadcast = _declare(
    "via_array_broadcast",
    ctypes.c_int,
    array=via_array,
    ndim=ctypes.c_int32,
    shape=ctypes.POINTER(ctypes.c_int64),
    out_array=ctypes.POINTER(via_array),
)
via_array_squeeze = _declare(
    "via_array_squeeze",
    ctypes.c_int,
    array=via_array,
    count=ctypes.c_int32,
    axes=ctypes.POINTER(ctypes.c_int32),
    out_array=ctypes.POINTER(via_array),
)
via_array_expand = _declare(
    "via_array_expand", ctypes.c_int, array=via_array, axis=ctypes.c_int32, out_array=ctypes.POINTER(via_array)
)
via_array_reinterpret = _declare(
    "via_array_reinterpret", ctypes.c_int, array=via_array, dtype=ctypes.c_int32, out_array=ctypes.POINTER(via_array)
)
via_array_field = _declare(
    "via_array_field",
    ctypes.c_int,
    array=via_array,
    byte_offset=ctypes.c_int64,
    dtype=ctypes.c_int32,
    ndim=ctypes.c_int32,
    shape=ctypes.POINTER(ctypes.c_int64),
    out_array=ctypes.POINTER(via_array),
)
via_array_as_read_only = _declare(
    "via_array_as_read_only", ctypes.c_int, array=via_array, out_array=ctypes.POINTER(via_array)
)
via_memory_create = _declare(
    "via_memory_create",
    ctypes.c_int,
    kind=ctypes.c_int32,
    device_id=ctypes.c_int32,
    out_memory=ctypes.POINTER(via_memory),
)
via_memory_create_custom = _declare(
    "via_memory_create_custom",
    ctypes.c_int,
    device_type=ctypes.c_int32,
    device_id=ctypes.c_int32,
    alloc=via_alloc_fn,
    alloc_context=ctypes.c_void_p,
    free_memory=via_free_fn,
    free_context=ctypes.c_void_p,
    release=via_release_fn,
    context=ctypes.c_void_p,
    out_memory=ctypes.POINTER(via_memory),
)
via_memory_retain = _declare("via_memory_retain", None, memory=via_memory)
via_memory_release = _declare("via_memory_release", None, memory=via_memory)
via_memory_device_type = _declare("via_memory_device_type", ctypes.c_int32, memory=via_memory)
via_memory_device_id = _declare("via_memory_device_id", ctypes.c_int32, memory=via_memory)
via_empty = _declare(
    "via_empty",
    ctypes.c_int,
    memory=via_memory,
    dtype=ctypes.c_int32,
    ndim=ctypes.c_int32,
    shape=ctypes.POINTER(ctypes.c_int64),
    stream=via_stream,
    out_array=ctypes.POINTER(via_array),
)
via_to_dlpack = _declare(
    "via_to_dlpack",
    ctypes.c_int,
    array=via_array,
    options=ctypes.POINTER(via_dlpack_options),
    stream=via_stream,
    out_tensor=ctypes.POINTER(ctypes.c_void_p),
)
via_from_dlpack = _declare(
    "via_from_dlpack",
    ctypes.c_int,
    tensor=ctypes.c_void_p,
    options=ctypes.POINTER(via_dlpack_options),
    stream=via_stream,
    out_array=ctypes.POINTER(via_array),
)
via_to_dlpack_legacy = _declare(
    "via_to_dlpack_legacy",
    ctypes.c_int,
    array=via_array,
    options=ctypes.POINTER(via_dlpack_options),
    stream=via_stream,
    out_tensor=ctypes.POINTER(ctypes.c_void_p),
)
via_from_dlpack_legacy = _declare(
    "via_from_dlpack_legacy",
    ctypes.c_int,
    tensor=ctypes.c_void_p,
    options=ctypes.POINTER(via_dlpack_options),
    stream=via_stream,
    out_array=ctypes.POINTER(via_array),
)
via_dlpack_delete = _declare("via_dlpack_delete", None, tensor=ctypes.c_void_p)
via_dlpack_delete_legacy = _declare("via_dlpack_delete_legacy", None, tensor=ctypes.c_void_p)
via_to_array_interface = _declare(
    "via_to_array_interface", ctypes.c_int, array=via_array, out_description=ctypes.POINTER(via_array_interface)
)
via_from_array_interface = _declare(
    "via_from_array_interface",
    ctypes.c_int,
    description=ctypes.POINTER(via_array_interface),
    release=via_release_fn,
    context=ctypes.c_void_p,
    out_array=ctypes.POINTER(via_array),
)
via_to_cuda_array_interface = _declare(
    "via_to_cuda_array_interface",
    ctypes.c_int,
    array=via_array,
    stream=via_stream,
    out_description=ctypes.POINTER(via_array_interface),
)
via_from_cuda_array_interface = _declare(
    "via_from_cuda_array_interface",
    ctypes.c_int,
    description=ctypes.POINTER(via_array_interface),
    release=via_release_fn,
    context=ctypes.c_void_p,
    out_array=ctypes.POINTER(via_array),
)
via_to_arrow_device = _declare(
    "via_to_arrow_device", ctypes.c_int, array=via_array, out_schema=ctypes.c_void_p, out_array=ctypes.c_void_p
)
via_from_arrow_device = _declare(
    "via_from_arrow_device",
    ctypes.c_int,
    schema=ctypes.c_void_p,
    column=ctypes.c_void_p,
    stream=via_stream,
    out_array=ctypes.POINTER(via_array),
)
via_arrow_release = _declare("via_arrow_release", None, schema=ctypes.c_void_p, column=ctypes.c_void_p)
via_array_export_ipc = _declare(
    "via_array_export_ipc",
    ctypes.c_int,
    array=via_array,
    capacity=ctypes.c_int64,
    out_bytes=ctypes.c_void_p,
    out_length=ctypes.POINTER(ctypes.c_int64),
)
via_array_import_ipc = _declare(
    "via_array_import_ipc",
    ctypes.c_int,
    bytes=ctypes.c_void_p,
    length=ctypes.c_int64,
    out_array=ctypes.POINTER(via_array),
)
via_stream_create = _declare(
    "via_stream_create", ctypes.c_int, device_id=ctypes.c_int32, out_stream=ctypes.POINTER(via_stream)
)
via_stream_wrap = _declare(
    "via_stream_wrap",
    ctypes.c_int,
    native_stream=ctypes.c_void_p,
    device_id=ctypes.c_int32,
    out_stream=ctypes.POINTER(via_stream),
)
via_stream_legacy = _declare("via_stream_legacy", via_stream)
via_stream_per_thread = _declare("via_stream_per_thread", via_stream)
via_stream_no_sync = _declare("via_stream_no_sync", via_stream)
via_stream_retain = _declare("via_stream_retain", None, stream=via_stream)
via_stream_release = _declare("via_stream_release", None, stream=via_stream)
via_stream_handle = _declare("via_stream_handle", ctypes.c_void_p, stream=via_stream)
via_stream_device_id = _declare("via_stream_device_id", ctypes.c_int32, stream=via_stream)
via_stream_synchronize = _declare("via_stream_synchronize", ctypes.c_int, stream=via_stream)
via_stream_query = _declare(
    "via_stream_query", ctypes.c_int, stream=via_stream, out_done=ctypes.POINTER(ctypes.c_int32)
)
via_stream_set_current = _declare("via_stream_set_current", ctypes.c_int, device_id=ctypes.c_int32, stream=via_stream)
via_stream_current = _declare(
    "via_stream_current", ctypes.c_int, device_id=ctypes.c_int32, out_stream=ctypes.POINTER(via_stream)
)
via_stream_wait = _declare("via_stream_wait", ctypes.c_int, stream=via_stream, marker=via_event)
via_event_create = _declare(
    "via_event_create", ctypes.c_int, device_id=ctypes.c_int32, out_event=ctypes.POINTER(via_event)
)
via_event_wrap = _declare(
    "via_event_wrap",
    ctypes.c_int,
    native_event=ctypes.c_void_p,
    device_id=ctypes.c_int32,
    out_event=ctypes.POINTER(via_event),
)
via_event_retain = _declare("via_event_retain", None, marker=via_event)
via_event_release = _declare("via_event_release", None, marker=via_event)
via_event_handle = _declare("via_event_handle", ctypes.c_void_p, marker=via_event)
via_event_record = _declare("via_event_record", ctypes.c_int, marker=via_event, stream=via_stream)
via_event_query = _declare("via_event_query", ctypes.c_int, marker=via_event, out_done=ctypes.POINTER(ctypes.c_int32))
via_event_synchronize = _declare("via_event_synchronize", ctypes.c_int, marker=via_event)
via_array_record_stream = _declare("via_array_record_stream", ctypes.c_int, array=via_array, stream=via_stream)
via_array_set_ready = _declare("via_array_set_ready", ctypes.c_int, array=via_array, stream=via_stream)
via_array_is_ready = _declare("via_array_is_ready", ctypes.c_int32, array=via_array)
via_array_synchronize = _declare("via_array_synchronize", ctypes.c_int, array=via_array)
via_copy = _declare("via_copy", ctypes.c_int, dst=via_array, src=via_array)
via_copy_async = _declare("via_copy_async", ctypes.c_int, dst=via_array, src=via_array, stream=via_stream)
via_copy_submit = _declare(
    "via_copy_submit", ctypes.c_int, dst=via_array, src=via_array, stream=via_stream, out_task=ctypes.POINTER(via_task)
)
via_copy_batch = _declare(
    "via_copy_batch",
    ctypes.c_int,
    count=ctypes.c_int32,
    dsts=ctypes.POINTER(via_array),
    srcs=ctypes.POINTER(via_array),
    stream=via_stream,
)
via_copy_indexed = _declare(
    "via_copy_indexed",
    ctypes.c_int,
    dst=via_array,
    dst_index=via_array,
    src=via_array,
    src_index=via_array,
    axis=ctypes.c_int32,
    options=ctypes.POINTER(via_convert_options),
    stream=via_stream,
)
via_copy_indexed_submit = _declare(
    "via_copy_indexed_submit",
    ctypes.c_int,
    dst=via_array,
    dst_index=via_array,
    src=via_array,
    src_index=via_array,
    axis=ctypes.c_int32,
    options=ctypes.POINTER(via_convert_options),
    stream=via_stream,
    out_task=ctypes.POINTER(via_task),
)
via_convert = _declare(
    "via_convert",
    ctypes.c_int,
    dst=via_array,
    src=via_array,
    options=ctypes.POINTER(via_convert_options),
    stream=via_stream,
)
via_convert_submit = _declare(
    "via_convert_submit",
    ctypes.c_int,
    dst=via_array,
    src=via_array,
    options=ctypes.POINTER(via_convert_options),
    stream=via_stream,
    out_task=ctypes.POINTER(via_task),
)
via_convert_explain = _declare(
    "via_convert_explain",
    ctypes.c_int,
    dst=via_array,
    src=via_array,
    options=ctypes.POINTER(via_convert_options),
    capacity=ctypes.c_int64,
    out_text=ctypes.POINTER(ctypes.c_char),
    out_length=ctypes.POINTER(ctypes.c_int64),
)
via_memcpy = _declare(
    "via_memcpy", ctypes.c_int, dst=ctypes.c_void_p, src=ctypes.c_void_p, nbytes=ctypes.c_int64, stream=via_stream
)
via_fill = _declare("via_fill", ctypes.c_int, dst=via_array, element=ctypes.c_void_p, stream=via_stream)
via_copy_explain = _declare(
    "via_copy_explain",
    ctypes.c_int,
    dst=via_array,
    src=via_array,
    capacity=ctypes.c_int64,
    out_text=ctypes.POINTER(ctypes.c_char),
    out_length=ctypes.POINTER(ctypes.c_int64),
)
via_task_retain = _declare("via_task_retain", None, task=via_task)
via_task_release = _declare("via_task_release", None, task=via_task)
via_task_wait = _declare("via_task_wait", ctypes.c_int, task=via_task)
via_task_poll = _declare("via_task_poll", ctypes.c_int, task=via_task, out_done=ctypes.POINTER(ctypes.c_int32))
via_task_progress = _declare(
    "via_task_progress",
    ctypes.c_int,
    task=via_task,
    out_done=ctypes.POINTER(ctypes.c_int64),
    out_total=ctypes.POINTER(ctypes.c_int64),
)
via_task_cancel = _declare("via_task_cancel", ctypes.c_int, task=via_task)
via_task_join = _declare("via_task_join", ctypes.c_int, task=via_task, stream=via_stream)
via_task_on_complete = _declare(
    "via_task_on_complete", ctypes.c_int, task=via_task, complete=via_complete_fn, context=ctypes.c_void_p
)
via_batch_create = _declare("via_batch_create", ctypes.c_int, out_batch=ctypes.POINTER(via_batch))
via_batch_retain = _declare("via_batch_retain", None, batch=via_batch)
via_batch_release = _declare("via_batch_release", None, batch=via_batch)
via_batch_add = _declare("via_batch_add", ctypes.c_int, batch=via_batch, dst=via_array, src=via_array)
via_batch_add_indexed = _declare(
    "via_batch_add_indexed",
    ctypes.c_int,
    batch=via_batch,
    dst=via_array,
    dst_index=via_array,
    src=via_array,
    src_index=via_array,
    axis=ctypes.c_int32,
    options=ctypes.POINTER(via_convert_options),
)
via_batch_add_convert = _declare(
    "via_batch_add_convert",
    ctypes.c_int,
    batch=via_batch,
    dst=via_array,
    src=via_array,
    options=ctypes.POINTER(via_convert_options),
)
via_batch_size = _declare("via_batch_size", ctypes.c_int64, batch=via_batch)
via_batch_run = _declare("via_batch_run", ctypes.c_int, batch=via_batch, stream=via_stream)
via_batch_submit = _declare(
    "via_batch_submit", ctypes.c_int, batch=via_batch, stream=via_stream, out_task=ctypes.POINTER(via_task)
)
via_file_open = _declare(
    "via_file_open",
    ctypes.c_int,
    path=ctypes.c_char_p,
    options=ctypes.POINTER(via_file_options),
    out_file=ctypes.POINTER(via_file),
)
via_file_create = _declare(
    "via_file_create",
    ctypes.c_int,
    path=ctypes.c_char_p,
    dtype=ctypes.c_int32,
    ndim=ctypes.c_int32,
    shape=ctypes.POINTER(ctypes.c_int64),
    options=ctypes.POINTER(via_file_options),
    out_file=ctypes.POINTER(via_file),
)
via_file_window = _declare(
    "via_file_window",
    ctypes.c_int,
    file=via_file,
    byte_offset=ctypes.c_int64,
    dtype=ctypes.c_int32,
    ndim=ctypes.c_int32,
    shape=ctypes.POINTER(ctypes.c_int64),
    starts=ctypes.POINTER(ctypes.c_int64),
    counts=ctypes.POINTER(ctypes.c_int64),
    steps=ctypes.POINTER(ctypes.c_int64),
    out_file=ctypes.POINTER(via_file),
)
via_file_convert = _declare(
    "via_file_convert",
    ctypes.c_int,
    file=via_file,
    dtype=ctypes.c_int32,
    options=ctypes.POINTER(via_convert_options),
    out_file=ctypes.POINTER(via_file),
)
via_file_retain = _declare("via_file_retain", None, file=via_file)
via_file_release = _declare("via_file_release", None, file=via_file)
via_file_info = _declare(
    "via_file_info", ctypes.c_int, file=via_file, out_properties=ctypes.POINTER(via_file_properties)
)
via_file_array = _declare(
    "via_file_array",
    ctypes.c_int,
    file=via_file,
    byte_offset=ctypes.c_int64,
    dtype=ctypes.c_int32,
    ndim=ctypes.c_int32,
    shape=ctypes.POINTER(ctypes.c_int64),
    out_array=ctypes.POINTER(via_array),
)
via_file_read = _declare(
    "via_file_read", ctypes.c_int, file=via_file, byte_offset=ctypes.c_int64, dst=via_array, stream=via_stream
)
via_file_write = _declare(
    "via_file_write", ctypes.c_int, file=via_file, byte_offset=ctypes.c_int64, src=via_array, stream=via_stream
)
via_file_read_submit = _declare(
    "via_file_read_submit",
    ctypes.c_int,
    file=via_file,
    byte_offset=ctypes.c_int64,
    dst=via_array,
    stream=via_stream,
    out_task=ctypes.POINTER(via_task),
)
via_file_write_submit = _declare(
    "via_file_write_submit",
    ctypes.c_int,
    file=via_file,
    byte_offset=ctypes.c_int64,
    src=via_array,
    stream=via_stream,
    out_task=ctypes.POINTER(via_task),
)
via_save = _declare(
    "via_save", ctypes.c_int, path=ctypes.c_char_p, array=via_array, options=ctypes.POINTER(via_file_options)
)
via_load = _declare(
    "via_load",
    ctypes.c_int,
    path=ctypes.c_char_p,
    memory=via_memory,
    options=ctypes.POINTER(via_file_options),
    out_array=ctypes.POINTER(via_array),
)
via_archive_open = _declare(
    "via_archive_open",
    ctypes.c_int,
    path=ctypes.c_char_p,
    options=ctypes.POINTER(via_file_options),
    out_archive=ctypes.POINTER(via_archive),
)
via_archive_add = _declare("via_archive_add", ctypes.c_int, archive=via_archive, path=ctypes.c_char_p)
via_archive_retain = _declare("via_archive_retain", None, archive=via_archive)
via_archive_release = _declare("via_archive_release", None, archive=via_archive)
via_archive_size = _declare("via_archive_size", ctypes.c_int64, archive=via_archive)
via_archive_nbytes = _declare("via_archive_nbytes", ctypes.c_int64, archive=via_archive)
via_archive_name = _declare("via_archive_name", ctypes.c_char_p, archive=via_archive, number=ctypes.c_int64)
via_archive_type_name = _declare("via_archive_type_name", ctypes.c_char_p, archive=via_archive, number=ctypes.c_int64)
via_archive_find = _declare(
    "via_archive_find",
    ctypes.c_int,
    archive=via_archive,
    name=ctypes.c_char_p,
    out_number=ctypes.POINTER(ctypes.c_int64),
)
via_archive_metadata = _declare(
    "via_archive_metadata",
    ctypes.c_int,
    archive=via_archive,
    capacity=ctypes.c_int64,
    out_metadata=ctypes.POINTER(ctypes.c_char),
    out_length=ctypes.POINTER(ctypes.c_int64),
)
via_archive_file = _declare(
    "via_archive_file", ctypes.c_int, archive=via_archive, number=ctypes.c_int64, out_file=ctypes.POINTER(via_file)
)
via_archive_select = _declare(
    "via_archive_select",
    ctypes.c_int,
    archive=via_archive,
    count=ctypes.c_int32,
    numbers=ctypes.POINTER(ctypes.c_int64),
    out_archive=ctypes.POINTER(via_archive),
)
via_archive_slice = _declare(
    "via_archive_slice",
    ctypes.c_int,
    archive=via_archive,
    number=ctypes.c_int64,
    axis=ctypes.c_int32,
    start=ctypes.c_int64,
    count=ctypes.c_int64,
)
via_archive_convert = _declare(
    "via_archive_convert",
    ctypes.c_int,
    archive=via_archive,
    number=ctypes.c_int64,
    dtype=ctypes.c_int32,
    options=ctypes.POINTER(via_convert_options),
)
via_archive_array = _declare(
    "via_archive_array",
    ctypes.c_int,
    archive=via_archive,
    number=ctypes.c_int64,
    buffer=via_array,
    out_array=ctypes.POINTER(via_array),
)
via_archive_load = _declare(
    "via_archive_load",
    ctypes.c_int,
    archive=via_archive,
    memory=via_memory,
    stream=via_stream,
    out_buffer=ctypes.POINTER(via_array),
)
via_archive_read = _declare("via_archive_read", ctypes.c_int, archive=via_archive, buffer=via_array, stream=via_stream)
via_archive_read_submit = _declare(
    "via_archive_read_submit",
    ctypes.c_int,
    archive=via_archive,
    buffer=via_array,
    stream=via_stream,
    out_task=ctypes.POINTER(via_task),
)
via_archive_save = _declare(
    "via_archive_save",
    ctypes.c_int,
    path=ctypes.c_char_p,
    count=ctypes.c_int32,
    arrays=ctypes.POINTER(via_array),
    names=ctypes.POINTER(ctypes.c_char_p),
    metadata=ctypes.c_char_p,
    shard_bytes=ctypes.c_int64,
    options=ctypes.POINTER(via_file_options),
    stream=via_stream,
)
via_archive_save_submit = _declare(
    "via_archive_save_submit",
    ctypes.c_int,
    path=ctypes.c_char_p,
    count=ctypes.c_int32,
    arrays=ctypes.POINTER(via_array),
    names=ctypes.POINTER(ctypes.c_char_p),
    metadata=ctypes.c_char_p,
    shard_bytes=ctypes.c_int64,
    options=ctypes.POINTER(via_file_options),
    stream=via_stream,
    out_task=ctypes.POINTER(via_task),
)
