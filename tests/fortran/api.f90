! The C API itself: structs have C's size, lists may be left out, callbacks are called.
module callbacks
  use viaduct
  implicit none
  integer :: given_back = 0

contains

  function give(nbytes, alignment, stream, context, out_address) result(answer) bind(C)
    integer(c_int64_t), value :: nbytes, alignment
    type(c_ptr), value :: stream, context
    type(c_ptr), intent(out) :: out_address
    integer(c_int32_t) :: answer
    real(c_double), pointer :: room(:)
    integer(c_int64_t) :: address
    call c_f_pointer(context, room, [64])
    address = transfer(context, address)
    out_address = transfer(((address + alignment - 1) / alignment) * alignment, out_address)
    answer = merge(0, 1, nbytes <= 64 * 4)
  end function

  subroutine take(address, nbytes, stream, context) bind(C)
    type(c_ptr), value :: address, stream, context
    integer(c_int64_t), value :: nbytes
    given_back = given_back + 1
  end subroutine

  subroutine complete(status, text, context) bind(C)
    integer(c_int32_t), value :: status
    character(kind=c_char), intent(in) :: text(*)
    type(c_ptr), value :: context
    integer(c_int32_t), pointer :: reported
    call c_f_pointer(context, reported)
    reported = status + 100
    if (text(1) /= c_null_char) reported = -1
  end subroutine

end module callbacks

program api_tests
  use viaduct
  use callbacks
  use support
  implicit none

  call callbacks_have_the_interfaces_of_the_module()
  call structs_have_their_size()
  call texts_and_numbers_come_back()
  call lists_may_be_left_out()
  call options_may_be_left_out_or_set()
  call an_allocator_of_fortrans_serves()
  call a_task_calls_back()
  call finish()

contains

  subroutine callbacks_have_the_interfaces_of_the_module()
    procedure(via_release_fn), pointer :: release
    procedure(via_alloc_fn), pointer :: alloc
    procedure(via_free_fn), pointer :: free
    procedure(via_complete_fn), pointer :: completion
    release => via_memory_release
    alloc => give
    free => take
    completion => complete
    call promise("callbacks", associated(release) .and. associated(alloc) .and. associated(free) &
      .and. associated(completion))
  end subroutine

  subroutine structs_have_their_size()
    type(via_device_properties) :: device
    type(via_stats_info) :: stats
    type(via_pointer_info) :: pointer
    type(via_dlpack_options) :: options
    type(via_array_interface) :: description
    type(via_file_options) :: file_options
    type(via_file_properties) :: file
    call promise("via_device_properties", device%struct_size == c_sizeof(device))
    call promise("via_stats_info", stats%struct_size == c_sizeof(stats))
    call promise("via_pointer_info", pointer%struct_size == c_sizeof(pointer))
    call promise("via_dlpack_options", options%struct_size == c_sizeof(options))
    call promise("via_array_interface", description%struct_size == c_sizeof(description))
    call promise("via_file_options", file_options%struct_size == c_sizeof(file_options))
    call promise("via_file_properties", file%struct_size == c_sizeof(file))
  end subroutine

  subroutine texts_and_numbers_come_back()
    character(kind=c_char) :: name(32)
    type(via_device_properties) :: device
    call viaduct_check(via_require(VIA_VERSION_MAJOR, VIA_VERSION_MINOR))
    call promise("the version", via_version() / 1000000 == VIA_VERSION_MAJOR)
    call viaduct_check(via_dtype_name(VIA_BFLOAT16, 32_c_int64_t, name))
    call promise("a name", all(name(1:9) == ["b", "f", "l", "o", "a", "t", "1", "6", c_null_char]))
    call promise("64 bits", via_dtype_record(ishft(1_c_int64_t, 40)) == 0)
    call viaduct_check(via_device_info(VIA_DEVICE_CPU, 0, device))
    call promise("a struct is filled", device%device_type == VIA_DEVICE_CPU .and. device%total_bytes > 0)
  end subroutine

  subroutine lists_may_be_left_out()
    real(c_float), target :: values(6)
    type(c_ptr) :: array, view
    integer(c_int64_t), pointer :: extent(:)
    call viaduct_check(via_wrap(c_loc(values), VIA_FLOAT32, 2, [2_c_int64_t, 3_c_int64_t], device_type=VIA_DEVICE_CPU, &
      device_id=0, flags=0, release=c_null_funptr, context=c_null_ptr, out_array=array))
    call c_f_pointer(via_array_strides(array), extent, [2])
    call expect("without strides an array is row-major", extent, [3, 1])
    call viaduct_check(via_array_slice(array, count=[1_c_int64_t, 2_c_int64_t], out_array=view))
    call c_f_pointer(via_array_shape(view), extent, [2])
    call expect("without a start a slice begins at the first", extent, [1, 2])
    call via_array_release(view)
    call via_array_release(array)
  end subroutine

  subroutine options_may_be_left_out_or_set()
    real(c_float), target :: values(6)
    type(viaduct_array) :: exported, taken
    type(via_dlpack_options) :: options
    type(c_ptr) :: tensor, copied, exported_at
    call exported%wrap(values)
    options%copy = VIA_COPY_ALWAYS
    call viaduct_check(via_to_dlpack(exported%handle, options, c_null_ptr, tensor))
    call taken%from_dlpack(tensor)
    copied = via_array_data(taken%handle)
    exported_at = via_array_data(exported%handle)
    call promise("options are read", .not. c_associated(copied, exported_at))
    call taken%release()
    call exported%release()
  end subroutine

  subroutine an_allocator_of_fortrans_serves()
    real(c_double), target :: room(64)
    type(c_ptr) :: memory
    type(viaduct_array) :: made
    given_back = 0
    call viaduct_check(via_memory_create_custom(VIA_DEVICE_CPU, 0, c_funloc(give), c_loc(room), c_funloc(take), &
      c_null_ptr, c_null_funptr, c_null_ptr, memory))
    call viaduct_check(via_empty(memory, VIA_FLOAT64, 1, [4_c_int64_t], c_null_ptr, made%handle))
    call via_memory_release(memory)
    call made%release()
    call promise("the memory came back", given_back == 1)
  end subroutine

  subroutine a_task_calls_back()
    real(c_float), target :: a(100), b(100)
    integer(c_int32_t), target :: reported
    integer(c_int32_t) :: done
    type(viaduct_array) :: to, from
    type(c_ptr) :: task
    reported = 0
    b = 3
    call to%wrap(a)
    call from%wrap(b)
    call viaduct_check(via_copy_submit(to%handle, from%handle, c_null_ptr, task))
    call viaduct_check(via_task_wait(task))
    call viaduct_check(via_task_poll(task, done))
    call viaduct_check(via_task_on_complete(task, c_funloc(complete), c_loc(reported)))
    call promise("a task", done == 1 .and. all(a > 2.5))
    call promise("its callback", reported == 100)
    call via_task_release(task)
    call to%release()
    call from%release()
  end subroutine

end program api_tests
