// Streams and CUDA devices as arguments.
#pragma once

#include "objects/handles.hpp"

namespace viapy {

// A stream for the length of a call: a Stream, the number of a CUstream, or another library's.
class StreamArgument {
public:
    StreamArgument() = default;
    ~StreamArgument() {
        if (owned_) {
            via_stream_release(stream_);
        }
    }
    StreamArgument(const StreamArgument &) = delete;
    StreamArgument &operator=(const StreamArgument &) = delete;

    // Absent or None is NULL.
    bool parse(const char *function, PyObject *value, int32_t device_id = -1);

    // Absent or None is the thread's current stream of the device.
    bool parse_or_current(const char *function, PyObject *value, int32_t device_id);

    via_stream *get() const { return stream_; }

    // Returns a reference that the caller owns.
    via_stream *release() {
        if (!owned_) {
            via_stream_retain(stream_);
        }
        owned_ = false;
        return std::exchange(stream_, nullptr);
    }

private:
    bool wrap_number(const char *function, PyObject *number, int32_t device_id);
    bool wrap_foreign(const char *function, PyObject *object, int32_t device_id);
    bool adopt(via_status status);

    via_stream *stream_ = nullptr;
    bool owned_ = false;
};

// Parses the number of a CUDA device: an integer, or a device's name. Absent is `otherwise`.
bool parse_cuda_device(const char *function, PyObject *value, int32_t otherwise, int32_t *out);

}  // namespace viapy
