#include "core/cgroup.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "core/small_file.hpp"

namespace via {
namespace {

constexpr char kRoot[] = "/sys/fs/cgroup";

// The path of this process in the unified hierarchy, "" in the root or without one.
void own_group(char *path, size_t capacity) {
    char text[4096];
    path[0] = '\0';
    if (!read_small_file("/proc/self/cgroup", text, sizeof text)) {
        return;
    }
    const char *line = std::strncmp(text, "0::", 3) == 0 ? text : std::strstr(text, "\n0::");
    if (line != nullptr) {
        line = std::strchr(line, '/');
        const size_t length = line == nullptr ? 0 : std::min(std::strcspn(line, "\n"), capacity - 1);
        std::memcpy(path, line == nullptr ? "" : line, length);
        path[length] = '\0';
    }
}

int64_t limit_of_group(const char *group, const char *file, int64_t (*parse)(const char *text)) {
    char path[4096 + 64];
    char text[64];
    std::snprintf(path, sizeof path, "%s%s/%s", kRoot, group, file);
    return read_small_file(path, text, sizeof text) ? parse(text) : 0;
}

}  // namespace

int64_t least_of_cgroups(const char *file, int64_t (*parse)(const char *text)) {
    char group[4096];
    own_group(group, sizeof group);
    int64_t least = 0;
    while (true) {
        const int64_t limit = limit_of_group(group, file, parse);
        least = limit > 0 && (least == 0 || limit < least) ? limit : least;
        char *last = std::strrchr(group, '/');
        if (last == nullptr) {
            return least;
        }
        *last = '\0';
    }
}

}  // namespace via
