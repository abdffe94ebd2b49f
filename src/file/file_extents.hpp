// Reads and writes the extents of a file: rows of adjacent bytes at regular steps. Offsets count the bytes of the rows
// only, without the gaps.
#pragma once

#include "cuda/io_endpoint.hpp"
#include "file/file_io.hpp"
#include "file/window.hpp"

namespace via {

// Groups rows for reading: rows with small gaps are read together with the gaps, since that costs less. `call_bytes`
// are those that could be read in the time that any read takes.
struct ExtentGroups {
    ExtentGroups(const FileExtents &extents, int64_t call_bytes);
    int64_t bytes[VIA_MAX_NDIM + 1];  // of all loops from this one on, without gaps
    int64_t spans[VIA_MAX_NDIM + 1];  // the same with gaps
    int32_t level;                    // the first loop that is read with its gaps
    int64_t cost;                     // of all rows, in bytes of a contiguous read
};

class ExtentIo final : public cuda::IoEndpoint {
public:
    ExtentIo(FileIo &file_io, const FileExtents &extents);
    ExtentIo(const ExtentIo &) = delete;
    ExtentIo &operator=(const ExtentIo &) = delete;

    VIA_NODISCARD Status read(void *memory, int64_t offset, int64_t nbytes) override;
    VIA_NODISCARD Status write(const void *memory, int64_t offset, int64_t nbytes) override;
    VIA_NODISCARD Status prepare_write();

    // Returns the number of threads that move all of the extents.
    int32_t workers(Direction direction) const;

    // Size of the chunks of a transfer: FileIo::kPieceBytes, or less for rows that cost more.
    int64_t piece_bytes() const;

    // Returns the offset in the file of a single row, by which chunks are aligned; 0 for several rows.
    int64_t bytes_from_border(int64_t offset) const { return is_one() ? extents_.offset + offset : 0; }

    // Returns a pool of buffers for a chunk.
    BufferPool &buffers() { return io_.buffers(); }

private:
    bool is_one() const { return extents_.ndim == 0; }
    bool is_cold(int64_t offset, int64_t nbytes) const;
    int64_t file_offset_of(int64_t offset) const;
    const ExtentGroups &groups(bool cold) const { return cold ? cold_ : cached_; }

    FileIo &io_;
    const FileExtents &extents_;
    const ExtentGroups cold_;    // of a disk
    const ExtentGroups cached_;  // of the page cache
};

}  // namespace via
