// Which bytes of a file the system holds in its page cache. Advice only: it may have changed a moment later.
#pragma once

#include "file/open_file.hpp"

namespace via {

// The share of the bytes that are there, 0 to 1; 1 where it cannot be told, so that the cache is asked for them.
double cached_share(OpenFile *file, int64_t offset, int64_t nbytes);

}  // namespace via
