#include "core/array/array.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <numeric>

#include "core/array/access_tracker.hpp"
#include "core/base/checked.hpp"
#include "core/base/thread_state.hpp"
#include "core/diagnostics/handle_registry.hpp"

namespace via {
namespace {

// Block of an array with a storage of its own; the block of a view holds the array only.
struct Block {
    Storage storage;
    via_array array;
};

constexpr int64_t dims_bytes(int32_t ndim) { return 3 * int64_t{ndim} * static_cast<int64_t>(sizeof(int64_t)); }

Status no_memory(int64_t nbytes) {
    return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a handle of %lld bytes", as_printed(nbytes));
}

Status negative_extent(int32_t axis, int64_t extent) {
    return fail(VIA_ERROR_SHAPE, "shape[%d] is %lld; expected 0 or more", axis, as_printed(extent));
}

Status too_large(const char *what) {
    return fail(VIA_ERROR_OVERFLOW, "%s is over 2^63 - 1 bytes; expected an array that fits the address space", what);
}

// Counts the elements of `bits` bits each; the bits of all packed ones fit an int64_t, or the bytes of others. The
// product skips zeros, so that the order of the extents does not matter.
Status count_elements(int32_t ndim, const int64_t *shape, int64_t bits, int64_t *out_size) {
    int64_t size = 1;
    bool empty = false;
    for (int32_t i = 0; i < ndim; ++i) {
        const int64_t extent = shape[i];
        if (extent <= 0) [[unlikely]] {
            if (extent < 0) {
                return negative_extent(i, extent);
            }
            empty = true;
            continue;
        }
        if (!multiply(size, extent, &size)) [[unlikely]] {
            return too_large("the product of the shape");
        }
    }
    int64_t whole = 0;
    if (!multiply(size, bits % 8 != 0 ? bits : bits / 8, &whole)) [[unlikely]] {
        return too_large("shape times element size");
    }
    *out_size = empty ? 0 : size;
    return VIA_OK;
}

// Stores a stride in elements and in bytes. Axes of extent 0 or 1 are never stepped along: a stride that cannot be
// represented is replaced there.
bool set_stride(via_array *array, int32_t axis, int64_t stride, StrideUnit unit) {
    int64_t &elements = array->strides()[axis];
    int64_t &bytes = array->byte_strides()[axis];
    const bool moot = array->shape()[axis] <= 1;
    const bool packed = array->is_packed();
    if (unit == StrideUnit::Elements) {
        elements = stride;
        if (!multiply(stride, packed ? array->item_bits : array->item_bytes(), &bytes)) {
            elements = moot ? 1 : elements;
            bytes = array->step_unit();
            return moot;
        }
        if (packed) {
            array->strides_are_bytes &= bytes % 8 == 0 || moot;
            bytes /= 8;
        }
        return true;
    }
    bytes = stride;
    if (packed) {
        int64_t bits = 0;
        const bool fits = multiply(stride, 8, &bits);
        array->strides_are_elements &= (fits && bits % array->item_bits == 0) || moot;
        elements = fits ? bits / array->item_bits : 1;
        return fits || moot;
    }
    array->strides_are_elements &= stride % array->item_bytes() == 0 || moot;
    elements = stride / array->item_bytes();
    return true;
}

// Computes the span in the unit of the steps; false if it does not fit.
bool measure(via_array *array, int64_t *out_low, int64_t *out_high) {
    int64_t low = 0;
    int64_t high = 0;
    for (int32_t i = 0; i < array->ndim; ++i) {
        int64_t reach = 0;
        if (!multiply(array->shape()[i] - 1, array->steps()[i], &reach) ||
            !add(reach < 0 ? low : high, reach, reach < 0 ? &low : &high)) {
            return false;
        }
    }
    *out_low = low;
    *out_high = high;
    return true;
}

// Computes the span in bytes of an array with elements; false if it does not fit.
bool find_span(via_array *array, ByteSpan *out_span) {
    int64_t low = 0;
    int64_t high = 0;
    if (!measure(array, &low, &high)) {
        return false;
    }
    if (!array->is_packed()) {
        out_span->low = low;
        return add(high, array->item_bytes(), &out_span->high);
    }
    int64_t low_bits = 0;
    int64_t high_bits = 0;
    if (!multiply(low, array->item_bits, &low_bits) || !add(high, 1, &high) ||
        !multiply(high, array->item_bits, &high_bits)) {
        return false;
    }
    out_span->low = low_bits / 8 - (low_bits % 8 < 0 ? 1 : 0);
    out_span->high = dense_bytes(high, array->item_bits);
    return true;
}

Status check_span(via_array *array) {
    if (array->size == 0) {
        return VIA_OK;
    }
    ByteSpan span{};
    if (!find_span(array, &span)) {
        return too_large("shape times strides");
    }
    const void *end = nullptr;
    if (!advance(array->data, span.low, &end) || !advance(array->data, span.high, &end)) {
        return fail(
            VIA_ERROR_OVERFLOW,
            "address is %p, and the array takes bytes %lld to %lld from there; expected them inside the address space",
            array->data, as_printed(span.low), as_printed(span.high));
    }
    return VIA_OK;
}

bool is_misaligned(via_array *array, uint64_t offsets) {
    const auto mask = static_cast<uint64_t>(dtype_alignment(array->dtype) - 1);
    return (offsets & mask) != 0 && array->size > 0;
}

Status describe_strided(via_array *array, const ArraySpec &spec) {
    auto offsets = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(array->data));
    for (int32_t i = 0; i < spec.ndim; ++i) {
        if (!set_stride(array, i, spec.strides[i], spec.unit)) {
            return fail(VIA_ERROR_OVERFLOW, "strides[%d] is %lld; expected less than 2^63 bytes", i,
                        as_printed(spec.strides[i]));
        }
        offsets |= array->shape()[i] > 1 ? static_cast<uint64_t>(array->byte_strides()[i]) : 0;
    }
    if (array->is_packed() && !array->strides_are_elements) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "strides are in bytes; expected whole elements of %lld bits",
                    as_printed(array->item_bits));
    }
    VIA_TRY(check_span(array));
    array->flags |= is_misaligned(array, offsets) ? VIA_ARRAY_MISALIGNED : 0;
    return VIA_OK;
}

// Describes nearly every array in one pass: row-major, of whole bytes, with elements. Returns false for any other
// array, which describe_any then describes from the start.
bool describe_plain(via_array *array, const ArraySpec &spec) {
    const int64_t bits = dtype_bits(spec.dtype);
    if (spec.unit != StrideUnit::RowMajor || bits % 8 != 0 || spec.data == nullptr) {
        return false;
    }
    const int64_t item_bytes = bits / 8;
    int64_t size = 1;
    int64_t bytes = item_bytes;
    for (int32_t i = spec.ndim - 1; i >= 0; --i) {
        const int64_t extent = spec.shape[i];
        array->shape()[i] = extent;
        array->strides()[i] = size;
        array->byte_strides()[i] = bytes;
        if (extent <= 0 || !multiply(bytes, extent, &bytes)) {
            return false;
        }
        size *= extent;  // at most `bytes`, so it fits
    }
    const void *end = nullptr;
    array->size = size;
    array->item_bits = bits;
    array->flags |= is_misaligned(array, reinterpret_cast<uintptr_t>(array->data)) ? VIA_ARRAY_MISALIGNED : 0;
    return advance(spec.data, bytes, &end);
}

Status describe_any(via_array *array, const ArraySpec &spec) {
    array->item_bits = item_bits_of(spec.dtype, spec.flags);
    VIA_TRY(count_elements(spec.ndim, spec.shape, array->item_bits, &array->size));
    if (spec.data == nullptr && array->size > 0) [[unlikely]] {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "address is NULL; expected the memory of %lld elements",
                    as_printed(array->size));
    }
    for (int32_t i = 0; i < spec.ndim; ++i) {
        array->shape()[i] = spec.shape[i];
    }
    if (spec.unit != StrideUnit::RowMajor) {
        return describe_strided(array, spec);
    }
    int64_t strides[VIA_MAX_NDIM];
    ArraySpec dense = spec;
    dense.strides = strides;
    dense.unit = StrideUnit::Elements;
    int64_t stride = 1;
    for (int32_t i = spec.ndim - 1; i >= 0; --i) {
        strides[i] = stride;
        stride *= std::max<int64_t>(spec.shape[i], 1);  // no overflow: count_elements has multiplied the same numbers
    }
    VIA_TRY(describe_strided(array, dense));
    array->strides_are_bytes = !array->is_packed();
    return VIA_OK;
}

// Returns whether each axis continues the one before; axis_at(i) returns the axis that comes as number i.
template <class AxisAt>
bool is_dense(via_array *array, const AxisAt &axis_at) {
    const int64_t *steps = array->steps();
    int64_t unit = array->step_unit();
    for (int32_t i = 0; i < array->ndim; ++i) {
        const int32_t axis = axis_at(i);
        const int64_t extent = array->shape()[axis];
        if (extent == 1) {
            continue;
        }
        if (steps[axis] != unit) {
            return false;
        }
        unit *= extent;
    }
    return true;
}

bool is_dense_row_major(via_array *array) {
    return is_dense(array, [last = array->ndim - 1](int32_t i) { return last - i; });
}

// Fills every field that follows from the spec. The array's block has room for spec.ndim dimensions.
Status describe(via_array *array, const ArraySpec &spec) {
    array->data = spec.data;
    array->dtype = spec.dtype;
    array->ndim = spec.ndim;
    array->flags = spec.flags & ~VIA_ARRAY_MISALIGNED;
    array->device_type = spec.device_type;
    array->device_id = spec.device_id;
    array->strides_are_elements = true;
    array->strides_are_bytes = true;
    array->is_row_major = true;
    if (describe_plain(array, spec)) [[likely]] {
        return VIA_OK;
    }
    array->flags = spec.flags & ~VIA_ARRAY_MISALIGNED;
    VIA_TRY(describe_any(array, spec));
    array->is_row_major = array->size > 0 && !array->is_packed() && is_dense_row_major(array);
    return VIA_OK;
}

void end_borrow(const Deleter &deleter) {
    if (deleter.release != nullptr) {
        const CallbackScope scope;
        deleter.release(deleter.context);
    }
}

}  // namespace

struct PostponedDeleter {
    Deleter deleter;
    PostponedDeleter *next;
};

namespace {

// Limits the stack: a deleter may release the last reference to other memory, whose deleter then runs inside it, and so
// on. Deleters nested deeper than this are postponed, and run by the one at this depth.
constexpr int32_t kMostNested = 50;

// Returns false without memory. The order of postponed deleters does not matter: each belongs to memory that the one
// before it has released.
bool postpone(ThreadState *state, const Deleter &deleter) {
    auto *postponed = static_cast<PostponedDeleter *>(std::malloc(sizeof(PostponedDeleter)));
    if (postponed == nullptr) {
        return false;
    }
    state->postponed = new (postponed) PostponedDeleter{deleter, state->postponed};
    return true;
}

// Counts nested deleters, also if an interpreter ends the thread from inside a callback.
class Nesting {
public:
    explicit Nesting(ThreadState *state) : state_(state) { state_->nested_deleters++; }
    ~Nesting() { state_->nested_deleters--; }
    Nesting(const Nesting &) = delete;
    Nesting &operator=(const Nesting &) = delete;

private:
    ThreadState *const state_;
};

void run_nested(ThreadState *state, const Deleter &deleter) {
    const Nesting scope(state);
    deleter.run(deleter);
}

[[gnu::noinline]] void run_postponed(ThreadState *state) {
    while (PostponedDeleter *postponed = state->postponed) {
        const Deleter deleter = postponed->deleter;
        state->postponed = postponed->next;
        std::free(postponed);
        run_nested(state, deleter);
    }
}

// A thread has no state only if there is no memory for one: the caller has counted, which attaches the thread.
[[gnu::noinline, gnu::cold]] void run_without_state_or_postpone(ThreadState *state, const Deleter &deleter) {
    if (state == nullptr || !postpone(state, deleter)) {
        deleter.run(deleter);
    }
}

[[gnu::always_inline]] inline void run_or_postpone(const Deleter &deleter) {
    ThreadState *state = current_thread_state;
    if (state == nullptr || state->nested_deleters >= kMostNested) [[unlikely]] {
        return run_without_state_or_postpone(state, deleter);
    }
    run_nested(state, deleter);
    if (state->postponed != nullptr && state->nested_deleters < kMostNested) [[unlikely]] {
        run_postponed(state);
    }
}

bool has_work(const Deleter &deleter) {
    return deleter.run != nullptr && !(deleter.run == end_borrow && deleter.release == nullptr);
}

// Inline in both callers: releasing an array takes nanoseconds.
[[gnu::always_inline]] inline void run_deleter_now(const Deleter &deleter) {
    count(Counter::Storages, -1);
    if (has_work(deleter)) {
        run_or_postpone(deleter);
    }
}

[[gnu::always_inline]] inline void release_now(Storage *storage) {
    if (!storage->references.release()) {
        return;
    }
    // The owner's callback runs last: it may end the thread.
    const Deleter deleter = storage->deleter;
    AccessTracker *tracker = storage->tracker.load(std::memory_order_acquire);
    if (tracker != nullptr) [[unlikely]] {
        detach_fences(storage, tracker);
        free_handle(storage);
        return defer_release(tracker, deleter);
    }
    free_handle(storage);
    run_deleter_now(deleter);
}

}  // namespace

void run_deleter(const Deleter &deleter) { run_deleter_now(deleter); }

void release_storage(Storage *storage) { release_now(storage); }

Status check_rank(int32_t ndim, const int64_t *shape) {
    if (ndim < 0 || ndim > VIA_MAX_NDIM) [[unlikely]] {
        return fail(VIA_ERROR_SHAPE, "ndim is %d; expected 0 to %d", ndim, VIA_MAX_NDIM);
    }
    if (shape == nullptr && ndim > 0) [[unlikely]] {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "shape is NULL; expected %d extents", ndim);
    }
    return VIA_OK;
}

// Defined here, because borrowed_context recognises borrowed memory by the address of end_borrow.
Deleter borrowed(via_release_fn release, void *context) { return {end_borrow, release, context, nullptr, 0}; }

Status make_array(const ArraySpec &spec, const Deleter &deleter, via_array **out_array) {
    VIA_TRY(check_dtype("dtype", spec.dtype));
    VIA_TRY(check_rank(spec.ndim, spec.shape));
    const int64_t nbytes = static_cast<int64_t>(sizeof(Block)) + dims_bytes(spec.ndim);
    auto *block = static_cast<Block *>(std::malloc(static_cast<size_t>(nbytes)));
    if (block == nullptr) [[unlikely]] {
        return no_memory(nbytes);
    }
    if (Status status = describe(&block->array, spec); status != VIA_OK) [[unlikely]] {
        std::free(block);
        return status;
    }
    new (&block->storage) Storage{{}, deleter};
    new (&block->array.references) ReferenceCount;
    block->array.storage = &block->storage;
    block->array.is_view = false;
    count(Counter::Arrays, 1);
    count(Counter::Storages, 1);
    *out_array = &block->array;
    return VIA_OK;
}

Status make_dense(via_array *like, int32_t dtype, void *memory, via_array **out_array) {
    const ArraySpec spec{.data = memory != nullptr ? memory : reinterpret_cast<void *>(kLayoutAddress),
                         .dtype = dtype,
                         .ndim = like->ndim,
                         .shape = like->shape(),
                         .flags = dtype_bits(dtype) % 8 != 0 ? VIA_ARRAY_SUBBYTE_PADDED : 0};
    return make_array(spec, Deleter{}, out_array);
}

Status make_view(via_array *parent, void *data, int32_t dtype, const Layout &layout, int32_t flags,
                 via_array **out_array) {
    const int64_t nbytes = static_cast<int64_t>(sizeof(via_array)) + dims_bytes(layout.ndim);
    auto *view = static_cast<via_array *>(std::malloc(static_cast<size_t>(nbytes)));
    if (view == nullptr) [[unlikely]] {
        return no_memory(nbytes);
    }
    ArraySpec spec{.data = data,
                   .dtype = dtype,
                   .ndim = layout.ndim,
                   .shape = layout.shape,
                   .strides = layout.steps,
                   .unit = item_bits_of(dtype, flags) % 8 != 0 ? StrideUnit::Elements : StrideUnit::Bytes,
                   .device_type = parent->device_type,
                   .device_id = parent->device_id,
                   .flags = flags};
    if (Status status = describe(view, spec); status != VIA_OK) [[unlikely]] {
        std::free(view);
        return status;
    }
    new (&view->references) ReferenceCount;
    view->storage = parent->storage;
    view->storage->references.retain();
    view->is_view = true;
    count(Counter::Arrays, 1);
    *out_array = view;
    return VIA_OK;
}

int64_t item_bits_of(int32_t dtype, int32_t flags) {
    const int64_t bits = dtype_bits(dtype);
    return (flags & VIA_ARRAY_SUBBYTE_PADDED) != 0 ? (bits + 7) / 8 * 8 : bits;
}

Status check_shape(int32_t dtype, int32_t ndim, const int64_t *shape, int32_t flags, int64_t *out_size) {
    VIA_TRY(check_dtype("dtype", dtype));
    VIA_TRY(check_rank(ndim, shape));
    return count_elements(ndim, shape, item_bits_of(dtype, flags), out_size);
}

void destroy_array(via_array *array) {
    Storage *storage = array->storage;
    count(Counter::Arrays, -1);
    if (array->is_view) {
        free_handle(array);
    }
    release_now(storage);
}

bool release_waits(via_array *array) {
    const Storage &storage = *array->storage;
    return storage.deleter.waits && array->references.is_unique() && storage.references.is_unique();
}

Layout layout_of(via_array *array) {
    Layout layout;
    layout.ndim = array->ndim;
    std::copy_n(array->shape(), array->ndim, layout.shape);
    std::copy_n(array->steps(), array->ndim, layout.steps);
    return layout;
}

ByteSpan byte_span(via_array *array) {
    ByteSpan span{0, 0};
    if (array->size > 0) {
        (void)find_span(array, &span);  // cannot fail: the array was checked when it was made
    }
    return span;
}

bool has_no_elements(int32_t ndim, const int64_t *shape) { return std::find(shape, shape + ndim, 0) != shape + ndim; }

bool is_contiguous(via_array *array, int32_t order) {
    if (array->size == 0) {
        return true;
    }
    if (order == VIA_ORDER_ROW_MAJOR) {
        return is_dense_row_major(array);
    }
    if (order == VIA_ORDER_COLUMN_MAJOR) {
        return is_dense(array, [](int32_t i) { return i; });
    }
    int32_t by_step[VIA_MAX_NDIM];
    std::iota(by_step, by_step + array->ndim, 0);
    std::sort(by_step, by_step + array->ndim,
              [steps = array->steps()](int32_t a, int32_t b) { return steps[a] < steps[b]; });
    return is_dense(array, [&](int32_t i) { return by_step[i]; });
}

void *borrowed_context(via_array *array, via_release_fn release) {
    const Deleter &deleter = array->storage->deleter;
    return deleter.run == end_borrow && deleter.release == release ? deleter.context : nullptr;
}

}  // namespace via
