#include "call.hpp"

namespace fake {
namespace {

struct ErrorText {
    CUresult code;
    const char *name;
    const char *text;
};

#define FAKECUDA_ERROR(code, text) {code, #code, text}

const ErrorText texts[] = {
    FAKECUDA_ERROR(CUDA_SUCCESS, "no error"),
    FAKECUDA_ERROR(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    FAKECUDA_ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    FAKECUDA_ERROR(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    FAKECUDA_ERROR(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
    FAKECUDA_ERROR(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    FAKECUDA_ERROR(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    FAKECUDA_ERROR(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    FAKECUDA_ERROR(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    FAKECUDA_ERROR(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device"),
    FAKECUDA_ERROR(CUDA_ERROR_UNSUPPORTED_LIMIT, "limit is not supported on this architecture"),
    FAKECUDA_ERROR(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "peer access is not supported between these two devices"),
    FAKECUDA_ERROR(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
    FAKECUDA_ERROR(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "the provided PTX was compiled with an unsupported toolchain."),
    FAKECUDA_ERROR(CUDA_ERROR_OPERATING_SYSTEM, "OS call failed or operation not supported on this OS"),
    FAKECUDA_ERROR(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    FAKECUDA_ERROR(CUDA_ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state"),
    FAKECUDA_ERROR(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    FAKECUDA_ERROR(CUDA_ERROR_NOT_READY, "device not ready"),
    FAKECUDA_ERROR(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
    FAKECUDA_ERROR(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
    FAKECUDA_ERROR(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"),
    FAKECUDA_ERROR(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"),
    FAKECUDA_ERROR(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
    FAKECUDA_ERROR(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
                   "part or all of the requested memory range is already mapped"),
    FAKECUDA_ERROR(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "pointer does not correspond to a registered memory region"),
    FAKECUDA_ERROR(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    FAKECUDA_ERROR(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
    FAKECUDA_ERROR(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    FAKECUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing"),
    FAKECUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "operation failed due to a previous error during capture"),
    FAKECUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_MERGE, "operation would result in a merge of separate capture sequences"),
    FAKECUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "capture was not ended in the same stream as it began"),
    FAKECUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work"),
    FAKECUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "dependency created on uncaptured work in another stream"),
    FAKECUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                   "operation would make the legacy stream depend on a capturing blocking stream"),
    FAKECUDA_ERROR(CUDA_ERROR_CAPTURED_EVENT,
                   "operation not permitted on an event last recorded in a capturing stream"),
    FAKECUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
                   "attempt to terminate a thread-local capture sequence from another thread"),
    FAKECUDA_ERROR(CUDA_ERROR_UNKNOWN, "unknown error"),
};

#undef FAKECUDA_ERROR

void report(CUresult error, const char **out, const char *ErrorText::*what) {
    require(out != nullptr);
    *out = nullptr;
    for (const ErrorText &one : texts) {
        if (one.code == error) {
            *out = one.*what;
            return;
        }
    }
    refuse(CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace fake

using namespace fake;

extern "C" {

CUresult CUDAAPI cuGetErrorName(CUresult error, const char **pStr) {
    return enter(Fn::cuGetErrorName, [&](Call &) { report(error, pStr, &ErrorText::name); });
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char **pStr) {
    return enter(Fn::cuGetErrorString, [&](Call &) { report(error, pStr, &ErrorText::text); });
}
}
