#include "api/guard.hpp"
#include "cuda/event.hpp"
#include "cuda/stream.hpp"
#include "cuda/stream_access.hpp"

using namespace via;

via_stream *via_stream_legacy(void) {
    VIA_TRACE_API(via_stream_legacy);
    return cuda::legacy_stream();
}

via_stream *via_stream_per_thread(void) {
    VIA_TRACE_API(via_stream_per_thread);
    return cuda::per_thread_stream();
}

via_stream *via_stream_no_sync(void) {
    VIA_TRACE_API(via_stream_no_sync);
    return cuda::no_sync_stream();
}

void via_stream_retain(via_stream *stream) {
    VIA_TRACE_API(via_stream_retain, stream);
    unless_null(stream, cuda::retain_stream);
}

void via_stream_release(via_stream *stream) {
    VIA_TRACE_API(via_stream_release, stream);
    unless_null(stream, cuda::release_stream);
}

void *via_stream_handle(via_stream *stream) {
    VIA_TRACE_API(via_stream_handle, stream);
    return stream != nullptr ? cuda::native_stream(stream) : nullptr;
}

int32_t via_stream_device_id(via_stream *stream) {
    VIA_TRACE_API(via_stream_device_id, stream);
    return stream != nullptr ? cuda::device_of_stream(stream) : 0;
}

via_status via_stream_create(int32_t device_id, via_stream **out_stream) {
    VIA_TRACE_API(via_stream_create, device_id, out_stream);
    return guarded(__func__, output("out_stream", out_stream),
                   [&] { return cuda::create_stream(device_id, out_stream); });
}

via_status via_stream_wrap(void *native_stream, int32_t device_id, via_stream **out_stream) {
    VIA_TRACE_API(via_stream_wrap, native_stream, device_id, out_stream);
    return guarded(__func__, output("out_stream", out_stream),
                   [&] { return cuda::wrap_stream(native_stream, device_id, out_stream); });
}

via_status via_stream_synchronize(via_stream *stream) {
    VIA_TRACE_API(via_stream_synchronize, stream);
    return guarded(__func__, required("stream", stream), [&] { return cuda::synchronize_stream(stream); });
}

via_status via_stream_query(via_stream *stream, int32_t *out_done) {
    VIA_TRACE_API(via_stream_query, stream, out_done);
    return guarded(__func__, output("out_done", out_done), required("stream", stream),
                   [&] { return cuda::query_stream(stream, out_done); });
}

via_status via_stream_set_current(int32_t device_id, via_stream *stream) {
    VIA_TRACE_API(via_stream_set_current, device_id, stream);
    return guarded(__func__, [&] { return cuda::set_current_stream(device_id, stream); });
}

via_status via_stream_current(int32_t device_id, via_stream **out_stream) {
    VIA_TRACE_API(via_stream_current, device_id, out_stream);
    return guarded(__func__, output("out_stream", out_stream),
                   [&] { return cuda::current_stream(device_id, out_stream); });
}

via_status via_stream_wait(via_stream *stream, via_event *marker) {
    VIA_TRACE_API(via_stream_wait, stream, marker);
    return guarded(__func__, required("stream", stream), required("marker", marker),
                   [&] { return cuda::make_stream_wait(stream, marker); });
}

via_status via_event_create(int32_t device_id, via_event **out_event) {
    VIA_TRACE_API(via_event_create, device_id, out_event);
    return guarded(__func__, output("out_event", out_event), [&] { return cuda::create_event(device_id, out_event); });
}

via_status via_event_wrap(void *native_event, int32_t device_id, via_event **out_event) {
    VIA_TRACE_API(via_event_wrap, native_event, device_id, out_event);
    return guarded(__func__, output("out_event", out_event),
                   [&] { return cuda::wrap_event(native_event, device_id, out_event); });
}

void via_event_retain(via_event *marker) {
    VIA_TRACE_API(via_event_retain, marker);
    unless_null(marker, cuda::retain_event);
}

void via_event_release(via_event *marker) {
    VIA_TRACE_API(via_event_release, marker);
    unless_null(marker, cuda::release_event);
}

void *via_event_handle(via_event *marker) {
    VIA_TRACE_API(via_event_handle, marker);
    return marker != nullptr ? cuda::native_event(marker) : nullptr;
}

via_status via_event_record(via_event *marker, via_stream *stream) {
    VIA_TRACE_API(via_event_record, marker, stream);
    return guarded(__func__, required("marker", marker), required("stream", stream),
                   [&] { return cuda::record_event(marker, stream); });
}

via_status via_event_query(via_event *marker, int32_t *out_done) {
    VIA_TRACE_API(via_event_query, marker, out_done);
    return guarded(__func__, output("out_done", out_done), required("marker", marker),
                   [&] { return cuda::query_event(marker, out_done); });
}

via_status via_event_synchronize(via_event *marker) {
    VIA_TRACE_API(via_event_synchronize, marker);
    return guarded(__func__, required("marker", marker), [&] { return cuda::synchronize_event(marker); });
}

via_status via_array_record_stream(via_array *array, via_stream *stream) {
    VIA_TRACE_API(via_array_record_stream, array, stream);
    return guarded(__func__, required("array", array), required("stream", stream),
                   [&] { return cuda::record_use(array, stream); });
}

via_status via_array_set_ready(via_array *array, via_stream *stream) {
    VIA_TRACE_API(via_array_set_ready, array, stream);
    return guarded(__func__, required("array", array), required("stream", stream),
                   [&] { return cuda::record_ready(array, stream); });
}
