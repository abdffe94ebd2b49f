! Errors: a status in ierr, and text; without ierr the program stops with it.
program error_tests
  use viaduct
  use support
  implicit none
  character(len=4) :: what

  call get_command_argument(1, what)
  if (what == "stop") call stop_without_ierr()
  call a_failure_is_a_status_with_text()
  call success_sets_ierr_to_0()
  call what_this_layer_refuses_has_text_until_the_next_failure()
  call a_status_of_the_c_api_is_checked_alike()
  call finish()

contains

  subroutine a_failure_is_a_status_with_text()
    real(c_float), target :: a(3), b(4)
    type(viaduct_array) :: to, from
    integer :: ierr
    call to%wrap(a)
    call from%wrap(b)
    call to%copy_from(from, ierr)
    call promise("a status", ierr == VIA_ERROR_SHAPE)
    call promise("text", index(viaduct_error_text(), "via_copy: ") == 1)
    call to%release()
    call from%release()
  end subroutine

  subroutine success_sets_ierr_to_0()
    real(c_float), target :: a(3)
    type(viaduct_array) :: lent
    integer :: ierr
    ierr = 99
    call lent%wrap(a, ierr)
    call promise("0 for success", ierr == 0)
    call lent%release()
  end subroutine

  subroutine what_this_layer_refuses_has_text_until_the_next_failure()
    real(c_float), target :: a(3)
    real(c_double), pointer :: wide(:)
    type(viaduct_array) :: lent, view
    integer :: ierr
    call lent%wrap(a)
    call lent%get(wide, ierr)
    call promise("a refusal of the layer", index(viaduct_error_text(), "get: ") == 1)
    call lent%select(view, 1, 9_c_int64_t, ierr)
    call promise("then one of the library", index(viaduct_error_text(), "via_array_select: ") == 1)
    call lent%release()
  end subroutine

  subroutine a_status_of_the_c_api_is_checked_alike()
    integer :: ierr
    integer(c_int32_t) :: dtype
    call viaduct_check(via_dtype_from_name("complex128" // c_null_char, dtype), ierr)
    call promise("a name", ierr == 0 .and. dtype == VIA_COMPLEX128)
    call viaduct_check(via_dtype_from_name("complex129" // c_null_char, dtype), ierr)
    call promise("no name", ierr == VIA_ERROR_DTYPE .and. dtype == 0)
    call promise("no name's text", index(viaduct_error_text(), "complex129") > 0)
  end subroutine

  subroutine stop_without_ierr()
    real(c_float), target :: a(3), b(4)
    type(viaduct_array) :: to, from
    call to%wrap(a)
    call from%wrap(b)
    call to%copy_from(from)
    print "(a)", "went on"
  end subroutine

end program error_tests
