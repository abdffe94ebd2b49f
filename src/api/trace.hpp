// Checks handles and logs around each public function, if the environment asks for it
// (core/diagnostics/debug_options.hpp). Costs one branch a call otherwise.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/base/status.hpp"
#include "core/diagnostics/debug_options.hpp"
#include "core/diagnostics/handle_registry.hpp"
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

// An argument of any type.
struct Argument {
    ArgumentKind kind;
    HandleKind handle;
    int32_t nbytes;  // cleared by a failing call, if it is an output
    int64_t value;
};

template <class Type>
constexpr HandleKind kHandleKind = HandleKind::None;
template <>
inline constexpr HandleKind kHandleKind<via_array> = HandleKind::Array;
template <>
inline constexpr HandleKind kHandleKind<via_memory> = HandleKind::Memory;
template <>
inline constexpr HandleKind kHandleKind<via_stream> = HandleKind::Stream;
template <>
inline constexpr HandleKind kHandleKind<via_event> = HandleKind::Event;
template <>
inline constexpr HandleKind kHandleKind<via_task> = HandleKind::Task;
template <>
inline constexpr HandleKind kHandleKind<via_batch> = HandleKind::Batch;
template <>
inline constexpr HandleKind kHandleKind<via_file> = HandleKind::File;

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

inline Argument argument(ArrowSchema *schema) {
    return {ArgumentKind::Address, HandleKind::None, static_cast<int32_t>(sizeof *schema), bits_of(schema)};
}

inline Argument argument(ArrowDeviceArray *column) {
    return {ArgumentKind::Address, HandleKind::None, static_cast<int32_t>(sizeof *column), bits_of(column)};
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

template <class Type>
Argument argument(Type *const *handles) {
    return {ArgumentKind::Handles, kHandleKind<Type>, 0, bits_of(handles)};
}

// One call of a public function.
class TracedCall {
public:
    // `names` are those of the arguments, as in a call: "dst, src".
    TracedCall(const char *function, const char *names, const Argument *arguments, int32_t count)
        : function_(function), names_(names), arguments_(arguments), count_(count) {}

    // Registers outputs also if the thread is ended inside a callback, which unwinds the call.
    ~TracedCall();
    TracedCall(const TracedCall &) = delete;
    TracedCall &operator=(const TracedCall &) = delete;

    // Returns false if a handle is invalid and the function must not be called. Stores the failure in *out_status, or
    // logs it if out_status is nullptr.
    bool begin(Status *out_status);

    void end_with_status(Status status);
    void end_with(const char *answer);

    // Registers a handle returned by value as shared.
    static void share(HandleKind kind, const void *handle);

private:
    bool check(const Argument &given, const void *handle, const char *name, Status *out_status);
    bool check_all(Status *out_status);
    Status refuse(const char *what, bool has_status);
    void clear_outputs() const;
    void register_outputs() const;

    const char *function_;
    const char *names_;
    const Argument *arguments_;
    int32_t count_;
    bool under_way_ = false;
    int64_t started_ = 0;
};

// Short text of a result other than via_status.
struct AnswerText {
    explicit AnswerText(int64_t value);
    explicit AnswerText(const void *address);
    explicit AnswerText(const char *answer);
    char text[96];
};

// Set while a traced call invokes the function itself. Initial-exec, as current_thread_state.
extern __thread bool inside_traced_call __attribute__((tls_model("initial-exec"), visibility("hidden")));

// Calls the function again, which then does its work, and checks and logs around it.
template <class Answer, class... Parameters>
[[gnu::cold, gnu::noinline]] Answer traced(Answer (*function)(Parameters...), const char *name, const char *names,
                                           std::type_identity_t<Parameters>... given) {
    constexpr bool has_status = std::is_same_v<Answer, via_status>;
    const Argument arguments[] = {argument(given)..., Argument{}};
    TracedCall call(name, names, arguments, static_cast<int32_t>(sizeof...(given)));
    Status refusal = VIA_OK;
    if (!call.begin(has_status ? &refusal : nullptr)) {
        if constexpr (has_status) {
            return refusal;
        } else {
            return Answer();
        }
    }
    inside_traced_call = true;
    if constexpr (std::is_void_v<Answer>) {
        function(given...);
        call.end_with("");
    } else {
        const Answer answer = function(given...);
        if constexpr (has_status) {
            call.end_with_status(answer);
        } else {
            if constexpr (is_handle(kHandleKind<std::remove_pointer_t<Answer>>)) {
                TracedCall::share(kHandleKind<std::remove_pointer_t<Answer>>, answer);
            }
            call.end_with(is_debugging(kCalls) ? AnswerText(answer).text : "");
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
