/* Archives of tensors: read, converted and saved. */
#include "../capi/archive_files.h"
#include "folder.h"

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

static void prepare_floats(void) {
    char content[512] = {0};
    const int length = snprintf(content + 8, 256,
                                "{\"a\":{\"dtype\":\"F32\",\"shape\":[16],\"data_offsets\":[0,64]},"
                                "\"b\":{\"dtype\":\"F32\",\"shape\":[16],\"data_offsets\":[64,128]}}");
    const uint64_t header = (uint64_t)length;
    memcpy(content, &header, 8);
    prepare_folder();
    put_file("there.bin", content, 8 + (size_t)length + 128);
}

/* All tensors of floats are converted, or none. */
static via_status convert_all(void) {
    via_status status = VIA_OK;
    via_archive *archive = NULL;
    THEN(via_archive_open(path_of("there.bin"), NULL, &archive));
    THEN(via_archive_convert(archive, -1, VIA_FLOAT64, NULL));
    if (archive != NULL && via_archive_nbytes(archive) != (status == VIA_OK ? 256 : 128)) {
        complain("a conversion that failed has changed the archive");
    }
    via_archive_release(archive);
    return status;
}

const scenario archive_scenarios[] = {
    {"archives are read", read_archives, prepare_archives, finish_folder, 0, 0, 0},
    {"archives are opened by folder and index", open_shards, prepare_shards, finish_shards, 0, 0, 0},
    {"archives are converted", read_converted_archives, prepare_archives, finish_folder, 0, 0, 0},
    {"archives are converted as a whole", convert_all, prepare_floats, finish_folder, 0, 0, 0},
    {"archives are widened on a device", widen_on_a_device, prepare_widened, finish_folder, 0, 0, 0},
    {"archives of other formats are read", read_formats, prepare_formats, finish_folder, 0, 0, 0},
    {"columns of archives are read", read_columns, prepare_wide, finish_folder, 0, 0, 0},
    {"archives are saved in shards", save_shards, prepare_folder, finish_folder, 0, 0, 0},
    {"archives are saved", save_archives, prepare_archives, finish_folder, 0, 0, 0},
    {NULL, NULL, NULL, NULL, 0, 0, 0},
};
