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
        int64_t found[VIA_MAX_NDIM] = {};
        for (int32_t i = 0; i < ndim; ++i) {
            shape[i] = INT32_MAX - i;
        }
        char metadata[via::kTensorMetadataCapacity];
        std::memset(metadata, 'x', sizeof metadata);
        via::encode_tensor_metadata(ndim, shape, metadata);
        assert_int_equal(via::tensor_shape_of(metadata, found), ndim);
        assert_memory_equal(shape, found, sizeof(int64_t) * static_cast<size_t>(ndim));
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

int32_t ndim_of(const std::vector<std::string> &texts) {
    int64_t shape[VIA_MAX_NDIM];
    return via::tensor_shape_of(encoded(texts).c_str(), shape);
}

constexpr char kName[] = "ARROW:extension:name";
constexpr char kValue[] = "ARROW:extension:metadata";
constexpr char kTensor[] = "arrow.fixed_shape_tensor";

void the_pairs_may_come_in_any_order_among_others(void **) {
    assert_int_equal(ndim_of({kValue, "{\"shape\":[2,3]}", kName, kTensor}), 2);
    assert_int_equal(ndim_of({"a", "b", kName, kTensor, "", "", kValue, "{\"shape\":[7]}", "c", ""}), 1);
    assert_int_equal(ndim_of({kName, kTensor}), -1);
    assert_int_equal(ndim_of({kValue, "{\"shape\":[2,3]}"}), -1);
    assert_int_equal(ndim_of({}), -1);
    int64_t shape[VIA_MAX_NDIM];
    assert_int_equal(via::tensor_shape_of(nullptr, shape), -1);
}

void a_shape_of_too_many_extents_is_none(void **) {
    std::string json = "{\"shape\":[1";
    for (int32_t i = 0; i < VIA_MAX_NDIM; ++i) {
        json += ",1";
    }
    assert_int_equal(ndim_of({kName, kTensor, kValue, json + "]}"}), -1);
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
        cmocka_unit_test(a_shape_of_too_many_extents_is_none),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
