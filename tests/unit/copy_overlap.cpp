// Overlap is found where there is some, and only there.
#include <set>

#include "copy/fill.hpp"
#include "copy/plan/overlap.hpp"
#include "copy_support.hpp"

namespace {

using via::Overlap;
using via::RunSet;

RunSet random_set(Random *random, bool any_sign) {
    RunSet set(random->between(0, 60), random->between(1, 6));
    for (int64_t n = random->between(0, 3); n > 0; --n) {
        set.add(random->between(1, 6), random->between(any_sign ? -25 : 0, 25));
    }
    return set;
}

// Every byte of the set, as often as it occurs.
std::multiset<int64_t> bytes_of(const RunSet &set) {
    std::vector<int64_t> starts = {set.start};
    for (int32_t i = 0; i < set.count; ++i) {
        std::vector<int64_t> all;
        for (const int64_t start : starts) {
            for (int64_t k = 0; k < set.indices[i].extent; ++k) {
                all.push_back(start + k * set.indices[i].step);
            }
        }
        starts = all;
    }
    std::multiset<int64_t> bytes;
    for (const int64_t start : starts) {
        for (int64_t k = 0; k < set.run; ++k) {
            bytes.insert(start + k);
        }
    }
    return bytes;
}

bool share_a_byte(const std::multiset<int64_t> &a, const std::multiset<int64_t> &b) {
    for (const int64_t byte : a) {
        if (b.count(byte) > 0) {
            return true;
        }
    }
    return false;
}

void two_sets_overlap_just_where_a_byte_is_in_both(void **) {
    Random random(21);
    int found = 0;
    constexpr int kRounds = 20000;
    for (int i = 0; i < kRounds; ++i) {
        const RunSet a = random_set(&random, true);
        const RunSet b = random_set(&random, true);
        const bool expected = share_a_byte(bytes_of(a), bytes_of(b));
        assert_int_equal(find_overlap(a, b), expected ? Overlap::Found : Overlap::None);
        found += expected;
    }
    assert_int_in_range(found, kRounds / 10, kRounds * 9 / 10);
}

void a_set_overlaps_itself_just_where_a_byte_occurs_twice(void **) {
    Random random(22);
    int found = 0;
    constexpr int kRounds = 20000;
    for (int i = 0; i < kRounds; ++i) {
        const RunSet set = random_set(&random, false);
        const std::multiset<int64_t> bytes = bytes_of(set);
        const bool expected = std::set<int64_t>(bytes.begin(), bytes.end()).size() != bytes.size();
        assert_int_equal(find_self_overlap(set), expected ? Overlap::Found : Overlap::None);
        found += expected;
    }
    assert_int_in_range(found, kRounds / 10, kRounds * 9 / 10);
}

// Many steps without a common measure: the search is given up, not left running.
void a_hopeless_search_ends_undecided(void **) {
    RunSet a(0, 1);
    RunSet b(1, 1);
    int64_t step = 1000003;
    for (int i = 0; i < 16; ++i) {
        a.add(40, step * 2);
        b.add(40, (step + 7) * 2);
        step += step / 3 + 11;
    }
    assert_int_not_equal(find_overlap(a, b), Overlap::Found);
}

Wrapped column(std::vector<char> *bytes, int64_t first) {
    return Wrapped(bytes->data() + first * 8, VIA_FLOAT64, {1000}, {32});
}

void columns_of_one_matrix_may_be_copied_to_each_other(void **) {
    std::vector<char> bytes(1000 * 32);
    const Wrapped first = column(&bytes, 0);
    const Wrapped second = column(&bytes, 1);
    assert_int_equal(via::check_copy(first.get(), second.get()), VIA_OK);
    assert_int_equal(via::check_copy(first.get(), first.get()), VIA_ERROR_OVERLAP);
}

void interleaved_blocks_of_one_large_array_may_be_copied_to_each_other(void **) {
    constexpr int64_t kPlane = 300 * 400 * 4;
    std::vector<char> bytes(20 * kPlane);
    const std::vector<int64_t> shape = {10, 150, 133};
    const std::vector<int64_t> steps = {2 * kPlane, 2 * 400 * 4, 3 * 4};
    const Wrapped dst(bytes.data(), VIA_FLOAT32, shape, steps);
    for (const int64_t shift : {int64_t{4}, int64_t{8}, int64_t{1600}, kPlane, kPlane + 1604}) {
        const Wrapped src(bytes.data() + shift, VIA_FLOAT32, shape, steps);
        assert_int_equal(via::check_copy(dst.get(), src.get()), VIA_OK);
    }
    const Wrapped moved(bytes.data() + 12, VIA_FLOAT32, shape, steps);
    assert_int_equal(via::check_copy(dst.get(), moved.get()), VIA_ERROR_OVERLAP);
}

void fields_of_the_same_records_may_be_copied_to_each_other(void **) {
    std::vector<char> bytes(100 * 12);
    const Wrapped dst(bytes.data(), VIA_FLOAT32, {10, 10}, {120, 12});
    const Wrapped src(bytes.data() + 4, VIA_FLOAT32, {10, 10}, {120, 12});
    const Wrapped across(bytes.data() + 2, VIA_FLOAT32, {10, 10}, {120, 12});
    assert_int_equal(via::check_copy(dst.get(), src.get()), VIA_OK);
    assert_int_equal(via::check_copy(dst.get(), across.get()), VIA_ERROR_OVERLAP);
}

void a_matrix_and_its_own_transpose_overlap(void **) {
    std::vector<char> bytes(64 * 64 * 4);
    const Wrapped matrix(bytes.data(), VIA_FLOAT32, {64, 64});
    const Wrapped transposed(bytes.data(), VIA_FLOAT32, {64, 64}, {4, 256});
    assert_int_equal(via::check_copy(matrix.get(), transposed.get()), VIA_ERROR_OVERLAP);
}

void a_reversed_half_may_be_copied_onto_the_other_half(void **) {
    std::vector<char> bytes(80);
    const Wrapped dst(bytes.data(), VIA_FLOAT64, {5});
    const Wrapped src(bytes.data() + 72, VIA_FLOAT64, {5}, {-8});
    assert_int_equal(via::check_copy(dst.get(), src.get()), VIA_OK);
}

void a_destination_of_windows_overlaps_itself(void **) {
    std::vector<char> bytes(800);
    std::vector<char> other(8000);
    const Wrapped windows(bytes.data(), VIA_FLOAT32, {10, 4}, {4, 4});
    const Wrapped still(bytes.data(), VIA_FLOAT32, {10, 4}, {0, 4});
    const Wrapped coprime(bytes.data(), VIA_FLOAT32, {3, 5}, {20, 12});
    const Wrapped src(other.data(), VIA_FLOAT32, {10, 4});
    const Wrapped small(other.data(), VIA_FLOAT32, {3, 5});
    assert_int_equal(via::check_copy(windows.get(), src.get()), VIA_ERROR_OVERLAP);
    assert_int_equal(via::check_copy(still.get(), src.get()), VIA_ERROR_OVERLAP);
    assert_int_equal(via::fill_array(still.get(), nullptr), VIA_ERROR_OVERLAP);
    // 20 i = 12 j has no solution with i < 3 and j < 5 but zero: nothing overlaps, though the axes interleave.
    assert_int_equal(via::check_copy(coprime.get(), small.get()), VIA_OK);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(two_sets_overlap_just_where_a_byte_is_in_both),
        cmocka_unit_test(a_set_overlaps_itself_just_where_a_byte_occurs_twice),
        cmocka_unit_test(a_hopeless_search_ends_undecided),
        cmocka_unit_test(columns_of_one_matrix_may_be_copied_to_each_other),
        cmocka_unit_test(interleaved_blocks_of_one_large_array_may_be_copied_to_each_other),
        cmocka_unit_test(fields_of_the_same_records_may_be_copied_to_each_other),
        cmocka_unit_test(a_matrix_and_its_own_transpose_overlap),
        cmocka_unit_test(a_reversed_half_may_be_copied_onto_the_other_half),
        cmocka_unit_test(a_destination_of_windows_overlaps_itself),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
