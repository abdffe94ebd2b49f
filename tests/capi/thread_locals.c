/* A program with more thread-local memory than the stacks of the library's threads: glibc puts it on each stack. */
#include <dirent.h>

#include "support.h"

enum { side = 2000 };

static _Thread_local volatile char large[9 << 20];

static int count_threads(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    assert_non_null(folder);
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        count += entry->d_name[0] != '.';
    }
    closedir(folder);
    return count;
}

static void copies_are_helped_and_tasks_run(void **state) {
    via_array *src = NULL;
    via_array *transposed = NULL;
    via_array *dst = NULL;
    via_task *task = NULL;
    (void)state;
    large[0] = 1;
    ok(via_set_num_threads(4));
    ok(via_empty(NULL, VIA_FLOAT32, 2, SHAPE(side, side), NULL, &src));
    ok(via_empty(NULL, VIA_FLOAT32, 2, SHAPE(side, side), NULL, &dst));
    ok(via_array_permute(src, NULL, &transposed));
    ok(via_fill(src, &(float){3}, NULL));
    ok(via_copy(dst, transposed));
    assert_true(count_threads() > 1);
    ok(via_copy_submit(dst, transposed, NULL, &task));
    ok(via_task_wait(task));
    via_task_release(task);
    assert_true(((const float *)via_array_data(dst))[side] == 3);
    via_array_release(dst);
    via_array_release(transposed);
    via_array_release(src);
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST(copies_are_helped_and_tasks_run)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
