#include "file/file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "core/base/checked.hpp"
#include "core/base/lock.hpp"
#include "core/system/pages.hpp"
#include "file/atomic_replace.hpp"
#include "file/file_conversion.hpp"
#include "file/read_write.hpp"
#include "file/window.hpp"

// Guards via_file::open of all files.
static via::ForkSafeMutex opens;

via::OpenFile *via_file::hold_open() {
    const std::lock_guard lock(opens);
    open->retain();
    return open;
}

int32_t via_file::array_dtype() const { return conversion != nullptr ? conversion->dtype : layout->dtype; }

void via_file::set_open(via::OpenFile *other) {
    via::OpenFile *before = nullptr;
    {
        const std::lock_guard lock(opens);
        before = std::exchange(open, other);
    }
    before->release();
}

namespace via {
namespace {

Status truncated(via_file *file, OpenFile *open, int64_t nbytes) {
    return fail_with_code(VIA_ERROR_IO, ENODATA,
                          "%.400s has %lld bytes: ENODATA (No data available); expected %lld, which it had before",
                          open->path(), as_printed(nbytes), as_printed(file->nbytes_known.load()));
}

Status beyond_end(OpenFile *open, const FileRange &range, int64_t nbytes) {
    return fail(VIA_ERROR_INVALID_ARGUMENT,
                "byte_offset is that of bytes %lld to %lld of %.400s; expected bytes within its %lld",
                as_printed(range.offset), as_printed(range.offset + range.nbytes), open->path(), as_printed(nbytes));
}

void unmap(const Deleter &deleter) {
    (void)munmap(deleter.address, static_cast<size_t>(deleter.nbytes));
    static_cast<MapCount *>(deleter.context)->remove();
}

// Protection and flags of a mapping.
struct Sharing {
    int protection;
    int flags;
    bool read_only;
};

// Maps a file with atomic_write read-only, since it is only replaced as a whole.
Sharing sharing_of(via_file *file) {
    if (file->mode == VIA_MODE_COPY_ON_WRITE) {
        return {PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, false};
    }
    const bool writable = file->may_write() && !file->atomic_write;
    return {writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, !writable};
}

// Maps the pages around the range, and stores the address of its first byte. Reserves blocks for a created file, which
// has none yet: writing the array on a full disk would kill the process (SIGBUS).
Status map_range(via_file *file, OpenFile *open, const FileRange &range, Deleter *out_deleter, void **out_address) {
    const int64_t before = range.offset % page_bytes();
    const auto length = static_cast<size_t>(before + range.nbytes);
    const Sharing sharing = sharing_of(file);
    VIA_TRY(file->is_created && !sharing.read_only ? reserve_blocks(open, range.offset, range.nbytes) : VIA_OK);
    void *pages = mmap(nullptr, length, sharing.protection, sharing.flags, open->descriptor(), range.offset - before);
    if (pages == MAP_FAILED) {
        return io_failed("mapping", open->path(), errno);
    }
    open->maps()->add();
    *out_deleter = {unmap, nullptr, open->maps(), pages, static_cast<int64_t>(length)};
    *out_address = static_cast<char *>(pages) + before;
    return VIA_OK;
}

// The first element is `first` bytes after the first byte of the range.
Status make_mapped(via_file *file, OpenFile *open, const ArraySpec &given, const FileRange &range, int64_t first,
                   via_array **out_array) {
    ArraySpec spec = given;
    Deleter deleter{};
    if (range.nbytes > 0) {
        VIA_TRY(map_range(file, open, range, &deleter, &spec.data));
        spec.data = static_cast<char *>(spec.data) + first;
    }
    const Status status = make_array(spec, deleter, out_array);
    if (status != VIA_OK && deleter.run != nullptr) {
        deleter.run(deleter);
    }
    return status;
}

}  // namespace

void release_file(via_file *file) {
    if (file->references.release()) {
        if (file->whole != nullptr) {
            delete file->conversion;
            release_array(file->layout);
            release_file(file->whole);
        }
        if (file->is_unnamed) {
            file->open->remove_temporary();
        }
        if (file->open != nullptr) {
            file->open->release();
        }
        std::free(file->path);
        std::free(file->target);
        delete file;
    }
}

Status check_converts_nothing(via_file *file, const char *what) {
    return file->conversion == nullptr
               ? VIA_OK
               : fail(VIA_ERROR_UNSUPPORTED, "the file converts %s to %s%s; expected one that does not for %s",
                      DtypeName(file->layout->dtype).text, DtypeName(file->conversion->dtype).text,
                      file->conversion->dtype == file->layout->dtype && file->conversion->swaps
                          ? " of this machine's byte order"
                          : "",
                      what);
}

Status describe_file(via_file *file, via_file_properties *out_properties) {
    if (file->whole != nullptr) {
        return describe_window(file, out_properties);
    }
    const UniqueOpenFile open(file->hold_open());
    VIA_TRY(open.get()->size(&out_properties->nbytes));
    out_properties->file_format = file->is_npy ? VIA_FORMAT_NPY : VIA_FORMAT_RAW;
    out_properties->dtype = file->header.dtype;
    out_properties->ndim = file->header.ndim;
    out_properties->column_major = file->header.column_major ? 1 : 0;
    out_properties->byte_order = file->header.swapped ? kOtherByteOrder : VIA_BYTE_ORDER_NATIVE;
    out_properties->byte_offset = file->header.data_offset;
    std::copy_n(file->header.shape, file->header.ndim, out_properties->shape);
    return VIA_OK;
}

Status find_content(via_file *file, int64_t byte_offset, const FileContent &given, FileContent *out_content) {
    const bool as_header_says = given.dtype == 0 && given.ndim == 0;
    if (as_header_says && !file->is_npy) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "dtype is 0; expected an element type, since a raw file has no header");
    }
    if (as_header_says && byte_offset != 0) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "byte_offset is %lld; expected 0 for the shape of the header",
                    as_printed(byte_offset));
    }
    *out_content = as_header_says ? FileContent{file->header.dtype, file->header.ndim, file->header.shape} : given;
    return VIA_OK;
}

Status place_range(via_file *file, int64_t byte_offset, int64_t nbytes, FileRange *out_range, int64_t *out_end) {
    if (byte_offset < 0) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "byte_offset is %lld; expected 0 or more", as_printed(byte_offset));
    }
    out_range->nbytes = nbytes;
    return add(file->header.data_offset, byte_offset, &out_range->offset) && add(out_range->offset, nbytes, out_end)
               ? VIA_OK
               : fail(VIA_ERROR_OVERFLOW, "byte_offset is %lld; expected a sum below 2^63", as_printed(byte_offset));
}

Status find_range(via_file *file, OpenFile *open, int64_t byte_offset, int64_t nbytes, FileRange *out_range) {
    int64_t end = 0;
    int64_t present = 0;
    VIA_TRY(place_range(file, byte_offset, nbytes, out_range, &end));
    VIA_TRY(open->size(&present));
    if (end <= present) [[likely]] {
        return VIA_OK;
    }
    return end <= file->nbytes_known ? truncated(file, open, present) : beyond_end(open, *out_range, present);
}

Status find_range_to_write(via_file *file, int64_t byte_offset, int64_t nbytes, FileRange *out_range) {
    int64_t end = 0;
    VIA_TRY(place_range(file, byte_offset, nbytes, out_range, &end));
    const int64_t elements_end = file->header.data_offset + file->data_nbytes;
    return !file->is_npy || end <= elements_end
               ? VIA_OK
               : fail(VIA_ERROR_INVALID_ARGUMENT,
                      "byte_offset is that of bytes up to %lld; expected at most %lld, the end of the .npy file",
                      as_printed(end), as_printed(elements_end));
}

Status map_file(via_file *file, int64_t byte_offset, const FileContent &given, via_array **out_array) {
    UniqueArray layout;
    via_file *whole = file->root();
    VIA_TRY(find_layout(file, byte_offset, given, layout.out()));
    VIA_TRY(check_converts_nothing(file, "a mapping"));
    const bool is_swapped = file == whole ? given.dtype == 0 && file->header.swapped : whole->swaps();
    if (is_swapped) {
        return fail(VIA_ERROR_DTYPE,
                    "dtype is 0 for %s in another byte order; expected a read, which swaps it, or an element type for "
                    "the bytes as they are",
                    DtypeName(whole->header.dtype).text);
    }
    const UniqueOpenFile open(whole->hold_open());
    const ByteSpan span = byte_span(layout.get());
    FileRange range{};
    VIA_TRY(find_range(whole, open.get(), first_byte(layout.get()), span.high - span.low, &range));
    const ArraySpec spec{.dtype = layout.get()->dtype,
                         .ndim = layout.get()->ndim,
                         .shape = layout.get()->shape(),
                         .strides = layout.get()->steps(),
                         .unit = layout.get()->is_packed() ? StrideUnit::Elements : StrideUnit::Bytes,
                         .flags = sharing_of(whole).read_only ? VIA_ARRAY_READ_ONLY : 0};
    return make_mapped(whole, open.get(), spec, range, -span.low, out_array);
}

Status check_file_options(const via_file_options &options) {
    const struct {
        const char *name;
        int32_t value;
        int32_t most;
        const char *expected;
    } fields[] = {{"mode", options.mode, VIA_MODE_COPY_ON_WRITE, "a VIA_MODE_... constant"},
                  {"file_format", options.file_format, VIA_FORMAT_NPY, "a VIA_FORMAT_... constant"},
                  {"column_major", options.column_major, 1, "0 or 1"},
                  {"durable", options.durable, 1, "0 or 1"},
                  {"atomic_write", options.atomic_write, 1, "0 or 1"},
                  {"page_cache", options.page_cache, VIA_PAGE_CACHE_AVOID, "a VIA_PAGE_CACHE_... constant"},
                  {"as_bytes", options.as_bytes, 1, "0 or 1"}};
    for (const auto &field : fields) {
        if (field.value < 0 || field.value > field.most) {
            return fail(VIA_ERROR_INVALID_ARGUMENT, "options.%s is %d; expected %s", field.name, field.value,
                        field.expected);
        }
    }
    return VIA_OK;
}

namespace {

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
    char start[kNpyMagicBytes];
    int64_t length = 0;
    int64_t present = 0;
    VIA_TRY(file->open->size(&present));
    file->nbytes_known = present;
    if (file_format == VIA_FORMAT_RAW) {
        return VIA_OK;
    }
    VIA_TRY(read_up_to(file->open, start, 0, kNpyMagicBytes, &length));
    if (file_format == VIA_FORMAT_AUTO && !is_npy({start, static_cast<size_t>(length)})) {
        return VIA_OK;
    }
    VIA_TRY(read_npy(file->open, 0, present, &file->header));
    file->is_npy = true;
    return check_holds_all(file);
}

Status make_handle(const char *path, const via_file_options &options, UniqueFile *out_file) {
    VIA_TRY(check_file_options(options));
    out_file->reset(new (std::nothrow) via_file);
    char *kept = out_file->get() != nullptr ? strdup(path) : nullptr;
    if (kept == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a handle of %zu bytes", sizeof(via_file));
    }
    via_file &file = *out_file->get();
    file.path = kept;
    file.mode = options.mode;
    file.page_cache = options.page_cache;
    file.as_bytes = options.as_bytes != 0;
    file.durable = options.durable != 0;
    file.atomic_write = options.atomic_write != 0;
    file.header.column_major = options.column_major != 0;
    return VIA_OK;
}

// Plans the header of the file to be created, and writes its text to `out_text`.
Status plan_content(const char *path, const FileContent &content, int32_t file_format, via_file *file,
                    char (&out_text)[kNpyMostWritten]) {
    int64_t size = 0;
    VIA_TRY(check_shape(content.dtype, content.ndim, content.shape, 0, &size));
    file->is_npy =
        file_format == VIA_FORMAT_NPY || (file_format == VIA_FORMAT_AUTO && std::string_view(path).ends_with(".npy"));
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

// Opens or creates the file. *out_new: it is to be removed if the rest fails. Tries again if the file was there and
// then was not: another program removed it, or the path is a link that leads nowhere.
Status make_open(const char *path, via_file *file, bool *out_new) {
    constexpr mode_t kPermissions = 0666;
    constexpr int32_t kTries = 10;
    VIA_TRY(file->atomic_write || file->durable ? resolve_target(path, &file->target) : VIA_OK);
    if (file->atomic_write) {
        VIA_TRY(create_temporary(file->target, &file->open));
        file->is_unnamed = true;  // its release removes the file
        return VIA_OK;
    }
    Status status = VIA_OK;
    for (int32_t i = 0; i < kTries; ++i) {
        status = OpenFile::create(path, kPermissions, &file->open);
        *out_new = status == VIA_OK;
        if (*out_new || (last_error_code() != EEXIST && last_error_code() != EISDIR)) {
            return status;
        }
        status = OpenFile::open(path, O_RDWR, &file->open);
        if (status == VIA_OK || last_error_code() != ENOENT) {
            return status;
        }
    }
    return status;
}

}  // namespace

Status open_file(const char *path, const via_file_options &options, via_file **out_file) {
    UniqueFile file;
    VIA_TRY(make_handle(path, options, &file));
    VIA_TRY(OpenFile::open(path, file.get()->may_write() ? O_RDWR : O_RDONLY, &file.get()->open));
    VIA_TRY(file.get()->atomic_write ? resolve_target(path, &file.get()->target) : VIA_OK);
    VIA_TRY(read_header(file.get(), options.file_format));
    *out_file = file.release();
    return VIA_OK;
}

Status create_file(const char *path, const FileContent &content, const via_file_options &options, via_file **out_file) {
    UniqueFile file;
    VIA_TRY(make_handle(path, options, &file));
    file.get()->mode = VIA_MODE_READ_WRITE;
    file.get()->is_created = true;
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
