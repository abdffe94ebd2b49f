// The kernels themselves, compiled once per instruction set: the file that includes this defines VIA_VECTOR_BYTES, and
// is compiled for a processor that has vectors of that size. All of it has internal linkage, and it uses nothing that
// has not (see piece.hpp).
#pragma once

#include "copy/host/simd_channels.hpp"
#include "copy/host/simd_rows.hpp"
#include "copy/host/simd_sparse.hpp"
#include "copy/host/simd_transpose.hpp"

namespace via {
namespace {

// Straight from one array to the other.
template <typename T>
void transpose_directly(const Piece &piece) {
    constexpr int64_t kSize = sizeof(T);
    const int64_t row = split_channels<T>(piece);
    const int64_t column = row > 0 ? 0 : join_channels<T>(piece);
    transpose_block<T>(piece.dst + column * piece.outer.dst_step + row * kSize, piece.outer.dst_step,
                       piece.outer.extent - column, piece.src + column * kSize + row * piece.inner.src_step,
                       piece.inner.src_step, piece.inner.extent - row);
}

// -------------------------------------------------------------------------------- transpose by way of a scratch

// Of the scratch: a row of a piece, and what it takes of the next piece to finish a line; an odd number of lines, so
// that equal places of successive rows are in different sets of the cache.
constexpr int64_t kRowPitch = kTransposeRowBytes + kLine;

inline char *line_from(char *address) {
    return address + static_cast<int64_t>(-reinterpret_cast<uintptr_t>(address) % kLine);
}

// The part of a row of dst that is this piece's to write: whole lines but for the ends of the whole row.
struct Part {
    char *first;
    char *last;
};

inline Part part_of_row(char *row, int64_t size, const Piece &piece) {
    char *end = row + piece.inner.extent * size;
    char *whole_end = line_from(end);
    char *limit = end + piece.after * size;
    return {piece.before > 0 ? line_from(row) : row, whole_end < limit ? whole_end : limit};
}

// Reads ahead what the next columns need, while these are turned.
inline void prefetch_columns(const char *src, int64_t src_step, int64_t rows) {
    for (int64_t i = 0; i < rows; ++i) {
        __builtin_prefetch(src + i * src_step);
    }
}

template <typename T>
inline void transpose_to_scratch(char *scratch, int64_t columns, const char *src, int64_t src_step, int64_t rows) {
    constexpr int64_t kSize = sizeof(T);
    constexpr int64_t kRows = 2 * kPerLane<T>;
    for (int64_t i = 0; i < rows; i += kRows) {
        const int64_t some = least(kRows, rows - i);
        prefetch_columns(src + i * src_step + kLine, src_step, some);
        transpose_block<T>(scratch + i * kSize, kRowPitch, columns, src + i * src_step, src_step, some);
    }
}

// Writes a row, or the part of it that makes whole lines.
template <typename T, bool Streaming>
inline void flush_row(char *row, const char *scratch, const Piece &piece) {
    constexpr int64_t kSize = sizeof(T);
    if constexpr (Streaming) {
        const Part part = part_of_row(row, kSize, piece);
        if (part.first < part.last) {
            stream_run(part.first, scratch + (part.first - row), part.last - part.first);
        }
    } else {
        move_vectors(row, scratch, piece.inner.extent * kSize);
    }
}

// Turns a line's worth of columns into a scratch that stays in the first-level cache, and writes the rows from there:
// in one go each, whatever the distance of the rows of dst does to the sets of the cache.
template <typename T, bool Streaming>
void transpose_buffered(const Piece &piece) {
    constexpr int64_t kSize = sizeof(T);
    constexpr int64_t kColumns = kLine / kSize;
    alignas(kLine) char scratch[static_cast<size_t>(kColumns * kRowPitch)];
    const int64_t rows = piece.inner.extent + (Streaming ? least(piece.after, kColumns) : 0);
    for (int64_t j = 0; j < piece.outer.extent; j += kColumns) {
        const int64_t columns = least(kColumns, piece.outer.extent - j);
        transpose_to_scratch<T>(scratch, columns, piece.src + j * kSize, piece.inner.src_step, rows);
        for (int64_t k = 0; k < columns; ++k) {
            flush_row<T, Streaming>(piece.dst + (j + k) * piece.outer.dst_step, scratch + k * kRowPitch, piece);
        }
    }
}

template <typename T>
void transpose_streaming(const Piece &piece) {
    transpose_buffered<T, true>(piece);
    end_streaming();
}

// Whether the rows of dst that are written side by side crowd into so few sets of the first-level cache (8 ways of 4
// KiB is the least there is) that their lines would be thrown out half written. Steps of powers of two do that.
template <typename T>
inline bool rows_crowd(int64_t dst_step) {
    constexpr int64_t kSetBytes = 4096;
    const int64_t stride = least(dst_step & -dst_step, kSetBytes);
    return kPerVector<T> * stride > 8 * kSetBytes;
}

template <typename T>
void transpose(const Piece &piece) {
    const int64_t row = piece.inner.extent * int64_t{sizeof(T)};
    if (row >= kLine && row <= kTransposeRowBytes && piece.outer.extent >= kPerVector<T> &&
        rows_crowd<T>(piece.outer.dst_step)) {
        transpose_buffered<T, false>(piece);
    } else {
        transpose_directly<T>(piece);
    }
}

constexpr SimdKernels make_kernels(const char *name) noexcept {
    return {name,
            copy_rows,
            stream_rows,
            {transpose<uint8_t>, transpose<uint16_t>, transpose<uint32_t>, transpose<uint64_t>, transpose<Element16>},
            {transpose_streaming<uint8_t>, transpose_streaming<uint16_t>, transpose_streaming<uint32_t>,
             transpose_streaming<uint64_t>, transpose_streaming<Element16>},
            {gather_elements<uint8_t>, gather_elements<uint16_t>, gather_elements<uint32_t>}};
}

}  // namespace
}  // namespace via
