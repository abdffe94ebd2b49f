#include "file/file_io.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>

#include "core/base/copy_contiguous.hpp"
#include "core/base/no_cancellation.hpp"
#include "core/system/pages.hpp"
#include "core/system/thread_count.hpp"

namespace via {
namespace {

// System call of Linux 6.5, with the same number on every architecture. Build headers may be older.
constexpr long kCachestat = 451;

struct CachestatRange {
    uint64_t offset;
    uint64_t nbytes;
};

struct Cachestat {
    uint64_t cached;
    uint64_t dirty;
    uint64_t written_back;
    uint64_t evicted;
    uint64_t recently_evicted;
};

// Counts the pages of the bytes.
int64_t page_count(int64_t offset, int64_t nbytes) {
    return (offset + nbytes - 1) / page_bytes() - offset / page_bytes() + 1;
}

constexpr double kUnknown = -1;

double share(int64_t cached, int64_t pages) { return static_cast<double>(cached) / static_cast<double>(pages); }

// Takes 1.4 us for 64 cached pages, whose read takes 48 us. Newer kernels require write permission on the file.
double query_cachestat(OpenFile *file, int64_t offset, int64_t nbytes) {
    CachestatRange range{static_cast<uint64_t>(offset), static_cast<uint64_t>(nbytes)};
    Cachestat found{};
    if (syscall(kCachestat, file->descriptor(), &range, &found, 0) != 0) {
        return kUnknown;
    }
    return share(static_cast<int64_t>(found.cached), page_count(offset, nbytes));
}

// Maps the range for the query, and samples the first pages. Reports all pages as cached without write permission on
// the file.
double query_mincore(OpenFile *file, int64_t offset, int64_t nbytes) {
    constexpr int64_t kMostPages = 512;
    unsigned char pages[kMostPages];
    const int64_t start = round_down(offset, page_bytes());
    const int64_t count = std::min(page_count(offset, nbytes), kMostPages);
    const auto length = static_cast<size_t>(count * page_bytes());
    void *mapped = mmap(nullptr, length, PROT_READ, MAP_SHARED, file->descriptor(), start);
    if (mapped == MAP_FAILED) {
        return kUnknown;
    }
    const bool is_known = mincore(mapped, length, pages) == 0;
    (void)munmap(mapped, length);
    return is_known
               ? share(std::count_if(pages, pages + count, [](unsigned char page) { return (page & 1) != 0; }), count)
               : kUnknown;
}

}  // namespace

double cached_share(OpenFile *file, int64_t offset, int64_t nbytes) {
    if (nbytes <= 0) {
        return 1;
    }
    const int saved = errno;
    double found = query_cachestat(file, offset, nbytes);
    found = found < 0 ? query_mincore(file, offset, nbytes) : found;
    errno = saved;
    return found < 0 ? 1 : found;
}

namespace {

// Returns the nanoseconds of the fastest of a few reads of one byte of the running program; 0 if it may not be read.
int64_t shortest_read() {
    constexpr int32_t kReads = 16;
    const int descriptor = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    char byte = 0;
    int64_t least = descriptor >= 0 ? INT64_MAX : 0;
    for (int32_t i = 0; i < kReads && least > 0; ++i) {
        const auto start = std::chrono::steady_clock::now();
        const bool is_read = pread(descriptor, &byte, 1, 0) == 1;
        const std::chrono::nanoseconds taken = std::chrono::steady_clock::now() - start;
        least = is_read ? std::min<int64_t>(least, taken.count()) : 0;
    }
    if (descriptor >= 0) {
        close_descriptor(descriptor);
    }
    return least;
}

int64_t measure_call_bytes() {
    constexpr int64_t kBytesPerNanosecond = 8;  // of a core, on an EPYC and on an H200 host's Xeon
    constexpr int64_t kLeast = int64_t{1} << 10;
    constexpr int64_t kUnmeasured = int64_t{4} << 10;
    const int saved = errno;
    const int64_t taken = shortest_read();
    errno = saved;
    return taken > 0 ? std::clamp(taken * kBytesPerNanosecond, kLeast, kMostCachedCallBytes) : kUnmeasured;
}

constinit std::atomic<int64_t> known_call_bytes{0};

}  // namespace

int64_t cached_call_bytes() {
    int64_t bytes = known_call_bytes.load(std::memory_order_relaxed);
    if (bytes == 0) {
        bytes = measure_call_bytes();
        known_call_bytes.store(bytes, std::memory_order_relaxed);
    }
    return bytes;
}

namespace {

// Smaller transfers always use the page cache: a disk takes as long for a few blocks as for many.
constexpr int64_t kLeastDirect = int64_t{64} << 10;

// From here on, reserving blocks costs less than it saves: on ext4, writing 512 MiB through the cache takes 70 instead
// of 100 ms of CPU time.
constexpr int64_t kLeastReserved = int64_t{1} << 20;

// Queue depth of a disk.
constexpr int32_t kDepth = 16;

// Queue depth for requests of a few blocks, which are mostly latency.
constexpr int32_t kRowDepth = 48;

// The kernel locks a file during a cached write: more writers would wait for one another.
constexpr int32_t kCachedWriters = 1;

// Direct I/O with larger blocks is not used.
constexpr int64_t kMostUnit = int64_t{64} << 10;

constexpr double kMostlyCached = 0.5;

}  // namespace

FileIo::FileIo(OpenFile *file, int32_t page_cache, bool durable, bool own_memory)
    : file_(file),
      reads_past_(page_cache != VIA_PAGE_CACHE_USE),
      writes_past_(page_cache == VIA_PAGE_CACHE_AVOID || (page_cache == VIA_PAGE_CACHE_AUTO && durable)),
      own_memory_(own_memory),
      buffers_(kPieceBytes + 2 * kMostUnit) {}

bool FileIo::is_straight(const void *memory) const {
    const auto unit = static_cast<uintptr_t>(file_->direct_alignment());
    return own_memory_ && reinterpret_cast<uintptr_t>(memory) % unit == 0;
}

bool FileIo::is_missing(int64_t offset, int64_t nbytes) const {
    return cached_share(file_, offset, nbytes) < kMostlyCached;
}

bool FileIo::is_cold(int64_t offset, int64_t nbytes) const {
    return nbytes >= kLeastDirect && may_read_past() && is_missing(offset, nbytes);
}

Status FileIo::read(void *memory, int64_t offset, int64_t nbytes) {
    bool done = false;
    if (is_cold(offset, nbytes)) {
        VIA_TRY(read_direct(static_cast<char *>(memory), offset, nbytes, &done));
    }
    return done ? VIA_OK : read_all(file_, memory, offset, nbytes);
}

Status FileIo::read_row(bool cold, void *memory, int64_t offset, int64_t nbytes) {
    bool done = false;
    if (cold) {
        VIA_TRY(read_direct(static_cast<char *>(memory), offset, nbytes, &done));
    }
    return done ? VIA_OK : read_short(file_, memory, offset, nbytes);
}

Status FileIo::read_rows(char *memory, char *gap, const FileRows &rows) {
    return via::read_rows(file_, memory, gap, rows);
}

// Reads whole blocks, straight into the destination if it is the library's and aligned, otherwise through a buffer.
// Stores false in *out_done if the file system refuses direct I/O, or the file ends sooner.
Status FileIo::read_direct(char *memory, int64_t offset, int64_t nbytes, bool *out_done) {
    const int64_t unit = file_->direct_alignment();
    const int64_t start = round_down(offset, unit);
    const int64_t length = round_up(offset + nbytes, unit) - start;
    Buffer buffer(buffers_);
    char *to = memory;
    const bool straight = length == nbytes && is_straight(memory);
    if (!straight) {
        if (length > buffers_.nbytes()) {
            return VIA_OK;
        }
        VIA_TRY(buffer.acquire());
        to = buffer.get();
    }
    int64_t got = 0;
    VIA_TRY(read_blocks(file_, to, start, length, &got));
    *out_done = got >= offset - start + nbytes;
    if (*out_done && !straight) {
        copy_contiguous(memory, to + (offset - start), nbytes);
    }
    return VIA_OK;
}

// Not for a mapped file: its pages and the disk would differ for a while.
bool FileIo::may_write_direct(int64_t nbytes) const {
    return writes_past_ && nbytes >= kLeastDirect && !file_->maps()->any() && file_->direct_descriptor() >= 0;
}

Status FileIo::prepare_write(int64_t offset, int64_t nbytes) {
    return nbytes >= kLeastReserved || may_write_direct(nbytes) ? reserve_blocks(file_, offset, nbytes) : VIA_OK;
}

Status FileIo::write(const void *memory, int64_t offset, int64_t nbytes) {
    const auto *from = static_cast<const char *>(memory);
    if (!may_write_direct(nbytes)) {
        return write_all(file_, from, offset, nbytes);
    }
    const int64_t unit = file_->direct_alignment();
    const int64_t head = std::min(round_up(offset, unit) - offset, nbytes);
    const int64_t whole = round_down(nbytes - head, unit);
    bool done = false;
    VIA_TRY(head > 0 ? write_all(file_, from, offset, head) : VIA_OK);
    VIA_TRY(whole > 0 ? write_direct(from + head, offset + head, whole, &done) : VIA_OK);
    const int64_t written = head + (done ? whole : 0);
    return write_all(file_, from + written, offset + written, nbytes - written);
}

Status FileIo::write_direct(const char *memory, int64_t offset, int64_t nbytes, bool *out_done) {
    Buffer buffer(buffers_);
    const char *from = memory;
    if (!is_straight(memory)) {
        if (nbytes > buffers_.nbytes()) {
            return VIA_OK;
        }
        VIA_TRY(buffer.acquire());
        copy_contiguous(buffer.get(), memory, nbytes);
        from = buffer.get();
    }
    return write_blocks(file_, from, offset, nbytes, out_done);
}

// Samples a few chunks.
int32_t FileIo::readers(int64_t offset, int64_t nbytes) const {
    constexpr int64_t kSamples = 8;
    const int64_t step = std::max(nbytes / kSamples, kPieceBytes);
    int32_t asked = 0;
    int32_t cold = 0;
    for (int64_t at = 0; at < nbytes; at += step) {
        asked++;
        cold += is_cold(offset + at, std::min(kPieceBytes, nbytes - at)) ? 1 : 0;
    }
    return threads_for(nbytes, 2 * cold > asked ? std::max(num_threads(), kDepth) : num_threads());
}

int32_t FileIo::row_readers(int64_t cost, bool cold) const {
    return threads_for(cost, cold ? std::max(num_threads(), kRowDepth) : num_threads());
}

int32_t FileIo::threads_for(int64_t nbytes, int32_t most) const {
    return static_cast<int32_t>(std::clamp<int64_t>(nbytes / (kPieceBytes / 4), 1, most));
}

int32_t FileIo::writers(int64_t nbytes) const {
    const int32_t most = may_write_direct(nbytes) ? kDepth : kCachedWriters;
    return static_cast<int32_t>(std::clamp<int64_t>(nbytes / kPieceBytes, 1, most));
}

}  // namespace via
