// Arithmetic on extents: exact, or reported as overflow.
#include "core/base/checked.hpp"

#include "copy_support.hpp"

namespace {

constexpr int64_t kEdges[] = {INT64_MIN,  INT64_MIN + 1, INT64_MIN / 2, -3037000500,   -8,       -2, -1, 0, 1, 2, 7,
                              3037000499, 3037000500,    INT64_MAX / 2, INT64_MAX - 1, INT64_MAX};

__extension__ using Wide128 = __int128;

bool fits(Wide128 value) { return value >= INT64_MIN && value <= INT64_MAX; }

// Compares one operation with the same in 128 bits, on every pair of edges.
template <class Checked, class Wide>
void compare(Checked checked, Wide wide) {
    for (const int64_t a : kEdges) {
        for (const int64_t b : kEdges) {
            int64_t result = 0;
            const bool exact = checked(a, b, &result);
            assert_int_equal(exact, fits(wide(a, b)));
            if (exact) {
                assert_int_equal(result, static_cast<int64_t>(wide(a, b)));
            }
        }
    }
}

void products_are_exact_or_reported_not_to_fit(void **) {
    compare(via::multiply, [](int64_t a, int64_t b) { return static_cast<Wide128>(a) * b; });
}

void sums_are_exact_or_reported_not_to_fit(void **) {
    compare(via::add, [](int64_t a, int64_t b) { return static_cast<Wide128>(a) + b; });
}

void addresses_stay_in_the_address_space(void **) {
    constexpr uintptr_t kStarts[] = {0, 1, 4096, UINTPTR_MAX / 2, UINTPTR_MAX / 2 + 1, UINTPTR_MAX - 1, UINTPTR_MAX};
    for (const uintptr_t start : kStarts) {
        for (const int64_t nbytes : kEdges) {
            const void *end = nullptr;
            const Wide128 exact = static_cast<Wide128>(start) + nbytes;
            const bool inside = exact >= 0 && exact <= static_cast<Wide128>(UINTPTR_MAX);
            assert_int_equal(via::advance(reinterpret_cast<const void *>(start), nbytes, &end), inside);
            if (inside) {
                assert_true(reinterpret_cast<uintptr_t>(end) == static_cast<uintptr_t>(exact));
            }
        }
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(products_are_exact_or_reported_not_to_fit),
        cmocka_unit_test(sums_are_exact_or_reported_not_to_fit),
        cmocka_unit_test(addresses_stay_in_the_address_space),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
