// The order in which strided elements cross the link: whatever is cut out of it, packing and unpacking the pieces one
// after the other equals a naive copy.
#include "strided_sample.hpp"

#include "cuda/layout/packed_order.hpp"

namespace {

using via::Axis;
using via::cuda::Major;
using via::cuda::Move;
using via::cuda::PackedOrder;
using via::cuda::Slab;
using via::cuda::Transfer;

// A random copy between memory of its own.
struct Sample {
    StridedSample layout;
    std::vector<char> dst;
    std::vector<char> src;
    Transfer transfer;
};

Sample make_sample(Random *random) {
    Sample made{random_sample(random, 20, 5, 7), {}, {}, {}};
    const StridedSample &layout = made.layout;
    made.dst.assign(static_cast<size_t>(layout.dst_bytes), '\xEE');
    made.src.resize(static_cast<size_t>(layout.src_bytes));
    random->fill(&made.src);
    made.transfer = {made.dst.data(),
                     made.src.data() + layout.src_first,
                     layout.nbytes,
                     {},
                     {},
                     nullptr,
                     nullptr,
                     layout.run,
                     layout.ndim(),
                     layout.axes.data()};
    return made;
}

std::vector<char> expected_of(const Sample &sample) {
    std::vector<char> expected = sample.dst;
    const Transfer &transfer = sample.transfer;
    copy_naively(expected.data(), static_cast<const char *>(transfer.src), transfer.run, transfer.ndim, transfer.axes);
    return expected;
}

void assert_normal(const Move &move) {
    int64_t nbytes = move.run;
    for (int32_t i = 0; i < move.ndim; ++i) {
        assert_true(move.axes[i].extent > 1 && move.axes[i].dst_step > 0);
        assert_true(i == 0 || move.axes[i].dst_step >= move.axes[i - 1].dst_step);
        nbytes *= move.axes[i].extent;
    }
    assert_int_equal(nbytes, move.nbytes);
}

void run_move(const Move &move) {
    assert_normal(move);
    copy_naively(move.dst, move.src, move.run, move.ndim, move.axes);
}

// Through a buffer of exactly as many bytes as are said to be needed.
void cross(const PackedOrder &order, const Slab &slab) {
    std::vector<char> buffer(static_cast<size_t>(via::cuda::buffer_bytes(order, slab)));
    const Move packing = via::cuda::make_packing(order, slab, buffer.data());
    assert_int_equal(packing.nbytes, static_cast<int64_t>(buffer.size()));
    run_move(packing);
    run_move(via::cuda::make_unpacking(order, slab, buffer.data()));
}

void cross_in_pieces(const PackedOrder &order, int64_t wanted, int64_t most) {
    for (int64_t offset = 0; offset < order.nbytes;) {
        const Slab slab = via::cuda::cut_slab(order, offset, order.nbytes, wanted, most);
        assert_true(slab.nbytes > 0 && slab.nbytes <= std::max(wanted, most) && offset + slab.nbytes <= order.nbytes);
        cross(order, slab);
        offset += slab.nbytes;
    }
}

// Chunks, and these cut into pieces, each of which is reported by its ends alone.
void cross_in_pieces_of_chunks(const PackedOrder &order, int64_t chunk, int64_t piece) {
    for (int64_t start = 0; start < order.nbytes;) {
        const int64_t end = start + via::cuda::cut_slab(order, start, order.nbytes, chunk, chunk).nbytes;
        while (start < end) {
            const Slab slab = via::cuda::cut_slab(order, start, end, piece, piece);
            cross(order, via::cuda::slab_of(order, start, slab.nbytes));
            start += slab.nbytes;
        }
        assert_int_equal(start, end);
    }
}

template <class Visit>
void for_each_sample(unsigned count, Visit visit) {
    for (unsigned seed = 0; seed < count; ++seed) {
        Random random(seed);
        Sample sample = make_sample(&random);
        const std::vector<char> expected = expected_of(sample);
        visit(&random, sample);
        if (sample.dst != expected) {
            print_error("sample %u differs\n", seed);
            assert_true(false);
        }
    }
}

Major random_lead(Random *random) { return random->chance(2) ? Major::Dst : Major::Src; }

void any_piece_can_cross_by_itself(void **) {
    for_each_sample(3000, [](Random *random, Sample &sample) {
        const Major major = random_lead(random);
        const PackedOrder order = via::cuda::make_packed_order(sample.transfer, major, random->chance(2));
        const int64_t wanted = random->between(1, order.nbytes + 10);
        cross_in_pieces(order, wanted, wanted * random->between(1, 3));
    });
}

void chunks_are_cut_into_pieces(void **) {
    for_each_sample(3000, [](Random *random, Sample &sample) {
        const Major major = random_lead(random);
        const PackedOrder order = via::cuda::make_packed_order(sample.transfer, major, random->chance(2));
        const int64_t chunk = random->between(1, order.nbytes + 10);
        cross_in_pieces_of_chunks(order, chunk, random->between(1, chunk));
    });
}

void what_crosses_raw_takes_its_gaps_along(void **) {
    for_each_sample(3000, [](Random *random, Sample &sample) {
        PackedOrder order = via::cuda::make_packed_order(sample.transfer, Major::Src, false);
        order.raw = true;
        const int64_t wanted = random->between(1, order.nbytes + 10);
        cross_in_pieces(order, wanted, wanted);
    });
}

// A source that stands still along an axis is read once.
void each_byte_of_the_source_crosses_once(void **) {
    std::vector<char> src(40);
    std::vector<char> dst(4000);
    const Axis axes[] = {{10, 4, 4}, {100, 40, 0}};
    Transfer transfer{dst.data(), src.data(), 4000, {}, {}, nullptr, nullptr, 4, 2, axes};
    assert_int_equal(via::cuda::make_packed_order(transfer, Major::Src, false).nbytes, 40);
    assert_int_equal(via::cuda::make_packed_order(transfer, Major::Src, true).nbytes, 4000);
}

// Rows of 1000 bytes, 30 to a plane: pieces are whole rows, and whole planes rather than parts of one with a rest.
void pieces_are_as_large_as_is_wanted(void **) {
    std::vector<char> memory(1);
    const Axis axes[] = {{30, 1000, 2000}, {50, 30000, 90000}};
    Transfer transfer{memory.data(), memory.data(), 1500000, {}, {}, nullptr, nullptr, 1000, 2, axes};
    const PackedOrder order = via::cuda::make_packed_order(transfer, Major::Src, false);
    const auto cut = [&](int64_t offset, int64_t wanted, int64_t most) {
        return via::cuda::cut_slab(order, offset, order.nbytes, wanted, most).nbytes;
    };
    assert_int_equal(cut(0, 4500, 4500), 4000);
    assert_int_equal(cut(0, 70000, 70000), 60000);
    assert_int_equal(cut(29000, 25000, 25000), 1000);
    assert_int_equal(cut(300, 25000, 25000), 700);
    assert_int_equal(cut(0, 500, 500), 500);
    assert_int_equal(cut(1470000, 70000, 70000), 30000);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(any_piece_can_cross_by_itself),         cmocka_unit_test(chunks_are_cut_into_pieces),
        cmocka_unit_test(what_crosses_raw_takes_its_gaps_along), cmocka_unit_test(each_byte_of_the_source_crosses_once),
        cmocka_unit_test(pieces_are_as_large_as_is_wanted),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
