#include "exchange/cuda_array_interface.hpp"
#include "cuda/device.hpp"
#include "cuda/pointer_attributes.hpp"
#include "cuda/stream.hpp"
#include "cuda/stream_access.hpp"
#include "exchange/array_interface.hpp"

namespace via {
namespace {

constexpr int64_t kLegacy = 1;
constexpr int64_t kPerThread = 2;

// 0 is no stream that the protocol knows, though it is how the legacy one may have been wrapped.
int64_t number_of(via_stream *stream) {
    const auto handle = reinterpret_cast<intptr_t>(cuda::native_stream(stream));
    return handle != 0 ? int64_t{handle} : kLegacy;
}

}  // namespace

Status order_description(via_array *array, via_stream *stream, via_array_interface *description) {
    if (stream == cuda::no_sync_stream()) {
        return VIA_OK;
    }
    VIA_TRY(cuda::order_export(array, stream));
    description->has_stream = 1;
    description->stream = stream != nullptr ? number_of(stream) : kLegacy;
    return VIA_OK;
}

Status read_cuda_interface(const via_array_interface &description, ArraySpec *out_spec) {
    VIA_TRY(cuda::need("memory of a __cuda_array_interface__"));
    VIA_TRY(read_interface(description, out_spec));
    if (description.has_stream != 0 && description.stream == 0) {
        return fail(VIA_ERROR_EXCHANGE,
                    "description.stream is 0, which could mean either default stream; expected 1, 2 "
                    "or the address of a CUstream");
    }
    out_spec->device_type = VIA_DEVICE_CUDA;
    if (has_no_elements(description.ndim, description.shape)) {
        return VIA_OK;
    }
    cuda::PointerAttributes attributes{};
    VIA_TRY(cuda::query_pointer(description.address, &attributes));
    if (!attributes.known) {
        return fail(VIA_ERROR_POINTER,
                    "description.address is %p, which the CUDA driver does not know; expected memory "
                    "of a device",
                    description.address);
    }
    out_spec->device_type = attributes.device_type;
    out_spec->device_id = attributes.device_id;
    out_spec->flags |= attributes.read_only ? VIA_ARRAY_READ_ONLY : 0;
    return VIA_OK;
}

Status follow_description(via_array *array, const via_array_interface &description) {
    if (description.has_stream == 0 || array->size == 0) {
        return VIA_OK;
    }
    if (description.stream == kLegacy || description.stream == kPerThread) {
        return cuda::order_import(array,
                                  description.stream == kLegacy ? cuda::legacy_stream() : cuda::per_thread_stream());
    }
    via_stream *stream = nullptr;
    void *native = reinterpret_cast<void *>(static_cast<intptr_t>(description.stream));
    VIA_TRY(cuda::wrap_stream(native, cuda::device_at_hand(array), &stream));
    const Status status = cuda::order_import(array, stream);
    cuda::release_stream(stream);
    return status;
}

}  // namespace via
