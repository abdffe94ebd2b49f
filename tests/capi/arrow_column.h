/* Arrow's structs by their published layout, and a producer of columns that can be made to break any rule. */
#ifndef VIADUCT_TESTS_ARROW_COLUMN_H
#define VIADUCT_TESTS_ARROW_COLUMN_H

#include "support.h"

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *schema);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *array);
    void *private_data;
};

struct ArrowDeviceArray {
    struct ArrowArray array;
    int64_t device_id;
    int32_t device_type;
    void *sync_event;
    int64_t reserved[3];
};

enum { MOST_LEVELS = 70 };

/* A column of nested fixed-size lists: level 0 is offered, the last one holds the values. */
typedef struct column {
    struct ArrowSchema schema[MOST_LEVELS];
    struct ArrowDeviceArray offered;
    struct ArrowArray inner[MOST_LEVELS]; /* [0] is not used */
    struct ArrowSchema *schema_child[MOST_LEVELS];
    struct ArrowArray *inner_child[MOST_LEVELS];
    const void *buffers[MOST_LEVELS][2];
    char formats[MOST_LEVELS][24];
    int32_t values[64];
    int schemas_released;
    int columns_released;
} column;

static inline void release_column_schema(struct ArrowSchema *schema) {
    ((column *)schema->private_data)->schemas_released++;
    schema->release = NULL;
}

static inline void release_column_array(struct ArrowArray *array) {
    ((column *)array->private_data)->columns_released++;
    array->release = NULL;
}

static inline void never_release_schema(struct ArrowSchema *schema) { schema->release = NULL; }
static inline void never_release_array(struct ArrowArray *array) { array->release = NULL; }

static inline struct ArrowArray *level_of(column *made, int32_t level) {
    return level == 0 ? &made->offered.array : &made->inner[level];
}

/* `levels` lists of sizes[i] inside one another around int32 values; `rows` of them. */
static inline void make_column(column *made, int64_t rows, int32_t levels, const int64_t *sizes) {
    memset(made, 0, sizeof *made);
    for (int32_t i = 0; i < 64; ++i) {
        made->values[i] = i;
    }
    int64_t length = rows;
    for (int32_t i = 0; i <= levels; ++i) {
        const int is_list = i < levels;
        struct ArrowSchema *schema = &made->schema[i];
        struct ArrowArray *array = level_of(made, i);
        snprintf(made->formats[i], sizeof made->formats[i], is_list ? "+w:%lld" : "i",
                 (long long)(is_list ? sizes[i] : 0));
        *schema = (struct ArrowSchema){.format = made->formats[i],
                                       .name = "",
                                       .n_children = is_list,
                                       .children = is_list ? &made->schema_child[i] : NULL,
                                       .release = i == 0 ? release_column_schema : never_release_schema,
                                       .private_data = made};
        *array = (struct ArrowArray){.length = length,
                                     .n_buffers = is_list ? 1 : 2,
                                     .n_children = is_list,
                                     .buffers = made->buffers[i],
                                     .children = is_list ? &made->inner_child[i] : NULL,
                                     .release = i == 0 ? release_column_array : never_release_array,
                                     .private_data = made};
        made->schema_child[i] = &made->schema[i + 1];
        made->inner_child[i] = &made->inner[i + 1];
        length *= is_list ? sizes[i] : 1;
    }
    made->buffers[levels][1] = made->values;
    made->offered.device_id = -1;
    made->offered.device_type = VIA_DEVICE_CPU;
}

/* What fixed_shape_tensor metadata looks like; `json` is the shape's. Into metadata[256]. */
static inline const char *tensor_metadata(const char *name, const char *json, char *metadata) {
    const char *pairs[4] = {"ARROW:extension:name", name, "ARROW:extension:metadata", json};
    int32_t number = 2;
    char *at = metadata;
    memcpy(at, &number, sizeof number);
    at += sizeof number;
    for (int32_t i = 0; i < 4; ++i) {
        number = (int32_t)strlen(pairs[i]);
        memcpy(at, &number, sizeof number);
        at += sizeof number;
        memcpy(at, pairs[i], (size_t)number);
        at += number;
    }
    assert_true(at - metadata <= 256);
    return metadata;
}

#endif
