// Owners of a reference to a C handle.
#ifndef VIADUCT_CPP_HANDLE_HPP
#define VIADUCT_CPP_HANDLE_HPP

#include <utility>

#include "viaduct/cpp/error.hpp"

namespace viaduct {
inline namespace VIADUCT_ERRORS_NAMESPACE {
namespace detail {

// Self is the derived class. No function that calls the library is noexcept, here and below: the calls do not throw,
// but the compiler cannot know, and would guard each.
template <class Self, class C, void (*kRetain)(C *), void (*kRelease)(C *)>
class Handle {
public:
    Handle() noexcept = default;

    /** Consumes a reference to the handle. */
    explicit Handle(C *owned) noexcept : handle_(owned) {}

    Handle(Handle &&other) noexcept : handle_(other.release()) {}
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;

    Handle &operator=(Handle &&other) noexcept {
        Handle(std::move(other)).swap(*this);
        return *this;
    }

    ~Handle() {
        if (handle_ != nullptr) {
            kRelease(handle_);
        }
    }

    /** Returns the C handle, borrowed. */
    C *get() const noexcept { return handle_; }

    /** Returns the C handle with its reference, which the caller releases. */
    [[nodiscard]] C *release() noexcept { return std::exchange(handle_, nullptr); }

    /** Releases the reference now. */
    void reset() { Handle().swap(*this); }

    /** Adds a reference, with an owner of its own. */
    [[nodiscard]] Self share() const {
        kRetain(handle_);
        return Self(handle_);
    }

    explicit operator bool() const noexcept { return handle_ != nullptr; }

    void swap(Handle &other) noexcept { std::swap(handle_, other.handle_); }

private:
    C *handle_ = nullptr;
};

}  // namespace detail
}  // namespace VIADUCT_ERRORS_NAMESPACE
}  // namespace viaduct

#endif
