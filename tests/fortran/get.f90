! Arrays back as Fortran pointers, with the strides they have.
program get_tests
  use viaduct
  use support
  implicit none

  call a_pointer_is_the_memory_itself()
  call every_type_comes_back()
  call every_rank_comes_back()
  call strides_come_back()
  call memory_of_the_library_is_column_major()
  call a_pointer_waits_for_the_content()
  call what_a_pointer_cannot_be_is_refused()
  call finish()

contains

  subroutine a_pointer_is_the_memory_itself()
    real(c_double), target :: field(3, 4)
    real(c_double), pointer :: back(:, :)
    type(viaduct_array) :: exported
    field = 0
    call exported%wrap(field)
    call exported%get(back)
    call promise("the same memory", associated(back, field))
    call promise("bounds begin at 1", all(lbound(back) == 1) .and. all(ubound(back) == [3, 4]))
    back(2, 3) = 7
    call promise("a write is seen", nint(field(2, 3)) == 7)
    call exported%release()
  end subroutine

  subroutine a_pointer_waits_for_the_content()
    integer, parameter :: many = 16 * 1024**2
    type(viaduct_array) :: source, target
    type(c_ptr) :: task
    real(c_double), pointer :: back(:)
    call source%empty(VIA_FLOAT64, [many])
    call source%get(back)
    back = 7
    call target%empty(VIA_FLOAT64, [many])
    call viaduct_check(via_copy_submit(target%handle, source%handle, c_null_ptr, task))
    call target%get(back)
    call promise("nothing writes it any more", via_array_is_ready(target%handle) == 1)
    call promise("the content has arrived", nint(back(many)) == 7)
    call viaduct_check(via_task_wait(task))
    call via_task_release(task)
    call target%release()
    call source%release()
  end subroutine

  subroutine every_type_comes_back()
    integer(c_int8_t), target :: i8(2)
    integer(c_int16_t), target :: i16(2)
    integer(c_int32_t), target :: i32(2)
    integer(c_int64_t), target :: i64(2)
    real(c_float), target :: r32(2)
    complex(c_float_complex), target :: z32(2)
    complex(c_double_complex), target :: z64(2)
    logical(c_bool), target :: b(2)
    integer(c_int8_t), pointer :: p8(:)
    integer(c_int16_t), pointer :: p16(:)
    integer(c_int32_t), pointer :: p32(:)
    integer(c_int64_t), pointer :: p64(:)
    real(c_float), pointer :: pr(:)
    complex(c_float_complex), pointer :: pz32(:)
    complex(c_double_complex), pointer :: pz64(:)
    logical(c_bool), pointer :: pb(:)
    type(viaduct_array) :: a(8)
    integer :: i
    i8 = [1_c_int8_t, 2_c_int8_t]
    i16 = [3_c_int16_t, 4_c_int16_t]
    i32 = [5, 6]
    i64 = [7_c_int64_t, 8_c_int64_t]
    r32 = [1.5, 2.5]
    z32 = [(1.0, 2.0), (3.0, 4.0)]
    z64 = [(1.0d0, 2.0d0), (3.0d0, 4.0d0)]
    b = [.false._c_bool, .true._c_bool]
    call a(1)%wrap(i8)
    call a(1)%get(p8)
    call promise("int8", associated(p8, i8) .and. p8(2) == 2)
    call a(2)%wrap(i16)
    call a(2)%get(p16)
    call promise("int16", associated(p16, i16) .and. p16(2) == 4)
    call a(3)%wrap(i32)
    call a(3)%get(p32)
    call promise("int32", associated(p32, i32) .and. p32(2) == 6)
    call a(4)%wrap(i64)
    call a(4)%get(p64)
    call promise("int64", associated(p64, i64) .and. p64(2) == 8)
    call a(5)%wrap(r32)
    call a(5)%get(pr)
    call promise("real32", associated(pr, r32) .and. abs(pr(2) - 2.5) < 1e-6)
    call a(6)%wrap(z32)
    call a(6)%get(pz32)
    call promise("complex of real32", associated(pz32, z32) .and. abs(pz32(2) - (3.0, 4.0)) < 1e-6)
    call a(7)%wrap(z64)
    call a(7)%get(pz64)
    call promise("complex of real64", associated(pz64, z64) .and. abs(pz64(2) - (3.0d0, 4.0d0)) < 1d-12)
    call a(8)%wrap(b)
    call a(8)%get(pb)
    call promise("logical", associated(pb, b) .and. pb(2) .and. .not. pb(1))
    do i = 1, size(a)
      call a(i)%release()
    end do
  end subroutine

  subroutine every_rank_comes_back()
    integer(c_int32_t), target :: a0, a1(2), a3(2, 1, 2), a4(2, 1, 2, 1), a5(2, 1, 2, 1, 2)
    integer(c_int32_t), target :: a6(2, 1, 2, 1, 2, 1), a7(2, 1, 2, 1, 2, 1, 2)
    integer(c_int32_t), pointer :: p0, p1(:), p3(:, :, :), p4(:, :, :, :), p5(:, :, :, :, :)
    integer(c_int32_t), pointer :: p6(:, :, :, :, :, :), p7(:, :, :, :, :, :, :)
    type(viaduct_array) :: a(7)
    integer :: i
    nullify (p0)
    call a(1)%wrap(a0)
    call a(1)%get(p0)
    call promise("a scalar", associated(p0, a0))
    call a(2)%wrap(a1)
    call a(2)%get(p1)
    call promise("rank 1", associated(p1, a1))
    call a(3)%wrap(a3)
    call a(3)%get(p3)
    call promise("rank 3", associated(p3, a3))
    call a(4)%wrap(a4)
    call a(4)%get(p4)
    call promise("rank 4", associated(p4, a4))
    call a(5)%wrap(a5)
    call a(5)%get(p5)
    call promise("rank 5", associated(p5, a5))
    call a(6)%wrap(a6)
    call a(6)%get(p6)
    call promise("rank 6", associated(p6, a6))
    call a(7)%wrap(a7)
    call a(7)%get(p7)
    call promise("rank 7", associated(p7, a7))
    do i = 1, size(a)
      call a(i)%release()
    end do
  end subroutine

  subroutine strides_come_back()
    integer(c_int32_t), target :: field(6, 4)
    integer(c_int32_t), pointer :: part(:, :), transposed(:, :)
    type(viaduct_array) :: exported, view
    integer :: i
    field = reshape([(i, i=1, 24)], [6, 4])
    call exported%wrap(field(5:1:-2, 2:4:2))
    call exported%get(part)
    call promise("a section's shape", all(shape(part) == [3, 2]))
    call promise("a section's elements", all(part == field(5:1:-2, 2:4:2)))
    call exported%permute(view)
    call view%get(transposed)
    call promise("a transposed section", all(transposed == transpose(field(5:1:-2, 2:4:2))))
    call view%release()
    call exported%release()
  end subroutine

  subroutine memory_of_the_library_is_column_major()
    real(c_float), pointer :: field(:, :, :)
    type(viaduct_array) :: made
    call made%empty(VIA_FLOAT32, [2_c_int64_t, 3_c_int64_t, 4_c_int64_t])
    call expect("column-major strides", made%strides(), [1, 2, 6])
    call promise("contiguous in Fortran's order", via_array_is_contiguous(made%handle, VIA_ORDER_COLUMN_MAJOR) == 1)
    call made%get(field)
    call promise("contiguous in Fortran's eyes", is_contiguous(field) .and. all(shape(field) == [2, 3, 4]))
    call made%release()
  end subroutine

  subroutine what_a_pointer_cannot_be_is_refused()
    real(c_double), target :: field(3, 4)
    integer(c_int8_t), target :: bytes(24)
    real(c_double), pointer :: flat(:), back(:, :)
    real(c_float), pointer :: narrow(:, :)
    type(viaduct_array) :: exported, view
    integer :: ierr
    nullify (flat, back, narrow)
    call exported%wrap(field)
    call exported%get(flat, ierr)
    call refused(ierr, VIA_ERROR_SHAPE, "dimensions")
    call exported%get(narrow, ierr)
    call refused(ierr, VIA_ERROR_DTYPE, "dtype")
    call viaduct_check(via_array_as_read_only(exported%handle, view%handle))
    call view%get(back, ierr)
    call promise("read-only", ierr == VIA_ERROR_READ_ONLY)
    call promise("a pointer stays what it was", .not. (associated(flat) .or. associated(back) .or. associated(narrow)))
    call view%release()
    call viaduct_check(via_wrap(c_loc(bytes(2)), VIA_FLOAT64, 2_c_int32_t, [2_c_int64_t, 1_c_int64_t], [1_c_int64_t, &
      1_c_int64_t], VIA_DEVICE_CPU, 0_c_int32_t, 0_c_int32_t, c_null_funptr, c_null_ptr, view%handle))
    call view%get(back, ierr)
    call refused(ierr, VIA_ERROR_NEEDS_COPY, "alignment")
    call view%release()
    call view%get(back, ierr)
    call promise("no array", ierr == VIA_ERROR_INVALID_ARGUMENT)
    call exported%release()
  end subroutine

end program get_tests
