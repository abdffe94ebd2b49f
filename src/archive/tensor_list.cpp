#include "archive/tensor_list.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/base/checked.hpp"
#include "core/base/utf8.hpp"

namespace via {
namespace {

Status begins_elsewhere(const ArchiveTensor &tensor, int64_t expected) {
    return fail(VIA_ERROR_FORMAT, "tensor '%.80s': the data begin at %lld; expected %lld, without %s",
                tensor.name->c_str(), as_printed(tensor.offset), as_printed(expected),
                tensor.offset < expected ? "overlap" : "a hole");
}

Status ends_beyond(const ArchiveTensor &tensor, int64_t most) {
    const int64_t end = tensor.offset + std::min(tensor.nbytes, INT64_MAX - tensor.offset);
    return fail(VIA_ERROR_FORMAT, "tensor '%.80s': the data end at %lld; expected at most %lld, the end of the file's",
                tensor.name->c_str(), as_printed(end), as_printed(most));
}

// Rounds up to a multiple. Returns false if that does not fit.
bool pad_to(int64_t alignment, int64_t *offset) {
    const bool fits = add(*offset, alignment - 1, offset);
    *offset -= fits ? *offset % alignment : 0;
    return fits;
}

}  // namespace

Status count_bytes(const ArchiveTensor &tensor, int64_t *out_nbytes) {
    int64_t size = 0;
    VIA_TRY(check_shape(tensor.dtype, static_cast<int32_t>(tensor.shape.size()), tensor.shape.data(), 0, &size));
    const int64_t bits = dtype_bits(tensor.dtype);
    *out_nbytes = dense_bytes(size, bits);
    return bits % 8 == 0 || size * bits % 8 == 0
               ? VIA_OK
               : fail(VIA_ERROR_FORMAT, "the data are %lld elements of %lld bits; expected whole bytes",
                      as_printed(size), as_printed(bits));
}

Status TensorList::add_name(const std::string &name) {
    if (name.find('\0') != name.npos || utf8_prefix(name) != name.size()) {
        return fail(VIA_ERROR_FORMAT, "a tensor's name is '%.80s'; expected UTF-8 without NUL", name.c_str());
    }
    return names_.insert(name).second
               ? VIA_OK
               : fail(VIA_ERROR_FORMAT, "tensor '%.80s' occurs twice; expected each name once", name.c_str());
}

Status TensorList::check_bytes(const ArchiveTensor &tensor) {
    int64_t expected = 0;
    VIA_TRY(count_bytes(tensor, &expected));
    return tensor.nbytes == expected
               ? VIA_OK
               : fail(VIA_ERROR_FORMAT, "the data span %lld bytes; expected %lld, of dtype times shape",
                      as_printed(tensor.nbytes), as_printed(expected));
}

Status TensorList::add_text(const std::string &name, std::string value) {
    if (!text_names_.insert(name).second) {
        return fail(VIA_ERROR_FORMAT, "metadata '%.80s' occur twice; expected each name once", name.c_str());
    }
    texts_.emplace_back(name, std::move(value));
    return VIA_OK;
}

Status TensorList::settle_adjacent(int64_t data_offset, int64_t data_bytes, int64_t alignment) {
    std::ranges::sort(tensors_, {},
                      [](const ArchiveTensor &each) { return std::tie(each.offset, each.nbytes, *each.name); });
    int64_t end = 0;
    int64_t padded = 0;
    for (ArchiveTensor &each : tensors_) {
        if (each.offset != padded) {
            return begins_elsewhere(each, padded);
        }
        if (each.nbytes > data_bytes - each.offset) {
            return ends_beyond(each, data_bytes);
        }
        end = padded = each.offset + each.nbytes;
        each.offset += data_offset;
        if (!pad_to(alignment, &padded)) {
            return fail(VIA_ERROR_OVERFLOW, "the tensors exceed 2^63 - 1 bytes; expected fewer");
        }
    }
    return data_bytes >= end && data_bytes <= padded
               ? VIA_OK
               : fail(VIA_ERROR_FORMAT, "the file has %lld bytes after its header; expected %lld",
                      as_printed(data_bytes), as_printed(end));
}

}  // namespace via
