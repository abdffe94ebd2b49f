#include "copy/indexed/check_indexed.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>

#include "copy/copy_check.hpp"
#include "copy/normalise.hpp"
#include "copy/plan/overlap.hpp"
#include "core/array/view.hpp"
#include "core/async/thread_pool.hpp"

namespace via {
namespace {

Status check_same_rows(const IndexedArguments &arguments) {
    via_array *dst = arguments.dst;
    via_array *src = arguments.src;
    if (arguments.options == nullptr && dst->dtype != src->dtype) {
        return fail(VIA_ERROR_DTYPE, "src has dtype %s; expected that of dst, %s", DtypeName(src->dtype).text,
                    DtypeName(dst->dtype).text);
    }
    if (dst->ndim != src->ndim || dst->ndim == 0) {
        return fail(VIA_ERROR_SHAPE, "src has ndim %d and dst %d; expected the same, at least 1", src->ndim, dst->ndim);
    }
    return VIA_OK;
}

Status check_extents(const IndexedArguments &arguments) {
    for (int32_t i = 0; i < arguments.dst->ndim; ++i) {
        if (i != arguments.axis && arguments.dst->shape()[i] != arguments.src->shape()[i]) {
            return fail(VIA_ERROR_SHAPE, "src has extent %lld along axis %d; expected that of dst, %lld",
                        as_printed(arguments.src->shape()[i]), i, as_printed(arguments.dst->shape()[i]));
        }
    }
    return VIA_OK;
}

Status check_list(const char *name, via_array *list) {
    if (list == nullptr) {
        return VIA_OK;
    }
    if (list->dtype != VIA_INT32 && list->dtype != VIA_INT64) {
        return fail(VIA_ERROR_DTYPE, "%s has dtype %s; expected int32 or int64", name, DtypeName(list->dtype).text);
    }
    return list->ndim == 1 ? VIA_OK : fail(VIA_ERROR_SHAPE, "%s has ndim %d; expected 1", name, list->ndim);
}

// A list on a device is read by the kernel of that device.
Status check_device(const char *name, via_array *list, const IndexedArguments &arguments) {
    const auto is_there = [=](via_array *array) { return is_on_device(array) && array->device_id == list->device_id; };
    const bool has_device = is_on_device(arguments.dst) || is_on_device(arguments.src);
    return !is_on_device(list) || !has_device || is_there(arguments.dst) || is_there(arguments.src)
               ? VIA_OK
               : fail(VIA_ERROR_DEVICE, "%s is on device %d; expected host memory, or a device of dst or src", name,
                      list->device_id);
}

// The list that is not given has as many numbers as the other one.
Status check_count(const char *name, via_array *array, int32_t axis, int64_t count) {
    const int64_t extent = array->shape()[axis];
    return count <= extent ? VIA_OK
                           : fail(VIA_ERROR_SHAPE,
                                  "%s has extent %lld along axis %d; expected at least %lld, a row for "
                                  "each index",
                                  name, as_printed(extent), axis, as_printed(count));
}

Status find_count(const IndexedArguments &arguments, int64_t *out_count) {
    via_array *to = arguments.dst_index;
    via_array *from = arguments.src_index;
    const int32_t axis = arguments.axis;
    if (to != nullptr && from != nullptr) {
        *out_count = to->size;
        return to->size == from->size ? VIA_OK
                                      : fail(VIA_ERROR_SHAPE, "src_index has %lld numbers; expected %lld, as dst_index",
                                             as_printed(from->size), as_printed(to->size));
    }
    if (to == nullptr && from == nullptr) {
        *out_count = arguments.dst->shape()[axis];
        const int64_t extent = arguments.src->shape()[axis];
        return extent == *out_count ? VIA_OK
                                    : fail(VIA_ERROR_SHAPE,
                                           "src has extent %lld along axis %d; expected that of dst, %lld, without an "
                                           "index",
                                           as_printed(extent), axis, as_printed(*out_count));
    }
    *out_count = to != nullptr ? to->size : from->size;
    return to != nullptr ? check_count("src", arguments.src, axis, *out_count)
                         : check_count("dst", arguments.dst, axis, *out_count);
}

// Numbers that a thread takes at a time: it checks one in 1 ns.
constexpr int64_t kShare = int64_t{32} << 10;

// What is wrong with some numbers.
struct Faults {
    bool out_of_range = false;
    bool descends = false;  // some number is not greater than the one before
};

// Copies numbers first to last - 1. Reads each number once: its owner may change it meanwhile. Decides after the last,
// which is fastest.
template <class From, class To>
Faults read_range(const IndexList &list, int64_t extent, int64_t first, int64_t last, void *block) {
    const char *at = static_cast<const char *>(list.at) + first * list.step;
    const int64_t step = list.step;
    To *to = static_cast<To *>(block);
    Faults found;
    int64_t before = -1;
    for (int64_t k = first; k < last; ++k, at += step) {
        const int64_t row = *reinterpret_cast<const volatile From *>(at);
        found.out_of_range |= static_cast<uint64_t>(row) >= static_cast<uint64_t>(extent);
        found.descends |= row <= before;
        to[k] = static_cast<To>(row);
        before = row;
    }
    return found;
}

Status out_of_range(const char *name, const IndexList &list, int64_t count, int64_t extent) {
    for (int64_t k = 0; k < count; ++k) {
        if (const int64_t row = list[k]; row < 0 || row >= extent) {
            return fail(VIA_ERROR_INDEX, "%s[%lld] is %lld; expected 0 to %lld", name, as_printed(k), as_printed(row),
                        as_printed(extent - 1));
        }
    }
    return fail(VIA_ERROR_INDEX, "%s was changed during the call; expected numbers of 0 to %lld", name,
                as_printed(extent - 1));
}

// Which rows of an array a list names.
class RowSet {
public:
    // Errors: VIA_ERROR_OUT_OF_MEMORY.
    VIA_NODISCARD Status make(int64_t extent) {
        // Pages that no row falls into are never touched.
        words_.reset(static_cast<uint64_t *>(std::calloc(static_cast<size_t>((extent + 63) / 64), sizeof(uint64_t))));
        return words_ != nullptr
                   ? VIA_OK
                   : fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a set of %lld rows", as_printed(extent));
    }

    bool has(int64_t row) const { return (words_.get()[row / 64] >> (row % 64) & 1) != 0; }
    void add(int64_t row) { words_.get()[row / 64] |= uint64_t{1} << (row % 64); }

private:
    struct Free {
        void operator()(uint64_t *words) const { std::free(words); }
    };
    std::unique_ptr<uint64_t, Free> words_;
};

Status check_different(const IndexList &list, int64_t count, int64_t extent) {
    RowSet rows;
    VIA_TRY(rows.make(extent));
    for (int64_t k = 0; k < count; ++k) {
        const int64_t row = list[k];
        if (rows.has(row)) {
            return fail(VIA_ERROR_OVERLAP, "dst_index[%lld] is %lld, which occurs before; expected each row once",
                        as_printed(k), as_printed(row));
        }
        rows.add(row);
    }
    return VIA_OK;
}

// Whether the arrays have the same rows at the same addresses.
bool are_same_rows(const Plan &row, const IndexedRows &rows) {
    return rows.dst == rows.src && row.dst_bit == row.src_bit && rows.dst_step == rows.src_step &&
           std::all_of(row.axes, row.axes + row.ndim, [](const Axis &axis) { return axis.dst_step == axis.src_step; });
}

RunSet runs_of(const IndexedRows &rows, const void *first, int64_t Axis::*step, int64_t extent, int64_t row_step) {
    RunSet runs(reinterpret_cast<int64_t>(first), rows.run, rows.axes, rows.ndim, step);
    if (extent > 1) {
        runs.add(extent, row_step);
    }
    return runs;
}

bool are_spans_apart(via_array *dst, via_array *src) {
    const ByteSpan a = byte_span(dst);
    const ByteSpan b = byte_span(src);
    const auto first = reinterpret_cast<uintptr_t>(dst->data);
    const auto second = reinterpret_cast<uintptr_t>(src->data);
    return first + static_cast<uintptr_t>(a.high) <= second + static_cast<uintptr_t>(b.low) ||
           second + static_cast<uintptr_t>(b.high) <= first + static_cast<uintptr_t>(a.low);
}

Status share_bytes(Overlap overlap) {
    return fail(VIA_ERROR_OVERLAP, "dst %s src; expected separate memory, or the same array",
                overlap == Overlap::Found ? "shares bytes with" : "may share bytes with");
}

Status check_rows_apart(const IndexedRows &to, const IndexedRows &from) {
    const Overlap overlap = find_overlap(runs_of(to, to.dst, &Axis::dst_step, to.dst_extent, to.dst_step),
                                         runs_of(from, from.src, &Axis::src_step, from.src_extent, from.src_step));
    return overlap == Overlap::None ? VIA_OK : share_bytes(overlap);
}

Status check_elements_apart(via_array *dst) {
    Plan whole;
    VIA_TRY(normalise_copy(dst, dst, &whole));
    return check_self_overlap(whole);
}

}  // namespace

Status check_indexed(IndexedArguments *arguments, int64_t *out_count) {
    VIA_TRY(check_same_rows(*arguments));
    VIA_TRY(resolve_axis(arguments->axis, arguments->dst->ndim, &arguments->axis));
    VIA_TRY(check_extents(*arguments));
    VIA_TRY(check_writable(arguments->dst));
    VIA_TRY(check_list("dst_index", arguments->dst_index));
    VIA_TRY(check_list("src_index", arguments->src_index));
    VIA_TRY(check_device("dst_index", arguments->dst_index, *arguments));
    VIA_TRY(check_device("src_index", arguments->src_index, *arguments));
    return find_count(*arguments, out_count);
}

// On several threads if the numbers are many.
Status read_numbers(const char *name, const IndexList &list, int64_t count, int64_t extent, IndexNumbers *out) {
    const bool is_narrow = extent <= INT32_MAX;
    const int32_t bytes = is_narrow ? 4 : 8;
    out->block.reset(new (std::nothrow) char[static_cast<size_t>(count * bytes)]);
    if (out->block == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for %lld numbers of rows", as_printed(count));
    }
    out->list = {out->block.get(), bytes, bytes};
    const auto read = list.bytes == 4 ? (is_narrow ? read_range<int32_t, int32_t> : read_range<int32_t, int64_t>)
                                      : (is_narrow ? read_range<int64_t, int32_t> : read_range<int64_t, int64_t>);
    std::atomic<bool> has_bad{false};
    std::atomic<bool> descends{false};
    parallel_ranges(0, count, kShare, threads_worth(count * int64_t{sizeof(int64_t)}),
                    [&](int64_t first, int64_t last) {
                        const Faults found = read(list, extent, first, last, out->block.get());
                        if (found.out_of_range) {
                            has_bad = true;
                        }
                        if (found.descends) {
                            descends = true;
                        }
                    });
    for (int64_t first = kShare; first < count; first += kShare) {
        if (out->list[first] <= out->list[first - 1]) {
            descends = true;
        }
    }
    if (has_bad) {
        return out_of_range(name, list, count, extent);
    }
    return out->different && descends ? check_different(out->list, count, extent) : VIA_OK;
}

Status check_memory(const IndexedArguments &arguments, const Plan &row, const IndexedRows &rows, bool *out_same_rows) {
    *out_same_rows = false;
    VIA_TRY(check_elements_apart(arguments.dst));
    if (are_spans_apart(arguments.dst, arguments.src)) {
        return VIA_OK;
    }
    if (are_same_rows(row, rows)) {
        *out_same_rows = true;
        return VIA_OK;
    }
    if (row.in_bits) {
        return share_bytes(Overlap::Unknown);
    }
    return check_rows_apart(rows, rows);
}

Status check_converted_memory(const IndexedArguments &arguments, const ConvertedRows &rows) {
    VIA_TRY(check_elements_apart(arguments.dst));
    return are_spans_apart(arguments.dst, arguments.src)
               ? VIA_OK
               : check_rows_apart(rows_of(rows, RowSide::Dst), rows_of(rows, RowSide::Src));
}

Status check_disjoint(const IndexedRows &rows) {
    RowSet written;
    VIA_TRY(written.make(rows.dst_extent));
    for (int64_t k = 0; k < rows.count; ++k) {
        written.add(rows.dst_index[k]);
    }
    for (int64_t k = 0; k < rows.count; ++k) {
        const int64_t row = rows.src_index[k];
        if (row < rows.dst_extent && written.has(row)) {
            return fail(VIA_ERROR_OVERLAP,
                        "src_index[%lld] is %lld, a row of dst_index in the same array; expected separate rows",
                        as_printed(k), as_printed(row));
        }
    }
    return VIA_OK;
}

}  // namespace via
