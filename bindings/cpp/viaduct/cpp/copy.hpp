// Copies: synchronous, in stream order, and as tasks.
#ifndef VIADUCT_CPP_COPY_HPP
#define VIADUCT_CPP_COPY_HPP

#include <algorithm>
#include <string>

#include "viaduct/cpp/array.hpp"
#include "viaduct/cpp/task.hpp"

namespace viaduct {
inline namespace VIADUCT_ERRORS_NAMESPACE {

/** Copies, and returns when the host and every stream see the result. */
VIADUCT_CHECKED inline Result<void> copy(const Array &dst, const Array &src) {
    return detail::done(via_copy(dst.get(), src.get()));
}

/** Queues a copy on a stream. */
VIADUCT_CHECKED inline Result<void> copy_async(const Array &dst, const Array &src, StreamRef stream = {}) {
    return detail::done(via_copy_async(dst.get(), src.get(), stream.get()));
}

/** Submits a copy as a task, and returns at once. */
[[nodiscard]] inline Result<Task> copy_submit(const Array &dst, const Array &src, StreamRef stream = {}) {
    return detail::make<Task>(via_copy_submit, dst.get(), src.get(), stream.get());
}

/** Copies pairs of arrays as copy_async does. Takes handles, since these are contiguous. */
VIADUCT_CHECKED inline Result<void> copy_batch(List<via_array *> dsts, List<via_array *> srcs, StreamRef stream = {}) {
    if (dsts.size() != srcs.size()) {
        return detail::refuse<void>(VIA_ERROR_INVALID_ARGUMENT, "copy_batch: srcs has " + std::to_string(srcs.size()) +
                                                                    " arrays; expected " + std::to_string(dsts.size()));
    }
    return detail::done(via_copy_batch(dsts.size(), dsts.data(), srcs.data(), stream.get()));
}

/**
 * Copies rows by index along an axis: `copy_indexed({cache, blocks}, {host, slots})`. Complete on return without a
 * stream, otherwise queued on it.
 */
VIADUCT_CHECKED inline Result<void> copy_indexed(const Rows &dst, const Rows &src, std::int32_t axis = 0,
                                                 StreamRef stream = {}) {
    return detail::done(
        via_copy_indexed(dst.array.get(), dst.list(), src.array.get(), src.list(), axis, nullptr, stream.get()));
}

/** Submits a copy by index as a task, and returns at once. */
[[nodiscard]] inline Result<Task> copy_indexed_submit(const Rows &dst, const Rows &src, std::int32_t axis = 0,
                                                      StreamRef stream = {}) {
    return detail::make<Task>(via_copy_indexed_submit, dst.array.get(), dst.list(), src.array.get(), src.list(), axis,
                              nullptr, stream.get());
}

/** Copies rows by index to another dtype, and converts on the way. Otherwise as copy_indexed(). */
VIADUCT_CHECKED inline Result<void> convert_indexed(const Rows &dst, const Rows &src, std::int32_t axis = 0,
                                                    const via_convert_options &options = convert_options(),
                                                    StreamRef stream = {}) {
    return detail::done(
        via_copy_indexed(dst.array.get(), dst.list(), src.array.get(), src.list(), axis, &options, stream.get()));
}

/** Submits a conversion by index as a task, and returns at once. */
[[nodiscard]] inline Result<Task> convert_indexed_submit(const Rows &dst, const Rows &src, std::int32_t axis = 0,
                                                         const via_convert_options &options = convert_options(),
                                                         StreamRef stream = {}) {
    return detail::make<Task>(via_copy_indexed_submit, dst.array.get(), dst.list(), src.array.get(), src.list(), axis,
                              &options, stream.get());
}

/** Copies to another dtype. Complete on return without a stream, otherwise queued on it. */
VIADUCT_CHECKED inline Result<void> convert(const Array &dst, const Array &src,
                                            const via_convert_options &options = convert_options(),
                                            StreamRef stream = {}) {
    return detail::done(via_convert(dst.get(), src.get(), &options, stream.get()));
}

/** Submits a conversion as a task, and returns at once. */
[[nodiscard]] inline Result<Task> convert_submit(const Array &dst, const Array &src,
                                                 const via_convert_options &options = convert_options(),
                                                 StreamRef stream = {}) {
    return detail::make<Task>(via_convert_submit, dst.get(), src.get(), &options, stream.get());
}

/** Describes how convert() would convert, and where, as text. */
[[nodiscard]] inline Result<std::string> convert_explain(const Array &dst, const Array &src,
                                                         const via_convert_options &options = convert_options()) {
    std::string text(4096, '\0');
    std::int64_t length = 0;
    const via_status status = via_convert_explain(dst.get(), src.get(), &options,
                                                  static_cast<std::int64_t>(text.size()), text.data(), &length);
    text.resize(std::min(static_cast<std::size_t>(length), text.size() - 1));
    return detail::made<std::string>(status, text);
}

/** Copies bytes between raw addresses. */
VIADUCT_CHECKED inline Result<void> memcpy(void *dst, const void *src, std::int64_t nbytes, StreamRef stream = {}) {
    return detail::done(via_memcpy(dst, src, nbytes, stream.get()));
}

/** Sets every element to zero. */
VIADUCT_CHECKED inline Result<void> fill_zero(const Array &dst, StreamRef stream = {}) {
    return detail::done(via_fill(dst.get(), nullptr, stream.get()));
}

/** Sets every element to `value`, which must be of the array's dtype. */
template <class T>
VIADUCT_CHECKED Result<void> fill(const Array &dst, const T &value, StreamRef stream = {}) {
    if (dst.dtype() != dtype_of<T>) {
        return detail::refuse<void>(VIA_ERROR_DTYPE, "fill: array has dtype " + dtype_text(dst.dtype()) +
                                                         "; expected " + dtype_text(dtype_of<T>) +
                                                         ", that of the value");
    }
    return detail::done(via_fill(dst.get(), &value, stream.get()));
}

/** Describes how copy() would copy, as text. */
[[nodiscard]] inline Result<std::string> copy_explain(const Array &dst, const Array &src) {
    std::string text(1024, '\0');
    std::int64_t length = 0;
    via_status status =
        via_copy_explain(dst.get(), src.get(), static_cast<std::int64_t>(text.size()), text.data(), &length);
    if (status == VIA_OK && static_cast<std::size_t>(length) >= text.size()) {
        text.resize(static_cast<std::size_t>(length) + 1);
        status = via_copy_explain(dst.get(), src.get(), static_cast<std::int64_t>(text.size()), text.data(), &length);
    }
    text.resize(static_cast<std::size_t>(length));
    return detail::made<std::string>(status, text);
}

}  // namespace VIADUCT_ERRORS_NAMESPACE
}  // namespace viaduct

#endif
