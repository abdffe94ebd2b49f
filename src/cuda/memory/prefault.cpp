#include "cuda/memory/prefault.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "core/system/pages.hpp"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif

namespace via::cuda {
namespace {

constexpr int64_t kMostSamples = 8;
constexpr int64_t kBytesOfSample = int64_t{256} << 10;

// The pages of some memory.
struct Pages {
    char *start;
    size_t nbytes;

    Pages(const void *memory, int64_t length) {
        const auto address = reinterpret_cast<uintptr_t>(memory);
        const auto mask = static_cast<uintptr_t>(page_bytes()) - 1;
        start = reinterpret_cast<char *>(address & ~mask);
        nbytes = ((address + static_cast<uintptr_t>(length) + mask) & ~mask) - (address & ~mask);
    }
};

// Counts pages as present if the kernel does not say: the copy faults them in then.
bool page_is_missing(const char *address) {
    unsigned char there = 1;
    const Pages page(address, 1);
    return mincore(page.start, page.nbytes, &there) == 0 && (there & 1) == 0;
}

// Takes memory of up to kHugePage bytes.
bool any_page_is_missing(const Pages &pages) {
    unsigned char there[kHugePage / 4096 + 1];
    const auto count = pages.nbytes / static_cast<size_t>(page_bytes());
    if (count > sizeof there || mincore(pages.start, pages.nbytes, there) != 0) {
        return true;
    }
    return std::any_of(there, there + count, [](unsigned char page) { return (page & 1) == 0; });
}

bool may_use_huge_pages() {
#ifdef PR_GET_THP_DISABLE
    return prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) <= 0;
#else
    return true;
#endif
}

std::atomic<bool> kernel_populates{true};

}  // namespace

bool looks_new(const void *memory, int64_t nbytes) {
    const auto *bytes = static_cast<const char *>(memory);
    const int64_t samples = std::clamp<int64_t>(nbytes / kBytesOfSample, 1, kMostSamples);
    for (int64_t i = 0; i < samples; ++i) {
        if (page_is_missing(bytes + nbytes / samples * i)) {
            return true;
        }
    }
    return page_is_missing(bytes + nbytes - 1);
}

void advise_huge_pages(void *memory, int64_t nbytes) {
    const auto start = round_up(reinterpret_cast<intptr_t>(memory), kHugePage);
    const auto end = round_down(reinterpret_cast<intptr_t>(memory) + nbytes, kHugePage);
    if (start < end && may_use_huge_pages()) {
        const int saved = errno;
        (void)madvise(reinterpret_cast<void *>(start), static_cast<size_t>(end - start), MADV_HUGEPAGE);
        errno = saved;
    }
}

bool populate(void *memory, int64_t nbytes) {
    if (!kernel_populates.load(std::memory_order_relaxed)) {
        return false;
    }
    const Pages pages(memory, nbytes);
    const int saved = errno;
    const bool done = madvise(pages.start, pages.nbytes, MADV_POPULATE_WRITE) == 0;
    if (!done && errno == EINVAL) {
        kernel_populates.store(false, std::memory_order_relaxed);
    }
    errno = saved;
    return done;
}

void populate_missing(void *memory, int64_t nbytes) {
    if (any_page_is_missing(Pages(memory, nbytes))) {
        (void)populate(memory, nbytes);
    }
}

}  // namespace via::cuda
