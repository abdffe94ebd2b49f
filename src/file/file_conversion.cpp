#include "file/file_conversion.hpp"

#include <algorithm>

#include "file/file.hpp"

namespace via {
namespace {

Status check_file(via_file *file, const via_convert_options &options) {
    if (file->whole == nullptr && !file->is_npy) {
        return fail(VIA_ERROR_INVALID_ARGUMENT,
                    "the file is raw, without an element type; expected a window of it, which has one");
    }
    if (file->root()->is_npy && file->root()->as_bytes) {
        return fail(VIA_ERROR_UNSUPPORTED, "the file was opened with as_bytes; expected its elements");
    }
    if (file->root()->is_npy && options.byte_order == kOtherByteOrder && !file->root()->header.swapped) {
        return fail(VIA_ERROR_INVALID_ARGUMENT,
                    "options.byte_order is %s for a .npy file of the other order; expected VIA_BYTE_ORDER_NATIVE: the "
                    "header states it",
                    kOtherByteOrderName);
    }
    return VIA_OK;
}

// Checks one direction of transfers by arrays that stand for the elements.
Status check_direction(via_array *array, via_array *layout, const via_convert_options &options, bool is_read) {
    return is_read ? check_convert_request(array, layout, options) : check_convert_request(layout, array, options);
}

// A file that may be written may be meant for writes alone.
Status check_directions(via_file *window, int32_t dtype, const via_convert_options &options) {
    UniqueArray array;
    UniqueArray layout;
    VIA_TRY(make_dense(window->layout, dtype, nullptr, array.out()));
    VIA_TRY(make_dense(window->layout, window->layout->dtype, nullptr, layout.out()));
    if (window->whole->may_write() && check_direction(array.get(), layout.get(), options, false) == VIA_OK) {
        return VIA_OK;
    }
    return check_direction(array.get(), layout.get(), options, true);
}

void keep_numbers(const void *given, int64_t count, std::vector<float> *numbers, void **kept) {
    if (given != nullptr) {
        const auto *from = static_cast<const float *>(given);
        numbers->assign(from, from + std::max<int64_t>(count, 1));
        *kept = numbers->data();
    }
}

// The options of a transfer: its axes are those of `array`, which may go the other way.
struct OrderedOptions {
    OrderedOptions(via_file *file, via_array *array) : options(file->conversion->options) {
        options.byte_order = VIA_BYTE_ORDER_NATIVE;
        if (!is_affine(options) || options.scale_count <= 1) {
            return;
        }
        via_array *layout = file->layout;
        const int32_t axis = options.scale_axis + (options.scale_axis < 0 ? layout->ndim : 0);
        const auto kept = static_cast<int32_t>(
            std::count_if(layout->shape(), layout->shape() + axis, [](int64_t extent) { return extent != 1; }));
        options.scale_axis = file->header.column_major ? array->ndim - 1 - kept : kept;
        if (layout->steps()[axis] < 0) {
            reverse(file->conversion->scales, &scales, &options.scale);
            reverse(file->conversion->offsets, &offsets, &options.offset);
        }
    }

    static void reverse(const std::vector<float> &given, std::vector<float> *reversed, void **numbers) {
        reversed->assign(given.rbegin(), given.rend());
        *numbers = *numbers != nullptr ? reversed->data() : nullptr;
    }

    via_convert_options options;
    std::vector<float> scales;
    std::vector<float> offsets;
};

// Plans between the array and the file's elements. Only sources are swapped on the way: numbers of another byte order
// that are written come last.
Status plan_elements(via_array *array, int32_t file_dtype, via_convert_options options, bool swaps, bool is_read,
                     std::shared_ptr<TransferConversion> *out_conversion) {
    auto planned = std::make_shared<TransferConversion>();
    UniqueArray there;
    VIA_TRY(make_dense(array, file_dtype, nullptr, there.out()));
    via_array *dst = is_read ? array : there.get();
    via_array *src = is_read ? there.get() : array;
    const bool only_swaps = dst->dtype == src->dtype && !is_affine(options);
    options.byte_order = swaps && (is_read || only_swaps) ? kOtherByteOrder : VIA_BYTE_ORDER_NATIVE;
    VIA_TRY(check_convert_request(dst, src, options));
    VIA_TRY(planned->plan.make(dst, src, options, is_read ? LoopOrder::OfSrc : LoopOrder::OfDst));
    const int64_t parts = array->size > 0 ? planned->plan.loops().count / array->size : 1;
    planned->file_item = there.get()->item_bytes() / parts;
    planned->array_item = array->item_bytes() / parts;
    planned->swapped_after = swaps && options.byte_order == VIA_BYTE_ORDER_NATIVE ? dtype_alignment(file_dtype) : 1;
    *out_conversion = std::move(planned);
    return VIA_OK;
}

}  // namespace

Status make_converted(via_file *file, int32_t dtype, const via_convert_options &options, via_file **out_file) {
    VIA_TRY(check_file(file, options));
    UniqueFile window;
    VIA_TRY(file->whole != nullptr ? copy_window(file, window.out()) : make_window(file, 0, {}, {}, window.out()));
    auto conversion = std::make_unique<FileConversion>();
    conversion->dtype = dtype;
    conversion->options = options;
    VIA_TRY(check_directions(window.get(), dtype, options));
    const bool swapped_before = file->conversion != nullptr && file->conversion->swaps;
    conversion->swaps = window.get()->whole->swaps() || options.byte_order == kOtherByteOrder || swapped_before;
    keep_numbers(options.scale, options.scale_count, &conversion->scales, &conversion->options.scale);
    keep_numbers(options.offset, options.scale_count, &conversion->offsets, &conversion->options.offset);
    window.get()->conversion = conversion.release();
    *out_file = window.release();
    return VIA_OK;
}

Status plan_read(via_array *array, int32_t file_dtype, const via_convert_options &options, bool swaps,
                 std::shared_ptr<TransferConversion> *out_conversion) {
    return plan_elements(array, file_dtype, options, swaps, true, out_conversion);
}

Status plan_conversion(via_file *file, via_array *array, bool is_read,
                       std::shared_ptr<TransferConversion> *out_conversion) {
    if (file->conversion != nullptr) {
        const OrderedOptions ordered(file, array);
        return plan_elements(array, file->layout->dtype, ordered.options, file->conversion->swaps, is_read,
                             out_conversion);
    }
    return file->root()->swaps()
               ? plan_elements(array, array->dtype, VIA_CONVERT_OPTIONS_INIT, true, is_read, out_conversion)
               : VIA_OK;
}

}  // namespace via
