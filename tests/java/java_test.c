/*
 * Another native library in the process of a JVM: it takes and exports arrays by DLPack, and calls from threads that
 * the JVM does not know. The native methods of org.viaduct.TestLibrary.
 */
#include <dlpack/dlpack.h>
#include <jni.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "viaduct/viaduct.h"

#define NATIVE(TYPE, NAME) JNIEXPORT TYPE JNICALL Java_org_viaduct_TestLibrary_##NAME

/* -------------------------------------------------------------------------------------------- DLPack */

static void *address_of(jlong number) { return (void *)(intptr_t)number; }

/* Adds up the float32 elements of a matrix, and doubles them where they are. */
static double sum_and_double(via_array *array) {
    const int64_t *shape = via_array_shape(array);
    const int64_t *strides = via_array_strides(array);
    float *data = via_array_data(array);
    double sum = 0;
    for (int64_t row = 0; row < shape[0]; ++row) {
        for (int64_t column = 0; column < shape[1]; ++column) {
            float *element = data + row * strides[0] + column * strides[1];
            sum += *element;
            *element *= 2;
        }
    }
    return sum;
}

/* Imports the tensor; returns -1 if that is refused. */
NATIVE(jdouble, sumAndDouble)(JNIEnv *jenv, jclass owner, jlong tensor) {
    via_array *array = NULL;
    (void)jenv;
    (void)owner;
    if (via_from_dlpack(address_of(tensor), NULL, NULL, &array) != VIA_OK) {
        return -1;
    }
    double sum = sum_and_double(array);
    via_array_release(array);
    return sum;
}

enum { ROWS = 3, COLUMNS = 4 };

static float exported_numbers[ROWS * COLUMNS];
static int exported_and_ended;

static void end_borrow(DLManagedTensorVersioned *tensor) {
    free(tensor);
    ++exported_and_ended;
}

/* A tensor made without Viaduct: the numbers 0 to 11, as 3 by 4. */
NATIVE(jlong, export)(JNIEnv *jenv, jclass owner) {
    static int64_t shape[] = {ROWS, COLUMNS};
    static int64_t strides[] = {COLUMNS, 1};
    DLManagedTensorVersioned *tensor = calloc(1, sizeof *tensor);
    (void)jenv;
    (void)owner;
    for (int i = 0; i < ROWS * COLUMNS; ++i) {
        exported_numbers[i] = (float)i;
    }
    tensor->version.major = 1;
    tensor->deleter = end_borrow;
    tensor->dl_tensor.data = exported_numbers;
    tensor->dl_tensor.device.device_type = kDLCPU;
    tensor->dl_tensor.ndim = 2;
    tensor->dl_tensor.dtype = (DLDataType){kDLFloat, 32, 1};
    tensor->dl_tensor.shape = shape;
    tensor->dl_tensor.strides = strides;
    return (jlong)(intptr_t)tensor;
}

NATIVE(jint, ended)(JNIEnv *jenv, jclass owner) {
    (void)jenv;
    (void)owner;
    return exported_and_ended;
}

NATIVE(jfloat, exportedNumber)(JNIEnv *jenv, jclass owner, jint at) {
    (void)jenv;
    (void)owner;
    return exported_numbers[at];
}

/* -------------------------------------------------------------------------------------------- threads and memory */

static void *delete_tensor(void *tensor) {
    via_dlpack_delete(tensor);
    return NULL;
}

/* Ends a tensor on a thread that the JVM does not know, and waits for that thread. */
NATIVE(void, deleteOnForeignThread)(JNIEnv *jenv, jclass owner, jlong tensor) {
    pthread_t thread;
    (void)jenv;
    (void)owner;
    if (pthread_create(&thread, NULL, delete_tensor, address_of(tensor)) == 0) {
        pthread_join(thread, NULL);
    }
}

typedef struct {
    JavaVM *machine;
    void *tensors[2];
} Visit;

/* As code does that knows nothing of the library: it attaches the thread for a while, and detaches it. */
static void visit_the_machine(JavaVM *machine) {
    void *found = NULL;
    if ((*machine)->AttachCurrentThread(machine, &found, NULL) == JNI_OK) {
        (*machine)->DetachCurrentThread(machine);
    }
}

static void *delete_around_a_visit(void *given) {
    Visit *visit = given;
    via_dlpack_delete(visit->tensors[0]);
    visit_the_machine(visit->machine);
    via_dlpack_delete(visit->tensors[1]);
    return NULL;
}

/* Ends one tensor on a thread that the JVM does not know, which is then detached by others, and another after that. */
NATIVE(void, deleteAroundADetach)(JNIEnv *jenv, jclass owner, jlong first, jlong second) {
    pthread_t thread;
    Visit visit = {NULL, {address_of(first), address_of(second)}};
    (void)owner;
    if ((*jenv)->GetJavaVM(jenv, &visit.machine) == JNI_OK &&
        pthread_create(&thread, NULL, delete_around_a_visit, &visit) == 0) {
        pthread_join(thread, NULL);
    }
}

enum { MOST_LEFT = 64 };

static void *_Atomic left[MOST_LEFT];

static void end_what_is_left(void) {
    for (int i = 0; i < MOST_LEFT; ++i) {
        via_dlpack_delete(atomic_exchange(&left[i], NULL));
    }
}

static void *keep_ending(void *unused) {
    for (;;) {
        end_what_is_left();
    }
    return unused;
}

/* Ends the tensors of leave() when the process ends: behind the JVM, or while it is ending. */
NATIVE(void, endAtExit)(JNIEnv *jenv, jclass owner) {
    (void)jenv;
    (void)owner;
    atexit(end_what_is_left);
}

/* Ends them at once, on a thread that the JVM does not know and that goes on as long as the process. */
NATIVE(void, endOnAndOn)(JNIEnv *jenv, jclass owner) {
    pthread_t thread;
    (void)jenv;
    (void)owner;
    if (pthread_create(&thread, NULL, keep_ending, NULL) == 0) {
        pthread_detach(thread);
    }
}

/* Leaves a tensor to C; it is ended here if there is no room for it. */
NATIVE(void, leave)(JNIEnv *jenv, jclass owner, jlong tensor) {
    void *given = address_of(tensor);
    (void)jenv;
    (void)owner;
    for (int i = 0; i < MOST_LEFT && given != NULL; ++i) {
        void *none = NULL;
        given = atomic_compare_exchange_strong(&left[i], &none, given) ? NULL : given;
    }
    via_dlpack_delete(given);
}

NATIVE(jlong, allocate)(JNIEnv *jenv, jclass owner, jlong nbytes, jlong alignment) {
    void *made = NULL;
    (void)jenv;
    (void)owner;
    return posix_memalign(&made, (size_t)alignment, (size_t)nbytes) == 0 ? (jlong)(intptr_t)made : 0;
}

NATIVE(void, free)(JNIEnv *jenv, jclass owner, jlong address) {
    (void)jenv;
    (void)owner;
    free(address_of(address));
}

NATIVE(jlong, freeFunction)(JNIEnv *jenv, jclass owner) {
    (void)jenv;
    (void)owner;
    return (jlong)(intptr_t)free;
}

/* The process's address space in bytes; 0 if it is not known. */
static rlim_t address_space(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    const int read = file != NULL ? fscanf(file, "%lu", &pages) : 0;
    if (file != NULL) {
        fclose(file);
    }
    return read == 1 ? (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) : 0;
}

/* Lets the address space grow by so many bytes; by any number if that is negative. Answers whether it was so set. */
NATIVE(jboolean, limitGrowth)(JNIEnv *jenv, jclass owner, jlong nbytes) {
    struct rlimit limit;
    const rlim_t now = address_space();
    (void)jenv;
    (void)owner;
    if (now == 0 || getrlimit(RLIMIT_AS, &limit) != 0) {
        return JNI_FALSE;
    }
    limit.rlim_cur = nbytes < 0 ? limit.rlim_max : now + (rlim_t)nbytes;
    return setrlimit(RLIMIT_AS, &limit) == 0 ? JNI_TRUE : JNI_FALSE;
}
