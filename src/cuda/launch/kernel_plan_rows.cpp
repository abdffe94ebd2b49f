// Plans of copies whose runs are adjacent in both arrays, but begin anywhere.
#include "cuda/launch/kernel_plan_rows.hpp"
#include "cuda/launch/kernel_plan.hpp"

namespace via::cuda {
namespace {

using kernels::Id;
using kernels::Narrow;
using kernels::Wide;

// In bytes: shorter runs are not worth their first and last sixteen. Words of four bytes do better by themselves.
constexpr int64_t kLeastRun = 48;
constexpr int64_t kLeastRunOfWords = 512;

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
    params->count = static_cast<Index>(count);
    params->words = kernels::make_divisor<Index>(words);
    params->ndim = shape.ndim - 1;
    for (int32_t i = 1; i < shape.ndim; ++i) {
        const Axis &axis = shape.axes[i];
        params->axes[i - 1] = {kernels::make_divisor<Index>(axis.extent), axis.dst_step, axis.src_step};
    }
    return true;
}

}  // namespace

bool plan_rows(const Shape &given, KernelPlan *plan) {
    const bool of_words = given.element == 4;
    if (given.run < (of_words ? kLeastRunOfWords : kLeastRun) || given.element > 4 || given.run == given.element) {
        return false;
    }
    Shape shape = given;
    shape.element = of_words ? 4 : 1;
    shape.axes[0] = {given.run / shape.element, shape.element, shape.element};
    const int64_t words = divide_up(shape.run + 16 - shape.element, 16);
    const int64_t count = words * (shape.nbytes / shape.run);
    const bool narrow = fits_index(count) && fill_rows(shape, words, count, &plan->params.rows);
    plan->route = KernelRoute::Rows;
    plan->kernel =
        narrow ? (of_words ? Id::via_rows_4 : Id::via_rows_1) : (of_words ? Id::via_rows_wide_4 : Id::via_rows_wide_1);
    plan->blocks = static_cast<uint32_t>(divide_up(count, kernels::Rows<1, Narrow>::kPerBlock));
    plan->element = shape.element;
    plan->word = 16;
    plan->tile[0] = plan->tile[1] = 0;
    return narrow || fill_rows(shape, words, count, &plan->params.rows_wide);
}

}  // namespace via::cuda
