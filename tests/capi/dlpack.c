/* DLPack 1.x: export and import. */
#include "producer.h"

static via_dlpack_options options_with(int32_t major, int32_t minor, int32_t device_type, int32_t copy) {
    via_dlpack_options options = VIA_DLPACK_OPTIONS_INIT;
    options.max_major = major;
    options.max_minor = minor;
    options.target_device_type = device_type;
    options.copy = copy;
    return options;
}

static void an_export_is_the_memory_itself(void **state) {
    (void)state;
    float values[6];
    via_array *array = wrap_plain(values, VIA_FLOAT32, 2, SHAPE(2, 3), NULL);
    DLManagedTensorVersioned *tensor = NULL;
    ok(via_to_dlpack(array, NULL, NULL, &tensor));
    assert_int_equal(tensor->version.major, 1);
    assert_int_equal(tensor->version.minor, 3);
    assert_int_equal(tensor->flags, 0);
    assert_ptr_equal(tensor->dl_tensor.data, values);
    assert_int_equal(tensor->dl_tensor.device.device_type, kDLCPU);
    assert_int_equal(tensor->dl_tensor.device.device_id, 0);
    assert_int_equal(tensor->dl_tensor.ndim, 2);
    assert_int_equal(tensor->dl_tensor.dtype.code, kDLFloat);
    assert_int_equal(tensor->dl_tensor.dtype.bits, 32);
    assert_int_equal(tensor->dl_tensor.dtype.lanes, 1);
    assert_int_equal(tensor->dl_tensor.byte_offset, 0);
    assert_numbers(tensor->dl_tensor.shape, SHAPE(2, 3), 2);
    assert_numbers(tensor->dl_tensor.strides, SHAPE(3, 1), 2);
    via_dlpack_delete(tensor);
    via_array_release(array);
}

static void an_export_holds_the_memory_after_its_array_is_gone(void **state) {
    (void)state;
    float values[6];
    atomic_int released = 0;
    via_array *array = wrap_plain(values, VIA_FLOAT32, 2, SHAPE(2, 3), &released);
    DLManagedTensorVersioned *tensor = NULL;
    ok(via_to_dlpack(array, NULL, NULL, &tensor));
    via_array_release(array);
    assert_int_equal(released, 0);
    assert_numbers(tensor->dl_tensor.shape, SHAPE(2, 3), 2);
    tensor->deleter(tensor);
    assert_int_equal(released, 1);
}

static void an_export_says_its_strides_even_where_they_are_row_major(void **state) {
    (void)state;
    double memory[64];
    via_array *array = wrap_strided(memory + 63, VIA_FLOAT64, 3, SHAPE(2, 2, 2), SHAPE(-128, 0, -8));
    DLManagedTensorVersioned *tensor = NULL;
    ok(via_to_dlpack(array, NULL, NULL, &tensor));
    assert_numbers(tensor->dl_tensor.strides, SHAPE(-16, 0, -1), 3);
    assert_ptr_equal(tensor->dl_tensor.data, memory + 63);
    via_dlpack_delete(tensor);
    via_array_release(array);
}

static void an_export_of_nothing_has_no_data(void **state) {
    (void)state;
    float values[6];
    via_array *array = wrap_plain(values, VIA_FLOAT32, 2, SHAPE(0, 3), NULL);
    DLManagedTensorVersioned *tensor = NULL;
    ok(via_to_dlpack(array, NULL, NULL, &tensor));
    assert_null(tensor->dl_tensor.data);
    assert_non_null(tensor->dl_tensor.strides);
    via_dlpack_delete(tensor);
    via_array_release(array);
}

static void read_only_stays_read_only_on_the_way_out_and_in(void **state) {
    (void)state;
    float values[6];
    via_array *array = NULL;
    ok(via_wrap(values, VIA_FLOAT32, 1, SHAPE(6), NULL, VIA_DEVICE_CPU, 0, VIA_WRAP_READ_ONLY, NULL, NULL, &array));
    DLManagedTensorVersioned *tensor = NULL;
    ok(via_to_dlpack(array, NULL, NULL, &tensor));
    assert_int_equal(tensor->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
    via_array *back = NULL;
    ok(via_from_dlpack(tensor, NULL, NULL, &back));
    assert_int_equal(via_array_flags(back), VIA_ARRAY_READ_ONLY);
    refused(VIA_ERROR_READ_ONLY, "via_fill|read-only", via_fill(back, NULL, NULL));
    via_array_release(back);
    via_array_release(array);
}

static void every_dtype_survives_the_trip(void **state) {
    (void)state;
    const int32_t lanes[] = {1, 2, 7, 32767};
    for (int32_t i = 0; i < LENGTH(every_dtype); ++i) {
        for (int32_t j = 0; j < LENGTH(lanes); ++j) {
            const int32_t dtype = WITH_LANES(every_dtype[i].dtype, lanes[j]);
            via_array *array = NULL;
            ok(via_empty(NULL, dtype, 2, SHAPE(2, 3), NULL, &array));
            DLManagedTensorVersioned *tensor = NULL;
            ok(via_to_dlpack(array, NULL, NULL, &tensor));
            assert_int_equal(tensor->dl_tensor.dtype.lanes, lanes[j]);
            via_array *back = NULL;
            ok(via_from_dlpack(tensor, NULL, NULL, &back));
            assert_int_equal(via_array_dtype(back), dtype);
            assert_int_equal(via_array_nbytes(back), via_array_nbytes(array));
            assert_ptr_equal(via_array_data(back), via_array_data(array));
            via_array_release(array);
            via_array_release(back);
        }
    }
}

static void a_record_has_no_dlpack_form_but_its_fields_have(void **state) {
    (void)state;
    char memory[64];
    via_array *array = wrap_plain(memory, via_dtype_record(16), 1, SHAPE(4), NULL);
    DLManagedTensorVersioned *tensor = NULL;
    refused(VIA_ERROR_EXCHANGE, "via_to_dlpack|record16", via_to_dlpack(array, NULL, NULL, &tensor));
    assert_null(tensor);
    via_dlpack_options always = options_with(0, 0, VIA_DEVICE_ANY, VIA_COPY_ALWAYS);
    refused(VIA_ERROR_EXCHANGE, "via_to_dlpack|record16", via_to_dlpack(array, &always, NULL, &tensor));
    via_array *field = NULL;
    ok(via_array_field(array, 8, VIA_FLOAT32, 1, SHAPE(2), &field));
    ok(via_to_dlpack(field, NULL, NULL, &tensor));
    assert_numbers(tensor->dl_tensor.strides, SHAPE(4, 1), 2);
    via_dlpack_delete(tensor);
    via_array_release(field);
    via_array_release(array);
}

/* A double complex next to a double: strides of 1.5 elements. */
static via_array *uneven(double *memory, int32_t flags) {
    via_array *array = NULL;
    ok(via_wrap(memory, VIA_COMPLEX128, 1, SHAPE(4), SHAPE(24), VIA_DEVICE_CPU, 0, VIA_WRAP_BYTE_STRIDES | flags, NULL,
                NULL, &array));
    return array;
}

static void strides_that_are_not_whole_elements_are_exported_by_copy_if_that_is_allowed(void **state) {
    (void)state;
    double memory[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    via_array *array = uneven(memory, VIA_WRAP_READ_ONLY);
    via_dlpack_options never = options_with(0, 0, VIA_DEVICE_ANY, VIA_COPY_NEVER);
    DLManagedTensorVersioned *tensor = NULL;
    refused(VIA_ERROR_NEEDS_COPY, "via_to_dlpack|strides", via_to_dlpack(array, &never, NULL, &tensor));
    assert_null(tensor);
    ok(via_to_dlpack(array, NULL, NULL, &tensor));
    via_array_release(array);
    assert_int_equal(tensor->flags, DLPACK_FLAG_BITMASK_IS_COPIED);
    assert_numbers(tensor->dl_tensor.strides, SHAPE(1), 1);
    const double expected[8] = {0, 1, 3, 4, 6, 7, 9, 10};
    assert_memory_equal(tensor->dl_tensor.data, expected, sizeof expected);
    via_dlpack_delete(tensor);
}

static void misaligned_elements_are_exported_by_copy_if_that_is_allowed(void **state) {
    (void)state;
    _Alignas(8) char memory[64];
    for (int32_t i = 0; i < 64; ++i) {
        memory[i] = (char)i;
    }
    via_array *array = wrap_plain(memory + 1, VIA_FLOAT64, 1, SHAPE(4), NULL);
    via_dlpack_options never = options_with(0, 0, VIA_DEVICE_ANY, VIA_COPY_NEVER);
    DLManagedTensorVersioned *tensor = NULL;
    refused(VIA_ERROR_NEEDS_COPY, "via_to_dlpack|aligned", via_to_dlpack(array, &never, NULL, &tensor));
    ok(via_to_dlpack(array, NULL, NULL, &tensor));
    assert_int_equal(tensor->flags, DLPACK_FLAG_BITMASK_IS_COPIED);
    assert_int_equal((uintptr_t)tensor->dl_tensor.data % 8, 0);
    assert_memory_equal(tensor->dl_tensor.data, memory + 1, 32);
    via_dlpack_delete(tensor);
    via_array_release(array);
}

static void a_copy_is_fresh_writable_and_says_so(void **state) {
    (void)state;
    float values[6] = {1, 2, 3, 4, 5, 6};
    atomic_int released = 0;
    via_array *array = wrap_plain(values, VIA_FLOAT32, 1, SHAPE(6), &released);
    via_array *read_only = NULL;
    ok(via_array_as_read_only(array, &read_only));
    via_array_release(array);
    via_dlpack_options always = options_with(0, 0, VIA_DEVICE_ANY, VIA_COPY_ALWAYS);
    DLManagedTensorVersioned *tensor = NULL;
    ok(via_to_dlpack(read_only, &always, NULL, &tensor));
    via_array_release(read_only);
    assert_int_equal(released, 1);
    assert_int_equal(tensor->flags, DLPACK_FLAG_BITMASK_IS_COPIED);
    assert_ptr_not_equal(tensor->dl_tensor.data, values);
    assert_memory_equal(tensor->dl_tensor.data, values, sizeof values);
    via_array *back = NULL;
    ok(via_from_dlpack(tensor, NULL, NULL, &back));
    assert_int_equal(via_array_flags(back), VIA_ARRAY_COPIED);
    ok(via_fill(back, NULL, NULL));
    via_array_release(back);
}

static void what_is_shared_again_no_longer_counts_as_the_consumers_own_copy(void **state) {
    (void)state;
    producer made;
    produce_changed(&made, NULL);
    made.tensor.flags = DLPACK_FLAG_BITMASK_IS_COPIED;
    via_array *array = NULL;
    ok(via_from_dlpack(&made.tensor, NULL, NULL, &array));
    DLManagedTensorVersioned *tensor = NULL;
    ok(via_to_dlpack(array, NULL, NULL, &tensor));
    assert_int_equal(tensor->flags, 0);
    via_dlpack_delete(tensor);
    via_array_release(array);
    assert_int_equal(made.deleted, 1);
}

static void the_version_reported_is_the_newest_that_both_know(void **state) {
    (void)state;
    const struct {
        int32_t major;
        int32_t minor;
        uint32_t reported;
    } cases[] = {{0, 0, 3}, {1, 0, 0}, {1, 1, 1}, {1, 3, 3}, {1, 9, 3}, {2, 0, 3}, {7, 1, 3}};
    float values[6];
    via_array *array = wrap_plain(values, VIA_FLOAT32, 1, SHAPE(6), NULL);
    for (int32_t i = 0; i < LENGTH(cases); ++i) {
        via_dlpack_options options = options_with(cases[i].major, cases[i].minor, VIA_DEVICE_ANY, 0);
        DLManagedTensorVersioned *tensor = NULL;
        ok(via_to_dlpack(array, &options, NULL, &tensor));
        assert_int_equal(tensor->version.major, 1);
        assert_int_equal(tensor->version.minor, cases[i].reported);
        via_dlpack_delete(tensor);
    }
    via_array_release(array);
}

static void a_consumer_from_before_1_0_is_sent_to_the_legacy_form(void **state) {
    (void)state;
    float values[6];
    via_array *array = wrap_plain(values, VIA_FLOAT32, 1, SHAPE(6), NULL);
    via_dlpack_options options = options_with(0, 8, VIA_DEVICE_ANY, 0);
    DLManagedTensorVersioned *tensor = NULL;
    refused(VIA_ERROR_VERSION, "via_to_dlpack|0.8|legacy", via_to_dlpack(array, &options, NULL, &tensor));
    assert_null(tensor);
    via_array_release(array);
}

static void the_target_device_may_be_named_if_it_is_the_one(void **state) {
    (void)state;
    float values[6];
    via_array *array = wrap_plain(values, VIA_FLOAT32, 1, SHAPE(6), NULL);
    via_dlpack_options options = options_with(0, 0, VIA_DEVICE_CPU, VIA_COPY_NEVER);
    DLManagedTensorVersioned *tensor = NULL;
    ok(via_to_dlpack(array, &options, NULL, &tensor));
    via_dlpack_delete(tensor);
    options.target_device_type = 10;
    refused(VIA_ERROR_DEVICE, "via_to_dlpack|options.target_device|10:0",
            via_to_dlpack(array, &options, NULL, &tensor));
    options.target_device_type = VIA_DEVICE_CPU;
    options.target_device_id = 1;
    refused(VIA_ERROR_DEVICE, "via_to_dlpack|options.target_device|VIA_DEVICE_CPU:1",
            via_to_dlpack(array, &options, NULL, &tensor));
    via_array_release(array);
}

static void a_cpu_stream_is_none_or_no_sync(void **state) {
    (void)state;
    float values[6];
    via_array *array = wrap_plain(values, VIA_FLOAT32, 1, SHAPE(6), NULL);
    DLManagedTensorVersioned *tensor = NULL;
    ok(via_to_dlpack(array, NULL, via_stream_no_sync(), &tensor));
    via_array_release(array);
    refused(VIA_ERROR_INVALID_ARGUMENT, "via_from_dlpack|stream",
            via_from_dlpack(tensor, NULL, via_stream_legacy(), &array));
    assert_null(array);
    ok(via_from_dlpack(tensor, NULL, via_stream_no_sync(), &array));
    refused(VIA_ERROR_INVALID_ARGUMENT, "via_to_dlpack|stream",
            via_to_dlpack(array, NULL, via_stream_per_thread(), &tensor));
    via_array_release(array);
}

static void an_import_is_the_memory_itself_and_its_deleter_runs_once_at_the_end(void **state) {
    (void)state;
    producer made;
    produce_changed(&made, NULL);
    via_array *array = NULL;
    ok(via_from_dlpack(&made.tensor, NULL, NULL, &array));
    assert_ptr_equal(via_array_data(array), made.memory);
    assert_layout(array, 2, SHAPE(2, 3), SHAPE(12, 4));
    via_array *view = NULL;
    ok(via_array_select(array, 0, 1, &view));
    via_array_release(array);
    assert_int_equal(made.deleted, 0);
    via_array_release(view);
    assert_int_equal(made.deleted, 1);
}

static void an_import_that_copies_lets_the_tensor_go_at_once(void **state) {
    (void)state;
    producer made;
    produce_changed(&made, NULL);
    made.tensor.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
    via_dlpack_options always = options_with(0, 0, VIA_DEVICE_ANY, VIA_COPY_ALWAYS);
    via_array *array = NULL;
    ok(via_from_dlpack(&made.tensor, &always, NULL, &array));
    assert_int_equal(made.deleted, 1);
    assert_ptr_not_equal(via_array_data(array), made.memory);
    assert_memory_equal(via_array_data(array), made.memory, 24);
    assert_int_equal(via_array_flags(array), VIA_ARRAY_COPIED);
    via_array_release(array);
    assert_int_equal(made.deleted, 1);
}

static void a_tensor_without_deleter_is_borrowed(void **state) {
    (void)state;
    producer made;
    produce_changed(&made, NULL);
    made.tensor.deleter = NULL;
    via_array *array = NULL;
    ok(via_from_dlpack(&made.tensor, NULL, NULL, &array));
    via_array_release(array);
    via_dlpack_delete(&made.tensor);
    assert_int_equal(made.deleted, 0);
}

static void unconsumed_tensors_are_not_leaked_and_consumed_ones_not_freed_twice(void **state) {
    (void)state;
    float values[6];
    atomic_int released = 0;
    for (int consumed = 0; consumed < 2; ++consumed) {
        via_array *array = wrap_plain(values, VIA_FLOAT32, 1, SHAPE(6), &released);
        DLManagedTensorVersioned *tensor = NULL;
        ok(via_to_dlpack(array, NULL, NULL, &tensor));
        via_array_release(array);
        if (consumed) {
            ok(via_from_dlpack(tensor, NULL, NULL, &array));
            via_array_release(array);
        } else {
            via_dlpack_delete(tensor);
        }
        assert_int_equal(released, consumed + 1);
    }
    via_dlpack_delete(NULL);
}

static void a_refused_trip_back_leaves_the_tensor_usable(void **state) {
    (void)state;
    float values[6];
    via_array *array = wrap_plain(values, VIA_FLOAT32, 1, SHAPE(6), NULL);
    DLManagedTensorVersioned *tensor = NULL;
    ok(via_to_dlpack(array, NULL, NULL, &tensor));
    via_array_release(array);
    via_dlpack_options options = options_with(0, 0, 10, 0);
    refused(VIA_ERROR_DEVICE, "via_from_dlpack|options.target_device|10:0",
            via_from_dlpack(tensor, &options, NULL, &array));
    assert_null(array);
    ok(via_from_dlpack(tensor, NULL, NULL, &array));
    via_array_release(array);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(an_export_is_the_memory_itself),
        TEST(an_export_holds_the_memory_after_its_array_is_gone),
        TEST(an_export_says_its_strides_even_where_they_are_row_major),
        TEST(an_export_of_nothing_has_no_data),
        TEST(read_only_stays_read_only_on_the_way_out_and_in),
        TEST(every_dtype_survives_the_trip),
        TEST(a_record_has_no_dlpack_form_but_its_fields_have),
        TEST(strides_that_are_not_whole_elements_are_exported_by_copy_if_that_is_allowed),
        TEST(misaligned_elements_are_exported_by_copy_if_that_is_allowed),
        TEST(a_copy_is_fresh_writable_and_says_so),
        TEST(what_is_shared_again_no_longer_counts_as_the_consumers_own_copy),
        TEST(the_version_reported_is_the_newest_that_both_know),
        TEST(a_consumer_from_before_1_0_is_sent_to_the_legacy_form),
        TEST(the_target_device_may_be_named_if_it_is_the_one),
        TEST(a_cpu_stream_is_none_or_no_sync),
        TEST(an_import_is_the_memory_itself_and_its_deleter_runs_once_at_the_end),
        TEST(an_import_that_copies_lets_the_tensor_go_at_once),
        TEST(a_tensor_without_deleter_is_borrowed),
        TEST(unconsumed_tensors_are_not_leaked_and_consumed_ones_not_freed_twice),
        TEST(a_refused_trip_back_leaves_the_tensor_usable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
