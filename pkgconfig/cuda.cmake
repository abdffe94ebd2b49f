# Finds the headers of the CUDA driver, cuda.h and cudaTypedefs.h of Toolkit 12.0 or newer. The driver itself is opened
# at run time, so headers are all that is needed: no compiler, no library of NVIDIA's.
#
# They are looked for in this order: VIADUCT_CUDA_INCLUDE_DIR, the Toolkit (CUDAToolkit_ROOT, CUDA_HOME, CUDA_PATH, nvcc in PATH,
# /usr/local/cuda), the Python package nvidia-cuda-runtime.
#
# viaduct_find_cuda_headers(OUT_DIR) sets OUT_DIR to the folder, or to "" and OUT_DIR_MISSING to what is missing, in a
# line.
#
# The kernels need nvcc besides, of the same versions: VIADUCT_NVCC, the Toolkit's, or that of the Python packages
# nvidia-cuda-nvcc, nvidia-nvvm and nvidia-cuda-crt of CUDA 13. viaduct_find_nvcc(OUT) sets OUT to the program and
# OUT_VERSION, or OUT to "" and OUT_MISSING.
include_guard(GLOBAL)

# For every folder that includes this: a plain variable would be there for the first one only.
set(VIADUCT_CUDA_MINIMUM 12.0 CACHE INTERNAL "The least version of the Toolkit")
set(VIADUCT_CUDA_INCLUDE_DIR "" CACHE PATH "Folder that holds cuda.h of the CUDA Toolkit, ${VIADUCT_CUDA_MINIMUM} or newer")

# Sets out_version to that of dir/cuda.h, or to 0 where there is none or its other half is missing.
function(viaduct_cuda_version out_version dir)
  set(${out_version} 0 PARENT_SCOPE)
  if(NOT EXISTS "${dir}/cuda.h" OR NOT EXISTS "${dir}/cudaTypedefs.h")
    return()
  endif()
  file(STRINGS "${dir}/cuda.h" line REGEX "^#define CUDA_VERSION +[0-9]+" LIMIT_COUNT 1)
  if(line MATCHES "([0-9]+)$")
    math(EXPR major "${CMAKE_MATCH_1} / 1000")
    math(EXPR minor "${CMAKE_MATCH_1} % 1000 / 10")
    set(${out_version} "${major}.${minor}" PARENT_SCOPE)
  endif()
endfunction()

function(viaduct_cuda_dirs_of_toolkit out_dirs)
  set(roots "${CUDAToolkit_ROOT}" "$ENV{CUDAToolkit_ROOT}" "$ENV{CUDA_HOME}" "$ENV{CUDA_PATH}")
  # Where a script or a link stands for nvcc, the Toolkit is where that leads.
  find_program(nvcc nvcc NO_CACHE)
  if(nvcc)
    execute_process(COMMAND "${nvcc}" --dryrun -E -x cu /dev/null
      ERROR_VARIABLE steps OUTPUT_QUIET RESULT_VARIABLE failed)
    if(NOT failed AND steps MATCHES "#\\$ TOP=([^\n]+)")
      list(APPEND roots "${CMAKE_MATCH_1}")
    endif()
  endif()
  list(APPEND roots /usr/local/cuda)
  set(dirs "")
  foreach(root IN LISTS roots)
    if(root)
      list(APPEND dirs "${root}/include" "${root}/targets/${CMAKE_SYSTEM_PROCESSOR}-linux/include")
    endif()
  endforeach()
  set(${out_dirs} "${dirs}" PARENT_SCOPE)
endfunction()

# Packages of CUDA 13 share one folder; those of CUDA 12 have one each.
function(viaduct_cuda_dirs_of_python_package out_dirs)
  set(${out_dirs} "" PARENT_SCOPE)
  find_package(Python COMPONENTS Interpreter QUIET)
  if(NOT Python_Interpreter_FOUND)
    return()
  endif()
  set(ask [[
import importlib.util
spec = importlib.util.find_spec("nvidia")
for place in spec.submodule_search_locations if spec else ():
    print(place + "/cu13/include", place + "/cuda_runtime/include", sep="\n")
]])
  execute_process(COMMAND "${Python_EXECUTABLE}" -c "${ask}"
    OUTPUT_VARIABLE dirs OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  string(REPLACE "\n" ";" dirs "${dirs}")
  set(${out_dirs} "${dirs}" PARENT_SCOPE)
endfunction()

function(viaduct_find_cuda_headers out_dir)
  set(tried "")
  foreach(source IN ITEMS variable toolkit python_package)
    if(source STREQUAL "variable")
      set(dirs "${VIADUCT_CUDA_INCLUDE_DIR}")
    else()
      cmake_language(CALL viaduct_cuda_dirs_of_${source} dirs)
    endif()
    foreach(dir IN LISTS dirs)
      viaduct_cuda_version(version "${dir}")
      if(version VERSION_GREATER_EQUAL VIADUCT_CUDA_MINIMUM)
        file(REAL_PATH "${dir}" dir)
        set(${out_dir} "${dir}" PARENT_SCOPE)
        set(${out_dir}_VERSION "${version}" PARENT_SCOPE)
        return()
      elseif(version)
        string(APPEND tried " (${dir} has ${version})")
      endif()
    endforeach()
  endforeach()
  set(${out_dir} "" PARENT_SCOPE)
  set(${out_dir}_MISSING "cuda.h and cudaTypedefs.h of the CUDA Toolkit, ${VIADUCT_CUDA_MINIMUM} or newer${tried}: set \
CUDA_HOME, or `pip install nvidia-cuda-runtime`, or set VIADUCT_CUDA_INCLUDE_DIR" PARENT_SCOPE)
endfunction()

set(VIADUCT_NVCC "" CACHE FILEPATH "nvcc of the CUDA Toolkit, ${VIADUCT_CUDA_MINIMUM} or newer")

# Sets out to a tool for the machine that builds: `native`, or where that is a cross tool, the one called `name`. nvcc needs
# a compiler for the host's half of what it compiles, of which nothing is kept.
function(viaduct_build_tool out native name)
  if(CMAKE_CROSSCOMPILING)
    unset(tool)
    find_program(tool NAMES ${name} NO_CACHE NO_CMAKE_FIND_ROOT_PATH REQUIRED)
    set(native "${tool}")
  endif()
  set(${out} "${native}" PARENT_SCOPE)
endfunction()

# Sets out_version to that of a program which is nvcc, can compile, and is new enough; else to 0 and adds to `tried` why.
function(viaduct_nvcc_version out_version out_tried nvcc)
  set(${out_version} 0 PARENT_SCOPE)
  execute_process(COMMAND "${nvcc}" --version OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE failed)
  if(failed OR NOT text MATCHES "release ([0-9]+\\.[0-9]+)")
    return()
  endif()
  set(version "${CMAKE_MATCH_1}")
  if(version VERSION_LESS VIADUCT_CUDA_MINIMUM)
    set(${out_tried} "${${out_tried}} (${nvcc} is of ${version})" PARENT_SCOPE)
    return()
  endif()
  # Some of the packages that it is made of may not be installed.
  set(source "${CMAKE_BINARY_DIR}/CMakeFiles/nvcc_works.cu")
  file(WRITE "${source}" "extern \"C\" __global__ void nothing() {}\n")
  viaduct_build_tool(host_compiler "${CMAKE_CXX_COMPILER}" c++)
  execute_process(COMMAND "${nvcc}" -ccbin "${host_compiler}" -allow-unsupported-compiler -cubin -o "${source}.bin"
    "${source}" OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE failed)
  if(failed)
    set(${out_tried} "${${out_tried}} (${nvcc} compiles nothing)" PARENT_SCOPE)
  else()
    set(${out_version} "${version}" PARENT_SCOPE)
  endif()
endfunction()

function(viaduct_find_nvcc out_nvcc)
  set(tried "")
  set(candidates "${VIADUCT_NVCC}")
  foreach(root IN ITEMS "${CUDAToolkit_ROOT}" "$ENV{CUDAToolkit_ROOT}" "$ENV{CUDA_HOME}" "$ENV{CUDA_PATH}")
    if(root)
      list(APPEND candidates "${root}/bin/nvcc")
    endif()
  endforeach()
  unset(in_path)
  find_program(in_path nvcc NO_CACHE)
  list(APPEND candidates "${in_path}" /usr/local/cuda/bin/nvcc)
  viaduct_cuda_dirs_of_python_package(dirs)
  foreach(dir IN LISTS dirs)
    list(APPEND candidates "${dir}/../bin/nvcc")
  endforeach()
  foreach(candidate IN LISTS candidates)
    if(candidate AND EXISTS "${candidate}")
      viaduct_nvcc_version(version tried "${candidate}")
      if(version)
        set(${out_nvcc} "${candidate}" PARENT_SCOPE)
        set(${out_nvcc}_VERSION "${version}" PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
  set(${out_nvcc} "" PARENT_SCOPE)
  set(${out_nvcc}_MISSING "nvcc of the CUDA Toolkit, ${VIADUCT_CUDA_MINIMUM} or newer${tried}: put it in PATH, or set \
CUDA_HOME, or `pip install nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt`, or set VIADUCT_NVCC" PARENT_SCOPE)
endfunction()
