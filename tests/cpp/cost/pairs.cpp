// Pairs of functions that do the same, one by the C API and one with the C++ layer: tests/abi/test_cpp.py compares
// their instructions.
#include <viaduct/viaduct.hpp>

using namespace viaduct;

[[noreturn, gnu::cold]] void give_up(via_status);

static void check(via_status status) {
    if (__builtin_expect(status != VIA_OK, 0)) {
        give_up(status);
    }
}

extern "C" {

std::int32_t plain_getter(via_array *const *array) { return via_array_dtype(*array); }

std::int32_t owned_getter(const Array &array) { return array.dtype(); }

void plain_move(via_array **from, via_array **to) {
    via_array *handle = *from;
    *from = nullptr;
    via_array *before = *to;
    *to = handle;
    if (before != nullptr) {
        via_array_release(before);
    }
}

void owned_move(Array &from, Array &to) { to = std::move(from); }

void plain_copy(via_array *const *dst, via_array *const *src) { check(via_copy(*dst, *src)); }

void owned_copy(const Array &dst, const Array &src) { copy(dst, src); }

std::int64_t plain_round(float *address, std::int64_t count) {
    const std::int64_t shape[] = {count};
    via_array *array = nullptr;
    check(via_wrap(address, VIA_FLOAT32, 1, shape, nullptr, VIA_DEVICE_CPU, 0, 0, nullptr, nullptr, &array));
    const std::int64_t nbytes = via_array_nbytes(array);
    if (array != nullptr) {
        via_array_release(array);
    }
    return nbytes;
}

std::int64_t owned_round(float *address, std::int64_t count) { return Array::wrap(address, {count}).nbytes(); }
}
