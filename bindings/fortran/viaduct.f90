! Viaduct for Fortran: arrays of any type and rank, strided sections too, lent to every other runtime in place.
!
! The module has the whole C API as well (viaduct_c), whose functions take type(c_ptr) handles: the component `handle`
! of an array is one. Indices, axes and bounds below count from 1, and shapes are in Fortran's order: element (i, j)
! here is element [i-1, j-1] of NumPy's, whatever the strides.
!
! Errors. Each procedure ends with an optional ierr, which gets the status; viaduct_error_text() tells more. Without
! ierr a failure is an error stop with that text.
!
! Lifetimes. An array is released by hand, since a derived type may be copied: assignment copies the handle and makes no
! second owner, and an array that is made anew lets go of nothing: release it first. What is wrapped must have the
! target attribute, or be allocatable or a pointer, and stay until the last view and export is gone; `release` is called
! then.
module viaduct
  use, intrinsic :: iso_c_binding
  use viaduct_c
  implicit none
  public
  private :: settle, text_of, reversed
  private :: wrap, empty, from_dlpack, to_dlpack, release, section, select_at, permute, reshape_to, copy_from
  private :: number_of_axes, extents, steps, get_int8, get_int16, get_int32, get_int64, get_real32, get_real64
  private :: get_complex32, get_complex64, get_bool

  type :: viaduct_array
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: wrap
    procedure :: empty
    procedure :: from_dlpack
    procedure :: to_dlpack
    procedure :: release
    procedure :: section
    procedure :: select => select_at
    procedure :: permute
    procedure :: reshape => reshape_to
    procedure :: copy_from
    procedure :: ndim => number_of_axes
    procedure :: shape => extents
    procedure :: strides => steps
    generic :: get => get_int8, get_int16, get_int32, get_int64, get_real32, get_real64, get_complex32, &
      get_complex64, get_bool
    procedure :: get_int8, get_int16, get_int32, get_int64, get_real32, get_real64
    procedure :: get_complex32, get_complex64, get_bool
  end type

  interface
    function viaduct_fortran_wrap(array, dtype, flags, release, context, out_array) result(answer) bind(C)
      import
      type(*), intent(in), target :: array(..)
      integer(c_int32_t), value :: dtype, flags
      type(c_funptr), value :: release
      type(c_ptr), value :: context
      type(c_ptr), intent(out) :: out_array
      integer(c_int) :: answer
    end function

    function viaduct_fortran_refuse(status, text) result(answer) bind(C)
      import
      integer(c_int), value :: status
      character(kind=c_char), intent(in) :: text(*)
      integer(c_int) :: answer
    end function

    function viaduct_fortran_refusal() result(answer) bind(C)
      import
      type(c_ptr) :: answer
    end function

    subroutine viaduct_fortran_forget_refusal() bind(C)
    end subroutine
  end interface

contains

  ! ------------------------------------------------------------------------------------------------ errors

  ! What the calling thread's last failing call of this module found.
  function viaduct_error_text() result(text)
    character(len=:), allocatable :: text
    text = text_of(viaduct_fortran_refusal())
    if (len(text) == 0) text = text_of(via_last_error())
  end function

  ! For any status of the C API: hands it to ierr, or stops the program if there is none and it is not VIA_OK.
  subroutine viaduct_check(status, ierr)
    integer(c_int), intent(in) :: status
    integer, intent(out), optional :: ierr
    call viaduct_fortran_forget_refusal()
    call settle(status, ierr)
  end subroutine

  subroutine settle(status, ierr)
    integer(c_int), intent(in) :: status
    integer, intent(out), optional :: ierr
    character(len=:), allocatable :: text
    if (present(ierr)) then
      ierr = status
    else if (status /= VIA_OK) then
      text = text_of(via_status_name(status)) // ": " // viaduct_error_text()
      error stop text
    end if
  end subroutine

  function text_of(address) result(text)
    type(c_ptr), intent(in) :: address
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    interface
      function strlen(text) result(answer) bind(C)
        import
        type(c_ptr), value :: text
        integer(c_size_t) :: answer
      end function
    end interface
    call c_f_pointer(address, letters, [strlen(address)])
    allocate (character(len=size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function

  ! ---------------------------------------------------------------------------------------------- in and out

  ! The Fortran array in place, whatever its type, rank and strides. `dtype` names another type of the same size, for a
  ! logical of C's kind say; `release` and `context` are those of via_wrap.
  subroutine wrap(self, array, ierr, dtype, flags, release, context)
    class(viaduct_array), intent(inout) :: self
    type(*), intent(in), target :: array(..)
    integer, intent(out), optional :: ierr
    integer(c_int32_t), intent(in), optional :: dtype, flags
    type(c_funptr), intent(in), optional :: release
    type(c_ptr), intent(in), optional :: context
    integer(c_int32_t) :: element, with
    type(c_funptr) :: at_end
    type(c_ptr) :: handed
    element = 0
    with = 0
    at_end = c_null_funptr
    handed = c_null_ptr
    if (present(dtype)) element = dtype
    if (present(flags)) with = flags
    if (present(release)) at_end = release
    if (present(context)) handed = context
    call settle(viaduct_fortran_wrap(array, element, with, at_end, handed, self%handle), ierr)
  end subroutine

  ! New host memory in column-major order, not initialised.
  subroutine empty(self, dtype, extents, ierr)
    class(viaduct_array), intent(inout) :: self
    integer(c_int32_t), intent(in) :: dtype
    integer(c_int64_t), intent(in) :: extents(:)
    integer, intent(out), optional :: ierr
    type(c_ptr) :: rows
    integer(c_int) :: status
    status = via_empty(c_null_ptr, dtype, size(extents, kind=c_int32_t), reversed(extents), c_null_ptr, rows)
    self%handle = c_null_ptr
    if (status == VIA_OK) status = via_array_permute(rows, out_array=self%handle)
    call via_array_release(rows)
    call viaduct_check(status, ierr)
  end subroutine

  ! Takes a DLPack tensor over; on failure it is still the caller's, to end with via_dlpack_delete.
  subroutine from_dlpack(self, tensor, ierr)
    class(viaduct_array), intent(inout) :: self
    type(c_ptr), intent(in) :: tensor
    integer, intent(out), optional :: ierr
    call viaduct_check(via_from_dlpack(tensor, stream=c_null_ptr, out_array=self%handle), ierr)
  end subroutine

  ! Lends the array as a DLPack tensor, the consumer's to delete.
  subroutine to_dlpack(self, tensor, ierr)
    class(viaduct_array), intent(in) :: self
    type(c_ptr), intent(out) :: tensor
    integer, intent(out), optional :: ierr
    call viaduct_check(via_to_dlpack(self%handle, stream=c_null_ptr, out_tensor=tensor), ierr)
  end subroutine

  ! One owner less. An array that has no handle stays so.
  subroutine release(self)
    class(viaduct_array), intent(inout) :: self
    call via_array_release(self%handle)
    self%handle = c_null_ptr
  end subroutine

  ! ------------------------------------------------------------------------------------------------- inspect

  function number_of_axes(self) result(count)
    class(viaduct_array), intent(in) :: self
    integer :: count
    count = via_array_ndim(self%handle)
  end function

  function extents(self) result(numbers)
    class(viaduct_array), intent(in) :: self
    integer(c_int64_t), allocatable :: numbers(:)
    integer(c_int64_t), pointer :: borrowed(:)
    allocate (numbers(self%ndim()))
    if (size(numbers) == 0) return
    call c_f_pointer(via_array_shape(self%handle), borrowed, [size(numbers)])
    numbers = borrowed
  end function

  ! In elements; none where some stride is not a whole number of them.
  function steps(self) result(numbers)
    class(viaduct_array), intent(in) :: self
    integer(c_int64_t), allocatable :: numbers(:)
    integer(c_int64_t), pointer :: borrowed(:)
    type(c_ptr) :: address
    address = via_array_strides(self%handle)
    if (.not. c_associated(address)) then
      allocate (numbers(0))
      return
    end if
    call c_f_pointer(address, borrowed, [self%ndim()])
    numbers = borrowed
  end function

  ! --------------------------------------------------------------------------------------------------- views

  ! Elements first to last of each axis, `step` apart: view = self(first(1):last(1):step(1), ...).
  subroutine section(self, view, first, last, step, ierr)
    class(viaduct_array), intent(in) :: self
    type(viaduct_array), intent(inout) :: view
    integer(c_int64_t), intent(in) :: first(:), last(:)
    integer(c_int64_t), intent(in), optional :: step(:)
    integer, intent(out), optional :: ierr
    integer(c_int64_t) :: apart(size(first)), count(size(first))
    logical :: fits
    view%handle = c_null_ptr
    fits = size(first) == self%ndim() .and. size(last) == self%ndim()
    if (present(step)) fits = fits .and. size(step) == self%ndim()
    if (.not. fits) then
      call settle(viaduct_fortran_refuse(VIA_ERROR_INDEX, &
        "section: the array has another number of axes" // c_null_char), ierr)
      return
    end if
    apart = 1
    if (present(step)) apart = step
    count = max(0_c_int64_t, (last - first + apart) / merge(apart, 1_c_int64_t, apart /= 0))
    call viaduct_check(via_array_slice(self%handle, first - 1, count, apart, view%handle), ierr)
  end subroutine

  ! The array without an axis, at an index along it.
  subroutine select_at(self, view, axis, index, ierr)
    class(viaduct_array), intent(in) :: self
    type(viaduct_array), intent(inout) :: view
    integer, intent(in) :: axis
    integer(c_int64_t), intent(in) :: index
    integer, intent(out), optional :: ierr
    view%handle = c_null_ptr
    if (axis < 1 .or. index < 1) then
      call settle(viaduct_fortran_refuse(VIA_ERROR_INDEX, "select: axes and indices count from 1" // c_null_char), ierr)
      return
    end if
    call viaduct_check(via_array_select(self%handle, int(axis - 1, c_int32_t), index - 1, view%handle), ierr)
  end subroutine

  ! Axis i of the view is axis order(i); without an order the axes are reversed, which turns Fortran's into C's.
  subroutine permute(self, view, order, ierr)
    class(viaduct_array), intent(in) :: self
    type(viaduct_array), intent(inout) :: view
    integer, intent(in), optional :: order(:)
    integer, intent(out), optional :: ierr
    view%handle = c_null_ptr
    if (.not. present(order)) then
      call viaduct_check(via_array_permute(self%handle, out_array=view%handle), ierr)
    else if (size(order) /= self%ndim() .or. any(order < 1)) then
      call settle(viaduct_fortran_refuse(VIA_ERROR_INDEX, &
        "permute: the order is not that of the axes" // c_null_char), ierr)
    else
      call viaduct_check(via_array_permute(self%handle, int(order, c_int32_t) - 1_c_int32_t, view%handle), ierr)
    end if
  end subroutine

  ! The same elements in column-major order under another shape; one extent may be -1, to be worked out.
  subroutine reshape_to(self, view, extents, ierr)
    class(viaduct_array), intent(in) :: self
    type(viaduct_array), intent(inout) :: view
    integer(c_int64_t), intent(in) :: extents(:)
    integer, intent(out), optional :: ierr
    type(c_ptr) :: turned, rows
    integer(c_int) :: status
    view%handle = c_null_ptr
    rows = c_null_ptr
    status = via_array_permute(self%handle, out_array=turned)
    if (status == VIA_OK) status = via_array_reshape(turned, size(extents, kind=c_int32_t), reversed(extents), rows)
    if (status == VIA_OK) status = via_array_permute(rows, out_array=view%handle)
    call via_array_release(turned)
    call via_array_release(rows)
    call viaduct_check(status, ierr)
  end subroutine

  ! Copies the elements of another array of the same shape and dtype, of any layout, on any device.
  subroutine copy_from(self, source, ierr)
    class(viaduct_array), intent(in) :: self
    type(viaduct_array), intent(in) :: source
    integer, intent(out), optional :: ierr
    call viaduct_check(via_copy(self%handle, source%handle), ierr)
  end subroutine

  function reversed(numbers) result(answer)
    integer(c_int64_t), intent(in) :: numbers(:)
    integer(c_int64_t) :: answer(size(numbers))
    answer = numbers(size(numbers):1:-1)
  end function

  ! -------------------------------------------------------------------------------------- back to Fortran
  ! call array%get(pointer): the pointer, of the array's type and rank, is associated with its memory, with the strides
  ! it has. It is valid as long as somebody owns the array. On failure it is what it was.

  subroutine get_int8(self, pointer, ierr)
    class(viaduct_array), intent(in) :: self
    integer(c_int8_t), pointer, intent(inout) :: pointer(..)
    integer, intent(out), optional :: ierr
    interface
      function viaduct_fortran_get_int8(array, pointer) result(answer) bind(C)
        import
        type(c_ptr), value :: array
        integer(c_int8_t), pointer, intent(inout) :: pointer(..)
        integer(c_int) :: answer
      end function
    end interface
    call settle(viaduct_fortran_get_int8(self%handle, pointer), ierr)
  end subroutine

  subroutine get_int16(self, pointer, ierr)
    class(viaduct_array), intent(in) :: self
    integer(c_int16_t), pointer, intent(inout) :: pointer(..)
    integer, intent(out), optional :: ierr
    interface
      function viaduct_fortran_get_int16(array, pointer) result(answer) bind(C)
        import
        type(c_ptr), value :: array
        integer(c_int16_t), pointer, intent(inout) :: pointer(..)
        integer(c_int) :: answer
      end function
    end interface
    call settle(viaduct_fortran_get_int16(self%handle, pointer), ierr)
  end subroutine

  subroutine get_int32(self, pointer, ierr)
    class(viaduct_array), intent(in) :: self
    integer(c_int32_t), pointer, intent(inout) :: pointer(..)
    integer, intent(out), optional :: ierr
    interface
      function viaduct_fortran_get_int32(array, pointer) result(answer) bind(C)
        import
        type(c_ptr), value :: array
        integer(c_int32_t), pointer, intent(inout) :: pointer(..)
        integer(c_int) :: answer
      end function
    end interface
    call settle(viaduct_fortran_get_int32(self%handle, pointer), ierr)
  end subroutine

  subroutine get_int64(self, pointer, ierr)
    class(viaduct_array), intent(in) :: self
    integer(c_int64_t), pointer, intent(inout) :: pointer(..)
    integer, intent(out), optional :: ierr
    interface
      function viaduct_fortran_get_int64(array, pointer) result(answer) bind(C)
        import
        type(c_ptr), value :: array
        integer(c_int64_t), pointer, intent(inout) :: pointer(..)
        integer(c_int) :: answer
      end function
    end interface
    call settle(viaduct_fortran_get_int64(self%handle, pointer), ierr)
  end subroutine

  subroutine get_real32(self, pointer, ierr)
    class(viaduct_array), intent(in) :: self
    real(c_float), pointer, intent(inout) :: pointer(..)
    integer, intent(out), optional :: ierr
    interface
      function viaduct_fortran_get_real32(array, pointer) result(answer) bind(C)
        import
        type(c_ptr), value :: array
        real(c_float), pointer, intent(inout) :: pointer(..)
        integer(c_int) :: answer
      end function
    end interface
    call settle(viaduct_fortran_get_real32(self%handle, pointer), ierr)
  end subroutine

  subroutine get_real64(self, pointer, ierr)
    class(viaduct_array), intent(in) :: self
    real(c_double), pointer, intent(inout) :: pointer(..)
    integer, intent(out), optional :: ierr
    interface
      function viaduct_fortran_get_real64(array, pointer) result(answer) bind(C)
        import
        type(c_ptr), value :: array
        real(c_double), pointer, intent(inout) :: pointer(..)
        integer(c_int) :: answer
      end function
    end interface
    call settle(viaduct_fortran_get_real64(self%handle, pointer), ierr)
  end subroutine

  subroutine get_complex32(self, pointer, ierr)
    class(viaduct_array), intent(in) :: self
    complex(c_float_complex), pointer, intent(inout) :: pointer(..)
    integer, intent(out), optional :: ierr
    interface
      function viaduct_fortran_get_complex32(array, pointer) result(answer) bind(C)
        import
        type(c_ptr), value :: array
        complex(c_float_complex), pointer, intent(inout) :: pointer(..)
        integer(c_int) :: answer
      end function
    end interface
    call settle(viaduct_fortran_get_complex32(self%handle, pointer), ierr)
  end subroutine

  subroutine get_complex64(self, pointer, ierr)
    class(viaduct_array), intent(in) :: self
    complex(c_double_complex), pointer, intent(inout) :: pointer(..)
    integer, intent(out), optional :: ierr
    interface
      function viaduct_fortran_get_complex64(array, pointer) result(answer) bind(C)
        import
        type(c_ptr), value :: array
        complex(c_double_complex), pointer, intent(inout) :: pointer(..)
        integer(c_int) :: answer
      end function
    end interface
    call settle(viaduct_fortran_get_complex64(self%handle, pointer), ierr)
  end subroutine

  subroutine get_bool(self, pointer, ierr)
    class(viaduct_array), intent(in) :: self
    logical(c_bool), pointer, intent(inout) :: pointer(..)
    integer, intent(out), optional :: ierr
    interface
      function viaduct_fortran_get_bool(array, pointer) result(answer) bind(C)
        import
        type(c_ptr), value :: array
        logical(c_bool), pointer, intent(inout) :: pointer(..)
        integer(c_int) :: answer
      end function
    end interface
    call settle(viaduct_fortran_get_bool(self%handle, pointer), ierr)
  end subroutine

end module viaduct
