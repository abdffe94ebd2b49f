// Elements narrower than a byte: copied and filled where they come in whole bytes, refused by name elsewhere.
#include "copy_support.hpp"

namespace {

constexpr auto kElements = via::StrideUnit::Elements;

int bit(const std::vector<char> &bytes, int64_t index) {
    return (bytes[static_cast<size_t>(index / 8)] >> (index % 8)) & 1;
}

// Bits up to `bits` are the source's (repeated every `period`), those after it what they were.
void expect_bits(const std::vector<char> &dst, const std::vector<char> &before, const std::vector<char> &src,
                 int64_t bits, int64_t period) {
    for (int64_t i = 0; i < static_cast<int64_t>(dst.size()) * 8; ++i) {
        assert_int_equal(bit(dst, i), i < bits ? bit(src, i % period) : bit(before, i));
    }
}

constexpr int32_t kPacked[] = {VIA_INT4,   VIA_UINT4,  VIA_FLOAT6_E2M3FN, VIA_FLOAT4_E2M1FN,
                               0x00010100, 0x00010201, 0x00030400};

void a_dense_copy_keeps_the_bits_behind_the_last_element(void **) {
    Random random(31);
    for (const int32_t dtype : kPacked) {
        for (int64_t size = 1; size < 40; ++size) {
            std::vector<char> src(80);
            std::vector<char> dst(80);
            random.fill(&src);
            random.fill(&dst);
            const std::vector<char> before = dst;
            const Wrapped dst_array(dst.data(), dtype, {size});
            const Wrapped src_array(src.data(), dtype, {size});
            assert_int_equal(via::copy_array(dst_array.get(), src_array.get()), VIA_OK);
            expect_bits(dst, before, src, size * via::dtype_bits(dtype), 640);
        }
    }
}

void a_dense_fill_keeps_the_bits_behind_the_last_element(void **) {
    Random random(32);
    for (const int32_t dtype : kPacked) {
        for (int64_t size = 1; size < 40; ++size) {
            std::vector<char> element(8);
            std::vector<char> dst(80);
            random.fill(&element);
            random.fill(&dst);
            const std::vector<char> before = dst;
            const Wrapped array(dst.data(), dtype, {size});
            assert_int_equal(via::fill_array(array.get(), element.data()), VIA_OK);
            expect_bits(dst, before, element, size * via::dtype_bits(dtype), via::dtype_bits(dtype));
            assert_int_equal(via::fill_array(array.get(), nullptr), VIA_OK);
            expect_bits(dst, before, std::vector<char>(8), size * via::dtype_bits(dtype), 8);
        }
    }
}

void rows_of_whole_bytes_copy_and_fill_in_any_order(void **) {
    std::vector<char> src(64);
    std::vector<char> dst(64);
    Random(33).fill(&src);
    // 4 rows of 6 elements: 3 bytes each, 5 apart in dst, backwards in src.
    const Wrapped dst_array(dst.data(), VIA_UINT4, {4, 6}, {10, 1}, kElements);
    const Wrapped src_array(src.data() + 40, VIA_UINT4, {4, 6}, {-8, 1}, kElements);
    assert_int_equal(via::copy_array(dst_array.get(), src_array.get()), VIA_OK);
    for (size_t row = 0; row < 4; ++row) {
        assert_memory_equal(dst.data() + row * 5, src.data() + 40 - row * 4, 3);
        assert_int_equal(dst[row * 5 + 3], 0);
    }
    const char element = 0x05;
    assert_int_equal(via::fill_array(dst_array.get(), &element), VIA_OK);
    assert_int_equal(dst[7], 0x55);
    assert_int_equal(dst[8], 0);
}

void a_broadcast_of_whole_bytes_copies(void **) {
    std::vector<char> src = {0x12, 0x34};
    std::vector<char> dst(6);
    const Wrapped dst_array(dst.data(), VIA_INT4, {3, 4});
    const Wrapped src_array(src.data(), VIA_INT4, {3, 4}, {0, 1}, kElements);
    assert_int_equal(via::copy_array(dst_array.get(), src_array.get()), VIA_OK);
    assert_memory_equal(dst.data() + 4, src.data(), 2);
}

void parts_of_bytes_are_refused_and_nothing_is_touched(void **) {
    std::vector<char> src(16, 1);
    std::vector<char> dst(16);
    const Wrapped dense(src.data(), VIA_INT4, {3, 3});
    const Wrapped transposed(dst.data(), VIA_INT4, {3, 3}, {1, 3}, kElements);
    const Wrapped odd_rows(dst.data(), VIA_INT4, {3, 3}, {4, 1}, kElements);
    const Wrapped odd_steps(dst.data(), VIA_INT4, {3, 2}, {3, 1}, kElements);
    const Wrapped pairs(src.data(), VIA_INT4, {3, 2}, {4, 1}, kElements);
    assert_int_equal(via::copy_array(transposed.get(), dense.get()), VIA_ERROR_UNSUPPORTED);
    assert_int_equal(via::copy_array(odd_rows.get(), dense.get()), VIA_ERROR_UNSUPPORTED);
    assert_int_equal(via::copy_array(odd_steps.get(), pairs.get()), VIA_ERROR_UNSUPPORTED);
    assert_int_equal(via::fill_array(odd_rows.get(), nullptr), VIA_ERROR_UNSUPPORTED);
    assert_int_equal(via::fill_array(odd_steps.get(), nullptr), VIA_ERROR_UNSUPPORTED);
    assert_non_null(strstr(via::last_error_text(), "whole bytes"));
    assert_memory_equal(dst.data(), std::vector<char>(16).data(), 16);
}

void padded_elements_copy_like_bytes(void **) {
    std::vector<char> src(16);
    std::vector<char> dst(16);
    Random(34).fill(&src);
    const Wrapped dst_array(dst.data(), VIA_INT4, {3, 5}, {1, 3}, via::StrideUnit::Bytes, VIA_ARRAY_SUBBYTE_PADDED);
    const Wrapped src_array(src.data(), VIA_INT4, {3, 5}, {5, 1}, via::StrideUnit::Bytes, VIA_ARRAY_SUBBYTE_PADDED);
    assert_int_equal(via::copy_array(dst_array.get(), src_array.get()), VIA_OK);
    assert_int_equal(dst[3], src[1]);
    assert_int_equal(dst[1], src[5]);
}

void packed_and_padded_do_not_mix(void **) {
    char bytes[64] = {0};
    const Wrapped padded(bytes, VIA_INT4, {4}, {1}, via::StrideUnit::Bytes, VIA_ARRAY_SUBBYTE_PADDED);
    const Wrapped packed(bytes + 32, VIA_INT4, {4});
    assert_int_equal(via::copy_array(padded.get(), packed.get()), VIA_ERROR_UNSUPPORTED);
    assert_non_null(strstr(via::last_error_text(), "dst has padded and src packed elements of int4"));
    assert_int_equal(via::copy_array(packed.get(), padded.get()), VIA_ERROR_UNSUPPORTED);
}

void packed_arrays_that_share_their_last_byte_overlap(void **) {
    char bytes[16] = {0};
    const Wrapped dst(bytes, VIA_INT4, {3});
    const Wrapped src(bytes + 1, VIA_INT4, {3});
    const Wrapped behind(bytes + 2, VIA_INT4, {3});
    assert_int_equal(via::copy_array(dst.get(), src.get()), VIA_ERROR_OVERLAP);
    assert_int_equal(via::copy_array(dst.get(), behind.get()), VIA_OK);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_dense_copy_keeps_the_bits_behind_the_last_element),
        cmocka_unit_test(a_dense_fill_keeps_the_bits_behind_the_last_element),
        cmocka_unit_test(rows_of_whole_bytes_copy_and_fill_in_any_order),
        cmocka_unit_test(a_broadcast_of_whole_bytes_copies),
        cmocka_unit_test(parts_of_bytes_are_refused_and_nothing_is_touched),
        cmocka_unit_test(padded_elements_copy_like_bytes),
        cmocka_unit_test(packed_and_padded_do_not_mix),
        cmocka_unit_test(packed_arrays_that_share_their_last_byte_overlap),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
