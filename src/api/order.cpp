#include "api/guard.hpp"

using namespace via;

// The shared streams are values to compare with; nothing is behind them in a build without CUDA.
struct via_stream {
    intptr_t handle;
};

namespace {

constinit via_stream legacy_stream{1};
constinit via_stream per_thread_stream{2};
constinit via_stream no_sync_stream{0};

constexpr char kStream[] = "a stream";
constexpr char kEvent[] = "an event";

}  // namespace

via_stream *via_stream_legacy(void) { return &legacy_stream; }

via_stream *via_stream_per_thread(void) { return &per_thread_stream; }

via_stream *via_stream_no_sync(void) { return &no_sync_stream; }

void via_stream_retain(via_stream *) {}

void via_stream_release(via_stream *) {}

void *via_stream_handle(via_stream *stream) {
    return stream != nullptr ? reinterpret_cast<void *>(stream->handle) : nullptr;
}

int32_t via_stream_device_id(via_stream *) { return 0; }

via_status via_stream_create(int32_t, via_stream **out_stream) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(clear_output("out_stream", out_stream));
        return no_cuda(kStream);
    });
}

via_status via_stream_wrap(void *, int32_t, via_stream **out_stream) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(clear_output("out_stream", out_stream));
        return no_cuda(kStream);
    });
}

via_status via_stream_synchronize(via_stream *stream) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(require("stream", stream));
        return no_cuda(kStream);
    });
}

via_status via_stream_query(via_stream *stream, int32_t *out_done) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(clear_output("out_done", out_done));
        VIA_TRY(require("stream", stream));
        return no_cuda(kStream);
    });
}

via_status via_stream_set_current(int32_t, via_stream *) {
    return guarded(__func__, [] { return no_cuda(kStream); });
}

via_status via_stream_current(int32_t, via_stream **out_stream) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(clear_output("out_stream", out_stream));
        return no_cuda(kStream);
    });
}

via_status via_stream_wait(via_stream *stream, via_event *marker) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(require("stream", stream));
        VIA_TRY(require("marker", marker));
        return no_cuda(kStream);
    });
}

via_status via_event_create(int32_t, via_event **out_event) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(clear_output("out_event", out_event));
        return no_cuda(kEvent);
    });
}

via_status via_event_wrap(void *, int32_t, via_event **out_event) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(clear_output("out_event", out_event));
        return no_cuda(kEvent);
    });
}

void via_event_retain(via_event *) {}

void via_event_release(via_event *) {}

void *via_event_handle(via_event *) { return nullptr; }

via_status via_event_record(via_event *marker, via_stream *stream) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(require("marker", marker));
        VIA_TRY(require("stream", stream));
        return no_cuda(kEvent);
    });
}

via_status via_event_query(via_event *marker, int32_t *out_done) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(clear_output("out_done", out_done));
        VIA_TRY(require("marker", marker));
        return no_cuda(kEvent);
    });
}

via_status via_event_synchronize(via_event *marker) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(require("marker", marker));
        return no_cuda(kEvent);
    });
}

via_status via_array_record_stream(via_array *array, via_stream *stream) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(require("array", array));
        VIA_TRY(require("stream", stream));
        return no_cuda(kStream);
    });
}

via_status via_array_set_ready(via_array *array, via_stream *stream) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(require("array", array));
        VIA_TRY(require("stream", stream));
        return no_cuda(kStream);
    });
}
