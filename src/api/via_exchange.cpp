#include "api/guard.hpp"
#include "copy/copy.hpp"
#include "cuda/pointer_attributes.hpp"
#include "exchange/array_interface.hpp"
#include "exchange/arrow.hpp"
#include "exchange/dlpack.hpp"
#include "exchange/stream_order.hpp"
#include "ipc/ipc.hpp"

using namespace via;

namespace {

static_assert(sizeof(via_dlpack_options) == 24 && offsetof(via_dlpack_options, copy) == 20);
static_assert(sizeof(via_array_interface) == 1080 && offsetof(via_array_interface, shape) == 40 &&
              offsetof(via_array_interface, typestr) == 1064);

// Exports the array, or a copy of it if the negotiation requires one. The copy lives as long as its tensor. It is made
// on the consumer's stream, or is complete on return without one.
template <class Tensor>
Status export_tensor(via_array *array, const via_dlpack_options &options, via_stream *stream, Tensor **out_tensor) {
    ExchangePlan plan{};
    VIA_TRY(negotiate_export(array, kDlpackForm<Tensor>, options, &plan));
    if (!plan.copies) [[likely]] {
        VIA_TRY(order_consumer(array, plan.device_type, stream));
        return export_dlpack(array, options, plan, out_tensor);
    }
    if (plan.device_type == VIA_DEVICE_CPU) {
        VIA_TRY(check_no_stream(stream));
    }
    UniqueArray copy;
    VIA_TRY(clone_to(array, plan.device_type, plan.device_id, stream, copy.out()));
    return export_dlpack(copy.get(), options, plan, out_tensor);
}

// Imports the tensor, or copies it and then calls its deleter.
template <class Tensor>
Status import_tensor(Tensor *tensor, const via_dlpack_options &options, via_stream *stream, via_array **out_array) {
    ExchangePlan plan{};
    VIA_TRY(negotiate_import(*tensor, options, &plan));
    if (!plan.copies) [[likely]] {
        return import_dlpack(tensor, plan, stream, out_array);
    }
    UniqueArray borrowed;
    VIA_TRY(import_dlpack(tensor, plan, stream, borrowed.out()));
    VIA_TRY(clone_to(borrowed.get(), plan.device_type, plan.device_id, nullptr, out_array));
    (*out_array)->flags |= VIA_ARRAY_COPIED;
    delete_tensor(tensor);
    return VIA_OK;
}

// The common part of both exports.
template <class Tensor>
Status export_checked(const char *function, via_array *array, const via_dlpack_options *options, via_stream *stream,
                      Tensor **out_tensor) {
    return guarded(function, output("out_tensor", out_tensor), required("array", array), [&]() -> Status {
        via_dlpack_options wanted = VIA_DLPACK_OPTIONS_INIT;
        VIA_TRY(options != nullptr ? read_options(*options, &wanted) : VIA_OK);
        return export_tensor(array, wanted, stream, out_tensor);
    });
}

// The common part of both imports.
template <class Tensor>
Status import_checked(const char *function, Tensor *tensor, const via_dlpack_options *options, via_stream *stream,
                      via_array **out_array) {
    return guarded(function, output("out_array", out_array), required("tensor", tensor), [&]() -> Status {
        via_dlpack_options wanted = VIA_DLPACK_OPTIONS_INIT;
        VIA_TRY(options != nullptr ? read_options(*options, &wanted) : VIA_OK);
        return import_tensor(tensor, wanted, stream, out_array);
    });
}

Status wrap_cuda_description(const via_array_interface &description, const Deleter &deleter, via_array **out_array) {
    ArraySpec spec;
    VIA_TRY(read_cuda_interface(description, &spec));
    return make_checked_array(spec, deleter, out_array, [&](via_array *array) -> Status {
        VIA_TRY(cuda::check_pointer("description.", array));
        return follow_description(array, description);
    });
}

}  // namespace

via_status via_to_dlpack(via_array *array, const via_dlpack_options *options, via_stream *stream,
                         DLManagedTensorVersioned **out_tensor) {
    VIA_TRACE_API(via_to_dlpack, array, options, stream, out_tensor);
    return export_checked(__func__, array, options, stream, out_tensor);
}

via_status via_from_dlpack(DLManagedTensorVersioned *tensor, const via_dlpack_options *options, via_stream *stream,
                           via_array **out_array) {
    VIA_TRACE_API(via_from_dlpack, tensor, options, stream, out_array);
    return import_checked(__func__, tensor, options, stream, out_array);
}

via_status via_to_dlpack_legacy(via_array *array, const via_dlpack_options *options, via_stream *stream,
                                DLManagedTensor **out_tensor) {
    VIA_TRACE_API(via_to_dlpack_legacy, array, options, stream, out_tensor);
    return export_checked(__func__, array, options, stream, out_tensor);
}

via_status via_from_dlpack_legacy(DLManagedTensor *tensor, const via_dlpack_options *options, via_stream *stream,
                                  via_array **out_array) {
    VIA_TRACE_API(via_from_dlpack_legacy, tensor, options, stream, out_array);
    return import_checked(__func__, tensor, options, stream, out_array);
}

void via_dlpack_delete(DLManagedTensorVersioned *tensor) {
    VIA_TRACE_API(via_dlpack_delete, tensor);
    delete_tensor(tensor);
}

void via_dlpack_delete_legacy(DLManagedTensor *tensor) {
    VIA_TRACE_API(via_dlpack_delete_legacy, tensor);
    delete_tensor(tensor);
}

via_status via_to_array_interface(via_array *array, via_array_interface *out_description) {
    VIA_TRACE_API(via_to_array_interface, array, out_description);
    return guarded(__func__, required("out_description", out_description), required("array", array), [&]() -> Status {
        if (array->device_type == VIA_DEVICE_CUDA) {
            return fail(
                VIA_ERROR_EXCHANGE,
                "the array's device_type is VIA_DEVICE_CUDA (device %d); expected memory that the host can read",
                array->device_id);
        }
        via_array_interface description{};
        VIA_TRY(describe_interface(array, &description));
        VIA_TRY(order_consumer(array, VIA_DEVICE_CPU, nullptr));
        return write_struct("out_description", description, out_description);
    });
}

via_status via_from_array_interface(const via_array_interface *description, via_release_fn release, void *context,
                                    via_array **out_array) {
    VIA_TRACE_API(via_from_array_interface, description, release, context, out_array);
    return guarded(__func__, output("out_array", out_array), required("description", description), [&]() -> Status {
        via_array_interface given{};
        VIA_TRY(read_struct("description", *description, &given));
        ArraySpec spec;
        VIA_TRY(read_interface(given, &spec));
        return make_array(spec, borrowed(release, context), out_array);
    });
}

via_status via_to_cuda_array_interface(via_array *array, via_stream *stream, via_array_interface *out_description) {
    VIA_TRACE_API(via_to_cuda_array_interface, array, stream, out_description);
    return guarded(__func__, required("out_description", out_description), required("array", array), [&]() -> Status {
        if (array->device_type == VIA_DEVICE_CPU) {
            return fail(VIA_ERROR_EXCHANGE, "the array's device_type is VIA_DEVICE_CPU; expected CUDA memory");
        }
        via_array_interface description{};
        VIA_TRY(describe_interface(array, &description));
        VIA_TRY(order_description(array, stream, &description));
        return write_struct("out_description", description, out_description);
    });
}

via_status via_from_cuda_array_interface(const via_array_interface *description, via_release_fn release, void *context,
                                         via_array **out_array) {
    VIA_TRACE_API(via_from_cuda_array_interface, description, release, context, out_array);
    return guarded(__func__, output("out_array", out_array), required("description", description), [&]() -> Status {
        via_array_interface given{};
        VIA_TRY(read_struct("description", *description, &given));
        return wrap_cuda_description(given, borrowed(release, context), out_array);
    });
}

via_status via_to_arrow_device(via_array *array, ArrowSchema *out_schema, ArrowDeviceArray *out_array) {
    VIA_TRACE_API(via_to_arrow_device, array, out_schema, out_array);
    return guarded(__func__, output("out_schema", out_schema), output("out_array", out_array), required("array", array),
                   [&] { return export_arrow(array, out_schema, out_array); });
}

via_status via_from_arrow_device(ArrowSchema *schema, ArrowDeviceArray *column, via_stream *stream,
                                 via_array **out_array) {
    VIA_TRACE_API(via_from_arrow_device, schema, column, stream, out_array);
    return guarded(__func__, output("out_array", out_array), required("schema", schema), required("column", column),
                   [&] { return import_arrow(schema, column, stream, out_array); });
}

void via_arrow_release(ArrowSchema *schema, ArrowDeviceArray *column) {
    VIA_TRACE_API(via_arrow_release, schema, column);
    release_arrow(schema, column);
}

via_status via_array_export_ipc(via_array *array, int64_t capacity, void *out_bytes, int64_t *out_length) {
    VIA_TRACE_API(via_array_export_ipc, array, capacity, out_bytes, out_length);
    return guarded(__func__, output("out_length", out_length), required("array", array), [&]() -> Status {
        if (capacity < 0) {
            return fail(VIA_ERROR_INVALID_ARGUMENT, "capacity is %lld; expected 0 or more", as_printed(capacity));
        }
        VIA_TRY(capacity > 0 ? require("out_bytes", out_bytes) : VIA_OK);
        return export_ticket(array, capacity, out_bytes, out_length);
    });
}

via_status via_array_import_ipc(const void *bytes, int64_t length, via_array **out_array) {
    VIA_TRACE_API(via_array_import_ipc, bytes, length, out_array);
    return guarded(__func__, output("out_array", out_array), required("bytes", bytes),
                   [&] { return import_ticket(bytes, length, out_array); });
}
