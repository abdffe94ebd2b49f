#include "cuda/route/index_fence.hpp"

#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "core/base/lock.hpp"
#include "cuda/driver/resource_limits.h"
#include "cuda/launch/descriptor_table.hpp"
#include "cuda/launch/indexed_kernel.hpp"

namespace via::cuda {

// Where a kernel notes a row number out of range. Many are cut from one table in pinned memory, since an array may
// remember its fence for long. Reused once the kernel has ended.
class FaultRecord {
public:
    // Returns nullptr without pinned memory.
    static FaultRecord *take(const ContextKey &context);

    // `until` is the end of the kernel; nullptr: it has not been launched.
    void give_back(Fence *until);

    void *memory() const { return memory_; }
    kernels::IndexFault read() const;

private:
    FaultRecord(DescriptorTable *table, const ContextKey &context, void *memory)
        : table_(table), context_(context), memory_(memory) {}

    static FaultRecord *reuse(const ContextKey &context);
    static FaultRecord *cut(const ContextKey &context);
    bool is_free() const { return until_.get() == nullptr || until_.get()->is_complete(); }

    const UniqueTable table_;
    const ContextKey context_;
    void *const memory_;
    UniqueFence until_;
    FaultRecord *next_ = nullptr;  // idle too
};

namespace {

constexpr int64_t kRecordBytes = 64;  // a line, so that the records of two kernels share none
static_assert(sizeof(kernels::IndexFault) <= kRecordBytes);

ForkSafeMutex idle_mutex;
constinit FaultRecord *idle = nullptr;

// The table of a context that is being cut.
struct CutTable {
    ContextKey context{};
    DescriptorTable *table = nullptr;  // owned
    int64_t used = 0;                  // bytes
    CutTable *next = nullptr;
};

// Whoever holds the mutex may take the idle records away: no thread cuts one meanwhile. The tables are never released
// at the end: threads may still copy then.
std::mutex cutting;
constinit CutTable *cut_tables = nullptr;

// Returns the table of the context, which may not have been taken yet; nullptr if there is no memory. Drops those of
// contexts that are gone.
CutTable *find_cut_table(const ContextKey &context) {
    CutTable *found = nullptr;
    for (CutTable **link = &cut_tables; *link != nullptr;) {
        CutTable *table = *link;
        if (state_of(table->context) == ContextState::Gone) {
            *link = table->next;
            const UniqueTable dropped(table->table);
            delete table;
            continue;
        }
        found = table->context == context ? table : found;
        link = &table->next;
    }
    if (found == nullptr && (found = new (std::nothrow) CutTable{context}) != nullptr) {
        found->next = std::exchange(cut_tables, found);
    }
    return found;
}

}  // namespace

FaultRecord *FaultRecord::reuse(const ContextKey &context) {
    FaultRecord *list = nullptr;
    {
        const std::lock_guard lock(idle_mutex);
        list = std::exchange(idle, nullptr);
    }
    FaultRecord *found = nullptr;
    for (FaultRecord **link = &list; *link != nullptr && found == nullptr;) {
        FaultRecord *record = *link;
        const bool is_gone = state_of(record->context_) == ContextState::Gone;
        found = !is_gone && record->context_ == context && record->is_free() ? record : nullptr;
        if (is_gone || found != nullptr) {
            *link = record->next_;
        } else {
            link = &record->next_;
        }
        if (is_gone) {
            delete record;
        }
    }
    const std::lock_guard lock(idle_mutex);
    FaultRecord **end = &idle;
    while (*end != nullptr) {
        end = &(*end)->next_;
    }
    *end = list;
    return found;
}

FaultRecord *FaultRecord::cut(const ContextKey &context) {
    CutTable *cut = find_cut_table(context);
    if (cut == nullptr) {
        return nullptr;
    }
    if (cut->table == nullptr || cut->used + kRecordBytes > via_min_table_bytes) {
        const UniqueTable full(std::exchange(cut->table, DescriptorTable::take(context, via_min_table_bytes)));
        cut->used = 0;
    }
    DescriptorTable *table = cut->table;
    if (table == nullptr) {
        return nullptr;
    }
    auto *record = new (std::nothrow) FaultRecord(table, context, static_cast<char *>(table->memory()) + cut->used);
    if (record != nullptr) {
        table->retain();
        cut->used += kRecordBytes;
    }
    return record;
}

FaultRecord *FaultRecord::take(const ContextKey &context) {
    const std::lock_guard<std::mutex> lock(cutting);
    FaultRecord *found = reuse(context);
    FaultRecord *record = found != nullptr ? found : cut(context);
    if (record != nullptr) {
        record->until_.reset(nullptr);
        std::memset(record->memory_, 0, sizeof(kernels::IndexFault));
    }
    return record;
}

void FaultRecord::give_back(Fence *until) {
    const bool is_under_way = until != nullptr && !until->is_complete();  // otherwise its event is of no use
    until_.reset(is_under_way ? retained(until) : nullptr);
    const std::lock_guard lock(idle_mutex);
    next_ = std::exchange(idle, this);
}

// A forked child lacks the memory.
kernels::IndexFault FaultRecord::read() const {
    kernels::IndexFault fault{};
    if (!is_forked_child()) {
        std::memcpy(&fault, memory_, sizeof fault);
    }
    return fault;
}

uint64_t IndexFence::record() const { return reinterpret_cast<uint64_t>(record_->memory()); }

IndexFence::~IndexFence() { record_->give_back(end_.get()); }

Status IndexFence::check() const {
    const kernels::IndexFault fault = record_->read();
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

bool IndexFence::has_failed() { return end_.get()->is_complete() && record_->read().place != 0; }

Status make_index_fence(const ContextKey &context, const IndexedRows &rows, IndexFence **out_fence) {
    FaultRecord *record = FaultRecord::take(context);
    if (record == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no pinned memory for the record of a copy by index");
    }
    const Status status = make_object("a fence", out_fence, record, rows.dst_extent, rows.src_extent);
    if (status != VIA_OK) {
        record->give_back(nullptr);
    }
    return status;
}

}  // namespace via::cuda
