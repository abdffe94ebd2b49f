// Arrays: span, density and alignment, against every element's own bits.
#include "core/array/array.hpp"

#include <algorithm>
#include <memory>
#include <set>

#include "copy_support.hpp"
#include "core/base/thread_state.hpp"

namespace {

constexpr int32_t kDtypes[] = {VIA_INT8,
                               VIA_INT16,
                               VIA_FLOAT64,
                               VIA_COMPLEX64,
                               -3,
                               -12,
                               VIA_INT4,
                               via::pack_dtype(1, 1, 1),
                               VIA_FLOAT6_E2M3FN,
                               via::pack_dtype(0, 4, 3)};

alignas(64) char memory[4096];

struct Sample {
    int32_t dtype;
    std::vector<int64_t> shape;
    std::vector<int64_t> strides;  // in elements if packed, else in bytes
};

bool is_packed(int32_t dtype) { return via::dtype_bits(dtype) % 8 != 0; }

// Dense in some order of the axes, with the odd step wrong, backwards, or zero.
Sample random_sample(Random *random) {
    Sample made{kDtypes[random->between(0, std::size(kDtypes) - 1)], {}, {}};
    const int64_t ndim = random->between(0, 4);
    std::vector<size_t> order;
    for (int64_t i = 0; i < ndim; ++i) {
        made.shape.push_back(random->chance(12) ? 0 : random->between(1, 3));
        order.insert(order.begin() + random->between(0, i), static_cast<size_t>(i));
    }
    made.strides.resize(made.shape.size());
    int64_t step = is_packed(made.dtype) ? 1 : via::dtype_bits(made.dtype) / 8;
    for (const size_t axis : order) {
        made.strides[axis] = random->chance(10) ? random->between(-9, 9) : random->chance(10) ? -step : step;
        step *= std::max<int64_t>(made.shape[axis], 1);
    }
    return made;
}

std::unique_ptr<Wrapped> wrap(const Sample &sample) {
    return std::make_unique<Wrapped>(memory + 2048, sample.dtype, sample.shape, sample.strides,
                                     is_packed(sample.dtype) ? via::StrideUnit::Elements : via::StrideUnit::Bytes);
}

// The first bit of every element, from the data pointer on, in row-major order.
std::vector<int64_t> first_bits(const Sample &sample) {
    std::vector<int64_t> bits;
    const int64_t unit = is_packed(sample.dtype) ? via::dtype_bits(sample.dtype) : 8;
    for (int64_t number = 0; number < size_of(sample.shape); ++number) {
        int64_t rest = number;
        int64_t at = 0;
        for (size_t i = sample.shape.size(); i-- > 0;) {
            at += rest % sample.shape[i] * sample.strides[i] * unit;
            rest /= sample.shape[i];
        }
        bits.push_back(at);
    }
    return bits;
}

int64_t floor_to_bytes(int64_t bits) { return (bits - (bits % 8 + 8) % 8) / 8; }

void the_span_is_from_the_first_to_the_last_byte_of_any_element(void **) {
    Random random(1);
    for (int round = 0; round < 20000; ++round) {
        const Sample sample = random_sample(&random);
        const auto array = wrap(sample);
        const via::ByteSpan span = via::byte_span(array->get());
        const std::vector<int64_t> bits = first_bits(sample);
        if (bits.empty()) {
            assert_true(span.low == 0 && span.high == 0);
            continue;
        }
        const auto [low, high] = std::minmax_element(bits.begin(), bits.end());
        assert_int_equal(span.low, floor_to_bytes(*low));
        assert_int_equal(span.high, floor_to_bytes(*high + via::dtype_bits(sample.dtype) - 1) + 1);
    }
}

// Row-major: every element starts where the one before ends.
bool is_row_major(const std::vector<int64_t> &bits, int64_t item) {
    for (size_t i = 0; i < bits.size(); ++i) {
        if (bits[i] != static_cast<int64_t>(i) * item) {
            return false;
        }
    }
    return true;
}

Sample reversed(Sample sample) {
    std::reverse(sample.shape.begin(), sample.shape.end());
    std::reverse(sample.strides.begin(), sample.strides.end());
    return sample;
}

void density_is_judged_by_where_the_elements_are(void **) {
    Random random(2);
    int dense = 0;
    for (int round = 0; round < 20000; ++round) {
        const Sample sample = random_sample(&random);
        const auto array = wrap(sample);
        std::vector<int64_t> bits = first_bits(sample);
        const int64_t item = via::dtype_bits(sample.dtype);
        const bool rows = is_row_major(bits, item);
        const bool columns = is_row_major(first_bits(reversed(sample)), item);
        std::sort(bits.begin(), bits.end());
        const bool any = is_row_major(bits, item);
        assert_int_equal(via::is_contiguous(array->get(), VIA_ORDER_ROW_MAJOR), rows);
        assert_int_equal(via::is_contiguous(array->get(), VIA_ORDER_COLUMN_MAJOR), columns);
        assert_int_equal(via::is_contiguous(array->get(), VIA_ORDER_ANY), any);
        assert_int_equal(array->get()->is_row_major, rows && !bits.empty() && !is_packed(sample.dtype));
        dense += any;
    }
    assert_int_in_range(dense, 4000, 19000);
}

void misalignment_is_judged_by_where_the_elements_are(void **) {
    Random random(3);
    for (int round = 0; round < 20000; ++round) {
        const Sample sample = random_sample(&random);
        const int64_t shift = random.between(0, 15);
        const Wrapped array(memory + 2048 + shift, sample.dtype, sample.shape, sample.strides,
                            is_packed(sample.dtype) ? via::StrideUnit::Elements : via::StrideUnit::Bytes);
        const int64_t alignment = via::dtype_alignment(sample.dtype) * 8;
        bool misaligned = false;
        for (const int64_t bits : first_bits(sample)) {
            misaligned |= !is_packed(sample.dtype) && (shift * 8 + bits) % alignment != 0;
        }
        assert_int_equal((array.get()->flags & VIA_ARRAY_MISALIGNED) != 0, misaligned);
    }
}

void strides_are_reported_in_both_units_where_they_are_whole(void **) {
    Random random(4);
    for (int round = 0; round < 20000; ++round) {
        const Sample sample = random_sample(&random);
        const auto array = wrap(sample);
        const int64_t item = via::dtype_bits(sample.dtype);
        bool elements = true;
        bool bytes = true;
        for (size_t i = 0; i < sample.shape.size(); ++i) {
            const int64_t bits = sample.strides[i] * (is_packed(sample.dtype) ? item : 8);
            elements &= bits % item == 0 || sample.shape[i] <= 1;
            bytes &= bits % 8 == 0 || sample.shape[i] <= 1;
        }
        assert_int_equal(array->get()->strides_are_elements, elements);
        assert_int_equal(array->get()->strides_are_bytes, bytes);
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(the_span_is_from_the_first_to_the_last_byte_of_any_element),
        cmocka_unit_test(density_is_judged_by_where_the_elements_are),
        cmocka_unit_test(misalignment_is_judged_by_where_the_elements_are),
        cmocka_unit_test(strides_are_reported_in_both_units_where_they_are_whole),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
