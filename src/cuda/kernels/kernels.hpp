// The kernels as the host knows them: by number, with what a launch needs to know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cuda/kernels/batch.cuh"
#include "cuda/kernels/box.cuh"
#include "cuda/kernels/channels.cuh"
#include "cuda/kernels/elements.cuh"
#include "cuda/kernels/gather.cuh"
#include "cuda/kernels/rows.cuh"
#include "cuda/kernels/tile.cuh"

namespace via::kernels {

enum class Id : int32_t {
#define VIA_KERNEL(name, ...) name,
#include "cuda/kernels/kernels.def"
#undef VIA_KERNEL
    count
};

struct Info {
    const char *name;
    uint32_t threads;       // of a block
    uint32_t shared_bytes;  // of a block
};

namespace detail {

// An empty struct has a size, and takes no memory.
template <class Kernel>
constexpr uint32_t shared_bytes() {
    return std::is_empty_v<typename Kernel::Shared> ? 0 : sizeof(typename Kernel::Shared);
}

}  // namespace detail

inline constexpr Info kInfos[] = {
#define VIA_KERNEL(name, ...) {#name, __VA_ARGS__::kThreads, detail::shared_bytes<__VA_ARGS__>()},
#include "cuda/kernels/kernels.def"
#undef VIA_KERNEL
};

constexpr const Info &info(Id id) { return kInfos[static_cast<int32_t>(id)]; }

}  // namespace via::kernels
