// Every instruction set's kernels do what a naive loop does, at every size around their vectors' sizes.
#include "copy/host/elements.hpp"
#include "copy/host/host_kernels.hpp"
#include "copy/plan/cache_sizes.hpp"
#include "copy_support.hpp"

namespace {

template <typename Check>
void at_each_level(const Check &check) {
    assert_non_null(via::simd_kernels_at(0));
    for (int level = 0; level < via::kSimdLevels; ++level) {
        if (const via::SimdKernels *kernels = via::simd_kernels_at(level)) {
            check(*kernels);
        }
    }
}

void expect_like_naive(via::Kernel kernel, const via::Piece &piece, const std::vector<char> &src, size_t src_at,
                       const std::vector<char> &dst_before, size_t dst_at) {
    std::vector<char> dst = dst_before;
    std::vector<char> expected = dst_before;
    std::vector<int64_t> shape;
    std::vector<int64_t> to;
    std::vector<int64_t> from;
    for (int32_t i = piece.ndim - 1; i >= 0; --i) {
        shape.push_back(piece.axes[i].extent);
        to.push_back(piece.axes[i].dst_step);
        from.push_back(piece.axes[i].src_step);
    }
    naive_copy(expected.data() + dst_at, src.data() + src_at, shape, to, from, piece.run);
    via::Piece placed = piece;
    placed.dst = dst.data() + dst_at;
    placed.src = src.data() + src_at;
    kernel(placed);
    assert_memory_equal(dst.data(), expected.data(), expected.size());
}

void check_rows(const via::SimdKernels &kernels) {
    Random random(11);
    std::vector<char> src(16000);
    std::vector<char> dst(16000);
    random.fill(&src);
    for (int64_t run = 1; run < 1300; run += run < 600 ? 1 : 37) {
        const via::Axis axes[] = {{3, run + 2, run + 1}, {2, 3 * run + 9, -3 * run - 5}, {2, 6 * run + 20, 5}};
        const via::Piece piece{nullptr, nullptr, run, axes, run % 2 == 0 ? 3 : 2, 0};
        const auto src_at = static_cast<size_t>(4 * run + 40);
        expect_like_naive(kernels.rows, piece, src, src_at, dst, static_cast<size_t>(run % 64));
        expect_like_naive(kernels.rows_streaming, piece, src, src_at, dst, static_cast<size_t>(run % 64));
    }
}

void row_kernels_copy_runs_of_every_length(void **) { at_each_level(check_rows); }

void check_transpose(const via::SimdKernels &kernels, int index, int64_t rows, int64_t columns, int64_t gap) {
    const int64_t item = int64_t{1} << index;
    const int64_t dst_step = rows * item + gap;
    const int64_t src_step = columns * item + gap;
    // A second panel goes over the first one once more.
    const via::Axis axes[] = {{rows, item, src_step}, {columns, dst_step, item}, {2, 0, 0}};
    const via::Piece piece{nullptr, nullptr, item, axes, 3, gap * 64};
    std::vector<char> src(static_cast<size_t>(rows * src_step + 64));
    std::vector<char> dst(static_cast<size_t>(columns * dst_step + 64));
    Random(12).fill(&src);
    expect_like_naive(kernels.transpose[index], piece, src, 1, dst, 3);
    const via::Axis backwards[] = {{rows, item, -src_step}, {columns, dst_step, item}};
    expect_like_naive(kernels.transpose[index], {nullptr, nullptr, item, backwards, 2, 0}, src,
                      static_cast<size_t>((rows - 1) * src_step), dst, 3);
}

void transpose_kernels_turn_blocks_of_every_size(void **) {
    at_each_level([](const via::SimdKernels &kernels) {
        for (int index = 0; index < 5; ++index) {
            const int64_t widest = int64_t{1024} >> index;
            for (const int64_t rows : std::initializer_list<int64_t>{1, 2, 3, 5, 7, 9, 15, 16, 17, 33, widest}) {
                for (int64_t columns = 1; columns < 140; columns += columns < 70 ? 1 : 13) {
                    check_transpose(kernels, index, rows, columns, columns % 5);
                }
            }
        }
    });
}

// A side shorter than a lane, the other of any length. No byte lies behind either array, and none before.
void check_narrow(const via::SimdKernels &kernels, int index, int64_t rows, int64_t columns, int64_t gap,
                  bool forward) {
    const int64_t item = int64_t{1} << index;
    const int64_t dst_step = (rows + gap) * item;
    const int64_t src_step = (columns + gap) * item;
    const via::Axis axes[] = {{rows, item, forward ? src_step : -src_step}, {columns, dst_step, item}};
    std::vector<char> src(static_cast<size_t>((rows - 1) * src_step + columns * item));
    const std::vector<char> dst(static_cast<size_t>((columns - 1) * dst_step + rows * item));
    Random(17).fill(&src);
    const size_t src_at = forward ? 0 : static_cast<size_t>((rows - 1) * src_step);
    expect_like_naive(kernels.transpose[index], {nullptr, nullptr, item, axes, 2, 0}, src, src_at, dst, 0);
}

void transpose_kernels_turn_blocks_with_a_side_of_less_than_a_lane(void **) {
    at_each_level([](const via::SimdKernels &kernels) {
        for (int index = 0; index < 4; ++index) {
            for (int64_t few = 1; few << index < 16; ++few) {
                for (int64_t many = 1; many < 150; ++many) {
                    check_narrow(kernels, index, few, many, many % 2, true);
                    check_narrow(kernels, index, many, few, many % 3, true);
                    check_narrow(kernels, index, many, few, many % 3, false);
                }
                check_narrow(kernels, index, 40, few, 2000 >> index, true);
            }
        }
    });
}

// (b, a, d, c) by (2, 3, 0, 1): each side of the transpose goes along two axes. No byte behind either array.
void check_long_sides(const via::SimdKernels &kernels, int index, int64_t a, int64_t b, int64_t c, int64_t d) {
    const int64_t item = int64_t{1} << index;
    const via::Axis axes[] = {{a, item, c * d * item},
                              {c, a * b * item, item},
                              {b, a * item, a * c * d * item},
                              {d, a * b * c * item, c * item}};
    const via::Piece piece{nullptr, nullptr, item, axes, 4, 0};
    std::vector<char> src(static_cast<size_t>(a * b * c * d * item));
    const std::vector<char> dst(src.size());
    Random(16).fill(&src);
    expect_like_naive(kernels.transpose[index], piece, src, 0, dst, 0);
}

void transpose_kernels_take_sides_along_several_axes(void **) {
    at_each_level([](const via::SimdKernels &kernels) {
        for (int index = 0; index < 5; ++index) {
            for (const int64_t a : {2, 3, 7, 16}) {
                for (const int64_t c : {2, 3, 5, 17}) {
                    check_long_sides(kernels, index, a, 3, c, 5);
                    check_long_sides(kernels, index, a, 40, c, 2);
                    check_long_sides(kernels, index, a, 2, c, 300);
                }
            }
        }
    });
}

// Columns that start lines of dst at the same rows, along one axis or two; so may rows in src. Any places of both
// arrays in their lines. No byte lies behind either array.
void check_lines(const via::SimdKernels &kernels, int index, Random *random) {
    const int64_t item = int64_t{1} << index;
    const int64_t rows = random->between(1, 1200 / item);
    const int64_t inner = random->chance(2) ? random->between(2, 9) : 1;
    const int64_t columns = inner * random->between(1, 300 / (item * inner) + 1);
    const auto whole = [](int64_t nbytes) { return (nbytes / via::kLineConflict + 1) * via::kLineConflict; };
    const int64_t dst_step = whole(rows * item);
    const int64_t src_step = random->chance(2) ? columns * item : whole(columns * item);
    const bool forward = random->chance(2);
    const via::Axis axes[] = {{rows, item, forward ? src_step : -src_step},
                              {inner > 1 ? inner : columns, dst_step, item},
                              {inner > 1 ? columns / inner : 1, inner * dst_step, inner * item}};
    const auto src_at = static_cast<size_t>(random->between(0, 4) * 16 + (random->chance(3) ? 1 : 0));
    const auto dst_at = static_cast<size_t>(random->between(0, 128 / item) * item);
    std::vector<char> src(src_at + static_cast<size_t>((rows - 1) * src_step + columns * item));
    const std::vector<char> dst(dst_at + static_cast<size_t>((columns - 1) * dst_step + rows * item));
    random->fill(&src);
    const via::Piece piece{nullptr, nullptr, item, axes, inner > 1 ? 3 : 2, random->chance(2) ? 64 : 0};
    const int64_t first = forward ? 0 : (rows - 1) * src_step;
    expect_like_naive(kernels.transpose[index], piece, src, src_at + static_cast<size_t>(first), dst, dst_at);
}

void transpose_kernels_write_lines_that_compete_for_the_cache(void **) {
    at_each_level([](const via::SimdKernels &kernels) {
        Random random(18);
        for (int i = 0; i < QUICK_OR(1500, 6000); ++i) {
            check_lines(kernels, i % 5, &random);
        }
    });
}

// Axes that are dense in dst, in any order, and go forwards or backwards in src by a few elements, or far. No byte lies
// before the first element, and none behind the last.
void check_shuffle(const via::SimdKernels &kernels, Random *random) {
    const int64_t run = random->between(1, 7);
    const auto ndim = static_cast<int32_t>(random->between(2, 4));
    via::Axis axes[4];
    int64_t nbytes = run;
    int64_t low = 0;
    int64_t high = run;
    for (int32_t i = 0; i < ndim; ++i) {
        const int64_t extent = random->between(1, i == 0 ? 40 : 9);
        const int64_t unit = random->chance(6) ? 1000 : random->chance(2) ? run : 1;
        axes[i] = {extent, nbytes, random->between(-6, 6) * unit};
        nbytes = nbytes * extent + (random->chance(4) ? random->between(0, 40) : 0);
        const int64_t reach = (extent - 1) * axes[i].src_step;
        low += std::min<int64_t>(reach, 0);
        high += std::max<int64_t>(reach, 0);
    }
    std::swap(axes[random->between(0, ndim - 1)], axes[random->between(0, ndim - 1)]);
    std::vector<char> src(static_cast<size_t>(high - low));
    std::vector<char> dst(static_cast<size_t>(nbytes + 9));
    random->fill(&src);
    const via::Piece piece{nullptr, nullptr, run, axes, ndim, random->chance(2) ? 64 : 0};
    expect_like_naive(kernels.shuffle, piece, src, static_cast<size_t>(-low), dst, 5);
}

void shuffle_kernels_put_lines_together_from_elements_that_are_near(void **) {
    at_each_level([](const via::SimdKernels &kernels) {
        Random random(15);
        for (int i = 0; i < QUICK_OR(4000, 20000) && kernels.shuffle != nullptr; ++i) {
            check_shuffle(kernels, &random);
        }
    });
}

// Axes that are dense in src, in any order, and go forwards or backwards in dst with gaps, but never over one another.
void check_spread(const via::SimdKernels &kernels, Random *random) {
    const int64_t run = random->between(1, 7);
    const auto ndim = static_cast<int32_t>(random->between(2, 4));
    via::Axis axes[4];
    int64_t reach = run;
    int64_t before = 0;
    for (int32_t i = 0; i < ndim; ++i) {
        const int64_t extent = random->between(1, i == 0 ? 40 : 9);
        const int64_t gap = random->chance(6) ? random->between(0, 3000) : random->between(0, 3) * run;
        const int64_t step = reach + gap;
        const bool backwards = random->chance(3);
        axes[i] = {extent, backwards ? -step : step, 0};
        before += backwards ? (extent - 1) * step : 0;
        reach += (extent - 1) * step;
    }
    std::swap(axes[random->between(0, ndim - 1)], axes[random->between(0, ndim - 1)]);
    int64_t nbytes = run;
    for (int32_t i = 0; i < ndim; ++i) {
        axes[i].src_step = nbytes;
        nbytes *= axes[i].extent;
    }
    std::swap(axes[random->between(0, ndim - 1)], axes[random->between(0, ndim - 1)]);
    std::vector<char> src(static_cast<size_t>(nbytes));
    std::vector<char> dst(static_cast<size_t>(reach));
    random->fill(&src);
    random->fill(&dst);
    const via::Piece piece{nullptr, nullptr, run, axes, ndim, random->chance(2) ? 64 : 0};
    expect_like_naive(kernels.spread, piece, src, 0, dst, static_cast<size_t>(before));
}

void spread_kernels_leave_the_bytes_between_elements_alone(void **) {
    at_each_level([](const via::SimdKernels &kernels) {
        Random random(16);
        for (int i = 0; i < QUICK_OR(4000, 20000) && kernels.spread != nullptr; ++i) {
            check_spread(kernels, &random);
        }
    });
}

void element_kernels_copy_elements_of_every_size(void **) {
    std::vector<char> src(40000);
    std::vector<char> dst(40000);
    Random(13).fill(&src);
    for (int64_t item = 1; item < 70; ++item) {
        for (const int64_t inner : {1, 2, 9, 20}) {
            const via::Axis axes[] = {
                {inner, item + 3, -item - 1}, {5, 30 * item + 90, 2 * item}, {2, 160 * item + 500, 9}};
            const via::Piece piece{nullptr, nullptr, item, axes, inner % 2 == 0 ? 2 : 3, 0};
            expect_like_naive(via::element_kernel(item), piece, src, 10000, dst, 7);
        }
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(row_kernels_copy_runs_of_every_length),
        cmocka_unit_test(transpose_kernels_turn_blocks_of_every_size),
        cmocka_unit_test(transpose_kernels_turn_blocks_with_a_side_of_less_than_a_lane),
        cmocka_unit_test(transpose_kernels_take_sides_along_several_axes),
        cmocka_unit_test(transpose_kernels_write_lines_that_compete_for_the_cache),
        cmocka_unit_test(shuffle_kernels_put_lines_together_from_elements_that_are_near),
        cmocka_unit_test(spread_kernels_leave_the_bytes_between_elements_alone),
        cmocka_unit_test(element_kernels_copy_elements_of_every_size),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
