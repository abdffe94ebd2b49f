// Plans of copies that put a few channels together into pixels, or take them apart.
#include <bit>

#include "cuda/launch/kernel_plan.hpp"
#include "cuda/launch/kernel_plan_channels.hpp"

namespace via::cuda {
namespace {

using kernels::ChannelsParams;
using kernels::Id;

constexpr int64_t kLeast = 2;
constexpr int64_t kMost = 4;
constexpr int32_t kMostElement = 4;  // bytes
constexpr double kLeastUse = 0.3;    // of the threads of a row's tiles

constexpr Id kFused[][3] = {{Id::via_together_1_2, Id::via_together_1_3, Id::via_together_1_4},
                            {Id::via_together_2_2, Id::via_together_2_3, Id::via_together_2_4},
                            {Id::via_together_4_2, Id::via_together_4_3, Id::via_together_4_4}};
constexpr Id kApart[][3] = {{Id::via_apart_1_2, Id::via_apart_1_3, Id::via_apart_1_4},
                            {Id::via_apart_2_2, Id::via_apart_2_3, Id::via_apart_2_4},
                            {Id::via_apart_4_2, Id::via_apart_4_3, Id::via_apart_4_4}};

// Which axes are meant: the pixels of a row, and the channels of a pixel (-1 where only one is taken).
struct Picture {
    bool fused;
    int64_t channels;  // of a pixel
    int64_t taken;
    int64_t step;  // bytes from one channel's row to the next one's
    int32_t pixel_axis;
    int32_t channel_axis;
};

bool are_few(int64_t channels) { return channels >= kLeast && channels <= kMost; }

// Pixels are adjacent in dst.
bool find_fused(const Shape &shape, Picture *out) {
    const Axis &channel = shape.axes[0];
    if (!are_few(channel.extent) || shape.ndim < 2 || channel.src_step == shape.element) {
        return false;
    }
    const Axis &pixel = shape.axes[1];
    *out = {true, channel.extent, channel.extent, channel.src_step, 1, 0};
    return pixel.dst_step == channel.extent * shape.element && pixel.src_step == shape.element;
}

// Pixels are adjacent in src, and may have more channels than are taken. A single one is only worth it where elements
// are smaller than the words that threads would move one by one.
bool find_apart(Shape *shape, Picture *out) {
    const int64_t channels = shape->axes[0].src_step / shape->element;
    if (!are_few(channels)) {
        return false;
    }
    *out = {false, channels, 1, 0, 0, -1};
    for (int32_t i = 1; i < shape->ndim && out->channel_axis < 0; ++i) {
        if (magnitude(shape->axes[i].src_step) == shape->element && shape->axes[i].extent <= channels) {
            make_forward(shape, i);
            out->channel_axis = i;
            out->taken = shape->axes[i].extent;
            out->step = shape->axes[i].dst_step;
        }
    }
    return out->taken > 1 || shape->element < 4;
}

// Whether every row of dst begins at a multiple of sixteen bytes.
bool is_aligned(const Shape &shape, const Picture &picture) {
    uint64_t all = shape.dst | static_cast<uint64_t>(picture.fused ? 0 : picture.step);
    for (int32_t i = 0; i < shape.ndim; ++i) {
        if (i != picture.pixel_axis && i != picture.channel_axis) {
            all |= static_cast<uint64_t>(shape.axes[i].dst_step);
        }
    }
    return all % 16 == 0;
}

// Sets what does not depend on how rows are cut.
void begin(const Shape &shape, const Picture &picture, ChannelsParams *params) {
    params->dst = shape.dst;
    params->src = shape.src;
    params->extent = shape.extent;
    params->count = static_cast<uint32_t>(shape.axes[picture.pixel_axis].extent);
    params->taken = static_cast<uint32_t>(picture.taken);
    params->channel_step = picture.step;
}

void name_kernel(const Shape &shape, const Picture &picture, int64_t tile, KernelPlan *plan) {
    const auto index = std::countr_zero(static_cast<uint32_t>(shape.element));
    const int64_t pixels = tile * picture.channels;
    plan->route = KernelRoute::Channels;
    plan->kernel = (picture.fused ? kFused : kApart)[index][picture.channels - kLeast];
    plan->element = shape.element;
    plan->word = 16;
    plan->tile[0] = picture.fused ? pixels : tile;
    plan->tile[1] = picture.fused ? tile : pixels;
}

bool fill(const Shape &shape, const Picture &picture, KernelPlan *plan) {
    using Kernel = kernels::Channels<1, 2, true>;
    ChannelsParams &params = plan->params.channels;
    const int64_t count = shape.axes[picture.pixel_axis].extent;
    const bool aligned = is_aligned(shape, picture);
    params.early = aligned ? 0 : Kernel::kEarly;
    const int64_t tile = (Kernel::kThreads - params.early) * (16 / shape.element);
    // Rows that begin anywhere may begin a sector's rest before their first tile.
    int64_t tiles = divide_up(count + (aligned ? 0 : Kernel::kSector / shape.element - 1), tile);
    const bool used = static_cast<double>(count) >= kLeastUse * static_cast<double>(tiles * tile);
    if (!used || !fits_index((count + tile) * picture.channels)) {
        return false;
    }
    begin(shape, picture, &params);
    params.tiles = kernels::make_divisor<uint32_t>(tiles);
    const uint64_t channel_bit = picture.channel_axis >= 0 ? uint64_t{1} << picture.channel_axis : 0;
    if (!fill_outer(shape, channel_bit | uint64_t{1} << picture.pixel_axis, &params, &tiles)) {
        return false;
    }
    name_kernel(shape, picture, tile, plan);
    plan->blocks = static_cast<uint32_t>(tiles);
    return true;
}

}  // namespace

bool plan_channels(const Shape &given, KernelPlan *plan) {
    if (given.axes[0].dst_step != given.element || given.element > kMostElement) {
        return false;
    }
    Shape shape = given;
    Picture picture;
    return (find_fused(shape, &picture) || find_apart(&shape, &picture)) && fill(shape, picture, plan);
}

}  // namespace via::cuda
