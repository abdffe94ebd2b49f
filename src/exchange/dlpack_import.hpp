// DLPack in.
#pragma once

#include "exchange/dlpack.hpp"

namespace via {

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
