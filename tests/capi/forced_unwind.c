/* A thread that is ended inside a callback: the unwinding passes through the library, which must let it. CPython ends
 * foreign threads so at finalization; swallowing it aborts the process. So does a thread that is ended where it closes
 * a file. */
#include <pthread.h>

#include "producer.h"

/* Ends the calling thread here and now. */
static void end_thread(void) {
    pthread_cancel(pthread_self());
    pthread_testcancel();
    abort();
}

static void run_to_its_end(void *(*body)(void *context), void *context) {
    pthread_t thread;
    void *result = NULL;
    assert_int_equal(pthread_create(&thread, NULL, body, context), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, PTHREAD_CANCELED);
}

/* The next thread, which reuses the state of the ended one, starts afresh. */
static void *look_for_an_error(void *context) {
    static char byte;
    via_array_release(wrap_plain(&byte, VIA_INT8, 0, NULL, NULL)); /* makes the thread known */
    *(int *)context = strcmp(via_last_error(), "") == 0;
    int32_t dtype = 0;
    *(int *)context += via_dtype_from_name("nothing", &dtype) == VIA_ERROR_DTYPE;
    *(int *)context += strstr(via_last_error(), "nothing") != NULL;
    return NULL;
}

static void assert_usable(void) {
    pthread_t thread;
    int fresh = 0;
    assert_int_equal(pthread_create(&thread, NULL, look_for_an_error, &fresh), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(fresh, 3);
}

static void release_and_end(void *context) {
    count_release(context);
    end_thread();
}

/* `body` releases, once, what release_and_end has for its context. */
static void assert_ends_in_its_release(void *(*body)(void *)) {
    atomic_int released = 0;
    run_to_its_end(body, &released);
    assert_int_equal(released, 1);
    assert_usable();
}

static void *release_array(void *context) {
    static char byte;
    via_array *array = NULL;
    ok(via_wrap(&byte, VIA_INT8, 0, NULL, NULL, VIA_DEVICE_CPU, 0, 0, release_and_end, context, &array));
    via_array_release(array);
    return NULL;
}

static void a_thread_may_end_inside_a_release_callback(void **state) {
    (void)state;
    assert_ends_in_its_release(release_array);
}

static void *delete_tensor(void *context) {
    static char byte;
    via_array *array = NULL;
    ok(via_wrap(&byte, VIA_INT8, 0, NULL, NULL, VIA_DEVICE_CPU, 0, 0, release_and_end, context, &array));
    DLManagedTensorVersioned *tensor = NULL;
    ok(via_to_dlpack(array, NULL, NULL, &tensor));
    via_array_release(array);
    via_dlpack_delete(tensor);
    return NULL;
}

static void a_thread_may_end_inside_the_deleter_of_a_tensor(void **state) {
    (void)state;
    assert_ends_in_its_release(delete_tensor);
}

/* The last to hold the array is the plan of a copy, which the batch holds. */
static void *release_batch(void *context) {
    static int32_t to[4];
    static int32_t from[4];
    static int32_t numbers[2] = {2, 1};
    via_array *dst = NULL;
    ok(via_wrap(to, VIA_INT32, 1, SHAPE(4), NULL, VIA_DEVICE_CPU, 0, 0, release_and_end, context, &dst));
    via_array *src = wrap_plain(from, VIA_INT32, 1, SHAPE(4), NULL);
    via_array *src_index = wrap_plain(numbers, VIA_INT32, 1, SHAPE(2), NULL);
    via_batch *batch = NULL;
    ok(via_batch_create(&batch));
    ok(via_batch_add_indexed(batch, dst, NULL, src, src_index, 0, NULL));
    via_array_release(dst);
    via_array_release(src);
    via_array_release(src_index);
    via_batch_release(batch);
    return NULL;
}

static void a_thread_may_end_where_a_batch_releases_a_copy_by_index(void **state) {
    (void)state;
    assert_ends_in_its_release(release_batch);
}

static int32_t alloc_and_end(int64_t nbytes, int64_t alignment, void *stream, void *context, void **out_address) {
    (void)nbytes;
    (void)alignment;
    (void)stream;
    (void)out_address;
    release_and_end(context);
    return 0;
}

static void free_and_end(void *address, int64_t nbytes, void *stream, void *context) {
    (void)nbytes;
    (void)stream;
    free(address);
    release_and_end(context);
}

static int32_t plain_alloc(int64_t nbytes, int64_t alignment, void *stream, void *context, void **out_address) {
    (void)stream;
    (void)context;
    *out_address = aligned_alloc((size_t)alignment, (size_t)(nbytes + alignment - 1) / 64 * 64);
    return *out_address == NULL;
}

static void *make_empty(void *memory) {
    via_array *array = NULL;
    ok(via_empty(memory, VIA_FLOAT32, 1, SHAPE(16), NULL, &array));
    via_array_release(array);
    return NULL;
}

static void a_thread_may_end_inside_an_alloc_callback(void **state) {
    (void)state;
    atomic_int ended = 0;
    via_memory *memory = NULL;
    ok(via_memory_create_custom(VIA_DEVICE_CPU, 0, alloc_and_end, &ended, free_and_end, &ended, NULL, NULL, &memory));
    run_to_its_end(make_empty, memory);
    via_memory_release(memory);
    assert_int_equal(ended, 1);
    assert_usable();
}

static void a_thread_may_end_inside_a_free_callback(void **state) {
    (void)state;
    static via_memory *memory; /* of which the ended thread never gave back its share */
    atomic_int ended = 0;
    ok(via_memory_create_custom(VIA_DEVICE_CPU, 0, plain_alloc, NULL, free_and_end, &ended, NULL, NULL, &memory));
    run_to_its_end(make_empty, memory);
    assert_int_equal(ended, 1);
    assert_usable();
}

static void delete_and_end(DLManagedTensorVersioned *tensor) {
    delete_versioned(tensor);
    end_thread();
}

static via_array *copied;

static void *import_copy(void *context) {
    producer *made = context;
    via_dlpack_options always = VIA_DLPACK_OPTIONS_INIT;
    always.copy = VIA_COPY_ALWAYS;
    ok(via_from_dlpack(&made->tensor, &always, NULL, &copied));
    return NULL;
}

static void a_thread_may_end_inside_the_deleter_of_an_imported_tensor(void **state) {
    (void)state;
    producer made;
    produce_changed(&made, NULL);
    made.tensor.deleter = delete_and_end;
    run_to_its_end(import_copy, &made);
    assert_int_equal(made.deleted, 1);
    via_array_release(copied);
    assert_usable();
}

static void *close_and_end(void *file) {
    pthread_cancel(pthread_self());
    via_file_release(file);
    pthread_testcancel();
    abort();
}

static void a_thread_that_is_to_end_closes_its_file_first(void **state) {
    (void)state;
    via_file *file = NULL;
    ok(via_file_open("/proc/self/exe", NULL, &file));
    run_to_its_end(close_and_end, file);
    assert_usable();
}

static void *release_shared_and_end(void *array) {
    pthread_cancel(pthread_self());
    via_array_release(array);
    pthread_testcancel();
    abort();
}

static void a_thread_that_is_to_end_gives_shared_memory_back_first(void **state) {
    (void)state;
    via_memory *memory = NULL;
    via_array *array = NULL;
    ok(via_memory_create(VIA_MEMORY_SHARED, 0, &memory));
    ok(via_empty(memory, VIA_INT8, 1, SHAPE(16), NULL, &array));
    via_memory_release(memory);
    run_to_its_end(release_shared_and_end, array);
    assert_usable();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_thread_may_end_inside_a_release_callback),
        TEST(a_thread_may_end_inside_the_deleter_of_a_tensor),
        TEST(a_thread_may_end_where_a_batch_releases_a_copy_by_index),
        TEST(a_thread_may_end_inside_an_alloc_callback),
        TEST(a_thread_may_end_inside_a_free_callback),
        TEST(a_thread_may_end_inside_the_deleter_of_an_imported_tensor),
        TEST(a_thread_that_is_to_end_closes_its_file_first),
        TEST(a_thread_that_is_to_end_gives_shared_memory_back_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
