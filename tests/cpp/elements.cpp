// Host arrays as spans of C++ types.
#include <vector>

#include "support.hpp"

using namespace viaduct;

namespace {

float values[6] = {0, 1, 2, 3, 4, 5};

void a_dense_array_is_a_span_of_its_type(void **) {
    const Array array = Array::wrap(values, {2, 3});
    const Span<float> span = elements<float>(array);
    assert_ptr_equal(span.data(), values);
    assert_int_equal(span.size(), 6);
    float sum = 0;
    for (const float each : span) {
        sum += each;
    }
    assert_true(sum == 15 && span.front() == 0 && span.back() == 5 && !span.empty());
}

void another_type_is_refused(void **) {
    const Array array = Array::wrap(values, {6});
    const char *text = "elements: array has dtype float32; expected float64, that of the C++ type";
    expect_thrown<DTypeError>(text, [&] { return elements<double>(array); });
    expect_thrown<DTypeError>("dtype", [&] { return elements<std::int32_t>(array); });
}

void an_array_that_may_not_be_written_is_a_span_of_const(void **) {
    const Array array = Array::wrap(values, {6}).as_read_only();
    expect_thrown<ReadOnlyError>("const", [&] { return elements<float>(array); });
    assert_ptr_equal(elements<const float>(array).data(), values);
}

void what_has_gaps_is_refused(void **) {
    const Array array = Array::wrap(values, {2, 2}, {{3, 1}});
    expect_thrown<NeedsCopyError>("row-major", [&] { return elements<float>(array); });
}

void what_is_off_its_alignment_is_refused(void **) {
    alignas(8) unsigned char bytes[16] = {};
    const Array array = Array::wrap_as(VIA_FLOAT32, bytes + 1, {2});
    expect_thrown<NeedsCopyError>("alignment", [&] { return elements<float>(array); });
}

#if defined(__cpp_lib_mdspan)

void strides_are_kept_by_an_mdspan(void **) {
    const Array array = Array::wrap(values, {2, 3}).permute();
    const StridedSpan<float, 2> span = strided_elements<float, 2>(array);
    assert_int_equal(span.extent(0), 3);
    assert_int_equal(span.stride(1), 3);
    assert_true((span[2, 1] == 5));
}

void a_stride_that_is_never_taken_may_be_any(void **) {
    const Array row = Array::wrap(values, {3}).broadcast({1, 3});
    assert_true((strided_elements<const float, 2>(row)[0, 2] == 2));
    const Array backwards = Array::wrap(values, {1, 3}, {{-3, 1}});
    assert_true((strided_elements<float, 2>(backwards)[0, 2] == 2));
    const Array none = Array::wrap(values, {1, 3}).broadcast({0, 3});
    assert_int_equal((strided_elements<const float, 2>(none).size()), 0);
}

void an_mdspan_of_another_rank_or_of_strides_it_cannot_have_is_refused(void **) {
    const Array array = Array::wrap(values, {2, 3});
    expect_thrown<ShapeError>("dimensions", [&] { return strided_elements<float, 1>(array); });
    const Array backwards = array.slice({0, 2}, {}, {1, -1});
    expect_thrown<NeedsCopyError>("stride", [&] { return strided_elements<float, 2>(backwards); });
}

#endif

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        leaving_nothing(a_dense_array_is_a_span_of_its_type),
        leaving_nothing(another_type_is_refused),
        leaving_nothing(an_array_that_may_not_be_written_is_a_span_of_const),
        leaving_nothing(what_has_gaps_is_refused),
        leaving_nothing(what_is_off_its_alignment_is_refused),
#if defined(__cpp_lib_mdspan)
        leaving_nothing(strides_are_kept_by_an_mdspan),
        leaving_nothing(a_stride_that_is_never_taken_may_be_any),
        leaving_nothing(an_mdspan_of_another_rank_or_of_strides_it_cannot_have_is_refused),
#endif
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
