#include "core/async/fence.hpp"

#include <algorithm>
#include <memory>
#include <new>

#include "core/base/first_failure.hpp"
#include "core/base/list.hpp"

namespace via {
namespace {

class JoinedFence final : public Fence {
public:
    // Consumes a reference to each fence.
    JoinedFence(std::unique_ptr<Fence *[]> fences, int32_t count) : fences_(std::move(fences)), count_(count) {}

    bool is_complete() override {
        return std::all_of(begin(), end(), [](Fence *fence) { return fence->is_complete(); });
    }

    Status wait() override {
        Status status = VIA_OK;
        for (Fence **fence = begin(); fence != end(); ++fence) {
            status = first_failure(status, [&] { return (*fence)->wait(); });
        }
        return status;
    }

    Status make_stream_wait(const ResolvedStream &stream) override {
        for (Fence **fence = begin(); fence != end(); ++fence) {
            VIA_TRY((*fence)->holds_up_streams() ? (*fence)->make_stream_follow(stream) : VIA_OK);
        }
        return VIA_OK;
    }

    bool may_fail() override {
        return std::any_of(begin(), end(), [](Fence *fence) { return fence->may_fail(); });
    }

    bool has_failed() override {
        return is_complete() && std::any_of(begin(), end(), [](Fence *fence) { return fence->has_failed(); });
    }

    std::span<Fence *const> parts() override { return {begin(), end()}; }

private:
    ~JoinedFence() override { release_fences(begin(), count_); }

    Fence **begin() const { return fences_.get(); }
    Fence **end() const { return fences_.get() + count_; }

    std::unique_ptr<Fence *[]> fences_;
    int32_t count_;
};

}  // namespace

Status join_fences(Fence *const *fences, int32_t count, Fence **out_fence) {
    const auto is_present = [](const Fence *fence) { return fence != nullptr; };
    const auto present = static_cast<int32_t>(std::count_if(fences, fences + count, is_present));
    *out_fence = nullptr;
    if (present < 2) {
        Fence *const *only = std::find_if(fences, fences + count, is_present);
        *out_fence = only != fences + count ? *only : nullptr;
        return VIA_OK;
    }
    std::unique_ptr<Fence *[]> kept(new (std::nothrow) Fence *[static_cast<size_t>(present)]);
    if (kept != nullptr) {
        std::copy_if(fences, fences + count, kept.get(), is_present);
        *out_fence = new (std::nothrow) JoinedFence(std::move(kept), present);
    }
    if (*out_fence == nullptr) {
        release_fences(fences, count);
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory to join %d fences", present);
    }
    return VIA_OK;
}

Status join_writes(Fence *write, Fence *fence, Fence **out_fence) {
    const std::span<Fence *const> parts = write->parts().empty() ? std::span<Fence *const>(&write, 1) : write->parts();
    List<Fence *> fences;
    if (!fences.reserve(static_cast<int64_t>(parts.size()) + 1)) {
        VIA_TRY(write->wait());
        return fence->wait();
    }
    const Fence *pending = nullptr;  // what happens after it is incomplete too, and need not be asked
    for (Fence *part : parts) {
        if (!part->may_fail() && fence->is_ordered_after(*part)) {
            continue;
        }
        const bool is_pending = (pending != nullptr && part->happens_after(*pending)) || !part->is_complete();
        pending = is_pending ? part : pending;
        if (is_pending || part->has_failed()) {
            (void)fences.append(part);
        }
    }
    (void)fences.append(fence);
    std::for_each(fences.begin(), fences.end(), [](Fence *each) { each->retain(); });
    return join_or_wait(fences.begin(), static_cast<int32_t>(fences.count()), out_fence);
}

Status join_or_wait(Fence *const *fences, int32_t count, Fence **out_fence) {
    std::for_each_n(fences, count, [](Fence *fence) { fence->retain(); });
    Status status = VIA_OK;
    if (join_fences(fences, count, out_fence) != VIA_OK) {
        for (int32_t i = 0; i < count; ++i) {
            status = first_of(status, fences[i]->wait());
        }
    }
    release_fences(fences, count);
    return status;
}

void release_fences(Fence *const *fences, int32_t count) {
    for (int32_t i = 0; i < count; ++i) {
        if (fences[i] != nullptr) {
            fences[i]->release();
        }
    }
}

}  // namespace via
