// Elements narrower than a byte: copied and filled in any layout.
#include "copy/copy_plan.hpp"
#include "copy/fill.hpp"
#include "copy/normalise.hpp"
#include "copy/plan.hpp"
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

void row_major_becomes_column_major_and_back(void **) {
    std::vector<char> rows = {0x21, 0x43, 0x65};  // 1 2 3 / 4 5 6
    std::vector<char> columns(3);
    std::vector<char> back(3);
    const Wrapped row_major(rows.data(), VIA_INT4, {2, 3});
    const Wrapped column_major(columns.data(), VIA_INT4, {2, 3}, {1, 2}, kElements);
    const Wrapped again(back.data(), VIA_INT4, {2, 3});
    assert_int_equal(via::copy_array(column_major.get(), row_major.get()), VIA_OK);
    assert_memory_equal(columns.data(), "\x41\x52\x63", 3);
    assert_int_equal(via::copy_array(again.get(), column_major.get()), VIA_OK);
    assert_memory_equal(back.data(), rows.data(), 3);
}

// An array of packed elements somewhere in a buffer, and the places of its elements in bits.
struct PackedLayout {
    std::vector<int64_t> strides;  // in elements
    int64_t first;                 // bytes before the first element
};

// Axes in any order, with gaps, some of them backwards; of a source also some that stand still.
PackedLayout random_packed(Random *random, const std::vector<int64_t> &shape, int64_t item_bits, bool may_repeat) {
    std::vector<size_t> order(shape.size());
    for (size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
        std::swap(order[i], order[static_cast<size_t>(random->between(0, static_cast<int64_t>(i)))]);
    }
    PackedLayout layout{std::vector<int64_t>(shape.size()), 0};
    int64_t step = random->between(0, 3) == 0 ? random->between(1, 4) : 1;
    int64_t behind = 0;
    for (const size_t axis : order) {
        const bool repeats = may_repeat && random->between(0, 5) == 0;
        const bool is_backwards = random->between(0, 3) == 0;
        layout.strides[axis] = repeats ? 0 : is_backwards ? -step : step;
        behind += is_backwards && !repeats ? step * (shape[axis] - 1) : 0;
        step *= shape[axis];
        step += random->between(0, 2) == 0 ? random->between(0, 5) : 0;
    }
    layout.first = (behind * item_bits + 7) / 8;
    return layout;
}

// Calls `see` with the bits at which each element begins in both.
template <class See>
void for_each_element(const std::vector<int64_t> &shape, const PackedLayout &dst, const PackedLayout &src,
                      int64_t item_bits, See see) {
    std::vector<int64_t> index(shape.size());
    for (size_t axis = 0; axis < shape.size();) {
        int64_t to = dst.first * 8;
        int64_t from = src.first * 8;
        for (size_t i = 0; i < shape.size(); ++i) {
            to += index[i] * dst.strides[i] * item_bits;
            from += index[i] * src.strides[i] * item_bits;
        }
        see(to, from);
        for (axis = 0; axis < shape.size() && ++index[axis] == shape[axis]; ++axis) {
            index[axis] = 0;
        }
    }
}

// Elements 6 to 3, backwards: neither end of the run is one of a byte.
void a_run_inside_bytes_is_not_one_of_whole_bytes(void **) {
    char src[8] = {0};
    char dst[8] = {0};
    const Wrapped dst_array(dst + 3, VIA_UINT4, {4}, {-1}, kElements);
    const Wrapped src_array(src + 3, VIA_UINT4, {4}, {-1}, kElements);
    via::Plan plan;
    via::cuda::Transfer transfer{};
    assert_int_equal(via::normalise_copy(dst_array.get(), src_array.get(), &plan), VIA_OK);
    assert_true(plan.in_bits && plan.ndim == 0);
    assert_false(via::is_adjacent(plan));
    assert_int_equal(via::make_transfer(plan, dst_array.get(), src_array.get(), via::Ask::Never, &transfer), VIA_OK);
    assert_int_equal(transfer.nbytes, 2);
}

enum class How { Now, Task };

void copy_as(via_array *dst, via_array *src, How how) {
    if (how == How::Now) {
        assert_int_equal(via::copy_array(dst, src), VIA_OK);
        return;
    }
    via_task *task = nullptr;
    assert_int_equal(via_copy_submit(dst, src, nullptr, &task), VIA_OK);
    assert_int_equal(via_task_wait(task), VIA_OK);
    via_task_release(task);
}

struct Elements {
    int32_t dtype;
    int64_t item_bits;
    std::vector<int64_t> shape;
};

Elements random_elements(Random *random) {
    const int32_t dtype = kPacked[random->between(0, std::size(kPacked) - 1)];
    std::vector<int64_t> shape(static_cast<size_t>(random->between(1, 4)));
    for (int64_t &extent : shape) {
        extent = random->between(1, 7);
    }
    return {dtype, via::dtype_bits(dtype), shape};
}

void put_bits(const std::vector<char> &from, int64_t first, int64_t count, int64_t at, std::vector<char> *to) {
    for (int64_t i = 0; i < count; ++i) {
        char &byte = (*to)[static_cast<size_t>((at + i) / 8)];
        byte = static_cast<char>((byte & ~(1 << (at + i) % 8)) | bit(from, first + i) << (at + i) % 8);
    }
}

void any_layout_is_copied_as_bit_by_bit_and_nothing_else_is_written(void **) {
    constexpr size_t kBytes = 1 << 15;  // more than any of the layouts reaches
    Random random(35);
    int32_t in_bits = 0;
    for (int32_t round = 0; round < 2000; ++round) {
        const Elements drawn = random_elements(&random);
        const auto &shape = drawn.shape;
        const int64_t item_bits = drawn.item_bits;
        const PackedLayout to = random_packed(&random, shape, item_bits, false);
        const PackedLayout from = random_packed(&random, shape, item_bits, true);
        std::vector<char> dst(kBytes);
        std::vector<char> src(kBytes);
        random.fill(&dst);
        random.fill(&src);
        std::vector<char> expected = dst;
        for_each_element(shape, to, from, item_bits,
                         [&](int64_t at, int64_t given) { put_bits(src, given, item_bits, at, &expected); });
        const Wrapped dst_array(dst.data() + to.first, drawn.dtype, shape, to.strides, kElements);
        const Wrapped src_array(src.data() + from.first, drawn.dtype, shape, from.strides, kElements);
        via::Plan plan;
        assert_int_equal(via::normalise_copy(dst_array.get(), src_array.get(), &plan), VIA_OK);
        in_bits += plan.in_bits ? 1 : 0;
        copy_as(dst_array.get(), src_array.get(), round % 8 == 0 ? How::Task : How::Now);
        assert_memory_equal(dst.data(), expected.data(), kBytes);
    }
    assert_true(in_bits > 500);
}

void any_layout_is_filled_as_bit_by_bit_and_nothing_else_is_written(void **) {
    constexpr size_t kBytes = 1 << 15;
    Random random(37);
    for (int32_t round = 0; round < 2000; ++round) {
        const Elements drawn = random_elements(&random);
        const auto &shape = drawn.shape;
        const int64_t item_bits = drawn.item_bits;
        const PackedLayout to = random_packed(&random, shape, item_bits, false);
        std::vector<char> element(64);
        std::vector<char> dst(kBytes);
        random.fill(&element);
        random.fill(&dst);
        if (round % 4 == 0) {
            std::fill(element.begin(), element.end(), char{0});
        }
        std::vector<char> expected = dst;
        for_each_element(shape, to, to, item_bits,
                         [&](int64_t at, int64_t) { put_bits(element, 0, item_bits, at, &expected); });
        const Wrapped dst_array(dst.data() + to.first, drawn.dtype, shape, to.strides, kElements);
        const void *given = round % 8 == 0 ? nullptr : element.data();
        assert_int_equal(via::fill_array(dst_array.get(), given), VIA_OK);
        assert_memory_equal(dst.data(), expected.data(), kBytes);
    }
}

void a_large_copy_in_bits_goes_by_the_piece(void **) {
    constexpr int64_t kRows = 3001;
    constexpr int64_t kColumns = 9001;
    std::vector<char> src(kRows * kColumns / 2 + 1);
    std::vector<char> dst(src.size());
    Random(36).fill(&src);
    const Wrapped dst_array(dst.data(), VIA_UINT4, {kRows, kColumns}, {1, kRows}, kElements);
    const Wrapped src_array(src.data(), VIA_UINT4, {kRows, kColumns});
    copy_as(dst_array.get(), src_array.get(), How::Task);
    for (int64_t i = 0; i < kRows * kColumns; i += 1009) {
        const int64_t at = i / kColumns + i % kColumns * kRows;
        assert_int_equal(dst[static_cast<size_t>(at / 2)] >> (at % 2 * 4) & 15,
                         src[static_cast<size_t>(i / 2)] >> (i % 2 * 4) & 15);
    }
}

void elements_that_share_bits_overlap_and_those_that_share_bytes_do_not(void **) {
    std::vector<char> bytes = {0x21, 0x43, 0x65, 0x07, 0x00, 0x00};
    // Columns 0 and 2 of 2 rows of 3 elements: element 2 lies in a byte with element 3, which is of column 0.
    const Wrapped first(bytes.data(), VIA_INT4, {2}, {3}, kElements);
    const Wrapped third(bytes.data() + 1, VIA_INT4, {2}, {3}, kElements);
    assert_int_equal(via::copy_array(first.get(), third.get()), VIA_OK);
    assert_int_equal(bytes[0], 0x23);
    assert_int_equal(bytes[1], 0x63);
    const std::vector<char> before = bytes;
    const Wrapped whole(bytes.data(), VIA_INT4, {2, 3});
    const Wrapped transposed(bytes.data(), VIA_INT4, {2, 3}, {1, 2}, kElements);
    const Wrapped folded(bytes.data(), VIA_INT4, {2, 3}, {1, 1}, kElements);
    const Wrapped other(bytes.data() + 3, VIA_INT4, {2, 3});
    assert_int_equal(via::copy_array(transposed.get(), whole.get()), VIA_ERROR_OVERLAP);
    assert_int_equal(via::copy_array(folded.get(), other.get()), VIA_ERROR_OVERLAP);
    assert_memory_equal(bytes.data(), before.data(), bytes.size());
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
        cmocka_unit_test(row_major_becomes_column_major_and_back),
        cmocka_unit_test(a_run_inside_bytes_is_not_one_of_whole_bytes),
        cmocka_unit_test(any_layout_is_copied_as_bit_by_bit_and_nothing_else_is_written),
        cmocka_unit_test(any_layout_is_filled_as_bit_by_bit_and_nothing_else_is_written),
        cmocka_unit_test(a_large_copy_in_bits_goes_by_the_piece),
        cmocka_unit_test(elements_that_share_bits_overlap_and_those_that_share_bytes_do_not),
        cmocka_unit_test(padded_elements_copy_like_bytes),
        cmocka_unit_test(packed_and_padded_do_not_mix),
        cmocka_unit_test(packed_arrays_that_share_their_last_byte_overlap),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
