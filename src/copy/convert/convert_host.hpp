// Converts on the host.
//
// How it works. The elements are cut into blocks that the second-level cache holds. Where rows of elements are adjacent
// in both arrays, a block is converted row by row. Otherwise a strided copy, with all that makes those fast, brings the
// block's elements together in a scratch, they are converted as one run, and another strided copy spreads them out.
#pragma once

#include "copy/convert/convert_kernels.hpp"
#include "copy/element_plan.hpp"
#include "core/async/task.hpp"
#include "core/layout/element_loops.hpp"

namespace via {

// Converts runs of adjacent elements whose numbers stay as they are.
class PlainConverter {
public:
    explicit PlainConverter(const ElementConversion &elements);  // whose affine step it leaves out

    int64_t dst_bytes() const { return dst_bytes_; }
    int64_t src_bytes() const { return src_bytes_; }

    // Elements that fit the buffers of a call.
    int64_t part() const { return part_; }
    bool changes_nothing() const { return is_copy_ && swap_ == nullptr; }

    void run(char *dst, const char *src, int64_t count) const;
    // Does the same with stores that bypass the cache, if it does that in one step; otherwise returns false.
    bool run_streaming(char *dst, const char *src, int64_t count) const;

private:
    void run_part(char *dst, const char *src, int64_t count) const;

    int64_t dst_bytes_;
    int64_t src_bytes_;
    int64_t part_;  // elements that go through a buffer at a time
    bool saturates_;
    bool is_copy_ = false;
    DirectRuns direct_{};
    DecodeRun decode_ = nullptr;
    EncodeRun encode_ = nullptr;  // of what was decoded; nullptr where that is all
    SwapRun swap_ = nullptr;
    int64_t swaps_ = 1;  // parts of an element
};

// The numbers of an affine step that a run begins with: one pair for all elements, or one for each.
struct RunNumbers {
    int64_t first = 0;
    bool by_element = false;
    int64_t period = 0;  // after so many they begin again, and are repeated in memory; 0: never

    RunNumbers after(int64_t elements) const {
        const int64_t next = first + (by_element ? elements : 0);
        return {period > 0 ? next % period : next, by_element, period};
    }
};

// Converts runs of adjacent elements.
class RunConverter {
public:
    explicit RunConverter(const ElementConversion &elements);

    int64_t dst_bytes() const { return plain_.dst_bytes(); }
    int64_t src_bytes() const { return plain_.src_bytes(); }

    void run(char *dst, const char *src, int64_t count, const RunNumbers &numbers = {}) const;
    // With stores that bypass the cache, where that pays. end_streaming comes after the last.
    void run_streaming(char *dst, const char *src, int64_t count, const RunNumbers &numbers) const;

private:
    void run_affine(char *dst, const char *src, int64_t count, const RunNumbers &numbers) const;
    void stream_parts(char *dst, const char *src, int64_t count, const RunNumbers &numbers) const;

    const AffineStep *affine_;
    int64_t part_;  // elements that an affine step does at a time
    PlainConverter plain_;
    PlainConverter to_float_;    // before an affine step
    PlainConverter from_float_;  // after it
};

// Does what convert_elements does in pieces, for a task. Reports `done_before` and the bytes of dst as progress.
// Errors: VIA_ERROR_CANCELLED.
VIA_NODISCARD Status convert_in_pieces(const ElementLoops &loops, const ElementConversion &elements,
                                       int64_t done_before, via_task *task);

// How a conversion is cut, for a description.
struct ConvertShape {
    int64_t blocks;
    int32_t threads;
    bool by_rows;
    bool streaming;
};

ConvertShape find_shape(const ElementLoops &loops, const ElementConversion &elements);

}  // namespace via
