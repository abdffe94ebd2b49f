/* Exporting to others and taking from them. */
#include "../capi/arrow_column.h"
#include "../capi/producer.h"
#include "scenario.h"

#include <unistd.h>

enum { BYTES = 256 };

static unsigned char bytes[BYTES];
static char *there;
static via_stream *stream;
static producer made;
static column offered;

static void prepare_device(void) {
    there = (char *)(uintptr_t)device_memory(BYTES);
    fill_pattern(bytes, BYTES, 3);
    write_pattern((CUdeviceptr)(uintptr_t)there, BYTES, 3);
    stream = wrap_native(new_stream(), 0);
}

static via_dlpack_options options_of(int32_t copy, int32_t target) {
    via_dlpack_options options = VIA_DLPACK_OPTIONS_INIT;
    options.copy = copy;
    options.target_device_type = target;
    return options;
}

/* Out in either form, and in again. */
static via_status there_and_back(via_array *array, const via_dlpack_options *options, via_stream *on) {
    via_status status = VIA_OK;
    DLManagedTensorVersioned *tensor = NULL;
    DLManagedTensor *legacy = NULL;
    via_array *taken[2] = {NULL};
    THEN(via_to_dlpack(array, options, on, &tensor));
    THEN(via_from_dlpack(tensor, NULL, on, &taken[0]));
    THEN(via_to_dlpack_legacy(array, options, on, &legacy));
    THEN(via_from_dlpack_legacy(legacy, NULL, on, &taken[1]));
    if (taken[0] == NULL) {
        via_dlpack_delete(tensor);
    }
    if (taken[1] == NULL) {
        via_dlpack_delete_legacy(legacy);
    }
    via_array_release(taken[0]);
    via_array_release(taken[1]);
    return status;
}

static via_status export_by_dlpack(void) {
    via_status status = VIA_OK;
    via_array *array = NULL;
    const via_dlpack_options copied = options_of(VIA_COPY_ALWAYS, VIA_DEVICE_ANY);
    THEN(export(bytes, BYTES, VIA_DEVICE_CPU, 0, &array));
    THEN(there_and_back(array, NULL, NULL));
    THEN(there_and_back(array, &copied, NULL));
    via_array_release(array);
    return status;
}

static via_status export_a_device_by_dlpack(void) {
    via_status status = VIA_OK;
    via_array *array = NULL;
    const via_dlpack_options copied = options_of(VIA_COPY_ALWAYS, VIA_DEVICE_ANY);
    const via_dlpack_options fetched = options_of(VIA_COPY_IF_NEEDED, VIA_DEVICE_CPU);
    THEN(export(there, BYTES, VIA_DEVICE_CUDA, 0, &array));
    THEN(via_array_set_ready(array, stream));
    THEN(there_and_back(array, NULL, stream));
    THEN(there_and_back(array, NULL, via_stream_no_sync()));
    THEN(there_and_back(array, &copied, stream));
    THEN(there_and_back(array, &fetched, NULL));
    via_array_release(array);
    return status;
}

static via_status bring_to_a_device(void) {
    via_status status = VIA_OK;
    via_array *array = NULL;
    const via_dlpack_options sent = options_of(VIA_COPY_IF_NEEDED, VIA_DEVICE_CUDA);
    THEN(export(bytes, BYTES, VIA_DEVICE_CPU, 0, &array));
    THEN(there_and_back(array, &sent, stream));
    via_array_release(array);
    return status;
}

/* Whatever comes of it, the deleter runs once. */
static via_status take_from_a_stranger(const via_dlpack_options *options) {
    via_status status = VIA_OK;
    via_array *array = NULL;
    produce_changed(&made, NULL);
    THEN(via_from_dlpack(&made.tensor, options, NULL, &array));
    if (array == NULL && made.deleted != 0) {
        complain("a tensor that was not taken has been deleted");
    }
    if (array == NULL) {
        via_dlpack_delete(&made.tensor);
    }
    via_array_release(array);
    if (made.deleted != 1) {
        complain("the deleter ran %d times", made.deleted);
    }
    return status;
}

static via_status take_an_older_form(const via_dlpack_options *options) {
    via_status status = VIA_OK;
    via_array *array = NULL;
    produce_changed(&made, NULL);
    THEN(via_from_dlpack_legacy(&made.legacy, options, NULL, &array));
    if (array == NULL) {
        via_dlpack_delete_legacy(&made.legacy);
    }
    via_array_release(array);
    if (made.deleted != 1) {
        complain("the deleter ran %d times", made.deleted);
    }
    return status;
}

static via_status take_by_dlpack(void) {
    via_status status = VIA_OK;
    const via_dlpack_options copied = options_of(VIA_COPY_ALWAYS, VIA_DEVICE_ANY);
    const via_dlpack_options sent = options_of(VIA_COPY_IF_NEEDED, VIA_DEVICE_CUDA);
    THEN(take_from_a_stranger(NULL));
    THEN(take_from_a_stranger(&copied));
    THEN(take_from_a_stranger(&sent));
    THEN(take_an_older_form(NULL));
    THEN(take_an_older_form(&copied));
    return status;
}

static via_status exchange_descriptions(void) {
    via_status status = VIA_OK;
    via_array *array = NULL;
    via_array *taken = NULL;
    via_array_interface description = VIA_ARRAY_INTERFACE_INIT;
    owner *taker = new_owner(there, 0);
    THEN(export(bytes, BYTES, VIA_DEVICE_CPU, 0, &array));
    THEN(via_to_array_interface(array, &description));
    THEN(via_from_array_interface(&description, report_owner, taker, &taken));
    taker->exported = taken != NULL;
    via_array_release(taken);
    via_array_release(array);
    return status;
}

static via_status exchange_descriptions_of_a_device(void) {
    via_status status = VIA_OK;
    via_array *array = NULL;
    via_array *taken = NULL;
    via_array_interface description = VIA_ARRAY_INTERFACE_INIT;
    owner *taker = new_owner(there, 0);
    THEN(export(there, BYTES, VIA_DEVICE_CUDA, 0, &array));
    THEN(via_array_set_ready(array, via_stream_legacy()));
    THEN(via_to_cuda_array_interface(array, stream, &description));
    THEN(via_from_cuda_array_interface(&description, report_owner, taker, &taken));
    taker->exported = taken != NULL;
    via_array_release(taken);
    via_array_release(array);
    return status;
}

static via_status export_as_column(void *address, int32_t device_type, int ready) {
    via_status status = VIA_OK;
    via_array *array = NULL;
    via_array *shaped = NULL;
    via_array *taken = NULL;
    struct ArrowSchema schema = {0};
    struct ArrowDeviceArray exported = {0};
    THEN(export(address, BYTES, device_type, 0, &array));
    if (ready) {
        THEN(via_array_set_ready(array, stream));
    }
    THEN(via_array_reshape(array, 2, SHAPE(-1, 8), &shaped));
    THEN(via_to_arrow_device(shaped, &schema, &exported));
    THEN(via_from_arrow_device(&schema, &exported, device_type == VIA_DEVICE_CUDA ? stream : NULL, &taken));
    via_arrow_release(&schema, &exported);
    via_array_release(taken);
    via_array_release(shaped);
    via_array_release(array);
    return status;
}

static via_status exchange_columns(void) { return export_as_column(bytes, VIA_DEVICE_CPU, 0); }
static via_status exchange_columns_of_a_device(void) { return export_as_column(there, VIA_DEVICE_CUDA, 1); }

static via_status take_a_column(void) {
    via_status status = VIA_OK;
    via_array *array = NULL;
    make_column(&offered, 4, 1, SHAPE(3));
    THEN(via_from_arrow_device(&offered.schema[0], &offered.offered, NULL, &array));
    if (array == NULL && (offered.columns_released != 0 || offered.schemas_released != 0)) {
        complain("a column that was not taken has been released");
    }
    via_arrow_release(&offered.schema[0], &offered.offered);
    via_array_release(array);
    if (offered.columns_released != 1 || offered.schemas_released != 1) {
        complain("the column was released %d times, its schema %d times", offered.columns_released,
                 offered.schemas_released);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------ other processes */

typedef struct description {
    int64_t length;
    unsigned char bytes[VIA_IPC_MAX_BYTES];
} description;

static description theirs;

static via_status describe(via_array *array, description *out) {
    return via_array_export_ipc(array, sizeof out->bytes, out->bytes, &out->length);
}

/* Host memory may be imported by the process that it is of. */
static via_status share_with_other_processes(void) {
    via_status status = VIA_OK;
    via_memory *memory = NULL;
    via_array *array = NULL;
    via_array *taken = NULL;
    description given = {0};
    THEN(via_memory_create(VIA_MEMORY_SHARED, 0, &memory));
    THEN(via_empty(memory, VIA_UINT8, 1, SHAPE(BYTES), NULL, &array));
    THEN(via_fill(array, &(unsigned char){7}, NULL));
    THEN(describe(array, &given));
    THEN(via_array_import_ipc(given.bytes, given.length, &taken));
    via_array_release(array);
    HOLDS(((const unsigned char *)via_array_data(taken))[BYTES - 1] == 7);
    via_array_release(taken);
    via_memory_release(memory);
    return status;
}

static via_status share_a_device_with_other_processes(void) {
    via_status status = VIA_OK;
    via_array *array = NULL;
    description given = {0};
    description again = {0};
    THEN(export(there, BYTES, VIA_DEVICE_CUDA, 0, &array));
    THEN(via_array_set_ready(array, stream));
    THEN(describe(array, &given));
    THEN(via_array_record_stream(array, stream));
    THEN(describe(array, &again));
    HOLDS(memcmp(&given, &again, sizeof given) == 0);
    via_array_release(array);
    return status;
}

static void export_until_the_end(void) {
    assert_true(driver_is_there());
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    const CUdeviceptr memory = device_memory(BYTES);
    ok(describe(wrap_bytes((const void *)(uintptr_t)memory, BYTES, VIA_DEVICE_CUDA, 0, NULL), &theirs));
    assert_int_equal(write(1, &theirs, sizeof theirs), sizeof theirs);
    char end = 0;
    assert_int_equal(read(0, &end, 1), 0);
    _exit(0);
}

/* One process for all, which ends when this one has. */
static void start_exporter(void) {
    static const char *const no_settings[] = {NULL};
    if (theirs.length == 0) {
        const other_process exporter = start_apart(export_until_the_end, no_settings);
        assert_int_equal(read(exporter.from, &theirs, sizeof theirs), sizeof theirs);
    }
}

static via_status take_from_another_process(void) {
    via_status status = VIA_OK;
    via_array *taken = NULL;
    THEN(via_array_import_ipc(theirs.bytes, theirs.length, &taken));
    HOLDS(via_array_device_type(taken) == VIA_DEVICE_CUDA && via_array_nbytes(taken) == BYTES);
    via_array_release(taken);
    return status;
}

const scenario exchange_scenarios[] = {
    {"arrays are exported by DLPack", export_by_dlpack, NULL, NULL, 0, 0, 0},
    {"arrays of a device are exported by DLPack", export_a_device_by_dlpack, prepare_device, NULL, 0, 0, 0},
    {"arrays are brought to a device by DLPack", bring_to_a_device, prepare_device, NULL, 1, 0, 0},
    {"tensors are taken", take_by_dlpack, NULL, NULL, 0, 0, 0},
    {"array interfaces are exchanged", exchange_descriptions, NULL, NULL, 0, 0, 0},
    {"CUDA array interfaces are exchanged", exchange_descriptions_of_a_device, prepare_device, NULL, 0, 0, 0},
    {"Arrow columns are exchanged", exchange_columns, NULL, NULL, 0, 0, 0},
    {"Arrow columns of a device are exchanged", exchange_columns_of_a_device, prepare_device, NULL, 0, 0, 0},
    {"Arrow columns are taken", take_a_column, NULL, NULL, 0, 0, 0},
    {"arrays are shared with other processes", share_with_other_processes, NULL, NULL, 0, 0, 0},
    {"arrays of a device are shared with other processes", share_a_device_with_other_processes, prepare_device, NULL, 0,
     0, 0},
    {"an array of another process is imported", take_from_another_process, start_exporter, NULL, 0, 0, 0},
    {NULL, NULL, NULL, NULL, 0, 0, 0},
};
