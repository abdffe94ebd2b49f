// What a storage knows of work in the background: when its content is ready, and which fences it remembers.
#include "core/array/access_tracker.hpp"

#include <stdlib.h>

#include <algorithm>
#include <new>

#include "tracked_array.hpp"

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define CAN_FAIL_ALLOCATIONS
#endif

#if defined(CAN_FAIL_ALLOCATIONS)
// Makes the allocations of an order fail, those of its lists included.
static thread_local bool no_memory = false;
extern "C" void *__libc_realloc(void *block, size_t bytes);
extern "C" void *realloc(void *block, size_t bytes) { return no_memory ? nullptr : __libc_realloc(block, bytes); }
void *operator new(size_t bytes, const std::nothrow_t &) noexcept { return no_memory ? nullptr : malloc(bytes); }
#endif

namespace {

void an_array_without_fences_is_ready_and_released_at_once(void **) {
    via_array *array = make_array();
    assert_true(is_ready(array));
    assert_int_equal(via::wait_until_ready(array->storage), VIA_OK);
    via::release_array(array);
    assert_int_equal(released, 1);
}

void readers_wait_for_the_last_write_and_for_no_access(void **) {
    via_array *array = make_array();
    auto *used = new FakeFence;
    auto *written = new FakeFence;
    use(array, used);
    assert_true(is_ready(array));
    write(array, written);
    assert_false(is_ready(array));
    {
        const via::UniqueFence fence(via::last_write(array->storage));
        assert_ptr_equal(fence.get(), written);
    }
    written->reach();
    assert_true(is_ready(array));
    assert_int_equal(used->waits, 0);
    assert_int_equal(via::wait_until_ready(array->storage), VIA_OK);
    used->reach();
    via::release_array(array);
    assert_int_equal(released, 1);
    used->release();
    written->release();
}

void waiting_for_the_content_reports_how_the_writing_failed(void **) {
    via_array *array = make_array();
    auto *written = new FakeFence;
    written->failure = VIA_ERROR_CUDA;
    write(array, written);
    std::thread device([&] {
        (void)eventually([&] { return written->waits == 1; });
        written->reach();
    });
    assert_int_equal(via::wait_until_ready(array->storage), VIA_ERROR_CUDA);
    assert_string_equal(via::last_error_text(), "the device has failed");
    device.join();
    via::release_array(array);
    written->release();
}

void views_share_fences_with_their_array(void **) {
    via_array *array = make_array();
    via_array *view = view_of(array);
    auto *fence = new FakeFence;
    write(view, fence);
    assert_false(is_ready(array));
    via::release_array(view);
    via::release_array(array);
    assert_int_equal(released, 0);
    fence->reach();
    assert_true(eventually([] { return released == 1; }));
    fence->release();
}

void a_later_write_takes_the_place_of_an_earlier_one_which_stays_an_access(void **) {
    via_array *array = make_array();
    auto *earlier = new FakeFence;
    auto *later = new FakeFence;
    write(array, earlier);
    write(array, later);
    later->reach();
    assert_true(is_ready(array));
    via::release_array(array);
    sleep_ms(10);
    assert_int_equal(released, 0);
    earlier->reach();
    assert_true(eventually([] { return released == 1; }));
    earlier->release();
    later->release();
}

void an_array_used_for_ever_does_not_grow(void **) {
    via_array *array = make_array();
    auto *never = new FakeFence;
    use(array, never);
    int32_t most = 0;
    for (int32_t i = 0; i < 20000; ++i) {
        auto *fence = new FakeFence;
        (i % 3 == 0 ? write : use)(array, fence);
        fence->reach();
        fence->release();
        most = std::max(most, FakeFence::alive.load());
    }
    assert_int_in_range(most, 2, 16);
    assert_int_in_range(never->asked, 1, 20000);  // not at every use
    never->reach();
    via::release_array(array);
    assert_int_equal(released, 1);
    never->release();
}

void many_fences_at_once_are_all_kept(void **) {
    via_array *array = make_array();
    std::vector<FakeFence *> fences;
    for (int32_t i = 0; i < 1000; ++i) {
        fences.push_back(new FakeFence);
        use(array, fences.back());
    }
    via::release_array(array);
    for (size_t i = 0; i < fences.size(); ++i) {
        if (i != 500) {
            fences[i]->reach();
            fences[i]->release();
        }
    }
    sleep_ms(20);
    assert_int_equal(released, 0);
    fences[500]->reach();
    fences[500]->release();
    assert_true(eventually([] { return released == 1; }));
}

FakeFence *fence_at(uint64_t stream, uint64_t from, uint64_t to) {
    auto *fence = new FakeFence;
    fence->set_point({.timeline = {stream, 1, nullptr}, .from = from, .to = to});
    return fence;
}

// Records a write after another, and checks that readers wait for both, then for neither.
void expect_both_are_waited_for(FakeFence *first, FakeFence *second) {
    via_array *array = make_array();
    end_write(array, first);
    end_write(array, second);
    second->reach();
    assert_false(is_ready(array));
    first->reach();
    assert_true(is_ready(array));
    via::release_array(array);
    first->release();
    second->release();
}

// Threads that write on one stream: what one has queued last, it may record first.
void writes_recorded_in_the_wrong_order_are_all_waited_for(void **) {
    expect_both_are_waited_for(fence_at(1, 3, 4), fence_at(1, 1, 2));
    expect_both_are_waited_for(fence_at(1, 3, 4), fence_at(1, 3, 4));
    expect_both_are_waited_for(fence_at(1, 3, 4), fence_at(1, 1, 9));
}

void writes_of_calls_that_have_seen_nothing_of_each_other_are_all_waited_for(void **) {
    expect_both_are_waited_for(new FakeFence, new FakeFence);
    expect_both_are_waited_for(fence_at(1, 1, 2), fence_at(2, 3, 4));
}

// The first to end fails: whoever waits next learns it, once, and the other is waited for all the same.
void a_failure_among_writes_that_overlap_is_reported(void **) {
    via_array *array = make_array();
    FakeFence *fences[] = {new FakeFence, new FakeFence, new FakeFence};
    fences[0]->failure = VIA_ERROR_INDEX;
    fences[0]->nobody_may_miss = true;
    fences[0]->reach();
    for (FakeFence *fence : fences) {
        end_write(array, fence);
    }
    fences[1]->reach();
    assert_false(is_ready(array));
    fences[2]->reach();
    assert_false(is_ready(array));
    assert_int_equal(via::wait_until_ready(array->storage), VIA_ERROR_INDEX);
    assert_true(is_ready(array));
    assert_int_equal(via::wait_until_ready(array->storage), VIA_OK);
    via::release_array(array);
    for (FakeFence *fence : fences) {
        fence->release();
    }
}

// Whatever writes next comes after it, and need not wait for it.
void a_failure_before_a_later_write_is_reported_once(void **) {
    via_array *array = make_array();
    FakeFence *fences[] = {fence_at(1, 1, 2), fence_at(1, 3, 4), new FakeFence};
    fences[0]->failure = VIA_ERROR_INDEX;
    fences[0]->nobody_may_miss = true;
    for (FakeFence *fence : fences) {
        write(array, fence);
        fence->reach();
    }
    assert_int_equal(via::wait_until_ready(array->storage), VIA_ERROR_INDEX);
    assert_int_equal(via::wait_until_ready(array->storage), VIA_OK);
    via::release_array(array);
    for (FakeFence *fence : fences) {
        fence->release();
    }
}

// A device that is a few copies behind. Of those that wait in its stream the first alone is asked.
void writes_that_may_fail_and_do_not_are_joined_by_few(void **) {
    constexpr uint64_t kBehind = 3;
    via_array *array = make_array();
    std::vector<FakeFence *> fences;
    for (uint64_t i = 0; i < 1000; ++i) {
        fences.push_back(fence_at(1, 2 * i, 2 * i + 1));
        fences[i]->nobody_may_miss = true;
        write(array, fences[i]);
        if (i >= kBehind) {
            fences[i - kBehind]->reach();
            fences[i - kBehind]->release();
        }
        assert_int_in_range(FakeFence::alive, 1, kBehind + 2);
    }
    assert_int_equal(fences[fences.size() - 2]->asked, 0);
    for (uint64_t i = fences.size() - kBehind; i < fences.size(); ++i) {
        assert_false(is_ready(array));
        fences[i]->reach();
        fences[i]->release();
    }
    assert_true(is_ready(array));
    via::release_array(array);
}

// Two streams take turns. Each call begins before the one before it has recorded its write.
void writes_that_overlap_for_ever_are_joined_by_few(void **) {
    via_array *array = make_array();
    FakeFence *pending[2] = {fence_at(1, 0, 1), nullptr};
    for (uint64_t i = 1; i <= 1000; ++i) {
        FakeFence *&before = pending[(i + 1) % 2];
        FakeFence *next = fence_at(i % 2 + 1, 2 * i, 2 * i + 1);
        end_write(array, before);
        if (pending[i % 2] != nullptr) {
            pending[i % 2]->release();
        }
        pending[i % 2] = next;
        const via::UniqueFence last(via::last_write_before(array->storage, {}));
        assert_true(last.get()->parts().size() <= 2);
        assert_int_in_range(FakeFence::alive, 1, 4);
    }
    end_write(array, pending[0]);
    for (FakeFence *fence : pending) {
        assert_false(is_ready(array));
        fence->reach();
    }
    assert_true(is_ready(array));
    via::release_array(array);
    for (FakeFence *fence : pending) {
        fence->release();
    }
}

void a_stream_that_uses_an_array_again_and_again_is_remembered_once(void **) {
    via_array *array = make_array();
    FakeFence *last[2] = {};
    for (uint64_t i = 1; i <= 1000; ++i) {
        for (uint64_t stream = 0; stream < 2; ++stream) {
            FakeFence *fence = fence_at(stream + 1, 2 * i, 2 * i + 1);
            i % 3 == 0 ? write(array, fence) : use(array, fence);
            if (last[stream] != nullptr) {
                assert_int_equal(last[stream]->asked.load(), 0);
                last[stream]->release();
            }
            last[stream] = fence;
        }
        assert_int_in_range(FakeFence::alive.load(), 1, 4);
    }
    via::release_array(array);
    for (FakeFence *fence : last) {
        assert_int_equal(released, 0);
        fence->reach();
        fence->release();
    }
    assert_true(eventually([] { return released == 1; }));
}

void fences_are_kept_next_to_one_another_unless_one_is_known_to_be_the_later(void **) {
    const struct {
        uint64_t stream;
        uint64_t from;
        uint64_t to;
    } others[] = {
        {2, 7, 8},  // of another stream
        {1, 4, 6},  // recorded meanwhile
        {1, 1, 2},  // recorded before
        {0, 7, 8},  // nobody knows of which stream
    };
    for (const auto &other : others) {
        released = 0;
        via_array *array = make_array();
        FakeFence *fence = fence_at(1, 3, 5);
        FakeFence *second = fence_at(other.stream, other.from, other.to);
        use(array, fence);
        use(array, second);
        via::release_array(array);
        second->reach();
        sleep_ms(5);
        assert_int_equal(released, 0);
        fence->reach();
        assert_true(eventually([] { return released == 1; }));
        fence->release();
        second->release();
    }
}

void many_threads_may_use_write_and_read_one_array(void **) {
    for (int32_t round = 0; round < 10; ++round) {
        begin(nullptr);
        via_array *array = make_array();
        std::vector<std::thread> users;
        for (int32_t i = 0; i < 4; ++i) {
            via::retain_array(array);
            users.emplace_back([array, i] {
                std::vector<FakeFence *> open;
                for (int32_t k = 0; k < 200; ++k) {
                    auto *fence = new FakeFence;
                    (void)!((k + i) % 2 == 0 ? via::add_access : via::set_last_write)(array->storage, fence);
                    const via::UniqueFence ready(via::last_write(array->storage));
                    open.push_back(fence);
                    if (k % 5 != 0) {
                        open[open.size() / 2]->reach();
                    }
                }
                via::release_array(array);
                for (FakeFence *fence : open) {
                    fence->reach();
                    fence->release();
                }
            });
        }
        via::release_array(array);
        for (std::thread &user : users) {
            user.join();
        }
        assert_true(eventually([] { return released == 1; }));
        assert_true(eventually([] { return FakeFence::alive == 0; }));
    }
}

void without_memory_a_use_is_waited_for(void **) {
#if defined(CAN_FAIL_ALLOCATIONS)
    for (const int32_t before : {0, 9, 17}) {
        begin(nullptr);
        via_array *array = make_array();
        std::vector<FakeFence *> open;
        for (int32_t i = 0; i < before; ++i) {
            open.push_back(new FakeFence);
            use(array, open.back());
        }
        auto *fence = new FakeFence;
        std::thread device([&] {
            usleep(5000);
            fence->reach();
        });
        no_memory = true;
        const via::Status status = via::set_last_write(array->storage, fence);
        no_memory = false;
        assert_int_equal(status, VIA_OK);
        assert_int_equal(fence->waits, 1);
        assert_true(is_ready(array));
        device.join();
        fence->release();
        via::release_array(array);
        assert_int_equal(released, before == 0 ? 1 : 0);
        for (FakeFence *other : open) {
            assert_int_equal(other->waits, 0);
            other->reach();
            other->release();
        }
        assert_true(eventually([] { return released == 1; }));
    }
#else
    skip();
#endif
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        ORDER_TEST(an_array_without_fences_is_ready_and_released_at_once),
        ORDER_TEST(readers_wait_for_the_last_write_and_for_no_access),
        ORDER_TEST(waiting_for_the_content_reports_how_the_writing_failed),
        ORDER_TEST(views_share_fences_with_their_array),
        ORDER_TEST(a_later_write_takes_the_place_of_an_earlier_one_which_stays_an_access),
        ORDER_TEST(an_array_used_for_ever_does_not_grow),
        ORDER_TEST(many_fences_at_once_are_all_kept),
        ORDER_TEST(writes_recorded_in_the_wrong_order_are_all_waited_for),
        ORDER_TEST(writes_of_calls_that_have_seen_nothing_of_each_other_are_all_waited_for),
        ORDER_TEST(writes_that_overlap_for_ever_are_joined_by_few),
        ORDER_TEST(a_failure_among_writes_that_overlap_is_reported),
        ORDER_TEST(a_failure_before_a_later_write_is_reported_once),
        ORDER_TEST(writes_that_may_fail_and_do_not_are_joined_by_few),
        ORDER_TEST(a_stream_that_uses_an_array_again_and_again_is_remembered_once),
        ORDER_TEST(fences_are_kept_next_to_one_another_unless_one_is_known_to_be_the_later),
        ORDER_TEST(many_threads_may_use_write_and_read_one_array),
        ORDER_TEST(without_memory_a_use_is_waited_for),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
