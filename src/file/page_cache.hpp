// Queries the page cache. The result is a snapshot.
#pragma once

#include "file/open_file.hpp"

namespace via {

// Returns the cached share of the bytes, 0 to 1; 1 if unknown, so that the cache is used.
double cached_share(OpenFile *file, int64_t offset, int64_t nbytes);

}  // namespace via
