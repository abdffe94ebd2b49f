#include "raw.hpp"

#include <cstring>

#include "support/arguments.hpp"

namespace viapy {
namespace {

bool wrong_length(const char *function, const char *argument, int32_t found, int32_t axes) {
    raise(VIA_ERROR_SHAPE, "%s: %s has %d entries; expected one for each of %d axes", function, argument,
          static_cast<int>(found), static_cast<int>(axes));
    return false;
}

// Refuses texts with a NUL character, at which C would end them.
bool is_whole(const char *function, const char *argument, const char *text, Py_ssize_t length) {
    if (std::strlen(text) == static_cast<size_t>(length)) {
        return true;
    }
    raise(VIA_ERROR_INVALID_ARGUMENT, "%s: %s has a NUL character inside; expected a text without one", function,
          argument);
    return false;
}

bool is_of_length(const char *function, const char *argument, int32_t found, const char *what, int32_t expected) {
    if (found != expected) {
        raise(VIA_ERROR_INVALID_ARGUMENT, "%s: %s has %d %s; expected %d", function, argument, static_cast<int>(found),
              what, static_cast<int>(expected));
    }
    return found == expected;
}

// Reads each item of a sequence, and keeps it alive.
template <class Value, class Read>
bool read_each(const char *function, const char *argument, PyObject *sequence,
               bool (*read)(const char *, const char *, PyObject *, Read *), const char *expected,
               std::vector<Ref> *out_held, std::vector<Value> *out_values) {
    Ref iterator(PyObject_GetIter(sequence));
    while (Ref item{iterator ? PyIter_Next(iterator.get()) : nullptr}) {
        Read value = nullptr;
        if (!read(function, argument, item.get(), &value)) {
            return false;
        }
        out_values->push_back(value);
        out_held->push_back(std::move(item));
    }
    if (PyErr_Occurred() != nullptr) {
        reword_type(function, argument, sequence, expected);
        return false;
    }
    return true;
}

}  // namespace

bool raw_array(const char *function, const char *argument, PyObject *value, via_array **out) {
    *out = nullptr;
    if (value == Py_None) {
        return true;
    }
    if (!is_array(value)) {
        raise_type(function, argument, value, "an Array");
        return false;
    }
    *out = handle_of(value);
    return true;
}

bool raw_handle(HandleKind kind, const char *function, const char *argument, PyObject *value, void **out) {
    *out = nullptr;
    if (value == Py_None) {
        return true;
    }
    if (handle_of_kind(kind, function, argument, value, out) && *out == nullptr) {
        raise(VIA_ERROR_INVALID_ARGUMENT, "%s: the %s is closed; expected an open %s", function, argument, argument);
    }
    return *out != nullptr;
}

bool raw_address(const char *function, const char *argument, PyObject *value, void **out) {
    *out = nullptr;
    return value == Py_None || parse_number_address(function, argument, value, out);
}

bool raw_text(const char *function, const char *argument, PyObject *value, char **out) {
    *out = nullptr;
    if (value == Py_None) {
        return true;
    }
    if (!PyUnicode_Check(value)) {
        raise_type(function, argument, value, "a str");
        return false;
    }
    Py_ssize_t length = 0;
    *out = const_cast<char *>(PyUnicode_AsUTF8AndSize(value, &length));
    return *out != nullptr && is_whole(function, argument, *out, length);
}

bool raw_path(const char *function, const char *argument, PyObject *value, Ref *hold, char **out) {
    *out = nullptr;
    if (value == Py_None) {
        return true;
    }
    Ref path(PyOS_FSPath(value));
    if (!path) {
        reword_type(function, argument, value, "a path: str, bytes or os.PathLike");
        return false;
    }
    *hold = PyUnicode_Check(path.get()) ? Ref(PyUnicode_EncodeFSDefault(path.get())) : std::move(path);
    if (!*hold && PyErr_ExceptionMatches(PyExc_UnicodeError)) {
        raise_with_reason(VIA_ERROR_INVALID_ARGUMENT, function, argument, "cannot be encoded:");
    }
    Py_ssize_t length = 0;
    if (!*hold || PyBytes_AsStringAndSize(hold->get(), out, &length) != 0) {
        return false;
    }
    return is_whole(function, argument, *out, length);
}

bool raw_extents(const char *function, const char *argument, PyObject *value, Extents *out) {
    return value == Py_None || parse_extents(function, argument, value, out);
}

bool raw_per_axis(const char *function, const char *argument, PyObject *value, int32_t ndim, Extents *hold,
                  int64_t **out) {
    *out = nullptr;
    if (value == Py_None) {
        return true;
    }
    if (!parse_extents(function, argument, value, hold)) {
        return false;
    }
    *out = hold->values;
    return hold->count == ndim || wrong_length(function, argument, hold->count, ndim);
}

int32_t axes_of_file(via_file *file, int32_t dtype, int32_t ndim) {
    via_file_properties found = VIA_FILE_PROPERTIES_INIT;
    const bool as_header_says = file != nullptr && dtype == 0 && ndim == 0;
    return as_header_says && via_file_info(file, &found) == VIA_OK ? found.ndim : ndim;
}

PyObject *append_output(PyObject *result, PyObject *output) {
    Ref before(result), added(output);
    if (!added || !before) {
        return nullptr;
    }
    if (result == Py_None) {
        return added.release();
    }
    return PyTuple_Pack(2, result, output);
}

bool ArrayList::parse(const char *function, const char *argument, PyObject *sequence) {
    return read_each(function, argument, sequence, raw_array, "a sequence of Arrays", &arrays_, &handles_);
}

bool ArrayList::has_length(const char *function, const char *argument, int32_t expected) const {
    return is_of_length(function, argument, count(), "arrays", expected);
}

bool TextList::parse(const char *function, const char *argument, PyObject *sequence, int32_t expected) {
    return read_each(function, argument, sequence, raw_text, "a sequence of str", &held_, &texts_) &&
           is_of_length(function, argument, static_cast<int32_t>(texts_.size()), "texts", expected);
}

bool NumberList::parse(const char *function, const char *argument, PyObject *sequence) {
    Ref fast(PySequence_Fast(sequence, "numbers is no sequence; expected integers"));
    if (!fast) {
        return false;
    }
    const Py_ssize_t count = PySequence_Size(fast.get());
    for (Py_ssize_t i = 0; i < count; ++i) {
        Ref item(PySequence_GetItem(fast.get(), i));
        int64_t number = 0;
        if (!item || !parse_int64(function, argument, item.get(), &number)) {
            return false;
        }
        numbers_.push_back(number);
    }
    return true;
}

bool Axes::parse(const char *function, const char *argument, PyObject *value) {
    given_ = value != Py_None;
    return !given_ || parse_axes(function, argument, value, &count_, values_);
}

bool Axes::has_length(const char *function, const char *argument, int32_t expected) const {
    return !given_ || count_ == expected || wrong_length(function, argument, count_, expected);
}

}  // namespace viapy
