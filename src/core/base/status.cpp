#include "core/base/status.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "core/base/thread_state.hpp"
#include "core/base/utf8.hpp"

namespace via {
namespace {

void record_failure(int32_t code, const char *format, va_list arguments) {
    ErrorRecord &record = thread_state().record();
    const int written = std::vsnprintf(record.text, sizeof record.text, format, arguments);
    record.code = code;
    record.length = std::clamp(written, 0, ErrorRecord::kCapacity - 1);
}

void prefix_failure(const char *name) {
    ErrorRecord &record = thread_state().record();
    const auto prefix = static_cast<int32_t>(std::strlen(name)) + 2;
    const int32_t kept = std::min(record.length, ErrorRecord::kCapacity - 1 - prefix);
    std::memmove(record.text + prefix, record.text, static_cast<size_t>(kept));
    std::memcpy(record.text, name, static_cast<size_t>(prefix - 2));
    std::memcpy(record.text + prefix - 2, ": ", 2);
    record.text[prefix + kept] = '\0';
    record.length = make_utf8(record.text, ErrorRecord::kCapacity);
}

constexpr const char *kNames[] = {
    "VIA_OK",
    "VIA_ERROR_INVALID_ARGUMENT",
    "VIA_ERROR_DTYPE",
    "VIA_ERROR_SHAPE",
    "VIA_ERROR_INDEX",
    "VIA_ERROR_OVERFLOW",
    "VIA_ERROR_OUT_OF_MEMORY",
    "VIA_ERROR_READ_ONLY",
    "VIA_ERROR_OVERLAP",
    "VIA_ERROR_NEEDS_COPY",
    "VIA_ERROR_EXCHANGE",
    "VIA_ERROR_VERSION",
    "VIA_ERROR_DEVICE",
    "VIA_ERROR_POINTER",
    "VIA_ERROR_UNSUPPORTED",
    "VIA_ERROR_CUDA",
    "VIA_ERROR_STREAM_CAPTURE",
    "VIA_ERROR_FORKED",
    "VIA_ERROR_WOULD_DEADLOCK",
    "VIA_ERROR_CANCELLED",
    "VIA_ERROR_IO",
    "VIA_ERROR_FORMAT",
    "VIA_ERROR_CALLBACK",
    "VIA_ERROR_INTERNAL",
};
static_assert(std::size(kNames) == VIA_ERROR_INTERNAL + 1, "one name for each status");

}  // namespace

Status fail(Status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    record_failure(0, format, arguments);
    va_end(arguments);
    return status;
}

Status fail_with_code(Status status, int32_t code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    record_failure(code, format, arguments);
    va_end(arguments);
    return status;
}

Status fail_with_errno(Status status, int error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    record_failure(error, format, arguments);
    va_end(arguments);
    const char *name = strerrorname_np(error);
    const char *text = strerrordesc_np(error);
    ErrorRecord &record = thread_state().record();
    const int more =
        std::snprintf(record.text + record.length, static_cast<size_t>(ErrorRecord::kCapacity - record.length),
                      ": %s (%s)", name != nullptr ? name : "unknown", text != nullptr ? text : "no description");
    record.length = std::clamp(record.length + more, 0, ErrorRecord::kCapacity - 1);
    return status;
}

void name_failure(const char *function) {
    prefix_failure(function);
    ThreadState &state = thread_state();
    state.last_error() = state.record();
}

Status name_path(const char *path, Status status) {
    if (status == VIA_OK) [[likely]] {
        return VIA_OK;
    }
    char shown[401];  // the part of a path that other texts contain
    std::snprintf(shown, sizeof shown, "%s", path);
    if (std::strstr(thread_state().record().text, shown) == nullptr) {
        prefix_failure(shown);
    }
    return status;
}

const char *last_error_text() { return known_thread_state().record().text; }

int32_t last_error_code() { return known_thread_state().record().code; }

const char *status_name(int32_t status) {
    if (status < 0 || status >= static_cast<int32_t>(std::size(kNames))) {
        return "VIA_ERROR_UNKNOWN";
    }
    return kNames[status];
}

// A state shared by several threads has no depth.
CallbackScope::CallbackScope()
    : state_(thread_state()), writes_seen_(state_.writes_seen.load(std::memory_order_relaxed)) {
    if (is_shared(state_)) {
        return;
    }
    state_.depth++;
    state_.record().clear();
    state_.last_error().clear();
}

CallbackScope::~CallbackScope() {
    if (!is_shared(state_)) {
        state_.depth--;
        state_.writes_seen.store(writes_seen_, std::memory_order_relaxed);
    }
}

bool inside_callback() { return current_thread_state != nullptr && current_thread_state->depth > 0; }

}  // namespace via
