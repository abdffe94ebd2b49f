/* Headers of .npy files: those that NumPy writes are understood, all others are refused by name. */
#include <time.h>

#include "file_support.h"

#define NUMBERS "0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEADER(descr, order, shape) "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }\n"

typedef struct good_header {
    const char *text;
    int32_t dtype;
    int32_t ndim;
    int64_t shape[3];
    int64_t byte_strides[3];
} good_header;

static const good_header good_headers[] = {
    {HEADER("'<f4'", "False", "(2, 3)"), VIA_FLOAT32, 2, {2, 3}, {12, 4}},
    {HEADER("'<f4'", "True", "(2, 3)"), VIA_FLOAT32, 2, {2, 3}, {4, 8}},
    {HEADER("'<f8'", "False", "()"), VIA_FLOAT64, 0, {0}, {0}},
    {HEADER("'<f8'", "False", "(3,)"), VIA_FLOAT64, 1, {3}, {8}},
    {HEADER("'<i2'", "False", "(0, 7)"), VIA_INT16, 2, {0, 7}, {14, 2}},
    {HEADER("'|b1'", "False", "(4,)"), VIA_BOOL, 1, {4}, {1}},
    {HEADER("'|u1'", "False", "(4,)"), VIA_UINT8, 1, {4}, {1}},
    {HEADER("'<c16'", "False", "(2,)"), VIA_COMPLEX128, 1, {2}, {16}},
    {HEADER("'|V12'", "False", "(2,)"), -12, 1, {2}, {12}},
    {HEADER("'>V2'", "False", "(2,)"), -2, 1, {2}, {2}},
    {HEADER("[('x', '<f4'), ('y', '>i2')]", "False", "(3,)"), -6, 1, {3}, {6}},
    {HEADER("[('x', '<f4'), ('', '|V4'), ('n', '<i8', (2, 2)), ]", "False", "(1,)"), -40, 1, {1}, {40}},
    {HEADER("[('outer', [('a', '|S3'), ('b', '<U2')], (2,))]", "False", "(1,)"), -22, 1, {1}, {22}},
    {HEADER("[(('a title', 'a'), '<M8[ns]'), ('it\\'s', '|b1')]", "False", "(1,)"), -9, 1, {1}, {9}},
    {HEADER("[('a', '|b1'), ('', '|V3'), ('', '|V4', (2,)), ('', '|V1')]", "False", "(2,)"), -13, 1, {2}, {13}},
    {HEADER("[('a', '<f2'), ('A', '>c16'), ('r', [('a', '<i8')])]", "False", "(1,)"), -26, 1, {1}, {26}},
    {HEADER("[('a', '<M8'), ('b', '<m8[25us]'), ('c', '>m8[generic]')]", "False", "(1,)"), -24, 1, {1}, {24}},
    {HEADER("[('tab\\t\\n\\r\\x07\\u200b\\U0001f9ff\\\\', '|S0'), ('\\\\', '|u1')]", "False", "(1,)"), -1, 1, {1}, {1}},
    {"{\"shape\":(2L,3L),\"fortran_order\":False,\"descr\":\"<f4\"}", VIA_FLOAT32, 2, {2, 3}, {12, 4}},
    {"  { 'descr' : '<f4' , 'shape' : ( 2 , 3 , ) , 'fortran_order' : False }  \n", VIA_FLOAT32, 2, {2, 3}, {12, 4}},
};

static void headers_as_numpy_writes_them_are_understood(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(good_headers); ++i) {
        const good_header *good = &good_headers[i];
        put_npy("good.npy", good->text, NUMBERS, sizeof NUMBERS - 1);
        via_file *file = open_with("good.npy", NULL);
        via_array *array = map_as(file, 0, 0, 0, NULL);
        assert_int_equal(via_array_dtype(array), good->dtype);
        assert_shape(array, good->ndim, good->shape);
        if (good->ndim > 0) {
            assert_numbers(via_array_byte_strides(array), good->byte_strides, good->ndim);
        }
        if (via_array_size(array) > 0) {
            assert_memory_equal(via_array_data(array), NUMBERS, (size_t)via_array_nbytes(array));
        }
        via_array_release(array);
        via_file_release(file);
    }
}

typedef struct bad_header {
    via_status status;
    const char *words;
    const char *text;
} bad_header;

#define DEEP "[('a', [('a', [('a', [('a', [('a', [('a', [('a', [('a', [('a', "

static const bad_header bad_headers[] = {
    {VIA_ERROR_FORMAT, "header ends at byte 0", ""},
    {VIA_ERROR_FORMAT, "'{'", "[]"},
    {VIA_ERROR_FORMAT, "'descr', 'fortran_order'", "{}"},
    {VIA_ERROR_FORMAT, "'descr'", "{'descr': '<f4', 'fortran_order': False}"},
    {VIA_ERROR_FORMAT, "each once", "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}"},
    {VIA_ERROR_FORMAT, "each once", "{'descr': '<f4', 'fortran_order': False, 'shape': (), 'extra': 1}"},
    {VIA_ERROR_FORMAT, "a string in quotes", "{descr: '<f4'}"},
    {VIA_ERROR_FORMAT, "a closing quote", "{'descr: <f4}"},
    {VIA_ERROR_FORMAT, "a closing quote", "{'descr\\"},
    {VIA_ERROR_FORMAT, "':'", "{'descr' '<f4'}"},
    {VIA_ERROR_FORMAT, "'}'", "{'descr': '<f4' 'fortran_order': False}"},
    {VIA_ERROR_FORMAT, "nothing more", HEADER("'<f4'", "False", "()") "__import__('os')"},
    {VIA_ERROR_FORMAT, "True or False", HEADER("'<f4'", "0", "()")},
    {VIA_ERROR_FORMAT, "'}'", HEADER("'<f4'", "Falsehood", "()")},
    {VIA_ERROR_FORMAT, "'('", HEADER("'<f4'", "False", "3")},
    {VIA_ERROR_FORMAT, "','", HEADER("'<f4'", "False", "(3)")},
    {VIA_ERROR_FORMAT, "'('", HEADER("'<f4'", "False", "[3]")},
    {VIA_ERROR_FORMAT, "whole number", HEADER("'<f4'", "False", "(-3,)")},
    {VIA_ERROR_FORMAT, "whole number", HEADER("'<f4'", "False", "(,)")},
    {VIA_ERROR_FORMAT, "whole number", HEADER("'<f4'", "False", "(03,)")},
    {VIA_ERROR_FORMAT, "','", HEADER("'<f4'", "False", "(3.0,)")},
    {VIA_ERROR_FORMAT, "','", HEADER("'<f4'", "False", "(1e3,)")},
    {VIA_ERROR_FORMAT, "below 2^63", HEADER("'<f4'", "False", "(9223372036854775808,)")},
    {VIA_ERROR_FORMAT, "below 2^63", HEADER("'<f4'", "False", "(99999999999999999999999999999999999999,)")},
    {VIA_ERROR_OVERFLOW, "2^63", HEADER("'<f4'", "False", "(9223372036854775807,)")},
    {VIA_ERROR_OVERFLOW, "2^63", HEADER("'<f4'", "False", "(4294967296, 4294967296)")},
    {VIA_ERROR_OVERFLOW, "2^63", HEADER("'|u1'", "False", "(0, 4294967296, 4294967296)")},
    {VIA_ERROR_FORMAT, "elements of 4294967296 bytes", HEADER("'|u1'", "False", "(4294967296,)")},
    {VIA_ERROR_FORMAT, "elements of 52 bytes", HEADER("'<f4'", "False", "(13,)")},
    {VIA_ERROR_FORMAT, "elements of 9223372036854775807 bytes", HEADER("'|u1'", "False", "(9223372036854775807,)")},
    {VIA_ERROR_SHAPE, "64",
     HEADER("'|u1'", "False",
            "(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
            "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)")},
    {VIA_ERROR_DTYPE, "'>f3'", HEADER("'>f3'", "False", "()")},
    {VIA_ERROR_DTYPE, "'>f16'", HEADER("'>f16'", "False", "()")},
    {VIA_ERROR_DTYPE, "'=f4'", HEADER("'=f4'", "False", "()")},
    {VIA_ERROR_DTYPE, "'f4'", HEADER("'f4'", "False", "()")},
    {VIA_ERROR_DTYPE, "''", HEADER("''", "False", "()")},
    {VIA_ERROR_DTYPE, "'<'", HEADER("'<'", "False", "()")},
    {VIA_ERROR_DTYPE, "'<f'", HEADER("'<f'", "False", "()")},
    {VIA_ERROR_DTYPE, "'<f0'", HEADER("'<f0'", "False", "()")},
    {VIA_ERROR_DTYPE, "'<f-4'", HEADER("'<f-4'", "False", "()")},
    {VIA_ERROR_DTYPE, "'<f3'", HEADER("'<f3'", "False", "()")},
    {VIA_ERROR_DTYPE, "'<c4'", HEADER("'<c4'", "False", "()")},
    {VIA_ERROR_DTYPE, "'<f4 '", HEADER("'<f4 '", "False", "()")},
    {VIA_ERROR_DTYPE, "'<q4'", HEADER("'<q4'", "False", "()")},
    {VIA_ERROR_DTYPE, "'<f99999999999999999999'", HEADER("'<f99999999999999999999'", "False", "()")},
    {VIA_ERROR_DTYPE, "'|V9999999999'", HEADER("'|V9999999999'", "False", "()")},
    {VIA_ERROR_DTYPE, "longdouble", HEADER("'<f16'", "False", "()")},
    {VIA_ERROR_DTYPE, "'<c32'", HEADER("'<c32'", "False", "()")},
    {VIA_ERROR_DTYPE, "'|O'|pickled", HEADER("'|O'", "False", "()")},
    {VIA_ERROR_DTYPE, "'<U4'|text", HEADER("'<U4'", "False", "()")},
    {VIA_ERROR_DTYPE, "'|S4'|text", HEADER("'|S4'", "False", "()")},
    {VIA_ERROR_DTYPE, "times", HEADER("'<M8[ns]'", "False", "()")},
    {VIA_ERROR_FORMAT, "a string in quotes", HEADER("('<f4', (2,))", "False", "()")},
    {VIA_ERROR_FORMAT, "at least one byte", HEADER("[]", "False", "()")},
    {VIA_ERROR_FORMAT, "at least one byte", HEADER("[('a', '|V0')]", "False", "()")},
    {VIA_ERROR_FORMAT, "'('", HEADER("['<f4']", "False", "()")},
    {VIA_ERROR_FORMAT, "']'", HEADER("[('a', '<f4') ('b', '<f4')]", "False", "()")},
    {VIA_ERROR_FORMAT, "','", HEADER("[('a')]", "False", "()")},
    {VIA_ERROR_FORMAT, "a string in quotes", HEADER("[(1, '<f4')]", "False", "()")},
    {VIA_ERROR_FORMAT, "a string in quotes", HEADER("[('a', 4)]", "False", "()")},
    {VIA_ERROR_DTYPE, "fields", HEADER("[('a', '|O')]", "False", "()")},
    {VIA_ERROR_DTYPE, "fields", HEADER("[('a', 'f4')]", "False", "()")},
    {VIA_ERROR_DTYPE, "fields", HEADER("[('a', '<f4]')]", "False", "()")},
    {VIA_ERROR_DTYPE, "fields", HEADER("[('a', '')]", "False", "()")},
    {VIA_ERROR_DTYPE, "'<f3'|size", HEADER("[('a', '<f3')]", "False", "()")},
    {VIA_ERROR_DTYPE, "'<f1'|size", HEADER("[('a', '<f1')]", "False", "()")},
    {VIA_ERROR_DTYPE, "'<f12'|size", HEADER("[('a', '<f12')]", "False", "()")},
    {VIA_ERROR_DTYPE, "'<b4'|size", HEADER("[('a', '<b4')]", "False", "()")},
    {VIA_ERROR_DTYPE, "'<i16'|size", HEADER("[('a', '<i16')]", "False", "()")},
    {VIA_ERROR_DTYPE, "'<u0'|size", HEADER("[('a', '<u0')]", "False", "()")},
    {VIA_ERROR_DTYPE, "'<c4'|size", HEADER("[('a', '<c4')]", "False", "()")},
    {VIA_ERROR_DTYPE, "'<M4'|size", HEADER("[('a', '<M4')]", "False", "()")},
    {VIA_ERROR_DTYPE, "'<i72057594037927937'|size", HEADER("[('a', '<i72057594037927937')]", "False", "()")},
    {VIA_ERROR_DTYPE, "'|f4'|byte order", HEADER("[('a', '|f4')]", "False", "()")},
    {VIA_ERROR_DTYPE, "'|U2'|byte order", HEADER("[('a', '|U2')]", "False", "()")},
    {VIA_ERROR_DTYPE, "'=f4'|fields", HEADER("[('a', '=f4')]", "False", "()")},
    {VIA_ERROR_DTYPE, "'|?4'|fields", HEADER("[('a', '|?4')]", "False", "()")},
    {VIA_ERROR_DTYPE, "'|a4'|fields", HEADER("[('a', '|a4')]", "False", "()")},
    {VIA_ERROR_DTYPE, "'<M8[foo]'|unit", HEADER("[('a', '<M8[foo]')]", "False", "()")},
    {VIA_ERROR_DTYPE, "'<M8[]'|unit", HEADER("[('a', '<M8[]')]", "False", "()")},
    {VIA_ERROR_DTYPE, "'<M8[01s]'|unit", HEADER("[('a', '<M8[01s]')]", "False", "()")},
    {VIA_ERROR_FORMAT, "'a'|each name once", HEADER("[('a', '<f4'), ('a', '<f4')]", "False", "()")},
    {VIA_ERROR_FORMAT, "'a'|each name once", HEADER("[('a', '<f4'), ('b', '<f4'), (\"a\", '<i2')]", "False", "()")},
    {VIA_ERROR_FORMAT, "'a'|each name once", HEADER("[(('a', 'b'), '<f4'), ('a', '<f4')]", "False", "()")},
    {VIA_ERROR_FORMAT, "'a'|each name once", HEADER("[(('a', 'a'), '<f4')]", "False", "()")},
    {VIA_ERROR_FORMAT, "''|each name once", HEADER("[('', '<f4'), ('', '<i4')]", "False", "()")},
    {VIA_ERROR_FORMAT, "'it's'|each name once", HEADER("[('it\\'s', '<f4'), (\"it's\", '<f4')]", "False", "()")},
    {VIA_ERROR_FORMAT, "'b'|each name once", HEADER("[('r', [('b', '<f4'), ('b', '<f4')])]", "False", "()")},
    {VIA_ERROR_FORMAT, "escape", HEADER("[('\\x61', '<f4')]", "False", "()")},
    {VIA_ERROR_FORMAT, "escape", HEADER("[('\\xg1', '<f4')]", "False", "()")},
    {VIA_ERROR_FORMAT, "escape", HEADER("[('\\u12', '<f4')]", "False", "()")},
    {VIA_ERROR_FORMAT, "escape", HEADER("[('\\U00110000', '<f4')]", "False", "()")},
    {VIA_ERROR_FORMAT, "escape", HEADER("[('\\N{BULLET}', '<f4')]", "False", "()")},
    {VIA_ERROR_FORMAT, "a closing quote", HEADER("[('a\rb', '<f4')]", "False", "()")},
    {VIA_ERROR_DTYPE, "1073741824", HEADER("[('a', '|V1073741825')]", "False", "()")},
    {VIA_ERROR_DTYPE, "1073741824", HEADER("[('a', '<f8', (4294967296, 4294967296))]", "False", "()")},
    {VIA_ERROR_DTYPE, "1073741824", HEADER("[('a', '|V1073741824'), ('b', '|u1')]", "False", "()")},
    {VIA_ERROR_FORMAT, "nested", "{'descr': " DEEP DEEP DEEP DEEP "'<f4'"},
};

static void anything_else_is_refused_by_name(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(bad_headers); ++i) {
        put_npy("bad.npy", bad_headers[i].text, NUMBERS, sizeof NUMBERS - 1);
        via_file *file = NULL;
        const via_status status = via_file_open(path_of("bad.npy"), NULL, &file);
        if (status != bad_headers[i].status || !holds_words(via_last_error(), bad_headers[i].words)) {
            print_error("%s\n  answered %s: %s\n  expected %s with %s\n", bad_headers[i].text, via_status_name(status),
                        via_last_error(), via_status_name(bad_headers[i].status), bad_headers[i].words);
            _fail(__FILE__, __LINE__);
        }
        assert_null(file);
    }
}

static void a_header_that_is_cut_anywhere_is_refused(void **state) {
    (void)state;
    char whole[256];
    put_npy("whole.npy", HEADER("'<f4'", "False", "(2, 3)"), NUMBERS, 24);
    const size_t length = get_file("whole.npy", whole, sizeof whole);
    via_file *file = NULL;
    for (size_t kept = 6; kept < length; ++kept) {
        put_file("cut.npy", whole, kept);
        refused(VIA_ERROR_FORMAT, "bytes", via_file_open(path_of("cut.npy"), NULL, &file));
        assert_null(file);
    }
    for (size_t kept = 0; kept < 6; ++kept) {
        put_file("cut.npy", whole, kept);
        refused(VIA_ERROR_FORMAT, "magic",
                via_file_open(path_of("cut.npy"), OPTIONS_OF(.file_format = VIA_FORMAT_NPY), &file));
        via_file *raw = open_with("cut.npy", NULL);
        via_file_release(raw);
    }
}

/* Whatever one byte of a header becomes, it is read or refused, and nothing is touched that is not there. */
static void a_header_with_any_byte_changed_is_read_or_refused(void **state) {
    (void)state;
    char whole[256];
    put_npy("whole.npy", HEADER("[('a', '<f4'), ('b', '<i2', (2,))]", "False", "(2, 3)"), NUMBERS, 48);
    const size_t length = get_file("whole.npy", whole, sizeof whole);
    for (size_t at = 6; at < length - 48; ++at) {
        for (int32_t value = 0; value < 256; value += 3) {
            char changed[256];
            memcpy(changed, whole, length);
            changed[at] = (char)value;
            put_file("changed.npy", changed, length);
            via_file *file = NULL;
            if (via_file_open(path_of("changed.npy"), NULL, &file) == VIA_OK) {
                via_array *array = map_as(file, 0, 0, 0, NULL);
                assert_true(via_array_nbytes(array) <= (int64_t)length);
                via_array_release(array);
                via_file_release(file);
            } else {
                assert_null(file);
            }
        }
    }
}

static void a_length_that_is_not_there_allocates_nothing(void **state) {
    (void)state;
    via_file *file = NULL;
    put_file("long.npy", "\x93NUMPY\x02\x00\xFF\xFF\xFF\xFF{", 13);
    refused(VIA_ERROR_FORMAT, "4294967295|at most 1048576", via_file_open(path_of("long.npy"), NULL, &file));
    put_file("long.npy", "\x93NUMPY\x02\x00\x00\x00\x10\x00{", 13);
    refused(VIA_ERROR_FORMAT, "after 1 bytes of its .npy header", via_file_open(path_of("long.npy"), NULL, &file));
}

static void versions_1_to_3_are_known_and_no_other(void **state) {
    (void)state;
    static const char text[] = HEADER("'<f4'", "False", "(1,)");
    for (int32_t major = 0; major < 5; ++major) {
        char bytes[128] = "\x93NUMPY";
        bytes[6] = (char)major;
        bytes[8] = (char)(sizeof text - 1);
        const size_t start = major == 1 ? 10 : 12;
        memcpy(bytes + start, text, sizeof text - 1);
        put_file("version.npy", bytes, start + sizeof text - 1 + 4);
        via_file *file = NULL;
        if (major >= 1 && major <= 3) {
            ok(via_file_open(path_of("version.npy"), NULL, &file));
            via_file_release(file);
        } else {
            refused(VIA_ERROR_VERSION, ".0; expected 1.0, 2.0 or 3.0",
                    via_file_open(path_of("version.npy"), NULL, &file));
        }
    }
}

/* Names are looked up all at once: each with each would take minutes. */
static void a_record_of_as_many_fields_as_a_header_holds_is_read_in_moments(void **state) {
    (void)state;
    enum { FIELDS = 50000 };
    char *text = malloc((size_t)FIELDS * 20 + 100);
    char *bytes = malloc((size_t)FIELDS * 20 + 200);
    assert_true(text != NULL && bytes != NULL);
    int32_t length = sprintf(text, "{'fortran_order': False, 'shape': (0,), 'descr': [");
    for (int32_t i = 0; i < FIELDS; ++i) {
        length += sprintf(text + length, "('%d','|b1'),", i);
    }
    length += sprintf(text + length, "]}");
    memcpy(bytes, "\x93NUMPY\x02\x00", 8);
    memcpy(bytes + 8, &length, 4);
    memcpy(bytes + 12, text, (size_t)length);
    put_file("fields.npy", bytes, (size_t)length + 12);
    const clock_t start = clock();
    via_file *file = open_with("fields.npy", NULL);
    assert_true(clock() - start < 5 * CLOCKS_PER_SEC);
    via_file_properties found = VIA_FILE_PROPERTIES_INIT;
    ok(via_file_info(file, &found));
    assert_int_equal(found.dtype, -FIELDS);
    via_file_release(file);
    free(text);
    free(bytes);
}

static void a_header_of_version_3_is_utf_8_and_none_has_a_nul(void **state) {
    (void)state;
    static const char text[] = HEADER("[('\xC3\xBC', '<f4')]", "False", "(1,)");
    char bytes[128] = "\x93NUMPY";
    via_file *file = NULL;
    for (int32_t major = 1; major <= 3; ++major) {
        const size_t start = major == 1 ? 10 : 12;
        bytes[6] = (char)major;
        memset(bytes + 8, 0, 4);
        bytes[8] = (char)(sizeof text - 1);
        memcpy(bytes + start, text, sizeof text - 1);
        put_file("utf8.npy", bytes, start + sizeof text - 1 + 4);
        via_file_release(open_with("utf8.npy", NULL));
        char *name = memchr(bytes + start, '\xC3', sizeof text);
        assert_non_null(name);
        name[1] = 'x';
        put_file("utf8.npy", bytes, start + sizeof text - 1 + 4);
        if (major == 3) {
            refused(VIA_ERROR_FORMAT, "UTF-8", via_file_open(path_of("utf8.npy"), NULL, &file));
        } else {
            via_file_release(open_with("utf8.npy", NULL));
        }
        name[1] = '\0';
        put_file("utf8.npy", bytes, start + sizeof text - 1 + 4);
        refused(VIA_ERROR_FORMAT, major == 3 ? "UTF-8" : "NUL", via_file_open(path_of("utf8.npy"), NULL, &file));
    }
}

static void what_follows_the_array_is_left_alone(void **state) {
    (void)state;
    put_npy("two.npy", HEADER("'<f4'", "False", "(1,)"), NUMBERS, 48);
    via_file *file = open_with("two.npy", NULL);
    via_array *array = NULL;
    via_file *window = NULL;
    refused(VIA_ERROR_INVALID_ARGUMENT, "byte_offset is 4", via_file_array(file, 4, 0, 0, NULL, &array));
    refused(VIA_ERROR_INVALID_ARGUMENT, "byte_offset is 4",
            via_file_window(file, 4, 0, 0, NULL, NULL, NULL, NULL, &window));
    array = map_as(file, 0, 0, 0, NULL);
    assert_int_equal(via_array_size(array), 1);
    via_array_release(array);
    via_file_release(file);
}

static void every_type_that_numpy_has_survives_a_file_of_its_own(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(every_dtype); ++i) {
        via_file *file = NULL;
        const int32_t dtype = every_dtype[i].dtype;
        if (via_file_create(path_of("typed.npy"), dtype, 2, SHAPE(2, 5), NULL, &file) != VIA_OK) {
            assert_true(holds_words(via_last_error(), every_dtype[i].name));
            continue;
        }
        via_file_release(file);
        file = open_with("typed.npy", NULL);
        via_array *array = map_as(file, 0, 0, 0, NULL);
        assert_int_equal(via_array_dtype(array), dtype);
        assert_shape(array, 2, SHAPE(2, 5));
        via_array_release(array);
        via_file_release(file);
    }
}

static void a_shape_of_64_extents_survives(void **state) {
    (void)state;
    int64_t shape[64];
    for (int32_t i = 0; i < 64; ++i) {
        shape[i] = i == 40 ? 3 : 1;
    }
    via_file *file = create_with("deep.npy", -7, 64, shape, NULL);
    via_file_release(file);
    file = open_with("deep.npy", NULL);
    via_array *array = map_as(file, 0, 0, 0, NULL);
    assert_shape(array, 64, shape);
    via_array_release(array);
    via_file_release(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(headers_as_numpy_writes_them_are_understood),
        TEST(anything_else_is_refused_by_name),
        TEST(a_header_that_is_cut_anywhere_is_refused),
        TEST(a_header_with_any_byte_changed_is_read_or_refused),
        TEST(a_length_that_is_not_there_allocates_nothing),
        TEST(versions_1_to_3_are_known_and_no_other),
        TEST(a_record_of_as_many_fields_as_a_header_holds_is_read_in_moments),
        TEST(a_header_of_version_3_is_utf_8_and_none_has_a_nul),
        TEST(what_follows_the_array_is_left_alone),
        TEST(every_type_that_numpy_has_survives_a_file_of_its_own),
        TEST(a_shape_of_64_extents_survives),
    };
    return run_file_tests(tests);
}
