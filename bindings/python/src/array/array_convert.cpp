#include "array/array_convert.hpp"

#include <algorithm>
#include <new>

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

namespace {

bool add_number(PyObject *value, std::vector<float> *numbers) {
    const double number = PyFloat_AsDouble(value);
    if (number == -1.0 && PyErr_Occurred() != nullptr) {
        return false;
    }
    numbers->push_back(static_cast<float>(number));
    return true;
}

// Some sequences have no length: NumPy's arrays of no dimension, which are numbers.
bool has_length(PyObject *value) {
    if (PySequence_Check(value) == 0) {
        return false;
    }
    if (PySequence_Size(value) >= 0) {
        return true;
    }
    PyErr_Clear();
    return false;
}

bool add_numbers(PyObject *value, std::vector<float> *numbers) {
    const Py_ssize_t count = PySequence_Size(value);
    for (Py_ssize_t i = 0; i < count; ++i) {
        const Ref item(PySequence_GetItem(value, i));
        if (!item || !add_number(item.get(), numbers)) {
            return false;
        }
    }
    return count >= 0;
}

// Memory for numbers may be lacking.
bool add_given(PyObject *value, std::vector<float> *numbers) {
    try {
        return !is_given(value) || (has_length(value) ? add_numbers(value, numbers) : add_number(value, numbers));
    } catch (const std::bad_alloc &) {
        PyErr_NoMemory();
        return false;
    }
}

bool refuse_numbers(const char *function, const char *argument, PyObject *value) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
        PyErr_Clear();
        raise(VIA_ERROR_DTYPE, "%s: %s is %S; expected a number or a sequence of numbers", function, argument,
              shown(value).get());
    }
    return false;
}

}  // namespace

bool ConversionOptions::parse(const char *function, PyObject *const *values) {
    return parse_casting(function, values[0], &options_) && parse_overflow(function, values[1], &options_) &&
           parse_word(function, "byteorder", values[2], kByteOrders, "'=', '<' or '>'", &options_.byte_order) &&
           parse_numbers(function, values[3], values[4], values[5]);
}

bool ConversionOptions::parse_numbers(const char *function, PyObject *scale, PyObject *offset, PyObject *axis) {
    if (!add_given(scale, &scale_)) {
        return refuse_numbers(function, "scale", scale);
    }
    if (!add_given(offset, &offset_)) {
        return refuse_numbers(function, "offset", offset);
    }
    if (is_given(axis) && !parse_int32(function, "scale_axis", axis, &options_.scale_axis)) {
        return false;
    }
    const size_t count = std::max(scale_.size(), offset_.size());
    for (std::vector<float> *numbers : {&scale_, &offset_}) {
        if (numbers->size() == 1) {
            numbers->resize(count, numbers->front());
        }
    }
    const bool fits = (!is_given(scale) || scale_.size() == count) && (!is_given(offset) || offset_.size() == count);
    if (!fits || (count == 0 && (is_given(scale) || is_given(offset)))) {
        raise(VIA_ERROR_SHAPE, "%s: scale has %zd numbers, offset %zd; expected as many, or one", function,
              static_cast<Py_ssize_t>(scale_.size()), static_cast<Py_ssize_t>(offset_.size()));
        return false;
    }
    options_.scale = is_given(scale) ? scale_.data() : nullptr;
    options_.offset = is_given(offset) ? offset_.data() : nullptr;
    options_.scale_count = static_cast<int64_t>(count);
    return true;
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
