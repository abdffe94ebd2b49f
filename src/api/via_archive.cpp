#include "archive/archive.hpp"

#include "api/guard.hpp"
#include "archive/archive_read.hpp"
#include "archive/archive_save.hpp"
#include "archive/safetensors.hpp"
#include "archive/tensor_conversion.hpp"
#include "core/base/text_buffer.hpp"

using namespace via;

via_status via_archive_open(const char *path, const via_file_options *options, via_archive **out_archive) {
    VIA_TRACE_API(via_archive_open, path, options, out_archive);
    via_file_options complete{};
    return guarded(__func__, output("out_archive", out_archive), required("path", path), options_of(options, &complete),
                   [&] { return name_path(path, open_archive(path, complete, out_archive)); });
}

via_status via_archive_add(via_archive *archive, const char *path) {
    VIA_TRACE_API(via_archive_add, archive, path);
    return guarded(__func__, required("archive", archive), required("path", path),
                   [&] { return name_path(path, add_to_archive(archive, path)); });
}

void via_archive_retain(via_archive *archive) {
    VIA_TRACE_API(via_archive_retain, archive);
    unless_null(archive, [](via_archive *live) { live->references.retain(); });
}

void via_archive_release(via_archive *archive) {
    VIA_TRACE_API(via_archive_release, archive);
    unless_null(archive, release_archive);
}

int64_t via_archive_size(via_archive *archive) {
    VIA_TRACE_API(via_archive_size, archive);
    return archive != nullptr ? static_cast<int64_t>(archive->tensors.size()) : 0;
}

int64_t via_archive_nbytes(via_archive *archive) {
    VIA_TRACE_API(via_archive_nbytes, archive);
    return archive != nullptr ? settle_places(archive) : 0;
}

const char *via_archive_name(via_archive *archive, int64_t number) {
    VIA_TRACE_API(via_archive_name, archive, number);
    const ArchiveTensor *tensor = archive != nullptr ? tensor_at(archive, number) : nullptr;
    return tensor != nullptr ? tensor->name->c_str() : nullptr;
}

const char *via_archive_type_name(via_archive *archive, int64_t number) {
    VIA_TRACE_API(via_archive_type_name, archive, number);
    const ArchiveTensor *tensor = archive != nullptr ? tensor_at(archive, number) : nullptr;
    return tensor != nullptr ? tensor->type_name->c_str() : nullptr;
}

via_status via_archive_find(via_archive *archive, const char *name, int64_t *out_number) {
    VIA_TRACE_API(via_archive_find, archive, name, out_number);
    return guarded(__func__, output("out_number", out_number), required("archive", archive), required("name", name),
                   [&] { return find_tensor(archive, name, out_number); });
}

via_status via_archive_metadata(via_archive *archive, int64_t capacity, char *out_metadata, int64_t *out_length) {
    VIA_TRACE_API(via_archive_metadata, archive, capacity, out_metadata, out_length);
    const auto describe = [&]() -> Status {
        TextBuffer text(out_metadata, capacity);
        text.add("%s", write_texts(archive->metadata).c_str());
        *out_length = text.length();
        return VIA_OK;
    };
    return guarded(__func__, output("out_length", out_length), text_output("out_metadata", out_metadata, capacity),
                   required("archive", archive), describe);
}

via_status via_archive_file(via_archive *archive, int64_t number, via_file **out_file) {
    VIA_TRACE_API(via_archive_file, archive, number, out_file);
    return guarded(__func__, output("out_file", out_file), required("archive", archive),
                   [&] { return open_tensor(archive, number, out_file); });
}

via_status via_archive_select(via_archive *archive, int32_t count, const int64_t *numbers, via_archive **out_archive) {
    VIA_TRACE_API(via_archive_select, archive, count, numbers, out_archive);
    return guarded(__func__, output("out_archive", out_archive), required("archive", archive),
                   [&] { return select_tensors(archive, count, numbers, out_archive); });
}

via_status via_archive_slice(via_archive *archive, int64_t number, int32_t axis, int64_t start, int64_t count) {
    VIA_TRACE_API(via_archive_slice, archive, number, axis, start, count);
    return guarded(__func__, required("archive", archive),
                   [&] { return slice_tensor(archive, number, axis, start, count); });
}

via_status via_archive_convert(via_archive *archive, int64_t number, int32_t dtype,
                               const via_convert_options *options) {
    VIA_TRACE_API(via_archive_convert, archive, number, dtype, options);
    via_convert_options complete{};
    return guarded(__func__, required("archive", archive), options_of(options, &complete),
                   [&] { return convert_tensor(archive, number, dtype, complete); });
}

via_status via_archive_array(via_archive *archive, int64_t number, via_array *buffer, via_array **out_array) {
    VIA_TRACE_API(via_archive_array, archive, number, buffer, out_array);
    return guarded(__func__, output("out_array", out_array), required("archive", archive), required("buffer", buffer),
                   [&] { return view_tensor(archive, number, buffer, out_array); });
}

via_status via_archive_load(via_archive *archive, via_memory *memory, via_stream *stream, via_array **out_buffer) {
    VIA_TRACE_API(via_archive_load, archive, memory, stream, out_buffer);
    return guarded(__func__, output("out_buffer", out_buffer), required("archive", archive), [&] {
        return load_archive(archive, memory != nullptr ? memory : host_memory(), stream, out_buffer);
    });
}

via_status via_archive_read(via_archive *archive, via_array *buffer, via_stream *stream) {
    VIA_TRACE_API(via_archive_read, archive, buffer, stream);
    return guarded(__func__, required("archive", archive), required("buffer", buffer),
                   [&] { return read_archive(archive, buffer, stream); });
}

via_status via_archive_read_submit(via_archive *archive, via_array *buffer, via_stream *stream, via_task **out_task) {
    VIA_TRACE_API(via_archive_read_submit, archive, buffer, stream, out_task);
    return guarded(__func__, output("out_task", out_task), required("archive", archive), required("buffer", buffer),
                   [&] { return submit_archive(archive, buffer, stream, out_task); });
}

via_status via_archive_save(const char *path, int32_t count, via_array *const *arrays, const char *const *names,
                            const char *metadata, int64_t shard_bytes, const via_file_options *options,
                            via_stream *stream) {
    VIA_TRACE_API(via_archive_save, path, count, arrays, names, metadata, shard_bytes, options, stream);
    SaveRequest request{path, count, arrays, names, metadata, shard_bytes, {}};
    return guarded(__func__, required("path", path), options_of(options, &request.options),
                   [&] { return save_archive(request, stream); });
}

via_status via_archive_save_submit(const char *path, int32_t count, via_array *const *arrays, const char *const *names,
                                   const char *metadata, int64_t shard_bytes, const via_file_options *options,
                                   via_stream *stream, via_task **out_task) {
    VIA_TRACE_API(via_archive_save_submit, path, count, arrays, names, metadata, shard_bytes, options, stream,
                  out_task);
    SaveRequest request{path, count, arrays, names, metadata, shard_bytes, {}};
    return guarded(__func__, output("out_task", out_task), required("path", path),
                   options_of(options, &request.options), [&] { return submit_save(request, stream, out_task); });
}
