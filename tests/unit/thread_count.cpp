// How many threads the process was given to use.
#include "core/system/thread_count.hpp"

#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "copy_support.hpp"

namespace {

// What is set while the library asks for CPUs, as by another thread; 0 for nothing.
int32_t set_meanwhile = 0;

}  // namespace

extern "C" int sched_getaffinity(pid_t pid, size_t nbytes, cpu_set_t *cpus) noexcept {
    if (set_meanwhile > 0) {
        (void)!via::set_num_threads(set_meanwhile);
    }
    std::memset(cpus, 0, nbytes);
    return syscall(SYS_sched_getaffinity, pid, nbytes, cpus) < 0 ? -1 : 0;
}

namespace {

void there_are_as_many_threads_as_cpus(void **) {
    assert_int_equal(via::set_num_threads(0), VIA_OK);
    assert_int_in_range(via::usable_cpus(), 1, via::kMostThreads);
    assert_int_equal(via::num_threads(), via::usable_cpus());
}

void a_count_that_is_set_stands(void **) {
    assert_int_equal(via::set_num_threads(7), VIA_OK);
    assert_int_equal(via::num_threads(), 7);
}

void a_count_that_is_set_while_the_default_is_found_stands(void **) {
    assert_int_equal(via::set_num_threads(0), VIA_OK);
    set_meanwhile = 900;
    assert_int_equal(via::num_threads(), 900);
    set_meanwhile = 0;
    assert_int_equal(via::num_threads(), 900);
}

}  // namespace

int main() {
    unsetenv("VIADUCT_NUM_THREADS");
    const CMUnitTest tests[] = {
        cmocka_unit_test(there_are_as_many_threads_as_cpus),
        cmocka_unit_test(a_count_that_is_set_stands),
        cmocka_unit_test(a_count_that_is_set_while_the_default_is_found_stands),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
