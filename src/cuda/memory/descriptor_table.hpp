// Tables in pinned memory, from which kernels read what to copy: pieces, or numbers of rows. A table is reused
// once no work reads it, and lives as long as its context. It is not unlocked earlier: the driver would wait for all
// work of the device and block other threads meanwhile.
#pragma once

#include "core/base/reference_count.hpp"
#include "cuda/memory/pinned_memory.hpp"
#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

class DescriptorTable {
public:
    // Returns a table of at least `nbytes` that kernels of the context can read and write, or nullptr. The caller owns
    // it and fills it in.
    static DescriptorTable *take(const ContextKey &context, int64_t nbytes);

    // Returns the table that `*kept` owns, or nullptr if it is of another context or there is no memory. Takes one and
    // calls fill(memory) where there is none, or where its context is gone.
    template <class Fill>
    static DescriptorTable *keep(DescriptorTable **kept, const ContextKey &context, int64_t nbytes, const Fill &fill) {
        if (*kept != nullptr && state_of((*kept)->block_.context) != ContextState::Alive) {
            (*kept)->release(nullptr);
            *kept = nullptr;
        }
        if (*kept == nullptr) {
            *kept = take(context, nbytes);
            if (*kept != nullptr) {
                fill((*kept)->memory());
            }
        }
        return *kept != nullptr && (*kept)->is_of(context) ? *kept : nullptr;
    }

    // Gives a reference to the graph that is being captured on the stream.
    VIA_NODISCARD Status hold_in_graph(const ResolvedStream &stream);

    void retain() { references_.retain(); }

    // Drops a reference. The last one returns the table without calling the driver. `until` is the fence of the last
    // work that reads it, nullptr: this owner knows of none. At most one owner knows of work.
    void release(Fence *until);

    DescriptorTable(const DescriptorTable &) = delete;
    DescriptorTable &operator=(const DescriptorTable &) = delete;

    void *memory() const { return block_.address; }
    bool is_of(const ContextKey &context) const { return block_.context == context; }

private:
    DescriptorTable() = default;
    ~DescriptorTable() = default;

    static DescriptorTable *make(const ContextKey &context, int64_t nbytes);
    static DescriptorTable *reuse(const ContextKey &context, int64_t nbytes);
    static DescriptorTable *choose(DescriptorTable **idle, const ContextKey &context, int64_t nbytes);
    bool is_free() const { return until_.get() == nullptr || until_.get()->is_complete(); }
    void note_work(Fence *until);
    void forget();

    ReferenceCount references_;
    PinnedBlock block_;
    UniqueFence until_;                // of the work that reads it when nobody owns it
    DescriptorTable *next_ = nullptr;  // idle too
};

// Owns a reference of one that knows of no work.
inline void drop_table(DescriptorTable *table) noexcept { table->release(nullptr); }
using UniqueTable = UniqueHandle<DescriptorTable, drop_table>;

}  // namespace via::cuda
