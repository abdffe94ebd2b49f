#include "cuda/route/index_fence.hpp"

#include <cstring>

#include "cuda/launch/indexed_kernel.hpp"

namespace via::cuda {
namespace {

kernels::IndexFault read_fault(const DescriptorTable *record) {
    kernels::IndexFault fault{};
    std::memcpy(&fault, record->memory(), sizeof fault);
    return fault;
}

}  // namespace

Status IndexFence::check() const {
    const kernels::IndexFault fault = read_fault(record_);
    if (fault.place == 0) {
        return VIA_OK;
    }
    const bool is_dst = (fault.place - 1) % 2 != 0;
    return fail(VIA_ERROR_INDEX, "%s[%lld] is %lld; expected 0 to %lld", is_dst ? "dst_index" : "src_index",
                as_printed(static_cast<int64_t>((fault.place - 1) / 2)), as_printed(fault.value),
                as_printed((is_dst ? dst_extent_ : src_extent_) - 1));
}

void IndexFence::complete_with(Fence *end) {
    end_.reset(retained(end));
    set_point(end->point());
}

Status IndexFence::wait() {
    VIA_TRY(end_.get()->wait());
    return check();
}

Status IndexFence::make_stream_wait(const ResolvedStream &stream) { return end_.get()->make_stream_wait(stream); }

bool IndexFence::has_failed() { return end_.get()->is_complete() && read_fault(record_).place != 0; }

Status make_index_fence(const ContextKey &context, const IndexedRows &rows, IndexFence **out_fence) {
    UniqueTable record(DescriptorTable::take(context, sizeof(kernels::IndexFault)));
    if (record.get() == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no pinned memory for the record of a copy by index");
    }
    std::memset(record.get()->memory(), 0, sizeof(kernels::IndexFault));
    VIA_TRY(make_object("a fence", out_fence, record.get(), rows.dst_extent, rows.src_extent));
    (void)record.release();
    return VIA_OK;
}

}  // namespace via::cuda
