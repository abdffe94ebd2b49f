// What staging decides without a driver: from which size on, how a copy is cut, how much memory, near which CPUs.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include <cmocka.h>
}
#undef fail  // the library has a function of that name

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/system/pages.hpp"
#include "cuda/staging/calibration.hpp"
#include "cuda/staging/ring.hpp"
#include "cuda/staging/staging_endpoints.hpp"
#include "cuda/staging/staging_plan.hpp"
#include "cuda/topology/topology.hpp"

static int opened = 0;

extern "C" int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    ++opened;
    return openat(AT_FDCWD, path, flags, mode);
}

namespace {

using via::kHugePage;
using namespace via::cuda;

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;
constexpr int64_t kGiB = 1024 * kMiB;

void one_thread_leaves_copies_to_the_driver(void **) {
    assert_int_equal(shipped_thresholds(64, 1).to_device, kNeverStaged);
    assert_int_equal(shipped_thresholds(64, 1).to_host, kNeverStaged);
}

void a_fast_or_unknown_link_is_staged_early_and_a_slow_one_later(void **) {
    assert_int_equal(shipped_thresholds(64, 8).to_device, 512 * kKiB);
    assert_int_equal(shipped_thresholds(0, 8).to_host, 128 * kKiB);
    assert_true(shipped_thresholds(15.75, 8).to_device > 512 * kKiB);
}

void the_crossover_is_where_staging_wins_from_there_on(void **) {
    const RouteTimes times[] = {{256 * kKiB, 2, 1}, {512 * kKiB, 2, 3}, {kMiB, 3, 2}, {2 * kMiB, 4, 3}};
    assert_int_equal(find_threshold(times, 4), kMiB);
    assert_int_equal(find_threshold(times, 2), kNeverStaged);
    assert_int_equal(find_threshold(times, 1), 256 * kKiB);
    const RouteTimes tiny[] = {{kKiB, 2, 1}};
    assert_int_equal(find_threshold(tiny, 1), kLeastStaged);
}

void a_calibration_line_reads_as_it_was_written(void **) {
    char line[kCalibrationLine];
    print_thresholds("0000:3b:00.0", {524288, kNeverStaged}, line);
    assert_string_equal(line, "0000:3b:00.0 to_device 524288 to_host never");
    char id[kPciIdBytes];
    StagingThresholds read{};
    assert_true(parse_thresholds(line, id, &read));
    assert_string_equal(id, "0000:3b:00.0");
    assert_int_equal(read.to_device, 524288);
    assert_int_equal(read.to_host, kNeverStaged);
}

void a_line_that_is_none_is_refused(void **) {
    char id[kPciIdBytes];
    StagingThresholds read{};
    for (const char *line : {"", "x", "x to_device 1", "x to_device 1 to_host", "x to_device -1 to_host 1",
                             "x to_device 1 to_host 1 ", "x to_device 1k to_host 1", "x to_host 1 to_device 1"}) {
        assert_false(parse_thresholds(line, id, &read));
    }
}

// Chunks and pieces follow one another without a gap, and keep to their limits.
void check_cut(const Cut &cut) {
    int64_t offset = 0;
    while (offset < cut.nbytes) {
        const int64_t length = chunk_length(cut, offset);
        assert_int_in_range(length, 1, cut.slot_bytes);
        assert_true(offset + length <= cut.nbytes);
        int64_t start = 0;
        while (start < length) {
            const int64_t piece = piece_length(cut, offset, length, start);
            assert_int_in_range(piece, 1, length - start);
            if (cut.by_huge_pages) {
                const int64_t first = cut.address + offset + start;
                assert_int_equal(first / kHugePage, (first + piece - 1) / kHugePage);
            } else {
                assert_int_equal(start % 64, 0);  // the slot's part is aligned for stores past the caches
            }
            start += piece;
        }
        offset += length;
    }
}

void every_cut_covers_the_copy_once(void **) {
    for (const int64_t slot : {256 * kKiB, kMiB, 4 * kMiB}) {
        for (const int64_t nbytes : {int64_t{1}, 64 * kKiB + 1, 256 * kKiB, 256 * kKiB + 1, 384 * kKiB, 385 * kKiB,
                                     kMiB - 1, kMiB + 1, 3 * kMiB, 8 * kMiB + 5, 100 * kMiB + 77}) {
            for (const intptr_t address : {intptr_t{0}, intptr_t{4097}, static_cast<intptr_t>(kHugePage - 1)}) {
                check_cut({nbytes, slot, false, address});
                check_cut({nbytes, slot, true, address});
                check_cut({nbytes, slot, false, address, kLeastWithKernel});
            }
        }
    }
}

void chunks_grow_at_first_and_shrink_at_last(void **) {
    for (const int64_t least : {256 * kKiB, kMiB}) {
        const Cut cut{64 * kMiB, 4 * kMiB, false, 0, least};
        std::vector<int64_t> lengths;
        for (int64_t offset = 0; offset < cut.nbytes; offset += lengths.back()) {
            lengths.push_back(chunk_length(cut, offset));
        }
        assert_int_equal(lengths.front(), least);
        assert_true(lengths.back() <= 2 * least);
        assert_int_equal(*std::max_element(lengths.begin(), lengths.end()), 4 * kMiB);
    }
}

void the_ring_keeps_within_what_it_may_have(void **) {
    for (const int64_t most : {int64_t{0}, kMiB - 1, kMiB, 3 * kMiB, 4 * kMiB, 33 * kMiB, 64 * kMiB}) {
        const RingShape shape = shape_ring(most);
        assert_true(shape.nbytes() <= most);
        assert_true(shape.slot_count <= Ring::kMostSlots);
        assert_int_equal(shape.slot_count == 0, most < kMiB);
        assert_int_equal(shape.slot_bytes % (64 * kKiB), 0);
    }
}

void a_growing_ring_keeps_within_it_too(void **) {
    using via::cuda::RingSize;
    for (const int64_t most : {int64_t{0}, kMiB - 1, kMiB, 16 * kMiB - 1, 16 * kMiB, 33 * kMiB, 64 * kMiB}) {
        for (const bool has_medium : {false, true}) {
            int64_t pinned = 0;
            for (const RingSize size : {RingSize::Small, RingSize::Medium, RingSize::Large}) {
                if (size == RingSize::Medium && !has_medium) {
                    continue;
                }
                const RingShape shape = shape_growing_ring(most, pinned, size);
                assert_true(shape.slot_count == 0 || shape.slot_count >= kFewestSlots);
                assert_true(shape.slot_count <= Ring::kMostSlots);
                pinned += shape.nbytes();
                assert_true(pinned <= most);
            }
            assert_int_equal(pinned > 0, shape_ring(most).slot_count > 0);
            assert_true(most % kMiB != 0 || most < 16 * kMiB || pinned > most - 4 * kMiB);
        }
    }
    // What it may have may have become less.
    assert_int_equal(shape_growing_ring(16 * kMiB, 16 * kMiB, RingSize::Large).slot_count, 0);
    assert_int_equal(shape_growing_ring(16 * kMiB, 64 * kMiB, RingSize::Medium).slot_count, 0);
}

void the_ring_has_a_sixteenth_of_the_memory_at_most(void **) {
    assert_int_equal(most_ring_bytes(), std::min(64 * kMiB, via::usable_memory() / 16));
}

// Planning asks for each copy. Whoever makes a ring asks the system again.
void planning_reads_no_file_of_a_limit(void **) {
    const int64_t most = most_ring_bytes();
    const int before = opened;
    assert_int_equal(most_ring_bytes(), most);
    assert_int_equal(opened, before);
    assert_int_equal(find_ring_bytes(), most);
    assert_true(opened > before);
}

void a_list_of_cpus_is_read_as_the_kernel_writes_it(void **) {
    cpu_set_t cpus;
    assert_true(parse_cpu_list("0-3,8,10-11\n", &cpus));
    assert_int_equal(CPU_COUNT(&cpus), 7);
    assert_true(CPU_ISSET(8, &cpus) && CPU_ISSET(11, &cpus) && !CPU_ISSET(9, &cpus));
    assert_true(parse_cpu_list("5", &cpus));
    for (const char *text : {"", "\n", "a", "3-1", "1,x", "0-99999999"}) {
        assert_false(parse_cpu_list(text, &cpus));
    }
}

void a_thread_moved_near_a_device_comes_back(void **) {
    cpu_set_t before;
    cpu_set_t after;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CpuSet one{true, {}};
    CPU_ZERO(&one.cpus);
    int first = 0;
    while (!CPU_ISSET(first, &before)) {
        ++first;
    }
    CPU_SET(first, &one.cpus);
    {
        const NearDevice near(&one);
        assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
        assert_int_equal(CPU_COUNT(&after), 1);
    }
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
}

void a_link_speed_is_read_as_the_kernel_writes_it(void **) {
    assert_float_equal(parse_link_speed("32.0 GT/s PCIe\n", "16\n"), 64, 0.01);
    assert_float_equal(parse_link_speed("8.0 GT/s PCIe\n", "16\n"), 16, 0.01);
    assert_float_equal(parse_link_speed("Unknown speed\n", "0\n"), 0, 0.01);
}

void stores_for_the_device_write_every_byte_and_no_other(void **) {
    alignas(64) static unsigned char dst[2048];
    static unsigned char src[2048];
    for (size_t i = 0; i < sizeof src; ++i) {
        src[i] = static_cast<unsigned char>(i * 7 + 1);
    }
    for (int64_t nbytes = 0; nbytes < 1100; ++nbytes) {
        const size_t shift = static_cast<size_t>(nbytes) % 61;
        unsigned char *to = dst + static_cast<size_t>(nbytes) % 67;
        std::memset(dst, 0xEE, sizeof dst);
        store_for_device(to, src + shift, nbytes);
        assert_memory_equal(to, src + shift, static_cast<size_t>(nbytes));
        assert_int_equal(to[nbytes], 0xEE);
        assert_true(to == dst || to[-1] == 0xEE);
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_leaves_copies_to_the_driver),
        cmocka_unit_test(a_fast_or_unknown_link_is_staged_early_and_a_slow_one_later),
        cmocka_unit_test(the_crossover_is_where_staging_wins_from_there_on),
        cmocka_unit_test(a_calibration_line_reads_as_it_was_written),
        cmocka_unit_test(a_line_that_is_none_is_refused),
        cmocka_unit_test(every_cut_covers_the_copy_once),
        cmocka_unit_test(chunks_grow_at_first_and_shrink_at_last),
        cmocka_unit_test(the_ring_keeps_within_what_it_may_have),
        cmocka_unit_test(a_growing_ring_keeps_within_it_too),
        cmocka_unit_test(the_ring_has_a_sixteenth_of_the_memory_at_most),
        cmocka_unit_test(planning_reads_no_file_of_a_limit),
        cmocka_unit_test(a_list_of_cpus_is_read_as_the_kernel_writes_it),
        cmocka_unit_test(a_thread_moved_near_a_device_comes_back),
        cmocka_unit_test(a_link_speed_is_read_as_the_kernel_writes_it),
        cmocka_unit_test(stores_for_the_device_write_every_byte_and_no_other),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
