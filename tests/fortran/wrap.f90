! Fortran arrays of every type and rank, in place.
module callbacks
  use viaduct
  implicit none

contains

  subroutine count_release(context) bind(C)
    type(c_ptr), value :: context
    integer, pointer :: counter
    call c_f_pointer(context, counter)
    counter = counter + 1
  end subroutine

end module callbacks

program wrap_tests
  use viaduct
  use callbacks
  use support
  implicit none

  call every_type_has_its_dtype()
  call every_rank_has_its_shape_and_strides()
  call sections_keep_their_strides()
  call allocatables_and_pointers_are_arrays_too()
  call no_elements_are_an_array_too()
  call what_has_no_memory_is_refused()
  call what_has_no_last_extent_is_refused()
  call components_are_fields_of_the_array()
  call what_a_polymorphic_array_holds_is_known_or_refused()
  call flags_and_dtypes_may_be_named()
  call what_may_not_be_written_is_wrapped_to_be_read()
  call the_release_is_called_once_with_its_context()
  call finish()

contains

  subroutine has_dtype(words, array, dtype)
    character(len=*), intent(in) :: words
    type(*), intent(inout), target :: array(..)
    integer(c_int32_t), intent(in) :: dtype
    type(viaduct_array) :: exported
    call exported%wrap(array)
    call promise(words, via_array_dtype(exported%handle) == dtype)
    call exported%release()
  end subroutine

  subroutine every_type_has_its_dtype()
    type, bind(C) :: point
      real(c_double) :: x
      integer(c_int32_t) :: label
    end type
    integer(c_int8_t), target :: i8(2)
    integer(c_int16_t), target :: i16(2)
    integer(c_int32_t), target :: i32(2)
    integer(c_int64_t), target :: i64(2)
    integer, target :: i(2)
    real(c_float), target :: r32(2)
    real(c_double), target :: r64(2)
    real, target :: r(2)
    double precision, target :: d(2)
    complex(c_float_complex), target :: z32(2)
    complex(c_double_complex), target :: z64(2)
    logical(c_bool), target :: b(2)
    logical, target :: l(2)
    character(kind=c_char), target :: letter(2)
    character(kind=c_char, len=12), target :: word(2)
    type(point), target :: p(2)
    call has_dtype("int8", i8, VIA_INT8)
    call has_dtype("int16", i16, VIA_INT16)
    call has_dtype("int32", i32, VIA_INT32)
    call has_dtype("int64", i64, VIA_INT64)
    call has_dtype("integer", i, VIA_INT32)
    call has_dtype("real32", r32, VIA_FLOAT32)
    call has_dtype("real64", r64, VIA_FLOAT64)
    call has_dtype("real", r, VIA_FLOAT32)
    call has_dtype("double precision", d, VIA_FLOAT64)
    call has_dtype("complex of real32", z32, VIA_COMPLEX64)
    call has_dtype("complex of real64", z64, VIA_COMPLEX128)
    call has_dtype("logical of C's kind", b, VIA_BOOL)
    call has_dtype("logical, as an integer of its size", l, VIA_INT32)
    call has_dtype("a character", letter, VIA_UINT8)
    call has_dtype("characters, as records", word, -12)
    call has_dtype("a derived type, as a record", p, -16)
  end subroutine

  subroutine has_layout(words, array, shape, strides)
    character(len=*), intent(in) :: words
    type(*), intent(inout), target :: array(..)
    integer, intent(in) :: shape(:), strides(:)
    type(viaduct_array) :: exported
    call exported%wrap(array)
    call promise(words // ": the rank", exported%ndim() == size(shape))
    call expect(words // ": the shape", exported%shape(), shape)
    call expect(words // ": the strides", exported%strides(), strides)
    call exported%release()
  end subroutine

  subroutine every_rank_has_its_shape_and_strides()
    real(c_float), target :: a0, a1(2), a2(2, 3), a3(2, 3, 4), a4(2, 3, 4, 5)
    real(c_double), target :: a5(2, 3, 4, 5, 2)
    complex(c_double_complex), target :: a6(2, 3, 4, 5, 2, 1), a7(2, 3, 4, 5, 2, 1, 3)
    integer :: none(0)
    call has_layout("a scalar", a0, none, none)
    call has_layout("rank 1", a1, [2], [1])
    call has_layout("rank 2", a2, [2, 3], [1, 2])
    call has_layout("rank 3", a3, [2, 3, 4], [1, 2, 6])
    call has_layout("rank 4", a4, [2, 3, 4, 5], [1, 2, 6, 24])
    call has_layout("rank 5", a5, [2, 3, 4, 5, 2], [1, 2, 6, 24, 120])
    call has_layout("rank 6", a6, [2, 3, 4, 5, 2, 1], [1, 2, 6, 24, 120, 240])
    call has_layout("rank 7", a7, [2, 3, 4, 5, 2, 1, 3], [1, 2, 6, 24, 120, 240, 240])
  end subroutine

  subroutine sections_keep_their_strides()
    real(c_double), target :: field(10, 20)
    type(viaduct_array) :: exported
    type(c_ptr) :: found, first
    call has_layout("every second", field(1:10:2, 3:20:4), [5, 5], [2, 40])
    call has_layout("backwards", field(10:1:-3, 20:1:-1), [4, 20], [-3, -10])
    call has_layout("a row", field(4, :), [20], [10])
    call exported%wrap(field(3:, 5:7))
    found = via_array_data(exported%handle)
    first = c_loc(field(3, 5))
    call promise("a section starts at its first element", c_associated(found, first))
    call exported%release()
  end subroutine

  subroutine allocatables_and_pointers_are_arrays_too()
    integer(c_int16_t), allocatable, target :: field(:, :)
    integer(c_int16_t), pointer :: part(:, :)
    allocate (field(0:3, -1:1))
    part => field(0:3:3, :)
    call has_layout("an allocatable with bounds of its own", field, [4, 3], [1, 4])
    call has_layout("a pointer to a section", part, [2, 3], [3, 4])
  end subroutine

  subroutine no_elements_are_an_array_too()
    real(c_float), allocatable, target :: field(:, :)
    type(viaduct_array) :: exported
    allocate (field(0, 5))
    call exported%wrap(field)
    call promise("no elements", via_array_size(exported%handle) == 0)
    call expect("no elements: the shape", exported%shape(), [0, 5])
    call exported%release()
    deallocate (field)
    allocate (field(5:3, 7:1))
    call exported%wrap(field)
    call expect("bounds the wrong way round: the shape", exported%shape(), [0, 0])
    call exported%release()
  end subroutine

  ! Its extents are what was there before: those of an array that is gone, or of none.
  subroutine what_has_no_memory_is_refused()
    real(c_double), allocatable, target, save :: field(:)
    real(c_double), pointer :: part(:)
    type(viaduct_array) :: exported
    integer(c_int) :: ierr
    call exported%wrap(field, ierr)
    call refused(ierr, VIA_ERROR_INVALID_ARGUMENT, "expected one that is allocated")
    allocate (field(3))
    part => field
    deallocate (field)
    call exported%wrap(field, ierr)
    call refused(ierr, VIA_ERROR_INVALID_ARGUMENT, "expected one that is allocated")
    nullify (part)
    call exported%wrap_read_only(part, ierr)
    call refused(ierr, VIA_ERROR_INVALID_ARGUMENT, "expected one that is allocated or associated")
  end subroutine

  ! As far as there is a way to know: gfortran says the same of bounds such as 5:3.
  subroutine assumed_size(array)
    real(c_float), target, intent(inout) :: array(2, *)
    type(viaduct_array) :: exported
    integer(c_int) :: ierr
    call exported%wrap(array, ierr)
    call refused(ierr, VIA_ERROR_SHAPE, "array is of assumed size")
    call exported%wrap(array(:, :3))
    call expect("a section of assumed size", exported%shape(), [2, 3])
    call exported%release()
  end subroutine

  subroutine what_has_no_last_extent_is_refused()
    real(c_float), target :: field(6)
    call assumed_size(field)
  end subroutine

  subroutine components_are_fields_of_the_array()
    type, bind(C) :: point
      real(c_double) :: at(2)
      real(c_double) :: mass
    end type
    type(point), target :: points(6)
    complex(c_double_complex), target :: z(4)
    type(viaduct_array) :: exported, field
    real(c_double), pointer :: mass(:), imaginary(:)
    integer :: i
    points%mass = [(i, i = 1, 6)]
    call exported%wrap(points(6:1:-2))
    call viaduct_check(via_array_field(exported%handle, 16_c_int64_t, VIA_FLOAT64, 0_c_int32_t, out_array=field%handle))
    call field%get(mass)
    points(4)%mass = 40
    call promise("a component of every second, backwards", all(nint(mass) == [6, 40, 2]))
    call field%release()
    call exported%release()
    z = [(cmplx(0, i, c_double_complex), i = 1, 4)]
    call exported%wrap(z)
    call viaduct_check(via_array_field(exported%handle, 8_c_int64_t, VIA_FLOAT64, 0_c_int32_t, out_array=field%handle))
    call field%get(imaginary)
    imaginary(2) = 20
    call promise("imaginary parts", all(nint(aimag(z)) == [1, 20, 3, 4]))
    call field%release()
    call exported%release()
  end subroutine

  subroutine what_a_polymorphic_array_holds_is_known_or_refused()
    integer(c_int16_t), target :: field(4)
    call wrap_polymorphic(field)
  end subroutine

  ! gfortran describes it as addresses, two bytes apart.
  subroutine wrap_polymorphic(array)
    class(*), target, intent(inout) :: array(:)
    type(viaduct_array) :: exported
    integer(c_int32_t) :: dtype
    integer(c_int) :: ierr
    call exported%wrap(array, ierr)
    dtype = via_array_dtype(exported%handle)
    call promise("an array of class(*) is known or refused", ierr == VIA_ERROR_DTYPE .or. dtype == VIA_INT16)
    call exported%release()
    select type (array)
    type is (integer(c_int16_t))
      call has_dtype("an array of class(*) within select type", array, VIA_INT16)
    end select
  end subroutine

  subroutine flags_and_dtypes_may_be_named()
    logical, target :: mask(4)
    complex(c_float_complex), target :: z(3)
    type(viaduct_array) :: exported
    integer(c_int) :: ierr
    call exported%wrap(mask, ierr, dtype=VIA_UINT64)
    call refused(ierr, VIA_ERROR_DTYPE, "wrap: dtype has 64 bits; expected at most 32")
    call exported%wrap(mask, ierr, dtype=5_c_int32_t)
    call refused(ierr, VIA_ERROR_DTYPE, "via_wrap: dtype is")
    call exported%wrap(z, dtype=VIA_FLOAT32)
    call expect("real parts: the strides", exported%strides(), [2])
    call exported%release()
    call exported%wrap(mask, dtype=VIA_UINT32, flags=VIA_WRAP_READ_ONLY)
    call promise("the dtype named", via_array_dtype(exported%handle) == VIA_UINT32)
    call promise("the flags named", via_array_flags(exported%handle) == VIA_ARRAY_READ_ONLY)
    call exported%release()
  end subroutine

  subroutine what_may_not_be_written_is_wrapped_to_be_read()
    real(c_float), target :: field(3)
    type(viaduct_array) :: exported
    type(c_ptr) :: found, first
    field = 7
    call export(exported, field)
    call promise("an argument to be read is wrapped read-only", via_array_flags(exported%handle) == VIA_ARRAY_READ_ONLY)
    found = via_array_data(exported%handle)
    first = c_loc(field)
    call promise("in place", c_associated(found, first))
    call exported%release()
  end subroutine

  subroutine export(exported, given)
    type(viaduct_array), intent(inout) :: exported
    real(c_float), intent(in), target :: given(:)
    call exported%wrap_read_only(given, flags=VIA_WRAP_PROBE)
  end subroutine

  subroutine the_release_is_called_once_with_its_context()
    integer, target :: counter
    real(c_float), target :: field(3, 3)
    type(viaduct_array) :: exported, row
    type(c_funptr) :: at_end
    counter = 0
    at_end = c_funloc(count_release)
    call exported%wrap(field, release=at_end, context=c_loc(counter))
    call exported%select(row, 1, 2_c_int64_t)
    call exported%release()
    call promise("a view holds the memory", counter == 0)
    call row%release()
    call promise("the release is called once", counter == 1)
    call row%release()
    call promise("released twice is released once", counter == 1)
  end subroutine

end program wrap_tests
