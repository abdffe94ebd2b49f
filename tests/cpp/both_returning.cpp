#define VIADUCT_RETURN_ERRORS 1
#include "both.hpp"

// Of a handle that is exported: one more owner for the while.
static viaduct::Array shared(via_array *array) {
    via_array_retain(array);
    return viaduct::Array(array);
}

std::int64_t size_by_returning(via_array *array) { return shared(array).size(); }

viaduct::Error error_by_returning(via_array *array) { return shared(array).select(0, 5).error(); }
