// Kernels that copy runs of bytes, with ordinary and with streaming stores: see simd.hpp.
#pragma once

#include "copy/host/panels.hpp"
#include "copy/host/simd_vector.hpp"
#include "core/base/copy_contiguous.hpp"

namespace via {
namespace {

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

// Loads all vectors before it stores the first: a load waits for a store just before it to the same place of another
// page (core/base/copy_contiguous.cpp).
template <int64_t Count, auto Store = store<Vector<char>>>
inline void move_constant(char *dst, const char *src) {
    Vector<char> values[Count];
    for (int64_t i = 0; i < Count; ++i) {
        values[i] = load<Vector<char>>(src + i * kVector);
    }
    for (int64_t i = 0; i < Count; ++i) {
        Store(dst + i * kVector, values[i]);
    }
}

template <int64_t Count>
struct MoveConstant {
    void operator()(char *dst, const char *src) const { move_constant<Count>(dst, src); }
};

// On copies of the loops: for all the compiler knows, a store of bytes may change what is behind a reference.
template <typename Move>
inline void for_each_run(const Piece &piece, const Move move) {
    const Axis inner = piece.axes[0];
    const Axis outer = piece.axes[1];
    for_each_panel(piece, [inner, outer, move](char *dst, const char *src) {
        for (int64_t j = 0; j < outer.extent; ++j, dst += outer.dst_step, src += outer.src_step) {
            char *to = dst;
            const char *from = src;
            for (int64_t i = 0; i < inner.extent; ++i, to += inner.dst_step, from += inner.src_step) {
                move(to, from);
            }
        }
    });
}

constexpr int64_t kLongRun = 2048;

// Reads the same run of the next piece ahead, into the second-level cache: the first level waits for no more than a few
// lines at once.
inline void copy_rows_ahead(const Piece &piece) {
    for_each_run(piece, [nbytes = piece.run, ahead = piece.ahead](char *dst, const char *src) {
        for (int64_t at = 0; at < nbytes; at += kLine) {
            __builtin_prefetch(src + at + ahead, 0, 2);
        }
        move_vectors(dst, src, nbytes);
    });
}

void copy_rows(const Piece &piece) {
    if (piece.ahead != 0 && piece.run < kLongRun) {
        return copy_rows_ahead(piece);
    }
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
                // The C library knows best how to copy what is long.
                return for_each_run(piece,
                                    [run = piece.run](char *dst, const char *src) { copy_contiguous(dst, src, run); });
            }
            return for_each_run(piece, [run = piece.run](char *dst, const char *src) { move_vectors(dst, src, run); });
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

// Whole lines are streamed, the parts of lines at both ends stored.
inline void stream_run(char *dst, const char *src, int64_t nbytes) {
    const int64_t head = least(static_cast<int64_t>(-reinterpret_cast<uintptr_t>(dst) % kLine), nbytes);
    move_vectors(dst, src, head);
    int64_t at = head;
    for (; at + 4 * kVector <= nbytes; at += 4 * kVector) {
        move_constant<4, store_streaming>(dst + at, src + at);
    }
    for (; at + kLine <= nbytes; at += kLine) {
        move_constant<kLine / kVector, store_streaming>(dst + at, src + at);
    }
    move_vectors(dst + at, src + at, nbytes - at);
}

void stream_rows(const Piece &piece) {
    for_each_run(piece, [run = piece.run](char *dst, const char *src) { stream_run(dst, src, run); });
}

}  // namespace
}  // namespace via
