/* The rows of table.tsv in C. Those that a checking library alone can report run where VIADUCT_CHECK is set. */
#include <sys/mman.h>
#include <unistd.h>

#include <dlpack/dlpack.h>

#include "support.h"

enum { PAGES = 1 << 16, NAME_BYTES = 64 };

/* What a wrong call may be made with; what it makes is released after it. */
static struct {
    float pixels[16];
    float others[16];
    char file_name[NAME_BYTES];
    via_array *subject; /* float32 (3, 4) */
    via_array *other;   /* float32 (3, 4) elsewhere */
    via_array *view;
    via_array *made;
    via_memory *memory;
    via_file *file;
    via_batch *batch;
    via_task *task;
    via_archive *archive;
} f;

#define WRAP(address, dtype, ndim, shape, strides, type, id, flags) \
    via_wrap((address), (dtype), (ndim), (shape), (strides), (type), (id), (flags), NULL, NULL, &f.made)

/* ------------------------------------------------------------------------------------------------ handles */

static via_status null_array(void) { return via_copy(f.subject, NULL); }
static via_status null_output(void) { return via_array_permute(f.subject, NULL, NULL); }

static via_status null_in_list(void) {
    return via_copy_batch(2, (via_array *[]){f.subject, NULL}, (via_array *[]){f.other, f.other}, NULL);
}

static via_status released_array(void) {
    via_array *stale = f.other;
    f.other = NULL;
    via_array_release(stale);
    return via_array_permute(stale, NULL, &f.made);
}

static via_status released_twice(void) {
    static atomic_int released;
    released = 0;
    via_array *array = wrap_plain(f.pixels, VIA_FLOAT32, 1, SHAPE(12), &released);
    via_array_release(array);
    via_array_release(array);
    assert_int_equal(released, 1);
    return VIA_OK;
}

static via_status wrong_handle(void) {
    ok(via_batch_create(&f.batch));
    return via_array_permute((via_array *)f.batch, NULL, &f.made);
}

static via_status released_stream(void) {
    via_stream *stale = NULL;
    ok(via_stream_create(0, &stale));
    via_stream_release(stale);
    return via_stream_synchronize(stale);
}

/* ------------------------------------------------------------------------------------------------ addresses */

static via_status null_address(void) { return WRAP(NULL, VIA_INT8, 1, SHAPE(4), NULL, VIA_DEVICE_CPU, 0, 0); }

static via_status unreadable_address(void) {
    return WRAP((void *)4096, VIA_INT8, 1, SHAPE(4), NULL, VIA_DEVICE_CPU, 0, VIA_WRAP_PROBE);
}

static via_status freed_host_memory(void) {
    void *block = mmap(NULL, PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(munmap(block, PAGES), 0);
    return WRAP(block, VIA_INT8, 1, SHAPE(PAGES), NULL, VIA_DEVICE_CPU, 0, VIA_WRAP_PROBE);
}

/* The address of so many bytes of a device's memory, which `f.view` holds. */
static void *on_device(int64_t bytes) {
    ok(via_memory_create(VIA_MEMORY_DEVICE, 0, &f.memory));
    ok(via_empty(f.memory, VIA_INT8, 1, &bytes, NULL, &f.view));
    return via_array_data(f.view);
}

static via_status freed_device_memory(void) {
    void *address = on_device(4 << 20);
    via_array_release(f.view);
    f.view = NULL;
    return WRAP(address, VIA_INT8, 1, SHAPE(4), NULL, VIA_DEVICE_CUDA, 0, 0);
}

/* The driver gives memory by pages of 2 MiB: those of more than one are not smaller than they seem. */
static via_status past_the_allocation(void) {
    return WRAP(on_device(4 << 20), VIA_INT8, 2, SHAPE(3, 2 << 20), NULL, VIA_DEVICE_CUDA, 0, 0);
}

static via_status past_the_address_space(void) {
    return WRAP((void *)(UINTPTR_MAX - 63), VIA_FLOAT32, 1, SHAPE(17), NULL, VIA_DEVICE_CPU, 0, 0);
}

static via_status host_memory_as_a_devices(void) {
    return WRAP(f.pixels, VIA_FLOAT32, 1, SHAPE(12), NULL, VIA_DEVICE_CUDA, 0, 0);
}

static via_status memory_of_another_device(void) {
    return WRAP(on_device(64), VIA_INT8, 1, SHAPE(64), NULL, VIA_DEVICE_CUDA, 1, 0);
}

static via_status device_memory_as_the_hosts(void) {
    via_array_interface description = VIA_ARRAY_INTERFACE_INIT;
    on_device(64);
    return via_to_array_interface(f.view, &description);
}

static via_status negative_count(void) { return via_memcpy(f.pixels, f.others, -4, NULL); }

/* ------------------------------------------------------------------------------------------------ shapes */

static via_status null_shape(void) { return WRAP(f.pixels, VIA_INT8, 2, NULL, NULL, VIA_DEVICE_CPU, 0, 0); }

static via_status negative_extent(void) {
    return WRAP(f.pixels, VIA_INT8, 2, SHAPE(3, -4), NULL, VIA_DEVICE_CPU, 0, 0);
}

static via_status too_many_axes(void) {
    return WRAP(f.pixels, VIA_INT8, VIA_MAX_NDIM + 1, (const int64_t[VIA_MAX_NDIM + 1]){1}, NULL, VIA_DEVICE_CPU, 0, 0);
}

static via_status huge_shape(void) {
    return WRAP(f.pixels, VIA_INT8, 2, SHAPE(1LL << 40, 1LL << 40), NULL, VIA_DEVICE_CPU, 0, 0);
}

static via_status huge_allocation(void) { return via_empty(NULL, VIA_INT8, 1, SHAPE(1LL << 60), NULL, &f.made); }

static via_status copy_off_by_one(void) {
    ok(via_array_slice(f.subject, SHAPE(0, 0), SHAPE(3, 3), NULL, &f.view));
    return via_copy(f.view, f.other);
}

static via_status row_past_the_end(void) {
    static int32_t rows[] = {0, 3};
    ok(WRAP(rows, VIA_INT32, 1, SHAPE(2), NULL, VIA_DEVICE_CPU, 0, 0));
    return via_copy_indexed(f.subject, NULL, f.other, f.made, 0, NULL, NULL);
}

static via_status reshape_off_by_one(void) { return via_array_reshape(f.subject, 1, SHAPE(13), &f.made); }
static via_status broadcast_off_by_one(void) { return via_array_broadcast(f.subject, 2, SHAPE(3, 5), &f.made); }

static via_status reshape_of_a_transpose(void) {
    ok(via_array_permute(f.subject, NULL, &f.view));
    return via_array_reshape(f.view, 1, SHAPE(12), &f.made);
}

static via_status index_past_the_end(void) { return via_array_select(f.subject, 0, 3, &f.made); }

static via_status slice_past_the_end(void) {
    return via_array_slice(f.subject, SHAPE(0, 1), SHAPE(3, 4), NULL, &f.made);
}

static via_status axis_twice(void) { return via_array_permute(f.subject, AXES(1, 1), &f.made); }
static via_status field_past_the_end(void) { return via_array_field(f.subject, 1, VIA_FLOAT32, 0, NULL, &f.made); }

/* ------------------------------------------------------------------------------------------------ dtypes, options */

static via_status unknown_dtype(void) { return WRAP(f.pixels, 5, 1, SHAPE(4), NULL, VIA_DEVICE_CPU, 0, 0); }

static via_status unknown_dtype_name(void) {
    int32_t dtype = 0;
    return via_dtype_from_name("float33", &dtype);
}

static via_status copy_to_another_dtype(void) {
    ok(via_array_reinterpret(f.subject, VIA_INT32, &f.view));
    return via_copy(f.view, f.other);
}

static via_status unknown_flag(void) { return WRAP(f.pixels, VIA_INT8, 1, SHAPE(4), NULL, VIA_DEVICE_CPU, 0, 1 << 30); }

static via_status sizeless_struct(void) {
    via_stats_info stats = {0};
    return via_stats(&stats);
}

static via_status future_version(void) { return via_require(VIA_VERSION_MAJOR + 1, 0); }
static via_status negative_thread_count(void) { return via_set_num_threads(-1); }

/* ------------------------------------------------------------------------------------------------ writes, exchange */

static via_status read_only_destination(void) {
    ok(via_array_as_read_only(f.subject, &f.view));
    return via_copy(f.view, f.other);
}

static via_status read_only_fill(void) {
    ok(via_array_as_read_only(f.subject, &f.view));
    return via_fill(f.view, NULL, NULL);
}

static via_status overlap(void) {
    ok(via_array_slice(f.subject, SHAPE(0, 0), SHAPE(2, 4), NULL, &f.view));
    ok(via_array_slice(f.subject, SHAPE(1, 0), SHAPE(2, 4), NULL, &f.made));
    return via_copy(f.view, f.made);
}

static via_status destination_of_one_element(void) {
    f.view = wrap_strided(f.others, VIA_FLOAT32, 2, SHAPE(3, 4), SHAPE(0, 0));
    return via_copy(f.view, f.subject);
}

static via_status read_only_legacy_tensor(void) {
    DLManagedTensor *tensor = NULL;
    ok(via_array_as_read_only(f.subject, &f.view));
    return via_to_dlpack_legacy(f.view, NULL, NULL, &tensor);
}

static via_status null_tensor(void) { return via_from_dlpack(NULL, NULL, NULL, &f.made); }

static via_status tensor_of_a_future_version(void) {
    DLManagedTensorVersioned *tensor = NULL;
    ok(via_to_dlpack(f.subject, NULL, NULL, &tensor));
    tensor->version.major = 2;
    const via_status status = via_from_dlpack(tensor, NULL, NULL, &f.made);
    via_dlpack_delete(tensor);
    return status;
}

static via_status unshared_memory(void) {
    char bytes[VIA_IPC_MAX_BYTES];
    int64_t length = 0;
    return via_array_export_ipc(f.subject, VIA_IPC_MAX_BYTES, bytes, &length);
}

static via_status null_description(void) { return via_array_import_ipc(NULL, 200, &f.made); }

static via_status damaged_description(void) {
    char bytes[VIA_IPC_MAX_BYTES];
    int64_t length = 0;
    ok(via_memory_create(VIA_MEMORY_SHARED, 0, &f.memory));
    ok(via_empty(f.memory, VIA_INT8, 1, SHAPE(4), NULL, &f.view));
    ok(via_array_export_ipc(f.view, VIA_IPC_MAX_BYTES, bytes, &length));
    bytes[length - 1] ^= 1;
    return via_array_import_ipc(bytes, length, &f.made);
}

/* ------------------------------------------------------------------------------------------------ devices */

static via_status absent_device(void) {
    via_stream *stream = NULL;
    return via_stream_create(99, &stream);
}

static via_status stream_of_another_device(void) {
    via_stream *stream = NULL;
    ok(via_stream_create(1, &stream));
    const via_status status = via_stream_set_current(0, stream);
    via_stream_release(stream);
    return status;
}

static via_status missing_allocator(void) {
    return via_memory_create_custom(VIA_DEVICE_CPU, 0, NULL, NULL, NULL, NULL, NULL, NULL, &f.memory);
}

/* ------------------------------------------------------------------------------------------------ tasks, callbacks */

/* A copy that is under way until its stream is released. */
static CUstream submit_after_a_held_stream(void) {
    CUstream native = new_stream();
    hold(native);
    cu_ok(cu(cuMemsetD8Async)(device_memory(64), 0, 64, native));
    ok(via_copy_submit(f.subject, f.other, wrap_native(native, 0), &f.task));
    return native;
}

static via_status cancelled_task(void) {
    CUstream native = submit_after_a_held_stream();
    ok(via_task_cancel(f.task));
    release(native);
    return via_task_wait(f.task);
}

static struct {
    via_status status;
    char text[256];
    atomic_int count;
} reported;

static void wait_for_the_other(int32_t status, const char *text, void *context) {
    (void)status;
    (void)text;
    reported.status = via_task_wait(context);
    snprintf(reported.text, sizeof reported.text, "%s", via_last_error());
    reported.count++;
}

static via_status wait_in_a_callback(void) {
    via_task *task = NULL;
    reported.count = 0;
    CUstream native = submit_after_a_held_stream();
    f.view = wrap_plain(f.pixels + 12, VIA_FLOAT32, 1, SHAPE(4), NULL);
    f.made = wrap_plain(f.others + 12, VIA_FLOAT32, 1, SHAPE(4), NULL);
    ok(via_copy_submit(f.view, f.made, NULL, &task));
    ok(via_task_on_complete(task, wait_for_the_other, f.task));
    await_count(&reported.count, 1);
    release(native);
    ok(via_task_wait(f.task));
    via_task_release(task);
    return reported.status;
}

static int32_t no_alloc(int64_t nbytes, int64_t alignment, void *stream, void *context, void **out_address) {
    (void)nbytes;
    (void)alignment;
    (void)stream;
    (void)context;
    *out_address = NULL;
    return 5;
}

static void no_free(void *address, int64_t nbytes, void *stream, void *context) {
    (void)address;
    (void)nbytes;
    (void)stream;
    (void)context;
}

static via_status failing_allocator(void) {
    ok(via_memory_create_custom(VIA_DEVICE_CPU, 0, no_alloc, NULL, no_free, NULL, NULL, NULL, &f.memory));
    return via_empty(f.memory, VIA_INT8, 1, SHAPE(4), NULL, &f.made);
}

/* ------------------------------------------------------------------------------------------------ files */

/* A file of these bytes, opened to read. */
static void open_file_of(const char *bytes, int64_t count) {
    const int file = mkstemp(strcpy(f.file_name, "/tmp/viaduct-misuse-XXXXXX"));
    assert_int_equal(write(file, bytes, (size_t)count), count);
    close(file);
    ok(via_file_open(f.file_name, NULL, &f.file));
}

static via_status closed_file(void) {
    via_file *stale = NULL;
    open_file_of("0123456789012345678901234567890123456789012345678", 48);
    stale = f.file;
    f.file = NULL;
    via_file_release(stale);
    return via_file_read(stale, 0, f.subject, NULL);
}

static via_status null_path(void) { return via_file_open(NULL, NULL, &f.file); }
static via_status absent_file(void) { return via_file_open("/tmp/viaduct-no-such-file", NULL, &f.file); }

static via_status file_without_a_header(void) {
    via_file_options options = VIA_FILE_OPTIONS_INIT;
    via_file *file = NULL;
    options.file_format = VIA_FORMAT_NPY;
    open_file_of("no header", 9);
    return via_file_open(f.file_name, &options, &file);
}

static via_status file_opened_to_read(void) {
    open_file_of("", 0);
    return via_file_write(f.file, 0, f.subject, NULL);
}

static via_status past_the_end_of_a_file(void) {
    open_file_of("0123456789", 10);
    return via_file_read(f.file, 0, f.subject, NULL);
}

static via_status file_cut_short(void) {
    open_file_of("0123456789012345678901234567890123456789012345678", 48);
    assert_int_equal(truncate(f.file_name, 40), 0);
    return via_file_read(f.file, 0, f.subject, NULL);
}

/* ------------------------------------------------------------------------------------------------ archives */

static via_status archive_without_a_header(void) {
    open_file_of("no header", 9);
    return via_archive_open(f.file_name, NULL, &f.archive);
}

static void open_archive(void) {
    open_file_of("", 0);
    ok(via_archive_save(f.file_name, 1, &f.subject, (const char *[]){"w"}, NULL, 0, NULL, NULL));
    ok(via_archive_open(f.file_name, NULL, &f.archive));
}

static via_status absent_tensor(void) {
    open_archive();
    return via_archive_array(f.archive, 1, f.subject, &f.made);
}

static via_status part_past_a_tensor(void) {
    open_archive();
    return via_archive_slice(f.archive, 0, 0, 1, 3);
}

static via_status buffer_of_another_size(void) {
    open_archive();
    ok(via_empty(NULL, VIA_UINT8, 1, SHAPE(47), NULL, &f.made));
    return via_archive_read(f.archive, f.made, NULL);
}

static via_status name_saved_twice(void) {
    open_file_of("", 0);
    return via_archive_save(f.file_name, 2, (via_array *[]){f.subject, f.other}, (const char *[]){"w", "w"}, NULL, 0,
                            NULL, NULL);
}

/* ------------------------------------------------------------------------------------------------ the table */

typedef struct wrong_call {
    const char *id;
    via_status (*make)(void);
} wrong_call;

#define CALL(id) {#id, id}
static const wrong_call wrong_calls[] = {
    CALL(null_array),
    CALL(null_output),
    CALL(null_in_list),
    CALL(released_array),
    CALL(released_twice),
    CALL(wrong_handle),
    CALL(released_stream),
    CALL(closed_file),
    CALL(null_address),
    CALL(unreadable_address),
    CALL(freed_host_memory),
    CALL(freed_device_memory),
    CALL(past_the_allocation),
    CALL(past_the_address_space),
    CALL(host_memory_as_a_devices),
    CALL(memory_of_another_device),
    CALL(device_memory_as_the_hosts),
    CALL(negative_count),
    CALL(null_shape),
    CALL(negative_extent),
    CALL(too_many_axes),
    CALL(huge_shape),
    CALL(huge_allocation),
    CALL(copy_off_by_one),
    CALL(row_past_the_end),
    CALL(reshape_off_by_one),
    CALL(broadcast_off_by_one),
    CALL(reshape_of_a_transpose),
    CALL(index_past_the_end),
    CALL(slice_past_the_end),
    CALL(axis_twice),
    CALL(field_past_the_end),
    CALL(unknown_dtype),
    CALL(unknown_dtype_name),
    CALL(copy_to_another_dtype),
    CALL(unknown_flag),
    CALL(sizeless_struct),
    CALL(future_version),
    CALL(negative_thread_count),
    CALL(read_only_destination),
    CALL(read_only_fill),
    CALL(overlap),
    CALL(destination_of_one_element),
    CALL(read_only_legacy_tensor),
    CALL(null_tensor),
    CALL(tensor_of_a_future_version),
    CALL(unshared_memory),
    CALL(null_description),
    CALL(damaged_description),
    CALL(absent_device),
    CALL(stream_of_another_device),
    CALL(missing_allocator),
    CALL(cancelled_task),
    CALL(wait_in_a_callback),
    CALL(failing_allocator),
    CALL(null_path),
    CALL(absent_file),
    CALL(file_without_a_header),
    CALL(file_opened_to_read),
    CALL(past_the_end_of_a_file),
    CALL(file_cut_short),
    CALL(archive_without_a_header),
    CALL(absent_tensor),
    CALL(part_past_a_tensor),
    CALL(buffer_of_another_size),
    CALL(name_saved_twice),
};

enum { ID, WHAT, STATUS, NEEDS, C, COLUMNS = 10 };

/* Splits a line at its tabs, in place. */
static void split(char *line, char **cells) {
    line[strcspn(line, "\n")] = '\0';
    for (int32_t i = 0; i < COLUMNS; ++i) {
        cells[i] = line;
        line += strcspn(line, "\t");
        assert_int_equal(*line == '\t', i + 1 < COLUMNS);
        if (*line == '\t') {
            *line++ = '\0';
        }
    }
}

static int can_run(const char *needs) {
    return (strstr(needs, "check") == NULL || getenv("VIADUCT_CHECK") != NULL) &&
           (strstr(needs, "two devices") == NULL || device_count() > 1);
}

static const wrong_call *call_of(const char *id) {
    for (int32_t i = 0; i < LENGTH(wrong_calls); ++i) {
        if (strcmp(wrong_calls[i].id, id) == 0) {
            return &wrong_calls[i];
        }
    }
    return NULL;
}

static void make_fixture(void) {
    memset(&f, 0, sizeof f);
    f.subject = wrap_plain(f.pixels, VIA_FLOAT32, 2, SHAPE(3, 4), NULL);
    f.other = wrap_plain(f.others, VIA_FLOAT32, 2, SHAPE(3, 4), NULL);
}

static void end_fixture(void) {
    via_array *arrays[] = {f.subject, f.other, f.view, f.made};
    via_task_release(f.task);
    via_batch_release(f.batch);
    via_file_release(f.file);
    via_archive_release(f.archive);
    for (int32_t i = 0; i < LENGTH(arrays); ++i) {
        via_array_release(arrays[i]);
    }
    via_memory_release(f.memory);
    if (f.file_name[0] != '\0') {
        unlink(f.file_name);
    }
}

/* 1 if the call answers with the status of its row, and a text that begins with a function's name. */
static int answers_as_reported(char **cells, const wrong_call *call) {
    char name[64];
    const int silent = strcmp(cells[STATUS], "NONE") == 0;
    make_fixture();
    const via_status status = call->make();
    snprintf(name, sizeof name, silent ? "VIA_OK" : "VIA_ERROR_%s", cells[STATUS]);
    const char *text = status == VIA_ERROR_WOULD_DEADLOCK ? reported.text : via_last_error();
    const int holds = strcmp(via_status_name(status), name) == 0 && (silent || strncmp(text, "via_", 4) == 0);
    if (!holds) {
        print_error("%s: answered %s: %s\n  expected %s\n", call->id, via_status_name(status), text, name);
    }
    end_fixture();
    return holds;
}

/* Where the build has it, or where the runner of the GPU tests is. */
static FILE *open_table(void) {
    FILE *table = fopen(VIADUCT_MISUSE_TABLE, "r");
    return table != NULL ? table : fopen("tests/misuse/table.tsv", "r");
}

static void every_row_of_the_table_is_answered_as_it_says(void **state) {
    (void)state;
    char line[1024];
    char *cells[COLUMNS];
    int32_t found = 0, run = 0, held = 0;
    FILE *table = open_table();
    assert_non_null(table);
    assert_non_null(fgets(line, sizeof line, table));
    while (fgets(line, sizeof line, table) != NULL) {
        split(line, cells);
        const wrong_call *call = call_of(cells[ID]);
        note("%s", cells[ID]);
        assert_int_equal(call != NULL, strcmp(cells[C], "=") == 0);
        found += call != NULL;
        if (call != NULL && can_run(cells[NEEDS])) {
            run++;
            held += answers_as_reported(cells, call);
        }
    }
    fclose(table);
    print_message("misuse, C: %d rows of %d run, %d answered as reported\n", run, found, held);
    assert_int_equal(found, LENGTH(wrong_calls));
    assert_int_equal(held, run);
}

int main(void) {
    const struct CMUnitTest tests[] = {GPU_TEST(every_row_of_the_table_is_answered_as_it_says)};
    return run_gpu_tests(tests);
}
