/*
 * The native layer of the C# binding: every function of the header as a static method of the same name in the internal
 * class Native, with handles as the classes of bindings/csharp/src, addresses as IntPtr, outputs as `out` and a
 * status other than VIA_OK as an exception. What of it a user sees is written by hand. SWIG's own machinery for
 * exceptions and strings is switched off on its command line: a failure is read by the thread that saw the status.
 */
%module(imclassname="NativeCalls") Native

%pragma(csharp) moduleclassmodifiers="internal static unsafe class"
%pragma(csharp) imclassclassmodifiers="internal static unsafe class"
/* A constructor of its own also keeps Mono from compiling these into their callers too early (NativeLibraryFile.cs). */
%pragma(csharp) modulecode=%{
  static Native() {
    NativeLibraryFile.Begin();
  }
%}

%csconst(1);
%typemap(csclassmodifiers) enum via_status "internal enum"

/* A managed thread that is inside a call never holds up another, whatever the call does. */
%define %via_waits(FUNCTION)
%enddef

/* Structs are laid out again by bindings/csharp/src/Layouts.cs. */
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

/* Both layers of C# see one type for each type of C: GIVEN as a parameter, RETURNED as a result. */
%define %via_csharp_type(GIVEN, RETURNED, CTYPE...)
%typemap(ctype) CTYPE "void *"
%typemap(imtype, out=#RETURNED) CTYPE #GIVEN
%typemap(cstype, out=#RETURNED) CTYPE #GIVEN
%typemap(csin) CTYPE "$csinput"
%typemap(csout) CTYPE { return $imcall; }
%typemap(in) CTYPE { $1 = ($1_ltype)$input; }
%typemap(out) CTYPE { $result = (void *)$1; }
%typemap(freearg) CTYPE ""
%enddef

%define %via_csharp_output(KIND, CTYPE...)
%via_csharp_type(out KIND, out KIND, CTYPE)
%typemap(csin) CTYPE "out $csinput"
%enddef

/* ------------------------------------------------------------------------------------------------- the status */

%define %via_csharp_returns(OUTPUT)
%typemap(ctype) via_status RETURNS_ ## OUTPUT "int"
%typemap(imtype) via_status RETURNS_ ## OUTPUT "int"
%typemap(cstype) via_status RETURNS_ ## OUTPUT "void"
%typemap(out) via_status RETURNS_ ## OUTPUT { $result = $1; }
%typemap(csout) via_status RETURNS_ ## OUTPUT { Failure.Check($imcall); }
%enddef

%via_csharp_returns(nothing)
%via_csharp_returns(filled)
%via_csharp_returns(int32)
%via_csharp_returns(int64)
%via_csharp_returns(two_int64)
%via_csharp_returns(text)
%via_csharp_returns(bytes)
%via_csharp_returns(address)
%via_csharp_returns(array)
%via_csharp_returns(memory)
%via_csharp_returns(stream)
%via_csharp_returns(event)
%via_csharp_returns(task)
%via_csharp_returns(batch)
%via_csharp_returns(file)
%via_csharp_returns(archive)
%via_csharp_returns(device_properties)
%via_csharp_returns(stats_info)
%via_csharp_returns(pointer_info)
%via_csharp_returns(array_interface)
%via_csharp_returns(file_properties)

/* ---------------------------------------------------------------------------------------------------- handles */

/*
 * The marshaller holds a SafeHandle for the length of the call, and refuses one that is null or has been closed; but
 * Mono's then holds those before it for ever. So they are looked at first.
 */
%define %via_csharp_handle(CLASS, TYPE, OUTPUT)
%via_csharp_type(CLASS, System.IntPtr, TYPE *)
%typemap(imtype, out="System.IntPtr") TYPE * "System.Runtime.InteropServices.SafeHandle"
%typemap(csin) TYPE * "ViaHandle.Of($csinput, \"$csinput\")"
%via_csharp_output(System.IntPtr, TYPE **OUTPUT)
%enddef

/* The SafeHandle is closed when its handle is released: these take the address. */
%define %via_csharp_counted(TYPE)
%via_csharp_type(System.IntPtr, System.IntPtr, TYPE *address)
void TYPE ## _retain(TYPE *address);
void TYPE ## _release(TYPE *address);
%enddef

%via_csharp_counted(via_array)
%via_csharp_counted(via_memory)
%via_csharp_counted(via_stream)
%via_csharp_counted(via_event)
%via_csharp_counted(via_task)
%via_csharp_counted(via_batch)
%via_csharp_counted(via_file)
%via_csharp_counted(via_archive)

%via_csharp_handle(ViaArray, via_array, out_array)
%via_csharp_handle(ViaMemory, via_memory, out_memory)
%via_csharp_handle(ViaStream, via_stream, out_stream)
%via_csharp_handle(ViaEvent, via_event, out_event)
%via_csharp_handle(CopyTask, via_task, out_task)
%via_csharp_handle(ViaBatch, via_batch, out_batch)
%via_csharp_handle(ViaFile, via_file, out_file)
%via_csharp_handle(ViaArchive, via_archive, out_archive)
%via_csharp_output(System.IntPtr, via_array **out_buffer)

%via_csharp_type(System.IntPtr[], System.IntPtr[], via_array *const *dsts, via_array *const *srcs,
                 via_array *const *arrays, const char *const *names)

/* ----------------------------------------------------------------------------------------- addresses and texts */

%via_csharp_type(System.IntPtr, System.IntPtr, void *, const void *, DLManagedTensorVersioned *, DLManagedTensor *,
                 ArrowSchema *, ArrowDeviceArray *, via_release_fn, via_alloc_fn, via_free_fn, via_complete_fn)
%via_csharp_output(System.IntPtr, DLManagedTensorVersioned **out_tensor, DLManagedTensor **out_tensor)

/* Texts are bytes of UTF-8 that end with a 0. */
%via_csharp_type(byte[], System.IntPtr, const char *)
%via_csharp_type(byte[], byte[], char *out_name, char *out_text, char *out_metadata)

/* ----------------------------------------------------------------------------------------------------- numbers */

%via_csharp_output(int, int32_t *out_count, int32_t *out_dtype, int32_t *out_done)
%via_csharp_output(long, int64_t *out_done, int64_t *out_total, int64_t *out_length, int64_t *out_number)

/* Spans are read in place, which is quicker than what the marshaller does; null is NULL. */
%define %via_csharp_array(ELEMENT, CTYPE)
%via_csharp_type(System.ReadOnlySpan<ELEMENT>, System.IntPtr, CTYPE)
%typemap(imtype, out="System.IntPtr") CTYPE #ELEMENT "*"
%typemap(csin,
  pre="    fixed (" #ELEMENT "* $csinput_elements = &System.Runtime.InteropServices.MemoryMarshal.GetReference($csinput)) {",
  terminator="    }") CTYPE "$csinput_elements"
%enddef

%via_csharp_array(long, const int64_t *)
%via_csharp_array(int, const int32_t *)

/* ----------------------------------------------------------------------------------------------------- structs */

%via_csharp_type(DlpackOptionsLayout*, DlpackOptionsLayout*, const via_dlpack_options *)
%via_csharp_type(ArrayInterfaceLayout*, ArrayInterfaceLayout*, const via_array_interface *, via_array_interface *)
%via_csharp_type(DevicePropertiesLayout*, DevicePropertiesLayout*, via_device_properties *)
%via_csharp_type(StatsLayout*, StatsLayout*, via_stats_info *)
%via_csharp_type(ConvertOptionsLayout*, ConvertOptionsLayout*, const via_convert_options *)
%via_csharp_type(FileOptionsLayout*, FileOptionsLayout*, const via_file_options *)
%via_csharp_type(FilePropertiesLayout*, FilePropertiesLayout*, via_file_properties *)
%via_csharp_type(PointerInfoLayout*, PointerInfoLayout*, via_pointer_info *)

%include "viaduct.i"

/* What the library calls in the place of managed functions. */
%{
#include "callbacks.hpp"
%}
%include "callbacks.hpp"
