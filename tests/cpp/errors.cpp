// Errors as exceptions: every status has its own type, with the library's text and code.
#include <string>

#include "support.hpp"

using namespace viaduct;

namespace {

template <int kStatus>
bool is_thrown_as_its_own_type() {
    try {
        detail::failure<void>(Error(static_cast<via_status>(kStatus), 5, "text"));
    } catch (const ErrorOf<static_cast<via_status>(kStatus)> &error) {
        return error.status() == kStatus && error.code() == 5 && std::string(error.what()) == "text";
    } catch (...) {
    }
    return false;
}

template <int... kBefore>
int count_thrown_as_their_own_type(std::integer_sequence<int, kBefore...>) {
    return (static_cast<int>(is_thrown_as_its_own_type<kBefore + 1>()) + ...);
}

void every_status_is_thrown_as_its_own_type(void **) {
    const int thrown = count_thrown_as_their_own_type(std::make_integer_sequence<int, VIA_ERROR_INTERNAL>());
    assert_int_equal(thrown, VIA_ERROR_INTERNAL);
}

void a_status_of_a_newer_library_is_a_plain_error(void **) {
    try {
        detail::failure<void>(Error(static_cast<via_status>(30), 0, "new"));
    } catch (const InternalError &) {
        fail();
    } catch (const Error &error) {
        assert_int_equal(error.status(), 30);
        assert_string_equal(error.name(), "VIA_ERROR_UNKNOWN");
        return;
    }
    fail();
}

void an_error_has_the_status_name_and_text_of_the_library(void **) {
    try {
        static_cast<void>(dtype_from_name("float33"));
    } catch (const std::runtime_error &caught) {
        const auto &error = dynamic_cast<const DTypeError &>(caught);
        assert_int_equal(error.status(), VIA_ERROR_DTYPE);
        assert_string_equal(error.name(), "VIA_ERROR_DTYPE");
        assert_string_equal(error.what(), via_last_error());
        assert_non_null(std::strstr(error.what(), "float33"));
        return;
    }
    fail();
}

void an_error_keeps_its_text_when_the_next_call_fails(void **) {
    std::string text;
    try {
        static_cast<void>(dtype_from_name("float33"));
    } catch (const Error &error) {
        expect_thrown<VersionError>("via_require", [] { require(99, 0); });
        text = error.what();
    }
    assert_non_null(std::strstr(text.c_str(), "float33"));
}

void what_succeeds_throws_nothing(void **) {
    require();
    set_num_threads(0);
    assert_int_equal(device_count(VIA_DEVICE_CPU), 1);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        leaving_nothing(every_status_is_thrown_as_its_own_type),
        leaving_nothing(a_status_of_a_newer_library_is_a_plain_error),
        leaving_nothing(an_error_has_the_status_name_and_text_of_the_library),
        leaving_nothing(an_error_keeps_its_text_when_the_next_call_fails),
        leaving_nothing(what_succeeds_throws_nothing),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
