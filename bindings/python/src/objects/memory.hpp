// Memory to allocate from, as Python names it, and memory().
#pragma once

#include "support/arguments.hpp"

namespace viapy {

extern const char kMemoryDoc[];

// Returns the kind of memory that arrays of a device type are allocated in; 0 where there is none.
int32_t usual_memory(int32_t device_type);

// Memory to allocate from for the length of a call. NULL inside means plain host memory.
class MemoryHandle {
public:
    via_memory *get() const { return memory_.get(); }
    via_memory *release() { return memory_.release(); }

    // Returns whether a stream may order allocations: not where the kind says that none does.
    bool takes_stream() const { return takes_stream_; }

    // Both make the usual memory of a device. of_device() makes no handle for the host's, which needs none.
    bool create_usual(const char *function, const Device &device);
    bool of_device(const char *function, const Device &device);

    // Accepts "host", "pinned", "device", "pool", "managed" or "shared", and a Memory, which must be on the device if
    // that was named. A device that was not named is where "device" and "pool" are.
    bool of_value(const char *function, PyObject *value, bool device_named, const Device &device);

    bool create(int32_t kind, int32_t device_id);

private:
    OwnedMemory memory_;
    bool takes_stream_ = false;
};

// Registers arrays of shared memory with multiprocessing, which then passes them by description. Idempotent.
bool share_with_multiprocessing();

extern PyMethodDef kMemoryFunctions[];

}  // namespace viapy
