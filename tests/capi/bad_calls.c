/* Bad calls: each gets its status and a text that names function, argument and what was found; outputs are NULL or 0,
 * nothing leaks, nothing is released, and what was offered is still the caller's. */
#include "arrow_column.h"
#include "file_support.h"
#include "producer.h"

/* What a bad call may be made with, and where it may leave its results. */
typedef struct fixture {
    _Alignas(64) char memory[256];
    atomic_int released;
    via_array *subject;   /* float32 (2, 3) */
    via_array *column;    /* float32 (3, 2), its transpose */
    via_array *read_only; /* float32 (2, 3) elsewhere */
    via_array *repeated;  /* float32 (2, 3) with a stride of 0 */
    via_array *folded;    /* float32 (2, 3) with rows that overlap */
    via_array *packed;    /* int4 (8) */
    via_array *record;    /* record12 (2) */
    via_array *uneven;    /* complex128 (2), 24 bytes apart */
    via_file *numbers;    /* float64 (2, 3) */
    via_batch *copies;    /* none so far */
    via_memory *refusing; /* an allocator that returns 5 */
    producer offered;     /* a tensor that is fine */
    producer foreign;     /* of DLPack 2.0 */
    producer hostile;     /* of an unknown dtype */
    column arrow;         /* two of its values are null */
    via_array_interface described;
    struct {
        via_device_properties device;
        via_stats_info stats;
        via_pointer_info pointer;
        via_array_interface description;
    } sizeless;

    /* outputs */
    int32_t int32;
    int64_t int64;
    int64_t total;
    char text[32];
    via_array *array;
    via_memory *made_memory;
    DLManagedTensorVersioned *tensor;
    DLManagedTensor *legacy;
    via_stream *stream;
    via_event *event;
    via_task *task;
    via_batch *batch;
    via_file *file;
    struct ArrowSchema schema;
    struct ArrowDeviceArray exported;
    via_device_properties device;
    via_pointer_info pointer;
    via_array_interface description;
} fixture;

/* Which output the call was given. */
typedef enum output {
    NONE,
    INT32,
    INT64,
    TEXT,
    ARRAY,
    MEMORY,
    TENSOR,
    LEGACY,
    STREAM,
    EVENT,
    TASK,
    BATCH,
    FILE_HANDLE,
    COLUMN,
    STRUCT
} output;

static int32_t no_alloc(int64_t nbytes, int64_t alignment, void *stream, void *context, void **out_address) {
    (void)nbytes;
    (void)alignment;
    (void)stream;
    (void)context;
    *out_address = NULL;
    return 5;
}

static void no_free(void *address, int64_t nbytes, void *stream, void *context) {
    (void)address;
    (void)nbytes;
    (void)stream;
    count_release(context);
}

#define WRAP(address, dtype, ndim, shape, strides, type, id, flags, out) \
    via_wrap((address), (dtype), (ndim), (shape), (strides), (type), (id), (flags), count_release, &f->released, (out))
#define CUSTOM(type, id, alloc, free_memory, out)                                                             \
    via_memory_create_custom((type), (id), (alloc), &f->released, (free_memory), &f->released, count_release, \
                             &f->released, (out))
#define OPTIONS(...) (options_of((via_dlpack_options){.struct_size = sizeof(via_dlpack_options), __VA_ARGS__}))

static const via_dlpack_options *options_of(via_dlpack_options given) {
    static via_dlpack_options kept;
    kept = given;
    return &kept;
}

#define CONVERSION(...) (conversion_of((via_convert_options){.struct_size = sizeof(via_convert_options), __VA_ARGS__}))

static float some_scales[8] = {1, 2, 3, 4, 5, 6, 7, 8};

static const via_convert_options *conversion_of(via_convert_options given) {
    static via_convert_options kept;
    kept = given;
    return &kept;
}

typedef struct bad_call {
    via_status status;
    output output;
    const char *words;
    const char *text;
    int line;
    via_status (*make)(fixture *f);
} bad_call;

#define NAME_OF(line) NAME_OF_(line)
#define NAME_OF_(line) call_of_line_##line

/* The table is read twice: for one function a row, and for the rows. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
#define ROW(status, output, words, ...)                \
    static via_status NAME_OF(__LINE__)(fixture * f) { \
        (void)f;                                       \
        return __VA_ARGS__;                            \
    }
#include "bad_calls.inc"
#undef ROW
#pragma GCC diagnostic pop

#define ROW(status, output, words, ...) {status, output, words, #__VA_ARGS__, __LINE__, NAME_OF(__LINE__)},
static const bad_call bad_calls[] = {
#include "bad_calls.inc"
};
#undef ROW

static void make_subjects(fixture *f) {
    f->subject = wrap_plain(f->memory, VIA_FLOAT32, 2, SHAPE(2, 3), &f->released);
    ok(via_array_permute(f->subject, NULL, &f->column));
    via_array *other = wrap_plain(f->memory + 64, VIA_FLOAT32, 2, SHAPE(2, 3), &f->released);
    ok(via_array_as_read_only(other, &f->read_only));
    via_array_release(other);
    f->repeated = wrap_strided(f->memory + 128, VIA_FLOAT32, 2, SHAPE(2, 3), SHAPE(0, 4));
    f->folded = wrap_strided(f->memory + 128, VIA_FLOAT32, 2, SHAPE(2, 3), SHAPE(8, 4));
    f->packed = wrap_plain(f->memory, VIA_INT4, 1, SHAPE(8), &f->released);
    f->record = wrap_plain(f->memory, via_dtype_record(12), 1, SHAPE(2), &f->released);
    f->uneven = wrap_strided(f->memory, VIA_COMPLEX128, 1, SHAPE(2), SHAPE(24));
    f->numbers = create_with("numbers.npy", VIA_FLOAT64, 2, SHAPE(2, 3), NULL);
    ok(via_batch_create(&f->copies));
    ok(via_memory_create_custom(VIA_DEVICE_CPU, 0, no_alloc, &f->released, no_free, &f->released, count_release,
                                &f->released, &f->refusing));
}

static void make_offers(fixture *f) {
    produce_changed(&f->offered, NULL);
    produce_changed(&f->foreign, NULL);
    f->foreign.tensor.version.major = 2;
    f->foreign.tensor.version.minor = 0;
    produce_changed(&f->hostile, NULL);
    f->hostile.tensor.dl_tensor.dtype.code = 200;
    f->hostile.legacy.dl_tensor.dtype.code = 200;
    make_column(&f->arrow, 4, 0, NULL);
    f->arrow.offered.array.null_count = 2;
    f->described = (via_array_interface)VIA_ARRAY_INTERFACE_INIT;
    f->described.version = 3;
    f->described.address = f->memory;
    strcpy(f->described.typestr, "=f4");
}

/* Every output holds what no successful or failing call leaves there. */
static void poison_outputs(fixture *f) {
    memset(&f->int32, 0x77, sizeof *f - offsetof(fixture, int32));
    f->device.struct_size = sizeof f->device;
    f->pointer.struct_size = sizeof f->pointer;
    f->description.struct_size = sizeof f->description;
}

static void make_fixture(fixture *f) {
    memset(f, 0, sizeof *f);
    make_subjects(f);
    make_offers(f);
    poison_outputs(f);
}

static void end_fixture(fixture *f) {
    via_array *arrays[] = {f->subject, f->column, f->read_only, f->repeated,
                           f->folded,  f->packed, f->record,    f->uneven};
    for (int32_t i = 0; i < LENGTH(arrays); ++i) {
        via_array_release(arrays[i]);
    }
    assert_int_equal(via_batch_size(f->copies), 0);
    via_batch_release(f->copies);
    via_file_release(f->numbers);
    via_memory_release(f->refusing);
    assert_int_equal(f->released, 5); /* four wrapped arrays and the allocator */
}

static int is_cleared(const fixture *f, output given) {
    switch (given) {
        case INT32:
            return f->int32 == 0;
        case INT64:
            return f->int64 == 0 && (f->total == 0 || f->total == 0x7777777777777777);
        case TEXT:
            return f->text[0] == '\0';
        case ARRAY:
            return f->array == NULL;
        case MEMORY:
            return f->made_memory == NULL;
        case TENSOR:
            return f->tensor == NULL;
        case LEGACY:
            return f->legacy == NULL;
        case STREAM:
            return f->stream == NULL;
        case EVENT:
            return f->event == NULL;
        case TASK:
            return f->task == NULL;
        case BATCH:
            return f->batch == NULL;
        case FILE_HANDLE:
            return f->file == NULL;
        case COLUMN:
            return f->schema.release == NULL && f->exported.array.release == NULL;
        default:
            return 1;
    }
}

/* An output struct is left as it was. */
static int structs_are_untouched(const fixture *f) {
    fixture *poisoned = malloc(sizeof *poisoned);
    poison_outputs(poisoned);
    const int same = memcmp(&poisoned->device, &f->device, sizeof f->device) == 0 &&
                     memcmp(&poisoned->pointer, &f->pointer, sizeof f->pointer) == 0 &&
                     memcmp(&poisoned->description, &f->description, sizeof f->description) == 0;
    free(poisoned);
    return same;
}

/* Nothing that went in has changed: memory, tensors, columns, descriptions, and nobody has been called. */
static int inputs_are_untouched(const fixture *before, const fixture *after) {
    return memcmp(before, after, offsetof(fixture, int32)) == 0;
}

/* The text begins with the function's name and ": ", and holds the words. */
static int text_is_reported(const bad_call *row) {
    const char *call = row->text;
    const char *function = strncmp(call, "WRAP", 4) == 0     ? "via_wrap"
                           : strncmp(call, "CUSTOM", 6) == 0 ? "via_memory_create_custom"
                                                             : call;
    const size_t length = strcspn(function, "(");
    const char *text = via_last_error();
    return strncmp(text, function, length) == 0 && strncmp(text + length, ": ", 2) == 0 &&
           holds_words(text + length, row->words);
}

/* 1 if the row holds all that is promised. */
static int run_row(const bad_call *row) {
    static fixture made;
    static fixture before;
    make_fixture(&made);
    memcpy(&before, &made, sizeof before);
    const via_stats_info alive = stats_now();
    const via_status status = row->make(&made);
    const via_stats_info after = stats_now();
    const int reported = text_is_reported(row);
    const int holds = status == row->status && reported && is_cleared(&made, row->output) &&
                      same_stats(&alive, &after) && structs_are_untouched(&made) &&
                      inputs_are_untouched(&before, &made);
    if (!holds) {
        print_error("bad_calls.inc:%d: %s\n  answered %s: %s\n  expected %s with the words %s; outputs %s, inputs %s\n",
                    row->line, row->text, via_status_name(status), via_last_error(), via_status_name(row->status),
                    row->words, is_cleared(&made, row->output) && structs_are_untouched(&made) ? "right" : "wrong",
                    inputs_are_untouched(&before, &made) ? "right" : "changed");
    }
    end_fixture(&made);
    return holds;
}

static void a_bad_call_learns_what_is_wrong_and_changes_nothing(void **state) {
    (void)state;
    int32_t held = 0;
    for (int32_t i = 0; i < LENGTH(bad_calls); ++i) {
        held += run_row(&bad_calls[i]);
    }
    print_message("%d bad calls, %d answered as promised\n", LENGTH(bad_calls), held);
    assert_int_equal(held, LENGTH(bad_calls));
}

static void there_are_at_least_120_and_no_two_are_the_same(void **state) {
    (void)state;
    assert_true(LENGTH(bad_calls) >= 120);
    for (int32_t i = 0; i < LENGTH(bad_calls); ++i) {
        for (int32_t j = 0; j < i; ++j) {
            assert_string_not_equal(bad_calls[i].text, bad_calls[j].text);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_bad_call_learns_what_is_wrong_and_changes_nothing),
        TEST(there_are_at_least_120_and_no_two_are_the_same),
    };
    return run_file_tests(tests);
}
