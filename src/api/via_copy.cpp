#include "copy/copy.hpp"

#include "api/guard.hpp"
#include "copy/batch.hpp"
#include "copy/explain.hpp"
#include "copy/fill.hpp"
#include "copy/indexed.hpp"

using namespace via;

namespace {

Status require_entries(const char *argument, int32_t count, via_array *const *arrays) {
    if (count > 0) {
        VIA_TRY(require(argument, arrays));
    }
    for (int32_t i = 0; i < count; ++i) {
        if (arrays[i] == nullptr) {
            return fail(VIA_ERROR_INVALID_ARGUMENT, "%s[%d] is NULL; expected an array", argument, i);
        }
    }
    return VIA_OK;
}

}  // namespace

via_status via_copy(via_array *dst, via_array *src) {
    VIA_TRACE_API(via_copy, dst, src);
    return guarded(__func__, required("dst", dst), required("src", src), [&] { return copy_array(dst, src); });
}

via_status via_copy_async(via_array *dst, via_array *src, via_stream *stream) {
    VIA_TRACE_API(via_copy_async, dst, src, stream);
    return guarded(__func__, required("dst", dst), required("src", src),
                   [&] { return copy_array_async(dst, src, stream); });
}

via_status via_copy_submit(via_array *dst, via_array *src, via_stream *stream, via_task **out_task) {
    VIA_TRACE_API(via_copy_submit, dst, src, stream, out_task);
    return guarded(__func__, output("out_task", out_task), required("dst", dst), required("src", src),
                   [&] { return submit_copy(dst, src, stream, out_task); });
}

via_status via_copy_batch(int32_t count, via_array *const *dsts, via_array *const *srcs, via_stream *stream) {
    VIA_TRACE_API(via_copy_batch, count, dsts, srcs, stream);
    return guarded(__func__, [&]() -> Status {
        if (count < 0) {
            return fail(VIA_ERROR_INVALID_ARGUMENT, "count is %d; expected 0 or more", count);
        }
        VIA_TRY(require_entries("dsts", count, dsts));
        VIA_TRY(require_entries("srcs", count, srcs));
        return copy_batch(count, dsts, srcs, stream);
    });
}

via_status via_copy_indexed(via_array *dst, via_array *dst_index, via_array *src, via_array *src_index, int32_t axis,
                            const via_convert_options *options, via_stream *stream) {
    VIA_TRACE_API(via_copy_indexed, dst, dst_index, src, src_index, axis, options, stream);
    via_convert_options complete{};
    return guarded(__func__, required("dst", dst), required("src", src), options_of(options, &complete), [&] {
        return copy_indexed({dst, dst_index, src, src_index, axis, options != nullptr ? &complete : nullptr}, stream);
    });
}

via_status via_copy_indexed_submit(via_array *dst, via_array *dst_index, via_array *src, via_array *src_index,
                                   int32_t axis, const via_convert_options *options, via_stream *stream,
                                   via_task **out_task) {
    VIA_TRACE_API(via_copy_indexed_submit, dst, dst_index, src, src_index, axis, options, stream, out_task);
    via_convert_options complete{};
    return guarded(__func__, output("out_task", out_task), required("dst", dst), required("src", src),
                   options_of(options, &complete), [&] {
                       return submit_indexed(
                           {dst, dst_index, src, src_index, axis, options != nullptr ? &complete : nullptr}, stream,
                           out_task);
                   });
}

via_status via_memcpy(void *dst, const void *src, int64_t nbytes, via_stream *stream) {
    VIA_TRACE_API(via_memcpy, dst, src, nbytes, stream);
    return guarded(__func__, [&]() -> Status {
        if (nbytes != 0) {
            VIA_TRY(require("dst", dst));
            VIA_TRY(require("src", src));
        }
        return copy_bytes(dst, src, nbytes, stream);
    });
}

via_status via_fill(via_array *dst, const void *element, via_stream *stream) {
    VIA_TRACE_API(via_fill, dst, element, stream);
    return guarded(__func__, required("dst", dst), [&] {
        return stream != nullptr ? fill_array_async(dst, element, stream) : fill_array(dst, element);
    });
}

via_status via_copy_explain(via_array *dst, via_array *src, int64_t capacity, char *out_text, int64_t *out_length) {
    VIA_TRACE_API(via_copy_explain, dst, src, capacity, out_text, out_length);
    return guarded(__func__, output("out_length", out_length), text_output("out_text", out_text, capacity),
                   required("dst", dst), required("src", src),
                   [&] { return explain_copy(dst, src, capacity, out_text, out_length); });
}
