#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "core/base/checked.hpp"
#include "file/atomic_replace.hpp"
#include "file/file.hpp"
#include "file/open_or_create.hpp"
#include "file/read_write.hpp"

namespace via {
namespace {

Status check_options(const via_file_options &options) {
    const struct {
        const char *name;
        int32_t value;
        int32_t most;
    } fields[] = {{"mode", options.mode, VIA_MODE_COPY_ON_WRITE},
                  {"file_format", options.file_format, VIA_FORMAT_NPY},
                  {"column_major", options.column_major, 1},
                  {"durable", options.durable, 1},
                  {"atomic_write", options.atomic_write, 1},
                  {"page_cache", options.page_cache, VIA_PAGE_CACHE_AVOID},
                  {"as_bytes", options.as_bytes, 1}};
    for (const auto &field : fields) {
        if (field.value < 0 || field.value > field.most) {
            return fail(VIA_ERROR_INVALID_ARGUMENT, "options.%s is %d; expected 0 to %d", field.name, field.value,
                        field.most);
        }
    }
    return VIA_OK;
}

// Reads and parses the text of a .npy header.
Status read_npy_text(OpenFile *open, const NpyPreamble &preamble, NpyHeader *out_header) {
    const std::unique_ptr<char[]> text(new (std::nothrow) char[static_cast<size_t>(preamble.text_bytes) + 1]);
    if (text == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a .npy header of %lld bytes",
                    as_printed(preamble.text_bytes));
    }
    int64_t length = 0;
    VIA_TRY(read_up_to(open, text.get(), preamble.text_offset, preamble.text_bytes, &length));
    if (length < preamble.text_bytes) {
        return fail(VIA_ERROR_FORMAT, "%.400s ends after %lld bytes of its .npy header; expected %lld bytes",
                    open->path(), as_printed(length), as_printed(preamble.text_bytes));
    }
    VIA_TRY(parse_npy_text({text.get(), static_cast<size_t>(length)}, preamble.is_utf8, out_header));
    out_header->data_offset = preamble.text_offset + preamble.text_bytes;
    return VIA_OK;
}

int64_t nbytes_of(const NpyHeader &header) {
    int64_t size = dtype_bits(header.dtype) / 8;
    std::for_each_n(header.shape, header.ndim, [&](int64_t extent) { size *= extent; });
    return size;
}

// Cannot overflow: check_shape has multiplied the same numbers.
Status check_holds_all(via_file *file) {
    int64_t end = 0;
    const int64_t nbytes = file->data_nbytes = nbytes_of(file->header);
    if (add(file->header.data_offset, nbytes, &end) && end <= file->nbytes_known) {
        return VIA_OK;
    }
    return fail(VIA_ERROR_FORMAT, "%.400s is %lld bytes; expected a header of %lld and elements of %lld bytes",
                file->open->path(), as_printed(file->nbytes_known.load()), as_printed(file->header.data_offset),
                as_printed(nbytes));
}

Status read_header(via_file *file, int32_t file_format) {
    char start[kNpyMostPreamble];
    int64_t length = 0;
    int64_t present = 0;
    VIA_TRY(file->open->size(&present));
    file->nbytes_known = present;
    if (file_format == VIA_FORMAT_RAW) {
        return VIA_OK;
    }
    VIA_TRY(read_up_to(file->open, start, 0, kNpyMostPreamble, &length));
    const std::string_view found(start, static_cast<size_t>(length));
    if (file_format == VIA_FORMAT_AUTO && !is_npy(found)) {
        return VIA_OK;
    }
    NpyPreamble preamble{};
    VIA_TRY(parse_npy_preamble(found, &preamble));
    VIA_TRY(read_npy_text(file->open, preamble, &file->header));
    file->is_npy = true;
    return check_holds_all(file);
}

struct FileRelease {
    void operator()(via_file *file) const { release_file(file); }
};
using UniqueFile = std::unique_ptr<via_file, FileRelease>;

Status make_handle(const char *path, const via_file_options &options, UniqueFile *out_file) {
    VIA_TRY(check_options(options));
    out_file->reset(new (std::nothrow) via_file);
    if (*out_file == nullptr || ((*out_file)->path = strdup(path)) == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a handle of %zu bytes", sizeof(via_file));
    }
    via_file &file = **out_file;
    file.mode = options.mode;
    file.page_cache = options.page_cache;
    file.as_bytes = options.as_bytes != 0;
    file.durable = options.durable != 0;
    file.atomic_write = options.atomic_write != 0;
    file.header.column_major = options.column_major != 0;
    return VIA_OK;
}

bool ends_with_npy(std::string_view path) { return path.ends_with(".npy"); }

// Plans the header of the file to be created, and writes its text to `out_text`.
Status plan_content(const char *path, const FileContent &content, int32_t file_format, via_file *file,
                    char (&out_text)[kNpyMostWritten]) {
    int64_t size = 0;
    VIA_TRY(check_shape(content.dtype, content.ndim, content.shape, 0, &size));
    file->is_npy = file_format == VIA_FORMAT_NPY || (file_format == VIA_FORMAT_AUTO && ends_with_npy(path));
    const int64_t nbytes = dense_bytes(size, dtype_bits(content.dtype));
    if (file->is_npy) {
        file->header.dtype = content.dtype;
        file->header.ndim = content.ndim;
        std::copy_n(content.shape, content.ndim, file->header.shape);
        VIA_TRY(write_npy(&file->header, out_text));
    }
    int64_t end = 0;
    if (!add(file->header.data_offset, nbytes, &end)) {
        return fail(VIA_ERROR_OVERFLOW, "the size of the file is over 2^63 - 1 bytes; expected a smaller shape");
    }
    file->data_nbytes = nbytes;
    file->nbytes_known = end;
    return VIA_OK;
}

// Does not truncate an empty file: ext4 treats a truncated file as one that replaces another, and writes it out when it
// is closed.
Status make_zeros(OpenFile *open, int64_t nbytes) {
    int64_t present = 0;
    VIA_TRY(open->size(&present));
    VIA_TRY(check_size_limit(open, nbytes));
    VIA_TRY(present > 0 ? resize(open, 0) : VIA_OK);
    return resize(open, nbytes);
}

Status write_content(via_file *file, const char *text) {
    VIA_TRY(make_zeros(file->open, file->nbytes_known));
    return write_all(file->open, text, 0, file->header.data_offset);
}

// Opens or creates the file. *out_new: it is to be removed if the rest fails.
Status make_open(const char *path, via_file *file, bool *out_new) {
    constexpr mode_t kPermissions = 0666;
    if (file->atomic_write) {
        VIA_TRY(resolve_target(path, &file->target));
        VIA_TRY(create_temporary(file->target, &file->open));
        file->is_unnamed = true;  // its release removes the file
        return VIA_OK;
    }
    const Status status = OpenFile::create(path, kPermissions, &file->open);
    *out_new = status == VIA_OK;
    const bool is_there = status != VIA_OK && (last_error_code() == EEXIST || last_error_code() == EISDIR);
    return is_there ? OpenFile::open(path, O_RDWR, &file->open) : status;
}

}  // namespace

Status open_file(const char *path, const via_file_options &options, via_file **out_file) {
    UniqueFile file;
    VIA_TRY(make_handle(path, options, &file));
    VIA_TRY(OpenFile::open(path, file->may_write() ? O_RDWR : O_RDONLY, &file->open));
    VIA_TRY(file->atomic_write ? resolve_target(path, &file->target) : VIA_OK);
    VIA_TRY(read_header(file.get(), options.file_format));
    *out_file = file.release();
    return VIA_OK;
}

Status create_file(const char *path, const FileContent &content, const via_file_options &options, via_file **out_file) {
    UniqueFile file;
    VIA_TRY(make_handle(path, options, &file));
    file->mode = VIA_MODE_READ_WRITE;
    file->is_created = true;
    char text[kNpyMostWritten];
    VIA_TRY(plan_content(path, content, options.file_format, file.get(), text));
    bool is_new = false;
    VIA_TRY(make_open(path, file.get(), &is_new));
    if (const Status status = write_content(file.get(), text); status != VIA_OK) {
        if (is_new) {
            (void)unlink(path);
        }
        return status;
    }
    *out_file = file.release();
    return VIA_OK;
}

}  // namespace via
