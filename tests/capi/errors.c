/* The last error: whose it is, what touches it, and that its text is sound. */
#include <pthread.h>

#include "arrow_column.h"
#include "file_support.h"

/* Fails on purpose. */
static void make_error(int32_t lanes) {
    int32_t dtype = 0;
    char name[32];
    snprintf(name, sizeof name, "wrong%d", lanes);
    assert_int_equal(via_dtype_from_name(name, &dtype), VIA_ERROR_DTYPE);
}

static int has_no_error(void) { return strcmp(via_last_error(), "") == 0 && via_last_error_code() == 0; }

/* Looks before and after the library has come to know the thread. */
static void *fresh_thread(void *context) {
    (void)context;
    const int before = has_no_error();
    (void)stats_now();
    float value = 0;
    via_array_release(wrap_plain(&value, VIA_FLOAT32, 0, NULL, NULL));
    return (void *)(intptr_t)(before && has_no_error());
}

static void *in_a_thread(void *(*body)(void *context), void *context) {
    pthread_t thread;
    void *result = NULL;
    assert_int_equal(pthread_create(&thread, NULL, body, context), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    return result;
}

static void a_thread_that_met_no_error_has_an_empty_text(void **state) {
    (void)state;
    make_error(1);
    assert_non_null(in_a_thread(fresh_thread, NULL));
}

static void *failing_thread(void *context) {
    (void)context;
    make_error(2);
    return NULL;
}

static void an_error_is_the_threads_own(void **state) {
    (void)state;
    make_error(1);
    in_a_thread(failing_thread, NULL);
    assert_non_null(strstr(via_last_error(), "\"wrong1\""));
    assert_non_null(in_a_thread(fresh_thread, NULL)); /* which may inherit what the failed thread kept its error in */
}

static void an_error_names_function_argument_found_and_expected(void **state) {
    (void)state;
    via_array *array = NULL;
    float values[4];
    refused(VIA_ERROR_SHAPE, "via_wrap: |shape[1]|-7|expected 0 or more",
            via_wrap(values, VIA_FLOAT32, 2, SHAPE(2, -7), NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &array));
}

static void success_does_not_touch_the_error(void **state) {
    (void)state;
    make_error(1);
    const char *text = via_last_error();
    float values[4];
    via_array *array = wrap_plain(values, VIA_FLOAT32, 1, SHAPE(4), NULL);
    via_array *view = NULL;
    ok(via_array_slice(array, NULL, NULL, NULL, &view));
    ok(via_fill(view, NULL, NULL));
    (void)stats_now();
    via_array_release(view);
    via_array_release(array);
    assert_ptr_equal(via_last_error(), text);
    assert_non_null(strstr(text, "\"wrong1\""));
}

/* Creating what is there already, and a conversion that no rule allows backwards. */
static void what_fails_inside_a_call_that_succeeds_is_no_error(void **state) {
    (void)state;
    const char *path = path_of("there");
    via_file *file = NULL;
    ok(via_file_create(path, VIA_COMPLEX64, 1, SHAPE(4), NULL, &file));
    via_file_release(file);
    make_error(1);
    ok(via_file_create(path, VIA_COMPLEX64, 1, SHAPE(4), NULL, &file));
    assert_non_null(strstr(via_last_error(), "\"wrong1\""));
    assert_int_equal(via_last_error_code(), 0);
    via_file *window = NULL;
    via_file *converted = NULL;
    via_convert_options options = VIA_CONVERT_OPTIONS_INIT;
    options.casting = VIA_CASTING_SAFE;
    ok(via_file_window(file, 0, VIA_COMPLEX64, 1, SHAPE(4), NULL, NULL, NULL, &window));
    ok(via_file_convert(window, VIA_COMPLEX128, &options, &converted));
    assert_non_null(strstr(via_last_error(), "\"wrong1\""));
    via_file_release(converted);
    via_file_release(window);
    via_file_release(file);
}

static void a_failing_call_clears_all_outputs_even_if_one_is_null(void **state) {
    (void)state;
    int64_t total = 7;
    struct ArrowDeviceArray exported;
    memset(&exported, 0xAA, sizeof exported);
    refused(VIA_ERROR_INVALID_ARGUMENT, "out_done is NULL", via_task_progress(NULL, NULL, &total));
    refused(VIA_ERROR_INVALID_ARGUMENT, "out_schema is NULL", via_to_arrow_device(NULL, NULL, &exported));
    assert_int_equal(total, 0);
    assert_null(exported.array.release);
}

static void getters_retain_and_release_do_not_touch_the_error(void **state) {
    (void)state;
    float values[4];
    via_array *array = wrap_plain(values, VIA_FLOAT32, 1, SHAPE(4), NULL);
    make_error(1);
    via_array_retain(array);
    via_array_release(array);
    via_array_release(NULL);
    (void)via_array_data(NULL);
    (void)via_array_shape(array);
    (void)via_array_is_contiguous(array, 99);
    (void)via_array_context(array, free);
    (void)via_dtype_bits(0);
    (void)via_dtype_is_valid(-1);
    (void)via_dtype_record(-1);
    (void)via_status_name(-1);
    (void)via_num_threads();
    (void)via_stream_handle(NULL);
    via_dlpack_delete(NULL);
    via_arrow_release(NULL, NULL);
    assert_non_null(strstr(via_last_error(), "\"wrong1\""));
    via_array_release(array);
    assert_non_null(strstr(via_last_error(), "\"wrong1\""));
}

/* -- callbacks ----------------------------------------------------------------------------------------------------- */

static int seen_empty;

static void fail_inside(void *context) {
    seen_empty += strcmp(via_last_error(), "") == 0 && via_last_error_code() == 0;
    make_error(77);
    assert_non_null(strstr(via_last_error(), "wrong77"));
    count_release(context);
}

static via_array *wrap_failing(atomic_int *released) {
    static char byte;
    via_array *array = NULL;
    ok(via_wrap(&byte, VIA_INT8, 0, NULL, NULL, VIA_DEVICE_CPU, 0, 0, fail_inside, released, &array));
    return array;
}

static void what_fails_inside_a_release_callback_stays_there(void **state) {
    (void)state;
    atomic_int released = 0;
    via_array *array = wrap_failing(&released);
    make_error(1);
    seen_empty = 0;
    via_array_release(array);
    assert_int_equal(released, 1);
    assert_int_equal(seen_empty, 1);
    assert_non_null(strstr(via_last_error(), "\"wrong1\""));
}

/* Releases the next array of a chain from inside the release of the one before. */
typedef struct link {
    via_array *next;
    atomic_int *released;
    int number;
} link_context;

static void release_next(void *context) {
    link_context *self = context;
    make_error(self->number);
    via_array_release(self->next);
    count_release(self->released);
}

static void callbacks_inside_callbacks_keep_the_outermost_error(void **state) {
    (void)state;
    static char byte;
    atomic_int released = 0;
    link_context links[8];
    via_array *next = NULL;
    for (int i = 0; i < LENGTH(links); ++i) {
        links[i] = (link_context){next, &released, 100 + i};
        ok(via_wrap(&byte, VIA_INT8, 0, NULL, NULL, VIA_DEVICE_CPU, 0, 0, release_next, &links[i], &next));
    }
    make_error(1);
    via_array_release(next);
    assert_int_equal(released, LENGTH(links));
    assert_non_null(strstr(via_last_error(), "\"wrong1\""));
}

static int32_t failing_alloc(int64_t nbytes, int64_t alignment, void *stream, void *context, void **out_address) {
    (void)stream;
    make_error(77);
    *out_address = aligned_alloc((size_t)alignment, (size_t)(nbytes + alignment - 1) / 64 * 64);
    return *(int32_t *)context;
}

static void failing_free(void *address, int64_t nbytes, void *stream, void *context) {
    (void)nbytes;
    (void)stream;
    (void)context;
    make_error(78);
    free(address);
}

static void what_fails_inside_an_allocator_stays_there(void **state) {
    (void)state;
    int32_t answer = 0;
    via_memory *memory = NULL;
    ok(via_memory_create_custom(VIA_DEVICE_CPU, 0, failing_alloc, &answer, failing_free, NULL, NULL, NULL, &memory));
    via_array *array = NULL;
    make_error(1);
    ok(via_empty(memory, VIA_FLOAT32, 1, SHAPE(16), NULL, &array));
    assert_non_null(strstr(via_last_error(), "\"wrong1\""));
    via_array_release(array);
    assert_non_null(strstr(via_last_error(), "\"wrong1\""));
    via_memory_release(memory);
}

static void deleters_of_other_libraries_may_fail_inside_too(void **state) {
    (void)state;
    atomic_int released = 0;
    via_array *array = wrap_failing(&released);
    struct DLManagedTensorVersioned *tensor = NULL;
    ok(via_to_dlpack(array, NULL, NULL, &tensor));
    via_array_release(array);
    via_array *back = NULL;
    ok(via_from_dlpack(tensor, NULL, NULL, &back));
    make_error(1);
    via_array_release(back);
    assert_int_equal(released, 1);
    assert_non_null(strstr(via_last_error(), "\"wrong1\""));
}

static void arrow_releases_may_fail_inside_too(void **state) {
    (void)state;
    atomic_int released = 0;
    static char bytes[4];
    via_array *array = NULL;
    ok(via_wrap(bytes, VIA_INT8, 1, SHAPE(4), NULL, VIA_DEVICE_CPU, 0, 0, fail_inside, &released, &array));
    struct ArrowSchema schema;
    struct ArrowDeviceArray exported;
    ok(via_to_arrow_device(array, &schema, &exported));
    via_array_release(array);
    make_error(1);
    via_arrow_release(&schema, &exported);
    assert_int_equal(released, 1);
    assert_non_null(strstr(via_last_error(), "\"wrong1\""));
}

/* -- codes --------------------------------------------------------------------------------------------------------- */

static int32_t refusing_alloc(int64_t nbytes, int64_t alignment, void *stream, void *context, void **out_address) {
    (void)nbytes;
    (void)alignment;
    (void)stream;
    (void)out_address;
    return *(int32_t *)context;
}

static void a_code_is_kept_until_the_next_failure(void **state) {
    (void)state;
    int32_t answer = -12345;
    via_memory *memory = NULL;
    ok(via_memory_create_custom(VIA_DEVICE_CPU, 0, refusing_alloc, &answer, failing_free, NULL, NULL, NULL, &memory));
    via_array *array = NULL;
    refused(VIA_ERROR_CALLBACK, "via_empty|-12345", via_empty(memory, VIA_FLOAT32, 1, SHAPE(16), NULL, &array));
    assert_int_equal(via_last_error_code(), -12345);
    (void)stats_now();
    assert_int_equal(via_last_error_code(), -12345);
    make_error(1);
    assert_int_equal(via_last_error_code(), 0);
    via_memory_release(memory);
}

/* -- the text ------------------------------------------------------------------------------------------------------ */

/* The bytes that follow the first one of a sequence; -1 for one that starts none. */
static int followers(unsigned char lead) {
    if (lead < 0x80) {
        return 0;
    }
    if (lead < 0xC2 || lead > 0xF4) {
        return -1;
    }
    return lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
}

static int is_utf8(const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    while (*at != 0) {
        const int count = followers(*at);
        if (count < 0 || (*at == 0xE0 && at[1] < 0xA0) || (*at == 0xED && at[1] > 0x9F) ||
            (*at == 0xF0 && at[1] < 0x90) || (*at == 0xF4 && at[1] > 0x8F)) {
            return 0;
        }
        for (int i = 1; i <= count; ++i) {
            if ((at[i] & 0xC0) != 0x80) {
                return 0;
            }
        }
        at += count + 1;
    }
    return 1;
}

static void broken_input_makes_a_sound_text(void **state) {
    (void)state;
    const char *broken[] = {"\xff",
                            "\x80",
                            "\xc0\x80",
                            "\xc3",
                            "\xc3(",
                            "\xe2\x82",
                            "\xed\xa0\x80",
                            "\xf0\x82\x82\xac",
                            "\xf4\x90\x80\x80",
                            "\xf8\x88\x80\x80\x80",
                            "ok\xe2\x82\xac\xfe",
                            "\xc3\xa4\xc3"};
    for (int32_t i = 0; i < LENGTH(broken); ++i) {
        int32_t dtype = 0;
        assert_int_equal(via_dtype_from_name(broken[i], &dtype), VIA_ERROR_DTYPE);
        assert_true(is_utf8(via_last_error()));
    }
}

static void sound_input_is_quoted_as_it_is(void **state) {
    (void)state;
    int32_t dtype = 0;
    refused(VIA_ERROR_DTYPE, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
            via_dtype_from_name("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", &dtype));
}

static void a_text_cut_inside_a_letter_is_sound(void **state) {
    (void)state;
    char name[256];
    for (size_t before = 0; before < 4; ++before) {
        memset(name, 'x', before);
        for (size_t at = before; at < 240; at += 3) {
            memcpy(name + at, "\xe2\x82\xac", 4);
        }
        int32_t dtype = 0;
        assert_int_equal(via_dtype_from_name(name, &dtype), VIA_ERROR_DTYPE);
        assert_true(is_utf8(via_last_error()));
    }
}

static void no_text_is_longer_than_its_buffer(void **state) {
    (void)state;
    char *format = malloc(100001);
    for (int32_t shift = 0; shift < 4; ++shift) {
        memset(format, '\xe2', 100000);
        memset(format, 'a', (size_t)shift);
        for (int32_t i = shift; i + 3 <= 100000; i += 3) {
            memcpy(format + i, "\xe2\x82\xac", 3);
        }
        format[100000] = '\0';
        column made;
        make_column(&made, 4, 0, NULL);
        made.schema[0].format = format;
        via_array *array = NULL;
        assert_int_equal(via_from_arrow_device(&made.schema[0], &made.offered, NULL, &array), VIA_ERROR_DTYPE);
        assert_true(strlen(via_last_error()) < 1024);
        assert_true(is_utf8(via_last_error()));
        assert_ptr_equal(strstr(via_last_error(), "via_from_arrow_device: "), via_last_error());
    }
    free(format);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_thread_that_met_no_error_has_an_empty_text),
        TEST(an_error_is_the_threads_own),
        TEST(an_error_names_function_argument_found_and_expected),
        TEST(success_does_not_touch_the_error),
        TEST(what_fails_inside_a_call_that_succeeds_is_no_error),
        TEST(a_failing_call_clears_all_outputs_even_if_one_is_null),
        TEST(getters_retain_and_release_do_not_touch_the_error),
        TEST(what_fails_inside_a_release_callback_stays_there),
        TEST(callbacks_inside_callbacks_keep_the_outermost_error),
        TEST(what_fails_inside_an_allocator_stays_there),
        TEST(deleters_of_other_libraries_may_fail_inside_too),
        TEST(arrow_releases_may_fail_inside_too),
        TEST(a_code_is_kept_until_the_next_failure),
        TEST(broken_input_makes_a_sound_text),
        TEST(sound_input_is_quoted_as_it_is),
        TEST(a_text_cut_inside_a_letter_is_sound),
        TEST(no_text_is_longer_than_its_buffer),
    };
    return run_file_tests(tests);
}
