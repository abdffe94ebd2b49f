#include "cuda/indexed_transfer.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>

#include "core/base/rounding.hpp"
#include "cuda/convert_transfer.hpp"
#include "cuda/launch/convert_kernel.hpp"
#include "cuda/launch/indexed_kernel.hpp"
#include "cuda/launch/kernel_copy.hpp"
#include "cuda/memory/descriptor_table.hpp"
#include "cuda/memory/stream_scratch.hpp"
#include "cuda/route/index_fence.hpp"
#include "cuda/route/packed_parts.hpp"

namespace via::cuda {
namespace {

// ------------------------------------------------------------------------------------------------ lists

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

// Returns the bytes of a copy's lists in host memory.
int64_t host_bytes(const IndexedTransfer &transfer) {
    return visit_lists(transfer, &transfer.rows, [](const IndexList *, int64_t) {});
}

}  // namespace

// The lists of one copy in pinned memory, dst_index first, and the end of the runs that read them.
class IndexTable {
public:
    IndexTable() = default;
    ~IndexTable() {
        if (table_ != nullptr) {
            table_->release(runs_.get());
        }
    }
    IndexTable(const IndexTable &) = delete;
    IndexTable &operator=(const IndexTable &) = delete;

    // Returns the table of these lists for the stream's context, retained, or nullptr: there is no room.
    DescriptorTable *find(const IndexedTransfer &transfer, const ResolvedStream &stream) {
        const std::lock_guard<std::mutex> lock(mutex_);
        DescriptorTable *table = DescriptorTable::keep(&table_, stream.key(), host_bytes(transfer),
                                                       [&](void *memory) { write_lists(transfer, memory); });
        if (table != nullptr) {
            table->retain();
        }
        return table;
    }

    // Remembers that work up to the fence reads the table. Waits for the runs if there is no memory to join them.
    void note_run(Fence *end) {
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

private:
    std::mutex mutex_;
    DescriptorTable *table_ = nullptr;
    UniqueFence runs_;
};

Status make_index_table(IndexTable **out_table) { return make_object("a copy by index", out_table); }

void end_index_table(IndexTable *table) { delete table; }

namespace {

// The lists of a copy where kernels on a stream read them, for the time of one run.
class ReachedLists {
public:
    // Stores the rows with lists that kernels reach.
    Status find(const IndexedTransfer &transfer, const ResolvedStream &stream, IndexedRows *out_rows) {
        *out_rows = transfer.rows;
        const int64_t nbytes = host_bytes(transfer);
        if (nbytes == 0) {
            return VIA_OK;
        }
        table_.reset(transfer.table->find(transfer, stream));
        if (table_.get() == nullptr) {
            return upload(transfer, nbytes, stream, out_rows);
        }
        *out_rows = read_at(transfer, table_.get()->memory());
        return stream.capturing ? table_.get()->hold_in_graph(stream) : VIA_OK;
    }

private:
    // Brings lists to the device that are too long for pinned memory.
    Status upload(const IndexedTransfer &transfer, int64_t nbytes, const ResolvedStream &stream,
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

    UniqueTable table_;
    Scratch scratch_;
};

// ------------------------------------------------------------------------------------------------ rows

Status launch_part(const Transfer &transfer, const IndexedRows &rows, uint64_t fault, const ResolvedStream &stream) {
    return launch_where_reached(transfer, stream,
                                [&](const ResolvedStream &home) { return launch_indexed(rows, fault, home); });
}

Status pack_rows(const Transfer &transfer, const IndexedRows &rows, char *packed, const ResolvedStream &stream) {
    return launch_part(with_src_only(transfer), packed_from(rows, packed), 0, stream);
}

Status unpack_rows(const Transfer &transfer, const IndexedRows &rows, const char *packed,
                   const ResolvedStream &stream) {
    return launch_part(with_dst_only(transfer), unpacked_from(rows, packed), 0, stream);
}

// The rows, packed one after the other.
class PackedRows final : public PackedItems {
public:
    PackedRows(const IndexedTransfer &transfer, const IndexedRows &rows, uint64_t fault)
        : PackedItems(transfer.transfer, rows.count, rows.row_bytes, transfer.host), rows_(rows), fault_(fault) {}

    Status copy_on_device(const ResolvedStream &stream) override {
        return launch_part(reached(), rows_, fault_, stream);
    }

private:
    Status pack_items(int64_t first, int64_t count, char *packed, const ResolvedStream &stream) override {
        return pack_rows(reached(), via::part_of(rows_, first, count), packed, stream);
    }

    Status unpack_items(int64_t first, int64_t count, const char *packed, const ResolvedStream &stream) override {
        return unpack_rows(reached(), via::part_of(rows_, first, count), packed, stream);
    }

    const IndexedRows &rows_;  // with lists that the device reaches
    const uint64_t fault_;     // the address of the record of faults; 0: none
};

// Rows that a device brings together at a time: enough to keep it busy, in little memory.
constexpr int64_t kPartBytes = int64_t{32} << 20;

// Converts rows between arrays, or scratch, and packed elements; nullptr stands for the array.
Status convert_rows(const Transfer &transfer, const ConvertedRows &rows, const char *src, char *dst,
                    const ResolvedStream &stream) {
    const ElementLoops loops = loops_of(rows, src, dst);
    const auto launch = [&](const ResolvedStream &home) { return launch_convert(loops, rows.elements, home); };
    if (src != nullptr && dst != nullptr) {
        return launch(stream);
    }
    return launch_where_reached(src != nullptr   ? with_dst_only(transfer)
                                : dst != nullptr ? with_src_only(transfer)
                                                 : transfer,
                                stream, launch);
}

// Moves rows between arrays and packed elements; nullptr stands for the array. Rows that are not straight are brought
// together in scratch memory before they are converted, or spread out from there.
Status move_part(const Transfer &transfer, const ConvertedRows &rows, const char *src, char *dst,
                 const ResolvedStream &stream) {
    if (changes_nothing(rows.elements) && (src != nullptr || dst != nullptr)) {
        return dst != nullptr ? pack_rows(transfer, rows_of(rows, RowSide::Src), dst, stream)
                              : unpack_rows(transfer, rows_of(rows, RowSide::Dst), src, stream);
    }
    Scratch from;
    Scratch to;
    if (src == nullptr && !is_straight(rows, RowSide::Src)) {
        VIA_TRY(from.allocate(rows.rows.count * packed_row_bytes(rows, RowSide::Src), stream));
        auto *packed = static_cast<char *>(from.address());
        VIA_TRY(pack_rows(transfer, rows_of(rows, RowSide::Src), packed, stream));
        src = packed;
    }
    const bool scatters = dst == nullptr && !is_straight(rows, RowSide::Dst);
    if (scatters) {
        VIA_TRY(to.allocate(rows.rows.count * packed_row_bytes(rows, RowSide::Dst), stream));
        dst = static_cast<char *>(to.address());
    }
    VIA_TRY(convert_rows(transfer, rows, src, dst, stream));
    return scatters ? unpack_rows(transfer, rows_of(rows, RowSide::Dst), dst, stream) : VIA_OK;
}

// Moves parts, so that their scratch is small.
Status move_rows(const Transfer &transfer, const ConvertedRows &rows, const char *src, char *dst,
                 const ResolvedStream &stream) {
    const int64_t src_bytes = packed_row_bytes(rows, RowSide::Src);
    const int64_t dst_bytes = packed_row_bytes(rows, RowSide::Dst);
    const int64_t each = std::clamp<int64_t>(kPartBytes / std::max(src_bytes, dst_bytes), 1, rows.rows.count);
    for (int64_t first = 0; first < rows.rows.count; first += each) {
        const int64_t count = std::min(each, rows.rows.count - first);
        VIA_TRY(move_part(transfer, rows.part(first, count), src != nullptr ? src + first * src_bytes : nullptr,
                          dst != nullptr ? dst + first * dst_bytes : nullptr, stream));
    }
    return VIA_OK;
}

// Rows by index that are converted.
class ConvertedItems final : public PackedItems {
public:
    // `reached` has the lists that the device reaches.
    ConvertedItems(const IndexedTransfer &transfer, const IndexedRows &reached)
        : PackedItems(transfer.transfer, reached.count,
                      transfer.converted->row.count * link_of(transfer.converted->elements).bytes, transfer.host),
          link_(link_of(transfer.converted->elements)),
          rows_{reached, transfer.converted->row, transfer.converted->elements} {}

    Status copy_on_device(const ResolvedStream &stream) override {
        return move_rows(reached(), rows_, nullptr, nullptr, stream);
    }

private:
    Status pack_items(int64_t first, int64_t count, char *packed, const ResolvedStream &stream) override {
        return move_rows(with_src_only(reached()), rows_.with(link_.before).part(first, count), nullptr, packed,
                         stream);
    }

    Status unpack_items(int64_t first, int64_t count, const char *packed, const ResolvedStream &stream) override {
        return move_rows(with_dst_only(reached()), rows_.with(link_.after).part(first, count), packed, nullptr, stream);
    }

    const LinkConversion link_;
    const ConvertedRows rows_;
};

}  // namespace

// Tables are kept until the work has ended.
Status IndexedTransfer::enqueue(const ResolvedStream &stream, via_task *task, IndexFence **out_faults) const {
    const bool has_device_lists = dst_index != nullptr || src_index != nullptr;
    if (has_device_lists && !stream.capturing) {
        VIA_TRY(make_index_fence(stream.key(), rows, out_faults));
    }
    ReachedLists lists;
    IndexedRows reached;
    VIA_TRY(lists.find(*this, stream, &reached));
    if (converted != nullptr) {
        ConvertedItems items(*this, reached);
        return enqueue_items(items, stream, task);
    }
    PackedRows items(*this, reached, *out_faults != nullptr ? (*out_faults)->record() : 0);
    return enqueue_items(items, stream, task);
}

void IndexedTransfer::note_run(Fence *end) const {
    if (host_bytes(*this) > 0) {
        table->note_run(end);
    }
}

}  // namespace via::cuda
