! The rows of tests/misuse/table.tsv in Fortran. Those that a checking library alone can report run where VIADUCT_CHECK is
! set.
module wrong_callbacks
  use viaduct
  implicit none
  integer(c_int) :: reported = VIA_OK

contains

  subroutine count_release(context) bind(C)
    type(c_ptr), value :: context
    integer, pointer :: counter
    call c_f_pointer(context, counter)
    counter = counter + 1
  end subroutine

  subroutine wait_for_the_other(status, text, context) bind(C)
    integer(c_int32_t), value :: status
    type(c_ptr), value :: text, context
    reported = via_task_wait(context)
  end subroutine

  function no_alloc(nbytes, alignment, stream, context, out_address) result(answer) bind(C)
    integer(c_int64_t), value :: nbytes, alignment
    type(c_ptr), value :: stream, context
    type(c_ptr), intent(out) :: out_address
    integer(c_int32_t) :: answer
    out_address = c_null_ptr
    answer = 5
  end function

  subroutine no_free(address, nbytes, stream, context) bind(C)
    type(c_ptr), value :: address, stream, context
    integer(c_int64_t), value :: nbytes
  end subroutine

end module wrong_callbacks

program misuse_tests
  use viaduct
  use wrong_callbacks
  use support
  implicit none
  integer, parameter :: calls = 68
  integer(c_int64_t), parameter :: large = 64 * 2**20
  integer(c_int32_t), parameter :: cpu = VIA_DEVICE_CPU, cuda = VIA_DEVICE_CUDA
  real(c_float), target :: pixels(4, 3), others(4, 3)
  integer(c_int32_t), target :: rows(2)
  character(len=256) :: folder, table
  character(len=:), allocatable :: path
  type(viaduct_array) :: subject, other, view, made
  type(c_ptr) :: memory, batch, file, stream, task
  integer(c_int32_t) :: devices
  logical :: checked

  interface
    function malloc(nbytes) result(answer) bind(C)
      import
      integer(c_size_t), value :: nbytes
      type(c_ptr) :: answer
    end function

    subroutine free(address) bind(C)
      import
      type(c_ptr), value :: address
    end subroutine

    function truncate(path, length) result(answer) bind(C)
      import
      character(kind=c_char), intent(in) :: path(*)
      integer(c_long), value :: length
      integer(c_int) :: answer
    end function
  end interface

  call get_command_argument(1, table)
  call get_command_argument(2, folder)
  path = trim(folder) // "/misuse.raw" // c_null_char
  call get_environment_variable("VIADUCT_CHECK", status=devices)
  checked = devices == 0
  if (via_device_count(cuda, devices) /= VIA_OK) devices = 0
  call every_row_of_the_table_is_answered_as_it_says()
  call finish()

contains

  ! ---------------------------------------------------------------------------------------------- the table

  subroutine every_row_of_the_table_is_answered_as_it_says()
    character(len=1024) :: line
    character(len=128) :: cells(9)
    integer :: unit, found, run, ended
    found = 0
    run = 0
    open (newunit=unit, file=trim(table), status="old", action="read")
    read (unit, "(a)") line
    do
      read (unit, "(a)", iostat=ended) line
      if (ended /= 0) exit
      call split(trim(line), cells)
      if (cells(9) /= "=") cycle
      found = found + 1
      if (.not. can_run(trim(cells(4)))) cycle
      run = run + 1
      call check_row(trim(cells(1)), trim(cells(3)))
    end do
    close (unit)
    call promise("every row has its call", found == calls)
    print "(a, i0, a, i0, a)", "misuse, Fortran: ", run, " rows of ", found, " run"
  end subroutine

  subroutine split(line, cells)
    character(len=*), intent(in) :: line
    character(len=*), intent(out) :: cells(:)
    integer :: i, first, length
    first = 1
    do i = 1, size(cells)
      length = index(line(first:) // achar(9), achar(9)) - 1
      cells(i) = line(first:first + length - 1)
      first = min(first + length + 1, len(line) + 1)
    end do
  end subroutine

  logical function can_run(needs)
    character(len=*), intent(in) :: needs
    can_run = (checked .or. index(needs, "check") == 0) .and. (devices > 0 .or. index(needs, "device") == 0) &
      .and. (devices > 1 .or. index(needs, "two") == 0)
  end function

  subroutine check_row(id, status)
    character(len=*), intent(in) :: id, status
    character(len=:), allocatable :: text
    logical :: reported
    integer :: ierr, expected
    call begin_row()
    call viaduct_check(answer_of(id), ierr)
    expected = VIA_OK
    if (status /= "NONE") expected = status_of("VIA_ERROR_" // status)
    call promise(id // ": " // status, ierr == expected)
    text = viaduct_error_text()
    reported = index(text, "via_") == 1 .or. index(text, "; expected ") > 0
    if (expected /= VIA_OK) call promise(id // ": text", reported)
    call end_row()
  end subroutine

  integer function status_of(name)
    character(len=*), intent(in) :: name
    character(kind=c_char), pointer :: letters(:)
    do status_of = 1, 99
      call c_f_pointer(via_status_name(int(status_of, c_int32_t)), letters, [len(name) + 1])
      if (all(letters == transfer(name // c_null_char, letters))) return
    end do
  end function

  subroutine begin_row()
    memory = c_null_ptr
    batch = c_null_ptr
    file = c_null_ptr
    stream = c_null_ptr
    task = c_null_ptr
    call subject%wrap(pixels)
    call other%wrap(others)
  end subroutine

  subroutine end_row()
    call via_task_release(task)
    call via_stream_release(stream)
    call via_file_release(file)
    call via_batch_release(batch)
    call subject%release()
    call other%release()
    call view%release()
    call made%release()
    call via_memory_release(memory)
  end subroutine

  ! ---------------------------------------------------------------------------------------------- wrong calls

  integer(c_int) function answer_of(id)
    character(len=*), intent(in) :: id
    answer_of = handles(id)
    if (answer_of < 0) answer_of = addresses(id)
    if (answer_of < 0) answer_of = shapes(id)
    if (answer_of < 0) answer_of = options(id)
    if (answer_of < 0) answer_of = writes_and_exchange(id)
    if (answer_of < 0) answer_of = other_processes(id)
    if (answer_of < 0) answer_of = devices_and_callbacks(id)
    if (answer_of < 0) answer_of = files(id)
    if (answer_of < 0) answer_of = archives(id)
  end function

  integer(c_int) function handles(id) result(answer)
    character(len=*), intent(in) :: id
    type(viaduct_array) :: stale
    type(c_funptr) :: at_end
    integer, target :: released
    answer = -1
    select case (id)
      case ("null_array")
        call subject%copy_from(view, answer)
      case ("null_in_list")
        answer = via_copy_batch(2_c_int32_t, [subject%handle, c_null_ptr], [other%handle, other%handle], c_null_ptr)
      case ("released_array")
        stale = other
        call other%release()
        call stale%permute(made, ierr=answer)
      case ("released_twice")
        released = 0
        at_end = c_funloc(count_release)
        call stale%wrap(others, release=at_end, context=c_loc(released))
        call via_array_release(stale%handle)
        call via_array_release(stale%handle)
        answer = merge(VIA_OK, VIA_ERROR_INTERNAL, released == 1)
      case ("wrong_handle")
        call viaduct_check(via_batch_create(batch))
        answer = via_array_permute(batch, out_array=made%handle)
      case ("released_stream")
        call viaduct_check(via_stream_create(0_c_int32_t, stale%handle))
        call via_stream_release(stale%handle)
        answer = via_stream_synchronize(stale%handle)
      case ("closed_file")
        call open_file_of(48)
        stale%handle = file
        file = c_null_ptr
        call via_file_release(stale%handle)
        answer = via_file_read(stale%handle, 0_c_int64_t, subject%handle, c_null_ptr)
    end select
  end function

  integer(c_int) function addresses(id) result(answer)
    character(len=*), intent(in) :: id
    type(via_array_interface) :: description
    type(c_ptr) :: block
    answer = -1
    select case (id)
      case ("null_address")
        answer = wrap(c_null_ptr, VIA_INT8, [4_c_int64_t])
      case ("unreadable_address")
        answer = wrap(at(4096_c_intptr_t), VIA_INT8, [4_c_int64_t], flags=VIA_WRAP_PROBE)
      case ("freed_host_memory")
        block = malloc(int(large, c_size_t)) ! so large that it is the system's again at once
        call free(block)
        answer = wrap(block, VIA_INT8, [large], flags=VIA_WRAP_PROBE)
      case ("freed_device_memory")
        block = on_device(4 * 2_c_int64_t**20)
        call view%release()
        answer = wrap(block, VIA_INT8, [4_c_int64_t], cuda)
      case ("past_the_allocation")
        answer = wrap(on_device(4 * 2_c_int64_t**20), VIA_INT8, [3_c_int64_t, 2 * 2_c_int64_t**20], cuda)
      case ("past_the_address_space")
        answer = wrap(at(-64_c_intptr_t), VIA_FLOAT32, [17_c_int64_t])
      case ("host_memory_as_a_devices")
        answer = wrap(c_loc(pixels), VIA_FLOAT32, [12_c_int64_t], cuda)
      case ("memory_of_another_device")
        answer = wrap(on_device(64_c_int64_t), VIA_INT8, [64_c_int64_t], cuda, 1_c_int32_t)
      case ("device_memory_as_the_hosts")
        block = on_device(64_c_int64_t)
        answer = via_to_array_interface(view%handle, description)
      case ("negative_count")
        answer = via_memcpy(c_loc(pixels), c_loc(others), -4_c_int64_t, c_null_ptr)
    end select
  end function

  integer(c_int) function shapes(id) result(answer)
    character(len=*), intent(in) :: id
    integer(c_int64_t) :: many(VIA_MAX_NDIM + 1)
    real(c_double), pointer :: wide(:, :)
    integer(c_int8_t), pointer :: bytes(:)
    type(c_ptr) :: block
    answer = -1
    select case (id)
      case ("null_shape")
        answer = via_wrap(c_loc(pixels), VIA_INT8, 2_c_int32_t, device_type=cpu, device_id=0_c_int32_t, &
          flags=0_c_int32_t, release=c_null_funptr, context=c_null_ptr, out_array=made%handle)
      case ("negative_extent")
        answer = wrap(c_loc(pixels), VIA_INT8, [3_c_int64_t, -4_c_int64_t])
      case ("too_many_axes")
        many = 1
        answer = wrap(c_loc(pixels), VIA_INT8, many)
      case ("huge_shape")
        answer = wrap(c_loc(pixels), VIA_INT8, [2_c_int64_t**40, 2_c_int64_t**40])
      case ("huge_allocation")
        call made%empty(VIA_INT8, [2_c_int64_t**60], answer)
      case ("copy_off_by_one")
        call subject%section(view, [1_c_int64_t, 1_c_int64_t], [3_c_int64_t, 3_c_int64_t])
        call view%copy_from(other, answer)
      case ("row_past_the_end")
        rows = [0, 4]
        answer = wrap(c_loc(rows), VIA_INT32, [2_c_int64_t])
        answer = via_copy_indexed(subject%handle, c_null_ptr, other%handle, made%handle, 0_c_int32_t, &
            stream=c_null_ptr)
      case ("reshape_off_by_one")
        call subject%reshape(made, [13_c_int64_t], answer)
      case ("broadcast_off_by_one")
        answer = via_array_broadcast(subject%handle, 2_c_int32_t, [4_c_int64_t, 4_c_int64_t], made%handle)
      case ("reshape_of_a_transpose")
        call subject%permute(view)
        call view%reshape(made, [12_c_int64_t], answer)
      case ("index_past_the_end")
        call subject%select(made, 1, 5_c_int64_t, answer)
      case ("slice_past_the_end")
        call subject%section(made, [1_c_int64_t, 1_c_int64_t], [5_c_int64_t, 3_c_int64_t], ierr=answer)
      case ("axis_twice")
        call subject%permute(made, [2, 2], answer)
      case ("slice_too_few")
        call subject%section(made, [1], [2], ierr=answer)
      case ("axes_too_few")
        call subject%permute(made, [1], answer)
      case ("elements_of_another_dtype")
        call subject%get(wide, answer)
      case ("device_memory_as_elements")
        block = on_device(64_c_int64_t)
        call view%get(bytes, answer)
      case ("field_past_the_end")
        answer = via_array_field(subject%handle, 1_c_int64_t, VIA_FLOAT32, 0_c_int32_t, out_array=made%handle)
    end select
  end function

  integer(c_int) function options(id) result(answer)
    character(len=*), intent(in) :: id
    type(via_stats_info) :: stats
    integer(c_int32_t) :: dtype
    answer = -1
    select case (id)
      case ("unknown_dtype")
        answer = wrap(c_loc(pixels), 5_c_int32_t, [4_c_int64_t])
      case ("unknown_dtype_name")
        answer = via_dtype_from_name("float33" // c_null_char, dtype)
      case ("copy_to_another_dtype")
        call viaduct_check(via_array_reinterpret(subject%handle, VIA_INT32, view%handle))
        call view%copy_from(other, answer)
      case ("unknown_flag")
        call made%wrap(pixels, answer, flags=2_c_int32_t**30)
      case ("sizeless_struct")
        stats%struct_size = 0
        answer = via_stats(stats)
      case ("future_version")
        answer = via_require(VIA_VERSION_MAJOR + 1_c_int32_t, 0_c_int32_t)
      case ("negative_thread_count")
        answer = via_set_num_threads(-1_c_int32_t)
    end select
  end function

  integer(c_int) function writes_and_exchange(id) result(answer)
    character(len=*), intent(in) :: id
    integer(c_int32_t), pointer :: major
    type(c_ptr) :: tensor
    answer = -1
    select case (id)
      case ("read_only_destination")
        call viaduct_check(via_array_as_read_only(subject%handle, view%handle))
        call view%copy_from(other, answer)
      case ("read_only_fill")
        call viaduct_check(via_array_as_read_only(subject%handle, view%handle))
        answer = via_fill(view%handle, c_null_ptr, c_null_ptr)
      case ("overlap")
        call subject%section(view, [1_c_int64_t, 1_c_int64_t], [4_c_int64_t, 2_c_int64_t])
        call subject%section(made, [1_c_int64_t, 2_c_int64_t], [4_c_int64_t, 3_c_int64_t])
        call view%copy_from(made, answer)
      case ("destination_of_one_element")
        call viaduct_check(via_wrap(c_loc(others), VIA_FLOAT32, 2_c_int32_t, [4_c_int64_t, 3_c_int64_t], &
          [0_c_int64_t, 0_c_int64_t], cpu, 0_c_int32_t, 0_c_int32_t, c_null_funptr, c_null_ptr, view%handle))
        call view%copy_from(subject, answer)
      case ("read_only_legacy_tensor")
        call viaduct_check(via_array_as_read_only(subject%handle, view%handle))
        answer = via_to_dlpack_legacy(view%handle, stream=c_null_ptr, out_tensor=tensor)
      case ("null_tensor")
        call made%from_dlpack(c_null_ptr, answer)
      case ("tensor_of_a_future_version")
        call subject%to_dlpack(tensor)
        call c_f_pointer(tensor, major)
        major = 2
        call made%from_dlpack(tensor, answer)
        call via_dlpack_delete(tensor)
    end select
  end function

  integer(c_int) function other_processes(id) result(answer)
    character(len=*), intent(in) :: id
    integer(c_int8_t), target :: bytes(VIA_IPC_MAX_BYTES)
    integer(c_int64_t) :: length
    answer = -1
    select case (id)
      case ("unshared_memory")
        answer = via_array_export_ipc(subject%handle, size(bytes, kind=c_int64_t), c_loc(bytes), length)
      case ("null_description")
        answer = via_array_import_ipc(c_null_ptr, 200_c_int64_t, made%handle)
      case ("damaged_description")
        call viaduct_check(via_memory_create(VIA_MEMORY_SHARED, 0_c_int32_t, memory))
        call viaduct_check(via_empty(memory, VIA_INT8, 1_c_int32_t, [4_c_int64_t], c_null_ptr, view%handle))
        call viaduct_check(via_array_export_ipc(view%handle, size(bytes, kind=c_int64_t), c_loc(bytes), length))
        bytes(length) = ieor(bytes(length), 1_c_int8_t)
        answer = via_array_import_ipc(c_loc(bytes), length, made%handle)
    end select
  end function

  integer(c_int) function devices_and_callbacks(id) result(answer)
    character(len=*), intent(in) :: id
    answer = -1
    select case (id)
      case ("absent_device")
        answer = via_stream_create(99_c_int32_t, stream)
      case ("stream_of_another_device")
        call viaduct_check(via_stream_create(1_c_int32_t, stream))
        answer = via_stream_set_current(0_c_int32_t, stream)
      case ("missing_allocator")
        answer = via_memory_create_custom(cpu, 0_c_int32_t, c_null_funptr, c_null_ptr, &
          c_null_funptr, c_null_ptr, c_null_funptr, c_null_ptr, memory)
      case ("cancelled_task")
        answer = until_one_fails(.true.)
      case ("wait_in_a_callback")
        answer = until_one_fails(.false.)
      case ("failing_allocator")
        call viaduct_check(via_memory_create_custom(cpu, 0_c_int32_t, c_funloc(no_alloc), c_null_ptr, &
          c_funloc(no_free), c_null_ptr, c_null_funptr, c_null_ptr, memory))
        answer = via_empty(memory, VIA_INT8, 1_c_int32_t, [4_c_int64_t], c_null_ptr, made%handle)
    end select
  end function

  ! Large copies, one after another, until one was still under way when it was cancelled, or waited for in a callback.
  integer(c_int) function until_one_fails(cancel) result(answer)
    logical, intent(in) :: cancel
    type(c_ptr) :: ended
    integer :: tries
    call view%empty(VIA_INT8, [large])
    call made%empty(VIA_INT8, [large])
    do tries = 1, 50
      call viaduct_check(via_copy_submit(subject%handle, other%handle, c_null_ptr, ended))
      call viaduct_check(via_task_wait(ended))
      call viaduct_check(via_copy_submit(view%handle, made%handle, c_null_ptr, task))
      if (cancel) then
        call viaduct_check(via_task_cancel(task))
        answer = via_task_wait(task)
      else
        call viaduct_check(via_task_on_complete(ended, c_funloc(wait_for_the_other), task))
        answer = reported
        call viaduct_check(via_task_wait(task))
      end if
      call via_task_release(ended)
      if (answer /= VIA_OK) return
      call via_task_release(task)
      task = c_null_ptr
    end do
  end function

  integer(c_int) function files(id) result(answer)
    character(len=*), intent(in) :: id
    type(via_file_options) :: npy
    answer = -1
    select case (id)
      case ("absent_file")
        answer = via_file_open("/tmp/viaduct-no-such-file" // c_null_char, out_file=file)
      case ("file_without_a_header")
        call open_file_of(10)
        call via_file_release(file)
        npy%file_format = VIA_FORMAT_NPY
        answer = via_file_open(path, npy, file)
      case ("file_opened_to_read")
        call open_file_of(0)
        answer = via_file_write(file, 0_c_int64_t, subject%handle, c_null_ptr)
      case ("past_the_end_of_a_file")
        call open_file_of(10)
        answer = via_file_read(file, 0_c_int64_t, subject%handle, c_null_ptr)
      case ("file_cut_short")
        call open_file_of(48)
        call promise("a file cut short", truncate(path, 40_c_long) == 0)
        answer = via_file_read(file, 0_c_int64_t, subject%handle, c_null_ptr)
    end select
  end function

  integer(c_int) function archives(id) result(answer)
    character(len=*), intent(in) :: id
    character(len=2), target :: name
    type(c_ptr) :: archive
    name = "w" // c_null_char
    archive = c_null_ptr
    answer = -1
    select case (id)
      case ("archive_without_a_header")
        call open_file_of(10)
        answer = via_archive_open(path, out_archive=archive)
      case ("absent_tensor")
        call open_archive(archive)
        answer = via_archive_array(archive, 1_c_int64_t, subject%handle, made%handle)
      case ("part_past_a_tensor")
        call open_archive(archive)
        answer = via_archive_slice(archive, 0_c_int64_t, 0_c_int32_t, 1_c_int64_t, 4_c_int64_t)
      case ("buffer_of_another_size")
        call open_archive(archive)
        answer = via_archive_read(archive, subject%handle, c_null_ptr)
        if (answer /= VIA_ERROR_DTYPE) return
        call viaduct_check(via_empty(c_null_ptr, VIA_UINT8, 1_c_int32_t, [47_c_int64_t], c_null_ptr, made%handle))
        answer = via_archive_read(archive, made%handle, c_null_ptr)
      case ("name_saved_twice")
        call open_file_of(0)
        answer = via_archive_save(path, 2_c_int32_t, [subject%handle, other%handle], [c_loc(name), c_loc(name)], &
          "{}" // c_null_char, 0_c_int64_t, stream=c_null_ptr)
    end select
    call via_archive_release(archive)
  end function

  ! ---------------------------------------------------------------------------------------------- what they need

  subroutine open_archive(archive)
    type(c_ptr), intent(out) :: archive
    character(len=2), target :: name
    name = "w" // c_null_char
    call open_file_of(0)
    call viaduct_check(via_archive_save(path, 1_c_int32_t, [subject%handle], [c_loc(name)], "{}" // c_null_char, &
      0_c_int64_t, stream=c_null_ptr))
    call viaduct_check(via_archive_open(path, out_archive=archive))
  end subroutine

  integer(c_int) function wrap(address, dtype, shape, device_type, device_id, flags)
    type(c_ptr), intent(in) :: address
    integer(c_int32_t), intent(in) :: dtype
    integer(c_int64_t), intent(in) :: shape(:)
    integer(c_int32_t), intent(in), optional :: device_type, device_id, flags
    integer(c_int32_t) :: kind, number, with
    kind = cpu
    number = 0
    with = 0
    if (present(device_type)) kind = device_type
    if (present(device_id)) number = device_id
    if (present(flags)) with = flags
    wrap = via_wrap(address, dtype, size(shape, kind=c_int32_t), shape, device_type=kind, device_id=number, &
      flags=with, release=c_null_funptr, context=c_null_ptr, out_array=made%handle)
  end function

  type(c_ptr) function at(address)
    integer(c_intptr_t), intent(in) :: address
    at = transfer(address, c_null_ptr)
  end function

  ! The address of so many bytes of a device's memory, which `view` holds.
  type(c_ptr) function on_device(nbytes)
    integer(c_int64_t), intent(in) :: nbytes
    call viaduct_check(via_memory_create(VIA_MEMORY_DEVICE, 0_c_int32_t, memory))
    call viaduct_check(via_empty(memory, VIA_INT8, 1_c_int32_t, [nbytes], c_null_ptr, view%handle))
    on_device = via_array_data(view%handle)
  end function

  ! A file of so many bytes, opened to read.
  subroutine open_file_of(nbytes)
    integer, intent(in) :: nbytes
    integer :: unit
    open (newunit=unit, file=path(:len(path) - 1), access="stream", status="replace", action="write")
    write (unit) repeat("0", nbytes)
    close (unit)
    call viaduct_check(via_file_open(path, out_file=file))
  end subroutine

end program misuse_tests
