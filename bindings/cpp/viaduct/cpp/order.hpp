// Streams and events.
#ifndef VIADUCT_CPP_ORDER_HPP
#define VIADUCT_CPP_ORDER_HPP

#include <cstddef>

#include "viaduct/cpp/error.hpp"
#include "viaduct/cpp/handle.hpp"

namespace viaduct {
inline namespace VIADUCT_ERRORS_NAMESPACE {

class Event;

/** Owns a via_stream. */
class Stream : public detail::Handle<Stream, via_stream, via_stream_retain, via_stream_release> {
public:
    using Handle::Handle;

    [[nodiscard]] static Result<Stream> create(std::int32_t device_id = 0) {
        return detail::make<Stream>(via_stream_create, device_id);
    }

    /** Wraps a foreign CUstream. */
    [[nodiscard]] static Result<Stream> wrap(void *native_stream, std::int32_t device_id = -1) {
        return detail::make<Stream>(via_stream_wrap, native_stream, device_id);
    }

    /** Returns the calling thread's current stream for a device. */
    [[nodiscard]] static Result<Stream> current(std::int32_t device_id = 0) {
        return detail::make<Stream>(via_stream_current, device_id);
    }

    static Stream legacy() { return Stream(via_stream_legacy()); }
    static Stream per_thread() { return Stream(via_stream_per_thread()); }
    static Stream no_sync() { return Stream(via_stream_no_sync()); }

    void *native_handle() const { return via_stream_handle(get()); }
    std::int32_t device_id() const { return via_stream_device_id(get()); }

    VIADUCT_CHECKED Result<void> synchronize() const { return detail::done(via_stream_synchronize(get())); }

    /** Returns whether the work queued on the stream so far has completed. */
    [[nodiscard]] Result<bool> is_done() const { return detail::make<bool>(via_stream_query, get()); }

    /** Makes later work wait, on the device, for the point that the event marks now. */
    VIADUCT_CHECKED Result<void> wait(const Event &marker) const;

    /** Sets the calling thread's current stream for a device. */
    VIADUCT_CHECKED Result<void> make_current(std::int32_t device_id) const {
        return detail::done(via_stream_set_current(device_id, get()));
    }
};

/** A stream parameter: a Stream, a via_stream *, or none, which means what the function states. */
class StreamRef {
public:
    StreamRef(std::nullptr_t = nullptr) noexcept {}
    StreamRef(via_stream *stream) noexcept : stream_(stream) {}
    StreamRef(const Stream &stream) noexcept : stream_(stream.get()) {}

    via_stream *get() const noexcept { return stream_; }

private:
    via_stream *stream_ = nullptr;
};

/** Owns a via_event. */
class Event : public detail::Handle<Event, via_event, via_event_retain, via_event_release> {
public:
    using Handle::Handle;

    [[nodiscard]] static Result<Event> create(std::int32_t device_id = 0) {
        return detail::make<Event>(via_event_create, device_id);
    }

    /** Wraps a foreign CUevent. */
    [[nodiscard]] static Result<Event> wrap(void *native_event, std::int32_t device_id) {
        return detail::make<Event>(via_event_wrap, native_event, device_id);
    }

    void *native_handle() const { return via_event_handle(get()); }

    /** Marks the end of the work queued on the stream so far. */
    VIADUCT_CHECKED Result<void> record(StreamRef stream) const {
        return detail::done(via_event_record(get(), stream.get()));
    }

    /** Returns whether the marked point has been reached. */
    [[nodiscard]] Result<bool> is_done() const { return detail::make<bool>(via_event_query, get()); }

    VIADUCT_CHECKED Result<void> synchronize() const { return detail::done(via_event_synchronize(get())); }
};

inline Result<void> Stream::wait(const Event &marker) const {
    return detail::done(via_stream_wait(get(), marker.get()));
}

}  // namespace VIADUCT_ERRORS_NAMESPACE
}  // namespace viaduct

#endif
