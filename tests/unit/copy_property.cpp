// Copies and fills of random layouts do what a naive loop over elements does, and touch nothing else.
#include <algorithm>

#include "copy/choose_tiles.hpp"
#include "copy/fill.hpp"
#include "copy/normalise.hpp"
#include "copy/plan.hpp"
#include "copy/run.hpp"
#include "copy_support.hpp"
#include "core/system/thread_count.hpp"

namespace {

constexpr int64_t kItems[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 17, 24, 32, 40, 64, 100};

std::vector<int64_t> random_shape(Random *random, int64_t most) {
    std::vector<int64_t> shape;
    for (int64_t ndim = random->between(0, 6), size = 1; ndim > 0; --ndim) {
        const int64_t room = std::max<int64_t>(most / size, 1);
        const int64_t extent = random->chance(5) ? 1 : random->between(1, std::min<int64_t>(room, 70));
        shape.push_back(extent);
        size *= extent;
    }
    return shape;
}

// Memory for one layout, starting at an address of any alignment.
struct Memory {
    Memory(Random *random, const TestLayout &layout)
        : shift(static_cast<size_t>(random->chance(2) ? random->between(0, 70) : 0)),
          bytes(static_cast<size_t>(layout.high - layout.low) + shift + 70),
          start(shift - static_cast<size_t>(layout.low)) {
        random->fill(&bytes);
    }
    char *data() { return bytes.data() + start; }
    size_t shift;
    std::vector<char> bytes;
    size_t start;
};

void check_copy_of(Random *random, const std::vector<int64_t> &shape, int64_t item, const TestLayout &to,
                   const TestLayout &from) {
    Memory dst(random, to);
    Memory src(random, from);
    std::vector<char> expected = dst.bytes;
    naive_copy(expected.data() + dst.start, src.data(), shape, to.steps, from.steps, item);
    const Wrapped dst_array(dst.data(), dtype_of_size(item), shape, to.steps);
    const Wrapped src_array(src.data(), dtype_of_size(item), shape, from.steps);
    assert_int_equal(via::check_copy(dst_array.get(), src_array.get()), VIA_OK);
    assert_int_equal(via::copy_array(dst_array.get(), src_array.get()), VIA_OK);
    assert_memory_equal(dst.bytes.data(), expected.data(), expected.size());
}

void check_one_copy(Random *random, const std::vector<int64_t> &shape, int64_t item) {
    const TestLayout to = random_layout(random, shape, item, false);
    const TestLayout from = random_layout(random, shape, item, true);
    check_copy_of(random, shape, item, to, from);
}

// Steps in elements.
void check_one_copy_between(Random *random, int64_t item, const std::vector<int64_t> &shape, std::vector<int64_t> to,
                            std::vector<int64_t> from) {
    TestLayout dst;
    TestLayout src;
    for (size_t i = 0; i < shape.size(); ++i) {
        dst.steps.push_back(to[i] * item);
        src.steps.push_back(from[i] * item);
    }
    measure_layout(shape, item, &dst);
    measure_layout(shape, item, &src);
    check_copy_of(random, shape, item, dst, src);
}

void a_copy_between_random_layouts_equals_a_naive_one(void **) {
    Random random(1);
    for (int i = 0; i < REPEATS(6000); ++i) {
        const int64_t item = kItems[random.between(0, std::size(kItems) - 1)];
        check_one_copy(&random, random_shape(&random, 4000), item);
    }
}

void a_large_copy_between_random_layouts_equals_a_naive_one(void **) {
    Random random(2);
    assert_int_equal(via::set_num_threads(3), VIA_OK);
    for (int i = 0; i < QUICK_OR(10, 40); ++i) {
        const int64_t item = kItems[random.between(0, 9)];
        std::vector<int64_t> shape = random_shape(&random, 100);
        shape.insert(shape.begin() + random.between(0, static_cast<int64_t>(shape.size())),
                     random.between(1, 3000000 / item / size_of(shape)));
        check_one_copy(&random, shape, item);
    }
    assert_int_equal(via::set_num_threads(0), VIA_OK);
}

// As a copy past the cache is done, whatever its size. Returns whether it went through a scratch.
bool check_one_streamed(Random *random, const std::vector<int64_t> &shape, int64_t item, const TestLayout &to,
                        const TestLayout &from) {
    Memory dst(random, to);
    Memory src(random, from);
    std::vector<char> expected = dst.bytes;
    naive_copy(expected.data() + dst.start, src.data(), shape, to.steps, from.steps, item);
    const Wrapped dst_array(dst.data(), dtype_of_size(item), shape, to.steps);
    const Wrapped src_array(src.data(), dtype_of_size(item), shape, from.steps);
    via::Plan plan;
    assert_int_equal(via::normalise_copy(dst_array.get(), src_array.get(), &plan), VIA_OK);
    via::choose_tiles(&plan, 1, true);
    via::run_plan(plan);
    assert_memory_equal(dst.bytes.data(), expected.data(), expected.size());
    return plan.by_rows;
}

void a_streamed_copy_between_random_layouts_equals_a_naive_one(void **) {
    Random random(8);
    for (int i = 0; i < REPEATS(4000); ++i) {
        const int64_t item = kItems[random.between(0, std::size(kItems) - 1)];
        const std::vector<int64_t> shape = random_shape(&random, 4000);
        check_one_streamed(&random, shape, item, random_layout(&random, shape, item, false),
                           random_layout(&random, shape, item, true));
    }
}

// Dense, the axes in any order.
TestLayout dense_layout(Random *random, const std::vector<int64_t> &shape, int64_t item) {
    TestLayout layout;
    std::vector<size_t> order(shape.size());
    layout.steps.resize(shape.size());
    for (size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
        std::swap(order[i], order[static_cast<size_t>(random->between(0, static_cast<int64_t>(i)))]);
    }
    for (const size_t axis : order) {
        layout.steps[axis] = item;
        item *= shape[axis];
    }
    layout.high = item;
    return layout;
}

void a_streamed_permute_of_short_axes_equals_a_naive_one(void **) {
    Random random(9);
    int by_scratch = 0;
    for (int i = 0; i < REPEATS(1000); ++i) {
        const int64_t item = int64_t{1} << random.between(0, 4);
        std::vector<int64_t> shape(static_cast<size_t>(random.between(3, 8)));
        for (int64_t &extent : shape) {
            extent = random.between(2, std::max<int64_t>(2, 40 / static_cast<int64_t>(shape.size())));
        }
        shape[static_cast<size_t>(random.between(0, 2))] += random.between(0, 40);
        const bool scratch = check_one_streamed(&random, shape, item, dense_layout(&random, shape, item),
                                                dense_layout(&random, shape, item));
        by_scratch += scratch ? 1 : 0;
    }
    assert_int_in_range(by_scratch, REPEATS(400), REPEATS(1000));
}

// As the layouts that `bench layouts host` measures, but smaller: two to five axes, seldom round, the last one often a
// few indices.
std::vector<int64_t> population_shape(Random *random, int64_t item, int64_t nbytes) {
    std::vector<int64_t> shape(static_cast<size_t>(random->between(2, 5)), 1);
    for (size_t i = shape.size(); i-- > 0;) {
        const int64_t room = std::max<int64_t>(nbytes / item / size_of(shape), 1);
        const bool few = i + 1 == shape.size() && random->chance(3);
        const int64_t most = i == 0 ? room : std::min<int64_t>(room, random->chance(3) ? 700 : 40);
        shape[i] = few ? random->between(2, 7) : i == 0 ? most : random->between(1, most);
    }
    return shape;
}

// Every axis of a dense array in any order, some seen with a step of 2, 3 or -1; src may stand still along one.
TestLayout population_layout(Random *random, const std::vector<int64_t> &shape, int64_t item, bool is_source) {
    constexpr int64_t kSteps[] = {1, 1, 2, 3, -1};
    TestLayout layout = dense_layout(random, shape, item);
    int64_t unit = item;
    std::vector<size_t> order(shape.size());
    for (size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return layout.steps[a] < layout.steps[b]; });
    for (const size_t axis : order) {
        const bool still = is_source && random->chance(12);
        const int64_t step = still ? 0 : random->chance(3) ? kSteps[random->between(0, 4)] : 1;
        layout.steps[axis] = unit * step;
        unit *= still ? 1 : shape[axis] * std::abs(step);
    }
    measure_layout(shape, item, &layout);
    return layout;
}

void a_copy_of_the_population_equals_a_naive_one(void **) {
    Random random(10);
    assert_int_equal(via::set_num_threads(3), VIA_OK);
    for (int i = 0; i < REPEATS(250); ++i) {
        const int64_t item = kItems[random.between(0, std::size(kItems) - 1)];
        const int64_t nbytes = int64_t{1} << random.between(10, i % 10 == 0 ? 22 : 19);
        const std::vector<int64_t> shape = population_shape(&random, item, nbytes);
        const TestLayout to =
            random.chance(3) ? population_layout(&random, shape, item, false) : dense_layout(&random, shape, item);
        const TestLayout from = population_layout(&random, shape, item, true);
        check_copy_of(&random, shape, item, to, from);
        check_one_streamed(&random, shape, item, to, from);
    }
    assert_int_equal(via::set_num_threads(0), VIA_OK);
}

// Steps of powers of two, which crowd in the cache's sets.
void a_transpose_of_round_steps_equals_a_naive_one(void **) {
    Random random(11);
    for (int64_t item = 1; item <= 16; item *= QUICK_OR(4, 2)) {
        for (const int64_t side : {256, 512, 1024}) {
            check_one_copy_between(&random, item, {side, 300}, {1024, 1}, {1, 512});
            check_one_copy_between(&random, item, {300, side}, {2048, 1}, {1, 1024});
        }
    }
}

void a_transpose_of_any_element_size_equals_a_naive_one(void **) {
    Random random(3);
    for (const int64_t item : kItems) {
        for (const int64_t rows : {1, 2, 3, 4, 17, 64, 100, 257}) {
            for (const int64_t columns : {2, 3, 4, 5, 16, 63, 64, 130, 1024}) {
                std::vector<char> src(static_cast<size_t>(rows * columns * item));
                std::vector<char> dst(src.size());
                std::vector<char> expected(src.size());
                random.fill(&src);
                const std::vector<int64_t> shape = {columns, rows};
                const std::vector<int64_t> to = {rows * item, item};
                const std::vector<int64_t> from = {item, columns * item};
                naive_copy(expected.data(), src.data(), shape, to, from, item);
                const Wrapped dst_array(dst.data(), dtype_of_size(item), shape, to);
                const Wrapped src_array(src.data(), dtype_of_size(item), shape, from);
                assert_int_equal(via::copy_array(dst_array.get(), src_array.get()), VIA_OK);
                assert_memory_equal(dst.data(), expected.data(), expected.size());
            }
        }
    }
}

// Past the cache: streaming stores, several threads, rows that start anywhere in a cache line.
void check_large_transpose(Random *random, int64_t item, int64_t rows, int64_t columns, int64_t shift) {
    std::vector<char> src(static_cast<size_t>(rows * columns * item));
    std::vector<char> dst(src.size() + 64);
    std::vector<char> expected(dst.size());
    random->fill(&src);
    const std::vector<int64_t> shape = {columns, rows};
    const std::vector<int64_t> to = {rows * item, item};
    const std::vector<int64_t> from = {item, columns * item};
    naive_copy(expected.data() + shift, src.data(), shape, to, from, item);
    const Wrapped dst_array(dst.data() + shift, dtype_of_size(item), shape, to);
    const Wrapped src_array(src.data(), dtype_of_size(item), shape, from);
    assert_int_equal(via::copy_array(dst_array.get(), src_array.get()), VIA_OK);
    assert_memory_equal(dst.data(), expected.data(), expected.size());
}

void a_transpose_past_the_cache_equals_a_naive_one(void **) {
    Random random(4);
    for (int64_t item = QUICK_OR(4, 1); item <= QUICK_OR(4, 16); item *= 2) {
        const int64_t rows = 1500 + random.between(0, 100);
        check_large_transpose(&random, item, rows, (int64_t{36} << 20) / item / rows, random.between(0, 63));
    }
}

void a_contiguous_copy_past_the_cache_equals_memcpy(void **) {
    Random random(5);
    std::vector<char> src((size_t{40} << 20) + 13);
    std::vector<char> dst(src.size());
    random.fill(&src);
    for (const size_t shift : {size_t{0}, size_t{1}, size_t{63}}) {
        const size_t nbytes = src.size() - 64;
        std::memset(dst.data(), 0, dst.size());
        assert_int_equal(via::copy_bytes(dst.data() + shift, src.data() + 5, static_cast<int64_t>(nbytes), nullptr),
                         VIA_OK);
        assert_memory_equal(dst.data() + shift, src.data() + 5, nbytes);
        assert_int_equal(dst[shift + nbytes], 0);
    }
}

void check_one_fill(Random *random, const std::vector<int64_t> &shape, int64_t item, bool zero) {
    const TestLayout to = random_layout(random, shape, item, false);
    Memory dst(random, to);
    std::vector<char> element(static_cast<size_t>(item), 0);
    if (!zero) {
        random->fill(&element);
    }
    std::vector<char> expected = dst.bytes;
    naive_copy(expected.data() + dst.start, element.data(), shape, to.steps, std::vector<int64_t>(shape.size(), 0),
               item);
    const Wrapped array(dst.data(), dtype_of_size(item), shape, to.steps);
    assert_int_equal(via::fill_array(array.get(), zero ? nullptr : element.data()), VIA_OK);
    assert_memory_equal(dst.bytes.data(), expected.data(), expected.size());
}

void a_fill_of_a_random_layout_equals_a_naive_one(void **) {
    Random random(6);
    for (int i = 0; i < REPEATS(3000); ++i) {
        const int64_t item = kItems[random.between(0, std::size(kItems) - 1)];
        check_one_fill(&random, random_shape(&random, 4000), item, random.chance(3));
    }
}

void a_large_fill_equals_a_naive_one(void **) {
    Random random(7);
    for (const int64_t item : {1, 3, 4, 16, 24}) {
        if (QUICK_OR(item % 3 == 0, true)) {
            check_one_fill(&random, {7, 1000000 / item}, item, false);
            check_one_fill(&random, {30, 7, 40000 / item, 2}, item, false);
            check_one_fill(&random, {7000000 / item}, item, true);
        }
    }
}

void empty_arrays_copy_and_fill_without_memory(void **) {
    const Wrapped dst(nullptr, VIA_FLOAT32, {3, 0, 2});
    const Wrapped src(nullptr, VIA_FLOAT32, {3, 0, 2}, {0, 0, 0});
    assert_int_equal(via::copy_array(dst.get(), src.get()), VIA_OK);
    assert_int_equal(via::copy_array(dst.get(), dst.get()), VIA_OK);
    assert_int_equal(via::fill_array(dst.get(), nullptr), VIA_OK);
    assert_int_equal(via::copy_bytes(nullptr, nullptr, 0, nullptr), VIA_OK);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_between_random_layouts_equals_a_naive_one),
        cmocka_unit_test(a_large_copy_between_random_layouts_equals_a_naive_one),
        cmocka_unit_test(a_streamed_copy_between_random_layouts_equals_a_naive_one),
        cmocka_unit_test(a_streamed_permute_of_short_axes_equals_a_naive_one),
        cmocka_unit_test(a_copy_of_the_population_equals_a_naive_one),
        cmocka_unit_test(a_transpose_of_round_steps_equals_a_naive_one),
        cmocka_unit_test(a_transpose_of_any_element_size_equals_a_naive_one),
        cmocka_unit_test(a_transpose_past_the_cache_equals_a_naive_one),
        cmocka_unit_test(a_contiguous_copy_past_the_cache_equals_memcpy),
        cmocka_unit_test(a_fill_of_a_random_layout_equals_a_naive_one),
        cmocka_unit_test(a_large_fill_equals_a_naive_one),
        cmocka_unit_test(empty_arrays_copy_and_fill_without_memory),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
