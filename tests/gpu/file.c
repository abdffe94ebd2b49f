/* Files to and from memory of every kind: through the ring where there is one, in stream order. */
#include "file_support.h"

static const int64_t sizes[] = {SMALL, LARGE, LARGE + ODD};

static void assert_file(const char *name, int64_t before, int64_t count, unsigned seed) {
    char *bytes = malloc((size_t)(before + count) + 1);
    assert_int_equal(get_file(name, bytes, (size_t)(before + count) + 1), before + count);
    assert_pattern(bytes + before, (size_t)count, seed);
    free(bytes);
}

static void evict(const char *name) {
    const int file = open(path_of(name), O_RDONLY);
    fsync(file);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    close(file);
}

static void read_into(place where, int64_t count, int cold) {
    block to = new_block(where, count, NULL);
    write_block(&to, 2);
    put_pattern("read", ODD, count, 5);
    if (cold) {
        evict("read");
    }
    via_file *file = open_with("read", NULL);
    ok(via_file_read(file, ODD, to.array, NULL));
    assert_block(&to, 5);
    via_file_release(file);
    end_block(&to);
}

static void a_file_is_read_into_memory_of_every_kind(void **state) {
    (void)state;
    for (place where = PAGEABLE; where < PLACES; ++where) {
        for (int32_t i = 0; place_exists(where) && i < 2 * LENGTH(sizes); i += QUICK_OR(5, 1)) {
            read_into(where, sizes[i / 2], i % 2);
        }
    }
}

static void write_from(place where, int64_t count, const via_file_options *options) {
    block from = new_block(where, count, NULL);
    write_block(&from, 7);
    via_file *file = create_with("written", VIA_UINT8, 1, SHAPE(ODD + count), options);
    ok(via_file_write(file, ODD, from.array, NULL));
    via_file_release(file);
    assert_file("written", ODD, count, 7);
    assert_block(&from, 7);
    end_block(&from);
}

static void a_file_is_written_from_memory_of_every_kind(void **state) {
    (void)state;
    for (place where = PAGEABLE; where < PLACES; ++where) {
        for (int32_t i = 0; place_exists(where) && i < LENGTH(sizes); i += QUICK_OR(2, 1)) {
            write_from(where, sizes[i], NULL);
            write_from(where, sizes[i], OPTIONS_OF(.durable = 1, .atomic_write = 1));
        }
    }
}

/* A view of an array of int32 (300, 200, 110) on the device, or a smaller one. */
static via_array *make_view(int32_t number, via_array *whole) {
    via_array *view = NULL;
    switch (number) {
        case 0:
            ok(via_array_permute(whole, NULL, &view));
            break;
        case 1:
            ok(via_array_permute(whole, AXES(0, 2, 1), &view));
            break;
        case 2:
            ok(via_array_slice(whole, SHAPE(0, 0, 5), SHAPE(300, 200, 100), NULL, &view));
            break;
        case 3:
            ok(via_array_slice(whole, SHAPE(299, 0, 0), SHAPE(300, 200, 55), SHAPE(-1, 1, 2), &view));
            break;
        case 4:
            ok(via_array_slice(whole, SHAPE(0, 199, 109), NULL, SHAPE(1, -1, -1), &view));
            break;
        default:
            ok(via_array_slice(whole, NULL, SHAPE(3, 5, 7), NULL, &view));
            break;
    }
    return view;
}

enum { VIEWS = 6, NUMBERS = 300 * 200 * 110 };

/* What a file gives to a view of the device's memory, the same view of the host's says too; and back. */
static void views_of_a_devices_memory_are_read_and_written_in_order(void **state) {
    (void)state;
    for (int32_t i = QUICK_OR(1, 0); i < VIEWS; i += QUICK_OR(2, 1)) {
        note("view %d", i);
        const CUdeviceptr memory = device_memory(4 * NUMBERS);
        char *host = pageable_memory(4 * NUMBERS);
        fill_pattern(host, 4 * NUMBERS, 3);
        write_device(memory, host, 4 * NUMBERS);
        via_array *whole = NULL;
        ok(via_wrap((void *)(uintptr_t)memory, VIA_INT32, 3, SHAPE(300, 200, 110), NULL, VIA_DEVICE_CUDA, 0, 0, NULL,
                    NULL, &whole));
        via_array *alike = wrap_plain(host, VIA_INT32, 3, SHAPE(300, 200, 110), NULL);
        via_array *view = make_view(i, whole);
        via_array *expected = make_view(i, alike);
        const int64_t nbytes = via_array_nbytes(view);
        via_file *file = create_with("view", VIA_UINT8, 1, SHAPE(ODD + nbytes), NULL);
        via_file *other = create_with("alike", VIA_UINT8, 1, SHAPE(ODD + nbytes), NULL);
        ok(via_file_write(file, ODD, view, NULL));
        ok(via_file_write(other, ODD, expected, NULL));
        via_array *found = map_as(file, 0, VIA_UINT8, 1, SHAPE(ODD + nbytes));
        via_array *wanted = map_as(other, 0, VIA_UINT8, 1, SHAPE(ODD + nbytes));
        assert_memory_equal(via_array_data(found), via_array_data(wanted), (size_t)(ODD + nbytes));
        ok(via_fill(whole, NULL, NULL));
        ok(via_fill(alike, NULL, NULL));
        ok(via_file_read(file, ODD, view, NULL));
        ok(via_file_read(file, ODD, expected, NULL));
        char *back = pageable_memory(4 * NUMBERS);
        read_device(back, memory, 4 * NUMBERS);
        assert_memory_equal(back, host, 4 * NUMBERS);
        via_array *gone[] = {whole, alike, view, expected, found, wanted};
        for (int32_t j = 0; j < LENGTH(gone); ++j) {
            via_array_release(gone[j]);
        }
        via_file_release(file);
        via_file_release(other);
        put_away_memory(memory);
        put_away(host);
        put_away(back);
    }
}

/* Of an array of int32 (100, 200, 110) in a file: columns, a box, sparse rows and elements, what is nearly dense. */
enum { IN_FILE = 100 * 200 * 110 };
static const int64_t boxes[][3][3] = {{{0, 0, 20}, {100, 200, 11}, {1, 1, 1}},
                                      {{7, 3, 1}, {90, 190, 107}, {1, 1, 1}},
                                      {{99, 5, 0}, {20, 3, 110}, {-5, 60, 1}},
                                      {{0, 0, 0}, {100, 20, 55}, {1, 9, 2}},
                                      {{1, 0, 109}, {99, 200, 1}, {1, 1, -1}}};

/* The device, and the host, are given the same by a window; and give the same to one. */
static void windows_of_files_are_read_and_written_from_a_device(void **state) {
    (void)state;
    put_pattern("whole", 0, 4 * IN_FILE, 3);
    char *zeros = calloc(4, IN_FILE);
    for (int32_t i = 0; i < 2 * LENGTH(boxes); i += QUICK_OR(3, 1)) {
        note("window %d", i);
        const int64_t (*box)[3] = boxes[i / 2];
        const int64_t nbytes = 4 * box[1][0] * box[1][1] * box[1][2];
        put_file("other", zeros, 4 * IN_FILE);
        via_file *files[2] = {open_with("whole", NULL), open_mode("other", VIA_MODE_READ_WRITE)};
        via_file *windows[2];
        for (int32_t j = 0; j < 2; ++j) {
            ok(via_file_window(files[j], 0, VIA_INT32, 3, SHAPE(100, 200, 110), box[0], box[1], box[2], &windows[j]));
        }
        const CUdeviceptr memory = device_memory((size_t)nbytes);
        via_array *there = NULL;
        ok(via_wrap((void *)(uintptr_t)memory, VIA_INT32, 3, box[1], NULL, VIA_DEVICE_CUDA, 0, 0, NULL, NULL, &there));
        via_array *expected = NULL;
        ok(via_file_array(windows[0], 0, 0, 0, NULL, &expected));
        char *dense = pageable_memory((size_t)nbytes);
        via_array *here = wrap_plain(dense, VIA_INT32, 3, box[1], NULL);
        ok(via_copy(here, expected));
        if (i % 2 == 1) {
            evict("whole");
        }
        ok(via_file_read(windows[0], 0, there, NULL));
        char *back = pageable_memory((size_t)nbytes);
        read_device(back, memory, (size_t)nbytes);
        assert_memory_equal(back, dense, (size_t)nbytes);
        ok(via_file_write(windows[1], 0, there, NULL));
        via_array *written = NULL;
        ok(via_file_array(windows[1], 0, 0, 0, NULL, &written));
        ok(via_copy(here, written));
        assert_memory_equal(back, dense, (size_t)nbytes);
        via_array *whole = map_as(files[1], 0, VIA_INT32, 1, SHAPE(IN_FILE));
        int64_t others = 0;
        for (int64_t k = 0; k < IN_FILE; ++k) {
            others += ((const int32_t *)via_array_data(whole))[k] != 0;
        }
        assert_true(others <= nbytes / 4);
        via_array *gone[] = {there, expected, here, written, whole};
        for (int32_t j = 0; j < LENGTH(gone); ++j) {
            via_array_release(gone[j]);
        }
        for (int32_t j = 0; j < 2; ++j) {
            via_file_release(windows[j]);
            via_file_release(files[j]);
        }
        put_away_memory(memory);
        put_away(dense);
        put_away(back);
    }
    free(zeros);
}

/* A pattern, but for the high half of the last byte where elements of four bits end before it. */
static void fill_elements(uint8_t *bytes, int64_t count, unsigned seed) {
    const int64_t nbytes = (count + 1) / 2;
    const uint8_t kept = count % 2 != 0 ? bytes[nbytes - 1] & 0xF0 : 0;
    fill_pattern(bytes, (size_t)nbytes, seed);
    if (count % 2 != 0) {
        bytes[nbytes - 1] = kept | (bytes[nbytes - 1] & 0x0F);
    }
}

/* In a fresh process there is no ring until the last of them asks for one. */
static void move_packed_elements(void) {
    static const int64_t counts[] = {8, 9, 1, 2 * LARGE, 2 * LARGE + 1};
    assert_true(driver_is_there());
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    assert_int_equal(make_scratch(NULL), 0);
    for (int32_t i = 0; i < LENGTH(counts); ++i) {
        const int64_t nbytes = (counts[i] + 1) / 2;
        block memory = new_block(DEVICE, nbytes, NULL);
        write_block(&memory, 2);
        uint8_t *expected = calloc(1, (size_t)nbytes);
        uint8_t *found = malloc((size_t)(ODD + nbytes) + 1);
        fill_elements(expected, counts[i], 2);
        via_array *packed = NULL;
        ok(via_wrap(memory.data, VIA_INT4, 1, &counts[i], NULL, VIA_DEVICE_CUDA, 0, 0, NULL, NULL, &packed));
        via_file *file = create_with("packed", VIA_UINT8, 1, SHAPE(ODD + nbytes), NULL);
        ok(via_file_write(file, ODD, packed, NULL));
        via_file_release(file);
        assert_int_equal(get_file("packed", found, (size_t)(ODD + nbytes) + 1), ODD + nbytes);
        assert_memory_equal(found + ODD, expected, nbytes);
        put_pattern("packed", ODD, nbytes, 5);
        file = open_with("packed", NULL);
        ok(via_file_read(file, ODD, packed, NULL));
        fill_pattern(expected, (size_t)nbytes, 2);
        fill_elements(expected, counts[i], 5);
        read_device(found, number_of(memory.data), (size_t)nbytes);
        assert_memory_equal(found, expected, nbytes);
        via_file_release(file);
        free(found);
        free(expected);
        via_array_release(packed);
        end_block(&memory);
    }
    assert_int_equal(remove_scratch(NULL), 0);
}

static void packed_elements_of_a_device_are_moved_like_those_of_the_host(void **state) {
    (void)state;
    APART(move_packed_elements);
}

static via_file *read_file;

static via_status call_read(behind *self) { return via_file_read(read_file, 0, self->dst, self->stream); }
static via_status call_write(behind *self) { return via_file_write(read_file, 0, self->src, self->stream); }

static void a_read_comes_after_the_streams_work_so_far(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(sizes); i += QUICK_OR(2, 1)) {
        block to = new_block(DEVICE, sizes[i], NULL);
        write_block(&to, 2);
        put_pattern("later", 0, sizes[i], 5);
        read_file = open_with("later", NULL);
        CUstream native = new_stream();
        hold(native);
        write_behind(&to, 9, native);
        behind call = {.dst = to.array, .stream = wrap_native(native, 0), .call = call_read};
        start_behind(&call);
        assert_waits(&call);
        release(native);
        end_behind(&call);
        assert_block(&to, 5);
        via_file_release(read_file);
        end_block(&to);
    }
}

static void a_write_comes_after_the_streams_work_so_far(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(sizes); i += QUICK_OR(2, 1)) {
        block from = new_block(DEVICE, sizes[i], NULL);
        write_block(&from, 2);
        read_file = create_with("later", VIA_UINT8, 1, SHAPE(sizes[i]), NULL);
        CUstream native = new_stream();
        hold(native);
        write_behind(&from, 9, native);
        behind call = {.src = from.array, .stream = wrap_native(native, 0), .call = call_write};
        start_behind(&call);
        assert_waits(&call);
        release(native);
        end_behind(&call);
        assert_file("later", 0, sizes[i], 9);
        via_file_release(read_file);
        end_block(&from);
    }
}

static void a_read_that_no_stream_is_named_for_waits_until_the_array_is_ready(void **state) {
    (void)state;
    block to = new_block(DEVICE, LARGE, NULL);
    put_pattern("ready", 0, LARGE, 5);
    read_file = open_with("ready", NULL);
    CUstream native = new_stream();
    hold(native);
    keep_busy(native);
    ok(via_array_set_ready(to.array, wrap_native(native, 0)));
    behind call = {.dst = to.array, .call = call_read};
    start_behind(&call);
    assert_waits(&call);
    release(native);
    end_behind(&call);
    via_file_release(read_file);
    end_block(&to);
}

static void tasks_begin_after_a_streams_work_and_are_tracked(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(sizes); i += QUICK_OR(2, 1)) {
        block to = new_block(DEVICE, sizes[i], NULL);
        write_block(&to, 2);
        put_pattern("task", 0, sizes[i], 5);
        via_file *file = open_mode("task", VIA_MODE_READ_WRITE);
        via_file *copy = create_with("copied", VIA_UINT8, 1, SHAPE(sizes[i]), NULL);
        CUstream native = new_stream();
        hold(native);
        write_behind(&to, 9, native);
        via_task *read = NULL;
        via_task *write = NULL;
        ok(via_file_read_submit(file, 0, to.array, wrap_native(native, 0), &read));
        ok(via_file_write_submit(copy, 0, to.array, NULL, &write));
        assert_false(via_array_is_ready(to.array));
        release(native);
        ok(via_task_wait(write));
        assert_file("copied", 0, sizes[i], 5);
        ok(via_task_wait(read));
        int64_t done = 0;
        int64_t total = 0;
        ok(via_task_progress(read, &done, &total));
        assert_true(done == sizes[i] && total == sizes[i]);
        via_task_release(read);
        via_task_release(write);
        via_file_release(file);
        via_file_release(copy);
        end_block(&to);
    }
}

static void a_captured_stream_is_refused_and_its_capture_goes_on(void **state) {
    (void)state;
    block to = new_block(DEVICE, SMALL, NULL);
    write_block(&to, 2);
    put_pattern("captured", 0, SMALL, 5);
    via_file *file = open_with("captured", NULL);
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    begin_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
    refused(VIA_ERROR_STREAM_CAPTURE, "captured", via_file_read(file, 0, to.array, stream));
    via_task *task = NULL;
    refused(VIA_ERROR_STREAM_CAPTURE, "captured", via_file_read_submit(file, 0, to.array, stream, &task));
    assert_int_equal(capture_status(native), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    assert_int_equal(node_count(end_capture(native)), 0);
    assert_block(&to, 2);
    via_file_release(file);
    end_block(&to);
}

static void a_cancelled_task_of_a_device_ends_as_such_or_is_done(void **state) {
    (void)state;
    block to = new_block(DEVICE, LARGE, NULL);
    put_pattern("cancel", 0, LARGE, 5);
    via_file *file = open_with("cancel", NULL);
    for (int32_t i = 0; i < 20; ++i) {
        via_task *task = NULL;
        ok(via_file_read_submit(file, 0, to.array, NULL, &task));
        nanosleep(&(struct timespec){0, 100000 * i}, NULL);
        ok(via_task_cancel(task));
        const via_status status = via_task_wait(task);
        assert_true(status == VIA_OK || status == VIA_ERROR_CANCELLED);
        via_task_release(task);
    }
    ok(via_file_read(file, 0, to.array, NULL));
    assert_device_pattern(number_of(to.data), LARGE, 5);
    via_file_release(file);
    end_block(&to);
}

/* However large the file is. */
static void a_transfer_takes_no_more_pinned_memory_than_the_ring(void **state) {
    (void)state;
    read_into(DEVICE, 96 << 20, 0);
    const via_stats_info after = stats_now();
    via_device_properties device = VIA_DEVICE_PROPERTIES_INIT;
    ok(via_device_info(VIA_DEVICE_CUDA, 0, &device));
    assert_true(after.staged_bytes <= device_count() * device.staging_bytes);
    assert_int_equal(after.host_bytes, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_file_is_read_into_memory_of_every_kind),
        GPU_TEST(a_file_is_written_from_memory_of_every_kind),
        GPU_TEST(views_of_a_devices_memory_are_read_and_written_in_order),
        GPU_TEST(windows_of_files_are_read_and_written_from_a_device),
        GPU_TEST(packed_elements_of_a_device_are_moved_like_those_of_the_host),
        GPU_TEST(a_read_comes_after_the_streams_work_so_far),
        GPU_TEST(a_write_comes_after_the_streams_work_so_far),
        GPU_TEST(a_read_that_no_stream_is_named_for_waits_until_the_array_is_ready),
        GPU_TEST(tasks_begin_after_a_streams_work_and_are_tracked),
        GPU_TEST(a_captured_stream_is_refused_and_its_capture_goes_on),
        GPU_TEST(a_cancelled_task_of_a_device_ends_as_such_or_is_done),
        GPU_TEST(a_transfer_takes_no_more_pinned_memory_than_the_ring),
    };
    return run_gpu_file_tests(tests);
}
