#include "api/trace.hpp"

#include <dlpack/dlpack.h>

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

template <class Type>
Type *address_in(const Argument &given) {
    return reinterpret_cast<Type *>(static_cast<uintptr_t>(given.value));
}

// Iterates over the names of the arguments.
class Names {
public:
    explicit Names(const char *names) : rest_(names) {}

    std::string_view next() {
        const size_t end = std::min(rest_.find(", "), rest_.size());
        const std::string_view name = rest_.substr(0, end);
        rest_.remove_prefix(std::min(end + 2, rest_.size()));
        return name;
    }

private:
    std::string_view rest_;
};

// Room for the arguments, or the result, of a call.
constexpr int64_t kLineBytes = 1200;

int64_t now_ns() { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

bool ends_with(const char *function, std::string_view end) { return std::string_view(function).ends_with(end); }

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

// Adds an argument. `count` is the number of extents, if it is a list of them.
void add_input(std::string_view name, const Argument &given, int64_t count, TextBuffer *line) {
    const auto *address = address_in<const void>(given);
    if (given.kind == ArgumentKind::Number && name == "dtype") {
        line->add("%s", DtypeName(static_cast<int32_t>(given.value)).text);
    } else if (given.kind == ArgumentKind::Number) {
        line->add("%" PRId64, given.value);
    } else if (given.kind == ArgumentKind::Text && address != nullptr) {
        line->add("\"%.200s\"", address_in<const char>(given));
    } else if (given.kind == ArgumentKind::Extents && address != nullptr && count > 0 && count <= VIA_MAX_NDIM) {
        add_extents(address_in<const int64_t>(given), count, line);
    } else {
        add_address(address, line);
    }
}

void add_output(const Argument &given, TextBuffer *line) {
    if (given.kind == ArgumentKind::OutInt32) {
        line->add("%d", *address_in<int32_t>(given));
    } else if (given.kind == ArgumentKind::OutInt64) {
        line->add("%" PRId64, *address_in<int64_t>(given));
    } else {
        add_address(*address_in<void *>(given), line);
    }
}

bool is_output(std::string_view name, const Argument &given) {
    return name.starts_with("out_") && given.nbytes > 0 && given.value != 0;
}

void add_inputs(const char *names, const Argument *arguments, int32_t count, TextBuffer *line) {
    Names rest(names);
    int64_t number = 0;
    const char *between = "";
    for (int32_t i = 0; i < count; ++i) {
        const std::string_view name = rest.next();
        if (is_output(name, arguments[i])) {
            continue;
        }
        line->add("%s%.*s=", between, static_cast<int>(name.size()), name.data());
        add_input(name, arguments[i], name == "strides" || name == "shape" ? number : 0, line);
        number = name == "ndim" ? arguments[i].value : number;
        between = ", ";
    }
}

void add_outputs(const char *names, const Argument *arguments, int32_t count, TextBuffer *line) {
    Names rest(names);
    for (int32_t i = 0; i < count; ++i) {
        const std::string_view name = rest.next();
        if (is_output(name, arguments[i]) && arguments[i].kind >= ArgumentKind::OutHandle) {
            line->add(", %.*s=", static_cast<int>(name.size()), name.data());
            add_output(arguments[i], line);
        }
    }
}

}  // namespace

Status TracedCall::refuse(const char *what, bool has_status) {
    if (!has_status || is_debugging(kAbortOnMisuse)) {
        log_line("%s: %s", function_, what);
    }
    if (is_debugging(kAbortOnMisuse)) {
        std::abort();
    }
    if (!has_status) {
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
bool TracedCall::check(const Argument &given, const void *handle, const char *name, Status *out_status) {
    if (handle == nullptr) {
        return true;
    }
    const bool is_release = ends_with(function_, "_release");
    const HandleKind found = is_release ? drop_owner(given.handle, handle) : find_handle(given.handle, handle);
    if (found == given.handle) {
        return true;
    }
    char what[160];
    if (found == HandleKind::None) {
        std::snprintf(what, sizeof what, "%s is %p, which is released or was never one; expected a live %s", name,
                      handle, handle_name(given.handle));
    } else {
        std::snprintf(what, sizeof what, "%s is %p, which is a %s; expected a %s", name, handle, handle_name(found),
                      handle_name(given.handle));
    }
    const Status status = refuse(what, out_status != nullptr);
    if (out_status != nullptr) {
        *out_status = status;
    }
    return false;
}

bool TracedCall::check_all(Status *out_status) {
    Names rest(names_);
    int64_t number = 0;
    for (int32_t i = 0; i < count_; ++i) {
        const Argument &given = arguments_[i];
        const std::string_view whole = rest.next();
        char name[48];
        std::snprintf(name, sizeof name, "%.*s", static_cast<int>(whole.size()), whole.data());
        if (given.kind == ArgumentKind::Number) {
            number = given.value;
        } else if (given.kind == ArgumentKind::Handle) {
            if (!check(given, address_in<void>(given), name, out_status)) {
                return false;
            }
        } else if (given.kind == ArgumentKind::Handles && given.value != 0) {
            for (int64_t at = 0; at < number; ++at) {
                std::snprintf(name, sizeof name, "%.*s[%" PRId64 "]", static_cast<int>(whole.size()), whole.data(), at);
                if (!check(given, address_in<void *>(given)[at], name, out_status)) {
                    return false;
                }
            }
        }
    }
    return true;
}

bool TracedCall::begin(Status *out_status) {
    if (is_debugging(kHandles) && !check_all(out_status)) {
        return false;
    }
    if (is_debugging(kHandles) && ends_with(function_, "_retain") && arguments_[0].value != 0) {
        add_owner(arguments_[0].handle, address_in<void>(arguments_[0]), function_);
    }
    if (is_debugging(kCalls)) {
        started_ = now_ns();
    }
    under_way_ = true;
    return true;
}

TracedCall::~TracedCall() {
    if (under_way_ && is_debugging(kHandles)) {
        register_outputs();
    }
}

void TracedCall::clear_outputs() const {
    Names rest(names_);
    for (int32_t i = 0; i < count_; ++i) {
        if (is_output(rest.next(), arguments_[i])) {
            std::memset(address_in<void>(arguments_[i]), 0, static_cast<size_t>(arguments_[i].nbytes));
        }
    }
}

void TracedCall::register_outputs() const {
    for (int32_t i = 0; i < count_; ++i) {
        if (arguments_[i].kind != ArgumentKind::OutHandle) {
            continue;
        }
        void *handle = *address_in<void *>(arguments_[i]);
        if (handle == nullptr) {
            continue;
        }
        if (is_shared(arguments_[i].handle, handle)) {
            add_shared(arguments_[i].handle, handle);
        } else {
            add_owner(arguments_[i].handle, handle, function_);
        }
    }
}

void TracedCall::share(HandleKind kind, const void *handle) {
    if (is_debugging(kHandles)) {
        add_shared(kind, handle);
    }
}

void TracedCall::end_with_status(Status status) {
    under_way_ = false;
    if (status == VIA_OK && is_debugging(kHandles)) {
        register_outputs();
    }
    if (is_debugging(kCalls)) {
        char text[kLineBytes];
        TextBuffer answer(text, kLineBytes);
        answer.add("%s", status_name(status));
        if (status == VIA_OK) {
            add_outputs(names_, arguments_, count_, &answer);
        }
        end_with(text);
    }
    if (status != VIA_OK && is_debugging(kFailures)) {
        log_line("%s: %s", status_name(status), last_error_text());
    }
}

void TracedCall::end_with(const char *answer) {
    under_way_ = false;
    if (is_debugging(kCalls)) {
        const int64_t nanoseconds = now_ns() - started_;
        char text[kLineBytes];
        TextBuffer line(text, kLineBytes);
        add_inputs(names_, arguments_, count_, &line);
        log_line("%s(%s)%s%s; %" PRId64 " ns", function_, text, *answer != '\0' ? " = " : "", answer, nanoseconds);
    }
}

AnswerText::AnswerText(int64_t value) { std::snprintf(text, sizeof text, "%" PRId64, value); }

AnswerText::AnswerText(const void *address) {
    if (address == nullptr) {
        std::snprintf(text, sizeof text, "NULL");
    } else {
        std::snprintf(text, sizeof text, "%p", address);
    }
}

AnswerText::AnswerText(const char *answer) { std::snprintf(text, sizeof text, "\"%.90s\"", answer); }

}  // namespace via
