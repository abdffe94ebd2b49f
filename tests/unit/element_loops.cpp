// Boxes of element loops: each element once, in order, with the number that an affine step has for it.
#include "core/layout/element_loops.hpp"

#include <vector>

#include "copy_support.hpp"

namespace {

using via::ElementLoops;

struct Element {
    const char *dst;
    const char *src;
    int64_t number;
    bool operator==(const Element &) const = default;
};

// Whatever they point at: nothing is read.
const char *moved(const char *start, int64_t bytes) {
    return reinterpret_cast<const char *>(reinterpret_cast<intptr_t>(start) + bytes);
}

Element element_at(const ElementLoops &loops, int64_t index) {
    Element element{loops.dst, loops.src, loops.number};
    for (int32_t i = 0; i < loops.ndim; ++i) {
        const via::Axis &axis = loops.axes[i];
        const int64_t along = index % axis.extent;
        index /= axis.extent;
        element.dst = moved(element.dst, along * axis.dst_step);
        element.src = moved(element.src, along * axis.src_step);
        element.number += i == loops.numbered ? along : 0;
    }
    assert_int_equal(index, 0);
    return element;
}

void list_elements(const ElementLoops &loops, std::vector<Element> *elements) {
    assert_true(loops.numbered < loops.ndim);
    for (int64_t i = 0; i < loops.count; ++i) {
        elements->push_back(element_at(loops, i));
    }
}

ElementLoops random_loops(Random *random) {
    ElementLoops loops{};
    loops.dst = reinterpret_cast<char *>(int64_t{1} << 40);
    loops.src = reinterpret_cast<const char *>(int64_t{1} << 41);
    loops.count = 1;
    loops.ndim = static_cast<int32_t>(random->between(1, 5));
    int64_t step = 4;
    for (int32_t i = 0; i < loops.ndim; ++i) {
        const int64_t extent = random->between(2, 5);
        loops.axes[i] = {extent, step, random->chance(4) ? -step : step};
        step *= extent + (random->chance(4) ? 1 : 0);
        loops.count *= extent;
    }
    loops.numbered = static_cast<int32_t>(random->between(-1, loops.ndim - 1));
    loops.number = random->between(0, 9);
    return loops;
}

void boxes_have_each_element_in_order_with_its_number(void **) {
    Random random(1);
    for (int32_t turn = 0; turn < 3000; ++turn) {
        const ElementLoops loops = random_loops(&random);
        const int64_t first = random.between(0, loops.count - 1);
        const int64_t count = random.between(1, loops.count - first);
        std::vector<Element> wanted;
        for (int64_t i = first; i < first + count; ++i) {
            wanted.push_back(element_at(loops, i));
        }
        std::vector<Element> found;
        via::for_each_box(loops, first, count, [&](const ElementLoops &box) { list_elements(box, &found); });
        assert_true(found == wanted);
    }
}

// As parts of a conversion are packed: each merges what the packed side lets it.
void merged_boxes_have_the_same_elements(void **) {
    Random random(2);
    const via::AffineStep affine{};
    for (int32_t turn = 0; turn < 3000; ++turn) {
        const ElementLoops loops = random_loops(&random);
        const int64_t first = random.between(0, loops.count - 1);
        const int64_t count = random.between(1, loops.count - first);
        const bool is_affine = random.chance(2);
        const via::ElementConversion elements{via::ScalarKind::Float16, via::ScalarKind::Float32, 0, false,
                                              is_affine ? &affine : nullptr};
        auto *packed = reinterpret_cast<char *>(int64_t{1} << 42);
        int64_t at = first;
        via::for_each_box(loops, first, count, [&](const ElementLoops &box) {
            const ElementLoops dense = via::merged(via::packed_to(box, packed, 2), elements);
            std::vector<Element> found;
            list_elements(dense, &found);
            for (const Element &element : found) {
                const Element wanted = element_at(loops, at++);
                assert_ptr_equal(element.src, wanted.src);
                assert_ptr_equal(element.dst, packed);
                assert_true(!is_affine || element.number == wanted.number);
                packed += 2;
            }
        });
        assert_int_equal(at, first + count);
    }
}

void an_axis_along_which_nothing_moves_stays(void **) {
    for (const int32_t numbered : {-1, 1}) {
        ElementLoops loops{};
        loops.count = 24;
        loops.ndim = 2;
        loops.axes[0] = {4, 0, 0};
        loops.axes[1] = {6, 8, 8};
        loops.numbered = numbered;
        via::merge_loops(&loops);
        assert_int_equal(loops.ndim, 2);
        assert_int_equal(loops.axes[0].extent, 4);
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(boxes_have_each_element_in_order_with_its_number),
        cmocka_unit_test(merged_boxes_have_the_same_elements),
        cmocka_unit_test(an_axis_along_which_nothing_moves_stays),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
