// Arrow's format strings and tensor metadata.
#include "exchange/arrow_format.hpp"

#include <cstring>
#include <string>

#include "copy_support.hpp"

namespace {

void every_format_goes_to_its_dtype_and_back(void **) {
    int32_t count = 0;
    for (int32_t scalar = 0; scalar < 65536; ++scalar) {
        const int32_t dtype = scalar | 1 << 16;
        char format[via::kArrowFormatCapacity];
        if (via::dtype_is_valid(dtype) && via::arrow_format(dtype, format)) {
            assert_int_equal(via::dtype_of_arrow_format(format), dtype);
            count++;
        }
    }
    assert_int_equal(count, 11);
}

void records_are_fixed_size_binary(void **) {
    char format[via::kArrowFormatCapacity];
    assert_true(via::arrow_format(static_cast<int32_t>(-via::kMaxRecordBytes), format));
    assert_string_equal(format, "w:1073741824");
    assert_int_equal(via::dtype_of_arrow_format(format), -via::kMaxRecordBytes);
    assert_int_equal(via::dtype_of_arrow_format("w:1073741825"), 0);
    assert_int_equal(via::dtype_of_arrow_format("w:0"), 0);
    assert_int_equal(via::dtype_of_arrow_format("w:-1"), 0);
    assert_int_equal(via::dtype_of_arrow_format("w:"), 0);
    assert_int_equal(via::dtype_of_arrow_format("w:1 "), 0);
    assert_int_equal(via::dtype_of_arrow_format("w:99999999999999999999"), 0);
}

void a_vector_type_has_no_format(void **) {
    char format[via::kArrowFormatCapacity];
    assert_false(via::arrow_format(via::pack_dtype(2, 32, 4), format));
}

void a_list_size_is_a_whole_number_of_32_bits(void **) {
    assert_int_equal(via::arrow_list_size("+w:0"), 0);
    assert_int_equal(via::arrow_list_size("+w:2147483647"), INT32_MAX);
    for (const char *none :
         {"+w:2147483648", "+w:-1", "+w:", "+w:1x", "+w: 1", "+w:+1", "+l", "w:3", "", "+w:99999999999999999999"}) {
        assert_int_equal(via::arrow_list_size(none), -1);
    }
}

void a_tensor_shape_goes_into_metadata_and_back(void **) {
    for (int32_t ndim = 1; ndim < VIA_MAX_NDIM; ++ndim) {
        int64_t shape[VIA_MAX_NDIM];
        for (int32_t i = 0; i < ndim; ++i) {
            shape[i] = INT32_MAX - i;
        }
        char metadata[via::kTensorMetadataCapacity];
        std::memset(metadata, 'x', sizeof metadata);
        via::encode_tensor_metadata(ndim, shape, metadata);
        bool is_tensor = false;
        via::TensorAxes found{};
        assert_int_equal(via::read_tensor_metadata(metadata, &is_tensor, &found), VIA_OK);
        assert_true(is_tensor && found.ndim == ndim);
        assert_memory_equal(shape, found.shape, sizeof(int64_t) * static_cast<size_t>(ndim));
        for (int32_t i = 0; i < ndim; ++i) {
            assert_int_equal(found.permutation[i], i);
        }
    }
}

std::string encoded(const std::vector<std::string> &texts) {
    std::string metadata;
    const auto put = [&](int32_t number) { metadata.append(reinterpret_cast<const char *>(&number), sizeof number); };
    put(static_cast<int32_t>(texts.size() / 2));
    for (const std::string &text : texts) {
        put(static_cast<int32_t>(text.size()));
        metadata += text;
    }
    return metadata;
}

// The number of its extents; -1 if it is no tensor's, -2 if it is refused.
int32_t ndim_of(const std::vector<std::string> &texts) {
    bool is_tensor = false;
    via::TensorAxes axes{};
    const via::Status status = via::read_tensor_metadata(encoded(texts).c_str(), &is_tensor, &axes);
    return status != VIA_OK ? -2 : is_tensor ? axes.ndim : -1;
}

constexpr char kName[] = "ARROW:extension:name";
constexpr char kValue[] = "ARROW:extension:metadata";
constexpr char kTensor[] = "arrow.fixed_shape_tensor";

void the_pairs_may_come_in_any_order_among_others(void **) {
    assert_int_equal(ndim_of({kValue, "{\"shape\":[2,3]}", kName, kTensor}), 2);
    assert_int_equal(ndim_of({"a", "b", kName, kTensor, "", "", kValue, "{\"shape\":[7]}", "c", ""}), 1);
    assert_int_equal(ndim_of({kName, kTensor}), -2);
    assert_int_equal(ndim_of({kValue, "{\"shape\":[2,3]}"}), -1);
    assert_int_equal(ndim_of({}), -1);
    bool is_tensor = true;
    via::TensorAxes axes{};
    assert_int_equal(via::read_tensor_metadata(nullptr, &is_tensor, &axes), VIA_OK);
    assert_false(is_tensor);
}

void a_shape_of_too_many_extents_is_refused(void **) {
    std::string json = "{\"shape\":[1";
    for (int32_t i = 0; i < VIA_MAX_NDIM; ++i) {
        json += ",1";
    }
    assert_int_equal(ndim_of({kName, kTensor, kValue, json + "]}"}), -2);
}

void an_extent_is_a_whole_number_without_leading_zeros(void **) {
    for (const char *extent : {"0", "7", "9223372036854775807"}) {
        assert_int_equal(ndim_of({kName, kTensor, kValue, std::string("{\"shape\":[ ") + extent + " ]}"}), 1);
    }
    for (const char *extent : {"", "-1", "+1", "01", "1.0", "1e2", "1.", "0x1", "9223372036854775808", "1 1", "1,,1"}) {
        assert_int_equal(ndim_of({kName, kTensor, kValue, std::string("{\"shape\":[") + extent + ",2]}"}), -2);
    }
}

// Every text that is JSON, and those that are nearly.
void json_is_read_to_the_letter(void **) {
    const std::string start = "{\"shape\":[1],\"x\":";
    for (const char *value : {"0", "-0", "1.5", "-1.5e10", "1E+2", "1e-2", "true", "false", "null", "\"\"",
                              "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\u00e9\\uD83D\\uDE00\"", "\"\xC3\xA9\"", "[]", "{}",
                              "[1, [2, {\"a\": [3]}]]", "{\"a\":1,\"a\":2}", " [ ] "}) {
        assert_int_equal(ndim_of({kName, kTensor, kValue, start + value + "}"}), 1);
    }
    for (const char *value : {"",
                              "01",
                              "-",
                              "+1",
                              ".5",
                              "1.",
                              "1e",
                              "1e+",
                              "0x1",
                              "NaN",
                              "Infinity",
                              "-Infinity",
                              "True",
                              "nul",
                              "nullx",
                              "'a'",
                              "\"",
                              "\"\\x\"",
                              "\"\\u12\"",
                              "\"\\u123g\"",
                              "\"\\ u0041\"",
                              "\"\\\nn\"",
                              "\"\\uD800\"",
                              "\"\\uD800\\n\"",
                              "\"\\uD800\\u0041\"",
                              "\"\\uDC00\"",
                              "\"\n\"",
                              "\"\x1f\"",
                              "\"\xC3\"",
                              "\"\xED\xA0\x80\"",
                              "[",
                              "[1",
                              "[1,",
                              "[1,]",
                              "[,1]",
                              "[1 2]",
                              "{",
                              "{a:1}",
                              "{\"a\"}",
                              "{\"a\":}",
                              "{\"a\":1,}",
                              "{1:2}",
                              "[}",
                              "1 1",
                              "// x\n1"}) {
        assert_int_equal(ndim_of({kName, kTensor, kValue, start + value + "}"}), -2);
    }
}

void json_is_no_deeper_and_no_longer_than_it_may_be(void **) {
    const auto nested = [](size_t depth) {
        return "{\"shape\":[1],\"x\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
    };
    assert_int_equal(ndim_of({kName, kTensor, kValue, nested(32)}), 1);
    assert_int_equal(ndim_of({kName, kTensor, kValue, nested(33)}), -2);
    assert_int_equal(ndim_of({kName, kTensor, kValue, nested(100000)}), -2);
    const auto long_text = [](size_t length) { return "{\"shape\":[1]" + std::string(length - 13, ' ') + "}"; };
    assert_int_equal(ndim_of({kName, kTensor, kValue, long_text(1 << 20)}), 1);
    assert_int_equal(ndim_of({kName, kTensor, kValue, long_text((1 << 20) + 1)}), -2);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(every_format_goes_to_its_dtype_and_back),
        cmocka_unit_test(records_are_fixed_size_binary),
        cmocka_unit_test(a_vector_type_has_no_format),
        cmocka_unit_test(a_list_size_is_a_whole_number_of_32_bits),
        cmocka_unit_test(a_tensor_shape_goes_into_metadata_and_back),
        cmocka_unit_test(the_pairs_may_come_in_any_order_among_others),
        cmocka_unit_test(a_shape_of_too_many_extents_is_refused),
        cmocka_unit_test(an_extent_is_a_whole_number_without_leading_zeros),
        cmocka_unit_test(json_is_read_to_the_letter),
        cmocka_unit_test(json_is_no_deeper_and_no_longer_than_it_may_be),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
