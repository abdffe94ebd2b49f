// Dtypes of C++ types.
#ifndef VIADUCT_CPP_DTYPE_HPP
#define VIADUCT_CPP_DTYPE_HPP

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#if defined(__has_include)
#if __has_include(<stdfloat>) && __cplusplus > 202002L
#include <stdfloat>
#endif
#endif

#include "viaduct/viaduct.h"

namespace viaduct {
namespace dtypes {

// DLPack's code | bits << 8 | one lane.
template <class T>
constexpr std::int32_t packed(std::int32_t code) noexcept {
    return code | static_cast<std::int32_t>(sizeof(T)) << 11 | 1 << 16;
}

template <class T>
struct IsComplex : std::false_type {};

template <class T>
struct IsComplex<std::complex<T>> : std::is_floating_point<T> {};

template <class T>
constexpr std::int32_t dtype_of_plain() noexcept {
    static_assert(std::is_trivially_copyable_v<T>, "elements are copied as bytes");
    if constexpr (std::is_enum_v<T>) {
        return dtype_of_plain<std::underlying_type_t<T>>();
    } else if constexpr (std::is_same_v<T, bool>) {
        return VIA_BOOL;
    } else if constexpr (std::is_integral_v<T>) {
        return packed<T>((VIA_INT8 & 0xFF) + (std::is_unsigned_v<T> ? 1 : 0));
    } else if constexpr (std::is_same_v<T, long double>) {
        return -static_cast<std::int32_t>(sizeof(T));
#if defined(__STDCPP_BFLOAT16_T__)
    } else if constexpr (std::is_same_v<T, std::bfloat16_t>) {
        return VIA_BFLOAT16;
#endif
    } else if constexpr (std::is_floating_point_v<T>) {
        return packed<T>(VIA_FLOAT32 & 0xFF);
    } else if constexpr (IsComplex<T>::value) {
        return packed<T>(VIA_COMPLEX64 & 0xFF);
    } else {
        return -static_cast<std::int32_t>(sizeof(T));
    }
}

}  // namespace dtypes

/**
 * The dtype of a C++ type: the same number, bool or complex; for an enumeration that of its integer (std::byte is
 * VIA_UINT8); for any other trivially copyable type a record. Specialise it for number types of your own, such as a
 * half.
 */
template <class T>
inline constexpr std::int32_t dtype_of = dtypes::dtype_of_plain<T>();

template <class T>
inline constexpr std::int32_t dtype_of<const T> = dtype_of<T>;

/** Returns the name of a dtype, such as "float32", or "dtype 7" of a number that is none. */
inline std::string dtype_text(std::int32_t dtype) {
    char name[64] = "";
    return via_dtype_name(dtype, sizeof name, name) == VIA_OK ? name : "dtype " + std::to_string(dtype);
}

/** Returns default options for conversions. */
constexpr via_convert_options convert_options() noexcept { return VIA_CONVERT_OPTIONS_INIT; }

}  // namespace viaduct

#endif
