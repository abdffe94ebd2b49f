// Open files, their content and ranges, and arrays mapped from them.
#pragma once

#include <atomic>

#include "core/base/lock.hpp"
#include "core/diagnostics/handle_registry.hpp"
#include "file/npy.hpp"
#include "file/open_file.hpp"

namespace via {
struct FileConversion;
}

struct via_file {
    int32_t mode = VIA_MODE_READ;
    int32_t page_cache = VIA_PAGE_CACHE_AUTO;
    bool is_npy = false;
    bool as_bytes = false;  // transfers have any shape and element type
    bool durable = false;
    bool atomic_write = false;
    bool is_created = false;                // by via_file_create: its directory entry is new too
    via::NpyHeader header{};                // of a raw file, only column_major
    int64_t data_nbytes = 0;                // .npy, or created: of all elements
    std::atomic<int64_t> nbytes_known = 0;  // size when it was opened, created or last written
    char *path = nullptr;                   // as given, for texts
    char *target = nullptr;                 // the path to replace, or that of a durable file which was created
    bool is_unnamed = false;                // atomic_write: created, and not renamed to the target yet
    bool is_dirty = false;                  // is_unnamed, and a failed write may have left content
    via::InheritedMutex writing;            // atomic_write: one write at a time
    via::ReferenceCount references;
    via::OpenFile *open = nullptr;
    // Of a window, which uses no other field but header.column_major: its file, and the layout of its elements, with
    // offsets in the file as addresses (see window.hpp).
    via_file *whole = nullptr;
    via_array *layout = nullptr;
    const via::FileConversion *conversion = nullptr;  // owned; nullptr: elements stay as they are

    // Returns the dtype of arrays, of a window.
    int32_t array_dtype() const;
    via_file *root() { return whole != nullptr ? whole : this; }

    // Returns the open file, retained for the caller.
    via::OpenFile *hold_open();
    // Replaces the open file; consumes a reference.
    void set_open(via::OpenFile *other);
    // Returns whether a transfer of elements, as against bytes, swaps them.
    bool swaps() const { return header.swapped && !as_bytes; }
    bool may_write() const { return mode == VIA_MODE_READ_WRITE; }
    static void operator delete(void *block) { via::delete_handle(block); }
};

namespace via {

// An array in a file.
struct FileContent {
    int32_t dtype;
    int32_t ndim;
    const int64_t *shape;
    bool is_column_major = false;  // whatever the order of the file
};

// `options` is complete (see read_struct). Errors: VIA_ERROR_INVALID_ARGUMENT, VIA_ERROR_IO, VIA_ERROR_UNSUPPORTED,
// VIA_ERROR_OUT_OF_MEMORY; of a .npy header VIA_ERROR_FORMAT, _VERSION, _DTYPE, _SHAPE, _OVERFLOW.
VIA_NODISCARD Status open_file(const char *path, const via_file_options &options, via_file **out_file);

VIA_NODISCARD Status create_file(const char *path, const FileContent &content, const via_file_options &options,
                                 via_file **out_file);

void release_file(via_file *file);
using UniqueFile = UniqueHandle<via_file, release_file>;

// Refuses values that no file takes. Errors: VIA_ERROR_INVALID_ARGUMENT.
VIA_NODISCARD Status check_file_options(const via_file_options &options);

// Prefixes the text of a failure with the path: see name_path.
VIA_NODISCARD inline Status name_file(via_file *file, Status status) { return name_path(file->root()->path, status); }

VIA_NODISCARD Status describe_file(via_file *file, via_file_properties *out_properties);

// Refuses a file that converts. Errors: VIA_ERROR_UNSUPPORTED.
VIA_NODISCARD Status check_converts_nothing(via_file *file, const char *what);

struct FileRange {
    int64_t offset;  // in the whole file
    int64_t nbytes;
};

// Computes the range that begins byte_offset after the first element, and where it ends, whether the file has it or
// not. Errors: VIA_ERROR_INVALID_ARGUMENT, VIA_ERROR_OVERFLOW.
VIA_NODISCARD Status place_range(via_file *file, int64_t byte_offset, int64_t nbytes, FileRange *out_range,
                                 int64_t *out_end);

// Finds the range that begins byte_offset after the first element. Errors: VIA_ERROR_INVALID_ARGUMENT if the file does
// not have these bytes, VIA_ERROR_IO if it had them when it was opened.
VIA_NODISCARD Status find_range(via_file *file, OpenFile *open, int64_t byte_offset, int64_t nbytes,
                                FileRange *out_range);

// Does the same for bytes to be written; a raw file may grow.
VIA_NODISCARD Status find_range_to_write(via_file *file, int64_t byte_offset, int64_t nbytes, FileRange *out_range);

// Resolves the content at an offset: dtype 0 and ndim 0 mean that of the header, at offset 0. Errors:
// VIA_ERROR_INVALID_ARGUMENT.
VIA_NODISCARD Status find_content(via_file *file, int64_t byte_offset, const FileContent &given,
                                  FileContent *out_content);

// Maps the content at byte_offset; dtype 0 and ndim 0 mean that of the header, or the window.
VIA_NODISCARD Status map_file(via_file *file, int64_t byte_offset, const FileContent &content, via_array **out_array);

}  // namespace via
