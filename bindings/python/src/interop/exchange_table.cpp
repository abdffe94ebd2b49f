#include "interop/exchange_table.hpp"

#include <dlpack/dlpack.h>
#include <cstdio>

#include "array/array.hpp"
#include "objects/memory.hpp"
#include "objects/stream_argument.hpp"
#include "support/wait.hpp"

namespace viapy {
namespace {

using SetError = void (*)(void *context, const char *kind, const char *message);

const char *kind_of(via_status status) {
    switch (status) {
        case VIA_ERROR_OUT_OF_MEMORY:
            return "MemoryError";
        case VIA_ERROR_DTYPE:
            return "TypeError";
        case VIA_ERROR_OVERFLOW:
            return "OverflowError";
        case VIA_ERROR_UNSUPPORTED:
            return "NotImplementedError";
        case VIA_ERROR_DEVICE:
            return "RuntimeError";
        default:
            return "ValueError";
    }
}

// Returns the kind of memory of a device that arrays can be allocated on; 0 for others.
int32_t memory_kind_of(const DLDevice &device) {
    const bool is_one = device.device_type != kDLCPU || device.device_id == 0;
    return is_one ? usual_memory(device.device_type) : 0;
}

via_status allocate_array(const DLTensor &prototype, via_array **out_array) {
    int32_t dtype = prototype.dtype.code | prototype.dtype.bits << 8 | prototype.dtype.lanes << 16;
    int32_t kind = memory_kind_of(prototype.device);
    if (kind == VIA_MEMORY_HOST) {
        return via_empty(nullptr, dtype, prototype.ndim, prototype.shape, nullptr, out_array);
    }
    OwnedMemory memory;
    const via_status status = via_memory_create(kind, prototype.device.device_id, memory.out());
    return status == VIA_OK ? via_empty(memory.get(), dtype, prototype.ndim, prototype.shape, nullptr, out_array)
                            : status;
}

int allocate(DLTensor *prototype, DLManagedTensorVersioned **out, void *context, SetError set_error) {
    OwnedArray array;
    char text[128];
    *out = nullptr;
    if (memory_kind_of(prototype->device) == 0) {
        std::snprintf(text, sizeof text, "device is type %d, number %d; expected one that Viaduct allocates memory on",
                      static_cast<int>(prototype->device.device_type), static_cast<int>(prototype->device.device_id));
        set_error(context, kind_of(VIA_ERROR_DEVICE), text);
        return -1;
    }
    if (prototype->dtype.lanes > INT16_MAX) {  // as a dtype these would be a record
        std::snprintf(text, sizeof text, "dtype.lanes is %d; expected 1 to %d", prototype->dtype.lanes, INT16_MAX);
        set_error(context, kind_of(VIA_ERROR_DTYPE), text);
        return -1;
    }
    via_status status = allocate_array(*prototype, array.out());
    if (status == VIA_OK) {
        status = via_to_dlpack(array.get(), nullptr, via_stream_no_sync(), out);
    }
    if (status != VIA_OK) {
        set_error(context, kind_of(status), via_last_error());
        return -1;
    }
    return 0;
}

// Orders pending writes before later work of the current stream, which the consumer uses. Waits for host memory.
bool order_current_stream(via_array *array) {
    if (via_array_is_ready(array) != 0) {
        return true;
    }
    if (via_array_device_type(array) != VIA_DEVICE_CUDA) {
        return wait_until_ready(array);
    }
    StreamArgument current;
    DLManagedTensorVersioned *ordered = nullptr;
    via_dlpack_options options = VIA_DLPACK_OPTIONS_INIT;
    options.copy = VIA_COPY_NEVER;
    if (!current.parse_or_current("Array.__dlpack_c_exchange_api__", nullptr, via_array_device_id(array))) {
        return false;
    }
    via_status status = via_to_dlpack(array, &options, current.get(), &ordered);
    via_dlpack_delete(ordered);
    return status == VIA_OK || (raise_exchange(status), false);
}

// Exports as __dlpack__ does by default, without a copy.
int from_object(void *object, DLManagedTensorVersioned **out) {
    via_dlpack_options options = VIA_DLPACK_OPTIONS_INIT;
    options.copy = VIA_COPY_NEVER;
    via_array *array = handle_of(static_cast<PyObject *>(object));
    *out = nullptr;
    if (!order_current_stream(array)) {
        return -1;
    }
    via_status status = via_to_dlpack(array, &options, via_stream_no_sync(), out);
    if (status != VIA_OK) {
        raise_exchange(status);
        return -1;
    }
    return 0;
}

// Treats the tensor as written by the caller's work on the current stream, if it has one.
int to_object(DLManagedTensorVersioned *tensor, void **out) {
    via_array *array = nullptr;
    OwnedStream stream;
    *out = nullptr;
    const DLDevice &device = tensor->dl_tensor.device;
    bool on_device = tensor->version.major == DLPACK_MAJOR_VERSION &&
                     (device.device_type == kDLCUDA || device.device_type == kDLCUDAManaged);
    via_status status = on_device ? via_stream_current(device.device_id, stream.out()) : VIA_OK;
    if (status == VIA_OK) {
        status = via_from_dlpack(tensor, nullptr, on_device ? stream.get() : via_stream_no_sync(), &array);
    }
    if (status != VIA_OK) {
        raise_exchange(status);
        ErrorScope errors;
        via_dlpack_delete(tensor);  // it is stolen, on failure too
        return -1;
    }
    *out = new_array(array, Origin::DLPack);
    return *out != nullptr ? 0 : -1;
}

DLDataType described(int32_t dtype) {
    return {static_cast<uint8_t>(dtype & 0xFF), static_cast<uint8_t>(dtype >> 8 & 0xFF),
            static_cast<uint16_t>(dtype >> 16)};
}

// Returns why a bare DLTensor, which has no flags, cannot describe the array; NULL if it can.
const char *unsayable(via_array *array) {
    if (via_array_dtype(array) < 0) {
        return "records have no DLPack form";
    }
    if (via_array_strides(array) == nullptr && via_array_ndim(array) > 0) {
        return "its strides are not whole elements";
    }
    if ((via_array_flags(array) & VIA_ARRAY_READ_ONLY) != 0) {
        return "it is read-only, which a bare DLTensor cannot say";
    }
    if ((via_array_flags(array) & VIA_ARRAY_SUBBYTE_PADDED) != 0) {
        return "its elements are padded, which a bare DLTensor cannot say";
    }
    return nullptr;
}

int borrow(void *object, DLTensor *out) {
    via_array *array = handle_of(static_cast<PyObject *>(object));
    if (const char *reason = unsayable(array)) {
        raise(VIA_ERROR_EXCHANGE, "Array.__dlpack_c_exchange_api__: the array cannot be exported: %s", reason);
        return -1;
    }
    if (!order_current_stream(array)) {
        return -1;
    }
    out->data = via_array_size(array) > 0 ? via_array_data(array) : nullptr;
    out->device = {static_cast<DLDeviceType>(via_array_device_type(array)), via_array_device_id(array)};
    out->ndim = via_array_ndim(array);
    out->dtype = described(via_array_dtype(array));
    out->shape = const_cast<int64_t *>(via_array_shape(array));
    out->strides = const_cast<int64_t *>(via_array_strides(array));
    out->byte_offset = 0;
    return 0;
}

int current_stream(DLDeviceType type, int32_t id, void **out) {
    *out = nullptr;
    if (type != kDLCUDA && type != kDLCUDAManaged) {
        return 0;
    }
    OwnedStream stream;
    const via_status status = via_stream_current(id, stream.out());
    if (status != VIA_OK) {
        raise_status(status);
        return -1;
    }
    *out = via_stream_handle(stream.get());
    return 0;
}

DLPackExchangeAPI g_api = {
    {{DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}, nullptr}, allocate, from_object, to_object, borrow, current_stream,
};

}  // namespace

bool add_exchange_table(PyObject *type) {
    Ref capsule(PyCapsule_New(&g_api, "dlpack_exchange_api", nullptr));
    return capsule && PyObject_SetAttrString(type, "__dlpack_c_exchange_api__", capsule.get()) == 0;
}

}  // namespace viapy
