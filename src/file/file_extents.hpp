// A channel to rows of a file: its bytes are numbered as they follow one another in the rows, whatever lies between.
#pragma once

#include "copy/plan.hpp"
#include "file/file_io.hpp"
#include "file/window.hpp"

namespace via {

// What is there, put together for reading: rows with little between them cost less with that than one by one.
struct RowGroups {
    explicit RowGroups(const FileExtents &extents);
    int64_t bytes[VIA_MAX_NDIM + 1];  // of all loops from that one on, the gaps left out
    int64_t spans[VIA_MAX_NDIM + 1];  // the same with the gaps
    int32_t level;                    // of the first loop that is read with its gaps
    int64_t cost;                     // of all rows, in bytes that could be read meanwhile
};

class Rows {
public:
    Rows(FileIo &file_io, const FileExtents &extents) : io_(file_io), extents_(extents), groups_(extents) {}
    Rows(const Rows &) = delete;
    Rows &operator=(const Rows &) = delete;

    VIA_NODISCARD Status read(void *memory, int64_t offset, int64_t nbytes);
    VIA_NODISCARD Status write(const void *memory, int64_t offset, int64_t nbytes);
    VIA_NODISCARD Status prepare_write();

    int32_t readers(int64_t offset, int64_t nbytes) const;
    int32_t writers(int64_t nbytes) const;

    // As FileIo::kPieceBytes: fewer where they cost as much.
    int64_t piece_bytes() const;

    // Bytes from the last border of a piece in the file to that offset, where there are such.
    int64_t bytes_from_border(int64_t offset) const { return is_one() ? extents_.offset + offset : 0; }

    int64_t nbytes() const { return extents_.nbytes; }

private:
    bool is_one() const { return extents_.ndim == 0; }
    bool is_cold(int64_t offset, int64_t nbytes) const;
    int64_t place_of(int64_t offset) const;

    FileIo &io_;
    const FileExtents &extents_;
    const RowGroups groups_;
};

}  // namespace via
