/* Tensors of producers that break the rules, or stretch them: each is refused by name or handled. What is refused stays
 * as it was and the producer's to delete; what is taken is deleted exactly once. */
#include "producer.h"

/* -- what is refused, whether in the form of 1.x or of before ------------------------------------------------------ */

static void no_memory(producer *made) { made->tensor.dl_tensor.data = NULL; }
static void no_shape(producer *made) { made->tensor.dl_tensor.shape = NULL; }
static void negative_ndim(producer *made) { made->tensor.dl_tensor.ndim = -1; }
static void negative_extent(producer *made) { made->shape[1] = -3; }
static void lanes_of_zero(producer *made) { made->tensor.dl_tensor.dtype.lanes = 0; }
static void too_many_lanes(producer *made) { made->tensor.dl_tensor.dtype.lanes = 40000; }
static void unknown_code(producer *made) { made->tensor.dl_tensor.dtype.code = 18; }
static void bits_of_zero(producer *made) { made->tensor.dl_tensor.dtype.bits = 0; }
static void odd_bits(producer *made) { made->tensor.dl_tensor.dtype.bits = 33; }
static void bool_of_a_bit(producer *made) { made->tensor.dl_tensor.dtype = (DLDataType){kDLBool, 1, 1}; }
static void float8_of_16_bits(producer *made) { made->tensor.dl_tensor.dtype = (DLDataType){kDLFloat8_e5m2, 16, 1}; }
static void offset_past_the_end(producer *made) { made->tensor.dl_tensor.byte_offset = UINT64_MAX; }
static void offset_past_int64(producer *made) { made->tensor.dl_tensor.byte_offset = UINT64_C(1) << 63; }
static void device_of_zero(producer *made) { made->tensor.dl_tensor.device.device_type = (DLDeviceType)0; }
static void device_rocm(producer *made) { made->tensor.dl_tensor.device.device_type = kDLROCM; }
static void device_unknown(producer *made) { made->tensor.dl_tensor.device.device_type = (DLDeviceType)1234; }
static void device_negative(producer *made) { made->tensor.dl_tensor.device.device_id = -1; }
static void device_cuda(producer *made) { made->tensor.dl_tensor.device.device_type = kDLCUDA; }
static void device_pinned(producer *made) { made->tensor.dl_tensor.device.device_type = kDLCUDAHost; }
static void device_managed(producer *made) { made->tensor.dl_tensor.device.device_type = kDLCUDAManaged; }

static void too_many_dimensions(producer *made) {
    made->tensor.dl_tensor.ndim = VIA_MAX_NDIM + 1;
    for (int32_t i = 0; i <= VIA_MAX_NDIM; ++i) {
        made->shape[i] = made->strides[i] = 1;
    }
}

static void too_many_elements(producer *made) {
    made->shape[0] = INT64_C(1) << 40;
    made->shape[1] = INT64_C(1) << 40;
}

static void too_many_elements_next_to_none(producer *made) {
    too_many_elements(made);
    made->shape[2] = 0;
    made->tensor.dl_tensor.ndim = 3;
}

static void too_many_bytes(producer *made) {
    made->shape[0] = 1;
    made->shape[1] = INT64_C(1) << 62;
}

static void stride_past_int64(producer *made) { made->strides[0] = INT64_MAX / 2; }
static void stride_past_the_address_space(producer *made) { made->strides[0] = INT64_MAX / 4; }
static void stride_before_the_address_space(producer *made) { made->strides[0] = INT64_MIN / 8; }
static void stride_of_the_least_number(producer *made) { made->strides[1] = INT64_MIN; }

typedef struct refusal {
    change_fn change;
    via_status status;
    const char *words;
} refusal;

static const refusal refusals[] = {
    {no_memory, VIA_ERROR_EXCHANGE, "tensor.data is NULL"},
    {no_shape, VIA_ERROR_INVALID_ARGUMENT, "shape is NULL"},
    {negative_ndim, VIA_ERROR_SHAPE, "ndim is -1"},
    {too_many_dimensions, VIA_ERROR_SHAPE, "ndim is 65|64"},
    {negative_extent, VIA_ERROR_SHAPE, "shape[1] is -3"},
    {lanes_of_zero, VIA_ERROR_DTYPE, "tensor.dtype.lanes is 0"},
    {too_many_lanes, VIA_ERROR_DTYPE, "tensor.dtype.lanes is 40000"},
    {unknown_code, VIA_ERROR_DTYPE, "tensor.dtype|code 18"},
    {bits_of_zero, VIA_ERROR_DTYPE, "tensor.dtype|0 bits"},
    {odd_bits, VIA_ERROR_DTYPE, "tensor.dtype|33 bits"},
    {bool_of_a_bit, VIA_ERROR_DTYPE, "tensor.dtype|code 6, 1 bits"},
    {float8_of_16_bits, VIA_ERROR_DTYPE, "tensor.dtype|16 bits"},
    {offset_past_the_end, VIA_ERROR_OVERFLOW, "tensor.byte_offset is 18446744073709551615"},
    {offset_past_int64, VIA_ERROR_OVERFLOW, "tensor.byte_offset is 9223372036854775808"},
    {device_of_zero, VIA_ERROR_DEVICE, "tensor.device.device_type is 0"},
    {device_rocm, VIA_ERROR_DEVICE, "tensor.device.device_type is 10"},
    {device_unknown, VIA_ERROR_DEVICE, "tensor.device.device_type is 1234"},
    {device_negative, VIA_ERROR_DEVICE, "tensor.device.device_id is -1"},
    {too_many_elements, VIA_ERROR_OVERFLOW, "shape"},
    {too_many_elements_next_to_none, VIA_ERROR_OVERFLOW, "shape"},
    {too_many_bytes, VIA_ERROR_OVERFLOW, "shape"},
    {stride_past_int64, VIA_ERROR_OVERFLOW, "strides[0] is 4611686018427387903"},
    {stride_past_the_address_space, VIA_ERROR_OVERFLOW, "shape times strides|address space"},
    {stride_before_the_address_space, VIA_ERROR_OVERFLOW, "inside the address space"},
    {stride_of_the_least_number, VIA_ERROR_OVERFLOW, "strides[1] is -9223372036854775808"},
};

/* Offers a tensor that must be refused; it stays as it was, and its owner can end it. */
static void assert_refused(change_fn change, via_status status, const char *words, int32_t copy) {
    producer made;
    produce_changed(&made, change);
    producer before = made;
    via_dlpack_options options = VIA_DLPACK_OPTIONS_INIT;
    options.copy = copy;
    via_array *array = (via_array *)&made;
    refused(status, words, via_from_dlpack(&made.tensor, &options, NULL, &array));
    assert_non_null(strstr(via_last_error(), "via_from_dlpack: "));
    assert_null(array);
    assert_memory_equal(&made, &before, sizeof made);
    via_dlpack_delete(&made.tensor);
    assert_int_equal(made.deleted, 1);
}

static void assert_refused_legacy(change_fn change, via_status status, const char *words) {
    producer made;
    produce_changed(&made, change);
    producer before = made;
    via_array *array = (via_array *)&made;
    refused(status, words, via_from_dlpack_legacy(&made.legacy, NULL, NULL, &array));
    assert_non_null(strstr(via_last_error(), "via_from_dlpack_legacy: "));
    assert_null(array);
    assert_memory_equal(&made, &before, sizeof made);
    via_dlpack_delete_legacy(&made.legacy);
    assert_int_equal(made.deleted, 1);
}

static void a_hostile_tensor_is_refused_by_name_and_stays_the_producers(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(refusals); ++i) {
        assert_refused(refusals[i].change, refusals[i].status, refusals[i].words, VIA_COPY_IF_NEEDED);
        assert_refused(refusals[i].change, refusals[i].status, refusals[i].words, VIA_COPY_ALWAYS);
    }
}

static void a_hostile_legacy_tensor_is_refused_by_name_and_stays_the_producers(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(refusals); ++i) {
        assert_refused_legacy(refusals[i].change, refusals[i].status, refusals[i].words);
    }
}

static void device_memory_is_not_mistaken_for_host_memory(void **state) {
    (void)state;
    const change_fn changes[] = {device_cuda, device_pinned, device_managed};
    for (int32_t i = 0; i < LENGTH(changes); ++i) {
        assert_refused(changes[i], VIA_ERROR_UNSUPPORTED, "tensor.device|CUDA", VIA_COPY_IF_NEEDED);
        assert_refused_legacy(changes[i], VIA_ERROR_UNSUPPORTED, "tensor.device|CUDA");
    }
}

/* -- what only 1.x can get wrong ----------------------------------------------------------------------------------- */

static void version_0(producer *made) { made->tensor.version = (DLPackVersion){0, 8}; }
static void version_2(producer *made) { made->tensor.version = (DLPackVersion){2, 0}; }
static void version_huge(producer *made) { made->tensor.version = (DLPackVersion){UINT32_MAX, UINT32_MAX}; }
static void unknown_flag(producer *made) { made->tensor.flags = 8; }
static void unknown_high_flag(producer *made) { made->tensor.flags = UINT64_C(1) << 63; }

static void another_major_version_is_refused_and_stays_the_producers(void **state) {
    (void)state;
    assert_refused(version_0, VIA_ERROR_VERSION, "0.8", 0);
    assert_refused(version_2, VIA_ERROR_VERSION, "2.0", 0);
    assert_refused(version_huge, VIA_ERROR_VERSION, "4294967295", 0);
}

static void nothing_but_the_version_of_another_major_version_is_read(void **state) {
    (void)state;
    /* DLPack promises version, manager_ctx and deleter in every version, and nothing after them. */
    struct {
        DLPackVersion version;
        void *manager_ctx;
        void (*deleter)(DLManagedTensorVersioned *self);
    } *foreign = malloc(sizeof *foreign);
    foreign->version = (DLPackVersion){2, 0};
    foreign->manager_ctx = NULL;
    foreign->deleter = NULL;
    via_array *array = NULL;
    refused(VIA_ERROR_VERSION, "via_from_dlpack|2.0",
            via_from_dlpack((DLManagedTensorVersioned *)foreign, NULL, NULL, &array));
    via_dlpack_delete((DLManagedTensorVersioned *)foreign);
    free(foreign);
}

static void flags_that_are_none_are_refused(void **state) {
    (void)state;
    assert_refused(unknown_flag, VIA_ERROR_EXCHANGE, "tensor.flags is 0x8", 0);
    assert_refused(unknown_high_flag, VIA_ERROR_EXCHANGE, "tensor.flags is 0x8000000000000000", 0);
}

static void a_newer_minor_version_may_have_flags_of_its_own(void **state) {
    (void)state;
    producer made;
    produce_changed(&made, unknown_flag);
    made.tensor.version.minor = 4;
    via_array *array = NULL;
    ok(via_from_dlpack(&made.tensor, NULL, NULL, &array));
    via_array_release(array);
    assert_int_equal(made.deleted, 1);
}

/* -- what is unusual, and taken ------------------------------------------------------------------------------------ */

typedef void (*check_fn)(const producer *made, via_array *array);

/* Takes the tensor in both forms, and as a copy; what comes of it is as it should be, and it is deleted once. */
static void assert_taken(change_fn change, check_fn check) {
    producer made;
    produce_changed(&made, change);
    via_array *array = NULL;
    ok(via_from_dlpack(&made.tensor, NULL, NULL, &array));
    check(&made, array);
    assert_int_equal(made.deleted, 0);
    via_array_release(array);
    assert_int_equal(made.deleted, 1);
    ok(via_from_dlpack_legacy(&made.legacy, NULL, NULL, &array));
    check(&made, array);
    via_array_release(array);
    assert_int_equal(made.deleted, 2);
    via_dlpack_options always = VIA_DLPACK_OPTIONS_INIT;
    always.copy = VIA_COPY_ALWAYS;
    ok(via_from_dlpack(&made.tensor, &always, NULL, &array));
    assert_int_equal(made.deleted, 3);
    assert_int_equal(via_array_is_contiguous(array, VIA_ORDER_ROW_MAJOR), 1);
    assert_int_equal(via_array_flags(array), VIA_ARRAY_COPIED);
    via_array_release(array);
}

static void with_byte_offset(producer *made) { made->tensor.dl_tensor.byte_offset = 16; }
static void check_byte_offset(const producer *made, via_array *array) {
    assert_ptr_equal(via_array_data(array), made->memory + 16);
}

static void with_null_strides(producer *made) { made->tensor.dl_tensor.strides = NULL; }
static void check_row_major(const producer *made, via_array *array) {
    assert_ptr_equal(via_array_data(array), made->memory);
    assert_layout(array, 2, SHAPE(2, 3), SHAPE(12, 4));
}

static void with_negative_strides(producer *made) {
    made->strides[0] = -3;
    made->strides[1] = -1;
    made->tensor.dl_tensor.byte_offset = 20;
}
static void check_negative_strides(const producer *made, via_array *array) {
    assert_ptr_equal(via_array_data(array), made->memory + 20);
    assert_layout(array, 2, SHAPE(2, 3), SHAPE(-12, -4));
}

static void with_transposed_strides(producer *made) {
    made->strides[0] = 1;
    made->strides[1] = 2;
}
static void check_transposed_strides(const producer *made, via_array *array) {
    (void)made;
    assert_layout(array, 2, SHAPE(2, 3), SHAPE(4, 8));
}

static void with_zero_strides(producer *made) { made->strides[0] = made->strides[1] = 0; }
static void check_zero_strides(const producer *made, via_array *array) {
    (void)made;
    assert_layout(array, 2, SHAPE(2, 3), SHAPE(0, 0));
}

static void with_strides_of_axes_of_one(producer *made) {
    made->shape[0] = made->shape[1] = 1;
    made->strides[0] = INT64_MAX;
    made->strides[1] = INT64_MIN;
}
static void check_strides_of_axes_of_one(const producer *made, via_array *array) {
    (void)made;
    assert_shape(array, 2, SHAPE(1, 1));
    assert_int_equal(via_array_is_contiguous(array, VIA_ORDER_ROW_MAJOR), 1);
    assert_int_equal(via_array_is_contiguous(array, VIA_ORDER_COLUMN_MAJOR), 1);
}

static void without_elements(producer *made) {
    made->shape[0] = 0;
    made->tensor.dl_tensor.data = NULL;
    made->tensor.dl_tensor.byte_offset = 640;
}
static void check_without_elements(const producer *made, via_array *array) {
    (void)made;
    assert_shape(array, 2, SHAPE(0, 3));
    assert_null(via_array_data(array));
}

static void without_elements_but_address(producer *made) { made->shape[1] = 0; }
static void check_without_elements_but_address(const producer *made, via_array *array) {
    (void)made;
    assert_int_equal(via_array_size(array), 0);
}

static void without_dimensions(producer *made) {
    made->tensor.dl_tensor.ndim = 0;
    made->tensor.dl_tensor.shape = NULL;
    made->tensor.dl_tensor.strides = NULL;
}
static void check_without_dimensions(const producer *made, via_array *array) {
    (void)made;
    assert_int_equal(via_array_ndim(array), 0);
    assert_int_equal(via_array_size(array), 1);
}

static void with_misaligned_data(producer *made) { made->tensor.dl_tensor.byte_offset = 3; }
static void check_misaligned(const producer *made, via_array *array) {
    (void)made;
    assert_int_equal(via_array_flags(array), VIA_ARRAY_MISALIGNED);
}

static void of_another_cpu(producer *made) { made->tensor.dl_tensor.device.device_id = 1; }
static void check_first_cpu(const producer *made, via_array *array) {
    (void)made;
    assert_int_equal(via_array_device_type(array), VIA_DEVICE_CPU);
    assert_int_equal(via_array_device_id(array), 0);
}

static void with_the_most_dimensions(producer *made) {
    made->tensor.dl_tensor.ndim = VIA_MAX_NDIM;
    for (int32_t i = 0; i < VIA_MAX_NDIM; ++i) {
        made->shape[i] = made->strides[i] = 1;
    }
}
static void check_the_most_dimensions(const producer *made, via_array *array) {
    assert_shape(array, VIA_MAX_NDIM, made->shape);
}

static void as_bool(producer *made) { made->tensor.dl_tensor.dtype = dl_dtype(VIA_BOOL); }
static void check_bool(const producer *made, via_array *array) {
    (void)made;
    assert_int_equal(via_array_dtype(array), VIA_BOOL);
    assert_int_equal(via_array_nbytes(array), 6);
}

static void as_float8(producer *made) { made->tensor.dl_tensor.dtype = dl_dtype(VIA_FLOAT8_E4M3FN); }
static void check_float8(const producer *made, via_array *array) {
    (void)made;
    assert_int_equal(via_array_dtype(array), VIA_FLOAT8_E4M3FN);
    assert_int_equal(via_array_nbytes(array), 6);
}

static void as_packed_int4(producer *made) { made->tensor.dl_tensor.dtype = dl_dtype(VIA_INT4); }
static void check_packed_int4(const producer *made, via_array *array) {
    (void)made;
    assert_int_equal(via_array_nbytes(array), 3);
    assert_int_equal(via_array_flags(array), 0);
    assert_numbers(via_array_strides(array), SHAPE(3, 1), 2);
}

static void with_lanes(producer *made) { made->tensor.dl_tensor.dtype.lanes = 4; }
static void check_lanes(const producer *made, via_array *array) {
    (void)made;
    assert_layout(array, 2, SHAPE(2, 3), SHAPE(48, 16));
}

static void a_byte_offset_is_added_to_the_data(void **state) {
    (void)state;
    assert_taken(with_byte_offset, check_byte_offset);
}

static void strides_of_null_mean_row_major(void **state) {
    (void)state;
    assert_taken(with_null_strides, check_row_major);
}

static void negative_strides_lead_backwards(void **state) {
    (void)state;
    assert_taken(with_negative_strides, check_negative_strides);
}

static void strides_that_are_not_row_major_are_not_ignored(void **state) {
    (void)state;
    assert_taken(with_transposed_strides, check_transposed_strides);
}

static void strides_of_zero_repeat(void **state) {
    (void)state;
    assert_taken(with_zero_strides, check_zero_strides);
}

static void strides_of_axes_of_one_have_no_say(void **state) {
    (void)state;
    assert_taken(with_strides_of_axes_of_one, check_strides_of_axes_of_one);
}

static void no_elements_need_no_data(void **state) {
    (void)state;
    assert_taken(without_elements, check_without_elements);
}

static void no_elements_may_have_data(void **state) {
    (void)state;
    assert_taken(without_elements_but_address, check_without_elements_but_address);
}

static void no_dimensions_need_no_shape(void **state) {
    (void)state;
    assert_taken(without_dimensions, check_without_dimensions);
}

static void misaligned_data_is_taken_and_flagged(void **state) {
    (void)state;
    assert_taken(with_misaligned_data, check_misaligned);
}

static void any_cpu_is_the_cpu(void **state) {
    (void)state;
    assert_taken(of_another_cpu, check_first_cpu);
}

static void as_many_as_64_dimensions_are_taken(void **state) {
    (void)state;
    assert_taken(with_the_most_dimensions, check_the_most_dimensions);
}

static void a_bool_is_a_bool(void **state) {
    (void)state;
    assert_taken(as_bool, check_bool);
}

static void a_float8_is_a_float8(void **state) {
    (void)state;
    assert_taken(as_float8, check_float8);
}

static void narrow_elements_are_packed_unless_said_to_be_padded(void **state) {
    (void)state;
    assert_taken(as_packed_int4, check_packed_int4);
}

static void lanes_make_wider_elements(void **state) {
    (void)state;
    assert_taken(with_lanes, check_lanes);
}

static void too_large_to_copy(producer *made) {
    made->shape[0] = INT64_C(1) << 57;
    made->strides[0] = 0;
}

static void a_copy_that_there_is_no_memory_for_leaves_the_tensor_the_producers(void **state) {
    (void)state;
    assert_refused(too_large_to_copy, VIA_ERROR_OUT_OF_MEMORY, "1729382256910270464 bytes", VIA_COPY_ALWAYS);
}

static void padded_narrow_elements_have_a_byte_each_and_keep_the_flag(void **state) {
    (void)state;
    const int32_t dtypes[] = {VIA_INT4, VIA_FLOAT4_E2M1FN, VIA_FLOAT6_E3M2FN, SCALAR(1, 1)};
    for (int32_t i = 0; i < LENGTH(dtypes); ++i) {
        producer made;
        produce_changed(&made, NULL);
        made.tensor.dl_tensor.dtype = dl_dtype(dtypes[i]);
        made.tensor.flags = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
        via_array *array = NULL;
        ok(via_from_dlpack(&made.tensor, NULL, NULL, &array));
        assert_int_equal(via_array_flags(array), VIA_ARRAY_SUBBYTE_PADDED);
        assert_int_equal(via_array_nbytes(array), 6);
        assert_layout(array, 2, SHAPE(2, 3), SHAPE(3, 1));
        DLManagedTensorVersioned *tensor = NULL;
        ok(via_to_dlpack(array, NULL, NULL, &tensor));
        assert_int_equal(tensor->flags, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);
        via_dlpack_delete(tensor);
        via_dlpack_options of_1_0 = VIA_DLPACK_OPTIONS_INIT;
        of_1_0.max_major = 1;
        refused(VIA_ERROR_EXCHANGE, "via_to_dlpack|padded|1.0", via_to_dlpack(array, &of_1_0, NULL, &tensor));
        assert_null(tensor);
        via_array_release(array);
    }
}

static void the_padding_flag_means_nothing_for_whole_bytes(void **state) {
    (void)state;
    producer made;
    produce_changed(&made, NULL);
    made.tensor.flags = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
    via_array *array = NULL;
    ok(via_from_dlpack(&made.tensor, NULL, NULL, &array));
    assert_int_equal(via_array_flags(array), 0);
    via_array_release(array);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_hostile_tensor_is_refused_by_name_and_stays_the_producers),
        TEST(a_hostile_legacy_tensor_is_refused_by_name_and_stays_the_producers),
        TEST(device_memory_is_not_mistaken_for_host_memory),
        TEST(another_major_version_is_refused_and_stays_the_producers),
        TEST(nothing_but_the_version_of_another_major_version_is_read),
        TEST(flags_that_are_none_are_refused),
        TEST(a_newer_minor_version_may_have_flags_of_its_own),
        TEST(a_byte_offset_is_added_to_the_data),
        TEST(strides_of_null_mean_row_major),
        TEST(negative_strides_lead_backwards),
        TEST(strides_that_are_not_row_major_are_not_ignored),
        TEST(strides_of_zero_repeat),
        TEST(strides_of_axes_of_one_have_no_say),
        TEST(no_elements_need_no_data),
        TEST(no_elements_may_have_data),
        TEST(no_dimensions_need_no_shape),
        TEST(misaligned_data_is_taken_and_flagged),
        TEST(any_cpu_is_the_cpu),
        TEST(as_many_as_64_dimensions_are_taken),
        TEST(a_bool_is_a_bool),
        TEST(a_float8_is_a_float8),
        TEST(narrow_elements_are_packed_unless_said_to_be_padded),
        TEST(lanes_make_wider_elements),
        TEST(a_copy_that_there_is_no_memory_for_leaves_the_tensor_the_producers),
        TEST(padded_narrow_elements_have_a_byte_each_and_keep_the_flag),
        TEST(the_padding_flag_means_nothing_for_whole_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
