// Copies of rows by index between any two layouts of host memory, at once, as a task or in a batch: each is refused if
// a number is out of range or repeated, or if memory overlaps, and does what a loop over the elements does otherwise,
// touching nothing else.
#include <algorithm>
#include <set>
#include <vector>

#include "bytes.hpp"

namespace {

constexpr int32_t kMostNdim = 3;
constexpr int64_t kMostIndex = 12;
constexpr int64_t kBlockBytes = 36864;

struct Block {
    alignas(64) char bytes[kBlockBytes];
};

// An array of whole bytes in a block of its own.
struct Side {
    Block block;
    int64_t shape[kMostNdim];
    int64_t strides[kMostNdim];  // in elements
    int64_t start;               // of the first element, in elements
    via_array *array;
};

struct Case {
    int32_t dtype;
    int64_t item;
    int32_t ndim;
    int32_t axis;
};

Case choose_case(Bytes *bytes) {
    constexpr int32_t kDtypes[] = {VIA_UINT8, VIA_INT16, VIA_FLOAT32, VIA_FLOAT64, VIA_COMPLEX128, -3, -24};
    Case chosen{};
    chosen.dtype = bytes->pick(kDtypes);
    chosen.item = via_dtype_bits(chosen.dtype) / 8;
    chosen.ndim = bytes->between(1, kMostNdim);
    chosen.axis = bytes->between(0, chosen.ndim - 1);
    return chosen;
}

// Axes in either order, some reversed, with gaps or without.
void choose_side(Bytes *bytes, const Case &chosen, Side *side) {
    const bool is_transposed = bytes->flag();
    int64_t step = 1;
    int64_t low = 0;
    for (int32_t i = 0; i < chosen.ndim; ++i) {
        const int32_t axis = is_transposed ? i : chosen.ndim - 1 - i;
        const int32_t kind = bytes->byte();
        side->strides[axis] = kind % 4 == 1 ? -step : step;
        low += std::min<int64_t>((side->shape[axis] - 1) * side->strides[axis], 0);
        step *= std::max<int64_t>(side->shape[axis], 1) + (kind % 8 >= 6 ? kind / 8 % 3 : 0);
    }
    side->start = -std::min<int64_t>(low, 0);
    EXPECT((side->start + step) * chosen.item <= kBlockBytes);
    for (int64_t i = 0; i < kBlockBytes; ++i) {
        side->block.bytes[i] = static_cast<char>(i * 31 + i / 251);
    }
}

void wrap(const Case &chosen, Side *side) {
    EXPECT(via_wrap(side->block.bytes + side->start * chosen.item, chosen.dtype, chosen.ndim, side->shape,
                    side->strides, VIA_DEVICE_CPU, 0, 0, nullptr, nullptr, &side->array) == VIA_OK);
}

// An index of either type, mostly in range.
struct RowIndex {
    bool is_given;
    std::vector<int64_t> wide;
    std::vector<int32_t> narrow;
    via_array *array;
};

void choose_index(Bytes *bytes, int64_t count, int64_t extent, bool is_distinct, RowIndex *index) {
    index->is_given = bytes->byte() < 200;
    index->array = nullptr;
    for (int64_t i = 0; i < count; ++i) {
        const int32_t wanted = bytes->byte();
        const int64_t near = extent > 0 ? (is_distinct ? i * 5 + wanted / 32 : wanted) % extent : 0;
        index->wide.push_back(wanted >= 250 ? bytes->number() : near);
    }
    const bool is_narrow = bytes->flag();
    for (int64_t &number : index->wide) {
        index->narrow.push_back(static_cast<int32_t>(number));
        number = is_narrow ? index->narrow.back() : number;
    }
    if (index->is_given) {
        EXPECT(via_wrap(is_narrow ? static_cast<void *>(index->narrow.data()) : index->wide.data(),
                        is_narrow ? VIA_INT32 : VIA_INT64, 1, &count, nullptr, VIA_DEVICE_CPU, 0, VIA_WRAP_READ_ONLY,
                        nullptr, nullptr, &index->array) == VIA_OK);
    } else {
        for (int64_t i = 0; i < count; ++i) {
            index->wide[static_cast<size_t>(i)] = i;
        }
    }
}

bool is_in_range(const RowIndex &index, int64_t extent) {
    return std::all_of(index.wide.begin(), index.wide.end(),
                       [&](int64_t number) { return number >= 0 && number < extent; });
}

bool has_duplicates(const RowIndex &index) {
    return std::set<int64_t>(index.wide.begin(), index.wide.end()).size() < index.wide.size();
}

void copy_row(const Case &chosen, Side *dst, int64_t to, const Side &src, int64_t from) {
    int64_t at[kMostNdim] = {};
    int64_t left = 1;
    for (int32_t i = 0; i < chosen.ndim; ++i) {
        left *= i == chosen.axis ? 1 : dst->shape[i];
    }
    for (; left > 0; --left) {
        int64_t target = dst->start;
        int64_t source = src.start;
        for (int32_t i = 0; i < chosen.ndim; ++i) {
            target += (i == chosen.axis ? to : at[i]) * dst->strides[i];
            source += (i == chosen.axis ? from : at[i]) * src.strides[i];
        }
        std::memcpy(dst->block.bytes + target * chosen.item, src.block.bytes + source * chosen.item,
                    static_cast<size_t>(chosen.item));
        for (int32_t i = chosen.ndim - 1; i >= 0; --i) {
            if (i != chosen.axis && ++at[i] < dst->shape[i]) {
                break;
            }
            at[i] = 0;
        }
    }
}

via_status run_as_batch(via_array *dst, via_array *dst_index, via_array *src, via_array *src_index, int32_t axis) {
    via_batch *batch = nullptr;
    EXPECT(via_batch_create(&batch) == VIA_OK);
    via_status status = via_batch_add_indexed(batch, dst, dst_index, src, src_index, axis, nullptr);
    status = status == VIA_OK ? via_batch_run(batch, nullptr) : status;
    via_batch_release(batch);
    return status;
}

via_status run_as_task(via_array *dst, via_array *dst_index, via_array *src, via_array *src_index, int32_t axis) {
    via_task *task = nullptr;
    const via_status status = via_copy_indexed_submit(dst, dst_index, src, src_index, axis, nullptr, nullptr, &task);
    if (status == VIA_OK) {
        EXPECT(via_task_wait(task) == VIA_OK);
        via_task_release(task);
    }
    return status;
}

// Rarely a task: threads take longer than all else here.
via_status run(int32_t route, const Side &dst, const RowIndex &to, const Side &src, const RowIndex &from,
               int32_t axis) {
    return route == 255   ? run_as_task(dst.array, to.array, src.array, from.array, axis)
           : route >= 200 ? run_as_batch(dst.array, to.array, src.array, from.array, axis)
                          : via_copy_indexed(dst.array, to.array, src.array, from.array, axis, nullptr, nullptr);
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const via_stats_info before = count_alive();
    static Side dst;
    static Side src;
    static Block expected;
    Bytes bytes(data, size);
    const Case chosen = choose_case(&bytes);
    for (int32_t i = 0; i < chosen.ndim; ++i) {
        dst.shape[i] = bytes.between(0, i == chosen.axis ? kMostIndex : 5);
        src.shape[i] = i == chosen.axis ? bytes.between(0, kMostIndex) : dst.shape[i];
    }
    choose_side(&bytes, chosen, &dst);
    choose_side(&bytes, chosen, &src);
    wrap(chosen, &dst);
    wrap(chosen, &src);
    int64_t count = bytes.between(0, kMostIndex);
    RowIndex to{};
    RowIndex from{};
    choose_index(&bytes, count, dst.shape[chosen.axis], bytes.flag(), &to);
    choose_index(&bytes, count, src.shape[chosen.axis], false, &from);
    const int32_t route = bytes.byte();
    const int32_t axis = bytes.flag() ? chosen.axis - chosen.ndim : chosen.axis;
    const bool is_whole = !to.is_given && !from.is_given;  // all rows of both
    const bool fits = is_whole ? dst.shape[chosen.axis] == src.shape[chosen.axis]
                               : is_in_range(to, dst.shape[chosen.axis]) && is_in_range(from, src.shape[chosen.axis]);
    const via_status status = run(route, dst, to, src, from, axis);
    Side model = dst;
    for (int64_t i = 0; i < kBlockBytes; ++i) {
        model.block.bytes[i] = static_cast<char>(i * 31 + i / 251);
    }
    if (status == VIA_OK) {
        EXPECT(fits && !has_duplicates(to));
        count = is_whole ? dst.shape[chosen.axis] : count;
        for (int64_t i = 0; i < count; ++i) {
            copy_row(chosen, &model, is_whole ? i : to.wide[static_cast<size_t>(i)], src,
                     is_whole ? i : from.wide[static_cast<size_t>(i)]);
        }
    } else {
        EXPECT(!fits || has_duplicates(to));
        expect_reported(status, route == 255   ? "via_copy_indexed_submit"
                                : route >= 200 ? "via_batch_add_indexed"
                                               : "via_copy_indexed");
    }
    expected = model.block;
    EXPECT(std::memcmp(expected.bytes, dst.block.bytes, sizeof expected.bytes) == 0);
    for (via_array *array : {dst.array, src.array, to.array, from.array}) {
        via_array_release(array);
    }
    expect_alive(before);
    return 0;
}
