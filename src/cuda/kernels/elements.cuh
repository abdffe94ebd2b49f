// Element by element, whatever the steps.
//
// How it works. Neighbouring threads store neighbouring elements of dst, and each walks along one axis: the planner
// takes the one along which src moves least, so that a thread's elements share sectors, and the divisions that find its
// place serve all of them. The other axes are numbered in the order of dst, as many as it takes to fill blocks; what is
// outside of these is the loop of the blocks. Where that leaves too little to number, threads number a part of the axis
// that they walk along, and go from part to part.
#pragma once

#include "cuda/kernels/divisor.cuh"

namespace via::kernels {

constexpr int kFewAxes = 6;    // so that a launch passes little
constexpr int kManyAxes = 62;  // as many as a copy has: along each there are two elements or more

// kAxes: as many numbered ones, and as many outside.
template <int kMostAxes>
struct ElementsParams {
    static constexpr int kAxes = kMostAxes;
    uint64_t dst;
    uint64_t src;
    uint32_t count;            // of the numbered axes together
    Divisor<uint32_t> chunks;  // blocks along these
    Divisor<uint32_t> walks;   // blocks along the axis that is walked along
    Divisor<uint32_t> unit;    // its indices from one element of a thread to the next
    uint32_t each;             // elements of a thread
    bool is_shared;            // its first `unit` indices are numbered, as the last axis
    int64_t extent;            // of it
    int64_t dst_step;          // bytes from one element of a thread to the next
    int64_t src_step;
    int32_t numbered_ndim;  // at least 1; the last one takes what is left
    int32_t outer_ndim;
    OuterAxis numbered[kMostAxes];
    OuterAxis outer[kMostAxes];
};
static_assert(sizeof(ElementsParams<kManyAxes>) <= 4096, "what any driver passes with a launch");

template <int kBytes, int kAxes>
struct Elements {
    using Element = Word<kBytes>;
    using Params = ElementsParams<kAxes>;
    struct Shared {};
    static constexpr uint32_t kThreads = 256;
    static constexpr uint32_t kLeastBlocks = 0;
    static constexpr uint32_t kAtOnce = kBytes == 16 ? 2 : kBytes <= 2 ? 8 : 4;  // loaded before the first is stored
    static constexpr uint32_t kMostEach = kBytes <= 2 ? 16 : 32 / kBytes;        // at most a sector of src

    // Where a thread begins, and how many elements it has.
    struct Place {
        uint64_t dst;
        uint64_t src;
        uint32_t count;
    };

    // Moves along all axes; the last takes what is left. Returns the index along it.
    VIA_DEVICE static uint32_t move_along(const OuterAxis (&axes)[kAxes], int32_t ndim, uint32_t number, Place *place) {
        VIA_UNROLL_BY(kAxes <= kFewAxes ? kAxes : 1)
        for (int32_t i = 0; i < kAxes; ++i) {
            if (i + 1 >= ndim) {
                move_by(axes[i], number, &place->dst, &place->src);
                break;
            }
            move_by(axes[i], take_digit(&number, axes[i].extent), &place->dst, &place->src);
        }
        return number;
    }

    VIA_DEVICE static Place place_of(const Params &params, uint32_t block, uint32_t thread) {
        Place place{params.dst, params.src, 0};
        const uint32_t chunk = take_digit(&block, params.chunks);
        const int64_t first = static_cast<int64_t>(take_digit(&block, params.walks)) * params.each;
        move_by(params, first, &place.dst, &place.src);
        if (params.outer_ndim > 0) {
            move_along(params.outer, params.outer_ndim, block, &place);
        }
        const uint32_t number = chunk * kThreads + thread;
        const uint32_t last = move_along(params.numbered, params.numbered_ndim, number, &place);
        const uint32_t unit = params.unit.divisor;
        const uint32_t all = params.each * unit;
        const int64_t rest = params.extent - first * unit;
        const uint32_t left = rest < all ? static_cast<uint32_t>(rest) : all;
        place.count = left;
        if (params.is_shared) {
            place.count = last < left ? divide(left - last + unit - 1, params.unit) : 0;
        }
        place.count = number < params.count ? place.count : 0;
        return place;
    }

    // Copies a turn's elements, and issues all loads before the first is used. kFull: there are as many.
    template <bool kFull>
    VIA_DEVICE static void copy_turn(const Params &params, uint32_t count, Place *place) {
        Element values[kAtOnce] = {};
        VIA_UNROLL
        for (uint32_t i = 0; i < kAtOnce; ++i) {
            if (kFull || i < count) {
                values[i] = load_global<Element>(place->src);
            }
            place->src += static_cast<uint64_t>(params.src_step);
        }
        VIA_UNROLL
        for (uint32_t i = 0; i < kAtOnce; ++i) {
            if (kFull || i < count) {
                store_global(place->dst, values[i]);
            }
            place->dst += static_cast<uint64_t>(params.dst_step);
        }
    }

    VIA_DEVICE static void copy(const Params &params, uint32_t block, uint32_t thread) {
        Place place = place_of(params, block, thread);
        uint32_t left = place.count;
        VIA_NO_UNROLL
        for (; left >= kAtOnce; left -= kAtOnce) {
            copy_turn<true>(params, left, &place);
        }
        if (left > 0) {
            copy_turn<false>(params, left, &place);
        }
    }

    VIA_DEVICE static void run(const Params &params, Shared &, uint32_t block, const Threads &threads) {
        threads.each([&](uint32_t thread) { copy(params, block, thread); });
    }
};

}  // namespace via::kernels

// The kernels.
#define VIA_ELEMENTS_KERNELS(KERNEL)                    \
    KERNEL(via_elements_1, Elements<1, kFewAxes>)       \
    KERNEL(via_elements_2, Elements<2, kFewAxes>)       \
    KERNEL(via_elements_4, Elements<4, kFewAxes>)       \
    KERNEL(via_elements_8, Elements<8, kFewAxes>)       \
    KERNEL(via_elements_16, Elements<16, kFewAxes>)     \
    KERNEL(via_elements_many_1, Elements<1, kManyAxes>) \
    KERNEL(via_elements_many_2, Elements<2, kManyAxes>) \
    KERNEL(via_elements_many_4, Elements<4, kManyAxes>) \
    KERNEL(via_elements_many_8, Elements<8, kManyAxes>) \
    KERNEL(via_elements_many_16, Elements<16, kManyAxes>)
