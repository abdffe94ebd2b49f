#include "archive/archive.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iterator>
#include <mutex>
#include <numeric>
#include <set>
#include <tuple>

#include "archive/archive_paths.hpp"
#include "archive/gguf.hpp"
#include "archive/npz.hpp"
#include "archive/safetensors.hpp"
#include "archive/tensor_conversion.hpp"
#include "archive/tensor_list.hpp"
#include "core/array/memory.hpp"
#include "core/array/view.hpp"
#include "core/base/checked.hpp"
#include "core/base/rounding.hpp"
#include "file/npy.hpp"
#include "file/read_write.hpp"

namespace via {
namespace {

// Refuses what concerns writes and files of one array.
Status check_options(const via_file_options &options) {
    VIA_TRY(check_unused({{"file_format", options.file_format},
                          {"column_major", options.column_major},
                          {"durable", options.durable},
                          {"atomic_write", options.atomic_write},
                          {"as_bytes", options.as_bytes}}));
    return options.mode != VIA_MODE_READ_WRITE
               ? VIA_OK
               : fail(VIA_ERROR_INVALID_ARGUMENT,
                      "options.mode is VIA_MODE_READ_WRITE; expected VIA_MODE_READ or VIA_MODE_COPY_ON_WRITE");
}

// Reads the header of a file of any format, told by its first bytes; a text names the tensor.
// A safetensors file begins with the length of its JSON, at most 100 MB, which may look like a ZIP's first bytes, yet
// not like GGUF's.
Status read_tensors(OpenFile *open, TensorList *out_list) {
    constexpr int64_t kStart = 9;
    char bytes[kStart];
    int64_t got = 0;
    VIA_TRY(read_up_to(open, bytes, 0, kStart, &got));
    const std::string_view start(bytes, static_cast<size_t>(got));
    if (is_npy(start)) {
        return fail(VIA_ERROR_FORMAT, "the file is one .npy array; expected an archive, or via_load for one array");
    }
    if (is_gguf(start)) {
        return read_gguf(open, out_list);
    }
    return is_npz(start) && !start.ends_with('{') ? read_npz(open, out_list) : read_safetensors(open, out_list);
}

via_file *file_of(via_archive *archive, const ArchiveTensor &tensor) {
    return archive->files[static_cast<size_t>(tensor.file)].file.get();
}

// Places the tensors in the buffer, in the order of their bytes. They take at most `most_nbytes`, which did not
// overflow, and those of a selection no more than before. Allocates nothing if by_place has room.
void place_tensors(via_archive *archive) {
    std::vector<ArchiveTensor> &tensors = archive->tensors;
    std::vector<int64_t> &by_place = archive->by_place;
    by_place.resize(tensors.size());
    std::iota(by_place.begin(), by_place.end(), int64_t{0});
    const auto key = [&](int64_t number) {
        const ArchiveTensor &tensor = tensors[static_cast<size_t>(number)];
        return std::tuple(suits_device(tensor), tensor.file, tensor.offset, number);
    };
    std::sort(by_place.begin(), by_place.end(), [&](int64_t a, int64_t b) { return key(a) < key(b); });
    archive->device_place = INT64_MAX;
    int64_t end = 0;
    for (const int64_t number : by_place) {
        ArchiveTensor &tensor = tensors[static_cast<size_t>(number)];
        tensor.place = round_up(end, kAlignment);
        end = tensor.place + tensor.buffer_nbytes();
        if (suits_device(tensor)) {
            archive->device_place = std::min(archive->device_place, tensor.place);
        }
    }
    archive->nbytes = end;
    archive->device_place = std::min(archive->device_place, end);
    archive->most_nbytes = end;
    archive->is_placed = true;
}

// Makes an archive of a single file.
Status read_file(const char *path, via_archive *archive) {
    via_file_options options = archive->options;
    options.file_format = VIA_FORMAT_RAW;
    UniqueFile file;
    FileStamp stamp{};
    TensorList list;
    VIA_TRY(name_path(path, open_file(path, options, file.out())));
    const UniqueOpenFile open(file.get()->hold_open());
    VIA_TRY(name_file(file.get(), stamp_of(open.get(), &stamp)));
    VIA_TRY(name_file(file.get(), read_tensors(open.get(), &list)));
    for (ArchiveTensor &tensor : list.tensors()) {
        VIA_TRY(name_file(file.get(), name_tensor(*tensor.name, plan_elements(&tensor))));
        archive->numbers.emplace(*tensor.name, static_cast<int64_t>(archive->numbers.size()));
    }
    archive->tensors = std::move(list.tensors());
    archive->metadata = std::move(list.texts());
    archive->files.push_back({std::shared_ptr<via_file>(file.release(), release_file), stamp});
    return VIA_OK;
}

template <class Value>
void append(std::vector<Value> *added, std::vector<Value> *list) {
    std::move(added->begin(), added->end(), std::back_inserter(*list));
}

// Moves all of another archive to the end, except texts whose names are present. Makes room before it changes anything:
// on failure, and after an exception, the archive is as it was.
Status append_archive(via_archive *added, via_archive *archive) {
    int64_t most_nbytes = archive->most_nbytes;
    for (const ArchiveTensor &tensor : added->tensors) {
        if (const auto found = archive->numbers.find(*tensor.name); found != archive->numbers.end()) {
            return fail(VIA_ERROR_FORMAT, "tensor '%.80s' is in %.400s and in %.400s; expected each name once",
                        tensor.name->c_str(), file_of(archive, *tensor_at(archive, found->second))->path,
                        file_of(added, tensor)->path);
        }
        if (!add(most_nbytes, tensor.buffer_nbytes(), &most_nbytes) || !add(most_nbytes, kAlignment, &most_nbytes)) {
            return fail(VIA_ERROR_OVERFLOW, "the tensors exceed 2^63 - 1 bytes; expected fewer");
        }
    }
    std::set<std::string_view> texts;
    for (const auto &[name, value] : archive->metadata) {
        texts.insert(name);
    }
    std::erase_if(added->metadata, [&](const ArchiveText &text) { return texts.contains(text.first); });
    archive->files.reserve(archive->files.size() + added->files.size());
    archive->tensors.reserve(archive->tensors.size() + added->tensors.size());
    archive->metadata.reserve(archive->metadata.size() + added->metadata.size());
    archive->by_place.reserve(archive->tensors.size() + added->tensors.size());
    for (ArchiveTensor &tensor : added->tensors) {
        tensor.file += static_cast<int32_t>(archive->files.size());
    }
    for (auto &[name, number] : added->numbers) {
        number += static_cast<int64_t>(archive->tensors.size());
    }
    append(&added->files, &archive->files);
    append(&added->tensors, &archive->tensors);
    append(&added->metadata, &archive->metadata);
    archive->numbers.merge(added->numbers);
    archive->most_nbytes = most_nbytes;
    archive->is_placed = false;
    return VIA_OK;
}

// Checks that each tensor of an index is in the file that the index names.
Status check_index(via_archive *archive, const ArchivePaths &paths) {
    for (const auto &[name, path] : paths.files_by_name) {
        const auto found = archive->numbers.find(name);
        const ArchiveTensor *tensor = found != archive->numbers.end() ? tensor_at(archive, found->second) : nullptr;
        if (tensor == nullptr || path != file_of(archive, *tensor)->path) {
            return fail(VIA_ERROR_FORMAT, "%.400s: tensor '%.80s' is not in %.200s; expected it there",
                        paths.source.c_str(), name.c_str(), path.c_str());
        }
    }
    return VIA_OK;
}

// Makes an archive of the files of a path.
Status read_files(const char *path, via_archive *archive) {
    ArchivePaths paths;
    VIA_TRY(find_archive_paths(path, &paths));
    for (const std::string &each : paths.files) {
        via_archive one{};
        one.options = archive->options;
        VIA_TRY(read_file(each.c_str(), &one));
        VIA_TRY(append_archive(&one, archive));
    }
    return check_index(archive, paths);
}

// Steps of a dense array: elements for packed ones, otherwise bytes.
Layout dense_layout(const ArchiveTensor &tensor) {
    Layout layout{};
    const int64_t bits = dtype_bits(tensor.array_dtype());
    int64_t step = bits % 8 != 0 ? 1 : bits / 8;
    layout.ndim = static_cast<int32_t>(tensor.shape.size());
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
        const size_t axis = tensor.is_column_major ? i : tensor.shape.size() - 1 - i;
        layout.shape[axis] = tensor.shape[axis];
        layout.steps[axis] = step;
        step *= std::max<int64_t>(tensor.shape[axis], 1);
    }
    return layout;
}

}  // namespace

Status open_archive(const char *path, const via_file_options &options, via_archive **out_archive) {
    UniqueArchive archive;
    VIA_TRY(check_options(options));
    VIA_TRY(make_object("a handle", archive.out()));
    archive.get()->options = options;
    VIA_TRY(read_files(path, archive.get()));
    *out_archive = archive.release();
    return VIA_OK;
}

Status add_to_archive(via_archive *archive, const char *path) {
    via_archive added{};
    added.options = archive->options;
    VIA_TRY(read_files(path, &added));
    return append_archive(&added, archive);
}

void release_archive(via_archive *archive) {
    if (archive->references.release()) {
        delete archive;
    }
}

Status find_tensor(via_archive *archive, const char *name, int64_t *out_number) {
    const auto found = archive->numbers.find(name);
    if (found == archive->numbers.end()) {
        return fail(VIA_ERROR_INDEX, "name is '%.200s'; expected the name of a tensor of the archive", name);
    }
    *out_number = found->second;
    return VIA_OK;
}

const ArchiveTensor *tensor_at(via_archive *archive, int64_t number) {
    const bool is_there = number >= 0 && number < static_cast<int64_t>(archive->tensors.size());
    return is_there ? &archive->tensors[static_cast<size_t>(number)] : nullptr;
}

namespace {

Status check_readable(via_archive *archive, const ArchiveTensor &tensor) {
    if (tensor.refusal == nullptr) {
        return VIA_OK;
    }
    const Status status = fail(tensor.refusal->status, "%s", tensor.refusal->text.c_str());
    return name_file(file_of(archive, tensor), name_tensor(*tensor.name, status));
}

}  // namespace

Status require_tensor(via_archive *archive, int64_t number, const ArchiveTensor **out_tensor) {
    *out_tensor = tensor_at(archive, number);
    if (*out_tensor != nullptr) {
        return check_readable(archive, **out_tensor);
    }
    if (archive->tensors.empty()) {
        return fail(VIA_ERROR_INDEX, "number is %lld in an archive that has no tensors; expected some",
                    as_printed(number));
    }
    return fail(VIA_ERROR_INDEX, "number is %lld; expected 0 to %lld, a tensor of the archive", as_printed(number),
                as_printed(static_cast<int64_t>(archive->tensors.size()) - 1));
}

Status require_all(via_archive *archive) {
    for (const ArchiveTensor &tensor : archive->tensors) {
        VIA_TRY(check_readable(archive, tensor));
    }
    return VIA_OK;
}

namespace {

Status open_window(via_archive *archive, const ArchiveTensor &tensor, via_file **out_file) {
    const auto ndim = static_cast<int32_t>(tensor.shape.size());
    const bool is_slice = !tensor.starts.empty();
    const WindowSlice slice{tensor.starts.data(), tensor.shape.data(), nullptr};
    via_file *file = file_of(archive, tensor);
    const FileContent content{tensor.dtype, ndim, is_slice ? tensor.whole_shape.data() : tensor.shape.data(),
                              tensor.is_column_major};
    const Status status = make_window(file, is_slice ? tensor.whole_offset : tensor.offset, content,
                                      is_slice ? slice : WindowSlice{}, out_file);
    return name_file(file, name_tensor(*tensor.name, status));
}

Status check_slice(const ArchiveTensor &tensor, size_t axis, int64_t start, int64_t count) {
    const int64_t extent = tensor.shape[axis];
    if (start < 0 || count < 0 || start > extent || count > extent - start) {
        return fail(VIA_ERROR_INDEX, "start is %lld and count is %lld; expected indices of an axis of %lld",
                    as_printed(start), as_printed(count), as_printed(extent));
    }
    const bool cuts = (start % tensor.block_bytes | count % tensor.block_bytes) != 0 && axis + 1 == tensor.shape.size();
    return cuts ? fail(VIA_ERROR_UNSUPPORTED,
                       "start is %lld and count is %lld; expected multiples of %lld, the bytes of a block of %s",
                       as_printed(start), as_printed(count), as_printed(tensor.block_bytes), tensor.type_name->c_str())
                : VIA_OK;
}

// Finds the bytes of a slice by its window.
Status find_rows(via_archive *archive, ArchiveTensor *slice) {
    UniqueFile window;
    VIA_TRY(open_window(archive, *slice, window.out()));
    UniqueArray ordered;
    if (slice->is_column_major) {
        VIA_TRY(permute_view(window.get()->layout, nullptr, ordered.out()));
    }
    via_array *layout = slice->is_column_major ? ordered.get() : window.get()->layout;
    slice->nbytes = layout->nbytes();
    slice->offset = slice->whole_offset;
    slice->rows = nullptr;
    if (slice->nbytes > 0) {
        const FileExtents extents = extents_of(layout, first_byte(layout));
        slice->offset = extents.offset;
        slice->rows = extents.ndim > 0 ? std::make_shared<const FileExtents>(extents) : nullptr;
    }
    return VIA_OK;
}

}  // namespace

Status open_tensor(via_archive *archive, int64_t number, via_file **out_file) {
    const ArchiveTensor *tensor = nullptr;
    VIA_TRY(require_tensor(archive, number, &tensor));
    if (!tensor->is_converted()) {
        return open_window(archive, *tensor, out_file);
    }
    UniqueFile window;
    via_convert_options options = VIA_CONVERT_OPTIONS_INIT;
    if (tensor->conversion != nullptr) {
        options = tensor->conversion->options;
    }
    options.byte_order = tensor->swaps ? kOtherByteOrder : VIA_BYTE_ORDER_NATIVE;
    VIA_TRY(open_window(archive, *tensor, window.out()));
    return name_tensor(*tensor->name, make_converted(window.get(), tensor->array_dtype(), options, out_file));
}

Status slice_tensor(via_archive *archive, int64_t number, int32_t axis, int64_t start, int64_t count) {
    const ArchiveTensor *tensor = nullptr;
    int32_t resolved = 0;
    VIA_TRY(require_tensor(archive, number, &tensor));
    VIA_TRY(name_tensor(*tensor->name, resolve_axis(axis, static_cast<int32_t>(tensor->shape.size()), &resolved)));
    const auto at = static_cast<size_t>(resolved);
    VIA_TRY(name_tensor(*tensor->name, check_slice(*tensor, at, start, count)));
    ArchiveTensor slice = *tensor;
    if (slice.starts.empty()) {
        slice.whole_shape = slice.shape;
        slice.whole_offset = slice.offset;
        slice.starts.resize(slice.shape.size());
    }
    slice.starts[at] += start;
    slice.shape[at] = count;
    VIA_TRY(find_rows(archive, &slice));
    archive->is_placed = false;
    archive->tensors[static_cast<size_t>(number)] = std::move(slice);
    return VIA_OK;
}

int64_t settle_places(via_archive *archive) {
    if (!archive->is_placed) {
        const std::lock_guard one_at_a_time(archive->placing);
        if (!archive->is_placed) {
            place_tensors(archive);
        }
    }
    return archive->nbytes;
}

Status select_tensors(via_archive *archive, int32_t count, const int64_t *numbers, via_archive **out_archive) {
    if (count < 0) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "count is %d; expected 0 or more", count);
    }
    if (count > 0 && numbers == nullptr) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "numbers is NULL; expected a pointer to %d", count);
    }
    UniqueArchive selection;
    VIA_TRY(make_object("a handle", selection.out()));
    selection.get()->options = archive->options;
    selection.get()->files = archive->files;
    selection.get()->metadata = archive->metadata;
    for (int32_t i = 0; i < count; ++i) {
        const ArchiveTensor *tensor = nullptr;
        VIA_TRY(require_tensor(archive, numbers[i], &tensor));
        if (!selection.get()->numbers.emplace(*tensor->name, i).second) {
            return fail(VIA_ERROR_INVALID_ARGUMENT, "numbers[%d] is %lld, tensor '%.80s', again; expected each once", i,
                        as_printed(numbers[i]), tensor->name->c_str());
        }
        selection.get()->tensors.push_back(*tensor);
    }
    place_tensors(selection.get());
    *out_archive = selection.release();
    return VIA_OK;
}

Status check_buffer(via_archive *archive, via_array *buffer) {
    const int64_t nbytes = settle_places(archive);
    if (buffer->dtype != VIA_UINT8) {
        return fail(VIA_ERROR_DTYPE, "the dtype of the buffer is %s; expected uint8", DtypeName(buffer->dtype).text);
    }
    const bool fits = buffer->ndim == 1 && buffer->size == nbytes && is_contiguous(buffer, VIA_ORDER_ROW_MAJOR);
    return fits ? VIA_OK
                : fail(VIA_ERROR_SHAPE,
                       "the buffer has %d axes and %lld elements; expected 1 axis of %lld adjacent bytes, those of the "
                       "archive",
                       buffer->ndim, as_printed(buffer->size), as_printed(nbytes));
}

Status view_tensor(via_archive *archive, int64_t number, via_array *buffer, via_array **out_array) {
    const ArchiveTensor *tensor = nullptr;
    VIA_TRY(require_tensor(archive, number, &tensor));
    VIA_TRY(check_buffer(archive, buffer));
    return name_tensor(*tensor->name,
                       make_view(buffer, static_cast<char *>(buffer->data) + tensor->place, tensor->array_dtype(),
                                 dense_layout(*tensor), buffer->flags, out_array));
}

Status stamp_of(OpenFile *open, FileStamp *out_stamp) {
    struct stat found{};
    if (fstat(open->descriptor(), &found) != 0) {
        return io_failed("reading the size of", open->path(), errno);
    }
    *out_stamp = {found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
    return VIA_OK;
}

Status check_unused(std::initializer_list<std::pair<const char *, int32_t>> options) {
    for (const auto &[name, value] : options) {
        if (value != 0) {
            return fail(VIA_ERROR_INVALID_ARGUMENT, "options.%s is %d; expected 0 for an archive", name, value);
        }
    }
    return VIA_OK;
}

Status name_part(const char *what, const std::string &name, Status status) {
    if (status == VIA_OK) {
        return VIA_OK;
    }
    char prefix[100];
    (void)std::snprintf(prefix, sizeof prefix, "%s '%.80s'", what, name.c_str());
    return name_path(prefix, status);
}

}  // namespace via
