! Threads that fail at once: each gets the texts of its own calls.
module failing
  use viaduct
  implicit none

contains

  ! Adds to the number at `argument` for each text of another call.
  recursive function fail_often(argument) result(answer) bind(C)
    type(c_ptr), value :: argument
    type(c_ptr) :: answer
    integer(c_int), pointer :: wrong
    type(viaduct_array) :: array, view
    character(len=12) :: number
    integer :: i, ierr
    answer = c_null_ptr
    call c_f_pointer(argument, wrong)
    call array%empty(VIA_INT8, [3, 2])
    do i = 1, 20000
      write (number, "(i0)") 3 * 10**modulo(i, 9)
      call array%select(view, 2, 3 * 10**modulo(i, 9), ierr)
      if (viaduct_error_text() /= "select: index is " // trim(number) // "; expected 1 to 2") wrong = wrong + 1
    end do
    call array%release()
  end function

end module

program threads_tests
  use failing
  use support
  implicit none
  integer(c_int), target :: wrong(4)
  integer(c_long) :: threads(4)
  integer :: i

  interface
    function pthread_create(thread, attributes, start, argument) result(answer) bind(C)
      import
      integer(c_long), intent(out) :: thread
      type(c_ptr), value :: attributes, argument
      type(c_funptr), value :: start
      integer(c_int) :: answer
    end function

    function pthread_join(thread, answer) result(status) bind(C)
      import
      integer(c_long), value :: thread
      type(c_ptr), value :: answer
      integer(c_int) :: status
    end function
  end interface

  wrong = 0
  do i = 1, size(threads)
    call promise("a thread starts", &
      pthread_create(threads(i), c_null_ptr, c_funloc(fail_often), c_loc(wrong(i))) == 0)
  end do
  do i = 1, size(threads)
    call promise("a thread ends", pthread_join(threads(i), c_null_ptr) == 0)
    call promise("each text is that of the thread's own call", wrong(i) == 0)
  end do
  call finish()

end program threads_tests
