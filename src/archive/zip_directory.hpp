// The entries of a ZIP file, with ZIP64's sizes, checked strictly.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "file/open_file.hpp"

namespace via {

struct ZipEntry {
    std::string name;  // UTF-8 without NUL
    int32_t method;    // 0: stored
    bool is_encrypted;
    int64_t begin;   // of its header in the file
    int64_t offset;  // of its data
    int64_t nbytes;  // of its data, stored
};

bool is_zip(std::string_view start);

// Lists the entries, and stores where their bytes end: at the directory. Each header is compared with the directory.
// Entries may still overlap. Errors: VIA_ERROR_FORMAT, VIA_ERROR_UNSUPPORTED for a part of several files, VIA_ERROR_IO.
VIA_NODISCARD Status list_zip(OpenFile *open, std::vector<ZipEntry> *out_entries, int64_t *out_end);

}  // namespace via
