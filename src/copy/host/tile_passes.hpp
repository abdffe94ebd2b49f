// A tile's passes: from src to dst, or by way of scratches that stay in the cache.
#pragma once

#include "copy/host/piece.hpp"
#include "copy/host/walk.hpp"
#include "copy/plan.hpp"

namespace via {

// Of both scratches together.
inline constexpr int64_t kScratchBytes = int64_t{320} << 10;

// From one memory to another, by one kernel.
struct TilePass {
    Kernel kernel;
    int64_t run;
    int32_t ndim;
    bool flipped;
    Walk walk;
    Axis axes[VIA_MAX_NDIM];
    int32_t of[VIA_MAX_NDIM];  // the plan's axis that each of them is; -1: none
};

// One tile: where it is, and how much of each axis is left of it at an end.
struct TilePart {
    char *dst;
    const char *src;
    int64_t run;
    const int64_t *extents;  // of each axis of the plan
    int64_t ahead;           // from src to that of the next tile
};

// The passes of a plan, for one thread.
class TilePasses {
public:
    TilePasses(const Plan &plan, char *scratch);

    void run(const TilePart &part);

    // The pass that brings elements into the order of dst.
    const TilePass &main() const { return passes_[main_]; }

private:
    void add_pass(const int64_t *to, const int64_t *from, int32_t first, int64_t run, bool into_scratch,
                  bool streaming);
    void run_pass(TilePass *pass, char *dst, const char *src, const TilePart &part, int64_t ahead) const;

    const Plan &plan_;
    char *rows_;
    char *squeezed_;
    int32_t count_ = 0;
    int32_t main_ = 0;
    TilePass passes_[3];
};

// Bytes of a row in the scratch, and from one to the next.
int64_t row_bytes_of(const Plan &plan);
int64_t scratch_bytes_of(const Plan &plan);

}  // namespace via
