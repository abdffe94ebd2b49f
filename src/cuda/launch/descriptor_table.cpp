#include "cuda/launch/descriptor_table.hpp"

#include <sys/mman.h>

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

std::mutex choosing;  // held while the list is taken away, so that no thread makes a table for want of an idle one
ForkSafeMutex mutex;
constinit DescriptorTable *idle_tables = nullptr;
constinit std::atomic<int64_t> bytes_in_all{0};

int64_t size_for(int64_t nbytes) {
    return std::max(kLeastBytes, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(nbytes))));
}

}  // namespace

// Call with the context current.
bool DescriptorTable::map() {
    const auto nbytes = static_cast<size_t>(nbytes_);
    void *memory = mmap(nullptr, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return false;
    }
    (void)madvise(memory, nbytes, MADV_DONTFORK);
    if (driver().cuMemHostRegister(memory, nbytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP) !=
        CUDA_SUCCESS) {
        munmap(memory, nbytes);
        return false;
    }
    memory_ = memory;
    return true;
}

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
    auto *table = new (std::nothrow) DescriptorTable(context, nbytes);
    if (table == nullptr || !table->map()) {
        delete table;
        return nullptr;
    }
    bytes_in_all.fetch_add(nbytes, std::memory_order_relaxed);
    via::count(Counter::StagedBytes, nbytes);
    return table;
}

// Unmaps a table that has no other owner. The driver's registration ended with its context.
void DescriptorTable::forget() {
    munmap(memory_, static_cast<size_t>(nbytes_));
    bytes_in_all.fetch_sub(nbytes_, std::memory_order_relaxed);
    via::count(Counter::StagedBytes, -nbytes_);
    delete this;
}

bool DescriptorTable::serves(const ContextKey &context, int64_t nbytes) const {
    return context_ == context && nbytes_ >= nbytes && is_free();
}

bool DescriptorTable::is_lost() const { return state_of(context_) == ContextState::Gone && is_free(); }

// Removes the smallest table that fits from the list, and all tables of contexts that are gone.
DescriptorTable *DescriptorTable::choose(DescriptorTable **idle, const ContextKey &context, int64_t nbytes) {
    DescriptorTable **chosen = nullptr;
    for (DescriptorTable **link = idle; *link != nullptr;) {
        DescriptorTable *table = *link;
        if (!(table->context_ == context) && table->is_lost()) {
            *link = table->next_;
            table->forget();
            continue;
        }
        const bool is_better = chosen == nullptr || table->nbytes_ < (*chosen)->nbytes_;
        chosen = is_better && table->serves(context, nbytes) ? link : chosen;
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
