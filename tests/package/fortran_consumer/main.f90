program consumer
  use viaduct
  implicit none
  real(c_double), target :: field(4, 5)
  real(c_double), pointer :: back(:, :)
  type(viaduct_array) :: exported, taken
  type(c_ptr) :: tensor
  field = 0
  call viaduct_check(via_require(VIA_VERSION_MAJOR, VIA_VERSION_MINOR))
  call exported%wrap(field(2:4:2, :))
  call exported%to_dlpack(tensor)
  call exported%release()
  call taken%from_dlpack(tensor)
  call taken%get(back)
  back(2, 5) = 7
  call taken%release()
  if (nint(field(4, 5)) /= 7) error stop "the memory is not the same"
  print "(a, i0)", "viaduct ", via_version()
end program consumer
