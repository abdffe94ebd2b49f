// One conversion: checked and planned.
#pragma once

#include <memory>

#include "copy/convert.hpp"
#include "copy/convert/element_order.hpp"
#include "core/base/text_buffer.hpp"
#include "core/layout/element_loops.hpp"
#include "cuda/convert_transfer.hpp"

namespace via {

// Holds its arrays.
class Conversion {
public:
    Conversion(via_array *dst, via_array *src);
    ~Conversion();
    Conversion(const Conversion &) = delete;
    Conversion &operator=(const Conversion &) = delete;

    // Checks everything that may refuse the conversion. Touches no element.
    VIA_NODISCARD Status plan(const via_convert_options &options);

    // Converts in stream order; nullptr means the legacy stream.
    VIA_NODISCARD Status run_on(via_stream *stream) const;

    // Converts, and returns when every stream and the host see the result.
    VIA_NODISCARD Status run_now() const;

    // For a task: what it waits for, and its work, which waits for nothing.
    VIA_NODISCARD Status find_dependency(via_stream *stream, Fence **out_dependency) const;
    VIA_NODISCARD Status run_in_task(via_task *task, Fence **out_fence) const;

    // Returns true if run_in_task only queues work on a device.
    bool is_immediate() const;

    int64_t nbytes() const { return dst_->nbytes(); }
    void describe(TextBuffer *text) const;

private:
    void make_loops(LoopOrder order);
    VIA_NODISCARD Status find_route();
    VIA_NODISCARD Status keep_affine(const via_convert_options &options);
    VIA_NODISCARD Status await_before(via_stream *stream) const;

    via_array *const dst_;
    via_array *const src_;
    bool is_empty_ = false;
    bool on_host_ = false;
    cuda::ConvertTransfer transfer_{};
    int32_t numbered_ = -1;  // axis of the arrays that the affine step goes along
    bool is_reversed_ = false;
    AffineStep affine_{};
    std::unique_ptr<float[]> numbers_;  // of the affine step: scales, and offsets
};

}  // namespace via
