// Copies owner, permissions, access control list and extended attributes to the file that replaces another.
#pragma once

#include <sys/stat.h>

#include "file/open_file.hpp"

namespace via {

// Copies them to `to`, which has no content yet. `found` is the stat of the path `from`. Grants no new rights: if the
// group cannot be preserved, the new group gets the rights of others. Preserves the system's attributes if allowed.
// Errors: VIA_ERROR_IO for permissions, an access control list or a user attribute that cannot be preserved.
VIA_NODISCARD Status copy_attributes(const char *from, const struct stat &found, OpenFile *to);

}  // namespace via
