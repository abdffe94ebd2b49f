// Arrays: views of memory that hold a reference to its storage.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/reference_count.hpp"
#include "core/base/status.hpp"
#include "core/base/unique_handle.hpp"
#include "core/layout/dtype.hpp"

namespace via {

class Fence;  // the end of asynchronous work: core/async/fence.hpp

// Releases memory that is no longer used.
struct Deleter {
    void (*run)(const Deleter &deleter);  // nullptr: nothing to do
    via_release_fn release;               // of borrowed memory
    void *context;                        // of borrowed memory; the via_memory of an allocation
    void *address;                        // of an allocation
    int64_t nbytes;                       // of an allocation
    // Orders the release of an allocation after the fences on its device. Returns true if `run` may be called at once;
    // otherwise, and if it is nullptr, `run` is called after the fences have completed.
    bool (*free_after)(const Deleter &deleter, Fence *const *fences, int32_t count) = nullptr;
    bool waits = false;  // `run` may wait for the work of a device
};

class AccessTracker;  // core/array/access_tracker.hpp

// Counts the users of memory: arrays, and through them their exports. Lies at the front of the block of the array that
// made it; views keep that block allocated.
struct Storage {
    ReferenceCount references;
    Deleter deleter;
    std::atomic<AccessTracker *> tracker{nullptr};  // from the first fence on
    std::atomic<Fence *> last_write{nullptr};       // see access_tracker.hpp, for the next one too
    Fence *last_access = nullptr;

    // Returns false for nearly every storage: no asynchronous work has ever accessed it.
    bool may_be_pending() const { return tracker.load(std::memory_order_acquire) != nullptr; }
};

// Strides inside the library are "steps": bytes for elements of whole bytes, elements for packed ones. Steps are exact,
// whatever protocol they came from.
struct Layout {
    int32_t ndim;
    int64_t shape[VIA_MAX_NDIM];
    int64_t steps[VIA_MAX_NDIM];
};

}  // namespace via

// The block continues with shape, strides in elements and strides in bytes, ndim numbers each.
struct via_array {
    // Fields that every copy reads come first, on the cache line of the storage's fences.
    via::Storage *storage;
    void *data;
    int64_t size;  // elements
    int32_t dtype;
    int32_t ndim;
    int32_t flags;  // VIA_ARRAY_...
    int32_t device_type;
    int32_t device_id;
    bool is_view;               // the block holds no storage
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
    int64_t step_unit() const { return is_packed() ? 1 : item_bytes(); }  // of steps: one element
    const int64_t *steps() { return is_packed() ? strides() : byte_strides(); }
    int64_t nbytes() const { return via::dense_bytes(size, item_bits); }
    bool is_read_only() const { return (flags & VIA_ARRAY_READ_ONLY) != 0; }
};

static_assert(sizeof(via_array) % alignof(int64_t) == 0, "the dimensions follow without a gap");

namespace via {

enum class StrideUnit { RowMajor, Elements, Bytes };

// Describes an array to be made. The pointers are read during the call only.
struct ArraySpec {
    void *data = nullptr;
    int32_t dtype = 0;
    int32_t ndim = 0;
    const int64_t *shape = nullptr;
    const int64_t *strides = nullptr;  // not read for StrideUnit::RowMajor
    StrideUnit unit = StrideUnit::RowMajor;
    int32_t device_type = VIA_DEVICE_CPU;
    int32_t device_id = 0;
    int32_t flags = 0;  // VIA_ARRAY_..., except MISALIGNED, which is computed
};

// Bytes touched, relative to the data pointer: [low, high). Both 0 without elements.
struct ByteSpan {
    int64_t low;
    int64_t high;
};

// Makes an array with a storage of its own, after checking every field of the spec; on failure the deleter does not
// run.
VIA_NODISCARD Status make_array(const ArraySpec &spec, const Deleter &deleter, via_array **out_array);

// Address of arrays that are used for their layout only, such as that of a range of a file: neither NULL nor memory.
constexpr uintptr_t kLayoutAddress = uintptr_t{1} << 12;

// Makes a row-major array of another's shape, whose elements take whole bytes, on borrowed memory of the host; NULL
// makes one at kLayoutAddress.
VIA_NODISCARD Status make_dense(via_array *like, int32_t dtype, void *memory, via_array **out_array);

// Makes a view of `parent` that starts at `data`; `dtype`, `layout` and `flags` are the view's own.
VIA_NODISCARD Status make_view(via_array *parent, void *data, int32_t dtype, const Layout &layout, int32_t flags,
                               via_array **out_array);

// Checks that ndim is in range and, unless it is 0, shape is not NULL.
VIA_NODISCARD Status check_rank(int32_t ndim, const int64_t *shape);

// Checks dtype, ndim and shape, and stores the number of elements. The bits of a dense array of packed elements, or the
// bytes of any other, fit an int64_t. Reads VIA_ARRAY_SUBBYTE_PADDED of `flags`.
VIA_NODISCARD Status check_shape(int32_t dtype, int32_t ndim, const int64_t *shape, int32_t flags, int64_t *out_size);

// Returns the bits from one element to the next of a dense array; whole bytes with VIA_ARRAY_SUBBYTE_PADDED.
int64_t item_bits_of(int32_t dtype, int32_t flags);

// Makes the deleter of wrapped memory.
Deleter borrowed(via_release_fn release, void *context);

void destroy_array(via_array *array);

// Ends a storage whose memory is no longer used.
void run_deleter(const Deleter &deleter);

// Drops a reference. Holders of a storage without an array have called references.retain().
void release_storage(Storage *storage);

inline void retain_array(via_array *array) { array->references.retain(); }

// Adds a reference; ignores nullptr.
inline via_array *retained(via_array *array) {
    if (array != nullptr) {
        retain_array(array);
    }
    return array;
}

inline void release_array(via_array *array) {
    if (array->references.release()) {
        destroy_array(array);
    }
}

// Returns whether this reference is the last one of memory whose deleter waits.
bool release_waits(via_array *array);

Layout layout_of(via_array *array);
ByteSpan byte_span(via_array *array);
bool has_no_elements(int32_t ndim, const int64_t *shape);
bool is_contiguous(via_array *array, int32_t order);
void *borrowed_context(via_array *array, via_release_fn release);

using UniqueArray = UniqueHandle<via_array, release_array>;

// Makes an array as make_array does, and accepts it only after `check(array)`. On failure the deleter does not run.
template <class Check>
VIA_NODISCARD Status make_checked_array(const ArraySpec &spec, const Deleter &deleter, via_array **out_array,
                                        const Check &check) {
    UniqueArray array;
    VIA_TRY(make_array(spec, Deleter{}, array.out()));
    VIA_TRY(check(array.get()));
    array.get()->storage->deleter = deleter;
    *out_array = array.release();
    return VIA_OK;
}

}  // namespace via
