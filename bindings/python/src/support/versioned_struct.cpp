#include "support/versioned_struct.hpp"

#include <cstddef>
#include <cstring>

#include "support/arguments.hpp"
#include "support/errors.hpp"

namespace viapy {
namespace {

template <class Value>
constexpr FieldKind kKind = FieldKind::Extents;
template <>
constexpr FieldKind kKind<int32_t> = FieldKind::Int32;
template <>
constexpr FieldKind kKind<int64_t> = FieldKind::Int64;
template <>
constexpr FieldKind kKind<void *> = FieldKind::Address;
template <int size>
constexpr FieldKind kKind<char[size]> = FieldKind::Text;

// Describes a field of a struct S.
#define FIELD(name) {#name, kKind<decltype(S::name)>, offsetof(S, name), sizeof(S::name)}

struct DevicePropertiesFields {
    using S = via_device_properties;
    static constexpr Field fields[] = {FIELD(device_type),    FIELD(device_id),   FIELD(compute_capability),
                                       FIELD(driver_version), FIELD(num_threads), FIELD(total_bytes),
                                       FIELD(staging_bytes),  FIELD(name),        FIELD(routes)};
};

struct StatsInfoFields {
    using S = via_stats_info;
    static constexpr Field fields[] = {FIELD(live_arrays),      FIELD(live_storages), FIELD(outstanding_exports),
                                       FIELD(pending_releases), FIELD(host_bytes),    FIELD(pinned_bytes),
                                       FIELD(device_bytes),     FIELD(managed_bytes), FIELD(staged_bytes),
                                       FIELD(pending_tasks)};
};

struct PointerInfoFields {
    using S = via_pointer_info;
    static constexpr Field fields[] = {FIELD(device_type), FIELD(device_id), FIELD(read_only), FIELD(base_address),
                                       FIELD(nbytes)};
};

struct DlpackOptionsFields {
    using S = via_dlpack_options;
    static constexpr Field fields[] = {FIELD(max_major), FIELD(max_minor), FIELD(target_device_type),
                                       FIELD(target_device_id), FIELD(copy)};
};

struct ArrayInterfaceFields {
    using S = via_array_interface;
    static constexpr Field fields[] = {FIELD(version),    FIELD(ndim),   FIELD(read_only), FIELD(has_strides),
                                       FIELD(has_stream), FIELD(stream), FIELD(address),   FIELD(shape),
                                       FIELD(strides),    FIELD(typestr)};
};

struct FileOptionsFields {
    using S = via_file_options;
    static constexpr Field fields[] = {FIELD(mode),         FIELD(file_format), FIELD(column_major), FIELD(durable),
                                       FIELD(atomic_write), FIELD(page_cache),  FIELD(as_bytes)};
};

struct ConvertOptionsFields {
    using S = via_convert_options;
    static constexpr Field fields[] = {FIELD(casting), FIELD(overflow),    FIELD(byte_order), FIELD(scale),
                                       FIELD(offset),  FIELD(scale_count), FIELD(scale_axis)};
};

struct FilePropertiesFields {
    using S = via_file_properties;
    static constexpr Field fields[] = {FIELD(file_format), FIELD(dtype),  FIELD(ndim),        FIELD(column_major),
                                       FIELD(byte_order),  FIELD(nbytes), FIELD(byte_offset), FIELD(shape)};
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

template <class Value>
bool write_parsed(bool (*parse)(const char *, const char *, PyObject *, Value *), const char *function,
                  const Field &field, PyObject *value, void *values) {
    Value parsed = {};
    const bool good = parse(function, field.name, value, &parsed);
    std::memcpy(static_cast<char *>(values) + field.offset, &parsed, sizeof parsed);
    return good;
}

bool write_text(const char *function, const Field &field, PyObject *value, void *values) {
    const char *text = PyUnicode_Check(value) ? whole_text(value) : nullptr;
    if (text == nullptr || std::strlen(text) >= static_cast<size_t>(field.nbytes)) {
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
            return write_parsed(parse_int32, function, field, value, values);
        case FieldKind::Int64:
            return write_parsed(parse_int64, function, field, value, values);
        case FieldKind::Address:
            return write_parsed(parse_number_address, function, field, value, values);
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

const StructLayout kDeviceProperties = layout_of("via_device_properties", DevicePropertiesFields::fields);
const StructLayout kStatsInfo = layout_of("via_stats_info", StatsInfoFields::fields);
const StructLayout kPointerInfo = layout_of("via_pointer_info", PointerInfoFields::fields);
const StructLayout kDlpackOptions = layout_of("via_dlpack_options", DlpackOptionsFields::fields);
const StructLayout kArrayInterface =
    layout_of("via_array_interface", ArrayInterfaceFields::fields, offsetof(via_array_interface, ndim));
const StructLayout kFileOptions = layout_of("via_file_options", FileOptionsFields::fields);
const StructLayout kConvertOptions = layout_of("via_convert_options", ConvertOptionsFields::fields);
const StructLayout kFileProperties =
    layout_of("via_file_properties", FilePropertiesFields::fields, offsetof(via_file_properties, ndim));

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
