// Checks handles and logs around each public function, if the environment asks for it
// (core/diagnostics/log.hpp). Costs one branch a call otherwise.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "core/base/status.hpp"
#include "core/diagnostics/handle_registry.hpp"
#include "core/diagnostics/log.hpp"
#include "exchange/arrow_abi.hpp"

namespace via {

enum class ArgumentKind : int32_t {
    Number,
    Address,
    Text,
    Extents,
    Handle,
    Handles,    // an array; the previous number argument is its length
    OutHandle,  // this and the rest: stored by a successful call
    OutAddress,
    OutInt32,
    OutInt64,
};

// An argument, or a result, of any type.
struct Argument {
    ArgumentKind kind;
    HandleKind handle;
    int32_t nbytes;  // cleared by a failing call, if it is an output
    int64_t value;
    std::string_view name = {};

    bool is_output() const { return name.starts_with("out_") && nbytes > 0 && value != 0; }

    template <class Type>
    Type *address() const {
        return reinterpret_cast<Type *>(static_cast<uintptr_t>(value));
    }
};

constexpr HandleKind handle_kind(const void *) { return HandleKind::None; }
constexpr HandleKind handle_kind(const via_array *) { return HandleKind::Array; }
constexpr HandleKind handle_kind(const via_memory *) { return HandleKind::Memory; }
constexpr HandleKind handle_kind(const via_stream *) { return HandleKind::Stream; }
constexpr HandleKind handle_kind(const via_event *) { return HandleKind::Event; }
constexpr HandleKind handle_kind(const via_task *) { return HandleKind::Task; }
constexpr HandleKind handle_kind(const via_batch *) { return HandleKind::Batch; }
constexpr HandleKind handle_kind(const via_file *) { return HandleKind::File; }
constexpr HandleKind handle_kind(const via_archive *) { return HandleKind::Archive; }

template <class Type>
constexpr HandleKind kHandleKind = handle_kind(static_cast<Type *>(nullptr));
template <class Result, class... Parameters>
constexpr HandleKind kHandleKind<Result(Parameters...)> = HandleKind::None;  // a callback

constexpr bool is_handle(HandleKind kind) { return kind != HandleKind::None; }

template <class Type>
int64_t bits_of(Type *address) {
    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(address));
}

inline Argument argument(int64_t value) { return {ArgumentKind::Number, HandleKind::None, 0, value}; }

inline Argument argument(const char *text) { return {ArgumentKind::Text, HandleKind::None, 0, bits_of(text)}; }

inline Argument argument(const int64_t *extents) {
    return {ArgumentKind::Extents, HandleKind::None, 0, bits_of(extents)};
}

inline Argument argument(int32_t *output) { return {ArgumentKind::OutInt32, HandleKind::None, 4, bits_of(output)}; }

inline Argument argument(int64_t *output) { return {ArgumentKind::OutInt64, HandleKind::None, 8, bits_of(output)}; }

template <class Type>
    requires std::is_same_v<Type, ArrowSchema> || std::is_same_v<Type, ArrowDeviceArray>
Argument argument(Type *output) {
    return {ArgumentKind::Address, HandleKind::None, static_cast<int32_t>(sizeof *output), bits_of(output)};
}

template <class Type>
Argument argument(Type *address) {
    const ArgumentKind kind = is_handle(kHandleKind<Type>) ? ArgumentKind::Handle : ArgumentKind::Address;
    return {kind, kHandleKind<Type>, 0, bits_of(address)};
}

template <class Type>
Argument argument(Type **output) {
    const ArgumentKind kind = is_handle(kHandleKind<Type>) ? ArgumentKind::OutHandle : ArgumentKind::OutAddress;
    return {kind, kHandleKind<Type>, static_cast<int32_t>(sizeof *output), bits_of(output)};
}

inline Argument argument(const char *const *texts) {
    return {ArgumentKind::Address, HandleKind::None, 0, bits_of(texts)};
}

template <class Type>
Argument argument(Type *const *handles) {
    return {ArgumentKind::Handles, kHandleKind<Type>, 0, bits_of(handles)};
}

// One call of a public function.
class TracedCall {
public:
    // `names` are those of the arguments, as in a call: "dst, src". Stores each in its argument.
    // `has_status`: the function returns a via_status.
    TracedCall(const char *function, const char *names, Argument *arguments, int32_t count, bool has_status);

    // Registers outputs also if the thread is ended inside a callback, which unwinds the call.
    ~TracedCall();
    TracedCall(const TracedCall &) = delete;
    TracedCall &operator=(const TracedCall &) = delete;

    // Fails if a handle is invalid and the function must not be called. Logs the failure of a function without a
    // status.
    VIA_NODISCARD Status begin();

    // Ends the call. A handle among the results is a shared one.
    void end();
    void end(const Argument &result);
    void end_with_status(Status status);

private:
    std::span<const Argument> arguments() const { return {arguments_, static_cast<size_t>(count_)}; }
    VIA_NODISCARD Status check(const Argument &given, const void *handle, const char *name) const;
    VIA_NODISCARD Status check_all() const;
    VIA_NODISCARD Status refuse(const char *what) const;
    void clear_outputs() const;
    void register_outputs() const;
    void log_end(const char *answer);

    const char *function_;
    Argument *arguments_;
    int32_t count_;
    bool has_status_;
    bool under_way_ = false;
    int64_t started_ = 0;
};

// Set while a traced call invokes the function itself. Initial-exec, as current_thread_state.
extern __thread bool inside_traced_call __attribute__((tls_model("initial-exec"), visibility("hidden")));

// Calls the function again, which then does its work, and checks and logs around it.
template <class Answer, class... Parameters>
[[gnu::cold, gnu::noinline]] Answer traced(Answer (*function)(Parameters...), const char *name, const char *names,
                                           std::type_identity_t<Parameters>... given) {
    constexpr bool has_status = std::is_same_v<Answer, via_status>;
    Argument arguments[] = {argument(given)..., Argument{}};
    TracedCall call(name, names, arguments, static_cast<int32_t>(sizeof...(given)), has_status);
    if (const Status refusal = call.begin(); refusal != VIA_OK) {
        if constexpr (has_status) {
            return refusal;
        } else {
            return Answer();
        }
    }
    inside_traced_call = true;
    if constexpr (std::is_void_v<Answer>) {
        function(given...);
        call.end();
    } else {
        const Answer answer = function(given...);
        if constexpr (has_status) {
            call.end_with_status(answer);
        } else {
            call.end(argument(answer));
        }
        return answer;
    }
}

}  // namespace via

// The first statement of every public function, with its name and its arguments.
#define VIA_TRACE_API(function, ...)                                                                 \
    do {                                                                                             \
        if (::via::debug_options != 0) [[unlikely]] {                                                \
            if (!::via::inside_traced_call) {                                                        \
                return ::via::traced(&function, #function, #__VA_ARGS__ __VA_OPT__(, ) __VA_ARGS__); \
            }                                                                                        \
            ::via::inside_traced_call = false;                                                       \
        }                                                                                            \
    } while (false)
