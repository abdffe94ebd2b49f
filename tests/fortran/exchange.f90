! To other runtimes and back, by DLPack.
program exchange_tests
  use viaduct
  use support
  implicit none

  call a_tensor_is_the_same_memory_with_the_same_strides()
  call a_tensor_outlives_its_array()
  call a_tensor_that_was_refused_is_still_the_callers()
  call what_another_process_learns_of_is_the_same_memory()
  call finish()

contains

  subroutine a_tensor_is_the_same_memory_with_the_same_strides()
    complex(c_double_complex), target :: field(5, 6)
    complex(c_double_complex), pointer :: back(:, :)
    type(viaduct_array) :: exported, taken
    type(c_ptr) :: tensor
    call exported%wrap(field(1:5:2, :))
    call exported%to_dlpack(tensor)
    call taken%from_dlpack(tensor)
    call taken%get(back)
    call promise("the same memory", associated(back, field(1:5:2, :)))
    call taken%release()
    call exported%release()
  end subroutine

  subroutine a_tensor_outlives_its_array()
    real(c_float), target :: field(3)
    real(c_float), pointer :: back(:)
    type(viaduct_array) :: exported, taken
    type(c_ptr) :: tensor
    call exported%wrap(field)
    call exported%to_dlpack(tensor)
    call exported%release()
    call taken%from_dlpack(tensor)
    call taken%get(back)
    call promise("the array's memory", associated(back, field))
    call taken%release()
  end subroutine

  subroutine a_tensor_that_was_refused_is_still_the_callers()
    real(c_float), target :: field(3)
    integer(c_int32_t), pointer :: version(:)
    type(viaduct_array) :: exported, taken
    type(c_ptr) :: tensor
    integer :: ierr
    call exported%wrap(field)
    call exported%to_dlpack(tensor)
    call c_f_pointer(tensor, version, [2])
    version(1) = 9
    call taken%from_dlpack(tensor, ierr)
    call promise("another version", ierr == VIA_ERROR_VERSION .and. .not. c_associated(taken%handle))
    call via_dlpack_delete(tensor)
    call exported%release()
  end subroutine

  subroutine what_another_process_learns_of_is_the_same_memory()
    integer(c_int8_t), target :: bytes(VIA_IPC_MAX_BYTES)
    integer(c_int64_t) :: length
    integer(c_int32_t), pointer :: field(:, :), same(:, :)
    type(viaduct_array) :: shared, taken
    type(c_ptr) :: memory
    call viaduct_check(via_memory_create(VIA_MEMORY_SHARED, 0_c_int32_t, memory))
    call viaduct_check(via_empty(memory, VIA_INT32, 2_c_int32_t, [3_c_int64_t, 2_c_int64_t], c_null_ptr, &
      shared%handle))
    call via_memory_release(memory)
    call viaduct_check(via_array_export_ipc(shared%handle, size(bytes, kind=c_int64_t), c_loc(bytes), length))
    call viaduct_check(via_array_import_ipc(c_loc(bytes), length, taken%handle))
    call shared%get(field)
    call taken%get(same)
    field = 1
    field(3, 2) = 7
    call promise("the extents", all(shape(same) == [3, 2]))
    call promise("the same memory elsewhere", same(3, 2) == 7 .and. .not. associated(same, field))
    call taken%release()
    call shared%release()
  end subroutine

end program exchange_tests
