/*
 * The module _viaduct: every function of the header as a flat function of the same name, next to the hand-written types
 * and functions that bindings/python/src adds. Addresses are integers, structs are dicts, handles are the hand-written
 * types (so nothing needs retain or release), and a status other than VIA_OK is an exception raised in the same native
 * frame.
 */
%module(docstring="Viaduct's native layer.") _viaduct

%{
#include <string>

#include "array/array.hpp"
#include "support/errors.hpp"
#include "support/gil.hpp"
#include "objects/handles.hpp"
#include "module.hpp"
#include "raw.hpp"
#include "support/versioned_struct.hpp"
%}

%init %{
  if (viapy::init_module(m) != 0) {
    return -1;
  }
%}

%define %via_waits(FUNCTION)
%exception FUNCTION {
  PyThreadState *unlocked = PyEval_SaveThread();
  $action
  viapy::restore_thread(unlocked);
}
%enddef

/* Handles are released with the object that holds them. */
%rename("$ignore", regextarget=1) "^via_(array|memory|stream|event|task|batch|file|archive)_(retain|release)$";

/* Structs are dicts. */
%ignore via_device_properties;
%ignore via_stats_info;
%ignore via_pointer_info;
%ignore via_dlpack_options;
%ignore via_array_interface;
%ignore via_convert_options;
%ignore via_file_options;
%ignore via_file_properties;
%ignore DLManagedTensorVersioned;
%ignore DLManagedTensor;
%ignore ArrowSchema;
%ignore ArrowDeviceArray;

/* ------------------------------------------------------------------------------------------------- the status */

%define %via_python_returns(OUTPUT)
%typemap(out) via_status RETURNS_ ## OUTPUT {
  if ($1 != VIA_OK) {
    viapy::raise_status($1);
    SWIG_fail;
  }
  $result = viapy::none();
}
%enddef

%via_python_returns(nothing)
%via_python_returns(filled)
%via_python_returns(int32)
%via_python_returns(int64)
%via_python_returns(two_int64)
%via_python_returns(text)
%via_python_returns(bytes)
%via_python_returns(address)
%via_python_returns(array)
%via_python_returns(memory)
%via_python_returns(stream)
%via_python_returns(event)
%via_python_returns(task)
%via_python_returns(batch)
%via_python_returns(file)
%via_python_returns(archive)
%via_python_returns(device_properties)
%via_python_returns(stats_info)
%via_python_returns(pointer_info)
%via_python_returns(array_interface)
%via_python_returns(file_properties)

/* A second output makes a tuple of the first. */
%define %via_python_output(MAKE)
  $result = viapy::append_output($result, MAKE);
  if ($result == nullptr) {
    SWIG_fail;
  }
%enddef

/* ---------------------------------------------------------------------------------------------------- handles */

%typemap(in) via_array * {
  if (!viapy::raw_array("$symname", "$1_name", $input, &$1)) {
    SWIG_fail;
  }
}
%typemap(in, numinputs=0) via_array **out_array (via_array *made = nullptr) { $1 = &made; }
%typemap(argout) via_array **out_array {
  %via_python_output(viapy::new_array(*$1, viapy::Origin::Unknown))
}

%define %via_python_handle(TYPE, OUTPUT, KIND)
%typemap(in) TYPE * {
  if (!viapy::raw_handle(viapy::HandleKind::KIND, "$symname", "$1_name", $input, (void **)&$1)) {
    SWIG_fail;
  }
}
%typemap(in, numinputs=0) TYPE **OUTPUT (TYPE *made = nullptr) { $1 = &made; }
%typemap(argout) TYPE **OUTPUT {
  %via_python_output(viapy::new_handle(viapy::HandleKind::KIND, *$1))
}
%enddef

%via_python_handle(via_memory, out_memory, Memory)
%via_python_handle(via_stream, out_stream, Stream)
%via_python_handle(via_event, out_event, Event)
%via_python_handle(via_task, out_task, Task)
%via_python_handle(via_batch, out_batch, Batch)
%via_python_handle(via_file, out_file, File)
%via_python_handle(via_archive, out_archive, Archive)
%apply via_array **out_array { via_array **out_buffer };

/* A file can be closed, by another thread or by an argument that is read after it: the call holds it. */
%typemap(in) via_file * {
  if (!viapy::raw_handle(viapy::HandleKind::File, "$symname", "$1_name", $input, (void **)&$1)) {
    SWIG_fail;
  }
  via_file_retain($1);
}
%typemap(freearg) via_file * { via_file_release($1); }

%typemap(out) via_stream * { $result = viapy::share_handle(viapy::HandleKind::Stream, $1); }

%typemap(in) (int32_t count, via_array *const *dsts) (viapy::ArrayList list) {
  if (!list.parse("$symname", "dsts", $input)) {
    SWIG_fail;
  }
  $1 = list.count();
  $2 = list.data();
}
%typemap(in) via_array *const *srcs (viapy::ArrayList list) {
  if (!list.parse("$symname", "srcs", $input) || !list.has_length("$symname", "srcs", arg1)) {
    SWIG_fail;
  }
  $1 = list.data();
}

%typemap(in) (int32_t count, via_array *const *arrays) (viapy::ArrayList list) {
  if (!list.parse("$symname", "arrays", $input)) {
    SWIG_fail;
  }
  $1 = list.count();
  $2 = list.data();
}
%typemap(in) const char *const *names (viapy::TextList list) {
  if (!list.parse("$symname", "names", $input, arg2)) {
    SWIG_fail;
  }
  $1 = ($1_ltype)list.data();
}

/* ----------------------------------------------------------------------------------------- addresses and texts */

%typemap(in) void *, const void *, DLManagedTensorVersioned *, DLManagedTensor *, ArrowSchema *, ArrowDeviceArray *,
             via_release_fn, via_alloc_fn, via_free_fn, via_complete_fn {
  void *address = nullptr;
  if (!viapy::raw_address("$symname", "$1_name", $input, &address)) {
    SWIG_fail;
  }
  $1 = ($1_ltype)address;
}
%typemap(out) void *, const void * { $result = PyLong_FromVoidPtr((void *)$1); }

%define %via_python_tensor(TYPE)
%typemap(in, numinputs=0) TYPE **out_tensor (TYPE *made = nullptr) { $1 = &made; }
%typemap(argout) TYPE **out_tensor {
  %via_python_output(PyLong_FromVoidPtr(*$1))
}
%enddef

%via_python_tensor(DLManagedTensorVersioned)
%via_python_tensor(DLManagedTensor)

%typemap(in) const char * {
  if (!viapy::raw_text("$symname", "$1_name", $input, &$1)) {
    SWIG_fail;
  }
}
%typemap(freearg) const char * ""
%typemap(in) const char *path (viapy::Ref hold) {
  if (!viapy::raw_path("$symname", "$1_name", $input, &hold, &$1)) {
    SWIG_fail;
  }
}
%typemap(freearg) const char *path ""
%typemap(in, numinputs=0) (int64_t capacity, char *out_name) (char text[64] = {0}) {
  $1 = sizeof text;
  $2 = text;
}
%typemap(argout) (int64_t capacity, char *out_name) {
  %via_python_output(PyUnicode_FromString($2))
}
%typemap(in, numinputs=0) (int64_t capacity, char *out_text, int64_t *out_length) (char text[4096] = {0},
                                                                                   int64_t length = 0) {
  $1 = sizeof text;
  $2 = text;
  $3 = &length;
}
%typemap(argout) (int64_t capacity, char *out_text, int64_t *out_length) {
  %via_python_output(PyUnicode_FromString($2))
}

/* Of any length: what does not fit is asked for again. */
%typemap(in, numinputs=0) (int64_t capacity, char *out_metadata, int64_t *out_length) (char text[4096] = {0},
                                                                                       int64_t length = 0) {
  $1 = sizeof text;
  $2 = text;
  $3 = &length;
}
%typemap(argout) (int64_t capacity, char *out_metadata, int64_t *out_length) {
  std::string whole;
  if (*$3 >= $1) {
    whole.resize((size_t)*$3);
    if (via_archive_metadata(arg1, *$3 + 1, whole.data(), $3) != VIA_OK) {
      SWIG_fail;
    }
  }
  %via_python_output(PyUnicode_FromStringAndSize(whole.empty() ? $2 : whole.data(), (Py_ssize_t)*$3))
}

%typemap(in) (const void *bytes, int64_t length) (viapy::Bytes given) {
  if ($input != Py_None && !given.parse("$symname", "$1_name", $input)) {
    SWIG_fail;
  }
  $1 = ($1_ltype)given.data();
  $2 = given.length();
}
%typemap(in, numinputs=0) (int64_t capacity, void *out_bytes, int64_t *out_length) (char bytes[VIA_IPC_MAX_BYTES],
                                                                                    int64_t length = 0) {
  $1 = sizeof bytes;
  $2 = bytes;
  $3 = &length;
}
%typemap(argout) (int64_t capacity, void *out_bytes, int64_t *out_length) {
  %via_python_output(PyBytes_FromStringAndSize((const char *)$2, (Py_ssize_t)*$3))
}

/* ----------------------------------------------------------------------------------------------------- numbers */

/* int32_t and int64_t by the names that viaduct.i gives their meaning: integers of any library, refused by name. */
%typemap(in) int {
  if (!viapy::parse_int32("$symname", "$1_name", $input, &$1)) {
    SWIG_fail;
  }
}
%typemap(in) long long (int64_t number = 0) {
  if (!viapy::parse_int64("$symname", "$1_name", $input, &number)) {
    SWIG_fail;
  }
  $1 = number;
}

%typemap(in, numinputs=0) int32_t *out_count (int32_t number = 0), int32_t *out_dtype (int32_t number = 0),
                          int32_t *out_done (int32_t number = 0) { $1 = &number; }
%typemap(argout) int32_t *out_count, int32_t *out_dtype, int32_t *out_done {
  %via_python_output(PyLong_FromLong(*$1))
}
%typemap(in, numinputs=0) int64_t *out_done (int64_t number = 0), int64_t *out_total (int64_t number = 0),
                          int64_t *out_number (int64_t number = 0) {
  $1 = &number;
}
%typemap(argout) int64_t *out_done, int64_t *out_total, int64_t *out_number {
  %via_python_output(PyLong_FromLongLong(*$1))
}

%typemap(in) (int32_t ndim, const int64_t *shape) (viapy::Extents extents) {
  if (!viapy::raw_extents("$symname", "shape", $input, &extents)) {
    SWIG_fail;
  }
  $1 = extents.count;
  $2 = extents.values;
}

%typemap(in) (int32_t count, const int64_t *numbers) (viapy::NumberList list) {
  if (!list.parse("$symname", "numbers", $input)) {
    SWIG_fail;
  }
  $1 = list.count();
  $2 = list.data();
}

/* One number for each axis, of the shape given before or of the array. */
%typemap(in) const int64_t *strides (viapy::Extents extents) {
  if (!viapy::raw_per_axis("$symname", "$1_name", $input, arg3, &extents, &$1)) {
    SWIG_fail;
  }
}
%typemap(in) const int64_t *start (viapy::Extents extents), const int64_t *count (viapy::Extents extents),
             const int64_t *step (viapy::Extents extents) {
  if (!viapy::raw_per_axis("$symname", "$1_name", $input, via_array_ndim(arg1), &extents, &$1)) {
    SWIG_fail;
  }
}
/* Of the shape given before, or of the file. */
%typemap(in) const int64_t *starts (viapy::Extents extents), const int64_t *counts (viapy::Extents extents),
             const int64_t *steps (viapy::Extents extents) {
  if (!viapy::raw_per_axis("$symname", "$1_name", $input, viapy::axes_of_file(arg1, arg3, arg4), &extents, &$1)) {
    SWIG_fail;
  }
}
%typemap(in) const int32_t *axes (viapy::Axes given) {
  if (!given.parse("$symname", "axes", $input) || !given.has_length("$symname", "axes", via_array_ndim(arg1))) {
    SWIG_fail;
  }
  $1 = given.data();
}
%typemap(in) (int32_t count, const int32_t *axes) (viapy::Axes given) {
  if (!given.parse("$symname", "axes", $input)) {
    SWIG_fail;
  }
  $1 = given.count();
  $2 = given.data();
}

%typemap(out) const int64_t *via_array_shape, const int64_t *via_array_strides, const int64_t *via_array_byte_strides {
  $result = $1 != nullptr ? viapy::tuple_of($1, via_array_ndim(arg1)) : viapy::none();
}

/* ----------------------------------------------------------------------------------------------------- structs */

%define %via_python_struct_in(TYPE, NAME, LAYOUT, INIT)
%typemap(in) const TYPE *NAME (TYPE given = INIT) {
  if (!viapy::struct_of_dict("$symname", viapy::LAYOUT, $input, &given)) {
    SWIG_fail;
  }
  $1 = $input == Py_None ? nullptr : &given;
}
%enddef

%define %via_python_struct_out(TYPE, NAME, LAYOUT, INIT)
%typemap(in, numinputs=0) TYPE *NAME (TYPE found = INIT) { $1 = &found; }
%typemap(argout) TYPE *NAME {
  %via_python_output(viapy::dict_of_struct(viapy::LAYOUT, $1))
}
%enddef

%via_python_struct_in(via_dlpack_options, options, kDlpackOptions, VIA_DLPACK_OPTIONS_INIT)
%via_python_struct_in(via_convert_options, options, kConvertOptions, VIA_CONVERT_OPTIONS_INIT)
%via_python_struct_in(via_file_options, options, kFileOptions, VIA_FILE_OPTIONS_INIT)
%via_python_struct_in(via_array_interface, description, kArrayInterface, VIA_ARRAY_INTERFACE_INIT)
%via_python_struct_out(via_array_interface, out_description, kArrayInterface, VIA_ARRAY_INTERFACE_INIT)
%via_python_struct_out(via_device_properties, out_properties, kDeviceProperties, VIA_DEVICE_PROPERTIES_INIT)
%via_python_struct_out(via_stats_info, out_stats, kStatsInfo, VIA_STATS_INFO_INIT)
%via_python_struct_out(via_pointer_info, out_info, kPointerInfo, VIA_POINTER_INFO_INIT)
%via_python_struct_out(via_file_properties, out_properties, kFileProperties, VIA_FILE_PROPERTIES_INIT)

%include "viaduct.i"
