# Links libraries so that they load where glibc is VIADUCT_GLIBC_FLOOR or newer, whatever glibc and GCC they are built with:
#
# - libstdc++ is linked in, its symbols hidden. libgcc_s stays shared: the unwinder must be the process's own.
# - The linker is given a stub of libc.so.6, made of the symbols of this system's that the floor has, each in the version
#   of the floor. It skips the real one, which has the same name: what is newer than the floor fails to link.
# - glibc_floor.c has those functions that are newer than the floor, hidden.
#
# Since glibc 2.34 threads and dlopen are in libc.so.6; before, they were in libraries of their own, which are named as
# needed for that reason.
#
# viaduct_link_portably(TARGET) does all that where VIADUCT_PORTABLE is on.
include_guard(GLOBAL)

option(VIADUCT_PORTABLE "Link libraries for older systems than the one that builds them" OFF)
set(VIADUCT_GLIBC_FLOOR 2.28)

set(portable_dir "${CMAKE_CURRENT_LIST_DIR}")
set(portable_build_dir "${PROJECT_BINARY_DIR}/pkgconfig/portable")

# Sets out to the path of a file of the compiler's own libraries, or to "".
function(viaduct_compiler_file out name)
  execute_process(COMMAND "${CMAKE_CXX_COMPILER}" "-print-file-name=${name}"
    OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT EXISTS "${path}" OR NOT IS_ABSOLUTE "${path}")
    set(path "")
  endif()
  set(${out} "${path}" PARENT_SCOPE)
endfunction()

# Sets out_symbols to "KIND NAME VERSION" of each symbol that libc had at the floor, KIND being the letter that nm gives it.
# Those without a default version are left out: they are for programs of long ago. LLVM's nm and GNU's of 2.35 or newer
# show versions unasked, and LLVM's has no option for it.
function(viaduct_symbols_at_floor out_symbols libc)
  execute_process(COMMAND "${CMAKE_NM}" -D "${libc}" OUTPUT_VARIABLE listed)
  string(REGEX MATCHALL "[TWiDBRV] [A-Za-z0-9_]+@+GLIBC_[0-9.]+" listed "${listed}")
  set(names "")
  foreach(line IN LISTS listed)
    string(REGEX MATCH "(.) ([A-Za-z0-9_]+)(@+)GLIBC_([0-9.]+)" _ "${line}")
    set(name "${CMAKE_MATCH_2}")
    if(CMAKE_MATCH_3 STREQUAL "@@")
      set(default_${name} TRUE)
    endif()
    if(CMAKE_MATCH_4 VERSION_LESS_EQUAL VIADUCT_GLIBC_FLOOR AND NOT CMAKE_MATCH_4 VERSION_LESS "${version_${name}}")
      set(version_${name} "${CMAKE_MATCH_4}")
      set(kind_${name} "${CMAKE_MATCH_1}")
      list(APPEND names "${name}")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES names)
  set(symbols "")
  foreach(name IN LISTS names)
    if(default_${name})
      list(APPEND symbols "${kind_${name}} ${name} GLIBC_${version_${name}}")
    endif()
  endforeach()
  set(${out_symbols} "${symbols}" PARENT_SCOPE)
endfunction()

# The stub's source and its version script.
function(viaduct_write_stub source script)
  set(code "")
  set(nodes "")
  set(versions "")
  foreach(symbol IN LISTS ARGN)
    string(REPLACE " " ";" symbol "${symbol}")
    list(GET symbol 0 kind)
    list(GET symbol 1 name)
    list(GET symbol 2 version)
    if(kind MATCHES "[TWi]")
      string(APPEND code "void at_${name}(void) {}\n")
    else()
      string(APPEND code "char at_${name}[8];\n")
    endif()
    string(APPEND code "__asm__(\".symver at_${name}, ${name}@@${version}\");\n")
    list(APPEND versions "${version}")
  endforeach()
  list(REMOVE_DUPLICATES versions)
  foreach(version IN LISTS versions)
    string(APPEND nodes "${version} {};\n")
  endforeach()
  file(CONFIGURE OUTPUT "${source}" CONTENT "${code}" @ONLY)
  file(CONFIGURE OUTPUT "${script}" CONTENT "${nodes}" @ONLY)
endfunction()

function(viaduct_add_stub libc)
  viaduct_symbols_at_floor(symbols "${libc}")
  viaduct_write_stub("${portable_build_dir}/stub.c" "${portable_build_dir}/stub.map" ${symbols})
  add_library(viaduct_libc_stub SHARED "${portable_build_dir}/stub.c")
  set_target_properties(viaduct_libc_stub PROPERTIES NO_SONAME TRUE LIBRARY_OUTPUT_DIRECTORY "${portable_build_dir}")
  target_link_options(viaduct_libc_stub PRIVATE
    -nostdlib "LINKER:-soname,libc.so.6" "LINKER:--version-script=${portable_build_dir}/stub.map")
endfunction()

function(viaduct_link_portably target)
  if(NOT TARGET viaduct_glibc_floor)
    return()
  endif()
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:viaduct_glibc_floor>)
  # The stub is no library of the target's: it is neither exported nor looked for when the target is loaded.
  add_dependencies(${target} viaduct_libc_stub)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${portable_build_dir}/libviaduct_libc_stub.so")
  target_link_options(${target} PRIVATE
    -static-libstdc++ LINKER:--exclude-libs,ALL LINKER:--gc-sections LINKER:--push-state LINKER:--no-as-needed
    $<TARGET_FILE:viaduct_libc_stub> -l:libpthread.so.0 -l:libdl.so.2 LINKER:--pop-state)
endfunction()

if(VIADUCT_PORTABLE)
  viaduct_compiler_file(libc libc.so.6)
  viaduct_compiler_file(libstdcxx libstdc++.a)
  if(VIADUCT_SANITIZE OR NOT libc OR NOT libstdcxx)
    message(STATUS "Portable: left out, the compiler has no libc.so.6 or no libstdc++.a, or sanitizes")
  else()
    message(STATUS "Portable: for glibc ${VIADUCT_GLIBC_FLOOR} and newer")
    viaduct_add_stub("${libc}")
    add_library(viaduct_glibc_floor OBJECT "${portable_dir}/glibc_floor.c")
    set_target_properties(viaduct_glibc_floor PROPERTIES C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(viaduct_glibc_floor PRIVATE viaduct_warnings)
  endif()
endif()
