/* Makes the N-th allocation fail, for every N: the answer is VIA_ERROR_OUT_OF_MEMORY, nothing leaks, and the library
 * goes on. The library's allocations come here because a program's malloc comes before the C library's. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#include "arrow_column.h"
#include "producer.h"

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

/* Of the calling thread: how many allocations still succeed (no limit if negative), and how many blocks are alive. */
static _Thread_local int64_t allowed = -1;
static _Thread_local int64_t alive;

static bool may_allocate(void) {
    if (allowed == 0) {
        errno = ENOMEM;
        return false;
    }
    allowed -= allowed > 0;
    return true;
}

static void *counted(void *block) {
    alive += block != NULL;
    return block;
}

void *malloc(size_t size) { return may_allocate() ? counted(__libc_malloc(size)) : NULL; }

void *calloc(size_t count, size_t size) { return may_allocate() ? counted(__libc_calloc(count, size)) : NULL; }

void *aligned_alloc(size_t alignment, size_t size) {
    return may_allocate() ? counted(__libc_memalign(alignment, size)) : NULL;
}

void free(void *block) {
    alive -= block != NULL;
    __libc_free(block);
}

/* What a scenario works on; all that it makes it ends itself, however far it comes. */
static double memory[32];
static via_array *subject;
static producer made;
static column offered;

typedef via_status (*scenario)(void);

static via_status wrap_it(void) {
    via_array *array = NULL;
    const via_status status =
        via_wrap(memory, VIA_FLOAT64, 2, SHAPE(2, 3), NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &array);
    assert_int_equal(array == NULL, status != VIA_OK);
    via_array_release(array);
    return status;
}

static via_status wrap_detected(void) {
    via_array *array = NULL;
    const via_status status =
        via_wrap(memory, VIA_FLOAT64, 2, SHAPE(2, 3), NULL, VIA_DEVICE_ANY, 0, 0, NULL, NULL, &array);
    assert_int_equal(array == NULL, status != VIA_OK);
    via_array_release(array);
    return status;
}

static int32_t which_view;

static via_status make_view(via_array **out_view) {
    switch (which_view) {
        case 0:
            return via_array_slice(subject, SHAPE(1, 1), NULL, NULL, out_view);
        case 1:
            return via_array_select(subject, 0, 1, out_view);
        case 2:
            return via_array_permute(subject, NULL, out_view);
        case 3:
            return via_array_reshape(subject, 1, SHAPE(-1), out_view);
        case 4:
            return via_array_broadcast(subject, 3, SHAPE(5, 4, 3), out_view);
        case 5:
            return via_array_squeeze(subject, 0, NULL, out_view);
        case 6:
            return via_array_expand(subject, 0, out_view);
        case 7:
            return via_array_reinterpret(subject, VIA_UINT8, out_view);
        case 8:
            return via_array_field(subject, 4, VIA_FLOAT32, 0, NULL, out_view);
        default:
            return via_array_as_read_only(subject, out_view);
    }
}

static via_status view_it(void) {
    via_array *view = NULL;
    const via_status status = make_view(&view);
    assert_int_equal(view == NULL, status != VIA_OK);
    via_array_release(view);
    return status;
}

static via_status make_empty(void) {
    via_array *array = NULL;
    const via_status status = via_empty(NULL, VIA_FLOAT32, 2, SHAPE(3, 4), NULL, &array);
    assert_int_equal(array == NULL, status != VIA_OK);
    via_array_release(array);
    return status;
}

static int own_blocks;

static int32_t own_alloc(int64_t nbytes, int64_t alignment, void *stream, void *context, void **out_address) {
    (void)stream;
    (void)context;
    static _Alignas(64) char block[4096];
    own_blocks++;
    *out_address = block;
    return nbytes > (int64_t)sizeof block || alignment > 64;
}

static void own_free(void *address, int64_t nbytes, void *stream, void *context) {
    (void)address;
    (void)nbytes;
    (void)stream;
    (void)context;
    own_blocks--;
}

static via_status make_memory(void) {
    via_memory *own = NULL;
    via_array *array = NULL;
    via_status status = via_memory_create_custom(VIA_DEVICE_CPU, 0, own_alloc, NULL, own_free, NULL, NULL, NULL, &own);
    assert_int_equal(own == NULL, status != VIA_OK);
    if (status == VIA_OK) {
        status = via_empty(own, VIA_FLOAT32, 1, SHAPE(8), NULL, &array);
    }
    via_array_release(array);
    via_memory_release(own);
    assert_int_equal(own_blocks, 0);
    return status;
}

static via_dlpack_options options_of(int32_t copy) {
    via_dlpack_options options = VIA_DLPACK_OPTIONS_INIT;
    options.copy = copy;
    return options;
}

static int32_t which_copy;

static via_status export(void) {
    const via_dlpack_options options = options_of(which_copy);
    DLManagedTensorVersioned *tensor = NULL;
    const via_status status = via_to_dlpack(subject, &options, NULL, &tensor);
    assert_int_equal(tensor == NULL, status != VIA_OK);
    via_dlpack_delete(tensor);
    return status;
}

static via_status export_legacy(void) {
    const via_dlpack_options options = options_of(which_copy);
    DLManagedTensor *tensor = NULL;
    const via_status status = via_to_dlpack_legacy(subject, &options, NULL, &tensor);
    assert_int_equal(tensor == NULL, status != VIA_OK);
    via_dlpack_delete_legacy(tensor);
    return status;
}

static via_status take(void) {
    const via_dlpack_options options = options_of(which_copy);
    via_array *array = NULL;
    produce_changed(&made, NULL);
    const via_status status = via_from_dlpack(&made.tensor, &options, NULL, &array);
    assert_int_equal(array == NULL, status != VIA_OK);
    via_array_release(array);
    assert_int_equal(made.deleted, status == VIA_OK);
    return status;
}

static via_status take_legacy(void) {
    const via_dlpack_options options = options_of(which_copy);
    via_array *array = NULL;
    produce_changed(&made, NULL);
    const via_status status = via_from_dlpack_legacy(&made.legacy, &options, NULL, &array);
    assert_int_equal(array == NULL, status != VIA_OK);
    via_array_release(array);
    assert_int_equal(made.deleted, status == VIA_OK);
    return status;
}

static via_status take_description(void) {
    via_array_interface description = VIA_ARRAY_INTERFACE_INIT;
    via_array *array = NULL;
    via_status status = via_to_array_interface(subject, &description);
    if (status == VIA_OK) {
        status = via_from_array_interface(&description, NULL, NULL, &array);
    }
    via_array_release(array);
    return status;
}

static via_status export_column(void) {
    struct ArrowSchema schema;
    struct ArrowDeviceArray exported;
    const via_status status = via_to_arrow_device(subject, &schema, &exported);
    assert_int_equal(schema.release == NULL, status != VIA_OK);
    assert_int_equal(exported.array.release == NULL, status != VIA_OK);
    via_arrow_release(&schema, &exported);
    return status;
}

static via_status take_column(void) {
    via_array *array = NULL;
    make_column(&offered, 4, 1, SHAPE(3));
    const via_status status = via_from_arrow_device(&offered.schema[0], &offered.offered, NULL, &array);
    assert_int_equal(offered.schema[0].release == NULL, status == VIA_OK);
    assert_int_equal(offered.offered.array.release == NULL, status == VIA_OK);
    via_array_release(array);
    assert_int_equal(offered.columns_released, status == VIA_OK);
    return status;
}

/* More copies than a batch has room for at first. */
static via_status fill_batch(via_batch *batch, via_array *src) {
    for (int32_t i = 0; i < 20; ++i) {
        const via_status status = via_batch_add(batch, subject, src);
        if (status != VIA_OK) {
            assert_int_equal(via_batch_size(batch), i);
            return status;
        }
    }
    return VIA_OK;
}

static via_array *source;

static via_status prepare_batch(void) {
    via_batch *batch = NULL;
    via_status status = via_batch_create(&batch);
    assert_int_equal(batch == NULL, status != VIA_OK);
    if (status == VIA_OK) {
        status = fill_batch(batch, source);
    }
    via_batch_release(batch);
    return status;
}

/* What a task holds is freed by the thread that does the work. */
static bool frees_elsewhere;
static via_batch *prepared;

static via_status finish_task(via_status status, via_task *task) {
    assert_int_equal(task == NULL, status != VIA_OK);
    const int64_t left = allowed;
    allowed = -1;
    if (status == VIA_OK) {
        ok(via_task_wait(task));
    }
    via_task_release(task);
    allowed = left;
    return status;
}

static via_status submit_copy(void) {
    via_task *task = NULL;
    const via_status status = via_copy_submit(subject, source, NULL, &task);
    return finish_task(status, task);
}

static via_status submit_batch(void) {
    via_task *task = NULL;
    const via_status status = via_batch_submit(prepared, NULL, &task);
    return finish_task(status, task);
}

/* Runs it with 0, 1, 2, ... allocations allowed, until it succeeds; at least `fewest` of them were needed. */
static void starve(scenario run, int64_t fewest) {
    const via_stats_info before = stats_now();
    for (int64_t count = 0;; ++count) {
        assert_true(count < 100);
        const int64_t alive_before = alive;
        allowed = count;
        const via_status status = run();
        allowed = -1;
        assert_true(frees_elsewhere || alive == alive_before);
        const via_stats_info after = stats_now();
        assert_true(same_stats(&before, &after));
        ok(run());
        if (status == VIA_OK) {
            assert_true(count >= fewest);
            return;
        }
        assert_int_equal(status, VIA_ERROR_OUT_OF_MEMORY);
    }
}

static void wrapping_survives_every_lack_of_memory(void **state) {
    (void)state;
    starve(wrap_it, 1);
    starve(wrap_detected, 1);
}

static void views_survive_every_lack_of_memory(void **state) {
    (void)state;
    subject = wrap_plain(memory, VIA_COMPLEX64, 2, SHAPE(4, 3), NULL);
    for (which_view = 0; which_view < 10; ++which_view) {
        starve(view_it, 1);
    }
    via_array_release(subject);
}

static void creating_survives_every_lack_of_memory(void **state) {
    (void)state;
    starve(make_empty, 2);
    starve(make_memory, 2);
}

static void dlpack_survives_every_lack_of_memory(void **state) {
    (void)state;
    subject = wrap_strided(memory, VIA_FLOAT64, 2, SHAPE(4, 3), SHAPE(64, 16));
    for (which_copy = VIA_COPY_IF_NEEDED; which_copy <= VIA_COPY_ALWAYS; ++which_copy) {
        starve(export, which_copy == VIA_COPY_ALWAYS ? 3 : 1);
        starve(export_legacy, which_copy == VIA_COPY_ALWAYS ? 3 : 1);
        starve(take, which_copy == VIA_COPY_ALWAYS ? 3 : 1);
        starve(take_legacy, which_copy == VIA_COPY_ALWAYS ? 3 : 1);
    }
    via_array_release(subject);
}

static void uneven_strides_survive_every_lack_of_memory(void **state) {
    (void)state;
    subject = wrap_strided(memory, VIA_COMPLEX128, 1, SHAPE(4), SHAPE(24));
    which_copy = VIA_COPY_IF_NEEDED;
    starve(export, 3);
    starve(export_legacy, 3);
    via_array_release(subject);
}

static void array_interfaces_survive_every_lack_of_memory(void **state) {
    (void)state;
    subject = wrap_plain(memory, VIA_FLOAT64, 2, SHAPE(4, 3), NULL);
    starve(take_description, 1);
    via_array_release(subject);
}

static void arrow_survives_every_lack_of_memory(void **state) {
    (void)state;
    subject = wrap_plain(memory, VIA_FLOAT64, 2, SHAPE(4, 3), NULL);
    starve(export_column, 2);
    starve(take_column, 2);
    via_array_release(subject);
}

static void batches_and_tasks_survive_every_lack_of_memory(void **state) {
    (void)state;
    subject = wrap_plain(memory, VIA_FLOAT64, 1, SHAPE(4), NULL);
    source = wrap_plain(memory + 4, VIA_FLOAT64, 1, SHAPE(4), NULL);
    starve(prepare_batch, 3);
    ok(via_batch_create(&prepared));
    ok(fill_batch(prepared, source));
    frees_elsewhere = true;
    starve(submit_copy, 2);
    starve(submit_batch, 2);
    frees_elsewhere = false;
    via_batch_release(prepared);
    via_array_release(source);
    via_array_release(subject);
}

/* -- threads that no memory can be had for ------------------------------------------------------------------------- */

static void *wrap_without_memory(void *context) {
    allowed = 0;
    const via_status status = wrap_it();
    *(int *)context = status == VIA_ERROR_OUT_OF_MEMORY && strstr(via_last_error(), "via_wrap: ") == via_last_error();
    allowed = -1;
    return NULL;
}

static void a_new_thread_without_memory_is_reported(void **state) {
    (void)state;
    pthread_t thread;
    int reported = 0;
    assert_int_equal(pthread_create(&thread, NULL, wrap_without_memory, &reported), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(reported, 1);
}

/* There is memory again inside the callback, and the thread is made known to the library only then. */
static void find_memory_again(void *context) {
    allowed = -1;
    ok(wrap_it());
    count_release(context);
}

static atomic_int parked;

static void *release_without_memory(void *array) {
    allowed = 0;
    via_array_release(array);
    allowed = -1;
    const int sound = strcmp(via_last_error(), "") == 0 && via_last_error_code() == 0;
    int32_t dtype = 0;
    const int reported =
        via_dtype_from_name("nothing", &dtype) == VIA_ERROR_DTYPE && strstr(via_last_error(), "nothing");
    return (void *)(intptr_t)(sound && reported);
}

/* Keeps a thread's state in use, so that the next thread has to make its own. */
static void *park(void *context) {
    (void)context;
    ok(wrap_it());
    atomic_store(&parked, 1);
    while (atomic_load(&parked) == 1) {
    }
    return NULL;
}

static void memory_may_come_back_inside_a_callback(void **state) {
    (void)state;
    atomic_int released = 0;
    via_array *array = NULL;
    ok(via_wrap(memory, VIA_INT8, 0, NULL, NULL, VIA_DEVICE_CPU, 0, 0, find_memory_again, &released, &array));
    pthread_t holder;
    pthread_t thread;
    void *sound = NULL;
    assert_int_equal(pthread_create(&holder, NULL, park, NULL), 0);
    while (atomic_load(&parked) == 0) {
    }
    assert_int_equal(pthread_create(&thread, NULL, release_without_memory, array), 0);
    assert_int_equal(pthread_join(thread, &sound), 0);
    atomic_store(&parked, 2);
    assert_int_equal(pthread_join(holder, NULL), 0);
    assert_int_equal(released, 1);
    assert_non_null(sound);
}

static int set_up(void **state) {
    (void)state;
    ok(via_set_num_threads(1));
    ok(wrap_it()); /* makes this thread known */
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(wrapping_survives_every_lack_of_memory),
        TEST(views_survive_every_lack_of_memory),
        TEST(creating_survives_every_lack_of_memory),
        TEST(dlpack_survives_every_lack_of_memory),
        TEST(uneven_strides_survive_every_lack_of_memory),
        TEST(array_interfaces_survive_every_lack_of_memory),
        TEST(arrow_survives_every_lack_of_memory),
        TEST(a_new_thread_without_memory_is_reported),
        TEST(batches_and_tasks_survive_every_lack_of_memory),
        TEST(memory_may_come_back_inside_a_callback),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
