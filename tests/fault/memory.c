/* Memory of every kind that the library makes, and of the caller's own allocators. */
#include "scenario.h"

static int32_t kind;

static via_status make_one(int32_t of_kind, via_stream *stream) {
    via_status status = VIA_OK;
    via_memory *memory = NULL;
    via_array *array = NULL;
    THEN(via_memory_create(of_kind, 0, &memory));
    THEN(via_empty(memory, VIA_FLOAT32, 2, SHAPE(16, 16), stream, &array));
    HOLDS(via_array_device_type(array) == via_memory_device_type(memory));
    HOLDS(via_array_device_id(array) == via_memory_device_id(memory));
    if (of_kind != VIA_MEMORY_HOST) {
        THEN(via_array_record_stream(array, stream != NULL ? stream : via_stream_legacy()));
    }
    via_memory_retain(memory);
    via_memory_release(memory);
    via_memory_release(memory);
    via_array_release(array);
    return status;
}

static via_status make_host_memory(void) {
    via_status status = VIA_OK;
    via_array *array = NULL;
    via_array *large = NULL;
    THEN(make_one(VIA_MEMORY_HOST, NULL));
    THEN(via_empty(NULL, VIA_FLOAT32, 2, SHAPE(3, 4), NULL, &array));
    THEN(via_empty(NULL, VIA_UINT8, 1, SHAPE(5 << 20), NULL, &large));
    via_array_release(array);
    via_array_release(large);
    return status;
}

static via_status make_memory_of_a_device(void) {
    via_status status = VIA_OK;
    THEN(make_one(VIA_MEMORY_PINNED, NULL));
    THEN(make_one(VIA_MEMORY_DEVICE, NULL));
    THEN(make_one(VIA_MEMORY_MANAGED, NULL));
    return status;
}

/* Enough for the library to lock pages of its own. */
static via_status make_much_pinned_memory(void) {
    via_status status = VIA_OK;
    via_memory *memory = NULL;
    via_array *array = NULL;
    THEN(via_memory_create(VIA_MEMORY_PINNED, 0, &memory));
    THEN(via_empty(memory, VIA_UINT8, 1, SHAPE(5 << 20), NULL, &array));
    via_array_release(array);
    via_memory_release(memory);
    return status;
}

/* That there is not so much is no failure here; anything else is. */
static via_status ask_for_too_much(void) {
    via_status status = VIA_OK;
    via_memory *memory = NULL;
    via_array *array = NULL;
    THEN(via_memory_create(VIA_MEMORY_DEVICE, 0, &memory));
    THEN(via_empty(memory, VIA_UINT8, 1, SHAPE(INT64_C(1) << 50), NULL, &array));
    if (memory != NULL && status == VIA_ERROR_OUT_OF_MEMORY) {
        status = VIA_OK;
    }
    via_array_release(array);
    via_memory_release(memory);
    return status;
}

static via_status make_pool_memory(void) {
    via_status status = VIA_OK;
    via_stream *stream = NULL;
    THEN(via_stream_create(0, &stream));
    THEN(make_one(VIA_MEMORY_DEVICE_POOL, NULL));
    THEN(make_one(VIA_MEMORY_DEVICE_POOL, stream));
    THEN(via_stream_synchronize(stream));
    via_stream_release(stream);
    return status;
}

/* An allocator that parcels out one block, and knows what it has given. */
static char *parcel;
static atomic_int given;
static atomic_int taken_back;

static int32_t give(int64_t nbytes, int64_t alignment, void *stream, void *context, void **out_address) {
    (void)alignment;
    (void)stream;
    (void)context;
    if (nbytes > 1024) {
        return 1;
    }
    atomic_fetch_add(&given, 1);
    *out_address = parcel;
    return 0;
}

static void take_back(void *address, int64_t nbytes, void *stream, void *context) {
    (void)nbytes;
    (void)stream;
    (void)context;
    atomic_fetch_add(&taken_back, address == parcel ? 1 : 1000);
}

static void prepare_allocator(void) {
    atomic_store(&given, 0);
    atomic_store(&taken_back, 0);
    parcel = kind == VIA_DEVICE_CUDA ? (char *)(uintptr_t)device_memory(1024) : aligned_alloc(64, 1024);
}

static void prepare_own_host(void) {
    kind = VIA_DEVICE_CPU;
    prepare_allocator();
}

static void prepare_own_device(void) {
    kind = VIA_DEVICE_CUDA;
    prepare_allocator();
}

static void finish_allocator(void) {
    if (atomic_load(&given) != atomic_load(&taken_back)) {
        complain("the allocator gave %d blocks and was given %d", atomic_load(&given), atomic_load(&taken_back));
    }
    if (kind == VIA_DEVICE_CPU) {
        free(parcel);
    }
}

static via_status use_own_allocator(void) {
    via_status status = VIA_OK;
    via_memory *memory = NULL;
    via_array *array = NULL;
    via_stream *stream = NULL;
    owner *who = new_owner(NULL, 0);
    if (kind == VIA_DEVICE_CUDA) {
        THEN(via_stream_create(0, &stream));
    }
    THEN(via_memory_create_custom(kind, 0, give, NULL, take_back, NULL, report_owner, who, &memory));
    who->exported = memory != NULL;
    THEN(via_empty(memory, VIA_UINT8, 1, SHAPE(1024), stream, &array));
    if (kind == VIA_DEVICE_CUDA) {
        THEN(via_fill(array, NULL, stream));
    }
    via_array_release(array);
    via_memory_release(memory);
    via_stream_release(stream);
    return status;
}

const scenario memory_scenarios[] = {
    {"host memory is made", make_host_memory, NULL, NULL, 0, 0, 0},
    {"memory of a device is made", make_memory_of_a_device, NULL, NULL, 1, 0, 0},
    {"much pinned memory is made", make_much_pinned_memory, NULL, NULL, 0, 0, 0},
    {"more of a device is asked for than there is", ask_for_too_much, NULL, NULL, 0, 0, 0},
    {"pool memory is made", make_pool_memory, NULL, NULL, 1, 0, 0},
    {"an allocator of the caller's is used", use_own_allocator, prepare_own_host, finish_allocator, 0, 0, 0},
    {"an allocator of the caller's is used for a device", use_own_allocator, prepare_own_device, finish_allocator, 0, 0,
     0},
    {NULL, NULL, NULL, NULL, 0, 0, 0},
};
