// The border of the library: how every public function handles exceptions and required arguments.
#pragma once

#include <cxxabi.h>

#include <exception>
#include <new>

#include "api/trace.hpp"
#include "core/array/access_tracker.hpp"
#include "core/base/status.hpp"
#include "core/base/thread_state.hpp"
#include "core/base/versioned_struct.hpp"

namespace via {

// Makes fences that the thread makes from now on come after all writes that are recorded by now, since the call waits
// for those of its arrays. A callback's calls leave it as it was (CallbackScope). Fences of a thread without a state of
// its own count as unordered.
inline void see_writes() {
    ThreadState &state = current_thread_state != nullptr ? *current_thread_state : emergency_state;
    state.writes_seen.store(write_changes(), std::memory_order_relaxed);
}

[[gnu::cold, gnu::noinline]] inline Status refuse_null(const char *argument) {
    return fail(VIA_ERROR_INVALID_ARGUMENT, "%s is NULL; expected a pointer", argument);
}

VIA_NODISCARD inline Status require(const char *argument, const void *given) {
    return given != nullptr ? VIA_OK : refuse_null(argument);
}

template <class Value>
struct Output {
    const char *argument;
    Value *value;

    Status operator()() const { return require(argument, value); }
};

template <class Value>
inline void clear_output(const Output<Value> &output) {
    if (output.value != nullptr) [[likely]] {
        *output.value = Value{};
    }
}

inline void clear_output(const auto &) {}

// Clears all outputs, then runs the steps of a public function, in order, until one fails: first those that check its
// arguments. Turns C++ exceptions into errors. Rethrows a forced unwind (thread cancellation, and the way CPython ends
// foreign threads at finalization): swallowing it aborts the process. It has no exception object: GCC binds the
// reference to null, which UndefinedBehaviorSanitizer would report.
template <class... Step>
__attribute__((no_sanitize("null", "alignment"))) inline Status guarded(const char *function, const Step &...step) {
    see_writes();
    (clear_output(step), ...);
    Status status = VIA_OK;
    try {
        (void)(((status = step()) == VIA_OK) && ...);
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

// Steps that refuse NULL. guarded() has set outputs to NULL or 0 by then.
inline auto required(const char *argument, const void *given) {
    return [=] { return require(argument, given); };
}

template <class Value>
inline Output<Value> output(const char *argument, Value *out_value) {
    return {argument, out_value};
}

// Makes a text empty. NULL without room queries its length.
inline auto text_output(const char *argument, char *text, int64_t capacity) {
    return [=]() -> Status {
        if (capacity < 0) {
            return fail(VIA_ERROR_INVALID_ARGUMENT, "capacity is %lld; expected 0 or more", as_printed(capacity));
        }
        if (capacity > 0) {
            VIA_TRY(require(argument, text));
            text[0] = '\0';
        }
        return VIA_OK;
    };
}

// Completes the caller's options, if there are any: see read_struct.
template <class Options>
inline auto options_of(const Options *given, Options *out_complete) {
    return [=] { return given != nullptr ? read_struct("options", *given, out_complete) : VIA_OK; };
}

// Calls a function that retains or releases a handle.
template <class Handle, class Function>
inline void unless_null(Handle *handle, const Function &function) {
    if (handle != nullptr) {
        function(handle);
    }
}

}  // namespace via
