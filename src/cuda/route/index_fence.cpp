#include "cuda/route/index_fence.hpp"

#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "core/base/lock.hpp"
#include "cuda/driver/per_context.hpp"
#include "cuda/driver/resource_limits.h"
#include "cuda/launch/indexed_kernel.hpp"
#include "cuda/memory/descriptor_table.hpp"

namespace via::cuda {

// The records of a context. Many are cut from one table in pinned memory, since an array may remember its fence for
// long.
struct FaultRecords {
    IndexFence *idle = nullptr;
    UniqueTable table;  // that is being cut
    int64_t used = 0;   // bytes of it

    // Return nullptr if none is free, or without memory.
    IndexFence *reuse(const ContextKey &context);
    IndexFence *cut(const ContextKey &context);

    IndexFence *take(const ContextKey &context, const IndexedRows &rows);
};

namespace {

constexpr int64_t kRecordBytes = 64;  // a line, so that the records of two kernels share none
static_assert(sizeof(kernels::IndexFault) <= kRecordBytes);

constinit PerContext<FaultRecords> all_records;
ForkSafeMutex idle_mutex;

// Whoever holds the mutex may take the idle fences away: no thread cuts a record meanwhile. The tables are never
// released at the end: threads may still copy then.
std::mutex taking;

// A forked child lacks the memory.
kernels::IndexFault read_fault(const void *record) {
    kernels::IndexFault fault{};
    if (!is_forked_child()) {
        std::memcpy(&fault, record, sizeof fault);
    }
    return fault;
}

}  // namespace

// Deletes those of an earlier context. The driver is asked without the mutex.
IndexFence *FaultRecords::reuse(const ContextKey &context) {
    IndexFence *list = nullptr;
    {
        const std::lock_guard lock(idle_mutex);
        list = std::exchange(idle, nullptr);
    }
    IndexFence *found = nullptr;
    for (IndexFence **link = &list; *link != nullptr && found == nullptr;) {
        IndexFence *fence = *link;
        const bool is_lost = !fence->table_->is_of(context);
        if (!is_lost && !fence->is_free()) {
            link = &fence->next_;
            continue;
        }
        *link = fence->next_;
        if (is_lost) {
            delete fence;
        } else {
            found = fence;
        }
    }
    const std::lock_guard lock(idle_mutex);
    IndexFence **end = &idle;
    while (*end != nullptr) {
        end = &(*end)->next_;
    }
    *end = list;
    return found;
}

IndexFence *FaultRecords::cut(const ContextKey &context) {
    if (table.get() == nullptr || used + kRecordBytes > via_min_table_bytes) {
        table.reset(DescriptorTable::take(context, via_min_table_bytes));
        used = 0;
    }
    if (table.get() == nullptr) {
        return nullptr;
    }
    auto *fence = new (std::nothrow) IndexFence(this, table.get(), static_cast<char *>(table.get()->memory()) + used);
    if (fence != nullptr) {
        table.get()->retain();
        used += kRecordBytes;
    }
    return fence;
}

IndexFence *FaultRecords::take(const ContextKey &context, const IndexedRows &rows) {
    IndexFence *fence = reuse(context);
    if (fence != nullptr) {
        fence->end_.reset(nullptr);
        fence = new (fence) IndexFence(this, fence->table_, fence->record_);  // starts again with one owner
    } else {
        fence = cut(context);
    }
    if (fence != nullptr) {
        fence->dst_extent_ = rows.dst_extent;
        fence->src_extent_ = rows.src_extent;
        std::memset(fence->record_, 0, sizeof(kernels::IndexFault));
    }
    return fence;
}

IndexFence::~IndexFence() { table_->release(nullptr); }

void IndexFence::destroy() {
    if (is_free()) {
        end_.reset(nullptr);  // its event is of no use any more
    }
    const std::lock_guard lock(idle_mutex);
    next_ = std::exchange(home_->idle, this);
}

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
    const std::lock_guard<std::mutex> lock(taking);
    const auto begin = [](FaultRecords *records) {
        records->table.reset(nullptr);
        return VIA_OK;
    };
    FaultRecords *records = nullptr;
    VIA_TRY(all_records.find_or_make(context, "the records of copies by index", begin, &records));
    *out_fence = records->take(context, rows);
    return *out_fence != nullptr ? VIA_OK
                                 : fail(VIA_ERROR_OUT_OF_MEMORY, "no pinned memory for the record of a copy by index");
}

}  // namespace via::cuda
