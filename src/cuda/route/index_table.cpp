#include "cuda/route/index_table.hpp"

#include <cstring>
#include <memory>
#include <new>

#include "core/base/rounding.hpp"

namespace via::cuda {
namespace {

// Visits the lists of host memory with the offsets that they have in a table, multiples of 8. Returns the bytes of all.
template <class Rows, class Visit>
int64_t visit_lists(const IndexedTransfer &transfer, Rows *rows, const Visit &visit) {
    int64_t nbytes = 0;
    const auto visit_list = [&](auto *list, via_array *on_device) {
        if (list->at != nullptr && on_device == nullptr) {
            visit(list, nbytes);
            nbytes += round_up(rows->count * list->bytes, sizeof(int64_t));
        }
    };
    visit_list(&rows->dst_index, transfer.dst_index);
    visit_list(&rows->src_index, transfer.src_index);
    return nbytes;
}

// Lists of host memory are dense: copies made for this purpose.
void write_lists(const IndexedTransfer &transfer, void *memory) {
    visit_lists(transfer, &transfer.rows, [&](const IndexList *list, int64_t offset) {
        std::memcpy(static_cast<char *>(memory) + offset, list->at,
                    static_cast<size_t>(transfer.rows.count * list->bytes));
    });
}

// Lets host lists be read at `memory`, where they are one after the other.
IndexedRows read_at(const IndexedTransfer &transfer, const void *memory) {
    IndexedRows rows = transfer.rows;
    visit_lists(transfer, &rows,
                [&](IndexList *list, int64_t offset) { list->at = static_cast<const char *>(memory) + offset; });
    return rows;
}

}  // namespace

int64_t host_bytes(const IndexedTransfer &transfer) {
    return visit_lists(transfer, &transfer.rows, [](const IndexList *, int64_t) {});
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
