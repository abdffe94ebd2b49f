// Argument readers of the generated functions.
#pragma once

#include <vector>

#include "array/array.hpp"
#include "objects/handles.hpp"
#include "support/arguments.hpp"

namespace viapy {

// Read one argument each; NULL for None, which the library refuses if it is required.
bool raw_array(const char *function, const char *argument, PyObject *value, via_array **out);
bool raw_handle(HandleKind kind, const char *function, const char *argument, PyObject *value, void **out);
bool raw_address(const char *function, const char *argument, PyObject *value, void **out);
bool raw_text(const char *function, const char *argument, PyObject *value, char **out);
// Reads a path: str, bytes or os.PathLike. `hold` keeps it alive.
bool raw_path(const char *function, const char *argument, PyObject *value, Ref *hold, char **out);
bool raw_extents(const char *function, const char *argument, PyObject *value, Extents *out);

// Reads one number for each of ndim axes; NULL for None.
bool raw_per_axis(const char *function, const char *argument, PyObject *value, int32_t ndim, Extents *hold,
                  int64_t **out);

// Returns the rank of a file's content; dtype 0 and ndim 0 mean that of its header or window.
int32_t axes_of_file(via_file *file, int32_t dtype, int32_t ndim);

// Returns the result with one more output: the output alone, or a tuple of all. Consumes both references.
PyObject *append_output(PyObject *result, PyObject *output);

// Arrays with adjacent handles, kept alive.
class ArrayList {
public:
    bool parse(const char *function, const char *argument, PyObject *sequence);
    bool has_length(const char *function, const char *argument, int32_t expected) const;
    int32_t count() const { return static_cast<int32_t>(handles_.size()); }
    via_array **data() { return handles_.data(); }

private:
    std::vector<Ref> arrays_;
    std::vector<via_array *> handles_;
};

// Texts, one for each of `expected` arrays.
class TextList {
public:
    bool parse(const char *function, const char *argument, PyObject *sequence, int32_t expected);
    const char **data() { return texts_.data(); }

private:
    std::vector<Ref> held_;
    std::vector<const char *> texts_;
};

// Integers of any count.
class NumberList {
public:
    bool parse(const char *function, const char *argument, PyObject *sequence);
    int32_t count() const { return static_cast<int32_t>(numbers_.size()); }
    int64_t *data() { return numbers_.data(); }

private:
    std::vector<int64_t> numbers_;
};

class Axes {
public:
    bool parse(const char *function, const char *argument, PyObject *value);
    bool has_length(const char *function, const char *argument, int32_t expected) const;
    int32_t count() const { return count_; }
    int32_t *data() { return given_ ? values_ : nullptr; }

private:
    bool given_ = false;
    int32_t count_ = 0;
    int32_t values_[VIA_MAX_NDIM];
};

}  // namespace viapy
