/* Copies of pageable memory large enough to be staged, through the public functions. */
#include "support.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { mebibyte = 1 << 20, large = 17 * mebibyte + 321 };

static void copy_in(CUdeviceptr to, const void *from, int64_t count) {
    ok(via_memcpy((void *)(uintptr_t)to, from, count, NULL));
}

static void copy_out(void *to, CUdeviceptr from, int64_t count) {
    ok(via_memcpy(to, (const void *)(uintptr_t)from, count, NULL));
}

static void a_large_copy_goes_there_and_back(void **state) {
    (void)state;
    const CUdeviceptr device = device_memory(large);
    char *src = pageable_memory(large);
    char *dst = pageable_memory(large); /* untouched */
    fill_pattern(src, large, 1);
    copy_in(device, src, large);
    assert_device_pattern(device, large, 1);
    copy_out(dst, device, large);
    assert_pattern(dst, large, 1);
    memset(dst, 0, large); /* touched */
    copy_out(dst, device, large);
    assert_pattern(dst, large, 1);
}

static void the_pinned_memory_is_counted_and_announced(void **state) {
    (void)state;
    via_stats_info stats = VIA_STATS_INFO_INIT;
    via_device_properties properties = VIA_DEVICE_PROPERTIES_INIT;
    ok(via_cuda_warmup(0));
    ok(via_stats(&stats));
    ok(via_device_info(VIA_DEVICE_CUDA, 0, &properties));
    assert_true(properties.staging_bytes > 0);
    assert_int_in_range(stats.staged_bytes, properties.staging_bytes, device_count() * properties.staging_bytes);
}

static void explain_to_the_device(CUdeviceptr to, const char *from, const char *words) {
    via_array *dst = wrap_device(to, large, NULL);
    via_array *src = wrap_bytes(from, large, VIA_DEVICE_CPU, 0, NULL);
    char text[512];
    int64_t length = 0;
    ok(via_copy_explain(dst, src, sizeof text, text, &length));
    assert_true(holds_words(text, words));
    via_array_release(dst);
    via_array_release(src);
}

static void explain_before_any_copy(void) {
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    const CUdeviceptr device = device_memory(large);
    char *host = pageable_memory(large);
    explain_to_the_device(device, host, "staged, pageable memory to device|workers|slots");
    assert_int_equal(stats_now().staged_bytes, 0);
    fill_pattern(host, large, 1);
    copy_in(device, host, large);
    assert_true(stats_now().staged_bytes > 0);
    explain_to_the_device(device, host, "staged, pageable memory to device|workers|slots");
}

static void explaining_pins_nothing(void **state) {
    (void)state;
    run_apart(explain_before_any_copy, (const char *const[]){"VIADUCT_NUM_THREADS=2", NULL}); /* one stages nothing */
}

static int64_t staged_after(CUdeviceptr device, const char *host, int32_t copies) {
    for (int32_t i = 0; i < copies; ++i) {
        copy_in(device, host, large);
    }
    return stats_now().staged_bytes;
}

static int64_t staging_limit(void) {
    via_device_properties properties = VIA_DEVICE_PROPERTIES_INIT;
    ok(via_device_info(VIA_DEVICE_CUDA, 0, &properties));
    return properties.staging_bytes;
}

/* Copies of 17 MiB: 1 is worth a small ring, 2 a larger one, 31 the largest. */
static void copy_more_and_more(void) {
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    const CUdeviceptr device = device_memory(large);
    char *host = pageable_memory(large);
    fill_pattern(host, large, 1);
    const int64_t most = staging_limit();
    const int64_t first = staged_after(device, host, 1);
    const int64_t second = staged_after(device, host, 4);
    assert_int_in_range(first, 1, most / 16);
    assert_int_in_range(second, 2 * first, most / 4);
    assert_int_equal(staged_after(device, host, 60), most);
    assert_device_pattern(device, large, 1);
    ok(via_cuda_warmup(0));
    assert_int_equal(stats_now().staged_bytes, most);
}

static void a_process_pins_more_as_it_copies_more(void **state) {
    (void)state;
    run_apart(copy_more_and_more, (const char *const[]){"VIADUCT_NUM_THREADS=2", NULL});
}

static void copy_where_nothing_more_can_be_pinned(void) {
    assert_true(driver_is_there());
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    const CUdeviceptr device = device_memory(large);
    char *host = pageable_memory(large);
    fill_pattern(host, large, 1);
    const int64_t first = staged_after(device, host, 1);
    fake(fake_fail_at)("cuMemHostRegister", -1, CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(staged_after(device, host, 4), first);
    fake(fake_clear_faults)();
    assert_int_equal(staged_after(device, host, 4), first); /* does not try for each copy */
    assert_device_pattern(device, large, 1);
    assert_int_equal(staged_after(device, host, 60), staging_limit());
    assert_device_pattern(device, large, 1);
}

static void a_ring_that_cannot_grow_serves_as_it_is(void **state) {
    (void)state;
    steer();
    run_apart(copy_where_nothing_more_can_be_pinned, (const char *const[]){"VIADUCT_NUM_THREADS=2", NULL});
}

typedef struct worker {
    pthread_t thread;
    CUdeviceptr device;
    char *src;
    char *dst;
    unsigned seed;
} worker;

static void *copy_round(void *context) {
    worker *own = context;
    for (unsigned i = 0; i < 4; ++i) {
        fill_pattern(own->src, large, own->seed + i);
        if (via_memcpy((void *)(uintptr_t)own->device, own->src, large, NULL) != VIA_OK ||
            via_memcpy(own->dst, (const void *)(uintptr_t)own->device, large, NULL) != VIA_OK ||
            memcmp(own->src, own->dst, large) != 0) {
            return own;
        }
    }
    return NULL;
}

static void threads_that_copy_at_once_do_not_mix_their_bytes(void **state) {
    (void)state;
    worker workers[8];
    for (int i = 0; i < LENGTH(workers); ++i) {
        workers[i] = (worker){.device = device_memory(large),
                              .src = pageable_memory(large),
                              .dst = pageable_memory(large),
                              .seed = 10U * (unsigned)i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, copy_round, &workers[i]), 0);
    }
    void *wrong = NULL;
    for (int i = 0; i < LENGTH(workers); ++i) {
        void *result = NULL;
        pthread_join(workers[i].thread, &result);
        wrong = result != NULL ? result : wrong;
    }
    assert_null(wrong);
}

static void copy_with_one_thread(void) {
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    assert_int_equal(via_num_threads(), 1);
    a_large_copy_goes_there_and_back(NULL);
}

static void one_thread_is_enough(void **state) {
    (void)state;
    run_apart(copy_with_one_thread, (const char *const[]){"VIADUCT_NUM_THREADS=1", NULL});
}

static void a_calibration_is_saved_and_restored(void **state) {
    (void)state;
    char path[] = "/tmp/viaduct_calibration_XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    ok(via_calibrate(0));
    ok(via_calibration_save(path));
    ok(via_calibration_load(path));
    a_large_copy_goes_there_and_back(NULL);
    unlink(path);
}

static void a_calibration_that_is_none_is_refused(void **state) {
    (void)state;
    refused(VIA_ERROR_FORMAT, "via_calibration_load|/dev/null", via_calibration_load("/dev/null"));
    refused(VIA_ERROR_IO, "via_calibration_load: opening /nowhere/at/all: ENOENT (No such file or directory)",
            via_calibration_load("/nowhere/at/all"));
    refused(VIA_ERROR_IO, "via_calibration_save: opening /nowhere/at/all: ENOENT (No such file or directory)",
            via_calibration_save("/nowhere/at/all"));
    refused(VIA_ERROR_DEVICE, "via_calibrate|device_id|99", via_calibrate(99));
}

/* Nobody will ever write it. */
static void a_limit_on_file_sizes_does_not_end_a_program_that_saves_a_calibration(void **state) {
    (void)state;
    const char path[] = "/tmp/viaduct_calibration_limited";
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit none = {0, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    const via_status status = via_calibration_save(path);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, VIA_ERROR_IO);
    assert_int_equal(via_last_error_code(), EFBIG);
    assert_int_equal(access(path, F_OK), -1);
}

static void a_fifo_is_no_place_for_a_calibration(void **state) {
    (void)state;
    char folder[] = "/tmp/viaduct_calibration_XXXXXX";
    char path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/fifo", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    refused(VIA_ERROR_FORMAT, "via_calibration_load|fifo|a FIFO", via_calibration_load(path));
    refused(VIA_ERROR_FORMAT, "via_calibration_save|fifo|a FIFO", via_calibration_save(path));
    struct stat found;
    assert_int_equal(stat(path, &found), 0);
    assert_true(S_ISFIFO(found.st_mode));
    unlink(path);
    rmdir(folder);
}

static void a_calibration_is_saved_where_a_link_leads(void **state) {
    (void)state;
    char folder[] = "/tmp/viaduct_calibration_XXXXXX";
    char path[64];
    char link[64];
    struct stat found;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
    snprintf(link, sizeof link, "%s/link", folder);
    assert_int_equal(symlink("file", link), 0);
    refused(VIA_ERROR_IO, "link|No such file", via_calibration_save(link));
    ok(via_calibration_save(path));
    ok(via_calibration_save(link));
    assert_int_equal(lstat(link, &found), 0);
    assert_true(S_ISLNK(found.st_mode));
    ok(via_calibration_load(link));
    unlink(path);
    unlink(link);
    rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_large_copy_goes_there_and_back),
        GPU_TEST(the_pinned_memory_is_counted_and_announced),
        GPU_TEST(explaining_pins_nothing),
        GPU_TEST(a_process_pins_more_as_it_copies_more),
        GPU_TEST(a_ring_that_cannot_grow_serves_as_it_is),
        GPU_TEST(threads_that_copy_at_once_do_not_mix_their_bytes),
        GPU_TEST(one_thread_is_enough),
        GPU_TEST(a_calibration_is_saved_and_restored),
        GPU_TEST(a_calibration_that_is_none_is_refused),
        GPU_TEST(a_limit_on_file_sizes_does_not_end_a_program_that_saves_a_calibration),
        GPU_TEST(a_fifo_is_no_place_for_a_calibration),
        GPU_TEST(a_calibration_is_saved_where_a_link_leads),
    };
    return run_gpu_tests(tests);
}
