// DLPack 1.x and the form before it, out and in. Deciding whether an array can be lent as it is, and making the copy
// where it cannot, are apart: the second is the caller's.
#pragma once

#include <dlpack/dlpack.h>

#include <cstdint>

#include "core/array/array.hpp"
#include "exchange/target.hpp"

namespace via {

// Newest version whose every field and flag this library knows.
inline constexpr uint32_t kDlpackMajor = 1;
inline constexpr uint32_t kDlpackMinor = 3;

enum class DlpackForm { Versioned, Legacy };

// Options with every field of this version, whatever size of struct the caller passed; *out_options must be
// initialised.
VIA_NODISCARD Status read_options(const via_dlpack_options &options, via_dlpack_options *out_options);

// Whether the array can be exported in this form under these options, and how.
VIA_NODISCARD Status negotiate_export(via_array *array, DlpackForm form, const via_dlpack_options &options,
                                      Lending *out_lending);

// Exports an array that negotiate_export has passed, under the device that was found. `lending.by_copy`: it was copied
// for this consumer alone.
VIA_NODISCARD Status export_dlpack(via_array *array, const via_dlpack_options &options, const Lending &lending,
                                   DLManagedTensorVersioned **out_tensor);
VIA_NODISCARD Status export_dlpack(via_array *array, const via_dlpack_options &options, const Lending &lending,
                                   DLManagedTensor **out_tensor);

// How a tensor is to be taken. Errors: of its version, of its device and of the target's.
VIA_NODISCARD Status negotiate_import(const DLManagedTensorVersioned &tensor, const via_dlpack_options &options,
                                      Lending *out_lending);
VIA_NODISCARD Status negotiate_import(const DLManagedTensor &tensor, const via_dlpack_options &options,
                                      Lending *out_lending);

// An array on the tensor's memory, ready after the stream's work so far. Not `lending.by_copy`: it is of the device
// that was found, and calls the deleter when the memory is let go. Else it is of the tensor's own and only borrows.
VIA_NODISCARD Status import_dlpack(DLManagedTensorVersioned *tensor, const Lending &lending, via_stream *stream,
                                   via_array **out_array);
VIA_NODISCARD Status import_dlpack(DLManagedTensor *tensor, const Lending &lending, via_stream *stream,
                                   via_array **out_array);

// Calls the deleter, if there is one.
void delete_tensor(DLManagedTensorVersioned *tensor);
void delete_tensor(DLManagedTensor *tensor);

}  // namespace via
