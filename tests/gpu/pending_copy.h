/* A call that may have to wait, on a thread of its own, so that the test can look at it and let it continue. */
#ifndef VIADUCT_TESTS_GPU_COPY_BEHIND_H
#define VIADUCT_TESTS_GPU_COPY_BEHIND_H

#include <pthread.h>
#include <time.h>

#include "copy_support.h"

typedef struct behind {
    via_array *dst;
    via_array *src;
    via_stream *stream;
    via_status (*call)(struct behind *self);
    pthread_t thread;
    atomic_int returned;
    via_status status;
    char text[512];
} behind;

static inline via_status call_copy(behind *self) { return via_copy(self->dst, self->src); }
static inline via_status call_copy_async(behind *self) { return via_copy_async(self->dst, self->src, self->stream); }
static inline via_status call_fill(behind *self) { return via_fill(self->dst, NULL, self->stream); }

static inline void *run_behind(void *context) {
    behind *self = context;
    self->status = self->call(self);
    snprintf(self->text, sizeof self->text, "%s", self->status == VIA_OK ? "" : via_last_error());
    atomic_store(&self->returned, 1);
    return NULL;
}

static inline void start_behind(behind *self) {
    atomic_store(&self->returned, 0);
    assert_int_equal(pthread_create(&self->thread, NULL, run_behind, self), 0);
}

/* Long enough for a call that does not wait to have returned. */
static inline void assert_waits(behind *self) {
    nanosleep(&(struct timespec){0, 30000000}, NULL);
    assert_int_equal(atomic_load(&self->returned), 0);
}

static inline void end_behind(behind *self) {
    pthread_join(self->thread, NULL);
    if (self->status != VIA_OK) {
        fail_msg("%s", self->text);
    }
}

/* Gives the stream a write of the pattern into a block that a device can write. From the device: between two blocks of
   pinned memory the driver's copies wait. */
static inline void write_behind(const block *to, unsigned seed, CUstream stream) {
    const CUdeviceptr from = device_memory((size_t)to->count);
    write_pattern(from, (size_t)to->count, seed);
    cu_ok(cu(cuMemcpyAsync)(number_of(to->data), from, (size_t)to->count, stream));
}

static inline int is_undone(via_task *task) {
    int32_t done = 7;
    nanosleep(&(struct timespec){0, 3000000}, NULL);
    ok(via_task_poll(task, &done));
    return !done;
}

/* Gives the stream something to do that nobody looks at. */
static inline void keep_busy(CUstream stream) { cu_ok(cu(cuMemsetD8Async)(device_memory(64), 0, 64, stream)); }

#endif
