! A GPU array to the CPU by pointers: at once, on a stream, and one component of an array of a derived type. Next to each
! call, the CUDA runtime's: that takes bytes which lie together, and is quick from and to pinned memory only.
! Without a GPU both ends are host memory, and the same calls serve.
module particles
  use viaduct
  implicit none

  integer(c_int64_t), parameter :: count = 2**16

  type, bind(C) :: particle
    real(c_float) :: x, y
    integer(c_int32_t) :: id
    real(c_double) :: mass
  end type

  integer(c_int64_t), parameter :: element_bytes = 24, mass_offset = 16

contains

  ! The simulation's particles, where it keeps them.
  subroutine simulate(simulation)
    type(viaduct_array), intent(inout) :: simulation
    type(particle), allocatable, target :: start(:)
    type(viaduct_array) :: host
    type(c_ptr) :: memory
    integer(c_int32_t) :: devices, kind
    integer(c_int64_t) :: i
    start = [(particle(real(i), real(2 * i), int(i), i / 2d0), i=0, count - 1)]
    call viaduct_check(via_device_count(VIA_DEVICE_CUDA, devices))
    kind = merge(VIA_MEMORY_DEVICE, VIA_MEMORY_HOST, devices > 0)
    if (devices > 0) print "(a)", "the particles are on a GPU"
    if (devices == 0) print "(a)", "there is no CUDA device, so the particles are in host memory instead"
    call viaduct_check(via_memory_create(kind, 0_c_int32_t, memory))
    call viaduct_check(via_empty(memory, via_dtype_record(element_bytes), 1_c_int32_t, [count], c_null_ptr, &
      simulation%handle))
    call host%wrap(start)
    call simulation%copy_from(host)
    call host%release()
    call via_memory_release(memory)
  end subroutine

  ! cudaMemcpy(host, device, nbytes, cudaMemcpyDeviceToHost)
  subroutine at_once(device, host)
    type(c_ptr), intent(in) :: device
    type(particle), intent(inout), target :: host(count)
    call viaduct_check(via_memcpy(c_loc(host), device, count * element_bytes, c_null_ptr))
    print "(a, f0.1, a, f0.1)", "at once: number 9 has x ", host(10)%x, ", mass ", host(10)%mass
  end subroutine

  ! cudaMemcpyAsync(host, device, nbytes, cudaMemcpyDeviceToHost, stream), which waits if `host` is not pinned
  subroutine on_a_stream(simulation, host)
    type(viaduct_array), intent(in) :: simulation
    type(particle), intent(inout), target :: host(count)
    type(viaduct_array) :: out
    type(c_ptr) :: stream, task
    stream = c_null_ptr
    if (via_array_device_type(simulation%handle) == VIA_DEVICE_CUDA) stream = via_stream_legacy()
    call out%wrap(host)
    ! After the stream's work so far; returns at once.
    call viaduct_check(via_copy_submit(out%handle, simulation%handle, stream, task))
    call viaduct_check(via_task_wait(task))
    print "(a, f0.1)", "after the stream's work: number 10 has y ", host(11)%y
    call via_task_release(task)
    call out%release()
  end subroutine

  ! cudaMemcpy2D(masses, 8, device, 24, 8, count, cudaMemcpyDeviceToHost), from an address in the first particle
  subroutine one_component(simulation)
    type(viaduct_array), intent(in) :: simulation
    real(c_double), target :: masses(count)
    type(viaduct_array) :: field, out
    call viaduct_check(via_array_field(simulation%handle, mass_offset, VIA_FLOAT64, 0_c_int32_t, out_array=field%handle))
    call out%wrap(masses)
    call out%copy_from(field)
    print "(a, i0, a, i0, a, f0.1)", "the masses alone, ", via_array_nbytes(field%handle), " of ", &
      via_array_nbytes(simulation%handle), " bytes: number 11 has ", masses(12)
    call out%release()
    call field%release()
  end subroutine

end module particles

program gpu_to_host
  use particles
  implicit none
  type(particle), allocatable, target :: host(:)
  type(viaduct_array) :: simulation

  call viaduct_check(via_require(VIA_VERSION_MAJOR, VIA_VERSION_MINOR))
  allocate (host(count))
  call simulate(simulation)
  call at_once(via_array_data(simulation%handle), host)
  call on_a_stream(simulation, host)
  call one_component(simulation)
  call simulation%release()
end program
