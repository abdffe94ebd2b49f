/*
 * What only C can see of a Fortran array: the descriptor that says what its elements are and how far apart. Compile it
 * with the ISO_Fortran_binding.h of the Fortran compiler: descriptors differ between compilers.
 */
#include <ISO_Fortran_binding.h>
#include <stddef.h>
#include <stdio.h>

#include "viaduct/viaduct.h"

via_status viaduct_fortran_wrap(const CFI_cdesc_t *array, int32_t dtype, int32_t flags, via_release_fn release,
                                void *context, via_array **out_array);
via_status viaduct_fortran_refuse(via_status status, const char *text);
const char *viaduct_fortran_error(void);
void viaduct_fortran_forget_refusal(void);

/* Why the layer itself refused the thread's last call; empty if it was the library. */
static _Thread_local char refusal[512] = "";

via_status viaduct_fortran_refuse(via_status status, const char *text) {
    snprintf(refusal, sizeof refusal, "%s", text);
    return status;
}

const char *viaduct_fortran_error(void) { return refusal[0] != '\0' ? refusal : via_last_error(); }

void viaduct_fortran_forget_refusal(void) { refusal[0] = '\0'; }

/* DLPack's code | bits << 8 | one lane. */
static int32_t packed(int32_t code, size_t nbytes) { return code | (int32_t)nbytes << 11 | 1 << 16; }

static int is_real(CFI_type_t type) {
    return type == CFI_type_float || type == CFI_type_double || type == CFI_type_long_double;
}

static int is_complex(CFI_type_t type) {
    return type == CFI_type_float_Complex || type == CFI_type_double_Complex || type == CFI_type_long_double_Complex;
}

static int is_record(CFI_type_t type) {
    return type == CFI_type_struct || type == CFI_type_other || type == CFI_type_char;
}

/* Real numbers of 10 bytes have no dtype: they are records, as are derived types and characters longer than one. The
 * kinds of logical that C does not have are integers of their size. */
static int32_t dtype_of(const CFI_cdesc_t *array) {
    const size_t nbytes = array->elem_len;
    if (array->type == CFI_type_Bool && nbytes == 1) {
        return VIA_BOOL;
    }
    if (array->type == CFI_type_char && nbytes == 1) {
        return VIA_UINT8;
    }
    if (is_real(array->type) && nbytes <= 8) {
        return packed(VIA_FLOAT32 & 0xFF, nbytes);
    }
    if (is_complex(array->type) && nbytes <= 16) {
        return packed(VIA_COMPLEX64 & 0xFF, nbytes);
    }
    if (is_record(array->type) || nbytes > 8) {
        return via_dtype_record((int64_t)nbytes);
    }
    return packed(VIA_INT32 & 0xFF, nbytes);
}

via_status viaduct_fortran_wrap(const CFI_cdesc_t *array, int32_t dtype, int32_t flags, via_release_fn release,
                                void *context, via_array **out_array) {
    int64_t shape[CFI_MAX_RANK];
    int64_t strides[CFI_MAX_RANK];
    *out_array = NULL;
    viaduct_fortran_forget_refusal();
    if (array->base_addr == NULL) { /* the rest of the descriptor is undefined then */
        return viaduct_fortran_refuse(VIA_ERROR_INVALID_ARGUMENT,
                                      "wrap: array has no memory; expected one that is allocated or associated");
    }
    if (dtype == 0 && array->type == CFI_type_cptr) { /* gfortran has nothing else to say of class(*) */
        return viaduct_fortran_refuse(VIA_ERROR_DTYPE,
                                      "wrap: array is of class(*) or type(c_ptr); expected elements of a known type: "
                                      "select type, or name the dtype");
    }
    if (via_dtype_bits(dtype) > 8 * (int64_t)array->elem_len) {
        char text[sizeof refusal];
        snprintf(text, sizeof text, "wrap: dtype has %lld bits; expected at most %lld, those of an element",
                 (long long)via_dtype_bits(dtype), 8 * (long long)array->elem_len);
        return viaduct_fortran_refuse(VIA_ERROR_DTYPE, text);
    }
    for (int axis = 0; axis < array->rank; ++axis) {
        const int64_t extent = (int64_t)array->dim[axis].extent;
        if (extent == -1 && axis == array->rank - 1) {
            return viaduct_fortran_refuse(VIA_ERROR_SHAPE,
                                          "wrap: array is of assumed size; expected a section with a last extent");
        }
        shape[axis] = extent < 0 ? 0 : extent; /* gfortran counts down for bounds such as 5:1 */
        strides[axis] = (int64_t)array->dim[axis].sm;
    }
    return via_wrap(array->base_addr, dtype != 0 ? dtype : dtype_of(array), array->rank, shape, strides, VIA_DEVICE_CPU,
                    0, flags | VIA_WRAP_BYTE_STRIDES, release, context, out_array);
}

static via_status refuse_dtype(int32_t found, int32_t expected) {
    char names[2][64] = {"?", "?"};
    char text[sizeof refusal];
    (void)!via_dtype_name(found, sizeof names[0], names[0]);
    (void)!via_dtype_name(expected, sizeof names[1], names[1]);
    snprintf(text, sizeof text, "get: array has dtype %s; expected %s, that of the pointer", names[0], names[1]);
    return viaduct_fortran_refuse(VIA_ERROR_DTYPE, text);
}

static via_status refuse_rank(int found, int expected) {
    char text[sizeof refusal];
    snprintf(text, sizeof text, "get: array has %d dimensions; expected %d, those of the pointer", found, expected);
    return viaduct_fortran_refuse(VIA_ERROR_SHAPE, text);
}

static via_status check_element(via_array *array, int32_t dtype, const CFI_cdesc_t *pointer) {
    if (via_array_device_type(array) == VIA_DEVICE_CUDA) {
        return viaduct_fortran_refuse(VIA_ERROR_DEVICE,
                                      "get: array is on a device; expected host memory: copy it there first");
    }
    if (via_array_dtype(array) != dtype) {
        return refuse_dtype(via_array_dtype(array), dtype);
    }
    if (via_array_ndim(array) != pointer->rank) {
        return refuse_rank(via_array_ndim(array), pointer->rank);
    }
    if ((via_array_flags(array) & VIA_ARRAY_READ_ONLY) != 0) {
        return viaduct_fortran_refuse(
            VIA_ERROR_READ_ONLY,
            "get: array is read-only; expected one that a pointer may write, as VIA_MODE_COPY_ON_WRITE "
            "makes of a file");
    }
    if ((via_array_flags(array) & VIA_ARRAY_MISALIGNED) != 0) {
        return viaduct_fortran_refuse(VIA_ERROR_NEEDS_COPY,
                                      "get: array is off its alignment; expected aligned elements: copy them");
    }
    return VIA_OK;
}

static via_status associate(via_array *array, int32_t dtype, CFI_cdesc_t *pointer) {
    const int64_t *shape = via_array_shape(array);
    const int64_t *strides = via_array_byte_strides(array);
    viaduct_fortran_forget_refusal();
    if (array == NULL) {
        return viaduct_fortran_refuse(VIA_ERROR_INVALID_ARGUMENT,
                                      "get: array has no handle; expected one that was made");
    }
    via_status status = check_element(array, dtype, pointer);
    if (status != VIA_OK) {
        return status;
    }
    if (via_array_strides(array) == NULL && pointer->rank > 0) {
        return viaduct_fortran_refuse(VIA_ERROR_NEEDS_COPY,
                                      "get: array has a stride of part of an element; expected whole elements");
    }
    status = via_array_synchronize(array);
    if (status != VIA_OK) {
        return status;
    }
    static _Alignas(16) char nothing[16]; /* with no address a pointer would count as disassociated */
    pointer->base_addr = via_array_data(array) != NULL ? via_array_data(array) : nothing;
    for (int axis = 0; axis < pointer->rank; ++axis) {
        pointer->dim[axis].lower_bound = 1;
        pointer->dim[axis].extent = (CFI_index_t)shape[axis];
        pointer->dim[axis].sm = (CFI_index_t)strides[axis];
    }
    return VIA_OK;
}

/* A name for each type, since Fortran has an interface for each. */
#define VIADUCT_FORTRAN_GET(name, dtype)                                            \
    via_status viaduct_fortran_get_##name(via_array *array, CFI_cdesc_t *pointer);  \
    via_status viaduct_fortran_get_##name(via_array *array, CFI_cdesc_t *pointer) { \
        return associate(array, dtype, pointer);                                    \
    }

VIADUCT_FORTRAN_GET(int8, VIA_INT8)
VIADUCT_FORTRAN_GET(int16, VIA_INT16)
VIADUCT_FORTRAN_GET(int32, VIA_INT32)
VIADUCT_FORTRAN_GET(int64, VIA_INT64)
VIADUCT_FORTRAN_GET(real32, VIA_FLOAT32)
VIADUCT_FORTRAN_GET(real64, VIA_FLOAT64)
VIADUCT_FORTRAN_GET(complex32, VIA_COMPLEX64)
VIADUCT_FORTRAN_GET(complex64, VIA_COMPLEX128)
VIADUCT_FORTRAN_GET(bool, VIA_BOOL)
