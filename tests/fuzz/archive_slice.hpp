// Parts of an archive's tensors, compared with the same parts of the whole tensors.
#pragma once

#include <algorithm>
#include <vector>

#include "bytes.hpp"

// A part of a tensor: what is left along each axis.
struct Part {
    std::vector<int64_t> starts;
    std::vector<int64_t> counts;
};

inline Part whole_of(via_array *array) {
    const int64_t *shape = via_array_shape(array);
    const auto ndim = static_cast<size_t>(via_array_ndim(array));
    return {std::vector<int64_t>(ndim), std::vector<int64_t>(shape, shape + ndim)};
}

// Slices a tensor as the bytes say, now and then out of range.
inline void slice_once(Bytes *bytes, via_archive *archive, int64_t number, Part *part) {
    const auto ndim = static_cast<int32_t>(part->counts.size());
    const int32_t axis = bytes->between(-1, std::max(ndim - 1, 0));
    const bool has_axis = axis < ndim && axis >= -ndim;
    const auto at = static_cast<size_t>(axis < 0 ? axis + ndim : axis);
    const int64_t extent = has_axis ? part->counts[at] : 0;
    const int64_t start = bytes->byte() < 240 ? bytes->byte() % (extent + 1) : bytes->number();
    const bool is_inside = has_axis && start >= 0 && start <= extent;
    const int64_t count = is_inside && bytes->byte() < 240 ? bytes->byte() % (extent - start + 1) : bytes->number();
    const via_status status = via_archive_slice(archive, number, axis, start, count);
    if (status == VIA_OK) {
        EXPECT(is_inside && count >= 0 && count <= extent - start);
        part->starts[at] += start;
        part->counts[at] = count;
        return;
    }
    expect_reported(status, "via_archive_slice");
    EXPECT(status == VIA_ERROR_UNSUPPORTED || !is_inside || count < 0 || count > extent - start);
}

// A copy of host memory in row-major order; nullptr for packed elements.
inline via_array *dense_copy(via_array *array) {
    via_array *dense = nullptr;
    EXPECT(via_empty(nullptr, via_array_dtype(array), via_array_ndim(array), via_array_shape(array), nullptr, &dense) ==
           VIA_OK);
    EXPECT(via_copy(dense, array) == VIA_OK);
    return dense;
}

inline void expect_same_bytes(via_array *a, via_array *b) {
    EXPECT(via_array_dtype(a) == via_array_dtype(b) && via_array_nbytes(a) == via_array_nbytes(b));
    EXPECT(std::equal(via_array_shape(a), via_array_shape(a) + via_array_ndim(a), via_array_shape(b)));
    EXPECT(via_array_nbytes(a) == 0 ||
           std::memcmp(via_array_data(a), via_array_data(b), static_cast<size_t>(via_array_nbytes(a))) == 0);
}

// Compares a part with what its window has.
inline void expect_window(via_archive *archive, int64_t number, via_array *part) {
    via_file *window = nullptr;
    via_array *read = nullptr;
    EXPECT(via_archive_file(archive, number, &window) == VIA_OK);
    EXPECT(via_empty(nullptr, via_array_dtype(part), via_array_ndim(part), via_array_shape(part), nullptr, &read) ==
           VIA_OK);
    EXPECT(via_file_read(window, 0, read, nullptr) == VIA_OK);
    expect_same_bytes(part, read);
    via_array_release(read);
    via_file_release(window);
}

// Compares the part of a tensor in the buffer of an archive with that of the whole tensor.
inline void expect_part(via_archive *archive, int64_t number, via_array *buffer, via_array *whole, const Part &part) {
    via_array *found = nullptr;
    via_array *expected = nullptr;
    EXPECT(via_archive_array(archive, number, buffer, &found) == VIA_OK);
    if (via_dtype_bits(via_array_dtype(whole)) % 8 == 0) {
        EXPECT(via_array_slice(whole, part.starts.data(), part.counts.data(), nullptr, &expected) == VIA_OK);
        via_array *dense = dense_copy(found);
        via_array *model = dense_copy(expected);
        expect_same_bytes(dense, model);
        expect_window(archive, number, model);
        via_array_release(dense);
        via_array_release(model);
    }
    via_array_release(expected);
    via_array_release(found);
}

// Slices all tensors of an archive, at most 16, as the bytes say. `buffer` holds the whole ones.
inline void slice_all(Bytes *bytes, via_archive *archive, via_array *buffer) {
    constexpr int64_t kMost = 16;
    int64_t numbers[kMost];
    via_archive *selection = nullptr;
    via_array *parts_buffer = nullptr;
    std::vector<via_array *> wholes;
    std::vector<Part> parts;
    for (int64_t i = 0; i < std::min(via_archive_size(archive), kMost); ++i) {
        via_array *whole = nullptr;
        EXPECT(via_archive_array(archive, i, buffer, &whole) == VIA_OK);
        numbers[i] = i;
        wholes.push_back(whole);
        parts.push_back(whole_of(whole));
    }
    EXPECT(via_archive_select(archive, static_cast<int32_t>(wholes.size()), numbers, &selection) == VIA_OK);
    for (size_t i = 0; i < wholes.size(); ++i) {
        for (int32_t left = bytes->between(0, 2); left > 0; --left) {
            slice_once(bytes, selection, static_cast<int64_t>(i), &parts[i]);
        }
    }
    EXPECT(via_archive_nbytes(selection) <= via_array_nbytes(buffer));
    EXPECT(via_archive_load(selection, nullptr, nullptr, &parts_buffer) == VIA_OK);
    for (size_t i = 0; i < wholes.size(); ++i) {
        expect_part(selection, static_cast<int64_t>(i), parts_buffer, wholes[i], parts[i]);
        via_array_release(wholes[i]);
    }
    via_array_release(parts_buffer);
    via_archive_release(selection);
}
