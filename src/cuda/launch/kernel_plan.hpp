// How a strided copy is done by a kernel: a value made without a GPU, which can be printed, tested, and then launched.
#pragma once

#include "core/array/array.hpp"
#include "cuda/kernels/kernels.hpp"
#include "cuda/transfer.hpp"

namespace via::cuda {

enum class KernelRoute : int32_t {
    Elements,  // element by element
    Rows,      // runs adjacent in both that begin anywhere, to whole sixteens of dst
    Channels,  // two to four of them put together into pixels or taken apart
    Tiles,     // elements adjacent in dst along one index and in src along another
    Gather,    // the same where the runs share axes
    Box        // any layout that has runs on both sides
};

const char *route_name(KernelRoute route);

// What the launch passes by value: that of the kernel's Params.
union KernelParams {
    KernelParams() {}
    kernels::ElementsParams<kernels::Narrow> elements;
    kernels::ElementsParams<kernels::Wide> elements_wide;
    kernels::RowsParams<kernels::Narrow> rows;
    kernels::RowsParams<kernels::Wide> rows_wide;
    kernels::ChannelsParams channels;
    kernels::TileParams tile;
    kernels::GatherParams gather;
    kernels::BoxParams box;
};

struct KernelPlan {
    KernelRoute route;
    kernels::Id kernel;
    uint32_t blocks;
    int32_t element;  // bytes that stay together
    int32_t word;     // bytes that are moved at once
    int64_t tile[2];  // elements of a tile along the runs of dst and of src; 0 where there is none
    KernelParams params;
};

// The transfer has loops.
void plan_kernel(const Transfer &transfer, KernelPlan *out_plan);

// "tiles of 64 x 64 elements of 4 bytes, 16 bytes at once, via_tile_4_16, 65536 blocks of 256 threads".
void describe_kernel(const KernelPlan &plan, int64_t capacity, char *out_text);

// ------------------------------------------------------------------------------------------------ for the planners

// A strided copy as the planners see it: elements of 1, 2, 4, 8 or 16 bytes, which every address and step is a multiple
// of. Where several of them make a run, they are the first axis. Steps are in bytes.
struct Shape {
    uint64_t dst;
    uint64_t src;
    kernels::Extent extent;  // of src
    int64_t nbytes;
    int64_t run;  // bytes adjacent in both
    int32_t element;
    int32_t ndim;  // at least 1
    Axis axes[VIA_MAX_NDIM + 1];
};

void find_shape(const Transfer &transfer, Shape *out_shape);

// Each is false, the plan being unspecified, where the copy is none for its kernels; those of elements do any.
void plan_elements(const Shape &shape, KernelPlan *plan);
bool plan_rows(const Shape &shape, KernelPlan *plan);

// Turned round where src goes backwards along it; dst does then instead.
void make_forward(Shape *shape, int32_t axis);

constexpr int64_t divide_up(int64_t count, int64_t by) { return (count + by - 1) / by; }
constexpr bool fits_index(int64_t count) { return count <= INT32_MAX; }

// Axes that no tile is cut along, in the order of dst, to the params of a kernel. False if there are too many.
template <class Params>
bool fill_outer(const Shape &shape, uint64_t inner_axes, Params *params, int64_t *tiles) {
    params->outer_ndim = 0;
    for (int32_t i = 0; i < shape.ndim; ++i) {
        const Axis &axis = shape.axes[i];
        if ((inner_axes >> i & 1) != 0) {
            continue;
        }
        if (params->outer_ndim == Params::kOuterAxes || !fits_index(axis.extent) || axis.extent > INT32_MAX / *tiles) {
            return false;
        }
        *tiles *= axis.extent;
        params->outer[params->outer_ndim++] = {kernels::make_divisor<uint32_t>(axis.extent), axis.dst_step,
                                               axis.src_step};
    }
    return true;
}

}  // namespace via::cuda
