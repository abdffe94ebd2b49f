/* Archives of arrays on devices: in stream order, on the devices that are asked for, and nothing left as it was. */
#define _GNU_SOURCE

#include "file_support.h"

static const char *const kNames[] = {"a", "b"};

/* ------------------------------------------------------------------------------------------------ order */

typedef via_status (*save_call)(int32_t count, via_array *const *arrays, via_stream *stream);

static via_status save(int32_t count, via_array *const *arrays, via_stream *stream) {
    return via_archive_save(path_of("m.safetensors"), count, arrays, kNames, NULL, 0, NULL, stream);
}

static via_status submit(int32_t count, via_array *const *arrays, via_stream *stream) {
    via_task *task = NULL;
    via_status status =
        via_archive_save_submit(path_of("m.safetensors"), count, arrays, kNames, NULL, 0, NULL, stream, &task);
    status = status == VIA_OK ? via_task_wait(task) : status;
    via_task_release(task);
    return status;
}

enum { COUNT = 4000 };

static const save_call calls[] = {save, submit};
static via_array *both[2];
static save_call saves;
static CUcontext current;

static via_status call_save(behind *self) {
    cu_ok(cu(cuCtxSetCurrent)(current));
    return saves(self->src != NULL ? 1 : 2, self->src != NULL ? &self->src : both, self->stream);
}

/* Waits for the legacy stream of the context that is current, and sees what it wrote. */
static void save_behind(behind *call, CUdeviceptr written) {
    hold(NULL);
    cu_ok(cu(cuMemsetD8Async)(written, 7, COUNT, NULL));
    start_behind(call);
    assert_waits(call);
    release(NULL);
    end_behind(call);
}

static void assert_saved(int index) {
    via_archive *archive = NULL;
    via_array *buffer = NULL;
    via_array *found = NULL;
    ok(via_archive_open(path_of("m.safetensors"), NULL, &archive));
    ok(via_archive_load(archive, NULL, NULL, &buffer));
    ok(via_archive_array(archive, index, buffer, &found));
    assert_bytes(via_array_data(found), COUNT, 7);
    via_array_release(found);
    via_array_release(buffer);
    via_archive_release(archive);
    unlink(path_of("m.safetensors"));
}

static void a_save_waits_for_the_legacy_stream_of_each_arrays_device(void **state) {
    (void)state;
    need_two_devices();
    skip_where_calls_wait();
    for (int32_t way = 0; way < LENGTH(calls); ++way) {
        for (CUdevice slow = 0; slow < 2; ++slow) {
            CUdeviceptr memory[2];
            for (CUdevice i = 0; i < 2; ++i) {
                memory[i] = device_memory_on(i, COUNT);
                both[i] = wrap_bytes((void *)(uintptr_t)memory[i], COUNT, VIA_DEVICE_CUDA, i, NULL);
            }
            saves = calls[way];
            current = primary(0);
            cu_ok(cu(cuCtxSetCurrent)(primary(slow)));
            behind call = {.stream = via_stream_legacy(), .call = call_save};
            save_behind(&call, memory[slow]);
            assert_saved(slow);
            cu_ok(cu(cuCtxSetCurrent)(primary(0)));
            via_array_release(both[0]);
            via_array_release(both[1]);
        }
    }
}

static void memory_of_the_host_follows_the_legacy_stream_of_the_current_device(void **state) {
    (void)state;
    need_two_devices();
    skip_where_calls_wait();
    for (int32_t way = 0; way < LENGTH(calls); ++way) {
        char *memory = pinned_memory(COUNT);
        via_array *array = wrap_bytes(memory, COUNT, VIA_DEVICE_CUDA_HOST, 0, NULL);
        saves = calls[way];
        current = primary(1);
        cu_ok(cu(cuCtxSetCurrent)(current));
        behind call = {.src = array, .stream = via_stream_legacy(), .call = call_save};
        save_behind(&call, number_of(memory));
        assert_saved(0);
        cu_ok(cu(cuCtxSetCurrent)(primary(0)));
        via_array_release(array);
    }
}

static void a_task_writes_where_its_path_led_when_it_was_submitted(void **state) {
    (void)state;
    skip_where_calls_wait();
    char before[4096];
    via_task *task = NULL;
    const CUdeviceptr memory = device_memory(COUNT);
    via_array *array = wrap_device(memory, COUNT, NULL);
    CUstream stream = new_stream();
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(scratch), 0);
    hold(stream);
    cu_ok(cu(cuMemsetD8Async)(memory, 7, COUNT, stream));
    ok(via_archive_save_submit("m.safetensors", 1, &array, kNames, NULL, 0, NULL, wrap_native(stream, 0), &task));
    assert_int_equal(chdir(before), 0);
    release(stream);
    ok(via_task_wait(task));
    assert_saved(0);
    via_task_release(task);
    via_array_release(array);
}

/* ------------------------------------------------------------------------------------------------ devices */

static int is_active(CUdevice device) {
    unsigned flags = 0;
    int active = 0;
    cu_ok(cu(cuDevicePrimaryCtxGetState)(device, &flags, &active));
    return active;
}

static void save_from_device_1(void) {
    via_memory *memory = NULL;
    via_array *array = NULL;
    cu_ok(cu(cuInit)(0));
    assert_int_equal(make_scratch(NULL), 0);
    ok(via_memory_create(VIA_MEMORY_DEVICE, 1, &memory));
    ok(via_empty(memory, VIA_UINT8, 1, SHAPE(100), NULL, &array));
    ok(save(1, &array, NULL));
    assert_true(is_active(1));
    assert_false(is_active(0));
    via_array_release(array);
    via_memory_release(memory);
    unlink(path_of("m.safetensors"));
    assert_int_equal(remove_scratch(NULL), 0);
}

static void a_save_uses_the_devices_of_its_arrays_alone(void **state) {
    (void)state;
    need_two_devices();
    APART(save_from_device_1);
}

/* ------------------------------------------------------------------------------------------------ content */

static void bytes_between_tensors_that_a_device_converts_are_0(void **state) {
    (void)state;
    need_kernels();
    enum { MANY = (8 << 20) + 1, GAP = 60 };
    via_array *arrays[2];
    via_archive *archive = NULL;
    via_array *buffer = NULL;
    via_memory *memory = NULL;
    static unsigned char found[GAP + 64];
    for (int i = 0; i < 2; ++i) {
        ok(via_empty(NULL, VIA_BFLOAT16, 1, SHAPE(MANY), NULL, &arrays[i]));
        memset(via_array_data(arrays[i]), 1, 2 * (size_t)MANY);
    }
    ok(save(2, arrays, NULL));
    ok(via_archive_open(path_of("m.safetensors"), NULL, &archive));
    ok(via_archive_convert(archive, -1, VIA_FLOAT32, NULL));
    const int64_t nbytes = via_archive_nbytes(archive);
    assert_true(nbytes >= 8 * (int64_t)MANY + GAP);
    ok(via_memory_create(VIA_MEMORY_DEVICE, 0, &memory));
    ok(via_empty(memory, VIA_UINT8, 1, &nbytes, NULL, &buffer));
    for (int turn = 0; turn < 2; ++turn) { /* without the ring, and with it */
        ok(via_fill(buffer, &(unsigned char){0xEE}, NULL));
        ok(via_archive_read(archive, buffer, NULL));
        read_device(found, number_of(via_array_data(buffer)) + 4 * (CUdeviceptr)MANY, sizeof found);
        assert_bytes(found, GAP, 0);
        const CUdeviceptr end = number_of(via_array_data(buffer)) + GAP + 8 * (CUdeviceptr)MANY;
        const size_t rest = (size_t)(nbytes - GAP - 8 * (int64_t)MANY);
        read_device(found, end, rest < sizeof found ? rest : sizeof found);
        assert_bytes(found, rest < sizeof found ? rest : sizeof found, 0);
    }
    via_array_release(buffer);
    via_memory_release(memory);
    via_archive_release(archive);
    via_array_release(arrays[0]);
    via_array_release(arrays[1]);
    unlink(path_of("m.safetensors"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_save_waits_for_the_legacy_stream_of_each_arrays_device),
        GPU_TEST(memory_of_the_host_follows_the_legacy_stream_of_the_current_device),
        GPU_TEST(a_task_writes_where_its_path_led_when_it_was_submitted),
        GPU_TEST(a_save_uses_the_devices_of_its_arrays_alone),
        GPU_TEST(bytes_between_tensors_that_a_device_converts_are_0),
    };
    return run_gpu_file_tests(tests);
}
