// What the generated functions need to read their arguments.
#pragma once

#include <vector>

#include "array.hpp"
#include "errors.hpp"
#include "handles.hpp"

namespace viapy {

// None is NULL, which the library refuses where it may not be.
bool raw_array(const char *function, const char *argument, PyObject *value, via_array **out);
bool raw_handle(HandleKind kind, const char *function, const char *argument, PyObject *value, void **out);
bool raw_address(const char *function, const char *argument, PyObject *value, void **out);
bool raw_text(const char *function, const char *argument, PyObject *value, char **out);
// A path of a file as the system has it: str, bytes or os.PathLike. `hold` keeps it.
bool raw_path(const char *function, const char *argument, PyObject *value, Ref *hold, char **out);
bool raw_extents(const char *function, const char *argument, PyObject *value, Extents *out);

// None is NULL; else one number for each of ndim axes.
bool raw_per_axis(const char *function, const char *argument, PyObject *value, int32_t ndim, Extents *hold,
                  int64_t **out);

// How many axes a file's content has: dtype 0 and ndim 0 are what its header, or the window, says.
int32_t axes_of_file(via_file *file, int32_t dtype, int32_t ndim);

// The result so far with one more output: it alone, or a tuple of all. Consumes both.
PyObject *append_output(PyObject *result, PyObject *output);

// Arrays whose handles lie side by side, and who keeps them.
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
