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
    Conversion(via_array *dst, via_array *src) : PlannedCopy("a conversion by the host", dst, src) {}

    // Checks everything that may refuse the conversion. Touches no element.
    VIA_NODISCARD Status plan(const via_convert_options &options);

    void describe(TextBuffer *text) const;

private:
    VIA_NODISCARD Status find_route(const via_convert_options &options);
    void run_on_host() override;
    VIA_NODISCARD Status run_in_pieces(int64_t done_before, via_task *task) override;

    // The host's part of a conversion that involves a device: elements as they cross the link.
    VIA_NODISCARD Status read(void *slot, int64_t offset, int64_t nbytes) override;
    VIA_NODISCARD Status write(const void *slot, int64_t offset, int64_t nbytes) override;

    ElementPlan elements_;
    cuda::ConvertTransfer transfer_{};
};

}  // namespace via
