/* Sixteen threads at everything, in host memory. Run under ThreadSanitizer too. */
#include "stress.h"

static const action actions[] = {HOST_ACTIONS};

/* Without forks: a child of a process that is ending has nobody to wait for it. */
static const action actions_until_exit[] = {{wrap_one, 4}, {view_one, 4},  {export_one, 2}, {import_one, 2},
                                            {copy_one, 2}, {share_one, 2}, {submit_one, 4}, {meet_a_task, 2}};

static void exit_with_host_arrays(void) { exit_in_the_middle(actions_until_exit, LENGTH(actions_until_exit)); }

static const scene scenes[] = {SCENE(exit_with_host_arrays)};

static void whatever_threads_do_at_once_each_owner_is_reported_once(void **state) {
    (void)state;
    stress("host", actions, LENGTH(actions), 1);
}

static void a_program_may_end_while_its_threads_are_at_it(void **state) {
    (void)state;
    expect_exits("exit_with_host_arrays");
}

int main(int count, char **arguments) {
    if (count > 1) {
        return play_named(count, arguments, scenes, LENGTH(scenes)) == 0 ? 0 : 2;
    }
    const struct CMUnitTest tests[] = {
        TEST(whatever_threads_do_at_once_each_owner_is_reported_once),
        TEST(a_program_may_end_while_its_threads_are_at_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
