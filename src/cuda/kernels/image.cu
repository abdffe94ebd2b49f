// Makes kernels of the structs. Compiled once for each file of kernels: VIA_CODE is that file, VIA_KERNELS its list.
#include VIA_CODE

namespace via::kernels {

template <class Kernel>
VIA_DEVICE void run_block(const typename Kernel::Params &params) {
    extern __shared__ __align__(16) unsigned char shared[];
    Kernel::run(params, *reinterpret_cast<typename Kernel::Shared *>(shared), blockIdx.x, Threads{});
}

}  // namespace via::kernels

// The type may hold commas. kLeastBlocks are to run on a multiprocessor at once, as far as registers go; 0 leaves that
// to the compiler.
#define VIA_DEFINE(name, ...)                                                                      \
    extern "C" __global__ void __launch_bounds__(__VA_ARGS__::kThreads, __VA_ARGS__::kLeastBlocks) \
        name(const __grid_constant__ __VA_ARGS__::Params params) {                                 \
        run_block<__VA_ARGS__>(params);                                                            \
    }

namespace via::kernels {
VIA_KERNELS(VIA_DEFINE)
}  // namespace via::kernels
