#include "creation.hpp"

#include <cstring>

#include "array/array_copy.hpp"
#include "interop/interop.hpp"
#include "objects/memory.hpp"
#include "objects/stream_argument.hpp"
#include "support/deferred.hpp"
#include "support/dtypes.hpp"

namespace viapy {
namespace {

Signature kEmpty = {"empty", 2, 2, {"shape", "dtype", "device", "memory", "stream"}};
Signature kZeros = {"zeros", 2, 2, {"shape", "dtype", "device", "memory", "stream"}};
Signature kOnes = {"ones", 2, 2, {"shape", "dtype", "device", "memory", "stream"}};
Signature kFull = {"full", 3, 3, {"shape", "fill_value", "dtype", "device", "memory", "stream"}};
Signature kEmptyLike = {"empty_like", 2, 1, {"x", "dtype", "device", "memory", "stream"}};
Signature kZerosLike = {"zeros_like", 2, 1, {"x", "dtype", "device", "memory", "stream"}};
Signature kOnesLike = {"ones_like", 2, 1, {"x", "dtype", "device", "memory", "stream"}};
Signature kFullLike = {"full_like", 3, 2, {"x", "fill_value", "dtype", "device", "memory", "stream"}};

// Describes a new array. `places` are the arguments device, memory and stream.
struct Plan {
    Extents shape;
    int32_t dtype = 0;
    Device device;  // where nothing else is said
    PyObject **places = nullptr;
};

bool parse_memory(const char *function, const Plan &plan, MemoryHandle *memory) {
    PyObject *device_given = plan.places[0];
    PyObject *memory_given = plan.places[1];
    Device device = plan.device;
    if (!parse_device(function, device_given, &device)) {
        return false;
    }
    return is_given(memory_given) ? memory->of_value(function, memory_given, is_given(device_given), device)
                                  : memory->of_device(function, device);
}

// Leaves the elements uninitialised if value is NULL.
PyObject *make(const char *function, const Plan &plan, PyObject *value) {
    MemoryHandle memory;
    StreamArgument stream;
    if (!parse_memory(function, plan, &memory) || !stream.parse(function, plan.places[2])) {
        return nullptr;
    }
    via_stream *order = value == nullptr || memory.takes_stream() ? stream.get() : nullptr;  // else the fill's alone
    Ref array(array_from(origin_in(memory.get()), via_empty, memory.get(), plan.dtype, plan.shape.count,
                         plan.shape.values, order));
    const bool good = array && (value == nullptr || fill_array(function, handle_of(array.get()), value, stream.get()));
    return good ? array.release() : nullptr;
}

bool plan_of_shape(const char *function, PyObject *shape, PyObject *dtype, Plan *plan) {
    return parse_extents(function, "shape", shape, &plan->shape) && (plan->dtype = parse_dtype(function, dtype)) != 0;
}

bool plan_of_array(const char *function, PyObject *object, PyObject *dtype, Plan *plan) {
    Ref like(as_array(function, object));
    if (!like) {
        return false;
    }
    via_array *array = handle_of(like.get());
    plan->shape.count = via_array_ndim(array);
    for (int32_t axis = 0; axis < plan->shape.count; ++axis) {
        plan->shape.values[axis] = via_array_shape(array)[axis];
    }
    plan->device = {via_array_device_type(array), via_array_device_id(array)};
    plan->dtype = is_given(dtype) ? parse_dtype(function, dtype) : via_array_dtype(array);
    return plan->dtype != 0;
}

// Returns one element of zero bytes, which every dtype accepts.
PyObject *zero_of(int32_t dtype) {
    Ref bytes(PyBytes_FromStringAndSize(nullptr, (via_dtype_bits(dtype) + 7) / 8));
    if (bytes) {
        std::memset(PyBytes_AsString(bytes.get()), 0, static_cast<size_t>(PyBytes_Size(bytes.get())));
    }
    return bytes.release();
}

enum class Content { Nothing, Zero, One, Value };

Ref value_for(Content content, int32_t dtype, PyObject *given) {
    switch (content) {
        case Content::Zero:
            return Ref(zero_of(dtype));
        case Content::One:
            return Ref(PyLong_FromLong(1));
        default:
            return Ref::share(given);
    }
}

// The first argument is a shape or an array; fill_value, if any, follows it.
template <Signature &signature, Content content, auto plan_of>
PyObject *create(PyObject *, PyObject *(&values)[content == Content::Value ? 6 : 5]) {
    constexpr int kDtype = content == Content::Value ? 2 : 1;
    Plan plan;
    plan.places = values + kDtype + 1;
    drain();
    if (!plan_of(signature.function, values[0], values[kDtype], &plan)) {
        return nullptr;
    }
    if (content == Content::Nothing) {
        return make(signature.function, plan, nullptr);
    }
    const Ref value = value_for(content, plan.dtype, values[1]);
    return value ? make(signature.function, plan, value.get()) : nullptr;
}

template <Signature &signature, Content content, auto plan_of>
PyCFunction creator() {
    return parsed<signature, create<signature, content, plan_of>>();
}

}  // namespace

PyMethodDef kCreationFunctions[] = {
    {"empty", creator<kEmpty, Content::Nothing, plan_of_shape>(), kKeywords,
     "empty(shape, dtype, *, device='cpu', memory=None, stream=None)\n--\n\n"
     "Returns a new row-major array with uninitialised elements.\n\n"
     "`memory` is a Memory, or \"host\", \"pinned\", \"device\", \"pool\", \"managed\" or \"shared\" (which other "
     "processes can use too). `stream` orders the allocation of a pool, and is passed to a custom allocator."},
    {"zeros", creator<kZeros, Content::Zero, plan_of_shape>(), kKeywords,
     "zeros(shape, dtype, *, device='cpu', memory=None, stream=None)\n--\n\n"
     "Returns a new array as empty() does, with all bytes zero; a stream orders the fill."},
    {"ones", creator<kOnes, Content::One, plan_of_shape>(), kKeywords,
     "ones(shape, dtype, *, device='cpu', memory=None, stream=None)\n--\n\n"
     "Returns a new array as empty() does, with all elements one; a stream orders the fill."},
    {"full", creator<kFull, Content::Value, plan_of_shape>(), kKeywords,
     "full(shape, fill_value, dtype, *, device='cpu', memory=None, stream=None)\n--\n\n"
     "Returns a new array as empty() does, with all elements set to a number, or to the bytes of one element."},
    {"empty_like", creator<kEmptyLike, Content::Nothing, plan_of_array>(), kKeywords,
     "empty_like(x, /, dtype=None, *, device=None, memory=None, stream=None)\n--\n\n"
     "Returns a new row-major array with the shape, dtype and device of x and uninitialised elements.\n\n"
     "x is any object that asarray() accepts. `dtype`, `device` and `memory` override those of x."},
    {"zeros_like", creator<kZerosLike, Content::Zero, plan_of_array>(), kKeywords,
     "zeros_like(x, /, dtype=None, *, device=None, memory=None, stream=None)\n--\n\n"
     "Returns a new array as empty_like() does, with all bytes zero."},
    {"ones_like", creator<kOnesLike, Content::One, plan_of_array>(), kKeywords,
     "ones_like(x, /, dtype=None, *, device=None, memory=None, stream=None)\n--\n\n"
     "Returns a new array as empty_like() does, with all elements one."},
    {"full_like", creator<kFullLike, Content::Value, plan_of_array>(), kKeywords,
     "full_like(x, /, fill_value, dtype=None, *, device=None, memory=None, stream=None)\n--\n\n"
     "Returns a new array as empty_like() does, with all elements set to a number, or to the bytes of one "
     "element."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace viapy
