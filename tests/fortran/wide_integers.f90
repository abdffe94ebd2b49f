! The module where default integers have eight bytes, as many programs are compiled: -fdefault-integer-8.
program wide_integers_tests
  use viaduct
  use support
  implicit none

  call promise("default integers are wide", kind(1) == c_int64_t)
  call indices_are_default_integers()
  call offsets_are_default_integers()
  call finish()

contains

  subroutine indices_are_default_integers()
    real(c_double), target :: field(3, 4)
    type(viaduct_array) :: cells, view
    integer(c_int) :: ierr
    integer :: axis
    call cells%wrap(field, ierr)
    axis = 2
    call cells%select(view, axis, 4)
    call expect("a column", view%shape(), [3])
    call view%release()
    call cells%section(view, [3, 1], [1, 4], [-1, 3])
    call expect("a section", view%strides(), [-1, 9])
    call view%release()
    call cells%permute(view, [2, 1])
    call expect("a permutation", view%shape(), [4, 3])
    call view%release()
    call cells%select(view, axis, 5, ierr)
    call refused(ierr, VIA_ERROR_INDEX, "select: index is 5; expected 1 to 4")
    call cells%release()
  end subroutine

  subroutine offsets_are_default_integers()
    real(c_double), target :: written(3), found(3)
    type(viaduct_array) :: from, into
    type(viaduct_file) :: file
    character(len=4096) :: folder
    integer(c_int) :: ierr
    integer :: offset
    call get_command_argument(1, folder)
    written = [1, 2, 3]
    found = 0
    offset = 24
    call file%create(trim(folder) // "/wide_integers.raw", VIA_FLOAT64, [6])
    call from%wrap(written)
    call into%wrap(found)
    call file%write(from, offset)
    call file%read(into, offset, ierr)
    call promise("an offset without ierr is one", offset == 24 .and. ierr == VIA_OK .and. all(found == written))
    call from%release()
    call into%release()
    call file%release()
  end subroutine

end program wide_integers_tests
