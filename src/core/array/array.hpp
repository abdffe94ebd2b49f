// The array: a view of memory, and a share in the storage that keeps the memory alive.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/reference_count.hpp"
#include "core/base/status.hpp"
#include "core/base/unique_handle.hpp"
#include "core/layout/dtype.hpp"

namespace via {

class Fence;  // a point in work that runs behind: core/async/fence.hpp

// What is to be done when nobody uses the memory any more.
struct Deleter {
    void (*run)(const Deleter &deleter);  // nullptr: nothing
    via_release_fn release;               // of a borrow
    void *context;                        // of a borrow; the via_memory of an allocation
    void *address;                        // of an allocation
    int64_t nbytes;                       // of an allocation
    // Of an allocation that its device gives back in the order of its work: puts that behind the fences. True: `run`
    // may be called at once. nullptr, or false: only once the fences have been reached.
    bool (*free_after)(const Deleter &deleter, Fence *const *fences, int32_t count) = nullptr;
};

class AccessTracker;  // what is known of work that runs behind: core/array/access_tracker.hpp

// How many still use the memory: arrays, so also their exports. It sits at the front of the block of the array that
// made it, and its views keep that block.
struct Storage {
    ReferenceCount references;
    Deleter deleter;
    std::atomic<AccessTracker *> tracker{nullptr};  // from the first fence on
    std::atomic<Fence *> ready{nullptr};            // this and the next: order.hpp
    Fence *newest_access = nullptr;

    // Nearly every storage has never been written or used by work that runs behind.
    bool may_be_pending() const { return tracker.load(std::memory_order_acquire) != nullptr; }
};

// Strides inside the library are "steps": bytes for elements of whole bytes, elements for packed narrower ones. Every
// step is exact, whatever protocol it came by.
struct Layout {
    int32_t ndim;
    int64_t shape[VIA_MAX_NDIM];
    int64_t steps[VIA_MAX_NDIM];
};

}  // namespace via

// Followed in its block by shape, strides in elements and strides in bytes, ndim numbers each.
struct via_array {
    // What a copy asks of each array comes first, beside the fences of a storage that lies before it.
    via::Storage *storage;
    void *data;
    int64_t size;  // elements
    int32_t dtype;
    int32_t ndim;
    int32_t flags;  // VIA_ARRAY_...
    int32_t device_type;
    int32_t device_id;
    bool is_view;               // its block holds no storage
    bool strides_are_elements;  // the strides in elements are exact
    bool strides_are_bytes;     // the strides in bytes are exact
    bool is_row_major;          // elements of whole bytes, at least one, without gaps
    int64_t item_bits;          // 8 for padded narrow elements
    via::ReferenceCount references;

    int64_t *shape() { return reinterpret_cast<int64_t *>(this + 1); }
    int64_t *strides() { return shape() + ndim; }
    int64_t *byte_strides() { return strides() + ndim; }

    bool is_packed() const { return item_bits % 8 != 0; }
    int64_t item_bytes() const { return item_bits / 8; }
    const int64_t *steps() { return is_packed() ? strides() : byte_strides(); }
    int64_t nbytes() const { return via::dense_bytes(size, item_bits); }
    bool is_read_only() const { return (flags & VIA_ARRAY_READ_ONLY) != 0; }
};

static_assert(sizeof(via_array) % alignof(int64_t) == 0, "the dimensions follow without a gap");

namespace via {

enum class StrideUnit { RowMajor, Elements, Bytes };

// What an array is to be made of. The pointers are read during the call only.
struct ArraySpec {
    void *data = nullptr;
    int32_t dtype = 0;
    int32_t ndim = 0;
    const int64_t *shape = nullptr;
    const int64_t *strides = nullptr;  // not read for StrideUnit::RowMajor
    StrideUnit unit = StrideUnit::RowMajor;
    int32_t device_type = VIA_DEVICE_CPU;
    int32_t device_id = 0;
    int32_t flags = 0;  // VIA_ARRAY_... but for MISALIGNED, which is found out
};

// The first and the last byte touched, relative to the data pointer: [low, high). Both 0 if there are no elements.
struct ByteSpan {
    int64_t low;
    int64_t high;
};

// Makes an array with a storage of its own, after checking every field of the spec; on failure the deleter does not
// run.
VIA_NODISCARD Status make_array(const ArraySpec &spec, const Deleter &deleter, via_array **out_array);

// Makes a view of `parent` that starts at `data`; `dtype`, `layout` and `flags` are the view's own.
VIA_NODISCARD Status make_view(via_array *parent, void *data, int32_t dtype, const Layout &layout, int32_t flags,
                               via_array **out_array);

// ndim is in range and, unless it is 0, shape is given.
VIA_NODISCARD Status check_rank(int32_t ndim, const int64_t *shape);

// Checks dtype, ndim and shape, and stores the number of elements; the bits of a dense array of packed elements, or
// the bytes of any other, fit an int64_t. `flags` matters for VIA_ARRAY_SUBBYTE_PADDED.
VIA_NODISCARD Status check_shape(int32_t dtype, int32_t ndim, const int64_t *shape, int32_t flags, int64_t *out_size);

// Bits from one element to the next of a dense array; whole bytes if VIA_ARRAY_SUBBYTE_PADDED is among the flags.
int64_t item_bits_of(int32_t dtype, int32_t flags);

// The borrow of wrapped memory.
Deleter borrowed(via_release_fn release, void *context);

void destroy_array(via_array *array);

// The end of a storage: nobody uses its memory any more.
void run_deleter(const Deleter &deleter);

// One owner less; whoever holds a storage without an array has called references.retain().
void release_storage(Storage *storage);

inline void retain_array(via_array *array) { array->references.retain(); }

inline void release_array(via_array *array) {
    if (array->references.release()) {
        destroy_array(array);
    }
}

void get_layout(via_array *array, Layout *out_layout);
ByteSpan byte_span(via_array *array);
bool has_no_elements(int32_t ndim, const int64_t *shape);
bool is_contiguous(via_array *array, int32_t order);
void *borrowed_context(via_array *array, via_release_fn release);

using UniqueArray = UniqueHandle<via_array, release_array>;

}  // namespace via
