#include "devices.hpp"

#include "support/arguments.hpp"
#include "support/errors.hpp"
#include "support/versioned_struct.hpp"

namespace viapy {
namespace {

Signature kCount = {"device_count", 1, 0, {"kind"}};
Signature kInfo = {"device_info", 1, 0, {"device"}};

// Accepts "cuda" and "cpu", and ignores the id of the device.
bool parse_kind(PyObject *value, int32_t *out_type) {
    Device device = {VIA_DEVICE_CUDA, 0};
    bool good = parse_device("device_count", value, &device);
    *out_type = device.type;
    return good;
}

PyObject *device_count(PyObject *, PyObject *(&values)[1]) {
    int32_t type = 0, count = 0;
    if (!parse_kind(values[0], &type)) {
        return nullptr;
    }
    return ok_or_raise(via_device_count(type, &count)) ? PyLong_FromLong(count) : nullptr;
}

PyObject *device_info(PyObject *, PyObject *(&values)[1]) {
    Device device = {VIA_DEVICE_CUDA, 0};
    via_device_properties properties = VIA_DEVICE_PROPERTIES_INIT;
    if (!parse_device("device_info", values[0], &device)) {
        return nullptr;
    }
    if (!ok_or_raise(via_device_info(device.type, device.id, &properties))) {
        return nullptr;
    }
    Ref dict(dict_of_struct(kDeviceProperties, &properties));
    bool good = dict && set_item(dict.get(), "device", device_name(device.type, device.id));
    return good ? dict.release() : nullptr;
}

PyObject *pointer_info(PyObject *, PyObject *pointer) {
    void *address = nullptr;
    via_pointer_info info = VIA_POINTER_INFO_INIT;
    if (!parse_address("pointer_info", pointer, &address)) {
        return nullptr;
    }
    if (!ok_or_raise(via_pointer_query(address, &info))) {
        return nullptr;
    }
    Ref dict(PyDict_New());
    bool good = dict && set_item(dict.get(), "device", device_name(info.device_type, info.device_id)) &&
                set_item(dict.get(), "base", PyLong_FromVoidPtr(info.base_address)) &&
                set_item(dict.get(), "nbytes", PyLong_FromLongLong(info.nbytes)) &&
                set_item(dict.get(), "readonly", boolean(info.read_only != 0));
    return good ? dict.release() : nullptr;
}

}  // namespace

PyMethodDef kDeviceFunctions[] = {
    {"device_count", parsed<kCount, device_count>(), kKeywords,
     "device_count(kind='cuda')\n--\n\n"
     "Returns the number of usable devices."},
    {"device_info", parsed<kInfo, device_info>(), kKeywords,
     "device_info(device='cuda')\n--\n\n"
     "Returns the properties of a device, its copy routes, and why a route is off."},
    {"pointer_info", pointer_info, METH_O,
     "pointer_info(ptr, /)\n--\n\n"
     "Returns what an address points to, as a dict: device, base and nbytes of the allocation, readonly."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace viapy
