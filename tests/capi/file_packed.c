/* Elements narrower than a byte in files: which bits are read and written. */
#include "file_support.h"

static void narrow_elements_that_are_adjacent_are_read_and_written(void **state) {
    (void)state;
    uint8_t bytes[5] = {0x21, 0x43, 0x65, 0x87, 0x09};
    uint8_t found[5] = {0};
    via_array *array = wrap_plain(bytes, VIA_INT4, 1, SHAPE(9), NULL);
    via_file *file = create_with("packed", VIA_INT4, 1, SHAPE(9), NULL);
    ok(via_file_write(file, 0, array, NULL));
    via_array_release(array);
    array = wrap_plain(found, VIA_INT4, 1, SHAPE(9), NULL);
    ok(via_file_read(file, 0, array, NULL));
    assert_memory_equal(found, bytes, sizeof bytes);
    via_array_release(array);
    via_file_release(file);
}

/* Seven elements of sixteen, and the eighth is another's: in memory and in the file. */
static void the_rest_of_a_byte_in_which_narrow_elements_end_is_kept(void **state) {
    (void)state;
    static const uint8_t kept[] = {0xEE, 0xEE, 0xEE, 0xEE, 0xEE};
    static const uint8_t seven[] = {0x21, 0x43, 0x65, 0xE7, 0xEE};
    uint8_t given[] = {0x21, 0x43, 0x65, 0x87, 0x99};
    for (int32_t atomic = 0; atomic < 2; ++atomic) {
        uint8_t found[sizeof kept];
        memcpy(found, kept, sizeof kept);
        put_file("given", given, sizeof given);
        put_file("taken", kept, sizeof kept);
        via_array *dst = wrap_plain(found, VIA_INT4, 1, SHAPE(7), NULL);
        via_array *src = wrap_plain(given, VIA_INT4, 1, SHAPE(7), NULL);
        via_file *file = open_with("given", NULL);
        ok(via_file_read(file, 0, dst, NULL));
        assert_memory_equal(found, seven, sizeof seven);
        via_file_release(file);
        file = open_with("taken", OPTIONS_OF(.mode = VIA_MODE_READ_WRITE, .atomic_write = atomic));
        ok(via_file_write(file, 0, src, NULL));
        assert_int_equal(get_file("taken", found, sizeof found), sizeof found);
        assert_memory_equal(found, seven, sizeof seven);
        ok(via_file_write(file, sizeof kept, src, NULL));
        uint8_t longer[sizeof kept + 4];
        assert_int_equal(get_file("taken", longer, sizeof longer), sizeof longer);
        assert_memory_equal(longer, seven, sizeof seven);
        assert_memory_equal(longer + sizeof kept, "\x21\x43\x65\x07", 4);
        via_file_release(file);
        via_array_release(src);
        via_array_release(dst);
    }
}

/* Three elements of six bits are two bytes and two bits. */
static void narrow_elements_are_read_by_a_task(void **state) {
    (void)state;
    uint8_t found[] = {0, 0, 0xEC};
    put_file("given", "\x21\x43\x65", 3);
    via_array *dst = wrap_plain(found, VIA_FLOAT6_E2M3FN, 1, SHAPE(3), NULL);
    via_file *file = open_with("given", NULL);
    via_task *task = NULL;
    ok(via_file_read_submit(file, 0, dst, NULL, &task));
    ok(via_task_wait(task));
    assert_memory_equal(found, "\x21\x43\xED", sizeof found);
    int64_t done = 0;
    int64_t total = 0;
    ok(via_task_progress(task, &done, &total));
    assert_int_equal(done, sizeof found);
    assert_int_equal(total, sizeof found);
    via_task_release(task);
    via_file_release(file);
    via_array_release(dst);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(narrow_elements_that_are_adjacent_are_read_and_written),
        TEST(the_rest_of_a_byte_in_which_narrow_elements_end_is_kept),
        TEST(narrow_elements_are_read_by_a_task),
    };
    return run_file_tests(tests);
}
