#include "interop/wrap.hpp"

#include <algorithm>

#include "interop/convert.hpp"
#include "support/borrowed_memory.hpp"
#include "support/dtypes.hpp"

namespace viapy {
namespace {

Signature kWrap = {
    "wrap",
    3,
    3,
    {"ptr", "shape", "dtype", "strides", "device", "owner", "release", "readonly", "check", "nbytes", "to"}};

struct Request {
    PyObject **values = nullptr;
    void *address = nullptr;
    Extents shape;
    Extents strides;
    bool has_strides = false;
    int32_t dtype = 0;
    int32_t flags = 0;
    Device device;
    PyObject *owner = nullptr;  // borrowed
    PyObject *release = nullptr;
};

// An object with an address probably keeps the memory alive, so it is the owner unless another is given.
bool read_pointer(PyObject *ptr, Request *request) {
    if (!PyLong_CheckExact(ptr) && ptr != Py_None) {
        request->owner = request->owner != nullptr ? request->owner : ptr;
    }
    return parse_address("wrap", ptr, &request->address);
}

bool read_strides(PyObject *value, Request *request) {
    if (!is_given(value)) {
        return true;
    }
    request->has_strides = true;
    request->flags |= VIA_WRAP_BYTE_STRIDES;
    if (!parse_extents("wrap", "strides", value, &request->strides)) {
        return false;
    }
    if (request->strides.count != request->shape.count) {
        raise(VIA_ERROR_SHAPE, "wrap: strides has %d entries; expected one for each of %d axes",
              static_cast<int>(request->strides.count), static_cast<int>(request->shape.count));
        return false;
    }
    return true;
}

bool read_release(PyObject *value, Request *request) {
    if (is_given(value) && !PyCallable_Check(value)) {
        raise_type("wrap", "release", value, "a function without arguments");
        return false;
    }
    request->release = is_given(value) ? value : nullptr;
    return true;
}

// Probes the memory by default: a call from Python costs more than the probe.
bool read_flags(Request *request) {
    bool read_only = false;
    bool check = true;
    if (!parse_bool(request->values[7], false, &read_only) || !parse_bool(request->values[8], true, &check)) {
        return false;
    }
    request->flags |= (read_only ? VIA_WRAP_READ_ONLY : 0) | (check ? VIA_WRAP_PROBE : VIA_WRAP_UNCHECKED);
    return true;
}

bool read_request(Request *request) {
    PyObject **values = request->values;
    request->owner = is_given(values[5]) ? values[5] : nullptr;
    return read_pointer(values[0], request) && parse_extents("wrap", "shape", values[1], &request->shape) &&
           (request->dtype = parse_dtype("wrap", values[2])) != 0 && read_strides(values[3], request) &&
           parse_device("wrap", values[4], &request->device) && read_release(values[6], request) && read_flags(request);
}

// The bytes that an array touches, counted from its address.
struct ByteRange {
    int64_t first = 0;
    int64_t end = 0;  // behind the last byte
};

// Returns false for sums that overflow.
bool sum_up(const Extents &shape, const Extents *strides, int64_t bits, ByteRange *out) {
    bool fits = true;
    int64_t total = bits;  // of a dense array
    for (int32_t i = 0; i < shape.count; ++i) {
        int64_t step = 0;
        if (strides == nullptr) {
            fits = fits && !__builtin_mul_overflow(total, shape.values[i], &total);
        } else {
            int64_t *side = strides->values[i] < 0 ? &out->first : &out->end;
            fits = fits && !__builtin_mul_overflow(shape.values[i] - 1, strides->values[i], &step) &&
                   !__builtin_add_overflow(*side, step, side);
        }
    }
    const int64_t last = total / 8 + (total % 8 != 0 ? 1 : 0);
    return fits && !__builtin_add_overflow(out->end, last, &out->end);
}

bool parse_bound(PyObject *given, int64_t *out) {
    if (!parse_int64("wrap", "nbytes", given, out)) {
        return false;
    }
    if (*out < 0) {
        raise(VIA_ERROR_INVALID_ARGUMENT, "wrap: nbytes is %lld; expected 0 or more", static_cast<long long>(*out));
    }
    return *out >= 0;
}

// Returns whether every element lies in the `nbytes` bytes from the address on; false with an exception set. Strides
// are in bytes, NULL for a row-major array. True without a bound, and for extents that the library refuses itself.
bool stays_within(PyObject *nbytes, const Extents &shape, const Extents *strides, int32_t dtype) {
    int64_t bound = 0;
    ByteRange reach;
    if (!is_given(nbytes)) {
        return true;
    }
    if (!parse_bound(nbytes, &bound)) {
        return false;
    }
    const bool has_elements =
        std::all_of(shape.values, shape.values + shape.count, [](int64_t extent) { return extent > 0; });
    if (!has_elements) {
        return true;
    }
    if (!sum_up(shape, strides, via_dtype_bits(dtype), &reach)) {
        raise(VIA_ERROR_OVERFLOW, "wrap: shape reaches over more than 2^63 - 1 bits; expected an array within nbytes");
        return false;
    }
    if (reach.first < 0) {
        raise(VIA_ERROR_POINTER, "wrap: strides reach %lld bytes before the address; expected none",
              -static_cast<long long>(reach.first));
    } else if (reach.end > bound) {
        raise(VIA_ERROR_POINTER, "wrap: nbytes is %lld; expected %lld or more for that shape and dtype",
              static_cast<long long>(bound), static_cast<long long>(reach.end));
    }
    return reach.first >= 0 && reach.end <= bound;
}

// Returns NULL with an exception set on failure; release is not called then.
via_array *make(const Request &request) {
    BorrowedMemory *memory = nullptr;
    if (request.owner != nullptr || request.release != nullptr) {
        memory = borrow_memory(request.owner, request.release);
        if (memory == nullptr) {
            return nullptr;
        }
    }
    return adopt_borrowed(memory, [&](via_release_fn release, void *context, via_array **out) {
        return via_wrap(request.address, request.dtype, request.shape.count, request.shape.values,
                        request.has_strides ? request.strides.values : nullptr, request.device.type, request.device.id,
                        request.flags, release, context, out);
    });
}

// The memory is the caller's still, who has got no array.
void forget_release(via_array *array) {
    ErrorScope errors;
    if (BorrowedMemory *memory = borrowed_memory_of(array)) {
        Py_CLEAR(memory->release);
    }
}

PyObject *wrap(PyObject *, PyObject *(&values)[11]) {
    Request request;
    request.values = values;
    drain();
    if (!read_request(&request) ||
        !stays_within(values[9], request.shape, request.has_strides ? &request.strides : nullptr, request.dtype)) {
        return nullptr;
    }
    OwnedArray array(make(request));
    if (array && is_given(values[10])) {
        PyObject *made = convert("wrap: to", array.get(), values[10], true);
        if (made == nullptr) {
            forget_release(array.get());
        }
        return made;
    }
    return array ? new_array(array.release(), Origin::Wrapped) : nullptr;
}

}  // namespace

PyMethodDef kWrapFunctions[] = {
    {"wrap", parsed<kWrap, wrap>(), kKeywords,
     "wrap(ptr, shape, dtype, *, strides=None, device='cpu', owner=None, release=None, readonly=False, check=True, "
     "nbytes=None, to=None)\n--\n\n"
     "Returns an array on existing memory; copies nothing and accesses nothing.\n\n"
     "`ptr` is an address: an integer, a pointer of ctypes or cffi, or an object with `ptr` or `data_ptr`. "
     "`strides` are in bytes, row-major if not given. `owner` is kept alive until the last view and export is "
     "released. Then `release`, if given, is called once without arguments. It is not called if wrap() fails. "
     "`check` looks a device address up in the driver, and requires the first and last byte of host memory to "
     "be readable. `nbytes` requires every element to lie within that many bytes of the address. `to`, a type "
     "as for Array.to(), returns an object of that type. That is the fastest way from a pointer to a "
     "torch.Tensor; the content counts as ready."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace viapy
