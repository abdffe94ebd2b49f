// Copies of rows by index that involve CUDA's memory. The rooms above have checked the arrays, and every list of row
// numbers in host memory.
//
// How it works. items_route chooses by where the arrays are:
//   Kernel  a kernel of one device reaches both, and copies in one launch (kernels/indexed.cuh). It reads lists of row
//           numbers where they are, in the device's memory, or from a table in pinned memory (IndexTable).
//   Staged  pageable memory and a device: workers of the host pack rows into the slots of the ring or take them from
//           there, the copy engine brings them to or from scratch memory of the device, and the kernel does the rest.
//   Peer    two devices: each one's kernel packs or unpacks, in pieces (route/peer_copy.hpp).
// Staged and Peer go a part of the rows at a time, and take lists in host memory only.
//
// Rows of another dtype cross in the narrower one. A kernel brings them together in scratch memory, another one
// converts, and a third one spreads them out (route/converted_items.hpp); the first or the last is left out without a
// list.
//
// Lists in the device's memory are checked by the kernel. It skips numbers out of range, and stores one of them in a
// record in pinned memory, which the fence of the work reads (route/index_fence.hpp).
#pragma once

#include "core/layout/converted_rows.hpp"
#include "cuda/io_endpoint.hpp"

namespace via::cuda {

struct IndexedTransfer {
    // Sides, arrays, and the addresses of row 0. nbytes are those of all rows; the layout is that of `rows`.
    Transfer transfer;
    IndexedRows rows;
    via_array *dst_index;  // of lists in the device's memory, which are waited for and held; otherwise nullptr
    via_array *src_index;
    const ConvertedRows *converted;  // if rows are, their lists are in host memory; otherwise nullptr
    IoEndpoint *host;                // the host's part: reads and writes rows as they cross
};

// Where kernels read lists of host memory from. Serves one copy, which may run many times.
class IndexTable;
VIA_NODISCARD Status make_index_table(IndexTable **out_table);
// Accepts nullptr. Runs may still be under way. Calls no driver.
void end_index_table(IndexTable *table);

// Refuses what the functions below would refuse, and loads kernels. Errors: as transfer_on; VIA_ERROR_UNSUPPORTED
// without kernels.
VIA_NODISCARD Status prepare_indexed(const IndexedTransfer &transfer, via_stream *stream);

// Copies after the work of the legacy stream, as transfer_now does. Errors: VIA_ERROR_INDEX for a list on the device.
VIA_NODISCARD Status indexed_now(const IndexedTransfer &transfer, IndexTable *table);

// Copies in stream order, as transfer_on does. With a list on the device, the fence of dst fails with VIA_ERROR_INDEX.
VIA_NODISCARD Status indexed_on(const IndexedTransfer &transfer, IndexTable *table, via_stream *stream);

// Copies for a task, as transfer_for_task does.
VIA_NODISCARD Status indexed_for_task(const IndexedTransfer &transfer, IndexTable *table, via_task *task,
                                      Fence **out_fence);

}  // namespace via::cuda
