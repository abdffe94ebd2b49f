// Checks of copies by index.
#pragma once

#include <memory>

#include "copy/indexed.hpp"
#include "copy/plan.hpp"
#include "core/layout/converted_rows.hpp"

namespace via {

// Returns whether an array that may be nullptr is in the memory of a device.
inline bool is_on_device(via_array *array) { return array != nullptr && array->device_type == VIA_DEVICE_CUDA; }

// Checks dtypes, shapes and both lists' kinds, but no number. Makes `axis` non-negative, and stores the number of rows.
VIA_NODISCARD Status check_indexed(IndexedArguments *arguments, int64_t *out_count);

// Numbers of rows that nobody else can change.
struct IndexNumbers {
    bool different = false;  // none of them may occur twice
    std::unique_ptr<char[]> block = {};
    IndexList list = {};
};

// Copies the numbers of a list in host memory, and checks each. `name` is that of the argument.
VIA_NODISCARD Status read_numbers(const char *name, const IndexList &list, int64_t count, int64_t extent,
                                  IndexNumbers *out_numbers);

// Stores whether row i of dst is row i of src, for every i. Errors: VIA_ERROR_OVERLAP for arrays that share bytes in
// any other way, and for a dst that overlaps itself.
VIA_NODISCARD Status check_memory(const IndexedArguments &arguments, const Plan &row, const IndexedRows &rows,
                                  bool *out_same_rows);

// Does the same for rows that are converted, which are never the same ones.
VIA_NODISCARD Status check_converted_memory(const IndexedArguments &arguments, const ConvertedRows &rows);

// Refuses rows that are both read and written.
VIA_NODISCARD Status check_disjoint(const IndexedRows &rows);

}  // namespace via
