// Streams, events, tasks, batches and files as Python sees them, and streams as arguments.
#pragma once

#include "array.hpp"
#include "handles.hpp"

namespace viapy {

extern const char kStreamDoc[];
extern const char kEventDoc[];
extern const char kTaskDoc[];
extern const char kBatchDoc[];
extern const char kFileDoc[];
extern PyType_Slot kStreamSlots[];
extern PyType_Slot kEventSlots[];
extern PyType_Slot kTaskSlots[];
extern PyType_Slot kBatchSlots[];
extern PyType_Slot kFileSlots[];

// Puts the streams that always exist on the type: legacy, per_thread, no_sync.
bool add_shared_streams(PyObject *type);

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

    // Nothing or None is NULL.
    bool parse(const char *function, PyObject *value, int32_t device_id = -1);

    // Nothing or None is the thread's current stream of the device.
    bool parse_or_current(const char *function, PyObject *value, int32_t device_id);

    via_stream *get() const { return stream_; }

    // For whoever keeps it.
    via_stream *give() {
        if (!owned_) {
            via_stream_retain(stream_);
        }
        owned_ = false;
        return std::exchange(stream_, nullptr);
    }

private:
    bool take_number(const char *function, PyObject *number, int32_t device_id);
    bool take_foreign(const char *function, PyObject *object, int32_t device_id);
    bool take(via_status status);

    via_stream *stream_ = nullptr;
    bool owned_ = false;
};

// The number of a CUDA device: an integer, or whatever names one; 0 by default, -1 if that is told apart.
bool parse_cuda_device(const char *function, PyObject *value, int32_t otherwise, int32_t *out);

// The device whose streams are meant for an array: its own, or 0.
inline int32_t device_of(via_array *array) { return via_array_device_id(array); }

// Waits, without the GIL, until the content may be read by the host. Costs next to nothing if it may be already.
bool wait_until_ready(via_array *array);

// An Event of another library's event, or of a CUevent's number, for the argument 'event'.
PyObject *wrap_foreign_event(const char *function, PyObject *value, int32_t device_id, const char *expected);

// The end of a call that starts a task: a Task, or the status's exception.
PyObject *new_task_or_raise(via_status status, via_task *task);

}  // namespace viapy
