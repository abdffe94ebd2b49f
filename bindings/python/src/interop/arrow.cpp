#include "interop/arrow.hpp"

#include <cstring>
#include <new>

#include "exchange/arrow_abi.hpp"
#include "support/deferred.hpp"
#include "support/wait.hpp"

namespace viapy {
namespace {

const char kSchema[] = "arrow_schema";
const char kArray[] = "arrow_array";
const char kDeviceArray[] = "arrow_device_array";

void drop_schema(PyObject *capsule) {
    auto *schema = static_cast<ArrowSchema *>(PyCapsule_GetPointer(capsule, kSchema));
    via_arrow_release(schema, nullptr);
    delete schema;
}

void drop_device_array(PyObject *capsule) {
    auto *column = static_cast<ArrowDeviceArray *>(PyCapsule_GetPointer(capsule, kDeviceArray));
    keeping_error([column] { via_arrow_release(nullptr, column); });
    delete column;
}

void drop_array(PyObject *capsule) {
    auto *array = static_cast<ArrowArray *>(PyCapsule_GetPointer(capsule, kArray));
    if (array->release != nullptr) {
        keeping_error([array] { array->release(array); });
    }
    delete array;
}

// Owns both structs of an export until they are moved into capsules.
struct Export {
    ArrowSchema *schema = new (std::nothrow) ArrowSchema{};
    ArrowDeviceArray *column = new (std::nothrow) ArrowDeviceArray{};

    Export() = default;
    Export(const Export &) = delete;
    Export &operator=(const Export &) = delete;
    ~Export() {
        via_arrow_release(schema, column);
        delete schema;
        delete column;
    }

    bool fill(via_array *array) {
        if (via_array_device_type(array) != VIA_DEVICE_CUDA && !wait_until_ready(array)) {
            return false;
        }
        if (schema == nullptr || column == nullptr) {
            PyErr_NoMemory();
            return false;
        }
        via_status status = via_to_arrow_device(array, schema, column);
        return status == VIA_OK || (raise_exchange(status), false);
    }

    PyObject *schema_capsule() {
        PyObject *capsule = PyCapsule_New(schema, kSchema, drop_schema);
        schema = capsule != nullptr ? nullptr : schema;
        return capsule;
    }

    PyObject *device_capsule() {
        PyObject *capsule = PyCapsule_New(column, kDeviceArray, drop_device_array);
        column = capsule != nullptr ? nullptr : column;
        return capsule;
    }

    PyObject *array_capsule() {
        auto *array = new (std::nothrow) ArrowArray(column->array);
        PyObject *capsule = array != nullptr ? PyCapsule_New(array, kArray, drop_array) : PyErr_NoMemory();
        if (capsule == nullptr) {
            delete array;
            return nullptr;
        }
        column->array.release = nullptr;  // moved
        return capsule;
    }
};

PyObject *pair_of(PyObject *first, PyObject *second) {
    Ref hold_first(first), hold_second(second);
    return first != nullptr && second != nullptr ? PyTuple_Pack(2, first, second) : nullptr;
}

// The requested schema is a hint of the protocol, which is ignored: an array has one schema.
Signature kDeviceSignature = {"Array.__arrow_c_device_array__", 1, 0, {"requested_schema"}};
Signature kArraySignature = {"Array.__arrow_c_array__", 1, 0, {"requested_schema"}};

PyObject *arrow_device_array(PyObject *self, PyObject *(&)[1]) {
    Export exported;
    if (!exported.fill(handle_of(self))) {
        return nullptr;
    }
    Ref schema(exported.schema_capsule());
    return schema ? pair_of(schema.release(), exported.device_capsule()) : nullptr;
}

PyObject *arrow_array(PyObject *self, PyObject *(&)[1]) {
    Export exported;
    if (!exported.fill(handle_of(self))) {
        return nullptr;
    }
    if (exported.column->device_type == VIA_DEVICE_CUDA) {
        return raise(VIA_ERROR_EXCHANGE,
                     "Array.__arrow_c_array__: the array is in device memory; expected host memory (call "
                     "__arrow_c_device_array__)");
    }
    Ref schema(exported.schema_capsule());
    return schema ? pair_of(schema.release(), exported.array_capsule()) : nullptr;
}

PyObject *arrow_schema(PyObject *self, PyObject *) {
    Export exported;
    return exported.fill(handle_of(self)) ? exported.schema_capsule() : nullptr;
}

PyObject *import_device_array(ArrowSchema *schema, ArrowDeviceArray *column) {
    return array_from(Origin::Arrow, via_from_arrow_device, schema, column, nullptr);
}

// Wraps a host array in a device array for the call. The copy's release pointer then says whether the struct was
// consumed.
PyObject *import_host_array(ArrowSchema *schema, ArrowArray *host) {
    ArrowDeviceArray column = {};
    column.array = *host;
    column.device_id = -1;
    column.device_type = VIA_DEVICE_CPU;
    PyObject *array = import_device_array(schema, &column);
    host->release = column.array.release;
    return array;
}

PyObject *import_pair(const char *function, PyObject *pair) {
    bool is_pair = PyTuple_Check(pair) && PyTuple_Size(pair) == 2;
    PyObject *first = is_pair ? PyTuple_GetItem(pair, 0) : nullptr;
    PyObject *second = is_pair ? PyTuple_GetItem(pair, 1) : nullptr;
    if (!is_pair || !PyCapsule_IsValid(first, kSchema)) {
        return raise_type(function, "x", pair, "a pair of Arrow capsules: schema and array");
    }
    auto *schema = static_cast<ArrowSchema *>(PyCapsule_GetPointer(first, kSchema));
    if (PyCapsule_IsValid(second, kDeviceArray)) {
        return import_device_array(schema, static_cast<ArrowDeviceArray *>(PyCapsule_GetPointer(second, kDeviceArray)));
    }
    if (PyCapsule_IsValid(second, kArray)) {
        return import_host_array(schema, static_cast<ArrowArray *>(PyCapsule_GetPointer(second, kArray)));
    }
    return raise_type(function, "x", pair, "a pair of Arrow capsules: schema and array");
}

}  // namespace

Outcome try_arrow(const char *function, PyObject *object, PyObject **out_array) {
    for (const char *name : {"__arrow_c_device_array__", "__arrow_c_array__"}) {
        bool failed = false;
        Ref exporter(optional_attribute(object, name, &failed));
        if (failed) {
            return Outcome::Failed;
        }
        if (exporter) {
            Ref pair(PyObject_CallNoArgs(exporter.get()));
            *out_array = pair ? import_pair(function, pair.get()) : nullptr;
            return *out_array != nullptr ? Outcome::Imported : Outcome::Failed;
        }
    }
    bool failed = false;
    const Ref stream(optional_attribute(object, "__arrow_c_stream__", &failed));
    if (stream) {  // of columns in chunks: those of polars, pandas and pyarrow.ChunkedArray
        raise(VIA_ERROR_EXCHANGE,
              "%s: x is a stream of Arrow arrays; expected one of them, such as x.chunk(0) or x.to_arrow()", function);
    }
    return failed || stream ? Outcome::Failed : Outcome::Absent;
}

namespace {

PyObject *from_arrow(PyObject *, PyObject *object) {
    PyObject *array = nullptr;
    drain();
    if (PyTuple_Check(object)) {
        return import_pair("from_arrow", object);
    }
    if (try_arrow("from_arrow", object, &array) != Outcome::Absent) {
        return array;
    }
    return raise_type("from_arrow", "x", object, "an object with __arrow_c_device_array__ or __arrow_c_array__");
}

}  // namespace

PyMethodDef kArrowMethods[] = {
    {"__arrow_c_device_array__", parsed<kDeviceSignature, arrow_device_array>(), kKeywords,
     "__arrow_c_device_array__($self, requested_schema=None)\n--\n\n"
     "Exports a row-major array of numbers or records to Arrow, as capsules of a schema and of a device array."},
    {"__arrow_c_array__", parsed<kArraySignature, arrow_array>(), kKeywords,
     "__arrow_c_array__($self, requested_schema=None)\n--\n\n"
     "Exports a row-major array of host memory to Arrow, as capsules of a schema and of an array."},
    {"__arrow_c_schema__", arrow_schema, METH_NOARGS,
     "__arrow_c_schema__($self)\n--\n\n"
     "Returns the Arrow type of the array, as a capsule."},
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef kArrowFunctions[] = {
    {"from_arrow", from_arrow, METH_O,
     "from_arrow(x, /)\n--\n\n"
     "Returns a read-only array on the memory of an Arrow array without nulls, or of its pair of capsules."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace viapy
