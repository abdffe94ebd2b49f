# The Fortran layer, compiled from its source by whoever uses it: module files are one compiler's own. Part of the
# installed package too, which includes it when asked for the component `fortran`.

# Copies the compiler's own ISO_Fortran_binding.h to a folder, since what lies next to it there must not be found.
function(viaduct_fortran_binding folder out_found)
  cmake_path(GET CMAKE_Fortran_COMPILER PARENT_PATH bin)
  file(REAL_PATH "${CMAKE_Fortran_COMPILER}" real)
  cmake_path(GET real PARENT_PATH real_bin)
  set(places "${real_bin}/../include/flang" "${bin}/../include/flang")
  if(CMAKE_Fortran_COMPILER_ID STREQUAL "GNU")
    execute_process(COMMAND "${CMAKE_Fortran_COMPILER}" -print-file-name=include
      OUTPUT_VARIABLE places OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
  find_file(binding ISO_Fortran_binding.h HINTS ${places} NO_CACHE)
  if(binding)
    configure_file("${binding}" "${folder}/ISO_Fortran_binding.h" COPYONLY)
  endif()
  set(${out_found} "${binding}" PARENT_SCOPE)
endfunction()

# Adds the target viaduct_fortran, known as viaduct::viaduct_fortran, from the sources in a folder.
function(viaduct_add_fortran source_dir)
  set(module_dir "${CMAKE_CURRENT_BINARY_DIR}/viaduct_fortran")
  viaduct_fortran_binding("${module_dir}/binding" found)
  if(NOT found)
    message(FATAL_ERROR "ISO_Fortran_binding.h of ${CMAKE_Fortran_COMPILER} was not found: install what it is part of")
  endif()
  add_library(viaduct_fortran STATIC
    "${source_dir}/viaduct_c.f90" "${source_dir}/viaduct.f90" "${source_dir}/viaduct_descriptor.c")
  add_library(viaduct::viaduct_fortran ALIAS viaduct_fortran)
  set_target_properties(viaduct_fortran PROPERTIES
    C_STANDARD 11
    POSITION_INDEPENDENT_CODE ON
    Fortran_MODULE_DIRECTORY "${module_dir}")
  target_include_directories(viaduct_fortran
    PUBLIC "$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:Fortran>:${module_dir}>>"
    PRIVATE "$<$<COMPILE_LANGUAGE:C>:${module_dir}/binding>")
  target_link_libraries(viaduct_fortran PUBLIC viaduct::viaduct)
endfunction()
