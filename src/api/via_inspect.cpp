#include "api/guard.hpp"
#include "core/array/access_tracker.hpp"
#include "core/array/array.hpp"

using namespace via;

// Getters return NULL or 0 for NULL. They neither fail nor change the last error.

void *via_array_data(via_array *array) {
    VIA_TRACE_API(via_array_data, array);
    return array != nullptr ? array->data : nullptr;
}

int32_t via_array_dtype(via_array *array) {
    VIA_TRACE_API(via_array_dtype, array);
    return array != nullptr ? array->dtype : 0;
}

int32_t via_array_ndim(via_array *array) {
    VIA_TRACE_API(via_array_ndim, array);
    return array != nullptr ? array->ndim : 0;
}

const int64_t *via_array_shape(via_array *array) {
    VIA_TRACE_API(via_array_shape, array);
    return array != nullptr && array->ndim > 0 ? array->shape() : nullptr;
}

const int64_t *via_array_strides(via_array *array) {
    VIA_TRACE_API(via_array_strides, array);
    return array != nullptr && array->ndim > 0 && array->strides_are_elements ? array->strides() : nullptr;
}

const int64_t *via_array_byte_strides(via_array *array) {
    VIA_TRACE_API(via_array_byte_strides, array);
    return array != nullptr && array->ndim > 0 && array->strides_are_bytes ? array->byte_strides() : nullptr;
}

int32_t via_array_device_type(via_array *array) {
    VIA_TRACE_API(via_array_device_type, array);
    return array != nullptr ? array->device_type : 0;
}

int32_t via_array_device_id(via_array *array) {
    VIA_TRACE_API(via_array_device_id, array);
    return array != nullptr ? array->device_id : 0;
}

int64_t via_array_size(via_array *array) {
    VIA_TRACE_API(via_array_size, array);
    return array != nullptr ? array->size : 0;
}

int64_t via_array_nbytes(via_array *array) {
    VIA_TRACE_API(via_array_nbytes, array);
    return array != nullptr ? array->nbytes() : 0;
}

int32_t via_array_flags(via_array *array) {
    VIA_TRACE_API(via_array_flags, array);
    return array != nullptr ? array->flags : 0;
}

int32_t via_array_is_contiguous(via_array *array, int32_t order) {
    VIA_TRACE_API(via_array_is_contiguous, array, order);
    const bool known = order >= VIA_ORDER_ROW_MAJOR && order <= VIA_ORDER_ANY;
    return array != nullptr && known && is_contiguous(array, order) ? 1 : 0;
}

void *via_array_context(via_array *array, via_release_fn release) {
    VIA_TRACE_API(via_array_context, array, release);
    return array != nullptr ? borrowed_context(array, release) : nullptr;
}

int32_t via_array_is_ready(via_array *array) {
    VIA_TRACE_API(via_array_is_ready, array);
    if (array == nullptr) {
        return 0;
    }
    if (!array->storage->may_be_pending()) {
        return 1;
    }
    const UniqueFence pending(last_write(array->storage));
    return pending.get() == nullptr || pending.get()->is_complete() ? 1 : 0;
}

via_status via_array_synchronize(via_array *array) {
    VIA_TRACE_API(via_array_synchronize, array);
    return guarded(__func__, required("array", array), [&] { return wait_until_ready(array->storage); });
}
