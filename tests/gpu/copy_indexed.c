/* Copies of rows by numbers that lie on a device, where nobody but a kernel checks them: what is reported, and what is
 * kept for that. What is copied is the subject of test_copy_indexed.py. */
#include "pending_copy.h"

enum { ROWS = 16, ROW = 8, MATRIX = ROWS * ROW };

static via_array *matrix_on(CUdevice device, CUdeviceptr address) {
    via_array *made = NULL;
    ok(via_wrap((void *)(uintptr_t)address, VIA_UINT8, 2, SHAPE(ROWS, ROW), NULL, VIA_DEVICE_CUDA, device, 0, NULL,
                NULL, &made));
    return made;
}

static via_array *matrix_at(CUdeviceptr address) { return matrix_on(0, address); }

/* The numbers of all rows; that of row 3 is `third`. */
static via_array *numbers_on(CUdevice device, int32_t third) {
    int32_t numbers[ROWS];
    via_array *made = NULL;
    for (int32_t i = 0; i < ROWS; ++i) {
        numbers[i] = i == 3 ? third : i;
    }
    const CUdeviceptr memory = device == 0 ? device_memory(sizeof numbers) : device_memory_on(device, sizeof numbers);
    write_device(memory, numbers, sizeof numbers);
    ok(via_wrap((void *)(uintptr_t)memory, VIA_INT32, 1, SHAPE(ROWS), NULL, VIA_DEVICE_CUDA, device, 0, NULL, NULL,
                &made));
    return made;
}

static via_array *numbers_on_device(int32_t third) { return numbers_on(0, third); }

typedef struct rows {
    via_array *dst;
    via_array *src;
    via_array *good;
    via_array *bad;
    via_stream *stream;
} rows;

/* In the current context. */
static rows new_rows(void) {
    const CUdeviceptr memory = device_memory(2 * MATRIX);
    write_pattern(memory, 2 * MATRIX, 1);
    return (rows){matrix_at(memory), matrix_at(memory + MATRIX), numbers_on_device(3), numbers_on_device(99),
                  wrap_native(new_stream(), 0)};
}

static void end_rows(const rows *gone) {
    ok(via_array_synchronize(gone->dst));
    via_array_release(gone->dst);
    via_array_release(gone->src);
    via_array_release(gone->good);
    via_array_release(gone->bad);
}

static void copy_rows(const rows *of, via_array *dst, via_array *numbers) {
    ok(via_copy_indexed(dst, numbers, of->src, NULL, 0, NULL, of->stream));
}

static void assert_reported_once(via_array *dst) {
    refused(VIA_ERROR_INDEX, "dst_index[3] is 99|expected 0 to 15", via_array_synchronize(dst));
    ok(via_array_synchronize(dst));
}

/* ------------------------------------------------------------------------------------------------ what is reported */

static void write_rows(const rows *of, via_stream *stream) {
    ok(via_copy_indexed(of->dst, of->good, of->src, NULL, 0, NULL, stream));
}
static void write_all(const rows *of, via_stream *stream) { ok(via_copy_async(of->dst, of->src, stream)); }
static void clear_all(const rows *of, via_stream *stream) { ok(via_fill(of->dst, NULL, stream)); }

static void a_number_out_of_range_is_reported_once_whatever_is_written_next(void **state) {
    (void)state;
    need_kernels();
    void (*const next[])(const rows *, via_stream *) = {write_rows, write_all, clear_all};
    const rows of = new_rows();
    via_stream *other = wrap_native(new_stream(), 0);
    for (int32_t i = 0; i < 4 * LENGTH(next); ++i) {
        note("write %d, stream %d, %s", i / 4, i & 1, i & 2 ? "once the copy has ended" : "at once");
        copy_rows(&of, of.dst, of.bad);
        if (i & 2) {
            ok(via_stream_synchronize(of.stream));
        }
        next[i / 4](&of, i & 1 ? other : of.stream);
        assert_reported_once(of.dst);
    }
    end_rows(&of);
}

/* More than there can be tables in pinned memory. */
static void each_of_many_arrays_reports_its_own_numbers(void **state) {
    (void)state;
    need_kernels();
    enum { ARRAYS = 700, ONE_BAD_IN = 100 };
    static via_array *arrays[ARRAYS];
    const rows of = new_rows();
    const CUdeviceptr memory = device_memory((size_t)ARRAYS * MATRIX);
    for (int i = 0; i < ARRAYS; ++i) {
        arrays[i] = matrix_at(memory + (CUdeviceptr)i * MATRIX);
        copy_rows(&of, arrays[i], i % ONE_BAD_IN == 0 ? of.bad : of.good);
    }
    for (int i = 0; i < ARRAYS; ++i) {
        if (i % ONE_BAD_IN == 0) {
            assert_reported_once(arrays[i]);
        }
        ok(via_array_synchronize(arrays[i]));
        via_array_release(arrays[i]);
    }
    end_rows(&of);
}

/* ------------------------------------------------------------------------------------------------ what is kept */

/* More copies than a table has records. */
static void copies_in_turn_keep_no_more_memory_than_one(void **state) {
    (void)state;
    need_kernels();
    const rows of = new_rows();
    copy_rows(&of, of.dst, of.good);
    const int64_t kept = stats_now().staged_bytes;
    for (int i = 0; i < 2500; ++i) {
        copy_rows(&of, of.dst, of.good);
        if (i % 100 == 0) {
            ok(via_stream_synchronize(of.stream));
        }
    }
    assert_int_equal(stats_now().staged_bytes, kept);
    end_rows(&of);
}

static void devices_in_turn_keep_as_much_as_each_alone(void **state) {
    (void)state;
    need_two_devices();
    need_kernels();
    enum { ARRAYS = 400, TABLE_BYTES = 128 << 10 };
    static via_array *arrays[ARRAYS];
    rows of[2];
    CUdeviceptr memory[2];
    const int64_t before = stats_now().staged_bytes;
    for (CUdevice device = 0; device < 2; ++device) {
        memory[device] = device_memory_on(device, (size_t)(ARRAYS / 2 + 1) * MATRIX);
        of[device] = (rows){.src = matrix_on(device, memory[device] + (CUdeviceptr)(ARRAYS / 2) * MATRIX),
                            .good = numbers_on(device, 3),
                            .stream = wrap_native(new_stream_on(device), device)};
    }
    for (int i = 0; i < ARRAYS; ++i) {
        arrays[i] = matrix_on(i % 2, memory[i % 2] + (CUdeviceptr)(i / 2) * MATRIX);
        copy_rows(&of[i % 2], arrays[i], of[i % 2].good);
    }
    assert_true(stats_now().staged_bytes - before <= 2 * TABLE_BYTES);
    for (int i = 0; i < ARRAYS; ++i) {
        ok(via_array_synchronize(arrays[i]));
        via_array_release(arrays[i]);
    }
    for (CUdevice device = 0; device < 2; ++device) {
        via_array_release(of[device].src);
        via_array_release(of[device].good);
    }
}

static void contexts_that_are_gone_keep_nothing_of_copies_by_index(void **state) {
    (void)state;
    steer();
    need_kernels();
    int64_t kept = 0;
    for (int turn = 0; turn < 10; ++turn) {
        CUcontext mine = new_context();
        const rows of = new_rows();
        copy_rows(&of, of.dst, of.good);
        end_rows(&of);
        end_context(mine);
        /* What was of the context before is found to be gone by then. */
        kept = turn == 2 ? stats_now().staged_bytes : kept;
    }
    assert_int_equal(stats_now().staged_bytes, kept);
}

/* The rows are of the application's own context, whose kernels copy them; streams are of the primary one. */
static void numbers_are_read_where_the_rows_are_copied(void **state) {
    (void)state;
    need_kernels();
    via_stream *stream = wrap_native(new_stream(), 0);
    via_stream *const streams[] = {NULL, stream};
    via_array *elsewhere = numbers_on_device(5);
    CUcontext mine = new_context();
    const rows of = new_rows();
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    for (int32_t i = 0; i < LENGTH(streams); ++i) {
        refused(VIA_ERROR_UNSUPPORTED, "dst_index|another context",
                via_copy_indexed(of.dst, elsewhere, of.src, NULL, 0, NULL, streams[i]));
        refused(VIA_ERROR_UNSUPPORTED, "src_index|another context",
                via_copy_indexed(of.dst, NULL, of.src, elsewhere, 0, NULL, streams[i]));
        ok(via_copy_indexed(of.dst, of.good, of.src, NULL, 0, NULL, streams[i]));
    }
    ok(via_array_synchronize(of.dst));
    char found[2][MATRIX];
    read_device(found[0], (CUdeviceptr)(uintptr_t)via_array_data(of.dst), MATRIX);
    read_device(found[1], (CUdeviceptr)(uintptr_t)via_array_data(of.src), MATRIX);
    assert_memory_equal(found[0], found[1], MATRIX);
    cu_ok(cu(cuCtxSetCurrent)(mine));
    end_rows(&of);
    end_context(mine);
    via_array_release(elsewhere);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_number_out_of_range_is_reported_once_whatever_is_written_next),
        GPU_TEST(each_of_many_arrays_reports_its_own_numbers),
        GPU_TEST(copies_in_turn_keep_no_more_memory_than_one),
        GPU_TEST(devices_in_turn_keep_as_much_as_each_alone),
        GPU_TEST(contexts_that_are_gone_keep_nothing_of_copies_by_index),
        GPU_TEST(numbers_are_read_where_the_rows_are_copied),
    };
    return run_gpu_tests(tests);
}
