// DLPack 1.x and the form before it, out and in. Deciding whether an array can be lent as it is, and making the copy
// where it cannot, are apart: the second is the caller's.
#pragma once

#include <dlpack/dlpack.h>

#include <cstdint>

#include "core/array.hpp"

namespace via {

// Newest version whose every field and flag this library knows.
inline constexpr uint32_t kDlpackMajor = 1;
inline constexpr uint32_t kDlpackMinor = 3;

enum class DlpackForm { Versioned, Legacy };

// Options with every field of this version, whatever size of struct the caller passed.
VIA_NODISCARD Status read_options(const via_dlpack_options *options, via_dlpack_options *out_options);

// The wish for a device, against where the memory is.
VIA_NODISCARD Status check_target(const via_dlpack_options &options, int32_t device_type, int32_t device_id);

enum class Lending { AsItIs, ByCopy };

// Whether the array can be exported in this form under these options, and how.
VIA_NODISCARD Status negotiate_export(via_array *array, DlpackForm form, const via_dlpack_options &options,
                                      Lending *out_lending);

// Exports an array that negotiate_export has passed. `copied`: it was copied for this consumer alone.
VIA_NODISCARD Status export_dlpack(via_array *array, const via_dlpack_options &options, bool copied,
                                   DLManagedTensorVersioned **out_tensor);
VIA_NODISCARD Status export_dlpack(via_array *array, DLManagedTensor **out_tensor);

// An array on the tensor's memory. `owning`: it calls the deleter when the memory is let go; else it only borrows.
VIA_NODISCARD Status import_dlpack(DLManagedTensorVersioned *tensor, const via_dlpack_options &options, bool owning,
                                   via_array **out_array);
VIA_NODISCARD Status import_dlpack(DLManagedTensor *tensor, const via_dlpack_options &options, bool owning,
                                   via_array **out_array);

// Calls the deleter, if there is one.
void delete_tensor(DLManagedTensorVersioned *tensor);
void delete_tensor(DLManagedTensor *tensor);

}  // namespace via
