// One copy by index: checked and planned, to be run once or again and again.
#pragma once

#include <memory>

#include "copy/element_plan.hpp"
#include "copy/indexed.hpp"
#include "copy/indexed/check_indexed.hpp"
#include "copy/planned_copy.hpp"
#include "cuda/indexed_transfer.hpp"

namespace via {

class IndexedCopy final : public PlannedCopy, cuda::IoEndpoint {
public:
    // Checks everything but numbers on a device. Reads lists of host memory.
    VIA_NODISCARD static Status make(const IndexedArguments &arguments, PlannedCopy **out_copy);

    ~IndexedCopy() override;

    VIA_NODISCARD Status run_on(via_stream *stream) override;
    VIA_NODISCARD Status run_now() override;
    VIA_NODISCARD Status run_in_task(int64_t done_before, via_task *task, Fence **out_fence) override;
    bool is_immediate() const override { return !fetches_ && PlannedCopy::is_immediate(); }

private:
    enum class Layout : int32_t { Bytes, Bits, Converted };

    explicit IndexedCopy(const IndexedArguments &arguments);

    VIA_NODISCARD Status plan(int64_t count);
    VIA_NODISCARD Status plan_rows();
    VIA_NODISCARD Status plan_converted(via_array *dst_row, via_array *src_row);
    const ConvertedRows *converted() const { return elements_ != nullptr ? &converted_ : nullptr; }
    VIA_NODISCARD Status find_route();
    void set_rows();
    VIA_NODISCARD Status read_lists();
    VIA_NODISCARD Status read_list(const char *name, via_array *list, int64_t extent, IndexNumbers *numbers,
                                   IndexList *out_list);
    VIA_NODISCARD Status check_lists() const;

    void run_on_host() override;
    VIA_NODISCARD Status run_in_pieces(int64_t done_before, via_task *task) override;

    // The host's part of a copy that involves a device: rows as they cross the link.
    VIA_NODISCARD Status read(void *slot, int64_t offset, int64_t nbytes) override;
    VIA_NODISCARD Status write(const void *slot, int64_t offset, int64_t nbytes) override;

    // Runs the copy with lists that were fetched from a device for this run.
    template <class Run>
    VIA_NODISCARD Status with_fetched(const Run &run);
    VIA_NODISCARD Status fetch(const char *name, via_array *list, IndexList *out_list, std::unique_ptr<char[]> *block);

    IndexedArguments given_;
    Layout layout_ = Layout::Bytes;
    bool fetches_ = false;  // lists from a device, at each run
    RowOverlap overlap_ = RowOverlap::None;
    IndexedRows rows_{};
    Plan row_{};  // row 0 in normal form
    // Of a conversion: the elements of row 0, and the rows.
    std::shared_ptr<const ElementPlan> elements_;
    ConvertedRows converted_{};
    IndexNumbers dst_numbers_;
    IndexNumbers src_numbers_;
    cuda::IndexedTransfer transfer_{};
    cuda::IndexTable *table_ = nullptr;
};

}  // namespace via
