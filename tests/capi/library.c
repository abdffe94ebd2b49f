/* The library as a whole: versions, status names, devices, settings, counters. */
#include <limits.h>
#include <unistd.h>

#include "support.h"

static void the_header_and_the_library_are_of_one_version(void **state) {
    (void)state;
    assert_int_equal(via_version(), VIA_VERSION_MAJOR * 1000000 + VIA_VERSION_MINOR * 1000 + VIA_VERSION_PATCH);
}

static void a_program_of_this_header_is_served(void **state) {
    (void)state;
    ok(via_require(VIA_VERSION_MAJOR, VIA_VERSION_MINOR));
    ok(via_require(VIA_VERSION_MAJOR, 0));
}

static void a_program_of_another_major_or_a_newer_minor_version_is_not_served(void **state) {
    (void)state;
    refused(VIA_ERROR_VERSION, "via_require|0.0", via_require(0, 0));
    refused(VIA_ERROR_VERSION, "via_require|2.0", via_require(VIA_VERSION_MAJOR + 1, 0));
    refused(VIA_ERROR_VERSION, "via_require", via_require(VIA_VERSION_MAJOR, VIA_VERSION_MINOR + 1));
    refused(VIA_ERROR_VERSION, "via_require|-1", via_require(VIA_VERSION_MAJOR, -1));
    refused(VIA_ERROR_VERSION, "via_require", via_require(INT_MIN, INT_MAX));
}

static void every_status_has_a_name_of_its_own(void **state) {
    (void)state;
    assert_string_equal(via_status_name(VIA_OK), "VIA_OK");
    assert_string_equal(via_status_name(VIA_ERROR_SHAPE), "VIA_ERROR_SHAPE");
    assert_string_equal(via_status_name(VIA_ERROR_INTERNAL), "VIA_ERROR_INTERNAL");
    for (int32_t i = 0; i <= VIA_ERROR_INTERNAL; ++i) {
        assert_string_not_equal(via_status_name(i), "VIA_ERROR_UNKNOWN");
        for (int32_t j = 0; j < i; ++j) {
            assert_string_not_equal(via_status_name(i), via_status_name(j));
        }
    }
}

static void a_number_that_is_no_status_is_named_unknown(void **state) {
    (void)state;
    const int32_t none[] = {-1, VIA_ERROR_INTERNAL + 1, INT_MAX, INT_MIN};
    for (int32_t i = 0; i < LENGTH(none); ++i) {
        assert_string_equal(via_status_name(none[i]), "VIA_ERROR_UNKNOWN");
    }
}

static void there_is_one_cpu(void **state) {
    (void)state;
    int32_t count = -1;
    ok(via_device_count(VIA_DEVICE_CPU, &count));
    assert_int_equal(count, 1);
}

static void a_machine_without_cuda_counts_no_device_and_says_why(void **state) {
    (void)state;
    int32_t count = -1;
    ok(via_device_count(VIA_DEVICE_CUDA, &count));
    if (count > 0) {
        skip();
    }
    assert_int_equal(count, 0);
    via_device_properties properties = VIA_DEVICE_PROPERTIES_INIT;
    refused(VIA_ERROR_UNSUPPORTED, "via_device_info|CUDA", via_device_info(VIA_DEVICE_CUDA, 0, &properties));
    ok(via_device_info(VIA_DEVICE_CPU, 0, &properties));
    assert_true(holds_words(properties.routes, "host to CUDA device: off|CUDA"));
    refused(VIA_ERROR_UNSUPPORTED, "via_cuda_warmup|CUDA", via_cuda_warmup(0));
    refused(VIA_ERROR_UNSUPPORTED, "via_calibrate|CUDA", via_calibrate(0));
    refused(VIA_ERROR_UNSUPPORTED, "via_calibration_save|CUDA", via_calibration_save("/dev/null"));
    refused(VIA_ERROR_UNSUPPORTED, "via_calibration_load|CUDA", via_calibration_load("/dev/null"));
}

static void the_cpu_is_described(void **state) {
    (void)state;
    via_device_properties properties = VIA_DEVICE_PROPERTIES_INIT;
    ok(via_device_info(VIA_DEVICE_CPU, 0, &properties));
    assert_int_equal(properties.struct_size, (int32_t)sizeof properties);
    assert_int_equal(properties.device_type, VIA_DEVICE_CPU);
    assert_int_equal(properties.device_id, 0);
    assert_int_equal(properties.compute_capability, 0);
    assert_int_equal(properties.driver_version, 0);
    assert_int_equal(properties.num_threads, via_num_threads());
    assert_int_in_range(properties.total_bytes, 1 << 20, INT64_MAX);
    assert_non_null(memchr(properties.name, 0, sizeof properties.name));
    assert_non_null(memchr(properties.routes, 0, sizeof properties.routes));
    assert_string_not_equal(properties.name, "");
    assert_non_null(strstr(properties.routes, "host"));
}

static void the_number_of_threads_is_as_set_and_0_goes_back_to_the_default(void **state) {
    (void)state;
    const int32_t before = via_num_threads();
    assert_int_in_range(before, 1, 1024);
    ok(via_set_num_threads(3));
    assert_int_equal(via_num_threads(), 3);
    ok(via_set_num_threads(1024));
    assert_int_equal(via_num_threads(), 1024);
    ok(via_set_num_threads(0));
    assert_int_equal(via_num_threads(), before);
}

static void a_number_of_threads_out_of_range_changes_nothing(void **state) {
    (void)state;
    const int32_t before = via_num_threads();
    refused(VIA_ERROR_INVALID_ARGUMENT, "via_set_num_threads|count|-1", via_set_num_threads(-1));
    refused(VIA_ERROR_INVALID_ARGUMENT, "via_set_num_threads|count|1025", via_set_num_threads(1025));
    assert_int_equal(via_num_threads(), before);
}

/* The threads that a fresh process with this environment would use. */
static int threads_of_a_process_with(const char *setting) {
    char self[4096];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(length > 0);
    self[length] = '\0';
    char command[4400];
    snprintf(command, sizeof command, "VIADUCT_NUM_THREADS='%s' '%s' --threads", setting, self);
    FILE *child = popen(command, "r");
    assert_non_null(child);
    int count = -1;
    assert_int_equal(fscanf(child, "%d", &count), 1);
    assert_int_equal(pclose(child), 0);
    return count;
}

static void the_environment_sets_the_default_number_of_threads(void **state) {
    (void)state;
    assert_int_equal(threads_of_a_process_with("3"), 3);
    assert_int_equal(threads_of_a_process_with("1"), 1);
}

static void nonsense_in_the_environment_is_as_good_as_nothing(void **state) {
    (void)state;
    const int otherwise = threads_of_a_process_with("");
    assert_int_in_range(otherwise, 1, 1024);
    assert_int_equal(threads_of_a_process_with("many"), otherwise);
    assert_int_equal(threads_of_a_process_with("-2"), otherwise);
}

static void counters_report_what_is_alive(void **state) {
    const via_stats_info *before = *state;
    via_array *array = NULL;
    ok(via_empty(NULL, VIA_FLOAT64, 2, SHAPE(3, 5), NULL, &array));
    via_array *view = NULL;
    ok(via_array_permute(array, NULL, &view));
    struct DLManagedTensorVersioned *tensor = NULL;
    ok(via_to_dlpack(view, NULL, NULL, &tensor));
    const via_stats_info during = stats_now();
    assert_int_equal(during.live_arrays, before->live_arrays + 2);
    assert_int_equal(during.live_storages, before->live_storages + 1);
    assert_int_equal(during.outstanding_exports, before->outstanding_exports + 1);
    assert_int_equal(during.host_bytes, before->host_bytes + 3 * 5 * 8);
    assert_int_equal(during.pending_releases + during.pinned_bytes + during.device_bytes + during.managed_bytes, 0);
    via_array_release(array);
    via_array_release(view);
    const via_stats_info exported = stats_now();
    assert_int_equal(exported.live_arrays, before->live_arrays + 1);
    assert_int_equal(exported.host_bytes, before->host_bytes + 3 * 5 * 8);
    via_dlpack_delete(tensor);
}

static void wrapped_memory_is_not_counted_as_allocated_here(void **state) {
    const via_stats_info *before = *state;
    double values[16];
    via_array *array = wrap_plain(values, VIA_FLOAT64, 1, SHAPE(16), NULL);
    assert_int_equal(stats_now().host_bytes, before->host_bytes);
    via_array_release(array);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--threads") == 0) {
        printf("%d\n", via_num_threads());
        return 0;
    }
    const struct CMUnitTest tests[] = {
        TEST(the_header_and_the_library_are_of_one_version),
        TEST(a_program_of_this_header_is_served),
        TEST(a_program_of_another_major_or_a_newer_minor_version_is_not_served),
        TEST(every_status_has_a_name_of_its_own),
        TEST(a_number_that_is_no_status_is_named_unknown),
        TEST(there_is_one_cpu),
        TEST(a_machine_without_cuda_counts_no_device_and_says_why),
        TEST(the_cpu_is_described),
        TEST(the_number_of_threads_is_as_set_and_0_goes_back_to_the_default),
        TEST(a_number_of_threads_out_of_range_changes_nothing),
        TEST(the_environment_sets_the_default_number_of_threads),
        TEST(nonsense_in_the_environment_is_as_good_as_nothing),
        TEST(counters_report_what_is_alive),
        TEST(wrapped_memory_is_not_counted_as_allocated_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
