// DLPack 1.x and the form before it. Decides whether an exchange shares the memory or copies it, and under which
// device; the caller makes the copy.
#pragma once

#include <dlpack/dlpack.h>

#include <cstdint>
#include <type_traits>

#include "core/array/array.hpp"
#include "core/base/status.hpp"

namespace via {

// Newest DLPack version whose fields and flags this library knows.
inline constexpr uint32_t kDlpackMajor = 1;
inline constexpr uint32_t kDlpackMinor = 3;

// DLManagedTensorVersioned, and DLManagedTensor of before 1.0; functions of a Tensor are for both.
enum class DlpackForm { Versioned, Legacy };

template <class Tensor>
constexpr DlpackForm kDlpackForm = std::is_same_v<Tensor, DLManagedTensor> ? DlpackForm::Legacy : DlpackForm::Versioned;

// How an import or export proceeds.
struct ExchangePlan {
    bool copies;
    int32_t device_type;  // of the result
    int32_t device_id;
};

// Reads and checks options of any struct size. Initialise *out_options with VIA_DLPACK_OPTIONS_INIT.
VIA_NODISCARD Status read_options(const via_dlpack_options &options, via_dlpack_options *out_options);

// Plans the export of an array in this form under these options, or refuses it.
VIA_NODISCARD Status negotiate_export(via_array *array, DlpackForm form, const via_dlpack_options &options,
                                      ExchangePlan *out_plan);

// Exports an array that negotiate_export has accepted, under the planned device. With `plan.copies` it is a copy made
// for this consumer alone.
template <class Tensor>
VIA_NODISCARD Status export_dlpack(via_array *array, const via_dlpack_options &options, const ExchangePlan &plan,
                                   Tensor **out_tensor);

// Plans the import of a tensor. Errors: those of its version, of its device and of the target device.
template <class Tensor>
VIA_NODISCARD Status negotiate_import(const Tensor &tensor, const via_dlpack_options &options, ExchangePlan *out_plan);

// Makes an array on the tensor's memory, ready after the work queued on the stream so far. It has the planned device,
// and its release calls the deleter. With `plan.copies` it has the tensor's own device and only borrows.
template <class Tensor>
VIA_NODISCARD Status import_dlpack(Tensor *tensor, const ExchangePlan &plan, via_stream *stream, via_array **out_array);

// Calls the deleter, if there is one.
template <class Tensor>
void delete_tensor(Tensor *tensor);

}  // namespace via
