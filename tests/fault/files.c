/* Files, mapped and transferred, and calibrations kept in one. */
#include "../capi/archive_files.h"
#include "../capi/file_support.h"
#include "scenario.h"

#include <sys/xattr.h>
#include <unistd.h>

enum { BYTES = 256 << 10 };

static char *bytes;
static char *there;
static via_stream *stream;

/* A folder that is there for the time of a run: what is left in it is counted. */
static void prepare_folder(void) {
    assert_int_equal(make_scratch(NULL), 0);
    bytes = aligned_alloc(4096, BYTES);
    fill_pattern(bytes, BYTES, 5);
    put_file("there.bin", bytes, BYTES);
    (void)setxattr(path_of("there.bin"), "user.kept", "1", 1, 0); /* where the file system has such */
}

static void prepare_device(void) {
    prepare_folder();
    there = (char *)(uintptr_t)device_memory(BYTES);
    write_pattern((CUdeviceptr)(uintptr_t)there, BYTES, 6);
    stream = wrap_native(new_stream(), 0);
}

static void finish_folder(void) {
    for (int32_t i = 0; i < 2; ++i) {
        unlink(path_of(i == 0 ? "there.bin" : "made.npy"));
    }
    const int left = count_scratch();
    if (left != 0) {
        complain("%d files are left behind", left);
    }
    remove_scratch(NULL);
    free(bytes);
}

static int holds(const char *name, size_t offset, unsigned seed) {
    char *found = malloc(2 * BYTES);
    char *pattern = malloc(BYTES);
    fill_pattern(pattern, BYTES, seed);
    const size_t length = get_file(name, found, 2 * BYTES);
    const int same = length == offset + BYTES && memcmp(found + offset, pattern, BYTES) == 0;
    free(pattern);
    free(found);
    return same;
}

/* Reads what is there, and writes something else, under the same options. */
static via_status read_and_write(const via_file_options *options) {
    via_status status = VIA_OK;
    via_file *file = NULL;
    via_array *array = NULL;
    THEN(via_file_open(path_of("there.bin"), options, &file));
    THEN(export(bytes, BYTES, VIA_DEVICE_CPU, 0, &array));
    if (status == VIA_OK) {
        memset(bytes, 0, BYTES);
    }
    THEN(via_file_read(file, 0, array, NULL));
    if (status == VIA_OK) {
        assert_pattern(bytes, BYTES, 5);
        fill_pattern(bytes, BYTES, 6);
    }
    THEN(via_file_write(file, 0, array, NULL));
    HOLDS(holds("there.bin", 0, 6));
    if (status != VIA_OK && options->atomic_write && !holds("there.bin", 0, 5) && !holds("there.bin", 0, 6)) {
        complain("an atomic write left something between");
    }
    via_array_release(array);
    via_file_retain(file);
    via_file_release(file);
    via_file_release(file);
    return status;
}

static via_status transfer(void) { return read_and_write(OPTIONS_OF(.mode = VIA_MODE_READ_WRITE)); }

static via_status transfer_durably(void) {
    return read_and_write(OPTIONS_OF(.mode = VIA_MODE_READ_WRITE, .durable = 1));
}

static via_status transfer_past_the_cache(void) {
    return read_and_write(OPTIONS_OF(.mode = VIA_MODE_READ_WRITE, .page_cache = VIA_PAGE_CACHE_AVOID));
}

static via_status transfer_atomically(void) {
    return read_and_write(OPTIONS_OF(.mode = VIA_MODE_READ_WRITE, .atomic_write = 1, .durable = 1));
}

static via_status create_with_options(const via_file_options *options) {
    via_status status = VIA_OK;
    via_file *file = NULL;
    via_array *array = NULL;
    via_array *mapped = NULL;
    via_file_properties properties = VIA_FILE_PROPERTIES_INIT;
    THEN(via_file_create(path_of("made.npy"), VIA_UINT8, 1, SHAPE(BYTES), options, &file));
    if (file == NULL && access(path_of("made.npy"), F_OK) == 0) {
        complain("a file that could not be created is there");
    }
    THEN(export(bytes, BYTES, VIA_DEVICE_CPU, 0, &array));
    THEN(via_file_write(file, 0, array, NULL));
    THEN(via_file_info(file, &properties));
    THEN(via_file_array(file, 0, 0, 0, NULL, &mapped));
    if (status == VIA_OK) {
        assert_pattern(via_array_data(mapped), BYTES, 5);
    }
    HOLDS(holds("made.npy", (size_t)properties.byte_offset, 5));
    via_array_release(mapped);
    via_array_release(array);
    via_file_release(file);
    return status;
}

static via_status create(void) { return create_with_options(NULL); }
static via_status create_atomically(void) { return create_with_options(OPTIONS_OF(.atomic_write = 1)); }

static via_status map_a_copy(void) {
    via_status status = VIA_OK;
    via_file *file = NULL;
    via_array *mapped = NULL;
    THEN(via_file_open(path_of("there.bin"), OPTIONS_OF(.mode = VIA_MODE_COPY_ON_WRITE), &file));
    THEN(via_file_array(file, 16, VIA_UINT8, 1, SHAPE(4096), &mapped));
    THEN(via_fill(mapped, NULL, NULL));
    HOLDS(holds("there.bin", 0, 5));
    via_file_release(file);
    via_array_release(mapped);
    return status;
}

/* Rows with gaps between them, out of the file and in again. */
static via_status transfer_a_window(void) {
    via_status status = VIA_OK;
    via_file *file = NULL;
    via_file *window = NULL;
    via_array *array = NULL;
    THEN(via_file_open(path_of("there.bin"), OPTIONS_OF(.mode = VIA_MODE_READ_WRITE), &file));
    THEN(via_file_window(file, 0, VIA_UINT8, 2, SHAPE(256, 1024), SHAPE(1, 8), SHAPE(100, 512), SHAPE(2, 1), &window));
    via_file_release(file);
    THEN(via_empty(NULL, VIA_UINT8, 2, SHAPE(100, 512), NULL, &array));
    THEN(via_file_read(window, 0, array, NULL));
    HOLDS(memcmp(via_array_data(array), bytes + 1024 + 8, 512) == 0);
    THEN(via_file_write(window, 0, array, NULL));
    HOLDS(holds("there.bin", 0, 5));
    via_array_release(array);
    via_file_release(window);
    return status;
}

static via_status wait_and_release(via_status status, via_task *task) {
    THEN(via_task_wait(task));
    via_task_release(task);
    return status;
}

static via_status transfer_as_tasks(void) {
    via_status status = VIA_OK;
    via_file *file = NULL;
    via_array *array = NULL;
    via_task *task = NULL;
    THEN(via_file_open(path_of("there.bin"), OPTIONS_OF(.mode = VIA_MODE_READ_WRITE), &file));
    THEN(export(bytes, BYTES, VIA_DEVICE_CPU, 0, &array));
    THEN(via_file_read_submit(file, 0, array, NULL, &task));
    status = wait_and_release(status, task);
    task = NULL;
    THEN(via_file_write_submit(file, 0, array, NULL, &task));
    status = wait_and_release(status, task);
    HOLDS(holds("there.bin", 0, 5));
    via_array_release(array);
    via_file_release(file);
    return status;
}

static via_status transfer_with_a_device(void) {
    via_status status = VIA_OK;
    via_file *file = NULL;
    via_array *array = NULL;
    via_task *task = NULL;
    THEN(via_file_open(path_of("there.bin"), OPTIONS_OF(.mode = VIA_MODE_READ_WRITE), &file));
    THEN(export(there, BYTES, VIA_DEVICE_CUDA, 0, &array));
    THEN(via_file_write(file, 0, array, stream));
    HOLDS(holds("there.bin", 0, 6));
    THEN(via_file_read(file, 0, array, NULL));
    THEN(via_file_read_submit(file, 0, array, stream, &task));
    status = wait_and_release(status, task);
    task = NULL;
    THEN(via_file_write_submit(file, 0, array, stream, &task));
    status = wait_and_release(status, task);
    HOLDS(holds("there.bin", 0, 6));
    via_array_release(array);
    via_file_release(file);
    return status;
}

/* Two files of one tensor each. */
static void put_archive(const char *name, const char *tensor) {
    char text[256];
    const int length = snprintf(text + 8, sizeof text - 8,
                                "{\"__metadata__\":{\"by\":\"hand\"},\"%s\":{\"dtype\":\"U8\",\"shape\":[4],"
                                "\"data_offsets\":[0,4]}}1234",
                                tensor);
    const uint64_t header = (uint64_t)length - 4;
    memcpy(text, &header, 8);
    put_file(name, text, 8 + (size_t)length);
}

static void prepare_archives(void) {
    prepare_folder();
    put_archive("there.bin", "a");
    put_archive("made.npy", "b");
}

static int is_tensor(via_array *array) { return array == NULL || memcmp(via_array_data(array), "1234", 4) == 0; }

/* Reads the second of two tensors by itself, at once and as a task. */
static via_status read_a_selection(via_archive *archive) {
    via_status status = VIA_OK;
    via_archive *selection = NULL;
    via_array *buffer = NULL;
    via_array *array = NULL;
    via_task *task = NULL;
    int64_t number = 0;
    THEN(via_archive_find(archive, "b", &number));
    THEN(via_archive_select(archive, 1, &number, &selection));
    THEN(via_empty(NULL, VIA_UINT8, 1, SHAPE(4), NULL, &buffer));
    THEN(via_archive_read(selection, buffer, NULL));
    THEN(via_archive_read_submit(selection, buffer, NULL, &task));
    status = wait_and_release(status, task);
    THEN(via_archive_array(selection, 0, buffer, &array));
    HOLDS(is_tensor(array));
    via_array_release(array);
    via_array_release(buffer);
    via_archive_release(selection);
    return status;
}

static via_status read_archives(void) {
    via_status status = VIA_OK;
    via_archive *archive = NULL;
    via_array *buffer = NULL;
    via_array *array = NULL;
    via_file *window = NULL;
    char text[64];
    int64_t length = 0;
    THEN(via_archive_open(path_of("there.bin"), NULL, &archive));
    THEN(via_archive_add(archive, path_of("made.npy")));
    HOLDS(via_archive_size(archive) == 2 && via_archive_nbytes(archive) == 68 &&
          strcmp(via_archive_name(archive, 1), "b") == 0);
    THEN(via_archive_metadata(archive, sizeof text, text, &length));
    THEN(via_archive_file(archive, 0, &window));
    THEN(via_archive_load(archive, NULL, NULL, &buffer));
    THEN(via_archive_array(archive, 1, buffer, &array));
    HOLDS(is_tensor(array));
    THEN(read_a_selection(archive));
    via_archive_retain(archive);
    via_archive_release(archive);
    via_file_release(window);
    via_array_release(array);
    via_array_release(buffer);
    via_archive_release(archive);
    return status;
}

static const char kShard[] = "one.safetensors";
static const char kIndex[] = "m.safetensors.index.json";

/* A folder of a file, and an index that names it. */
static void prepare_shards(void) {
    prepare_folder();
    put_archive(kShard, "a");
    const char text[] = "{\"metadata\":{\"size\":[4]},\"weight_map\":{\"a\":\"one.safetensors\"}}";
    put_file(kIndex, text, sizeof text - 1);
}

static void finish_shards(void) {
    unlink(path_of(kShard));
    unlink(path_of(kIndex));
    finish_folder();
}

static via_status open_shards(void) {
    via_status status = VIA_OK;
    via_archive *by_folder = NULL;
    via_archive *by_index = NULL;
    via_array *buffer = NULL;
    THEN(via_archive_open(path_of(""), NULL, &by_folder));
    THEN(via_archive_open(path_of(kIndex), NULL, &by_index));
    HOLDS(via_archive_size(by_folder) == 1 && via_archive_size(by_index) == 1);
    THEN(via_archive_load(by_folder, NULL, NULL, &buffer));
    HOLDS(is_tensor(buffer));
    via_array_release(buffer);
    via_archive_release(by_index);
    via_archive_release(by_folder);
    return status;
}

enum { SWAPPED = 4000 };

/* A .npy file of big-endian numbers, 1 and on. */
static void prepare_swapped(void) {
    char content[128 + 2 * SWAPPED];
    prepare_folder();
    memset(content, ' ', 128);
    memcpy(content, "\x93NUMPY\x01\x00\x76\x00", 10);
    const char text[] = "{'descr': '>u2', 'fortran_order': False, 'shape': (4000,), }";
    memcpy(content + 10, text, sizeof text - 1);
    content[127] = '\n';
    for (int i = 0; i < SWAPPED; ++i) {
        content[128 + 2 * i] = (char)((i + 1) >> 8);
        content[129 + 2 * i] = (char)(i + 1);
    }
    put_file("made.npy", content, sizeof content);
}

static via_status transfer_swapped(void) {
    via_status status = VIA_OK;
    via_file *file = NULL;
    via_array *array = NULL;
    via_task *task = NULL;
    THEN(via_file_open(path_of("made.npy"), OPTIONS_OF(.mode = VIA_MODE_READ_WRITE), &file));
    THEN(via_empty(NULL, VIA_UINT16, 1, SHAPE(SWAPPED), NULL, &array));
    THEN(via_file_read(file, 0, array, NULL));
    for (int i = 0; status == VIA_OK && i < SWAPPED; ++i) {
        HOLDS(((const uint16_t *)via_array_data(array))[i] == i + 1);
    }
    THEN(via_file_write(file, 0, array, NULL));
    THEN(via_file_write_submit(file, 0, array, NULL, &task));
    status = wait_and_release(status, task);
    task = NULL;
    THEN(via_file_read_submit(file, 0, array, NULL, &task));
    status = wait_and_release(status, task);
    HOLDS(((const uint16_t *)via_array_data(array))[SWAPPED - 1] == SWAPPED);
    via_array_release(array);
    via_file_release(file);
    return status;
}

/* The numbers of made.npy in another dtype. */
static via_status convert_file(int32_t dtype, via_file **out_file) {
    via_status status = VIA_OK;
    via_convert_options options = VIA_CONVERT_OPTIONS_INIT;
    via_file *file = NULL;
    options.casting = VIA_CASTING_UNSAFE;
    THEN(via_file_open(path_of("made.npy"), OPTIONS_OF(.mode = VIA_MODE_READ_WRITE), &file));
    THEN(via_file_convert(file, dtype, &options, out_file));
    via_file_release(file);
    return status;
}

/* Reads an array and writes it, at once and as tasks. */
static via_status read_and_write_converted(via_file *file, via_array *array, via_stream *after) {
    via_status status = VIA_OK;
    via_task *task = NULL;
    THEN(via_file_read(file, 0, array, after));
    THEN(via_file_write(file, 0, array, after));
    THEN(via_file_read_submit(file, 0, array, after, &task));
    status = wait_and_release(status, task);
    task = NULL;
    THEN(via_file_write_submit(file, 0, array, after, &task));
    return wait_and_release(status, task);
}

static int is_swapped_file(void) {
    unsigned char found[256 + 2 * SWAPPED];
    int right = get_file("made.npy", found, sizeof found) == 128 + 2 * SWAPPED;
    for (int i = 0; right && i < SWAPPED; ++i) {
        right = found[128 + 2 * i] * 256 + found[129 + 2 * i] == i + 1;
    }
    return right;
}

static via_status transfer_converted(void) {
    via_status status = VIA_OK;
    via_file *file = NULL;
    via_array *array = NULL;
    THEN(convert_file(VIA_FLOAT32, &file));
    THEN(via_empty(NULL, VIA_FLOAT32, 1, SHAPE(SWAPPED), NULL, &array));
    THEN(read_and_write_converted(file, array, NULL));
    HOLDS(((const float *)via_array_data(array))[SWAPPED - 1] == SWAPPED);
    HOLDS(is_swapped_file());
    via_array_release(array);
    via_file_release(file);
    return status;
}

/* A device to which the file's numbers go. */
static void prepare_swapped_and_device(void) {
    prepare_swapped();
    there = (char *)(uintptr_t)device_memory(BYTES);
    stream = wrap_native(new_stream(), 0);
}

/* In an array of wider numbers, and of narrower ones, on a device. */
static via_status transfer_converted_with_a_device(void) {
    via_status status = VIA_OK;
    static const int32_t dtypes[] = {VIA_FLOAT32, VIA_UINT8};
    for (int i = 0; i < 2; ++i) {
        const int64_t nbytes = SWAPPED * (i == 0 ? 4 : 1);
        via_file *file = NULL;
        via_array *raw = NULL;
        via_array *array = NULL;
        THEN(convert_file(dtypes[i], &file));
        THEN(export(there, nbytes, VIA_DEVICE_CUDA, 0, &raw));
        THEN(via_array_reinterpret(raw, dtypes[i], &array));
        if (i == 0) {
            THEN(read_and_write_converted(file, array, stream));
        } else {
            THEN(via_file_read(file, 0, array, NULL));
        }
        HOLDS(is_swapped_file());
        via_array_release(array);
        via_array_release(raw);
        via_file_release(file);
    }
    return status;
}

static via_status read_converted_archives(void) {
    via_status status = VIA_OK;
    via_archive *archive = NULL;
    via_array *buffer = NULL;
    via_array *array = NULL;
    via_file *window = NULL;
    THEN(via_archive_open(path_of("there.bin"), NULL, &archive));
    THEN(via_archive_add(archive, path_of("made.npy")));
    THEN(via_archive_convert(archive, 1, VIA_FLOAT32, NULL));
    THEN(via_archive_convert(archive, -1, VIA_FLOAT16, NULL));
    HOLDS(via_archive_nbytes(archive) == 64 + 16);
    THEN(via_archive_file(archive, 1, &window));
    THEN(via_archive_load(archive, NULL, NULL, &buffer));
    THEN(via_archive_array(archive, 1, buffer, &array));
    HOLDS(((const float *)via_array_data(array))[3] == '4');
    THEN(via_file_read(window, 0, array, NULL));
    HOLDS(((const float *)via_array_data(array))[0] == '1');
    via_array_release(array);
    via_array_release(buffer);
    via_file_release(window);
    via_archive_release(archive);
    return status;
}

enum { WIDENED = 1 << 20 };

/* A tensor so large that a device converts it. */
static void prepare_widened(void) {
    prepare_folder();
    char *content = malloc(8 + 128 + WIDENED);
    const int length = snprintf(content + 8, 128, "{\"w\":{\"dtype\":\"U8\",\"shape\":[%d],\"data_offsets\":[0,%d]}}",
                                WIDENED, WIDENED);
    const uint64_t header = (uint64_t)length;
    memcpy(content, &header, 8);
    memset(content + 8 + length, 3, WIDENED);
    put_file("there.bin", content, 8 + (size_t)length + WIDENED);
    free(content);
}

static via_status widen_on_a_device(void) {
    via_status status = VIA_OK;
    via_archive *archive = NULL;
    via_memory *memory = NULL;
    via_array *buffer = NULL;
    float last = 0;
    THEN(via_archive_open(path_of("there.bin"), NULL, &archive));
    THEN(via_archive_convert(archive, 0, VIA_FLOAT32, NULL));
    THEN(via_memory_create(VIA_MEMORY_DEVICE, 0, &memory));
    THEN(via_archive_load(archive, memory, NULL, &buffer));
    THEN(via_memcpy(&last, (char *)via_array_data(buffer) + (WIDENED - 1) * sizeof last, sizeof last, NULL));
    HOLDS(last == 3);
    via_array_release(buffer);
    via_memory_release(memory);
    via_archive_release(archive);
    return status;
}

/* A .npz and a GGUF file. */
static void prepare_formats(void) {
    archive_bytes content;
    prepare_folder();
    make_npz(&content, "a.npy", 0, 5);
    put_file("there.bin", content.bytes, content.length);
    make_gguf(&content, "b", 24, 5, 10);
    put_file("made.npy", content.bytes, content.length);
}

static via_status read_formats(void) {
    via_status status = VIA_OK;
    via_archive *archive = NULL;
    via_array *buffer = NULL;
    THEN(via_archive_open(path_of("there.bin"), NULL, &archive));
    THEN(via_archive_add(archive, path_of("made.npy")));
    HOLDS(via_archive_size(archive) == 2 && strcmp(via_archive_type_name(archive, 1), "I8") == 0);
    THEN(via_archive_load(archive, NULL, NULL, &buffer));
    HOLDS(memcmp((char *)via_array_data(buffer) + 64, "\1\2\3\4\5\6\7\10\11\12", 10) == 0);
    via_array_release(buffer);
    via_archive_release(archive);
    return status;
}

enum { WIDE_ROWS = 20, WIDE_ROW = 8192 };

/* A matrix whose rows are long enough to be scattered when half of its columns are read. */
static void prepare_wide(void) {
    prepare_folder();
    char *content = malloc(8 + 128 + WIDE_ROWS * WIDE_ROW);
    const int length =
        snprintf(content + 8, 128, "{\"w\":{\"dtype\":\"U8\",\"shape\":[%d,%d],\"data_offsets\":[0,%d]}}", WIDE_ROWS,
                 WIDE_ROW, WIDE_ROWS * WIDE_ROW);
    const uint64_t header = (uint64_t)length;
    memcpy(content, &header, 8);
    for (int i = 0; i < WIDE_ROWS * WIDE_ROW; ++i) {
        content[8 + length + i] = (char)(i % WIDE_ROW < WIDE_ROW / 2 ? 1 + i / WIDE_ROW : 0);
    }
    put_file("there.bin", content, 8 + (size_t)length + WIDE_ROWS * WIDE_ROW);
    free(content);
}

static via_status read_columns(void) {
    via_status status = VIA_OK;
    via_archive *archive = NULL;
    via_array *buffer = NULL;
    THEN(via_archive_open(path_of("there.bin"), NULL, &archive));
    THEN(via_archive_slice(archive, 0, 1, 0, WIDE_ROW / 2));
    THEN(via_archive_load(archive, NULL, NULL, &buffer));
    for (int64_t i = 0; buffer != NULL && i < via_array_nbytes(buffer); ++i) {
        HOLDS(((const char *)via_array_data(buffer))[i] == (char)(1 + i / (WIDE_ROW / 2)));
    }
    via_array_release(buffer);
    via_archive_release(archive);
    return status;
}

/* Shards and their index: all of them, or what was there before. */
static via_status save_shards(void) {
    via_status status = VIA_OK;
    via_array *arrays[2] = {NULL, NULL};
    const char *const names[] = {"a", "b"};
    THEN(export(bytes, BYTES / 2, VIA_DEVICE_CPU, 0, &arrays[0]));
    THEN(export(bytes, BYTES / 2, VIA_DEVICE_CPU, 0, &arrays[1]));
    THEN(via_archive_save(path_of("s.safetensors"), 2, arrays, names, NULL, BYTES / 2, OPTIONS_OF(.durable = 1), NULL));
    const int index = access(path_of("s.safetensors.index.json"), F_OK) == 0;
    const int first = access(path_of("s-00001-of-00002.safetensors"), F_OK) == 0;
    const int second = access(path_of("s-00002-of-00002.safetensors"), F_OK) == 0;
    HOLDS(index && first && second);
    if (status != VIA_OK && index && !(first && second)) {
        complain("an index names a shard that is not there");
    }
    unlink(path_of("s.safetensors.index.json"));
    unlink(path_of("s-00001-of-00002.safetensors"));
    unlink(path_of("s-00002-of-00002.safetensors"));
    via_array_release(arrays[0]);
    via_array_release(arrays[1]);
    return status;
}

/* Files that replace others: each is whole, the one before or the new one. */
static via_status save_archives(void) {
    via_status status = VIA_OK;
    via_archive *archive = NULL;
    via_array *array = NULL;
    via_array *loaded = NULL;
    via_task *task = NULL;
    const char *name = "a";
    THEN(export(bytes, BYTES, VIA_DEVICE_CPU, 0, &array));
    THEN(via_archive_save(path_of("there.bin"), 1, &array, &name, "{\"by\":\"hand\"}", 0, OPTIONS_OF(.durable = 1),
                          NULL));
    THEN(via_archive_save_submit(path_of("there.bin"), 1, &array, &name, NULL, 0, NULL, NULL, &task));
    status = wait_and_release(status, task);
    THEN(via_archive_open(path_of("there.bin"), NULL, &archive));
    THEN(via_archive_slice(archive, 0, 0, 1, 2));
    HOLDS(via_archive_nbytes(archive) == 2);
    THEN(via_save(path_of("made.npy"), array, NULL));
    THEN(via_load(path_of("made.npy"), NULL, NULL, &loaded));
    HOLDS(via_array_nbytes(loaded) == BYTES);
    via_array_release(loaded);
    via_array_release(array);
    via_archive_release(archive);
    return status;
}

static via_status keep_a_calibration(void) {
    via_status status = VIA_OK;
    THEN(via_calibration_save(path_of("made.npy")));
    THEN(via_calibration_load(path_of("made.npy")));
    return status;
}

static via_status calibrate(void) {
    via_status status = VIA_OK;
    THEN(via_calibrate(0));
    return status;
}

const scenario file_scenarios[] = {
    {"files are read and written", transfer, prepare_folder, finish_folder, 0, 0, 0},
    {"files are written durably", transfer_durably, prepare_folder, finish_folder, 0, 0, 0},
    {"files are transferred past the cache", transfer_past_the_cache, prepare_folder, finish_folder, 0, 0, 0},
    {"files are written atomically", transfer_atomically, prepare_folder, finish_folder, 0, 0, 0},
    {"files are created", create, prepare_folder, finish_folder, 0, 0, 0},
    {"files are created atomically", create_atomically, prepare_folder, finish_folder, 0, 0, 0},
    {"files are mapped and not changed", map_a_copy, prepare_folder, finish_folder, 0, 0, 0},
    {"windows of files are transferred", transfer_a_window, prepare_folder, finish_folder, 0, 0, 0},
    {"files are transferred as tasks", transfer_as_tasks, prepare_folder, finish_folder, 0, 0, 0},
    {"files are transferred with a device", transfer_with_a_device, prepare_device, finish_folder, 1, 0, 0},
    {"archives are read", read_archives, prepare_archives, finish_folder, 0, 0, 0},
    {"archives are opened by folder and index", open_shards, prepare_shards, finish_shards, 0, 0, 0},
    {"files in another byte order are transferred", transfer_swapped, prepare_swapped, finish_folder, 0, 0, 0},
    {"files are converted", transfer_converted, prepare_swapped, finish_folder, 0, 0, 0},
    {"files are converted with a device", transfer_converted_with_a_device, prepare_swapped_and_device, finish_folder,
     0, 0, 0},
    {"archives are converted", read_converted_archives, prepare_archives, finish_folder, 0, 0, 0},
    {"archives are widened on a device", widen_on_a_device, prepare_widened, finish_folder, 0, 0, 0},
    {"archives of other formats are read", read_formats, prepare_formats, finish_folder, 0, 0, 0},
    {"columns of archives are read", read_columns, prepare_wide, finish_folder, 0, 0, 0},
    {"archives are saved in shards", save_shards, prepare_folder, finish_folder, 0, 0, 0},
    {"archives are saved", save_archives, prepare_archives, finish_folder, 0, 0, 0},
    {"a calibration is kept", keep_a_calibration, prepare_folder, finish_folder, 0, 0, 0},
    {"a device is calibrated", calibrate, NULL, NULL, 0, 1, 0},
    {NULL, NULL, NULL, NULL, 0, 0, 0},
};
