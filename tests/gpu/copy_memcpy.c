/* via_memcpy: raw addresses, of which the driver says what they are. */
#include <sys/wait.h>
#include <unistd.h>

#include "../capi/child.h"
#include "pending_copy.h"

static void copy_raw(place dst, place src) {
    pair both = new_pair(dst, src, 70001);
    CUstream native = new_stream();
    ok(via_memcpy(both.dst.data, both.src.data, 70001, NULL));
    assert_block(&both.dst, 1);
    refill_pair(&both);
    ok(via_memcpy(both.dst.data, both.src.data, 70001, wrap_native(native, 0)));
    finish(native);
    assert_block(&both.dst, 1);
    end_pair(&both);
}

static void the_driver_is_asked_what_an_address_is(void **state) {
    (void)state;
    for_each_pair(copy_raw);
}

static void without_a_stream_it_comes_after_the_legacy_streams_work(void **state) {
    (void)state;
    pair both = new_pair(PAGEABLE, DEVICE, 5000);
    hold(NULL);
    write_behind(&both.src, 3, CU_STREAM_LEGACY);
    release(NULL);
    ok(via_memcpy(both.dst.data, both.src.data, 5000, NULL));
    assert_block(&both.dst, 3);
    end_pair(&both);
}

static void with_a_stream_it_runs_in_the_streams_order(void **state) {
    (void)state;
    pair both = new_pair(PINNED, DEVICE, 5000);
    CUstream native = new_stream();
    hold(native);
    write_behind(&both.src, 3, native);
    ok(via_memcpy(both.dst.data, both.src.data, 5000, wrap_native(native, 0)));
    assert_block(&both.dst, 2);
    release(native);
    finish(native);
    assert_block(&both.dst, 3);
    release_block(&both.dst);
    release_block(&both.src);
}

static void nothing_may_be_copied_from_anywhere(void **state) {
    (void)state;
    ok(via_memcpy(NULL, NULL, 0, NULL));
    ok(via_memcpy(NULL, NULL, 0, via_stream_legacy()));
    refused(VIA_ERROR_INVALID_ARGUMENT, "nbytes is -1", via_memcpy((void *)8, (const void *)16, -1, NULL));
    refused(VIA_ERROR_INVALID_ARGUMENT, "dst is NULL", via_memcpy(NULL, (const void *)16, 1, NULL));
}

static void overlap_is_refused_on_a_device_too(void **state) {
    (void)state;
    block at = new_block(DEVICE, 200, NULL);
    write_block(&at, 2);
    refused(VIA_ERROR_OVERLAP, "shares bytes", via_memcpy(at.data + 1, at.data, 100, NULL));
    refused(VIA_ERROR_OVERLAP, "shares bytes", via_memcpy(at.data, at.data + 99, 100, via_stream_legacy()));
    assert_block(&at, 2);
    end_block(&at);
}

static void more_than_the_allocation_has_is_refused(void **state) {
    (void)state;
    char *host = pageable_memory(1 << 20);
    const CUdeviceptr device = device_memory(1000);
    char *at = (char *)(uintptr_t)device;
    write_pattern(device, 1000, 2);
    memset(host, 0x55, 1 << 20);
    refused(VIA_ERROR_POINTER, "dst|has 990 bytes|991", via_memcpy(at + 10, host, 991, NULL));
    refused(VIA_ERROR_POINTER, "src|has 1000 bytes|1048576", via_memcpy(host, at, 1 << 20, NULL));
    refused(VIA_ERROR_POINTER, "dst|has 1000 bytes", via_memcpy(at, host, 1001, via_stream_legacy()));
    refused(VIA_ERROR_POINTER, "dst|has 500 bytes|600", via_memcpy(at + 500, at, 600, NULL)); /* not: they overlap */
    assert_device_pattern(device, 1000, 2);
    assert_bytes(host, 1 << 20, 0x55);
    ok(via_memcpy(at + 10, host, 990, NULL));
    char *pinned = pinned_memory(100);
    refused(VIA_ERROR_POINTER, "src|has 100 bytes|101", via_memcpy(at, pinned, 101, NULL));
}

static void no_sync_is_refused(void **state) {
    (void)state;
    pair both = new_pair(DEVICE, PINNED, 100);
    refused(VIA_ERROR_INVALID_ARGUMENT, "no_sync", via_memcpy(both.dst.data, both.src.data, 100, via_stream_no_sync()));
    assert_block(&both.dst, 2);
    end_pair(&both);
}

/* In a child, what the host can read is copied, and the rest refused by name. */
static void run_forked_child(const pair *both) {
    char bytes[100];
    int wrong = 0;
    via_array *host = NULL;
    via_task *task = NULL;
    wrong |= via_memcpy(bytes, both->src.data, 100, NULL) != VIA_OK || memcmp(bytes, both->src.data, 100) != 0;
    wrong |= (via_memcpy(bytes, both->dst.data, 100, NULL) != VIA_ERROR_FORKED) << 1;
    wrong |= (strstr(via_last_error(), "fork") == NULL) << 2;
    wrong |= (via_copy(both->dst.array, both->src.array) != VIA_ERROR_FORKED) << 3;
    wrong |= (via_copy_async(both->dst.array, both->src.array, NULL) != VIA_ERROR_FORKED) << 4;
    wrong |= (via_fill(both->dst.array, NULL, NULL) != VIA_ERROR_FORKED) << 5;
    wrong |= (via_copy_submit(both->dst.array, both->src.array, via_stream_legacy(), &task) != VIA_ERROR_FORKED) << 6;
    wrong |= (via_wrap(bytes, VIA_UINT8, 1, SHAPE(100), NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &host) != VIA_OK ||
              via_copy(host, both->src.array) != VIA_OK)
             << 7;
    _exit(wrong);
}

static void a_forked_child_copies_host_memory_only(void **state) {
    (void)state;
    pair both = new_pair(DEVICE, PAGEABLE, 100);
    ok(via_copy(both.dst.array, both.src.array));
    const pid_t child = fork_child();
    if (child == 0) {
        run_forked_child(&both);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    end_pair(&both);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(the_driver_is_asked_what_an_address_is),
        GPU_TEST(without_a_stream_it_comes_after_the_legacy_streams_work),
        GPU_TEST(with_a_stream_it_runs_in_the_streams_order),
        GPU_TEST(nothing_may_be_copied_from_anywhere),
        GPU_TEST(overlap_is_refused_on_a_device_too),
        GPU_TEST(more_than_the_allocation_has_is_refused),
        GPU_TEST(no_sync_is_refused),
        GPU_TEST(a_forked_child_copies_host_memory_only),
    };
    return run_gpu_tests(tests);
}
