// Errors as values: std::expected where the standard library has it, else what has the same members.
#define VIADUCT_RETURN_ERRORS 1
#include <memory>
#include <type_traits>
#include <utility>

#include "support.hpp"

using namespace viaduct;

namespace {

#if defined(__cpp_lib_expected)
static_assert(std::is_same_v<Result<Array>, std::expected<Array, Error>>);
#endif
static_assert(std::is_same_v<decltype(copy(std::declval<Array>(), std::declval<Array>())), Result<void>>);

float values[6] = {0, 1, 2, 3, 4, 5};

void a_result_holds_what_was_made(void **) {
    Result<Array> array = Array::wrap(values, {2, 3});
    assert_true(array.has_value() && static_cast<bool>(array));
    assert_int_equal(array->ndim(), 2);
    assert_ptr_equal((*array).data(), values);
    const Array taken = *std::move(array);
    assert_int_equal(taken.size(), 6);
}

void a_result_holds_the_librarys_error(void **) {
    const Array array = *Array::wrap(values, {6});
    const Result<Array> view = array.select(0, 6);
    assert_false(view.has_value());
    assert_int_equal(view.error().status(), VIA_ERROR_INDEX);
    assert_string_equal(view.error().name(), "VIA_ERROR_INDEX");
    assert_string_equal(view.error().what(), via_last_error());
}

void a_result_of_nothing_reports_success_and_failure(void **) {
    const Array array = *Array::wrap(values, {6});
    const Array other = *Array::empty(VIA_FLOAT32, {6});
    assert_true(copy(other, array).has_value());
    const Result<void> refused = copy(*other.as_read_only(), array);
    assert_false(static_cast<bool>(refused));
    assert_int_equal(refused.error().status(), VIA_ERROR_READ_ONLY);
}

void a_value_that_is_asked_for_is_there_or_thrown(void **) {
    const Result<Array> array = Array::wrap(values, {6});
    assert_int_equal(array.value().size(), 6);
    assert_int_equal(Array::wrap(values, {2, 3}).value().ndim(), 2);
    copy(*Array::empty<float>({6}), *array).value();
    try {
        static_cast<void>(array->select(0, 6).value());
        fail();
    } catch (const BadExpectedAccess<Error> &thrown) {
        assert_int_equal(thrown.error().status(), VIA_ERROR_INDEX);
    }
}

void a_result_gives_another_value_instead(void **) {
    assert_int_equal(device_count(VIA_DEVICE_CPU).value_or(-1), 1);
    assert_int_equal(device_count(12345).value_or(-1), -1);
}

void what_this_layer_refuses_is_returned_alike(void **) {
    const Array array = *Array::wrap(values, {2, 3});
    assert_int_equal(array.slice({1}).error().status(), VIA_ERROR_SHAPE);
    assert_int_equal(elements<double>(array).error().status(), VIA_ERROR_DTYPE);
    assert_int_equal(elements<float>(array)->size(), 6);
}

void an_owner_that_was_refused_is_still_the_callers(void **) {
    auto owner = std::make_unique<float[]>(1);
    float *first = owner.get();
    assert_false(Array::adopt(std::move(owner), first, {-1}).has_value());
    assert_ptr_equal(owner.get(), first);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        leaving_nothing(a_result_holds_what_was_made),
        leaving_nothing(a_result_holds_the_librarys_error),
        leaving_nothing(a_result_of_nothing_reports_success_and_failure),
        leaving_nothing(a_value_that_is_asked_for_is_there_or_thrown),
        leaving_nothing(a_result_gives_another_value_instead),
        leaving_nothing(what_this_layer_refuses_is_returned_alike),
        leaving_nothing(an_owner_that_was_refused_is_still_the_callers),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
