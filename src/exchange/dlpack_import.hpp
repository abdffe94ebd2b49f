// DLPack import.
#pragma once

#include "exchange/dlpack.hpp"

namespace via {

// Plans the import of a tensor. Errors: those of its version, of its device and of the target device.
VIA_NODISCARD Status negotiate_import(const DLManagedTensorVersioned &tensor, const via_dlpack_options &options,
                                      ExchangePlan *out_plan);

VIA_NODISCARD Status negotiate_import(const DLManagedTensor &tensor, const via_dlpack_options &options,
                                      ExchangePlan *out_plan);

// Makes an array on the tensor's memory, ready after the work queued on the stream so far. It has the planned device,
// and its release calls the deleter. With `plan.copies` it has the tensor's own device and only borrows.
VIA_NODISCARD Status import_dlpack(DLManagedTensorVersioned *tensor, const ExchangePlan &plan, via_stream *stream,
                                   via_array **out_array);

VIA_NODISCARD Status import_dlpack(DLManagedTensor *tensor, const ExchangePlan &plan, via_stream *stream,
                                   via_array **out_array);

// Call the deleter, if there is one.
void delete_tensor(DLManagedTensorVersioned *tensor);

void delete_tensor(DLManagedTensor *tensor);

}  // namespace via
