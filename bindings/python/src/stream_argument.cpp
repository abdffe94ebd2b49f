#include "errors.hpp"
#include "gil.hpp"
#include "order.hpp"
#include "wait.hpp"

namespace viapy {

bool StreamArgument::take(via_status status) {
    owned_ = status == VIA_OK;
    return owned_ || (raise_status(status), false);
}

// 0 and 1 are the legacy stream, 2 the calling thread's.
bool StreamArgument::take_number(const char *function, PyObject *number, int32_t device_id) {
    int64_t handle = 0;
    if (!parse_int64(function, "stream", number, &handle)) {
        return false;
    }
    if (handle < 0) {
        raise(VIA_ERROR_INVALID_ARGUMENT, "%s: argument 'stream': found %S, expected the number of a CUstream",
              function, shown(number).get());
        return false;
    }
    return take(via_stream_wrap(reinterpret_cast<void *>(static_cast<intptr_t>(handle)), device_id, &stream_));
}

// How the other libraries' streams tell their number, in viaduct._interop.
bool StreamArgument::take_foreign(const char *function, PyObject *object, int32_t device_id) {
    Ref module(PyImport_ImportModule("viaduct._interop"));
    Ref number(module ? PyObject_CallMethod(module.get(), "stream_handle", "(O)", object) : nullptr);
    if (!number) {
        return false;
    }
    if (number.get() == Py_None) {
        raise_type(function, "stream", object,
                   "a Stream, the number of a CUstream, or a stream of CuPy, torch, Numba or whatever has "
                   "__cuda_stream__");
        return false;
    }
    return take_number(function, number.get(), device_id);
}

bool StreamArgument::parse(const char *function, PyObject *value, int32_t device_id) {
    if (!is_given(value)) {
        return true;
    }
    if (is_kind(HandleKind::Stream, value)) {
        stream_ = static_cast<via_stream *>(handle_in(value));
        return true;
    }
    return is_number(value) ? take_number(function, value, device_id) : take_foreign(function, value, device_id);
}

bool StreamArgument::parse_or_current(const char *function, PyObject *value, int32_t device_id) {
    if (is_given(value)) {
        return parse(function, value);
    }
    return take(via_stream_current(device_id, &stream_));
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
               (raise(VIA_ERROR_DEVICE, "%s: argument 'device': found %S, expected the number of a CUDA device",
                      function, shown(value).get()),
                false);
    }
    Device device;
    if (!parse_device(function, value, &device)) {
        return false;
    }
    if (device.type != VIA_DEVICE_CUDA) {
        raise(VIA_ERROR_DEVICE, "%s: argument 'device': found %S, expected a CUDA device", function,
              shown(value).get());
        return false;
    }
    *out = device.id;
    return true;
}

namespace {

via_status ask_array(void *array, int32_t *out_done) {
    *out_done = via_array_is_ready(static_cast<via_array *>(array));
    return VIA_OK;
}

}  // namespace

bool wait_until_ready(via_array *array) {
    if (via_array_is_ready(array) != 0) {
        return true;
    }
    return wait_for(ask_array, array, [=] { return via_array_synchronize(array); });
}

}  // namespace viapy
