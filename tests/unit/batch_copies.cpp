// Which copies of a batch go by the kernel and which by the driver, and how the former are cut into pieces.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include <cmocka.h>
}
#undef fail  // the library has a function of that name

#include <algorithm>
#include <iterator>
#include <vector>

#include "cuda/batch/batch_copies.hpp"

namespace {

using namespace via::cuda;
using via::kernels::CopyPiece;

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * kKiB;

// Copies of a place of their own each, decided.
struct Decided {
    Decided(const std::vector<uint64_t> &sizes, LinkDirection across, bool together) {
        add(sizes, across);
        assert_true(copies.decide(together));
    }
    Decided() = default;

    void add(const std::vector<uint64_t> &sizes, LinkDirection across) {
        for (const uint64_t nbytes : sizes) {
            assert_true(copies.add({at, at + (uint64_t{1} << 50), nbytes, across}));
            at += nbytes + 77;
        }
    }

    int64_t small() const { return copies.small().count(); }
    int64_t large() const { return copies.large().count(); }

    BatchCopies copies;
    uint64_t at = 1000;
};

std::vector<CopyPiece> pieces_of(const BatchCopies &copies, int64_t room) {
    std::vector<CopyPiece> all;
    std::vector<CopyPiece> some(static_cast<size_t>(room));
    Pieces pieces(copies);
    for (int64_t count = room; count == room;) {
        count = pieces.take(room, some.data());
        all.insert(all.end(), some.begin(), some.begin() + count);
    }
    return all;
}

// Every byte of every small copy once, in order, by pieces that are as large as they may be but for the last of each.
void assert_pieces(const BatchCopies &copies, int64_t room) {
    const std::vector<CopyPiece> pieces = pieces_of(copies, room);
    assert_int_equal(pieces.size(), copies.piece_count());
    size_t next = 0;
    for (const BatchCopy &copy : copies.small()) {
        for (uint64_t done = 0; done < copy.nbytes; ++next) {
            const CopyPiece &piece = pieces[next];
            const uint64_t most = static_cast<uint64_t>(copies.piece_bytes());
            assert_int_equal(piece.dst, copy.dst + done);
            assert_int_equal(piece.src, copy.src + done);
            assert_int_equal(piece.nbytes, std::min(most, copy.nbytes - done));
            done += piece.nbytes;
        }
    }
    assert_int_equal(next, pieces.size());
}

void two_copies_on_the_device_are_worth_a_launch_and_one_is_not(void **) {
    for (const bool together : {false, true}) {
        assert_int_equal(Decided({100}, LinkDirection::No, together).small(), 0);
        assert_int_equal(Decided({100}, LinkDirection::No, together).large(), 1);
        assert_int_equal(Decided({100, 100}, LinkDirection::No, together).small(), 2);
        assert_int_equal(Decided({100, 100}, LinkDirection::No, together).large(), 0);
    }
}

void a_few_copies_across_the_link_are_left_to_the_driver(void **) {
    for (const LinkDirection across : {LinkDirection::ToDevice, LinkDirection::ToHost}) {
        assert_int_equal(Decided(std::vector<uint64_t>(3, 4096), across, false).large(), 3);
        assert_int_equal(Decided(std::vector<uint64_t>(4, 4096), across, false).small(), 4);
        assert_int_equal(Decided(std::vector<uint64_t>(7, 4096), across, true).large(), 7);
        assert_int_equal(Decided(std::vector<uint64_t>(8, 4096), across, true).small(), 8);
    }
}

void copies_of_both_kinds_are_weighed_together(void **) {
    Decided mixed;
    mixed.add({100}, LinkDirection::No);
    mixed.add({100, 100, 100}, LinkDirection::ToDevice);
    assert_true(mixed.copies.decide(true));
    assert_int_equal(mixed.large(), 4);
    Decided more;
    more.add({100}, LinkDirection::No);
    more.add({100, 100, 100, 100}, LinkDirection::ToHost);
    assert_true(more.copies.decide(true));
    assert_int_equal(more.small(), 5);
}

void what_is_large_is_left_to_the_driver_wherever_it_stands(void **) {
    const std::vector<uint64_t> sizes = {kMiB, 10, 20, 64 * kMiB, 30, 40, 50, 60, 70, 80, 90, 256 * kKiB, 255 * kKiB};
    assert_int_equal(Decided(sizes, LinkDirection::No, true).large(), 1);
    assert_int_equal(Decided(sizes, LinkDirection::ToHost, false).large(), 2);
    const Decided link(sizes, LinkDirection::ToDevice, true);
    assert_int_equal(link.large(), 3);
    assert_int_equal(link.copies.large()[0].nbytes, kMiB);
    assert_int_equal(link.copies.large()[1].nbytes, 64 * kMiB);
    assert_int_equal(link.copies.large()[2].nbytes, 256 * kKiB);
    assert_int_equal(link.small(), 10);
    assert_pieces(link.copies, 7);
}

void nothing_is_left_of_nothing(void **) {
    const Decided none({}, LinkDirection::No, true);
    assert_int_equal(none.small() + none.large(), 0);
    assert_int_equal(none.copies.piece_count(), 0);
}

void pieces_cover_every_byte_once(void **) {
    uint64_t state = 7;
    const auto next = [&](uint64_t below) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        return (state >> 33) % below;
    };
    for (int32_t round = 0; round < 300; ++round) {
        std::vector<uint64_t> sizes(2 + next(200));
        for (uint64_t &nbytes : sizes) {
            nbytes = 1 + next(next(10) == 0 ? 40 * kMiB : 20000);
        }
        const Decided given(sizes, LinkDirection::No, true);
        assert_int_equal(given.small(), sizes.size());
        assert_pieces(given.copies, static_cast<int64_t>(1 + next(400)));
    }
}

void a_table_stays_small_however_much_there_is_to_copy(void **) {
    const Decided small(std::vector<uint64_t>(4096, 4 * kKiB), LinkDirection::No, true);
    assert_int_equal(small.copies.piece_bytes(), 4 * kKiB);
    assert_int_equal(small.copies.piece_count(), 4096);
    for (const size_t count : {2, 1000, 100000}) {
        const Decided much(std::vector<uint64_t>(count, 63 * kMiB), LinkDirection::No, true);
        assert_int_equal(much.copies.piece_bytes() % 4096, 0);
        assert_int_in_range(much.copies.piece_count(), count, 2 * (65536 + count));
        assert_true(much.copies.piece_bytes() < int64_t{UINT32_MAX});
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(two_copies_on_the_device_are_worth_a_launch_and_one_is_not),
        cmocka_unit_test(a_few_copies_across_the_link_are_left_to_the_driver),
        cmocka_unit_test(copies_of_both_kinds_are_weighed_together),
        cmocka_unit_test(what_is_large_is_left_to_the_driver_wherever_it_stands),
        cmocka_unit_test(nothing_is_left_of_nothing),
        cmocka_unit_test(pieces_cover_every_byte_once),
        cmocka_unit_test(a_table_stays_small_however_much_there_is_to_copy),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
