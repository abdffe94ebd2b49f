// Views: each is the C function of its name, and the lists that go in are as long as the array has axes.
#include "support.hpp"

using namespace viaduct;

namespace {

float values[24];

Array cube() { return Array::wrap(values, {2, 3, 4}); }

void a_slice_has_its_start_count_and_step(void **) {
    const Array array = cube();
    const Array view = array.slice({1, 0, 3}, {1, 2, 2}, {1, 2, -2});
    assert_ptr_equal(view.data(), values + 15);
    expect_numbers(view.shape(), {1, 2, 2});
    expect_numbers(view.strides(), {12, 8, -2});
    expect_numbers(array.slice({0, 1, 0}).shape(), {2, 2, 4});
    expect_numbers(array.slice({}).shape(), {2, 3, 4});
}

void a_list_of_another_length_is_refused_before_it_is_read(void **) {
    const Array array = cube();
    expect_thrown<ShapeError>("slice", [&] { return array.slice({1}); });
    expect_thrown<ShapeError>("slice", [&] { return array.slice({}, {1, 1}); });
    expect_thrown<ShapeError>("slice", [&] { return array.slice({}, {}, {1, 1, 1, 1}); });
    expect_thrown<ShapeError>("permute", [&] { return array.permute({1, 0}); });
}

void an_index_selects_along_an_axis(void **) {
    const Array view = cube().select(-1, 2);
    assert_ptr_equal(view.data(), values + 2);
    expect_numbers(view.shape(), {2, 3});
    expect_thrown<IndexError>("via_array_select", [] { return cube().select(0, 2); });
}

void axes_are_permuted_or_reversed(void **) {
    expect_numbers(cube().permute({1, 2, 0}).shape(), {3, 4, 2});
    expect_numbers(cube().permute().shape(), {4, 3, 2});
}

void elements_take_another_shape(void **) {
    expect_numbers(cube().reshape({6, -1}).shape(), {6, 4});
    expect_thrown<NeedsCopyError>("via_array_reshape", [] { return cube().permute().reshape({24}); });
}

void extents_of_one_are_repeated_dropped_and_added(void **) {
    const Array row = Array::wrap(values, {1, 4});
    const Array repeated = row.broadcast({3, 4});
    expect_numbers(repeated.strides(), {0, 1});
    assert_int_equal(repeated.flags(), VIA_ARRAY_READ_ONLY);
    expect_numbers(row.squeeze().shape(), {4});
    expect_numbers(row.squeeze({0}).shape(), {4});
    expect_numbers(row.expand(-1).shape(), {1, 4, 1});
}

void bytes_are_seen_as_another_type_or_field(void **) {
    const Array array = cube();
    expect_numbers(array.reinterpret(VIA_UINT8).shape(), {2, 3, 16});
    const Array complex = array.reinterpret(VIA_COMPLEX64);
    const Array imaginary = complex.field(4, VIA_FLOAT32);
    assert_ptr_equal(imaginary.data(), values + 1);
    assert_int_equal(array.as_read_only().flags(), VIA_ARRAY_READ_ONLY);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        leaving_nothing(a_slice_has_its_start_count_and_step),
        leaving_nothing(a_list_of_another_length_is_refused_before_it_is_read),
        leaving_nothing(an_index_selects_along_an_axis),
        leaving_nothing(axes_are_permuted_or_reversed),
        leaving_nothing(elements_take_another_shape),
        leaving_nothing(extents_of_one_are_repeated_dropped_and_added),
        leaving_nothing(bytes_are_seen_as_another_type_or_field),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
