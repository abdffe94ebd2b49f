// Element by element, whatever the steps: neighbouring threads write neighbouring elements of the destination.
#pragma once

#include "cuda/kernels/divisor.cuh"

namespace via::kernels {

template <class Width>
struct ElementsParams {
    struct Axis {
        Divisor<typename Width::Index> extent;  // not of the last axis, which takes what is left
        typename Width::Step dst_step;          // elements
        typename Width::Step src_step;
    };
    uint64_t dst;
    uint64_t src;
    typename Width::Index count;
    int32_t ndim;  // at least 1
    Axis axes[Width::kAxes];
};

template <int kBytes, class Width>
struct Elements {
    using Element = Word<kBytes>;
    using Params = ElementsParams<Width>;
    using Index = typename Width::Index;
    using Step = typename Width::Step;
    struct Shared {};
    static constexpr uint32_t kThreads = 256;
    static constexpr uint32_t kLeastBlocks = 0;
    static constexpr uint32_t kPerThread = 4;
    static constexpr uint32_t kPerBlock = kThreads * kPerThread;

    struct Place {
        Step dst;
        Step src;
    };

    VIA_DEVICE static Place place_of(const Params &params, Index index) {
        Place place{0, 0};
        const int32_t last = params.ndim - 1;
        for (int32_t i = 0; i < last; ++i) {
            const auto &axis = params.axes[i];
            const Step at = static_cast<Step>(take_digit(&index, axis.extent));
            place.dst += at * axis.dst_step;
            place.src += at * axis.src_step;
        }
        place.dst += static_cast<Step>(index) * params.axes[last].dst_step;
        place.src += static_cast<Step>(index) * params.axes[last].src_step;
        return place;
    }

    VIA_DEVICE static uint64_t address(uint64_t start, Step offset) {
        return start + static_cast<uint64_t>(static_cast<int64_t>(offset) * kBytes);
    }

    VIA_DEVICE static void run(const Params &params, Shared &, uint32_t block, const Threads &threads) {
        threads.each([&](uint32_t thread) { copy(params, block, thread); });
    }

    // Issues all loads before the first is used.
    VIA_DEVICE static void copy(const Params &params, uint32_t block, uint32_t thread) {
        const Index first = static_cast<Index>(block) * kPerBlock + thread;
        uint64_t to[kPerThread];
        Element values[kPerThread];
        VIA_UNROLL
        for (uint32_t i = 0; i < kPerThread; ++i) {
            const Index index = first + i * kThreads;
            if (index < params.count) {
                const Place place = place_of(params, index);
                to[i] = address(params.dst, place.dst);
                values[i] = load_global<Element>(address(params.src, place.src));
            }
        }
        VIA_UNROLL
        for (uint32_t i = 0; i < kPerThread; ++i) {
            if (first + i * kThreads < params.count) {
                store_global(to[i], values[i]);
            }
        }
    }
};

}  // namespace via::kernels

// The kernels.
#define VIA_ELEMENTS_KERNELS(KERNEL)               \
    KERNEL(via_elements_1, Elements<1, Narrow>)    \
    KERNEL(via_elements_2, Elements<2, Narrow>)    \
    KERNEL(via_elements_4, Elements<4, Narrow>)    \
    KERNEL(via_elements_8, Elements<8, Narrow>)    \
    KERNEL(via_elements_16, Elements<16, Narrow>)  \
    KERNEL(via_elements_wide_1, Elements<1, Wide>) \
    KERNEL(via_elements_wide_2, Elements<2, Wide>) \
    KERNEL(via_elements_wide_4, Elements<4, Wide>) \
    KERNEL(via_elements_wide_8, Elements<8, Wide>) \
    KERNEL(via_elements_wide_16, Elements<16, Wide>)
