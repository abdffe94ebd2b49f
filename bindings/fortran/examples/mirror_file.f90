! A file larger than memory, worked on by blocks on the GPU: mirror_file IN.npy OUT.npy turns the rows of a table around.
! While one block is worked on the next is read, and the result of the last is written; two blocks and their results are
! all the memory that it takes. The usual loop, read, cudaMemcpy, the work, cudaMemcpy and write, has the disk, the link
! and the GPU wait for one another. Without a GPU the blocks are host memory.
!
! A table's rows, as NumPy writes them, are the columns of a Fortran array; the library's own calls, used here for files,
! have C's order of axes.
module mirror
  use viaduct
  implicit none

  integer(c_int64_t), parameter :: block_bytes = 8 * 2**20

  ! A block, its result, and what is under way with them.
  type :: slot
    type(c_ptr) :: block = c_null_ptr, result = c_null_ptr, reading = c_null_ptr, writing = c_null_ptr
  end type

  type :: job
    type(c_ptr) :: source = c_null_ptr, target = c_null_ptr, stream = c_null_ptr
    integer(c_int64_t) :: rows, columns, block_rows
    type(slot) :: slots(0:1)
  end type

contains

  subroutine open_files(this, from, to)
    type(job), intent(inout) :: this
    character(len=*), intent(in) :: from, to
    type(via_file_properties) :: found
    integer(c_int64_t) :: row_bytes
    call viaduct_check(via_file_open(from // c_null_char, out_file=this%source))
    call viaduct_check(via_file_info(this%source, found))
    if (found%ndim /= 2 .or. found%column_major /= 0) error stop "mirror_file takes a .npy file of rows"
    this%rows = found%shape(1)
    this%columns = found%shape(2)
    row_bytes = this%columns * via_dtype_bits(found%dtype) / 8
    this%block_rows = max(1_c_int64_t, min(this%rows, block_bytes / max(1_c_int64_t, row_bytes)))
    call viaduct_check(via_file_create(to // c_null_char, found%dtype, 2_c_int32_t, found%shape(:2), &
      out_file=this%target))
    call make_slots(this, found%dtype)
  end subroutine

  subroutine make_slots(this, dtype)
    type(job), intent(inout) :: this
    integer(c_int32_t), intent(in) :: dtype
    type(c_ptr) :: memory
    integer(c_int32_t) :: devices
    integer(c_int64_t) :: extents(2)
    integer :: i
    call viaduct_check(via_device_count(VIA_DEVICE_CUDA, devices))
    if (devices > 0) then
      print "(a)", "the blocks are on a GPU"
      call viaduct_check(via_stream_create(0_c_int32_t, this%stream))
    else
      print "(a)", "there is no CUDA device, so the blocks are in host memory instead"
    end if
    call viaduct_check(via_memory_create(merge(VIA_MEMORY_DEVICE, VIA_MEMORY_HOST, devices > 0), 0_c_int32_t, memory))
    extents = [this%block_rows, this%columns]
    do i = 0, 1
      call viaduct_check(via_empty(memory, dtype, 2_c_int32_t, extents, c_null_ptr, this%slots(i)%block))
      call viaduct_check(via_empty(memory, dtype, 2_c_int32_t, extents, c_null_ptr, this%slots(i)%result))
    end do
    call via_memory_release(memory)
  end subroutine

  subroutine settle(task)
    type(c_ptr), intent(inout) :: task
    if (.not. c_associated(task)) return
    call viaduct_check(via_task_wait(task))
    call via_task_release(task)
    task = c_null_ptr
  end subroutine

  ! As many rows as there are from `first` on; of the last block there may be less. `step` is -1 for columns backwards.
  function part_of(this, whole, first, step) result(part)
    type(job), intent(in) :: this
    type(c_ptr), intent(in) :: whole
    integer(c_int64_t), intent(in) :: first, step
    type(c_ptr) :: part
    call viaduct_check(via_array_slice(whole, [0_c_int64_t, merge(this%columns - 1, 0_c_int64_t, step < 0)], &
      [min(this%block_rows, this%rows - first), this%columns], [1_c_int64_t, step], part))
  end function

  ! The same rows of a file, as a file of its own.
  function rows_of(this, file, first) result(window)
    type(job), intent(in) :: this
    type(c_ptr), intent(in) :: file
    integer(c_int64_t), intent(in) :: first
    type(c_ptr) :: window
    call viaduct_check(via_file_window(file, 0_c_int64_t, 0_c_int32_t, 0_c_int32_t, starts=[first, 0_c_int64_t], &
      counts=[min(this%block_rows, this%rows - first), this%columns], out_file=window))
  end function

  subroutine start_read(this, at, first)
    type(job), intent(in) :: this
    type(slot), intent(inout) :: at
    integer(c_int64_t), intent(in) :: first
    type(c_ptr) :: part, place
    if (first >= this%rows) return
    part = part_of(this, at%block, first, 1_c_int64_t)
    place = rows_of(this, this%source, first)
    call viaduct_check(via_file_read_submit(place, 0_c_int64_t, part, this%stream, at%reading))
    call via_file_release(place)
    call via_array_release(part) ! the task holds both
  end subroutine

  ! The work, here a copy from a view with its columns backwards: a kernel of yours is launched in its place, on
  ! via_stream_handle(this%stream). The result is written after it.
  subroutine work(this, at, first)
    type(job), intent(in) :: this
    type(slot), intent(inout) :: at
    integer(c_int64_t), intent(in) :: first
    type(c_ptr) :: backwards, part, place
    call settle(at%reading)
    call settle(at%writing) ! of the result that was here before
    backwards = part_of(this, at%block, first, -1_c_int64_t)
    part = part_of(this, at%result, first, 1_c_int64_t)
    if (c_associated(this%stream)) then
      call viaduct_check(via_copy_async(part, backwards, this%stream))
    else
      call viaduct_check(via_copy(part, backwards))
    end if
    place = rows_of(this, this%target, first)
    call viaduct_check(via_file_write_submit(place, 0_c_int64_t, part, this%stream, at%writing))
    call via_file_release(place)
    call via_array_release(backwards)
    call via_array_release(part)
  end subroutine

  subroutine run(this)
    type(job), intent(inout) :: this
    integer(c_int64_t) :: first
    integer :: at
    at = 0
    call start_read(this, this%slots(at), 0_c_int64_t)
    do first = 0, this%rows - 1, this%block_rows
      call start_read(this, this%slots(1 - at), first + this%block_rows)
      call work(this, this%slots(at), first)
      at = 1 - at
    end do
    print "(i0, a, i0)", this%rows, " rows in blocks of ", this%block_rows
  end subroutine

  subroutine finish(this)
    type(job), intent(inout) :: this
    integer :: i
    do i = 0, 1
      call settle(this%slots(i)%writing)
      call via_array_release(this%slots(i)%block)
      call via_array_release(this%slots(i)%result)
    end do
    call via_stream_release(this%stream)
    call via_file_release(this%source)
    call via_file_release(this%target)
  end subroutine

end module mirror

program mirror_file
  use mirror
  implicit none
  character(len=4096) :: from, to
  type(job) :: this

  if (command_argument_count() /= 2) stop "usage: mirror_file IN.npy OUT.npy"
  call get_command_argument(1, from)
  call get_command_argument(2, to)
  call viaduct_check(via_require(VIA_VERSION_MAJOR, VIA_VERSION_MINOR))
  call open_files(this, trim(from), trim(to))
  call run(this)
  call finish(this)
end program
