# viaduct_add_capi_test(NAME SOURCE... [LABELS LABEL...] [TIMEOUT SECONDS])
#   a cmocka program linked to the shared library and nothing inside it; ctest knows it as capi.NAME
# viaduct_add_unit_test(NAME SOURCE... [LABELS LABEL...] [TIMEOUT SECONDS])
#   a cmocka program made of the library's objects, which may include what is in src/; ctest knows it as unit.NAME
# viaduct_add_cpp_test(NAME SOURCE... [STANDARD 17|20|23] [LABELS LABEL...] [TIMEOUT SECONDS])
#   a cmocka program that uses the C++ layer, as C++17 unless another standard is named; ctest knows it as cpp.NAME
# viaduct_add_gpu_test(NAME SOURCE... [LABELS LABEL...] [TIMEOUT SECONDS] [SETTINGS NAME=VALUE...])
#   a cmocka program like those of capi, with the driver in reach (tests/gpu/support.h); ctest knows it as gpu.NAME and
#   runs it on the fake driver with two devices, or as SETTINGS say
#
# A test labelled `long` is left to `./dev test --all`, and one labelled `heavy` is left out under QEMU. One labelled `threads` also runs under ThreadSanitizer, and no other is built
# there.

find_package(PkgConfig REQUIRED)
pkg_check_modules(cmocka REQUIRED IMPORTED_TARGET cmocka)
# Deprecated by this name since 2.0.
if(cmocka_VERSION VERSION_LESS 2)
  target_compile_definitions(PkgConfig::cmocka INTERFACE assert_int_in_range=assert_in_range)
endif()

# ThreadSanitizer of older compilers cannot map its shadow where the kernel randomises addresses widely. Some
# containers forbid turning that off, hence the question.
set(VIADUCT_TEST_LAUNCHER ${CMAKE_CROSSCOMPILING_EMULATOR})
if(VIADUCT_SANITIZE STREQUAL "thread")
  execute_process(COMMAND setarch -R true RESULT_VARIABLE cannot_fix_addresses OUTPUT_QUIET ERROR_QUIET)
  if(NOT cannot_fix_addresses)
    set(VIADUCT_TEST_LAUNCHER setarch -R)
  endif()
endif()

# Sanitized programs are several times as slow, and those that QEMU runs more than that. Another project that runs them
# says so by setting it before.
if(CMAKE_CROSSCOMPILING)
  set(VIADUCT_TEST_PATIENCE 8)
elseif(VIADUCT_SANITIZE)
  set(VIADUCT_TEST_PATIENCE 4)
elseif(NOT DEFINED VIADUCT_TEST_PATIENCE)
  set(VIADUCT_TEST_PATIENCE 1)
endif()

function(viaduct_add_test kind name)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "TIMEOUT" "LABELS;LIBRARIES")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * ${VIADUCT_TEST_PATIENCE}")
  set(target ${kind}_${name})
  add_executable(${target} ${arg_UNPARSED_ARGUMENTS})
  set_target_properties(${target} PROPERTIES C_STANDARD 11 CXX_STANDARD 20)
  target_link_libraries(${target} PRIVATE
    ${arg_LIBRARIES} viaduct_dlpack PkgConfig::cmocka Threads::Threads ${CMAKE_DL_LIBS} viaduct_warnings)
  if(VIADUCT_SANITIZE STREQUAL "thread" AND NOT "threads" IN_LIST arg_LABELS)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL TRUE)
  endif()
  add_test(NAME ${kind}.${name} COMMAND ${VIADUCT_TEST_LAUNCHER} $<TARGET_FILE:${target}>)
  set_tests_properties(${kind}.${name} PROPERTIES LABELS "${kind};${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
endfunction()

function(viaduct_add_capi_test name)
  viaduct_add_test(capi ${name} ${ARGN} LIBRARIES viaduct::viaduct)
endfunction()

function(viaduct_add_cpp_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "STANDARD" "")
  if(NOT arg_STANDARD)
    set(arg_STANDARD 17)
  endif()
  viaduct_add_test(cpp ${name} ${arg_UNPARSED_ARGUMENTS} LIBRARIES viaduct::viaduct_cpp)
  set_target_properties(cpp_${name} PROPERTIES CXX_STANDARD ${arg_STANDARD})
endfunction()

function(viaduct_add_unit_test name)
  viaduct_add_test(unit ${name} ${ARGN} LIBRARIES viaduct_internals)
endfunction()

# What all of those share, compiled once.
function(viaduct_add_gpu_support)
  set(support support.c pattern.c hold.c apart.c)
  list(TRANSFORM support PREPEND "${PROJECT_SOURCE_DIR}/tests/gpu/")
  add_library(gpu_support OBJECT ${support})
  set_target_properties(gpu_support PROPERTIES C_STANDARD 11)
  target_include_directories(gpu_support PUBLIC
    "${PROJECT_SOURCE_DIR}/tests/gpu" "${PROJECT_SOURCE_DIR}/tests/fakecuda")
  get_property(cuda_dir GLOBAL PROPERTY VIADUCT_CUDA_DIR)
  target_include_directories(gpu_support SYSTEM PUBLIC "${cuda_dir}")
  target_link_libraries(gpu_support
    PUBLIC viaduct::viaduct viaduct_dlpack PkgConfig::cmocka Threads::Threads ${CMAKE_DL_LIBS}
    PRIVATE viaduct_warnings)
endfunction()

function(viaduct_add_gpu_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SETTINGS")
  if(NOT TARGET gpu_support)
    viaduct_add_gpu_support()
  endif()
  viaduct_add_test(gpu ${name} ${arg_UNPARSED_ARGUMENTS} LIBRARIES gpu_support)
  set_target_properties(gpu_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/gpu")
  add_dependencies(gpu_${name} fakecuda)
  set_tests_properties(gpu.${name} PROPERTIES
    SKIP_RETURN_CODE 77
    ENVIRONMENT "VIADUCT_LIBCUDA=$<TARGET_FILE:fakecuda>;VIADUCT_FAKECUDA_DEVICES=2;${arg_SETTINGS}")
endfunction()
