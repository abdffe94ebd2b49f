// Tasks, and batches of copies.
#ifndef VIADUCT_CPP_TASK_HPP
#define VIADUCT_CPP_TASK_HPP

#include <memory>
#include <type_traits>
#include <utility>

#include "viaduct/cpp/array.hpp"

namespace viaduct {

/** Bytes moved so far, and the total. */
struct Progress {
    std::int64_t done = 0;
    std::int64_t total = 0;
};

inline namespace VIADUCT_ERRORS_NAMESPACE {
namespace detail {

template <class Callback>
void complete(std::int32_t status, const char *text, void *context) {
    const std::unique_ptr<Callback> callback(static_cast<Callback *>(context));
    (*callback)(static_cast<via_status>(status), text);
}

}  // namespace detail

/** Owns a via_task. Releasing a running task detaches it. */
class Task : public detail::Handle<Task, via_task, via_task_retain, via_task_release> {
public:
    using Handle::Handle;

    /** Waits for the end, and fails as the task did. */
    VIADUCT_CHECKED Result<void> wait() const { return detail::done(via_task_wait(get())); }

    /** Returns whether the task has ended, in any way. */
    [[nodiscard]] Result<bool> is_done() const { return detail::make<bool>(via_task_poll, get()); }

    [[nodiscard]] Result<Progress> progress() const {
        Progress progress;
        return detail::made<Progress>(via_task_progress(get(), &progress.done, &progress.total), progress);
    }

    VIADUCT_CHECKED Result<void> cancel() const { return detail::done(via_task_cancel(get())); }

    /** Makes later work of the stream wait, on the device, for the task. */
    VIADUCT_CHECKED Result<void> join(StreamRef stream) const {
        return detail::done(via_task_join(get(), stream.get()));
    }

    /** Registers void callback(via_status, const char *text) noexcept, to be called once and then destroyed. */
    template <class Callback>
    VIADUCT_CHECKED Result<void> on_complete(Callback callback) const {
        static_assert(std::is_nothrow_invocable_v<Callback &, via_status, const char *>, "it must be noexcept");
        auto held = std::make_unique<Callback>(std::move(callback));
        const via_status status = via_task_on_complete(get(), detail::complete<Callback>, held.get());
        if (status == VIA_OK) {
            static_cast<void>(held.release());
        }
        return detail::done(status);
    }
};

/** Names rows of an array by an index: {array, index}. An array alone stands for all numbers 0, 1, 2 ... */
struct Rows {
    const Array &array;
    const Array *index = nullptr;

    Rows(const Array &given) : array(given) {}
    Rows(const Array &given, const Array &rows) : array(given), index(&rows) {}

    via_array *list() const { return index != nullptr ? index->get() : nullptr; }
};

/** Owns a via_batch: copies planned as one, to be run any number of times. */
class Batch : public detail::Handle<Batch, via_batch, via_batch_retain, via_batch_release> {
public:
    using Handle::Handle;

    [[nodiscard]] static Result<Batch> create() { return detail::make<Batch>(via_batch_create); }

    VIADUCT_CHECKED Result<void> add(const Array &dst, const Array &src) const {
        return detail::done(via_batch_add(get(), dst.get(), src.get()));
    }

    /** Adds a copy by index, as copy_indexed() takes it. */
    VIADUCT_CHECKED Result<void> add_indexed(const Rows &dst, const Rows &src, std::int32_t axis = 0) const {
        return detail::done(
            via_batch_add_indexed(get(), dst.array.get(), dst.list(), src.array.get(), src.list(), axis, nullptr));
    }

    /** Adds a conversion by index, as convert_indexed() takes it. */
    VIADUCT_CHECKED Result<void> add_convert_indexed(const Rows &dst, const Rows &src, std::int32_t axis = 0,
                                                     const via_convert_options &options = convert_options()) const {
        return detail::done(
            via_batch_add_indexed(get(), dst.array.get(), dst.list(), src.array.get(), src.list(), axis, &options));
    }

    /** Adds a conversion, as convert() takes it. */
    VIADUCT_CHECKED Result<void> add_convert(const Array &dst, const Array &src,
                                             const via_convert_options &options = convert_options()) const {
        return detail::done(via_batch_add_convert(get(), dst.get(), src.get(), &options));
    }

    std::int64_t size() const { return via_batch_size(get()); }

    VIADUCT_CHECKED Result<void> run(StreamRef stream = {}) const {
        return detail::done(via_batch_run(get(), stream.get()));
    }

    [[nodiscard]] Result<Task> submit(StreamRef stream = {}) const {
        return detail::make<Task>(via_batch_submit, get(), stream.get());
    }
};

}  // namespace VIADUCT_ERRORS_NAMESPACE
}  // namespace viaduct

#endif
