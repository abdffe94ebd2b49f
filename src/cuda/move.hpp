// One strided copy in normal form, like Transfer, without the sides.
#pragma once

#include "core/array/array.hpp"
#include "cuda/transfer.hpp"

namespace via::cuda {

struct Move {
    char *dst;
    const char *src;
    int64_t nbytes;  // that are written
    int64_t run;
    int32_t ndim;
    Axis axes[VIA_MAX_NDIM + 1];

    Transfer transfer(const Side &dst_side, const Side &src_side) const {
        return {dst, src, nbytes, dst_side, src_side, nullptr, nullptr, run, ndim, axes};
    }
};

}  // namespace via::cuda
