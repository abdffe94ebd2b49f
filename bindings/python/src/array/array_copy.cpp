#include "array/array_copy.hpp"

#include "objects/memory.hpp"
#include "support/element.hpp"
#include "support/gil.hpp"

namespace viapy {

namespace {

// Work on a device, and a pending write, may in turn wait for the GIL.
bool may_wait(via_array *array) {
    return via_array_device_type(array) != VIA_DEVICE_CPU || via_array_is_ready(array) == 0;
}

}  // namespace

bool worth_unlocking(via_array *array) { return via_array_nbytes(array) >= kBytesWorthUnlocking || may_wait(array); }

bool worth_unlocking(via_array *dst, via_array *src) { return worth_unlocking(dst) || may_wait(src); }

via_status copy_elements(via_array *dst, via_array *src, via_stream *stream) {
    return without_gil(worth_unlocking(dst, src),
                       [=] { return stream != nullptr ? via_copy_async(dst, src, stream) : via_copy(dst, src); });
}

bool fill_array(const char *function, via_array *array, PyObject *value, via_stream *stream) {
    Element element;
    if (!element.encode(function, value, via_array_dtype(array))) {
        return false;
    }
    const void *bytes = element.bytes();
    via_status status = without_gil(worth_unlocking(array), [=] { return via_fill(array, bytes, stream); });
    return status == VIA_OK || (raise_status(status), false);
}

PyObject *empty_as(const char *function, via_array *source, int32_t dtype, const Device &device) {
    MemoryHandle memory;
    if (!memory.of_device(function, device)) {
        return nullptr;
    }
    return array_from(origin_in(memory.get()), via_empty, memory.get(), dtype, via_array_ndim(source),
                      via_array_shape(source), nullptr);
}

PyObject *copy_to(const char *function, via_array *source, const Device &device) {
    Ref result(empty_as(function, source, via_array_dtype(source), device));
    if (!result) {
        return nullptr;
    }
    return ok_or_raise(copy_elements(handle_of(result.get()), source, nullptr)) ? result.release() : nullptr;
}

}  // namespace viapy
