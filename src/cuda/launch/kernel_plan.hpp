// Plans how a kernel does a strided copy: a value made without a GPU, to be printed, tested, and then launched.
//
// How it works
//
// find_shape makes a Shape of a transfer: elements of 1 to 16 bytes, and axes with steps on both sides. dst is fast
// along the first axes, and what matters is where src is fast:
//
//   Elements   a thread for some elements along one axis. Any layout, and copies of up to 2 MiB, which the cache holds
//   Rows       src and dst are adjacent along the same axis, from anywhere: a thread stores whole sixteens of dst
//   Channels   two to four channels become pixels, or the reverse: a thread transposes them in registers
//   Tiles      src is adjacent along another axis than dst: squares of sixteens, transposed in shared memory
//   Box        any layout with runs on both sides: runs of src in shared memory, and tables of where elements are
//
// A planner returns false if its kernel does not apply. plan_kernel takes the plan of the least estimated cost: the
// sectors of 32 bytes that both sides move, those of dst that are stored in parts, and the work of blocks
// (kernel_cost.hpp, kernel_plan_box.cpp). `./dev bench layouts gpu` shows where the choice loses. Comparing takes up to
// 50 us of the host: plan_cache.hpp remembers plans by layout.
//
// A plan holds the kernel's number (kernels.hpp), its grid, and its parameters, which travel by value with the launch.
// Divisions by extents are multiplications by constants that the planner computes (divisor.cuh).
//
// module.hpp loads the kernels of a context once. kernel_copy.hpp plans, loads and launches, in the context that
// reaches the memory. The kernels are C++ that also compiles for the host: tests/unit/kernels.cpp and the fake driver
// run the same source thread by thread.
#pragma once

#include <bit>

#include "core/array/array.hpp"
#include "core/layout/tiles.hpp"
#include "cuda/kernels/kernels.hpp"
#include "cuda/transfer.hpp"

namespace via::cuda {

enum class KernelRoute : int32_t {
    Elements,  // element by element
    Rows,      // runs adjacent in both that begin anywhere, to whole sixteens of dst
    Channels,  // two to four of them joined into pixels, or split
    Tiles,     // elements adjacent in dst along one index and in src along another
    Box        // any layout that has runs on both sides
};

// The parameters that a launch passes by value: the Params of the kernel.
union KernelParams {
    KernelParams() {}
    kernels::ElementsParams<kernels::kFewAxes> elements;
    kernels::ElementsParams<kernels::kManyAxes> elements_many;
    kernels::RowsParams<kernels::Narrow> rows;
    kernels::RowsParams<kernels::Wide> rows_wide;
    kernels::ChannelsParams channels;
    kernels::TileParams tile;
    kernels::BoxParams box;
};

struct KernelPlan {
    KernelRoute route;
    kernels::Id kernel;
    uint32_t blocks;
    int32_t element;  // bytes that stay together
    int32_t word;     // bytes that are moved at once
    int64_t tile[2];  // elements of a tile along the runs of dst and of src; 0 where there is none
    double cost;      // estimated microseconds of the stream
    bool is_wide;     // rows have offsets of 64 bits
    bool has_many_axes;
    KernelParams params;
};

// Plans a transfer that has loops.
void plan_kernel(const Transfer &transfer, KernelPlan *out_plan, FarSide far_side = FarSide::None);

// Describes the plan: "tiles of 64 x 64, elements of 4 bytes, 16 at once, via_tile_4, 65536 blocks of 256 threads".
void describe_kernel(const KernelPlan &plan, TextBuffer *text);

// ------------------------------------------------------------------------------------------------ for the planners

// A strided copy as the planners see it: elements of 1, 2, 4, 8 or 16 bytes. Every address and step is a multiple of
// the element. If several elements make a run, they are the first axis. Steps are in bytes.
struct Shape {
    uint64_t dst;
    uint64_t src;
    kernels::Extent extent;  // of src
    int64_t nbytes;
    int64_t run;  // bytes adjacent in both
    int32_t element;
    FarSide far_side;
    int32_t ndim;  // at least 1
    Axis axes[VIA_MAX_NDIM + 1];
};

void find_shape(const Transfer &transfer, Shape *out_shape);

// Moves a plan to memory that is so many bytes further on. Both distances are multiples of kPlanAlignment, a sector:
// where in a sector memory begins is all that a plan knows of its address.
constexpr uint64_t kPlanAlignment = 32;
void move_plan(uint64_t dst_distance, uint64_t src_distance, KernelPlan *plan);

// Chooses among the planners.
void plan_kernel_of(const Shape &shape, KernelPlan *out_plan);

// Returns false, and leaves the plan unspecified, if the kernel does not apply.
bool plan_rows(const Shape &shape, KernelPlan *plan);

// Reverses an axis along which src goes backwards; then dst does.
void make_forward(Shape *shape, int32_t axis);

constexpr bool fits_index(int64_t count) { return count <= INT32_MAX; }

// Returns the kernel of elements of 1, 2, 4, 8 or 16 bytes, whose kernels follow one another from `first` on.
constexpr kernels::Id kernel_of_size(kernels::Id first, int32_t element) {
    return static_cast<kernels::Id>(static_cast<int32_t>(first) + std::countr_zero(static_cast<uint32_t>(element)));
}

// Adds the axes that no tile goes along, in the order of dst, to a kernel's parameters. Returns false if there are too
// many.
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
        params->outer[params->outer_ndim++] = kernels::make_loop<uint32_t>(axis);
    }
    return true;
}

}  // namespace via::cuda
