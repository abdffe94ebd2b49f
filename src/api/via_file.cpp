#include "file/file.hpp"

#include "api/guard.hpp"
#include "file/file_conversion.hpp"
#include "file/file_transfer.hpp"
#include "file/window.hpp"

using namespace via;

namespace {

static_assert(sizeof(via_file_options) == 32 && offsetof(via_file_options, as_bytes) == 28);
static_assert(sizeof(via_file_properties) == 552 && offsetof(via_file_properties, nbytes) == 24);

}  // namespace

via_status via_file_open(const char *path, const via_file_options *options, via_file **out_file) {
    VIA_TRACE_API(via_file_open, path, options, out_file);
    via_file_options complete{};
    return guarded(__func__, output("out_file", out_file), required("path", path), options_of(options, &complete),
                   [&] { return name_path(path, open_file(path, complete, out_file)); });
}

via_status via_file_create(const char *path, int32_t dtype, int32_t ndim, const int64_t *shape,
                           const via_file_options *options, via_file **out_file) {
    VIA_TRACE_API(via_file_create, path, dtype, ndim, shape, options, out_file);
    via_file_options complete{};
    return guarded(__func__, output("out_file", out_file), required("path", path), options_of(options, &complete),
                   [&] { return name_path(path, create_file(path, {dtype, ndim, shape}, complete, out_file)); });
}

via_status via_file_window(via_file *file, int64_t byte_offset, int32_t dtype, int32_t ndim, const int64_t *shape,
                           const int64_t *starts, const int64_t *counts, const int64_t *steps, via_file **out_file) {
    VIA_TRACE_API(via_file_window, file, byte_offset, dtype, ndim, shape, starts, counts, steps, out_file);
    return guarded(__func__, output("out_file", out_file), required("file", file), [&] {
        return name_file(file, make_window(file, byte_offset, {dtype, ndim, shape}, {starts, counts, steps}, out_file));
    });
}

via_status via_file_convert(via_file *file, int32_t dtype, const via_convert_options *options, via_file **out_file) {
    VIA_TRACE_API(via_file_convert, file, dtype, options, out_file);
    via_convert_options complete{};
    return guarded(__func__, output("out_file", out_file), required("file", file), options_of(options, &complete),
                   [&] { return name_file(file, make_converted(file, dtype, complete, out_file)); });
}

void via_file_retain(via_file *file) {
    VIA_TRACE_API(via_file_retain, file);
    unless_null(file, [](via_file *live) { live->references.retain(); });
}

void via_file_release(via_file *file) {
    VIA_TRACE_API(via_file_release, file);
    unless_null(file, release_file);
}

via_status via_file_info(via_file *file, via_file_properties *out_properties) {
    VIA_TRACE_API(via_file_info, file, out_properties);
    return guarded(__func__, required("file", file), required("out_properties", out_properties), [&]() -> Status {
        via_file_properties answer{};
        VIA_TRY(name_file(file, describe_file(file, &answer)));
        return write_struct("out_properties", answer, out_properties);
    });
}

via_status via_file_array(via_file *file, int64_t byte_offset, int32_t dtype, int32_t ndim, const int64_t *shape,
                          via_array **out_array) {
    VIA_TRACE_API(via_file_array, file, byte_offset, dtype, ndim, shape, out_array);
    return guarded(__func__, output("out_array", out_array), required("file", file),
                   [&] { return name_file(file, map_file(file, byte_offset, {dtype, ndim, shape}, out_array)); });
}

via_status via_file_read(via_file *file, int64_t byte_offset, via_array *dst, via_stream *stream) {
    VIA_TRACE_API(via_file_read, file, byte_offset, dst, stream);
    return guarded(__func__, required("file", file), required("dst", dst),
                   [&] { return name_file(file, transfer_array({file, dst, Direction::Read, byte_offset}, stream)); });
}

via_status via_file_write(via_file *file, int64_t byte_offset, via_array *src, via_stream *stream) {
    VIA_TRACE_API(via_file_write, file, byte_offset, src, stream);
    return guarded(__func__, required("file", file), required("src", src),
                   [&] { return name_file(file, transfer_array({file, src, Direction::Write, byte_offset}, stream)); });
}

via_status via_file_read_submit(via_file *file, int64_t byte_offset, via_array *dst, via_stream *stream,
                                via_task **out_task) {
    VIA_TRACE_API(via_file_read_submit, file, byte_offset, dst, stream, out_task);
    return guarded(__func__, output("out_task", out_task), required("file", file), required("dst", dst), [&] {
        return name_file(file, submit_transfer({file, dst, Direction::Read, byte_offset}, stream, out_task));
    });
}

via_status via_file_write_submit(via_file *file, int64_t byte_offset, via_array *src, via_stream *stream,
                                 via_task **out_task) {
    VIA_TRACE_API(via_file_write_submit, file, byte_offset, src, stream, out_task);
    return guarded(__func__, output("out_task", out_task), required("file", file), required("src", src), [&] {
        return name_file(file, submit_transfer({file, src, Direction::Write, byte_offset}, stream, out_task));
    });
}

via_status via_save(const char *path, via_array *array, const via_file_options *options) {
    VIA_TRACE_API(via_save, path, array, options);
    via_file_options complete{};
    return guarded(__func__, required("path", path), required("array", array), options_of(options, &complete),
                   [&] { return name_path(path, save_array(path, array, complete)); });
}

via_status via_load(const char *path, via_memory *memory, const via_file_options *options, via_array **out_array) {
    VIA_TRACE_API(via_load, path, memory, options, out_array);
    via_file_options complete{};
    return guarded(
        __func__, output("out_array", out_array), required("path", path), options_of(options, &complete), [&] {
            return name_path(path, load_array(path, memory != nullptr ? memory : host_memory(), complete, out_array));
        });
}
