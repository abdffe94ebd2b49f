#include "copy/convert/conversion.hpp"

#include <memory>
#include <new>

#include "copy/convert/convert_host.hpp"
#include "copy/convert/element_order.hpp"
#include "copy/copy.hpp"
#include "copy/copy_plan.hpp"
#include "copy/explain.hpp"
#include "copy/submit.hpp"
#include "core/array/access_tracker.hpp"
#include "cuda/device.hpp"
#include "cuda/stream.hpp"

namespace via {
namespace {

constexpr char kWhat[] = "a conversion by the host";

cuda::Side side_of(via_array *array, via_array *other) {
    const bool asked = is_plain(array) && other->device_type == VIA_DEVICE_CUDA;
    return {asked ? VIA_DEVICE_ANY : array->device_type, array->device_id};
}

}  // namespace

Conversion::Conversion(via_array *dst, via_array *src) : dst_(dst), src_(src) {
    retain_array(dst);
    retain_array(src);
}

Conversion::~Conversion() {
    release_array(dst_);
    release_array(src_);
}

Status Conversion::plan(const via_convert_options &options) {
    VIA_TRY(elements_.make(dst_, src_, options, LoopOrder::OfDst));
    is_empty_ = dst_->size == 0;
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
    transfer = {
        transfer_.loops.dst, transfer_.loops.src, dst_->nbytes(), side_of(dst_, src_), side_of(src_, dst_), dst_, src_};
    VIA_TRY(cuda::find_sides(&transfer));
    on_host_ = !cuda::has_device(transfer);
    if (on_host_) {
        return VIA_OK;
    }
    if (cuda::items_route(transfer) == cuda::ItemsRoute::Staged && cuda::is_to_device(transfer)) {
        VIA_TRY(elements_.make(dst_, src_, options, LoopOrder::OfSrc));
        transfer_.loops = elements_.loops();
        transfer.dst = transfer_.loops.dst;
        transfer.src = transfer_.loops.src;
    }
    transfer_.converts_first = cuda::is_no_wider(transfer_.elements);
    transfer_.host = this;
    return cuda::check_convert(transfer_);
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

// Waits on the host for everything before.
Status Conversion::await_before(via_stream *stream) const {
    if (stream != nullptr || !is_plain(dst_) || !is_plain(src_)) {
        VIA_TRY(await_stream(stream, kWhat));
    }
    return await_arrays(dst_, src_);
}

Status Conversion::prepare_on(via_stream *stream) {
    return is_empty_ || on_host_ ? VIA_OK : cuda::prepare_convert(transfer_, stream);
}

Status Conversion::run_on(via_stream *stream) {
    if (is_empty_) {
        return stream != nullptr ? cuda::need("a stream") : VIA_OK;
    }
    if (!on_host_) {
        return cuda::convert_on(transfer_, stream);
    }
    VIA_TRY(await_before(stream));
    convert_elements(transfer_.loops, transfer_.elements);
    return VIA_OK;
}

Status Conversion::run_now() {
    if (is_empty_) {
        return VIA_OK;
    }
    if (!on_host_) {
        return cuda::convert_now(transfer_);
    }
    VIA_TRY(await_before(nullptr));
    convert_elements(transfer_.loops, transfer_.elements);
    return VIA_OK;
}

Status Conversion::find_dependency(via_stream *stream, Fence **out_dependency) {
    return dependency_of_copy(dst_, src_, stream, out_dependency);
}

Status Conversion::run_in_task(int64_t done_before, via_task *task, Fence **out_fence) {
    if (is_empty_) {
        return VIA_OK;
    }
    return on_host_ ? convert_in_pieces(transfer_.loops, transfer_.elements, done_before, task)
                    : cuda::convert_for_task(transfer_, task, out_fence);
}

// Readers of dst wait for the task, and so does the release of either.
Status Conversion::note_task(Fence *end) {
    VIA_TRY(set_last_write(dst_->storage, end));
    return add_access(src_->storage, end);
}

bool Conversion::is_immediate() const {
    return !is_empty_ && !on_host_ && cuda::items_route(transfer_.transfer) == cuda::ItemsRoute::Kernel;
}

void Conversion::describe(TextBuffer *text) const {
    if (is_empty_) {
        text->add("route: none, there are no elements\n");
        return;
    }
    const ElementLoops &loops = transfer_.loops;
    ConvertShape shape;
    if (on_host_) {
        find_shape(loops, transfer_.elements, &shape);
        text->add("route: host, %s, %s kernel%s\n", shape.by_rows ? "by rows" : "by blocks in a scratch",
                  convert_kernels().name, shape.streaming ? ", streaming stores" : "");
    } else {
        text->add("route: ");
        cuda::describe_convert(transfer_, text);
        text->add("\n");
    }
    text->add("element: %s of %d bytes to %s of %d bytes%s\n", DtypeName(src_->dtype).text,
              bytes_of(transfer_.elements.src), DtypeName(dst_->dtype).text, bytes_of(transfer_.elements.dst),
              transfer_.elements.swap_bytes != 0 ? ", bytes swapped" : "");
    text->add("loops:");
    for (int32_t i = 0; i < loops.ndim; ++i) {
        const Axis &axis = loops.axes[i];
        text->add("%s %lld (dst %+lld, src %+lld)", i > 0 ? "," : "", as_printed(axis.extent),
                  as_printed(axis.dst_step), as_printed(axis.src_step));
    }
    text->add(", innermost first, steps in bytes\n");
    if (transfer_.elements.affine != nullptr) {
        text->add("affine: times a scale, plus an offset, in float32, %s\n",
                  !elements_.is_numbered() ? "the same for all elements" : "by index along an axis");
    }
    if (on_host_) {
        text->add("blocks: %lld\nthreads: %d\n", as_printed(shape.blocks), shape.threads);
    }
    text->add("bytes: %lld read, %lld written\n", as_printed(loops.count * bytes_of(transfer_.elements.src)),
              as_printed(loops.count * bytes_of(transfer_.elements.dst)));
}

namespace {

// Checks and plans.
Status make_conversion(via_array *dst, via_array *src, const via_convert_options &options, PlannedCopy **out_copy) {
    auto conversion = std::unique_ptr<Conversion>(new (std::nothrow) Conversion(dst, src));
    if (conversion == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a conversion");
    }
    VIA_TRY(conversion->plan(options));
    *out_copy = conversion.release();
    return VIA_OK;
}

}  // namespace

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
    VIA_TRY(is_plain(dst) && is_plain(src) ? VIA_OK : cuda::need("a copy of CUDA's memory"));
    return make_conversion(dst, src, options, out_copy);
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
    VIA_TRY(is_plain(dst) && is_plain(src) ? VIA_OK : cuda::need("this copy"));
    Conversion conversion(dst, src);
    VIA_TRY(conversion.plan(options));
    TextBuffer text(out_text, capacity);
    conversion.describe(&text);
    *out_length = text.length();
    return VIA_OK;
}

}  // namespace via
