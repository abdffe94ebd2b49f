! What the Fortran tests have in common: a promise is kept or named, and nothing is left alive.
module support
  use viaduct
  implicit none
  private
  public :: promise, refused, expect, finish

  integer :: broken = 0
  integer :: kept = 0

contains

  subroutine promise(words, holds)
    character(len=*), intent(in) :: words
    logical, intent(in) :: holds
    if (holds) then
      kept = kept + 1
      return
    end if
    broken = broken + 1
    print "(2a)", "broken: ", words
    print "(2a)", "  the last error: ", viaduct_error_text()
  end subroutine

  ! A call has failed with this status, and its text holds the words.
  subroutine refused(ierr, status, words)
    integer(c_int), intent(in) :: ierr
    integer(c_int32_t), intent(in) :: status
    character(len=*), intent(in) :: words
    character(len=:), allocatable :: text
    text = viaduct_error_text()
    call promise("a refusal with the words " // words, ierr == status .and. index(text, words) > 0)
  end subroutine

  ! A list of numbers is this one.
  subroutine expect(words, found, expected)
    character(len=*), intent(in) :: words
    integer(c_int64_t), intent(in) :: found(:)
    integer, intent(in) :: expected(:)
    logical :: same
    same = size(found) == size(expected)
    if (same) same = all(found == expected)
    call promise(words, same)
    if (.not. same) print *, " found", found, "expected", expected
  end subroutine

  subroutine finish()
    type(via_stats_info) :: stats
    call viaduct_check(via_stats(stats))
    call promise("nothing is left alive", stats%live_arrays == 0 .and. stats%live_storages == 0 &
      .and. stats%outstanding_exports == 0)
    print "(i0, a, i0, a)", kept, " promises kept, ", broken, " broken"
    if (broken > 0 .or. kept < 2) error stop 1
  end subroutine

end module support
