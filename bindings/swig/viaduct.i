/*
 * What the native layers of Python, Java and C# share: the one header, and how its types are to be read.
 *
 * A language's own file defines, before it includes this one:
 *   typemaps for the types of the header, the outputs among them by type and name (`via_array **out_array`): bound to
 *   the type alone they would also capture the arrays of handles that a batch takes;
 *   typemaps for `via_status RETURNS_...`, one for each word used below;
 *   %via_waits(FUNCTION), what to do around a call that waits or moves much data.
 */

%{
#include <stdint.h>

#include "viaduct/viaduct.h"
%}

/*
 * Never %include <stdint.i>, and never SWIGWORDSIZE64: some versions of SWIG then make a 32-bit int of int64_t in Java
 * and C#. A test passes 1 << 40 through every int64_t parameter.
 */
%apply int { int32_t };
%apply long long { int64_t };

/*
 * What a function gives besides its status. Every function of the header that returns a via_status is here, and only
 * those; a test compares the list with the header's out_... parameters.
 */
%define %via_returns(FUNCTION, OUTPUT)
%apply via_status RETURNS_ ## OUTPUT { via_status FUNCTION };
%enddef

%via_returns(via_require, nothing)
%via_returns(via_device_count, int32)
%via_returns(via_device_info, device_properties)
%via_returns(via_set_num_threads, nothing)
%via_returns(via_cuda_warmup, nothing)
%via_returns(via_calibrate, nothing)
%via_returns(via_calibration_save, nothing)
%via_returns(via_calibration_load, nothing)
%via_returns(via_stats, stats_info)

%via_returns(via_dtype_name, text)
%via_returns(via_dtype_from_name, int32)

%via_returns(via_wrap, array)
%via_returns(via_pointer_query, pointer_info)

%via_returns(via_array_slice, array)
%via_returns(via_array_select, array)
%via_returns(via_array_permute, array)
%via_returns(via_array_reshape, array)
%via_returns(via_array_broadcast, array)
%via_returns(via_array_squeeze, array)
%via_returns(via_array_expand, array)
%via_returns(via_array_reinterpret, array)
%via_returns(via_array_field, array)
%via_returns(via_array_as_read_only, array)

%via_returns(via_memory_create, memory)
%via_returns(via_memory_create_custom, memory)
%via_returns(via_empty, array)

%via_returns(via_to_dlpack, address)
%via_returns(via_from_dlpack, array)
%via_returns(via_to_dlpack_legacy, address)
%via_returns(via_from_dlpack_legacy, array)
%via_returns(via_to_array_interface, array_interface)
%via_returns(via_from_array_interface, array)
%via_returns(via_to_cuda_array_interface, array_interface)
%via_returns(via_from_cuda_array_interface, array)
%via_returns(via_to_arrow_device, filled)
%via_returns(via_from_arrow_device, array)
%via_returns(via_array_export_ipc, bytes)
%via_returns(via_array_import_ipc, array)

%via_returns(via_stream_create, stream)
%via_returns(via_stream_wrap, stream)
%via_returns(via_stream_synchronize, nothing)
%via_returns(via_stream_query, int32)
%via_returns(via_stream_set_current, nothing)
%via_returns(via_stream_current, stream)
%via_returns(via_stream_wait, nothing)
%via_returns(via_event_create, event)
%via_returns(via_event_wrap, event)
%via_returns(via_event_record, nothing)
%via_returns(via_event_query, int32)
%via_returns(via_event_synchronize, nothing)
%via_returns(via_array_record_stream, nothing)
%via_returns(via_array_set_ready, nothing)
%via_returns(via_array_synchronize, nothing)

%via_returns(via_copy, nothing)
%via_returns(via_copy_async, nothing)
%via_returns(via_copy_submit, task)
%via_returns(via_copy_batch, nothing)
%via_returns(via_copy_indexed, nothing)
%via_returns(via_copy_indexed_submit, task)
%via_returns(via_convert, nothing)
%via_returns(via_convert_submit, task)
%via_returns(via_convert_explain, text)
%via_returns(via_memcpy, nothing)
%via_returns(via_fill, nothing)
%via_returns(via_copy_explain, text)

%via_returns(via_task_wait, nothing)
%via_returns(via_task_poll, int32)
%via_returns(via_task_progress, two_int64)
%via_returns(via_task_cancel, nothing)
%via_returns(via_task_join, nothing)
%via_returns(via_task_on_complete, nothing)
%via_returns(via_batch_create, batch)
%via_returns(via_batch_add, nothing)
%via_returns(via_batch_add_indexed, nothing)
%via_returns(via_batch_add_convert, nothing)
%via_returns(via_batch_run, nothing)
%via_returns(via_batch_submit, task)

%via_returns(via_file_open, file)
%via_returns(via_file_create, file)
%via_returns(via_file_window, file)
%via_returns(via_file_convert, file)
%via_returns(via_file_info, file_properties)
%via_returns(via_file_array, array)
%via_returns(via_file_read, nothing)
%via_returns(via_file_write, nothing)
%via_returns(via_file_read_submit, task)
%via_returns(via_file_write_submit, task)
%via_returns(via_save, nothing)
%via_returns(via_load, array)

%via_returns(via_archive_open, archive)
%via_returns(via_archive_add, nothing)
%via_returns(via_archive_find, int64)
%via_returns(via_archive_metadata, text)
%via_returns(via_archive_file, file)
%via_returns(via_archive_select, archive)
%via_returns(via_archive_array, array)
%via_returns(via_archive_load, array)
%via_returns(via_archive_read, nothing)
%via_returns(via_archive_read_submit, task)
%via_returns(via_archive_slice, nothing)
%via_returns(via_archive_convert, nothing)
%via_returns(via_archive_save, nothing)
%via_returns(via_archive_save_submit, task)

/* Calls that wait, or move so much data that other threads should run meanwhile. */
%via_waits(via_cuda_warmup)
%via_waits(via_calibrate)
%via_waits(via_stream_synchronize)
%via_waits(via_event_synchronize)
%via_waits(via_array_synchronize)
%via_waits(via_to_dlpack)
%via_waits(via_from_dlpack)
%via_waits(via_to_dlpack_legacy)
%via_waits(via_from_dlpack_legacy)
%via_waits(via_to_array_interface)
%via_waits(via_to_arrow_device)
%via_waits(via_array_export_ipc)
%via_waits(via_copy)
%via_waits(via_copy_async)
%via_waits(via_copy_batch)
%via_waits(via_copy_indexed)
%via_waits(via_convert)
%via_waits(via_memcpy)
%via_waits(via_fill)
%via_waits(via_task_wait)
%via_waits(via_task_join)
%via_waits(via_batch_run)
%via_waits(via_file_read)
%via_waits(via_file_write)
%via_waits(via_save)
%via_waits(via_load)
%via_waits(via_archive_open)
%via_waits(via_archive_add)
%via_waits(via_archive_load)
%via_waits(via_archive_read)
%via_waits(via_archive_save)

%include "viaduct/viaduct.h"
