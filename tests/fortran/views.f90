! Views count from 1, and turn elements in Fortran's order.
program view_tests
  use viaduct
  use support
  implicit none
  integer(c_int32_t), target :: cube(4, 3, 2)
  type(viaduct_array) :: exported
  integer :: i

  cube = reshape([(i, i=1, 24)], [4, 3, 2])
  call exported%wrap(cube)
  call a_section_is_what_fortran_says()
  call an_index_selects_along_an_axis()
  call axes_are_permuted_or_reversed()
  call elements_take_another_shape_in_column_order()
  call a_copy_goes_between_layouts()
  call default_integers_do_as_well()
  call numbers_that_do_not_fit_are_refused()
  call exported%release()
  call finish()

contains

  subroutine a_section_is_what_fortran_says()
    type(viaduct_array) :: view
    integer :: ierr
    integer(c_int32_t), pointer :: part(:, :, :)
    call exported%section(view, [2_c_int64_t, 1_c_int64_t, 1_c_int64_t], [4_c_int64_t, 2_c_int64_t, 2_c_int64_t])
    call view%get(part)
    call promise("first to last", size(part) == 12 .and. all(part == cube(2:4, 1:2, 1:2)))
    call view%release()
    call exported%section(view, [4_c_int64_t, 1_c_int64_t, 2_c_int64_t], [1_c_int64_t, 3_c_int64_t, 1_c_int64_t], &
      [-2_c_int64_t, 2_c_int64_t, -1_c_int64_t])
    call view%get(part)
    call promise("by steps", size(part) == 8 .and. all(part == cube(4:1:-2, 1:3:2, 2:1:-1)))
    call view%release()
    call exported%section(view, [3_c_int64_t, 1_c_int64_t, 1_c_int64_t], [2_c_int64_t, 3_c_int64_t, 2_c_int64_t])
    call expect("last before first has no elements", view%shape(), [0, 3, 2])
    call view%release()
    call exported%section(view, [1_c_int64_t, 1_c_int64_t, 1_c_int64_t], [4_c_int64_t, 3_c_int64_t, 2_c_int64_t], &
      [2_c_int64_t, 1_c_int64_t], ierr)
    call refused(ierr, VIA_ERROR_SHAPE, "section: step has 2 entries; expected one for each of 3 axes")
  end subroutine

  subroutine an_index_selects_along_an_axis()
    type(viaduct_array) :: view
    integer(c_int32_t), pointer :: plane(:, :)
    call exported%select(view, 2, 3_c_int64_t)
    call view%get(plane)
    call promise("an index", all(plane == cube(:, 3, :)))
    call view%release()
  end subroutine

  subroutine axes_are_permuted_or_reversed()
    type(viaduct_array) :: view
    integer(c_int32_t), pointer :: transposed(:, :, :)
    call exported%permute(view, [2, 3, 1])
    call expect("an order", view%shape(), [3, 2, 4])
    call view%get(transposed)
    call promise("an order's elements", transposed(3, 1, 4) == cube(4, 3, 1))
    call view%release()
    call exported%permute(view)
    call expect("reversed", view%shape(), [2, 3, 4])
    call promise("reversed is row-major", via_array_is_contiguous(view%handle, VIA_ORDER_ROW_MAJOR) == 1)
    call view%release()
  end subroutine

  subroutine elements_take_another_shape_in_column_order()
    type(viaduct_array) :: view
    integer(c_int32_t), pointer :: flat(:, :)
    call exported%reshape(view, [12_c_int64_t, -1_c_int64_t])
    call view%get(flat)
    call promise("as Fortran's reshape", all(flat == reshape(cube, [12, 2])))
    call view%release()
  end subroutine

  subroutine a_copy_goes_between_layouts()
    type(viaduct_array) :: made, transposed
    integer(c_int32_t), pointer :: dense(:, :, :)
    call exported%permute(transposed, [3, 1, 2])
    call made%empty(VIA_INT32, transposed%shape())
    call made%copy_from(transposed)
    call made%get(dense)
    call promise("a transposed copy", is_contiguous(dense) .and. dense(2, 4, 3) == cube(4, 3, 2) &
      .and. dense(1, 2, 3) == cube(2, 3, 1))
    call made%release()
    call transposed%release()
  end subroutine

  subroutine default_integers_do_as_well()
    type(viaduct_array) :: made, view
    integer(c_int32_t), pointer :: part(:, :, :), plane(:, :), flat(:)
    call exported%section(view, [4, 1, 2], [1, 3, 1], [-2, 2, -1])
    call view%get(part)
    call promise("a section", all(part == cube(4:1:-2, 1:3:2, 2:1:-1)))
    call view%release()
    call exported%section(view, [9, 1, 1], [8, 3, 2])
    call expect("a section without elements starts anywhere", view%shape(), [0, 3, 2])
    call view%release()
    call exported%select(view, 3, 2)
    call view%get(plane)
    call promise("an index", all(plane == cube(:, :, 2)))
    call view%release()
    call exported%reshape(view, [-1])
    call view%get(flat)
    call promise("a shape", size(flat) == 24)
    call view%release()
    call made%empty(VIA_INT32, [4, 3])
    call expect("new memory", made%shape(), [4, 3])
    call made%release()
  end subroutine

  subroutine numbers_that_do_not_fit_are_refused()
    type(viaduct_array) :: view
    integer :: ierr
    call exported%section(view, [1_c_int64_t], [2_c_int64_t], ierr=ierr)
    call promise("too few bounds", ierr == VIA_ERROR_SHAPE)
    call exported%section(view, [0_c_int64_t, 1_c_int64_t, 1_c_int64_t], [4_c_int64_t, 3_c_int64_t, 2_c_int64_t], ierr=ierr)
    call promise("before the first", ierr == VIA_ERROR_INDEX)
    call exported%select(view, 0, 1_c_int64_t, ierr)
    call promise("axis 0", ierr == VIA_ERROR_INDEX)
    call exported%select(view, 1, 0_c_int64_t, ierr)
    call promise("index 0", ierr == VIA_ERROR_INDEX)
    call exported%select(view, 1, 5_c_int64_t, ierr)
    call refused(ierr, VIA_ERROR_INDEX, "select: index is 5; expected 1 to 4")
    call exported%permute(view, [1, 2], ierr)
    call promise("too few axes", ierr == VIA_ERROR_SHAPE)
    call exported%permute(view, [0, 1, 2], ierr)
    call promise("axis 0 in an order", ierr == VIA_ERROR_INDEX)
    call exported%reshape(view, [5_c_int64_t, -1_c_int64_t], ierr)
    call promise("elements that do not fill a shape", ierr == VIA_ERROR_SHAPE)
    call promise("a view that was refused has no handle", .not. c_associated(view%handle))
  end subroutine

end program view_tests
