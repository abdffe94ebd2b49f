// Exchange with other libraries (DLPack, array interfaces, Arrow) and with other processes.
#ifndef VIADUCT_CPP_EXCHANGE_HPP
#define VIADUCT_CPP_EXCHANGE_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "viaduct/cpp/array.hpp"

namespace viaduct {
inline namespace VIADUCT_ERRORS_NAMESPACE {
namespace detail {

// An exported tensor that is not consumed yet.
template <class C, void (*kDelete)(C *)>
class Tensor {
public:
    Tensor() noexcept = default;
    explicit Tensor(C *owned) noexcept : tensor_(owned) {}
    Tensor(Tensor &&other) noexcept : tensor_(other.release()) {}
    Tensor &operator=(Tensor &&other) noexcept {
        Tensor ended(std::move(other));
        std::swap(tensor_, ended.tensor_);
        return *this;
    }
    Tensor(const Tensor &) = delete;
    Tensor &operator=(const Tensor &) = delete;
    ~Tensor() { kDelete(tensor_); }

    C *get() const noexcept { return tensor_; }

    /** Passes the tensor to a consumer, which calls its deleter. */
    [[nodiscard]] C *release() noexcept { return std::exchange(tensor_, nullptr); }

private:
    C *tensor_ = nullptr;
};

}  // namespace detail

/** A DLPack 1.x tensor, owned until release() passes it on. */
using DlpackTensor = detail::Tensor<DLManagedTensorVersioned, via_dlpack_delete>;

/** A DLPack tensor of the form before 1.0, owned until release() passes it on. */
using DlpackLegacyTensor = detail::Tensor<DLManagedTensor, via_dlpack_delete_legacy>;

/** Returns default options for the functions below. */
constexpr via_dlpack_options dlpack_options() noexcept { return VIA_DLPACK_OPTIONS_INIT; }

[[nodiscard]] inline Result<DlpackTensor> to_dlpack(const Array &array, StreamRef stream = {},
                                                    const via_dlpack_options &options = dlpack_options()) {
    return detail::make<DlpackTensor>(via_to_dlpack, array.get(), &options, stream.get());
}

[[nodiscard]] inline Result<DlpackLegacyTensor> to_dlpack_legacy(const Array &array, StreamRef stream = {},
                                                                 const via_dlpack_options &options = dlpack_options()) {
    return detail::make<DlpackLegacyTensor>(via_to_dlpack_legacy, array.get(), &options, stream.get());
}

/** Imports a tensor. On failure it is untouched, and the caller still owns it. */
[[nodiscard]] inline Result<Array> from_dlpack(DLManagedTensorVersioned *tensor, StreamRef stream = {},
                                               const via_dlpack_options &options = dlpack_options()) {
    return detail::make<Array>(via_from_dlpack, tensor, &options, stream.get());
}

[[nodiscard]] inline Result<Array> from_dlpack_legacy(DLManagedTensor *tensor, StreamRef stream = {},
                                                      const via_dlpack_options &options = dlpack_options()) {
    return detail::make<Array>(via_from_dlpack_legacy, tensor, &options, stream.get());
}

/** Imports an owned tensor. On failure its owner keeps it. */
[[nodiscard]] inline Result<Array> from_dlpack(DlpackTensor &&tensor, StreamRef stream = {},
                                               const via_dlpack_options &options = dlpack_options()) {
    via_array *array = nullptr;
    const via_status status = via_from_dlpack(tensor.get(), &options, stream.get(), &array);
    if (status == VIA_OK) {
        static_cast<void>(tensor.release());
    }
    return detail::made<Array>(status, array);
}

[[nodiscard]] inline Result<Array> from_dlpack_legacy(DlpackLegacyTensor &&tensor, StreamRef stream = {},
                                                      const via_dlpack_options &options = dlpack_options()) {
    via_array *array = nullptr;
    const via_status status = via_from_dlpack_legacy(tensor.get(), &options, stream.get(), &array);
    if (status == VIA_OK) {
        static_cast<void>(tensor.release());
    }
    return detail::made<Array>(status, array);
}

/** Describes the array as __array_interface__ does; borrowed from the array. */
[[nodiscard]] inline Result<via_array_interface> to_array_interface(const Array &array) {
    via_array_interface description = VIA_ARRAY_INTERFACE_INIT;
    return detail::made<via_array_interface>(via_to_array_interface(array.get(), &description), description);
}

/** Describes the array as __cuda_array_interface__ does, after making `stream` wait. */
[[nodiscard]] inline Result<via_array_interface> to_cuda_array_interface(const Array &array, StreamRef stream = {}) {
    via_array_interface description = VIA_ARRAY_INTERFACE_INIT;
    const via_status status = via_to_cuda_array_interface(array.get(), stream.get(), &description);
    return detail::made<via_array_interface>(status, description);
}

[[nodiscard]] inline Result<Array> from_array_interface(const via_array_interface &description,
                                                        via_release_fn release = nullptr, void *context = nullptr) {
    return detail::make<Array>(via_from_array_interface, &description, release, context);
}

[[nodiscard]] inline Result<Array> from_cuda_array_interface(const via_array_interface &description,
                                                             via_release_fn release = nullptr,
                                                             void *context = nullptr) {
    return detail::make<Array>(via_from_cuda_array_interface, &description, release, context);
}

/** Exports to the caller's Arrow structs, which end with their own release members or via_arrow_release. */
VIADUCT_CHECKED inline Result<void> to_arrow_device(const Array &array, ArrowSchema *out_schema,
                                                    ArrowDeviceArray *out_array) {
    return detail::done(via_to_arrow_device(array.get(), out_schema, out_array));
}

/** Imports an Arrow device array. Consumes both structs on success only. */
[[nodiscard]] inline Result<Array> from_arrow_device(ArrowSchema *schema, ArrowDeviceArray *column,
                                                     StreamRef stream = {}) {
    return detail::make<Array>(via_from_arrow_device, schema, column, stream.get());
}

/** Releases each of the two that is not null and not yet released. */
inline void arrow_release(ArrowSchema *schema, ArrowDeviceArray *column) { via_arrow_release(schema, column); }

/** Describes an array of shareable memory for import_ipc in other processes of the host. */
[[nodiscard]] inline Result<std::vector<std::byte>> export_ipc(const Array &array) {
    std::vector<std::byte> bytes(VIA_IPC_MAX_BYTES);
    std::int64_t length = 0;
    const via_status status = via_array_export_ipc(array.get(), VIA_IPC_MAX_BYTES, bytes.data(), &length);
    bytes.resize(static_cast<std::size_t>(length));
    return detail::made<std::vector<std::byte>>(status, bytes);
}

/** Imports an array that another process described. It holds the memory, and may outlive that process. */
[[nodiscard]] inline Result<Array> import_ipc(List<std::byte> description) {
    return detail::make<Array>(via_array_import_ipc, description.data(), description.size());
}

}  // namespace VIADUCT_ERRORS_NAMESPACE
}  // namespace viaduct

#endif
