#include "api/guard.hpp"
#include "copy/duplicate.hpp"
#include "core/structs.hpp"
#include "exchange/array_interface.hpp"
#include "exchange/arrow.hpp"
#include "exchange/dlpack.hpp"

using namespace via;

namespace {

static_assert(sizeof(via_dlpack_options) == 24 && offsetof(via_dlpack_options, copy) == 20);
static_assert(sizeof(via_array_interface) == 1080 && offsetof(via_array_interface, shape) == 40 &&
              offsetof(via_array_interface, typestr) == 1064);

// Memory that the CPU reads has no stream to be ordered on: the DLPack and array interface rules say None.
Status check_no_stream(via_stream *stream) {
    if (stream != nullptr && stream != via_stream_no_sync()) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "stream is given, but the memory is the host's; expected NULL");
    }
    return VIA_OK;
}

// Exports the array, or a copy of it where the negotiation asks for one; the copy lives as long as its tensor.
template <class Export>
Status lend(via_array *array, DlpackForm form, const via_dlpack_options &options, Export &&export_array) {
    Lending lending{};
    VIA_TRY(negotiate_export(array, form, options, &lending));
    if (lending == Lending::AsItIs) [[likely]] {
        return export_array(array, false);
    }
    ArrayHolder copy;
    VIA_TRY(duplicate(array, copy.out()));
    return export_array(copy.get(), true);
}

// Takes the tensor over, or a copy of it and then deletes it.
template <class Tensor>
Status take(Tensor *tensor, const via_dlpack_options &options, via_array **out_array) {
    if (options.copy != VIA_COPY_ALWAYS) [[likely]] {
        return import_dlpack(tensor, options, true, out_array);
    }
    ArrayHolder borrowed;
    VIA_TRY(import_dlpack(tensor, options, false, borrowed.out()));
    VIA_TRY(duplicate(borrowed.get(), out_array));
    (*out_array)->flags |= VIA_ARRAY_COPIED;
    delete_tensor(tensor);
    return VIA_OK;
}

// What both forms have in common on the way out.
template <class Tensor, class Export>
Status export_checked(const char *function, via_array *array, DlpackForm form, const via_dlpack_options *options,
                      via_stream *stream, Tensor **out_tensor, Export &&export_array) {
    return guarded(function, [&]() -> Status {
        VIA_TRY(clear_output("out_tensor", out_tensor));
        VIA_TRY(require("array", array));
        VIA_TRY(check_no_stream(stream));
        via_dlpack_options wanted;
        VIA_TRY(read_options(options, &wanted));
        return lend(array, form, wanted,
                    [&](via_array *lent, bool copied) { return export_array(lent, wanted, copied); });
    });
}

// And on the way in.
template <class Tensor>
Status import_checked(const char *function, Tensor *tensor, const via_dlpack_options *options, via_stream *stream,
                      via_array **out_array) {
    return guarded(function, [&]() -> Status {
        VIA_TRY(clear_output("out_array", out_array));
        VIA_TRY(require("tensor", tensor));
        VIA_TRY(check_no_stream(stream));
        via_dlpack_options wanted;
        VIA_TRY(read_options(options, &wanted));
        return take(tensor, wanted, out_array);
    });
}

// What both array interfaces have in common on the way in.
Status wrap_description(const via_array_interface *given, via_release_fn release, void *context,
                        via_array **out_array) {
    via_array_interface description{};
    VIA_TRY(read_struct("description", *given, &description));
    ArraySpec spec;
    VIA_TRY(read_interface(description, &spec));
    return make_array(spec, loan(release, context), out_array);
}

}  // namespace

via_status via_to_dlpack(via_array *array, const via_dlpack_options *options, via_stream *stream,
                         DLManagedTensorVersioned **out_tensor) {
    return export_checked(__func__, array, DlpackForm::Versioned, options, stream, out_tensor,
                          [&](via_array *lent, const via_dlpack_options &wanted, bool copied) {
                              return export_dlpack(lent, wanted, copied, out_tensor);
                          });
}

via_status via_from_dlpack(DLManagedTensorVersioned *tensor, const via_dlpack_options *options, via_stream *stream,
                           via_array **out_array) {
    return import_checked(__func__, tensor, options, stream, out_array);
}

via_status via_to_dlpack_legacy(via_array *array, const via_dlpack_options *options, via_stream *stream,
                                DLManagedTensor **out_tensor) {
    return export_checked(
        __func__, array, DlpackForm::Legacy, options, stream, out_tensor,
        [&](via_array *lent, const via_dlpack_options &, bool) { return export_dlpack(lent, out_tensor); });
}

via_status via_from_dlpack_legacy(DLManagedTensor *tensor, const via_dlpack_options *options, via_stream *stream,
                                  via_array **out_array) {
    return import_checked(__func__, tensor, options, stream, out_array);
}

void via_dlpack_delete(DLManagedTensorVersioned *tensor) { delete_tensor(tensor); }

void via_dlpack_delete_legacy(DLManagedTensor *tensor) { delete_tensor(tensor); }

via_status via_to_array_interface(via_array *array, via_array_interface *out_description) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(require("out_description", out_description));
        VIA_TRY(require("array", array));
        via_array_interface description{};
        VIA_TRY(describe_interface(array, &description));
        return write_struct("out_description", description, out_description);
    });
}

via_status via_from_array_interface(const via_array_interface *description, via_release_fn release, void *context,
                                    via_array **out_array) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(clear_output("out_array", out_array));
        VIA_TRY(require("description", description));
        return wrap_description(description, release, context, out_array);
    });
}

via_status via_to_cuda_array_interface(via_array *array, via_stream *, via_array_interface *out_description) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(require("out_description", out_description));
        VIA_TRY(require("array", array));
        return fail(VIA_ERROR_EXCHANGE, "the array is in host memory; expected CUDA memory");
    });
}

via_status via_from_cuda_array_interface(const via_array_interface *description, via_release_fn release, void *context,
                                         via_array **out_array) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(clear_output("out_array", out_array));
        VIA_TRY(require("description", description));
        (void)release;
        (void)context;
        return no_cuda("memory of a __cuda_array_interface__");
    });
}

via_status via_to_arrow_device(via_array *array, ArrowSchema *out_schema, ArrowDeviceArray *out_array) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(clear_output("out_schema", out_schema));
        VIA_TRY(clear_output("out_array", out_array));
        VIA_TRY(require("array", array));
        return export_arrow(array, out_schema, out_array);
    });
}

via_status via_from_arrow_device(ArrowSchema *schema, ArrowDeviceArray *column, via_stream *stream,
                                 via_array **out_array) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(clear_output("out_array", out_array));
        VIA_TRY(require("schema", schema));
        VIA_TRY(require("column", column));
        VIA_TRY(check_no_stream(stream));
        return import_arrow(schema, column, out_array);
    });
}

void via_arrow_release(ArrowSchema *schema, ArrowDeviceArray *column) { release_arrow(schema, column); }
