// Page-locked memory that kernels read from which pieces they are to copy. Tables are used again once nothing reads
// them any more, and kept as long as their context: the driver unlocks memory only once all work of the device is done,
// and keeps every thread from giving it more until then, which that work may be waiting for.
#pragma once

#include "core/base/reference_count.hpp"
#include "cuda/kernels/batch.cuh"
#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

class DescriptorTable {
public:
    // One for `count` pieces, which kernels of the context reach; nullptr where none is to be had. The caller's own,
    // and what is in it is to be set.
    static DescriptorTable *take(const ContextKey &context, int64_t count);

    void retain() { references_.retain(); }

    // The last owner gives it back. Calls no driver. `until` says how long it is still read; nullptr: not any more.
    void release(Fence *until);

    DescriptorTable(const DescriptorTable &) = delete;
    DescriptorTable &operator=(const DescriptorTable &) = delete;

    const ContextKey &context() const { return context_; }
    kernels::CopyPiece *pieces() const { return pieces_; }

private:
    DescriptorTable(const ContextKey &context, int64_t nbytes) : context_(context), nbytes_(nbytes) {}
    ~DescriptorTable() = default;

    static DescriptorTable *make(const ContextKey &context, int64_t count);
    static DescriptorTable *choose(DescriptorTable **idle, const ContextKey &context, int64_t nbytes);
    bool map();
    bool is_free() const { return until_ == nullptr || until_->is_complete(); }
    bool serves(const ContextKey &context, int64_t nbytes) const;
    bool is_lost() const;
    void forget();

    ReferenceCount references_;
    const ContextKey context_;  // that it was registered in
    const int64_t nbytes_;
    kernels::CopyPiece *pieces_ = nullptr;
    Fence *until_ = nullptr;           // owned, while it is idle
    DescriptorTable *next_ = nullptr;  // idle too
};

}  // namespace via::cuda
