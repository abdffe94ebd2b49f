#include "cuda/route/index_fence.hpp"

#include <cstring>
#include <new>

#include "cuda/launch/indexed_kernel.hpp"

namespace via::cuda {
namespace {

kernels::IndexFault read_fault(const DescriptorTable *table) {
    kernels::IndexFault fault{};
    if (table != nullptr) {
        std::memcpy(&fault, table->memory(), sizeof fault);
    }
    return fault;
}

class IndexFence final : public Fence {
public:
    IndexFence(Fence *end, FaultRecord *record) : end_(end) {
        record_.take(record);
        set_point(end->point());
    }

    bool is_complete() override { return end_->is_complete(); }

    Status wait() override {
        VIA_TRY(end_->wait());
        return record_.check();
    }

    Status make_stream_wait(const ResolvedStream &stream) override { return end_->make_stream_wait(stream); }
    bool is_on_device() override { return end_->is_on_device(); }
    bool has_failed() override { return end_->is_complete() && record_.has_fault(); }

private:
    ~IndexFence() override {
        record_.release(end_);
        end_->release();
    }

    Fence *const end_;
    FaultRecord record_;
};

}  // namespace

Status FaultRecord::make(const ContextKey &context, const IndexedRows &rows) {
    table_.reset(DescriptorTable::take(context, sizeof(kernels::IndexFault)));
    if (table_.get() == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no pinned memory for the record of a copy by index");
    }
    std::memset(table_.get()->memory(), 0, sizeof(kernels::IndexFault));
    dst_extent_ = rows.dst_extent;
    src_extent_ = rows.src_extent;
    return VIA_OK;
}

void FaultRecord::take(FaultRecord *other) {
    table_.reset(other->table_.release());
    dst_extent_ = other->dst_extent_;
    src_extent_ = other->src_extent_;
}

void FaultRecord::release(Fence *until) {
    if (DescriptorTable *table = table_.release(); table != nullptr) {
        table->release(until);
    }
}

bool FaultRecord::has_fault() const { return read_fault(table_.get()).place != 0; }

Status FaultRecord::check() const {
    const kernels::IndexFault fault = read_fault(table_.get());
    if (fault.place == 0) {
        return VIA_OK;
    }
    const bool is_dst = (fault.place - 1) % 2 != 0;
    return fail(VIA_ERROR_INDEX, "%s[%lld] is %lld; expected 0 to %lld", is_dst ? "dst_index" : "src_index",
                as_printed(static_cast<int64_t>((fault.place - 1) / 2)), as_printed(fault.value),
                as_printed((is_dst ? dst_extent_ : src_extent_) - 1));
}

Status make_index_fence(Fence *end, FaultRecord *record, Fence **out_fence) {
    *out_fence = new (std::nothrow) IndexFence(end, record);
    if (*out_fence != nullptr) {
        return VIA_OK;
    }
    end->release();
    return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a fence");
}

}  // namespace via::cuda
