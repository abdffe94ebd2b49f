// Plans: the normal form of a copy, the route chosen for it, and both as text.
#include <string>

#include "copy/choose_tiles.hpp"
#include "copy/explain.hpp"
#include "copy/host/host_kernels.hpp"
#include "copy/host/tile_passes.hpp"
#include "copy/normalise.hpp"
#include "copy/plan.hpp"
#include "copy_support.hpp"
#include "core/system/thread_count.hpp"

namespace {

using via::Walk;

// The plan of a copy of float32; steps are in elements.
via::Plan plan_of(const std::vector<int64_t> &shape, const std::vector<int64_t> &to, const std::vector<int64_t> &from,
                  int32_t dtype = VIA_FLOAT32) {
    static char anywhere[64];
    const Wrapped dst(anywhere, dtype, shape, to, via::StrideUnit::Elements);
    const Wrapped src(anywhere, dtype, shape, from, via::StrideUnit::Elements);
    via::Plan plan;
    assert_int_equal(via::normalise_copy(dst.get(), src.get(), &plan), VIA_OK);
    via::choose_tiles(&plan);
    return plan;
}

// How its tiles are walked, scratches aside.
via::TilePass pass_of(const via::Plan &plan) { return via::TilePasses(plan, nullptr).main(); }

Walk walk_of(const via::Plan &plan) { return pass_of(plan).walk; }

void expect_loop(const via::TilePass &pass, int32_t axis, int64_t extent, int64_t dst_step, int64_t src_step) {
    assert_true(axis < pass.ndim);
    assert_int_equal(pass.axes[axis].extent, extent);
    assert_int_equal(pass.axes[axis].dst_step, dst_step);
    assert_int_equal(pass.axes[axis].src_step, src_step);
}

void expect_axis(const via::Plan &plan, int32_t axis, int64_t extent, int64_t dst_step, int64_t src_step) {
    assert_true(axis < plan.ndim);
    assert_int_equal(plan.axes[axis].extent, extent);
    assert_int_equal(plan.axes[axis].dst_step, dst_step);
    assert_int_equal(plan.axes[axis].src_step, src_step);
}

void dense_arrays_of_the_same_order_are_one_run(void **) {
    const via::Plan row_major = plan_of({3, 1, 4, 5}, {20, 99, 5, 1}, {20, 7, 5, 1});
    const via::Plan column_major = plan_of({3, 4, 5}, {1, 3, 12}, {1, 3, 12});
    for (const via::Plan &plan : {row_major, column_major}) {
        assert_int_equal(plan.ndim, 0);
        assert_int_equal(plan.run, 240);
        assert_int_equal(plan.nbytes, 240);
    }
}

void axes_that_go_backwards_in_both_are_one_run(void **) {
    const via::Plan plan = plan_of({4, 5}, {-5, -1}, {-5, -1});
    assert_int_equal(plan.ndim, 0);
    assert_int_equal(plan.run, 80);
}

void a_part_of_a_matrix_is_rows(void **) {
    const via::Plan plan = plan_of({64, 64}, {64, 1}, {1024, 1});
    assert_int_equal(walk_of(plan), Walk::Rows);
    assert_int_equal(plan.ndim, 1);
    assert_int_equal(plan.run, 256);
    expect_axis(plan, 0, 64, 256, 4096);
    assert_int_equal(plan.threads, 1);
}

void a_transposed_matrix_is_a_transpose(void **) {
    const via::TilePass pass = pass_of(plan_of({100, 200}, {200, 1}, {1, 100}));
    assert_int_equal(pass.walk, Walk::Transpose);
    expect_loop(pass, 0, 200, 4, 400);
    expect_loop(pass, 1, 100, 800, 4);
}

void a_transposed_matrix_read_backwards_is_a_transpose(void **) {
    const via::TilePass pass = pass_of(plan_of({100, 200}, {200, 1}, {-1, 100}));
    assert_int_equal(pass.walk, Walk::Transpose);
    assert_true(pass.flipped);
    expect_loop(pass, 1, 100, -800, 4);
}

void axes_read_backwards_make_up_a_side_of_a_transpose(void **) {
    const via::TilePass pass = pass_of(plan_of({5, 7, 100}, {700, 100, 1}, {-1, -5, 35}));
    assert_int_equal(pass.walk, Walk::Transpose);
    assert_true(pass.flipped);
    expect_loop(pass, 0, 100, 4, 140);
    expect_loop(pass, 1, 5, -2800, 4);
    expect_loop(pass, 2, 7, -400, 20);
}

void an_axis_read_backwards_that_continues_rows_stays_as_it_is(void **) {
    const via::TilePass pass = pass_of(plan_of({5, 40, 9}, {360, 9, 1}, {1, -5, 200}));
    assert_int_equal(pass.walk, Walk::Transpose);
    assert_false(pass.flipped);
}

void a_permutation_turns_the_two_fastest_axes(void **) {
    const via::TilePass pass = pass_of(plan_of({10, 20, 30}, {600, 30, 1}, {1, 10, 200}));
    assert_int_equal(pass.walk, Walk::Transpose);
    expect_loop(pass, 0, 30, 4, 800);
    expect_loop(pass, 1, 10, 2400, 4);
    expect_loop(pass, 2, 20, 120, 40);
}

int64_t bytes_of_tile(const via::Plan &plan) {
    int64_t nbytes = plan.run_block;
    for (int32_t i = 0; i < plan.ndim; ++i) {
        nbytes *= plan.block[i];
    }
    return nbytes;
}

// Bytes of src that a tile reads one after another, of axes that continue one another from the last one on.
int64_t source_run_of(const via::Plan &plan) {
    int64_t nbytes = plan.run;
    for (int32_t i = plan.ndim - 1; i >= 0 && plan.axes[i].src_step == nbytes; --i) {
        nbytes *= plan.block[i];
    }
    return nbytes;
}

void a_permute_of_short_axes_takes_as_many_of_each_side_as_make_whole_lines(void **) {
    const via::Plan plan =
        plan_of({12, 13, 12, 12, 13, 12}, {292032, 22464, 1872, 156, 12, 1}, {1, 12, 156, 1872, 22464, 292032});
    assert_int_equal(plan.ndim, 6);
    assert_true(plan.by_rows);
    assert_int_in_range(via::row_bytes_of(plan), 512, 4096);
    assert_int_in_range(source_run_of(plan), 64, 4096);
    assert_int_in_range(bytes_of_tile(plan), 16384, 131072);
    assert_int_in_range(via::scratch_bytes_of(plan), bytes_of_tile(plan), via::kScratchBytes);
}

void the_tiles_of_a_plan_cover_each_index_once(void **) {
    const via::Plan plan = plan_of({1000, 30, 1000}, {30000, 1000, 1}, {1, 1000, 30000});
    int64_t of_axis[3] = {1, 1, 1};
    for (int32_t i = 0; i < plan.loop_ndim; ++i) {
        of_axis[plan.loops[i].of] = plan.loops[i].axis.extent;
    }
    for (int32_t i = 0; i < plan.ndim; ++i) {
        assert_int_in_range(plan.axes[i].extent, (of_axis[i] - 1) * plan.block[i] + 1, of_axis[i] * plan.block[i]);
    }
}

void rows_that_would_crowd_in_the_cache_go_through_a_scratch(void **) {
    assert_true(plan_of({512, 512}, {65536, 1}, {1, 512}).by_rows);
    assert_false(plan_of({512, 512}, {4100, 1}, {1, 512}).by_rows);
}

// Vectors that are a line write it at once.
void rows_that_crowd_in_the_first_level_cache_only_are_written_by_whole_lines(void **) {
    const bool has_lines = via::simd_kernels().level >= via::kLineLevel;
    assert_int_equal(plan_of({512, 512}, {4096, 1}, {1, 512}).by_rows, !has_lines);
}

void streamed_elements_go_through_a_scratch_unless_src_has_the_order_of_dst(void **) {
    const auto goes_through_one = [](const std::vector<int64_t> &shape, const std::vector<int64_t> &to,
                                     const std::vector<int64_t> &from) {
        via::Plan plan = plan_of(shape, to, from);
        via::choose_tiles(&plan, 1, true);
        return plan.by_rows;
    };
    assert_false(goes_through_one({1000, 1000}, {1000, 1}, {2000, 2}));
    assert_false(goes_through_one({1000, 1000}, {1000, 1}, {1000, -1}));
    assert_true(goes_through_one({40, 50, 60}, {3000, 60, 1}, {120, 4800, 2}));
    assert_true(goes_through_one({40, 50, 60}, {3000, 60, 1}, {0, 120, 2}));
}

void a_small_copy_is_one_tile(void **) {
    const via::Plan plan = plan_of({12, 13, 12}, {156, 12, 1}, {1, 12, 156});
    assert_int_equal(plan.loop_ndim, 0);
    assert_false(plan.by_rows);
    assert_int_equal(bytes_of_tile(plan), plan.nbytes);
}

void a_large_transposed_matrix_with_gaps_is_shuffled_together_first(void **) {
    const via::Plan plan = plan_of({1000, 1000}, {1000, 1}, {2, 2000}, VIA_INT16);
    assert_true(plan.squeezes);
    assert_int_equal(walk_of(plan), Walk::Transpose);
    assert_false(plan_of({1000, 1000}, {1000, 1}, {5, 5000}, VIA_INT16).squeezes);
}

void elements_of_four_bytes_are_shuffled_together_for_rows_alone(void **) {
    const via::Plan crowded = plan_of({1024, 1024}, {1024, 1}, {2, 2048});
    assert_true(crowded.by_rows);
    assert_true(crowded.squeezes);
    const via::Plan plan = plan_of({500, 500}, {500, 1}, {2, 1000});
    assert_false(plan.by_rows);
    assert_false(plan.squeezes);
    assert_false(plan_of({1024, 1024}, {1024, 1}, {2, 2048}, VIA_FLOAT64).squeezes);
}

void a_transposed_matrix_with_other_gaps_goes_by_elements(void **) {
    assert_int_equal(walk_of(plan_of({100, 200}, {400, 2}, {1, 100})), Walk::Elements);
    assert_int_equal(walk_of(plan_of({100, 200}, {200, 1}, {5, 500})), Walk::Elements);
}

void short_sides_that_would_leave_registers_empty_go_by_elements_along_the_longest_loop(void **) {
    const via::TilePass pass = pass_of(plan_of({500, 3, 3}, {9, 3, 1}, {100000, 1, 30000}));
    assert_int_equal(pass.walk, Walk::Elements);
    assert_int_equal(pass.axes[0].extent, 500);
    assert_int_equal(walk_of(plan_of({40, 3, 200}, {600, 200, 1}, {8, 1, 700})), Walk::Elements);
    assert_int_equal(walk_of(plan_of({40, 4, 200}, {800, 200, 1}, {8, 1, 700})), Walk::Transpose);
    assert_int_equal(walk_of(plan_of({40, 200, 3}, {600, 3, 1}, {800, 1, 240})), Walk::Transpose);
}

void elements_with_gaps_are_shuffled_together_or_go_one_by_one(void **) {
    assert_int_equal(walk_of(plan_of({10, 200}, {200, 1}, {600, 3})), Walk::Shuffle);
    assert_int_equal(walk_of(plan_of({2000}, {1}, {-1})), Walk::Shuffle);
    assert_int_equal(walk_of(plan_of({200}, {1}, {-1})), Walk::Elements);
    assert_int_equal(walk_of(plan_of({2000}, {1}, {5})), Walk::Elements);
    assert_int_equal(walk_of(plan_of({2000}, {2}, {3})), Walk::Elements);
    assert_int_equal(walk_of(plan_of({3, 4}, {4, 1}, {99, 2})), Walk::Elements);
}

void elements_that_get_gaps_are_spread_where_a_processor_stores_some_bytes_alone(void **) {
    const Walk spread = via::simd_kernels().spread != nullptr ? Walk::Spread : Walk::Elements;
    assert_int_equal(walk_of(plan_of({2000}, {2}, {1})), spread);
    assert_int_equal(walk_of(plan_of({10, 200}, {600, 3}, {200, 1})), spread);
    assert_int_equal(walk_of(plan_of({400, 5}, {15, 2}, {5, 1})), spread);
    assert_int_equal(walk_of(plan_of({2000}, {5}, {1})), Walk::Elements);
    assert_int_equal(walk_of(plan_of({200}, {2}, {1})), Walk::Elements);
}

void small_blocks_are_shuffled_where_both_arrays_have_them_together(void **) {
    assert_int_equal(walk_of(plan_of({500, 3, 3}, {9, 3, 1}, {9, 1, 3})), Walk::Shuffle);
    assert_int_equal(walk_of(plan_of({500, 3, 7}, {21, 7, 1}, {21, 1, 3})), Walk::Shuffle);
    assert_int_equal(walk_of(plan_of({500, 40, 8}, {320, 8, 1}, {320, 1, 40})), Walk::Transpose);
}

void a_broadcast_repeats_elements_or_rows(void **) {
    assert_int_equal(walk_of(plan_of({10, 20}, {20, 1}, {0, 0})), Walk::Repeat);
    assert_int_equal(walk_of(plan_of({10, 20}, {20, 1}, {1, 0})), Walk::Repeat);
    const via::Plan rows = plan_of({10, 20}, {20, 1}, {0, 1});
    assert_int_equal(walk_of(rows), Walk::Rows);
    expect_axis(rows, 0, 10, 80, 0);
}

void small_copies_wake_no_thread_and_large_ones_do(void **) {
    assert_int_equal(via::set_num_threads(4), VIA_OK);
    assert_int_equal(plan_of({100, 100}, {100, 1}, {1, 100}).threads, 1);
    const via::Plan large = plan_of({10000, 10000}, {10000, 1}, {1, 10000});
    assert_int_equal(large.threads, 4);
    assert_int_equal(plan_of({400, 400}, {400, 1}, {1, 400}).threads, 4);
    assert_int_equal(plan_of({200, 200}, {200, 1}, {1, 200}).threads, 2);
    assert_int_equal(plan_of({170, 170}, {170, 1}, {1, 170}).threads, 1);
    assert_int_equal(plan_of({100000}, {1}, {1}).threads, 3);
    assert_int_equal(plan_of({60000}, {1}, {1}).threads, 1);
    assert_int_equal(via::set_num_threads(1), VIA_OK);
    assert_int_equal(plan_of({10000, 10000}, {10000, 1}, {1, 10000}).threads, 1);
    assert_int_equal(via::set_num_threads(0), VIA_OK);
    assert_true(via::num_threads() >= 1);
}

void copies_are_cut_into_several_tiles_for_each_thread(void **) {
    assert_int_equal(via::set_num_threads(2), VIA_OK);
    const via::Plan plans[] = {plan_of({400, 400}, {400, 1}, {1, 400}),
                               plan_of({900, 3, 90}, {270, 90, 1}, {1, 81000, 900}), plan_of({200000}, {1}, {1}),
                               plan_of({3, 300000}, {300000, 1}, {900000, 1})};
    for (const via::Plan &plan : plans) {
        int64_t tiles = 1;
        for (int32_t level = 0; level < plan.loop_ndim; ++level) {
            tiles *= plan.loops[level].axis.extent;
        }
        assert_int_equal(plan.threads, 2);
        assert_true(tiles >= 8);
    }
    assert_int_equal(via::set_num_threads(0), VIA_OK);
}

// Rows that lie far apart in dst, and are long enough in src; the last has them on its second axis alone.
void threads_write_rows_of_their_own(void **) {
    assert_int_equal(via::set_num_threads(2), VIA_OK);
    const via::Plan plans[] = {plan_of({214, 309}, {309, 1}, {1, 214}),
                               plan_of({104, 220}, {220, 1}, {1, 104}, VIA_COMPLEX128),
                               plan_of({9, 16, 1015}, {16240, 1015, 1}, {1, 9, 144}, VIA_INT16)};
    for (const via::Plan &plan : plans) {
        assert_true(plan.parts_dst);
        const via::TileLoop &outermost = plan.loops[plan.loop_ndim - 1];
        assert_true(outermost.axis.extent >= 2);
        assert_true(outermost.axis.dst_step >= 4096);
        const int64_t extent = plan.axes[outermost.of].extent;
        const int64_t block = plan.block[outermost.of];
        assert_true((outermost.axis.extent + 1) / 2 * 2 * block <= extent + extent / 4);
    }
    assert_int_equal(via::set_num_threads(0), VIA_OK);
}

void axes_of_extreme_steps_do_not_overflow(void **) {
    const via::Plan plan = plan_of({2, 1, 2}, {2, INT64_MAX, 1}, {0, INT64_MIN, 0});
    assert_int_equal(plan.ndim, 1);
    expect_axis(plan, 0, 4, 4, 0);
}

void a_plan_reads_as_text(void **) {
    char dst_bytes[800];
    char src_bytes[800];
    const Wrapped dst(dst_bytes, VIA_FLOAT32, {10, 20});
    const Wrapped src(src_bytes, VIA_FLOAT32, {10, 20}, {1, 10}, via::StrideUnit::Elements);
    char text[600];
    int64_t length = 0;
    assert_int_equal(via::explain_copy(dst.get(), src.get(), sizeof text, text, &length), VIA_OK);
    assert_int_equal(length, strlen(text));
    assert_non_null(strstr(text, "route: transpose"));
    assert_non_null(strstr(text, "20 (dst +4, src +40), 10 (dst +80, src +4)"));
    assert_non_null(strstr(text, "tile: 4 bytes x 20 x 10\n"));
    assert_non_null(strstr(text, "bytes: 800"));
}

void a_plan_is_cut_to_the_room_there_is(void **) {
    char bytes[64];
    const Wrapped dst(bytes, VIA_UINT8, {30});
    const Wrapped src(bytes + 32, VIA_UINT8, {30});
    char text[600];
    int64_t length = 0;
    assert_int_equal(via::explain_copy(dst.get(), src.get(), sizeof text, text, &length), VIA_OK);
    const std::string whole = text;
    for (int64_t capacity = 0; capacity <= length + 1; ++capacity) {
        int64_t again = 0;
        std::memset(text, 'x', sizeof text);
        assert_int_equal(via::explain_copy(dst.get(), src.get(), capacity, text, &again), VIA_OK);
        assert_int_equal(again, length);
        if (capacity > 0) {
            assert_string_equal(text, whole.substr(0, static_cast<size_t>(capacity - 1)).c_str());
        }
        assert_int_equal(text[capacity], 'x');
    }
    assert_int_equal(via::explain_copy(dst.get(), src.get(), 0, nullptr, &length), VIA_OK);
}

void an_empty_copy_and_a_refused_one_explain_themselves(void **) {
    char bytes[8];
    const Wrapped none(nullptr, VIA_UINT8, {0});
    const Wrapped one(bytes, VIA_UINT8, {1});
    char text[100];
    int64_t length = 0;
    assert_int_equal(via::explain_copy(none.get(), none.get(), sizeof text, text, &length), VIA_OK);
    assert_non_null(strstr(text, "no elements"));
    assert_int_equal(via::explain_copy(one.get(), one.get(), sizeof text, text, &length), VIA_ERROR_OVERLAP);
    assert_string_equal(text, "");
}

void a_cgroups_limit_is_read_in_whole_cpus(void **) {
    assert_int_equal(via::parse_cpu_max("max 100000\n"), 0);
    assert_int_equal(via::parse_cpu_max("200000 100000\n"), 2);
    assert_int_equal(via::parse_cpu_max("150000 100000"), 2);
    assert_int_equal(via::parse_cpu_max("1000 100000"), 1);
    assert_int_equal(via::parse_cpu_max("9223372036854775807 1"), via::kMostThreads);
    assert_int_equal(via::parse_cpu_max(""), 0);
    assert_int_equal(via::parse_cpu_max("-1 100000"), 0);
    assert_int_equal(via::parse_cpu_max("100000 0"), 0);
    assert_true(via::usable_cpus() >= 1);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(dense_arrays_of_the_same_order_are_one_run),
        cmocka_unit_test(axes_that_go_backwards_in_both_are_one_run),
        cmocka_unit_test(a_part_of_a_matrix_is_rows),
        cmocka_unit_test(a_transposed_matrix_is_a_transpose),
        cmocka_unit_test(a_transposed_matrix_read_backwards_is_a_transpose),
        cmocka_unit_test(axes_read_backwards_make_up_a_side_of_a_transpose),
        cmocka_unit_test(an_axis_read_backwards_that_continues_rows_stays_as_it_is),
        cmocka_unit_test(a_permutation_turns_the_two_fastest_axes),
        cmocka_unit_test(a_permute_of_short_axes_takes_as_many_of_each_side_as_make_whole_lines),
        cmocka_unit_test(the_tiles_of_a_plan_cover_each_index_once),
        cmocka_unit_test(rows_that_would_crowd_in_the_cache_go_through_a_scratch),
        cmocka_unit_test(rows_that_crowd_in_the_first_level_cache_only_are_written_by_whole_lines),
        cmocka_unit_test(streamed_elements_go_through_a_scratch_unless_src_has_the_order_of_dst),
        cmocka_unit_test(a_small_copy_is_one_tile),
        cmocka_unit_test(a_large_transposed_matrix_with_gaps_is_shuffled_together_first),
        cmocka_unit_test(elements_of_four_bytes_are_shuffled_together_for_rows_alone),
        cmocka_unit_test(a_transposed_matrix_with_other_gaps_goes_by_elements),
        cmocka_unit_test(short_sides_that_would_leave_registers_empty_go_by_elements_along_the_longest_loop),
        cmocka_unit_test(elements_with_gaps_are_shuffled_together_or_go_one_by_one),
        cmocka_unit_test(elements_that_get_gaps_are_spread_where_a_processor_stores_some_bytes_alone),
        cmocka_unit_test(small_blocks_are_shuffled_where_both_arrays_have_them_together),
        cmocka_unit_test(a_broadcast_repeats_elements_or_rows),
        cmocka_unit_test(small_copies_wake_no_thread_and_large_ones_do),
        cmocka_unit_test(copies_are_cut_into_several_tiles_for_each_thread),
        cmocka_unit_test(threads_write_rows_of_their_own),
        cmocka_unit_test(axes_of_extreme_steps_do_not_overflow),
        cmocka_unit_test(a_plan_reads_as_text),
        cmocka_unit_test(a_plan_is_cut_to_the_room_there_is),
        cmocka_unit_test(an_empty_copy_and_a_refused_one_explain_themselves),
        cmocka_unit_test(a_cgroups_limit_is_read_in_whole_cpus),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
