// What an Array has not, and says so: arithmetic and membership, which are the libraries' that it lends its memory to.
#include "array.hpp"
#include "errors.hpp"

namespace viapy {
namespace {

constexpr char kReason[] =
    "Array: it has no arithmetic, on purpose; compute with a.numpy(), or with another library's from_dlpack(a)";

// Whether nobody else could answer: other libraries' arrays take an Array as they take any buffer.
bool stands_alone(PyObject *operand) {
    return is_array(operand) || PyLong_CheckExact(operand) || PyFloat_CheckExact(operand) || PyBool_Check(operand) ||
           Py_IS_TYPE(operand, &PyComplex_Type);
}

PyObject *binary(PyObject *left, PyObject *right) {
    if (stands_alone(left) && stands_alone(right)) {
        return raise(VIA_ERROR_DTYPE, kReason);
    }
    Py_INCREF(Py_NotImplemented);
    return Py_NotImplemented;
}

PyObject *power(PyObject *left, PyObject *right, PyObject *) { return binary(left, right); }

PyObject *unary(PyObject *) { return raise(VIA_ERROR_DTYPE, kReason); }

// Without this, rows would be compared by identity, and none be found.
int contains(PyObject *, PyObject *) {
    raise(VIA_ERROR_DTYPE, "Array: it compares no elements, on purpose; ask `x in a.numpy()`");
    return -1;
}

// Without this, an array without dimensions would have no rows, in silence.
PyObject *iterate(PyObject *self) {
    if (via_array_ndim(handle_of(self)) == 0) {
        return raise(VIA_ERROR_DTYPE, "Array: it has no dimensions to iterate over; .item() is its one element");
    }
    return PySeqIter_New(self);
}

}  // namespace

PyType_Slot kOperatorSlots[] = {
    {Py_nb_add, slot(binary)},
    {Py_nb_subtract, slot(binary)},
    {Py_nb_multiply, slot(binary)},
    {Py_nb_true_divide, slot(binary)},
    {Py_nb_floor_divide, slot(binary)},
    {Py_nb_remainder, slot(binary)},
    {Py_nb_matrix_multiply, slot(binary)},
    {Py_nb_power, slot(power)},
    {Py_nb_negative, slot(unary)},
    {Py_nb_absolute, slot(unary)},
    {Py_sq_contains, slot(contains)},
    {Py_tp_iter, slot(iterate)},
    {0, nullptr},
};

}  // namespace viapy
