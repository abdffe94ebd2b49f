#include "cuda/route/index_table.hpp"

#include <cstring>
#include <memory>
#include <new>

#include "core/base/rounding.hpp"

namespace via::cuda {
namespace {

bool is_of_host(const IndexList &list, via_array *on_device) { return list.at != nullptr && on_device == nullptr; }

// Returns the bytes of a list of host memory in a table, where every list begins at a multiple of 8.
int64_t list_bytes(const IndexedRows &rows, const IndexList &list, via_array *on_device) {
    return is_of_host(list, on_device) ? round_up(rows.count * list.bytes, sizeof(int64_t)) : 0;
}

// Lists of host memory are dense: copies made for this purpose.
void write_list(const IndexedRows &rows, const IndexList &list, via_array *on_device, char **at) {
    const int64_t nbytes = list_bytes(rows, list, on_device);
    if (nbytes > 0) {
        std::memcpy(*at, list.at, static_cast<size_t>(rows.count * list.bytes));
        *at += nbytes;
    }
}

void write_lists(const IndexedTransfer &transfer, void *memory) {
    auto *at = static_cast<char *>(memory);
    write_list(transfer.rows, transfer.rows.dst_index, transfer.dst_index, &at);
    write_list(transfer.rows, transfer.rows.src_index, transfer.src_index, &at);
}

// Lets host lists be read at `memory`, where they are one after the other.
IndexedRows read_at(const IndexedTransfer &transfer, const void *memory) {
    IndexedRows rows = transfer.rows;
    const auto *at = static_cast<const char *>(memory);
    if (is_of_host(rows.dst_index, transfer.dst_index)) {
        rows.dst_index.at = at;
    }
    if (is_of_host(rows.src_index, transfer.src_index)) {
        rows.src_index.at = at + list_bytes(rows, rows.dst_index, transfer.dst_index);
    }
    return rows;
}

}  // namespace

int64_t host_bytes(const IndexedTransfer &transfer) {
    return list_bytes(transfer.rows, transfer.rows.dst_index, transfer.dst_index) +
           list_bytes(transfer.rows, transfer.rows.src_index, transfer.src_index);
}

DescriptorTable *IndexTable::find(const IndexedTransfer &transfer, const ResolvedStream &stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    DescriptorTable *table = DescriptorTable::keep(&table_, stream.key(), host_bytes(transfer),
                                                   [&](void *memory) { write_lists(transfer, memory); });
    if (table != nullptr) {
        table->retain();
    }
    return table;
}

// Waits for the runs if there is no memory to join them.
void IndexTable::note_run(Fence *end) {
    const CallbackScope quiet;
    const std::lock_guard<std::mutex> lock(mutex_);
    UniqueFence all;
    if (runs_.get() == nullptr) {
        *all.out() = retained(end);
    } else {
        (void)!join_writes(runs_.get(), end, all.out());
    }
    runs_.reset(all.release());
}

IndexTable::~IndexTable() {
    if (table_ != nullptr) {
        table_->release(runs_.get());
    }
}

Status make_index_table(IndexTable **out_table) { return make_object("a copy by index", out_table); }

void end_index_table(IndexTable *table) { delete table; }

Status ReachedLists::find(const IndexedTransfer &transfer, IndexTable *table, const ResolvedStream &stream,
                          IndexedRows *out_rows) {
    *out_rows = transfer.rows;
    const int64_t nbytes = host_bytes(transfer);
    if (nbytes == 0) {
        return VIA_OK;
    }
    table_.reset(table->find(transfer, stream));
    if (table_.get() == nullptr) {
        return upload(transfer, nbytes, stream, out_rows);
    }
    *out_rows = read_at(transfer, table_.get()->memory());
    return stream.capturing ? table_.get()->hold_in_graph(stream) : VIA_OK;
}

// Brings lists to the device that are too long for pinned memory.
Status ReachedLists::upload(const IndexedTransfer &transfer, int64_t nbytes, const ResolvedStream &stream,
                            IndexedRows *out_rows) {
    if (stream.capturing) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no pinned memory for %lld bytes of row numbers in a capture",
                    as_printed(nbytes));
    }
    const std::unique_ptr<char[]> lists(new (std::nothrow) char[static_cast<size_t>(nbytes)]);
    if (lists == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for %lld bytes of row numbers", as_printed(nbytes));
    }
    write_lists(transfer, lists.get());
    VIA_TRY(scratch_.allocate(nbytes, stream));
    ContextScope scope;
    VIA_TRY(enter_for(stream, &scope));
    VIA_TRY_CUDA(
        cuMemcpyHtoDAsync(number_of(scratch_.address()), lists.get(), static_cast<size_t>(nbytes), stream.handle));
    *out_rows = read_at(transfer, scratch_.address());
    return wait_for_stream(stream);
}

}  // namespace via::cuda
