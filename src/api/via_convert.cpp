#include "copy/convert.hpp"

#include "api/guard.hpp"

using namespace via;

int32_t via_dtype_can_cast(int32_t dtype, int32_t wanted, int32_t casting) {
    VIA_TRACE_API(via_dtype_can_cast, dtype, wanted, casting);
    return can_cast(dtype, wanted, casting) ? 1 : 0;
}

via_status via_convert(via_array *dst, via_array *src, const via_convert_options *options, via_stream *stream) {
    VIA_TRACE_API(via_convert, dst, src, options, stream);
    via_convert_options complete{};
    return guarded(__func__, required("dst", dst), required("src", src), options_of(options, &complete),
                   [&] { return convert_array(dst, src, complete, stream); });
}

via_status via_convert_submit(via_array *dst, via_array *src, const via_convert_options *options, via_stream *stream,
                              via_task **out_task) {
    VIA_TRACE_API(via_convert_submit, dst, src, options, stream, out_task);
    via_convert_options complete{};
    return guarded(__func__, output("out_task", out_task), required("dst", dst), required("src", src),
                   options_of(options, &complete),
                   [&] { return submit_convert(dst, src, complete, stream, out_task); });
}

via_status via_convert_explain(via_array *dst, via_array *src, const via_convert_options *options, int64_t capacity,
                               char *out_text, int64_t *out_length) {
    VIA_TRACE_API(via_convert_explain, dst, src, options, capacity, out_text, out_length);
    via_convert_options complete{};
    return guarded(__func__, output("out_length", out_length), text_output("out_text", out_text, capacity),
                   required("dst", dst), required("src", src), options_of(options, &complete),
                   [&] { return explain_convert(dst, src, complete, capacity, out_text, out_length); });
}
