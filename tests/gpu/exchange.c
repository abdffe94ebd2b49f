/* Exchange of CUDA memory from C: who is believed, who waits, and what goes where without a copy. */
#include "../capi/arrow_column.h"
#include "../capi/producer.h"
#include "support.h"

/* A well-behaved tensor of six floats on the device or kind of memory named. */
static void produce_on(producer *made, const void *address, DLDeviceType type, int32_t id) {
    produce(made);
    made->tensor.dl_tensor.data = (void *)(uintptr_t)address;
    made->tensor.dl_tensor.device = (DLDevice){type, id};
}

static const void *device_block(size_t bytes) { return (const void *)(uintptr_t)device_memory(bytes); }
static const void *managed_block(size_t bytes) { return (const void *)(uintptr_t)managed_memory(bytes); }

static via_array *written_by(CUstream stream, const void *address, int32_t device_type) {
    via_array *array = wrap_bytes(address, 64, device_type, 0, NULL);
    hold(stream);
    cu_ok(cu(cuMemsetD8Async)((CUdeviceptr)(uintptr_t)address, 1, 64, stream));
    ok(via_array_set_ready(array, wrap_native(stream, 0)));
    return array;
}

/* ------------------------------------------------------------------------------------------------ DLPack */

static void a_tensor_is_taken_where_it_is_and_deleted_once(void **state) {
    (void)state;
    const struct {
        const void *address;
        DLDeviceType type;
    } rows[] = {{device_block(64), kDLCUDA}, {pinned_memory(64), kDLCUDAHost}, {managed_block(64), kDLCUDAManaged}};
    for (int i = 0; i < LENGTH(rows); ++i) {
        producer made;
        via_array *array = NULL;
        produce_on(&made, rows[i].address, rows[i].type, 0);
        ok(via_from_dlpack(&made.tensor, NULL, NULL, &array));
        assert_ptr_equal(via_array_data(array), rows[i].address);
        assert_int_equal(via_array_device_type(array), rows[i].type);
        assert_int_equal(made.deleted, 0);
        via_array_release(array);
        assert_int_equal(made.deleted, 1);
    }
}

static void a_tensor_that_lies_about_its_memory_stays_the_callers(void **state) {
    (void)state;
    const void *device = device_block(64);
    static float host[6];
    const struct {
        const void *address;
        DLDeviceType type;
        int32_t id;
        via_status status;
        const char *words;
    } rows[] = {
        {device, kDLCUDA, 99, VIA_ERROR_DEVICE, "tensor.device.device_id is 99"},
        {device, kDLCUDA, -1, VIA_ERROR_DEVICE, "tensor.device.device_id is -1"},
        {device, kDLCUDAHost, 0, VIA_ERROR_DEVICE, "tensor.address|device memory|pinned memory"},
        {device, kDLCUDAManaged, 0, VIA_ERROR_DEVICE, "tensor.address|device memory|managed memory"},
        {pinned_memory(64), kDLCUDA, 0, VIA_ERROR_DEVICE, "tensor.address|pinned memory|device memory"},
        {host, kDLCUDA, 0, VIA_ERROR_POINTER, "tensor.address|host memory"},
        {host, kDLCUDAHost, 0, VIA_ERROR_POINTER, "tensor.address|host memory|pinned memory"},
    };
    for (int i = 0; i < LENGTH(rows); ++i) {
        producer made;
        via_array *array = NULL;
        produce_on(&made, rows[i].address, rows[i].type, rows[i].id);
        refused(rows[i].status, rows[i].words, via_from_dlpack(&made.tensor, NULL, NULL, &array));
        assert_null(array);
        assert_int_equal(made.deleted, 0);
    }
}

static void managed_memory_may_go_as_a_devices(void **state) {
    (void)state;
    producer made;
    via_array *array = NULL;
    produce_on(&made, managed_block(64), kDLCUDA, 0);
    ok(via_from_dlpack(&made.tensor, NULL, NULL, &array));
    assert_int_equal(via_array_device_type(array), VIA_DEVICE_CUDA);
    via_array_release(array);
}

/* Where memory of one kind goes under another's name, and where only a copy does it. */
static void targets_are_reached_without_a_copy_or_by_one(void **state) {
    (void)state;
    enum { CPU = VIA_DEVICE_CPU, CUDA = VIA_DEVICE_CUDA, PINNED = VIA_DEVICE_CUDA_HOST, MANAGED = 13 };
    const struct {
        int32_t from;
        int32_t to;
        int copied;
    } rows[] = {{CUDA, CUDA, 0}, {PINNED, CPU, 0},  {MANAGED, CPU, 0}, {MANAGED, CUDA, 0}, {CUDA, CPU, 1},
                {CPU, CUDA, 1},  {PINNED, CUDA, 1}, {CPU, PINNED, 1},  {CUDA, MANAGED, 1}};
    static char host[64];
    for (int i = 0; i < LENGTH(rows); ++i) {
        const void *address = rows[i].from == CUDA      ? device_block(64)
                              : rows[i].from == PINNED  ? pinned_memory(64)
                              : rows[i].from == MANAGED ? managed_block(64)
                                                        : host;
        via_array *array = wrap_bytes(address, 64, rows[i].from, 0, NULL);
        via_dlpack_options options = VIA_DLPACK_OPTIONS_INIT;
        struct DLManagedTensorVersioned *tensor = NULL;
        options.target_device_type = rows[i].to;
        options.copy = VIA_COPY_NEVER;
        if (rows[i].copied) {
            refused(VIA_ERROR_NEEDS_COPY, "options.target_device", via_to_dlpack(array, &options, NULL, &tensor));
        }
        options.copy = VIA_COPY_IF_NEEDED;
        ok(via_to_dlpack(array, &options, NULL, &tensor));
        assert_int_equal(tensor->dl_tensor.device.device_type, rows[i].to);
        assert_int_equal(tensor->dl_tensor.data != address, rows[i].copied);
        assert_int_equal((tensor->flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0, rows[i].copied);
        via_dlpack_delete(tensor);
        via_array_release(array);
    }
}

/* Views that no one copy of adjacent bytes brings to a device. */
static via_array *make_strided(int32_t number, void *memory, int32_t device_type) {
    via_array *whole = NULL;
    via_array *view = NULL;
    const int packed = number == 4;
    ok(via_wrap(memory, packed ? VIA_INT4 : VIA_INT32, 2, packed ? SHAPE(40, 64) : SHAPE(40, 32), NULL, device_type, 0,
                0, NULL, NULL, &whole));
    switch (number) {
        case 0:
            ok(via_array_permute(whole, NULL, &view));
            break;
        case 1:
            ok(via_array_slice(whole, SHAPE(39, 31), SHAPE(20, 16), SHAPE(-2, -2), &view));
            break;
        case 2:
            ok(via_array_slice(whole, SHAPE(3, 5), SHAPE(30, 17), NULL, &view));
            break;
        case 3:
            ok(via_array_broadcast(whole, 3, SHAPE(7, 40, 32), &view));
            break;
        case 5:
            ok(via_array_slice(whole, SHAPE(39, 31), SHAPE(40, 32), SHAPE(-1, -1), &view));
            break;
        default:
            ok(via_array_slice(whole, SHAPE(0, 16), SHAPE(40, 32), NULL, &view));
            break;
    }
    via_array_release(whole);
    return view;
}

enum { STRIDED = 6, STRIDED_BYTES = 4 * 40 * 32 };

static void assert_tensor_holds(const struct DLManagedTensorVersioned *tensor, via_array *expected) {
    via_array *dense = NULL;
    ok(via_empty(NULL, via_array_dtype(expected), via_array_ndim(expected), via_array_shape(expected), NULL, &dense));
    ok(via_copy(dense, expected));
    const int64_t nbytes = via_array_nbytes(dense);
    char *found = malloc((size_t)nbytes);
    read_device(found, (CUdeviceptr)(uintptr_t)tensor->dl_tensor.data, (size_t)nbytes);
    assert_memory_equal(found, via_array_data(dense), (size_t)nbytes);
    free(found);
    via_array_release(dense);
}

static void export_strided_views(void) {
    void *const memory[] = {pageable_memory(STRIDED_BYTES), registered_memory(STRIDED_BYTES),
                            pinned_memory(STRIDED_BYTES), (void *)(uintptr_t)managed_memory(STRIDED_BYTES),
                            (void *)(uintptr_t)managed_memory(STRIDED_BYTES)};
    static const int32_t types[] = {VIA_DEVICE_CPU, VIA_DEVICE_CPU, VIA_DEVICE_CUDA_HOST, VIA_DEVICE_CUDA_MANAGED,
                                    VIA_DEVICE_CPU};
    CUstream native = new_stream();
    via_stream *const streams[] = {NULL, via_stream_no_sync(), wrap_native(native, 0)};
    via_dlpack_options options = VIA_DLPACK_OPTIONS_INIT;
    options.target_device_type = VIA_DEVICE_CUDA;
    options.copy = VIA_COPY_ALWAYS;
    for (int32_t i = 0; i < LENGTH(memory) * STRIDED * LENGTH(streams); ++i) {
        const int32_t kind = i % LENGTH(memory);
        const int32_t number = i / LENGTH(memory) % STRIDED;
        note("memory %d, view %d, stream %d", kind, number, i / LENGTH(memory) / STRIDED);
        fill_pattern(memory[kind], STRIDED_BYTES, (unsigned)i);
        via_array *view = make_strided(number, memory[kind], types[kind]);
        struct DLManagedTensorVersioned *tensor = NULL;
        ok(via_to_dlpack(view, &options, streams[i / LENGTH(memory) / STRIDED], &tensor));
        finish(native);
        assert_tensor_holds(tensor, view);
        via_dlpack_delete(tensor);
        via_array_release(view);
    }
}

static void strided_views_of_the_hosts_memory_are_copied_to_a_device(void **state) {
    (void)state;
    export_strided_views();
}

static void export_without_kernels(void) {
    assert_true(driver_is_there());
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    fake(fake_set)(FAKE_MODULE_RESULT, CUDA_ERROR_NO_BINARY_FOR_GPU);
    export_strided_views();
    assert_string_equal(via_last_error(), "");
}

static void strided_views_are_copied_to_a_device_without_kernels_too(void **state) {
    (void)state;
    steer();
    APART(export_without_kernels);
}

static void a_strided_copy_of_pinned_memory_is_left_to_the_consumers_stream(void **state) {
    (void)state;
    need_kernels();
    char *memory = pinned_memory(STRIDED_BYTES);
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    via_dlpack_options options = VIA_DLPACK_OPTIONS_INIT;
    options.target_device_type = VIA_DEVICE_CUDA;
    for (int32_t i = 0; i < STRIDED; ++i) {
        note("view %d", i);
        via_array *view = make_strided(i, memory, VIA_DEVICE_CUDA_HOST);
        struct DLManagedTensorVersioned *tensor = NULL;
        hold(native);
        ok(via_to_dlpack(view, &options, stream, &tensor));
        assert_false(is_done(native));
        fill_pattern(memory, STRIDED_BYTES, (unsigned)i);
        release(native);
        finish(native);
        assert_tensor_holds(tensor, view);
        via_dlpack_delete(tensor);
        via_array_release(view);
    }
}

static void a_copy_brings_the_bytes_to_the_other_side_and_ends_the_tensor(void **state) {
    (void)state;
    producer made;
    via_array *array = NULL;
    via_dlpack_options options = VIA_DLPACK_OPTIONS_INIT;
    const CUdeviceptr memory = device_memory(64);
    write_pattern(memory, 24, 3);
    produce_on(&made, (const void *)(uintptr_t)memory, kDLCUDA, 0);
    options.target_device_type = VIA_DEVICE_CPU;
    ok(via_from_dlpack(&made.tensor, &options, NULL, &array));
    assert_int_equal(made.deleted, 1);
    assert_int_equal(via_array_flags(array) & VIA_ARRAY_COPIED, VIA_ARRAY_COPIED);
    assert_pattern(via_array_data(array), 24, 3);
    via_array_release(array);
}

static void an_import_is_ready_after_the_stream_it_names(void **state) {
    (void)state;
    producer made;
    via_array *array = NULL;
    CUstream writer = new_stream();
    const CUdeviceptr memory = device_memory(64);
    produce_on(&made, (const void *)(uintptr_t)memory, kDLCUDA, 0);
    hold(writer);
    cu_ok(cu(cuMemsetD8Async)(memory, 7, 64, writer));
    ok(via_from_dlpack(&made.tensor, NULL, wrap_native(writer, 0), &array));
    assert_int_equal(via_array_is_ready(array), 0);
    release(writer);
    ok(via_array_synchronize(array));
    assert_int_equal(via_array_is_ready(array), 1);
    assert_device_bytes(memory, 24, 7);
    via_array_release(array);
}

/* ------------------------------------------------------------------------------------------------ array interface */

static void a_description_names_the_stream_that_it_was_ordered_on(void **state) {
    (void)state;
    CUstream writer = new_stream();
    CUstream reader = new_stream();
    via_stream *stream = wrap_native(reader, 0);
    via_array *array = written_by(writer, device_block(64), VIA_DEVICE_CUDA);
    via_array_interface description = VIA_ARRAY_INTERFACE_INIT;
    ok(via_to_cuda_array_interface(array, via_stream_no_sync(), &description));
    assert_int_equal(description.has_stream, 0);
    ok(via_to_cuda_array_interface(array, stream, &description));
    assert_int_equal(description.has_stream, 1);
    assert_int_equal(description.stream, (int64_t)(uintptr_t)reader);
    assert_false(is_done(reader));
    release(writer);
    finish(reader);
    ok(via_to_cuda_array_interface(array, NULL, &description));
    assert_int_equal(description.stream, 1);
    via_array_release(array);
}

static void described_memory_is_found_and_follows_its_stream(void **state) {
    (void)state;
    CUstream writer = new_stream();
    const CUdeviceptr memory = device_memory(64);
    atomic_int released = 0;
    via_array *array = NULL;
    via_array_interface description = VIA_ARRAY_INTERFACE_INIT;
    description.version = 3;
    description.ndim = 1;
    description.shape[0] = 64;
    description.address = (void *)(uintptr_t)memory;
    strcpy(description.typestr, "|u1");
    description.has_stream = 1;
    refused(VIA_ERROR_EXCHANGE, "description.stream is 0",
            via_from_cuda_array_interface(&description, count_release, &released, &array));
    description.stream = (int64_t)(uintptr_t)writer;
    hold(writer);
    cu_ok(cu(cuMemsetD8Async)(memory, 5, 64, writer));
    ok(via_from_cuda_array_interface(&description, count_release, &released, &array));
    assert_int_equal(via_array_device_type(array), VIA_DEVICE_CUDA);
    assert_int_equal(via_array_is_ready(array), 0);
    release(writer);
    ok(via_array_synchronize(array));
    assert_int_equal(released, 0);
    via_array_release(array);
    assert_int_equal(released, 1);
    static char host[64];
    description.address = host;
    refused(VIA_ERROR_POINTER, "description.address",
            via_from_cuda_array_interface(&description, count_release, &released, &array));
    assert_int_equal(released, 1);
}

static void described_memory_follows_a_stream_of_another_device(void **state) {
    (void)state;
    need_two_devices();
    const CUdeviceptr memory[] = {device_memory(64), (CUdeviceptr)(uintptr_t)pinned_memory(64)};
    for (int i = 0; i < 2; ++i) {
        via_array *array = NULL;
        via_array_interface description = VIA_ARRAY_INTERFACE_INIT;
        CUstream writer = new_stream_on(1);
        description.version = 3;
        description.ndim = 1;
        description.shape[0] = 64;
        description.address = (void *)(uintptr_t)memory[i];
        strcpy(description.typestr, "|u1");
        description.has_stream = 1;
        description.stream = (int64_t)(uintptr_t)writer;
        hold(writer);
        cu_ok(cu(cuMemsetD8Async)(device_memory_on(1, 64), 5, 64, writer));
        ok(via_from_cuda_array_interface(&description, NULL, NULL, &array));
        assert_int_equal(via_array_is_ready(array), 0);
        release(writer);
        ok(via_array_synchronize(array));
        via_array_release(array);
    }
}

static void described_memory_is_not_unknown_while_the_driver_cannot_be_asked(void **state) {
    (void)state;
    steer();
    via_array *array = NULL;
    via_array_interface description = VIA_ARRAY_INTERFACE_INIT;
    description.version = 3;
    description.address = (void *)(uintptr_t)device_memory(64);
    strcpy(description.typestr, "|u1");
    fake(fake_fail_at)("cuPointerGetAttributes", -1, CUDA_ERROR_NOT_PERMITTED);
    refused(VIA_ERROR_CUDA, "CUDA_ERROR_NOT_PERMITTED",
            via_from_cuda_array_interface(&description, NULL, NULL, &array));
    fake(fake_clear_faults)();
    ok(via_from_cuda_array_interface(&description, NULL, NULL, &array));
    via_array_release(array);
}

/* ------------------------------------------------------------------------------------------------ Arrow */

static void a_column_carries_an_event_only_while_its_content_is_written(void **state) {
    (void)state;
    skip_where_calls_wait();
    CUstream writer = new_stream();
    struct ArrowSchema schema;
    struct ArrowDeviceArray exported;
    via_array *array = written_by(writer, device_block(64), VIA_DEVICE_CUDA);
    ok(via_to_arrow_device(array, &schema, &exported));
    assert_int_equal(exported.device_type, VIA_DEVICE_CUDA);
    assert_non_null(exported.sync_event);
    assert_int_equal(cu(cuEventQuery)(*(CUevent *)exported.sync_event), CUDA_ERROR_NOT_READY);
    release(writer);
    cu_ok(cu(cuEventSynchronize)(*(CUevent *)exported.sync_event));
    via_arrow_release(&schema, &exported);
    ok(via_to_arrow_device(array, &schema, &exported));
    assert_null(exported.sync_event);
    via_arrow_release(&schema, &exported);
    via_array_release(array);
}

static void an_importer_follows_the_event_of_a_column(void **state) {
    (void)state;
    skip_where_calls_wait();
    CUstream writer = new_stream();
    CUstream reader = new_stream();
    struct ArrowSchema schema;
    struct ArrowDeviceArray exported;
    via_array *taken = NULL;
    via_array *array = written_by(writer, device_block(64), VIA_DEVICE_CUDA);
    ok(via_to_arrow_device(array, &schema, &exported));
    ok(via_from_arrow_device(&schema, &exported, wrap_native(reader, 0), &taken));
    via_array_release(array);
    assert_int_equal(via_array_is_ready(taken), 0);
    assert_false(is_done(reader));
    release(writer);
    finish(reader);
    ok(via_array_synchronize(taken));
    assert_device_bytes((CUdeviceptr)(uintptr_t)via_array_data(taken), 64, 1);
    via_array_release(taken);
}

static void nulls_that_only_the_device_could_count_are_refused(void **state) {
    (void)state;
    struct ArrowSchema schema;
    struct ArrowDeviceArray exported;
    via_array *taken = NULL;
    via_array *array = wrap_device(device_memory(64), 64, NULL);
    ok(via_to_arrow_device(array, &schema, &exported));
    exported.array.null_count = -1;
    exported.array.buffers[0] = exported.array.buffers[1];
    refused(VIA_ERROR_EXCHANGE, "null_count is -1", via_from_arrow_device(&schema, &exported, NULL, &taken));
    assert_non_null(exported.array.release);
    via_arrow_release(&schema, &exported);
    via_array_release(array);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_tensor_is_taken_where_it_is_and_deleted_once),
        GPU_TEST(a_tensor_that_lies_about_its_memory_stays_the_callers),
        GPU_TEST(managed_memory_may_go_as_a_devices),
        GPU_TEST(targets_are_reached_without_a_copy_or_by_one),
        GPU_TEST(strided_views_of_the_hosts_memory_are_copied_to_a_device),
        GPU_TEST(strided_views_are_copied_to_a_device_without_kernels_too),
        GPU_TEST(a_strided_copy_of_pinned_memory_is_left_to_the_consumers_stream),
        GPU_TEST(a_copy_brings_the_bytes_to_the_other_side_and_ends_the_tensor),
        GPU_TEST(an_import_is_ready_after_the_stream_it_names),
        GPU_TEST(a_description_names_the_stream_that_it_was_ordered_on),
        GPU_TEST(described_memory_is_found_and_follows_its_stream),
        GPU_TEST(described_memory_follows_a_stream_of_another_device),
        GPU_TEST(described_memory_is_not_unknown_while_the_driver_cannot_be_asked),
        GPU_TEST(a_column_carries_an_event_only_while_its_content_is_written),
        GPU_TEST(an_importer_follows_the_event_of_a_column),
        GPU_TEST(nulls_that_only_the_device_could_count_are_refused),
    };
    return run_gpu_tests(tests);
}
