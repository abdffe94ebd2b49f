/* DLPack before 1.0: no version, no flags. */
#include "producer.h"

static void an_export_is_the_memory_itself(void **state) {
    (void)state;
    int16_t values[6];
    via_array *array = wrap_plain(values, VIA_INT16, 2, SHAPE(2, 3), NULL);
    DLManagedTensor *tensor = NULL;
    ok(via_to_dlpack_legacy(array, NULL, NULL, &tensor));
    assert_ptr_equal(tensor->dl_tensor.data, values);
    assert_int_equal(tensor->dl_tensor.dtype.code, kDLInt);
    assert_int_equal(tensor->dl_tensor.dtype.bits, 16);
    assert_numbers(tensor->dl_tensor.shape, SHAPE(2, 3), 2);
    assert_numbers(tensor->dl_tensor.strides, SHAPE(3, 1), 2);
    via_array_release(array);
    via_dlpack_delete_legacy(tensor);
}

static void every_dtype_survives_the_trip(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(every_dtype); ++i) {
        via_array *array = NULL;
        ok(via_empty(NULL, every_dtype[i].dtype, 2, SHAPE(2, 3), NULL, &array));
        DLManagedTensor *tensor = NULL;
        ok(via_to_dlpack_legacy(array, NULL, NULL, &tensor));
        via_array *back = NULL;
        ok(via_from_dlpack_legacy(tensor, NULL, NULL, &back));
        assert_int_equal(via_array_dtype(back), every_dtype[i].dtype);
        assert_int_equal(via_array_flags(back), 0);
        via_array_release(array);
        via_array_release(back);
    }
}

static void a_read_only_array_is_refused_unless_it_is_copied(void **state) {
    (void)state;
    float values[6] = {1, 2, 3, 4, 5, 6};
    via_array *array = NULL;
    ok(via_wrap(values, VIA_FLOAT32, 1, SHAPE(6), NULL, VIA_DEVICE_CPU, 0, VIA_WRAP_READ_ONLY, NULL, NULL, &array));
    DLManagedTensor *tensor = NULL;
    refused(VIA_ERROR_EXCHANGE, "via_to_dlpack_legacy|read-only", via_to_dlpack_legacy(array, NULL, NULL, &tensor));
    via_dlpack_options options = VIA_DLPACK_OPTIONS_INIT;
    options.copy = VIA_COPY_NEVER;
    refused(VIA_ERROR_EXCHANGE, "via_to_dlpack_legacy|read-only", via_to_dlpack_legacy(array, &options, NULL, &tensor));
    assert_null(tensor);
    options.copy = VIA_COPY_ALWAYS;
    ok(via_to_dlpack_legacy(array, &options, NULL, &tensor));
    via_array_release(array);
    assert_ptr_not_equal(tensor->dl_tensor.data, values);
    assert_memory_equal(tensor->dl_tensor.data, values, sizeof values);
    via_dlpack_delete_legacy(tensor);
}

static void padded_elements_have_no_form_that_says_so(void **state) {
    (void)state;
    producer made;
    produce_changed(&made, NULL);
    made.tensor.dl_tensor.dtype = dl_dtype(VIA_INT4);
    made.tensor.flags = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
    via_array *array = NULL;
    ok(via_from_dlpack(&made.tensor, NULL, NULL, &array));
    DLManagedTensor *tensor = NULL;
    via_dlpack_options options = VIA_DLPACK_OPTIONS_INIT;
    for (options.copy = VIA_COPY_IF_NEEDED; options.copy <= VIA_COPY_ALWAYS; ++options.copy) {
        refused(VIA_ERROR_EXCHANGE, "via_to_dlpack_legacy|int4|padded",
                via_to_dlpack_legacy(array, &options, NULL, &tensor));
        assert_null(tensor);
    }
    via_array_release(array);
}

static void a_record_has_no_form(void **state) {
    (void)state;
    char memory[64];
    via_array *array = wrap_plain(memory, via_dtype_record(16), 1, SHAPE(4), NULL);
    DLManagedTensor *tensor = NULL;
    refused(VIA_ERROR_EXCHANGE, "via_to_dlpack_legacy|record16", via_to_dlpack_legacy(array, NULL, NULL, &tensor));
    via_array_release(array);
}

static void uneven_strides_are_exported_by_copy_if_that_is_allowed(void **state) {
    (void)state;
    double memory[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    via_array *array = wrap_strided(memory, VIA_COMPLEX128, 1, SHAPE(4), SHAPE(24));
    via_dlpack_options options = VIA_DLPACK_OPTIONS_INIT;
    options.copy = VIA_COPY_NEVER;
    DLManagedTensor *tensor = NULL;
    refused(VIA_ERROR_NEEDS_COPY, "via_to_dlpack_legacy|strides", via_to_dlpack_legacy(array, &options, NULL, &tensor));
    ok(via_to_dlpack_legacy(array, NULL, NULL, &tensor));
    assert_numbers(tensor->dl_tensor.strides, SHAPE(1), 1);
    via_dlpack_delete_legacy(tensor);
    via_array_release(array);
}

static void max_version_is_no_matter(void **state) {
    (void)state;
    float value = 1;
    via_array *array = wrap_plain(&value, VIA_FLOAT32, 0, NULL, NULL);
    via_dlpack_options options = VIA_DLPACK_OPTIONS_INIT;
    options.max_minor = 6;
    DLManagedTensor *tensor = NULL;
    ok(via_to_dlpack_legacy(array, &options, NULL, &tensor));
    assert_int_equal(tensor->dl_tensor.ndim, 0);
    via_dlpack_delete_legacy(tensor);
    via_array_release(array);
}

static void an_import_is_writable_and_its_deleter_runs_once_at_the_end(void **state) {
    (void)state;
    producer made;
    produce_changed(&made, NULL);
    via_array *array = NULL;
    ok(via_from_dlpack_legacy(&made.legacy, NULL, NULL, &array));
    assert_int_equal(via_array_flags(array), 0);
    assert_ptr_equal(via_array_data(array), made.memory);
    assert_int_equal(made.deleted, 0);
    via_array_release(array);
    assert_int_equal(made.deleted, 1);
}

static void an_import_that_copies_lets_the_tensor_go_at_once(void **state) {
    (void)state;
    producer made;
    produce_changed(&made, NULL);
    via_dlpack_options always = VIA_DLPACK_OPTIONS_INIT;
    always.copy = VIA_COPY_ALWAYS;
    via_array *array = NULL;
    ok(via_from_dlpack_legacy(&made.legacy, &always, NULL, &array));
    assert_int_equal(made.deleted, 1);
    assert_int_equal(via_array_flags(array), VIA_ARRAY_COPIED);
    assert_memory_equal(via_array_data(array), made.memory, 24);
    via_array_release(array);
    assert_int_equal(made.deleted, 1);
}

static void strides_of_null_mean_row_major(void **state) {
    (void)state;
    producer made;
    produce_changed(&made, NULL);
    made.legacy.dl_tensor.strides = NULL;
    via_array *array = NULL;
    ok(via_from_dlpack_legacy(&made.legacy, NULL, NULL, &array));
    assert_layout(array, 2, SHAPE(2, 3), SHAPE(12, 4));
    via_array_release(array);
    assert_int_equal(made.deleted, 1);
}

static void delete_of_nothing_or_without_deleter_does_nothing(void **state) {
    (void)state;
    via_dlpack_delete_legacy(NULL);
    producer made;
    produce_changed(&made, NULL);
    made.legacy.deleter = NULL;
    via_dlpack_delete_legacy(&made.legacy);
    assert_int_equal(made.deleted, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(an_export_is_the_memory_itself),
        TEST(every_dtype_survives_the_trip),
        TEST(a_read_only_array_is_refused_unless_it_is_copied),
        TEST(padded_elements_have_no_form_that_says_so),
        TEST(a_record_has_no_form),
        TEST(uneven_strides_are_exported_by_copy_if_that_is_allowed),
        TEST(max_version_is_no_matter),
        TEST(an_import_is_writable_and_its_deleter_runs_once_at_the_end),
        TEST(an_import_that_copies_lets_the_tensor_go_at_once),
        TEST(strides_of_null_mean_row_major),
        TEST(delete_of_nothing_or_without_deleter_does_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
