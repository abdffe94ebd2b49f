// Reads and writes a file through the page cache, or by direct I/O for pages that are not cached. Thread-safe.
#pragma once

#include "file/buffer_pool.hpp"
#include "file/open_file.hpp"
#include "file/read_write.hpp"

namespace via {

enum class Direction : int32_t { Read, Write };

// Returns the share of the bytes that the page cache has now, 0 to 1; 1 if unknown, so that the cache is used.
double cached_share(OpenFile *file, int64_t offset, int64_t nbytes);

// Returns how many bytes a core reads from the page cache in the time that the system call takes: measured once, since
// that differs by a factor of three between machines. At most kMostCachedCallBytes.
inline constexpr int64_t kMostCachedCallBytes = int64_t{16} << 10;
int64_t cached_call_bytes();

class FileIo {
public:
    // Size of the chunks of a transfer. Writers align chunks in the file, so that whole blocks are written. Readers
    // align them in memory, so that no two threads fault in, and clear, the same huge page.
    static constexpr int64_t kPieceBytes = int64_t{2} << 20;

    // `durable`: writes reach the disk soon anyway. `own_memory`: the memory is the library's, and direct I/O may use
    // it.
    FileIo(OpenFile *file, int32_t page_cache, bool durable, bool own_memory);
    FileIo(const FileIo &) = delete;
    FileIo &operator=(const FileIo &) = delete;

    VIA_NODISCARD Status read(void *memory, int64_t offset, int64_t nbytes);
    // Does the same for one of many rows; `cold` states whether to read them by direct I/O.
    VIA_NODISCARD Status read_row(bool cold, void *memory, int64_t offset, int64_t nbytes);
    // Reads cached rows with small gaps by one call; at most kMostRows. `gap` has room for a gap.
    VIA_NODISCARD Status read_rows(char *memory, char *gap, const FileRows &rows);
    VIA_NODISCARD Status write(const void *memory, int64_t offset, int64_t nbytes);

    // Reserves disk blocks before a write, where that pays.
    VIA_NODISCARD Status prepare_write(int64_t offset, int64_t nbytes);

    // Return the number of threads for a transfer: one for each CPU if memory is the limit, or the queue depth of a
    // disk.
    int32_t readers(int64_t offset, int64_t nbytes) const;
    int32_t row_readers(int64_t cost, bool cold) const;
    int32_t writers(int64_t nbytes) const;

    // Return whether direct reads are possible at all, and whether most of a range is not cached.
    bool may_read_past() const { return reads_past_ && file_->direct_descriptor() >= 0; }
    bool is_missing(int64_t offset, int64_t nbytes) const;

    // Returns a pool of buffers for a chunk and the blocks at its ends.
    BufferPool &buffers() { return buffers_; }

private:
    int32_t threads_for(int64_t nbytes, int32_t most) const;
    bool is_straight(const void *memory) const;
    bool is_cold(int64_t offset, int64_t nbytes) const;
    bool may_write_direct(int64_t nbytes) const;
    VIA_NODISCARD Status read_direct(char *memory, int64_t offset, int64_t nbytes, bool *out_done);
    VIA_NODISCARD Status write_direct(const char *memory, int64_t offset, int64_t nbytes, bool *out_done);

    OpenFile *const file_;
    const bool reads_past_;
    const bool writes_past_;
    const bool own_memory_;
    BufferPool buffers_;
};

}  // namespace via
