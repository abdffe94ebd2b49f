#include "cuda/memory/descriptor_table.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <new>
#include <utility>

#include "core/base/lock.hpp"
#include "core/base/thread_state.hpp"
#include "cuda/driver/resource_limits.h"
#include "cuda/stream/capture.hpp"

namespace via::cuda {
namespace {

constexpr int64_t kLeastBytes = via_min_table_bytes;
constexpr int64_t kMostBytes = via_max_table_bytes;  // of all tables
static_assert(kMostBytes == via_max_descriptor_tables * kLeastBytes);
constexpr int32_t kAnyNode = -1;

std::mutex choosing;  // held while the list is taken away, so that no thread makes a table for want of an idle one
ForkSafeMutex mutex;
constinit DescriptorTable *idle_tables = nullptr;
constinit std::atomic<int64_t> bytes_in_all{0};

int64_t size_for(int64_t nbytes) {
    return std::max(kLeastBytes, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(nbytes))));
}

}  // namespace

DescriptorTable *DescriptorTable::make(const ContextKey &context, int64_t nbytes) {
    if (bytes_in_all.load(std::memory_order_relaxed) + nbytes > kMostBytes) {
        return nullptr;
    }
    const CallbackScope quiet;  // reports no failure
    const RelaxedCapture relaxed;
    ContextScope scope;
    int32_t device_id = 0;
    if (scope.enter(context.context) != VIA_OK || device_of_context(context.context, &device_id) != VIA_OK ||
        !is_registered_in_place(device_id)) {
        return nullptr;
    }
    auto *table = new (std::nothrow) DescriptorTable;
    if (table == nullptr || pin_block(nbytes, kAnyNode, context, &table->block_) != VIA_OK) {
        delete table;
        return nullptr;
    }
    bytes_in_all.fetch_add(nbytes, std::memory_order_relaxed);
    via::count(Counter::StagedBytes, nbytes);
    return table;
}

// Unmaps a table that has no other owner, and whose context is gone.
void DescriptorTable::forget() {
    (void)!unpin_block(block_);
    bytes_in_all.fetch_sub(block_.nbytes, std::memory_order_relaxed);
    via::count(Counter::StagedBytes, -block_.nbytes);
    delete this;
}

// Removes the smallest table that fits from the list, and all tables of contexts that are gone.
DescriptorTable *DescriptorTable::choose(DescriptorTable **idle, const ContextKey &context, int64_t nbytes) {
    DescriptorTable **chosen = nullptr;
    for (DescriptorTable **link = idle; *link != nullptr;) {
        DescriptorTable *table = *link;
        const bool is_here = table->is_of(context);
        if (!is_here && state_of(table->block_.context) == ContextState::Gone && table->is_free()) {
            *link = table->next_;
            table->forget();
            continue;
        }
        const bool is_better = chosen == nullptr || table->block_.nbytes < (*chosen)->block_.nbytes;
        chosen = is_here && is_better && table->block_.nbytes >= nbytes && table->is_free() ? link : chosen;
        link = &table->next_;
    }
    return chosen != nullptr ? std::exchange(*chosen, (*chosen)->next_) : nullptr;
}

// The driver is asked without the mutex.
DescriptorTable *DescriptorTable::reuse(const ContextKey &context, int64_t nbytes) {
    const std::lock_guard<std::mutex> one_at_a_time(choosing);
    DescriptorTable *idle = nullptr;
    {
        const std::lock_guard lock(mutex);
        idle = std::exchange(idle_tables, nullptr);
    }
    DescriptorTable *table = choose(&idle, context, nbytes);
    const std::lock_guard lock(mutex);
    DescriptorTable **link = &idle_tables;
    while (*link != nullptr) {
        link = &(*link)->next_;
    }
    *link = idle;
    return table;
}

DescriptorTable *DescriptorTable::take(const ContextKey &context, int64_t nbytes) {
    if (nbytes > kMostBytes) {
        return nullptr;
    }
    nbytes = size_for(nbytes);
    DescriptorTable *table = reuse(context, nbytes);
    if (table == nullptr) {
        return make(context, nbytes);
    }
    table->until_.reset(nullptr);
    new (&table->references_) ReferenceCount;
    return table;
}

Status DescriptorTable::hold_in_graph(const ResolvedStream &stream) {
    retain();
    const auto drop = [](void *table) { static_cast<DescriptorTable *>(table)->release(nullptr); };
    return give_to_graph(stream, this, drop);
}

void DescriptorTable::note_work(Fence *until) {
    UniqueFence earlier;
    const std::lock_guard lock(mutex);
    earlier.reset(until_.release());
    until_.reset(retained(until));
}

// Notes the work before it drops the reference: another owner may drop the last one, and knows of no work.
void DescriptorTable::release(Fence *until) {
    if (until != nullptr) {
        note_work(until);
    }
    if (!references_.release()) {
        return;
    }
    const std::lock_guard lock(mutex);
    next_ = std::exchange(idle_tables, this);
}

}  // namespace via::cuda
