// The list of the handles that callers hold: VIADUCT_CHECK's, used here directly.
#include "core/diagnostics/handle_registry.hpp"

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "copy_support.hpp"

namespace {

using via::HandleKind;

char places[4096];

HandleKind drop_owner(HandleKind expected, const void *handle) { return via::find_handle(expected, handle, true); }

void an_address_is_a_handle_from_the_first_owner_to_the_last(void **) {
    const void *place = &places[0];
    assert_true(via::find_handle(HandleKind::Array, place) == HandleKind::None);
    via::add_owner(HandleKind::Array, place, "via_wrap");
    via::add_owner(HandleKind::Array, place, "via_array_retain");
    assert_true(drop_owner(HandleKind::Array, place) == HandleKind::Array);
    assert_true(via::find_handle(HandleKind::Array, place) == HandleKind::Array);
    assert_true(drop_owner(HandleKind::Array, place) == HandleKind::Array);
    assert_true(via::find_handle(HandleKind::Array, place) == HandleKind::None);
    assert_true(drop_owner(HandleKind::Array, place) == HandleKind::None);
}

void an_address_may_become_a_handle_of_another_kind(void **) {
    const void *place = &places[64];
    via::add_owner(HandleKind::Task, place, "via_copy_submit");
    assert_true(drop_owner(HandleKind::File, place) == HandleKind::Task);
    assert_true(via::find_handle(HandleKind::Task, place) == HandleKind::Task);
    assert_true(drop_owner(HandleKind::Task, place) == HandleKind::Task);
    via::add_owner(HandleKind::File, place, "via_file_open");
    assert_true(via::find_handle(HandleKind::Task, place) == HandleKind::File);
    assert_true(drop_owner(HandleKind::File, place) == HandleKind::File);
}

void a_shared_handle_has_no_last_owner_and_is_not_reported(void **) {
    const void *place = &places[128];
    via::add_shared(HandleKind::Stream, place);
    for (int32_t i = 0; i < 3; ++i) {
        assert_true(drop_owner(HandleKind::Stream, place) == HandleKind::Stream);
    }
    assert_int_equal(via::report_registered_handles(), 0);
}

constexpr int32_t kThreads = 8;
constexpr int32_t kRounds = 2000;
std::atomic<int32_t> wrong{0};

// Each its own handle, and all of them one.
void *add_and_drop(void *context) {
    const void *own = &places[512 + 64 * *static_cast<int32_t *>(context)];
    const void *common = &places[256];
    for (int32_t i = 0; i < kRounds; ++i) {
        via::add_owner(HandleKind::Event, own, "via_event_create");
        via::add_owner(HandleKind::Array, common, "via_array_retain");
        wrong += via::find_handle(HandleKind::Event, own) != HandleKind::Event;
        wrong += drop_owner(HandleKind::Array, common) != HandleKind::Array;
        wrong += drop_owner(HandleKind::Event, own) != HandleKind::Event;
        wrong += via::find_handle(HandleKind::Event, own) != HandleKind::None;
    }
    return nullptr;
}

void threads_count_their_owners_at_once(void **) {
    pthread_t threads[kThreads];
    int32_t numbers[kThreads];
    for (int32_t i = 0; i < kThreads; ++i) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], nullptr, add_and_drop, &numbers[i]), 0);
    }
    for (pthread_t thread : threads) {
        assert_int_equal(pthread_join(thread, nullptr), 0);
    }
    assert_int_equal(wrong.load(), 0);
    assert_int_equal(via::report_registered_handles(), 0);
}

int32_t freed = 0;

void count_freed(void *) { freed++; }

void an_ended_block_waits_for_thousands_of_others(void **) {
    via::free_later(&places[0], count_freed);
    int32_t more = 0;
    while (freed == 0 && more < 1000000) {
        via::free_later(&places[1], count_freed);
        more++;
    }
    assert_int_in_range(more, 1000, 100000);
    assert_int_equal(freed, 1);
}

}  // namespace

int main() {
    if (!via::begin_checking()) {
        return 1;
    }
    const CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_a_handle_from_the_first_owner_to_the_last),
        cmocka_unit_test(an_address_may_become_a_handle_of_another_kind),
        cmocka_unit_test(a_shared_handle_has_no_last_owner_and_is_not_reported),
        cmocka_unit_test(threads_count_their_owners_at_once),
        cmocka_unit_test(an_ended_block_waits_for_thousands_of_others),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
