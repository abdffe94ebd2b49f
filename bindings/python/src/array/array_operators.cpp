#include "array/array_operators.hpp"

namespace viapy {
namespace {

constexpr char kReason[] =
    "Array: there is no arithmetic, on purpose; expected a.numpy(), or another library's from_dlpack(a)";

// Returns whether no other library's type can handle the operator. Their arrays accept an Array as a buffer.
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

// Refuses `in`, which would otherwise compare rows by identity and find none.
int contains(PyObject *, PyObject *) {
    raise(VIA_ERROR_DTYPE, "Array: elements are not compared, on purpose; expected `x in a.numpy()`");
    return -1;
}

// Refuses arrays without dimensions, which would otherwise silently have no rows.
PyObject *iterate(PyObject *self) {
    if (via_array_ndim(handle_of(self)) == 0) {
        return raise(VIA_ERROR_DTYPE,
                     "Array: the array has no axis to iterate over; expected one, or item() for its one element");
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
