// Copies of rows by index that involve CUDA's memory. The rooms above have checked the arrays, and every list of row
// numbers in host memory.
//
// How it works. As items_transfer.hpp says, with the kernel of kernels/indexed.cuh. It reads lists of row numbers where
// they are, in the device's memory, or from a table in pinned memory (IndexTable). Staged and Peer take lists in host
// memory only.
//
// Rows of another dtype cross in the narrower one. A kernel brings them together in scratch memory, another one
// converts, and a third one spreads them out; the first or the last is left out without a list.
//
// Lists in the device's memory are checked by the kernel. It skips numbers out of range, and stores one of them in a
// record in pinned memory, which the fence of the work reads (route/index_fence.hpp).
#pragma once

#include "core/layout/converted_rows.hpp"
#include "cuda/items_transfer.hpp"

namespace via::cuda {

// Where kernels read lists of host memory from. Serves one copy, which may run many times.
class IndexTable;
VIA_NODISCARD Status make_index_table(IndexTable **out_table);
// Accepts nullptr. Runs may still be under way. Calls no driver.
void end_index_table(IndexTable *table);

// The addresses are those of row 0, and nbytes those of all rows; the layout is that of `rows`.
class IndexedTransfer final : public ItemsTransfer {
public:
    IndexedRows rows;
    const ConvertedRows *converted;  // if rows are, their lists are in host memory; otherwise nullptr
    IndexTable *table;

    const char *what() const override { return "a copy by index on a device"; }
    VIA_NODISCARD Status enqueue(const ResolvedStream &stream, via_task *task, IndexFence **out_faults) const override;
    void note_run(Fence *end) const override;
};

}  // namespace via::cuda
