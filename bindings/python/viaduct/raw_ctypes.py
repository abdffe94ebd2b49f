"""The C API by ctypes: every function with its argument types, every struct, callback and constant of viaduct.h.

The library is the one that the package itself uses. Structs are made with their size, so that `via_stats_info()` is
ready to be handed over. Nothing is translated: a status other than VIA_OK is an int, and its text via_last_error().
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
VIA_MODE_READ = 0
VIA_MODE_READ_WRITE = 1
VIA_MODE_COPY_ON_WRITE = 2
VIA_FORMAT_AUTO = 0
VIA_FORMAT_RAW = 1
VIA_FORMAT_NPY = 2


class via_device_properties(_Sized):
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
    ]


class via_pointer_info(_Sized):
    _fields_ = [
        ("struct_size", ctypes.c_int32),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("read_only", ctypes.c_int32),
        ("base_address", ctypes.c_void_p),
        ("nbytes", ctypes.c_int64),
    ]


class via_dlpack_options(_Sized):
    _fields_ = [
        ("struct_size", ctypes.c_int32),
        ("max_major", ctypes.c_int32),
        ("max_minor", ctypes.c_int32),
        ("target_device_type", ctypes.c_int32),
        ("target_device_id", ctypes.c_int32),
        ("copy", ctypes.c_int32),
    ]


class via_array_interface(_Sized):
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


class via_file_options(_Sized):
    _fields_ = [
        ("struct_size", ctypes.c_int32),
        ("mode", ctypes.c_int32),
        ("file_format", ctypes.c_int32),
        ("column_major", ctypes.c_int32),
        ("durable", ctypes.c_int32),
        ("atomic_write", ctypes.c_int32),
    ]


class via_file_properties(_Sized):
    _fields_ = [
        ("struct_size", ctypes.c_int32),
        ("file_format", ctypes.c_int32),
        ("dtype", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("column_major", ctypes.c_int32),
        ("pad", ctypes.c_int32),
        ("nbytes", ctypes.c_int64),
        ("byte_offset", ctypes.c_int64),
        ("shape", ctypes.c_int64 * 64),
    ]


via_release_fn = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
via_alloc_fn = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
via_free_fn = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
via_complete_fn = ctypes.CFUNCTYPE(None, ctypes.c_int32, ctypes.c_char_p, ctypes.c_void_p)

# via_version()
via_version = library.via_version
via_version.argtypes = []
via_version.restype = ctypes.c_int32

# via_require(major, minor)
via_require = library.via_require
via_require.argtypes = [ctypes.c_int32, ctypes.c_int32]
via_require.restype = ctypes.c_int

# via_status_name(status)
via_status_name = library.via_status_name
via_status_name.argtypes = [ctypes.c_int32]
via_status_name.restype = ctypes.c_char_p

# via_last_error()
via_last_error = library.via_last_error
via_last_error.argtypes = []
via_last_error.restype = ctypes.c_char_p

# via_last_error_code()
via_last_error_code = library.via_last_error_code
via_last_error_code.argtypes = []
via_last_error_code.restype = ctypes.c_int32

# via_device_count(device_type, out_count)
via_device_count = library.via_device_count
via_device_count.argtypes = [ctypes.c_int32, ctypes.POINTER(ctypes.c_int32)]
via_device_count.restype = ctypes.c_int

# via_device_info(device_type, device_id, out_properties)
via_device_info = library.via_device_info
via_device_info.argtypes = [ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(via_device_properties)]
via_device_info.restype = ctypes.c_int

# via_set_num_threads(count)
via_set_num_threads = library.via_set_num_threads
via_set_num_threads.argtypes = [ctypes.c_int32]
via_set_num_threads.restype = ctypes.c_int

# via_num_threads()
via_num_threads = library.via_num_threads
via_num_threads.argtypes = []
via_num_threads.restype = ctypes.c_int32

# via_cuda_warmup(device_id)
via_cuda_warmup = library.via_cuda_warmup
via_cuda_warmup.argtypes = [ctypes.c_int32]
via_cuda_warmup.restype = ctypes.c_int

# via_calibrate(device_id)
via_calibrate = library.via_calibrate
via_calibrate.argtypes = [ctypes.c_int32]
via_calibrate.restype = ctypes.c_int

# via_calibration_save(path)
via_calibration_save = library.via_calibration_save
via_calibration_save.argtypes = [ctypes.c_char_p]
via_calibration_save.restype = ctypes.c_int

# via_calibration_load(path)
via_calibration_load = library.via_calibration_load
via_calibration_load.argtypes = [ctypes.c_char_p]
via_calibration_load.restype = ctypes.c_int

# via_stats(out_stats)
via_stats = library.via_stats
via_stats.argtypes = [ctypes.POINTER(via_stats_info)]
via_stats.restype = ctypes.c_int

# via_dtype_record(nbytes)
via_dtype_record = library.via_dtype_record
via_dtype_record.argtypes = [ctypes.c_int64]
via_dtype_record.restype = ctypes.c_int32

# via_dtype_is_valid(dtype)
via_dtype_is_valid = library.via_dtype_is_valid
via_dtype_is_valid.argtypes = [ctypes.c_int32]
via_dtype_is_valid.restype = ctypes.c_int32

# via_dtype_bits(dtype)
via_dtype_bits = library.via_dtype_bits
via_dtype_bits.argtypes = [ctypes.c_int32]
via_dtype_bits.restype = ctypes.c_int64

# via_dtype_name(dtype, capacity, out_name)
via_dtype_name = library.via_dtype_name
via_dtype_name.argtypes = [ctypes.c_int32, ctypes.c_int64, ctypes.c_char_p]
via_dtype_name.restype = ctypes.c_int

# via_dtype_from_name(name, out_dtype)
via_dtype_from_name = library.via_dtype_from_name
via_dtype_from_name.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_int32)]
via_dtype_from_name.restype = ctypes.c_int

# via_wrap(address, dtype, ndim, shape, strides, device_type, device_id, flags, release, context, out_array)
via_wrap = library.via_wrap
via_wrap.argtypes = [ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_int64), ctypes.c_int32, ctypes.c_int32, ctypes.c_int32, via_release_fn, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]
via_wrap.restype = ctypes.c_int

# via_array_retain(array)
via_array_retain = library.via_array_retain
via_array_retain.argtypes = [ctypes.c_void_p]
via_array_retain.restype = None

# via_array_release(array)
via_array_release = library.via_array_release
via_array_release.argtypes = [ctypes.c_void_p]
via_array_release.restype = None

# via_array_data(array)
via_array_data = library.via_array_data
via_array_data.argtypes = [ctypes.c_void_p]
via_array_data.restype = ctypes.c_void_p

# via_array_dtype(array)
via_array_dtype = library.via_array_dtype
via_array_dtype.argtypes = [ctypes.c_void_p]
via_array_dtype.restype = ctypes.c_int32

# via_array_ndim(array)
via_array_ndim = library.via_array_ndim
via_array_ndim.argtypes = [ctypes.c_void_p]
via_array_ndim.restype = ctypes.c_int32

# via_array_shape(array)
via_array_shape = library.via_array_shape
via_array_shape.argtypes = [ctypes.c_void_p]
via_array_shape.restype = ctypes.POINTER(ctypes.c_int64)

# via_array_strides(array)
via_array_strides = library.via_array_strides
via_array_strides.argtypes = [ctypes.c_void_p]
via_array_strides.restype = ctypes.POINTER(ctypes.c_int64)

# via_array_byte_strides(array)
via_array_byte_strides = library.via_array_byte_strides
via_array_byte_strides.argtypes = [ctypes.c_void_p]
via_array_byte_strides.restype = ctypes.POINTER(ctypes.c_int64)

# via_array_device_type(array)
via_array_device_type = library.via_array_device_type
via_array_device_type.argtypes = [ctypes.c_void_p]
via_array_device_type.restype = ctypes.c_int32

# via_array_device_id(array)
via_array_device_id = library.via_array_device_id
via_array_device_id.argtypes = [ctypes.c_void_p]
via_array_device_id.restype = ctypes.c_int32

# via_array_size(array)
via_array_size = library.via_array_size
via_array_size.argtypes = [ctypes.c_void_p]
via_array_size.restype = ctypes.c_int64

# via_array_nbytes(array)
via_array_nbytes = library.via_array_nbytes
via_array_nbytes.argtypes = [ctypes.c_void_p]
via_array_nbytes.restype = ctypes.c_int64

# via_array_flags(array)
via_array_flags = library.via_array_flags
via_array_flags.argtypes = [ctypes.c_void_p]
via_array_flags.restype = ctypes.c_int32

# via_array_is_contiguous(array, order)
via_array_is_contiguous = library.via_array_is_contiguous
via_array_is_contiguous.argtypes = [ctypes.c_void_p, ctypes.c_int32]
via_array_is_contiguous.restype = ctypes.c_int32

# via_array_context(array, release)
via_array_context = library.via_array_context
via_array_context.argtypes = [ctypes.c_void_p, via_release_fn]
via_array_context.restype = ctypes.c_void_p

# via_pointer_query(address, out_info)
via_pointer_query = library.via_pointer_query
via_pointer_query.argtypes = [ctypes.c_void_p, ctypes.POINTER(via_pointer_info)]
via_pointer_query.restype = ctypes.c_int

# via_array_slice(array, start, count, step, out_array)
via_array_slice = library.via_array_slice
via_array_slice.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_void_p)]
via_array_slice.restype = ctypes.c_int

# via_array_select(array, axis, index, out_array)
via_array_select = library.via_array_select
via_array_select.argtypes = [ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64, ctypes.POINTER(ctypes.c_void_p)]
via_array_select.restype = ctypes.c_int

# via_array_permute(array, axes, out_array)
via_array_permute = library.via_array_permute
via_array_permute.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_int32), ctypes.POINTER(ctypes.c_void_p)]
via_array_permute.restype = ctypes.c_int

# via_array_reshape(array, ndim, shape, out_array)
via_array_reshape = library.via_array_reshape
via_array_reshape.argtypes = [ctypes.c_void_p, ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_void_p)]
via_array_reshape.restype = ctypes.c_int

# via_array_broadcast(array, ndim, shape, out_array)
via_array_broadcast = library.via_array_broadcast
via_array_broadcast.argtypes = [ctypes.c_void_p, ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_void_p)]
via_array_broadcast.restype = ctypes.c_int

# via_array_squeeze(array, count, axes, out_array)
via_array_squeeze = library.via_array_squeeze
via_array_squeeze.argtypes = [ctypes.c_void_p, ctypes.c_int32, ctypes.POINTER(ctypes.c_int32), ctypes.POINTER(ctypes.c_void_p)]
via_array_squeeze.restype = ctypes.c_int

# via_array_expand(array, axis, out_array)
via_array_expand = library.via_array_expand
via_array_expand.argtypes = [ctypes.c_void_p, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)]
via_array_expand.restype = ctypes.c_int

# via_array_reinterpret(array, dtype, out_array)
via_array_reinterpret = library.via_array_reinterpret
via_array_reinterpret.argtypes = [ctypes.c_void_p, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)]
via_array_reinterpret.restype = ctypes.c_int

# via_array_field(array, byte_offset, dtype, ndim, shape, out_array)
via_array_field = library.via_array_field
via_array_field.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_void_p)]
via_array_field.restype = ctypes.c_int

# via_array_as_read_only(array, out_array)
via_array_as_read_only = library.via_array_as_read_only
via_array_as_read_only.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]
via_array_as_read_only.restype = ctypes.c_int

# via_memory_create(kind, device_id, out_memory)
via_memory_create = library.via_memory_create
via_memory_create.argtypes = [ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)]
via_memory_create.restype = ctypes.c_int

# via_memory_create_custom(device_type, device_id, alloc, alloc_context, free_memory, free_context, release, context, out_memory)
via_memory_create_custom = library.via_memory_create_custom
via_memory_create_custom.argtypes = [ctypes.c_int32, ctypes.c_int32, via_alloc_fn, ctypes.c_void_p, via_free_fn, ctypes.c_void_p, via_release_fn, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]
via_memory_create_custom.restype = ctypes.c_int

# via_memory_retain(memory)
via_memory_retain = library.via_memory_retain
via_memory_retain.argtypes = [ctypes.c_void_p]
via_memory_retain.restype = None

# via_memory_release(memory)
via_memory_release = library.via_memory_release
via_memory_release.argtypes = [ctypes.c_void_p]
via_memory_release.restype = None

# via_memory_device_type(memory)
via_memory_device_type = library.via_memory_device_type
via_memory_device_type.argtypes = [ctypes.c_void_p]
via_memory_device_type.restype = ctypes.c_int32

# via_memory_device_id(memory)
via_memory_device_id = library.via_memory_device_id
via_memory_device_id.argtypes = [ctypes.c_void_p]
via_memory_device_id.restype = ctypes.c_int32

# via_empty(memory, dtype, ndim, shape, stream, out_array)
via_empty = library.via_empty
via_empty.argtypes = [ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]
via_empty.restype = ctypes.c_int

# via_to_dlpack(array, options, stream, out_tensor)
via_to_dlpack = library.via_to_dlpack
via_to_dlpack.argtypes = [ctypes.c_void_p, ctypes.POINTER(via_dlpack_options), ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]
via_to_dlpack.restype = ctypes.c_int

# via_from_dlpack(tensor, options, stream, out_array)
via_from_dlpack = library.via_from_dlpack
via_from_dlpack.argtypes = [ctypes.c_void_p, ctypes.POINTER(via_dlpack_options), ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]
via_from_dlpack.restype = ctypes.c_int

# via_to_dlpack_legacy(array, options, stream, out_tensor)
via_to_dlpack_legacy = library.via_to_dlpack_legacy
via_to_dlpack_legacy.argtypes = [ctypes.c_void_p, ctypes.POINTER(via_dlpack_options), ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]
via_to_dlpack_legacy.restype = ctypes.c_int

# via_from_dlpack_legacy(tensor, options, stream, out_array)
via_from_dlpack_legacy = library.via_from_dlpack_legacy
via_from_dlpack_legacy.argtypes = [ctypes.c_void_p, ctypes.POINTER(via_dlpack_options), ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]
via_from_dlpack_legacy.restype = ctypes.c_int

# via_dlpack_delete(tensor)
via_dlpack_delete = library.via_dlpack_delete
via_dlpack_delete.argtypes = [ctypes.c_void_p]
via_dlpack_delete.restype = None

# via_dlpack_delete_legacy(tensor)
via_dlpack_delete_legacy = library.via_dlpack_delete_legacy
via_dlpack_delete_legacy.argtypes = [ctypes.c_void_p]
via_dlpack_delete_legacy.restype = None

# via_to_array_interface(array, out_description)
via_to_array_interface = library.via_to_array_interface
via_to_array_interface.argtypes = [ctypes.c_void_p, ctypes.POINTER(via_array_interface)]
via_to_array_interface.restype = ctypes.c_int

# via_from_array_interface(description, release, context, out_array)
via_from_array_interface = library.via_from_array_interface
via_from_array_interface.argtypes = [ctypes.POINTER(via_array_interface), via_release_fn, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]
via_from_array_interface.restype = ctypes.c_int

# via_to_cuda_array_interface(array, stream, out_description)
via_to_cuda_array_interface = library.via_to_cuda_array_interface
via_to_cuda_array_interface.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(via_array_interface)]
via_to_cuda_array_interface.restype = ctypes.c_int

# via_from_cuda_array_interface(description, release, context, out_array)
via_from_cuda_array_interface = library.via_from_cuda_array_interface
via_from_cuda_array_interface.argtypes = [ctypes.POINTER(via_array_interface), via_release_fn, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]
via_from_cuda_array_interface.restype = ctypes.c_int

# via_to_arrow_device(array, out_schema, out_array)
via_to_arrow_device = library.via_to_arrow_device
via_to_arrow_device.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
via_to_arrow_device.restype = ctypes.c_int

# via_from_arrow_device(schema, column, stream, out_array)
via_from_arrow_device = library.via_from_arrow_device
via_from_arrow_device.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]
via_from_arrow_device.restype = ctypes.c_int

# via_arrow_release(schema, column)
via_arrow_release = library.via_arrow_release
via_arrow_release.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
via_arrow_release.restype = None

# via_stream_create(device_id, out_stream)
via_stream_create = library.via_stream_create
via_stream_create.argtypes = [ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)]
via_stream_create.restype = ctypes.c_int

# via_stream_wrap(native_stream, device_id, out_stream)
via_stream_wrap = library.via_stream_wrap
via_stream_wrap.argtypes = [ctypes.c_void_p, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)]
via_stream_wrap.restype = ctypes.c_int

# via_stream_legacy()
via_stream_legacy = library.via_stream_legacy
via_stream_legacy.argtypes = []
via_stream_legacy.restype = ctypes.c_void_p

# via_stream_per_thread()
via_stream_per_thread = library.via_stream_per_thread
via_stream_per_thread.argtypes = []
via_stream_per_thread.restype = ctypes.c_void_p

# via_stream_no_sync()
via_stream_no_sync = library.via_stream_no_sync
via_stream_no_sync.argtypes = []
via_stream_no_sync.restype = ctypes.c_void_p

# via_stream_retain(stream)
via_stream_retain = library.via_stream_retain
via_stream_retain.argtypes = [ctypes.c_void_p]
via_stream_retain.restype = None

# via_stream_release(stream)
via_stream_release = library.via_stream_release
via_stream_release.argtypes = [ctypes.c_void_p]
via_stream_release.restype = None

# via_stream_handle(stream)
via_stream_handle = library.via_stream_handle
via_stream_handle.argtypes = [ctypes.c_void_p]
via_stream_handle.restype = ctypes.c_void_p

# via_stream_device_id(stream)
via_stream_device_id = library.via_stream_device_id
via_stream_device_id.argtypes = [ctypes.c_void_p]
via_stream_device_id.restype = ctypes.c_int32

# via_stream_synchronize(stream)
via_stream_synchronize = library.via_stream_synchronize
via_stream_synchronize.argtypes = [ctypes.c_void_p]
via_stream_synchronize.restype = ctypes.c_int

# via_stream_query(stream, out_done)
via_stream_query = library.via_stream_query
via_stream_query.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_int32)]
via_stream_query.restype = ctypes.c_int

# via_stream_set_current(device_id, stream)
via_stream_set_current = library.via_stream_set_current
via_stream_set_current.argtypes = [ctypes.c_int32, ctypes.c_void_p]
via_stream_set_current.restype = ctypes.c_int

# via_stream_current(device_id, out_stream)
via_stream_current = library.via_stream_current
via_stream_current.argtypes = [ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)]
via_stream_current.restype = ctypes.c_int

# via_stream_wait(stream, marker)
via_stream_wait = library.via_stream_wait
via_stream_wait.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
via_stream_wait.restype = ctypes.c_int

# via_event_create(device_id, out_event)
via_event_create = library.via_event_create
via_event_create.argtypes = [ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)]
via_event_create.restype = ctypes.c_int

# via_event_wrap(native_event, device_id, out_event)
via_event_wrap = library.via_event_wrap
via_event_wrap.argtypes = [ctypes.c_void_p, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)]
via_event_wrap.restype = ctypes.c_int

# via_event_retain(marker)
via_event_retain = library.via_event_retain
via_event_retain.argtypes = [ctypes.c_void_p]
via_event_retain.restype = None

# via_event_release(marker)
via_event_release = library.via_event_release
via_event_release.argtypes = [ctypes.c_void_p]
via_event_release.restype = None

# via_event_handle(marker)
via_event_handle = library.via_event_handle
via_event_handle.argtypes = [ctypes.c_void_p]
via_event_handle.restype = ctypes.c_void_p

# via_event_record(marker, stream)
via_event_record = library.via_event_record
via_event_record.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
via_event_record.restype = ctypes.c_int

# via_event_query(marker, out_done)
via_event_query = library.via_event_query
via_event_query.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_int32)]
via_event_query.restype = ctypes.c_int

# via_event_synchronize(marker)
via_event_synchronize = library.via_event_synchronize
via_event_synchronize.argtypes = [ctypes.c_void_p]
via_event_synchronize.restype = ctypes.c_int

# via_array_record_stream(array, stream)
via_array_record_stream = library.via_array_record_stream
via_array_record_stream.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
via_array_record_stream.restype = ctypes.c_int

# via_array_set_ready(array, stream)
via_array_set_ready = library.via_array_set_ready
via_array_set_ready.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
via_array_set_ready.restype = ctypes.c_int

# via_array_is_ready(array)
via_array_is_ready = library.via_array_is_ready
via_array_is_ready.argtypes = [ctypes.c_void_p]
via_array_is_ready.restype = ctypes.c_int32

# via_array_synchronize(array)
via_array_synchronize = library.via_array_synchronize
via_array_synchronize.argtypes = [ctypes.c_void_p]
via_array_synchronize.restype = ctypes.c_int

# via_copy(dst, src)
via_copy = library.via_copy
via_copy.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
via_copy.restype = ctypes.c_int

# via_copy_async(dst, src, stream)
via_copy_async = library.via_copy_async
via_copy_async.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
via_copy_async.restype = ctypes.c_int

# via_copy_submit(dst, src, stream, out_task)
via_copy_submit = library.via_copy_submit
via_copy_submit.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]
via_copy_submit.restype = ctypes.c_int

# via_copy_batch(count, dsts, srcs, stream)
via_copy_batch = library.via_copy_batch
via_copy_batch.argtypes = [ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p]
via_copy_batch.restype = ctypes.c_int

# via_memcpy(dst, src, nbytes, stream)
via_memcpy = library.via_memcpy
via_memcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p]
via_memcpy.restype = ctypes.c_int

# via_fill(dst, element, stream)
via_fill = library.via_fill
via_fill.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
via_fill.restype = ctypes.c_int

# via_copy_explain(dst, src, capacity, out_text, out_length)
via_copy_explain = library.via_copy_explain
via_copy_explain.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int64)]
via_copy_explain.restype = ctypes.c_int

# via_task_retain(task)
via_task_retain = library.via_task_retain
via_task_retain.argtypes = [ctypes.c_void_p]
via_task_retain.restype = None

# via_task_release(task)
via_task_release = library.via_task_release
via_task_release.argtypes = [ctypes.c_void_p]
via_task_release.restype = None

# via_task_wait(task)
via_task_wait = library.via_task_wait
via_task_wait.argtypes = [ctypes.c_void_p]
via_task_wait.restype = ctypes.c_int

# via_task_poll(task, out_done)
via_task_poll = library.via_task_poll
via_task_poll.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_int32)]
via_task_poll.restype = ctypes.c_int

# via_task_progress(task, out_done, out_total)
via_task_progress = library.via_task_progress
via_task_progress.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_int64)]
via_task_progress.restype = ctypes.c_int

# via_task_cancel(task)
via_task_cancel = library.via_task_cancel
via_task_cancel.argtypes = [ctypes.c_void_p]
via_task_cancel.restype = ctypes.c_int

# via_task_join(task, stream)
via_task_join = library.via_task_join
via_task_join.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
via_task_join.restype = ctypes.c_int

# via_task_on_complete(task, complete, context)
via_task_on_complete = library.via_task_on_complete
via_task_on_complete.argtypes = [ctypes.c_void_p, via_complete_fn, ctypes.c_void_p]
via_task_on_complete.restype = ctypes.c_int

# via_batch_create(out_batch)
via_batch_create = library.via_batch_create
via_batch_create.argtypes = [ctypes.POINTER(ctypes.c_void_p)]
via_batch_create.restype = ctypes.c_int

# via_batch_retain(batch)
via_batch_retain = library.via_batch_retain
via_batch_retain.argtypes = [ctypes.c_void_p]
via_batch_retain.restype = None

# via_batch_release(batch)
via_batch_release = library.via_batch_release
via_batch_release.argtypes = [ctypes.c_void_p]
via_batch_release.restype = None

# via_batch_add(batch, dst, src)
via_batch_add = library.via_batch_add
via_batch_add.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
via_batch_add.restype = ctypes.c_int

# via_batch_size(batch)
via_batch_size = library.via_batch_size
via_batch_size.argtypes = [ctypes.c_void_p]
via_batch_size.restype = ctypes.c_int64

# via_batch_run(batch, stream)
via_batch_run = library.via_batch_run
via_batch_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
via_batch_run.restype = ctypes.c_int

# via_batch_submit(batch, stream, out_task)
via_batch_submit = library.via_batch_submit
via_batch_submit.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]
via_batch_submit.restype = ctypes.c_int

# via_file_open(path, options, out_file)
via_file_open = library.via_file_open
via_file_open.argtypes = [ctypes.c_char_p, ctypes.POINTER(via_file_options), ctypes.POINTER(ctypes.c_void_p)]
via_file_open.restype = ctypes.c_int

# via_file_create(path, dtype, ndim, shape, options, out_file)
via_file_create = library.via_file_create
via_file_create.argtypes = [ctypes.c_char_p, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(via_file_options), ctypes.POINTER(ctypes.c_void_p)]
via_file_create.restype = ctypes.c_int

# via_file_retain(file)
via_file_retain = library.via_file_retain
via_file_retain.argtypes = [ctypes.c_void_p]
via_file_retain.restype = None

# via_file_release(file)
via_file_release = library.via_file_release
via_file_release.argtypes = [ctypes.c_void_p]
via_file_release.restype = None

# via_file_info(file, out_properties)
via_file_info = library.via_file_info
via_file_info.argtypes = [ctypes.c_void_p, ctypes.POINTER(via_file_properties)]
via_file_info.restype = ctypes.c_int

# via_file_array(file, byte_offset, dtype, ndim, shape, out_array)
via_file_array = library.via_file_array
via_file_array.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_void_p)]
via_file_array.restype = ctypes.c_int

# via_file_read(file, byte_offset, dst, stream)
via_file_read = library.via_file_read
via_file_read.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p]
via_file_read.restype = ctypes.c_int

# via_file_write(file, byte_offset, src, stream)
via_file_write = library.via_file_write
via_file_write.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p]
via_file_write.restype = ctypes.c_int

# via_file_read_submit(file, byte_offset, dst, stream, out_task)
via_file_read_submit = library.via_file_read_submit
via_file_read_submit.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]
via_file_read_submit.restype = ctypes.c_int

# via_file_write_submit(file, byte_offset, src, stream, out_task)
via_file_write_submit = library.via_file_write_submit
via_file_write_submit.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]
via_file_write_submit.restype = ctypes.c_int
