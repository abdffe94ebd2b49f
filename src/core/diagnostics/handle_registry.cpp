#include "core/diagnostics/handle_registry.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <new>
#include <unordered_map>
#include <utility>

#include "core/base/lock.hpp"
#include "core/base/reference_count.hpp"
#include "core/base/status.hpp"
#include "core/diagnostics/backtrace.hpp"
#include "core/diagnostics/log.hpp"

namespace via {
namespace {

struct Entry {
    HandleKind kind = HandleKind::None;
    bool shared = false;
    bool inherited = false;  // from the parent of a fork, which is to release it
    int64_t owners = 0;
    const char *function = nullptr;
    std::unique_ptr<Backtrace> backtrace;
};

struct Shard {
    ForkSafeMutex mutex;
    std::unordered_map<const void *, Entry> entries;
};

// Enough that threads rarely meet in one.
constexpr size_t kShards = 32;

// Never freed: threads use it until the process ends.
constinit Shard *shards = nullptr;

// An entry could not be allocated: an unregistered handle is no misuse from then on.
constinit std::atomic<bool> incomplete{false};

Shard &shard_of(const void *handle) {
    const auto address = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(handle));
    return shards[(address * 0x9E3779B97F4A7C15) >> 59];
}
static_assert(kShards == size_t{1} << (64 - 59));

void inherit_entries() {
    for (size_t i = 0; shards != nullptr && i < kShards; ++i) {
        for (auto &[handle, entry] : shards[i].entries) {
            entry.inherited = true;
        }
    }
}

// Returns nullptr without memory. Call with the shard's mutex held.
Entry *entry_for(Shard *shard, const void *handle) {
    try {
        return &shard->entries[handle];
    } catch (const std::bad_alloc &) {
        incomplete.store(true, std::memory_order_relaxed);
        return nullptr;
    }
}

// Number of blocks in the queue: an address comes back late, for little memory.
constexpr uint64_t kWaiting = 8192;

struct Ended {
    void *block;
    void (*free_block)(void *);
};

struct Queue {
    Ended blocks[kWaiting];
    uint64_t next = 0;
};

ForkSafeMutex queue_mutex(inherit_entries);
constinit Queue *queue = nullptr;

}  // namespace

void report_release_of_nothing() {
    log_line("a handle was released more often than it was retained; VIADUCT_CHECK=1 reports which and where");
}

const char *handle_name(HandleKind kind) {
    constexpr const char *kNames[] = {"",         "via_array", "via_memory", "via_stream", "via_event",
                                      "via_task", "via_batch", "via_file",   "via_archive"};
    static_assert(std::size(kNames) == static_cast<size_t>(HandleKind::Archive) + 1, "one name for each kind");
    return kNames[static_cast<int32_t>(kind)];
}

bool begin_checking() {
    shards = new (std::nothrow) Shard[kShards];
    queue = new (std::nothrow) Queue{};
    if (shards == nullptr || queue == nullptr) {
        log_line("VIADUCT_CHECK is set, and there is no memory for the registry of handles");
        return false;
    }
    prepare_backtraces();
    return true;
}

void add_owner(HandleKind kind, const void *handle, const char *function) {
    Shard &shard = shard_of(handle);
    // Before the lock: interpreters that are asked for their frames may release handles meanwhile.
    std::unique_ptr<Backtrace> backtrace(is_debugging(kBacktraces) ? new (std::nothrow) Backtrace : nullptr);
    const std::lock_guard lock(shard.mutex);
    Entry *entry = entry_for(&shard, handle);
    if (entry == nullptr || entry->owners++ > 0) {
        return;
    }
    entry->kind = kind;
    entry->function = function;
    entry->backtrace = std::move(backtrace);
}

void add_shared(HandleKind kind, const void *handle) {
    Shard &shard = shard_of(handle);
    const std::lock_guard lock(shard.mutex);
    if (Entry *entry = entry_for(&shard, handle); entry != nullptr) {
        entry->kind = kind;
        entry->shared = true;
    }
}

HandleKind find_handle(HandleKind expected, const void *handle, bool drops_owner) {
    Shard &shard = shard_of(handle);
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.entries.find(handle);
    if (found == shard.entries.end()) {
        return incomplete.load(std::memory_order_relaxed) ? expected : HandleKind::None;
    }
    Entry &entry = found->second;
    const HandleKind kind = entry.kind;
    if (drops_owner && kind == expected && !entry.shared && --entry.owners == 0) {
        shard.entries.erase(found);
    }
    return kind;
}

int64_t report_registered_handles() {
    constexpr int64_t kMostLines = 50;
    int64_t live = 0;
    for (size_t i = 0; i < kShards; ++i) {
        const std::lock_guard lock(shards[i].mutex);
        for (const auto &[handle, entry] : shards[i].entries) {
            if (entry.shared || entry.inherited || live++ >= kMostLines) {
                continue;
            }
            log_line("never released: %s %p from %s, %lld owner%s", handle_name(entry.kind), handle, entry.function,
                     as_printed(entry.owners), entry.owners == 1 ? "" : "s");
            if (entry.backtrace != nullptr) {
                entry.backtrace->report();
            }
        }
    }
    return live;
}

void free_later(void *block, void (*free_block)(void *)) {
    Ended ended{block, free_block};
    {
        const std::lock_guard lock(queue_mutex);
        std::swap(ended, queue->blocks[queue->next++ % kWaiting]);
    }
    if (ended.block != nullptr) {
        ended.free_block(ended.block);
    }
}

namespace {

// Runs at exit, after the program's own destructors.
__attribute__((destructor)) void report_at_exit() {
    const int64_t live = is_debugging(kHandles) ? report_registered_handles() : 0;
    if (live > 0) {
        log_line("%lld handle%s never released", as_printed(live), live == 1 ? " was" : "s were");
    }
}

}  // namespace
}  // namespace via
