// Which files hold the tensors of a new archive, and where.
#pragma once

#include <string>
#include <vector>

#include "archive/archive.hpp"

namespace via {

// What via_archive_save is given. Holds nothing.
struct SaveRequest {
    const char *path;
    int32_t count;
    via_array *const *arrays;
    const char *const *names;
    const char *metadata;  // JSON; nullptr: none
    int64_t shard_bytes;   // 0: one file
    via_file_options options;
};

// A file to be written: a text, then the tensors.
struct PlannedFile {
    std::string path;
    std::string text;
    std::vector<int32_t> arrays;   // numbers of the arrays in the order of the file
    std::vector<int64_t> offsets;  // of each in the whole file, and of the end
};

// Lays the tensors out, in files of at most shard_bytes unless one tensor has more. The last file is the index, if
// there are several. A file has tensors of wide elements first, so that each is aligned. Errors:
// VIA_ERROR_INVALID_ARGUMENT, VIA_ERROR_DTYPE, VIA_ERROR_UNSUPPORTED, VIA_ERROR_FORMAT; a text names the tensor.
VIA_NODISCARD Status plan_save(const SaveRequest &request, std::vector<PlannedFile> *out_files);

}  // namespace via
