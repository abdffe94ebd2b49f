// The files of an archive: one, those of a directory, or those that an index names.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/status.hpp"

namespace via {

struct ArchivePaths {
    std::string source;                                // as given, or the index
    std::vector<std::string> files;                    // each once, in the order of their names
    std::map<std::string, std::string> files_by_name;  // of an index: the file of each tensor
};

// The largest header or index; that of the format.
inline constexpr int64_t kMostArchiveText = 100'000'000;

// Finds the files. A directory has one *.safetensors.index.json, or *.safetensors files. Errors: VIA_ERROR_IO;
// VIA_ERROR_FORMAT.
VIA_NODISCARD Status find_archive_paths(const char *path, ArchivePaths *out_paths);

}  // namespace via
