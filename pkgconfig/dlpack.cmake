# Finds dlpack/dlpack.h, version 1.2 or newer, as the target viaduct_dlpack. It is a private dependency: viaduct.h only
# forward-declares DLPack's structs, so nothing of this reaches an installed package.
#
# Looked for in this order: VIADUCT_DLPACK_INCLUDE_DIR, a CMake package `dlpack`, the Python package apache-tvm-ffi.

set(VIADUCT_DLPACK_MINIMUM 1.2)
set(VIADUCT_DLPACK_INCLUDE_DIR "" CACHE PATH "Folder that holds dlpack/dlpack.h, ${VIADUCT_DLPACK_MINIMUM} or newer")

# Sets out_version to that of include_dir/dlpack/dlpack.h, or to 0 where there is none.
function(viaduct_dlpack_version out_version include_dir)
  set(${out_version} 0 PARENT_SCOPE)
  set(header "${include_dir}/dlpack/dlpack.h")
  if(NOT EXISTS "${header}")
    return()
  endif()
  file(READ "${header}" text)
  if(text MATCHES "#define DLPACK_MAJOR_VERSION ([0-9]+)")
    set(major ${CMAKE_MATCH_1})
    if(text MATCHES "#define DLPACK_MINOR_VERSION ([0-9]+)")
      set(${out_version} "${major}.${CMAKE_MATCH_1}" PARENT_SCOPE)
    endif()
  endif()
endfunction()

function(viaduct_dlpack_dir_of_cmake_package out_dir)
  set(${out_dir} "" PARENT_SCOPE)
  find_package(dlpack CONFIG QUIET)
  if(TARGET dlpack::dlpack)
    get_target_property(dirs dlpack::dlpack INTERFACE_INCLUDE_DIRECTORIES)
    list(GET dirs 0 dir)
    set(${out_dir} "${dir}" PARENT_SCOPE)
  endif()
endfunction()

# Asks the interpreter where the package lies, without importing it: only its header is wanted, not its library.
function(viaduct_dlpack_dir_of_python_package out_dir)
  set(${out_dir} "" PARENT_SCOPE)
  find_package(Python COMPONENTS Interpreter QUIET)
  if(NOT Python_Interpreter_FOUND)
    return()
  endif()
  set(ask "import importlib.util as u; s = u.find_spec('tvm_ffi'); print(s.submodule_search_locations[0] if s else '')")
  execute_process(COMMAND "${Python_EXECUTABLE}" -c "${ask}"
    OUTPUT_VARIABLE package OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(package)
    set(${out_dir} "${package}/include" PARENT_SCOPE)
  endif()
endfunction()

function(viaduct_find_dlpack out_dir)
  set(tried "")
  foreach(source IN ITEMS variable cmake_package python_package)
    if(source STREQUAL "variable")
      set(dir "${VIADUCT_DLPACK_INCLUDE_DIR}")
    else()
      cmake_language(CALL viaduct_dlpack_dir_of_${source} dir)
    endif()
    viaduct_dlpack_version(version "${dir}")
    if(version VERSION_GREATER_EQUAL VIADUCT_DLPACK_MINIMUM)
      message(STATUS "DLPack ${version}: ${dir}")
      set(${out_dir} "${dir}" PARENT_SCOPE)
      return()
    endif()
    if(dir)
      string(APPEND tried "\n  ${dir} has version ${version} (0: none)")
    endif()
  endforeach()
  message(FATAL_ERROR "dlpack/dlpack.h, version ${VIADUCT_DLPACK_MINIMUM} or newer, was not found.${tried}\n"
    "Install it as the CMake package dlpack, or `pip install apache-tvm-ffi` for the python3 in PATH, "
    "or set VIADUCT_DLPACK_INCLUDE_DIR to the folder that holds dlpack/dlpack.h.")
endfunction()

# Sets out_files to the licence that came with the header: in its repository, in Debian's package, or in that of Python.
function(viaduct_find_dlpack_licences out_files include_dir)
  file(GLOB files
    "${include_dir}/../LICENSE"
    "${include_dir}/../share/doc/libdlpack-dev/copyright"
    "${include_dir}/../../apache_tvm_ffi-*.dist-info/licenses/*")
  set(${out_files} "${files}" PARENT_SCOPE)
endfunction()

viaduct_find_dlpack(dlpack_dir)
add_library(viaduct_dlpack INTERFACE)
target_include_directories(viaduct_dlpack SYSTEM INTERFACE "${dlpack_dir}")
