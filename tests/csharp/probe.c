/*
 * Another native library of the process: what the C# tests meet on the other side. It takes and gives arrays by DLPack
 * alone, calls back from threads of its own, and reports how C lays out the structs of the header.
 */
#define _GNU_SOURCE /* memfd_create */

#include <dlpack/dlpack.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <viaduct/viaduct.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void probe_empty(void *handle) { (void)handle; }

/* --------------------------------------------------------------------------------------------------- exchange */

/* Consumes a row-major tensor of float64: doubles every element and returns their sum; -1 for anything else. */
EXPORT double probe_double_and_delete(DLManagedTensorVersioned *tensor) {
    const DLTensor *t = &tensor->dl_tensor;
    double sum = -1;
    if (t->dtype.code == kDLFloat && t->dtype.bits == 64 && t->device.device_type == kDLCPU) {
        double *values = (double *)((char *)t->data + t->byte_offset);
        int64_t count = 1;
        for (int i = 0; i < t->ndim; ++i) {
            count *= t->shape[i];
        }
        sum = 0;
        for (int64_t i = 0; i < count; ++i) {
            values[i] *= 2;
            sum += values[i];
        }
    }
    tensor->deleter(tensor);
    return sum;
}

typedef struct exported {
    DLManagedTensorVersioned tensor;
    int64_t shape[2];
    int64_t strides[2];
    int32_t values[6];
} exported;

static int deleted;

static void delete_exported(DLManagedTensorVersioned *tensor) {
    ++deleted;
    free(tensor->manager_ctx);
}

EXPORT int probe_deleted(void) { return deleted; }

/* A 2 x 3 tensor of int32, 0 to 5, of memory of this library's. */
EXPORT DLManagedTensorVersioned *probe_make_tensor(void) {
    exported *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    for (int i = 0; i < 6; ++i) {
        made->values[i] = i;
    }
    made->shape[0] = 2;
    made->shape[1] = 3;
    made->strides[0] = 3;
    made->strides[1] = 1;
    made->tensor = (DLManagedTensorVersioned){
        .version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION},
        .manager_ctx = made,
        .deleter = delete_exported,
        .dl_tensor = {.data = made->values,
                      .device = {kDLCPU, 0},
                      .ndim = 2,
                      .dtype = {kDLInt, 32, 1},
                      .shape = made->shape,
                      .strides = made->strides},
    };
    return &made->tensor;
}

EXPORT void probe_set_version(DLManagedTensorVersioned *tensor, uint32_t major) { tensor->version.major = major; }

/* ---------------------------------------------------------------------------------------------------- threads */

static void *delete_it(void *tensor) {
    via_dlpack_delete(tensor);
    return NULL;
}

/*
 * Releases a tensor on a thread that the runtime has never seen, and that blocks every signal as those of the library
 * do; returns when the thread has gone.
 */
EXPORT int probe_delete_on_thread(DLManagedTensorVersioned *tensor) {
    sigset_t all;
    sigset_t before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&thread, NULL, delete_it, tensor);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed || pthread_join(thread, NULL);
}

/* A file of so many bytes that is nowhere but in memory, opened; -1 if there is none. */
EXPORT int probe_open_file(int nbytes) {
    const int file = memfd_create("probe", MFD_ALLOW_SEALING);
    return file >= 0 && ftruncate(file, nbytes) == 0 ? file : -1;
}

/* From then on writing to it fails, with EPERM, for whoever has opened it. */
EXPORT int probe_seal_file(int file) { return fcntl(file, F_ADD_SEALS, F_SEAL_WRITE); }

EXPORT void probe_close_file(int file) { close(file); }

/* Releases a tensor on a thread that nobody waits for. */
EXPORT int probe_delete_behind(DLManagedTensorVersioned *tensor) {
    pthread_t thread;
    return pthread_create(&thread, NULL, delete_it, tensor) || pthread_detach(thread);
}

/* Tensors for a thread that lives on when it has released them, and the barrier at which it says so. */
typedef struct errand {
    DLManagedTensorVersioned *tensors[2];
    pthread_barrier_t done;
} errand;

static void *delete_and_stay(void *given) {
    errand *own = given;
    via_dlpack_delete(own->tensors[0]);
    via_dlpack_delete(own->tensors[1]);
    pthread_barrier_wait(&own->done);
    for (unsigned seconds = 60; seconds > 0;) {
        seconds = sleep(seconds); /* a signal ends it early */
    }
    return NULL;
}

/* Releases two tensors on a thread that stays; returns when it has. */
EXPORT int probe_delete_and_stay(DLManagedTensorVersioned *first, DLManagedTensorVersioned *second) {
    static errand sent;
    pthread_t thread;
    sent = (errand){.tensors = {first, second}};
    if (pthread_barrier_init(&sent.done, NULL, 2) || pthread_create(&thread, NULL, delete_and_stay, &sent)) {
        return 1;
    }
    pthread_barrier_wait(&sent.done);
    return pthread_detach(thread);
}

static DLManagedTensorVersioned *left[4];

static void delete_left(void) {
    for (size_t i = 0; i < sizeof left / sizeof *left && left[i] != NULL; ++i) {
        via_dlpack_delete(left[i]);
    }
}

/* Releases at most four tensors when the process ends, after the runtime has. */
EXPORT void probe_delete_at_exit(DLManagedTensorVersioned *tensor) {
    size_t i = 0;
    while (left[i] != NULL) {
        ++i;
    }
    left[i] = tensor;
    if (i == 0) {
        atexit(delete_left);
    }
}

/* ---------------------------------------------------------------------------------------------------- layouts */

typedef struct field {
    const char *layout; /* the struct in C# */
    const char *name;   /* "" for the size of the whole */
    int offset;
} field;

#define FIELD(LAYOUT, TYPE, NAME) {LAYOUT, #NAME, (int)offsetof(TYPE, NAME)}
#define SIZE(LAYOUT, TYPE) {LAYOUT, "", (int)sizeof(TYPE)}

static const field kFields[] = {
    SIZE("DevicePropertiesLayout", via_device_properties),
    FIELD("DevicePropertiesLayout", via_device_properties, struct_size),
    FIELD("DevicePropertiesLayout", via_device_properties, device_type),
    FIELD("DevicePropertiesLayout", via_device_properties, device_id),
    FIELD("DevicePropertiesLayout", via_device_properties, compute_capability),
    FIELD("DevicePropertiesLayout", via_device_properties, driver_version),
    FIELD("DevicePropertiesLayout", via_device_properties, num_threads),
    FIELD("DevicePropertiesLayout", via_device_properties, total_bytes),
    FIELD("DevicePropertiesLayout", via_device_properties, staging_bytes),
    FIELD("DevicePropertiesLayout", via_device_properties, name),
    FIELD("DevicePropertiesLayout", via_device_properties, routes),
    SIZE("StatsLayout", via_stats_info),
    FIELD("StatsLayout", via_stats_info, struct_size),
    FIELD("StatsLayout", via_stats_info, pad),
    FIELD("StatsLayout", via_stats_info, live_arrays),
    FIELD("StatsLayout", via_stats_info, live_storages),
    FIELD("StatsLayout", via_stats_info, outstanding_exports),
    FIELD("StatsLayout", via_stats_info, pending_releases),
    FIELD("StatsLayout", via_stats_info, host_bytes),
    FIELD("StatsLayout", via_stats_info, pinned_bytes),
    FIELD("StatsLayout", via_stats_info, device_bytes),
    FIELD("StatsLayout", via_stats_info, managed_bytes),
    FIELD("StatsLayout", via_stats_info, staged_bytes),
    FIELD("StatsLayout", via_stats_info, pending_tasks),
    SIZE("PointerInfoLayout", via_pointer_info),
    FIELD("PointerInfoLayout", via_pointer_info, struct_size),
    FIELD("PointerInfoLayout", via_pointer_info, device_type),
    FIELD("PointerInfoLayout", via_pointer_info, device_id),
    FIELD("PointerInfoLayout", via_pointer_info, read_only),
    FIELD("PointerInfoLayout", via_pointer_info, base_address),
    FIELD("PointerInfoLayout", via_pointer_info, nbytes),
    SIZE("DlpackOptionsLayout", via_dlpack_options),
    FIELD("DlpackOptionsLayout", via_dlpack_options, struct_size),
    FIELD("DlpackOptionsLayout", via_dlpack_options, max_major),
    FIELD("DlpackOptionsLayout", via_dlpack_options, max_minor),
    FIELD("DlpackOptionsLayout", via_dlpack_options, target_device_type),
    FIELD("DlpackOptionsLayout", via_dlpack_options, target_device_id),
    FIELD("DlpackOptionsLayout", via_dlpack_options, copy),
    SIZE("ArrayInterfaceLayout", via_array_interface),
    FIELD("ArrayInterfaceLayout", via_array_interface, struct_size),
    FIELD("ArrayInterfaceLayout", via_array_interface, version),
    FIELD("ArrayInterfaceLayout", via_array_interface, ndim),
    FIELD("ArrayInterfaceLayout", via_array_interface, read_only),
    FIELD("ArrayInterfaceLayout", via_array_interface, has_strides),
    FIELD("ArrayInterfaceLayout", via_array_interface, has_stream),
    FIELD("ArrayInterfaceLayout", via_array_interface, stream),
    FIELD("ArrayInterfaceLayout", via_array_interface, address),
    FIELD("ArrayInterfaceLayout", via_array_interface, shape),
    FIELD("ArrayInterfaceLayout", via_array_interface, strides),
    FIELD("ArrayInterfaceLayout", via_array_interface, typestr),
    SIZE("ConvertOptionsLayout", via_convert_options),
    FIELD("ConvertOptionsLayout", via_convert_options, struct_size),
    FIELD("ConvertOptionsLayout", via_convert_options, casting),
    FIELD("ConvertOptionsLayout", via_convert_options, overflow),
    FIELD("ConvertOptionsLayout", via_convert_options, byte_order),
    FIELD("ConvertOptionsLayout", via_convert_options, scale),
    FIELD("ConvertOptionsLayout", via_convert_options, offset),
    FIELD("ConvertOptionsLayout", via_convert_options, scale_count),
    FIELD("ConvertOptionsLayout", via_convert_options, scale_axis),
    FIELD("ConvertOptionsLayout", via_convert_options, pad),
    SIZE("FileOptionsLayout", via_file_options),
    FIELD("FileOptionsLayout", via_file_options, struct_size),
    FIELD("FileOptionsLayout", via_file_options, mode),
    FIELD("FileOptionsLayout", via_file_options, file_format),
    FIELD("FileOptionsLayout", via_file_options, column_major),
    FIELD("FileOptionsLayout", via_file_options, durable),
    FIELD("FileOptionsLayout", via_file_options, atomic_write),
    FIELD("FileOptionsLayout", via_file_options, page_cache),
    FIELD("FileOptionsLayout", via_file_options, as_bytes),
    SIZE("FilePropertiesLayout", via_file_properties),
    FIELD("FilePropertiesLayout", via_file_properties, struct_size),
    FIELD("FilePropertiesLayout", via_file_properties, file_format),
    FIELD("FilePropertiesLayout", via_file_properties, dtype),
    FIELD("FilePropertiesLayout", via_file_properties, ndim),
    FIELD("FilePropertiesLayout", via_file_properties, column_major),
    FIELD("FilePropertiesLayout", via_file_properties, byte_order),
    FIELD("FilePropertiesLayout", via_file_properties, nbytes),
    FIELD("FilePropertiesLayout", via_file_properties, byte_offset),
    FIELD("FilePropertiesLayout", via_file_properties, shape),
};

/* Where a field is; the size for ""; -1 for a name that is not there. */
EXPORT int probe_offset(const char *layout, const char *name) {
    for (size_t i = 0; i < sizeof kFields / sizeof *kFields; ++i) {
        if (strcmp(kFields[i].layout, layout) == 0 && strcmp(kFields[i].name, name) == 0) {
            return kFields[i].offset;
        }
    }
    return -1;
}

EXPORT int probe_field_count(const char *layout) {
    int count = -1; /* the size is no field */
    for (size_t i = 0; i < sizeof kFields / sizeof *kFields; ++i) {
        count += strcmp(kFields[i].layout, layout) == 0;
    }
    return count;
}
