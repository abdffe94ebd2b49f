#include "cuda/layout/packed_order.hpp"

#include <algorithm>
#include <cstdlib>

#include "core/layout/axes.hpp"

namespace via::cuda {
namespace {

using Loop = PackedOrder::Loop;

// Puts loops without a step last.
int64_t rank_of(const Loop &loop, Major major) {
    if (major == Major::Dst) {
        return loop.dst_step;
    }
    return loop.src_step != 0 ? std::abs(loop.src_step) : INT64_MAX;
}

void insert_loop(const Loop &loop, Major major, PackedOrder *order) {
    int32_t at = order->ndim++;
    for (; at > 1 && rank_of(order->loops[at - 1], major) > rank_of(loop, major); --at) {
        order->loops[at] = order->loops[at - 1];
    }
    order->loops[at] = loop;
}

// Flips a loop whose step on the major side is negative: bytes are numbered by ascending addresses there.
Loop forward(const Axis &axis, Major major, PackedOrder *order) {
    if (major == Major::Dst || axis.src_step >= 0) {
        return {axis.extent, axis.dst_step, axis.src_step, 0};
    }
    order->dst += (axis.extent - 1) * axis.dst_step;
    order->src += (axis.extent - 1) * axis.src_step;
    return {axis.extent, -axis.dst_step, -axis.src_step, 0};
}

void count_units(PackedOrder *order) {
    int64_t unit = 1;
    for (int32_t i = 0; i < order->ndim; ++i) {
        order->loops[i].unit = unit;
        unit *= order->loops[i].extent;
    }
    order->nbytes = unit;
}

// Returns the outermost loop of which one index has at most `most` bytes.
int32_t level_of(const PackedOrder &order, int64_t most) {
    int32_t level = order.ndim - 1;
    while (order.loops[level].unit > most) {
        --level;
    }
    return level;
}

// Returns whether an index of the loop begins there.
bool begins(const PackedOrder &order, int32_t level, int64_t offset) { return offset % order.loops[level].unit == 0; }

// Returns the bytes of whole indices of a loop, up to its end.
int64_t cut_loop(const Loop &loop, int64_t offset, int64_t end, int64_t wanted) {
    const int64_t span = loop.unit * loop.extent;
    const int64_t left = std::min(span - offset % span, end - offset);
    return std::clamp(wanted / loop.unit * loop.unit, loop.unit, left);
}

int64_t first_index(const Loop &loop, const Slab &slab) { return slab.offset / loop.unit % loop.extent; }

// Returns how many indices of a loop a slab has.
int64_t count_in(const PackedOrder &order, const Slab &slab, int32_t loop) {
    if (loop == slab.level) {
        return slab.nbytes / order.loops[loop].unit;
    }
    return loop < slab.level ? order.loops[loop].extent : 1;
}

int64_t buffer_step(const PackedOrder &order, const Loop &loop) { return order.raw ? loop.src_step : loop.unit; }

struct Start {
    int64_t dst = 0;
    int64_t src = 0;
};

Start start_of(const PackedOrder &order, const Slab &slab) {
    Start start;
    for (int32_t i = slab.level; i < order.ndim; ++i) {
        const int64_t index = first_index(order.loops[i], slab);
        start.dst += index * order.loops[i].dst_step;
        start.src += index * order.loops[i].src_step;
    }
    return start;
}

// Leaves the axes uninitialised.
Move begin(char *dst, const char *src, int64_t nbytes, int64_t run) {
    Move move;
    move.dst = dst;
    move.src = src;
    move.nbytes = nbytes;
    move.run = run;
    move.ndim = 0;
    return move;
}

void add_axis(Axis axis, Move *move) {
    if (axis.extent == 1) {
        return;
    }
    if (axis.dst_step < 0) {
        int64_t dst_offset = 0;
        int64_t src_offset = 0;
        flip(&axis, &dst_offset, &src_offset);
        move->dst += dst_offset;
        move->src += src_offset;
    }
    move->nbytes *= axis.extent;
    insert_axis(axis, move->axes, &move->ndim);
}

}  // namespace

Move make_move(const Transfer &transfer) {
    Move move = begin(static_cast<char *>(transfer.dst), static_cast<const char *>(transfer.src), transfer.nbytes,
                      transfer.run);
    move.ndim = transfer.ndim;
    std::copy_n(transfer.axes, transfer.ndim, move.axes);
    return move;
}

PackedOrder make_packed_order(const Transfer &transfer, Major major, bool broadcast_is_packed) {
    PackedOrder order;
    order.dst = static_cast<char *>(transfer.dst);
    order.src = static_cast<const char *>(transfer.src);
    order.raw = false;
    order.loops[0] = {transfer.ndim > 0 ? transfer.run : transfer.nbytes, 1, 1, 1};
    order.ndim = 1;
    order.broadcast_axes = 0;
    const auto crosses = [&](const Axis &axis) { return axis.src_step != 0 || broadcast_is_packed; };
    for (int32_t i = 0; i < transfer.ndim; ++i) {
        if (crosses(transfer.axes[i])) {
            insert_loop(forward(transfer.axes[i], major, &order), major, &order);
        }
    }
    count_units(&order);
    for (int32_t i = 0; i < transfer.ndim; ++i) {
        if (!crosses(transfer.axes[i])) {
            const Axis &axis = transfer.axes[i];
            order.loops[order.ndim + order.broadcast_axes++] = {axis.extent, axis.dst_step, 0, 0};
        }
    }
    return order;
}

SideRows find_rows(const Transfer &transfer, Major side) {
    const auto step_of = [&](const auto &loop) { return std::abs(side == Major::Dst ? loop.dst_step : loop.src_step); };
    const PackedOrder order = make_packed_order(transfer, side, true);
    int64_t run = 1;
    int32_t i = 0;
    for (; i < order.ndim && step_of(order.loops[i]) == run; ++i) {
        run *= order.loops[i].extent;
    }
    return {run, i < order.ndim ? step_of(order.loops[i]) : run,
            order.ndim > 1 && step_of(transfer.axes[0]) == step_of(order.loops[1])};
}

Slab slab_of(const PackedOrder &order, int64_t offset, int64_t nbytes) {
    return {level_of(order, nbytes), offset, nbytes};
}

Slab cut_slab(const PackedOrder &order, int64_t offset, int64_t end, int64_t wanted, int64_t most) {
    wanted = std::min(wanted, end - offset);
    int32_t level = level_of(order, wanted);
    while (!begins(order, level, offset)) {
        --level;
    }
    int64_t nbytes = cut_loop(order.loops[level], offset, end, wanted);
    most = std::min(most, end - offset);
    while (nbytes < wanted / 2 && level + 1 < order.ndim && order.loops[level + 1].unit <= most &&
           begins(order, level + 1, offset)) {
        nbytes = cut_loop(order.loops[++level], offset, end, wanted);
    }
    return {level, offset, nbytes};
}

int64_t buffer_bytes(const PackedOrder &order, const Slab &slab) {
    int64_t nbytes = 1;
    for (int32_t i = 0; i <= slab.level; ++i) {
        nbytes += (count_in(order, slab, i) - 1) * buffer_step(order, order.loops[i]);
    }
    return nbytes;
}

Move make_packing(const PackedOrder &order, const Slab &slab, void *buffer) {
    const int64_t run = order.raw ? buffer_bytes(order, slab) : 1;
    Move move = begin(static_cast<char *>(buffer), order.src + start_of(order, slab).src, run, run);
    if (order.raw) {
        return move;
    }
    for (int32_t i = 0; i < order.ndim; ++i) {
        const Loop &loop = order.loops[i];
        add_axis({count_in(order, slab, i), loop.unit, loop.src_step}, &move);
    }
    merge_axes(&move.run, move.axes, &move.ndim);
    return move;
}

Move make_unpacking(const PackedOrder &order, const Slab &slab, const void *buffer) {
    Move move = begin(order.dst + start_of(order, slab).dst, static_cast<const char *>(buffer), 1, 1);
    for (int32_t i = 0; i < order.ndim; ++i) {
        const Loop &loop = order.loops[i];
        add_axis({count_in(order, slab, i), loop.dst_step, buffer_step(order, loop)}, &move);
    }
    for (int32_t i = order.ndim; i < order.ndim + order.broadcast_axes; ++i) {
        add_axis({order.loops[i].extent, order.loops[i].dst_step, 0}, &move);
    }
    merge_axes(&move.run, move.axes, &move.ndim);
    return move;
}

}  // namespace via::cuda
