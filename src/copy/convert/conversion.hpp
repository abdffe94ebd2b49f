// One conversion: checked and planned.
#pragma once

#include "copy/convert.hpp"
#include "copy/element_plan.hpp"
#include "copy/planned_copy.hpp"
#include "core/base/text_buffer.hpp"
#include "cuda/convert_transfer.hpp"

namespace via {

class Conversion final : public PlannedCopy, cuda::IoEndpoint {
public:
    Conversion(via_array *dst, via_array *src);
    ~Conversion() override;

    // Checks everything that may refuse the conversion. Touches no element.
    VIA_NODISCARD Status plan(const via_convert_options &options);

    via_array *dst() const override { return dst_; }
    via_array *src() const override { return src_; }
    int64_t nbytes() const override { return dst_->nbytes(); }
    VIA_NODISCARD Status prepare_on(via_stream *stream) override;
    VIA_NODISCARD Status run_on(via_stream *stream) override;
    VIA_NODISCARD Status run_now() override;
    VIA_NODISCARD Status find_dependency(via_stream *stream, Fence **out_dependency) override;
    VIA_NODISCARD Status run_in_task(int64_t done_before, via_task *task, Fence **out_fence) override;
    VIA_NODISCARD Status note_task(Fence *end) override;
    bool is_immediate() const override;

    void describe(TextBuffer *text) const;

private:
    VIA_NODISCARD Status find_route(const via_convert_options &options);
    VIA_NODISCARD Status await_before(via_stream *stream) const;

    // The host's part of a conversion that involves a device: elements as they cross the link.
    VIA_NODISCARD Status read(void *slot, int64_t offset, int64_t nbytes) override;
    VIA_NODISCARD Status write(const void *slot, int64_t offset, int64_t nbytes) override;

    via_array *const dst_;
    via_array *const src_;
    bool is_empty_ = false;
    bool on_host_ = false;
    ElementPlan elements_;
    cuda::ConvertTransfer transfer_{};
};

}  // namespace via
