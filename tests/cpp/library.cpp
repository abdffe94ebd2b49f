// The library itself.
#include <string>

#include "support.hpp"

using namespace viaduct;

namespace {

void the_version_is_that_of_the_header(void **) {
    assert_int_equal(version(), VIA_VERSION_MAJOR * 1000000 + VIA_VERSION_MINOR * 1000 + VIA_VERSION_PATCH);
    require();
    expect_thrown<VersionError>("via_require", [] { require(VIA_VERSION_MAJOR + 1, 0); });
}

void devices_are_counted_and_described(void **) {
    assert_int_equal(device_count(VIA_DEVICE_CPU), 1);
    const via_device_properties properties = device_info({});
    assert_int_equal(properties.device_type, VIA_DEVICE_CPU);
    assert_true(properties.total_bytes > 0);
    expect_thrown<Error>("via_device_info", [] { return device_info(cuda(4096)); });
}

void threads_are_set_and_put_back(void **) {
    const std::int32_t before = num_threads();
    set_num_threads(3);
    assert_int_equal(num_threads(), 3);
    set_num_threads(0);
    assert_int_equal(num_threads(), before);
    expect_thrown<InvalidArgumentError>("count", [] { set_num_threads(-1); });
}

void what_is_alive_is_counted(void **) {
    const via_stats_info before = stats();
    float value = 0;
    const Array array = Array::wrap(&value, {});
    const via_stats_info after = stats();
    assert_int_equal(after.live_arrays, before.live_arrays + 1);
}

void dtypes_have_names_and_bits(void **) {
    assert_true(dtype_name(VIA_BFLOAT16) == "bfloat16");
    assert_int_equal(dtype_from_name("complex128"), VIA_COMPLEX128);
    assert_int_equal(dtype_bits(VIA_FLOAT4_E2M1FN), 4);
    assert_int_equal(dtype_record(12), -12);
    assert_true(dtype_is_valid(VIA_INT8) && !dtype_is_valid(0));
    expect_thrown<DTypeError>("via_dtype_name", [] { return dtype_name(0); });
}

void an_address_is_distinguished(void **) {
    int value = 0;
    const via_pointer_info info = pointer_query(&value);
    assert_int_equal(info.device_type, VIA_DEVICE_CPU);
    expect_thrown<PointerError>("via_pointer_query", [] { return pointer_query(nullptr); });
}

void what_needs_a_device_names_the_function_that_was_called(void **) {
    expect_thrown<Error>("via_cuda_warmup", [] { cuda_warmup(4096); });
    expect_thrown<Error>("via_calibrate", [] { calibrate(4096); });
    expect_thrown<Error>("via_calibration_save", [] { calibration_save("/nowhere/at all"); });
    expect_thrown<Error>("via_calibration_load", [] { calibration_load("/nowhere/at all"); });
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        leaving_nothing(the_version_is_that_of_the_header),
        leaving_nothing(devices_are_counted_and_described),
        leaving_nothing(threads_are_set_and_put_back),
        leaving_nothing(what_is_alive_is_counted),
        leaving_nothing(dtypes_have_names_and_bits),
        leaving_nothing(an_address_is_distinguished),
        leaving_nothing(what_needs_a_device_names_the_function_that_was_called),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
