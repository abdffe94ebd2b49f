// Copies many runs of adjacent bytes in one launch. A group of 32 threads takes a copy, or a piece of a large one.
#pragma once

#include "cuda/kernels/device.cuh"

namespace via::kernels {

using Quad = Words<16>;

struct CopyPiece {
    uint64_t dst;
    uint64_t src;
    uint64_t nbytes;  // fits 32 bits
};

// Returns the 16 bytes that begin `shift` bytes (1 to 15) into `low`.
VIA_DEVICE Quad shifted(const Quad &low, const Quad &high, uint32_t shift) {
    const bool two = (shift & 8) != 0;
    const bool one = (shift & 4) != 0;
    const uint32_t a0 = two ? low.at[2] : low.at[0];
    const uint32_t a1 = two ? low.at[3] : low.at[1];
    const uint32_t a2 = two ? high.at[0] : low.at[2];
    const uint32_t a3 = two ? high.at[1] : low.at[3];
    const uint32_t a4 = two ? high.at[2] : high.at[0];
    const uint32_t a5 = two ? high.at[3] : high.at[1];
    const uint32_t b0 = one ? a1 : a0;
    const uint32_t b1 = one ? a2 : a1;
    const uint32_t b2 = one ? a3 : a2;
    const uint32_t b3 = one ? a4 : a3;
    const uint32_t b4 = one ? a5 : a4;
    const uint32_t selector = 0x3210 + 0x1111 * (shift & 3);
    return {{permute_bytes(b0, b1, selector), permute_bytes(b1, b2, selector), permute_bytes(b2, b3, selector),
             permute_bytes(b3, b4, selector)}};
}

// Copies a thread's share of a piece, whatever the alignment. `lane` is its number in the group.
class PieceCopy {
public:
    static constexpr uint32_t kLanes = 32;

    VIA_DEVICE static void run(const CopyPiece &piece, uint32_t lane) {
        const auto nbytes = static_cast<uint32_t>(piece.nbytes);
        uint32_t head = static_cast<uint32_t>(0 - piece.dst) & 15;
        const uint32_t shift = static_cast<uint32_t>(piece.src + head) & 15;
        // Reads whole quads of the source, none of which reaches past either end.
        head += head < shift ? 16 : 0;
        const uint32_t after = shift != 0 ? 16 - shift : 0;
        if (nbytes < head + after + 16) {
            return copy_bytes(piece.dst, piece.src, nbytes, lane);
        }
        const uint32_t quads = (nbytes - head - after) / 16;
        const uint32_t done = head + quads * 16;
        copy_bytes(piece.dst, piece.src, head, lane);
        if (shift == 0) {
            copy_quads(piece.dst + head, piece.src + head, quads, lane);
        } else {
            copy_shifted(piece.dst + head, piece.src + head - shift, quads, shift, lane);
        }
        copy_bytes(piece.dst + done, piece.src + done, nbytes - done, lane);
    }

private:
    // Issues all loads of a round before the first is used.
    static constexpr uint32_t kQuads = 8;
    static constexpr uint32_t kShifted = 4;
    static constexpr uint64_t kQuad = sizeof(Quad);
    static constexpr uint64_t kStep = kLanes * kQuad;

    VIA_DEVICE static void copy_bytes(uint64_t dst, uint64_t src, uint32_t count, uint32_t lane) {
        VIA_NO_UNROLL
        for (uint32_t at = lane; at < count; at += kLanes) {
            store_global(dst + at, load_global<uint8_t>(src + at));
        }
    }

    VIA_DEVICE static void copy_quads(uint64_t dst, uint64_t src, uint32_t count, uint32_t lane) {
        const uint64_t from_dst = src - dst;
        uint64_t to = dst + lane * kQuad;
        VIA_NO_UNROLL
        for (uint32_t at = lane; at < count; at += kQuads * kLanes, to += kQuads * kStep) {
            Quad values[kQuads];
            VIA_UNROLL
            for (uint32_t i = 0; i < kQuads; ++i) {
                if (at + i * kLanes < count) {
                    values[i] = load_global<Quad>(to + from_dst + i * kStep);
                }
            }
            VIA_UNROLL
            for (uint32_t i = 0; i < kQuads; ++i) {
                if (at + i * kLanes < count) {
                    store_global(to + i * kStep, values[i]);
                }
            }
        }
    }

    // Copies from `src`, a multiple of 16 that is `shift` bytes before the first wanted byte.
    VIA_DEVICE static void copy_shifted(uint64_t dst, uint64_t src, uint32_t count, uint32_t shift, uint32_t lane) {
        const uint64_t from_dst = src - dst;
        uint64_t to = dst + lane * kQuad;
        VIA_NO_UNROLL
        for (uint32_t at = lane; at < count; at += kShifted * kLanes, to += kShifted * kStep) {
            Quad low[kShifted];
            Quad high[kShifted];
            VIA_UNROLL
            for (uint32_t i = 0; i < kShifted; ++i) {
                if (at + i * kLanes < count) {
                    low[i] = load_global<Quad>(to + from_dst + i * kStep);
                    high[i] = load_global<Quad>(to + from_dst + i * kStep + kQuad);
                }
            }
            VIA_UNROLL
            for (uint32_t i = 0; i < kShifted; ++i) {
                if (at + i * kLanes < count) {
                    store_global(to + i * kStep, shifted(low[i], high[i], shift));
                }
            }
        }
    }
};

struct CopyGroups {
    static constexpr uint32_t kThreads = 256;
    static constexpr uint32_t kLeastBlocks = 0;
    static constexpr uint32_t kGroups = kThreads / PieceCopy::kLanes;
};

// Pieces in the parameters of the launch, as many as 4096 bytes hold.
struct CopyList : CopyGroups {
    static constexpr uint32_t kPieces = 168;
    struct Params {
        uint32_t count;
        CopyPiece pieces[kPieces];
    };
    struct Shared {};

    VIA_DEVICE static void run(const Params &params, Shared &, uint32_t block, const Threads &threads) {
        threads.each([&](uint32_t thread) {
            const uint32_t index = block * kGroups + thread / PieceCopy::kLanes;
            if (index < params.count) {
                PieceCopy::run(params.pieces[index], thread % PieceCopy::kLanes);
            }
        });
    }
};

// Pieces in host memory that the device reaches. A block fetches those of all its groups at once.
struct CopyTable : CopyGroups {
    struct Params {
        uint64_t pieces;
        uint32_t count;
    };
    static constexpr uint32_t kWords = sizeof(CopyPiece) / sizeof(uint64_t);
    struct Shared {
        uint64_t words[kGroups * kWords];
    };

    VIA_DEVICE static void run(const Params &params, Shared &shared, uint32_t block, const Threads &threads) {
        const uint32_t first = block * kGroups;
        const uint32_t mine = params.count - first < kGroups ? params.count - first : kGroups;
        threads.each([&](uint32_t thread) {
            if (thread < mine * kWords) {
                const Words<8> word =
                    load_global<Words<8>>(params.pieces + (uint64_t{first} * kWords + thread) * sizeof(uint64_t));
                shared.words[thread] = uint64_t{word.at[1]} << 32 | word.at[0];
            }
        });
        threads.wait();
        threads.each([&](uint32_t thread) {
            const uint32_t group = thread / PieceCopy::kLanes;
            if (group < mine) {
                const uint64_t *words = shared.words + group * kWords;
                PieceCopy::run({words[0], words[1], words[2]}, thread % PieceCopy::kLanes);
            }
        });
    }
};

static_assert(sizeof(CopyList::Params) <= 4096, "what any driver passes with a launch");

}  // namespace via::kernels

// The kernels.
#define VIA_BATCH_KERNELS(KERNEL)   \
    KERNEL(via_copy_list, CopyList) \
    KERNEL(via_copy_table, CopyTable)
