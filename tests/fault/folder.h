/* A folder of files for the time of a scenario's run: what is left in it is counted. */
#ifndef VIADUCT_TESTS_FAULT_FOLDER_H
#define VIADUCT_TESTS_FAULT_FOLDER_H

#include "../capi/file_support.h"
#include "scenario.h"

#include <sys/xattr.h>
#include <unistd.h>

enum { BYTES = 256 << 10 };

static char *bytes; /* BYTES of a pattern, which there.bin has too; aligned to a page */

static inline void prepare_folder(void) {
    assert_int_equal(make_scratch(NULL), 0);
    bytes = aligned_alloc(4096, BYTES);
    fill_pattern(bytes, BYTES, 5);
    put_file("there.bin", bytes, BYTES);
    (void)setxattr(path_of("there.bin"), "user.kept", "1", 1, 0); /* where the file system has such */
}

/* Removes there.bin and made.npy. Any other file is a complaint. */
static inline void finish_folder(void) {
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

/* Returns the first failure of `status` and the task, which may be NULL. */
static inline via_status wait_and_release(via_status status, via_task *task) {
    THEN(via_task_wait(task));
    via_task_release(task);
    return status;
}

#endif
