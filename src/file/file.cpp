#include "file/file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "core/base/checked.hpp"
#include "core/base/lock.hpp"
#include "file/window.hpp"

// Guards `open` of all files.
static via::ForkSafeMutex opens;

via::OpenFile *via_file::hold_open() {
    const std::lock_guard lock(opens);
    open->retain();
    return open;
}

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

Status cut_short(via_file *file, OpenFile *open, int64_t nbytes) {
    return fail_with_code(VIA_ERROR_IO, ENODATA,
                          "%.400s has %lld bytes, and had %lld before (ENODATA); expected a file that is not cut short",
                          open->path(), static_cast<long long>(nbytes),
                          static_cast<long long>(file->nbytes_known.load()));
}

Status io(OpenFile *open, const FileRange &range, int64_t nbytes) {
    return fail(VIA_ERROR_INVALID_ARGUMENT,
                "byte_offset: bytes %lld to %lld of %.400s, which has %lld; expected bytes "
                "that it has",
                static_cast<long long>(range.offset), static_cast<long long>(range.offset + range.nbytes), open->path(),
                static_cast<long long>(nbytes));
}

// The range in the whole file, whether that is there or not.
Status place_range(via_file *file, int64_t byte_offset, int64_t nbytes, FileRange *out_range, int64_t *out_end) {
    if (byte_offset < 0) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "byte_offset is %lld; expected 0 or more",
                    static_cast<long long>(byte_offset));
    }
    out_range->nbytes = nbytes;
    return add(file->header.data_offset, byte_offset, &out_range->offset) && add(out_range->offset, nbytes, out_end)
               ? VIA_OK
               : fail(VIA_ERROR_OVERFLOW, "byte_offset is %lld; expected a sum below 2^63",
                      static_cast<long long>(byte_offset));
}

}  // namespace

void release_file(via_file *file) {
    if (file->references.release()) {
        if (file->whole != nullptr) {
            release_array(file->layout);
            release_file(file->whole);
        }
        if (file->is_unnamed) {
            file->open->remove_part();
        }
        if (file->open != nullptr) {
            file->open->release();
        }
        std::free(file->path);
        std::free(file->target);
        delete file;
    }
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
    out_properties->byte_offset = file->header.data_offset;
    std::copy_n(file->header.shape, file->header.ndim, out_properties->shape);
    return VIA_OK;
}

Status find_content(via_file *file, int64_t byte_offset, const FileContent &given, FileContent *out_content) {
    const bool as_header_says = given.dtype == 0 && given.ndim == 0;
    if (as_header_says && !file->is_npy) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "dtype is 0; expected an element type, which a raw file does not say");
    }
    if (as_header_says && byte_offset != 0) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "byte_offset is %lld; expected 0 for the shape of the header",
                    as_printed(byte_offset));
    }
    *out_content = as_header_says ? FileContent{file->header.dtype, file->header.ndim, file->header.shape} : given;
    return VIA_OK;
}

ColumnMajor::ColumnMajor(const FileContent &content) {
    int64_t stride = 1;
    for (int32_t i = 0; i < content.ndim; ++i) {
        strides[i] = stride;
        stride *= content.shape[i] > 0 ? content.shape[i] : 1;
    }
}

Status find_range(via_file *file, OpenFile *open, int64_t byte_offset, int64_t nbytes, FileRange *out_range) {
    int64_t end = 0;
    int64_t present = 0;
    VIA_TRY(place_range(file, byte_offset, nbytes, out_range, &end));
    VIA_TRY(open->size(&present));
    if (end <= present) [[likely]] {
        return VIA_OK;
    }
    return end <= file->nbytes_known ? cut_short(file, open, present) : io(open, *out_range, present);
}

Status find_range_to_write(via_file *file, int64_t byte_offset, int64_t nbytes, FileRange *out_range) {
    int64_t end = 0;
    VIA_TRY(place_range(file, byte_offset, nbytes, out_range, &end));
    const int64_t elements_end = file->header.data_offset + file->data_nbytes;
    return !file->is_npy || end <= elements_end
               ? VIA_OK
               : fail(VIA_ERROR_INVALID_ARGUMENT,
                      "byte_offset: bytes up to %lld of a .npy file whose elements end at %lld; expected one that need "
                      "not grow",
                      static_cast<long long>(end), static_cast<long long>(elements_end));
}

}  // namespace via
