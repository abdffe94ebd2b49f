#include "cuda/layout/packed_order.hpp"

#include <algorithm>

#include "core/layout/axes.hpp"

namespace via::cuda {
namespace {

using Loop = Crossing::Loop;

int64_t magnitude(int64_t step) { return step < 0 ? -step : step; }

// Loops without a step of their own come last.
int64_t rank_of(const Loop &loop, Lead lead) {
    if (lead == Lead::Dst) {
        return loop.dst_step;
    }
    return loop.src_step != 0 ? magnitude(loop.src_step) : INT64_MAX;
}

void insert_loop(const Loop &loop, Lead lead, Crossing *crossing) {
    int32_t at = crossing->ndim++;
    for (; at > 1 && rank_of(crossing->loops[at - 1], lead) > rank_of(loop, lead); --at) {
        crossing->loops[at] = crossing->loops[at - 1];
    }
    crossing->loops[at] = loop;
}

// Bytes are numbered in the order of their addresses on the side that leads.
Loop forward(const Axis &axis, Lead lead, Crossing *crossing) {
    if (lead == Lead::Dst || axis.src_step >= 0) {
        return {axis.extent, axis.dst_step, axis.src_step, 0};
    }
    crossing->dst += (axis.extent - 1) * axis.dst_step;
    crossing->src += (axis.extent - 1) * axis.src_step;
    return {axis.extent, -axis.dst_step, -axis.src_step, 0};
}

void count_units(Crossing *crossing) {
    int64_t unit = 1;
    for (int32_t i = 0; i < crossing->ndim; ++i) {
        crossing->loops[i].unit = unit;
        unit *= crossing->loops[i].extent;
    }
    crossing->nbytes = unit;
}

// The outermost loop of which one index has at most `most` bytes.
int32_t level_of(const Crossing &crossing, int64_t most) {
    int32_t level = crossing.ndim - 1;
    while (crossing.loops[level].unit > most) {
        --level;
    }
    return level;
}

// Whether an index of the loop begins there.
bool begins(const Crossing &crossing, int32_t level, int64_t offset) {
    return offset % crossing.loops[level].unit == 0;
}

// Whole indices of a loop, up to its end.
int64_t cut_loop(const Loop &loop, int64_t offset, int64_t end, int64_t wanted) {
    const int64_t span = loop.unit * loop.extent;
    const int64_t left = std::min(span - offset % span, end - offset);
    return std::clamp(wanted / loop.unit * loop.unit, loop.unit, left);
}

int64_t first_index(const Loop &loop, const Box &box) { return box.offset / loop.unit % loop.extent; }

// How many indices of a loop that crosses a box has.
int64_t count_in(const Crossing &crossing, const Box &box, int32_t loop) {
    if (loop == box.level) {
        return box.nbytes / crossing.loops[loop].unit;
    }
    return loop < box.level ? crossing.loops[loop].extent : 1;
}

int64_t buffer_step(const Crossing &crossing, const Loop &loop) { return crossing.raw ? loop.src_step : loop.unit; }

struct Start {
    int64_t dst = 0;
    int64_t src = 0;
};

Start start_of(const Crossing &crossing, const Box &box) {
    Start start;
    for (int32_t i = box.level; i < crossing.ndim; ++i) {
        const int64_t index = first_index(crossing.loops[i], box);
        start.dst += index * crossing.loops[i].dst_step;
        start.src += index * crossing.loops[i].src_step;
    }
    return start;
}

void begin(char *dst, const char *src, Move *move) {
    move->dst = dst;
    move->src = src;
    move->nbytes = 1;
    move->run = 1;
    move->ndim = 0;
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

void make_crossing(const Transfer &transfer, Lead lead, bool still_crosses, Crossing *out_crossing) {
    out_crossing->dst = static_cast<char *>(transfer.dst);
    out_crossing->src = static_cast<const char *>(transfer.src);
    out_crossing->raw = false;
    out_crossing->loops[0] = {transfer.run, 1, 1, 1};
    out_crossing->ndim = 1;
    out_crossing->still = 0;
    const auto crosses = [&](const Axis &axis) { return axis.src_step != 0 || still_crosses; };
    for (int32_t i = 0; i < transfer.ndim; ++i) {
        if (crosses(transfer.axes[i])) {
            insert_loop(forward(transfer.axes[i], lead, out_crossing), lead, out_crossing);
        }
    }
    count_units(out_crossing);
    for (int32_t i = 0; i < transfer.ndim; ++i) {
        if (!crosses(transfer.axes[i])) {
            const Axis &axis = transfer.axes[i];
            out_crossing->loops[out_crossing->ndim + out_crossing->still++] = {axis.extent, axis.dst_step, 0, 0};
        }
    }
}

Box box_of(const Crossing &crossing, int64_t offset, int64_t nbytes) {
    return {level_of(crossing, nbytes), offset, nbytes};
}

Box cut_box(const Crossing &crossing, int64_t offset, int64_t end, int64_t wanted, int64_t most) {
    wanted = std::min(wanted, end - offset);
    int32_t level = level_of(crossing, wanted);
    while (!begins(crossing, level, offset)) {
        --level;
    }
    int64_t nbytes = cut_loop(crossing.loops[level], offset, end, wanted);
    most = std::min(most, end - offset);
    while (nbytes < wanted / 2 && level + 1 < crossing.ndim && crossing.loops[level + 1].unit <= most &&
           begins(crossing, level + 1, offset)) {
        nbytes = cut_loop(crossing.loops[++level], offset, end, wanted);
    }
    return {level, offset, nbytes};
}

int64_t buffer_bytes(const Crossing &crossing, const Box &box) {
    int64_t nbytes = 1;
    for (int32_t i = 0; i <= box.level; ++i) {
        nbytes += (count_in(crossing, box, i) - 1) * buffer_step(crossing, crossing.loops[i]);
    }
    return nbytes;
}

void make_packing(const Crossing &crossing, const Box &box, void *buffer, Move *out_move) {
    begin(static_cast<char *>(buffer), crossing.src + start_of(crossing, box).src, out_move);
    if (crossing.raw) {
        out_move->nbytes = out_move->run = buffer_bytes(crossing, box);
        return;
    }
    for (int32_t i = 0; i < crossing.ndim; ++i) {
        const Loop &loop = crossing.loops[i];
        add_axis({count_in(crossing, box, i), loop.unit, loop.src_step}, out_move);
    }
    merge_axes(&out_move->run, out_move->axes, &out_move->ndim);
}

void make_unpacking(const Crossing &crossing, const Box &box, const void *buffer, Move *out_move) {
    begin(crossing.dst + start_of(crossing, box).dst, static_cast<const char *>(buffer), out_move);
    for (int32_t i = 0; i < crossing.ndim; ++i) {
        const Loop &loop = crossing.loops[i];
        add_axis({count_in(crossing, box, i), loop.dst_step, buffer_step(crossing, loop)}, out_move);
    }
    for (int32_t i = crossing.ndim; i < crossing.ndim + crossing.still; ++i) {
        add_axis({crossing.loops[i].extent, crossing.loops[i].dst_step, 0}, out_move);
    }
    merge_axes(&out_move->run, out_move->axes, &out_move->ndim);
}

}  // namespace via::cuda
