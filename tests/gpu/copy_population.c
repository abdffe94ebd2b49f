/* Copies of the layouts that `./dev bench layouts link` and `peer` draw: row-major memory, padded or not, whose axes
   come in another order, on one side or on both; smaller, of every element size, between all pairs of memory of which
   one is a device's, and in every way there is to copy. Whatever the route, they equal naive copies. */
#include "pending_copy.h"
#include "strided_routes.h"

enum { as_graph = 4 };

/* A row-major array with `pad` more of each axis, of which the last has every `step`-th element; its axes permuted. */
typedef struct drawn {
    shape of;
    layout strided;
    layout dense;
} drawn;

static layout padded_layout(const shape *of, const int32_t *order, int64_t pad, int64_t step) {
    layout made = {{0}, 0, 0};
    int64_t unit = of->item * step;
    for (int32_t i = of->ndim - 1; i >= 0; --i) {
        made.strides[order[i]] = unit;
        unit *= of->extents[order[i]] + pad;
    }
    measure(of, &made);
    return made;
}

/* Every other time of the sizes that dtypes have. Of elements longer than 8 bytes there are fewer. */
static drawn draw(int64_t most_elements, int steps) {
    static const int64_t item_of[] = {1, 2, 4, 4, 8};
    static const int64_t pad_of[] = {0, 0, 1, 5};
    const int64_t item = one_in(2) ? item_of[random_between(0, 4)] : items[random_between(0, LENGTH(items) - 1)];
    drawn made = {.of = {(int32_t)random_between(2, 5), item, {0}}};
    int64_t left = item > 8 ? most_elements * 8 / item : most_elements;
    for (int32_t i = 0; i < made.of.ndim; ++i) {
        const int64_t most = i + 1 == made.of.ndim ? left : random_between(1, left < 200 ? left : 200);
        made.of.extents[i] = one_in(3) ? random_between(2, 7) : random_between(1, most);
        left = left / made.of.extents[i] > 1 ? left / made.of.extents[i] : 1;
    }
    int32_t order[most_axes];
    shuffle(order, made.of.ndim);
    made.strided = padded_layout(&made.of, order, pad_of[random_between(0, 3)], steps && one_in(5) ? 2 : 1);
    made.dense = dense_layout(&made.of, NULL);
    return made;
}

enum { gather, scatter, both_sides, kinds };

static void check_drawn(place to, place from, const drawn *at, int kind, int32_t way, CUstream native) {
    check_layouts(to, from, &at->of, kind == gather ? &at->dense : &at->strided,
                  kind == scatter ? &at->dense : &at->strided, way, native);
}

/* Short of 64 KiB as a rule, and now and then past the sizes of slots and of what goes element by element. */
static int64_t most_elements(int32_t number) { return number % 16 == 0 ? 1500000 : number % 4 == 0 ? 100000 : 9000; }

/* Each pair meets every way, kind and size in turn, since 9 and 5 have no divisor in common. A graph cannot hold copies
   of pageable memory. */
static void any_layout_goes_to_and_from_a_device(void **state) {
    (void)state;
    static const place sides[][2] = {
        {DEVICE, PAGEABLE},   {PAGEABLE, DEVICE}, {DEVICE, PINNED},  {PINNED, DEVICE}, {REGISTERED, DEVICE},
        {DEVICE, REGISTERED}, {DEVICE, MANAGED},  {MANAGED, DEVICE}, {DEVICE, DEVICE},
    };
    CUstream native = new_stream();
    for (int32_t i = 0; i < REPEATS(600); ++i) {
        const place *where = sides[i % LENGTH(sides)];
        const drawn at = draw(most_elements(i / 3), 1);
        const int32_t way = i % LENGTH(ways);
        const int captured = way == as_graph && (where[0] == PAGEABLE || where[1] == PAGEABLE);
        check_drawn(where[0], where[1], &at, i / LENGTH(sides) % kinds, captured ? 0 : way, native);
    }
}

static void check_between_devices(int32_t copies) {
    static const place directions[][2] = {{DEVICE, OTHER_DEVICE}, {OTHER_DEVICE, DEVICE}};
    CUstream native = new_stream();
    for (int32_t i = 0; i < copies; ++i) {
        const drawn at = draw(most_elements(i), 0);
        const place *where = directions[i % 2];
        check_drawn(where[0], where[1], &at, i / 2 % kinds, i / 2 % LENGTH(ways), native);
    }
}

/* The fake driver ends a context whose kernel reaches memory that it may not. */
static void any_layout_goes_between_devices_with_peer_access_off_and_on(void **state) {
    (void)state;
    need_two_devices();
    ok(via_cuda_warmup(1));
    check_between_devices(REPEATS(200));
    switch_peer_access(1);
    check_between_devices(REPEATS(200));
    switch_peer_access(0);
}

/* ------------------------------------------------------------------------------------------------ while others copy */

typedef struct copier {
    pthread_t thread;
    strided_pair both;
    char *expected;
} copier;

/* All share rings, pools, buffers, workers and side streams. */
static void *copy_again_and_again(void *context) {
    const copier *self = context;
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    for (int64_t i = 0; i < REPEATS(20); ++i) {
        ok(via_copy(self->both.dst.array, self->both.src.array));
        assert_true(holds_bytes(&self->both.dst, self->expected));
    }
    return NULL;
}

static void threads_copy_in_all_directions_at_once(void **state) {
    (void)state;
    const place far = device_count() > 1 ? OTHER_DEVICE : DEVICE;
    const place sides[][2] = {{DEVICE, PAGEABLE}, {PAGEABLE, far}, {far, DEVICE}, {PINNED, DEVICE}};
    copier threads[8];
    for (int32_t i = 0; i < LENGTH(threads); ++i) {
        const place *where = sides[i % LENGTH(sides)];
        threads[i].both = new_transposed_pair(where[0], where[1], 500 + 10 * i, 300, 4);
        threads[i].expected = expect_copy(&threads[i].both.of, &threads[i].both.dst, &threads[i].both.src);
    }
    for (int32_t i = 0; i < LENGTH(threads); ++i) {
        assert_int_equal(pthread_create(&threads[i].thread, NULL, copy_again_and_again, &threads[i]), 0);
    }
    for (int32_t i = 0; i < LENGTH(threads); ++i) {
        pthread_join(threads[i].thread, NULL);
        free(threads[i].expected);
        end_strided_pair(&threads[i].both);
    }
}

/* ------------------------------------------------------------------------------------------------ a lost device */

/* Right before a call of a copy all contexts go, as by a kernel that faulted. The copies say so, nothing hangs, and the
   host copies on. */
static void lose_the_devices(place to, place from) {
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    ok(via_cuda_warmup(0));
    ok(via_cuda_warmup(1));
    via_stream *stream = wrap_native(new_stream(), 0);
    strided_pair both = new_transposed_pair(to, from, 700, 900, 4);
    strided_pair here = new_transposed_pair(PAGEABLE, PAGEABLE, 70, 90, 4);
    ok(via_copy(both.dst.array, both.src.array));
    fake(fake_poison_at)(getenv("VIADUCT_TEST_LOST_AT"), 1, CUDA_ERROR_ILLEGAL_ADDRESS);
    via_status status = via_copy_async(both.dst.array, both.src.array, stream);
    status = status == VIA_OK ? via_copy(both.dst.array, both.src.array) : status;
    assert_int_equal(status, VIA_ERROR_CUDA);
    assert_true(holds_words(via_last_error(), "CUDA_ERROR_ILLEGAL_ADDRESS"));
    refused(VIA_ERROR_CUDA, "CUDA_ERROR_ILLEGAL_ADDRESS", via_copy(both.dst.array, both.src.array));
    ok(via_copy(here.dst.array, here.src.array));
    end_strided_pair(&here);
    for (int32_t i = 0; i < 2; ++i) {
        /* The memory went with its context. */
        strided *gone = i == 0 ? &both.dst : &both.src;
        via_array_release(gone->array);
        release_block(&gone->memory);
    }
}

static void lose_the_devices_between_them(void) { lose_the_devices(OTHER_DEVICE, DEVICE); }
static void lose_the_device_to_the_host(void) { lose_the_devices(PAGEABLE, DEVICE); }
static void lose_the_device_from_the_host(void) { lose_the_devices(DEVICE, PAGEABLE); }

static void devices_that_go_away_amid_a_copy_are_reported(void **state) {
    (void)state;
    steer();
    need_two_devices();
    static const char *const calls[] = {"VIADUCT_TEST_LOST_AT=cuLaunchKernel", "VIADUCT_TEST_LOST_AT=cuMemcpyAsync",
                                        "VIADUCT_TEST_LOST_AT=cuEventRecord", "VIADUCT_TEST_LOST_AT=cuStreamWaitEvent"};
    for (int32_t i = 0; i < LENGTH(calls); ++i) {
        note("%s", calls[i]);
        run_apart(lose_the_devices_between_them, (const char *const[]){calls[i], NULL});
    }
    run_apart(lose_the_device_to_the_host, (const char *const[]){calls[0], NULL});
    run_apart(lose_the_device_from_the_host, (const char *const[]){calls[0], NULL});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(any_layout_goes_to_and_from_a_device),
        GPU_TEST(any_layout_goes_between_devices_with_peer_access_off_and_on),
        GPU_TEST(threads_copy_in_all_directions_at_once),
        GPU_TEST(devices_that_go_away_amid_a_copy_are_reported),
    };
    return run_kernel_tests(tests);
}
