// The way between memory and a part of a file: piece by piece through the system's page cache, or past it where the
// cache does not have the piece. Any number of threads use one at a time.
#pragma once

#include "file/buffers.hpp"
#include "file/open_file.hpp"

namespace via {

enum class Towards : int32_t { Memory, File };

class FileIo {
public:
    // Callers cut what they transfer at multiples of this: in the file towards it, so that blocks are written whole; in
    // memory towards that, where two threads that make one huge page both clear it.
    static constexpr int64_t kPieceBytes = int64_t{2} << 20;

    // `durable`: what is written is to reach the disk soon anyway. `own_memory`: what is read to and written from is
    // the library's, and may be given to the disk itself.
    FileIo(OpenFile *file, int32_t page_cache, bool durable, bool own_memory);
    FileIo(const FileIo &) = delete;
    FileIo &operator=(const FileIo &) = delete;

    VIA_NODISCARD Status read(void *memory, int64_t offset, int64_t nbytes);
    // The same for one of many rows, of which it is known whether to read them past the cache.
    VIA_NODISCARD Status read_row(bool cold, void *memory, int64_t offset, int64_t nbytes);
    VIA_NODISCARD Status write(const void *memory, int64_t offset, int64_t nbytes);

    // Before so many bytes are written.
    VIA_NODISCARD Status prepare_write(int64_t offset, int64_t nbytes);

    // How many threads a transfer of so many bytes keeps busy: as many as there are processors for where memory is the
    // limit, and as many requests as a disk likes to have at once where that is.
    int32_t readers(int64_t offset, int64_t nbytes) const;
    int32_t row_readers(int64_t cost, bool cold) const;
    int32_t writers(int64_t nbytes) const;

    // Whether anything is read past the cache, and this would be if it were enough: the cache has most of it not.
    bool may_read_past() const { return reads_past_ && file_->direct_descriptor() >= 0; }
    bool is_missing(int64_t offset, int64_t nbytes) const;

    // Larger than a piece by some blocks.
    Buffers &buffers() { return buffers_; }

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
    Buffers buffers_;
};

}  // namespace via
