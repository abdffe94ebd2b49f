#include "copy/convert/conversion.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <new>

#include "copy/convert/convert_host.hpp"
#include "copy/convert/element_order.hpp"
#include "copy/copy.hpp"
#include "copy/copy_check.hpp"
#include "copy/copy_plan.hpp"
#include "copy/explain.hpp"
#include "copy/submit.hpp"
#include "core/array/access_tracker.hpp"
#include "core/async/task.hpp"
#include "core/layout/casting.hpp"
#include "cuda/device.hpp"
#include "cuda/stream.hpp"

namespace via {
namespace {

constexpr char kWhat[] = "a conversion by the host";

cuda::Side side_of(via_array *array, via_array *other) {
    const bool asked = is_plain(array) && other->device_type == VIA_DEVICE_CUDA;
    return {asked ? VIA_DEVICE_ANY : array->device_type, array->device_id};
}

Status check_options(const via_convert_options &options) {
    VIA_TRY(check_casting(options.casting));
    if (options.overflow != VIA_OVERFLOW_INFINITY && options.overflow != VIA_OVERFLOW_SATURATE) {
        return fail(VIA_ERROR_INVALID_ARGUMENT,
                    "options.overflow is %d; expected VIA_OVERFLOW_INFINITY or VIA_OVERFLOW_SATURATE",
                    options.overflow);
    }
    if (options.byte_order < VIA_BYTE_ORDER_NATIVE || options.byte_order > VIA_BYTE_ORDER_BIG) {
        return fail(VIA_ERROR_INVALID_ARGUMENT,
                    "options.byte_order is %d; expected VIA_BYTE_ORDER_NATIVE, _LITTLE or _BIG", options.byte_order);
    }
    return VIA_OK;
}

// Returns the bytes that are swapped: those of an element, or of each part of a complex number.
uint8_t swapped_bytes(ScalarKind kind) {
    return static_cast<uint8_t>(bytes_of(is_complex(kind) ? part_of_complex(kind) : kind));
}

bool swaps(via_array *src, const via_convert_options &options) {
    return options.byte_order == kOtherByteOrder && dtype_scalar_bits(src->dtype) > 8;
}

bool is_affine(const via_convert_options &options) { return options.scale != nullptr || options.offset != nullptr; }

bool is_scalar(const via_convert_options &options) { return options.scale_count == 0 || options.scale_count == 1; }

// Returns the axis that scales and offsets go along, or -1.
int32_t numbered_axis(via_array *dst, const via_convert_options &options) {
    return !is_affine(options) || is_scalar(options) ? -1
                                                     : options.scale_axis + (options.scale_axis < 0 ? dst->ndim : 0);
}

Status check_numbers(const char *argument, via_array *array, bool takes_integers) {
    ScalarKind kind;
    const bool known = find_scalar_kind(array->dtype, &kind) && !is_complex(kind);
    if (known && (takes_integers || is_float_kind(kind))) {
        return VIA_OK;
    }
    return fail(VIA_ERROR_DTYPE, "%s has dtype %s; expected %s for options.scale and options.offset", argument,
                DtypeName(array->dtype).text, takes_integers ? "booleans, integers or floats" : "floats");
}

Status check_affine(via_array *dst, via_array *src, const via_convert_options &options) {
    if (!is_affine(options)) {
        return VIA_OK;
    }
    VIA_TRY(check_numbers("dst", dst, false));
    VIA_TRY(check_numbers("src", src, true));
    if (is_scalar(options)) {
        return VIA_OK;
    }
    if (options.scale_axis < -dst->ndim || options.scale_axis >= dst->ndim) {
        return fail(VIA_ERROR_INDEX, "options.scale_axis is %d; expected an axis of %d dimensions", options.scale_axis,
                    dst->ndim);
    }
    const int64_t extent = dst->shape()[numbered_axis(dst, options)];
    return options.scale_count == extent
               ? VIA_OK
               : fail(VIA_ERROR_SHAPE, "options.scale_count is %lld; expected 1, or %lld along axis %d",
                      as_printed(options.scale_count), as_printed(extent), options.scale_axis);
}

// Returns whether a copy does the same: also for dtypes that no conversion knows.
bool is_copy(via_array *dst, via_array *src, const via_convert_options &options) {
    return dst->dtype == src->dtype && !swaps(src, options) && !is_affine(options);
}

// Checks what every conversion checks, before the question whether it is one.
Status check_request(via_array *dst, via_array *src, const via_convert_options &options) {
    VIA_TRY(check_options(options));
    VIA_TRY(check_cast(src->dtype, dst->dtype, options.casting));
    VIA_TRY(check_same_shape(dst, src));
    VIA_TRY(check_affine(dst, src, options));
    return check_writable(dst);
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
    ElementConversion &elements = transfer_.elements;
    VIA_TRY(find_elements(dst_, src_, is_affine(options), &elements));
    elements.saturates = options.overflow == VIA_OVERFLOW_SATURATE;
    elements.swap_bytes = swaps(src_, options) ? swapped_bytes(elements.src) : 0;
    is_empty_ = dst_->size == 0;
    if (is_empty_) {
        return VIA_OK;
    }
    numbered_ = numbered_axis(dst_, options);
    make_loops(LoopOrder::OfDst);
    VIA_TRY(check_overlap(transfer_.loops, elements));
    VIA_TRY(find_route());
    return is_affine(options) ? keep_affine(options) : VIA_OK;
}

void Conversion::make_loops(LoopOrder order) {
    is_reversed_ = make_element_loops(dst_, src_, transfer_.elements, order, numbered_, &transfer_.loops);
}

namespace {

void copy_numbers(const void *given, float otherwise, int64_t count, float *numbers) {
    const auto *from = static_cast<const float *>(given);
    given != nullptr ? std::copy_n(from, count, numbers) : std::fill_n(numbers, count, otherwise);
}

}  // namespace

// Copies scales and offsets in the order of the loops.
Status Conversion::keep_affine(const via_convert_options &options) {
    const int64_t count = std::max<int64_t>(options.scale_count, 1);
    numbers_.reset(new (std::nothrow) float[static_cast<size_t>(2 * count)]);
    if (numbers_ == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for %lld scales and offsets", as_printed(count));
    }
    float *const scales = numbers_.get();
    float *const offsets = scales + count;
    copy_numbers(options.scale, 1.0F, count, scales);
    copy_numbers(options.offset, 0.0F, count, offsets);
    if (is_reversed_) {
        std::reverse(scales, scales + count);
        std::reverse(offsets, offsets + count);
    }
    affine_ = {scales, offsets};
    transfer_.elements.affine = &affine_;
    return VIA_OK;
}

Status Conversion::find_route() {
    const ElementLoops &loops = transfer_.loops;
    cuda::Transfer &transfer = transfer_.transfer;
    transfer = {loops.dst, loops.src, dst_->nbytes(), side_of(dst_, src_), side_of(src_, dst_), dst_, src_};
    VIA_TRY(cuda::find_sides(&transfer));
    on_host_ = !cuda::has_device(transfer);
    if (on_host_) {
        return VIA_OK;
    }
    if (cuda::items_route(transfer) == cuda::ItemsRoute::Staged && cuda::is_to_device(transfer)) {
        make_loops(LoopOrder::OfSrc);
        transfer.dst = transfer_.loops.dst;
        transfer.src = transfer_.loops.src;
    }
    transfer_.pack = convert_to_packed;
    transfer_.unpack = convert_from_packed;
    return cuda::check_convert(transfer_);
}

// Waits on the host for everything before.
Status Conversion::await_before(via_stream *stream) const {
    if (stream != nullptr || !is_plain(dst_) || !is_plain(src_)) {
        VIA_TRY(await_stream(stream, kWhat));
    }
    return await_arrays(dst_, src_);
}

Status Conversion::run_on(via_stream *stream) const {
    if (is_empty_) {
        return cuda::need("a stream");
    }
    if (!on_host_) {
        return cuda::convert_on(transfer_, stream);
    }
    VIA_TRY(await_before(stream));
    convert_elements(transfer_.loops, transfer_.elements);
    return VIA_OK;
}

Status Conversion::run_now() const {
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

Status Conversion::find_dependency(via_stream *stream, Fence **out_dependency) const {
    return dependency_of_copy(dst_, src_, stream, out_dependency);
}

Status Conversion::run_in_task(via_task *task, Fence **out_fence) const {
    if (is_empty_) {
        return VIA_OK;
    }
    return on_host_ ? convert_in_pieces(transfer_.loops, transfer_.elements, task)
                    : cuda::convert_for_task(transfer_, task, out_fence);
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
                  numbered_ < 0 ? "the same for all elements" : "by index along an axis");
    }
    if (on_host_) {
        text->add("blocks: %lld\nthreads: %d\n", as_printed(shape.blocks), shape.threads);
    }
    text->add("bytes: %lld read, %lld written\n", as_printed(loops.count * bytes_of(transfer_.elements.src)),
              as_printed(loops.count * bytes_of(transfer_.elements.dst)));
}

namespace {

struct ConvertWork : TaskWork {
    ConvertWork(via_array *dst, via_array *src) : TaskWork{run_work, end_work}, conversion(dst, src) {}

    static Status run_work(TaskWork *work, via_task *task, Fence **out_fence) {
        return static_cast<ConvertWork *>(work)->conversion.run_in_task(task, out_fence);
    }

    static void end_work(TaskWork *work) { delete static_cast<ConvertWork *>(work); }

    Conversion conversion;
};

// Readers of dst wait for the task, and so does the release of either.
Status mark_arrays(via_array *dst, via_array *src, Fence *end) {
    VIA_TRY(set_last_write(dst->storage, end));
    return add_access(src->storage, end);
}

Status start_work(std::unique_ptr<ConvertWork> work, via_stream *stream, via_task **out_task) {
    const Conversion &conversion = work->conversion;
    UniqueFence dependency;
    VIA_TRY(conversion.find_dependency(stream, dependency.out()));
    via_task *task = nullptr;
    VIA_TRY(start_task(work.get(), conversion.nbytes(), dependency.get(), conversion.is_immediate(), &task));
    (void)work.release();
    *out_task = task;
    return VIA_OK;
}

}  // namespace

Status convert_array(via_array *dst, via_array *src, const via_convert_options &options, via_stream *stream) {
    VIA_TRY(check_request(dst, src, options));
    if (is_copy(dst, src, options)) {
        return stream != nullptr ? copy_array_async(dst, src, stream) : copy_array(dst, src);
    }
    Conversion conversion(dst, src);
    VIA_TRY(conversion.plan(options));
    return stream != nullptr ? conversion.run_on(stream) : conversion.run_now();
}

Status submit_convert(via_array *dst, via_array *src, const via_convert_options &options, via_stream *stream,
                      via_task **out_task) {
    VIA_TRY(check_request(dst, src, options));
    if (is_copy(dst, src, options)) {
        return submit_copy(dst, src, stream, out_task);
    }
    VIA_TRY(is_plain(dst) && is_plain(src) ? VIA_OK : cuda::need("a copy of CUDA's memory"));
    std::unique_ptr<ConvertWork> work(new (std::nothrow) ConvertWork(dst, src));
    if (work == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a task");
    }
    VIA_TRY(work->conversion.plan(options));
    via_task *task = nullptr;
    VIA_TRY(start_work(std::move(work), stream, &task));
    const UniqueFence end(task_fence(task));
    return hand_out_task(task, mark_arrays(dst, src, end.get()), out_task);
}

Status explain_convert(via_array *dst, via_array *src, const via_convert_options &options, int64_t capacity,
                       char *out_text, int64_t *out_length) {
    VIA_TRY(check_request(dst, src, options));
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
