// The kernels themselves, compiled once per instruction set: the file that includes this defines VIA_VECTOR_BYTES, and
// is compiled for a processor that has vectors of that size. All of it has internal linkage, and it uses nothing that
// has not (see piece.hpp).
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <utility>

#include "copy/cache.hpp"
#include "copy/kernels.hpp"

namespace via {
namespace {

constexpr int64_t kVector = VIA_VECTOR_BYTES;
constexpr int64_t kLine = kLineBytes;
constexpr int64_t kLane = 16;  // the part of a vector that shuffles do not leave

template <typename T, int64_t Bytes>
struct VectorOf {
    typedef T Type __attribute__((vector_size(Bytes)));
};
template <typename T>
using Vector = typename VectorOf<T, kVector>::Type;
template <typename T>
using Lane = typename VectorOf<T, kLane>::Type;
struct Element16 {
    uint64_t halves[2];
};

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

template <typename V>
inline V load(const char *address) {
    V value;
    __builtin_memcpy(&value, address, sizeof value);
    return value;
}

template <typename V>
inline void store(char *address, V value) {
    __builtin_memcpy(address, &value, sizeof value);
}

// ------------------------------------------------------------------------------------------------------- rows

template <typename V>
inline void move_ends(char *dst, const char *src, int64_t nbytes) {
    const V first = load<V>(src);
    const V last = load<V>(src + nbytes - int64_t{sizeof(V)});
    store(dst, first);
    store(dst + nbytes - int64_t{sizeof(V)}, last);
}

// Less than a lane.
inline void move_few(char *dst, const char *src, int64_t nbytes) {
    if (nbytes >= 8) {
        move_ends<uint64_t>(dst, src, nbytes);
    } else if (nbytes >= 4) {
        move_ends<uint32_t>(dst, src, nbytes);
    } else if (nbytes >= 2) {
        move_ends<uint16_t>(dst, src, nbytes);
    } else if (nbytes == 1) {
        *dst = *src;
    }
}

// Two stores that meet or overlap, in place of a loop.
inline void move_less_than_two_vectors(char *dst, const char *src, int64_t nbytes) {
    if (nbytes >= kVector) {
        move_ends<Vector<char>>(dst, src, nbytes);
        return;
    }
    if constexpr (kVector > 32) {
        if (nbytes >= 32) {
            move_ends<typename VectorOf<char, 32>::Type>(dst, src, nbytes);
            return;
        }
    }
    if constexpr (kVector > kLane) {
        if (nbytes >= kLane) {
            move_ends<Lane<char>>(dst, src, nbytes);
            return;
        }
    }
    move_few(dst, src, nbytes);
}

inline void move_vectors(char *dst, const char *src, int64_t nbytes) {
    int64_t at = 0;
    for (; at + 4 * kVector <= nbytes; at += 4 * kVector) {
        const auto a = load<Vector<char>>(src + at);
        const auto b = load<Vector<char>>(src + at + kVector);
        const auto c = load<Vector<char>>(src + at + 2 * kVector);
        const auto d = load<Vector<char>>(src + at + 3 * kVector);
        store(dst + at, a);
        store(dst + at + kVector, b);
        store(dst + at + 2 * kVector, c);
        store(dst + at + 3 * kVector, d);
    }
    for (; at + 2 * kVector <= nbytes; at += kVector) {
        store(dst + at, load<Vector<char>>(src + at));
    }
    if (at < nbytes) {
        move_less_than_two_vectors(dst + at, src + at, nbytes - at);
    }
}

template <int64_t Count>
inline void move_constant(char *dst, const char *src) {
    Vector<char> values[Count];
    for (int64_t i = 0; i < Count; ++i) {
        values[i] = load<Vector<char>>(src + i * kVector);
    }
    for (int64_t i = 0; i < Count; ++i) {
        store(dst + i * kVector, values[i]);
    }
}

struct MoveAny {
    int64_t nbytes;
    void operator()(char *dst, const char *src) const { move_vectors(dst, src, nbytes); }
};

// The C library knows best how to copy what is long.
struct MoveLong {
    int64_t nbytes;
    void operator()(char *dst, const char *src) const { __builtin_memcpy(dst, src, static_cast<size_t>(nbytes)); }
};

template <int64_t Count>
struct MoveConstant {
    void operator()(char *dst, const char *src) const { move_constant<Count>(dst, src); }
};

// On copies of the loops: for all the compiler knows, a store of bytes may change what is behind a reference.
template <typename Move>
inline void for_each_run(const Piece &whole, const Move move) {
    const Piece piece = whole;
    for (int64_t j = 0; j < piece.outer.extent; ++j) {
        char *dst = piece.dst + j * piece.outer.dst_step;
        const char *src = piece.src + j * piece.outer.src_step;
        for (int64_t i = 0; i < piece.inner.extent; ++i, dst += piece.inner.dst_step, src += piece.inner.src_step) {
            move(dst, src);
        }
    }
}

constexpr int64_t kLongRun = 2048;

void copy_rows(const Piece &piece) {
    switch (piece.run) {
        case kVector:
            return for_each_run(piece, MoveConstant<1>());
        case 2 * kVector:
            return for_each_run(piece, MoveConstant<2>());
        case 4 * kVector:
            return for_each_run(piece, MoveConstant<4>());
        case 8 * kVector:
            return for_each_run(piece, MoveConstant<8>());
        default:
            if (piece.run >= kLongRun) {
                return for_each_run(piece, MoveLong{piece.run});
            }
            return for_each_run(piece, MoveAny{piece.run});
    }
}

// --------------------------------------------------------------------------------------------------- streaming

// `address` is a multiple of the vector's size.
inline void store_streaming(char *address, Vector<char> value) {
#if defined(__x86_64__) && VIA_VECTOR_BYTES == 64
    _mm512_stream_si512(reinterpret_cast<__m512i *>(address), reinterpret_cast<__m512i>(value));
#elif defined(__x86_64__) && VIA_VECTOR_BYTES == 32
    _mm256_stream_si256(reinterpret_cast<__m256i *>(address), reinterpret_cast<__m256i>(value));
#elif defined(__x86_64__)
    _mm_stream_si128(reinterpret_cast<__m128i *>(address), reinterpret_cast<__m128i>(value));
#else
    store(address, value);
#endif
}

// Makes streaming stores visible before anything that this thread writes later.
inline void end_streaming() {
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

inline void stream_line(char *dst, const char *src) {
    for (int64_t i = 0; i < kLine; i += kVector) {
        store_streaming(dst + i, load<Vector<char>>(src + i));
    }
}

// Whole lines are streamed, the parts of lines at both ends stored.
inline void stream_run(char *dst, const char *src, int64_t nbytes) {
    const int64_t head = least(static_cast<int64_t>(-reinterpret_cast<uintptr_t>(dst) % kLine), nbytes);
    move_vectors(dst, src, head);
    int64_t at = head;
    for (; at + kLine <= nbytes; at += kLine) {
        stream_line(dst + at, src + at);
    }
    move_vectors(dst + at, src + at, nbytes - at);
}

struct MoveStreaming {
    int64_t nbytes;
    void operator()(char *dst, const char *src) const { stream_run(dst, src, nbytes); }
};

void stream_rows(const Piece &piece) {
    for_each_run(piece, MoveStreaming{piece.run});
    end_streaming();
}

// --------------------------------------------------------------------------------------------------- transpose

template <typename T>
constexpr int kPerLane = static_cast<int>(kLane / static_cast<int64_t>(sizeof(T)));
template <typename T>
constexpr int kPerVector = static_cast<int>(kVector / static_cast<int64_t>(sizeof(T)));

// The elements of one half of each lane of a and b, in turns.
template <typename T, int Half, typename V, int... I>
inline V interleave(V a, V b, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, b,
                                   (I / kPerLane<T> * kPerLane<T> + Half * kPerLane<T> / 2 + I % kPerLane<T> / 2 +
                                    I % 2 * static_cast<int>(sizeof...(I)))...);
}

// In each lane, element i of row j becomes element j of row i. Interleaving the first half of the rows with the second
// moves the top bit of the row number to the bottom of the element number; done for each bit, they have changed places.
template <int64_t Bytes, typename T>
inline void turn_lanes(typename VectorOf<T, Bytes>::Type (&rows)[kPerLane<T>]) {
    using V = typename VectorOf<T, Bytes>::Type;
    constexpr int kRows = kPerLane<T>;
    constexpr auto kIndices = std::make_integer_sequence<int, static_cast<int>(Bytes / int64_t{sizeof(T)})>();
    for (int step = 1; step < kRows; step *= 2) {
        V turned[kRows];
        for (int i = 0; i < kRows / 2; ++i) {
            turned[2 * i] = interleave<T, 0>(rows[i], rows[i + kRows / 2], kIndices);
            turned[2 * i + 1] = interleave<T, 1>(rows[i], rows[i + kRows / 2], kIndices);
        }
        for (int i = 0; i < kRows; ++i) {
            rows[i] = turned[i];
        }
    }
}

template <int L>
inline Lane<char> lane(Vector<char> vector) {
    return __builtin_shufflevector(vector, vector, L * 16, L * 16 + 1, L * 16 + 2, L * 16 + 3, L * 16 + 4, L * 16 + 5,
                                   L * 16 + 6, L * 16 + 7, L * 16 + 8, L * 16 + 9, L * 16 + 10, L * 16 + 11,
                                   L * 16 + 12, L * 16 + 13, L * 16 + 14, L * 16 + 15);
}

template <int... L>
inline void store_lanes(char *dst, int64_t step, Vector<char> vector, std::integer_sequence<int, L...>) {
    (store(dst + L * step, lane<L>(vector)), ...);
}

// A lane of rows by a vector of columns.
template <typename T>
inline void turn(char *dst, int64_t dst_step, const char *src, int64_t src_step) {
    constexpr int kRows = kPerLane<T>;
    Vector<T> rows[kRows];
    for (int i = 0; i < kRows; ++i) {
        rows[i] = load<Vector<T>>(src + i * src_step);
    }
    turn_lanes<kVector, T>(rows);
    for (int i = 0; i < kRows; ++i) {
        store_lanes(dst + i * dst_step, kRows * dst_step, reinterpret_cast<Vector<char>>(rows[i]),
                    std::make_integer_sequence<int, static_cast<int>(kVector / kLane)>());
    }
}

// Elements of a whole lane have nothing to be turned.
template <>
inline void turn<Element16>(char *dst, int64_t dst_step, const char *src, int64_t) {
    store_lanes(dst, dst_step, load<Vector<char>>(src),
                std::make_integer_sequence<int, static_cast<int>(kVector / kLane)>());
}

// --------------------------------------------------------------------------------- the edges of a transpose

// Bytes 8 and more of the two halves are those of the second one.
using Halves = typename VectorOf<uint64_t, kLane>::Type;

// The nbytes (1 to 16) at src, the rest zero, without reading more.
inline Lane<char> load_part(const char *src, int64_t nbytes) {
    Halves halves = {0, 0};
    if (nbytes == kLane) {
        return load<Lane<char>>(src);
    }
    if (nbytes >= 8) {
        halves[0] = load<uint64_t>(src);
        halves[1] = nbytes > 8 ? load<uint64_t>(src + nbytes - 8) >> (8 * (kLane - nbytes)) : 0;
    } else if (nbytes >= 4) {
        halves[0] = load<uint32_t>(src) | uint64_t{load<uint32_t>(src + nbytes - 4)} << (8 * (nbytes - 4));
    } else if (nbytes >= 2) {
        halves[0] = load<uint16_t>(src) | uint64_t{load<uint16_t>(src + nbytes - 2)} << (8 * (nbytes - 2));
    } else {
        halves[0] = load<uint8_t>(src);
    }
    return reinterpret_cast<Lane<char>>(halves);
}

// The first nbytes (1 to 16), without writing more.
inline void store_part(char *dst, Lane<char> value, int64_t nbytes) {
    const Halves halves = reinterpret_cast<Halves>(value);
    if (nbytes == kLane) {
        store(dst, value);
    } else if (nbytes >= 8) {
        store(dst, uint64_t{halves[0]});
        if (nbytes > 8) {
            store(dst + nbytes - 8, uint64_t{halves[0] >> (8 * (nbytes - 8)) | halves[1] << (8 * (kLane - nbytes))});
        }
    } else if (nbytes >= 4) {
        store(dst, static_cast<uint32_t>(halves[0]));
        store(dst + nbytes - 4, static_cast<uint32_t>(halves[0] >> (8 * (nbytes - 4))));
    } else if (nbytes >= 2) {
        store(dst, static_cast<uint16_t>(halves[0]));
        store(dst + nbytes - 2, static_cast<uint16_t>(halves[0] >> (8 * (nbytes - 2))));
    } else {
        store(dst, static_cast<uint8_t>(halves[0]));
    }
}

// Up to a lane of rows by up to a lane of columns; `readable` bytes may be read from src on.
template <typename T>
inline void turn_part(char *dst, int64_t dst_step, int64_t columns, const char *src, int64_t src_step, int64_t rows,
                      int64_t readable) {
    constexpr int64_t kSize = sizeof(T);
    Lane<T> lanes[kPerLane<T>] = {};
    for (int64_t i = 0; i < rows; ++i) {
        const bool whole = i * src_step + kLane <= readable;
        lanes[i] = reinterpret_cast<Lane<T>>(load_part(src + i * src_step, whole ? kLane : columns * kSize));
    }
    turn_lanes<kLane, T>(lanes);
    for (int64_t j = 0; j < columns; ++j) {
        store_part(dst + j * dst_step, reinterpret_cast<Lane<char>>(lanes[j]), rows * kSize);
    }
}

template <>
inline void turn_part<Element16>(char *dst, int64_t, int64_t, const char *src, int64_t, int64_t, int64_t) {
    store(dst, load<Lane<char>>(src));
}

// Any number of rows, and up to a vector of columns, the lane of rows at a time. Rows that follow one another closely
// may be read past their end, into the next.
template <typename T>
inline void turn_few_columns(char *dst, int64_t dst_step, int64_t columns, const char *src, int64_t src_step,
                             int64_t rows) {
    constexpr int64_t kSize = sizeof(T);
    constexpr int64_t kRows = kPerLane<T>;
    for (int64_t j = 0; j < columns; j += kRows) {
        const int64_t width = least(kRows, columns - j);
        const int64_t readable = src_step > 0 ? (rows - 1) * src_step + (columns - j) * kSize : 0;
        for (int64_t i = 0; i < rows; i += kRows) {
            turn_part<T>(dst + j * dst_step + i * kSize, dst_step, width, src + j * kSize + i * src_step, src_step,
                         least(kRows, rows - i), readable - i * src_step);
        }
    }
}

template <typename T>
inline void turn_columns(char *dst, int64_t dst_step, int64_t columns, const char *src, int64_t src_step,
                         int64_t rows) {
    constexpr int64_t kSize = sizeof(T);
    constexpr int64_t kRows = kPerLane<T>;
    int64_t i = 0;
    if (columns == kPerVector<T>) {
        for (; i + kRows <= rows; i += kRows) {
            turn<T>(dst + i * kSize, dst_step, src + i * src_step, src_step);
        }
    }
    if (i < rows) {
        turn_few_columns<T>(dst + i * kSize, dst_step, columns, src + i * src_step, src_step, rows - i);
    }
}

// ------------------------------------------------------------------------------------------ a few channels
//
// Two to four planes that become the channels of pixels, or the other way: a side of the transpose is too short for
// blocks, but the data is dense, so that vectors may run over into what comes next and is written, or read, again.

#if defined(__SSSE3__) || defined(__aarch64__)
constexpr bool kShufflesBytes = true;
#else
constexpr bool kShufflesBytes = false;
#endif

template <int Planes>
struct UnitOf {
    using Type = uint32_t;
};
template <>
struct UnitOf<2> {
    using Type = uint64_t;
};

template <typename T, int Channels>
struct Pixels {
    static constexpr int kPlanes = Channels == 2 ? 2 : 4;  // in registers; the fourth of three is no plane
    static constexpr int kSize = sizeof(T);
    static constexpr int kUnit = 16 / kPlanes;        // bytes of a plane in one lane of pixels
    static constexpr int kPerLane = kUnit / kSize;    // pixels in one lane
    static constexpr int kStep = kPlanes * kPerLane;  // pixels in as many lanes as there are planes
    static constexpr int kBytes = Channels * kSize;   // of one pixel
    static constexpr int kUsed = kPerLane * kBytes;   // bytes of a lane that are pixels
    // Where byte `at` of a lane of pixels is in a lane of units, and the other way; anywhere for bytes of neither.
    static constexpr int unit_byte(int at) {
        return at < kUsed ? at % kBytes / kSize * kUnit + at / kBytes * kSize + at % kSize : 0;
    }
    static constexpr int pixel_byte(int at) {
        return at / kUnit < Channels ? at % kUnit / kSize * kBytes + at / kUnit * kSize + at % kSize : 0;
    }
    template <int... I>
    static Lane<char> units_to_pixels(Lane<char> units, std::integer_sequence<int, I...>) {
        return __builtin_shufflevector(units, units, unit_byte(I)...);
    }
    template <int... I>
    static Lane<char> pixels_to_units(Lane<char> pixels, std::integer_sequence<int, I...>) {
        return __builtin_shufflevector(pixels, pixels, pixel_byte(I)...);
    }

    static void turn_units(Lane<char> (&lanes)[kPlanes]) {
        using Element = typename UnitOf<kPlanes>::Type;
        Lane<Element> units[kPlanes];
        for (int i = 0; i < kPlanes; ++i) {
            units[i] = reinterpret_cast<Lane<Element>>(lanes[i]);
        }
        turn_lanes<kLane, Element>(units);
        for (int i = 0; i < kPlanes; ++i) {
            lanes[i] = reinterpret_cast<Lane<char>>(units[i]);
        }
    }

    // Both return how many pixels are done: a few at the end may be left.
    static int64_t join_planes(char *dst, const char *src, int64_t plane_step, int64_t count) {
        int64_t at = 0;
        for (; (count - at - kStep) * kBytes >= kLane; at += kStep) {
            Lane<char> lanes[kPlanes] = {};
            for (int i = 0; i < Channels; ++i) {
                lanes[i] = load<Lane<char>>(src + i * plane_step + at * kSize);
            }
            turn_units(lanes);
            for (int i = 0; i < kPlanes; ++i) {
                store(dst + at * kBytes + i * kUsed, units_to_pixels(lanes[i], std::make_integer_sequence<int, 16>()));
            }
        }
        return at;
    }

    static int64_t split_planes(char *dst, int64_t plane_step, const char *src, int64_t count) {
        int64_t at = 0;
        for (; (count - at - kStep) * kBytes >= kLane; at += kStep) {
            Lane<char> lanes[kPlanes];
            for (int i = 0; i < kPlanes; ++i) {
                lanes[i] = pixels_to_units(load<Lane<char>>(src + at * kBytes + i * kUsed),
                                           std::make_integer_sequence<int, 16>());
            }
            turn_units(lanes);
            for (int i = 0; i < Channels; ++i) {
                store(dst + i * plane_step + at * kSize, lanes[i]);
            }
        }
        return at;
    }
};

// Calls `work` with the number of channels as a constant; 0 where there is no such kernel.
template <typename T, typename Work>
inline int64_t with_channels(int64_t channels, const Work &work) {
    if constexpr (kShufflesBytes && sizeof(T) <= 8) {
        if (channels == 2) {
            return work(Pixels<T, 2>());
        }
        if constexpr (sizeof(T) <= 4) {
            if (channels == 3) {
                return work(Pixels<T, 3>());
            }
            if (channels == 4) {
                return work(Pixels<T, 4>());
            }
        }
    }
    return 0;
}

// Both return how many indices of the long axis are done.
template <typename T>
inline int64_t join_channels(const Piece &piece) {
    const int64_t channels = piece.inner.extent;
    if (piece.outer.dst_step != channels * int64_t{sizeof(T)}) {
        return 0;
    }
    return with_channels<T>(channels, [&](auto pixels) {
        return pixels.join_planes(piece.dst, piece.src, piece.inner.src_step, piece.outer.extent);
    });
}

template <typename T>
inline int64_t split_channels(const Piece &piece) {
    const int64_t channels = piece.outer.extent;
    if (piece.inner.src_step != channels * int64_t{sizeof(T)}) {
        return 0;
    }
    return with_channels<T>(channels, [&](auto pixels) {
        return pixels.split_planes(piece.dst, piece.outer.dst_step, piece.src, piece.inner.extent);
    });
}

// Straight from one array to the other.
template <typename T>
void transpose_directly(const Piece &piece) {
    constexpr int64_t kSize = sizeof(T);
    constexpr int64_t kColumns = kPerVector<T>;
    const int64_t row = split_channels<T>(piece);
    for (int64_t j = row > 0 ? 0 : join_channels<T>(piece); j < piece.outer.extent; j += kColumns) {
        turn_columns<T>(piece.dst + j * piece.outer.dst_step + row * kSize, piece.outer.dst_step,
                        least(kColumns, piece.outer.extent - j), piece.src + j * kSize + row * piece.inner.src_step,
                        piece.inner.src_step, piece.inner.extent - row);
    }
}

// -------------------------------------------------------------------------------- transpose by way of a scratch

// Of the scratch: a row of a piece, and what it takes of the next piece to finish a line; an odd number of lines, so
// that equal places of successive rows are in different sets of the cache.
constexpr int64_t kRowPitch = kTurnRowBytes + kLine;

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
inline void turn_to_scratch(char *scratch, int64_t columns, const char *src, int64_t src_step, int64_t rows) {
    constexpr int64_t kSize = sizeof(T);
    constexpr int64_t kRows = 2 * kPerLane<T>;
    for (int64_t i = 0; i < rows; i += kRows) {
        const int64_t some = least(kRows, rows - i);
        prefetch_columns(src + i * src_step + kLine, src_step, some);
        for (int64_t j = 0; j < columns; j += kPerVector<T>) {
            turn_columns<T>(scratch + j * kRowPitch + i * kSize, kRowPitch, least(kPerVector<T>, columns - j),
                            src + i * src_step + j * kSize, src_step, some);
        }
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
        turn_to_scratch<T>(scratch, columns, piece.src + j * kSize, piece.inner.src_step, rows);
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
    constexpr int64_t kWay = 4096;
    const int64_t stride = least(dst_step & -dst_step, kWay);
    return kPerVector<T> * stride > 8 * kWay;
}

template <typename T>
void transpose(const Piece &piece) {
    const int64_t row = piece.inner.extent * int64_t{sizeof(T)};
    if (row >= kLine && row <= kTurnRowBytes && piece.outer.extent >= kPerVector<T> &&
        rows_crowd<T>(piece.outer.dst_step)) {
        transpose_buffered<T, false>(piece);
    } else {
        transpose_directly<T>(piece);
    }
}

constexpr SimdKernels make_kernels(const char *name) {
    return {name,
            copy_rows,
            stream_rows,
            {transpose<uint8_t>, transpose<uint16_t>, transpose<uint32_t>, transpose<uint64_t>, transpose<Element16>},
            {transpose_streaming<uint8_t>, transpose_streaming<uint16_t>, transpose_streaming<uint32_t>,
             transpose_streaming<uint64_t>, transpose_streaming<Element16>}};
}

}  // namespace
}  // namespace via
