// Structs of the header as dictionaries, by a table of fields each.
#pragma once

#include "support/python.hpp"

namespace viapy {

enum class FieldKind { Int32, Int64, Address, Text, Extents };

struct Field {
    const char *name;
    FieldKind kind;
    int offset;
    int nbytes;
};

struct StructLayout {
    const char *name;
    const Field *fields;
    int count;
    int ndim_offset;  // where the number of an Extents field's values is
};

extern const StructLayout kDeviceProperties;
extern const StructLayout kStatsInfo;
extern const StructLayout kPointerInfo;
extern const StructLayout kDlpackOptions;
extern const StructLayout kArrayInterface;
extern const StructLayout kFileOptions;
extern const StructLayout kConvertOptions;
extern const StructLayout kFileProperties;

// Returns a new dict of every field but struct_size.
PyObject *dict_of_struct(const StructLayout &layout, const void *values);

// Sets the fields that a dict names in an initialised struct. None names none.
bool struct_of_dict(const char *function, const StructLayout &layout, PyObject *dict, void *out_values);

}  // namespace viapy
