// What makes kernels of the structs: a .cu file includes its .def behind this, inside the namespace.
#pragma once

#include "cuda/kernels/device.cuh"

namespace via::kernels {

template <class Kernel, int kPhase>
VIA_DEVICE void run_phases(const typename Kernel::Params &params, typename Kernel::Shared &shared) {
    Kernel::template phase<kPhase>(params, shared, blockIdx.x, threadIdx.x);
    if constexpr (kPhase + 1 < Kernel::kPhases) {
        __syncthreads();
        run_phases<Kernel, kPhase + 1>(params, shared);
    }
}

template <class Kernel>
VIA_DEVICE void run(const typename Kernel::Params &params) {
    extern __shared__ __align__(16) unsigned char shared[];
    run_phases<Kernel, 0>(params, *reinterpret_cast<typename Kernel::Shared *>(shared));
}

}  // namespace via::kernels

// The type may hold commas.
#define VIA_KERNEL(name, ...)                                           \
    extern "C" __global__ void __launch_bounds__(__VA_ARGS__::kThreads) \
        name(const __grid_constant__ __VA_ARGS__::Params params) {      \
        run<__VA_ARGS__>(params);                                       \
    }
