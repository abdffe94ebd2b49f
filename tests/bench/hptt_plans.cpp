// Plans of HPTT behind a C interface, for layouts_hptt.py, which compiles this file next to a checkout of HPTT.
#include <hptt.h>

#include <memory>

namespace {

struct Plan {
    virtual ~Plan() = default;
    virtual void execute() = 0;
};

template <class T>
struct PlanOf : Plan {
    explicit PlanOf(std::shared_ptr<hptt::Transpose<T>> plan) : plan(std::move(plan)) {}
    void execute() override { plan->execute(); }
    std::shared_ptr<hptt::Transpose<T>> plan;
};

template <class T>
Plan *make(const int *axes, int ndim, const void *src, const int *shape, void *dst, bool measured, int threads) {
    const auto method = measured ? hptt::MEASURE : hptt::ESTIMATE;
    return new PlanOf<T>(hptt::create_plan(axes, ndim, T{1}, static_cast<const T *>(src), shape, nullptr, T{0},
                                           static_cast<T *>(dst), nullptr, method, threads));
}

}  // namespace

extern "C" {

// Plans a copy of a column-major array, its axes permuted. Measuring writes to dst.
void *hptt_plan(const int *axes, int ndim, int element, const void *src, const int *shape, void *dst, int measured,
                int threads) {
    return element == 4 ? make<float>(axes, ndim, src, shape, dst, measured != 0, threads)
                        : make<double>(axes, ndim, src, shape, dst, measured != 0, threads);
}

void hptt_execute(void *plan) { static_cast<Plan *>(plan)->execute(); }

void hptt_delete(void *plan) { delete static_cast<Plan *>(plan); }
}
