// Where kernels read the lists of row numbers that are in host memory: a table in pinned memory, or scratch
// memory.
#pragma once

#include <mutex>

#include "cuda/indexed_transfer.hpp"
#include "cuda/memory/descriptor_table.hpp"
#include "cuda/memory/stream_scratch.hpp"

namespace via::cuda {

// The lists of one copy in pinned memory, dst_index first, and the end of the runs that read them.
class IndexTable {
public:
    IndexTable() = default;
    ~IndexTable();
    IndexTable(const IndexTable &) = delete;
    IndexTable &operator=(const IndexTable &) = delete;

    // Returns the table of these lists for the stream's context, retained, or nullptr: there is no room.
    DescriptorTable *find(const IndexedTransfer &transfer, const ResolvedStream &stream);

    // Remembers that work up to the fence reads the table.
    void note_run(Fence *end);

private:
    std::mutex mutex_;
    DescriptorTable *table_ = nullptr;
    UniqueFence runs_;
};

// Returns the bytes of a copy's lists in host memory.
int64_t host_bytes(const IndexedTransfer &transfer);

// The lists of a copy where kernels on a stream read them, for the time of one run.
class ReachedLists {
public:
    // Stores the rows with lists that kernels reach.
    VIA_NODISCARD Status find(const IndexedTransfer &transfer, IndexTable *table, const ResolvedStream &stream,
                              IndexedRows *out_rows);

private:
    VIA_NODISCARD Status upload(const IndexedTransfer &transfer, int64_t nbytes, const ResolvedStream &stream,
                                IndexedRows *out_rows);

    UniqueTable table_;
    Scratch scratch_;
};

}  // namespace via::cuda
