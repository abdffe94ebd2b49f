// Owner, permissions, access list and extended attributes: what a file hands on to the one that replaces it.
#pragma once

#include <sys/stat.h>

#include "file/open_file.hpp"

namespace via {

// Gives them to `to`, which has no content yet. `from` is the path of a file of which `found` is known. Nobody gets a
// right that they did not have: who may not keep the group gives its members what others have. Attributes of the
// system's own are kept where that is allowed. Errors: VIA_ERROR_IO for permissions, an access list or a user's
// attribute that cannot be kept.
VIA_NODISCARD Status copy_attributes(const char *from, const struct stat &found, OpenFile *to);

}  // namespace via
