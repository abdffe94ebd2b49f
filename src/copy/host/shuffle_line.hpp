// Lines of one array whose bytes are in few places of the other: what byte shuffles copy at once. All of it has
// internal linkage (see piece.hpp).
//
// How it works
//
// A line is some adjacent bytes of dst: whole lanes of 16 bytes, or a few axes whole. Each lane is put together from
// windows: 16 adjacent bytes of src, of which a mask picks. Steps of 2 and 3, reversed rows, pixels without alpha,
// planes that become pixels and transposes of a few elements by a few are all the same then. The elements of a line lie
// in clusters, whose elements are less than a page apart. Windows stay between the first and last byte of a cluster.
//
// Where src is adjacent and dst has the gaps, the same line is spread: src and dst change places, and a window is
// stored where its mask picks, which takes a processor that stores some bytes of a vector and leaves the others alone.
#pragma once

#include "copy/host/piece.hpp"
#include "viaduct/viaduct.h"

namespace via {
namespace {

struct ShuffleLine {
    static constexpr int64_t kLaneBytes = 16;
    static constexpr int64_t kMostBytes = 256;
    static constexpr int64_t kMostSpan = 2048;  // of a cluster: less than a page, so that what lies between may be read
    static constexpr int64_t kMostStep = int64_t{1} << 22;  // from one cluster to the next

    int32_t axis = -1;  // of which a line has `block` indices; the axes in `whole` it has all of
    int64_t block = 1;
    uint64_t whole = 0;  // one bit each
    int32_t count = 1;   // of elements
    int32_t nbytes;
    int64_t low;  // of a cluster: the first byte, and the one past the last
    int64_t high;
    int32_t at[kMostBytes];       // of each element in src
    int32_t cluster[kMostBytes];  // where its cluster is

    bool has(int32_t i) const { return (whole >> i & 1) != 0; }
};

constexpr int64_t greatest_divisor(int64_t a, int64_t b) { return b == 0 ? a : greatest_divisor(b, a % b); }

// Adds some indices of an axis to the elements of a line, or fewer where that makes a cluster; false if there are too
// many, or they are too far apart.
inline bool lengthen(const Axis &axis, int32_t number, int64_t extent, int64_t nbytes, ShuffleLine *line) {
    const int64_t count = line->count;
    const int64_t step = axis.src_step < 0 ? -axis.src_step : axis.src_step;
    if (axis.src_step == INT64_MIN || step > ShuffleLine::kMostStep || nbytes * extent > ShuffleLine::kMostBytes) {
        return false;
    }
    const int64_t span = line->high - line->low;
    const int64_t room = ShuffleLine::kMostSpan - span;
    const bool near = (extent - 1) * step <= room || span < ShuffleLine::kLaneBytes;
    if ((extent - 1) * step > room && near) {
        extent = room / step + 1;
        if (extent == 1) {
            return false;
        }
    }
    if (near) {
        line->low -= axis.src_step < 0 ? (extent - 1) * step : 0;
        line->high += axis.src_step > 0 ? (extent - 1) * step : 0;
    }
    for (int64_t i = count; i < extent * count; ++i) {
        line->at[i] = line->at[i - count] + static_cast<int32_t>(axis.src_step);
        line->cluster[i] = line->cluster[i - count] + (near ? 0 : static_cast<int32_t>(axis.src_step));
    }
    line->count *= static_cast<int32_t>(extent);
    line->axis = number;
    line->block = extent;
    line->whole |= uint64_t{extent == axis.extent} << number;
    return true;
}

// The axis that continues a line of so many bytes in dst, or -1.
inline int32_t find_next(const Axis *axes, int32_t ndim, int64_t nbytes) {
    for (int32_t i = 0; i < ndim; ++i) {
        if (axes[i].dst_step == nbytes && axes[i].extent > 1) {
            return i;
        }
    }
    return -1;
}

// How many indices of an axis a line of so many bytes takes: as many as make whole lanes, or all of a short one.
inline int64_t block_of(const Axis &axis, int64_t nbytes) {
    constexpr int64_t kShort = 128;
    constexpr int64_t kLeastWhole = 8;  // longer lines of a few lanes cost less than calls for each
    const int64_t lanes = ShuffleLine::kLaneBytes / greatest_divisor(ShuffleLine::kLaneBytes, nbytes);
    const bool divides = nbytes < kLeastWhole && axis.extent % lanes == 0;
    return !divides && (axis.extent <= kShort / nbytes || axis.extent < lanes) ? axis.extent : lanes;
}

// Finds a line of whole lanes, or else of a few, so that the last one, which overlaps that before, costs little.
inline bool find_line(int64_t run, const Axis *axes, int32_t ndim, ShuffleLine *line) {
    constexpr int64_t kFew = 64;
    int64_t nbytes = run;
    line->low = line->at[0] = line->cluster[0] = 0;
    line->high = run;
    while (nbytes % ShuffleLine::kLaneBytes != 0 && nbytes < kFew) {
        const int32_t i = find_next(axes, ndim, nbytes);
        if (i < 0 || !lengthen(axes[i], i, block_of(axes[i], nbytes), nbytes, line)) {
            break;
        }
        nbytes *= line->block;
        if (line->block < axes[i].extent) {
            break;
        }
    }
    line->nbytes = static_cast<int32_t>(nbytes);
    return line->axis >= 0 && nbytes >= ShuffleLine::kLaneBytes && line->high - line->low >= ShuffleLine::kLaneBytes;
}

// The array that has the gaps.
enum class Gaps : uint8_t { InSrc, InDst };

// Sixteen bytes of the array with the gaps. For each byte that is written (of the lane or the window), the mask has the
// number of the byte that is read; none where the top bit is set.
struct ShuffleWindow {
    alignas(16) uint8_t mask[16];
    int64_t from;
};

// Where lane number `lane` begins in the line: the last one may overlap that before.
inline int64_t lane_start(const ShuffleLine &line, int32_t lane) {
    const int64_t last = line.nbytes - ShuffleLine::kLaneBytes;
    return ShuffleLine::kLaneBytes * lane < last ? ShuffleLine::kLaneBytes * lane : last;
}

// Where each byte of a lane is in src, and the last window of its cluster.
struct LanePlaces {
    int32_t at[16];
    int32_t last[16];

    LanePlaces(const ShuffleLine &line, int64_t run, int32_t lane) {
        const auto start = static_cast<int32_t>(lane_start(line, lane));
        const auto step = static_cast<int32_t>(run);
        const auto high = static_cast<int32_t>(line.high - ShuffleLine::kLaneBytes);
        int32_t element = start / step;
        int32_t within = start % step;
        for (int32_t i = 0; i < 16; ++i) {
            at[i] = line.at[element] + within;
            last[i] = line.cluster[element] + high;
            element += ++within == step ? 1 : 0;
            within = within == step ? 0 : within;
        }
    }

    // Returns the lowest of them, or -1 if all are done.
    int32_t lowest() const {
        int32_t low = 0;
        for (int32_t i = 1; i < 16; ++i) {
            low = at[i] < at[low] ? i : low;
        }
        return at[low] == kDone ? -1 : low;
    }

    static constexpr int32_t kDone = INT32_MAX;
};

// Makes a window of those bytes of a lane that are in it.
inline void make_window(const LanePlaces &places, int32_t from, Gaps gaps, ShuffleWindow *out) {
    out->from = from;
    __builtin_memset(out->mask, 0x80, sizeof out->mask);
    for (int32_t i = 0; i < 16; ++i) {
        if (places.at[i] < from + 16) {
            const auto place = static_cast<uint8_t>(places.at[i] - from);
            out->mask[gaps == Gaps::InSrc ? i : place] = gaps == Gaps::InSrc ? place : static_cast<uint8_t>(i);
        }
    }
}

// Finds the windows of a lane, from the lowest on, and returns their number; `most` + 1 if there are more. Without
// `windows` it counts them.
inline int32_t find_windows(const ShuffleLine &line, int64_t run, int32_t lane, int32_t most, Gaps gaps,
                            ShuffleWindow *windows) {
    LanePlaces places(line, run, lane);
    for (int32_t count = 0;; ++count) {
        const int32_t low = places.lowest();
        if (low < 0 || count == most) {
            return low < 0 ? count : most + 1;
        }
        const int32_t from = places.at[low] < places.last[low] ? places.at[low] : places.last[low];
        if (windows != nullptr) {
            make_window(places, from, gaps, &windows[count]);
        }
        for (int32_t &at : places.at) {
            at = at < from + 16 ? LanePlaces::kDone : at;
        }
    }
}

// Windows of a lane at most: more take longer than moving its elements one by one.
constexpr int32_t most_windows(int64_t run) { return run == 1 ? 5 : run <= 3 ? 4 : 2; }
constexpr int32_t most_windows_spread(int64_t run) { return run == 1 ? 8 : run == 2 ? 4 : run <= 4 ? 2 : 0; }

// Whether every element along the first axis takes a window of its own, which is seen at once.
inline bool has_window_each(const Axis &axis, int32_t most) {
    const bool apart = axis.src_step >= ShuffleLine::kLaneBytes || axis.src_step <= -ShuffleLine::kLaneBytes;
    return apart && axis.extent > most;
}

// Whether shuffles of at most so many windows copy such loops. Finding the windows takes longer than moving a few
// hundred elements.
inline bool shuffles_well(int64_t run, const Axis *axes, int32_t ndim, int32_t most) {
    constexpr int64_t kLeastElements = 512;
    int64_t count = 1;
    for (int32_t i = 0; i < ndim && count < kLeastElements; ++i) {
        count *= axes[i].extent;
    }
    const int32_t first = find_next(axes, ndim, run);
    if (run >= 8 || count < kLeastElements || first < 0 || has_window_each(axes[first], most)) {
        return false;
    }
    ShuffleLine line;
    return find_line(run, axes, ndim, &line) && find_windows(line, run, 0, most, Gaps::InSrc, nullptr) <= most;
}

// The loops of the copy the other way.
struct Reversed {
    Axis axes[VIA_MAX_NDIM + 2];  // with those of a panel

    Reversed(const Axis *forward, int32_t ndim) {
        for (int32_t i = 0; i < ndim; ++i) {
            axes[i] = {forward[i].extent, forward[i].src_step, forward[i].dst_step};
        }
    }
};

}  // namespace
}  // namespace via
