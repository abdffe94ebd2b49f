// Errors as values for standard libraries without std::expected: its most used members.
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
using BadExpectedAccess = std::bad_expected_access<E>;

template <class E>
using Unexpected = std::unexpected<E>;

}  // namespace viaduct

#else

#include <cstdlib>
#include <exception>
#include <optional>
#include <utility>
#include <variant>

namespace viaduct {

/** Thrown by value() if there is an error, as std::bad_expected_access. */
template <class E>
class BadExpectedAccess : public std::exception {
public:
    explicit BadExpectedAccess(E error) : error_(std::move(error)) {}

    const char *what() const noexcept override { return error_.what(); }
    const E &error() const noexcept { return error_; }

private:
    E error_;
};

namespace results {

// Without exceptions the program ends, as with std::expected. What calls this is inlined always, as this is: parts of
// one program with and without exceptions have the same classes, and the linker would take one part's code for all.
template <class E>
[[noreturn, gnu::always_inline]] inline void throw_bad_access(const E &error) {
#if defined(__cpp_exceptions)
    throw BadExpectedAccess<E>(error);
#else
    static_cast<void>(error);
    std::abort();
#endif
}

}  // namespace results

template <class E>
class Unexpected {
public:
    explicit Unexpected(E error) : error_(std::move(error)) {}

    E &error() { return error_; }

private:
    E error_;
};

/** A value or an error. Reading the absent one is undefined, as in std::expected. */
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

    [[gnu::always_inline]] inline T &value() & { return *checked(); }
    [[gnu::always_inline]] inline const T &value() const & { return *const_cast<Expected *>(this)->checked(); }
    [[gnu::always_inline]] inline T &&value() && { return std::move(*checked()); }

    template <class Default>
    T value_or(Default &&other) && {
        return has_value() ? std::move(**this) : static_cast<T>(std::forward<Default>(other));
    }

private:
    [[gnu::always_inline]] inline T *checked() {
        if (!has_value()) {
            results::throw_bad_access(error());
        }
        return std::get_if<0>(&held_);
    }

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

    [[gnu::always_inline]] inline void value() const {
        if (!has_value()) {
            results::throw_bad_access(error());
        }
    }

private:
    std::optional<E> error_;
};

}  // namespace viaduct

#endif

#endif
