#include "api/trace.hpp"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "core/array/memory.hpp"
#include "core/base/text_buffer.hpp"
#include "core/diagnostics/log.hpp"
#include "core/layout/dtype.hpp"
#include "cuda/stream.hpp"

namespace via {

__thread bool inside_traced_call __attribute__((tls_model("initial-exec"))) = false;

namespace {

// Room for the arguments, or the result, of a call.
constexpr int64_t kLineBytes = 1200;

int64_t now_ns() { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Returns true for shared handles, whose release does nothing.
bool is_shared(HandleKind kind, void *handle) {
    if (kind == HandleKind::Memory) {
        return static_cast<via_memory *>(handle)->is_shared();
    }
    return kind == HandleKind::Stream && cuda::is_shared_stream(static_cast<via_stream *>(handle));
}

void add_extents(const int64_t *extents, int64_t count, TextBuffer *line) {
    constexpr int64_t kMost = 8;
    line->add("[");
    for (int64_t i = 0; i < std::min(count, kMost); ++i) {
        line->add("%s%" PRId64, i > 0 ? ", " : "", extents[i]);
    }
    line->add(count > kMost ? ", ...]" : "]");
}

void add_address(const void *address, TextBuffer *line) {
    if (address == nullptr) {
        line->add("NULL");
    } else {
        line->add("%p", address);
    }
}

// Adds an argument or a result. `count` is the number of extents, if it is a list of them.
void add_value(const Argument &given, int64_t count, TextBuffer *line) {
    if (given.kind == ArgumentKind::Number && given.name == "dtype") {
        line->add("%s", DtypeName(static_cast<int32_t>(given.value)).text);
    } else if (given.kind == ArgumentKind::Number) {
        line->add("%" PRId64, given.value);
    } else if (given.kind == ArgumentKind::Text && given.value != 0) {
        line->add("\"%.200s\"", given.address<const char>());
    } else if (given.kind == ArgumentKind::Extents && given.value != 0 && count > 0 && count <= VIA_MAX_NDIM) {
        add_extents(given.address<const int64_t>(), count, line);
    } else {
        add_address(given.address<void>(), line);
    }
}

void add_output(const Argument &given, TextBuffer *line) {
    line->add(", %.*s=", static_cast<int>(given.name.size()), given.name.data());
    if (given.kind == ArgumentKind::OutInt32) {
        line->add("%d", *given.address<int32_t>());
    } else if (given.kind == ArgumentKind::OutInt64) {
        line->add("%" PRId64, *given.address<int64_t>());
    } else {
        add_address(*given.address<void *>(), line);
    }
}

void add_inputs(std::span<const Argument> arguments, TextBuffer *line) {
    int64_t ndim = 0;
    for (const Argument &given : arguments) {
        if (!given.is_output()) {
            const bool has_extents = given.name == "strides" || given.name == "shape";
            line->add("%s%.*s=", line->length() > 0 ? ", " : "", static_cast<int>(given.name.size()),
                      given.name.data());
            add_value(given, has_extents ? ndim : 0, line);
        }
        ndim = given.name == "ndim" ? given.value : ndim;
    }
}

void add_outputs(std::span<const Argument> arguments, TextBuffer *line) {
    for (const Argument &given : arguments) {
        if (given.is_output() && given.kind >= ArgumentKind::OutHandle) {
            add_output(given, line);
        }
    }
}

}  // namespace

TracedCall::TracedCall(const char *function, const char *names, Argument *arguments, int32_t count, bool has_status)
    : function_(function), arguments_(arguments), count_(count), has_status_(has_status) {
    std::string_view rest(names);
    for (int32_t i = 0; i < count; ++i) {
        arguments[i].name = rest.substr(0, rest.find(", "));
        rest.remove_prefix(std::min(arguments[i].name.size() + 2, rest.size()));
    }
}

Status TracedCall::refuse(const char *what) const {
    if (!has_status_ || is_debugging(kAbortOnMisuse)) {
        log_line("%s: %s", function_, what);
    }
    if (is_debugging(kAbortOnMisuse)) {
        std::abort();
    }
    if (!has_status_) {
        return VIA_ERROR_INVALID_ARGUMENT;
    }
    const Status status = fail(VIA_ERROR_INVALID_ARGUMENT, "%s", what);
    name_failure(function_);
    clear_outputs();
    if (is_debugging(kFailures)) {
        log_line("%s: %s", status_name(status), last_error_text());
    }
    return status;
}

// Drops the owner of a released handle at once, so that one of two concurrent releases is detected.
Status TracedCall::check(const Argument &given, const void *handle, const char *name) const {
    if (handle == nullptr) {
        return VIA_OK;
    }
    const bool is_release = std::string_view(function_).ends_with("_release");
    const HandleKind found = find_handle(given.handle, handle, is_release);
    if (found == given.handle) {
        return VIA_OK;
    }
    char what[160];
    if (found == HandleKind::None) {
        std::snprintf(what, sizeof what, "%s is %p, which is released or was never one; expected a live %s", name,
                      handle, handle_name(given.handle));
    } else {
        std::snprintf(what, sizeof what, "%s is %p, which is a %s; expected a %s", name, handle, handle_name(found),
                      handle_name(given.handle));
    }
    return refuse(what);
}

Status TracedCall::check_all() const {
    int64_t number = 0;
    char name[48];
    for (const Argument &given : arguments()) {
        const int length = std::snprintf(name, 32, "%.*s", static_cast<int>(given.name.size()), given.name.data());
        if (given.kind == ArgumentKind::Number) {
            number = given.value;
        } else if (given.kind == ArgumentKind::Handle) {
            VIA_TRY(check(given, given.address<void>(), name));
        }
        for (int64_t i = 0; given.kind == ArgumentKind::Handles && given.value != 0 && i < number; ++i) {
            std::snprintf(name + length, sizeof name - static_cast<size_t>(length), "[%" PRId64 "]", i);
            VIA_TRY(check(given, given.address<void *>()[i], name));
        }
    }
    return VIA_OK;
}

Status TracedCall::begin() {
    if (is_debugging(kHandles)) {
        VIA_TRY(check_all());
        if (std::string_view(function_).ends_with("_retain") && arguments_[0].value != 0) {
            add_owner(arguments_[0].handle, arguments_[0].address<void>(), function_);
        }
    }
    started_ = is_debugging(kCalls) ? now_ns() : 0;
    under_way_ = true;
    return VIA_OK;
}

TracedCall::~TracedCall() {
    if (under_way_) {
        register_outputs();
    }
}

void TracedCall::clear_outputs() const {
    for (const Argument &given : arguments()) {
        if (given.is_output()) {
            std::memset(given.address<void>(), 0, static_cast<size_t>(given.nbytes));
        }
    }
}

void TracedCall::register_outputs() const {
    for (const Argument &given : arguments()) {
        void *handle = given.kind == ArgumentKind::OutHandle ? *given.address<void *>() : nullptr;
        if (handle == nullptr || !is_debugging(kHandles)) {
            continue;
        }
        if (is_shared(given.handle, handle)) {
            add_shared(given.handle, handle);
        } else {
            add_owner(given.handle, handle, function_);
        }
    }
}

void TracedCall::end_with_status(Status status) {
    if (status == VIA_OK) {
        register_outputs();
    }
    if (is_debugging(kCalls)) {
        char text[kLineBytes];
        TextBuffer answer(text, kLineBytes);
        answer.add(" = %s", status_name(status));
        if (status == VIA_OK) {
            add_outputs(arguments(), &answer);
        }
        log_end(text);
    }
    if (status != VIA_OK && is_debugging(kFailures)) {
        log_line("%s: %s", status_name(status), last_error_text());
    }
    under_way_ = false;
}

void TracedCall::end() {
    log_end("");
    under_way_ = false;
}

void TracedCall::end(const Argument &result) {
    char text[kLineBytes];
    TextBuffer answer(text, kLineBytes);
    answer.add(" = ");
    add_value(result, 0, &answer);
    if (is_debugging(kHandles) && is_handle(result.handle)) {
        add_shared(result.handle, result.address<void>());
    }
    log_end(text);
    under_way_ = false;
}

void TracedCall::log_end(const char *answer) {
    if (is_debugging(kCalls)) {
        const int64_t nanoseconds = now_ns() - started_;
        char text[kLineBytes];
        TextBuffer line(text, kLineBytes);
        add_inputs(arguments(), &line);
        log_line("%s(%s)%s; %" PRId64 " ns", function_, text, answer, nanoseconds);
    }
}

}  // namespace via
