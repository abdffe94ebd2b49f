#include "copy/batch/batch_plan.hpp"

#include <algorithm>
#include <cstring>

#include "copy/bits.hpp"
#include "copy/copy.hpp"
#include "copy/plan.hpp"
#include "core/base/thread_state.hpp"
#include "core/layout/axes.hpp"

namespace via {
namespace {

// Limits for a strided copy to join the others as rows: few rows, each worth a group of threads.
constexpr int64_t kLeastRow = 32;
constexpr int64_t kMostRows = 256;

// Prefetches the arrays of later copies, and after them their storages.
constexpr int32_t kAhead = 16;

constexpr int32_t kAnyDevice = -1;

Status no_memory() { return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory to plan copies"); }

bool are_apart(const void *a, const void *b, int64_t nbytes) {
    const auto first = reinterpret_cast<uintptr_t>(a);
    const auto second = reinterpret_cast<uintptr_t>(b);
    return (first < second ? second - first : first - second) >= static_cast<uintptr_t>(nbytes);
}

// Returns the bytes of a plain copy, otherwise 0. Both sides of it are row-major, of one type and shape, and share no
// byte: it needs no normal form.
int64_t simple_bytes(via_array *dst, via_array *src) {
    if (dst->dtype != src->dtype || dst->ndim != src->ndim || dst->size != src->size || !dst->is_row_major ||
        !src->is_row_major || dst->is_read_only()) [[unlikely]] {
        return 0;
    }
    const bool same_shape = dst->ndim < 2 || std::equal(dst->shape(), dst->strides(), src->shape());
    const int64_t nbytes = dst->size * dst->item_bytes();
    return same_shape && are_apart(dst->data, src->data, nbytes) ? nbytes : 0;
}

class Planner {
public:
    Planner(int32_t count, int32_t device_id, LastWriteFences *ready, BatchPlan *plan)
        : count_(count), device_id_(device_id), ready_(ready), plan_(*plan) {}

    Status add(int32_t index, via_array *dst, via_array *src) {
        const int64_t nbytes = simple_bytes(dst, src);
        if (nbytes == 0) [[unlikely]] {
            VIA_TRY(check_arrays(dst, src));
        }
        cuda::LinkDirection direction{};
        if (dst->size == 0 || !reaches(dst, src, &direction)) {
            return leave(index);
        }
        VIA_TRY(make_batch());
        if (!cuda::can_reach(plan_.fused, dst->data, src->data, direction)) {
            return leave(index);
        }
        if (nbytes == 0) [[unlikely]] {
            return add_rows(index, dst, src, direction);
        }
        VIA_TRY(cuda::add_copy(plan_.fused, dst->data, src->data, nbytes, direction));
        return note(index, dst, src);
    }

    Status leave(int32_t index) { return plan_.singles.append(index) ? VIA_OK : no_memory(); }

    // Runs a lone copy as a single one.
    Status finish() {
        if (plan_.fused_count == 1) {
            VIA_TRY(leave(first_));
            plan_.src_count = 0;
            plan_.fused_count = 0;
        }
        if (plan_.fused_count == 0) {
            cuda::end_batch(plan_.fused, nullptr);
            plan_.fused = nullptr;
            return VIA_OK;
        }
        plan_.device_id = device_id_;
        join_storages();
        return cuda::finish_batch(plan_.fused);
    }

private:
    // Returns whether a kernel of the device reaches both sides by address. At least one side is its own memory.
    bool reaches(via_array *dst, via_array *src, cuda::LinkDirection *out_direction) {
        const bool to_device = dst->device_type == VIA_DEVICE_CUDA;
        const bool from_device = src->device_type == VIA_DEVICE_CUDA;
        const int32_t device_id = to_device ? dst->device_id : src->device_id;
        if (device_id_ == kAnyDevice && (to_device || from_device)) {
            device_id_ = device_id;
        }
        *out_direction = !from_device ? cuda::LinkDirection::ToDevice
                         : !to_device ? cuda::LinkDirection::ToHost
                                      : cuda::LinkDirection::No;
        return is_within_reach(dst) && is_within_reach(src) && (to_device || from_device);
    }

    bool is_within_reach(via_array *array) const {
        return array->device_type == VIA_DEVICE_CUDA_HOST ||
               (array->device_type == VIA_DEVICE_CUDA && array->device_id == device_id_);
    }

    Status make_batch() {
        if (plan_.fused != nullptr) [[likely]] {
            return VIA_OK;
        }
        VIA_TRY(cuda::make_batch(device_id_, count_, &plan_.fused));
        storages_ = cuda::storages_of(plan_.fused);
        return storages_->reserve(2 * int64_t{count_}) ? VIA_OK : no_memory();
    }

    Status add_rows(int32_t index, via_array *dst, via_array *src, cuda::LinkDirection direction) {
        Plan plan;
        VIA_TRY(prepare_loops(dst, src, &plan));
        if (takes_parts_of_bytes(plan) || (plan.ndim > 0 && !has_good_rows(plan))) {
            return leave(index);
        }
        VIA_TRY(for_each_index(plan.axes, plan.ndim, [&](int64_t to, int64_t from) {
            return cuda::add_copy(plan_.fused, plan.dst + to, plan.src + from, plan.run, direction);
        }));
        return note(index, dst, src);
    }

    static bool has_good_rows(const Plan &plan) { return plan.run >= kLeastRow && plan.nbytes / plan.run <= kMostRows; }

    [[gnu::always_inline]] Status note(int32_t index, via_array *dst, via_array *src) {
        first_ = plan_.fused_count++ == 0 ? index : first_;
        if (ready_ != nullptr) {
            VIA_TRY(ready_->add(dst->storage));
            VIA_TRY(ready_->add(src->storage));
        }
        note_storages(dst->storage, src->storage);
        return VIA_OK;
    }

    // Stores sources from the end of the room backwards, so that one list holds both.
    void note_storages(Storage *dst, Storage *src) {
        List<Storage *> &dsts = *storages_;
        if (dsts.count() == 0 || dsts.last() != dst) {
            dsts.begin()[dsts.count()] = dst;
            dsts.resize(dsts.count() + 1);
        }
        Storage **srcs = dsts.begin() + dsts.room();
        if (plan_.src_count == 0 || srcs[-plan_.src_count] != src) {
            srcs[-++plan_.src_count] = src;
        }
    }

    void join_storages() {
        List<Storage *> &all = *storages_;
        Storage **end = all.begin() + all.room();
        std::memmove(all.end(), end - plan_.src_count, static_cast<size_t>(plan_.src_count) * sizeof *end);
        all.resize(all.count() + plan_.src_count);
    }

    const int32_t count_;
    int32_t device_id_;
    LastWriteFences *const ready_;
    List<Storage *> *storages_ = nullptr;  // of plan_.fused
    int32_t first_ = 0;                    // of those that are done together
    BatchPlan &plan_;
};

// Fetches two lines of the cache: an array may span both. Always inlined, as the next: GCC drops calls of functions
// that do nothing but fetch.
[[gnu::always_inline]] inline void fetch(via_array *array) {
    __builtin_prefetch(array);
    __builtin_prefetch(&array->item_bits);
}

[[gnu::always_inline]] inline void fetch_ahead(const Pairs &pairs, int32_t index) {
    if (index + 2 * kAhead < pairs.count) [[likely]] {
        fetch(pairs.dsts[index + 2 * kAhead]);
        fetch(pairs.srcs[index + 2 * kAhead]);
    }
    if (index + kAhead < pairs.count) [[likely]] {
        __builtin_prefetch(&pairs.dsts[index + kAhead]->storage->last_write);
        __builtin_prefetch(&pairs.srcs[index + kAhead]->storage->last_write);
    }
}

}  // namespace

Status plan_batch(const Pairs &pairs, int32_t device_id, LastWriteFences *ready, BatchPlan *out_plan) {
    Planner planner(pairs.count, device_id, ready, out_plan);
    for (int32_t i = 0; i < pairs.count; ++i) {
        fetch_ahead(pairs, i);
        if (pairs.planned_at(i) != nullptr) {
            VIA_TRY(planner.leave(i));
            continue;
        }
        if (const Status status = planner.add(i, pairs.dsts[i], pairs.srcs[i]); status != VIA_OK) [[unlikely]] {
            return name_entry(i, pairs.count, status);
        }
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

Status name_fused(const BatchPlan &plan, int32_t count, Status status) {
    if (status == VIA_OK) [[likely]] {
        return VIA_OK;
    }
    const ErrorRecord failure = thread_state().record();
    return fail_with_code(status, failure.code, "%d of %d copies, done together: %s", plan.fused_count, count,
                          failure.text);
}

}  // namespace via
