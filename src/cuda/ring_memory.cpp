#include "cuda/ring_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "core/cgroup.hpp"
#include "core/small_file.hpp"
#include "core/thread_count.hpp"
#include "core/thread_pool.hpp"
#include "cuda/staging_pages.hpp"
#include "cuda/staging_pci.hpp"

namespace via::cuda {
namespace {

constexpr int64_t kMostRingBytes = int64_t{64} << 20;
constexpr int64_t kShareOfMemory = 16;
constexpr int64_t kTouchBytes = int64_t{2} << 20;
constexpr int32_t kMostTouching = 8;

int64_t physical_memory() {
    const long pages = sysconf(_SC_PHYS_PAGES);
    return pages > 0 ? int64_t{pages} * sysconf(_SC_PAGESIZE) : kMostRingBytes * kShareOfMemory;
}

struct Touching {
    char *memory;
    int64_t nbytes;
};

void touch_block(void *context, int64_t index) {
    const auto &all = *static_cast<Touching *>(context);
    char *block = all.memory + index * kTouchBytes;
    const int64_t nbytes = std::min(kTouchBytes, all.nbytes - index * kTouchBytes);
    if (!populate(block, nbytes)) {
        for (int64_t i = 0; i < nbytes; i += 4096) {
            *static_cast<volatile char *>(block + i) = 0;
        }
    }
}

void touch(char *memory, int64_t nbytes) {
    Touching all{memory, nbytes};
    parallel_for((nbytes + kTouchBytes - 1) / kTouchBytes, std::min(num_threads(), kMostTouching), touch_block, &all);
}

// A preference only; containers often forbid to say it.
void prefer_node(char *memory, int64_t nbytes, int32_t node) {
    constexpr int kPreferred = 1;
    constexpr int32_t kMostNodes = 64;
    if (node >= 0 && node < kMostNodes) {
        const unsigned long nodes = 1UL << node;
        (void)syscall(SYS_mbind, memory, static_cast<unsigned long>(nbytes), kPreferred, &nodes, kMostNodes + 1, 0);
    }
}

// A mapping that begins where a huge page can.
char *map_aligned(int64_t nbytes) {
    const auto whole = static_cast<size_t>(nbytes + kHugePage);
    void *mapped = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
        return nullptr;
    }
    auto *start = static_cast<char *>(mapped);
    char *memory = start + (kHugePage - reinterpret_cast<intptr_t>(start) % kHugePage) % kHugePage;
    if (memory != start) {
        munmap(start, static_cast<size_t>(memory - start));
    }
    if (char *end = memory + nbytes; end != start + whole) {
        munmap(end, static_cast<size_t>(start + whole - end));
    }
    return memory;
}

bool contains(const cpu_set_t &all, const cpu_set_t &some) {
    cpu_set_t both;
    CPU_AND(&both, &all, &some);
    return CPU_EQUAL(&both, &some) != 0;
}

}  // namespace

int64_t parse_memory_max(const char *text) {
    char *end = nullptr;
    const long long limit = std::strtoll(text, &end, 10);
    return end != text && limit > 0 ? limit : 0;
}

int64_t most_ring_bytes() {
    const int64_t limit = least_of_cgroups("memory.max", parse_memory_max);
    const int64_t memory = limit > 0 ? std::min(limit, physical_memory()) : physical_memory();
    return std::min(kMostRingBytes, memory / kShareOfMemory);
}

Status map_ring(int64_t nbytes, int32_t node, char **out_memory) {
    char *memory = map_aligned(nbytes);
    if (memory == nullptr) {
        return fail_with_code(VIA_ERROR_OUT_OF_MEMORY, errno, "mmap: no memory for %lld bytes of staging slots",
                              static_cast<long long>(nbytes));
    }
    // Each of these may be refused; the memory serves all the same.
    (void)madvise(memory, static_cast<size_t>(nbytes), MADV_HUGEPAGE);
    (void)madvise(memory, static_cast<size_t>(nbytes), MADV_DONTFORK);
    prefer_node(memory, nbytes, node);
    touch(memory, nbytes);
    *out_memory = memory;
    return VIA_OK;
}

void unmap_ring(char *memory, int64_t nbytes) { munmap(memory, static_cast<size_t>(nbytes)); }

int32_t node_of_device(int32_t device_id) {
    char text[64];
    cpu_set_t nodes;
    if (!read_small_file("/sys/devices/system/node/online", text, sizeof text) || !parse_cpu_list(text, &nodes) ||
        CPU_COUNT(&nodes) < 2 || !read_pci_file(device_id, "numa_node", text, sizeof text)) {
        return -1;
    }
    return static_cast<int32_t>(std::strtol(text, nullptr, 10));
}

CpuSet cpus_of_node(int32_t node) {
    CpuSet set{};
    char path[96];
    char text[1024];
    std::snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", node);
    set.is_set = node >= 0 && read_small_file(path, text, sizeof text) && parse_cpu_list(text, &set.cpus);
    return set;
}

bool parse_cpu_list(const char *text, cpu_set_t *out_cpus) {
    CPU_ZERO(out_cpus);
    while (*text >= '0' && *text <= '9') {
        char *end = nullptr;
        const long first = std::strtol(text, &end, 10);
        const long last = *end == '-' ? std::strtol(end + 1, &end, 10) : first;
        if (last < first || last >= CPU_SETSIZE) {
            return false;
        }
        for (long cpu = first; cpu <= last; ++cpu) {
            CPU_SET(static_cast<size_t>(cpu), out_cpus);
        }
        text = *end == ',' ? end + 1 : end;
    }
    return (*text == '\0' || *text == '\n') && CPU_COUNT(out_cpus) > 0;
}

NearDevice::NearDevice(const CpuSet *cpus) {
    if (cpus == nullptr || !cpus->is_set || sched_getaffinity(0, sizeof before_, &before_) != 0 ||
        contains(cpus->cpus, before_)) {
        return;
    }
    cpu_set_t wanted;
    CPU_AND(&wanted, &before_, &cpus->cpus);
    moved_ = CPU_COUNT(&wanted) > 0 && sched_setaffinity(0, sizeof wanted, &wanted) == 0;
}

NearDevice::~NearDevice() {
    if (moved_) {
        (void)sched_setaffinity(0, sizeof before_, &before_);
    }
}

}  // namespace via::cuda
