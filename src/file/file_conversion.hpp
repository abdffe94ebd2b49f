// Files whose elements are converted on the way: to and from another dtype, and another byte order.
//
// How it works. A handle of such a file is a window with a FileConversion. A transfer of it has an ElementPlan between
// the array and a row-major array of the file's elements, whose loops go in the order of the file. Workers read and
// write parts of the file (move_converted.hpp), and convert them while a core's cache holds them.
#pragma once

#include <memory>
#include <vector>

#include "copy/element_plan.hpp"
#include "file/window.hpp"

namespace via {

// What a handle does to the elements of its file.
struct FileConversion {
    int32_t dtype;                  // of arrays
    via_convert_options options{};  // without byte order
    std::vector<float> scales;      // of the options, which refer to them
    std::vector<float> offsets;
    bool swaps = false;  // the file's elements are in another byte order
};

// Makes a file whose elements are those of another, in another dtype. The caller owns it. Errors: those of via_convert;
// VIA_ERROR_INVALID_ARGUMENT, VIA_ERROR_UNSUPPORTED.
VIA_NODISCARD Status make_converted(via_file *file, int32_t dtype, const via_convert_options &options,
                                    via_file **out_file);

// The conversion of a transfer.
struct TransferConversion {
    ElementPlan plan;
    int64_t file_item;          // bytes from one of the file's elements to the next: a part of a complex number is one
    int64_t array_item;         // the same of an array whose elements are adjacent
    int64_t swapped_after = 1;  // bytes of each number that is swapped once it has been converted for the file
};

// Plans the conversion of a transfer by a handle, or stores nullptr if elements stay as they are. The axes of `array`
// are in the order of the file.
VIA_NODISCARD Status plan_conversion(via_file *file, via_array *array, bool is_read,
                                     std::shared_ptr<TransferConversion> *out_conversion);

// Plans one of a read into an array from adjacent elements of a file, in the order of the array.
VIA_NODISCARD Status plan_read(via_array *array, int32_t file_dtype, const via_convert_options &options, bool swaps,
                               std::shared_ptr<TransferConversion> *out_conversion);

}  // namespace via
