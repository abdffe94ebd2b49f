#include "support/structs.hpp"

#include <cstddef>
#include <cstring>

#include "support/arguments.hpp"
#include "support/errors.hpp"

namespace viapy {
namespace {

#define INT32(type, name) {#name, FieldKind::Int32, offsetof(type, name), 0}
#define INT64(type, name) {#name, FieldKind::Int64, offsetof(type, name), 0}
#define ADDRESS(type, name) {#name, FieldKind::Address, offsetof(type, name), 0}
#define TEXT(type, name) {#name, FieldKind::Text, offsetof(type, name), sizeof(type::name)}
#define EXTENTS(type, name) {#name, FieldKind::Extents, offsetof(type, name), 0}

const Field kDevicePropertiesFields[] = {
    INT32(via_device_properties, device_type),
    INT32(via_device_properties, device_id),
    INT32(via_device_properties, compute_capability),
    INT32(via_device_properties, driver_version),
    INT32(via_device_properties, num_threads),
    INT64(via_device_properties, total_bytes),
    INT64(via_device_properties, staging_bytes),
    TEXT(via_device_properties, name),
    TEXT(via_device_properties, routes),
};

const Field kStatsInfoFields[] = {
    INT64(via_stats_info, live_arrays),         INT64(via_stats_info, live_storages),
    INT64(via_stats_info, outstanding_exports), INT64(via_stats_info, pending_releases),
    INT64(via_stats_info, host_bytes),          INT64(via_stats_info, pinned_bytes),
    INT64(via_stats_info, device_bytes),        INT64(via_stats_info, managed_bytes),
    INT64(via_stats_info, staged_bytes),        INT64(via_stats_info, pending_tasks),
};

const Field kPointerInfoFields[] = {
    INT32(via_pointer_info, device_type),    INT32(via_pointer_info, device_id), INT32(via_pointer_info, read_only),
    ADDRESS(via_pointer_info, base_address), INT64(via_pointer_info, nbytes),
};

const Field kDlpackOptionsFields[] = {
    INT32(via_dlpack_options, max_major),
    INT32(via_dlpack_options, max_minor),
    INT32(via_dlpack_options, target_device_type),
    INT32(via_dlpack_options, target_device_id),
    INT32(via_dlpack_options, copy),
};

const Field kArrayInterfaceFields[] = {
    INT32(via_array_interface, version),    INT32(via_array_interface, ndim),
    INT32(via_array_interface, read_only),  INT32(via_array_interface, has_strides),
    INT32(via_array_interface, has_stream), INT64(via_array_interface, stream),
    ADDRESS(via_array_interface, address),  EXTENTS(via_array_interface, shape),
    EXTENTS(via_array_interface, strides),  TEXT(via_array_interface, typestr),
};

const Field kFileOptionsFields[] = {
    INT32(via_file_options, mode),     INT32(via_file_options, file_format),  INT32(via_file_options, column_major),
    INT32(via_file_options, durable),  INT32(via_file_options, atomic_write), INT32(via_file_options, page_cache),
    INT32(via_file_options, as_bytes),
};

const Field kFilePropertiesFields[] = {
    INT32(via_file_properties, file_format), INT32(via_file_properties, dtype),
    INT32(via_file_properties, ndim),        INT32(via_file_properties, column_major),
    INT64(via_file_properties, nbytes),      INT64(via_file_properties, byte_offset),
    EXTENTS(via_file_properties, shape),
};

template <int count>
constexpr StructLayout layout_of(const char *name, const Field (&fields)[count], int ndim_offset = 0) {
    return {name, fields, count, ndim_offset};
}

template <class T>
T read_at(const void *values, int offset) {
    T value;
    std::memcpy(&value, static_cast<const char *>(values) + offset, sizeof value);
    return value;
}

template <class T>
void write_at(void *values, int offset, T value) {
    std::memcpy(static_cast<char *>(values) + offset, &value, sizeof value);
}

PyObject *read_field(const StructLayout &layout, const Field &field, const void *values) {
    const char *place = static_cast<const char *>(values) + field.offset;
    switch (field.kind) {
        case FieldKind::Int32:
            return PyLong_FromLong(read_at<int32_t>(values, field.offset));
        case FieldKind::Int64:
            return PyLong_FromLongLong(read_at<int64_t>(values, field.offset));
        case FieldKind::Address:
            return PyLong_FromVoidPtr(read_at<void *>(values, field.offset));
        case FieldKind::Text:
            return PyUnicode_FromString(place);
        case FieldKind::Extents:
            break;
    }
    return tuple_of(reinterpret_cast<const int64_t *>(place), read_at<int32_t>(values, layout.ndim_offset));
}

bool write_number(const char *function, const Field &field, PyObject *value, void *values) {
    if (field.kind == FieldKind::Int64) {
        int64_t number = 0;
        bool good = parse_int64(function, field.name, value, &number);
        write_at(values, field.offset, number);
        return good;
    }
    int32_t number = 0;
    bool good = parse_int32(function, field.name, value, &number);
    write_at(values, field.offset, number);
    return good;
}

bool write_address(const char *function, const Field &field, PyObject *value, void *values) {
    void *address = nullptr;
    bool good = parse_number_address(function, field.name, value, &address);
    write_at(values, field.offset, address);
    return good;
}

bool write_text(const char *function, const Field &field, PyObject *value, void *values) {
    const char *text = PyUnicode_Check(value) ? whole_text(value) : nullptr;
    if (text == nullptr || std::strlen(text) >= static_cast<size_t>(field.capacity)) {
        raise_type(function, field.name, value, "a short text");
        return false;
    }
    std::strcpy(static_cast<char *>(values) + field.offset, text);
    return true;
}

bool write_extents(const char *function, const Field &field, PyObject *value, void *values) {
    Extents extents;
    if (!parse_extents(function, field.name, value, &extents)) {
        return false;
    }
    std::memcpy(static_cast<char *>(values) + field.offset, extents.values,
                sizeof(int64_t) * static_cast<size_t>(extents.count));
    return true;
}

bool write_field(const char *function, const Field &field, PyObject *value, void *values) {
    switch (field.kind) {
        case FieldKind::Int32:
        case FieldKind::Int64:
            return write_number(function, field, value, values);
        case FieldKind::Address:
            return write_address(function, field, value, values);
        case FieldKind::Text:
            return write_text(function, field, value, values);
        case FieldKind::Extents:
            break;
    }
    return write_extents(function, field, value, values);
}

const Field *find_field(const StructLayout &layout, PyObject *name) {
    for (int i = 0; i < layout.count; ++i) {
        if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, layout.fields[i].name) == 0) {
            return &layout.fields[i];
        }
    }
    return nullptr;
}

}  // namespace

const StructLayout kDeviceProperties = layout_of("via_device_properties", kDevicePropertiesFields);
const StructLayout kStatsInfo = layout_of("via_stats_info", kStatsInfoFields);
const StructLayout kPointerInfo = layout_of("via_pointer_info", kPointerInfoFields);
const StructLayout kDlpackOptions = layout_of("via_dlpack_options", kDlpackOptionsFields);
const StructLayout kArrayInterface =
    layout_of("via_array_interface", kArrayInterfaceFields, offsetof(via_array_interface, ndim));
const StructLayout kFileOptions = layout_of("via_file_options", kFileOptionsFields);
const StructLayout kFileProperties =
    layout_of("via_file_properties", kFilePropertiesFields, offsetof(via_file_properties, ndim));

PyObject *dict_of_struct(const StructLayout &layout, const void *values) {
    Ref dict(PyDict_New());
    for (int i = 0; dict && i < layout.count; ++i) {
        Ref value(read_field(layout, layout.fields[i], values));
        if (!value || PyDict_SetItemString(dict.get(), layout.fields[i].name, value.get()) != 0) {
            return nullptr;
        }
    }
    return dict.release();
}

bool struct_of_dict(const char *function, const StructLayout &layout, PyObject *dict, void *out_values) {
    if (dict == Py_None) {
        return true;
    }
    if (!PyDict_Check(dict)) {
        raise_type(function, layout.name, dict, "a dict of its fields, or None");
        return false;
    }
    // Iterates over a copy, since a value's __index__ may change the dict.
    Ref copy(PyDict_Copy(dict));
    PyObject *name = nullptr, *value = nullptr;
    for (Py_ssize_t position = 0; copy && PyDict_Next(copy.get(), &position, &name, &value) != 0;) {
        const Field *field = find_field(layout, name);
        if (field == nullptr) {
            raise(VIA_ERROR_INVALID_ARGUMENT, "%s: the dict has a field %S; expected a field of %s", function,
                  shown(name).get(), layout.name);
            return false;
        }
        if (!write_field(function, *field, value, out_values)) {
            return false;
        }
    }
    return bool(copy);
}

}  // namespace viapy
