// Copies of items that involve CUDA's memory: elements that are converted, and rows by index. The rooms above have
// checked the arrays.
//
// How it works. items_route chooses by where the arrays are:
//   Kernel  a kernel of one device reaches both, and copies in one launch.
//   Staged  pageable memory and a device: workers of the host pack items into the slots of the ring or take them from
//           there. The device's part is a kernel by way of scratch memory.
//   Peer    two devices: each one's kernel packs or unpacks, in pieces (route/peer_copy.hpp).
// Staged and Peer go a part of the items at a time (route/packed_parts.hpp).
#pragma once

#include "cuda/io_endpoint.hpp"

namespace via::cuda {

class IndexFence;

class ItemsTransfer {
public:
    Transfer transfer{};         // sides, arrays and addresses; nbytes are those of dst
    IoEndpoint *host = nullptr;  // the host's part: reads and writes items as they cross a link
    int32_t workers = 0;         // threads that do so; 0: one for each CPU
    // Of lists in the device's memory, which are waited for and held; otherwise nullptr.
    via_array *dst_index = nullptr;
    via_array *src_index = nullptr;

    // Names the copy in errors.
    virtual const char *what() const = 0;

    // Queues the copy, after everything has been waited for. Stores a fence in *out_faults if a kernel may find faults.
    VIA_NODISCARD virtual Status enqueue(const ResolvedStream &stream, via_task *task,
                                         IndexFence **out_faults) const = 0;

    // Called when a run has been queued, with the fence of its end.
    virtual void note_run(Fence *) const {}

protected:
    ~ItemsTransfer() = default;
};

// Refuses what no stream could do. Errors: VIA_ERROR_UNSUPPORTED without kernels.
VIA_NODISCARD Status check_items(const ItemsTransfer &items);

// Refuses what the functions below would refuse, and loads kernels. Errors: as transfer_on; VIA_ERROR_UNSUPPORTED
// without kernels.
VIA_NODISCARD Status prepare_items(const ItemsTransfer &items, via_stream *stream);

// Copy as transfer_now, transfer_on and transfer_for_task do. With a list on the device, the first one fails with
// VIA_ERROR_INDEX, and so does the fence of dst.
VIA_NODISCARD Status items_now(const ItemsTransfer &items);
VIA_NODISCARD Status items_on(const ItemsTransfer &items, via_stream *stream);
VIA_NODISCARD Status items_for_task(const ItemsTransfer &items, via_task *task, Fence **out_fence);

}  // namespace via::cuda
