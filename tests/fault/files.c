/* Files, mapped and transferred, and calibrations kept in one. */
#include "folder.h"

static char *there;
static via_stream *stream;

static void prepare_device(void) {
    prepare_folder();
    there = (char *)(uintptr_t)device_memory(BYTES);
    write_pattern((CUdeviceptr)(uintptr_t)there, BYTES, 6);
    stream = wrap_native(new_stream(), 0);
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
    {"files in another byte order are transferred", transfer_swapped, prepare_swapped, finish_folder, 0, 0, 0},
    {"files are converted", transfer_converted, prepare_swapped, finish_folder, 0, 0, 0},
    {"files are converted with a device", transfer_converted_with_a_device, prepare_swapped_and_device, finish_folder,
     0, 0, 0},
    {"a calibration is kept", keep_a_calibration, prepare_folder, finish_folder, 0, 0, 0},
    {"a device is calibrated", calibrate, NULL, NULL, 0, 1, 0},
    {NULL, NULL, NULL, NULL, 0, 0, 0},
};
