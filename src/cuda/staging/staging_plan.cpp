#include "cuda/staging/staging_plan.hpp"

#include <algorithm>

#include "core/layout/axes.hpp"
#include "core/system/pages.hpp"
#include "cuda/layout/row_copies.hpp"

namespace via::cuda {
namespace {

// A copy engine copies rows of this size as fast as adjacent bytes, if they fill whole lines of the slot.
constexpr int64_t kEngineRow = 128;

// Several calls for a chunk cost more than a kernel.
constexpr int64_t kBytesOfCall = int64_t{1} << 20;

// What a kernel adds to a staged copy, in nanoseconds: it begins with larger chunks.
constexpr double kKernelToDevice = 10000;
constexpr double kKernelToHost = 45000;

// Costs of one worker on the host of an H200: bytes a nanosecond, gaps of less than a line included, and nanoseconds of
// each row, which are fewer where registers shuffle elements, and more where rows are far from one another.
constexpr double kBytes = 10;
constexpr double kRow = 0.8;
constexpr double kElement = 0.3;
constexpr double kFarRow = 6;
constexpr int64_t kMostOfElement = 16;

// Returns whether a copy engine is as fast as a kernel. Of rows that begin and end anywhere in the slot more bytes
// cross the link.
bool suits_engine(const Move &move, bool to_device) {
    if (move.ndim == 0) {
        return true;
    }
    const double wasted = (bytes_across(move, to_device) - static_cast<double>(move.nbytes)) / kLink;
    return move.run >= kEngineRow && count_row_calls(move) <= 1 + move.nbytes / kBytesOfCall &&
           wasted <= (to_device ? kKernelToDevice : kKernelToHost);
}

// Returns what the host does of a transfer, as one move. Follows its memory for as long as the next bytes are less than
// a line away.
HostWork host_work(const Transfer &transfer, const Move &move) {
    const bool to_device = is_to_device(transfer);
    const PackedOrder order = make_packed_order(transfer, to_device ? Major::Src : Major::Dst, false);
    int64_t reach = 1;
    int64_t moved = 1;
    int32_t i = 0;
    for (; i < order.ndim; ++i) {
        const int64_t step = to_device ? order.loops[i].src_step : order.loops[i].dst_step;
        if (step >= reach + kHostLine) {
            break;
        }
        reach += (order.loops[i].extent - 1) * step;
        moved *= order.loops[i].extent;
    }
    const auto nbytes = static_cast<double>(move.nbytes);
    const bool far = i < order.ndim;
    const double far_rows = far ? nbytes / static_cast<double>(moved) : 0;
    const double touched = nbytes / static_cast<double>(moved) * static_cast<double>(far ? reach + kHostLine : reach);
    const bool elements = move.run <= kMostOfElement && (move.run & (move.run - 1)) == 0;
    const double rows = move.ndim > 0 ? nbytes / static_cast<double>(move.run) * (elements ? kElement : kRow) : 0;
    return {std::max(touched / kBytes + far_rows * kFarRow, rows),
            to_device ? touched + 2 * nbytes : 2 * touched + nbytes};
}

}  // namespace

double bytes_across(const Move &move, bool host_is_src) {
    const uint64_t begins = reinterpret_cast<uint64_t>(host_is_src ? move.src : move.dst) |
                            bits_of_steps(move.axes, move.ndim, host_is_src ? &Axis::src_step : &Axis::dst_step);
    const int64_t alignment = alignment_in(begins | static_cast<uint64_t>(move.run) | kHostLine);
    const int64_t rows = move.nbytes / move.run;
    return static_cast<double>(rows) * static_cast<double>(move.run + kHostLine - alignment);
}

// Broadcast elements pass once where workers or kernels write the destination. Copy engines cannot repeat them.
PackedOrder make_staged_order(const Transfer &transfer, const StagedPlan &plan) {
    const bool broadcast_is_packed = is_to_device(transfer) && plan.step == DeviceStep::Engine;
    return make_packed_order(transfer, plan.major, broadcast_is_packed);
}

bool is_soon_done(const Transfer &transfer) {
    constexpr int64_t kToDevice = int64_t{768} << 10;
    constexpr int64_t kToHost = int64_t{640} << 10;
    return transfer.nbytes < (is_to_device(transfer) ? kToDevice : kToHost);
}

int32_t worth_waking(const Transfer &transfer, const StagedPlan &plan, int32_t most) {
    // Nanoseconds of one thread. What takes less than the first is done by the time that a helper wakes. Of more than
    // that each helper takes little, as all of them wake at once.
    constexpr double kWorthWaking = 80000;
    constexpr double kWorthAThread = 10000;
    if (plan.host.nanoseconds < kWorthWaking) {
        return 1;
    }
    const int32_t gaining = !plan.adjacent_on_host   ? kMostWorkersOfStrided
                            : is_to_device(transfer) ? kMostWorkers
                                                     : kMostWorkersOfSlow;
    const double wanted = std::min<double>(plan.host.nanoseconds / kWorthAThread, gaining);
    return static_cast<int32_t>(std::clamp<double>(wanted, 1, most));
}

Move make_host_move(const PackedOrder &order, bool to_device, void *buffer) {
    return to_device ? make_packing(order, whole(order), buffer) : make_unpacking(order, whole(order), buffer);
}

Move make_device_move(const PackedOrder &order, bool to_device, void *buffer) {
    return make_host_move(order, !to_device, buffer);
}

// Chooses the order of the host's memory, so that workers read or write whole lines, and the device permutes, which it
// does much faster. Without kernels the host permutes.
StagedPlan plan_staged(const Transfer &transfer, bool kernels) {
    const bool to_device = is_to_device(transfer);
    const bool is_source_major = to_device == kernels;
    StagedPlan plan{
        is_source_major ? Major::Src : Major::Dst, kernels ? DeviceStep::Kernel : DeviceStep::Engine, false, {}};
    const PackedOrder order = make_staged_order(transfer, plan);
    if (order.broadcast_axes == 0 && suits_engine(make_device_move(order, to_device, nullptr), to_device)) {
        plan.step = DeviceStep::Engine;
    }
    const Move move = make_host_move(order, to_device, transfer.dst);
    plan.adjacent_on_host = move.ndim == 0;
    plan.host = host_work(transfer, move);
    return plan;
}

namespace {

constexpr int64_t kLeastPiece = int64_t{64} << 10;
constexpr int64_t kMostPiece = int64_t{512} << 10;
constexpr int64_t kPiecesOfChunk = 16;

// Returns the bytes up to the last border of a huge page within `length`, or `length` if there is none.
int64_t to_last_border(int64_t address, int64_t length) {
    const int64_t end = round_down(address + length, kHugePage);
    return end > address ? end - address : length;
}

int64_t to_next_border(int64_t address) { return kHugePage - address % kHugePage; }

}  // namespace

int64_t chunk_length(const Cut &cut, int64_t offset) {
    const int64_t left = cut.nbytes - offset;
    const int64_t least = std::min(cut.by_huge_pages ? kHugePage : cut.least_chunk, cut.slot_bytes);
    const int64_t growing = std::max(offset, least);
    const int64_t shrinking = std::max(round_up(left / 2, kLeastPiece), least);
    const int64_t length = std::min({cut.slot_bytes, growing, shrinking});
    if (left <= length || (left <= length + least / 2 && left <= cut.slot_bytes)) {
        return left;
    }
    return cut.by_huge_pages ? to_last_border(cut.address + offset, length) : round_up(length, kLeastPiece);
}

int64_t piece_length(const Cut &cut, int64_t chunk_offset, int64_t chunk_length, int64_t start) {
    const int64_t left = chunk_length - start;
    if (cut.by_huge_pages) {
        return std::min(left, to_next_border(cut.address + chunk_offset + start));
    }
    const int64_t share = round_up(chunk_length / kPiecesOfChunk, kLeastPiece);
    return std::min(left, std::clamp(share, kLeastPiece, kMostPiece));
}

}  // namespace via::cuda
