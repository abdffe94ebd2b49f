// Where the elements of windows are in a file, and what of it is read at once.
#include "file/file_extents.hpp"

#include "copy_support.hpp"
#include "core/array/view.hpp"

namespace {

using via::ExtentGroups;
using via::FileExtents;

constexpr int64_t kCallBytes = int64_t{16} << 10;

struct Window {
    std::vector<int64_t> shape;
    std::vector<int64_t> count;
    std::vector<int64_t> step;
};

FileExtents extents_of(const Window &window) {
    const via::ArraySpec spec{.data = reinterpret_cast<void *>(uintptr_t{1} << 12),
                              .dtype = VIA_FLOAT32,
                              .ndim = static_cast<int32_t>(window.shape.size()),
                              .shape = window.shape.data()};
    via::UniqueArray whole;
    via::UniqueArray layout;
    assert_int_equal(via::make_array(spec, via::Deleter{}, whole.out()), VIA_OK);
    assert_int_equal(via::slice_view(whole.get(), nullptr, window.count.data(), window.step.data(), layout.out()),
                     VIA_OK);
    return via::extents_of(layout.get(), 100);
}

void what_is_adjacent_is_one_row(void **state) {
    (void)state;
    for (const Window &window : {Window{{20, 30, 40}, {20, 30, 40}, {1, 1, 1}}, Window{{20, 30}, {7, 30}, {1, 1}}}) {
        const FileExtents extents = extents_of(window);
        assert_true(extents.ndim == 0 && extents.offset == 100 && extents.row_bytes == extents.nbytes);
    }
}

void loops_that_continue_one_another_are_one(void **state) {
    (void)state;
    const FileExtents columns = extents_of({{20, 30, 40}, {20, 30, 10}, {1, 1, 1}});
    assert_true(columns.ndim == 1 && columns.row_bytes == 40);
    assert_true(columns.counts[0] == 600 && columns.steps[0] == 160);
    const FileExtents slab = extents_of({{20, 30, 40}, {20, 10, 40}, {1, 2, 1}});
    assert_true(slab.ndim == 2 && slab.row_bytes == 160 && slab.nbytes == 20 * 10 * 160);
    assert_true(slab.counts[0] == 20 && slab.steps[0] == 30 * 160 && slab.counts[1] == 10 && slab.steps[1] == 320);
}

void rows_near_one_another_are_read_at_once_and_others_are_not(void **state) {
    (void)state;
    const int64_t far = int64_t{1} << 20;
    assert_int_equal(ExtentGroups(extents_of({{50, 60}, {50, 30}, {1, 1}}), kCallBytes).level, 0);
    assert_int_equal(ExtentGroups(extents_of({{50, far}, {50, 30}, {1, 1}}), kCallBytes).level, 1);
    assert_int_equal(ExtentGroups(extents_of({{9, far, 60}, {9, 100, 30}, {1, 1, 1}}), kCallBytes).level, 1);
    assert_int_equal(ExtentGroups(extents_of({{9, 8, far}, {9, 2, far / 2}, {1, 1, 1}}), kCallBytes).level, 2);
}

void what_rows_cost_grows_with_their_number(void **state) {
    (void)state;
    const ExtentGroups dense(extents_of({{1000, 1024}, {1000, 1024}, {1, 1}}), kCallBytes);
    const ExtentGroups far(extents_of({{1000, 1 << 20}, {1000, 1024}, {1, 1}}), kCallBytes);
    assert_true(dense.cost < 5 << 20);
    assert_true(far.cost > 4 * dense.cost);
    assert_int_equal(far.bytes[0], dense.bytes[0]);
}

}  // namespace

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_adjacent_is_one_row),
        cmocka_unit_test(loops_that_continue_one_another_are_one),
        cmocka_unit_test(rows_near_one_another_are_read_at_once_and_others_are_not),
        cmocka_unit_test(what_rows_cost_grows_with_their_number),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
