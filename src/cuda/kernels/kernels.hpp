// The kernels on the host's side: their numbers, what a launch needs to know, and their machine code.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/kernels/batch.cuh"
#include "cuda/kernels/box.cuh"
#include "cuda/kernels/channels.cuh"
#include "cuda/kernels/convert.cuh"
#include "cuda/kernels/elements.cuh"
#include "cuda/kernels/indexed.cuh"
#include "cuda/kernels/rows.cuh"
#include "cuda/kernels/tile.cuh"

namespace via::kernels {

// Every kernel: KERNEL(name, type), the type being one of via::kernels, which may hold commas.
#define VIA_ALL_KERNELS(KERNEL)  \
    VIA_CHANNELS_KERNELS(KERNEL) \
    VIA_CONVERT_KERNELS(KERNEL)  \
    VIA_ELEMENTS_KERNELS(KERNEL) \
    VIA_INDEXED_KERNELS(KERNEL)  \
    VIA_BOX_KERNELS(KERNEL)      \
    VIA_ROWS_KERNELS(KERNEL)     \
    VIA_TILE_KERNELS(KERNEL)     \
    VIA_BATCH_KERNELS(KERNEL)

enum class Id : int32_t {
#define VIA_NAME(name, ...) name,
    VIA_ALL_KERNELS(VIA_NAME)
#undef VIA_NAME
        count
};

struct Info {
    const char *name;
    uint32_t threads;       // of a block
    uint32_t shared_bytes;  // of a block
};

namespace detail {

// Returns 0 for an empty struct, which has a size but takes no memory.
template <class Kernel>
constexpr uint32_t shared_bytes() {
    return std::is_empty_v<typename Kernel::Shared> ? 0 : sizeof(typename Kernel::Shared);
}

}  // namespace detail

inline constexpr Info kInfos[] = {
#define VIA_INFO(name, ...) {#name, __VA_ARGS__::kThreads, detail::shared_bytes<__VA_ARGS__>()},
    VIA_ALL_KERNELS(VIA_INFO)
#undef VIA_INFO
};

constexpr const Info &info(Id id) { return kInfos[static_cast<int32_t>(id)]; }

// ------------------------------------------------------------------------------------------------ machine code

// Fat binaries, the last followed by nullptr; none in a build without nvcc.
extern const void *const images[];

// Version of the Toolkit that they were built with, as cuDriverGetVersion counts: 13000.
extern const int32_t toolkit_version;

// The reason why there are none, or "".
extern const char *const why_no_images;

}  // namespace via::kernels
