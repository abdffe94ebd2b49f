// When the memory of a storage is released: after the last fence of its users, once, and on which thread.
#include "core/array/access_tracker.hpp"

#include <algorithm>

#include "tracked_array.hpp"

namespace {

void a_release_after_all_fences_runs_at_once_on_the_releasing_thread(void **) {
    via_array *array = make_array();
    for (int32_t i = 0; i < 20; ++i) {
        auto *fence = new FakeFence;
        (i % 2 == 0 ? write : use)(array, fence);
        fence->reach();
        fence->release();
    }
    via::release_array(array);
    assert_int_equal(released, 1);
    assert_true(pthread_equal(released_on, pthread_self()) != 0);
    assert_int_equal(FakeFence::alive, 0);
}

void a_release_before_some_fence_is_pending_until_then_and_runs_on_another_thread(void **) {
    via_array *array = make_array();
    std::vector<FakeFence *> fences;
    for (int32_t i = 0; i < 7; ++i) {
        fences.push_back(new FakeFence);
        use(array, fences.back());
    }
    via::release_array(array);
    for (size_t i = fences.size(); i-- > 0;) {
        sleep_ms(3);
        assert_int_equal(released, 0);
        assert_int_equal(pending(), 1);
        assert_int_equal(via::total(via::Counter::Storages), 1);
        fences[i]->reach();
        fences[i]->release();
    }
    assert_true(eventually([] { return released == 1 && pending() == 0; }));
    assert_false(pthread_equal(released_on, pthread_self()) != 0);
    assert_int_equal(via::total(via::Counter::Storages), 0);
}

void a_release_where_fences_cannot_be_asked_is_left_to_another_thread(void **) {
    via_array *array = make_array();
    auto *fence = new FakeFence(true);
    write(array, fence);
    FakeFence::cannot_be_asked_here = true;
    via::release_array(array);
    FakeFence::cannot_be_asked_here = false;
    assert_true(eventually([] { return released == 1; }));
    assert_false(pthread_equal(released_on, pthread_self()) != 0);
    assert_int_equal(fence->waits, 0);
    fence->release();
}

int32_t followed_fences = 0;

bool follow_all(const via::Deleter &, via::Fence *const *fences, int32_t count) {
    followed_fences = count;
    return std::all_of(fences, fences + count, [](via::Fence *fence) { return fence->is_on_device(); });
}

// One of two uses has been reached.
void release_what_follows(FakeFence *pending, FakeFence *done) {
    via_array *array = make_array();
    array->storage->deleter.free_after = follow_all;
    followed_fences = 0;
    use(array, done);
    use(array, pending);
    done->reach();
    via::release_array(array);
    assert_int_equal(followed_fences, 1);
}

void a_deleter_that_follows_its_fences_runs_at_once_unless_the_host_has_a_part_in_one(void **) {
    for (const bool on_device : {true, false}) {
        auto *pending_fence = new FakeFence;
        auto *done = new FakeFence;
        released = 0;
        pending_fence->on_device = on_device;
        release_what_follows(pending_fence, done);
        assert_int_equal(released, on_device ? 1 : 0);
        assert_int_equal(pending(), on_device ? 0 : 1);
        pending_fence->reach();
        assert_true(eventually([] { return released == 1; }));
        pending_fence->release();
        done->release();
    }
}

void a_deleter_whose_fences_have_been_reached_follows_none(void **) {
    auto *fence = new FakeFence(true);
    via_array *array = make_array();
    array->storage->deleter.free_after = follow_all;
    followed_fences = 0;
    use(array, fence);
    via::release_array(array);
    assert_int_equal(released, 1);
    assert_int_equal(followed_fences, 0);
    fence->release();
}

// Reached or not, a release must not come before the last fence nor twice: random fences, reached in random order.
void no_release_comes_before_the_last_fence(void **) {
    static std::atomic<int32_t> open{0};
    static std::atomic<int32_t> too_early{0};
    uint32_t state = 12345;
    const auto next = [&](uint32_t below) {
        state = state * 1664525U + 1013904223U;
        return (state >> 8) % below;
    };
    for (int32_t round = 0; round < 300; ++round) {
        begin(nullptr);
        via_array *array = make_array([](void *) {
            too_early += open.load() != 0 ? 1 : 0;
            released++;
        });
        std::vector<FakeFence *> fences;
        for (uint32_t i = next(12); i > 0; --i) {
            fences.push_back(new FakeFence);
            open++;
            (next(2) == 0 ? use : write)(array, fences.back());
        }
        const bool release_first = next(2) == 0;
        if (release_first) {
            via::release_array(array);
        }
        while (!fences.empty()) {
            const size_t at = next(static_cast<uint32_t>(fences.size()));
            open--;
            fences[at]->reach();
            fences[at]->release();
            fences.erase(fences.begin() + static_cast<int64_t>(at));
        }
        if (!release_first) {
            via::release_array(array);
        }
        assert_true(eventually([] { return released == 1; }));
    }
    assert_int_equal(too_early, 0);
}

// Owners whose release releases another array, itself still in use.
void a_release_may_release_another_array(void **) {
    auto *fence = new FakeFence;
    via_array *inner = make_array();
    use(inner, fence);
    via_array *outer = make_array(
        [](void *held) {
            via::release_array(static_cast<via_array *>(held));
            released++;
        },
        inner);
    use(outer, fence);
    via::release_array(outer);
    sleep_ms(5);
    assert_int_equal(released, 0);
    fence->reach();
    assert_true(eventually([] { return released == 2; }));
    fence->release();
}

void a_forked_child_releases_what_its_parent_left_pending(void **) {
    if (kUnderThreadSanitizer) {
        skip();  // it allows no threads there
    }
    auto *fence = new FakeFence;
    via_array *pending_array = make_array();
    use(pending_array, fence);
    via::release_array(pending_array);
    via_array *array = make_array();
    use(array, fence);
    assert_int_equal(exit_code_of_child([&] {
                         fence->reach();  // as a device's fences count in a child
                         via::release_array(array);
                         return released >= 1 && eventually([] { return released == 2; }) ? 0 : 1;
                     }),
                     0);
    assert_int_equal(released, 0);
    fence->reach();
    via::release_array(array);
    assert_true(eventually([] { return released == 2; }));
    fence->release();
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        ORDER_TEST(a_release_after_all_fences_runs_at_once_on_the_releasing_thread),
        ORDER_TEST(a_release_before_some_fence_is_pending_until_then_and_runs_on_another_thread),
        ORDER_TEST(a_release_where_fences_cannot_be_asked_is_left_to_another_thread),
        ORDER_TEST(a_deleter_that_follows_its_fences_runs_at_once_unless_the_host_has_a_part_in_one),
        ORDER_TEST(a_deleter_whose_fences_have_been_reached_follows_none),
        ORDER_TEST(no_release_comes_before_the_last_fence),
        ORDER_TEST(a_release_may_release_another_array),
        ORDER_TEST(a_forked_child_releases_what_its_parent_left_pending),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
