// Lists of numbers going in, views of memory coming out.
#ifndef VIADUCT_CPP_LIST_HPP
#define VIADUCT_CPP_LIST_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>

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
/** The part of std::span that a loop needs, for C++17. */
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

/**
 * Numbers that a call reads: {2, 3}, or anything with data() and size(). Borrowed, for parameters only; {} is the C
 * API's NULL.
 */
template <class T>
class List {
public:
    constexpr List() noexcept = default;
    constexpr List(const T *data, std::size_t size) noexcept : data_(data), size_(size) {}

// GCC warns of a list that is kept; this one ends with the call that it is an argument of.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
    constexpr List(std::initializer_list<T> numbers) noexcept : data_(numbers.begin()), size_(numbers.size()) {}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

    template <class Container, class Data = decltype(std::declval<const Container &>().data()),
              class = std::enable_if_t<std::is_convertible_v<Data, const T *>>>
    constexpr List(const Container &numbers) noexcept : data_(numbers.data()), size_(numbers.size()) {}

    /** NULL for no numbers. */
    constexpr const T *data() const noexcept { return size_ == 0 ? nullptr : data_; }

    constexpr std::int32_t size() const noexcept { return static_cast<std::int32_t>(size_); }

    /** Whether there are none, or as many as that. */
    constexpr bool fits(std::int32_t count) const noexcept { return size_ == 0 || size() == count; }

private:
    const T *data_ = nullptr;
    std::size_t size_ = 0;
};

using Extents = List<std::int64_t>;
using Axes = List<std::int32_t>;

}  // namespace viaduct

#endif
