! Files: created, opened, read, written and mapped in Fortran's order, by names with blanks at their end.
program file_tests
  use viaduct
  use support
  implicit none
  character(len=256) :: folder
  character(len=512) :: npy, raw
  integer(c_int64_t), target :: field(3, 4), back(3, 4)
  type(viaduct_array) :: exported, room
  integer :: i

  call get_command_argument(1, folder)
  npy = trim(folder) // "/field.npy"
  raw = trim(folder) // "/field.raw"
  field = reshape([(int(i, c_int64_t), i=1, 12)], [3, 4])
  call exported%wrap(field)
  call room%wrap(back)
  call a_file_is_created_written_and_read()
  call a_header_reports_the_order_and_the_shape()
  call elements_are_converted_while_they_are_read()
  call a_file_is_mapped_in_place()
  call a_raw_file_has_the_order_of_a_fortran_stream()
  call parts_are_read_from_an_offset_on()
  call what_is_wrong_is_refused()
  call room%release()
  call exported%release()
  call finish()

contains

  subroutine a_file_is_created_written_and_read()
    type(viaduct_file) :: file
    call file%create(npy, VIA_INT64, [3, 4])
    call file%write(exported)
    call file%release()
    back = 0
    call file%open(npy)
    call file%read(room)
    call promise("what was written is read", all(back == field))
    call file%release()
    call file%release()
    call promise("released twice is released once", .not. c_associated(file%handle))
  end subroutine

  subroutine a_header_reports_the_order_and_the_shape()
    type(viaduct_file) :: file
    type(via_file_properties) :: found
    call file%open(npy)
    call file%info(found)
    call expect("the shape", found%shape(:found%ndim), [3, 4])
    call promise("Fortran's order", found%column_major == 1 .and. found%dtype == VIA_INT64)
    call file%release()
  end subroutine

  subroutine elements_are_converted_while_they_are_read()
    type(viaduct_file) :: file, converted
    type(viaduct_array) :: array
    real(c_double), target :: numbers(3, 4)
    call file%open(npy)
    call viaduct_check(via_file_convert(file%handle, VIA_FLOAT64, out_file=converted%handle))
    call file%release()
    call array%wrap(numbers)
    call converted%read(array)
    call promise("integers are read as reals", all(nint(numbers) == field))
    call array%release()
    call converted%release()
  end subroutine

  subroutine a_file_is_mapped_in_place()
    type(viaduct_file) :: file
    type(viaduct_array) :: mapped
    integer(c_int64_t), pointer :: elements(:, :)
    call file%open(npy, mode=VIA_MODE_READ_WRITE)
    call file%map(mapped)
    call file%release()
    call mapped%get(elements)
    call promise("mapped", is_contiguous(elements) .and. all(elements == field))
    elements(2, 3) = -1
    call mapped%release()
    call file%open(npy)
    call file%read(room)
    call promise("what is written to the map is in the file", back(2, 3) < 0)
    call file%release()
    call file%open(npy, mode=VIA_MODE_COPY_ON_WRITE)
    call file%map(mapped)
    call mapped%get(elements)
    elements(2, 3) = field(2, 3)
    call file%read(room)
    call promise("a copy on write never reaches the file", back(2, 3) < 0)
    call mapped%release()
    call file%release()
  end subroutine

  subroutine a_raw_file_has_the_order_of_a_fortran_stream()
    type(viaduct_file) :: file
    type(viaduct_array) :: mapped
    integer(c_int64_t), pointer :: elements(:, :)
    integer(c_int64_t) :: streamed(3, 4)
    integer :: unit
    call file%create(raw, VIA_INT64, [3, 4])
    call file%write(exported)
    call file%release()
    open (newunit=unit, file=raw, access="stream", status="old", action="read")
    read (unit) streamed
    close (unit)
    call promise("a stream reads it", all(streamed == field))
    call file%open(raw)
    call file%map(mapped, 24, VIA_INT64, [3, 2])
    call mapped%get(elements, i)
    call promise("a map to be read has no pointer that writes", i == VIA_ERROR_READ_ONLY)
    call room%release()
    call room%empty(VIA_INT64, [3, 2])
    call room%copy_from(mapped)
    call room%get(elements)
    call promise("a part is mapped", all(elements == field(:, 2:3)))
    call mapped%release()
    call file%release()
    call room%release()
    call room%wrap(back)
  end subroutine

  subroutine parts_are_read_from_an_offset_on()
    type(viaduct_file) :: file
    type(viaduct_array) :: column
    integer(c_int64_t), target :: one(3)
    call file%open(raw, mode=VIA_MODE_READ_WRITE)
    call column%wrap(one)
    call file%read(column, 2 * 24_c_int64_t)
    call promise("the third column", all(one == field(:, 3)))
    one = 5
    call file%write(column, 24_c_int64_t)
    call file%read(room)
    call promise("the second column", all(back(:, 2) == 5) .and. all(back(:, 3) == field(:, 3)))
    call column%release()
    call file%release()
  end subroutine

  subroutine what_is_wrong_is_refused()
    type(viaduct_file) :: file
    integer :: ierr
    call file%open(trim(folder) // "/absent.npy", ierr)
    call refused(ierr, VIA_ERROR_IO, "via_file_open: ")
    call promise("no handle", .not. c_associated(file%handle))
    call file%open(trim(folder) // "/a" // c_null_char // "b", ierr)
    call refused(ierr, VIA_ERROR_INVALID_ARGUMENT, "open: path has a NUL character inside")
    call file%create(npy, VIA_INT64, [3, -4], ierr)
    call refused(ierr, VIA_ERROR_SHAPE, "extents(2) is -4")
    call file%open(npy)
    call file%write(exported, ierr)
    call refused(ierr, VIA_ERROR_READ_ONLY, "via_file_write: ")
    call file%release()
  end subroutine

end program file_tests
