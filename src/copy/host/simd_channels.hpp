// Two to four planes that become the channels of pixels, or the other way: see simd.hpp. A side of the transpose is too
// short for blocks, but the data is dense, so that vectors may run over into what comes next and is written, or read,
// again.
#pragma once

#include <type_traits>

#include "copy/host/simd_transpose.hpp"

namespace via {
namespace {

template <typename T, int Channels>
struct Pixels {
    static constexpr int kPlanes = Channels == 2 ? 2 : 4;  // in registers; the fourth of three is no plane
    static constexpr int kSize = sizeof(T);
    static constexpr int kUnit = 16 / kPlanes;        // bytes of a plane in one lane of pixels
    static constexpr int kPerLane = kUnit / kSize;    // pixels in one lane
    static constexpr int kStep = kPlanes * kPerLane;  // pixels in as many lanes as there are planes
    static constexpr int kBytes = Channels * kSize;   // of one pixel
    static constexpr int kUsed = kPerLane * kBytes;   // bytes of a lane that are pixels
    // Where byte `at` of a lane of pixels is in a lane of units, and the other way; anywhere for bytes of neither.
    static constexpr int unit_byte(int at) {
        return at < kUsed ? at % kBytes / kSize * kUnit + at / kBytes * kSize + at % kSize : 0;
    }
    static constexpr int pixel_byte(int at) {
        return at / kUnit < Channels ? at % kUnit / kSize * kBytes + at / kUnit * kSize + at % kSize : 0;
    }
    template <int... I>
    [[gnu::always_inline]] static Lane<char> units_to_pixels(Lane<char> units, std::integer_sequence<int, I...>) {
        return __builtin_shufflevector(units, units, unit_byte(I)...);
    }
    template <int... I>
    [[gnu::always_inline]] static Lane<char> pixels_to_units(Lane<char> pixels, std::integer_sequence<int, I...>) {
        return __builtin_shufflevector(pixels, pixels, pixel_byte(I)...);
    }

    [[gnu::always_inline]] static void transpose_units(Lane<char> (&lanes)[kPlanes]) {
        using Element = std::conditional_t<kPlanes == 2, uint64_t, uint32_t>;
        Lane<Element> units[kPlanes];
        for (int i = 0; i < kPlanes; ++i) {
            units[i] = reinterpret_cast<Lane<Element>>(lanes[i]);
        }
        transpose_lanes<kLane, Element>(units);
        for (int i = 0; i < kPlanes; ++i) {
            lanes[i] = reinterpret_cast<Lane<char>>(units[i]);
        }
    }

    static void join_step(char *dst, const char *src, int64_t plane_step) {
        Lane<char> lanes[kPlanes] = {};
        for (int i = 0; i < Channels; ++i) {
            lanes[i] = load<Lane<char>>(src + i * plane_step);
        }
        transpose_units(lanes);
        for (int i = 0; i < kPlanes; ++i) {
            store(dst + i * kUsed, units_to_pixels(lanes[i], std::make_integer_sequence<int, 16>()));
        }
    }

    static void split_step(char *dst, int64_t plane_step, const char *src) {
        Lane<char> lanes[kPlanes];
        for (int i = 0; i < kPlanes; ++i) {
            lanes[i] = pixels_to_units(load<Lane<char>>(src + i * kUsed), std::make_integer_sequence<int, 16>());
        }
        transpose_units(lanes);
        for (int i = 0; i < Channels; ++i) {
            store(dst + i * plane_step, lanes[i]);
        }
    }

    // Both return how many pixels are done: all, or none of a few. The last step may do some again, and goes by way of
    // a buffer, for it may end in the midst of a lane of pixels.
    static int64_t join_planes(char *dst, const char *src, int64_t plane_step, int64_t count) {
        if (count < kStep) {
            return 0;
        }
        for (int64_t at = 0; (count - at - kStep) * kBytes >= kLane; at += kStep) {
            join_step(dst + at * kBytes, src + at * kSize, plane_step);
        }
        char last[kPlanes * kLane];
        for (int64_t at = most(count - 2 * kStep, 0); at < count; at += kStep) {
            const int64_t from = least(at, count - kStep);
            join_step(last, src + from * kSize, plane_step);
            __builtin_memcpy(dst + from * kBytes, last, kStep * kBytes);
        }
        return count;
    }

    static int64_t split_planes(char *dst, int64_t plane_step, const char *src, int64_t count) {
        if (count < kStep) {
            return 0;
        }
        for (int64_t at = 0; (count - at - kStep) * kBytes >= kLane; at += kStep) {
            split_step(dst + at * kSize, plane_step, src + at * kBytes);
        }
        char last[kPlanes * kLane];
        for (int64_t at = most(count - 2 * kStep, 0); at < count; at += kStep) {
            const int64_t from = least(at, count - kStep);
            __builtin_memcpy(last, src + from * kBytes, kStep * kBytes);
            split_step(dst + from * kSize, plane_step, last);
        }
        return count;
    }
};

// Calls `work` with the number of channels as a constant; 0 where there is no such kernel.
template <typename T, typename Work>
inline int64_t with_channels(int64_t channels, const Work &work) {
    if constexpr (kShufflesBytes && sizeof(T) <= 8) {
        if (channels == 2) {
            return work(Pixels<T, 2>());
        }
        if constexpr (sizeof(T) <= 4) {
            if (channels == 3) {
                return work(Pixels<T, 3>());
            }
            if (channels == 4) {
                return work(Pixels<T, 4>());
            }
        }
    }
    return 0;
}

// Both return how many indices of the long axis are done.
template <typename T>
inline int64_t join_channels(char *dst, const char *src, const Axis &inner, const Axis &outer) {
    const int64_t channels = inner.extent;
    if (outer.dst_step != channels * int64_t{sizeof(T)}) {
        return 0;
    }
    return with_channels<T>(channels,
                            [&](auto pixels) { return pixels.join_planes(dst, src, inner.src_step, outer.extent); });
}

template <typename T>
inline int64_t split_channels(char *dst, const char *src, const Axis &inner, const Axis &outer) {
    const int64_t channels = outer.extent;
    if (inner.src_step != channels * int64_t{sizeof(T)}) {
        return 0;
    }
    return with_channels<T>(channels,
                            [&](auto pixels) { return pixels.split_planes(dst, outer.dst_step, src, inner.extent); });
}

}  // namespace
}  // namespace via
