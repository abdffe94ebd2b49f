#include "core/diagnostics/backtrace.hpp"

#include <dlfcn.h>

#include "core/diagnostics/log.hpp"
#include "core/diagnostics/python_line.hpp"

#if __has_include(<execinfo.h>)
#include <execinfo.h>
#else
// A C library without it: handles are told without their calls.
static int backtrace(void **, int) { return 0; }
#endif

namespace via {
namespace {

// Anything of this library's.
const void *library_base() {
    Dl_info info{};
    return dladdr(reinterpret_cast<const void *>(&prepare_backtraces), &info) != 0 ? info.dli_fbase : nullptr;
}

void report_call(const Dl_info &info, const void *address) {
    const char *file = info.dli_fname != nullptr ? info.dli_fname : "?";
    const auto offset_in = [&](const void *start) {
        return static_cast<long long>(static_cast<const char *>(address) - static_cast<const char *>(start));
    };
    if (info.dli_sname != nullptr) {
        log_line("    %s (%s+0x%llx)", file, info.dli_sname, offset_in(info.dli_saddr));
    } else {
        log_line("    %s (+0x%llx)", file, offset_in(info.dli_fbase));
    }
}

}  // namespace

Backtrace::Backtrace() : count_(backtrace(calls_, kMost)) { find_python_line(python_line_, sizeof python_line_); }

void Backtrace::report() const {
    const void *own = library_base();
    if (python_line_[0] != '\0') {
        log_line("    %s", python_line_);
    }
    for (int32_t i = 0; i < count_; ++i) {
        Dl_info info{};
        if (dladdr(calls_[i], &info) != 0 && info.dli_fbase != own) {
            report_call(info, calls_[i]);
        }
    }
}

void prepare_backtraces() {
    void *calls[1];
    (void)backtrace(calls, 1);
}

}  // namespace via
