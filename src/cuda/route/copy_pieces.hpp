// Copies that go piece by piece by way of a buffer: the one loop of all of them.
#pragma once

#include "cuda/layout/packed_order.hpp"

namespace via::cuda {

// Cuts the order into pieces of at most `length(bytes left)` bytes. For each of them `buffer(number)` is an address,
// `pack` is given the move into it and `unpack` the move out of it.
template <class Length, class Buffer, class Pack, class Unpack>
Status copy_pieces(const PackedOrder &order, const Length &length, const Buffer &buffer, const Pack &pack,
                   const Unpack &unpack) {
    int64_t number = 0;
    for (int64_t offset = 0; offset < order.nbytes; ++number) {
        const int64_t most = length(order.nbytes - offset);
        const Slab piece = cut_slab(order, offset, order.nbytes, most, most);
        void *memory = buffer(number);
        Move move;
        make_packing(order, piece, memory, &move);
        VIA_TRY(pack(move, number));
        make_unpacking(order, piece, memory, &move);
        VIA_TRY(unpack(move, number));
        offset += piece.nbytes;
    }
    return VIA_OK;
}

// The same with one buffer, and pieces of one size.
template <class Pack, class Unpack>
Status copy_by_buffer(const PackedOrder &order, int64_t most, void *buffer, const Pack &pack, const Unpack &unpack) {
    return copy_pieces(
        order, [&](int64_t) { return most; }, [&](int64_t) { return buffer; },
        [&](const Move &move, int64_t) { return pack(move); }, [&](const Move &move, int64_t) { return unpack(move); });
}

}  // namespace via::cuda
