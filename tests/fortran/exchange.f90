! To other runtimes and back, by DLPack.
program exchange_tests
  use viaduct
  use support
  implicit none

  call a_tensor_is_the_same_memory_with_the_same_strides()
  call a_tensor_outlives_its_array()
  call a_tensor_that_was_refused_is_still_the_callers()
  call finish()

contains

  subroutine a_tensor_is_the_same_memory_with_the_same_strides()
    complex(c_double_complex), target :: field(5, 6)
    complex(c_double_complex), pointer :: back(:, :)
    type(viaduct_array) :: lent, taken
    type(c_ptr) :: tensor
    call lent%wrap(field(1:5:2, :))
    call lent%to_dlpack(tensor)
    call taken%from_dlpack(tensor)
    call taken%get(back)
    call promise("the same memory", associated(back, field(1:5:2, :)))
    call taken%release()
    call lent%release()
  end subroutine

  subroutine a_tensor_outlives_its_array()
    real(c_float), target :: field(3)
    real(c_float), pointer :: back(:)
    type(viaduct_array) :: lent, taken
    type(c_ptr) :: tensor
    call lent%wrap(field)
    call lent%to_dlpack(tensor)
    call lent%release()
    call taken%from_dlpack(tensor)
    call taken%get(back)
    call promise("the array's memory", associated(back, field))
    call taken%release()
  end subroutine

  subroutine a_tensor_that_was_refused_is_still_the_callers()
    real(c_float), target :: field(3)
    integer(c_int32_t), pointer :: version(:)
    type(viaduct_array) :: lent, taken
    type(c_ptr) :: tensor
    integer :: ierr
    call lent%wrap(field)
    call lent%to_dlpack(tensor)
    call c_f_pointer(tensor, version, [2])
    version(1) = 9
    call taken%from_dlpack(tensor, ierr)
    call promise("another version", ierr == VIA_ERROR_VERSION .and. .not. c_associated(taken%handle))
    call via_dlpack_delete(tensor)
    call lent%release()
  end subroutine

end program exchange_tests
