// The copies of a batch given to a stream, once.
#pragma once

#include "copy/batch/batch_plan.hpp"

namespace via {

// Those that are done one by one: all, where the others cannot be done together.
class Alone {
public:
    Alone(const BatchPlan &plan, int32_t count, bool together)
        : numbers_(together ? plan.alone.begin() : nullptr),
          count_(together ? static_cast<int32_t>(plan.alone.count()) : count),
          all_(!together) {}

    int32_t count() const { return count_; }
    int32_t operator[](int32_t index) const { return all_ ? index : numbers_[index]; }

private:
    const int32_t *numbers_;
    int32_t count_;
    bool all_;
};

// Whether the stream can be given those that are to be done together, and what they will be part of; nullptr is the
// legacy stream.
VIA_NODISCARD Status can_run_together(const BatchPlan &plan, via_stream *stream, bool *out_can, Timeline *out_timeline);

// What copy_alone refuses.
VIA_NODISCARD Status check_alone(const Pairs &pairs, const Alone &alone, via_stream *stream);

// In stream order, one after the other.
VIA_NODISCARD Status copy_alone(const Pairs &pairs, const Alone &alone, via_stream *stream);

}  // namespace via
