// Strided arrays: wrapped, allocated, looked at, viewed.
#ifndef VIADUCT_CPP_ARRAY_HPP
#define VIADUCT_CPP_ARRAY_HPP

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "viaduct/cpp/dtype.hpp"
#include "viaduct/cpp/error.hpp"
#include "viaduct/cpp/handle.hpp"
#include "viaduct/cpp/list.hpp"
#include "viaduct/cpp/memory.hpp"
#include "viaduct/cpp/order.hpp"

namespace viaduct {
inline namespace VIADUCT_ERRORS_NAMESPACE {

namespace detail {

// The number of elements; -1 if an extent is negative or there are more than `limit`.
inline std::int64_t count_up_to(std::int64_t limit, Extents shape) {
    std::int64_t count = 1;
    bool fits = shape.size() <= VIA_MAX_NDIM;
    for (std::int32_t axis = 0; fits && axis < shape.size(); ++axis) {
        const std::int64_t extent = shape.data()[axis];
        fits = extent >= 0 && (extent == 0 || count <= limit / extent);
        count = fits ? count * extent : count;
    }
    return fits && count <= limit ? count : -1;
}

template <class T>
[[nodiscard, gnu::cold, gnu::noinline]] Result<T> refuse_elements(Extents shape, std::int64_t available) {
    std::string text = "adopt: shape is {";
    for (std::int32_t axis = 0; axis < shape.size() && axis < VIA_MAX_NDIM; ++axis) {
        text += (axis == 0 ? "" : ", ") + std::to_string(shape.data()[axis]);
    }
    return refuse<T>(VIA_ERROR_SHAPE, text + "}; expected at most " + std::to_string(available) + " elements");
}

// The bytes that an array touches, counted from its address.
struct ByteRange {
    std::int64_t first = 0;
    std::int64_t end = 0;

    // False for sums that overflow.
    bool measure(std::int32_t dtype, Extents shape, Extents strides, bool in_bytes) {
        std::int64_t dense = via_dtype_bits(dtype), below = 0, above = 0;
        const std::int64_t bits = dense;
        for (std::int32_t axis = shape.size(); axis-- > 0;) {
            const std::int64_t extent = shape.data()[axis];
            std::int64_t step = dense;
            if (extent <= 0) {
                return true;
            }
            if (strides.data() != nullptr && __builtin_mul_overflow(strides.data()[axis], in_bytes ? 8 : bits, &step)) {
                return false;
            }
            std::int64_t last = 0;
            std::int64_t *const side = step < 0 ? &below : &above;
            if (__builtin_mul_overflow(step, extent - 1, &last) || __builtin_add_overflow(*side, last, side) ||
                (strides.data() == nullptr && __builtin_mul_overflow(dense, extent, &dense))) {
                return false;
            }
        }
        first = below / 8 - (below % 8 != 0);
        return !__builtin_add_overflow(above, bits + 7, &end) && (end /= 8, true);
    }
};

}  // namespace detail

/** Layout and device of wrapped memory. The strides are borrowed: make a Layout in the call that uses it. */
struct Layout {
    Extents strides = {}; /**< in elements, or in bytes with VIA_WRAP_BYTE_STRIDES */
    Device device = {};
    std::int32_t flags = 0;   /**< VIA_WRAP_... */
    std::int64_t nbytes = -1; /**< unless negative, the bytes from the address on that every element must lie in */
};

/** via_array, owned. */
class Array : public detail::Handle<Array, via_array, via_array_retain, via_array_release> {
public:
    using Handle::Handle;

    /** Memory that outlives the array, its views and its exports; const elements make a read-only array. */
    template <class T>
    [[nodiscard, gnu::always_inline]] static inline Result<Array> wrap(T *address, Extents shape, Layout layout = {}) {
        return wrap_memory(writable(address), dtype_of<T>, shape, with_constness<T>(layout), nullptr, nullptr);
    }

    /** The same of any dtype; `release_memory`, if given, is called as in via_wrap. */
    [[nodiscard, gnu::always_inline]] static inline Result<Array> wrap_as(std::int32_t dtype, void *address,
                                                                          Extents shape, Layout layout = {},
                                                                          via_release_fn release_memory = nullptr,
                                                                          void *context = nullptr) {
        return wrap_memory(address, dtype, shape, layout, release_memory, context);
    }

    /**
     * Memory that `owner` keeps alive: it is moved, which must leave the memory where it is, and
     * destroyed on whichever thread releases it last. On failure it is moved back and still belongs to the caller.
     */
    template <class T, class Owner, class = std::enable_if_t<!std::is_lvalue_reference_v<Owner>>>
    [[nodiscard]] static Result<Array> adopt(Owner &&owner, T *address, Extents shape, Layout layout = {}) {
        static_assert(std::is_nothrow_move_assignable_v<Owner>, "an owner that cannot be given back");
        if (!layout.strides.fits(shape.size())) {
            return refuse_strides(layout, shape);
        }
        if (!is_bounded(dtype_of<T>, shape, layout)) {
            return refuse_bound(dtype_of<T>, shape, layout);
        }
        auto held = std::make_unique<Owner>(std::move(owner));
        via_array *array = nullptr;
        const via_status status = call(writable(address), dtype_of<T>, shape, with_constness<T>(layout),
                                       detail::delete_context<Owner>, held.get(), &array);
        if (status == VIA_OK) {
            static_cast<void>(held.release());
        } else {
            owner = std::move(*held);
        }
        return detail::made<Array>(status, array);
    }

    /**
     * The elements of a vector, which is moved: as many as the shape has, or fewer than the vector. On
     * failure the vector is still the caller's.
     */
    template <class T>
    [[nodiscard]] static Result<Array> adopt(std::vector<T> &&owner, Extents shape) {
        static_assert(!std::is_same_v<T, bool>, "a vector of bool has no elements of its own");
        if (detail::count_up_to(static_cast<std::int64_t>(owner.size()), shape) < 0) {
            return detail::refuse_elements<Array>(shape, static_cast<std::int64_t>(owner.size()));
        }
        T *const first = owner.data();
        return adopt(std::move(owner), first, shape);
    }

    /** All elements of a vector, as an array of one dimension. */
    template <class T>
    [[nodiscard]] static Result<Array> adopt(std::vector<T> &&owner) {
        const std::size_t count = owner.size();
        return adopt(std::move(owner), {count});
    }

    /** Allocates host memory for elements of type T, not initialised. */
    template <class T>
    [[nodiscard]] static Result<Array> empty(Extents shape) {
        return allocate(nullptr, dtype_of<T>, shape, nullptr);
    }

    /** The same of another memory; `stream` orders the allocation where that is done in stream order. */
    template <class T>
    [[nodiscard]] static Result<Array> empty(const Memory &memory, Extents shape, StreamRef stream = {}) {
        return allocate(memory.get(), dtype_of<T>, shape, stream.get());
    }

    /** New host memory, not initialised. */
    [[nodiscard]] static Result<Array> empty(std::int32_t dtype, Extents shape) {
        return allocate(nullptr, dtype, shape, nullptr);
    }

    [[nodiscard]] static Result<Array> empty(const Memory &memory, std::int32_t dtype, Extents shape,
                                             StreamRef stream = {}) {
        return allocate(memory.get(), dtype, shape, stream.get());
    }

    /** Returns the address of the element with index 0 on every axis. */
    void *data() const { return via_array_data(get()); }

    /** The same as T *, which is not checked: elements() does that. */
    template <class T>
    T *data() const {
        return static_cast<T *>(via_array_data(get()));
    }

    std::int32_t dtype() const { return via_array_dtype(get()); }
    std::int32_t ndim() const { return via_array_ndim(get()); }
    Span<const std::int64_t> shape() const { return extents(via_array_shape(get())); }

    /** In elements, where Python's strides are bytes; empty if a stride is not a whole number of elements. */
    Span<const std::int64_t> strides() const { return extents(via_array_strides(get())); }

    /** In bytes, as Python's strides; empty if a stride is not a whole number of them. */
    Span<const std::int64_t> byte_strides() const { return extents(via_array_byte_strides(get())); }

    Device device() const { return {via_array_device_type(get()), via_array_device_id(get())}; }
    std::int64_t size() const { return via_array_size(get()); }
    std::int64_t nbytes() const { return via_array_nbytes(get()); }
    std::int32_t flags() const { return via_array_flags(get()); }

    bool is_contiguous(std::int32_t order = VIA_ORDER_ROW_MAJOR) const {
        return via_array_is_contiguous(get(), order) != 0;
    }

    /** Whether the end of this array may wait for a device: give up locks that its work may need. */
    bool release_waits() const { return via_array_release_waits(get()) != 0; }

    /** The context that the memory was wrapped with, if it was with this release function. */
    void *context(via_release_fn ended_by) const { return via_array_context(get(), ended_by); }

    /** The owner that adopt() keeps, if it is one of this type. */
    template <class Owner>
    Owner *owner() const {
        return static_cast<Owner *>(context(detail::delete_context<Owner>));
    }

    /** Lists are as long as the array has axes, or {} for the default. */
    [[nodiscard]] Result<Array> slice(Extents start, Extents count = {}, Extents step = {}) const {
        const std::int32_t axes = ndim();
        if (!start.fits(axes)) {
            return detail::refuse_length<Array>("slice: start", start.size(), axes);
        }
        if (!count.fits(axes)) {
            return detail::refuse_length<Array>("slice: count", count.size(), axes);
        }
        if (!step.fits(axes)) {
            return detail::refuse_length<Array>("slice: step", step.size(), axes);
        }
        return detail::make<Array>(via_array_slice, get(), start.data(), count.data(), step.data());
    }

    [[nodiscard]] Result<Array> select(std::int32_t axis, std::int64_t index) const {
        return detail::make<Array>(via_array_select, get(), axis, index);
    }

    /** {} reverses the axes. */
    [[nodiscard]] Result<Array> permute(Axes axes = {}) const {
        if (!axes.fits(ndim())) {
            return detail::refuse_length<Array>("permute: axes", axes.size(), ndim());
        }
        return detail::make<Array>(via_array_permute, get(), axes.data());
    }

    [[nodiscard]] Result<Array> reshape(Extents shape) const {
        return detail::make<Array>(via_array_reshape, get(), shape.size(), shape.data());
    }

    [[nodiscard]] Result<Array> broadcast(Extents shape) const {
        return detail::make<Array>(via_array_broadcast, get(), shape.size(), shape.data());
    }

    /** {} drops every axis of extent 1. */
    [[nodiscard]] Result<Array> squeeze(Axes axes = {}) const {
        return detail::make<Array>(via_array_squeeze, get(), axes.size(), axes.data());
    }

    [[nodiscard]] Result<Array> expand(std::int32_t axis) const {
        return detail::make<Array>(via_array_expand, get(), axis);
    }

    [[nodiscard]] Result<Array> reinterpret(std::int32_t dtype) const {
        return detail::make<Array>(via_array_reinterpret, get(), dtype);
    }

    [[nodiscard]] Result<Array> field(std::int64_t byte_offset, std::int32_t dtype, Extents shape = {}) const {
        return detail::make<Array>(via_array_field, get(), byte_offset, dtype, shape.size(), shape.data());
    }

    [[nodiscard]] Result<Array> as_read_only() const { return detail::make<Array>(via_array_as_read_only, get()); }

    VIADUCT_CHECKED Result<void> record_stream(StreamRef stream) const {
        return detail::done(via_array_record_stream(get(), stream.get()));
    }

    VIADUCT_CHECKED Result<void> set_ready(StreamRef stream) const {
        return detail::done(via_array_set_ready(get(), stream.get()));
    }

    bool is_ready() const { return via_array_is_ready(get()) != 0; }

    VIADUCT_CHECKED Result<void> synchronize() const { return detail::done(via_array_synchronize(get())); }

private:
    template <class T>
    static void *writable(T *address) {
        return const_cast<void *>(static_cast<const void *>(address));
    }

    template <class T>
    static Layout with_constness(Layout layout) {
        layout.flags |= std::is_const_v<T> ? VIA_WRAP_READ_ONLY : 0;
        return layout;
    }

    [[gnu::always_inline]] static inline via_status call(void *address, std::int32_t dtype, Extents shape,
                                                         const Layout &layout, via_release_fn release_memory,
                                                         void *context, via_array **out_array) {
        return via_wrap(address, dtype, shape.size(), shape.data(), layout.strides.data(), layout.device.type,
                        layout.device.id, layout.flags, release_memory, context, out_array);
    }

    static Result<Array> refuse_strides(const Layout &layout, Extents shape) {
        return detail::refuse_length<Array>("wrap: strides", layout.strides.size(), shape.size());
    }

    static bool measure(std::int32_t dtype, Extents shape, const Layout &layout, detail::ByteRange *out_range) {
        return out_range->measure(dtype, shape, layout.strides, (layout.flags & VIA_WRAP_BYTE_STRIDES) != 0);
    }

    static bool is_bounded(std::int32_t dtype, Extents shape, const Layout &layout) {
        detail::ByteRange range;
        return layout.nbytes < 0 ||
               (measure(dtype, shape, layout, &range) && range.first >= 0 && range.end <= layout.nbytes);
    }

    [[gnu::cold, gnu::noinline]] static Result<Array> refuse_bound(std::int32_t dtype, Extents shape,
                                                                   const Layout &layout) {
        detail::ByteRange range;
        if (!measure(dtype, shape, layout, &range)) {
            return detail::refuse<Array>(
                VIA_ERROR_OVERFLOW,
                "wrap: shape reaches over more than 2^63 - 1 bits; expected an array within nbytes");
        }
        return detail::refuse<Array>(
            VIA_ERROR_POINTER, range.first < 0 ? "wrap: strides reach " + std::to_string(-range.first) +
                                                     " bytes before the address; expected none"
                                               : "wrap: nbytes is " + std::to_string(layout.nbytes) + "; expected " +
                                                     std::to_string(range.end) + " or more for that shape and dtype");
    }

    [[gnu::always_inline]] static inline Result<Array> wrap_memory(void *address, std::int32_t dtype, Extents shape,
                                                                   const Layout &layout, via_release_fn release_memory,
                                                                   void *context) {
        if (!layout.strides.fits(shape.size())) {
            return refuse_strides(layout, shape);
        }
        if (!is_bounded(dtype, shape, layout)) {
            return refuse_bound(dtype, shape, layout);
        }
        via_array *array = nullptr;
        return detail::made<Array>(call(address, dtype, shape, layout, release_memory, context, &array), array);
    }

    static Result<Array> allocate(via_memory *memory, std::int32_t dtype, Extents shape, via_stream *stream) {
        return detail::make<Array>(via_empty, memory, dtype, shape.size(), shape.data(), stream);
    }

    Span<const std::int64_t> extents(const std::int64_t *numbers) const {
        return {numbers, numbers == nullptr ? 0 : static_cast<std::size_t>(ndim())};
    }
};

}  // namespace VIADUCT_ERRORS_NAMESPACE
}  // namespace viaduct

#endif
