/* VIADUCT_LOG: a line for every call, or for those that fail. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include "scene.h"

enum { THREADS = 8, ROUNDS = 100 };

static float pixels[24];

static via_array *make_array(void) {
    via_array *array = NULL;
    expect(via_wrap(pixels, VIA_FLOAT32, 2, SHAPE(4, 6), NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &array) == VIA_OK);
    return array;
}

/* ------------------------------------------------------------------------------------------------ scenes */

static void make_six_calls(void) {
    via_array *array = make_array();
    via_array *view = NULL;
    int32_t dtype = 0;
    expect(via_array_ndim(array) == 2);
    expect(via_array_select(array, 7, 0, &view) == VIA_ERROR_INDEX);
    expect(via_dtype_from_name("float64", &dtype) == VIA_OK && dtype == VIA_FLOAT64);
    expect(strcmp(via_status_name(3), "VIA_ERROR_SHAPE") == 0);
    via_array_release(array);
}

static void look_at_errors(void) {
    via_array *array = NULL;
    expect(via_wrap(NULL, VIA_FLOAT32, 2, SHAPE(4, 6), NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &array) ==
           VIA_ERROR_INVALID_ARGUMENT);
    char text[512];
    snprintf(text, sizeof text, "%s", via_last_error());
    errno = 77;
    array = make_array();
    via_array_release(array);
    expect(errno == 77);
    expect(strcmp(via_last_error(), text) == 0);
}

static void *call_often(void *context) {
    for (int32_t i = 0; i < ROUNDS; ++i) {
        via_array_release(make_array());
    }
    return context;
}

static void call_from_many_threads(void) {
    pthread_t threads[THREADS];
    for (int32_t i = 0; i < THREADS; ++i) {
        expect(pthread_create(&threads[i], NULL, call_often, NULL) == 0);
    }
    for (int32_t i = 0; i < THREADS; ++i) {
        expect(pthread_join(threads[i], NULL) == 0);
    }
}

static int32_t callbacks;

static void call_inside(void *context) { callbacks += via_array_ndim(*(via_array **)context); }

/* A call from a callback of a call has a line of its own. */
static void call_from_a_callback(void) {
    via_array *inner = make_array();
    via_array *outer = NULL;
    expect(via_wrap(pixels, VIA_UINT8, 1, SHAPE(8), NULL, VIA_DEVICE_CPU, 0, 0, call_inside, &inner, &outer) == VIA_OK);
    via_array_release(outer);
    expect(callbacks == 2);
    via_array_release(inner);
}

/* As `ulimit -f` sets it. The signal goes on ending a process that writes such a file itself. */
static void call_beyond_the_limit_of_a_file(void) {
    struct rlimit limit;
    sigset_t blocked, pending;
    expect(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = 1;
    expect(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    make_six_calls();
    expect(sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 0);
    expect(pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0 && sigismember(&blocked, SIGXFSZ) == 0);
}

/* Names that come from outside, with what would end a line, command a terminal or be no UTF-8. */
static void name_what_is_not_there(void) {
    int32_t dtype = 0;
    via_file *file = NULL;
    expect(via_file_open("no\nviaduct[1] via_copy() = VIA_OK; 1 ns", NULL, &file) == VIA_ERROR_IO);
    expect(via_dtype_from_name("\x1B[31m\xFF", &dtype) == VIA_ERROR_DTYPE);
}

static const scene scenes[] = {
    SCENE(call_beyond_the_limit_of_a_file), SCENE(make_six_calls),       SCENE(look_at_errors),
    SCENE(call_from_many_threads),          SCENE(call_from_a_callback), SCENE(name_what_is_not_there),
};

/* ------------------------------------------------------------------------------------------------ tests */

/* How many lines there are, each of them whole. */
static int count_calls(char *text) {
    int count = 0;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        assert_true(strncmp(line, "viaduct[", 8) == 0);
        count += strlen(line) > 3 && strcmp(line + strlen(line) - 3, " ns") == 0;
    }
    return count;
}

static void every_call_has_a_line_with_arguments_answer_and_duration(void **state) {
    (void)state;
    ending found =
        play_well("make_six_calls", "VIADUCT_LOG=trace",
                  "viaduct[|via_wrap(address=0x|, dtype=float32, ndim=2, shape=[4, 6], strides=NULL, |"
                  ", device_type=1, device_id=0, flags=0, release=NULL, context=NULL) = VIA_OK, out_array=0x|"
                  "via_array_ndim(array=0x|) = 2;|, axis=7, index=0) = VIA_ERROR_INDEX;|"
                  "via_dtype_from_name(name=\"float64\") = VIA_OK, out_dtype=|"
                  "via_status_name(status=3) = \"VIA_ERROR_SHAPE\";|via_array_release(array=0x");
    assert_int_equal(count_calls(found.text), 6);
}

static void a_call_that_fails_has_its_text_too(void **state) {
    (void)state;
    ending found = play_well("make_six_calls", "VIADUCT_LOG=error", "] VIA_ERROR_INDEX: via_array_select: axis is 7");
    assert_int_equal(count_of(found.text, "\n"), 1);
    found = play_well("make_six_calls", "VIADUCT_LOG=trace", "] VIA_ERROR_INDEX: via_array_select: axis is 7");
}

static void a_line_is_one_whatever_texts_it_has(void **state) {
    (void)state;
    const ending found = play_well("name_what_is_not_there", "VIADUCT_LOG=trace",
                                   "(path=\"no\\x0aviaduct[1] via_copy()|: opening no\\x0aviaduct[1] via_copy()|"
                                   "(name=\"\\x1b[31m\\xff\")|\"\\x1b[31m\\xff\"");
    assert_int_equal(count_of(found.text, "\n"), 5);
    assert_int_equal(count_of(found.text, "\nviaduct[1]"), 0);
}

static void the_level_info_begins_with_the_version(void **state) {
    (void)state;
    const ending found = play_well("make_six_calls", "VIADUCT_LOG=info", "] viaduct 1.|] VIA_ERROR_INDEX");
    assert_int_equal(count_of(found.text, "\n"), 2);
}

static void nothing_is_written_unasked_or_for_no_level(void **state) {
    (void)state;
    const char *settings[] = {NULL, "VIADUCT_LOG=", "VIADUCT_LOG=loud"};
    for (int32_t i = 0; i < LENGTH(settings); ++i) {
        const ending found = play_well("make_six_calls", settings[i], "");
        assert_string_equal(found.text, "");
    }
}

static void lines_leave_errno_and_the_last_error_alone(void **state) {
    (void)state;
    (void)play_well("look_at_errors", "VIADUCT_LOG=trace", "via_last_error() = ");
}

static void a_call_inside_a_callback_comes_before_the_one_around_it(void **state) {
    (void)state;
    ending found = play_well("call_from_a_callback", "VIADUCT_LOG=trace", "");
    assert_true(strstr(found.text, "via_array_ndim(") < strstr(found.text, "via_array_release("));
    assert_int_equal(count_calls(found.text), 5);
}

/* Into a file, whose folder is there or is not. */
static void lines_of_many_threads_go_whole_into_the_file_that_is_named(void **state) {
    (void)state;
    static char text[1 << 21];
    char path[] = "/tmp/viaduct-log-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(setenv("VIADUCT_LOG_FILE", path, 1), 0);
    const ending found = play_well("call_from_many_threads", "VIADUCT_LOG=trace", "");
    assert_string_equal(found.text, "");
    read_all(file, text, sizeof text);
    close(file);
    unlink(path);
    assert_int_equal(count_calls(text), 2 * THREADS * ROUNDS);
    assert_int_equal(setenv("VIADUCT_LOG_FILE", "/nowhere/at/all", 1), 0);
    (void)play_well("make_six_calls", "VIADUCT_LOG=error", "/nowhere/at/all; opening it failed|VIA_ERROR_INDEX");
    unsetenv("VIADUCT_LOG_FILE");
}

static void a_log_that_has_reached_the_limit_of_a_files_size_ends_and_the_process_goes_on(void **state) {
    (void)state;
    char path[] = "/tmp/viaduct-log-XXXXXX";
    char text[512];
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(setenv("VIADUCT_LOG_FILE", path, 1), 0);
    (void)play_well("call_beyond_the_limit_of_a_file", "VIADUCT_LOG=trace", "");
    read_all(file, text, sizeof text);
    close(file);
    unlink(path);
    unsetenv("VIADUCT_LOG_FILE");
    assert_int_equal(count_of(text, "\n"), 1); /* that of the version */
}

static void checks_and_lines_go_together(void **state) {
    (void)state;
    assert_int_equal(setenv("VIADUCT_CHECK", "1", 1), 0);
    ending found = play_well("make_six_calls", "VIADUCT_LOG=trace", "via_array_release(array=0x");
    assert_int_equal(count_calls(found.text), 6);
    unsetenv("VIADUCT_CHECK");
}

int main(int count, char **arguments) {
    if (count > 1) {
        return play_named(count, arguments, scenes, LENGTH(scenes)) == 0 ? 0 : 2;
    }
    const struct CMUnitTest tests[] = {
        TEST(every_call_has_a_line_with_arguments_answer_and_duration),
        TEST(a_call_that_fails_has_its_text_too),
        TEST(a_line_is_one_whatever_texts_it_has),
        TEST(the_level_info_begins_with_the_version),
        TEST(nothing_is_written_unasked_or_for_no_level),
        TEST(lines_leave_errno_and_the_last_error_alone),
        TEST(a_call_inside_a_callback_comes_before_the_one_around_it),
        TEST(lines_of_many_threads_go_whole_into_the_file_that_is_named),
        TEST(a_log_that_has_reached_the_limit_of_a_files_size_ends_and_the_process_goes_on),
        TEST(checks_and_lines_go_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
