// Lists of numbers as parameters, and spans as results.
#ifndef VIADUCT_CPP_LIST_HPP
#define VIADUCT_CPP_LIST_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <type_traits>
#include <utility>

#include "viaduct/viaduct.h"

#if defined(__has_include)
#if __has_include(<version>)
#include <version>
#endif
#endif
#if defined(__cpp_lib_span)
#include <span>
#endif

namespace viaduct {

#if defined(__cpp_lib_span)
template <class T>
using Span = std::span<T>;
#else
/** The members of std::span that a loop needs, for C++17. */
template <class T>
class Span {
public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;

    constexpr Span() noexcept = default;
    constexpr Span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t index) const { return data_[index]; }
    constexpr T &front() const { return *data_; }
    constexpr T &back() const { return data_[size_ - 1]; }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};
#endif

namespace lists {

template <class Number>
inline constexpr bool is_number = std::is_integral_v<Number> && !std::is_same_v<Number, bool>;

// Converts a number to T; one that does not fit becomes the least T, which the library refuses in every list.
template <class T, class Number>
constexpr T number_as(Number number) noexcept {
    const T held = static_cast<T>(number);
    bool same = static_cast<Number>(held) == number;
    if constexpr (std::is_signed_v<T> != std::is_signed_v<Number>) {
        same = same && held >= T{};
    }
    return same ? held : std::numeric_limits<T>::min();
}

// An entry of a braced list, of any integral type; T itself would refuse narrowing.
template <class T>
struct Entry {
    T value;

    template <class Number, class = std::enable_if_t<is_number<Number>>>
    constexpr Entry(Number number) noexcept : value(number_as<T>(number)) {}
};

template <class T>
using EntryOf = std::conditional_t<std::is_integral_v<T>, Entry<T>, T>;

// Buffer for numbers converted from another integral type. A default argument, so that it lives as long as the call.
template <class T>
struct Room {
    T numbers[VIA_MAX_NDIM];

    Room() noexcept {}
};

}  // namespace lists

/**
 * Numbers that a call reads: {2, 3}, or anything with data() and size(), of any integral type. Borrows: use it for
 * parameters only. {} is the C API's NULL.
 */
template <class T>
class List {
public:
    constexpr List() noexcept = default;
    constexpr List(const T *data, std::size_t size) noexcept : data_(data), size_(size) {}

// GCC warns of a stored list; this one ends with the call whose argument it is.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
    constexpr List(std::initializer_list<lists::EntryOf<T>> numbers) noexcept
        : data_(reinterpret_cast<const T *>(numbers.begin())), size_(numbers.size()) {}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

    template <class Container, class Data = decltype(std::declval<const Container &>().data()),
              class = std::enable_if_t<std::is_convertible_v<Data, const T *>>>
    constexpr List(const Container &numbers) noexcept : data_(numbers.data()), size_(numbers.size()) {}

    /** Converts numbers of another integral type. Keeps only the size of more than VIA_MAX_NDIM, which is refused. */
    template <class Container, class Data = decltype(std::declval<const Container &>().data()),
              class Number = std::remove_cv_t<std::remove_pointer_t<Data>>, class = void,
              class = std::enable_if_t<lists::is_number<T> && lists::is_number<Number> && !std::is_same_v<T, Number>>>
    List(const Container &numbers, lists::Room<T> &&room = lists::Room<T>()) noexcept
        : data_(room.numbers), size_(numbers.size()) {
        for (std::size_t i = 0; i < size_ && i < VIA_MAX_NDIM; ++i) {
            room.numbers[i] = lists::number_as<T>(numbers.data()[i]);
        }
    }

    /** Returns NULL without numbers. */
    constexpr const T *data() const noexcept { return size_ == 0 ? nullptr : data_; }

    constexpr std::int32_t size() const noexcept { return static_cast<std::int32_t>(size_); }

    /** Returns true if the list is empty, or has that size. */
    constexpr bool fits(std::int32_t count) const noexcept { return size_ == 0 || size() == count; }

private:
    const T *data_ = nullptr;
    std::size_t size_ = 0;
};

using Extents = List<std::int64_t>;
using Axes = List<std::int32_t>;

}  // namespace viaduct

#endif
