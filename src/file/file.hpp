// Files: what is in one, and arrays mapped from it.
#pragma once

#include <atomic>

#include "core/diagnostics/handle_registry.hpp"
#include "file/forked.hpp"
#include "file/npy.hpp"
#include "file/open_file.hpp"

struct via_file {
    int32_t mode = VIA_MODE_READ;
    int32_t page_cache = VIA_PAGE_CACHE_AUTO;
    bool is_npy = false;
    bool as_bytes = false;  // transfers are of any shape and type
    bool durable = false;
    bool atomic_write = false;
    bool is_made = false;                   // by via_file_create: its name is as new as what is in it
    via::NpyHeader header{};                // of a raw file, only in which order its elements are
    int64_t data_nbytes = 0;                // .npy, or made: of all elements
    std::atomic<int64_t> nbytes_known = 0;  // when it was opened or made, or last written
    char *path = nullptr;                   // as it was given, for texts
    char *target = nullptr;                 // atomic: what the file is called once it is whole
    bool is_unnamed = false;                // atomic: made, and not called so yet
    bool is_spoilt = false;                 // atomic: the same, and a write may have left something in it
    via::InheritedMutex writing;            // atomic: one write at a time
    via::ReferenceCount references;
    via::OpenFile *open = nullptr;
    // Of a window, which has nothing else of its own: the file, and an array that has its elements where the file has
    // them, an offset standing for an address (see window.hpp).
    via_file *whole = nullptr;
    via_array *layout = nullptr;

    via_file *root() { return whole != nullptr ? whole : this; }

    // Retained for the caller.
    via::OpenFile *hold_open();
    // Takes over what replaces it.
    void set_open(via::OpenFile *other);
    bool may_write() const { return mode == VIA_MODE_READ_WRITE; }
    static void operator delete(void *block) { via::delete_handle(block); }
};

namespace via {

// What a file holds, or part of it.
struct FileContent {
    int32_t dtype;
    int32_t ndim;
    const int64_t *shape;
};

void release_file(via_file *file);

// Adds the path to the text of a failure: see name_path.
VIA_NODISCARD inline Status name_file(via_file *file, Status status) { return name_path(file->root()->path, status); }

VIA_NODISCARD Status describe_file(via_file *file, via_file_properties *out_properties);

struct FileRange {
    int64_t offset;  // in the whole file
    int64_t nbytes;
};

// Where bytes are that begin byte_offset behind the first element. Errors: VIA_ERROR_INVALID_ARGUMENT if the file does
// not have them, VIA_ERROR_IO if it did when it was opened.
VIA_NODISCARD Status find_range(via_file *file, OpenFile *open, int64_t byte_offset, int64_t nbytes,
                                FileRange *out_range);

// The same for bytes to be written, by which a raw file may grow.
VIA_NODISCARD Status find_range_to_write(via_file *file, int64_t byte_offset, int64_t nbytes, FileRange *out_range);

// What is meant by a content at an offset: dtype 0 and ndim 0 are what the header says, which lies at 0. Errors:
// VIA_ERROR_INVALID_ARGUMENT.
VIA_NODISCARD Status find_content(via_file *file, int64_t byte_offset, const FileContent &given,
                                  FileContent *out_content);

// Distances between its elements, in elements, the first index moving fastest. check_shape has multiplied the same
// numbers, but for the zeros.
struct ColumnMajor {
    explicit ColumnMajor(const FileContent &content);
    int64_t strides[VIA_MAX_NDIM];
};

}  // namespace via
