# viaduct_add_capi_test(NAME SOURCE... [LABELS LABEL...] [TIMEOUT SECONDS])
#   a cmocka program linked to the shared library and nothing inside it; ctest knows it as capi.NAME
# viaduct_add_unit_test(NAME SOURCE... [LABELS LABEL...] [TIMEOUT SECONDS])
#   a cmocka program made of the library's objects, which may include what is in src/; ctest knows it as unit.NAME
#
# A test labelled `threads` also runs under ThreadSanitizer.

find_package(PkgConfig REQUIRED)
pkg_check_modules(cmocka REQUIRED IMPORTED_TARGET cmocka)

# ThreadSanitizer of older compilers cannot map its shadow where the kernel randomises addresses widely. Some
# containers forbid turning that off, hence the question.
set(VIADUCT_TEST_LAUNCHER "")
if(VIADUCT_SANITIZE STREQUAL "thread")
  execute_process(COMMAND setarch -R true RESULT_VARIABLE cannot_fix_addresses OUTPUT_QUIET ERROR_QUIET)
  if(NOT cannot_fix_addresses)
    set(VIADUCT_TEST_LAUNCHER setarch -R)
  endif()
endif()

function(viaduct_add_test kind name)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "TIMEOUT" "LABELS;LIBRARIES")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  set(target ${kind}_${name})
  add_executable(${target} ${arg_UNPARSED_ARGUMENTS})
  set_target_properties(${target} PROPERTIES C_STANDARD 11 CXX_STANDARD 20)
  target_link_libraries(${target} PRIVATE
    ${arg_LIBRARIES} viaduct_dlpack PkgConfig::cmocka Threads::Threads viaduct_warnings)
  add_test(NAME ${kind}.${name} COMMAND ${VIADUCT_TEST_LAUNCHER} $<TARGET_FILE:${target}>)
  set_tests_properties(${kind}.${name} PROPERTIES LABELS "${kind};${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
endfunction()

function(viaduct_add_capi_test name)
  viaduct_add_test(capi ${name} ${ARGN} LIBRARIES viaduct::viaduct)
endfunction()

function(viaduct_add_unit_test name)
  viaduct_add_test(unit ${name} ${ARGN} LIBRARIES viaduct_objects)
endfunction()
