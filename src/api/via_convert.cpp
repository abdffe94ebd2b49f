#include "copy/convert.hpp"

#include "api/guard.hpp"
#include "core/base/versioned_struct.hpp"
#include "core/layout/casting.hpp"

using namespace via;

namespace {

Status read_options(const via_convert_options *options, via_convert_options *out_options) {
    return options != nullptr ? read_struct("options", *options, out_options) : VIA_OK;
}

}  // namespace

int32_t via_dtype_can_cast(int32_t dtype, int32_t wanted, int32_t casting) {
    VIA_TRACE_API(via_dtype_can_cast, dtype, wanted, casting);
    return can_cast(dtype, wanted, casting) ? 1 : 0;
}

via_status via_convert(via_array *dst, via_array *src, const via_convert_options *options, via_stream *stream) {
    VIA_TRACE_API(via_convert, dst, src, options, stream);
    return guarded(__func__, required("dst", dst), required("src", src), [&]() -> Status {
        via_convert_options complete{};
        VIA_TRY(read_options(options, &complete));
        return convert_array(dst, src, complete, stream);
    });
}

via_status via_convert_submit(via_array *dst, via_array *src, const via_convert_options *options, via_stream *stream,
                              via_task **out_task) {
    VIA_TRACE_API(via_convert_submit, dst, src, options, stream, out_task);
    return guarded(__func__, output("out_task", out_task), required("dst", dst), required("src", src), [&]() -> Status {
        via_convert_options complete{};
        VIA_TRY(read_options(options, &complete));
        return submit_convert(dst, src, complete, stream, out_task);
    });
}

via_status via_convert_explain(via_array *dst, via_array *src, const via_convert_options *options, int64_t capacity,
                               char *out_text, int64_t *out_length) {
    VIA_TRACE_API(via_convert_explain, dst, src, options, capacity, out_text, out_length);
    const auto make_empty_text = [&]() -> Status {
        if (capacity < 1) {
            return fail(VIA_ERROR_INVALID_ARGUMENT, "capacity is %lld; expected 1 or more", as_printed(capacity));
        }
        out_text[0] = '\0';
        return VIA_OK;
    };
    return guarded(__func__, output("out_length", out_length), required("out_text", out_text), make_empty_text,
                   required("dst", dst), required("src", src), [&]() -> Status {
                       via_convert_options complete{};
                       VIA_TRY(read_options(options, &complete));
                       return explain_convert(dst, src, complete, capacity, out_text, out_length);
                   });
}
