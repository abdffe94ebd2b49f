// The copies of a batch given to a stream, once.
#pragma once

#include "copy/batch/batch_plan.hpp"
#include "copy/copy_plan.hpp"

namespace via {

// Those that are done one by one: all, where the others cannot be done together.
class SingleCopies {
public:
    SingleCopies(const BatchPlan &plan, int32_t count, bool fused)
        : numbers_(fused ? plan.singles.begin() : nullptr),
          count_(fused ? static_cast<int32_t>(plan.singles.count()) : count),
          all_(!fused) {}

    int32_t count() const { return count_; }
    int32_t operator[](int32_t index) const { return all_ ? index : numbers_[index]; }

private:
    const int32_t *numbers_;
    int32_t count_;
    bool all_;
};

// Whether the stream can be given those that are to be done together, and what they will be part of; nullptr is the
// legacy stream.
VIA_NODISCARD Status can_run_fused(const BatchPlan &plan, via_stream *stream, bool *out_can, Timeline *out_timeline);

// What copy_singles refuses.
// Their plans, one after the other; nullptr for those without elements.
class SinglePlans {
public:
    SinglePlans() = default;
    ~SinglePlans() {
        for (CopyPlan *plan : plans_) {
            delete plan;
        }
    }
    SinglePlans(const SinglePlans &) = delete;
    SinglePlans &operator=(const SinglePlans &) = delete;

    // A plan to be made, the next one's. Errors: VIA_ERROR_OUT_OF_MEMORY.
    VIA_NODISCARD Status append(CopyPlan **out_plan);
    VIA_NODISCARD Status append_none();

    CopyPlan *operator[](int64_t index) const { return plans_[index]; }
    CopyPlan *const *begin() const { return plans_.begin(); }
    CopyPlan *const *end() const { return plans_.end(); }

private:
    List<CopyPlan *> plans_;
};

// Plans what copy_singles does. Errors: all of via_copy_async.
VIA_NODISCARD Status plan_singles(const Pairs &pairs, const SingleCopies &singles, via_stream *stream,
                                  SinglePlans *out_plans);

// In stream order, one after the other.
VIA_NODISCARD Status copy_singles(const Pairs &pairs, const SingleCopies &singles, const SinglePlans &plans,
                                  via_stream *stream);

}  // namespace via
