// Archives of tensors: the named arrays of one or more files, and where each lies.
//
// How it works
//
// An archive lists the tensors of its files. Each has a place in a buffer: the memory that a read fills with all of
// them. Places follow the order of the bytes in the files, and each is a multiple of kAlignment. Tensors whose sizes
// are such multiples therefore lie in the buffer as they do in their file, and are read together. A selection is an
// archive of some tensors of another, with a buffer of its own.
//
// Tensors that are converted (tensor_conversion.hpp) take the bytes of their new dtype in the buffer. Large ones that
// become no narrower come last: a device converts them as they arrive.
#pragma once

#include <atomic>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/lock.hpp"
#include "core/diagnostics/handle_registry.hpp"
#include "file/file.hpp"
#include "file/window.hpp"

namespace via {

// What changes if somebody writes a file.
struct FileStamp {
    int64_t nbytes;
    int64_t seconds;
    int64_t nanoseconds;
    bool operator==(const FileStamp &) const = default;
};

struct ArchiveFile {
    std::shared_ptr<via_file> file;
    FileStamp stamp;  // when the header was read
};

struct TransferConversion;

// What a read makes of a tensor's elements.
struct TensorConversion {
    int32_t dtype;
    via_convert_options options;
};

// Why a tensor is listed, yet not read.
struct TensorRefusal {
    Status status;
    std::string text;
};

struct ArchiveTensor {
    int32_t array_dtype() const { return conversion != nullptr ? conversion->dtype : dtype; }
    bool is_converted() const { return elements != nullptr; }
    // Returns the bytes of its elements in a buffer. Converted elements are whole bytes.
    int64_t buffer_nbytes() const {
        return conversion != nullptr ? nbytes / (dtype_bits(dtype) / 8) * (dtype_bits(conversion->dtype) / 8) : nbytes;
    }

    // Borrowed by callers: stay where they are when the tensor is moved or replaced.
    std::shared_ptr<const std::string> name;
    std::shared_ptr<const std::string> type_name;  // of its format; see via_archive_type_name
    int32_t dtype = 0;                             // in the file
    std::vector<int64_t> shape;
    bool is_column_major = false;                        // in the file, and in a buffer
    int32_t file = 0;                                    // index among the archive's files
    int64_t offset = 0;                                  // of the first byte in the whole file
    int64_t nbytes = 0;                                  // in the file
    int64_t place = 0;                                   // in the buffer
    bool swaps = false;                                  // numbers of the file are in another byte order
    std::shared_ptr<const TensorConversion> conversion;  // to another dtype
    std::shared_ptr<const TransferConversion> elements;  // what is done for both; nullptr: nothing
    int64_t block_bytes = 1;                             // of quantised blocks, which fill the last axis
    std::shared_ptr<const TensorRefusal> refusal;        // nullptr: none; otherwise dtype, shape and bytes are unknown
    // Of a slice: the tensor that it is of, and its rows if they are not adjacent.
    std::vector<int64_t> whole_shape;
    std::vector<int64_t> starts;
    int64_t whole_offset = 0;
    std::shared_ptr<const FileExtents> rows;
};

// A text of the header, by name.
using ArchiveText = std::pair<std::string, std::string>;

}  // namespace via

struct via_archive {
    via_file_options options{};
    via::ReferenceCount references;
    std::vector<via::ArchiveFile> files;
    std::vector<via::ArchiveTensor> tensors;
    std::map<std::string, int64_t, std::less<>> numbers;  // of the tensors, by name
    std::vector<via::ArchiveText> metadata;
    std::vector<int64_t> by_place;  // numbers of the tensors in the order of their bytes
    int64_t nbytes = 0;             // of the buffer; see settle_places
    int64_t most_nbytes = 0;        // at least those of any buffer
    int64_t device_place = 0;       // of the first tensor that a device converts; nbytes if there is none
    std::atomic<bool> is_placed{true};
    via::InheritedMutex placing;

    static void operator delete(void *buffer) { via::delete_handle(buffer); }
};

namespace via {

// `options` is complete (see read_struct). Errors: VIA_ERROR_INVALID_ARGUMENT, VIA_ERROR_IO, VIA_ERROR_UNSUPPORTED,
// VIA_ERROR_FORMAT, VIA_ERROR_VERSION, VIA_ERROR_DTYPE, VIA_ERROR_SHAPE, VIA_ERROR_OVERFLOW.
VIA_NODISCARD Status open_archive(const char *path, const via_file_options &options, via_archive **out_archive);

// Adds the tensors of another path. On failure the archive is unchanged.
VIA_NODISCARD Status add_to_archive(via_archive *archive, const char *path);

void release_archive(via_archive *archive);
using UniqueArchive = UniqueHandle<via_archive, release_archive>;

VIA_NODISCARD Status find_tensor(via_archive *archive, const char *name, int64_t *out_number);

// Returns nullptr for a number out of range.
const ArchiveTensor *tensor_at(via_archive *archive, int64_t number);
// Does the same. Errors: VIA_ERROR_INDEX; the refusal of the tensor.
VIA_NODISCARD Status require_tensor(via_archive *archive, int64_t number, const ArchiveTensor **out_tensor);

// Returns the first refusal of a tensor.
VIA_NODISCARD Status require_all(via_archive *archive);

// Makes the window of a tensor in its file.
VIA_NODISCARD Status open_tensor(via_archive *archive, int64_t number, via_file **out_file);

// Makes an archive of some of the tensors, in the order given.
VIA_NODISCARD Status select_tensors(via_archive *archive, int32_t count, const int64_t *numbers,
                                    via_archive **out_archive);

// Reduces a tensor to `count` indices of an axis, from `start` on.
VIA_NODISCARD Status slice_tensor(via_archive *archive, int64_t number, int32_t axis, int64_t start, int64_t count);

// Places the tensors in the buffer unless they are as they were placed before, and returns the bytes of a buffer.
int64_t settle_places(via_archive *archive);

// Makes a view of a tensor in a buffer.
VIA_NODISCARD Status view_tensor(via_archive *archive, int64_t number, via_array *buffer, via_array **out_array);

// Refuses an array that is no buffer of the archive. Errors: VIA_ERROR_DTYPE, VIA_ERROR_SHAPE.
VIA_NODISCARD Status check_buffer(via_archive *archive, via_array *buffer);

VIA_NODISCARD Status stamp_of(OpenFile *open, FileStamp *out_stamp);

// Refuses options of files, given by name, that an archive has no use for. Errors: VIA_ERROR_INVALID_ARGUMENT.
VIA_NODISCARD Status check_unused(std::initializer_list<std::pair<const char *, int32_t>> options);

// Prefixes the text of a failure with "what 'name': ".
VIA_NODISCARD Status name_part(const char *what, const std::string &name, Status status);
VIA_NODISCARD inline Status name_tensor(const std::string &name, Status status) {
    return name_part("tensor", name, status);
}

}  // namespace via
