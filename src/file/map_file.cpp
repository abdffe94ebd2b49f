// Arrays on the pages of a file.
#include <sys/mman.h>

#include <cerrno>

#include "core/system/pages.hpp"
#include "file/map_file.hpp"
#include "file/read_write.hpp"
#include "file/window.hpp"

namespace via {
namespace {

void unmap(const Deleter &deleter) {
    (void)munmap(deleter.address, static_cast<size_t>(deleter.nbytes));
    static_cast<MapCount *>(deleter.context)->remove();
}

// What a write through the array does to the file.
struct Sharing {
    int protection;
    int flags;
    bool read_only;
};

// A file that is only ever replaced whole is not written byte by byte.
Sharing sharing_of(via_file *file) {
    if (file->mode == VIA_MODE_COPY_ON_WRITE) {
        return {PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, false};
    }
    const bool writable = file->may_write() && !file->atomic_write;
    return {writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, !writable};
}

// Pages around the range; the address is that of its first byte. A file that was made has no blocks yet: a disk that
// lacks them would end the process (SIGBUS) when the array is written.
Status map_range(via_file *file, OpenFile *open, const FileRange &range, Deleter *out_deleter, void **out_address) {
    const int64_t before = range.offset % page_bytes();
    const auto length = static_cast<size_t>(before + range.nbytes);
    const Sharing sharing = sharing_of(file);
    VIA_TRY(file->is_made && !sharing.read_only ? reserve_blocks(open, range.offset, range.nbytes) : VIA_OK);
    void *pages = mmap(nullptr, length, sharing.protection, sharing.flags, open->descriptor(), range.offset - before);
    if (pages == MAP_FAILED) {
        return io_failed("mapping", open->path(), errno);
    }
    open->maps()->add();
    *out_deleter = {unmap, nullptr, open->maps(), pages, static_cast<int64_t>(length)};
    *out_address = static_cast<char *>(pages) + before;
    return VIA_OK;
}

// The first element is `first` bytes behind the first byte of the range.
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

Status map_window(via_file *window, int64_t byte_offset, const FileContent &given, via_array **out_array) {
    VIA_TRY(check_whole_window(byte_offset, given));
    via_file *file = window->whole;
    via_array *layout = window->layout;
    const UniqueOpenFile open(file->hold_open());
    FileRange range{};
    VIA_TRY(find_range(file, open.get(), first_byte(layout), byte_span(layout).high - byte_span(layout).low, &range));
    const ArraySpec spec{.dtype = layout->dtype,
                         .ndim = layout->ndim,
                         .shape = layout->shape(),
                         .strides = layout->byte_strides(),
                         .unit = StrideUnit::Bytes,
                         .flags = sharing_of(file).read_only ? VIA_ARRAY_READ_ONLY : 0};
    return make_mapped(file, open.get(), spec, range, -byte_span(layout).low, out_array);
}

}  // namespace

Status map_file(via_file *file, int64_t byte_offset, const FileContent &given, via_array **out_array) {
    if (file->whole != nullptr) {
        return map_window(file, byte_offset, given, out_array);
    }
    FileContent content{};
    VIA_TRY(find_content(file, byte_offset, given, &content));
    int64_t size = 0;
    VIA_TRY(check_shape(content.dtype, content.ndim, content.shape, 0, &size));
    const UniqueOpenFile open(file->hold_open());
    FileRange range{};
    VIA_TRY(find_range(file, open.get(), byte_offset, dense_bytes(size, dtype_bits(content.dtype)), &range));
    const ColumnMajor order(content);
    const ArraySpec spec{.dtype = content.dtype,
                         .ndim = content.ndim,
                         .shape = content.shape,
                         .strides = order.strides,
                         .unit = file->header.column_major ? StrideUnit::Elements : StrideUnit::RowMajor,
                         .flags = sharing_of(file).read_only ? VIA_ARRAY_READ_ONLY : 0};
    return make_mapped(file, open.get(), spec, range, 0, out_array);
}

}  // namespace via
