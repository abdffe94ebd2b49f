#include "archive/tensor_conversion.hpp"

#include "core/array/memory.hpp"
#include "core/base/checked.hpp"

namespace via {
namespace {

// Each conversion on a device is a launch: the host converts what is less.
constexpr int64_t kLeastOnDevice = int64_t{1} << 20;

Status check_options(const via_convert_options &options) {
    if (is_affine(options)) {
        return fail(VIA_ERROR_UNSUPPORTED,
                    "options has a scale or an offset; expected none for an archive: via_file_convert takes them for "
                    "one tensor");
    }
    return options.byte_order != kOtherByteOrder
               ? check_convert_options(options)
               : fail(VIA_ERROR_INVALID_ARGUMENT,
                      "options.byte_order is %s; expected VIA_BYTE_ORDER_NATIVE, since the file states it",
                      kOtherByteOrderName);
}

Status check_whole_bytes(int32_t dtype) {
    return dtype_bits(dtype) % 8 == 0
               ? VIA_OK
               : fail(VIA_ERROR_UNSUPPORTED, "dtype is %s, of elements narrower than a byte; expected whole bytes",
                      DtypeName(dtype).text);
}

// Replaces what the tensor did before. A buffer keeps below 2^63 bytes: *most_nbytes counts at least those of any.
Status convert_one(ArchiveTensor *tensor, int32_t dtype, const via_convert_options &options, int64_t *most_nbytes) {
    VIA_TRY(check_cast(tensor->dtype, dtype, options.casting));
    VIA_TRY(check_whole_bytes(tensor->dtype));
    VIA_TRY(check_whole_bytes(dtype));
    const int64_t before = tensor->buffer_nbytes();
    tensor->conversion =
        dtype != tensor->dtype ? std::make_shared<const TensorConversion>(TensorConversion{dtype, options}) : nullptr;
    VIA_TRY(plan_elements(tensor));
    int64_t nbytes = 0;
    const int64_t items = tensor->nbytes / (dtype_bits(tensor->dtype) / 8);
    if (!multiply(items, dtype_bits(dtype) / 8, &nbytes) || !add(*most_nbytes - before, nbytes, most_nbytes) ||
        !add(*most_nbytes, kAlignment, most_nbytes)) {
        return fail(VIA_ERROR_OVERFLOW, "the tensors exceed 2^63 - 1 bytes; expected fewer");
    }
    return VIA_OK;
}

bool is_of_floats(const ArchiveTensor &tensor) {
    ScalarKind kind{};
    return find_scalar_kind(tensor.dtype, &kind) && is_float_kind(kind);
}

}  // namespace

Status convert_tensor(via_archive *archive, int64_t number, int32_t dtype, const via_convert_options &options) {
    VIA_TRY(check_options(options));
    (void)settle_places(archive);
    int64_t most_nbytes = archive->most_nbytes;
    if (number != -1) {
        const ArchiveTensor *found = nullptr;
        VIA_TRY(require_tensor(archive, number, &found));
        ArchiveTensor converted = *found;
        VIA_TRY(name_tensor(*found->name, convert_one(&converted, dtype, options, &most_nbytes)));
        archive->tensors[static_cast<size_t>(number)] = std::move(converted);
    } else {
        std::vector<ArchiveTensor> converted = archive->tensors;
        for (ArchiveTensor &tensor : converted) {
            const Status status = is_of_floats(tensor) ? convert_one(&tensor, dtype, options, &most_nbytes) : VIA_OK;
            VIA_TRY(name_tensor(*tensor.name, status));
        }
        archive->tensors = std::move(converted);
    }
    archive->most_nbytes = most_nbytes;
    archive->is_placed = false;
    return VIA_OK;
}

Status plan_elements(ArchiveTensor *tensor) {
    tensor->elements = nullptr;
    if (tensor->conversion == nullptr && !tensor->swaps) {
        return VIA_OK;
    }
    UniqueArray array;
    const int64_t items = tensor->nbytes / (dtype_bits(tensor->dtype) / 8);
    const ArraySpec spec{
        .data = reinterpret_cast<void *>(kLayoutAddress), .dtype = tensor->array_dtype(), .ndim = 1, .shape = &items};
    VIA_TRY(make_array(spec, Deleter{}, array.out()));
    std::shared_ptr<TransferConversion> plan;
    const via_convert_options options =
        tensor->conversion != nullptr ? tensor->conversion->options : via_convert_options(VIA_CONVERT_OPTIONS_INIT);
    VIA_TRY(plan_read(array.get(), tensor->dtype, options, tensor->swaps, &plan));
    tensor->elements = std::move(plan);
    return VIA_OK;
}

void convert_adjacent(const TransferConversion &conversion, void *dst, const void *src, int64_t count) {
    ElementLoops loops{};
    loops.dst = static_cast<char *>(dst);
    loops.src = static_cast<const char *>(src);
    loops.count = count;
    loops.ndim = 1;
    loops.axes[0] = {count, conversion.array_item, conversion.file_item};
    convert_part(loops, conversion.plan.elements(), 0, count);
}

bool suits_device(const ArchiveTensor &tensor) {
    return tensor.is_converted() && tensor.buffer_nbytes() >= tensor.nbytes && tensor.nbytes >= kLeastOnDevice;
}

}  // namespace via
