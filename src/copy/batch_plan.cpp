#include "copy/batch_plan.hpp"

#include "copy/copy.hpp"
#include "copy/plan.hpp"
#include "core/thread_state.hpp"

namespace via {
namespace {

// A strided copy goes with the others as rows, if they are not too many and each is worth a group of threads.
constexpr int64_t kLeastRow = 32;
constexpr int64_t kMostRows = 256;

// Arrays that are looked at next are fetched by then.
constexpr int32_t kAhead = 8;

constexpr int32_t kAnyDevice = -1;

Status no_memory() { return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory to plan copies"); }

bool is_dense(via_array *array) {
    const int64_t *shape = array->shape();
    const int64_t *strides = array->byte_strides();
    int64_t step = array->item_bytes();
    for (int32_t i = array->ndim - 1; i >= 0; --i) {
        if (shape[i] != 1 && strides[i] != step) {
            return false;
        }
        step *= shape[i];
    }
    return true;
}

bool are_apart(const void *a, const void *b, int64_t nbytes) {
    const auto first = reinterpret_cast<uintptr_t>(a);
    const auto second = reinterpret_cast<uintptr_t>(b);
    return (first < second ? second - first : first - second) >= static_cast<uintptr_t>(nbytes);
}

// What most are, and needs no normal form: row-major bytes on both sides, apart from one another.
bool is_simple(via_array *dst, via_array *src) {
    return !dst->is_packed() && dst->item_bits == src->item_bits && is_dense(dst) && is_dense(src) &&
           are_apart(dst->data, src->data, dst->nbytes());
}

class Planner {
public:
    Planner(int32_t count, int32_t device_id, BatchPlan *plan) : count_(count), device_id_(device_id), plan_(*plan) {}

    Status add(int32_t index, via_array *dst, via_array *src) {
        VIA_TRY(check_arrays(dst, src));
        cuda::Across across{};
        if (dst->size == 0 || !reaches(dst, src, &across)) {
            return leave(index);
        }
        VIA_TRY(make_batch());
        if (!is_where_it_is(dst) || !is_where_it_is(src)) {
            return leave(index);
        }
        if (is_simple(dst, src)) [[likely]] {
            VIA_TRY(cuda::add_copy(plan_.together, dst->data, src->data, dst->nbytes(), across));
            return note(index, dst, src);
        }
        return add_rows(index, dst, src, across);
    }

    // One copy alone is better off as such.
    Status finish() {
        if (plan_.together_count == 1) {
            VIA_TRY(leave(first_));
            plan_.storages.resize(0);
            plan_.together_count = 0;
        }
        if (plan_.together_count == 0) {
            cuda::end_batch(plan_.together, nullptr);
            plan_.together = nullptr;
            return VIA_OK;
        }
        plan_.device_id = device_id_;
        VIA_TRY(append_srcs());
        return cuda::finish_batch(plan_.together);
    }

private:
    // Whether a kernel of the device can do it by address, one side at least being its own.
    bool reaches(via_array *dst, via_array *src, cuda::Across *out_across) {
        const bool to_device = dst->device_type == VIA_DEVICE_CUDA;
        const bool from_device = src->device_type == VIA_DEVICE_CUDA;
        const int32_t device_id = to_device ? dst->device_id : src->device_id;
        if (device_id_ == kAnyDevice && (to_device || from_device)) {
            device_id_ = device_id;
        }
        *out_across = !from_device ? cuda::Across::ToDevice : !to_device ? cuda::Across::ToHost : cuda::Across::No;
        return is_within_reach(dst) && is_within_reach(src) && (to_device || from_device);
    }

    bool is_within_reach(via_array *array) const {
        return array->device_type == VIA_DEVICE_CUDA_HOST ||
               (array->device_type == VIA_DEVICE_CUDA && array->device_id == device_id_);
    }

    bool is_where_it_is(via_array *array) const {
        return cuda::can_reach(plan_.together, array->data, array->device_type == VIA_DEVICE_CUDA);
    }

    Status make_batch() {
        if (plan_.together != nullptr) [[likely]] {
            return VIA_OK;
        }
        VIA_TRY(cuda::make_batch(device_id_, count_, &plan_.together));
        return plan_.storages.reserve(count_) && srcs_.reserve(count_) ? VIA_OK : no_memory();
    }

    Status add_rows(int32_t index, via_array *dst, via_array *src, cuda::Across across) {
        Plan plan;
        VIA_TRY(prepare_copy(dst, src, &plan));
        if (plan.tail_bits != 0 || (plan.ndim > 0 && !has_good_rows(plan))) {
            return leave(index);
        }
        VIA_TRY(add_axis(plan, plan.ndim - 1, plan.dst, plan.src, across));
        return note(index, dst, src);
    }

    static bool has_good_rows(const Plan &plan) { return plan.run >= kLeastRow && plan.nbytes / plan.run <= kMostRows; }

    Status add_axis(const Plan &plan, int32_t axis, char *dst, const char *src, cuda::Across across) {
        if (axis < 0) {
            return cuda::add_copy(plan_.together, dst, src, plan.run, across);
        }
        const Axis &steps = plan.axes[axis];
        for (int64_t i = 0; i < steps.extent; ++i) {
            VIA_TRY(add_axis(plan, axis - 1, dst + i * steps.dst_step, src + i * steps.src_step, across));
        }
        return VIA_OK;
    }

    Status note(int32_t index, via_array *dst, via_array *src) {
        first_ = plan_.together_count++ == 0 ? index : first_;
        return append_new(&plan_.storages, dst->storage) && append_new(&srcs_, src->storage) ? VIA_OK : no_memory();
    }

    static bool append_new(List<Storage *> *storages, Storage *storage) {
        return (storages->count() > 0 && storages->last() == storage) || storages->append(storage);
    }

    Status append_srcs() {
        plan_.src_count = srcs_.count();
        if (!plan_.storages.reserve(plan_.storages.count() + srcs_.count())) {
            return no_memory();
        }
        for (Storage *storage : srcs_) {
            (void)plan_.storages.append(storage);
        }
        return VIA_OK;
    }

    Status leave(int32_t index) { return plan_.alone.append(index) ? VIA_OK : no_memory(); }

    const int32_t count_;
    int32_t device_id_;
    int32_t first_ = 0;  // of those that are done together
    BatchPlan &plan_;
    List<Storage *> srcs_;
};

// Its shape follows in the next line of the cache.
void fetch(via_array *array) {
    __builtin_prefetch(array);
    __builtin_prefetch(array->shape());
}

void fetch_ahead(const Pairs &pairs, int32_t index) {
    if (index + kAhead < pairs.count) {
        fetch(pairs.dsts[index + kAhead]);
        fetch(pairs.srcs[index + kAhead]);
    }
}

}  // namespace

Status plan_batch(const Pairs &pairs, int32_t device_id, BatchPlan *out_plan) {
    Planner planner(pairs.count, device_id, out_plan);
    for (int32_t i = 0; i < pairs.count; ++i) {
        fetch_ahead(pairs, i);
        VIA_TRY(name_entry(i, pairs.count, planner.add(i, pairs.dsts[i], pairs.srcs[i])));
    }
    return planner.finish();
}

Status name_entry(int32_t index, int32_t count, Status status) {
    if (status == VIA_OK) [[likely]] {
        return VIA_OK;
    }
    const ErrorRecord failure = thread_state().record();
    return fail_with_code(status, failure.code, "copy %d of %d: %s", index, count, failure.text);
}

Status name_together(const BatchPlan &plan, int32_t count, Status status) {
    if (status == VIA_OK) [[likely]] {
        return VIA_OK;
    }
    const ErrorRecord failure = thread_state().record();
    return fail_with_code(status, failure.code, "%d of %d copies, done together: %s", plan.together_count, count,
                          failure.text);
}

}  // namespace via
