#include "file/swapped.hpp"

#include "copy/convert.hpp"
#include "core/array/memory.hpp"

namespace via {
namespace {

via_convert_options swapping() {
    via_convert_options options = VIA_CONVERT_OPTIONS_INIT;
    options.byte_order = kOtherByteOrder;
    return options;
}

FileContent content_of(via_array *array) { return {array->dtype, array->ndim, array->shape()}; }

// Maps the bytes as they are.
Status map_elements(const FileTransfer &transfer, via_array **out_array) {
    return map_file(transfer.file, 0, content_of(transfer.array), out_array);
}

// Makes a swapped copy on the host, after the work of the stream.
Status make_swapped(via_array *array, via_stream *stream, via_array **out_array) {
    UniqueArray copy;
    const FileContent content = content_of(array);
    VIA_TRY(make_empty(host_memory(), content.dtype, content.ndim, content.shape, 0, copy.out()));
    VIA_TRY(await_transfer(array, stream));
    VIA_TRY(convert_array(copy.get(), array, swapping(), nullptr));
    *out_array = copy.release();
    return VIA_OK;
}

// The same transfer of bytes, which are swapped.
FileTransfer with_array(const FileTransfer &transfer, via_array *array) {
    FileTransfer result = transfer;
    result.array = array;
    return result;
}

}  // namespace

Status transfer_swapped(const FileTransfer &transfer, via_stream *stream) {
    UniqueArray other;
    if (transfer.direction == Direction::Write) {
        VIA_TRY(make_swapped(transfer.array, stream, other.out()));
        return transfer_as_is(with_array(transfer, other.get()), nullptr);
    }
    VIA_TRY(map_elements(transfer, other.out()));
    VIA_TRY(await_transfer(transfer.array, stream));
    return convert_array(transfer.array, other.get(), swapping(), nullptr);
}

Status submit_swapped(const FileTransfer &transfer, via_stream *stream, via_task **out_task) {
    UniqueArray other;
    if (transfer.direction == Direction::Write) {
        VIA_TRY(make_swapped(transfer.array, stream, other.out()));
        return submit_as_is(with_array(transfer, other.get()), nullptr, out_task);
    }
    VIA_TRY(map_elements(transfer, other.out()));
    return submit_convert(transfer.array, other.get(), swapping(), stream, out_task);
}

}  // namespace via
