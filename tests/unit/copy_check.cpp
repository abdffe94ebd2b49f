// What cannot be copied is refused by name, and before anything is touched.
#include <limits>
#include <string>
#include "copy/fill.hpp"

#include "copy_support.hpp"
#include "core/system/thread_count.hpp"

namespace {

std::string refusal(via::Status expected, via::Status status) {
    assert_int_equal(status, expected);
    return via::last_error_text();
}

void expect_text(const std::string &text, const char *part) {
    if (text.find(part) == std::string::npos) {
        print_error("'%s' is not in '%s'\n", part, text.c_str());
        assert_true(false);
    }
}

struct Bytes {
    char dst[4096] = {0};
    char src[4096] = {0};
};

void another_dtype_is_refused_with_both_names(void **) {
    Bytes bytes;
    const Wrapped dst(bytes.dst, VIA_FLOAT32, {4});
    const Wrapped src(bytes.src, VIA_INT32, {4});
    const std::string text = refusal(VIA_ERROR_DTYPE, via::copy_array(dst.get(), src.get()));
    expect_text(text, "float32");
    expect_text(text, "int32");
}

void another_shape_is_refused_with_both_shapes(void **) {
    Bytes bytes;
    const Wrapped dst(bytes.dst, VIA_FLOAT32, {4, 5});
    const Wrapped src(bytes.src, VIA_FLOAT32, {5, 4});
    const std::string text = refusal(VIA_ERROR_SHAPE, via::copy_array(dst.get(), src.get()));
    expect_text(text, "(4, 5)");
    expect_text(text, "(5, 4)");
}

void another_rank_is_refused_with_both_ranks(void **) {
    Bytes bytes;
    const Wrapped dst(bytes.dst, VIA_FLOAT32, {});
    const Wrapped src(bytes.src, VIA_FLOAT32, {1});
    const std::string text = refusal(VIA_ERROR_SHAPE, via::copy_array(dst.get(), src.get()));
    expect_text(text, "ndim 0 and shape ()");
    expect_text(text, "ndim 1 and shape (1)");
}

void the_longest_shape_is_reported_whole(void **) {
    std::vector<int64_t> shape(64, 1);
    shape[0] = std::numeric_limits<int64_t>::max();
    std::vector<int64_t> steps(64, 0);
    Bytes bytes;
    const Wrapped dst(bytes.dst, VIA_UINT8, shape, steps);
    shape[63] = 0;
    const Wrapped src(bytes.src, VIA_UINT8, shape, steps);
    const std::string text = refusal(VIA_ERROR_SHAPE, via::copy_array(dst.get(), src.get()));
    expect_text(text, "shape (9223372036854775807, 1, ");
    expect_text(text, " 1, 0); expected");
    expect_text(text, " 1, 1)");
}

void a_read_only_destination_is_refused(void **) {
    Bytes bytes;
    const Wrapped dst(bytes.dst, VIA_FLOAT32, {4}, {4}, via::StrideUnit::Bytes, VIA_ARRAY_READ_ONLY);
    const Wrapped empty(nullptr, VIA_FLOAT32, {0}, {4}, via::StrideUnit::Bytes, VIA_ARRAY_READ_ONLY);
    const Wrapped src(bytes.src, VIA_FLOAT32, {4});
    expect_text(refusal(VIA_ERROR_READ_ONLY, via::copy_array(dst.get(), src.get())), "dst is read-only");
    expect_text(refusal(VIA_ERROR_READ_ONLY, via::fill_array(dst.get(), nullptr)), "dst is read-only");
    expect_text(refusal(VIA_ERROR_READ_ONLY, via::copy_array(empty.get(), empty.get())), "dst is read-only");
    assert_int_equal(via::copy_array(Wrapped(bytes.dst + 64, VIA_FLOAT32, {4}).get(), dst.get()), VIA_OK);
}

void a_negative_count_of_bytes_is_refused(void **) {
    Bytes bytes;
    expect_text(refusal(VIA_ERROR_INVALID_ARGUMENT, via::copy_bytes(bytes.dst, bytes.src, -1, nullptr)),
                "nbytes is -1");
}

void bytes_that_overlap_are_refused_in_both_directions(void **) {
    Bytes bytes;
    expect_text(refusal(VIA_ERROR_OVERLAP, via::copy_bytes(bytes.dst, bytes.dst + 9, 10, nullptr)), "shares bytes");
    expect_text(refusal(VIA_ERROR_OVERLAP, via::copy_bytes(bytes.dst + 9, bytes.dst, 10, nullptr)), "shares bytes");
    assert_int_equal(via::copy_bytes(bytes.dst + 10, bytes.dst, 10, nullptr), VIA_OK);
}

void a_refused_copy_touches_nothing(void **) {
    Bytes bytes;
    bytes.src[0] = 7;
    const Wrapped dst(bytes.dst, VIA_UINT8, {2, 2}, {0, 1});
    const Wrapped src(bytes.src, VIA_UINT8, {2, 2});
    expect_text(refusal(VIA_ERROR_OVERLAP, via::copy_array(dst.get(), src.get())), "stride 0");
    assert_int_equal(bytes.dst[0], 0);
}

void a_thread_count_out_of_range_is_refused(void **) {
    expect_text(refusal(VIA_ERROR_INVALID_ARGUMENT, via::set_num_threads(-1)), "count is -1");
    expect_text(refusal(VIA_ERROR_INVALID_ARGUMENT, via::set_num_threads(1025)), "count is 1025");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(another_dtype_is_refused_with_both_names),
        cmocka_unit_test(another_shape_is_refused_with_both_shapes),
        cmocka_unit_test(another_rank_is_refused_with_both_ranks),
        cmocka_unit_test(the_longest_shape_is_reported_whole),
        cmocka_unit_test(a_read_only_destination_is_refused),
        cmocka_unit_test(a_negative_count_of_bytes_is_refused),
        cmocka_unit_test(bytes_that_overlap_are_refused_in_both_directions),
        cmocka_unit_test(a_refused_copy_touches_nothing),
        cmocka_unit_test(a_thread_count_out_of_range_is_refused),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
