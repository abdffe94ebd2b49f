// The error record: its text, its length, and its nesting in callbacks.
#include "core/base/status.hpp"

#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <thread>

#include "copy_support.hpp"
#include "core/base/thread_state.hpp"

static thread_local bool no_memory = false;

// What the library keeps of a thread cannot be had then.
void *operator new(size_t bytes, const std::nothrow_t &) noexcept {
    return no_memory ? nullptr : ::operator new(bytes);
}

namespace {

void a_failure_is_recorded_and_its_status_handed_on(void **) {
    assert_int_equal(via::fail(VIA_ERROR_SHAPE, "shape[%d] is %d", 2, -1), VIA_ERROR_SHAPE);
    assert_string_equal(via::last_error_text(), "shape[2] is -1");
    assert_int_equal(via::last_error_code(), 0);
    via::name_failure("via_thing");
    assert_string_equal(via::last_error_text(), "via_thing: shape[2] is -1");
}

void a_code_is_recorded_and_forgotten_by_the_next_failure(void **) {
    assert_int_equal(via::fail_with_code(VIA_ERROR_IO, 5, "read"), VIA_ERROR_IO);
    assert_int_equal(via::last_error_code(), 5);
    assert_int_equal(via::fail(VIA_ERROR_SHAPE, "other"), VIA_ERROR_SHAPE);
    assert_int_equal(via::last_error_code(), 0);
}

void a_text_is_cut_where_its_room_ends(void **) {
    for (int32_t length = via::ErrorRecord::kCapacity - 30; length < via::ErrorRecord::kCapacity + 30; ++length) {
        const std::string text(static_cast<size_t>(length), 'x');
        (void)!via::fail(VIA_ERROR_SHAPE, "%s", text.c_str());
        via::name_failure("via_thing");
        const std::string reported = via::last_error_text();
        const std::string whole = "via_thing: " + text;
        assert_string_equal(reported.c_str(), whole.substr(0, via::ErrorRecord::kCapacity - 1).c_str());
    }
}

void a_letter_that_the_end_cuts_leaves_no_broken_sequence(void **) {
    for (size_t before = 0; before < 4; ++before) {
        std::string text(before, 'x');
        while (text.size() < 2000) {
            text += "\xF0\x9F\x98\x80";
        }
        (void)!via::fail(VIA_ERROR_SHAPE, "%s", text.c_str());
        via::name_failure("via_thing");
        const std::string reported = via::last_error_text();
        assert_int_equal(reported.size(), via::ErrorRecord::kCapacity - 1);
        const size_t sound = reported.find('?');
        assert_true(sound == std::string::npos || reported.find_first_not_of('?', sound) == std::string::npos);
    }
}

void every_scope_has_a_record_and_the_deepest_share_one(void **) {
    (void)!via::fail(VIA_ERROR_SHAPE, "outermost");
    assert_false(via::inside_callback());
    {
        const via::CallbackScope first;
        assert_true(via::inside_callback());
        assert_string_equal(via::last_error_text(), "");
        (void)!via::fail(VIA_ERROR_SHAPE, "first");
        for (int depth = 0; depth < 10; ++depth) {
            const via::CallbackScope second;
            const via::CallbackScope third;
            const via::CallbackScope fourth;
            (void)!via::fail_with_code(VIA_ERROR_SHAPE, 9, "deep");
        }
        assert_string_equal(via::last_error_text(), "first");
    }
    assert_string_equal(via::last_error_text(), "outermost");
    assert_int_equal(via::last_error_code(), 0);
    assert_false(via::inside_callback());
}

// Runs it in a thread that no memory can be had for.
void run_without_memory(void (*body)()) {
    (void)via::thread_state();  // of this thread, so that the other one does not find it idle
    std::thread([=] {
        no_memory = true;
        body();
    }).join();
}

void a_callback_of_a_thread_without_memory_leaves_the_last_error_of_another(void **) {
    static std::optional<via::CallbackScope> elsewhere;
    static std::string found;
    run_without_memory([] {
        (void)!via::fail(VIA_ERROR_SHAPE, "before");
        run_without_memory([] { elsewhere.emplace(); });
        found = via::last_error_text();
        run_without_memory([] { elsewhere.reset(); });
    });
    assert_string_equal(found.c_str(), "before");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_is_recorded_and_its_status_handed_on),
        cmocka_unit_test(a_code_is_recorded_and_forgotten_by_the_next_failure),
        cmocka_unit_test(a_text_is_cut_where_its_room_ends),
        cmocka_unit_test(a_letter_that_the_end_cuts_leaves_no_broken_sequence),
        cmocka_unit_test(every_scope_has_a_record_and_the_deepest_share_one),
        cmocka_unit_test(a_callback_of_a_thread_without_memory_leaves_the_last_error_of_another),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
