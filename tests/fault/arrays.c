/* What needs no device: arrays and their views, dtypes, the library itself. */
#include "scenario.h"

static double numbers[32];

static via_status wrap_and_view(void) {
    via_status status = VIA_OK;
    via_array *array = NULL;
    via_array *views[11] = {NULL};
    owner *who = new_owner(numbers, sizeof numbers);
    THEN(via_wrap(numbers, VIA_COMPLEX64, 2, SHAPE(4, 3), NULL, VIA_DEVICE_CPU, 0, VIA_WRAP_PROBE, report_owner, who,
                  &array));
    who->exported = array != NULL;
    THEN(via_array_slice(array, SHAPE(1, 1), NULL, NULL, &views[0]));
    THEN(via_array_select(array, 0, 1, &views[1]));
    THEN(via_array_permute(array, NULL, &views[2]));
    THEN(via_array_reshape(array, 1, SHAPE(-1), &views[3]));
    THEN(via_array_broadcast(array, 3, SHAPE(5, 4, 3), &views[4]));
    THEN(via_array_squeeze(array, 0, NULL, &views[5]));
    THEN(via_array_expand(array, 0, &views[6]));
    THEN(via_array_reinterpret(array, VIA_UINT8, &views[7]));
    THEN(via_array_field(array, 4, VIA_FLOAT32, 0, NULL, &views[8]));
    THEN(via_array_as_read_only(array, &views[9]));
    via_array_retain(array);
    via_array_release(array);
    via_array_release(array);
    for (int32_t i = 0; i < LENGTH(views); ++i) {
        via_array_release(views[i]);
    }
    return status;
}

static via_status wrap_what_is_found(void) {
    via_status status = VIA_OK;
    via_pointer_info info = VIA_POINTER_INFO_INIT;
    via_array *array = NULL;
    THEN(via_pointer_query(numbers, &info));
    THEN(export(numbers, sizeof numbers, VIA_DEVICE_ANY, 0, &array));
    HOLDS(via_array_device_type(array) == VIA_DEVICE_CPU && info.device_type == VIA_DEVICE_CPU);
    via_array_release(array);
    return status;
}

static via_status look_at_an_array(void) {
    via_status status = VIA_OK;
    via_array *array = NULL;
    owner *who = new_owner(numbers, sizeof numbers);
    THEN(via_wrap(numbers, VIA_FLOAT64, 2, SHAPE(4, 8), NULL, VIA_DEVICE_CPU, 0, 0, report_owner, who, &array));
    who->exported = array != NULL;
    HOLDS(via_array_data(array) == numbers && via_array_context(array, report_owner) == who);
    HOLDS(via_array_dtype(array) == VIA_FLOAT64 && via_array_ndim(array) == 2);
    HOLDS(via_array_shape(array)[1] == 8 && via_array_strides(array)[0] == 8 && via_array_byte_strides(array)[0] == 64);
    HOLDS(via_array_device_type(array) == VIA_DEVICE_CPU && via_array_device_id(array) == 0);
    HOLDS(via_array_size(array) == 32 && via_array_nbytes(array) == 256 && via_array_flags(array) == 0);
    HOLDS(via_array_is_contiguous(array, VIA_ORDER_ROW_MAJOR) && via_array_is_ready(array));
    HOLDS(via_array_release_waits(array) == 0);
    THEN(via_array_synchronize(array));
    via_array_release(array);
    return status;
}

static via_status ask_the_library(void) {
    via_status status = VIA_OK;
    via_device_properties properties = VIA_DEVICE_PROPERTIES_INIT;
    via_stats_info stats = VIA_STATS_INFO_INIT;
    char name[32] = "";
    int32_t dtype = 0;
    int32_t count = 0;
    THEN(via_require(VIA_VERSION_MAJOR, VIA_VERSION_MINOR));
    THEN(via_dtype_name(via_dtype_record(12), sizeof name, name));
    THEN(via_dtype_from_name("float32", &dtype));
    THEN(via_device_count(VIA_DEVICE_CUDA, &count));
    THEN(via_device_info(VIA_DEVICE_CPU, 0, &properties));
    THEN(via_set_num_threads(via_num_threads()));
    THEN(via_set_num_threads(0));
    THEN(via_stats(&stats));
    HOLDS(via_version() >= 1000000 && via_dtype_is_valid(dtype) && via_dtype_bits(dtype) == 32 &&
          via_dtype_can_cast(dtype, VIA_COMPLEX128, VIA_CASTING_SAFE));
    return status;
}

const scenario array_scenarios[] = {
    {"arrays are wrapped and viewed", wrap_and_view, NULL, NULL, 0, 0, 0},
    {"arrays are wrapped where they are found", wrap_what_is_found, NULL, NULL, 1, 0, 0},
    {"arrays are looked at", look_at_an_array, NULL, NULL, 0, 0, 0},
    {"the library is asked", ask_the_library, NULL, NULL, 1, 0, 0},
    {NULL, NULL, NULL, NULL, 0, 0, 0},
};
