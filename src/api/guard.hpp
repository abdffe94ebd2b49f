// The border of the library: how every public function handles exceptions and required arguments.
#pragma once

#include <cxxabi.h>

#include <exception>
#include <new>

#include "api/trace.hpp"
#include "core/base/status.hpp"

namespace via {

// Runs the body, and turns C++ exceptions into errors. Rethrows a forced unwind (thread cancellation, and the way
// CPython ends foreign threads at finalization): swallowing it aborts the process. It has no exception object: GCC
// binds the reference to null, which UndefinedBehaviorSanitizer would report.
template <class Body>
__attribute__((no_sanitize("null", "alignment"))) inline Status guarded(const char *function, Body &&body) {
    Status status = VIA_OK;
    try {
        status = body();
    } catch (const abi::__forced_unwind &) {
        throw;
    } catch (const std::bad_alloc &) {
        status = fail(VIA_ERROR_OUT_OF_MEMORY, "out of memory");
    } catch (const std::exception &error) {
        status = fail(VIA_ERROR_INTERNAL, "unexpected C++ exception: %s", error.what());
    } catch (...) {
        status = fail(VIA_ERROR_INTERNAL, "unexpected C++ exception");
    }
    if (status != VIA_OK) [[unlikely]] {
        name_failure(function);
    }
    return status;
}

VIA_NODISCARD inline Status require(const char *argument, const void *given) {
    return given != nullptr ? VIA_OK : fail(VIA_ERROR_INVALID_ARGUMENT, "%s is NULL; expected a pointer", argument);
}

// Requires an output, and sets it to NULL or 0.
template <class Value>
VIA_NODISCARD inline Status clear_output(const char *argument, Value *output) {
    if (output == nullptr) [[unlikely]] {
        return require(argument, output);
    }
    *output = Value{};
    return VIA_OK;
}

}  // namespace via
