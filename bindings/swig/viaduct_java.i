/*
 * The class Native of org.viaduct: every function of the header as a static native method of the same name, for the
 * hand-written classes of bindings/java/src alone. Handles and addresses are longs, structs the addresses of such, texts
 * bytes of UTF-8, lists arrays, and a status other than VIA_OK is an exception thrown in the same native frame.
 */
%module(jniclassname="Native") Via

%{
#include "arguments.hpp"
#include "errors.hpp"
%}

%pragma(java) jniclassclassmodifiers = "final class"
%pragma(java) moduleclassmodifiers = "final class"
%pragma(java) jniclasscode = %{
  static {
    NativeLibrary.load();
  }

  private Native() {}
%}

/* Constants are those of a compiler: they can be cases of a switch. */
%javaconst(1);
%include "enumsimple.swg"

/* Nothing needs to be locked or released around a call that waits. */
%define %via_waits(FUNCTION)
%enddef

%ignore DLManagedTensorVersioned;
%ignore DLManagedTensor;
%ignore ArrowSchema;
%ignore ArrowDeviceArray;

/* What crosses as one type of JNI's and of Java's, reported by the C type (and name). */
%define %via_java_type(TYPE, JNI, JAVA)
%typemap(jni) TYPE "JNI"
%typemap(jtype) TYPE "JAVA"
%typemap(jstype) TYPE "JAVA"
%typemap(javain) TYPE "$javainput"
%typemap(javaout) TYPE { return $jnicall; }
%enddef

/* ------------------------------------------------------------------------------------------------- the status */

%define %via_java_returns(OUTPUT, JNI, JAVA)
%via_java_type(via_status RETURNS_ ## OUTPUT, JNI, JAVA)
%typemap(out) via_status RETURNS_ ## OUTPUT {
  if ($1 != VIA_OK) {
    viajava::throw_status(jenv, $1);
    return $null;
  }
}
%enddef

%via_java_returns(nothing, void, void)
%via_java_returns(filled, void, void)
%via_java_returns(device_properties, void, void)
%via_java_returns(stats_info, void, void)
%via_java_returns(pointer_info, void, void)
%via_java_returns(array_interface, void, void)
%via_java_returns(file_properties, void, void)
%via_java_returns(int32, jint, int)
%via_java_returns(int64, jlong, long)
%via_java_returns(two_int64, jlongArray, long[])
%via_java_returns(text, jbyteArray, byte[])
%via_java_returns(bytes, jbyteArray, byte[])
%via_java_returns(address, jlong, long)
%via_java_returns(array, jlong, long)
%via_java_returns(memory, jlong, long)
%via_java_returns(stream, jlong, long)
%via_java_returns(event, jlong, long)
%via_java_returns(task, jlong, long)
%via_java_returns(batch, jlong, long)
%via_java_returns(file, jlong, long)
%via_java_returns(archive, jlong, long)

/* ---------------------------------------------------------------------------------------------------- outputs */

%define %via_java_made(TYPE, NAME)
%typemap(in, numinputs=0) TYPE **NAME (TYPE *made = nullptr) { $1 = &made; }
%typemap(argout) TYPE **NAME { $result = (jlong)(intptr_t)*$1; }
%enddef

%via_java_made(via_array, out_array)
%via_java_made(via_memory, out_memory)
%via_java_made(via_stream, out_stream)
%via_java_made(via_event, out_event)
%via_java_made(via_task, out_task)
%via_java_made(via_batch, out_batch)
%via_java_made(via_file, out_file)
%via_java_made(via_archive, out_archive)
%via_java_made(via_array, out_buffer)
%via_java_made(DLManagedTensorVersioned, out_tensor)
%via_java_made(DLManagedTensor, out_tensor)

%typemap(in, numinputs=0) int32_t *out_count (int32_t number = 0), int32_t *out_dtype (int32_t number = 0),
                          int32_t *out_done (int32_t number = 0) { $1 = &number; }
%typemap(argout) int32_t *out_count, int32_t *out_dtype, int32_t *out_done { $result = *$1; }

%typemap(in, numinputs=0) int64_t *out_number (int64_t number = 0) { $1 = &number; }
%typemap(argout) int64_t *out_number { $result = *$1; }

%typemap(in, numinputs=0) (int64_t *out_done, int64_t *out_total) (int64_t numbers[2] = {0, 0}) {
  $1 = &numbers[0];
  $2 = &numbers[1];
}
%typemap(argout) (int64_t *out_done, int64_t *out_total) { $result = viajava::new_longs(jenv, $1, 2); }

%typemap(in, numinputs=0) (int64_t capacity, char *out_name) (char text[64] = {0}) {
  $1 = sizeof text;
  $2 = text;
}
%typemap(in, numinputs=0) (int64_t capacity, char *out_text, int64_t *out_length) (char text[4096] = {0},
                                                                                   int64_t length = 0) {
  $1 = sizeof text;
  $2 = text;
  $3 = &length;
}
%typemap(freearg) (int64_t capacity, char *out_name), (int64_t capacity, char *out_text, int64_t *out_length) ""
%typemap(argout) (int64_t capacity, char *out_name), (int64_t capacity, char *out_text, int64_t *out_length) {
  $result = viajava::new_text(jenv, $2);
}

/* Of any length: what does not fit is asked for again. */
%typemap(in, numinputs=0) (int64_t capacity, char *out_metadata, int64_t *out_length) (char text[4096] = {0},
                                                                                       int64_t length = 0) {
  $1 = sizeof text;
  $2 = text;
  $3 = &length;
}
%typemap(freearg) (int64_t capacity, char *out_metadata, int64_t *out_length) ""
%typemap(argout) (int64_t capacity, char *out_metadata, int64_t *out_length) {
  viajava::LongText whole;
  if (*$3 >= $1) {
    const int64_t needed = *$3 + 1;
    if (!whole.allocate(jenv, needed) || via_archive_metadata(arg1, needed, whole.data(), $3) != VIA_OK) {
      return $null;
    }
  }
  $result = viajava::new_text(jenv, whole.data() != nullptr ? whole.data() : $2);
}

%typemap(in, numinputs=0) (int64_t capacity, void *out_bytes, int64_t *out_length) (char bytes[VIA_IPC_MAX_BYTES],
                                                                                    int64_t length = 0) {
  $1 = sizeof bytes;
  $2 = bytes;
  $3 = &length;
}
%typemap(argout) (int64_t capacity, void *out_bytes, int64_t *out_length) {
  $result = viajava::new_bytes(jenv, $2, *$3);
}

/* ------------------------------------------------------------------------------------------ addresses and texts */

%via_java_type(SWIGTYPE *, jlong, long)
%via_java_type(void *, jlong, long)
%via_java_type(const void *, jlong, long)
%typemap(in) SWIGTYPE *, void *, const void * { $1 = ($1_ltype)(intptr_t)$input; }
%typemap(out) SWIGTYPE *, void *, const void * { $result = (jlong)(intptr_t)$1; }
%apply void * { via_release_fn, via_alloc_fn, via_free_fn, via_complete_fn };

%via_java_type((const void *bytes, int64_t length), jbyteArray, byte[])
%typemap(in) (const void *bytes, int64_t length) (viajava::Bytes given) {
  if (!given.read(jenv, "$1_name", $input)) {
    return $null;
  }
  $1 = ($1_ltype)given.data();
  $2 = given.length();
}

%via_java_type(const char *, jbyteArray, byte[])
%typemap(in) const char * (viajava::Text given) {
  if (!given.read(jenv, "$1_name", $input)) {
    return $null;
  }
  $1 = given.data();
}
%typemap(freearg) const char * ""
%typemap(out) const char * { $result = viajava::new_text(jenv, $1); }

/* ------------------------------------------------------------------------------------------------------- lists */

%via_java_type((int32_t ndim, const int64_t *shape), jlongArray, long[])
%typemap(in) (int32_t ndim, const int64_t *shape) (viajava::Extents extents) {
  if (!extents.read_shape(jenv, "$2_name", $input)) {
    return $null;
  }
  $1 = extents.count();
  $2 = extents.data();
}

%via_java_type((int32_t count, const int64_t *numbers), jlongArray, long[])
%typemap(in) (int32_t count, const int64_t *numbers) (viajava::Longs list) {
  if (!list.read(jenv, "numbers", $input)) {
    return $null;
  }
  $1 = list.count();
  $2 = list.data();
}

/* One number for each axis, of the shape given before or of the array. */
%via_java_type(const int64_t *strides, jlongArray, long[])
%typemap(in) const int64_t *strides (viajava::Extents extents) {
  if (!extents.read_per_axis(jenv, "$1_name", $input, arg3)) {
    return $null;
  }
  $1 = extents.data();
}
%via_java_type(const int64_t *start, jlongArray, long[])
%via_java_type(const int64_t *count, jlongArray, long[])
%via_java_type(const int64_t *step, jlongArray, long[])
%typemap(in) const int64_t *start (viajava::Extents extents), const int64_t *count (viajava::Extents extents),
             const int64_t *step (viajava::Extents extents) {
  if (!extents.read_per_axis(jenv, "$1_name", $input, via_array_ndim(arg1))) {
    return $null;
  }
  $1 = extents.data();
}
/* The class that calls these knows how many axes its file has. */
%via_java_type(const int64_t *starts, jlongArray, long[])
%via_java_type(const int64_t *counts, jlongArray, long[])
%via_java_type(const int64_t *steps, jlongArray, long[])
%typemap(in) const int64_t *starts (viajava::Extents extents), const int64_t *counts (viajava::Extents extents),
             const int64_t *steps (viajava::Extents extents) {
  extents.read(jenv, $input);
  $1 = extents.data();
}

%via_java_type(const int32_t *axes, jintArray, int[])
%typemap(in) const int32_t *axes (viajava::Axes given) {
  if (!given.read_per_axis(jenv, "$1_name", $input, via_array_ndim(arg1))) {
    return $null;
  }
  $1 = given.data();
}
%via_java_type((int32_t count, const int32_t *axes), jintArray, int[])
%typemap(in) (int32_t count, const int32_t *axes) (viajava::Axes given) {
  given.read(jenv, $input);
  $1 = given.count();
  $2 = given.data();
}

%via_java_type(const int64_t *, jlongArray, long[])
%typemap(out) const int64_t *via_array_shape, const int64_t *via_array_strides, const int64_t *via_array_byte_strides {
  $result = $1 != nullptr ? viajava::new_longs(jenv, $1, via_array_ndim(arg1)) : nullptr;
}

%via_java_type((int32_t count, via_array *const *dsts), jlongArray, long[])
%typemap(in) (int32_t count, via_array *const *dsts) (viajava::Handles list) {
  if (!list.read(jenv, "dsts", $input)) {
    return $null;
  }
  $1 = list.count();
  $2 = list.data();
}
%via_java_type(via_array *const *srcs, jlongArray, long[])
%typemap(in) via_array *const *srcs (viajava::Handles list) {
  if (!list.read(jenv, "srcs", $input) || !list.has_length(jenv, "srcs", arg1)) {
    return $null;
  }
  $1 = list.data();
}

%via_java_type((int32_t count, via_array *const *arrays), jlongArray, long[])
%typemap(in) (int32_t count, via_array *const *arrays) (viajava::Handles list) {
  if (!list.read(jenv, "arrays", $input)) {
    return $null;
  }
  $1 = list.count();
  $2 = list.data();
}
%via_java_type(const char *const *names, jobjectArray, byte[][])
%typemap(in) const char *const *names (viajava::Texts list) {
  if (!list.read(jenv, "names", $input, arg2)) {
    return $null;
  }
  $1 = ($1_ltype)list.data();
}
%typemap(freearg) const char *const *names ""

/* ----------------------------------------------------------------------------------------------------- structs */

/* Made with its size set, and ended by delete_TYPE. */
%define %via_java_struct(TYPE, INIT)
%nodefaultctor TYPE;
%nodefaultdtor TYPE;
%ignore TYPE::struct_size;
%ignore TYPE::pad;
%extend TYPE {
  TYPE() {
    return new (std::nothrow) TYPE INIT;
  }
  ~TYPE() { delete $self; }
}
%enddef

%via_java_struct(via_device_properties, VIA_DEVICE_PROPERTIES_INIT)
%via_java_struct(via_stats_info, VIA_STATS_INFO_INIT)
%via_java_struct(via_pointer_info, VIA_POINTER_INFO_INIT)
%via_java_struct(via_dlpack_options, VIA_DLPACK_OPTIONS_INIT)
%via_java_struct(via_array_interface, VIA_ARRAY_INTERFACE_INIT)
%via_java_struct(via_convert_options, VIA_CONVERT_OPTIONS_INIT)
%via_java_struct(via_file_options, VIA_FILE_OPTIONS_INIT)
%via_java_struct(via_file_properties, VIA_FILE_PROPERTIES_INIT)

%via_java_type(char [ANY], jbyteArray, byte[])
%typemap(out) char [ANY] { $result = viajava::new_text(jenv, $1); }
%typemap(in) char [ANY] (char text[$1_dim0] = {0}) {
  if (!viajava::read_text(jenv, "$1_name", $input, text, $1_dim0)) {
    return $null;
  }
  $1 = text;
}
%typemap(freearg) char [ANY] ""
%typemap(memberin) char [ANY] { memcpy($1, $input, $1_dim0); }

%via_java_type(int64_t [ANY], jlongArray, long[])
%typemap(out) int64_t [ANY] { $result = viajava::new_longs(jenv, $1, $1_dim0); }
%typemap(in) int64_t [ANY] (int64_t values[$1_dim0] = {0}) {
  viajava::read_longs(jenv, $input, values, $1_dim0);
  $1 = values;
}
%typemap(memberin) int64_t [ANY] { memcpy($1, $input, sizeof $1); }

%include "viaduct.i"
