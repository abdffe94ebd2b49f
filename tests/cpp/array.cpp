// Arrays of memory that exists: types, layouts, owners.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "support.hpp"

using namespace viaduct;

namespace {

struct Particle {
    double position[3];
    float mass;
};

enum class Colour : std::uint8_t { Red };

static_assert(dtype_of<float> == VIA_FLOAT32 && dtype_of<double> == VIA_FLOAT64);
static_assert(dtype_of<std::int8_t> == VIA_INT8 && dtype_of<std::uint8_t> == VIA_UINT8);
static_assert(dtype_of<short> == VIA_INT16 && dtype_of<unsigned short> == VIA_UINT16);
static_assert(dtype_of<int> == VIA_INT32 && dtype_of<unsigned> == VIA_UINT32);
static_assert(dtype_of<long long> == VIA_INT64 && dtype_of<unsigned long long> == VIA_UINT64);
static_assert(dtype_of<bool> == VIA_BOOL && dtype_of<std::byte> == VIA_UINT8 && dtype_of<Colour> == VIA_UINT8);
static_assert(dtype_of<std::complex<float>> == VIA_COMPLEX64 && dtype_of<std::complex<double>> == VIA_COMPLEX128);
static_assert(dtype_of<const double> == VIA_FLOAT64 && dtype_of<Particle> == -32);

void a_pointer_is_an_array_of_its_type_at_the_same_address(void **) {
    double values[6] = {0, 1, 2, 3, 4, 5};
    const Array array = Array::wrap(values, {2, 3});
    assert_ptr_equal(array.data(), values);
    assert_ptr_equal(array.data<double>(), values);
    assert_int_equal(array.dtype(), VIA_FLOAT64);
    assert_int_equal(array.ndim(), 2);
    assert_int_equal(array.size(), 6);
    assert_int_equal(array.nbytes(), 48);
    assert_int_equal(array.flags(), 0);
    assert_true(array.device() == Device{});
    assert_true(array.is_contiguous() && !array.is_contiguous(VIA_ORDER_COLUMN_MAJOR));
    assert_false(array.release_waits());
    expect_numbers(array.shape(), {2, 3});
    expect_numbers(array.strides(), {3, 1});
    expect_numbers(array.byte_strides(), {24, 8});
}

void a_shape_may_be_a_vector_an_array_or_another_arrays(void **) {
    float values[4] = {};
    const std::vector<std::int64_t> vector = {2, 2};
    const std::array<std::int64_t, 2> fixed = {4, 1};
    const Array first = Array::wrap(values, vector);
    const Array second = Array::wrap(values, fixed);
    const Array third = Array::wrap(values, first.shape());
    expect_numbers(second.shape(), {4, 1});
    expect_numbers(third.shape(), {2, 2});
}

void a_shape_may_be_of_any_integral_type(void **) {
    float values[6] = {};
    const std::size_t rows = 2;
    const int columns = 3;
    expect_numbers(Array(Array::wrap(values, {rows, columns})).shape(), {2, 3});
    const std::vector<std::size_t> sizes = {3, 2};
    const std::array<int, 2> ints = {1, 6};
    expect_numbers(Array(Array::wrap(values, sizes)).shape(), {3, 2});
    const Array wide = Array::wrap(values, ints);
    expect_numbers(wide.shape(), {1, 6});
    const std::array<int, 2> start = {0, 5};
    const std::vector<std::size_t> count = {1, 3};
    expect_numbers(Array(wide.slice(start, count, {1, -1})).shape(), {1, 3});
    const std::array<std::int64_t, 2> axes = {1, 0};
    expect_numbers(Array(wide.permute(axes)).shape(), {6, 1});
}

void a_number_that_does_not_fit_is_refused_and_not_cut(void **) {
    float values[6] = {};
    const Array array = Array::wrap(values, {2, 3});
    const std::vector<std::uint64_t> huge = {UINT64_MAX, 1};
    expect_thrown<ShapeError>("", [&] { return Array::wrap(values, huge); });
    const std::vector<std::int64_t> far = {(std::int64_t{1} << 32), 1};
    expect_thrown<IndexError>("", [&] { return array.permute(far); });
    const std::vector<int> many(65, 1);
    expect_thrown<ShapeError>("65", [&] { return array.reshape(many); });
}

void an_array_without_axes_has_empty_lists(void **) {
    int value = 7;
    const Array array = Array::wrap(&value, {});
    assert_int_equal(array.size(), 1);
    assert_true(array.shape().empty() && array.strides().empty() && array.byte_strides().empty());
}

void const_elements_make_an_array_that_may_not_be_written(void **) {
    const int values[2] = {1, 2};
    const Array array = Array::wrap(values, {2});
    assert_int_equal(array.flags(), VIA_ARRAY_READ_ONLY);
}

void strides_and_flags_are_those_of_the_layout(void **) {
    std::int16_t values[16] = {};
    const Array padded = Array::wrap(values, {3, 2}, {{5, 1}});
    expect_numbers(padded.strides(), {5, 1});
    const Array in_bytes = Array::wrap(values, {3, 2}, {{10, 2}, {}, VIA_WRAP_BYTE_STRIDES | VIA_WRAP_READ_ONLY});
    expect_numbers(in_bytes.strides(), {5, 1});
    assert_int_equal(in_bytes.flags(), VIA_ARRAY_READ_ONLY);
}

void as_many_strides_as_extents_are_asked_for(void **) {
    float values[4] = {};
    const char *text = "wrap: strides has 1 entries; expected one for each of 2 axes";
    expect_thrown<ShapeError>(text, [&] { return Array::wrap(values, {2, 2}, {{1}}); });
    expect_thrown<ShapeError>("strides", [&] { return Array::wrap(values, {4}, {{1, 1}}); });
    std::vector<float> owner(4);
    float *first = owner.data();
    expect_thrown<ShapeError>("strides", [&] { return Array::adopt(std::move(owner), first, {2, 2}, {{1}}); });
    assert_ptr_equal(owner.data(), first);
}

void an_owner_lives_as_long_as_the_last_view(void **) {
    auto watched = std::make_shared<std::vector<float>>(8);
    std::weak_ptr<std::vector<float>> watch = watched;
    float *first = watched->data();
    Array array = Array::adopt(std::move(watched), first, {2, 4});
    assert_null(watched.get());
    Array view = array.select(0, 1);
    array.reset();
    assert_false(watch.expired());
    assert_ptr_equal(view.data(), first + 4);
    assert_int_equal(watch.lock()->size(), 8);
    view.reset();
    assert_true(watch.expired());
}

void an_owner_is_found_again_by_its_type_and_by_no_other(void **) {
    std::vector<float> values(4);
    float *first = values.data();
    const Array array = Array::adopt(std::move(values), first, {4});
    const Array view = array.reshape({2, 2});
    assert_ptr_equal(view.owner<std::vector<float>>()->data(), first);
    assert_null(view.owner<std::string>());
}

Layout bounded(std::int64_t nbytes, Extents strides = {}, std::int32_t flags = 0) {
    Layout layout;
    layout.strides = strides;
    layout.flags = flags;
    layout.nbytes = nbytes;
    return layout;
}

void no_element_lies_outside_of_the_bytes_that_the_caller_names(void **) {
    float values[12] = {};
    assert_int_equal(Array::wrap(values, {3, 4}, bounded(48)).size(), 12);
    assert_int_equal(Array::wrap(values, {3, 2}, bounded(44, {4, 2})).size(), 6);
    assert_int_equal(Array::wrap(values, {3, 2}, bounded(44, {16, 8}, VIA_WRAP_BYTE_STRIDES)).size(), 6);
    assert_int_equal(Array::wrap(values, {3, 0}, bounded(0)).size(), 0);
    assert_int_equal(Array::wrap(values + 3, {1}, bounded(4, {-1})).size(), 1);
    expect_thrown<PointerError>("wrap: nbytes is 47; expected 48 or more",
                                [&] { return Array::wrap(values, {3, 4}, bounded(47)); });
    expect_thrown<PointerError>("wrap: nbytes is 43; expected 44 or more",
                                [&] { return Array::wrap(values, {3, 2}, bounded(43, {4, 2})); });
    expect_thrown<PointerError>("wrap: strides reach 12 bytes before the address",
                                [&] { return Array::wrap(values + 3, {4}, bounded(48, {-1})); });
    const std::int64_t large = std::int64_t{1} << 30;
    expect_thrown<OverflowError>("wrap: shape reaches over",
                                 [&] { return Array::wrap(values, {large, large}, bounded(48)); });
    expect_thrown<OverflowError>("wrap: shape reaches over",
                                 [&] { return Array::wrap(values, {large, large}, bounded(48, {large, 0})); });
    assert_int_equal(Array::wrap(values, {large, large}, bounded(48, {0, 0})).size(), large * large);
    std::vector<float> owner(12);
    float *const address = owner.data();
    expect_thrown<PointerError>("wrap: nbytes is 48; expected 52 or more",
                                [&] { return Array::adopt(std::move(owner), address, {13}, bounded(48)); });
    assert_int_equal(owner.size(), 12);
    assert_int_equal(Array::adopt(std::move(owner), address, {12}, bounded(48)).size(), 12);
}

void an_owner_of_memory_that_was_refused_is_still_the_callers(void **) {
    auto values = std::make_unique<float[]>(4);
    float *first = values.get();
    expect_thrown<OverflowError>("", [&] { return Array::adopt(std::move(values), first, {INT64_MAX, INT64_MAX}); });
    assert_ptr_equal(values.get(), first);
}

void a_vector_is_adopted_whole_or_under_a_shape(void **) {
    std::vector<double> values = {0, 1, 2, 3, 4, 5};
    double *first = values.data();
    const Array array = Array::adopt(std::move(values), {2, 3});
    assert_ptr_equal(array.data(), first);
    expect_numbers(array.shape(), {2, 3});
    const Array flat = Array::adopt(std::vector<int>{7, 8});
    expect_numbers(flat.shape(), {2});
    expect_numbers(Array(Array::adopt(std::vector<int>{})).shape(), {0});
}

void a_shape_of_more_elements_than_the_vector_is_refused(void **) {
    std::vector<float> values(6);
    float *first = values.data();
    const char *text = "adopt: shape is {2, 4}; expected at most 6 elements";
    expect_thrown<ShapeError>(text, [&] { return Array::adopt(std::move(values), {2, 4}); });
    expect_thrown<ShapeError>("", [&] { return Array::adopt(std::move(values), {INT64_MAX, INT64_MAX}); });
    expect_thrown<ShapeError>("", [&] { return Array::adopt(std::move(values), {-1, -1}); });
    assert_ptr_equal(values.data(), first);
}

void memory_is_allocated_for_a_type(void **) {
    const Array array = Array::empty<float>({2, 3});
    assert_int_equal(array.dtype(), VIA_FLOAT32);
    const Memory memory = Memory::create(VIA_MEMORY_HOST);
    const Array other = Array::empty<Particle>(memory, {2});
    assert_int_equal(other.nbytes(), 64);
}

void a_record_of_the_size_of_the_struct_has_fields(void **) {
    Particle particles[3] = {{{1, 2, 3}, 4}, {{5, 6, 7}, 8}, {{9, 10, 11}, 12}};
    const Array array = Array::wrap(particles, {3});
    const Array mass = array.field(offsetof(Particle, mass), VIA_FLOAT32);
    const Array position = array.field(0, VIA_FLOAT64, {3});
    assert_ptr_equal(mass.data(), &particles[0].mass);
    expect_numbers(mass.byte_strides(), {sizeof(Particle)});
    expect_numbers(position.shape(), {3, 3});
}

void a_dtype_has_a_name(void **) {
    assert_string_equal(dtype_text(dtype_of<float>).c_str(), "float32");
    assert_string_equal(dtype_text(dtype_of<Particle>).c_str(), "record32");
    assert_string_equal(dtype_text(7).c_str(), "dtype 7");
}

void host_memory_is_allocated_and_counted(void **) {
    const std::int64_t before = count_alive().host_bytes;
    Array array = Array::empty(VIA_FLOAT64, {16, 16});
    assert_true(count_alive().host_bytes >= before + array.nbytes());
    array.reset();
    assert_int_equal(count_alive().host_bytes, before);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        leaving_nothing(a_pointer_is_an_array_of_its_type_at_the_same_address),
        leaving_nothing(a_shape_may_be_a_vector_an_array_or_another_arrays),
        leaving_nothing(a_shape_may_be_of_any_integral_type),
        leaving_nothing(a_number_that_does_not_fit_is_refused_and_not_cut),
        leaving_nothing(an_array_without_axes_has_empty_lists),
        leaving_nothing(const_elements_make_an_array_that_may_not_be_written),
        leaving_nothing(strides_and_flags_are_those_of_the_layout),
        leaving_nothing(as_many_strides_as_extents_are_asked_for),
        leaving_nothing(an_owner_lives_as_long_as_the_last_view),
        leaving_nothing(an_owner_is_found_again_by_its_type_and_by_no_other),
        leaving_nothing(no_element_lies_outside_of_the_bytes_that_the_caller_names),
        leaving_nothing(an_owner_of_memory_that_was_refused_is_still_the_callers),
        leaving_nothing(a_vector_is_adopted_whole_or_under_a_shape),
        leaving_nothing(a_shape_of_more_elements_than_the_vector_is_refused),
        leaving_nothing(memory_is_allocated_for_a_type),
        leaving_nothing(a_record_of_the_size_of_the_struct_has_fields),
        leaving_nothing(a_dtype_has_a_name),
        leaving_nothing(host_memory_is_allocated_and_counted),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
