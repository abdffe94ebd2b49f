! A solver of the heat equation, as a library for other languages. Its field is Fortran's own: column-major, with a rim
! that holds the boundary. heat.py works on the inner part in place, as a tensor of PyTorch.
module heat
  use viaduct
  implicit none
  private

  type :: solver
    real(c_double), pointer :: field(:, :) => null()
    real(c_double) :: diffusivity = 0.1_c_double
  end type

contains

  ! A field of nx by ny cells, at 0 with a rim of 0.
  function heat_create(nx, ny) result(handle) bind(C)
    integer(c_int32_t), value :: nx, ny
    type(c_ptr) :: handle
    type(solver), pointer :: made
    allocate (made)
    allocate (made%field(0:nx + 1, 0:ny + 1), source=0.0_c_double)
    handle = c_loc(made)
  end function

  ! Exports the inner cells as a DLPack tensor; the status of the library. Call it once: the solver's memory belongs to
  ! who holds the tensor and to nobody else.
  function heat_export(handle, tensor) result(status) bind(C)
    type(c_ptr), value :: handle
    type(c_ptr), intent(out) :: tensor
    integer(c_int32_t) :: status
    type(solver), pointer :: this
    type(viaduct_array) :: cells
    type(c_funptr) :: at_end
    integer :: ierr
    call c_f_pointer(handle, this)
    tensor = c_null_ptr
    at_end = c_funloc(heat_destroy)
    associate (nx => ubound(this%field, 1) - 1, ny => ubound(this%field, 2) - 1)
      call cells%wrap(this%field(1:nx, 1:ny), ierr, release=at_end, context=handle)
    end associate
    if (ierr == VIA_OK) call cells%to_dlpack(tensor, ierr)
    status = ierr
    if (ierr /= VIA_OK) print "(2a)", "  Fortran: ", viaduct_error_text()
    call cells%release()
  end function

  subroutine heat_step(handle, steps) bind(C)
    type(c_ptr), value :: handle
    integer(c_int32_t), value :: steps
    type(solver), pointer :: this
    integer :: i, nx, ny
    call c_f_pointer(handle, this)
    nx = ubound(this%field, 1) - 1
    ny = ubound(this%field, 2) - 1
    do i = 1, steps
      associate (u => this%field)
        u(1:nx, 1:ny) = u(1:nx, 1:ny) + this%diffusivity * (u(0:nx - 1, 1:ny) + u(2:nx + 1, 1:ny) &
          + u(1:nx, 0:ny - 1) + u(1:nx, 2:ny + 1) - 4 * u(1:nx, 1:ny))
      end associate
    end do
  end subroutine

  ! The sum of all cells, as Fortran sees them.
  function heat_total(handle) result(total) bind(C)
    type(c_ptr), value :: handle
    real(c_double) :: total
    type(solver), pointer :: this
    call c_f_pointer(handle, this)
    total = sum(this%field)
  end function

  ! What via_wrap calls when the last user has released it.
  subroutine heat_destroy(handle) bind(C)
    type(c_ptr), value :: handle
    type(solver), pointer :: this
    call c_f_pointer(handle, this)
    deallocate (this%field)
    deallocate (this)
    print "(a)", "  Fortran: the last user has released it; the field is freed"
    flush (6)
  end subroutine

end module heat
