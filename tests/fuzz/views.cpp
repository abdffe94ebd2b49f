// Views of views, with any arguments: each exists if and only if the list of its elements says so, and has them in
// their places.
#include "elements.hpp"

namespace {

constexpr int32_t kMostViews = 6;

// What a view should be.
struct Outcome {
    bool exists;
    bool is_open;   // both answers are right: no one can distinguish strides with no elements, or too far apart
    bool is_large;  // it exists, and has more elements than can be listed
    Elements view;
};

struct Subject {
    via_array *array;
    Elements elements;
};

int32_t choose_dtype(Bytes *bytes) {
    constexpr int32_t kDtypes[] = {VIA_UINT8, VIA_INT16,  VIA_FLOAT32, VIA_COMPLEX64, VIA_COMPLEX128, -3,
                                   -12,       -24,        VIA_INT4,    0x00010101,    0x00032002,     VIA_FLOAT6_E2M3FN,
                                   VIA_INT64, 0x00020400, -1,          VIA_BOOL};
    return bytes->pick(kDtypes);
}

// Mostly what may be right.
int64_t choose_near(Bytes *bytes, int64_t extent) {
    return bytes->between(0, 15) != 0 ? bytes->between(-1, 8) % (std::min<int64_t>(extent, 100) + 2) : bytes->number();
}

void settle(Outcome *out) {
    out->is_large = out->view.count > kMostElements;
    out->exists = out->is_large || out->view.starts_at_a_byte();
}

via_status slice(Bytes *bytes, const Subject &subject, Outcome *out, via_array **view) {
    const Elements &from = subject.elements;
    const int32_t given = bytes->byte();
    int64_t start[kMostNdim] = {};
    int64_t count[kMostNdim] = {};
    int64_t step[kMostNdim] = {};
    bool fits = true;
    out->view = from;
    for (int32_t i = 0; i < from.ndim; ++i) {
        start[i] = (given & 1) != 0 ? choose_near(bytes, from.shape[i]) : 0;
        count[i] = (given & 2) != 0 ? choose_near(bytes, from.shape[i]) : 0;
        step[i] = (given & 4) != 0 ? bytes->between(0, 15) != 0 ? bytes->between(-2, 3) : bytes->number() : 1;
        out->view.shape[i] = count[i];
        fits &= slice_axis(from.shape[i], start[i], (given & 2) != 0, step[i], &out->view.shape[i]);
    }
    int64_t steps[kMostNdim];
    position_steps(from, steps);
    if (fits) {
        pick(from, &out->view, [&](const Index &index) {
            int64_t at = 0;
            for (int32_t i = 0; i < from.ndim; ++i) {
                at += (start[i] + index[i] * step[i]) * steps[i];
            }
            return at;
        });
        settle(out);
    }
    return via_array_slice(subject.array, (given & 1) != 0 ? start : nullptr, (given & 2) != 0 ? count : nullptr,
                           (given & 4) != 0 ? step : nullptr, view);
}

via_status select(Bytes *bytes, const Subject &subject, Outcome *out, via_array **view) {
    const Elements &from = subject.elements;
    const int32_t given = bytes->between(0, 31) != 0 ? bytes->between(-4, 4) : bytes->number32();
    const int32_t axis = given < 0 && given >= -from.ndim ? given + from.ndim : given;
    const bool fits = axis >= 0 && axis < from.ndim;
    const int64_t extent = fits ? from.shape[axis] : 0;
    const int64_t near = choose_near(bytes, extent);
    const int64_t index = bytes->flag() && near != INT64_MIN ? -near : near;
    if (fits && index >= -extent && index < extent) {
        out->view = from;
        std::copy(from.shape + axis + 1, from.shape + from.ndim, out->view.shape + axis);
        out->view.ndim--;
        int64_t steps[kMostNdim];
        position_steps(from, steps);
        pick(from, &out->view, [&](const Index &inner) {
            int64_t at = (index < 0 ? index + extent : index) * steps[axis];
            for (int32_t i = 0; i < out->view.ndim; ++i) {
                at += inner[i] * steps[i < axis ? i : i + 1];
            }
            return at;
        });
        settle(out);
    }
    return via_array_select(subject.array, given, index, view);
}

via_status permute(Bytes *bytes, const Subject &subject, Outcome *out, via_array **view) {
    const Elements &from = subject.elements;
    const bool given = bytes->flag();
    int32_t axes[kMostNdim] = {};
    int32_t taken = 0;
    bool fits = true;
    out->view = from;
    int64_t steps[kMostNdim];
    int64_t transposed[kMostNdim] = {};
    position_steps(from, steps);
    for (int32_t i = 0; i < from.ndim; ++i) {
        axes[i] = !given                       ? from.ndim - 1 - i
                  : bytes->between(0, 63) != 0 ? bytes->between(-from.ndim, from.ndim - 1)
                                               : bytes->number32();
        const int32_t axis = axes[i] < 0 && axes[i] >= -from.ndim ? axes[i] + from.ndim : axes[i];
        fits = fits && axis >= 0 && axis < from.ndim && (taken & 1 << axis) == 0;
        if (fits) {
            taken |= 1 << axis;
            out->view.shape[i] = from.shape[axis];
            transposed[i] = steps[axis];
        }
    }
    if (fits) {
        pick(from, &out->view, [&](const Index &index) {
            int64_t at = 0;
            for (int32_t i = 0; i < from.ndim; ++i) {
                at += index[i] * transposed[i];
            }
            return at;
        });
        settle(out);
    }
    return via_array_permute(subject.array, given ? axes : nullptr, view);
}

via_status reshape(Bytes *bytes, const Subject &subject, Outcome *out, via_array **view) {
    constexpr int64_t kExtents[] = {1, 2, 3, 4, 6, 8, 0, -1};
    const Elements &from = subject.elements;
    out->view = from;
    out->view.ndim = bytes->between(0, 5);
    int64_t shape[kMostNdim] = {};
    for (int32_t i = 0; i < out->view.ndim; ++i) {
        shape[i] = out->view.shape[i] = bytes->between(0, 31) != 0 ? bytes->pick(kExtents) : bytes->number();
    }
    if (complete_shape(from, out->view.ndim, out->view.shape)) {
        out->exists = has_strides(out->view);
    }
    return via_array_reshape(subject.array, out->view.ndim, shape, view);
}

via_status broadcast(Bytes *bytes, const Subject &subject, Outcome *out, via_array **view) {
    const Elements &from = subject.elements;
    const int32_t added = bytes->between(0, 3) - 1;
    out->view = from;
    out->view.ndim = std::clamp<int32_t>(from.ndim + added, 0, kMostNdim);
    bool fits = out->view.ndim >= from.ndim;
    int64_t steps[kMostNdim];
    position_steps(from, steps);
    for (int32_t i = 0; i < out->view.ndim; ++i) {
        const int32_t axis = i - (out->view.ndim - from.ndim);
        const int64_t extent = axis >= 0 && axis < from.ndim ? from.shape[axis] : 1;
        const int32_t kind = bytes->between(0, 63);
        int64_t &wanted = out->view.shape[i];
        wanted = kind == 0 ? bytes->number() : kind < 16 && extent == 1 ? bytes->between(0, 4) : extent;
        fits &= wanted == extent || (extent == 1 && wanted >= 0);
    }
    const int32_t ndim = out->view.ndim;
    int64_t shape[kMostNdim];
    std::copy_n(out->view.shape, ndim, shape);
    if (fits && fits_memory(out->view)) {
        out->view.count = count_elements(ndim, out->view.shape);
        if (out->view.count <= kMostElements) {
            pick(from, &out->view, [&](const Index &index) {
                int64_t at = 0;
                for (int32_t i = 0; i < from.ndim; ++i) {
                    at += from.shape[i] == 1 ? 0 : index[i + ndim - from.ndim] * steps[i];
                }
                return at;
            });
        }
        settle(out);
    }
    return via_array_broadcast(subject.array, ndim, shape, view);
}

via_status squeeze(Bytes *bytes, const Subject &subject, Outcome *out, via_array **view) {
    const Elements &from = subject.elements;
    const bool all = bytes->flag();
    const int32_t count = all ? 0 : bytes->between(0, 3);
    int32_t axes[3] = {};
    uint32_t dropped = 0;
    out->exists = true;
    for (int32_t i = 0; i < count; ++i) {
        axes[i] = bytes->between(0, 31) != 0 ? bytes->between(-5, 5) : bytes->number32();
        const int32_t axis = axes[i] < 0 && axes[i] >= -from.ndim ? axes[i] + from.ndim : axes[i];
        const bool fits = axis >= 0 && axis < from.ndim && from.shape[axis] == 1;
        dropped |= fits ? 1U << axis : 0;
        out->exists &= fits;
    }
    out->view = from;
    out->view.ndim = 0;
    for (int32_t i = 0; i < from.ndim; ++i) {
        if (all ? from.shape[i] != 1 : (dropped & 1U << i) == 0) {
            out->view.shape[out->view.ndim++] = from.shape[i];
        }
    }
    return via_array_squeeze(subject.array, count, all ? nullptr : axes, view);
}

via_status expand(Bytes *bytes, const Subject &subject, Outcome *out, via_array **view) {
    const Elements &from = subject.elements;
    const int32_t given = bytes->between(0, 31) != 0 ? bytes->between(-5, 5) : bytes->number32();
    const int32_t axis = given < 0 && given >= -from.ndim - 1 ? given + from.ndim + 1 : given;
    out->exists = axis >= 0 && axis <= from.ndim;
    if (out->exists) {
        out->view = from;
        std::copy(from.shape + axis, from.shape + from.ndim, out->view.shape + axis + 1);
        out->view.shape[axis] = 1;
        out->view.ndim++;
    }
    return via_array_expand(subject.array, given, view);
}

via_status reinterpret(Bytes *bytes, const Subject &subject, Outcome *out, via_array **view) {
    const Elements &from = subject.elements;
    const int32_t dtype = bytes->between(0, 31) != 0 ? choose_dtype(bytes) : bytes->number32();
    const int64_t bits = via_dtype_bits(dtype);
    out->view = from;
    out->view.dtype = dtype;
    if (bits == from.item_bits()) {
        out->exists = true;
    } else if (bits != 0 && from.ndim > 0 && Wide{from.shape[from.ndim - 1]} * from.item_bits() % bits == 0) {
        out->is_open = from.count == 0 || (out->view.is_packed() && !are_bits_few(from));
        out->exists = rescale(from, &out->view) && is_last_axis_dense(from);
        out->is_large = out->exists && out->view.count > kMostElements;
    }
    return via_array_reinterpret(subject.array, dtype, view);
}

via_status field(Bytes *bytes, const Subject &subject, Outcome *out, via_array **view) {
    const Elements &from = subject.elements;
    const int32_t dtype = bytes->between(0, 31) != 0 ? choose_dtype(bytes) : bytes->number32();
    const int64_t offset = bytes->between(0, 15) != 0 ? bytes->between(0, 24) : bytes->number();
    const int32_t ndim = bytes->between(0, 2);
    Elements inner{via_dtype_is_valid(dtype) != 0 ? dtype : VIA_UINT8, ndim, {}, 0, {}};
    bool fits = via_dtype_is_valid(dtype) != 0 && offset >= 0;
    for (int32_t i = 0; i < ndim; ++i) {
        inner.shape[i] = bytes->between(0, 15) != 0 ? bytes->between(0, 3) : bytes->number();
        fits &= inner.shape[i] >= 0;
    }
    const bool is_whole = !from.is_packed() && !inner.is_packed();
    if (fits && is_whole && fits_memory(inner)) {
        inner.count = count_elements(ndim, inner.shape);
        fits = inner.count <= kMostElements &&
               Wide{offset} + inner.count * (inner.item_bits() / 8) <= from.item_bits() / 8;
        out->view = from;
        out->view.dtype = dtype;
        out->view.ndim = from.ndim + ndim;
        std::copy_n(inner.shape, ndim, out->view.shape + from.ndim);
        out->exists = fits && fits_memory(out->view);
        out->view.count = count_elements(out->view.ndim, out->view.shape);
        // A record may have room for more values than can be listed.
        out->is_open = inner.count > kMostElements;
        out->is_large = out->is_open || (out->exists && out->view.count > kMostElements);
        for (int64_t i = 0; out->exists && !out->is_large && i < out->view.count; ++i) {
            out->view.bits[i] = from.bits[i / inner.count] + offset * 8 + i % inner.count * inner.item_bits();
        }
    }
    return via_array_field(subject.array, offset, dtype, ndim, inner.shape, view);
}

// An array anywhere, which nobody reads, of few enough elements to list; false if there is none like that.
bool begin(Bytes *bytes, Subject *subject) {
    int64_t strides[kMostNdim];
    Elements &made = subject->elements;
    made.dtype = choose_dtype(bytes);
    made.ndim = bytes->between(0, 4);
    const bool plain = bytes->flag();
    for (int32_t i = 0; i < made.ndim; ++i) {
        made.shape[i] = bytes->between(0, 7);
        strides[i] = plain ? 0 : bytes->number();
    }
    const bool in_bytes = !plain && !made.is_packed() && bytes->flag();
    auto *const address = reinterpret_cast<void *>(uintptr_t{1} << 62);
    const Description given{address,
                            made.dtype,
                            false,
                            made.ndim,
                            made.shape,
                            strides,
                            plain      ? Unit::RowMajor
                            : in_bytes ? Unit::Bytes
                                       : Unit::Elements};
    made.count = count_elements(made.ndim, made.shape);
    const via_status status =
        via_wrap(address, made.dtype, made.ndim, made.shape, plain ? nullptr : strides, VIA_DEVICE_CPU, 0,
                 in_bytes ? VIA_WRAP_BYTE_STRIDES : 0, nullptr, nullptr, &subject->array);
    EXPECT(is_sound(given) == (status == VIA_OK));
    const bool listed = status == VIA_OK && made.count <= kMostElements;
    if (!listed) {
        via_array_release(subject->array);
        return false;
    }
    for_each_element(given, [&](int64_t number, Wide at) {
        made.bits[number] = Wide{reinterpret_cast<uintptr_t>(address)} * 8 + at;
    });
    return true;
}

using Step = via_status (*)(Bytes *, const Subject &, Outcome *, via_array **);

constexpr struct {
    Step step;
    const char *function;
} kSteps[] = {{slice, "via_array_slice"},     {select, "via_array_select"},           {permute, "via_array_permute"},
              {reshape, "via_array_reshape"}, {broadcast, "via_array_broadcast"},     {squeeze, "via_array_squeeze"},
              {expand, "via_array_expand"},   {reinterpret, "via_array_reinterpret"}, {field, "via_array_field"}};

// Goes on with the view, if there is one that can be listed.
bool take_step(Bytes *bytes, Subject *subject) {
    const auto &chosen = bytes->pick(kSteps);
    Outcome expected{};
    via_array *view = nullptr;
    const via_status status = chosen.step(bytes, *subject, &expected, &view);
    EXPECT((view != nullptr) == (status == VIA_OK));
    EXPECT(expected.is_open || expected.exists == (status == VIA_OK));
    if (status != VIA_OK) {
        expect_reported(status, chosen.function);
        return true;
    }
    via_array_release(subject->array);
    subject->array = view;
    subject->elements = expected.view;
    if (expected.is_large) {
        return false;
    }
    expect_elements(view, expected.view);
    return true;
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const via_stats_info before = count_alive();
    Bytes bytes(data, size);
    static Subject subject;
    subject = {};
    if (begin(&bytes, &subject)) {
        expect_elements(subject.array, subject.elements);
        for (int32_t i = 0; i < kMostViews && !bytes.is_empty() && subject.elements.ndim < kMostNdim - 3; ++i) {
            if (!take_step(&bytes, &subject)) {
                break;
            }
        }
        via_array_release(subject.array);
    }
    expect_alive(before);
    return 0;
}
