// Staged copies, called directly, so that every size and every moment can be reached. On the fake driver also: what
// happens when any call of the driver fails.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "../capi/child.h"
#include "../repeats.h"
#include "staging_inside.hpp"

#include "core/async/task.hpp"
#include "core/base/thread_state.hpp"
#include "core/system/thread_count.hpp"
#include "cuda/driver/driver.hpp"
#include "cuda/staging/calibration.hpp"
#include "cuda/staging/ring.hpp"
#include "cuda/staging/staging.hpp"

namespace {

using via::cuda::Direction;
using via::cuda::Transfer;

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;

uint8_t pattern(int64_t i, unsigned seed) {
    return static_cast<uint8_t>((static_cast<uint64_t>(i) * 2654435761U + seed * 97U) >> 13);
}

void fill(void *memory, int64_t nbytes, unsigned seed) {
    auto *bytes = static_cast<uint8_t *>(memory);
    for (int64_t i = 0; i < nbytes; ++i) {
        bytes[i] = pattern(i, seed);
    }
}

bool holds(const void *memory, int64_t nbytes, unsigned seed) {
    const auto *bytes = static_cast<const uint8_t *>(memory);
    for (int64_t i = 0; i < nbytes; ++i) {
        if (bytes[i] != pattern(i, seed)) {
            return false;
        }
    }
    return true;
}

// Memory of the device for the time of a test.
class OnDevice {
public:
    explicit OnDevice(int64_t nbytes) {
        enter_primary();
        assert_int_equal(via::cuda::driver().cuMemAlloc(&address_, static_cast<size_t>(nbytes)), CUDA_SUCCESS);
    }
    ~OnDevice() { (void)via::cuda::driver().cuMemFree(address_); }
    OnDevice(const OnDevice &) = delete;
    OnDevice &operator=(const OnDevice &) = delete;
    CUdeviceptr address(int64_t offset = 0) const { return address_ + static_cast<CUdeviceptr>(offset); }

private:
    CUdeviceptr address_ = 0;
};

Transfer transfer_of(Direction direction, CUdeviceptr address, void *host, int64_t nbytes) {
    constexpr via::cuda::Side kDevice{VIA_DEVICE_CUDA, 0};
    auto *device = reinterpret_cast<void *>(address);
    return direction == Direction::ToDevice ? Transfer{device, host, nbytes, kDevice, via::cuda::kPageable}
                                            : Transfer{host, device, nbytes, via::cuda::kPageable, kDevice};
}

via::Status stage(Direction direction, CUdeviceptr device, void *host, int64_t nbytes) {
    via::UniqueFence fence;
    const via::Status status = via::cuda::run_staged({transfer_of(direction, device, host, nbytes)}, fence.out());
    return status == VIA_OK && fence.get() != nullptr ? fence.get()->wait() : status;
}

// There and back through the same slots; true if every byte came back and none next to them was touched.
bool goes_round(CUdeviceptr device, int64_t nbytes, int64_t shift, unsigned seed) {
    constexpr int64_t kGuard = 64;
    std::vector<uint8_t> src(static_cast<size_t>(nbytes + shift));
    std::vector<uint8_t> dst(static_cast<size_t>(nbytes + shift + kGuard), 0xEE);
    fill(src.data() + shift, nbytes, seed);
    if (stage(Direction::ToDevice, device, src.data() + shift, nbytes) != VIA_OK ||
        stage(Direction::ToHost, device, dst.data() + shift, nbytes) != VIA_OK) {
        return false;
    }
    bool clean = holds(dst.data() + shift, nbytes, seed);
    for (int64_t i = 0; i < shift; ++i) {
        clean = clean && dst[static_cast<size_t>(i)] == 0xEE;
    }
    for (int64_t i = 0; i < kGuard; ++i) {
        clean = clean && dst[static_cast<size_t>(shift + nbytes + i)] == 0xEE;
    }
    return clean;
}

void every_size_goes_round(void **) {
    const OnDevice device(40 * kMiB);
    const int64_t sizes[] = {1,          63,           64 * kKiB - 1,  64 * kKiB, 64 * kKiB + 1,
                             256 * kKiB, 257 * kKiB,   512 * kKiB + 1, kMiB - 1,  kMiB + 3,
                             4 * kMiB,   5 * kMiB + 7, 9 * kMiB + 1,   16 * kMiB, 33 * kMiB + 5};
    unsigned seed = 1;
    for (const int64_t nbytes : sizes) {
        for (const int64_t shift : {int64_t{0}, int64_t{13}}) {
            if (!goes_round(device.address(shift), nbytes, shift, seed++)) {
                print_error("%lld bytes, shifted by %lld: %s\n", static_cast<long long>(nbytes),
                            static_cast<long long>(shift), via::last_error_text());
                assert_true(false);
            }
        }
    }
}

void nothing_to_copy_is_no_error(void **) {
    const OnDevice device(64);
    char byte = 0;
    assert_int_equal(stage(Direction::ToDevice, device.address(), &byte, 0), VIA_OK);
    assert_int_equal(stage(Direction::ToHost, device.address(), &byte, 0), VIA_OK);
}

void one_thread_is_enough(void **) {
    assert_int_equal(via::set_num_threads(1), VIA_OK);
    const OnDevice device(21 * kMiB);
    assert_true(goes_round(device.address(), 21 * kMiB - 3, 0, 5));
    assert_int_equal(via::set_num_threads(0), VIA_OK);
}

// More copies than slots at a time, so that they must take turns.
void eight_threads_share_the_ring(void **) {
    constexpr int32_t kThreads = 8;
    constexpr int64_t kEach = 7 * kMiB;
    assert_int_equal(via::set_num_threads(4), VIA_OK);
    const OnDevice device(kThreads * kEach);
    std::vector<std::thread> threads;
    std::atomic<int32_t> wrong{0};
    for (int32_t i = 0; i < kThreads; ++i) {
        threads.emplace_back([&, i] {
            for (unsigned round = 0; round < 3; ++round) {
                const int64_t nbytes = kEach - i * 64 * kKiB - i;
                wrong +=
                    goes_round(device.address(i * kEach), nbytes, i, static_cast<unsigned>(i) * 10 + round) ? 0 : 1;
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(via::set_num_threads(0), VIA_OK);
}

// Stands in for the driver's copy to the host. The first copy that a worker queues takes so long that all others wait.
// The second is queued only when a worker has asked whether the first has landed.
class Queueing {
public:
    Queueing() : copy_(driver_table().cuMemcpyDtoHAsync), query_(driver_table().cuEventQuery) {
        queueing = this;
        driver_table().cuMemcpyDtoHAsync = [](void *to, CUdeviceptr from, size_t nbytes, CUstream stream) {
            queueing->wait();
            return queueing->copy_(to, from, nbytes, stream);
        };
        driver_table().cuEventQuery = [](CUevent event) {
            queueing->asked_ = true;
            return queueing->query_(event);
        };
    }
    ~Queueing() {
        driver_table().cuMemcpyDtoHAsync = copy_;
        driver_table().cuEventQuery = query_;
    }
    Queueing(const Queueing &) = delete;
    Queueing &operator=(const Queueing &) = delete;
    bool was_asked_meanwhile() const { return meanwhile_; }

private:
    void wait() {
        constexpr std::chrono::milliseconds kUntilOthersSleep{100};
        constexpr int kPauses = 5000;      // milliseconds
        constexpr int kBeforeWorkers = 4;  // by the caller, before others wake
        const int number = ++count_ - kBeforeWorkers;
        if (number == 1) {
            std::this_thread::sleep_for(kUntilOthersSleep);
            asked_ = false;  // of this chunk nobody can have asked yet
        } else if (number == 2) {
            for (int i = 0; i < kPauses && !asked_; ++i) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
            meanwhile_ = asked_.load();
        }
    }

    static inline Queueing *queueing = nullptr;
    decltype(via::cuda::Driver::cuMemcpyDtoHAsync) copy_;
    decltype(via::cuda::Driver::cuEventQuery) query_;
    std::atomic<int> count_{0};
    std::atomic<bool> asked_{false};
    std::atomic<bool> meanwhile_{false};
};

void workers_copy_while_one_of_them_queues_chunks(void **) {
    need_fake_driver();
    assert_int_equal(via::set_num_threads(4), VIA_OK);
    const OnDevice device(4 * kMiB);
    std::vector<uint8_t> host(4 * kMiB);
    bool asked = false;
    {
        const Queueing queueing;
        assert_int_equal(stage(Direction::ToHost, device.address(), host.data(), 4 * kMiB), VIA_OK);
        asked = queueing.was_asked_meanwhile();
    }
    assert_true(asked);
    assert_int_equal(via::set_num_threads(0), VIA_OK);
}

// Stands in for the driver's answer, which is "not yet" long enough for its caller to sleep between questions.
class Late {
public:
    Late() : query_(driver_table().cuEventQuery) {
        late = this;
        driver_table().cuEventQuery = [](CUevent event) { return late->answer(event); };
    }
    ~Late() { driver_table().cuEventQuery = query_; }
    Late(const Late &) = delete;
    Late &operator=(const Late &) = delete;
    int slack_of_sleeper() const { return slack_; }

private:
    CUresult answer(CUevent event) {
        constexpr int kQuestions = 110;
        if (++count_ >= kQuestions) {
            return query_(event);
        }
        slack_ = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
        return CUDA_ERROR_NOT_READY;
    }

    static inline Late *late = nullptr;
    const decltype(via::cuda::Driver::cuEventQuery) query_;
    int count_ = 0;
    int slack_ = 0;
};

void short_sleeps_leave_the_callers_own_as_they_were(void **) {
    need_fake_driver();
    constexpr unsigned long kOwn = 12345;
    assert_int_equal(via::set_num_threads(1), VIA_OK);
    assert_int_equal(prctl(PR_SET_TIMERSLACK, kOwn, 0, 0, 0), 0);
    const OnDevice device(kMiB);
    std::vector<uint8_t> host(kMiB);
    {
        const Late late;
        assert_int_equal(stage(Direction::ToHost, device.address(), host.data(), kMiB), VIA_OK);
        assert_int_in_range(late.slack_of_sleeper(), 1, 1000);
    }
    assert_int_equal(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), kOwn);
    assert_int_equal(prctl(PR_SET_TIMERSLACK, 0UL, 0, 0, 0), 0);
    assert_int_equal(via::set_num_threads(0), VIA_OK);
}

void pages_that_are_not_there_yet_are_filled(void **) {
    const OnDevice device(24 * kMiB);
    std::vector<uint8_t> src(24 * kMiB);
    fill(src.data(), 24 * kMiB, 8);
    assert_int_equal(stage(Direction::ToDevice, device.address(), src.data(), 24 * kMiB), VIA_OK);
    for (const int64_t nbytes : {kMiB - 5, 3 * kMiB + 1, 4 * kMiB, 17 * kMiB + 9}) {
        for (const int64_t shift : {int64_t{0}, int64_t{4095}, 2 * kMiB - 7}) {
            constexpr size_t kMapped = 24 * kMiB;
            void *mapped = mmap(nullptr, kMapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            assert_ptr_not_equal(mapped, MAP_FAILED);
            auto *bytes = static_cast<uint8_t *>(mapped);
            assert_int_equal(stage(Direction::ToHost, device.address(), bytes + shift, nbytes), VIA_OK);
            assert_true(holds(bytes + shift, nbytes, 8));
            assert_int_equal(bytes[shift + nbytes], 0);
            assert_true(shift == 0 || bytes[shift - 1] == 0);
            munmap(mapped, kMapped);
        }
    }
}

void the_ring_is_counted_and_within_its_limit(void **) {
    assert_int_equal(via::cuda::prepare_ring(0), VIA_OK);
    char why[160] = "";
    const int64_t most = via::cuda::ring_bytes(sizeof why, why);
    assert_true(most > 0 && most <= 64 * kMiB);
    assert_int_equal(via::total(via::Counter::StagedBytes), most);
}

bool is_staged(Direction direction, int64_t nbytes, void *host = nullptr) {
    return via::cuda::is_staged(transfer_of(direction, 0, host, nbytes));
}

void small_copies_are_never_staged(void **) {
    for (const Direction direction : {Direction::ToDevice, Direction::ToHost}) {
        assert_false(is_staged(direction, 64 * kKiB));
        via::cuda::set_thresholds(0, {1, 1});
        assert_false(is_staged(direction, 64 * kKiB));
        assert_true(is_staged(direction, 64 * kKiB + 1));
        via::cuda::set_thresholds(0, {via::cuda::kNeverStaged, via::cuda::kNeverStaged});
        assert_false(is_staged(direction, INT64_MAX - 1));
        via::cuda::set_thresholds(0, {0, 0});
    }
}

void new_pages_are_staged_earlier_than_others(void **) {
    via::cuda::set_thresholds(0, {via::cuda::kNeverStaged, via::cuda::kNeverStaged});
    void *mapped = mmap(nullptr, kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(mapped, MAP_FAILED);
    assert_true(is_staged(Direction::ToHost, kMiB, mapped));
    assert_false(is_staged(Direction::ToHost, 64 * kKiB, mapped));
    assert_false(is_staged(Direction::ToDevice, kMiB, mapped));
    std::memset(mapped, 1, kMiB);
    assert_false(is_staged(Direction::ToHost, kMiB, mapped));
    munmap(mapped, kMiB);
    via::cuda::set_thresholds(0, {0, 0});
}

// ---------------------------------------------------------------------------------------------- tasks

struct StagedTask final : via::TaskWork {
    explicit StagedTask(const Transfer &given) : transfer(given) {}

    via::Status run(via_task *task, via::Fence **out_fence) override {
        while (!may_start.load()) {
            std::this_thread::yield();
        }
        return via::cuda::run_staged({transfer, {}, task}, out_fence);
    }
    void end() override {}

    const Transfer transfer;
    std::atomic<bool> may_start{false};
};

void a_task_reports_how_far_it_is(void **) {
    const OnDevice device(9 * kMiB);
    std::vector<uint8_t> host(9 * kMiB);
    StagedTask staged(transfer_of(Direction::ToDevice, device.address(), host.data(), 9 * kMiB));
    staged.may_start = true;
    via_task *task = nullptr;
    assert_int_equal(via::start_task(&staged, 9 * kMiB, nullptr, false, &task), VIA_OK);
    assert_int_equal(via::wait_for_task(task), VIA_OK);
    int64_t done = 0;
    int64_t total = 0;
    via::task_progress(task, &done, &total);
    assert_int_equal(done, 9 * kMiB);
    assert_int_equal(total, 9 * kMiB);
    via::release_task(task);
}

void a_cancelled_task_stops_between_two_chunks(void **) {
    for (const Direction direction : {Direction::ToDevice, Direction::ToHost}) {
        const OnDevice device(64 * kMiB);
        std::vector<uint8_t> host(64 * kMiB);
        StagedTask staged(transfer_of(direction, device.address(), host.data(), 64 * kMiB));
        via_task *task = nullptr;
        assert_int_equal(via::start_task(&staged, 64 * kMiB, nullptr, false, &task), VIA_OK);
        std::thread canceller([&] {
            int64_t done = 0;
            int64_t total = 0;
            while (done == 0 && !via::task_ended(task)) {
                via::task_progress(task, &done, &total);
            }
            via::cancel_task(task);
        });
        staged.may_start = true;
        const via::Status status = via::wait_for_task(task);
        canceller.join();
        assert_true(status == VIA_ERROR_CANCELLED || status == VIA_OK);
        via::release_task(task);
        assert_true(goes_round(device.address(), 5 * kMiB, 0, 77));
    }
}

// ---------------------------------------------------------------------------------------------- faults

// Fails the n-th call for every n until none is left to fail: the copy says so, and the next one works.
void fail_every_call(Direction direction) {
    const OnDevice device(3 * kMiB);
    std::vector<uint8_t> host(3 * kMiB);
    fill(host.data(), 3 * kMiB, 21);
    assert_int_equal(stage(direction, device.address(), host.data(), 3 * kMiB), VIA_OK);
    const int64_t registrations = fake(fake_live)(FAKE_HOST_REGISTRATIONS);
    const int64_t streams = fake(fake_live)(FAKE_STREAMS);
    bool failed = true;
    for (int64_t n = 1; failed; n += QUICK_OR(3, next_fault)) {
        assert_int_in_range(n, 1, 2000);
        const int64_t before = fake(fake_faults_injected)();
        fake(fake_fail_at)(nullptr, n, CUDA_ERROR_UNKNOWN);
        const via::Status status = stage(direction, device.address(), host.data(), 3 * kMiB);
        failed = fake(fake_faults_injected)() != before;
        fake(fake_clear_faults)();
        assert_true(status == VIA_OK || (failed && status == VIA_ERROR_CUDA));
        if (!goes_round(device.address(), 3 * kMiB - 1, 0, static_cast<unsigned>(n))) {
            print_error("after the failure of call %lld: %s\n", static_cast<long long>(n), via::last_error_text());
            assert_true(false);
        }
        assert_int_equal(fake(fake_live)(FAKE_HOST_REGISTRATIONS), registrations);
        assert_int_equal(fake(fake_live)(FAKE_STREAMS), streams);
    }
    assert_int_equal(fake(fake_misuse_total)(), 0);
}

void any_failing_call_towards_the_device_is_reported_and_leaves_the_ring_whole(void **) {
    need_fake_driver();
    fail_every_call(Direction::ToDevice);
}

void any_failing_call_towards_the_host_is_reported_and_leaves_the_ring_whole(void **) {
    need_fake_driver();
    fail_every_call(Direction::ToHost);
}

void random_pauses_of_the_device_change_nothing(void **) {
    need_fake_driver();
    fake(fake_set)(FAKE_JITTER, 12345);
    const OnDevice device(20 * kMiB);
    for (unsigned seed = 0; seed < 6; ++seed) {
        assert_true(goes_round(device.address(), 19 * kMiB + seed, seed, seed));
    }
    fake(fake_set)(FAKE_JITTER, 0);
}

void a_reset_of_the_primary_context_makes_a_new_ring(void **) {
    need_fake_driver();
    const int64_t staged = via::total(via::Counter::StagedBytes);
    const int64_t registrations = fake(fake_live)(FAKE_HOST_REGISTRATIONS);
    leave_primary();
    assert_int_equal(cu(cuDevicePrimaryCtxReset)(0), CUDA_SUCCESS);
    const OnDevice device(3 * kMiB);
    assert_true(goes_round(device.address(), 3 * kMiB, 0, 3));
    assert_int_equal(via::total(via::Counter::StagedBytes), staged);
    assert_true(fake(fake_live)(FAKE_HOST_REGISTRATIONS) <= registrations);
}

void a_forked_child_is_refused(void **) {
    const OnDevice device(kMiB);
    std::vector<uint8_t> host(kMiB);
    const pid_t child = fork_child();
    if (child == 0) {
        via::Fence *fence = nullptr;
        const via::Status status =
            via::cuda::run_staged({transfer_of(Direction::ToHost, device.address(), host.data(), kMiB)}, &fence);
        _exit(status == VIA_ERROR_FORKED ? 0 : 1);
    }
    int result = -1;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(every_size_goes_round),
        cmocka_unit_test(nothing_to_copy_is_no_error),
        cmocka_unit_test(one_thread_is_enough),
        cmocka_unit_test(eight_threads_share_the_ring),
        cmocka_unit_test(workers_copy_while_one_of_them_queues_chunks),
        cmocka_unit_test(short_sleeps_leave_the_callers_own_as_they_were),
        cmocka_unit_test(pages_that_are_not_there_yet_are_filled),
        cmocka_unit_test(the_ring_is_counted_and_within_its_limit),
        cmocka_unit_test(small_copies_are_never_staged),
        cmocka_unit_test(new_pages_are_staged_earlier_than_others),
        cmocka_unit_test(a_task_reports_how_far_it_is),
        cmocka_unit_test(a_cancelled_task_stops_between_two_chunks),
        cmocka_unit_test(any_failing_call_towards_the_device_is_reported_and_leaves_the_ring_whole),
        cmocka_unit_test(any_failing_call_towards_the_host_is_reported_and_leaves_the_ring_whole),
        cmocka_unit_test(random_pauses_of_the_device_change_nothing),
        cmocka_unit_test(a_reset_of_the_primary_context_makes_a_new_ring),
        cmocka_unit_test(a_forked_child_is_refused),
    };
    return run_inside(tests);
}
