// Errors as values where the standard library has no std::expected yet: the members of it that are used most.
#ifndef VIADUCT_CPP_RESULT_HPP
#define VIADUCT_CPP_RESULT_HPP

#if defined(__has_include)
#if __has_include(<version>)
#include <version>
#endif
#endif

#if defined(__cpp_lib_expected)

#include <expected>

namespace viaduct {

template <class E>
using Unexpected = std::unexpected<E>;

}  // namespace viaduct

#else

#include <optional>
#include <utility>
#include <variant>

namespace viaduct {

template <class E>
class Unexpected {
public:
    explicit Unexpected(E error) : error_(std::move(error)) {}

    E &error() { return error_; }

private:
    E error_;
};

/** A value or an error. Reading the one that is not there is undefined, as in std::expected. */
template <class T, class E>
class [[nodiscard]] Expected {
public:
    Expected(T value) : held_(std::in_place_index<0>, std::move(value)) {}
    Expected(Unexpected<E> error) : held_(std::in_place_index<1>, std::move(error.error())) {}

    bool has_value() const noexcept { return held_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }

    T &operator*() & { return *std::get_if<0>(&held_); }
    const T &operator*() const & { return *std::get_if<0>(&held_); }
    T &&operator*() && { return std::move(*std::get_if<0>(&held_)); }
    T *operator->() { return std::get_if<0>(&held_); }
    const T *operator->() const { return std::get_if<0>(&held_); }

    const E &error() const { return *std::get_if<1>(&held_); }

    template <class Default>
    T value_or(Default &&other) && {
        return has_value() ? std::move(**this) : static_cast<T>(std::forward<Default>(other));
    }

private:
    std::variant<T, E> held_;
};

template <class E>
class [[nodiscard]] Expected<void, E> {
public:
    Expected() = default;
    Expected(Unexpected<E> error) : error_(std::move(error.error())) {}

    bool has_value() const noexcept { return !error_.has_value(); }
    explicit operator bool() const noexcept { return has_value(); }

    const E &error() const { return *error_; }

private:
    std::optional<E> error_;
};

}  // namespace viaduct

#endif

#endif
