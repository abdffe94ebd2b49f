// Fences of many storages at once: what is ready when, what a release waits for, and how few questions are asked.
#include "pending_work.hpp"

#include "core/array/access_tracker.hpp"
#include "core/base/list.hpp"
#include "core/base/thread_state.hpp"

namespace {

constexpr int32_t kMany = 500;

std::atomic<int32_t> released{0};
char bytes[16];

// Arrays with a storage each.
struct Arrays {
    explicit Arrays(int32_t count = kMany) {
        const int64_t shape[] = {16};
        const via::ArraySpec spec{.data = bytes, .dtype = VIA_INT8, .ndim = 1, .shape = shape};
        for (int32_t i = 0; i < count; ++i) {
            via_array *array = nullptr;
            assert_int_equal(via::make_array(spec, via::borrowed([](void *) { released++; }, nullptr), &array), VIA_OK);
            arrays.push_back(array);
            storages.push_back(array->storage);
        }
    }

    int64_t count() const { return static_cast<int64_t>(storages.size()); }
    via::Storage *const *all() const { return storages.data(); }
    void release() {
        std::for_each(arrays.begin(), arrays.end(), via::release_array);
        arrays.clear();
    }

    std::vector<via_array *> arrays;
    std::vector<via::Storage *> storages;
};

int begin(void **) {
    released = 0;
    return 0;
}

int all_is_gone(void **) {
    return eventually([] { return FakeFence::alive.load() == 0 && via::total(via::Counter::Storages) == 0; }) ? 0 : -1;
}

bool are_ready(const Arrays &of) {
    via::UniqueFence fence;
    assert_int_equal(via::last_writes(of.all(), of.count(), {}, fence.out()), VIA_OK);
    return fence.get() == nullptr;
}

void end(FakeFence *fence) {
    fence->reach();
    fence->release();
}

// A write of a call that began when its fence was made.
void end_write(const Arrays &to, FakeFence *fence) {
    assert_int_equal(via::set_last_writes(to.all(), to.count(), fence), VIA_OK);
}
void write(const Arrays &to, FakeFence *fence) {
    fence->see_writes();
    end_write(to, fence);
}
void read(const Arrays &from, FakeFence *fence) {
    assert_int_equal(via::add_accesses(from.all(), from.count(), fence), VIA_OK);
}

void storages_without_fences_are_ready(void **) {
    Arrays arrays;
    assert_true(are_ready(arrays));
    arrays.release();
    assert_int_equal(released, kMany);
}

void readers_of_each_wait_for_the_fence_of_all(void **) {
    Arrays arrays;
    for (int32_t round = 0; round < 3; ++round) {
        auto *fence = new FakeFence;
        write(arrays, fence);
        for (via::Storage *storage : arrays.storages) {
            const via::UniqueFence ready(via::last_write(storage));
            assert_ptr_equal(ready.get(), fence);
        }
        assert_false(are_ready(arrays));
        fence->reach();
        assert_true(are_ready(arrays));
        fence->release();
    }
    arrays.release();
    assert_int_equal(released, kMany);
}

void a_fence_that_many_have_is_asked_and_reported_of_once(void **) {
    Arrays arrays;
    auto *fence = new FakeFence;
    write(arrays, fence);
    {
        via::UniqueFence ready;
        assert_int_equal(via::last_writes(arrays.all(), arrays.count(), {}, ready.out()), VIA_OK);
        assert_ptr_equal(ready.get(), fence);
    }
    assert_int_equal(fence->asked, 1);
    fence->reach();
    assert_true(are_ready(arrays));
    assert_int_equal(fence->asked, 2);
    fence->release();
    arrays.release();
}

void different_fences_are_joined(void **) {
    Arrays arrays(10);
    FakeFence *fences[10];
    for (size_t i = 0; i < 10; ++i) {
        fences[i] = new FakeFence;
        assert_int_equal(via::set_last_write(arrays.storages[i], fences[i]), VIA_OK);
    }
    {
        via::UniqueFence ready;
        assert_int_equal(via::last_writes(arrays.all(), arrays.count(), {}, ready.out()), VIA_OK);
        for (size_t i = 0; i < 10; ++i) {
            assert_false(ready.get()->is_complete());
            fences[9 - i]->reach();
        }
        assert_true(ready.get()->is_complete());
    }
    std::for_each(std::begin(fences), std::end(fences), [](FakeFence *fence) { fence->release(); });
    arrays.release();
}

void releases_wait_for_what_is_written_and_for_what_is_read(void **) {
    for (void (*use)(const Arrays &, FakeFence *) : {write, read}) {
        begin(nullptr);
        Arrays arrays;
        auto *fence = new FakeFence;
        use(arrays, fence);
        arrays.release();
        sleep_ms(5);
        assert_int_equal(released, 0);
        end(fence);
        assert_true(eventually([] { return released == kMany; }));
    }
}

void a_release_waits_for_writing_and_for_reading_alike(void **) {
    for (const bool write_first : {false, true}) {
        begin(nullptr);
        Arrays arrays;
        auto *read_fence = new FakeFence;
        auto *write_fence = new FakeFence;
        read(arrays, read_fence);
        write(arrays, write_fence);
        arrays.release();
        end(write_first ? write_fence : read_fence);
        sleep_ms(5);
        assert_int_equal(released, 0);
        end(write_first ? read_fence : write_fence);
        assert_true(eventually([] { return released == kMany; }));
    }
}

void a_fence_takes_the_place_of_the_one_it_comes_after(void **) {
    Arrays arrays;
    auto *earlier = new FakeFence;
    auto *later = new FakeFence;
    write(arrays, earlier);
    write(arrays, later);
    later->reach();
    assert_true(are_ready(arrays));
    arrays.release();
    // The first use of a storage that is new to fences is remembered.
    end(earlier);
    assert_true(eventually([] { return released == kMany; }));
    later->release();
}

void storages_used_for_ever_do_not_grow(void **) {
    Arrays arrays(70);
    int32_t most = 0;
    for (int32_t i = 0; i < 3000; ++i) {
        auto *fence = new FakeFence;
        read(arrays, fence);
        write(arrays, fence);
        end(fence);
        most = std::max(most, FakeFence::alive.load());
    }
    assert_int_in_range(most, 1, 20);
    arrays.release();
    assert_int_equal(released, 70);
}

FakeFence *fence_at(uint64_t stream, uint64_t moment) {
    auto *fence = new FakeFence;
    fence->set_point({.timeline = {stream, 1, nullptr}, .from = 2 * moment, .to = 2 * moment + 1});
    return fence;
}

void a_stream_that_reads_again_and_again_is_remembered_once(void **) {
    Arrays arrays(100);
    FakeFence *last = nullptr;
    for (uint64_t i = 1; i <= 500; ++i) {
        FakeFence *fence = fence_at(1, i);
        read(arrays, fence);
        if (last != nullptr) {
            assert_int_equal(last->asked, 0);
            last->release();
        }
        last = fence;
        assert_int_in_range(FakeFence::alive, 1, 2);
    }
    arrays.release();
    assert_int_equal(released, 0);
    end(last);
    assert_true(eventually([] { return released == 100; }));
}

// The release waits for the later of two writes that two threads have recorded in the wrong order.
void writes_recorded_in_the_wrong_order_are_all_waited_for(void **) {
    Arrays arrays(100);
    FakeFence *later = fence_at(1, 2);
    FakeFence *earlier = fence_at(1, 1);
    end_write(arrays, later);
    end_write(arrays, earlier);
    end(earlier);
    {
        via::UniqueFence ready;
        assert_int_equal(via::last_writes(arrays.all(), arrays.count(), {}, ready.out()), VIA_OK);
        assert_non_null(ready.get());
        assert_false(ready.get()->is_complete());
    }
    arrays.release();
    assert_int_equal(released, 0);
    end(later);
    assert_true(eventually([] { return released == 100; }));
}

void streams_that_take_turns_are_remembered_once_each(void **) {
    Arrays arrays(100);
    FakeFence *last[3] = {};
    for (uint64_t i = 1; i <= 300; ++i) {
        FakeFence *&of_stream = last[i % std::size(last)];
        FakeFence *fence = fence_at(1 + i % std::size(last), i);
        read(arrays, fence);
        if (of_stream != nullptr) {
            assert_int_equal(of_stream->asked, 0);
            of_stream->release();
        }
        of_stream = fence;
        assert_int_in_range(FakeFence::alive, 1, std::size(last));
    }
    arrays.release();
    for (FakeFence *fence : last) {
        assert_int_equal(released, 0);
        end(fence);
    }
    assert_true(eventually([] { return released == 100; }));
}

// Neighbours differ in which stream has used them last.
void storages_with_different_accesses_get_the_same_fence(void **) {
    Arrays arrays(100);
    FakeFence *fences[] = {fence_at(1, 1), fence_at(2, 2)};
    for (size_t i = 0; i < arrays.storages.size(); ++i) {
        assert_int_equal(via::add_access(arrays.storages[i], fences[i / 3 % 2]), VIA_OK);
    }
    FakeFence *later = fence_at(1, 3);
    read(arrays, later);
    fences[0]->release();
    assert_int_equal(FakeFence::alive, 2);
    end(later);
    arrays.release();
    assert_true(eventually([] { return released == 51; }));
    sleep_ms(5);
    assert_int_equal(released, 51);
    end(fences[1]);
    assert_true(eventually([] { return released == 100; }));
}

void who_goes_on_in_the_same_stream_waits_for_nothing_of_it(void **) {
    Arrays arrays(100);
    FakeFence *same = fence_at(1, 1);
    FakeFence *other = fence_at(2, 1);
    write(arrays, same);
    other->see_writes();
    assert_int_equal(via::set_last_write(arrays.storages[7], other), VIA_OK);
    {
        via::UniqueFence ready;
        assert_int_equal(via::last_writes(arrays.all(), arrays.count(), {1, 1, nullptr}, ready.out()), VIA_OK);
        assert_ptr_equal(ready.get(), other);
        const via::UniqueFence of_one(via::last_write_before(arrays.storages[7], {1, 1, nullptr}));
        assert_ptr_equal(of_one.get(), other);
        assert_null(via::last_write_before(arrays.storages[8], {1, 1, nullptr}));
        const via::UniqueFence of_another(via::last_write_before(arrays.storages[8], {2, 1, nullptr}));
        assert_ptr_equal(of_another.get(), same);
    }
    assert_int_equal(same->asked, 0);
    end(same);
    end(other);
    arrays.release();
}

void changes_are_counted_once_for_many_and_once_for_each(void **) {
    Arrays arrays;
    auto *fence = new FakeFence;
    write(arrays, fence);
    const uint64_t before = via::write_changes();
    write(arrays, fence);
    assert_int_equal(via::write_changes(), before + 1);
    read(arrays, fence);
    assert_false(are_ready(arrays));
    assert_int_equal(via::write_changes(), before + 1);
    assert_int_equal(via::set_last_write(arrays.storages[3], fence), VIA_OK);
    assert_int_equal(via::write_changes(), before + 2);
    end(fence);
    assert_true(are_ready(arrays));
    assert_int_equal(via::write_changes(), before + 2);
    arrays.release();
}

// Looks at a storage when it is released.
class LastLook final : public via::Fence {
public:
    struct Seen {
        const via::Fence *ready;
        uint64_t changes;
    };

    LastLook(via::Storage *storage, Seen *seen) : storage_(storage), seen_(seen) {
        set_writes_seen(via::write_changes());
    }
    bool is_complete() override { return true; }
    via::Status wait() override { return VIA_OK; }
    via::Status make_stream_wait(const via::ResolvedStream &) override { return VIA_OK; }

private:
    ~LastLook() override { *seen_ = {storage_->last_write.load(), via::write_changes()}; }

    via::Storage *const storage_;
    Seen *const seen_;
};

// The first storage releases its old fence while the last one still has its own.
void a_change_is_counted_once_every_storage_has_its_fence(void **) {
    Arrays arrays;
    auto *fence = new FakeFence;
    write(arrays, fence);
    LastLook::Seen seen{};
    auto *look = new LastLook(arrays.storages.back(), &seen);
    assert_int_equal(via::set_last_writes(arrays.all(), 1, look), VIA_OK);
    look->release();
    auto *later = new FakeFence;
    write(arrays, later);
    assert_ptr_equal(seen.ready, fence);
    assert_int_equal(via::write_changes(), seen.changes + 1);
    end(fence);
    end(later);
    arrays.release();
}

void threads_may_add_accesses_of_the_same_storages_at_once(void **) {
    Arrays arrays(200);
    std::vector<std::thread> users;
    for (int32_t i = 0; i < 4; ++i) {
        users.emplace_back([&, i] {
            for (int32_t k = 0; k < 200; ++k) {
                auto *fence = new FakeFence;
                ((k + i) % 2 == 0 ? write : read)(arrays, fence);
                (void)are_ready(arrays);
                end(fence);
            }
        });
    }
    for (std::thread &user : users) {
        user.join();
    }
    assert_true(are_ready(arrays));
    arrays.release();
    assert_true(eventually([] { return released == 200; }));
}

void a_list_keeps_what_it_is_given_in_order(void **) {
    via::List<int32_t> list;
    for (int32_t i = 0; i < 1000; ++i) {
        assert_int_equal(list.count(), i);
        assert_true(list.append(i * 3));
        assert_int_equal(list.last(), i * 3);
    }
    for (int32_t i = 0; i < 1000; ++i) {
        assert_int_equal(list[i], i * 3);
    }
    list.resize(10);
    assert_int_equal(list.end() - list.begin(), 10);
    assert_false(list.reserve(INT64_MAX / 8));
    assert_int_equal(list.last(), 27);
}

}  // namespace

#define ORDER_TEST(function) cmocka_unit_test_setup_teardown(function, begin, all_is_gone)

int main() {
    const CMUnitTest tests[] = {
        ORDER_TEST(storages_without_fences_are_ready),
        ORDER_TEST(readers_of_each_wait_for_the_fence_of_all),
        ORDER_TEST(a_fence_that_many_have_is_asked_and_reported_of_once),
        ORDER_TEST(different_fences_are_joined),
        ORDER_TEST(releases_wait_for_what_is_written_and_for_what_is_read),
        ORDER_TEST(a_release_waits_for_writing_and_for_reading_alike),
        ORDER_TEST(a_fence_takes_the_place_of_the_one_it_comes_after),
        ORDER_TEST(storages_used_for_ever_do_not_grow),
        ORDER_TEST(a_stream_that_reads_again_and_again_is_remembered_once),
        ORDER_TEST(writes_recorded_in_the_wrong_order_are_all_waited_for),
        ORDER_TEST(streams_that_take_turns_are_remembered_once_each),
        ORDER_TEST(storages_with_different_accesses_get_the_same_fence),
        ORDER_TEST(who_goes_on_in_the_same_stream_waits_for_nothing_of_it),
        ORDER_TEST(changes_are_counted_once_for_many_and_once_for_each),
        ORDER_TEST(a_change_is_counted_once_every_storage_has_its_fence),
        ORDER_TEST(threads_may_add_accesses_of_the_same_storages_at_once),
        cmocka_unit_test(a_list_keeps_what_it_is_given_in_order),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
