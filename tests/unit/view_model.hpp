// Views as the definition has them: a list of where every element is, in row-major order, and nothing about strides.
#pragma once

#include <optional>
#include <vector>

#include "copy_support.hpp"

struct Model {
    int32_t dtype;
    int64_t item_bits;
    std::vector<int64_t> shape;
    std::vector<int64_t> bits;  // of every element's start, from the same place for all views

    int32_t ndim() const { return static_cast<int32_t>(shape.size()); }
    int64_t size() const { return static_cast<int64_t>(bits.size()); }
};

// The position of an index in row-major order.
inline int64_t position(const std::vector<int64_t> &shape, const std::vector<int64_t> &index) {
    int64_t at = 0;
    for (size_t i = 0; i < shape.size(); ++i) {
        at = at * shape[i] + index[i];
    }
    return at;
}

// Calls visit with every index of the shape, in row-major order.
template <class Visit>
void for_each_index(const std::vector<int64_t> &shape, Visit visit) {
    std::vector<int64_t> index(shape.size(), 0);
    for (int64_t left = size_of(shape); left > 0; --left) {
        visit(index);
        for (size_t i = shape.size(); i-- > 0;) {
            if (++index[i] < shape[i]) {
                break;
            }
            index[i] = 0;
        }
    }
}

// The model of another shape, each of whose elements is the one of `model` at the index that `find` gives.
template <class Find>
Model pick(const Model &model, const std::vector<int64_t> &shape, Find find) {
    Model picked{model.dtype, model.item_bits, shape, {}};
    for_each_index(shape, [&](const std::vector<int64_t> &index) {
        picked.bits.push_back(model.bits[static_cast<size_t>(position(model.shape, find(index)))]);
    });
    return picked;
}

// Whether one stride an axis can say where the elements are.
inline bool has_strides(const Model &model) {
    for (size_t axis = 0; axis < model.shape.size(); ++axis) {
        std::optional<int64_t> stride;
        bool regular = true;
        for_each_index(model.shape, [&](const std::vector<int64_t> &index) {
            if (index[axis] == 0) {
                return;
            }
            std::vector<int64_t> before = index;
            before[axis]--;
            const int64_t step = model.bits[static_cast<size_t>(position(model.shape, index))] -
                                 model.bits[static_cast<size_t>(position(model.shape, before))];
            regular &= stride.value_or(step) == step;
            stride = step;
        });
        if (!regular) {
            return false;
        }
    }
    return true;
}

// Whether the last axis is dense.
inline bool last_axis_is_dense(const Model &model) {
    const int64_t last = model.shape.empty() ? 1 : model.shape.back();
    for (int64_t at = 0; at < model.size(); ++at) {
        if (at % last > 0 &&
            model.bits[static_cast<size_t>(at)] != model.bits[static_cast<size_t>(at - 1)] + model.item_bits) {
            return false;
        }
    }
    return true;
}
