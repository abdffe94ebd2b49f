/* Structs that begin with their size: those of older and of newer programs are served, byte for byte. */
#include "producer.h"

enum { EXTRA = 64, ROOM = 2048 };

/* Fills a struct of the size that it says. */
typedef via_status (*fill_fn)(void *out_struct);

static via_array *subject; /* what is described */

static via_status fill_stats(void *out) { return via_stats(out); }
static via_status fill_device(void *out) { return via_device_info(VIA_DEVICE_CPU, 0, out); }
static via_status fill_pointer(void *out) { return via_pointer_query(via_array_data(subject), out); }
static via_status fill_interface(void *out) { return via_to_array_interface(subject, out); }

typedef struct out_struct {
    const char *name;
    fill_fn fill;
    int32_t size;
    const char *words;
} out_struct;

static const out_struct out_structs[] = {
    {"via_stats_info", fill_stats, sizeof(via_stats_info), "via_stats|out_stats->struct_size"},
    {"via_device_properties", fill_device, sizeof(via_device_properties),
     "via_device_info|out_properties->struct_size"},
    {"via_pointer_info", fill_pointer, sizeof(via_pointer_info), "via_pointer_query|out_info->struct_size"},
    {"via_array_interface", fill_interface, sizeof(via_array_interface),
     "via_to_array_interface|out_description->struct_size"},
};

static int make_subject(void **state) {
    static float values[4];
    subject = wrap_plain(values, VIA_FLOAT32, 1, SHAPE(4), NULL);
    return begin_test(state);
}

static int end_subject(void **state) {
    const int result = end_test(state);
    via_array_release(subject);
    return result;
}

static void set_size(void *given, int32_t size) { memcpy(given, &size, sizeof size); }

static int32_t size_of(const void *given) {
    int32_t size = 0;
    memcpy(&size, given, sizeof size);
    return size;
}

/* From `from` on, all bytes are as they were. */
static void assert_untouched(const unsigned char *bytes, int32_t from) {
    for (int32_t i = from; i < ROOM; ++i) {
        assert_int_equal(bytes[i], 0xAB);
    }
}

static void a_size_that_is_none_is_refused_and_nothing_written(void **state) {
    (void)state;
    const int32_t sizes[] = {0, -1, 1, 3, INT32_MIN};
    for (int32_t i = 0; i < LENGTH(out_structs); ++i) {
        for (int32_t j = 0; j < LENGTH(sizes); ++j) {
            _Alignas(8) unsigned char bytes[ROOM];
            memset(bytes, 0xAB, sizeof bytes);
            set_size(bytes, sizes[j]);
            refused(VIA_ERROR_INVALID_ARGUMENT, out_structs[i].words, out_structs[i].fill(bytes));
            assert_int_equal(size_of(bytes), sizes[j]);
            assert_untouched(bytes, 4);
        }
    }
}

static void a_program_of_an_older_header_gets_the_fields_it_knows(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(out_structs); ++i) {
        _Alignas(8) unsigned char whole[ROOM] = {0};
        set_size(whole, out_structs[i].size);
        ok(out_structs[i].fill(whole));
        for (int32_t size = 4; size < out_structs[i].size; size += 4) {
            _Alignas(8) unsigned char bytes[ROOM];
            memset(bytes, 0xAB, sizeof bytes);
            set_size(bytes, size);
            ok(out_structs[i].fill(bytes));
            assert_int_equal(size_of(bytes), size);
            assert_memory_equal(bytes + 4, whole + 4, (size_t)size - 4);
            assert_untouched(bytes, size);
        }
    }
}

static void a_program_of_a_newer_header_keeps_what_this_library_does_not_know(void **state) {
    (void)state;
    for (int32_t i = 0; i < LENGTH(out_structs); ++i) {
        _Alignas(8) unsigned char bytes[ROOM];
        memset(bytes, 0xAB, sizeof bytes);
        set_size(bytes, out_structs[i].size + EXTRA);
        ok(out_structs[i].fill(bytes));
        assert_int_equal(size_of(bytes), out_structs[i].size + EXTRA);
        assert_untouched(bytes, out_structs[i].size);
    }
}

static void options_of_no_size_are_refused(void **state) {
    (void)state;
    const int32_t sizes[] = {0, -24, 3};
    for (int32_t i = 0; i < LENGTH(sizes); ++i) {
        via_dlpack_options options = {.struct_size = sizes[i]};
        producer made;
        produce_changed(&made, NULL);
        via_array *array = NULL;
        DLManagedTensorVersioned *tensor = NULL;
        DLManagedTensor *legacy = NULL;
        const char *words = "options.struct_size";
        refused(VIA_ERROR_INVALID_ARGUMENT, words, via_to_dlpack(subject, &options, NULL, &tensor));
        refused(VIA_ERROR_INVALID_ARGUMENT, words, via_to_dlpack_legacy(subject, &options, NULL, &legacy));
        refused(VIA_ERROR_INVALID_ARGUMENT, words, via_from_dlpack(&made.tensor, &options, NULL, &array));
        refused(VIA_ERROR_INVALID_ARGUMENT, words, via_from_dlpack_legacy(&made.legacy, &options, NULL, &array));
        assert_int_equal(made.deleted, 0);
    }
}

static void fields_that_an_older_program_does_not_have_are_zero(void **state) {
    (void)state;
    via_dlpack_options options = VIA_DLPACK_OPTIONS_INIT;
    options.target_device_type = 99;
    options.target_device_id = 99;
    options.copy = 99;
    options.struct_size = offsetof(via_dlpack_options, target_device_type);
    DLManagedTensorVersioned *tensor = NULL;
    ok(via_to_dlpack(subject, &options, NULL, &tensor));
    assert_int_equal(tensor->flags, 0);
    via_dlpack_delete(tensor);
    options.struct_size = sizeof options;
    refused(VIA_ERROR_INVALID_ARGUMENT, "options.copy is 99", via_to_dlpack(subject, &options, NULL, &tensor));
}

static void fields_that_only_a_newer_program_has_are_not_read(void **state) {
    (void)state;
    struct {
        via_dlpack_options known;
        int32_t news[16];
    } options = {VIA_DLPACK_OPTIONS_INIT, {0}};
    memset(options.news, 0xFF, sizeof options.news);
    options.known.struct_size = sizeof options;
    DLManagedTensorVersioned *tensor = NULL;
    ok(via_to_dlpack(subject, &options.known, NULL, &tensor));
    via_dlpack_delete(tensor);
}

static void a_short_description_is_read_no_further_than_it_goes(void **state) {
    (void)state;
    /* The heap block ends where the struct says it does: AddressSanitizer watches. */
    const int32_t size = offsetof(via_array_interface, strides);
    int32_t *description = calloc(1, (size_t)size);
    description[0] = size;
    description[1] = 3; /* version */
    via_array *array = NULL;
    refused(VIA_ERROR_DTYPE, "description.typestr is \"\"",
            via_from_array_interface((via_array_interface *)description, NULL, NULL, &array));
    free(description);
}

static void init_macros_set_the_size_and_nothing_else(void **state) {
    (void)state;
    const via_device_properties device = VIA_DEVICE_PROPERTIES_INIT;
    const via_stats_info stats = VIA_STATS_INFO_INIT;
    const via_pointer_info pointer = VIA_POINTER_INFO_INIT;
    const via_dlpack_options options = VIA_DLPACK_OPTIONS_INIT;
    const via_array_interface interface = VIA_ARRAY_INTERFACE_INIT;
    const via_file_options file_options = VIA_FILE_OPTIONS_INIT;
    const via_file_properties file = VIA_FILE_PROPERTIES_INIT;
    const struct {
        const void *given;
        size_t size;
    } structs[] = {{&device, sizeof device},   {&stats, sizeof stats},         {&pointer, sizeof pointer},
                   {&options, sizeof options}, {&interface, sizeof interface}, {&file_options, sizeof file_options},
                   {&file, sizeof file}};
    for (int32_t i = 0; i < LENGTH(structs); ++i) {
        assert_int_equal(size_of(structs[i].given), structs[i].size);
        for (size_t j = 4; j < structs[i].size; ++j) {
            assert_int_equal(((const unsigned char *)structs[i].given)[j], 0);
        }
    }
}

#define STRUCT_TEST(function) cmocka_unit_test_setup_teardown(function, make_subject, end_subject)

int main(void) {
    const struct CMUnitTest tests[] = {
        STRUCT_TEST(a_size_that_is_none_is_refused_and_nothing_written),
        STRUCT_TEST(a_program_of_an_older_header_gets_the_fields_it_knows),
        STRUCT_TEST(a_program_of_a_newer_header_keeps_what_this_library_does_not_know),
        STRUCT_TEST(options_of_no_size_are_refused),
        STRUCT_TEST(fields_that_an_older_program_does_not_have_are_zero),
        STRUCT_TEST(fields_that_only_a_newer_program_has_are_not_read),
        STRUCT_TEST(a_short_description_is_read_no_further_than_it_goes),
        STRUCT_TEST(init_macros_set_the_size_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
