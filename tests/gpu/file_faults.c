/* Reads of files into memory of devices that fail on the way: everything is in order after them. */
#define _GNU_SOURCE /* before support.h: pread by its own name */

#include <errno.h>
#include <sys/syscall.h>

#include "file_support.h"

/* The call of pread with this number fails with EIO; 0: none does. */
static atomic_int reads_left;

/* 1: calls of pread wait for one another until no more of them come, and fail then. */
static atomic_int reads_gather;
static atomic_int reads_gathered;

/* 1: calls of pread fail after a while. */
static atomic_int reads_fail_late;

static int fail_late(void) {
    atomic_fetch_add(&reads_gathered, 1);
    usleep(20000);
    errno = EIO;
    return -1;
}

static int fail_together(void) {
    int seen = 0;
    atomic_fetch_add(&reads_gathered, 1);
    do {
        seen = atomic_load(&reads_gathered);
        usleep(300000);
    } while (atomic_load(&reads_gathered) != seen);
    errno = EIO;
    return -1;
}

ssize_t pread(int file, void *memory, size_t count, off_t offset) {
    if (atomic_load(&reads_gather) != 0) {
        return fail_together();
    }
    if (atomic_load(&reads_fail_late) != 0) {
        return fail_late();
    }
    if (atomic_load(&reads_left) > 0 && atomic_fetch_sub(&reads_left, 1) == 1) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pread64, file, memory, count, offset);
}

static void a_read_that_fails_on_the_way_gives_its_slots_back(void **state) {
    (void)state;
    block to = new_block(DEVICE, LARGE, NULL);
    put_pattern("fails", 0, LARGE, 5);
    via_file *file = open_with("fails", OPTIONS_OF(.page_cache = VIA_PAGE_CACHE_USE));
    for (int32_t i = 1; i < 60; i += 3) {
        atomic_store(&reads_left, i);
        refused(VIA_ERROR_IO, "EIO|reading at byte", via_file_read(file, 0, to.array, NULL));
        assert_int_equal(via_last_error_code(), EIO);
        atomic_store(&reads_left, 0);
    }
    ok(via_file_read(file, 0, to.array, NULL));
    assert_device_pattern(number_of(to.data), LARGE, 5);
    via_file_release(file);
    end_block(&to);
}

/* Reads a file into the array as a task, which has begun to wait for the stream when the file is cut short. */
static void let_read_fail(via_array *array, CUstream native) {
    via_task *task = NULL;
    put_pattern("cut", 0, SMALL, 5);
    via_file *file = open_with("cut", NULL);
    hold(native);
    keep_busy(native);
    ok(via_file_read_submit(file, 0, array, wrap_native(native, 0), &task));
    assert_int_equal(truncate(path_of("cut"), 100), 0);
    release(native);
    refused(VIA_ERROR_IO, "has 100 bytes|expected 5000", via_task_wait(task));
    via_task_release(task);
    via_file_release(file);
}

static void a_task_that_failed_holds_up_no_later_copy(void **state) {
    (void)state;
    CUstream native = new_stream();
    CUstream other = new_stream();
    via_stream *stream = wrap_native(other, 0);
    for (place where = PINNED; where <= DEVICE; ++where) {
        pair both = new_pair(where, DEVICE, SMALL);
        let_read_fail(both.dst.array, native);
        ok(via_copy_async(both.src.array, both.dst.array, stream));
        let_read_fail(both.dst.array, native);
        ok(via_fill(both.dst.array, NULL, stream));
        finish(other);
        let_read_fail(both.dst.array, native);
        refill_pair(&both);
        ok(via_copy_async(both.dst.array, both.src.array, stream));
        finish(other);
        assert_block(&both.dst, 1);
        let_read_fail(both.dst.array, native);
        refill_pair(&both);
        ok(via_copy(both.dst.array, both.src.array));
        assert_block(&both.dst, 1);
        end_pair(&both);
    }
}

typedef enum order { COPY, COPY_IN_ORDER, COPY_FROM, FILL, BATCH, ORDERS } order;

static via_status make_call(order kind, const pair *both, via_stream *stream) {
    switch (kind) {
        case COPY:
            return via_copy(both->dst.array, both->src.array);
        case COPY_IN_ORDER:
            return via_copy_async(both->dst.array, both->src.array, stream);
        case COPY_FROM:
            return via_copy(both->src.array, both->dst.array);
        case FILL:
            return via_fill(both->dst.array, NULL, stream);
        default:
            return via_copy_batch(1, &both->dst.array, &both->src.array, stream);
    }
}

/* Begins to read the array, and returns once a call of pread waits that will fail. */
static via_task *read_that_is_about_to_fail(via_file *file, via_array *array) {
    via_task *task = NULL;
    atomic_store(&reads_gathered, 0);
    atomic_store(&reads_fail_late, 1);
    ok(via_file_read_submit(file, 0, array, NULL, &task));
    while (atomic_load(&reads_gathered) == 0) {
        usleep(100);
    }
    return task;
}

static void end_failed_read(via_task *task) {
    refused(VIA_ERROR_IO, "EIO", via_task_wait(task));
    atomic_store(&reads_fail_late, 0);
    via_task_release(task);
}

/* Its handle reports it, and so does who asks whether the content is there. */
static void a_task_that_fails_while_others_wait_for_it_fails_alone(void **state) {
    (void)state;
    CUstream native = new_stream();
    via_stream *stream = wrap_native(native, 0);
    put_pattern("fails", 0, SMALL, 5);
    via_file *file = open_with("fails", NULL);
    for (place where = PAGEABLE; where <= DEVICE; ++where) {
        for (order kind = COPY; kind < ORDERS; ++kind) {
            pair both = new_pair(where, DEVICE, SMALL);
            via_task *task = read_that_is_about_to_fail(file, both.dst.array);
            ok(make_call(kind, &both, stream));
            finish(native);
            end_failed_read(task);
            end_pair(&both);
        }
        pair both = new_pair(where, DEVICE, SMALL);
        via_task *task = read_that_is_about_to_fail(file, both.dst.array);
        refused(VIA_ERROR_IO, "via_array_synchronize|EIO", via_array_synchronize(both.dst.array));
        end_failed_read(task);
        end_pair(&both);
    }
    via_file_release(file);
}

/* Then each slot is one that failed, and a thread waits for another. */
static void a_read_that_fails_in_more_threads_than_there_are_slots_ends(void **state) {
    (void)state;
    enum { MUCH = 256 << 20 };
    block to = new_block(DEVICE, MUCH, NULL);
    via_file *file = create_with("much", VIA_UINT8, 1, SHAPE(MUCH), NULL);
    const int32_t threads = via_num_threads();
    ok(via_set_num_threads(400));
    ok(via_cuda_warmup(0));
    atomic_store(&reads_gathered, 0);
    atomic_store(&reads_gather, 1);
    const via_status status = via_file_read(file, 0, to.array, NULL);
    atomic_store(&reads_gather, 0);
    refused(VIA_ERROR_IO, "EIO|reading at byte", status);
    assert_true(atomic_load(&reads_gathered) > 16);
    ok(via_file_read(file, 0, to.array, NULL));
    ok(via_set_num_threads(threads));
    via_file_release(file);
    end_block(&to);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_read_that_fails_on_the_way_gives_its_slots_back),
        GPU_TEST(a_task_that_failed_holds_up_no_later_copy),
        GPU_TEST(a_task_that_fails_while_others_wait_for_it_fails_alone),
        GPU_TEST(a_read_that_fails_in_more_threads_than_there_are_slots_ends),
    };
    return run_gpu_file_tests(tests);
}
