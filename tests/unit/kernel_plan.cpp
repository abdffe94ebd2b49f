// Which kernel is chosen for a strided copy, and how it is cut: values, made without a GPU and without memory.
#include "cuda/launch/kernel_plan.hpp"

#include <cmath>

#include "copy_support.hpp"
#include "core/base/text_buffer.hpp"
#include "cuda/launch/kernel_cost.hpp"
#include "cuda/launch/kernel_plan_box.hpp"
#include "cuda/launch/kernel_plan_elements.hpp"
#include "cuda/launch/kernel_plan_tiles.hpp"
#include "cuda/launch/plan_cache.hpp"

namespace {

using via::Axis;
using via::cuda::FarSide;
using via::cuda::KernelPlan;
using via::cuda::KernelRoute;
using via::cuda::plan_channels;
using via::cuda::plan_kernel;
using via::cuda::plan_tiles;
using via::cuda::Shape;
using via::cuda::Transfer;
using via::kernels::Id;

constexpr uintptr_t kDst = uintptr_t{1} << 44;
constexpr uintptr_t kSrc = uintptr_t{1} << 45;

// A transfer of elements of `run` bytes along loops in normal form.
struct Loops {
    Loops(int64_t run, std::vector<Axis> loops, uintptr_t shift = 0) : axes(std::move(loops)) {
        transfer.dst = reinterpret_cast<void *>(kDst + shift);
        transfer.src = reinterpret_cast<const void *>(kSrc + shift);
        transfer.run = transfer.nbytes = run;
        transfer.ndim = static_cast<int32_t>(axes.size());
        transfer.axes = axes.data();
        for (const Axis &axis : axes) {
            transfer.nbytes *= axis.extent;
        }
    }
    KernelPlan plan() const {
        KernelPlan made;
        plan_kernel(transfer, &made);
        return made;
    }
    // Of one planner, whatever the others would make.
    KernelPlan plan_by(bool (*make)(const Shape &, KernelPlan *)) const {
        Shape shape;
        via::cuda::find_shape(transfer, &shape);
        KernelPlan made;
        assert_true(make(shape, &made));
        return made;
    }
    std::vector<Axis> axes;
    Transfer transfer{};
};

bool plan_any_box(const Shape &shape, KernelPlan *plan) { return via::cuda::plan_box(shape, INFINITY, plan); }

Loops transpose(int64_t rows, int64_t columns, int64_t item, uintptr_t shift = 0) {
    return {item, {{rows, item, columns * item}, {columns, rows * item, item}}, shift};
}

void assert_plan(const KernelPlan &plan, KernelRoute route, Id kernel, int32_t word) {
    assert_int_equal(static_cast<int>(plan.route), static_cast<int>(route));
    assert_string_equal(via::kernels::info(plan.kernel).name, via::kernels::info(kernel).name);
    assert_int_equal(plan.word, word);
}

void aligned_transposes_are_tiled_by_sixteens(void **) {
    assert_plan(transpose(4096, 2048, 1).plan_by(plan_tiles), KernelRoute::Tiles, Id::via_tile_1, 16);
    assert_plan(transpose(4096, 2048, 2).plan_by(plan_tiles), KernelRoute::Tiles, Id::via_tile_2, 16);
    assert_plan(transpose(4096, 2048, 4).plan_by(plan_tiles), KernelRoute::Tiles, Id::via_tile_4, 16);
    assert_plan(transpose(4096, 2048, 8).plan_by(plan_tiles), KernelRoute::Tiles, Id::via_tile_8, 16);
    assert_plan(transpose(4096, 2048, 16).plan_by(plan_tiles), KernelRoute::Tiles, Id::via_tile_16, 16);
}

void odd_sizes_and_odd_addresses_are_tiled_loosely(void **) {
    assert_plan(transpose(4095, 2048, 1).plan_by(plan_tiles), KernelRoute::Tiles, Id::via_tile_loose_1, 16);
    assert_plan(transpose(4096, 2047, 2).plan_by(plan_tiles), KernelRoute::Tiles, Id::via_tile_loose_2, 16);
    assert_plan(transpose(4096, 2048, 4, 4).plan_by(plan_tiles), KernelRoute::Tiles, Id::via_tile_loose_4, 16);
    assert_plan(transpose(4096, 2048, 8, 8).plan_by(plan_tiles), KernelRoute::Tiles, Id::via_tile_loose_8, 16);
}

void a_tile_is_cut_to_the_words_that_it_holds(void **) {
    const KernelPlan plan = transpose(4096, 2048, 4).plan_by(plan_tiles);
    assert_int_equal(plan.tile[0] * plan.tile[1], 64 * 64);
    assert_int_equal(plan.blocks, (4096 / plan.tile[0]) * (2048 / plan.tile[1]));
}

void short_runs_leave_their_share_of_the_tile_to_the_other(void **) {
    const KernelPlan plan = transpose(1 << 20, 8, 4).plan_by(plan_tiles);
    assert_int_equal(static_cast<int>(plan.route), static_cast<int>(KernelRoute::Tiles));
    assert_int_equal(plan.tile[1], 8);
    assert_int_equal(plan.tile[0], 512);
}

// 47 elements are twelve sixteens: two tiles of six, not one of eight and one of four. What that leaves of a tile the
// other run has.
void a_run_that_ends_soon_behind_a_tile_is_cut_evenly(void **) {
    const KernelPlan plan = transpose(1 << 16, 47, 4).plan_by(plan_tiles);
    assert_plan(plan, KernelRoute::Tiles, Id::via_tile_loose_4, 16);
    assert_int_equal(plan.params.tile.b_words.divisor, 6);
    assert_int_equal(plan.params.tile.b.tiles.divisor, 2);
    assert_int_equal(plan.params.tile.a_words.divisor, 128 / 6 / 2 * 2);
}

// 118 bytes and the rest of a sixteen before them are more than a tile's 112, and would leave a second one nearly
// empty.
void a_run_that_is_little_longer_than_a_tile_has_one(void **) {
    const KernelPlan plan = transpose(118, 142922, 1).plan_by(plan_tiles);
    assert_plan(plan, KernelRoute::Tiles, Id::via_tile_loose_1, 16);
    assert_int_equal(plan.params.tile.a.tiles.divisor, 1);
    assert_true(plan.params.tile.a_words.divisor * plan.params.tile.b_words.divisor <= 64);
}

// The two fastest axes of either side make one index, so that nothing is left over at its end.
void runs_go_on_over_axes_that_continue_them(void **) {
    constexpr int64_t kSide = 40;
    std::vector<Axis> axes;
    for (int64_t dst = 4, src = 4 * kSide * kSide * kSide, i = 0; i < 4; ++i, dst *= kSide, src /= kSide) {
        axes.push_back({kSide, dst, src});
    }
    const KernelPlan plan = Loops(4, axes).plan_by(plan_tiles);
    assert_plan(plan, KernelRoute::Tiles, Id::via_tile_4, 16);
    assert_int_equal(plan.params.tile.a.count, kSide * kSide);
    assert_int_equal(plan.params.tile.b.count, kSide * kSide);
    assert_int_equal(plan.params.tile.outer_ndim, 0);
}

void runs_that_begin_anywhere_are_rows(void **) {
    assert_plan(Loops(1000, {{50000, 1000, 1111}}).plan(), KernelRoute::Rows, Id::via_rows_1, 16);
    assert_plan(Loops(1000, {{50000, 1004, 1108}}).plan_by(via::cuda::plan_rows), KernelRoute::Rows, Id::via_rows_4,
                16);
    assert_plan(Loops(1024, {{5000, 1024, 2048}}).plan(), KernelRoute::Elements, Id::via_elements_16, 16);
}

void steps_of_words_are_done_element_by_element(void **) {
    assert_plan(Loops(4, {{1 << 20, 4, 8}}).plan(), KernelRoute::Elements, Id::via_elements_4, 4);
    assert_plan(Loops(4, {{1 << 20, 4, 0}}).plan(), KernelRoute::Elements, Id::via_elements_4, 4);
    assert_plan(Loops(4, {{1 << 20, 4, -4}}).plan(), KernelRoute::Elements, Id::via_elements_4, 4);
}

void bytes_further_apart_or_backwards_have_boxes(void **) {
    assert_plan(Loops(1, {{1 << 23, 1, 5}}).plan_by(plan_any_box), KernelRoute::Box, Id::via_box_1, 1);
    assert_plan(Loops(1, {{1 << 23, 1, -1}}).plan_by(plan_any_box), KernelRoute::Box, Id::via_box_1, 1);
    assert_plan(Loops(1, {{1 << 23, 1, 64}}).plan(), KernelRoute::Elements, Id::via_elements_1, 1);
}

// Rows of a whole run follow one another in dst if nothing lies between them: they are stored as one.
void whole_rows_that_follow_one_another_are_joined(void **) {
    const auto plan_of = [](int64_t item, int64_t count, int64_t row) {
        return Loops(item, {{count, item, 135 * item}, {135, row, item}, {1828, 135 * row, 135 * count * item}})
            .plan_by(plan_tiles);
    };
    const KernelPlan bytes = plan_of(1, 69, 69);
    assert_int_equal(bytes.params.tile.joined.divisor, 69);
    assert_int_equal(bytes.blocks, 1828);
    assert_int_equal(plan_of(2, 39, 78).params.tile.joined.divisor, 39);
    assert_int_equal(plan_of(1, 69, 70).params.tile.joined.divisor, 0);    // a gap
    assert_int_equal(plan_of(1, 400, 400).params.tile.joined.divisor, 0);  // tiles end amid rows
    assert_int_equal(plan_of(4, 33, 132).params.tile.joined.divisor, 0);
}

// Every second element along the axis that is fast in src: no run of whole words, but sectors all the same. Tiles load
// bytes and drop every second one, which boxes would find each by itself.
void transposes_of_every_second_element_are_copied_by_boxes_and_those_of_bytes_by_tiles(void **) {
    constexpr int64_t kSide = 4096;
    const auto plan_of = [](int64_t item, int64_t step) {
        return Loops(item, {{kSide, item, step * kSide * item}, {kSide, kSide * item, step * item}}).plan();
    };
    assert_plan(plan_of(4, 2), KernelRoute::Box, Id::via_box_4, 4);
    for (const int64_t step : {2, 3, 4}) {
        const KernelPlan plan = plan_of(1, step);
        assert_plan(plan, KernelRoute::Tiles, Id::via_tile_loose_1, 16);
        assert_int_equal(plan.params.tile.b_pitch, step);
        assert_true(plan.tile[1] * step >= plan.params.tile.b_words.divisor * 16);
    }
    assert_plan(plan_of(1, 5), KernelRoute::Box, Id::via_box_1, 1);
}

// Elsewhere blocks of 253 would begin amid sectors.
void stores_to_another_device_begin_at_sectors(void **) {
    Shape shape;
    KernelPlan plan;
    via::cuda::find_shape(Loops(2, {{11, 2, 3015822}, {542, 22, 2}, {100, 11924, 1086}}).transfer, &shape);
    shape.far_side = FarSide::Dst;
    via::cuda::plan_elements(shape, &plan);
    constexpr int64_t kPart = 11 * 542 * 32;  // 25 indices of the outermost axis would be a quarter
    static_assert(2 * kPart % 32 == 0);
    assert_int_equal(plan.params.elements.count, kPart);
    assert_int_equal(plan.params.elements.each, 4);
    assert_int_equal(plan.blocks, via::divide_up(kPart, 256));
}

// Large elements are enough of a load for each thread.
void threads_store_one_large_element_each_on_another_device(void **) {
    Shape shape;
    KernelPlan plan;
    via::cuda::find_shape(transpose(542, 1100, 4).transfer, &shape);
    shape.far_side = FarSide::Dst;
    via::cuda::plan_elements(shape, &plan);
    assert_int_equal(plan.params.elements.count, 542 * 1100);
    assert_int_equal(plan.params.elements.each, 1);
}

// Boxes are compared by what their stores take across the link, and a warp stores a long run by lines.
void boxes_are_chosen_by_what_they_store_to_another_device(void **) {
    const Loops copies[] = {Loops(1, {{1699, 1, 639 * 126}, {126, 1699, 1}, {639, 126 * 1699, 126}}),
                            Loops(1, {{220, 1, 1}, {435, 220, 111 * 220}, {111, 435 * 220, 220}}),
                            transpose(4095, 2049, 1), transpose(4095, 2049, 2)};
    for (const Loops &copy : copies) {
        Shape shape;
        KernelPlan chosen;
        KernelPlan other;
        via::cuda::find_shape(copy.transfer, &shape);
        shape.far_side = FarSide::Dst;
        assert_true(via::cuda::plan_box(shape, INFINITY, &chosen));
        for (const via::cuda::BoxKind &kind : via::cuda::kBoxKinds) {
            assert_true(!via::cuda::plan_box(shape, INFINITY, &other, {&kind, 1}) || chosen.cost <= other.cost);
            assert_true(other.cost >= static_cast<double>(shape.nbytes) / via::cuda::link_bytes(shape.element));
        }
        const auto &share = chosen.params.box.storing;
        assert_true(4 * share.count < 128 || 4 * share.threads.divisor >= 128);
    }
}

// Memory reads a sector before it writes a part of it: all sectors that runs of less than one touch, and those at the
// ends of longer ones, unless these keep to whole sectors. Caches complete those of small copies.
void sectors_that_are_stored_in_part_are_filled(void **) {
    const auto filled = [](int64_t run, int64_t count, int64_t step) {
        Shape shape;
        via::cuda::find_shape(Loops(run, {{count, step, 2 * run}}).transfer, &shape);
        return static_cast<int64_t>(via::cuda::filled_sectors(shape));
    };
    constexpr int64_t kMany = 1 << 24;
    assert_int_equal(filled(4, kMany, 4), 0);
    assert_int_equal(filled(4, kMany, 8), kMany * 8 / 32);
    assert_int_equal(filled(4, kMany, 64), kMany * 35 / 32);
    assert_int_equal(filled(512, kMany, 520), 2 * kMany);
    assert_int_equal(filled(512, kMany, 544), 0);
    assert_int_equal(filled(4, 1 << 18, 8), 0);
}

// A walk is counted by the units that its runs lie in, with what precedes the first and follows the last.
void regions_merge_what_lies_within_a_unit(void **) {
    via::cuda::Region rows;
    rows.add(10, 4);
    rows.add(3, -4096);
    rows.add(5, 0);
    assert_true(rows.count_units(4, 4, 32) == 3 * (40 + 32 - 4) / 32.0);
    assert_true(rows.count_units(4, 32, 32) == 3 * 40 / 32.0);
    via::cuda::Region strided;
    strided.add(100, 16);
    assert_true(strided.count_units(4, 4, 32) == (4 + 99 * 16 + 28) / 32.0);
}

// Whatever the planners are, the copy is done by the plan that is estimated to take the least time.
void the_plan_with_the_least_cost_is_chosen(void **) {
    const Loops copies[] = {transpose(4096, 2048, 4), transpose(4095, 2049, 2), Loops(1000, {{5000, 1000, 1111}}),
                            Loops(1, {{3, 1, 1 << 22}, {1 << 22, 3, 1}}),
                            Loops(4, {{4, 4, 64}, {4, 16, 16}, {4, 64, 4}, {1 << 20, 256, 256}})};
    for (const Loops &copy : copies) {
        Shape shape;
        via::cuda::find_shape(copy.transfer, &shape);
        const KernelPlan chosen = copy.plan();
        KernelPlan other;
        via::cuda::plan_elements(shape, &other);
        assert_true(chosen.cost <= other.cost);
        for (auto *make : {via::cuda::plan_rows, plan_channels, plan_tiles}) {
            assert_true(!make(shape, &other) || chosen.cost <= other.cost);
        }
        assert_true(!via::cuda::plan_box(shape, chosen.cost / 1.2, &other));
    }
}

// Tiles begin anywhere in the runs of dst, and each sector of those is stored by one tile.
void runs_of_dst_are_cut_at_sectors(void **) {
    const KernelPlan odd = Loops(4, {{1001, 4, 8 * 4096}, {4096, 4004, 8}}).plan_by(plan_any_box);
    assert_plan(odd, KernelRoute::Box, Id::via_box_4, 4);
    assert_int_equal(odd.params.box.owned % 8, 0);
    assert_true(odd.params.box.owned > 0 && odd.params.box.owned + 7 <= odd.params.box.columns.count);
    const KernelPlan even = Loops(4, {{1024, 4, 8 * 4096}, {4096, 4096, 8}}).plan_by(plan_any_box);
    assert_plan(even, KernelRoute::Box, Id::via_box_4, 4);
    assert_int_equal(even.params.box.owned, 0);
}

// What the second-level cache holds is not worth the time that a tile takes to begin.
void small_copies_are_done_element_by_element(void **) {
    assert_plan(transpose(256, 256, 4).plan(), KernelRoute::Elements, Id::via_elements_4, 4);
    assert_plan(Loops(1000, {{2000, 1000, 1111}}).plan(), KernelRoute::Elements, Id::via_elements_1, 1);
}

// But elements whose neighbours in dst are a multiple of some KiB apart in src compete for a few sets of a cache.
void small_transposes_are_tiled_where_elements_take_long(void **) {
    assert_plan(transpose(1024, 1024, 1).plan(), KernelRoute::Tiles, Id::via_tile_1, 16);
    assert_plan(transpose(1024, 1024, 2).plan(), KernelRoute::Tiles, Id::via_tile_2, 16);
}

// Boxes are as good where rows of tiles begin and end within lines.
void large_elements_are_tiled_where_steps_keep_to_lines(void **) {
    assert_plan(transpose(4096, 4096, 8).plan(), KernelRoute::Tiles, Id::via_tile_8, 16);
    assert_plan(transpose(4096, 4096, 16).plan(), KernelRoute::Tiles, Id::via_tile_16, 16);
    assert_plan(transpose(4098, 4098, 8).plan(), KernelRoute::Box, Id::via_box_8, 8);
}

// Where src is fast along another axis than dst, a thread's elements are neighbours in src.
void threads_walk_where_src_moves_least(void **) {
    Shape shape;
    via::cuda::find_shape(transpose(512, 1024, 4).transfer, &shape);
    KernelPlan plan;
    via::cuda::plan_elements(shape, &plan);
    assert_int_equal(plan.params.elements.src_step, 4);
    assert_int_equal(plan.params.elements.each, 8);
    assert_false(plan.params.elements.is_shared);
    const KernelPlan strided = Loops(4, {{1 << 18, 4, 8}}).plan();
    assert_true(strided.params.elements.is_shared);
    assert_int_equal(strided.params.elements.unit.divisor, 256);
}

// Parts of an axis fill blocks: 5 times 51 indices, 255 of 256 threads.
void threads_number_a_part_of_an_axis(void **) {
    Shape shape;
    via::cuda::find_shape(Loops(4, {{5, 4, 4000}, {100000, 20, 40}}).transfer, &shape);
    via::cuda::ElementsWalk walk;
    assert_true(via::cuda::make_walk(shape, -1, 1, 1, &walk));
    assert_true(walk.is_shared && walk.axis == 1);
    assert_int_equal(walk.unit, 51);
    assert_int_equal(via::cuda::count_blocks(shape, walk), via::divide_up(100000, 51 * walk.each));
}

// Rows of 591 would leave 177 threads of three blocks idle; three rows leave 19 of seven blocks.
void threads_number_rows_that_fill_blocks_together(void **) {
    Shape shape;
    via::cuda::find_shape(
        Loops(16, {{591, 16, 16}, {431, 16 * 591, 16 * 600}, {65, 16 * 591 * 431, 16 * 600 * 1300}}).transfer, &shape);
    via::cuda::ElementsWalk walk;
    assert_true(via::cuda::make_walk(shape, -1, 1, 1, &walk));
    assert_true(walk.is_shared && walk.axis == 1);
    assert_int_equal(walk.unit, 3);
}

constexpr int64_t kPixels = 1 << 22;

// An image whose pixels are adjacent in dst and whose channels are in src, or the other way round.
Loops join_channels(int64_t channels, int64_t item) {
    return {item, {{channels, item, item * kPixels}, {kPixels, item * channels, item}}};
}

Loops split_channels(int64_t channels, int64_t item, int64_t taken) {
    return {item, {{kPixels, item, item * channels}, {taken, item * kPixels, item}}};
}

void two_to_four_channels_are_transposed_in_registers(void **) {
    assert_plan(join_channels(3, 1).plan_by(plan_channels), KernelRoute::Channels, Id::via_joined_1_3, 16);
    assert_plan(join_channels(2, 2).plan_by(plan_channels), KernelRoute::Channels, Id::via_joined_2_2, 16);
    assert_plan(join_channels(4, 4).plan_by(plan_channels), KernelRoute::Channels, Id::via_joined_4_4, 16);
    assert_plan(split_channels(3, 1, 3).plan_by(plan_channels), KernelRoute::Channels, Id::via_split_1_3, 16);
    assert_plan(split_channels(4, 2, 4).plan_by(plan_channels), KernelRoute::Channels, Id::via_split_2_4, 16);
    assert_plan(split_channels(2, 4, 2).plan_by(plan_channels), KernelRoute::Channels, Id::via_split_4_2, 16);
}

void channels_that_are_left_out_are_read_and_dropped(void **) {
    const KernelPlan three = split_channels(4, 1, 3).plan_by(plan_channels);
    assert_plan(three, KernelRoute::Channels, Id::via_split_1_4, 16);
    assert_int_equal(three.params.channels.taken, 3);
    const KernelPlan one = Loops(2, {{1 << 22, 2, 4}}).plan_by(plan_channels);
    assert_plan(one, KernelRoute::Channels, Id::via_split_2_2, 16);
    assert_int_equal(one.params.channels.taken, 1);
}

// From the last channel to the first in dst, too.
void channels_in_the_opposite_order_are_transposed_as_well(void **) {
    const KernelPlan plan = Loops(1, {{kPixels, 1, 3}, {3, kPixels, -1}}).plan_by(plan_channels);
    assert_plan(plan, KernelRoute::Channels, Id::via_split_1_3, 16);
    assert_int_equal(plan.params.channels.src, kSrc - 2);
    assert_int_equal(plan.params.channels.dst, kDst + 2 * kPixels);
    assert_int_equal(plan.params.channels.channel_step, -kPixels);
}

void tiles_of_channels_begin_earlier_only_where_rows_of_dst_begin_anywhere(void **) {
    assert_int_equal(split_channels(3, 1, 3).plan_by(plan_channels).params.channels.early, 0);
    const Loops odd(1, {{kPixels - 1, 1, 3}, {3, kPixels - 1, 1}});
    assert_int_equal(odd.plan_by(plan_channels).params.channels.early, 2);
    const Loops shifted(1, {{3, 1, kPixels}, {kPixels, 3, 1}}, 1);
    assert_int_equal(shifted.plan_by(plan_channels).params.channels.early, 2);
}

// Rows of which a tile would have little to do are left to the others.
void short_rows_of_channels_are_not_transposed_in_registers(void **) {
    const Loops rows(1, {{3, 1, 400}, {400, 3, 1}, {5000, 1200, 1600}});
    assert_false(rows.plan().route == KernelRoute::Channels);
}

void more_channels_and_records_have_boxes(void **) {
    assert_plan(join_channels(5, 1).plan_by(plan_any_box), KernelRoute::Box, Id::via_box_1, 1);
    assert_plan(split_channels(5, 1, 5).plan_by(plan_any_box), KernelRoute::Box, Id::via_box_1, 1);
    assert_plan(join_channels(3, 8).plan_by(plan_any_box), KernelRoute::Box, Id::via_box_8, 8);
    assert_plan(transpose(1000, 900, 12).plan_by(plan_any_box), KernelRoute::Box, Id::via_box_4, 4);
    assert_plan(transpose(1000, 900, 24).plan_by(plan_any_box), KernelRoute::Box, Id::via_box_8, 8);
}

// Four by four by four elements transposed a million times: both sides of a tile go through many of them.
void small_boxes_that_follow_one_another_share_a_tile(void **) {
    const Loops small(4, {{4, 4, 64}, {4, 16, 16}, {4, 64, 4}, {1 << 20, 256, 256}});
    const KernelPlan plan = small.plan_by(plan_any_box);
    assert_plan(plan, KernelRoute::Box, Id::via_box_4, 4);
    assert_true(plan.params.box.columns.count * plan.params.box.dst_rows.count >= 16 * 64);
}

void more_than_four_gigabytes_keep_narrow_arithmetic_where_tiles_do(void **) {
    const KernelPlan plan = transpose(int64_t{1} << 17, int64_t{1} << 17, 1).plan_by(plan_tiles);
    assert_plan(plan, KernelRoute::Tiles, Id::via_tile_1, 16);
    assert_int_equal(int64_t{plan.blocks} * plan.tile[0] * plan.tile[1], int64_t{1} << 34);
    const auto elements = [](const Shape &shape, KernelPlan *made) {
        via::cuda::plan_elements(shape, made);
        return true;
    };
    assert_plan(Loops(4, {{int64_t{1} << 31, 4, 8}}).plan_by(elements), KernelRoute::Elements, Id::via_elements_4, 4);
}

// The kernel of boxes indexes what it cuts by 32 bits.
void an_axis_that_the_kernel_cannot_index_is_not_cut(void **) {
    const int64_t many = (int64_t{1} << 32) + 100;
    for (const Loops &wide : {transpose(many, 4, 1), transpose(many, 2, 4), transpose(2, many, 1)}) {
        Shape shape;
        KernelPlan box;
        via::cuda::find_shape(wide.transfer, &shape);
        assert_false(plan_any_box(shape, &box));
        assert_true(wide.plan().route != KernelRoute::Box);
    }
}

// Axes of two bits each, in orders that no run survives.
void many_axes_that_continue_nothing_are_still_copied(void **) {
    std::vector<Axis> axes;
    for (int64_t i = 0; i < 30; ++i) {
        axes.push_back({2, int64_t{4} << i, int64_t{4} << (29 - i)});
    }
    const KernelPlan plan = Loops(4, axes).plan();
    assert_true(plan.blocks > 0);
}

std::string words_of(const KernelPlan &plan) {
    char text[200];
    via::TextBuffer words(text, sizeof text);
    via::cuda::describe_kernel(plan, &words);
    return text;
}

void the_plan_is_reported_in_words(void **) {
    assert_string_equal(words_of(transpose(4096, 2048, 4).plan()).c_str(),
                        "tiles of 64 x 64, elements of 4 bytes, 16 at once, via_tile_4, 2048 blocks of 256 threads");
    assert_string_equal(
        words_of(Loops(4, {{1 << 20, 4, 8}}).plan()).c_str(),
        "elements, 8 for a thread, elements of 4 bytes, 4 at once, via_elements_4, 512 blocks of 256 threads");
}

// ------------------------------------------------------------------------------------------------ remembered

KernelPlan recalled(const Loops &loops, FarSide far_side = FarSide::None) {
    KernelPlan plan;
    via::cuda::plan_or_recall_kernel(loops.transfer, far_side, &plan);
    return plan;
}

// The steps of a transposition whose rows begin at multiples of four bytes are those of its plan for any memory of that
// alignment.
void a_layout_is_planned_once_wherever_its_memory_is(void **) {
    const auto turn = [](uintptr_t shift) { return transpose(3001, 2003, 4, shift); };
    const KernelPlan first = recalled(turn(0));
    assert_true(first.route == KernelRoute::Box || first.route == KernelRoute::Tiles);
    for (const uintptr_t shift : {uintptr_t{0}, uintptr_t{4096}, uintptr_t{1} << 33, uintptr_t{4}, uintptr_t{20}}) {
        const Loops moved = turn(shift);
        const KernelPlan expected = moved.plan();
        for (int32_t turns = 0; turns < 2; ++turns) {
            const KernelPlan plan = recalled(moved);
            assert_string_equal(words_of(plan).c_str(), words_of(expected).c_str());
            const bool tiled = plan.route == KernelRoute::Tiles;
            assert_int_equal(tiled ? plan.params.tile.dst : plan.params.box.dst, kDst + shift);
            assert_int_equal(tiled ? plan.params.tile.src : plan.params.box.src, kSrc + shift);
            assert_int_equal(tiled ? plan.params.tile.extent.low : plan.params.box.extent.low, kSrc + shift);
        }
    }
}

// More layouts than are remembered replace one another.
void layouts_that_are_forgotten_are_planned_again(void **) {
    for (int32_t turn = 0; turn < 2; ++turn) {
        for (int64_t rows = 2000; rows < 2300; ++rows) {
            const Loops loops = transpose(rows, 1501, 4);
            assert_string_equal(words_of(recalled(loops)).c_str(), words_of(loops.plan()).c_str());
        }
    }
}

// Ends of rows would be stored byte by byte across the link; warps that store elements or words side by side lose
// little.
void rows_that_begin_anywhere_are_not_stored_by_sixteens_on_another_device(void **) {
    const Loops rows(362, {{128, 362, 364}, {2894, 128 * 362, 129 * 364}});
    assert_true(recalled(rows).route == KernelRoute::Rows);
    const KernelPlan across = recalled(rows, FarSide::Dst);
    assert_plan(across, KernelRoute::Elements, Id::via_elements_2, 2);
    assert_true(recalled(rows).route == KernelRoute::Rows);
    const Loops aligned(4096, {{3000, 4096, 8192}});
    assert_true(recalled(aligned, FarSide::Dst).route == recalled(aligned).route);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(aligned_transposes_are_tiled_by_sixteens),
        cmocka_unit_test(odd_sizes_and_odd_addresses_are_tiled_loosely),
        cmocka_unit_test(a_tile_is_cut_to_the_words_that_it_holds),
        cmocka_unit_test(short_runs_leave_their_share_of_the_tile_to_the_other),
        cmocka_unit_test(a_run_that_ends_soon_behind_a_tile_is_cut_evenly),
        cmocka_unit_test(a_run_that_is_little_longer_than_a_tile_has_one),
        cmocka_unit_test(runs_go_on_over_axes_that_continue_them),
        cmocka_unit_test(runs_that_begin_anywhere_are_rows),
        cmocka_unit_test(steps_of_words_are_done_element_by_element),
        cmocka_unit_test(whole_rows_that_follow_one_another_are_joined),
        cmocka_unit_test(bytes_further_apart_or_backwards_have_boxes),
        cmocka_unit_test(transposes_of_every_second_element_are_copied_by_boxes_and_those_of_bytes_by_tiles),
        cmocka_unit_test(the_plan_with_the_least_cost_is_chosen),
        cmocka_unit_test(runs_of_dst_are_cut_at_sectors),
        cmocka_unit_test(small_copies_are_done_element_by_element),
        cmocka_unit_test(small_transposes_are_tiled_where_elements_take_long),
        cmocka_unit_test(large_elements_are_tiled_where_steps_keep_to_lines),
        cmocka_unit_test(threads_walk_where_src_moves_least),
        cmocka_unit_test(sectors_that_are_stored_in_part_are_filled),
        cmocka_unit_test(regions_merge_what_lies_within_a_unit),
        cmocka_unit_test(stores_to_another_device_begin_at_sectors),
        cmocka_unit_test(threads_store_one_large_element_each_on_another_device),
        cmocka_unit_test(boxes_are_chosen_by_what_they_store_to_another_device),
        cmocka_unit_test(threads_number_a_part_of_an_axis),
        cmocka_unit_test(threads_number_rows_that_fill_blocks_together),
        cmocka_unit_test(two_to_four_channels_are_transposed_in_registers),
        cmocka_unit_test(channels_that_are_left_out_are_read_and_dropped),
        cmocka_unit_test(channels_in_the_opposite_order_are_transposed_as_well),
        cmocka_unit_test(tiles_of_channels_begin_earlier_only_where_rows_of_dst_begin_anywhere),
        cmocka_unit_test(short_rows_of_channels_are_not_transposed_in_registers),
        cmocka_unit_test(more_channels_and_records_have_boxes),
        cmocka_unit_test(small_boxes_that_follow_one_another_share_a_tile),
        cmocka_unit_test(more_than_four_gigabytes_keep_narrow_arithmetic_where_tiles_do),
        cmocka_unit_test(an_axis_that_the_kernel_cannot_index_is_not_cut),
        cmocka_unit_test(many_axes_that_continue_nothing_are_still_copied),
        cmocka_unit_test(the_plan_is_reported_in_words),
        cmocka_unit_test(a_layout_is_planned_once_wherever_its_memory_is),
        cmocka_unit_test(layouts_that_are_forgotten_are_planned_again),
        cmocka_unit_test(rows_that_begin_anywhere_are_not_stored_by_sixteens_on_another_device),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
