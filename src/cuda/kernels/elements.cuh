// Element by element, whatever the steps: neighbouring threads write neighbouring elements of the destination.
#pragma once

#include "cuda/kernels/divisor.cuh"

namespace via::kernels {

// Steps in elements. Narrow: every offset fits 32 bits, and there are few axes, so that a launch passes little.
struct Narrow {
    using Index = uint32_t;
    using Step = int32_t;
    static constexpr int32_t kAxes = 10;
};
struct Wide {
    using Index = uint64_t;
    using Step = int64_t;
    static constexpr int32_t kAxes = 64;
};

template <class Width>
struct ElementsParams {
    struct Axis {
        Divisor<typename Width::Index> extent;  // not of the last axis, which takes what is left
        typename Width::Step dst_step;
        typename Width::Step src_step;
    };
    uint64_t dst;
    uint64_t src;
    typename Width::Index count;
    int32_t ndim;  // at least 1
    Axis axes[Width::kAxes];
};

template <class Element, class Width>
struct Elements {
    using Params = ElementsParams<Width>;
    using Index = typename Width::Index;
    using Step = typename Width::Step;
    struct Shared {};
    static constexpr uint32_t kThreads = 256;
    static constexpr uint32_t kPerThread = 4;
    static constexpr uint32_t kPerBlock = kThreads * kPerThread;
    static constexpr int kPhases = 1;

    struct Place {
        Step dst;
        Step src;
    };

    VIA_DEVICE static Place place_of(const Params &params, Index index) {
        Place place{0, 0};
        const int32_t last = params.ndim - 1;
        for (int32_t i = 0; i < last; ++i) {
            const auto &axis = params.axes[i];
            const Index rest = divide(index, axis.extent);
            const Step at = static_cast<Step>(index - rest * axis.extent.divisor);
            place.dst += at * axis.dst_step;
            place.src += at * axis.src_step;
            index = rest;
        }
        place.dst += static_cast<Step>(index) * params.axes[last].dst_step;
        place.src += static_cast<Step>(index) * params.axes[last].src_step;
        return place;
    }

    VIA_DEVICE static uint64_t address(uint64_t start, Step offset) {
        return start + static_cast<uint64_t>(static_cast<int64_t>(offset) * static_cast<int64_t>(sizeof(Element)));
    }

    // All loads are on their way before the first is needed.
    template <int kPhase>
    VIA_DEVICE static void phase(const Params &params, Shared &, uint32_t block, uint32_t thread) {
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
