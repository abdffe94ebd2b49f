#include "core/system/cgroup.hpp"

#include <cstdio>
#include <cstring>

#include "core/system/small_file.hpp"

namespace via {
namespace {

constexpr char kRoot[] = "/sys/fs/cgroup";

// A group of this process: the directory of its hierarchy below the root, and its path there.
struct Group {
    char hierarchy[64] = "";
    char path[4096] = "";
};

// Returns whether a list ("cpu,cpuacct") contains the name; the list of the unified hierarchy is "".
bool holds(const char *list, size_t length, const char *name) {
    const size_t wanted = std::strlen(name);
    for (size_t at = 0; at <= length;) {
        const size_t end = at + std::strcspn(list + at, ",:");
        if (end - at == wanted && std::strncmp(list + at, name, wanted) == 0) {
            return true;
        }
        at = end + 1;
    }
    return false;
}

// Reads a line such as "4:cpu,cpuacct:/docker/abc"; false if no hierarchy has the controller.
bool find_group(const char *controller, Group *out_group) {
    LineReader lines("/proc/self/cgroup");
    while (const char *line = lines.next()) {
        const char *list = std::strchr(line, ':');
        const char *end = list != nullptr ? std::strchr(list + 1, ':') : nullptr;
        if (end == nullptr || !holds(list + 1, static_cast<size_t>(end - list - 1), controller)) {
            continue;
        }
        const auto length = static_cast<int>(end - list - 1);
        std::snprintf(out_group->hierarchy, sizeof out_group->hierarchy, "%s%.*s", length > 0 ? "/" : "", length,
                      list + 1);
        const bool is_root = std::strcmp(end + 1, "/") == 0;
        std::snprintf(out_group->path, sizeof out_group->path, "%s", is_root ? "" : end + 1);
        return true;
    }
    return false;
}

bool append_file(const char *folder, const char *file, char *text, size_t capacity) {
    char path[4096 + 256];
    std::snprintf(path, sizeof path, "%s/%s", folder, file);
    const size_t length = std::strlen(text);
    return read_small_file(path, text + length, capacity - length);
}

int64_t limit_in(const char *folder, const char *const (&files)[2], int64_t (*parse)(const char *text)) {
    char text[128] = "";
    const bool has_all = append_file(folder, files[0], text, sizeof text) &&
                         (files[1] == nullptr || append_file(folder, files[1], text, sizeof text));
    return has_all ? parse(text) : 0;
}

int64_t lesser(int64_t a, int64_t b) { return a == 0 || (b > 0 && b < a) ? b : a; }

// Searches the group and its ancestors. In a container the path may be that outside of it: then only the root exists,
// which is the directory of the group itself.
int64_t least_in(const char *hierarchy, const char *path, const char *const (&files)[2],
                 int64_t (*parse)(const char *text)) {
    char folder[sizeof kRoot + sizeof(Group)];
    std::snprintf(folder, sizeof folder, "%s%s%s", kRoot, hierarchy, path);
    char *root = folder + std::strlen(kRoot) + std::strlen(hierarchy);
    int64_t least = 0;
    while (true) {
        least = lesser(least, limit_in(folder, files, parse));
        char *last = std::strrchr(root, '/');
        if (last == nullptr) {
            return least;
        }
        *last = '\0';
    }
}

}  // namespace

int64_t least_of_cgroups(const CgroupLimit &limit, int64_t (*parse)(const char *text)) {
    Group unified;
    (void)find_group("", &unified);
    int64_t least = least_in("", unified.path, {limit.unified_file, nullptr}, parse);
    Group own;
    if (find_group(limit.controller, &own)) {
        // A hierarchy of several controllers is mounted under all their names, usually with a link for each.
        char alone[sizeof own.hierarchy];
        std::snprintf(alone, sizeof alone, "/%s", limit.controller);
        least = lesser(least, least_in(own.hierarchy, own.path, limit.files, parse));
        if (std::strcmp(own.hierarchy, alone) != 0) {
            least = lesser(least, least_in(alone, own.path, limit.files, parse));
        }
    }
    return least;
}

}  // namespace via
