// Where a Python program is: for the origins of handles.
#pragma once

#include <cstddef>

namespace via {

// "FILE:LINE" of the innermost Python frame of the calling thread; "" if it runs no Python, or may not ask, since it
// does not hold the interpreter's lock.
void find_python_line(char *text, size_t capacity);

}  // namespace via
