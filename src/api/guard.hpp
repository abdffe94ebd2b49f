// The edge of the library: what every public function does with its arguments and with what goes wrong inside.
#pragma once

#include <cxxabi.h>

#include <exception>
#include <new>

#include "api/trace.hpp"
#include "core/base/status.hpp"

namespace via {

// Runs the body; no C++ exception leaves it. A forced unwind (thread cancellation, and how CPython ends foreign
// threads at finalization) is not an exception to be handled: swallowing it aborts the process. Nor has it an object:
// GCC binds the reference to null, which UndefinedBehaviorSanitizer would end the process for.
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
    return given != nullptr ? VIA_OK : fail(VIA_ERROR_INVALID_ARGUMENT, "%s is NULL", argument);
}

// An output must be there; it stays NULL or 0 unless the call succeeds.
template <class Value>
VIA_NODISCARD inline Status clear_output(const char *argument, Value *output) {
    if (output == nullptr) [[unlikely]] {
        return require(argument, output);
    }
    *output = Value{};
    return VIA_OK;
}

}  // namespace via
