! The C API in Fortran, one interface a function: viaduct.h says what each means. Made from that header by
! bindings/generate; do not edit.
!
! Handles, tensors and addresses are type(c_ptr); callbacks are type(c_funptr), of the abstract interfaces below. Lists
! and options that may be NULL are optional. Texts going in end with c_null_char. Structs have their size and every
! default from the start.
module viaduct_c
  use, intrinsic :: iso_c_binding
  implicit none
  public

  integer(c_int32_t), parameter :: VIA_VERSION_MAJOR = 1
  integer(c_int32_t), parameter :: VIA_VERSION_MINOR = 0
  integer(c_int32_t), parameter :: VIA_VERSION_PATCH = 0
  integer(c_int32_t), parameter :: VIA_OK = 0
  integer(c_int32_t), parameter :: VIA_ERROR_INVALID_ARGUMENT = 1
  integer(c_int32_t), parameter :: VIA_ERROR_DTYPE = 2
  integer(c_int32_t), parameter :: VIA_ERROR_SHAPE = 3
  integer(c_int32_t), parameter :: VIA_ERROR_INDEX = 4
  integer(c_int32_t), parameter :: VIA_ERROR_OVERFLOW = 5
  integer(c_int32_t), parameter :: VIA_ERROR_OUT_OF_MEMORY = 6
  integer(c_int32_t), parameter :: VIA_ERROR_READ_ONLY = 7
  integer(c_int32_t), parameter :: VIA_ERROR_OVERLAP = 8
  integer(c_int32_t), parameter :: VIA_ERROR_NEEDS_COPY = 9
  integer(c_int32_t), parameter :: VIA_ERROR_EXCHANGE = 10
  integer(c_int32_t), parameter :: VIA_ERROR_VERSION = 11
  integer(c_int32_t), parameter :: VIA_ERROR_DEVICE = 12
  integer(c_int32_t), parameter :: VIA_ERROR_POINTER = 13
  integer(c_int32_t), parameter :: VIA_ERROR_UNSUPPORTED = 14
  integer(c_int32_t), parameter :: VIA_ERROR_CUDA = 15
  integer(c_int32_t), parameter :: VIA_ERROR_STREAM_CAPTURE = 16
  integer(c_int32_t), parameter :: VIA_ERROR_FORKED = 17
  integer(c_int32_t), parameter :: VIA_ERROR_WOULD_DEADLOCK = 18
  integer(c_int32_t), parameter :: VIA_ERROR_CANCELLED = 19
  integer(c_int32_t), parameter :: VIA_ERROR_IO = 20
  integer(c_int32_t), parameter :: VIA_ERROR_FORMAT = 21
  integer(c_int32_t), parameter :: VIA_ERROR_CALLBACK = 22
  integer(c_int32_t), parameter :: VIA_ERROR_INTERNAL = 23
  integer(c_int32_t), parameter :: VIA_DEVICE_ANY = 0
  integer(c_int32_t), parameter :: VIA_DEVICE_CPU = 1
  integer(c_int32_t), parameter :: VIA_DEVICE_CUDA = 2
  integer(c_int32_t), parameter :: VIA_DEVICE_CUDA_HOST = 3
  integer(c_int32_t), parameter :: VIA_DEVICE_CUDA_MANAGED = 13
  integer(c_int32_t), parameter :: VIA_INT4 = 66560
  integer(c_int32_t), parameter :: VIA_INT8 = 67584
  integer(c_int32_t), parameter :: VIA_INT16 = 69632
  integer(c_int32_t), parameter :: VIA_INT32 = 73728
  integer(c_int32_t), parameter :: VIA_INT64 = 81920
  integer(c_int32_t), parameter :: VIA_UINT4 = 66561
  integer(c_int32_t), parameter :: VIA_UINT8 = 67585
  integer(c_int32_t), parameter :: VIA_UINT16 = 69633
  integer(c_int32_t), parameter :: VIA_UINT32 = 73729
  integer(c_int32_t), parameter :: VIA_UINT64 = 81921
  integer(c_int32_t), parameter :: VIA_FLOAT16 = 69634
  integer(c_int32_t), parameter :: VIA_FLOAT32 = 73730
  integer(c_int32_t), parameter :: VIA_FLOAT64 = 81922
  integer(c_int32_t), parameter :: VIA_OPAQUE64 = 81923
  integer(c_int32_t), parameter :: VIA_BFLOAT16 = 69636
  integer(c_int32_t), parameter :: VIA_COMPLEX32 = 73733
  integer(c_int32_t), parameter :: VIA_COMPLEX64 = 81925
  integer(c_int32_t), parameter :: VIA_COMPLEX128 = 98309
  integer(c_int32_t), parameter :: VIA_BOOL = 67590
  integer(c_int32_t), parameter :: VIA_FLOAT8_E3M4 = 67591
  integer(c_int32_t), parameter :: VIA_FLOAT8_E4M3 = 67592
  integer(c_int32_t), parameter :: VIA_FLOAT8_E4M3B11FNUZ = 67593
  integer(c_int32_t), parameter :: VIA_FLOAT8_E4M3FN = 67594
  integer(c_int32_t), parameter :: VIA_FLOAT8_E4M3FNUZ = 67595
  integer(c_int32_t), parameter :: VIA_FLOAT8_E5M2 = 67596
  integer(c_int32_t), parameter :: VIA_FLOAT8_E5M2FNUZ = 67597
  integer(c_int32_t), parameter :: VIA_FLOAT8_E8M0FNU = 67598
  integer(c_int32_t), parameter :: VIA_FLOAT6_E2M3FN = 67087
  integer(c_int32_t), parameter :: VIA_FLOAT6_E3M2FN = 67088
  integer(c_int32_t), parameter :: VIA_FLOAT4_E2M1FN = 66577
  integer(c_int32_t), parameter :: VIA_MAX_NDIM = 64
  integer(c_int32_t), parameter :: VIA_WRAP_READ_ONLY = 1
  integer(c_int32_t), parameter :: VIA_WRAP_BYTE_STRIDES = 2
  integer(c_int32_t), parameter :: VIA_WRAP_UNCHECKED = 4
  integer(c_int32_t), parameter :: VIA_WRAP_DETECT = 8
  integer(c_int32_t), parameter :: VIA_WRAP_PROBE = 16
  integer(c_int32_t), parameter :: VIA_ARRAY_READ_ONLY = 1
  integer(c_int32_t), parameter :: VIA_ARRAY_COPIED = 2
  integer(c_int32_t), parameter :: VIA_ARRAY_MISALIGNED = 4
  integer(c_int32_t), parameter :: VIA_ARRAY_SUBBYTE_PADDED = 8
  integer(c_int32_t), parameter :: VIA_ORDER_ROW_MAJOR = 0
  integer(c_int32_t), parameter :: VIA_ORDER_COLUMN_MAJOR = 1
  integer(c_int32_t), parameter :: VIA_ORDER_ANY = 2
  integer(c_int32_t), parameter :: VIA_COPY_IF_NEEDED = 0
  integer(c_int32_t), parameter :: VIA_COPY_NEVER = 1
  integer(c_int32_t), parameter :: VIA_COPY_ALWAYS = 2
  integer(c_int32_t), parameter :: VIA_MEMORY_HOST = 1
  integer(c_int32_t), parameter :: VIA_MEMORY_PINNED = 2
  integer(c_int32_t), parameter :: VIA_MEMORY_DEVICE = 3
  integer(c_int32_t), parameter :: VIA_MEMORY_DEVICE_POOL = 4
  integer(c_int32_t), parameter :: VIA_MEMORY_MANAGED = 5
  integer(c_int32_t), parameter :: VIA_MEMORY_SHARED = 6
  integer(c_int32_t), parameter :: VIA_MODE_READ = 0
  integer(c_int32_t), parameter :: VIA_MODE_READ_WRITE = 1
  integer(c_int32_t), parameter :: VIA_MODE_COPY_ON_WRITE = 2
  integer(c_int32_t), parameter :: VIA_FORMAT_AUTO = 0
  integer(c_int32_t), parameter :: VIA_FORMAT_RAW = 1
  integer(c_int32_t), parameter :: VIA_FORMAT_NPY = 2
  integer(c_int32_t), parameter :: VIA_CASTING_SAME_KIND = 0
  integer(c_int32_t), parameter :: VIA_CASTING_SAFE = 1
  integer(c_int32_t), parameter :: VIA_CASTING_EQUIV = 2
  integer(c_int32_t), parameter :: VIA_CASTING_UNSAFE = 3
  integer(c_int32_t), parameter :: VIA_OVERFLOW_INFINITY = 0
  integer(c_int32_t), parameter :: VIA_OVERFLOW_SATURATE = 1
  integer(c_int32_t), parameter :: VIA_BYTE_ORDER_NATIVE = 0
  integer(c_int32_t), parameter :: VIA_BYTE_ORDER_LITTLE = 1
  integer(c_int32_t), parameter :: VIA_BYTE_ORDER_BIG = 2
  integer(c_int32_t), parameter :: VIA_PAGE_CACHE_AUTO = 0
  integer(c_int32_t), parameter :: VIA_PAGE_CACHE_USE = 1
  integer(c_int32_t), parameter :: VIA_PAGE_CACHE_AVOID = 2
  integer(c_int32_t), parameter :: VIA_IPC_MAX_BYTES = 1280

  type, bind(C) :: via_device_properties
    integer(c_int32_t) :: struct_size = 680_c_int32_t
    integer(c_int32_t) :: device_type = 0_c_int32_t
    integer(c_int32_t) :: device_id = 0_c_int32_t
    integer(c_int32_t) :: compute_capability = 0_c_int32_t
    integer(c_int32_t) :: driver_version = 0_c_int32_t
    integer(c_int32_t) :: num_threads = 0_c_int32_t
    integer(c_int64_t) :: total_bytes = 0_c_int64_t
    integer(c_int64_t) :: staging_bytes = 0_c_int64_t
    character(kind=c_char) :: name(128) = c_null_char
    character(kind=c_char) :: routes(512) = c_null_char
  end type

  type, bind(C) :: via_stats_info
    integer(c_int32_t) :: struct_size = 88_c_int32_t
    integer(c_int32_t) :: pad = 0_c_int32_t
    integer(c_int64_t) :: live_arrays = 0_c_int64_t
    integer(c_int64_t) :: live_storages = 0_c_int64_t
    integer(c_int64_t) :: outstanding_exports = 0_c_int64_t
    integer(c_int64_t) :: pending_releases = 0_c_int64_t
    integer(c_int64_t) :: host_bytes = 0_c_int64_t
    integer(c_int64_t) :: pinned_bytes = 0_c_int64_t
    integer(c_int64_t) :: device_bytes = 0_c_int64_t
    integer(c_int64_t) :: managed_bytes = 0_c_int64_t
    integer(c_int64_t) :: staged_bytes = 0_c_int64_t
    integer(c_int64_t) :: pending_tasks = 0_c_int64_t
  end type

  type, bind(C) :: via_pointer_info
    integer(c_int32_t) :: struct_size = 32_c_int32_t
    integer(c_int32_t) :: device_type = 0_c_int32_t
    integer(c_int32_t) :: device_id = 0_c_int32_t
    integer(c_int32_t) :: read_only = 0_c_int32_t
    type(c_ptr) :: base_address = c_null_ptr
    integer(c_int64_t) :: nbytes = 0_c_int64_t
  end type

  type, bind(C) :: via_dlpack_options
    integer(c_int32_t) :: struct_size = 24_c_int32_t
    integer(c_int32_t) :: max_major = 0_c_int32_t
    integer(c_int32_t) :: max_minor = 0_c_int32_t
    integer(c_int32_t) :: target_device_type = 0_c_int32_t
    integer(c_int32_t) :: target_device_id = 0_c_int32_t
    integer(c_int32_t) :: copy = 0_c_int32_t
  end type

  type, bind(C) :: via_array_interface
    integer(c_int32_t) :: struct_size = 1080_c_int32_t
    integer(c_int32_t) :: version = 0_c_int32_t
    integer(c_int32_t) :: ndim = 0_c_int32_t
    integer(c_int32_t) :: read_only = 0_c_int32_t
    integer(c_int32_t) :: has_strides = 0_c_int32_t
    integer(c_int32_t) :: has_stream = 0_c_int32_t
    integer(c_int64_t) :: stream = 0_c_int64_t
    type(c_ptr) :: address = c_null_ptr
    integer(c_int64_t) :: shape(64) = 0_c_int64_t
    integer(c_int64_t) :: strides(64) = 0_c_int64_t
    character(kind=c_char) :: typestr(16) = c_null_char
  end type

  type, bind(C) :: via_convert_options
    integer(c_int32_t) :: struct_size = 48_c_int32_t
    integer(c_int32_t) :: casting = 0_c_int32_t
    integer(c_int32_t) :: overflow = 0_c_int32_t
    integer(c_int32_t) :: byte_order = 0_c_int32_t
    type(c_ptr) :: scale = c_null_ptr
    type(c_ptr) :: offset = c_null_ptr
    integer(c_int64_t) :: scale_count = 0_c_int64_t
    integer(c_int32_t) :: scale_axis = 0_c_int32_t
    integer(c_int32_t) :: pad = 0_c_int32_t
  end type

  type, bind(C) :: via_file_options
    integer(c_int32_t) :: struct_size = 32_c_int32_t
    integer(c_int32_t) :: mode = 0_c_int32_t
    integer(c_int32_t) :: file_format = 0_c_int32_t
    integer(c_int32_t) :: column_major = 0_c_int32_t
    integer(c_int32_t) :: durable = 0_c_int32_t
    integer(c_int32_t) :: atomic_write = 0_c_int32_t
    integer(c_int32_t) :: page_cache = 0_c_int32_t
    integer(c_int32_t) :: as_bytes = 0_c_int32_t
  end type

  type, bind(C) :: via_file_properties
    integer(c_int32_t) :: struct_size = 552_c_int32_t
    integer(c_int32_t) :: file_format = 0_c_int32_t
    integer(c_int32_t) :: dtype = 0_c_int32_t
    integer(c_int32_t) :: ndim = 0_c_int32_t
    integer(c_int32_t) :: column_major = 0_c_int32_t
    integer(c_int32_t) :: byte_order = 0_c_int32_t
    integer(c_int64_t) :: nbytes = 0_c_int64_t
    integer(c_int64_t) :: byte_offset = 0_c_int64_t
    integer(c_int64_t) :: shape(64) = 0_c_int64_t
  end type

  abstract interface
    subroutine via_release_fn(context) bind(C)
      import
      type(c_ptr), value :: context
    end subroutine

    function via_alloc_fn(nbytes, alignment, stream, context, out_address) result(answer) bind(C)
      import
      integer(c_int64_t), value :: nbytes, alignment
      type(c_ptr), value :: stream, context
      type(c_ptr), intent(out) :: out_address
      integer(c_int32_t) :: answer
    end function

    subroutine via_free_fn(address, nbytes, stream, context) bind(C)
      import
      type(c_ptr), value :: address, stream, context
      integer(c_int64_t), value :: nbytes
    end subroutine

    subroutine via_complete_fn(status, text, context) bind(C)
      import
      integer(c_int32_t), value :: status
      character(kind=c_char), intent(in) :: text(*)
      type(c_ptr), value :: context
    end subroutine
  end interface

  interface
    function via_version() result(answer) bind(C, name="via_version")
      import
      integer(c_int32_t) :: answer
    end function

    function via_require(major, minor) result(answer) bind(C, name="via_require")
      import
      integer(c_int32_t), value :: major, minor
      integer(c_int) :: answer
    end function

    function via_status_name(status) result(answer) bind(C, name="via_status_name")
      import
      integer(c_int32_t), value :: status
      type(c_ptr) :: answer
    end function

    function via_last_error() result(answer) bind(C, name="via_last_error")
      import
      type(c_ptr) :: answer
    end function

    function via_last_error_code() result(answer) bind(C, name="via_last_error_code")
      import
      integer(c_int32_t) :: answer
    end function

    function via_device_count(device_type, out_count) result(answer) bind(C, name="via_device_count")
      import
      integer(c_int32_t), value :: device_type
      integer(c_int32_t), intent(out) :: out_count
      integer(c_int) :: answer
    end function

    function via_device_info(device_type, device_id, out_properties) result(answer) bind(C, name="via_device_info")
      import
      integer(c_int32_t), value :: device_type, device_id
      type(via_device_properties), intent(inout) :: out_properties
      integer(c_int) :: answer
    end function

    function via_set_num_threads(count) result(answer) bind(C, name="via_set_num_threads")
      import
      integer(c_int32_t), value :: count
      integer(c_int) :: answer
    end function

    function via_num_threads() result(answer) bind(C, name="via_num_threads")
      import
      integer(c_int32_t) :: answer
    end function

    function via_cuda_warmup(device_id) result(answer) bind(C, name="via_cuda_warmup")
      import
      integer(c_int32_t), value :: device_id
      integer(c_int) :: answer
    end function

    function via_calibrate(device_id) result(answer) bind(C, name="via_calibrate")
      import
      integer(c_int32_t), value :: device_id
      integer(c_int) :: answer
    end function

    function via_calibration_save(path) result(answer) bind(C, name="via_calibration_save")
      import
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int) :: answer
    end function

    function via_calibration_load(path) result(answer) bind(C, name="via_calibration_load")
      import
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int) :: answer
    end function

    function via_stats(out_stats) result(answer) bind(C, name="via_stats")
      import
      type(via_stats_info), intent(inout) :: out_stats
      integer(c_int) :: answer
    end function

    function via_dtype_record(nbytes) result(answer) bind(C, name="via_dtype_record")
      import
      integer(c_int64_t), value :: nbytes
      integer(c_int32_t) :: answer
    end function

    function via_dtype_is_valid(dtype) result(answer) bind(C, name="via_dtype_is_valid")
      import
      integer(c_int32_t), value :: dtype
      integer(c_int32_t) :: answer
    end function

    function via_dtype_bits(dtype) result(answer) bind(C, name="via_dtype_bits")
      import
      integer(c_int32_t), value :: dtype
      integer(c_int64_t) :: answer
    end function

    function via_dtype_name(dtype, capacity, out_name) result(answer) bind(C, name="via_dtype_name")
      import
      integer(c_int32_t), value :: dtype
      integer(c_int64_t), value :: capacity
      character(kind=c_char), intent(out) :: out_name(*)
      integer(c_int) :: answer
    end function

    function via_dtype_from_name(name, out_dtype) result(answer) bind(C, name="via_dtype_from_name")
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int32_t), intent(out) :: out_dtype
      integer(c_int) :: answer
    end function

    function via_dtype_can_cast(dtype, wanted, casting) result(answer) bind(C, name="via_dtype_can_cast")
      import
      integer(c_int32_t), value :: dtype, wanted, casting
      integer(c_int32_t) :: answer
    end function

    function via_wrap(address, dtype, ndim, shape, strides, device_type, device_id, flags, release, context, &
        out_array) result(answer) bind(C, name="via_wrap")
      import
      type(c_ptr), value :: address, context
      integer(c_int32_t), value :: dtype, ndim, device_type, device_id, flags
      integer(c_int64_t), intent(in), optional :: shape(*), strides(*)
      type(c_funptr), value :: release
      type(c_ptr), intent(out) :: out_array
      integer(c_int) :: answer
    end function

    subroutine via_array_retain(array) bind(C, name="via_array_retain")
      import
      type(c_ptr), value :: array
    end subroutine

    subroutine via_array_release(array) bind(C, name="via_array_release")
      import
      type(c_ptr), value :: array
    end subroutine

    function via_array_release_waits(array) result(answer) bind(C, name="via_array_release_waits")
      import
      type(c_ptr), value :: array
      integer(c_int32_t) :: answer
    end function

    function via_array_data(array) result(answer) bind(C, name="via_array_data")
      import
      type(c_ptr), value :: array
      type(c_ptr) :: answer
    end function

    function via_array_dtype(array) result(answer) bind(C, name="via_array_dtype")
      import
      type(c_ptr), value :: array
      integer(c_int32_t) :: answer
    end function

    function via_array_ndim(array) result(answer) bind(C, name="via_array_ndim")
      import
      type(c_ptr), value :: array
      integer(c_int32_t) :: answer
    end function

    function via_array_shape(array) result(answer) bind(C, name="via_array_shape")
      import
      type(c_ptr), value :: array
      type(c_ptr) :: answer
    end function

    function via_array_strides(array) result(answer) bind(C, name="via_array_strides")
      import
      type(c_ptr), value :: array
      type(c_ptr) :: answer
    end function

    function via_array_byte_strides(array) result(answer) bind(C, name="via_array_byte_strides")
      import
      type(c_ptr), value :: array
      type(c_ptr) :: answer
    end function

    function via_array_device_type(array) result(answer) bind(C, name="via_array_device_type")
      import
      type(c_ptr), value :: array
      integer(c_int32_t) :: answer
    end function

    function via_array_device_id(array) result(answer) bind(C, name="via_array_device_id")
      import
      type(c_ptr), value :: array
      integer(c_int32_t) :: answer
    end function

    function via_array_size(array) result(answer) bind(C, name="via_array_size")
      import
      type(c_ptr), value :: array
      integer(c_int64_t) :: answer
    end function

    function via_array_nbytes(array) result(answer) bind(C, name="via_array_nbytes")
      import
      type(c_ptr), value :: array
      integer(c_int64_t) :: answer
    end function

    function via_array_flags(array) result(answer) bind(C, name="via_array_flags")
      import
      type(c_ptr), value :: array
      integer(c_int32_t) :: answer
    end function

    function via_array_is_contiguous(array, order) result(answer) bind(C, name="via_array_is_contiguous")
      import
      type(c_ptr), value :: array
      integer(c_int32_t), value :: order
      integer(c_int32_t) :: answer
    end function

    function via_array_context(array, release) result(answer) bind(C, name="via_array_context")
      import
      type(c_ptr), value :: array
      type(c_funptr), value :: release
      type(c_ptr) :: answer
    end function

    function via_pointer_query(address, out_info) result(answer) bind(C, name="via_pointer_query")
      import
      type(c_ptr), value :: address
      type(via_pointer_info), intent(inout) :: out_info
      integer(c_int) :: answer
    end function

    function via_array_slice(array, start, count, step, out_array) result(answer) bind(C, name="via_array_slice")
      import
      type(c_ptr), value :: array
      integer(c_int64_t), intent(in), optional :: start(*), count(*), step(*)
      type(c_ptr), intent(out) :: out_array
      integer(c_int) :: answer
    end function

    function via_array_select(array, axis, index, out_array) result(answer) bind(C, name="via_array_select")
      import
      type(c_ptr), value :: array
      integer(c_int32_t), value :: axis
      integer(c_int64_t), value :: index
      type(c_ptr), intent(out) :: out_array
      integer(c_int) :: answer
    end function

    function via_array_permute(array, axes, out_array) result(answer) bind(C, name="via_array_permute")
      import
      type(c_ptr), value :: array
      integer(c_int32_t), intent(in), optional :: axes(*)
      type(c_ptr), intent(out) :: out_array
      integer(c_int) :: answer
    end function

    function via_array_reshape(array, ndim, shape, out_array) result(answer) bind(C, name="via_array_reshape")
      import
      type(c_ptr), value :: array
      integer(c_int32_t), value :: ndim
      integer(c_int64_t), intent(in), optional :: shape(*)
      type(c_ptr), intent(out) :: out_array
      integer(c_int) :: answer
    end function

    function via_array_broadcast(array, ndim, shape, out_array) result(answer) bind(C, name="via_array_broadcast")
      import
      type(c_ptr), value :: array
      integer(c_int32_t), value :: ndim
      integer(c_int64_t), intent(in), optional :: shape(*)
      type(c_ptr), intent(out) :: out_array
      integer(c_int) :: answer
    end function

    function via_array_squeeze(array, count, axes, out_array) result(answer) bind(C, name="via_array_squeeze")
      import
      type(c_ptr), value :: array
      integer(c_int32_t), value :: count
      integer(c_int32_t), intent(in), optional :: axes(*)
      type(c_ptr), intent(out) :: out_array
      integer(c_int) :: answer
    end function

    function via_array_expand(array, axis, out_array) result(answer) bind(C, name="via_array_expand")
      import
      type(c_ptr), value :: array
      integer(c_int32_t), value :: axis
      type(c_ptr), intent(out) :: out_array
      integer(c_int) :: answer
    end function

    function via_array_reinterpret(array, dtype, out_array) result(answer) bind(C, name="via_array_reinterpret")
      import
      type(c_ptr), value :: array
      integer(c_int32_t), value :: dtype
      type(c_ptr), intent(out) :: out_array
      integer(c_int) :: answer
    end function

    function via_array_field(array, byte_offset, dtype, ndim, shape, out_array) result(answer) bind(C, &
        name="via_array_field")
      import
      type(c_ptr), value :: array
      integer(c_int64_t), value :: byte_offset
      integer(c_int32_t), value :: dtype, ndim
      integer(c_int64_t), intent(in), optional :: shape(*)
      type(c_ptr), intent(out) :: out_array
      integer(c_int) :: answer
    end function

    function via_array_as_read_only(array, out_array) result(answer) bind(C, name="via_array_as_read_only")
      import
      type(c_ptr), value :: array
      type(c_ptr), intent(out) :: out_array
      integer(c_int) :: answer
    end function

    function via_memory_create(kind, device_id, out_memory) result(answer) bind(C, name="via_memory_create")
      import
      integer(c_int32_t), value :: kind, device_id
      type(c_ptr), intent(out) :: out_memory
      integer(c_int) :: answer
    end function

    function via_memory_create_custom(device_type, device_id, alloc, alloc_context, free_memory, free_context, &
        release, context, out_memory) result(answer) bind(C, name="via_memory_create_custom")
      import
      integer(c_int32_t), value :: device_type, device_id
      type(c_funptr), value :: alloc, free_memory, release
      type(c_ptr), value :: alloc_context, free_context, context
      type(c_ptr), intent(out) :: out_memory
      integer(c_int) :: answer
    end function

    subroutine via_memory_retain(memory) bind(C, name="via_memory_retain")
      import
      type(c_ptr), value :: memory
    end subroutine

    subroutine via_memory_release(memory) bind(C, name="via_memory_release")
      import
      type(c_ptr), value :: memory
    end subroutine

    function via_memory_device_type(memory) result(answer) bind(C, name="via_memory_device_type")
      import
      type(c_ptr), value :: memory
      integer(c_int32_t) :: answer
    end function

    function via_memory_device_id(memory) result(answer) bind(C, name="via_memory_device_id")
      import
      type(c_ptr), value :: memory
      integer(c_int32_t) :: answer
    end function

    function via_empty(memory, dtype, ndim, shape, stream, out_array) result(answer) bind(C, name="via_empty")
      import
      type(c_ptr), value :: memory, stream
      integer(c_int32_t), value :: dtype, ndim
      integer(c_int64_t), intent(in), optional :: shape(*)
      type(c_ptr), intent(out) :: out_array
      integer(c_int) :: answer
    end function

    function via_to_dlpack(array, options, stream, out_tensor) result(answer) bind(C, name="via_to_dlpack")
      import
      type(c_ptr), value :: array, stream
      type(via_dlpack_options), intent(in), optional :: options
      type(c_ptr), intent(out) :: out_tensor
      integer(c_int) :: answer
    end function

    function via_from_dlpack(tensor, options, stream, out_array) result(answer) bind(C, name="via_from_dlpack")
      import
      type(c_ptr), value :: tensor, stream
      type(via_dlpack_options), intent(in), optional :: options
      type(c_ptr), intent(out) :: out_array
      integer(c_int) :: answer
    end function

    function via_to_dlpack_legacy(array, options, stream, out_tensor) result(answer) bind(C, &
        name="via_to_dlpack_legacy")
      import
      type(c_ptr), value :: array, stream
      type(via_dlpack_options), intent(in), optional :: options
      type(c_ptr), intent(out) :: out_tensor
      integer(c_int) :: answer
    end function

    function via_from_dlpack_legacy(tensor, options, stream, out_array) result(answer) bind(C, &
        name="via_from_dlpack_legacy")
      import
      type(c_ptr), value :: tensor, stream
      type(via_dlpack_options), intent(in), optional :: options
      type(c_ptr), intent(out) :: out_array
      integer(c_int) :: answer
    end function

    subroutine via_dlpack_delete(tensor) bind(C, name="via_dlpack_delete")
      import
      type(c_ptr), value :: tensor
    end subroutine

    subroutine via_dlpack_delete_legacy(tensor) bind(C, name="via_dlpack_delete_legacy")
      import
      type(c_ptr), value :: tensor
    end subroutine

    function via_to_array_interface(array, out_description) result(answer) bind(C, name="via_to_array_interface")
      import
      type(c_ptr), value :: array
      type(via_array_interface), intent(inout) :: out_description
      integer(c_int) :: answer
    end function

    function via_from_array_interface(description, release, context, out_array) result(answer) bind(C, &
        name="via_from_array_interface")
      import
      type(via_array_interface), intent(in), optional :: description
      type(c_funptr), value :: release
      type(c_ptr), value :: context
      type(c_ptr), intent(out) :: out_array
      integer(c_int) :: answer
    end function

    function via_to_cuda_array_interface(array, stream, out_description) result(answer) bind(C, &
        name="via_to_cuda_array_interface")
      import
      type(c_ptr), value :: array, stream
      type(via_array_interface), intent(inout) :: out_description
      integer(c_int) :: answer
    end function

    function via_from_cuda_array_interface(description, release, context, out_array) result(answer) bind(C, &
        name="via_from_cuda_array_interface")
      import
      type(via_array_interface), intent(in), optional :: description
      type(c_funptr), value :: release
      type(c_ptr), value :: context
      type(c_ptr), intent(out) :: out_array
      integer(c_int) :: answer
    end function

    function via_to_arrow_device(array, out_schema, out_array) result(answer) bind(C, name="via_to_arrow_device")
      import
      type(c_ptr), value :: array, out_schema, out_array
      integer(c_int) :: answer
    end function

    function via_from_arrow_device(schema, column, stream, out_array) result(answer) bind(C, &
        name="via_from_arrow_device")
      import
      type(c_ptr), value :: schema, column, stream
      type(c_ptr), intent(out) :: out_array
      integer(c_int) :: answer
    end function

    subroutine via_arrow_release(schema, column) bind(C, name="via_arrow_release")
      import
      type(c_ptr), value :: schema, column
    end subroutine

    function via_array_export_ipc(array, capacity, out_bytes, out_length) result(answer) bind(C, &
        name="via_array_export_ipc")
      import
      type(c_ptr), value :: array, out_bytes
      integer(c_int64_t), value :: capacity
      integer(c_int64_t), intent(out) :: out_length
      integer(c_int) :: answer
    end function

    function via_array_import_ipc(bytes, length, out_array) result(answer) bind(C, name="via_array_import_ipc")
      import
      type(c_ptr), value :: bytes
      integer(c_int64_t), value :: length
      type(c_ptr), intent(out) :: out_array
      integer(c_int) :: answer
    end function

    function via_stream_create(device_id, out_stream) result(answer) bind(C, name="via_stream_create")
      import
      integer(c_int32_t), value :: device_id
      type(c_ptr), intent(out) :: out_stream
      integer(c_int) :: answer
    end function

    function via_stream_wrap(native_stream, device_id, out_stream) result(answer) bind(C, name="via_stream_wrap")
      import
      type(c_ptr), value :: native_stream
      integer(c_int32_t), value :: device_id
      type(c_ptr), intent(out) :: out_stream
      integer(c_int) :: answer
    end function

    function via_stream_legacy() result(answer) bind(C, name="via_stream_legacy")
      import
      type(c_ptr) :: answer
    end function

    function via_stream_per_thread() result(answer) bind(C, name="via_stream_per_thread")
      import
      type(c_ptr) :: answer
    end function

    function via_stream_no_sync() result(answer) bind(C, name="via_stream_no_sync")
      import
      type(c_ptr) :: answer
    end function

    subroutine via_stream_retain(stream) bind(C, name="via_stream_retain")
      import
      type(c_ptr), value :: stream
    end subroutine

    subroutine via_stream_release(stream) bind(C, name="via_stream_release")
      import
      type(c_ptr), value :: stream
    end subroutine

    function via_stream_handle(stream) result(answer) bind(C, name="via_stream_handle")
      import
      type(c_ptr), value :: stream
      type(c_ptr) :: answer
    end function

    function via_stream_device_id(stream) result(answer) bind(C, name="via_stream_device_id")
      import
      type(c_ptr), value :: stream
      integer(c_int32_t) :: answer
    end function

    function via_stream_synchronize(stream) result(answer) bind(C, name="via_stream_synchronize")
      import
      type(c_ptr), value :: stream
      integer(c_int) :: answer
    end function

    function via_stream_query(stream, out_done) result(answer) bind(C, name="via_stream_query")
      import
      type(c_ptr), value :: stream
      integer(c_int32_t), intent(out) :: out_done
      integer(c_int) :: answer
    end function

    function via_stream_set_current(device_id, stream) result(answer) bind(C, name="via_stream_set_current")
      import
      integer(c_int32_t), value :: device_id
      type(c_ptr), value :: stream
      integer(c_int) :: answer
    end function

    function via_stream_current(device_id, out_stream) result(answer) bind(C, name="via_stream_current")
      import
      integer(c_int32_t), value :: device_id
      type(c_ptr), intent(out) :: out_stream
      integer(c_int) :: answer
    end function

    function via_stream_wait(stream, marker) result(answer) bind(C, name="via_stream_wait")
      import
      type(c_ptr), value :: stream, marker
      integer(c_int) :: answer
    end function

    function via_event_create(device_id, out_event) result(answer) bind(C, name="via_event_create")
      import
      integer(c_int32_t), value :: device_id
      type(c_ptr), intent(out) :: out_event
      integer(c_int) :: answer
    end function

    function via_event_wrap(native_event, device_id, out_event) result(answer) bind(C, name="via_event_wrap")
      import
      type(c_ptr), value :: native_event
      integer(c_int32_t), value :: device_id
      type(c_ptr), intent(out) :: out_event
      integer(c_int) :: answer
    end function

    subroutine via_event_retain(marker) bind(C, name="via_event_retain")
      import
      type(c_ptr), value :: marker
    end subroutine

    subroutine via_event_release(marker) bind(C, name="via_event_release")
      import
      type(c_ptr), value :: marker
    end subroutine

    function via_event_handle(marker) result(answer) bind(C, name="via_event_handle")
      import
      type(c_ptr), value :: marker
      type(c_ptr) :: answer
    end function

    function via_event_record(marker, stream) result(answer) bind(C, name="via_event_record")
      import
      type(c_ptr), value :: marker, stream
      integer(c_int) :: answer
    end function

    function via_event_query(marker, out_done) result(answer) bind(C, name="via_event_query")
      import
      type(c_ptr), value :: marker
      integer(c_int32_t), intent(out) :: out_done
      integer(c_int) :: answer
    end function

    function via_event_synchronize(marker) result(answer) bind(C, name="via_event_synchronize")
      import
      type(c_ptr), value :: marker
      integer(c_int) :: answer
    end function

    function via_array_record_stream(array, stream) result(answer) bind(C, name="via_array_record_stream")
      import
      type(c_ptr), value :: array, stream
      integer(c_int) :: answer
    end function

    function via_array_set_ready(array, stream) result(answer) bind(C, name="via_array_set_ready")
      import
      type(c_ptr), value :: array, stream
      integer(c_int) :: answer
    end function

    function via_array_is_ready(array) result(answer) bind(C, name="via_array_is_ready")
      import
      type(c_ptr), value :: array
      integer(c_int32_t) :: answer
    end function

    function via_array_synchronize(array) result(answer) bind(C, name="via_array_synchronize")
      import
      type(c_ptr), value :: array
      integer(c_int) :: answer
    end function

    function via_copy(dst, src) result(answer) bind(C, name="via_copy")
      import
      type(c_ptr), value :: dst, src
      integer(c_int) :: answer
    end function

    function via_copy_async(dst, src, stream) result(answer) bind(C, name="via_copy_async")
      import
      type(c_ptr), value :: dst, src, stream
      integer(c_int) :: answer
    end function

    function via_copy_submit(dst, src, stream, out_task) result(answer) bind(C, name="via_copy_submit")
      import
      type(c_ptr), value :: dst, src, stream
      type(c_ptr), intent(out) :: out_task
      integer(c_int) :: answer
    end function

    function via_copy_batch(count, dsts, srcs, stream) result(answer) bind(C, name="via_copy_batch")
      import
      integer(c_int32_t), value :: count
      type(c_ptr), intent(in) :: dsts(*), srcs(*)
      type(c_ptr), value :: stream
      integer(c_int) :: answer
    end function

    function via_copy_indexed(dst, dst_index, src, src_index, axis, options, stream) result(answer) bind(C, &
        name="via_copy_indexed")
      import
      type(c_ptr), value :: dst, dst_index, src, src_index, stream
      integer(c_int32_t), value :: axis
      type(via_convert_options), intent(in), optional :: options
      integer(c_int) :: answer
    end function

    function via_copy_indexed_submit(dst, dst_index, src, src_index, axis, options, stream, &
        out_task) result(answer) bind(C, name="via_copy_indexed_submit")
      import
      type(c_ptr), value :: dst, dst_index, src, src_index, stream
      integer(c_int32_t), value :: axis
      type(via_convert_options), intent(in), optional :: options
      type(c_ptr), intent(out) :: out_task
      integer(c_int) :: answer
    end function

    function via_convert(dst, src, options, stream) result(answer) bind(C, name="via_convert")
      import
      type(c_ptr), value :: dst, src, stream
      type(via_convert_options), intent(in), optional :: options
      integer(c_int) :: answer
    end function

    function via_convert_submit(dst, src, options, stream, out_task) result(answer) bind(C, name="via_convert_submit")
      import
      type(c_ptr), value :: dst, src, stream
      type(via_convert_options), intent(in), optional :: options
      type(c_ptr), intent(out) :: out_task
      integer(c_int) :: answer
    end function

    function via_convert_explain(dst, src, options, capacity, out_text, out_length) result(answer) bind(C, &
        name="via_convert_explain")
      import
      type(c_ptr), value :: dst, src
      type(via_convert_options), intent(in), optional :: options
      integer(c_int64_t), value :: capacity
      character(kind=c_char), intent(out) :: out_text(*)
      integer(c_int64_t), intent(out) :: out_length
      integer(c_int) :: answer
    end function

    function via_memcpy(dst, src, nbytes, stream) result(answer) bind(C, name="via_memcpy")
      import
      type(c_ptr), value :: dst, src, stream
      integer(c_int64_t), value :: nbytes
      integer(c_int) :: answer
    end function

    function via_fill(dst, element, stream) result(answer) bind(C, name="via_fill")
      import
      type(c_ptr), value :: dst, element, stream
      integer(c_int) :: answer
    end function

    function via_copy_explain(dst, src, capacity, out_text, out_length) result(answer) bind(C, name="via_copy_explain")
      import
      type(c_ptr), value :: dst, src
      integer(c_int64_t), value :: capacity
      character(kind=c_char), intent(out) :: out_text(*)
      integer(c_int64_t), intent(out) :: out_length
      integer(c_int) :: answer
    end function

    subroutine via_task_retain(task) bind(C, name="via_task_retain")
      import
      type(c_ptr), value :: task
    end subroutine

    subroutine via_task_release(task) bind(C, name="via_task_release")
      import
      type(c_ptr), value :: task
    end subroutine

    function via_task_wait(task) result(answer) bind(C, name="via_task_wait")
      import
      type(c_ptr), value :: task
      integer(c_int) :: answer
    end function

    function via_task_poll(task, out_done) result(answer) bind(C, name="via_task_poll")
      import
      type(c_ptr), value :: task
      integer(c_int32_t), intent(out) :: out_done
      integer(c_int) :: answer
    end function

    function via_task_progress(task, out_done, out_total) result(answer) bind(C, name="via_task_progress")
      import
      type(c_ptr), value :: task
      integer(c_int64_t), intent(out) :: out_done, out_total
      integer(c_int) :: answer
    end function

    function via_task_cancel(task) result(answer) bind(C, name="via_task_cancel")
      import
      type(c_ptr), value :: task
      integer(c_int) :: answer
    end function

    function via_task_join(task, stream) result(answer) bind(C, name="via_task_join")
      import
      type(c_ptr), value :: task, stream
      integer(c_int) :: answer
    end function

    function via_task_on_complete(task, complete, context) result(answer) bind(C, name="via_task_on_complete")
      import
      type(c_ptr), value :: task, context
      type(c_funptr), value :: complete
      integer(c_int) :: answer
    end function

    function via_batch_create(out_batch) result(answer) bind(C, name="via_batch_create")
      import
      type(c_ptr), intent(out) :: out_batch
      integer(c_int) :: answer
    end function

    subroutine via_batch_retain(batch) bind(C, name="via_batch_retain")
      import
      type(c_ptr), value :: batch
    end subroutine

    subroutine via_batch_release(batch) bind(C, name="via_batch_release")
      import
      type(c_ptr), value :: batch
    end subroutine

    function via_batch_add(batch, dst, src) result(answer) bind(C, name="via_batch_add")
      import
      type(c_ptr), value :: batch, dst, src
      integer(c_int) :: answer
    end function

    function via_batch_add_indexed(batch, dst, dst_index, src, src_index, axis, options) result(answer) bind(C, &
        name="via_batch_add_indexed")
      import
      type(c_ptr), value :: batch, dst, dst_index, src, src_index
      integer(c_int32_t), value :: axis
      type(via_convert_options), intent(in), optional :: options
      integer(c_int) :: answer
    end function

    function via_batch_add_convert(batch, dst, src, options) result(answer) bind(C, name="via_batch_add_convert")
      import
      type(c_ptr), value :: batch, dst, src
      type(via_convert_options), intent(in), optional :: options
      integer(c_int) :: answer
    end function

    function via_batch_size(batch) result(answer) bind(C, name="via_batch_size")
      import
      type(c_ptr), value :: batch
      integer(c_int64_t) :: answer
    end function

    function via_batch_run(batch, stream) result(answer) bind(C, name="via_batch_run")
      import
      type(c_ptr), value :: batch, stream
      integer(c_int) :: answer
    end function

    function via_batch_submit(batch, stream, out_task) result(answer) bind(C, name="via_batch_submit")
      import
      type(c_ptr), value :: batch, stream
      type(c_ptr), intent(out) :: out_task
      integer(c_int) :: answer
    end function

    function via_file_open(path, options, out_file) result(answer) bind(C, name="via_file_open")
      import
      character(kind=c_char), intent(in) :: path(*)
      type(via_file_options), intent(in), optional :: options
      type(c_ptr), intent(out) :: out_file
      integer(c_int) :: answer
    end function

    function via_file_create(path, dtype, ndim, shape, options, out_file) result(answer) bind(C, name="via_file_create")
      import
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int32_t), value :: dtype, ndim
      integer(c_int64_t), intent(in), optional :: shape(*)
      type(via_file_options), intent(in), optional :: options
      type(c_ptr), intent(out) :: out_file
      integer(c_int) :: answer
    end function

    function via_file_window(file, byte_offset, dtype, ndim, shape, starts, counts, steps, &
        out_file) result(answer) bind(C, name="via_file_window")
      import
      type(c_ptr), value :: file
      integer(c_int64_t), value :: byte_offset
      integer(c_int32_t), value :: dtype, ndim
      integer(c_int64_t), intent(in), optional :: shape(*), starts(*), counts(*), steps(*)
      type(c_ptr), intent(out) :: out_file
      integer(c_int) :: answer
    end function

    function via_file_convert(file, dtype, options, out_file) result(answer) bind(C, name="via_file_convert")
      import
      type(c_ptr), value :: file
      integer(c_int32_t), value :: dtype
      type(via_convert_options), intent(in), optional :: options
      type(c_ptr), intent(out) :: out_file
      integer(c_int) :: answer
    end function

    subroutine via_file_retain(file) bind(C, name="via_file_retain")
      import
      type(c_ptr), value :: file
    end subroutine

    subroutine via_file_release(file) bind(C, name="via_file_release")
      import
      type(c_ptr), value :: file
    end subroutine

    function via_file_info(file, out_properties) result(answer) bind(C, name="via_file_info")
      import
      type(c_ptr), value :: file
      type(via_file_properties), intent(inout) :: out_properties
      integer(c_int) :: answer
    end function

    function via_file_array(file, byte_offset, dtype, ndim, shape, out_array) result(answer) bind(C, &
        name="via_file_array")
      import
      type(c_ptr), value :: file
      integer(c_int64_t), value :: byte_offset
      integer(c_int32_t), value :: dtype, ndim
      integer(c_int64_t), intent(in), optional :: shape(*)
      type(c_ptr), intent(out) :: out_array
      integer(c_int) :: answer
    end function

    function via_file_read(file, byte_offset, dst, stream) result(answer) bind(C, name="via_file_read")
      import
      type(c_ptr), value :: file, dst, stream
      integer(c_int64_t), value :: byte_offset
      integer(c_int) :: answer
    end function

    function via_file_write(file, byte_offset, src, stream) result(answer) bind(C, name="via_file_write")
      import
      type(c_ptr), value :: file, src, stream
      integer(c_int64_t), value :: byte_offset
      integer(c_int) :: answer
    end function

    function via_file_read_submit(file, byte_offset, dst, stream, out_task) result(answer) bind(C, &
        name="via_file_read_submit")
      import
      type(c_ptr), value :: file, dst, stream
      integer(c_int64_t), value :: byte_offset
      type(c_ptr), intent(out) :: out_task
      integer(c_int) :: answer
    end function

    function via_file_write_submit(file, byte_offset, src, stream, out_task) result(answer) bind(C, &
        name="via_file_write_submit")
      import
      type(c_ptr), value :: file, src, stream
      integer(c_int64_t), value :: byte_offset
      type(c_ptr), intent(out) :: out_task
      integer(c_int) :: answer
    end function

    function via_save(path, array, options) result(answer) bind(C, name="via_save")
      import
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), value :: array
      type(via_file_options), intent(in), optional :: options
      integer(c_int) :: answer
    end function

    function via_load(path, memory, options, out_array) result(answer) bind(C, name="via_load")
      import
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), value :: memory
      type(via_file_options), intent(in), optional :: options
      type(c_ptr), intent(out) :: out_array
      integer(c_int) :: answer
    end function

    function via_archive_open(path, options, out_archive) result(answer) bind(C, name="via_archive_open")
      import
      character(kind=c_char), intent(in) :: path(*)
      type(via_file_options), intent(in), optional :: options
      type(c_ptr), intent(out) :: out_archive
      integer(c_int) :: answer
    end function

    function via_archive_add(archive, path) result(answer) bind(C, name="via_archive_add")
      import
      type(c_ptr), value :: archive
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int) :: answer
    end function

    subroutine via_archive_retain(archive) bind(C, name="via_archive_retain")
      import
      type(c_ptr), value :: archive
    end subroutine

    subroutine via_archive_release(archive) bind(C, name="via_archive_release")
      import
      type(c_ptr), value :: archive
    end subroutine

    function via_archive_size(archive) result(answer) bind(C, name="via_archive_size")
      import
      type(c_ptr), value :: archive
      integer(c_int64_t) :: answer
    end function

    function via_archive_nbytes(archive) result(answer) bind(C, name="via_archive_nbytes")
      import
      type(c_ptr), value :: archive
      integer(c_int64_t) :: answer
    end function

    function via_archive_name(archive, number) result(answer) bind(C, name="via_archive_name")
      import
      type(c_ptr), value :: archive
      integer(c_int64_t), value :: number
      type(c_ptr) :: answer
    end function

    function via_archive_type_name(archive, number) result(answer) bind(C, name="via_archive_type_name")
      import
      type(c_ptr), value :: archive
      integer(c_int64_t), value :: number
      type(c_ptr) :: answer
    end function

    function via_archive_find(archive, name, out_number) result(answer) bind(C, name="via_archive_find")
      import
      type(c_ptr), value :: archive
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), intent(out) :: out_number
      integer(c_int) :: answer
    end function

    function via_archive_metadata(archive, capacity, out_metadata, out_length) result(answer) bind(C, &
        name="via_archive_metadata")
      import
      type(c_ptr), value :: archive
      integer(c_int64_t), value :: capacity
      character(kind=c_char), intent(out) :: out_metadata(*)
      integer(c_int64_t), intent(out) :: out_length
      integer(c_int) :: answer
    end function

    function via_archive_file(archive, number, out_file) result(answer) bind(C, name="via_archive_file")
      import
      type(c_ptr), value :: archive
      integer(c_int64_t), value :: number
      type(c_ptr), intent(out) :: out_file
      integer(c_int) :: answer
    end function

    function via_archive_select(archive, count, numbers, out_archive) result(answer) bind(C, name="via_archive_select")
      import
      type(c_ptr), value :: archive
      integer(c_int32_t), value :: count
      integer(c_int64_t), intent(in), optional :: numbers(*)
      type(c_ptr), intent(out) :: out_archive
      integer(c_int) :: answer
    end function

    function via_archive_slice(archive, number, axis, start, count) result(answer) bind(C, name="via_archive_slice")
      import
      type(c_ptr), value :: archive
      integer(c_int64_t), value :: number, start, count
      integer(c_int32_t), value :: axis
      integer(c_int) :: answer
    end function

    function via_archive_convert(archive, number, dtype, options) result(answer) bind(C, name="via_archive_convert")
      import
      type(c_ptr), value :: archive
      integer(c_int64_t), value :: number
      integer(c_int32_t), value :: dtype
      type(via_convert_options), intent(in), optional :: options
      integer(c_int) :: answer
    end function

    function via_archive_array(archive, number, buffer, out_array) result(answer) bind(C, name="via_archive_array")
      import
      type(c_ptr), value :: archive, buffer
      integer(c_int64_t), value :: number
      type(c_ptr), intent(out) :: out_array
      integer(c_int) :: answer
    end function

    function via_archive_load(archive, memory, stream, out_buffer) result(answer) bind(C, name="via_archive_load")
      import
      type(c_ptr), value :: archive, memory, stream
      type(c_ptr), intent(out) :: out_buffer
      integer(c_int) :: answer
    end function

    function via_archive_read(archive, buffer, stream) result(answer) bind(C, name="via_archive_read")
      import
      type(c_ptr), value :: archive, buffer, stream
      integer(c_int) :: answer
    end function

    function via_archive_read_submit(archive, buffer, stream, out_task) result(answer) bind(C, &
        name="via_archive_read_submit")
      import
      type(c_ptr), value :: archive, buffer, stream
      type(c_ptr), intent(out) :: out_task
      integer(c_int) :: answer
    end function

    function via_archive_save(path, count, arrays, names, metadata, shard_bytes, options, &
        stream) result(answer) bind(C, name="via_archive_save")
      import
      character(kind=c_char), intent(in) :: path(*), metadata(*)
      integer(c_int32_t), value :: count
      type(c_ptr), intent(in) :: arrays(*), names(*)
      integer(c_int64_t), value :: shard_bytes
      type(via_file_options), intent(in), optional :: options
      type(c_ptr), value :: stream
      integer(c_int) :: answer
    end function

    function via_archive_save_submit(path, count, arrays, names, metadata, shard_bytes, options, stream, &
        out_task) result(answer) bind(C, name="via_archive_save_submit")
      import
      character(kind=c_char), intent(in) :: path(*), metadata(*)
      integer(c_int32_t), value :: count
      type(c_ptr), intent(in) :: arrays(*), names(*)
      integer(c_int64_t), value :: shard_bytes
      type(via_file_options), intent(in), optional :: options
      type(c_ptr), value :: stream
      type(c_ptr), intent(out) :: out_task
      integer(c_int) :: answer
    end function
  end interface

end module viaduct_c
