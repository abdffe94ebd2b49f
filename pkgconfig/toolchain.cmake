# How this project is compiled: warnings, sanitizers, the compiler cache.

add_library(viaduct_warnings INTERFACE)
# Conversions that lose value are warned of; those that only change sign are not: extents are signed 64-bit by
# contract, the C library counts in size_t, and a cast at each meeting hides more than it shows.
target_compile_options(viaduct_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
  $<$<BOOL:${VIADUCT_WERROR}>:-Werror>)

# A product and a sum are rounded one by one, so that numbers have the same bits on every processor.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)

# Sanitizers must see every object of the tree, so they are set for the directory and not for targets.
if(VIADUCT_SANITIZE STREQUAL "address")
  set(sanitizer_flags -fsanitize=address,undefined)
elseif(VIADUCT_SANITIZE STREQUAL "thread")
  set(sanitizer_flags -fsanitize=thread)
elseif(VIADUCT_SANITIZE STREQUAL "fuzz")
  # As address, with the counters that libFuzzer steers by; its main is linked to the fuzzers alone. To look at every
  # comparison too would halve how many inputs it runs, and leads it no further.
  set(sanitizer_flags -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-coverage=trace-cmp)
elseif(NOT VIADUCT_SANITIZE STREQUAL "")
  message(FATAL_ERROR "VIADUCT_SANITIZE is '${VIADUCT_SANITIZE}'; expected empty, address, thread or fuzz")
endif()
if(VIADUCT_SANITIZE)
  add_compile_options(${sanitizer_flags} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(${sanitizer_flags})
endif()

# A second build tree, or a fresh clone, then costs seconds. A parent project makes this choice for itself.
if(PROJECT_IS_TOP_LEVEL)
  find_program(VIADUCT_CCACHE ccache)
  mark_as_advanced(VIADUCT_CCACHE)
  foreach(language IN ITEMS C CXX)
    if(VIADUCT_CCACHE AND NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER "${VIADUCT_CCACHE}")
    endif()
  endforeach()
endif()

# The interpreter of an active virtual environment is the one meant, and moves with it: a cached one would not.
if(NOT Python_EXECUTABLE AND EXISTS "$ENV{VIRTUAL_ENV}/bin/python")
  set(Python_EXECUTABLE "$ENV{VIRTUAL_ENV}/bin/python")
endif()
