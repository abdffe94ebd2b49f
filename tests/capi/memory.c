/* Creating: host memory, the caller's own allocator, empty arrays. */
#include <limits.h>

#include "support.h"

/* A caller's allocator that remembers what it was asked. */
typedef struct allocator {
    int allocs;
    int frees;
    int releases;
    int64_t nbytes;
    int64_t alignment;
    void *address;
    void *freed;
    int64_t freed_nbytes;
    int32_t answer; /* of the next alloc */
    int gives_null;
} allocator;

static int32_t own_alloc(int64_t nbytes, int64_t alignment, void *stream, void *context, void **out_address) {
    allocator *own = context;
    assert_null(stream);
    own->allocs++;
    own->nbytes = nbytes;
    own->alignment = alignment;
    if (own->answer != 0 || own->gives_null) {
        return own->answer;
    }
    const size_t rounded = ((size_t)nbytes + (size_t)alignment - 1) / (size_t)alignment * (size_t)alignment;
    own->address = aligned_alloc((size_t)alignment, rounded);
    *out_address = own->address;
    return own->address == NULL;
}

static void own_free(void *address, int64_t nbytes, void *stream, void *context) {
    allocator *own = context;
    assert_null(stream);
    own->frees++;
    own->freed = address;
    own->freed_nbytes = nbytes;
    free(address);
}

static void own_release(void *context) { ((allocator *)context)->releases++; }

static via_memory *make_own(allocator *own) {
    via_memory *memory = NULL;
    ok(via_memory_create_custom(VIA_DEVICE_CPU, 0, own_alloc, own, own_free, own, own_release, own, &memory));
    return memory;
}

static void host_memory_is_aligned_for_every_vector(void **state) {
    (void)state;
    via_memory *memory = NULL;
    ok(via_memory_create(VIA_MEMORY_HOST, 0, &memory));
    assert_int_equal(via_memory_device_type(memory), VIA_DEVICE_CPU);
    assert_int_equal(via_memory_device_id(memory), 0);
    for (int64_t size = 1; size < (1 << 24); size = size * 5 + 1) {
        via_array *array = NULL;
        ok(via_empty(memory, VIA_UINT8, 1, SHAPE(size), NULL, &array));
        assert_int_equal((uintptr_t)via_array_data(array) % 64, 0);
        memset(via_array_data(array), 0x5A, (size_t)size);
        via_array_release(array);
    }
    via_memory_retain(memory);
    via_memory_release(memory);
    via_memory_release(memory);
}

static void empty_without_memory_means_host_memory(void **state) {
    (void)state;
    via_array *array = NULL;
    ok(via_empty(NULL, VIA_BFLOAT16, 2, SHAPE(3, 5), NULL, &array));
    assert_layout(array, 2, SHAPE(3, 5), SHAPE(10, 2));
    assert_int_equal(via_array_device_type(array), VIA_DEVICE_CPU);
    assert_int_equal(via_array_flags(array), 0);
    via_array_release(array);
}

static void empty_makes_every_dtype(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(every_dtype); ++i) {
        via_array *array = NULL;
        ok(via_empty(NULL, every_dtype[i].dtype, 2, SHAPE(5, 3), NULL, &array));
        assert_int_equal(via_array_nbytes(array), (15 * every_dtype[i].bits + 7) / 8);
        memset(via_array_data(array), 0, (size_t)via_array_nbytes(array));
        via_array_release(array);
    }
}

static void empty_of_nothing_allocates_nothing(void **state) {
    const via_stats_info *before = *state;
    via_array *array = NULL;
    ok(via_empty(NULL, VIA_FLOAT32, 2, SHAPE(0, 5), NULL, &array));
    assert_null(via_array_data(array));
    assert_int_equal(stats_now().host_bytes, before->host_bytes);
    via_array_release(array);
    allocator own = {0};
    via_memory *memory = make_own(&own);
    ok(via_empty(memory, VIA_FLOAT32, 2, SHAPE(0, 5), NULL, &array));
    via_array_release(array);
    via_memory_release(memory);
    assert_int_equal(own.allocs + own.frees, 0);
    assert_int_equal(own.releases, 1);
}

static void empty_refuses_more_than_there_can_be(void **state) {
    (void)state;
    via_array *array = NULL;
    refused(VIA_ERROR_OUT_OF_MEMORY, "via_empty|4611686018427387904",
            via_empty(NULL, VIA_UINT8, 1, SHAPE(INT64_C(1) << 62), NULL, &array));
    refused(VIA_ERROR_OUT_OF_MEMORY, "via_empty|9223372036854775807",
            via_empty(NULL, VIA_UINT8, 1, SHAPE(INT64_MAX), NULL, &array));
    refused(VIA_ERROR_OVERFLOW, "via_empty|shape", via_empty(NULL, VIA_UINT16, 1, SHAPE(INT64_MAX), NULL, &array));
    assert_null(array);
}

static void own_allocator_is_asked_and_given_back_to(void **state) {
    (void)state;
    allocator own = {0};
    via_memory *memory = make_own(&own);
    via_array *array = NULL;
    ok(via_empty(memory, VIA_FLOAT32, 2, SHAPE(3, 7), NULL, &array));
    assert_int_equal(own.allocs, 1);
    assert_int_equal(own.nbytes, 84);
    assert_int_equal(own.alignment, 64);
    assert_ptr_equal(via_array_data(array), own.address);
    via_array_release(array);
    assert_int_equal(own.frees, 1);
    assert_ptr_equal(own.freed, own.address);
    assert_int_equal(own.freed_nbytes, 84);
    assert_int_equal(own.releases, 0);
    via_memory_release(memory);
    assert_int_equal(own.releases, 1);
}

static void own_allocator_lives_until_its_last_array_is_gone(void **state) {
    (void)state;
    allocator own = {0};
    via_memory *memory = make_own(&own);
    via_array *array = NULL;
    ok(via_empty(memory, VIA_FLOAT32, 1, SHAPE(8), NULL, &array));
    via_memory_release(memory);
    assert_int_equal(own.releases, 0);
    via_array *view = NULL;
    ok(via_array_slice(array, SHAPE(4), NULL, NULL, &view));
    via_array_release(array);
    assert_int_equal(own.frees + own.releases, 0);
    via_array_release(view);
    assert_int_equal(own.frees, 1);
    assert_int_equal(own.releases, 1);
}

static void own_allocator_that_fails_is_reported_with_its_number(void **state) {
    (void)state;
    allocator own = {.answer = 12};
    via_memory *memory = make_own(&own);
    via_array *array = NULL;
    refused(VIA_ERROR_CALLBACK, "via_empty|12|32 bytes", via_empty(memory, VIA_FLOAT32, 1, SHAPE(8), NULL, &array));
    assert_int_equal(via_last_error_code(), 12);
    assert_null(array);
    own.answer = 0;
    own.gives_null = 1;
    refused(VIA_ERROR_CALLBACK, "via_empty|NULL", via_empty(memory, VIA_FLOAT32, 1, SHAPE(8), NULL, &array));
    own.gives_null = 0;
    ok(via_empty(memory, VIA_FLOAT32, 1, SHAPE(8), NULL, &array));
    via_array_release(array);
    via_memory_release(memory);
    assert_int_equal(own.frees, 1);
    assert_int_equal(own.releases, 1);
}

static void bad_arguments_do_not_reach_the_allocator(void **state) {
    (void)state;
    allocator own = {0};
    via_memory *memory = make_own(&own);
    via_array *array = NULL;
    refused(VIA_ERROR_SHAPE, "via_empty|shape[0]", via_empty(memory, VIA_FLOAT32, 1, SHAPE(-8), NULL, &array));
    refused(VIA_ERROR_DTYPE, "via_empty|dtype", via_empty(memory, 5, 1, SHAPE(8), NULL, &array));
    refused(VIA_ERROR_SHAPE, "via_empty|ndim is 65", via_empty(memory, VIA_INT8, 65, SHAPE(8), NULL, &array));
    refused(VIA_ERROR_OVERFLOW, "via_empty|shape",
            via_empty(memory, VIA_FLOAT64, 1, SHAPE(INT64_C(1) << 61), NULL, &array));
    assert_int_equal(own.allocs, 0);
    via_memory_release(memory);
}

static void a_failed_create_never_calls_release(void **state) {
    (void)state;
    allocator own = {0};
    via_memory *memory = (via_memory *)&own;
    refused(VIA_ERROR_INVALID_ARGUMENT, "via_memory_create_custom|alloc",
            via_memory_create_custom(VIA_DEVICE_CPU, 0, NULL, &own, own_free, &own, own_release, &own, &memory));
    assert_null(memory);
    refused(VIA_ERROR_INVALID_ARGUMENT, "via_memory_create_custom|free_memory",
            via_memory_create_custom(VIA_DEVICE_CPU, 0, own_alloc, &own, NULL, &own, own_release, &own, &memory));
    refused(VIA_ERROR_DEVICE, "via_memory_create_custom|99",
            via_memory_create_custom(99, 0, own_alloc, &own, own_free, &own, own_release, &own, &memory));
    refused(VIA_ERROR_DEVICE, "via_memory_create_custom|device_id is 3",
            via_memory_create_custom(VIA_DEVICE_CPU, 3, own_alloc, &own, own_free, &own, own_release, &own, &memory));
    assert_int_equal(own.releases, 0);
}

static void device_memory_needs_cuda_and_says_so(void **state) {
    (void)state;
    int32_t count = 0;
    ok(via_device_count(VIA_DEVICE_CUDA, &count));
    if (count > 0) {
        skip();
    }
    for (int32_t kind = VIA_MEMORY_PINNED; kind <= VIA_MEMORY_MANAGED; ++kind) {
        via_memory *memory = NULL;
        refused(VIA_ERROR_UNSUPPORTED, "via_memory_create|CUDA", via_memory_create(kind, 0, &memory));
        assert_null(memory);
    }
}

static void retain_and_release_of_nothing_do_nothing(void **state) {
    (void)state;
    via_memory_retain(NULL);
    via_memory_release(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(host_memory_is_aligned_for_every_vector),
        TEST(empty_without_memory_means_host_memory),
        TEST(empty_makes_every_dtype),
        TEST(empty_of_nothing_allocates_nothing),
        TEST(empty_refuses_more_than_there_can_be),
        TEST(own_allocator_is_asked_and_given_back_to),
        TEST(own_allocator_lives_until_its_last_array_is_gone),
        TEST(own_allocator_that_fails_is_reported_with_its_number),
        TEST(bad_arguments_do_not_reach_the_allocator),
        TEST(a_failed_create_never_calls_release),
        TEST(device_memory_needs_cuda_and_says_so),
        TEST(retain_and_release_of_nothing_do_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
