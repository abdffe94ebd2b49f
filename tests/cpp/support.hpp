// What the tests of the C++ layer have in common.
#pragma once

// Before cmocka.h, whose macros have the names of members of the standard library.
#include "viaduct/viaduct.hpp"

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" {
#include <cmocka.h>
}

// A call throws this kind of error, and the text holds the words.
template <class Kind, class Call>
void expect_thrown(const char *words, Call &&call) {
    try {
        static_cast<void>(call());
    } catch (const viaduct::Error &error) {
        if (dynamic_cast<const Kind *>(&error) == nullptr || std::strstr(error.what(), words) == nullptr) {
            print_error("expected '%s' of another kind or text: %s: %s\n", words, error.name(), error.what());
            fail();
        }
        return;
    }
    print_error("nothing was thrown; expected '%s'\n", words);
    fail();
}

// A list of extents is these numbers.
template <class Numbers>
void expect_numbers(const Numbers &found, std::initializer_list<std::int64_t> expected) {
    assert_int_equal(found.size(), expected.size());
    std::size_t at = 0;
    for (const std::int64_t each : expected) {
        assert_int_equal(found[at++], each);
    }
}

inline via_stats_info count_alive() {
    via_stats_info stats = VIA_STATS_INFO_INIT;
    assert_int_equal(via_stats(&stats), VIA_OK);
    return stats;
}

inline int remember_alive(void **state) {
    static via_stats_info before;
    before = count_alive();
    *state = &before;
    return 0;
}

inline int expect_as_many_alive(void **state) {
    const auto *before = static_cast<const via_stats_info *>(*state);
    const via_stats_info after = count_alive();
    const bool same = after.live_arrays == before->live_arrays && after.live_storages == before->live_storages &&
                      after.outstanding_exports == before->outstanding_exports;
    return same ? 0 : -1;
}

// A test that must leave as many arrays, borrowed memory and exports alive as there were.
#define leaving_nothing(test) cmocka_unit_test_setup_teardown(test, remember_alive, expect_as_many_alive)
