#include "core/host_probe.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/cgroup.hpp"
#include "core/pages.hpp"

namespace via {
namespace {

// Reads a file line by line through a buffer on the stack: the probe is used where memory may be short.
class LineReader {
public:
    explicit LineReader(const char *path) : descriptor_(open(path, O_RDONLY | O_CLOEXEC)) {}
    ~LineReader() {
        if (descriptor_ >= 0) {
            close(descriptor_);
        }
    }
    LineReader(const LineReader &) = delete;
    LineReader &operator=(const LineReader &) = delete;

    // The next line without its end, cut to what the buffer holds; nullptr after the last.
    char *next() {
        char *end = nullptr;
        while ((end = static_cast<char *>(std::memchr(buffer_ + at_, '\n', filled_ - at_))) == nullptr) {
            if (!refill()) {
                return nullptr;
            }
        }
        *end = '\0';
        char *line = buffer_ + at_;
        at_ = static_cast<size_t>(end - buffer_) + 1;
        return line;
    }

private:
    bool refill() {
        filled_ -= at_;
        std::memmove(buffer_, buffer_ + at_, filled_);
        at_ = 0;
        if (descriptor_ < 0 || filled_ == sizeof buffer_) {
            return false;
        }
        const ssize_t got = read(descriptor_, buffer_ + filled_, sizeof buffer_ - filled_);
        filled_ += got > 0 ? static_cast<size_t>(got) : 0;
        return got > 0;
    }

    int descriptor_;
    size_t at_ = 0;
    size_t filled_ = 0;
    char buffer_[8192];
};

}  // namespace

bool find_host_mapping(const void *address, HostMapping *out_mapping) {
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
            return true;
        }
    }
    return false;
}

// The kernel reads the signal set before it looks at `how`, which is none that it knows: the answer is EFAULT or
// EINVAL, and nothing is changed. Quicker than process_vm_readv, and allowed in every sandbox. A signal set is 8 bytes;
// aligned ones lie within one page.
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
    const int64_t limit = least_of_cgroups("memory.max", parse_memory_max);
    return limit > 0 ? std::min(limit, machine) : machine;
}

int64_t parse_memory_max(const char *text) {
    char *end = nullptr;
    const long long limit = std::strtoll(text, &end, 10);
    return end != text && limit > 0 ? limit : 0;
}

}  // namespace via
