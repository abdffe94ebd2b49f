// Errors: exceptions, or values, as the user chooses.
#ifndef VIADUCT_CPP_ERROR_HPP
#define VIADUCT_CPP_ERROR_HPP

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "viaduct/viaduct.h"

#if !defined(VIADUCT_RETURN_ERRORS)
#if defined(__cpp_exceptions)
#define VIADUCT_RETURN_ERRORS 0
#else
#define VIADUCT_RETURN_ERRORS 1
#endif
#endif

// A Result<void> must not be ignored; a plain void cannot be marked so. Functions that return different classes have
// different names for the linker.
#if VIADUCT_RETURN_ERRORS
#include "viaduct/cpp/result.hpp"
#if defined(__cpp_lib_expected)
#define VIADUCT_ERRORS_NAMESPACE returning_expected
#else
#define VIADUCT_ERRORS_NAMESPACE returning
#endif
#define VIADUCT_CHECKED [[nodiscard]]
#else
#define VIADUCT_ERRORS_NAMESPACE throwing
#define VIADUCT_CHECKED
#endif

namespace viaduct {

/** The error of a failing call. Has default visibility, so that another library can catch it. */
class VIA_API Error : public std::runtime_error {
public:
    Error(via_status status, std::int32_t code, const char *text)
        : std::runtime_error(text), status_(status), code_(code) {}

    /** Takes text and code of the calling thread's last failing call, which returned `status`. */
    static Error last(via_status status) { return {status, via_last_error_code(), via_last_error()}; }

    via_status status() const noexcept { return status_; }

    /** Returns the errno or CUresult of the failure, or 0. */
    std::int32_t code() const noexcept { return code_; }

    /** Returns the name of the status: "VIA_ERROR_SHAPE". */
    const char *name() const { return via_status_name(status_); }

private:
    via_status status_;
    std::int32_t code_;
};

/** The errors of one status. A status of a newer library is a plain Error. */
template <via_status kStatus>
class VIA_API ErrorOf : public Error {
public:
    explicit ErrorOf(const Error &error) : Error(error) {}
};

using InvalidArgumentError = ErrorOf<VIA_ERROR_INVALID_ARGUMENT>;
using DTypeError = ErrorOf<VIA_ERROR_DTYPE>;
using ShapeError = ErrorOf<VIA_ERROR_SHAPE>;
using IndexError = ErrorOf<VIA_ERROR_INDEX>;
using OverflowError = ErrorOf<VIA_ERROR_OVERFLOW>;
using OutOfMemoryError = ErrorOf<VIA_ERROR_OUT_OF_MEMORY>;
using ReadOnlyError = ErrorOf<VIA_ERROR_READ_ONLY>;
using OverlapError = ErrorOf<VIA_ERROR_OVERLAP>;
using NeedsCopyError = ErrorOf<VIA_ERROR_NEEDS_COPY>;
using ExchangeError = ErrorOf<VIA_ERROR_EXCHANGE>;
using VersionError = ErrorOf<VIA_ERROR_VERSION>;
using DeviceError = ErrorOf<VIA_ERROR_DEVICE>;
using PointerError = ErrorOf<VIA_ERROR_POINTER>;
using UnsupportedError = ErrorOf<VIA_ERROR_UNSUPPORTED>;
using CudaError = ErrorOf<VIA_ERROR_CUDA>;
using StreamCaptureError = ErrorOf<VIA_ERROR_STREAM_CAPTURE>;
using ForkedError = ErrorOf<VIA_ERROR_FORKED>;
using WouldDeadlockError = ErrorOf<VIA_ERROR_WOULD_DEADLOCK>;
using CancelledError = ErrorOf<VIA_ERROR_CANCELLED>;
using IoError = ErrorOf<VIA_ERROR_IO>;
using FormatError = ErrorOf<VIA_ERROR_FORMAT>;
using CallbackError = ErrorOf<VIA_ERROR_CALLBACK>;
using InternalError = ErrorOf<VIA_ERROR_INTERNAL>;

inline namespace VIADUCT_ERRORS_NAMESPACE {

#if VIADUCT_RETURN_ERRORS

#if defined(__cpp_lib_expected)
template <class T>
using Result = std::expected<T, Error>;
#else
template <class T>
using Result = Expected<T, Error>;
#endif

namespace detail {

template <class T>
[[gnu::cold, gnu::noinline]] Result<T> failure(const Error &error) {
    return Unexpected<Error>(error);
}

template <class T>
[[gnu::cold, gnu::noinline]] Result<T> failure(via_status status) {
    return Unexpected<Error>(Error::last(status));
}

}  // namespace detail

#else

template <class T>
using Result = T;

namespace detail {

template <int... kBefore>
[[noreturn]] void raise(const Error &error, std::integer_sequence<int, kBefore...>) {
    ((error.status() == kBefore + 1 ? throw ErrorOf<static_cast<via_status>(kBefore + 1)>(error) : void()), ...);
    throw Error(error);
}

template <class T>
[[noreturn, gnu::cold, gnu::noinline]] T failure(const Error &error) {
    raise(error, std::make_integer_sequence<int, VIA_ERROR_INTERNAL>());
}

template <class T>
[[noreturn, gnu::cold, gnu::noinline]] T failure(via_status status) {
    failure<T>(Error::last(status));
}

}  // namespace detail

#endif

namespace detail {

inline bool failed(via_status status) { return __builtin_expect(status != VIA_OK, 0); }

// Returns the result of a call without outputs.
VIADUCT_CHECKED inline Result<void> done(via_status status) {
    if (failed(status)) {
        return failure<void>(status);
    }
    return Result<void>();
}

// Returns the result of a call that has stored `output`: a reference, so that it is read after the call.
template <class T, class Output>
[[nodiscard]] Result<T> made(via_status status, const Output &output) {
    if (failed(status)) {
        return failure<T>(status);
    }
    return T(output);
}

template <class T>
struct Named {
    using Type = T;
};

// Returns the result of function(arguments..., &output).
template <class T, class... Parameters, class... Arguments>
[[nodiscard, gnu::always_inline]] inline Result<T> make(via_status (*function)(Parameters...), Arguments... arguments) {
    using Pointer = typename decltype((Named<Parameters>(), ...))::Type;  // the last one
    std::remove_pointer_t<Pointer> output = {};
    const via_status status = function(arguments..., &output);
    return made<T>(status, output);
}

template <class T>
[[nodiscard]] Result<T> refuse(via_status status, const std::string &text) {
    return failure<T>(Error(status, 0, text.c_str()));
}

// Refuses a list without one entry for each axis.
template <class T>
[[nodiscard, gnu::cold, gnu::noinline]] Result<T> refuse_length(const char *list, std::int32_t found,
                                                                std::int32_t axes) {
    return refuse<T>(VIA_ERROR_SHAPE, std::string(list) + " has " + std::to_string(found) +
                                          " entries; expected one for each of " + std::to_string(axes) + " axes");
}

}  // namespace detail
}  // namespace VIADUCT_ERRORS_NAMESPACE
}  // namespace viaduct

#endif
