#include "array/array_convert.hpp"

#include "array/array_copy.hpp"
#include "support/gil.hpp"

namespace viapy {
namespace {

struct Word {
    const char *text;
    int32_t value;
};

template <int count>
bool parse_word(const char *function, const char *argument, PyObject *value, const Word (&words)[count],
                const char *expected, int32_t *out) {
    if (!is_given(value)) {
        return true;
    }
    for (const Word &word : words) {
        if (PyUnicode_Check(value) && PyUnicode_CompareWithASCIIString(value, word.text) == 0) {
            *out = word.value;
            return true;
        }
    }
    raise(VIA_ERROR_INVALID_ARGUMENT, "%s: %s is %R; expected %s", function, argument, value, expected);
    return false;
}

constexpr Word kCastings[] = {{"same_kind", VIA_CASTING_SAME_KIND},
                              {"safe", VIA_CASTING_SAFE},
                              {"equiv", VIA_CASTING_EQUIV},
                              {"unsafe", VIA_CASTING_UNSAFE}};
constexpr Word kOverflows[] = {{"infinity", VIA_OVERFLOW_INFINITY}, {"saturate", VIA_OVERFLOW_SATURATE}};
constexpr Word kByteOrders[] = {{"=", VIA_BYTE_ORDER_NATIVE}, {"<", VIA_BYTE_ORDER_LITTLE}, {">", VIA_BYTE_ORDER_BIG}};

}  // namespace

bool parse_casting(const char *function, PyObject *value, via_convert_options *options) {
    return parse_word(function, "casting", value, kCastings, "'equiv', 'safe', 'same_kind' or 'unsafe'",
                      &options->casting);
}

bool parse_overflow(const char *function, PyObject *value, via_convert_options *options) {
    return parse_word(function, "overflow", value, kOverflows, "'infinity' or 'saturate'", &options->overflow);
}

bool parse_byte_order(const char *function, PyObject *value, via_convert_options *options) {
    return parse_word(function, "byteorder", value, kByteOrders, "'=', '<' or '>'", &options->byte_order);
}

via_status convert_elements(via_array *dst, via_array *src, const via_convert_options &options, via_stream *stream) {
    return without_gil(worth_unlocking(dst, src) || worth_unlocking(src, dst),
                       [&] { return via_convert(dst, src, &options, stream); });
}

PyObject *convert_to(const char *function, via_array *source, int32_t dtype, const Device &device,
                     const via_convert_options &options) {
    Ref result(empty_as(function, source, dtype, device));
    if (!result) {
        return nullptr;
    }
    const via_status status = convert_elements(handle_of(result.get()), source, options, nullptr);
    return status == VIA_OK ? result.release() : raise_status(status);
}

}  // namespace viapy
