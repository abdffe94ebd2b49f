#include "core/system/address_probe.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/system/cgroup.hpp"
#include "core/system/pages.hpp"
#include "core/system/small_file.hpp"

namespace via {

Status find_host_mapping(const void *address, HostMapping *out_mapping) {
    *out_mapping = {};
    LineReader maps("/proc/self/maps");
    const auto wanted = reinterpret_cast<uintptr_t>(address);
    while (const char *line = maps.next()) {
        uintptr_t begin = 0;
        uintptr_t end = 0;
        char access[5] = {};
        if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &begin, &end, access) != 3) {
            continue;
        }
        if (wanted >= begin && wanted < end) {
            *out_mapping = {reinterpret_cast<void *>(begin), static_cast<int64_t>(end - begin), access[0] == 'r',
                            access[1] == 'w'};
            return VIA_OK;
        }
    }
    const int code = maps.failure();
    return code == 0 ? VIA_OK : fail_with_errno(VIA_ERROR_IO, code, "reading /proc/self/maps");
}

// Passes the address as a signal set, with an invalid `how`. The kernel reads the set first, and then fails with EFAULT
// or EINVAL without changing anything. Faster than process_vm_readv, and allowed in every sandbox. A signal set is 8
// bytes; an aligned one lies within one page.
bool is_readable(const void *address) {
    constexpr uintptr_t kSetBytes = 8;
    constexpr int kNoSuchHow = -1;
    const auto set = reinterpret_cast<uintptr_t>(address) / kSetBytes * kSetBytes;
    const int saved = errno;
    const bool readable = syscall(SYS_rt_sigprocmask, kNoSuchHow, set, nullptr, kSetBytes) == -1 && errno == EINVAL;
    errno = saved;
    return readable;
}

void cpu_name(int64_t capacity, char *name) {
    std::snprintf(name, static_cast<size_t>(capacity), "CPU");
    LineReader info("/proc/cpuinfo");
    while (const char *line = info.next()) {
        const char *colon = std::strchr(line, ':');
        if (std::strncmp(line, "model name", 10) == 0 && colon != nullptr && colon[1] == ' ') {
            std::snprintf(name, static_cast<size_t>(capacity), "%s", colon + 2);
            return;
        }
    }
}

int64_t usable_memory() {
    const int64_t machine = std::max(sysconf(_SC_PHYS_PAGES), 0L) * page_bytes();
    const int64_t limit = least_of_cgroups(kMemoryLimit, parse_memory_max);
    return limit > 0 ? std::min(limit, machine) : machine;
}

int64_t parse_memory_max(const char *text) {
    char *end = nullptr;
    const long long limit = std::strtoll(text, &end, 10);
    return end != text && limit > 0 ? limit : 0;
}

}  // namespace via
