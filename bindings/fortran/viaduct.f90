! Viaduct for Fortran: arrays of any type and rank, strided sections too, exported to every other runtime in place.
!
! The module has the whole C API as well (viaduct_c), whose functions take type(c_ptr) handles: the component `handle`
! of an array is one. Indices, axes and bounds below count from 1, and shapes are in Fortran's order: element (i, j)
! here is element [i-1, j-1] of NumPy's, whatever the strides.
!
! Errors. Each procedure has an optional ierr, which gets the status; viaduct_error_text() reports more. Without ierr a
! failure is an error stop with that text. Texts of this module's types count from 1 as their arguments do; those of the
! C API, called as such, count from 0. ierr is an integer(c_int), the default integer unless an option widens that.
!
! Numbers. Extents, indices, bounds and the offset of map are default integers or integer(c_int64_t), of one kind in a
! call. The offset of read and write is an integer(c_int64_t): a default integer in its place is ierr. Strides count
! elements, where those of Python count bytes.
!
! Lifetimes. An array is released by hand, since a derived type may be copied: assignment copies the handle and makes no
! second owner, and an array that is made anew releases nothing: release it first. What is wrapped must have the
! target attribute, or be allocatable or a pointer, and stay until the last view and export is gone; `release` is called
! then. An expression, a constant and a section by a list of indices have no memory that stays: wrap does not compile
! for them. wrap_read_only compiles, since it takes what may not be written: give it a variable.
!
! Components. gfortran passes a copy of one component of an array, such as particles%mass or z%im, of a part of each
! text, such as names(:)(2:4), and of a pointer that was associated with one. The copy is gone when wrap returns. Wrap
! the whole array, and take via_array_field of it.
! Wrap an array of class(*) within select type.
module viaduct
  use, intrinsic :: iso_c_binding
  use viaduct_c
  implicit none
  public
  private :: settle, settle_extents, refuse, refuse_length, text_of, strlen, written, decimal, decimal_default
  private :: letters_of, reversed
  private :: wrap_with, bounded, is_order, is_made, extent_of
  private :: wrap, wrap_read_only, empty, empty_default, from_dlpack, to_dlpack, release, section, section_default
  private :: select_at, select_default, permute, reshape_to, reshape_default, copy_from
  private :: open_file, create_file, create_default, file_info, map_file, map_part, map_default, read_file, write_file
  private :: read_at, write_at, release_file, options_with, path_of
  private :: number_of_axes, extents, steps, get_int8, get_int16, get_int32, get_int64, get_real32, get_real64
  private :: get_complex32, get_complex64, get_bool

  type :: viaduct_array
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: wrap
    procedure :: wrap_read_only
    generic :: empty => empty_int64, empty_default
    procedure :: from_dlpack
    procedure :: to_dlpack
    procedure :: release
    generic :: section => section_int64, section_default
    generic :: select => select_int64, select_default
    procedure :: permute
    generic :: reshape => reshape_int64, reshape_default
    procedure :: copy_from
    procedure :: ndim => number_of_axes
    procedure :: shape => extents
    procedure :: strides => steps
    generic :: get => get_int8, get_int16, get_int32, get_int64, get_real32, get_real64, get_complex32, &
      get_complex64, get_bool
    procedure :: get_int8, get_int16, get_int32, get_int64, get_real32, get_real64
    procedure :: get_complex32, get_complex64, get_bool
    procedure, private :: empty_int64 => empty, empty_default, section_int64 => section, section_default
    procedure, private :: select_int64 => select_at, select_default, reshape_int64 => reshape_to, reshape_default
  end type

  ! An open file of elements, raw or .npy. Blanks at the end of a path are no part of it. Elements are in Fortran's
  ! order unless the header of a .npy file or `options` say otherwise. Offsets are bytes from the first element on.
  type :: viaduct_file
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: open => open_file
    generic :: create => create_int64, create_default
    procedure :: info => file_info
    generic :: map => map_file, map_part, map_default
    generic :: read => read_file, read_at
    generic :: write => write_file, write_at
    procedure :: release => release_file
    procedure, private :: create_int64 => create_file, create_default, map_file, map_part, map_default
    procedure, private :: read_file, read_at, write_file, write_at
  end type

  interface written
    module procedure decimal, decimal_default
  end interface

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

    pure function viaduct_fortran_error() result(answer) bind(C)
      import
      type(c_ptr) :: answer
    end function

    subroutine viaduct_fortran_forget_refusal() bind(C)
    end subroutine

    pure function strlen(text) result(answer) bind(C)
      import
      type(c_ptr), value :: text
      integer(c_size_t) :: answer
    end function
  end interface

contains

  ! ------------------------------------------------------------------------------------------------ errors

  ! What the calling thread's last failing call of this module found.
  function viaduct_error_text() result(text)
    character(len=strlen(viaduct_fortran_error())) :: text
    text = text_of(viaduct_fortran_error())
  end function

  ! For any status of the C API: hands it to ierr, or stops the program if there is none and it is not VIA_OK.
  subroutine viaduct_check(status, ierr)
    integer(c_int), intent(in) :: status
    integer(c_int), intent(out), optional :: ierr
    call viaduct_fortran_forget_refusal()
    call settle(status, ierr)
  end subroutine

  ! What this module refuses by itself, before it has asked the library.
  subroutine refuse(status, text, ierr)
    integer(c_int), intent(in) :: status
    character(len=*), intent(in) :: text
    integer(c_int), intent(out), optional :: ierr
    call settle(viaduct_fortran_refuse(status, text // c_null_char), ierr)
  end subroutine

  subroutine refuse_length(name, found, axes, ierr)
    character(len=*), intent(in) :: name
    integer, intent(in) :: found, axes
    integer(c_int), intent(out), optional :: ierr
    call refuse(VIA_ERROR_SHAPE, name // " has " // written(found) // " entries; expected one for each of " // &
      written(axes) // " axes", ierr)
  end subroutine

  ! For a call whose shape is `extents`, of so many axes, here: what the library says of shape[0] applies to
  ! extents(1), or of the last one if the axes were reversed for it.
  subroutine settle_extents(status, axes, transposed, ierr)
    integer(c_int), intent(in) :: status
    integer, intent(in) :: axes
    logical, intent(in) :: transposed
    integer(c_int), intent(out), optional :: ierr
    character(len=:), allocatable :: text
    integer :: from, to, at, failed
    call viaduct_fortran_forget_refusal()
    if (status /= VIA_OK) then
      text = text_of(via_last_error())
      from = index(text, "shape[")
      to = from + index(text(max(from, 1):), "]") - 1
      failed = 1
      if (from > 0 .and. to > from) read (text(from + 6:to - 1), *, iostat=failed) at
      if (failed == 0) text = text(:from - 1) // "extents(" // written(merge(axes - at, at + 1, transposed)) // ")" // &
        text(to + 1:)
      if (failed == 0) from = viaduct_fortran_refuse(status, text // c_null_char)
    end if
    call settle(status, ierr)
  end subroutine

  ! The length of a result, here and elsewhere, is worked out before the call: of one with len=: gfortran keeps it in a
  ! variable that all threads share.
  function decimal(number) result(text)
    integer(c_int64_t), intent(in) :: number
    character(len=letters_of(number)) :: text
    write (text, "(i0)") number
  end function

  function decimal_default(number) result(text)
    integer(c_int32_t), intent(in) :: number
    character(len=letters_of(int(number, c_int64_t))) :: text
    text = decimal(int(number, c_int64_t))
  end function

  ! `recursive`, since gfortran's -fno-automatic saves variables of other procedures, and a pure one may save none.
  pure recursive function letters_of(number) result(count)
    integer(c_int64_t), intent(in) :: number
    integer :: count
    character(len=24) :: room
    write (room, "(i0)") number
    count = len_trim(room)
  end function

  subroutine settle(status, ierr)
    integer(c_int), intent(in) :: status
    integer(c_int), intent(out), optional :: ierr
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
    character(len=strlen(address)) :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    call c_f_pointer(address, letters, [len(text)])
    do i = 1, len(text)
      text(i:i) = letters(i)
    end do
  end function

  ! ---------------------------------------------------------------------------------------------- in and out

  ! The Fortran array in place, whatever its type, rank and strides. `dtype` names another type of the same size, for a
  ! logical of C's kind say, or a smaller one, for the start of each element. `release` and `context` are those of
  ! via_wrap. intent(inout) keeps expressions out. An array that is not allocated or associated is refused.
  subroutine wrap(self, array, ierr, dtype, flags, release, context)
    class(viaduct_array), intent(inout) :: self
    type(*), intent(inout), target :: array(..)
    integer(c_int), intent(out), optional :: ierr
    integer(c_int32_t), intent(in), optional :: dtype, flags
    type(c_funptr), intent(in), optional :: release
    type(c_ptr), intent(in), optional :: context
    call wrap_with(self, array, 0_c_int32_t, ierr, dtype, flags, release, context)
  end subroutine

  ! The same of a variable that may not be written here, such as an intent(in) argument: the array is read-only.
  subroutine wrap_read_only(self, array, ierr, dtype, flags, release, context)
    class(viaduct_array), intent(inout) :: self
    type(*), intent(in), target :: array(..)
    integer(c_int), intent(out), optional :: ierr
    integer(c_int32_t), intent(in), optional :: dtype, flags
    type(c_funptr), intent(in), optional :: release
    type(c_ptr), intent(in), optional :: context
    call wrap_with(self, array, VIA_WRAP_READ_ONLY, ierr, dtype, flags, release, context)
  end subroutine

  subroutine wrap_with(self, array, always, ierr, dtype, flags, release, context)
    class(viaduct_array), intent(inout) :: self
    type(*), intent(in), target :: array(..)
    integer(c_int32_t), intent(in) :: always
    integer(c_int), intent(out), optional :: ierr
    integer(c_int32_t), intent(in), optional :: dtype, flags
    type(c_funptr), intent(in), optional :: release
    type(c_ptr), intent(in), optional :: context
    integer(c_int32_t) :: element, with
    type(c_funptr) :: at_end
    type(c_ptr) :: handed
    element = 0
    with = always
    at_end = c_null_funptr
    handed = c_null_ptr
    if (present(dtype)) element = dtype
    if (present(flags)) with = ior(with, flags)
    if (present(release)) at_end = release
    if (present(context)) handed = context
    call settle(viaduct_fortran_wrap(array, element, with, at_end, handed, self%handle), ierr)
  end subroutine

  ! New host memory in column-major order, not initialised.
  subroutine empty(self, dtype, extents, ierr)
    class(viaduct_array), intent(inout) :: self
    integer(c_int32_t), intent(in) :: dtype
    integer(c_int64_t), intent(in) :: extents(:)
    integer(c_int), intent(out), optional :: ierr
    type(c_ptr) :: rows
    integer(c_int) :: status
    status = via_empty(c_null_ptr, dtype, size(extents, kind=c_int32_t), reversed(extents), c_null_ptr, rows)
    self%handle = c_null_ptr
    if (status == VIA_OK) status = via_array_permute(rows, out_array=self%handle)
    call settle_extents(status, size(extents), .true., ierr)
    call via_array_release(rows)
  end subroutine

  subroutine empty_default(self, dtype, extents, ierr)
    class(viaduct_array), intent(inout) :: self
    integer(c_int32_t), intent(in) :: dtype
    integer(c_int32_t), intent(in) :: extents(:)
    integer(c_int), intent(out), optional :: ierr
    call self%empty(dtype, int(extents, c_int64_t), ierr)
  end subroutine

  ! Imports a DLPack tensor; on failure it is still the caller's, to end with via_dlpack_delete.
  subroutine from_dlpack(self, tensor, ierr)
    class(viaduct_array), intent(inout) :: self
    type(c_ptr), intent(in) :: tensor
    integer(c_int), intent(out), optional :: ierr
    call viaduct_check(via_from_dlpack(tensor, stream=c_null_ptr, out_array=self%handle), ierr)
  end subroutine

  ! Exports the array as a DLPack tensor, the consumer's to delete.
  subroutine to_dlpack(self, tensor, ierr)
    class(viaduct_array), intent(in) :: self
    type(c_ptr), intent(out) :: tensor
    integer(c_int), intent(out), optional :: ierr
    call viaduct_check(via_to_dlpack(self%handle, stream=c_null_ptr, out_tensor=tensor), ierr)
  end subroutine

  ! Drops a reference. An array that has no handle stays so.
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

  function extent_of(self, axis) result(extent)
    class(viaduct_array), intent(in) :: self
    integer, intent(in) :: axis
    integer(c_int64_t) :: extent
    integer(c_int64_t), pointer :: borrowed(:)
    call c_f_pointer(via_array_shape(self%handle), borrowed, [axis])
    extent = borrowed(axis)
  end function

  ! In elements, where Python's strides are bytes; none where some stride is not a whole number of elements.
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

  ! Elements first to last of each axis, `step` at a time: view = self(first(1):last(1):step(1), ...).
  subroutine section(self, view, first, last, step, ierr)
    class(viaduct_array), intent(in) :: self
    type(viaduct_array), intent(inout) :: view
    integer(c_int64_t), intent(in) :: first(:), last(:)
    integer(c_int64_t), intent(in), optional :: step(:)
    integer(c_int), intent(out), optional :: ierr
    integer(c_int64_t) :: axis_steps(size(first)), start(size(first)), count(size(first))
    view%handle = c_null_ptr
    if (.not. is_made(self, "section", ierr)) return
    if (size(first) /= self%ndim()) then
      call refuse_length("section: first", size(first), self%ndim(), ierr)
      return
    else if (size(last) /= self%ndim()) then
      call refuse_length("section: last", size(last), self%ndim(), ierr)
      return
    end if
    axis_steps = 1
    if (present(step)) then
      if (size(step) /= self%ndim()) then
        call refuse_length("section: step", size(step), self%ndim(), ierr)
        return
      end if
      axis_steps = step
    end if
    if (.not. bounded(self%shape(), first, last, axis_steps, start, count, ierr)) return
    call viaduct_check(via_array_slice(self%handle, start, count, axis_steps, view%handle), ierr)
  end subroutine

  ! Whether the array has a handle; refuses if not.
  function is_made(self, call_name, ierr) result(is)
    class(viaduct_array), intent(in) :: self
    character(len=*), intent(in) :: call_name
    integer(c_int), intent(out), optional :: ierr
    logical :: is
    is = c_associated(self%handle)
    if (.not. is) call refuse(VIA_ERROR_INVALID_ARGUMENT, call_name // &
      ": array has no handle; expected one that was made", ierr)
  end function

  ! C's start and count of Fortran's bounds; a section without elements starts anywhere. Refuses what leaves the array.
  function bounded(extents, first, last, axis_steps, start, count, ierr) result(fits)
    integer(c_int64_t), intent(in) :: extents(:), first(:), last(:), axis_steps(:)
    integer(c_int64_t), intent(out) :: start(:), count(:)
    integer(c_int), intent(out), optional :: ierr
    logical :: fits
    integer(c_int64_t) :: end
    integer :: axis
    start = 0
    count = 0
    do axis = 1, size(extents)
      fits = axis_steps(axis) /= 0
      if (.not. fits) then
        call refuse(VIA_ERROR_INVALID_ARGUMENT, "section: step(" // written(axis) // &
          ") is 0; expected another number", ierr)
        return
      end if
      if (merge(last(axis) < first(axis), last(axis) > first(axis), axis_steps(axis) > 0)) cycle
      count(axis) = (last(axis) - first(axis)) / axis_steps(axis) + 1
      start(axis) = first(axis) - 1
      end = first(axis) + (count(axis) - 1) * axis_steps(axis)
      fits = first(axis) >= 1 .and. first(axis) <= extents(axis)
      if (.not. fits) then
        call refuse(VIA_ERROR_INDEX, "section: first(" // written(axis) // ") is " // written(first(axis)) // &
          "; expected 1 to " // written(extents(axis)), ierr)
        return
      end if
      fits = end >= 1 .and. end <= extents(axis)
      if (.not. fits) then
        call refuse(VIA_ERROR_INDEX, "section: last(" // written(axis) // ") is " // written(last(axis)) // &
          "; expected 1 to " // written(extents(axis)), ierr)
        return
      end if
    end do
    fits = .true.
  end function

  subroutine section_default(self, view, first, last, step, ierr)
    class(viaduct_array), intent(in) :: self
    type(viaduct_array), intent(inout) :: view
    integer(c_int32_t), intent(in) :: first(:), last(:)
    integer(c_int32_t), intent(in), optional :: step(:)
    integer(c_int), intent(out), optional :: ierr
    if (present(step)) then
      call self%section(view, int(first, c_int64_t), int(last, c_int64_t), int(step, c_int64_t), ierr)
    else
      call self%section(view, int(first, c_int64_t), int(last, c_int64_t), ierr=ierr)
    end if
  end subroutine

  ! The array without an axis, at an index along it.
  subroutine select_at(self, view, axis, index, ierr)
    class(viaduct_array), intent(in) :: self
    type(viaduct_array), intent(inout) :: view
    integer, intent(in) :: axis
    integer(c_int64_t), intent(in) :: index
    integer(c_int), intent(out), optional :: ierr
    integer(c_int64_t) :: extent
    view%handle = c_null_ptr
    if (.not. is_made(self, "select", ierr)) return
    if (axis < 1 .or. axis > self%ndim()) then
      call refuse(VIA_ERROR_INDEX, "select: axis is " // written(axis) // "; expected 1 to " // &
        written(self%ndim()), ierr)
      return
    end if
    extent = extent_of(self, axis)
    if (index < 1 .or. index > extent) then
      call refuse(VIA_ERROR_INDEX, "select: index is " // written(index) // "; expected 1 to " // written(extent), ierr)
      return
    end if
    call viaduct_check(via_array_select(self%handle, int(axis - 1, c_int32_t), index - 1, view%handle), ierr)
  end subroutine

  subroutine select_default(self, view, axis, index, ierr)
    class(viaduct_array), intent(in) :: self
    type(viaduct_array), intent(inout) :: view
    integer, intent(in) :: axis
    integer(c_int32_t), intent(in) :: index
    integer(c_int), intent(out), optional :: ierr
    call self%select(view, axis, int(index, c_int64_t), ierr)
  end subroutine

  ! Axis i of the view is axis order(i); without an order the axes are reversed, which turns Fortran's into C's.
  subroutine permute(self, view, order, ierr)
    class(viaduct_array), intent(in) :: self
    type(viaduct_array), intent(inout) :: view
    integer, intent(in), optional :: order(:)
    integer(c_int), intent(out), optional :: ierr
    view%handle = c_null_ptr
    if (.not. is_made(self, "permute", ierr)) return
    if (.not. present(order)) then
      call viaduct_check(via_array_permute(self%handle, out_array=view%handle), ierr)
    else if (size(order) /= self%ndim()) then
      call refuse_length("permute: order", size(order), self%ndim(), ierr)
    else if (is_order(order, ierr)) then
      call viaduct_check(via_array_permute(self%handle, int(order, c_int32_t) - 1_c_int32_t, view%handle), ierr)
    end if
  end subroutine

  ! Whether each number from 1 on is there once; refuses if not.
  function is_order(order, ierr) result(is)
    integer, intent(in) :: order(:)
    integer(c_int), intent(out), optional :: ierr
    logical :: is
    integer :: i
    do i = 1, size(order)
      is = order(i) >= 1 .and. order(i) <= size(order)
      if (.not. is) call refuse(VIA_ERROR_INDEX, "permute: order(" // written(i) // ") is " // written(order(i)) // &
        "; expected 1 to " // written(size(order)), ierr)
      if (.not. is) return
      is = all(order(:i - 1) /= order(i))
      if (.not. is) call refuse(VIA_ERROR_INDEX, "permute: order(" // written(i) // ") is " // written(order(i)) // &
        " again; expected each axis once", ierr)
      if (.not. is) return
    end do
    is = .true.
  end function

  ! The same elements in column-major order under another shape; one extent may be -1, to be worked out.
  subroutine reshape_to(self, view, extents, ierr)
    class(viaduct_array), intent(in) :: self
    type(viaduct_array), intent(inout) :: view
    integer(c_int64_t), intent(in) :: extents(:)
    integer(c_int), intent(out), optional :: ierr
    type(c_ptr) :: transposed, rows
    integer(c_int) :: status
    view%handle = c_null_ptr
    rows = c_null_ptr
    status = via_array_permute(self%handle, out_array=transposed)
    if (status == VIA_OK) status = via_array_reshape(transposed, size(extents, kind=c_int32_t), reversed(extents), rows)
    if (status == VIA_OK) status = via_array_permute(rows, out_array=view%handle)
    call settle_extents(status, size(extents), .true., ierr)
    call via_array_release(transposed)
    call via_array_release(rows)
  end subroutine

  subroutine reshape_default(self, view, extents, ierr)
    class(viaduct_array), intent(in) :: self
    type(viaduct_array), intent(inout) :: view
    integer(c_int32_t), intent(in) :: extents(:)
    integer(c_int), intent(out), optional :: ierr
    call self%reshape(view, int(extents, c_int64_t), ierr)
  end subroutine

  ! Copies the elements of another array of the same shape and dtype, of any layout, on any device.
  subroutine copy_from(self, source, ierr)
    class(viaduct_array), intent(in) :: self
    type(viaduct_array), intent(in) :: source
    integer(c_int), intent(out), optional :: ierr
    call viaduct_check(via_copy(self%handle, source%handle), ierr)
  end subroutine

  function reversed(numbers) result(answer)
    integer(c_int64_t), intent(in) :: numbers(:)
    integer(c_int64_t) :: answer(size(numbers))
    answer = numbers(size(numbers):1:-1)
  end function

  ! --------------------------------------------------------------------------------------------------- files

  ! Opens an existing file. `mode` is a VIA_MODE_..., to read unless it is given; `options` are those of via_file_open.
  subroutine open_file(self, path, ierr, mode, options)
    class(viaduct_file), intent(inout) :: self
    character(len=*), intent(in) :: path
    integer(c_int), intent(out), optional :: ierr
    integer(c_int32_t), intent(in), optional :: mode
    type(via_file_options), intent(in), optional :: options
    type(via_file_options) :: with
    self%handle = c_null_ptr
    if (.not. path_of("open", path, ierr)) return
    with = options_with(options)
    if (present(mode)) with%mode = mode
    call viaduct_check(via_file_open(trim(path) // c_null_char, with, self%handle), ierr)
  end subroutine

  ! Creates a file of the size that such an array needs, all zeros, or cuts an existing one to it; to read and write.
  subroutine create_file(self, path, dtype, extents, ierr, options)
    class(viaduct_file), intent(inout) :: self
    character(len=*), intent(in) :: path
    integer(c_int32_t), intent(in) :: dtype
    integer(c_int64_t), intent(in) :: extents(:)
    integer(c_int), intent(out), optional :: ierr
    type(via_file_options), intent(in), optional :: options
    self%handle = c_null_ptr
    if (.not. path_of("create", path, ierr)) return
    call settle_extents(via_file_create(trim(path) // c_null_char, dtype, size(extents, kind=c_int32_t), extents, &
      options_with(options), self%handle), size(extents), .false., ierr)
  end subroutine

  subroutine create_default(self, path, dtype, extents, ierr, options)
    class(viaduct_file), intent(inout) :: self
    character(len=*), intent(in) :: path
    integer(c_int32_t), intent(in) :: dtype
    integer(c_int32_t), intent(in) :: extents(:)
    integer(c_int), intent(out), optional :: ierr
    type(via_file_options), intent(in), optional :: options
    call self%create(path, dtype, int(extents, c_int64_t), ierr, options)
  end subroutine

  ! What the file is now; its shape(:ndim) counts from 1.
  subroutine file_info(self, properties, ierr)
    class(viaduct_file), intent(in) :: self
    type(via_file_properties), intent(out) :: properties
    integer(c_int), intent(out), optional :: ierr
    call viaduct_check(via_file_info(self%handle, properties), ierr)
  end subroutine

  ! Maps a .npy file as the array that its header reports, which outlives the file. get() needs a file that was opened
  ! with VIA_MODE_READ_WRITE, or with VIA_MODE_COPY_ON_WRITE, whose writes never reach the file.
  subroutine map_file(self, array, ierr)
    class(viaduct_file), intent(in) :: self
    type(viaduct_array), intent(inout) :: array
    integer(c_int), intent(out), optional :: ierr
    call viaduct_check(via_file_array(self%handle, 0_c_int64_t, 0_c_int32_t, 0_c_int32_t, out_array=array%handle), ierr)
  end subroutine

  ! Maps so many elements from an offset on.
  subroutine map_part(self, array, offset, dtype, extents, ierr)
    class(viaduct_file), intent(in) :: self
    type(viaduct_array), intent(inout) :: array
    integer(c_int64_t), intent(in) :: offset
    integer(c_int32_t), intent(in) :: dtype
    integer(c_int64_t), intent(in) :: extents(:)
    integer(c_int), intent(out), optional :: ierr
    call settle_extents(via_file_array(self%handle, offset, dtype, size(extents, kind=c_int32_t), extents, &
      array%handle), size(extents), .false., ierr)
  end subroutine

  subroutine map_default(self, array, offset, dtype, extents, ierr)
    class(viaduct_file), intent(in) :: self
    type(viaduct_array), intent(inout) :: array
    integer(c_int32_t), intent(in) :: offset
    integer(c_int32_t), intent(in) :: dtype
    integer(c_int32_t), intent(in) :: extents(:)
    integer(c_int), intent(out), optional :: ierr
    call self%map(array, int(offset, c_int64_t), dtype, int(extents, c_int64_t), ierr)
  end subroutine

  ! Reads elements from the first on into an array of any layout, on any device; they have arrived on return.
  subroutine read_file(self, array, ierr)
    class(viaduct_file), intent(in) :: self
    type(viaduct_array), intent(in) :: array
    integer(c_int), intent(out), optional :: ierr
    call self%read(array, 0_c_int64_t, ierr)
  end subroutine

  ! The same from an offset on.
  subroutine read_at(self, array, offset, ierr)
    class(viaduct_file), intent(in) :: self
    type(viaduct_array), intent(in) :: array
    integer(c_int64_t), intent(in) :: offset
    integer(c_int), intent(out), optional :: ierr
    call viaduct_check(via_file_read(self%handle, offset, array%handle, c_null_ptr), ierr)
  end subroutine

  ! Writes an array's elements from the first on; all of them have been given to the system on return.
  subroutine write_file(self, array, ierr)
    class(viaduct_file), intent(in) :: self
    type(viaduct_array), intent(in) :: array
    integer(c_int), intent(out), optional :: ierr
    call self%write(array, 0_c_int64_t, ierr)
  end subroutine

  ! The same from an offset on.
  subroutine write_at(self, array, offset, ierr)
    class(viaduct_file), intent(in) :: self
    type(viaduct_array), intent(in) :: array
    integer(c_int64_t), intent(in) :: offset
    integer(c_int), intent(out), optional :: ierr
    call viaduct_check(via_file_write(self%handle, offset, array%handle, c_null_ptr), ierr)
  end subroutine

  ! Drops a reference: the file is closed once no array mapped from it and no transfer is left.
  subroutine release_file(self)
    class(viaduct_file), intent(inout) :: self
    call via_file_release(self%handle)
    self%handle = c_null_ptr
  end subroutine

  ! The options given, else those of Fortran's order.
  function options_with(given) result(with)
    type(via_file_options), intent(in), optional :: given
    type(via_file_options) :: with
    with%column_major = 1
    if (present(given)) with = given
  end function

  ! Whether C would read the whole name; refuses if not.
  function path_of(call_name, path, ierr) result(is)
    character(len=*), intent(in) :: call_name, path
    integer(c_int), intent(out), optional :: ierr
    logical :: is
    is = index(path, c_null_char) == 0
    if (.not. is) call refuse(VIA_ERROR_INVALID_ARGUMENT, call_name // &
      ": path has a NUL character inside; expected a name without one", ierr)
  end function

  ! -------------------------------------------------------------------------------------- back to Fortran
  ! call array%get(pointer): the pointer, of the array's type and rank, is associated with its memory, with the strides
  ! it has. It waits until the content is ready. The pointer is valid as long as somebody owns the array. On failure it
  ! is what it was.

  subroutine get_int8(self, pointer, ierr)
    class(viaduct_array), intent(in) :: self
    integer(c_int8_t), pointer, intent(inout) :: pointer(..)
    integer(c_int), intent(out), optional :: ierr
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
    integer(c_int), intent(out), optional :: ierr
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
    integer(c_int), intent(out), optional :: ierr
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
    integer(c_int), intent(out), optional :: ierr
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
    integer(c_int), intent(out), optional :: ierr
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
    integer(c_int), intent(out), optional :: ierr
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
    integer(c_int), intent(out), optional :: ierr
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
    integer(c_int), intent(out), optional :: ierr
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
    integer(c_int), intent(out), optional :: ierr
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
