// Random sequences of views, each compared with the model element by element; where a view is refused, the model must
// agree that there is none.
#include "core/array/view.hpp"

#include <cstdio>

#include "core/base/thread_state.hpp"
#include "view_model.hpp"

namespace {

constexpr uint64_t kSeed = 20260731;
const int kSequences = REPEATS(20000);
constexpr int kMostViews = 6;

constexpr int32_t kDtypes[] = {VIA_INT8,
                               VIA_INT16,
                               VIA_FLOAT32,
                               VIA_COMPLEX64,
                               VIA_COMPLEX128,
                               -3,
                               -12,
                               -24,
                               VIA_INT4,
                               VIA_UINT4,
                               via::pack_dtype(1, 1, 1),
                               via::pack_dtype(2, 32, 3),
                               VIA_FLOAT6_E2M3FN};

alignas(64) char memory[1 << 16];

int64_t bits_of(const void *address) { return (static_cast<const char *>(address) - memory) * 8; }

// An array and what it should be.
struct Subject {
    via_array *array;
    Model model;
};

// Each view either agrees with its model, or is refused with one of these.
struct Expectation {
    Model model;
    bool exists;
    via::Status refusal;
};

using Views = int[8];  // how many of each kind were made

class Sequence {
public:
    explicit Sequence(Random *random) : random_(*random) {}
    void run(Views made);

private:
    void begin();
    void step(Views made);
    void judge(via::Status status, via_array *view, const Expectation &expected);
    void compare();
    int64_t axis() { return random_.between(0, subject_.model.ndim() - 1); }

    via::Status slice(via_array **view, Expectation *expected);
    via::Status select(via_array **view, Expectation *expected);
    via::Status permute(via_array **view, Expectation *expected);
    via::Status reshape(via_array **view, Expectation *expected);
    via::Status broadcast(via_array **view, Expectation *expected);
    via::Status squeeze_or_expand(via_array **view, Expectation *expected);
    via::Status reinterpret(via_array **view, Expectation *expected);
    via::Status field(via_array **view, Expectation *expected);

    Random &random_;
    Subject subject_{};
};

bool starts_at_a_byte(const Model &model) { return model.size() == 0 || model.bits[0] % 8 == 0; }

void Sequence::begin() {
    const int32_t dtype = kDtypes[random_.between(0, std::size(kDtypes) - 1)];
    const int64_t item = via::dtype_bits(dtype);
    const bool packed = item % 8 != 0;
    std::vector<int64_t> shape;
    std::vector<int64_t> strides;
    int64_t step = packed ? 1 : item / 8;
    for (int64_t i = random_.between(0, 4); i > 0; --i) {
        shape.insert(shape.begin(), random_.chance(15) ? 0 : random_.between(1, 4));
        strides.insert(strides.begin(), random_.chance(8)   ? random_.between(-40, 40)
                                        : random_.chance(8) ? -step
                                                            : step);
        step *= std::max<int64_t>(shape.front(), 1) + (random_.chance(6) ? 1 : 0);
    }
    const via::ArraySpec spec{.data = memory + sizeof memory / 2,
                              .dtype = dtype,
                              .ndim = static_cast<int32_t>(shape.size()),
                              .shape = shape.data(),
                              .strides = strides.data(),
                              .unit = packed ? via::StrideUnit::Elements : via::StrideUnit::Bytes};
    assert_int_equal(via::make_array(spec, via::borrowed(nullptr, nullptr), &subject_.array), VIA_OK);
    subject_.model = {dtype, item, shape, {}};
    for_each_index(shape, [&](const std::vector<int64_t> &index) {
        int64_t at = bits_of(spec.data);
        for (size_t i = 0; i < index.size(); ++i) {
            at += index[i] * strides[i] * (packed ? item : 8);
        }
        subject_.model.bits.push_back(at);
    });
}

via::Status Sequence::slice(via_array **view, Expectation *expected) {
    const Model &model = subject_.model;
    std::vector<int64_t> start, count, step;
    for (const int64_t extent : model.shape) {
        start.push_back(extent == 0 ? 0 : random_.between(0, extent - 1));
        step.push_back(random_.chance(2) ? 1 : random_.chance(2) ? random_.between(1, 3) : -random_.between(1, 3));
        const int64_t most = extent == 0       ? 0
                             : step.back() > 0 ? (extent - 1 - start.back()) / step.back() + 1
                                               : start.back() / -step.back() + 1;
        count.push_back(random_.chance(10) ? 0 : random_.between(std::min<int64_t>(most, 1), most));
    }
    expected->model = pick(model, count, [&](std::vector<int64_t> index) {
        for (size_t i = 0; i < index.size(); ++i) {
            index[i] = start[i] + index[i] * step[i];
        }
        return index;
    });
    expected->exists = starts_at_a_byte(expected->model);
    expected->refusal = VIA_ERROR_NEEDS_COPY;
    return via::slice_view(subject_.array, start.data(), count.data(), step.data(), view);
}

via::Status Sequence::select(via_array **view, Expectation *expected) {
    const Model &model = subject_.model;
    const size_t dropped = static_cast<size_t>(axis());
    const int64_t extent = model.shape[dropped];
    const int64_t index = extent == 0 ? 0 : random_.between(-extent, extent - 1);
    std::vector<int64_t> shape = model.shape;
    shape.erase(shape.begin() + static_cast<int64_t>(dropped));
    expected->exists = extent > 0;
    expected->refusal = VIA_ERROR_INDEX;
    if (extent > 0) {
        expected->model = pick(model, shape, [&](std::vector<int64_t> inner) {
            inner.insert(inner.begin() + static_cast<int64_t>(dropped), index < 0 ? index + extent : index);
            return inner;
        });
        expected->exists = starts_at_a_byte(expected->model);
        expected->refusal = VIA_ERROR_NEEDS_COPY;
    }
    return via::select_view(subject_.array, static_cast<int32_t>(dropped), index, view);
}

via::Status Sequence::permute(via_array **view, Expectation *expected) {
    const Model &model = subject_.model;
    std::vector<int32_t> axes;
    for (int32_t i = 0; i < model.ndim(); ++i) {
        axes.insert(axes.begin() + random_.between(0, i), i);
    }
    std::vector<int64_t> shape;
    for (const int32_t from : axes) {
        shape.push_back(model.shape[static_cast<size_t>(from)]);
    }
    expected->model = pick(model, shape, [&](const std::vector<int64_t> &index) {
        std::vector<int64_t> given(index.size());
        for (size_t i = 0; i < index.size(); ++i) {
            given[static_cast<size_t>(axes[i])] = index[i];
        }
        return given;
    });
    expected->exists = true;
    return via::permute_view(subject_.array, axes.data(), view);
}

// A shape of as many elements: factors put together anew, with the odd 1 between them.
std::vector<int64_t> other_shape(Random *random, int64_t size) {
    if (size == 0) {
        return {random->between(0, 3), 0, random->between(0, 3)};
    }
    std::vector<int64_t> shape{1};
    for (int64_t factor = 2; size > 1; ++factor) {
        for (; size % factor == 0; size /= factor) {
            if (random->chance(2)) {
                shape.push_back(factor);
            } else {
                shape[static_cast<size_t>(random->between(0, static_cast<int64_t>(shape.size()) - 1))] *= factor;
            }
        }
    }
    if (shape[0] == 1 && random->chance(2)) {
        shape.erase(shape.begin());
    }
    return shape;
}

via::Status Sequence::reshape(via_array **view, Expectation *expected) {
    expected->model = subject_.model;
    expected->model.shape = other_shape(&random_, subject_.model.size());
    expected->exists = has_strides(expected->model);
    expected->refusal = VIA_ERROR_NEEDS_COPY;
    std::vector<int64_t> asked = expected->model.shape;
    if (!asked.empty() && subject_.model.size() > 0 && random_.chance(3)) {
        asked[static_cast<size_t>(random_.between(0, static_cast<int64_t>(asked.size()) - 1))] = -1;
    }
    return via::reshape_view(subject_.array, static_cast<int32_t>(asked.size()), asked.data(), view);
}

via::Status Sequence::broadcast(via_array **view, Expectation *expected) {
    const Model &model = subject_.model;
    std::vector<int64_t> shape = model.shape;
    for (int64_t &extent : shape) {
        extent = extent == 1 && random_.chance(2) ? random_.between(0, 3) : extent;
    }
    for (int64_t added = random_.between(0, 2); added > 0; --added) {
        shape.insert(shape.begin(), random_.between(1, 2));
    }
    const size_t added = shape.size() - model.shape.size();
    expected->model = pick(model, shape, [&](const std::vector<int64_t> &index) {
        std::vector<int64_t> given(index.begin() + static_cast<int64_t>(added), index.end());
        for (size_t i = 0; i < given.size(); ++i) {
            given[i] = model.shape[i] == 1 ? 0 : given[i];
        }
        return given;
    });
    expected->exists = true;
    return via::broadcast_view(subject_.array, static_cast<int32_t>(shape.size()), shape.data(), view);
}

via::Status Sequence::squeeze_or_expand(via_array **view, Expectation *expected) {
    expected->model = subject_.model;
    expected->exists = true;
    std::vector<int64_t> &shape = expected->model.shape;
    if (random_.chance(2)) {
        shape.erase(std::remove(shape.begin(), shape.end(), 1), shape.end());
        return via::squeeze_view(subject_.array, 0, nullptr, view);
    }
    const int64_t at = random_.between(-subject_.model.ndim() - 1, subject_.model.ndim());
    shape.insert(shape.begin() + (at < 0 ? at + subject_.model.ndim() + 1 : at), 1);
    return via::expand_view(subject_.array, static_cast<int32_t>(at), view);
}

// Elements cut up or put together along the last axis.
Model rescale(const Model &model, int32_t dtype) {
    Model scaled{dtype, via::dtype_bits(dtype), model.shape, {}};
    const int64_t whole = model.shape.back() * model.item_bits;
    scaled.shape.back() = whole / scaled.item_bits;
    const int64_t rows = model.shape.back() == 0 ? 0 : model.size() / model.shape.back();
    for (int64_t row = 0; row < rows; ++row) {
        const int64_t first = model.bits[static_cast<size_t>(row * model.shape.back())];
        for (int64_t i = 0; i < scaled.shape.back(); ++i) {
            scaled.bits.push_back(first + i * scaled.item_bits);
        }
    }
    return scaled;
}

// Whether every stride that is stepped along is a whole number of the packed elements, or of bytes.
bool steps_are_whole(const Model &model) {
    const int64_t unit = model.item_bits % 8 != 0 ? model.item_bits : 8;
    for (const int64_t bits : model.bits) {
        if ((bits - model.bits[0]) % unit != 0) {
            return false;
        }
    }
    return true;
}

via::Status Sequence::reinterpret(via_array **view, Expectation *expected) {
    const Model &model = subject_.model;
    const int32_t dtype = kDtypes[random_.between(0, std::size(kDtypes) - 1)];
    const int64_t bits = via::dtype_bits(dtype);
    expected->refusal = VIA_ERROR_NEEDS_COPY;
    if (bits == model.item_bits) {
        expected->model = model;
        expected->model.dtype = dtype;
        expected->exists = true;
    } else if (model.ndim() == 0 || model.shape.back() * model.item_bits % bits != 0) {
        expected->refusal = VIA_ERROR_SHAPE;
    } else {
        expected->model = rescale(model, dtype);
        expected->exists = last_axis_is_dense(model) && steps_are_whole(expected->model);
    }
    return via::reinterpret_view(subject_.array, dtype, view);
}

via::Status Sequence::field(via_array **view, Expectation *expected) {
    const Model &model = subject_.model;
    const int32_t dtype = random_.chance(2) ? VIA_INT8 : VIA_INT16;
    const int64_t offset = random_.between(0, 5);
    std::vector<int64_t> inner;
    for (int64_t i = random_.between(0, 2); i > 0; --i) {
        inner.push_back(random_.between(1, 2));
    }
    const int64_t bits = via::dtype_bits(dtype);
    expected->exists = model.item_bits % 8 == 0 && offset * 8 + size_of(inner) * bits <= model.item_bits;
    expected->refusal = model.item_bits % 8 == 0 ? VIA_ERROR_INDEX : VIA_ERROR_DTYPE;
    expected->model = {dtype, bits, model.shape, {}};
    expected->model.shape.insert(expected->model.shape.end(), inner.begin(), inner.end());
    for (const int64_t element : model.bits) {
        for (int64_t i = 0; i < size_of(inner); ++i) {
            expected->model.bits.push_back(element + offset * 8 + i * bits);
        }
    }
    return via::field_view(subject_.array, offset, dtype, static_cast<int32_t>(inner.size()), inner.data(), view);
}

void Sequence::judge(via::Status status, via_array *view, const Expectation &expected) {
    // Without elements no one can distinguish strides by the elements: the view may exist or not.
    const bool open = subject_.model.size() == 0 && status == VIA_ERROR_NEEDS_COPY;
    if (!open && (status == VIA_OK) != expected.exists) {
        print_error("answered %s: %s\n", via::status_name(status), via::last_error_text());
    }
    assert_true(open || (status == VIA_OK) == expected.exists);
    if (status != VIA_OK) {
        assert_true(open || status == expected.refusal);
        return;
    }
    via::release_array(subject_.array);
    subject_ = {view, expected.model};
    compare();
}

void Sequence::compare() {
    via_array *array = subject_.array;
    const Model &model = subject_.model;
    assert_int_equal(array->dtype, model.dtype);
    assert_int_equal(array->ndim, model.ndim());
    assert_int_equal(array->size, model.size());
    assert_true(std::equal(model.shape.begin(), model.shape.end(), array->shape()));
    const int64_t unit = array->is_packed() ? array->item_bits : 8;
    int64_t at = 0;
    for_each_index(model.shape, [&](const std::vector<int64_t> &index) {
        int64_t bits = bits_of(array->data);
        for (size_t i = 0; i < index.size(); ++i) {
            bits += index[i] * array->steps()[i] * unit;
        }
        assert_int_equal(bits, model.bits[static_cast<size_t>(at++)]);
    });
}

void Sequence::step(Views made) {
    const int64_t drawn = random_.between(0, 7);
    const int64_t kind = drawn == 1 && subject_.model.ndim() == 0 ? 2 : drawn;  // no axis to select along
    using Make = via::Status (Sequence::*)(via_array **, Expectation *);
    static constexpr Make kMake[] = {&Sequence::slice,       &Sequence::select,    &Sequence::permute,
                                     &Sequence::reshape,     &Sequence::broadcast, &Sequence::squeeze_or_expand,
                                     &Sequence::reinterpret, &Sequence::field};
    via_array *view = nullptr;
    Expectation expected{};
    const via::Status status = (this->*kMake[kind])(&view, &expected);
    judge(status, view, expected);
    made[kind] += status == VIA_OK;
}

void Sequence::run(Views made) {
    begin();
    compare();
    for (int64_t views = random_.between(1, kMostViews); views > 0 && subject_.model.size() < 3000; --views) {
        step(made);
    }
    via::release_array(subject_.array);
}

void random_sequences_of_views_are_where_the_definition_has_them(void **) {
    Random random(kSeed);
    Views made{};
    for (int i = 0; i < kSequences; ++i) {
        Sequence(&random).run(made);
    }
    std::printf("seed %llu, %d sequences; views made of each kind:", static_cast<unsigned long long>(kSeed),
                kSequences);
    for (const int count : made) {
        std::printf(" %d", count);
        assert_true(count > REPEATS(1000));
    }
    std::printf("\n");
    assert_int_equal(via::total(via::Counter::Arrays), 0);
    assert_int_equal(via::total(via::Counter::Storages), 0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(random_sequences_of_views_are_where_the_definition_has_them),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
