// DLPack out. Deciding whether an array can be exported as it is, and making the copy where it cannot, are apart: the
// second is the caller's.
#pragma once

#include "exchange/dlpack.hpp"

namespace via {

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

}  // namespace via
