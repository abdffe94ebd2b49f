// What the kernel tells in one-line files.
#pragma once

#include <cstddef>

namespace via {

// The start of a file as a string; false if there is none. Leaves errno alone.
bool read_small_file(const char *path, char *text, size_t capacity);

}  // namespace via
