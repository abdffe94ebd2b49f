// The conversions of every instruction set: the same bits, and the nearest number of every narrow float.
#include "copy/convert/convert_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "copy/convert/convert_host.hpp"
#include "copy/host/host_kernels.hpp"
#include "copy_support.hpp"

namespace {

using via::ElementConversion;
using via::RunConverter;
using via::ScalarKind;

constexpr int64_t kCount = 2049;  // vectors of any size, and a rest

ScalarKind kind_at(int32_t number) { return static_cast<ScalarKind>(number); }

// Random bits, and what floats are odd at.
std::vector<char> random_elements(int32_t bytes, std::mt19937_64 *random) {
    std::vector<char> elements(static_cast<size_t>(kCount * bytes));
    std::generate(elements.begin(), elements.end(), [&] { return static_cast<char>((*random)()); });
    for (size_t at = 0; at < elements.size(); at += 7 * static_cast<size_t>(bytes)) {
        std::memset(elements.data() + at, at % 2 == 0 ? 0 : 0x7F, static_cast<size_t>(bytes));
    }
    return elements;
}

std::vector<char> through(const via::ConvertKernels &kernels, ScalarKind dst, ScalarKind src,
                          const std::vector<char> &elements, bool saturates) {
    std::vector<char> wide(kCount * 8);
    std::vector<char> result(static_cast<size_t>(kCount * bytes_of(dst)));
    kernels.decode[static_cast<int32_t>(src)](wide.data(), elements.data(), kCount);
    kernels.encode[static_cast<int32_t>(wide_of(src))][static_cast<int32_t>(dst)](result.data(), wide.data(), kCount,
                                                                                  saturates);
    return result;
}

void every_instruction_set_makes_the_same_bits(void **) {
    std::mt19937_64 random(1);
    for (int32_t from = 0; from < via::kScalarKinds; ++from) {
        const std::vector<char> elements = random_elements(bytes_of(kind_at(from)), &random);
        for (int32_t to = 0; to < via::kScalarKinds; ++to) {
            const bool saturates = (from + to) % 2 == 0;
            const auto base = through(via::base_conversions, kind_at(to), kind_at(from), elements, saturates);
            for (int level = 1; level < via::kSimdLevels; ++level) {
                if (const via::ConvertKernels *kernels = via::convert_kernels_at(level); kernels != nullptr) {
                    assert_true(through(*kernels, kind_at(to), kind_at(from), elements, saturates) == base);
                }
            }
        }
    }
}

std::vector<char> scaled_by(const via::ConvertKernels &kernels, const std::vector<char> &elements, bool by_number) {
    std::vector<float> numbers(2 * kCount);
    for (size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] = static_cast<float>(i % 97) / 7 - 5;
    }
    std::vector<char> result(elements.size());
    kernels.affine(result.data(), elements.data(), kCount, numbers.data(), numbers.data() + kCount, by_number);
    return result;
}

std::vector<char> swapped_by(const via::ConvertKernels &kernels, const std::vector<char> &elements, int32_t size) {
    std::vector<char> result(elements.size());
    kernels.swap[size](result.data(), elements.data(), kCount);
    return result;
}

void every_instruction_set_scales_and_swaps_alike(void **) {
    std::mt19937_64 random(3);
    for (int level = 0; level < via::kSimdLevels; ++level) {
        const via::ConvertKernels *kernels = via::convert_kernels_at(level);
        for (int32_t size = 0; kernels != nullptr && size < 3; ++size) {
            std::vector<char> elements = random_elements(2 << size, &random);
            const std::vector<char> swapped = swapped_by(*kernels, elements, size);
            assert_true(swapped == swapped_by(via::base_conversions, elements, size));
            for (auto at = elements.begin(); at != elements.end(); at += 2 << size) {
                std::reverse(at, at + (2 << size));
            }
            assert_true(swapped == elements);
        }
        for (const bool by_number : {false, true}) {
            const std::vector<char> elements = random_elements(4, &random);
            assert_true(kernels == nullptr || scaled_by(*kernels, elements, by_number) ==
                                                  scaled_by(via::base_conversions, elements, by_number));
        }
    }
}

// One rounding would leave 2^-24.
void a_scale_and_an_offset_round_twice(void **) {
    const std::vector<float> number(kCount, 1 + 0x1p-12F);
    const float offset = -(1 + 0x1p-11F);
    for (int level = 0; level < via::kSimdLevels; ++level) {
        if (const via::ConvertKernels *kernels = via::convert_kernels_at(level); kernels != nullptr) {
            std::vector<float> result(kCount, 1);
            kernels->affine(result.data(), number.data(), kCount, number.data(), &offset, false);
            assert_true(std::all_of(result.begin(), result.end(), [](float each) { return each == 0; }));
        }
    }
}

struct alignas(64) Line {
    char bytes[64];
};

void a_pair_in_one_step_makes_the_bits_of_two(void **) {
    std::mt19937_64 random(2);
    for (int level = 0; level < via::kSimdLevels; ++level) {
        const via::ConvertKernels *kernels = via::convert_kernels_at(level);
        for (int32_t pair = 0; kernels != nullptr && pair < via::kScalarKinds * via::kScalarKinds; ++pair) {
            const ScalarKind to = kind_at(pair / via::kScalarKinds);
            const ScalarKind from = kind_at(pair % via::kScalarKinds);
            const via::DirectRuns direct = kernels->direct(to, from);
            if (direct.run != nullptr) {
                const std::vector<char> elements = random_elements(bytes_of(from), &random);
                const std::vector<char> wanted = through(*kernels, to, from, elements, false);
                std::vector<char> result(wanted.size());
                direct.run(result.data(), elements.data(), kCount, false);
                assert_true(result == wanted);
                std::vector<Line> lines(wanted.size() / sizeof(Line) + 1);
                direct.run_streaming(lines.data(), elements.data(), kCount, false);
                via::end_streaming();
                assert_memory_equal(lines.data(), wanted.data(), wanted.size());
            }
        }
    }
}

// What the numbers of a format are, by its definition.
struct Format {
    ScalarKind kind;
    int exponent_bits;
    int mantissa_bits;
    int bias;
    int codes;       // positive finite ones, with zero
    bool overflows;  // to infinity or NaN; otherwise to the largest
};

constexpr Format kFormats[] = {
    {ScalarKind::Float8E3M4, 3, 4, 3, 0x70, true},         {ScalarKind::Float8E4M3, 4, 3, 7, 0x78, true},
    {ScalarKind::Float8E4M3B11FNUZ, 4, 3, 11, 0x80, true}, {ScalarKind::Float8E4M3FN, 4, 3, 7, 0x7F, true},
    {ScalarKind::Float8E4M3FNUZ, 4, 3, 8, 0x80, true},     {ScalarKind::Float8E5M2, 5, 2, 15, 0x7C, true},
    {ScalarKind::Float8E5M2FNUZ, 5, 2, 16, 0x80, true},    {ScalarKind::Float6E2M3FN, 2, 3, 1, 0x20, false},
    {ScalarKind::Float6E3M2FN, 3, 2, 3, 0x20, false},      {ScalarKind::Float4E2M1FN, 2, 1, 1, 0x08, false},
};

double value_of(const Format &format, int code) {
    const int exponent = code >> format.mantissa_bits;
    const int mantissa = code & ((1 << format.mantissa_bits) - 1);
    return exponent == 0
               ? std::ldexp(mantissa, 1 - format.bias - format.mantissa_bits)
               : std::ldexp((1 << format.mantissa_bits) + mantissa, exponent - format.bias - format.mantissa_bits);
}

// The nearest code, the even one of two that are equally near; format.codes where that would be the next one.
int nearest(const Format &format, double value) {
    if (value >= value_of(format, format.codes)) {
        return format.codes;
    }
    int best = 0;
    for (int code = 1; code <= format.codes; ++code) {
        const double next = std::fabs(value - value_of(format, code));
        const double so_far = std::fabs(value - value_of(format, best));
        best = next < so_far || (next == so_far && code % 2 == 0) ? code : best;
    }
    return best;
}

template <class Float>
std::vector<Float> numbers_around(const Format &format) {
    std::vector<Float> numbers = {0, 1e-30F, std::numeric_limits<Float>::max(), std::numeric_limits<Float>::infinity()};
    for (int code = 0; code < format.codes; ++code) {
        const double low = value_of(format, code);
        const double high = value_of(format, code + 1);
        for (const double at : {low, low + (high - low) / 4, (low + high) / 2, low + (high - low) * 3 / 4}) {
            const auto number = static_cast<Float>(at);
            numbers.insert(numbers.end(), {number, std::nextafter(number, Float{0}),
                                           std::nextafter(number, std::numeric_limits<Float>::max())});
        }
    }
    return numbers;
}

template <class Float>
void check_rounding(const Format &format, ScalarKind source, bool saturates) {
    const std::vector<Float> numbers = numbers_around<Float>(format);
    std::vector<uint8_t> found(numbers.size());
    const RunConverter converter(ElementConversion{format.kind, source, 0, saturates});
    converter.run(reinterpret_cast<char *>(found.data()), reinterpret_cast<const char *>(numbers.data()),
                  static_cast<int64_t>(numbers.size()));
    for (size_t i = 0; i < numbers.size(); ++i) {
        const int code = nearest(format, static_cast<double>(numbers[i]));
        const bool is_over = code == format.codes || std::isinf(numbers[i]);
        if (!is_over) {
            assert_int_equal(found[i], code);
        } else if (saturates || !format.overflows) {
            assert_int_equal(found[i], format.codes - 1);
        } else {
            assert_true(found[i] >= format.codes);
        }
    }
}

void narrow_floats_are_the_nearest_ones(void **) {
    for (const Format &format : kFormats) {
        for (const bool saturates : {false, true}) {
            check_rounding<float>(format, ScalarKind::Float32, saturates);
            check_rounding<double>(format, ScalarKind::Float64, saturates);
        }
    }
}

void narrow_floats_have_the_values_of_their_definition(void **) {
    for (const Format &format : kFormats) {
        const RunConverter converter(ElementConversion{ScalarKind::Float64, format.kind, 0, false});
        const int sign = 1 << (format.exponent_bits + format.mantissa_bits);
        for (int code = 1; code < format.codes; ++code) {
            const uint8_t codes[2] = {static_cast<uint8_t>(code), static_cast<uint8_t>(code | sign)};
            double values[2];
            converter.run(reinterpret_cast<char *>(values), reinterpret_cast<const char *>(codes), 2);
            assert_true(values[0] == value_of(format, code));
            assert_true(values[1] == -values[0]);
        }
    }
}

void integers_of_four_bits_have_a_sign_or_none(void **) {
    uint8_t codes[256];
    int32_t found[256];
    for (int i = 0; i < 256; ++i) {
        codes[i] = static_cast<uint8_t>(i);
    }
    for (const bool is_signed : {false, true}) {
        const ScalarKind kind = is_signed ? ScalarKind::Int4 : ScalarKind::UInt4;
        RunConverter({ScalarKind::Int32, kind, 0, false})
            .run(reinterpret_cast<char *>(found), reinterpret_cast<const char *>(codes), 256);
        for (int i = 0; i < 256; ++i) {
            assert_int_equal(found[i], is_signed && i % 16 >= 8 ? i % 16 - 16 : i % 16);
        }
        const float given[] = {-100, -8.9F, -1, 3.9F, 7.9F, 8, 100, std::numeric_limits<float>::quiet_NaN()};
        const uint8_t wanted[2][8] = {{0, 0, 0, 3, 7, 8, 15, 0}, {8, 8, 15, 3, 7, 7, 7, 0}};
        uint8_t cut[8];
        RunConverter({kind, ScalarKind::Float32, 0, false})
            .run(reinterpret_cast<char *>(cut), reinterpret_cast<const char *>(given), 8);
        assert_memory_equal(cut, wanted[is_signed ? 1 : 0], 8);
    }
}

void integers_of_one_size_are_copied(void **) {
    const int32_t dtypes[] = {VIA_INT8,   VIA_INT16,  VIA_INT32,  VIA_INT64, VIA_UINT8,
                              VIA_UINT16, VIA_UINT32, VIA_UINT64, VIA_BOOL,  VIA_FLOAT32};
    alignas(16) char bytes[2][64];
    const via_convert_options options = VIA_CONVERT_OPTIONS_INIT;
    for (const int32_t to : dtypes) {
        for (const int32_t from : dtypes) {
            const Wrapped dst(bytes[0], to, {3});
            const Wrapped src(bytes[1], from, {3});
            via::ElementPlan plan;
            assert_int_equal(plan.make(dst.get(), src.get(), options, via::LoopOrder::OfDst), VIA_OK);
            const bool is_other = from == VIA_BOOL || to == VIA_BOOL || from == VIA_FLOAT32 || to == VIA_FLOAT32;
            const bool is_copy = to == from || (!is_other && via_dtype_bits(to) == via_dtype_bits(from));
            assert_int_equal(changes_nothing(plan.elements()), is_copy);
        }
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(every_instruction_set_makes_the_same_bits),
        cmocka_unit_test(every_instruction_set_scales_and_swaps_alike),
        cmocka_unit_test(a_scale_and_an_offset_round_twice),
        cmocka_unit_test(a_pair_in_one_step_makes_the_bits_of_two),
        cmocka_unit_test(narrow_floats_are_the_nearest_ones),
        cmocka_unit_test(narrow_floats_have_the_values_of_their_definition),
        cmocka_unit_test(integers_of_four_bits_have_a_sign_or_none),
        cmocka_unit_test(integers_of_one_size_are_copied),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
