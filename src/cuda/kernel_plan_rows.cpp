// Plans of copies whose inner loop runs along dst.
#include "cuda/kernel_plan.hpp"

namespace via::cuda {
namespace {

using kernels::Id;
using kernels::Narrow;
using kernels::Wide;

// Shorter runs are not worth their first and last word.
constexpr int64_t kLeastRun = 32;

template <class Width>
bool fill_rows(const Shape &shape, int64_t words, int64_t count, kernels::RowsParams<Width> *params) {
    using Index = typename Width::Index;
    if (shape.ndim - 1 > Width::kAxes) {
        return false;
    }
    params->dst = shape.dst;
    params->src = shape.src;
    params->extent = shape.extent;
    params->run = static_cast<uint64_t>(shape.axes[0].extent);
    params->src_step = shape.axes[0].src_step;
    params->count = static_cast<Index>(count);
    params->words = kernels::make_divisor<Index>(words);
    params->ndim = shape.ndim - 1;
    for (int32_t i = 1; i < shape.ndim; ++i) {
        const Axis &axis = shape.axes[i];
        params->axes[i - 1] = {kernels::make_divisor<Index>(axis.extent), axis.dst_step, axis.src_step};
    }
    return true;
}

// Of `word` bytes, by the kernels given.
bool plan_words(const Shape &shape, int32_t word, uint32_t per_block, Id narrow, Id wide, KernelPlan *plan) {
    const int64_t run = shape.axes[0].extent * shape.element;
    const int64_t words = divide_up(run + word - shape.element, word);
    const int64_t count = words * (shape.nbytes / run);
    plan->blocks = static_cast<uint32_t>(divide_up(count, per_block));
    plan->element = shape.element;
    plan->word = word;
    plan->tile[0] = plan->tile[1] = 0;
    const bool fits = fits_index(count) && fill_rows(shape, words, count, &plan->params.rows);
    plan->kernel = fits ? narrow : wide;
    return fits || fill_rows(shape, words, count, &plan->params.rows_wide);
}

}  // namespace

bool plan_rows(const Shape &shape, KernelPlan *plan) {
    const Axis &inner = shape.axes[0];
    const int64_t run = inner.extent * shape.element;
    if (inner.dst_step != shape.element || run < kLeastRun || shape.element > 2) {
        return false;
    }
    if (inner.src_step == shape.element) {
        Shape bytes = shape;
        bytes.axes[0] = {run, 1, 1};
        bytes.element = 1;
        plan->route = KernelRoute::Rows;
        return plan_words(bytes, kernels::Rows<Narrow>::kWord, kernels::Rows<Narrow>::kPerBlock, Id::via_rows,
                          Id::via_rows_wide, plan);
    }
    const int32_t nearest = find_source_axis(shape, 0);
    if (inner.src_step != 0 && nearest >= 0 &&
        magnitude(shape.axes[nearest].src_step) < magnitude(inner.src_step)) {
        return false;
    }
    plan->route = KernelRoute::Strips;
    constexpr uint32_t kPerBlock = kernels::Strips<1, Narrow>::kPerBlock;
    return shape.element == 1 ? plan_words(shape, 4, kPerBlock, Id::via_strips_1, Id::via_strips_wide_1, plan)
                              : plan_words(shape, 4, kPerBlock, Id::via_strips_2, Id::via_strips_wide_2, plan);
}

}  // namespace via::cuda
