// What the tests of one storage's fences share: an array whose release is counted, and calls that use or write it.
#pragma once

#include <pthread.h>

#include "core/array/access_tracker.hpp"
#include "core/base/thread_state.hpp"
#include "pending_work.hpp"

namespace {  // where write is not POSIX's

std::atomic<int32_t> released{0};
pthread_t released_on;

inline void note_release(void *) {
    released_on = pthread_self();
    released++;
}

inline via_array *make_array(via_release_fn release = note_release, void *context = nullptr) {
    static char bytes[16];
    const int64_t shape[] = {16};
    const via::ArraySpec spec{.data = bytes, .dtype = VIA_INT8, .ndim = 1, .shape = shape};
    via_array *array = nullptr;
    assert_int_equal(via::make_array(spec, via::borrowed(release, context), &array), VIA_OK);
    return array;
}

inline via_array *view_of(via_array *array) {
    via_array *view = nullptr;
    assert_int_equal(via::make_view(array, array->data, array->dtype, via::layout_of(array), 0, &view), VIA_OK);
    return view;
}

inline void use(via_array *array, FakeFence *fence) {
    assert_int_equal(via::add_access(array->storage, fence), VIA_OK);
}
// A write of a call that began when its fence was made.
inline void end_write(via_array *array, FakeFence *fence) {
    assert_int_equal(via::set_last_write(array->storage, fence), VIA_OK);
}
inline void write(via_array *array, FakeFence *fence) {
    fence->see_writes();
    end_write(array, fence);
}

inline bool is_ready(via_array *array) {
    const via::UniqueFence fence(via::last_write(array->storage));
    return fence.get() == nullptr;
}

inline int64_t pending() { return via::total(via::Counter::PendingReleases); }

inline int begin(void **) {
    released = 0;
    return 0;
}

inline int all_is_gone(void **) {
    return eventually(
               [] { return FakeFence::alive.load() == 0 && pending() == 0 && via::total(via::Counter::Storages) == 0; })
               ? 0
               : -1;
}

}  // namespace

#define ORDER_TEST(function) cmocka_unit_test_setup_teardown(function, begin, all_is_gone)
