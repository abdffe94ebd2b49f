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
  call texts_count_from_1()
  call an_array_that_was_not_made_is_refused()
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
    type(viaduct_array) :: exported
    integer :: ierr
    ierr = 99
    call exported%wrap(a, ierr)
    call promise("0 for success", ierr == 0)
    call exported%release()
  end subroutine

  subroutine what_this_layer_refuses_has_text_until_the_next_failure()
    real(c_float), target :: a(3)
    real(c_double), pointer :: wide(:)
    type(viaduct_array) :: exported, view
    integer :: ierr
    call exported%wrap(a)
    call exported%get(wide, ierr)
    call promise("a refusal of the layer", index(viaduct_error_text(), "get: ") == 1)
    call promise("with what was found", index(viaduct_error_text(), &
      "get: array has dtype float32; expected float64, that of the pointer") == 1)
    call view%copy_from(exported, ierr)
    call promise("then one of the library", index(viaduct_error_text(), "via_copy: ") == 1)
    call exported%release()
  end subroutine

  subroutine an_array_that_was_not_made_is_refused()
    type(viaduct_array) :: none, view
    integer :: ierr
    call none%select(view, 1, 1, ierr)
    call refused(ierr, VIA_ERROR_INVALID_ARGUMENT, "select: array has no handle")
    call none%section(view, [1], [1], ierr=ierr)
    call refused(ierr, VIA_ERROR_INVALID_ARGUMENT, "section: array has no handle")
    call none%permute(view, [1], ierr)
    call refused(ierr, VIA_ERROR_INVALID_ARGUMENT, "permute: array has no handle")
  end subroutine

  subroutine texts_count_from_1()
    real(c_float), target :: a(4, 3)
    type(viaduct_array) :: exported, view
    integer :: ierr
    call exported%wrap(a)
    call exported%select(view, 3, 1, ierr)
    call refused(ierr, VIA_ERROR_INDEX, "select: axis is 3; expected 1 to 2")
    call exported%select(view, 2, 4, ierr)
    call refused(ierr, VIA_ERROR_INDEX, "select: index is 4; expected 1 to 3")
    call exported%section(view, [1, 4], [4, 4], ierr=ierr)
    call refused(ierr, VIA_ERROR_INDEX, "section: first(2) is 4; expected 1 to 3")
    call exported%section(view, [1, 1], [5, 3], ierr=ierr)
    call refused(ierr, VIA_ERROR_INDEX, "section: last(1) is 5; expected 1 to 4")
    call exported%section(view, [1, 1], [4, 3], [1, 0], ierr)
    call refused(ierr, VIA_ERROR_INVALID_ARGUMENT, "section: step(2) is 0")
    call exported%permute(view, [1, 3], ierr)
    call refused(ierr, VIA_ERROR_INDEX, "permute: order(2) is 3; expected 1 to 2")
    call exported%permute(view, [2, 2], ierr)
    call refused(ierr, VIA_ERROR_INDEX, "permute: order(2) is 2 again")
    call exported%reshape(view, [-2, 6, 1], ierr)
    call refused(ierr, VIA_ERROR_SHAPE, "extents(1) is -2; expected 0 or more")
    call view%empty(VIA_FLOAT32, [2, -3, 4], ierr)
    call refused(ierr, VIA_ERROR_SHAPE, "via_empty: extents(2) is -3; expected 0 or more")
    call promise("and name no other axis", index(viaduct_error_text(), "shape[") == 0)
    call exported%release()
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
