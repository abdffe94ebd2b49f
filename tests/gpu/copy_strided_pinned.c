/* Strided copies between a device and the host, and between two devices: every layout, in every way there is to copy,
   against a naive copy; and when they read, write and end. */
#include "pending_copy.h"
#include "strided_routes.h"

static const place apart[][2] = {
    {DEVICE, PAGEABLE},   {PAGEABLE, DEVICE},   {DEVICE, PINNED},       {PINNED, DEVICE},
    {DEVICE, REGISTERED}, {REGISTERED, DEVICE}, {DEVICE, OTHER_DEVICE}, {OTHER_DEVICE, DEVICE},
};

enum { as_graph = 4 };

/* A graph takes no pageable memory, and of two devices only what one stream can do. */
static int32_t way_between(place dst, place src, int32_t way) {
    const int is_free = dst == PAGEABLE || src == PAGEABLE || dst == OTHER_DEVICE || src == OTHER_DEVICE;
    return way == as_graph && is_free ? 0 : way;
}

static void check_random_copy_apart(int32_t number, int64_t most_elements, CUstream native) {
    const place *where = apart[number % LENGTH(apart)];
    const int32_t way = way_between(where[0], where[1], number / LENGTH(apart) % LENGTH(ways));
    check_random_copy(where, random_item(), most_elements, way, native);
}

static void a_copy_between_random_layouts_equals_a_naive_one(void **state) {
    (void)state;
    CUstream native = new_stream();
    for (int32_t i = 0; i < REPEATS(640); ++i) {
        check_random_copy_apart(i, 4000, native);
    }
}

/* Past 64 KiB, where the ring has a part. */
static void a_large_copy_between_random_layouts_equals_a_naive_one(void **state) {
    (void)state;
    CUstream native = new_stream();
    for (int32_t i = 0; i < 8 * LENGTH(apart); ++i) {
        check_random_copy_apart(i, 100000, native);
    }
}

/* One side's elements `step` apart along rows that are `pitch` apart, the other's as they come, or transposed. */
typedef struct view {
    int64_t rows;
    int64_t columns;
    int64_t step;
    int64_t pitch;
    int transposed;
} view;

static layout layout_of_view(const shape *of, const view *as) {
    layout made;
    made.strides[as->transposed] = as->pitch;
    made.strides[1 - as->transposed] = as->step;
    measure(of, &made);
    return made;
}

static strided_pair new_view_pair(place to, place from, int64_t item, const view *dst, const view *src) {
    const shape of = {
        2, item, {src->transposed ? src->columns : src->rows, src->transposed ? src->rows : src->columns}};
    const layout dst_at = layout_of_view(&of, dst);
    const layout src_at = layout_of_view(&of, src);
    return new_strided_pair(to, from, &of, &dst_at, &src_at);
}

static const view dense = {350, 250, 4, 1000, 0};
static const view views[] = {
    {350, 250, 8, 4000, 0}, /* every second column */
    {350, 250, 4, 4000, 0}, /* every second row, or inner columns */
    {350, 250, 8, 8000, 0}, /* every second of both */
    {350, 250, 4, 1012, 0}, /* rows that are not aligned */
    {250, 350, 4, 1400, 1}, /* transposed */
    {250, 350, 8, 2800, 1}, /* transposed, every second */
    {350, 250, 4, 0, 0},    /* one row, again and again */
    {350, 250, 0, 4, 0},    /* one column, again and again */
    {350, 250, 4, 4, 0},    /* rows that begin an element after one another */
};
enum { destinations = 6 };

static void check_view(place to, place from, int32_t number, int way, CUstream native) {
    strided_pair in = new_view_pair(to, from, 4, &dense, &views[number]);
    check_pair(&in, way_between(to, from, way), native);
    end_strided_pair(&in);
    if (number < destinations) {
        const view flat = {views[number].rows, views[number].columns, 4, views[number].columns * 4, 0};
        const view transposed = {250, 350, 4, 1400, 0};
        strided_pair out = new_view_pair(to, from, 4, &views[number], views[number].transposed ? &transposed : &flat);
        check_pair(&out, way_between(to, from, way), native);
        end_strided_pair(&out);
    }
}

static void views_of_a_matrix_are_copied_both_ways(void **state) {
    (void)state;
    CUstream native = new_stream();
    for (int32_t i = 0; i < LENGTH(apart); ++i) {
        for (int32_t k = 0; k < LENGTH(views) && place_exists(apart[i][0]) && place_exists(apart[i][1]); ++k) {
            check_view(apart[i][0], apart[i][1], k, (i + k) % LENGTH(ways), native);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_copy_between_random_layouts_equals_a_naive_one),
        GPU_TEST(a_large_copy_between_random_layouts_equals_a_naive_one),
        GPU_TEST(views_of_a_matrix_are_copied_both_ways),
    };
    return run_kernel_tests(tests);
}
