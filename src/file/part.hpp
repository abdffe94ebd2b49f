// The file beside another one that is going to take its place, and what is looked at before it does.
#pragma once

#include <sys/stat.h>

#include "file/open_file.hpp"

namespace via {

// What is at the target, links not followed; *out_there false if nothing is.
VIA_NODISCARD Status look_at_target(const char *target, struct stat *out_found, bool *out_there);

// Errors: VIA_ERROR_UNSUPPORTED.
VIA_NODISCARD Status check_regular(const char *target, const struct stat &found);

// A file without content beside the target, under a name of its own: see OpenFile::remove_part.
VIA_NODISCARD Status open_beside(const char *target, mode_t permissions, OpenFile **out_file);

// The same. Where there is a target it has its permissions; what the target is besides a regular file is
// VIA_ERROR_UNSUPPORTED.
VIA_NODISCARD Status make_part(const char *target, OpenFile **out_file);

}  // namespace via
