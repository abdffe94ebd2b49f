// DLPack export. Decides whether an array can be exported as it is; the caller makes the copy if it cannot.
#pragma once

#include "exchange/dlpack.hpp"

namespace via {

// Reads and checks options of any struct size. Initialise *out_options with VIA_DLPACK_OPTIONS_INIT.
VIA_NODISCARD Status read_options(const via_dlpack_options &options, via_dlpack_options *out_options);

// Plans the export of an array in this form under these options, or refuses it.
VIA_NODISCARD Status negotiate_export(via_array *array, DlpackForm form, const via_dlpack_options &options,
                                      ExchangePlan *out_plan);

// Exports an array that negotiate_export has accepted, under the planned device. With `plan.copies` it is a copy made
// for this consumer alone.
VIA_NODISCARD Status export_dlpack(via_array *array, const via_dlpack_options &options, const ExchangePlan &plan,
                                   DLManagedTensorVersioned **out_tensor);

VIA_NODISCARD Status export_dlpack(via_array *array, const via_dlpack_options &options, const ExchangePlan &plan,
                                   DLManagedTensor **out_tensor);

}  // namespace via
