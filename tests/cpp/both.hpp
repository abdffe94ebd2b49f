// What a part of the program that has errors returned does for one that has them thrown.
#pragma once

#include "viaduct/viaduct.hpp"

std::int64_t size_by_returning(via_array *array);

// Returns the result of selecting too far along the first axis.
viaduct::Error error_by_returning(via_array *array);
