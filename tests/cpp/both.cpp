// Errors thrown here and returned in both_returning.cpp: one program, one Error.
#include "both.hpp"

#include "support.hpp"

namespace {

float values[6];

void an_array_goes_from_one_kind_to_the_other(void **) {
    viaduct::Array array = viaduct::Array::wrap(values, {2, 3});
    assert_int_equal(size_by_returning(array.get()), 6);
    expect_thrown<viaduct::IndexError>("via_array_select", [&] { return array.select(0, 5); });
}

void an_error_returned_there_is_known_here(void **) {
    const viaduct::Array array = viaduct::Array::wrap(values, {2, 3});
    const viaduct::Error error = error_by_returning(array.get());
    assert_int_equal(error.status(), VIA_ERROR_INDEX);
    assert_non_null(std::strstr(error.what(), "via_array_select"));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        leaving_nothing(an_array_goes_from_one_kind_to_the_other),
        leaving_nothing(an_error_returned_there_is_known_here),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
