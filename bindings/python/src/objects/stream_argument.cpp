#include "objects/stream_argument.hpp"

#include "support/arguments.hpp"
#include "support/errors.hpp"

namespace viapy {

bool StreamArgument::adopt(via_status status) {
    owned_ = ok_or_raise(status);
    return owned_;
}

// 0 and 1 are the legacy stream, 2 is the calling thread's.
bool StreamArgument::wrap_number(const char *function, PyObject *number, int32_t device_id) {
    int64_t handle = 0;
    if (!parse_int64(function, "stream", number, &handle)) {
        return false;
    }
    if (handle < 0) {
        raise(VIA_ERROR_INVALID_ARGUMENT, "%s: stream is %S; expected the number of a CUstream", function,
              shown(number).get());
        return false;
    }
    return adopt(via_stream_wrap(reinterpret_cast<void *>(static_cast<intptr_t>(handle)), device_id, &stream_));
}

// Reads the handles of other libraries' streams, by viaduct._interop.
bool StreamArgument::wrap_foreign(const char *function, PyObject *object, int32_t device_id) {
    const Ref number = call_interop("stream_handle", object);
    if (!number) {
        return false;
    }
    if (number.get() == Py_None) {
        raise_type(
            function, "stream", object,
            "a Stream, the number of a CUstream, a stream of CuPy, torch or Numba, or an object with __cuda_stream__");
        return false;
    }
    return wrap_number(function, number.get(), device_id);
}

bool StreamArgument::parse(const char *function, PyObject *value, int32_t device_id) {
    if (!is_given(value)) {
        return true;
    }
    if (is_kind(HandleKind::Stream, value)) {
        stream_ = static_cast<via_stream *>(handle_in(value));
        return true;
    }
    return is_number(value) ? wrap_number(function, value, device_id) : wrap_foreign(function, value, device_id);
}

bool StreamArgument::parse_or_current(const char *function, PyObject *value, int32_t device_id) {
    if (is_given(value)) {
        return parse(function, value);
    }
    return adopt(via_stream_current(device_id, &stream_));
}

bool parse_cuda_device(const char *function, PyObject *value, int32_t otherwise, int32_t *out) {
    *out = otherwise;
    if (!is_given(value)) {
        return true;
    }
    if (is_number(value)) {
        int64_t id = 0;
        if (!parse_int64(function, "device", value, &id)) {
            return false;
        }
        *out = static_cast<int32_t>(id);
        return (id >= 0 && id <= INT32_MAX) ||
               (raise(VIA_ERROR_DEVICE, "%s: device is %S; expected the number of a CUDA device", function,
                      shown(value).get()),
                false);
    }
    Device device;
    if (!parse_device(function, value, &device)) {
        return false;
    }
    if (device.type != VIA_DEVICE_CUDA) {
        raise(VIA_ERROR_DEVICE, "%s: device is %S; expected a CUDA device", function, shown(value).get());
        return false;
    }
    *out = device.id;
    return true;
}

}  // namespace viapy
