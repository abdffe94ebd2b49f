// Moves the bytes of a range between a file and an array on any device.
#pragma once

#include "core/async/fence.hpp"
#include "file/io_chunks.hpp"

namespace via {

struct TransferConversion;

// A transfer between an array and extents of an open file.
struct RangeTransfer {
    OpenFile *open;
    FileExtents extents;
    via_array *array;
    Direction direction;
    int32_t page_cache;
    bool durable;
    bool reserves;  // reserve disk blocks before a write
    via_task *task;
    const TransferConversion *conversion;  // nullptr: elements stay as they are

    bool is_read() const { return direction == Direction::Read; }
};

// Stores the fence at which a device ends the transfer, retained for the caller; nullptr if it is complete.
VIA_NODISCARD Status move_range(const RangeTransfer &transfer, Fence **out_fence);

// Counts the bytes of an array that hold its elements only: all but a last byte that is partly used.
int64_t whole_bytes(via_array *array);

}  // namespace via
