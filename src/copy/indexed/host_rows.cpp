#include "copy/indexed/host_rows.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "copy/bits.hpp"
#include "copy/host/host_kernels.hpp"
#include "copy/host/walk.hpp"
#include "copy/plan/cache_sizes.hpp"
#include "core/async/thread_pool.hpp"
#include "core/base/copy_contiguous.hpp"

namespace via {
namespace {

// How far ahead sources are fetched: rows are anywhere, so that the processor cannot guess them.
constexpr int64_t kAheadBytes = int64_t{4} << 10;
constexpr int64_t kElementsAhead = 24;
constexpr size_t kLeastFetched = 32;  // of elements; the processor has as many smaller ones under way by itself

// Rows of this size and longer are written past the cache, if they are many.
constexpr int64_t kLeastStreamed = 1024;

// The loops of the rows. Those along which dst moves less than from row to row are done for each row. The others go
// around all rows, so that what is near is copied together.
class RowLoops {
public:
    explicit RowLoops(const IndexedRows &rows, bool streaming) : rows_(rows), streaming_(streaming) {
        const int64_t step = std::abs(rows.dst_step);
        while (inner_ < rows.ndim && (rows.axes[inner_].dst_step < step || rows.count == 1)) {
            inner_bytes_ *= rows.axes[inner_++].extent;
        }
        for (int32_t i = inner_; i < rows.ndim; ++i) {
            outer_count_ *= rows.axes[i].extent;
        }
        merges_ = inner_ == 0 && rows.dst_step == rows.run && rows.src_step == rows.run;
        order_inner();
        loop_ = find_element_loop<1, 2, 4, 8, 16, 32, 64, 128>(inner_ == 0 ? rows.run : 0);
    }

    int64_t inner_bytes() const { return inner_bytes_; }
    int64_t outer_count() const { return outer_count_; }

    // Copies rows first to last - 1 for one index of the loops around them.
    void run(int64_t outer, int64_t first, int64_t last) const {
        char *dst = rows_.dst;
        const char *src = rows_.src;
        for (int32_t i = inner_; i < rows_.ndim; ++i) {
            const Axis &axis = rows_.axes[i];
            const int64_t at = outer % axis.extent;
            outer /= axis.extent;
            dst += at * axis.dst_step;
            src += at * axis.src_step;
        }
        if (loop_ != nullptr) {
            (this->*loop_)(dst, src, first, last);
        } else {
            copy_each(dst, src, first, last);
        }
    }

private:
    using ElementLoop = void (RowLoops::*)(char *dst, const char *src, int64_t first, int64_t last) const;

    void order_inner() {
        int32_t of[VIA_MAX_NDIM];
        for (int32_t i = 0; i < inner_; ++i) {
            inner_axes_[i] = rows_.axes[i];
            of[i] = i;
        }
        for (int32_t i = inner_; i < 2; ++i) {
            inner_axes_[i] = {1, 0, 0};
        }
        const WalkOrder order = order_walk(rows_.run, inner_, inner_axes_, of, false);
        start_ = order.flipped ? start_of(inner_axes_, inner_) : WalkStart{0, 0};
        kernel_ = walk_kernel(order.walk, rows_.run, streaming_);
    }

    // Returns the distance of the source of the row that is fetched meanwhile; 0: none.
    int64_t ahead_of(int64_t k, int64_t from, int64_t last) const {
        const int64_t next = k + std::max<int64_t>(kAheadBytes / inner_bytes_, 1);
        return next < last ? (rows_.src_index[next] - from) * rows_.src_step : 0;
    }

    void copy_each(char *dst, const char *src, int64_t first, int64_t last) const {
        for (int64_t k = first; k < last;) {
            const int64_t to = rows_.dst_index[k];
            const int64_t from = rows_.src_index[k];
            int64_t count = 1;
            while (merges_ && k + count < last && rows_.dst_index[k + count] == to + count &&
                   rows_.src_index[k + count] == from + count) {
                ++count;
            }
            kernel_({dst + to * rows_.dst_step + start_.dst, src + from * rows_.src_step + start_.src,
                     rows_.run * count, inner_axes_, std::max(inner_, 2), ahead_of(k + count - 1, from, last)});
            k += count;
        }
    }

    // Lists are dense here: copies that were checked.
    struct EveryRow {
        explicit EveryRow(const IndexList &) {}
        int64_t operator[](int64_t k) const { return k; }
    };
    template <class Number>
    struct Numbers {
        explicit Numbers(const IndexList &list) : at(static_cast<const Number *>(list.at)) {}
        int64_t operator[](int64_t k) const { return at[k]; }
        const Number *at;
    };

    template <class Dst, class Src, class Element>
    void copy_elements(char *dst, const char *src, int64_t first, int64_t last) const {
        const Dst to(rows_.dst_index);
        const Src from(rows_.src_index);
        const int64_t dst_step = rows_.dst_step;
        const int64_t src_step = rows_.src_step;
        for (int64_t k = first; k < last; ++k) {
            if (sizeof(Element) >= kLeastFetched && k + kElementsAhead < last) {
                __builtin_prefetch(src + from[k + kElementsAhead] * src_step);
            }
            std::memcpy(dst + to[k] * dst_step, src + from[k] * src_step, sizeof(Element));
        }
    }

    template <class Element, class Dst>
    ElementLoop loop_from(const IndexList &list) const {
        return list.at == nullptr ? &RowLoops::copy_elements<Dst, EveryRow, Element>
               : list.bytes == 4  ? &RowLoops::copy_elements<Dst, Numbers<int32_t>, Element>
                                  : &RowLoops::copy_elements<Dst, Numbers<int64_t>, Element>;
    }

    template <int kBytes>
    ElementLoop loop_of() const {
        struct Element {
            char bytes[kBytes];
        };
        const IndexList &list = rows_.dst_index;
        return list.at == nullptr ? loop_from<Element, EveryRow>(rows_.src_index)
               : list.bytes == 4  ? loop_from<Element, Numbers<int32_t>>(rows_.src_index)
                                  : loop_from<Element, Numbers<int64_t>>(rows_.src_index);
    }

    // Rows of a few bytes are moved as elements. Returns nullptr for others.
    template <int... kBytes>
    ElementLoop find_element_loop(int64_t bytes) const {
        ElementLoop found = nullptr;
        ((found = bytes == kBytes ? loop_of<kBytes>() : found), ...);
        return found;
    }

    const IndexedRows &rows_;
    const bool streaming_;
    int32_t inner_ = 0;  // axes
    int64_t inner_bytes_ = rows_.run;
    int64_t outer_count_ = 1;
    bool merges_ = false;  // rows that follow one another in both arrays are one run
    WalkStart start_{0, 0};
    Kernel kernel_ = nullptr;
    ElementLoop loop_ = nullptr;
    Axis inner_axes_[VIA_MAX_NDIM] = {};
};

bool is_streamed(const IndexedRows &rows) {
    return rows.run >= kLeastStreamed && rows.nbytes() >= last_level_bytes() / 2;
}

void copy_range(const IndexedRows &rows, const RowLoops &loops, bool streaming, int64_t first, int64_t last) {
    const int64_t nbytes = (last - first) * rows.row_bytes;
    const int32_t threads = threads_worth(nbytes);
    const int64_t each = std::clamp<int64_t>(share_of(nbytes, threads) / loops.inner_bytes(), 1, last - first);
    const int64_t of_outer = (last - first - 1) / each + 1;  // shares of one index of the loops around
    parallel_ranges(0, of_outer * loops.outer_count(), 1, threads, [&](int64_t from, int64_t to) {
        for (int64_t i = from; i < to; ++i) {
            const int64_t row = first + i % of_outer * each;
            loops.run(i / of_outer, row, std::min(row + each, last));
        }
        if (streaming) {
            end_streaming();
        }
    });
}

// Walks the packed bytes of the rows, run by run. `copy` takes the addresses in the arrays and the part of the run.
template <class Copy>
void walk_packed(const IndexedRows &rows, int64_t offset, int64_t nbytes, const Copy &copy) {
    int64_t k = offset / rows.row_bytes;
    int64_t number = offset % rows.row_bytes / rows.run;
    int64_t within = offset % rows.run;
    int64_t index[VIA_MAX_NDIM];
    for (int32_t i = 0; i < rows.ndim; ++i) {
        index[i] = number % rows.axes[i].extent;
        number /= rows.axes[i].extent;
    }
    while (nbytes > 0) {
        int64_t dst = rows.dst_index[k] * rows.dst_step + within;
        int64_t src = rows.src_index[k] * rows.src_step + within;
        for (int32_t i = 0; i < rows.ndim; ++i) {
            dst += index[i] * rows.axes[i].dst_step;
            src += index[i] * rows.axes[i].src_step;
        }
        const int64_t some = std::min(rows.run - within, nbytes);
        copy(dst, src, some);
        nbytes -= some;
        within = 0;
        int32_t level = 0;
        while (level < rows.ndim && ++index[level] == rows.axes[level].extent) {
            index[level++] = 0;
        }
        k += level == rows.ndim ? 1 : 0;
    }
}

}  // namespace

void copy_rows(const IndexedRows &rows) {
    const bool streaming = is_streamed(rows);
    copy_range(rows, RowLoops(rows, streaming), streaming, 0, rows.count);
}

void copy_rows_here(const IndexedRows &rows) {
    const RowLoops loops(rows, false);
    for (int64_t i = 0; i < loops.outer_count(); ++i) {
        loops.run(i, 0, rows.count);
    }
}

Status copy_rows_in_pieces(const IndexedRows &rows, int64_t done_before, via_task *task) {
    const bool streaming = is_streamed(rows);
    const RowLoops loops(rows, streaming);
    return run_in_pieces(rows.count, rows.nbytes(), done_before, task,
                         [&](int64_t first, int64_t last) { copy_range(rows, loops, streaming, first, last); });
}

void pack_rows(const IndexedRows &rows, int64_t offset, int64_t nbytes, char *packed) {
    walk_packed(rows, offset, nbytes, [&](int64_t, int64_t src, int64_t some) {
        copy_contiguous(packed, rows.src + src, some);
        packed += some;
    });
}

void unpack_rows(const IndexedRows &rows, int64_t offset, int64_t nbytes, const char *packed) {
    walk_packed(rows, offset, nbytes, [&](int64_t dst, int64_t, int64_t some) {
        copy_contiguous(rows.dst + dst, packed, some);
        packed += some;
    });
}

void copy_rows_of_bits(const Plan &row, const IndexedRows &rows) {
    for (int64_t k = 0; k < rows.count; ++k) {
        Plan bits = row;
        bits.dst_bit += rows.dst_index[k] * rows.dst_step;
        bits.src_bit += rows.src_index[k] * rows.src_step;
        run_bits(bits);
    }
}

}  // namespace via
