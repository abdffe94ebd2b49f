/* Tasks that are asked, joined, listened to, detached and cancelled. */
#include "scenario.h"

enum { BYTES = 4096 };

static unsigned char from[BYTES];
static unsigned char to[BYTES];

static void prepare_bytes(void) {
    fill_pattern(from, BYTES, 4);
    memset(to, 0, BYTES);
}

static void note_end(int32_t status, const char *text, void *context) {
    (void)status;
    (void)text;
    report_owner(context);
}

static via_status detach_a_task(void) {
    via_status status = VIA_OK;
    via_array *dst = NULL;
    via_array *src = NULL;
    via_task *task = NULL;
    owner *listener = new_owner(NULL, 0);
    THEN(export(to, BYTES, VIA_DEVICE_CPU, 0, &dst));
    THEN(export(from, BYTES, VIA_DEVICE_CPU, 0, &src));
    THEN(via_copy_submit(dst, src, NULL, &task));
    THEN(via_task_on_complete(task, note_end, listener));
    listener->exported = status == VIA_OK;
    via_task_retain(task);
    via_task_release(task);
    via_task_release(task);
    via_array_release(dst);
    via_array_release(src);
    return status;
}

/* As a rule it is cancelled before its stream gets there. */
static via_status cancel_a_task(void) {
    via_status status = VIA_OK;
    via_array *dst = NULL;
    via_array *src = NULL;
    via_stream *stream = NULL;
    via_task *task = NULL;
    owner *listener = new_owner(NULL, 0);
    THEN(via_stream_create(0, &stream));
    if (stream != NULL) {
        fake(fake_stream_delay)(via_stream_handle(stream), 1000);
    }
    THEN(export(to, BYTES, VIA_DEVICE_CPU, 0, &dst));
    THEN(export(from, BYTES, VIA_DEVICE_CPU, 0, &src));
    THEN(via_array_set_ready(src, stream));
    THEN(via_copy_submit(dst, src, stream, &task));
    THEN(via_task_on_complete(task, note_end, listener));
    listener->exported = status == VIA_OK;
    THEN(via_task_cancel(task));
    via_task_release(task);
    via_array_release(dst);
    via_array_release(src);
    via_stream_release(stream);
    return status;
}

const scenario task_scenarios[] = {
    {"a task is detached", detach_a_task, prepare_bytes, NULL, 1, 0, 0},
    {"a task is cancelled", cancel_a_task, prepare_bytes, NULL, 1, 0, 0},
    {NULL, NULL, NULL, NULL, 0, 0, 0},
};
