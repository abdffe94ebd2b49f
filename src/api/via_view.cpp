#include "core/array/view.hpp"

#include "api/guard.hpp"

using namespace via;

namespace {

// The common part of all view functions.
template <class Make>
Status make_checked(const char *function, via_array *array, via_array **out_array, Make &&make) {
    return guarded(function, output("out_array", out_array), required("array", array), make);
}

}  // namespace

via_status via_array_slice(via_array *array, const int64_t *start, const int64_t *count, const int64_t *step,
                           via_array **out_array) {
    VIA_TRACE_API(via_array_slice, array, start, count, step, out_array);
    return make_checked(__func__, array, out_array, [&] { return slice_view(array, start, count, step, out_array); });
}

via_status via_array_select(via_array *array, int32_t axis, int64_t index, via_array **out_array) {
    VIA_TRACE_API(via_array_select, array, axis, index, out_array);
    return make_checked(__func__, array, out_array, [&] { return select_view(array, axis, index, out_array); });
}

via_status via_array_permute(via_array *array, const int32_t *axes, via_array **out_array) {
    VIA_TRACE_API(via_array_permute, array, axes, out_array);
    return make_checked(__func__, array, out_array, [&] { return permute_view(array, axes, out_array); });
}

via_status via_array_reshape(via_array *array, int32_t ndim, const int64_t *shape, via_array **out_array) {
    VIA_TRACE_API(via_array_reshape, array, ndim, shape, out_array);
    return make_checked(__func__, array, out_array, [&] { return reshape_view(array, ndim, shape, out_array); });
}

via_status via_array_broadcast(via_array *array, int32_t ndim, const int64_t *shape, via_array **out_array) {
    VIA_TRACE_API(via_array_broadcast, array, ndim, shape, out_array);
    return make_checked(__func__, array, out_array, [&] { return broadcast_view(array, ndim, shape, out_array); });
}

via_status via_array_squeeze(via_array *array, int32_t count, const int32_t *axes, via_array **out_array) {
    VIA_TRACE_API(via_array_squeeze, array, count, axes, out_array);
    return make_checked(__func__, array, out_array, [&] { return squeeze_view(array, count, axes, out_array); });
}

via_status via_array_expand(via_array *array, int32_t axis, via_array **out_array) {
    VIA_TRACE_API(via_array_expand, array, axis, out_array);
    return make_checked(__func__, array, out_array, [&] { return expand_view(array, axis, out_array); });
}

via_status via_array_reinterpret(via_array *array, int32_t dtype, via_array **out_array) {
    VIA_TRACE_API(via_array_reinterpret, array, dtype, out_array);
    return make_checked(__func__, array, out_array, [&] { return reinterpret_view(array, dtype, out_array); });
}

via_status via_array_field(via_array *array, int64_t byte_offset, int32_t dtype, int32_t ndim, const int64_t *shape,
                           via_array **out_array) {
    VIA_TRACE_API(via_array_field, array, byte_offset, dtype, ndim, shape, out_array);
    return make_checked(__func__, array, out_array,
                        [&] { return field_view(array, byte_offset, dtype, ndim, shape, out_array); });
}

via_status via_array_as_read_only(via_array *array, via_array **out_array) {
    VIA_TRACE_API(via_array_as_read_only, array, out_array);
    return make_checked(__func__, array, out_array, [&] { return read_only_view(array, out_array); });
}
