#include "copy/convert.hpp"

#include "copy/convert/convert_host.hpp"
#include "copy/copy.hpp"
#include "copy/copy_plan.hpp"
#include "copy/element_plan.hpp"
#include "copy/explain.hpp"
#include "copy/planned_copy.hpp"
#include "core/base/text_buffer.hpp"
#include "cuda/convert_transfer.hpp"
#include "cuda/device.hpp"

namespace via {
namespace {

// One conversion: checked and planned.
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

}  // namespace

Status Conversion::plan(const via_convert_options &options) {
    VIA_TRY(elements_.make(dst(), src(), options, LoopOrder::OfDst));
    nbytes_ = dst()->nbytes();
    is_empty_ = dst()->size == 0;
    if (is_empty_) {
        return VIA_OK;
    }
    VIA_TRY(check_overlap(elements_.loops(), elements_.elements()));
    return find_route(options);
}

// The host's memory gives the order in which elements cross the link.
Status Conversion::find_route(const via_convert_options &options) {
    transfer_.loops = elements_.loops();
    transfer_.elements = elements_.elements();
    cuda::Transfer &transfer = transfer_.transfer;
    VIA_TRY(make_transfer(transfer_.loops.dst, transfer_.loops.src, &transfer));
    if (!cuda::has_device(transfer)) {
        return VIA_OK;
    }
    if (cuda::items_route(transfer) == cuda::ItemsRoute::Staged && cuda::is_to_device(transfer)) {
        VIA_TRY(elements_.make(dst(), src(), options, LoopOrder::OfSrc));
        transfer_.loops = elements_.loops();
        transfer.dst = transfer_.loops.dst;
        transfer.src = transfer_.loops.src;
    }
    transfer_.converts_first = cuda::is_no_wider(transfer_.elements);
    transfer_.host = this;
    device_ = &transfer_;
    return cuda::check_items(transfer_);
}

Status Conversion::read(void *slot, int64_t offset, int64_t nbytes) {
    const cuda::LinkConversion link = transfer_.link();
    convert_to_packed(transfer_.loops, link.before, offset / link.bytes, nbytes / link.bytes, slot);
    return VIA_OK;
}

Status Conversion::write(const void *slot, int64_t offset, int64_t nbytes) {
    const cuda::LinkConversion link = transfer_.link();
    convert_from_packed(transfer_.loops, link.after, offset / link.bytes, nbytes / link.bytes, slot);
    return VIA_OK;
}

void Conversion::run_on_host() { convert_elements(transfer_.loops, transfer_.elements); }

Status Conversion::run_in_pieces(int64_t done_before, via_task *task) {
    return convert_in_pieces(transfer_.loops, transfer_.elements, done_before, task);
}

void Conversion::describe(TextBuffer *text) const {
    if (is_empty_) {
        text->add("route: none, there are no elements\n");
        return;
    }
    const ElementLoops &loops = transfer_.loops;
    ConvertShape shape{};
    if (device_ == nullptr) {
        shape = find_shape(loops, transfer_.elements);
        text->add("route: host, %s, %s kernel%s\n", shape.by_rows ? "by rows" : "by blocks in a scratch",
                  convert_kernels().name, shape.streaming ? ", streaming stores" : "");
    } else {
        text->add("route: ");
        cuda::describe_convert(transfer_, text);
        text->add("\n");
    }
    text->add("element: %s of %d bytes to %s of %d bytes%s\n", DtypeName(src()->dtype).text,
              bytes_of(transfer_.elements.src), DtypeName(dst()->dtype).text, bytes_of(transfer_.elements.dst),
              transfer_.elements.swap_bytes != 0 ? ", bytes swapped" : "");
    describe_axes(loops.axes, loops.ndim, false, text);
    if (transfer_.elements.affine != nullptr) {
        text->add("affine: times a scale, plus an offset, in float32, %s\n",
                  loops.numbered < 0 ? "the same for all elements" : "by index along an axis");
    }
    if (device_ == nullptr) {
        text->add("blocks: %lld\nthreads: %d\n", as_printed(shape.blocks), shape.threads);
    }
    text->add("bytes: %lld read, %lld written\n", as_printed(loops.count * bytes_of(transfer_.elements.src)),
              as_printed(loops.count * bytes_of(transfer_.elements.dst)));
}

Status convert_array(via_array *dst, via_array *src, const via_convert_options &options, via_stream *stream) {
    VIA_TRY(check_convert_request(dst, src, options));
    if (is_copy(dst, src, options)) {
        return stream != nullptr ? copy_array_async(dst, src, stream) : copy_array(dst, src);
    }
    Conversion conversion(dst, src);
    VIA_TRY(conversion.plan(options));
    return stream != nullptr ? conversion.run_on(stream) : conversion.run_now();
}

Status plan_convert(via_array *dst, via_array *src, const via_convert_options &options, PlannedCopy **out_copy) {
    *out_copy = nullptr;
    VIA_TRY(check_convert_request(dst, src, options));
    if (is_copy(dst, src, options)) {
        return VIA_OK;
    }
    VIA_TRY(check_task_memory(dst, src));
    Conversion *conversion = nullptr;
    VIA_TRY(make_object("a conversion", &conversion, dst, src));
    UniquePlannedCopy holder(conversion);
    VIA_TRY(conversion->plan(options));
    *out_copy = holder.release();
    return VIA_OK;
}

Status submit_convert(via_array *dst, via_array *src, const via_convert_options &options, via_stream *stream,
                      via_task **out_task) {
    UniquePlannedCopy conversion;
    VIA_TRY(plan_convert(dst, src, options, conversion.out()));
    return conversion.get() != nullptr ? submit_planned(conversion.get(), stream, out_task)
                                       : submit_copy(dst, src, stream, out_task);
}

Status explain_convert(via_array *dst, via_array *src, const via_convert_options &options, int64_t capacity,
                       char *out_text, int64_t *out_length) {
    VIA_TRY(check_convert_request(dst, src, options));
    if (is_copy(dst, src, options)) {
        return explain_copy(dst, src, capacity, out_text, out_length);
    }
    VIA_TRY(are_plain(dst, src) ? VIA_OK : cuda::need("this copy"));
    Conversion conversion(dst, src);
    VIA_TRY(conversion.plan(options));
    TextBuffer text(out_text, capacity);
    conversion.describe(&text);
    *out_length = text.length();
    return VIA_OK;
}

}  // namespace via
