#include "cuda/route/pinned_copy_plan.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "core/system/pages.hpp"
#include "cuda/layout/row_copies.hpp"

namespace via::cuda {
namespace {

// What things cost on PCIe 5 x16, in nanoseconds and bytes a nanosecond, as measured on an H200. Slower links make all
// that crosses them dearer alike, so that the choice is the same.
constexpr double kLink = 54;
constexpr double kDevice = 800;
constexpr double kWorkers = 24;       // that gather or scatter elements one by one
constexpr double kWorkersLines = 60;  // that they touch
constexpr double kCall = 2000;
constexpr double kLaunch = 5000;
constexpr double kScratch = 2000;
constexpr double kRing = 25000;
constexpr double kRow = 1.5;     // of a copy engine, however short
constexpr double kFarRow = 3.5;  // the same where rows are far from one another

// A kernel reaches 51 across the link. It is counted dearer, since its threads wait for the link where those of others
// could work.
constexpr double kPinnedByKernel = 45;
constexpr double kRequest = 1.5;       // for bytes that are apart from others
constexpr double kPartOfSector = 2.0;  // the same, stored to the host where they fill no sector

constexpr int64_t kFar = 512;
constexpr int64_t kSector = 32;
constexpr int64_t kLine = 64;
constexpr int64_t kPage = 4096;
constexpr int64_t kScratchBytes = int64_t{32} << 20;

double as_double(int64_t value) { return static_cast<double>(value); }

double runs_of(const Transfer &transfer) { return as_double(transfer.nbytes / transfer.run); }

// The step on the host's side along the axis that is the fastest one of the destination.
int64_t host_step(const Transfer &transfer) {
    return is_to_device(transfer) ? std::abs(transfer.axes[0].src_step) : transfer.axes[0].dst_step;
}

double cost_of_rows(const Move &move, bool to_device) {
    const int64_t pitch = move.ndim > 0 ? (to_device ? move.axes[0].src_step : move.axes[0].dst_step) : 0;
    const double rows = as_double(move.nbytes / move.run) * (pitch > kFar ? kFarRow : kRow);
    return as_double(count_row_calls(move)) * kCall + std::max(as_double(move.nbytes) / kLink, rows);
}

// Of the host's memory, by a kernel whose neighbouring threads write neighbouring elements of the destination: what is
// less than a sector apart is fetched in one go with what is between.
double bytes_by_kernel(const Transfer &transfer) {
    if (!is_to_device(transfer)) {
        return as_double(transfer.nbytes);
    }
    const int64_t sectors = round_up(transfer.run, kSector);
    return runs_of(transfer) * as_double(std::clamp(host_step(transfer), transfer.run, sectors));
}

double cost_of_kernel(const Transfer &transfer) {
    const bool parts = !is_to_device(transfer) && transfer.run < kSector;
    const bool fused = host_step(transfer) < transfer.run + (parts ? 1 : kSector);
    const double requests = fused ? 0 : runs_of(transfer) * (parts ? kPartOfSector : kRequest);
    return kLaunch + std::max(bytes_by_kernel(transfer) / kPinnedByKernel, requests);
}

// Workers reach for whole lines.
double cost_of_workers(const Transfer &transfer) {
    const int64_t lines = round_up(transfer.run, kLine);
    const double touched = runs_of(transfer) * as_double(std::clamp(host_step(transfer), transfer.run, lines));
    return kRing + std::max(as_double(transfer.nbytes) / kWorkers, touched / kWorkersLines);
}

void keep_better(const PinnedCopyPlan &plan, PinnedCopyPlan *best) {
    if (plan.microseconds < best->microseconds) {
        *best = plan;
    }
}

// The host's side of all that crosses, as one move.
void make_host_move(const Transfer &transfer, const PackedOrder &order, Move *move) {
    if (is_to_device(transfer)) {
        make_packing(order, whole(order), transfer.dst, move);
    } else {
        make_unpacking(order, whole(order), transfer.src, move);
    }
}

void try_scratch(const Transfer &transfer, PinnedRoute route, PinnedCopyPlan *best) {
    PackedOrder order;
    Move move;
    make_pinned_order(transfer, route, &order);
    make_host_move(transfer, order, &move);
    const Slab first = first_piece(order, kScratchBytes);
    const double pieces = as_double((order.nbytes - 1) / first.nbytes + 1);
    const double cost = kScratch + pieces * (kCall + kLaunch) + cost_of_rows(move, is_to_device(transfer)) +
                        as_double(move.nbytes) / kDevice;
    const int64_t room = std::min(buffer_bytes(order, whole(order)), kScratchBytes);
    keep_better({route, move.nbytes, room, 0, cost / 1000}, best);
}

// Gaps of less than a page: whoever may read what is beside them may read them.
bool has_small_gaps(const Transfer &transfer) {
    PackedOrder order;
    make_pinned_order(transfer, PinnedRoute::Raw, &order);
    int64_t end = 0;
    for (int32_t i = 0; i < order.ndim; ++i) {
        const PackedOrder::Loop &loop = order.loops[i];
        if (loop.src_step - end >= kPage) {
            return false;
        }
        end += (loop.extent - 1) * loop.src_step + (i == 0 ? 1 : 0);
    }
    return true;
}

void try_kernels(const Transfer &transfer, const PinnedMeans &means, PinnedCopyPlan *best) {
    const auto touched = static_cast<int64_t>(bytes_by_kernel(transfer));
    keep_better({PinnedRoute::Kernel, touched, 0, 0, cost_of_kernel(transfer) / 1000}, best);
    if (means.scratch) {
        try_scratch(transfer, PinnedRoute::Packed, best);
        if (is_to_device(transfer) && has_small_gaps(transfer)) {
            try_scratch(transfer, PinnedRoute::Raw, best);
        }
    }
}

}  // namespace

void plan_pinned_copy(const Transfer &transfer, const PinnedMeans &means, PinnedCopyPlan *out_plan) {
    Move move;
    make_move(transfer, &move);
    *out_plan = {PinnedRoute::Rows, transfer.nbytes, 0, count_row_calls(move),
                 cost_of_rows(move, is_to_device(transfer)) / 1000};
    if (means.kernels) {
        try_kernels(transfer, means, out_plan);
    }
    if (means.workers) {
        keep_better({PinnedRoute::Staged, transfer.nbytes, 0, 0, cost_of_workers(transfer) / 1000}, out_plan);
    }
}

void make_move(const Transfer &transfer, Move *out_move) {
    out_move->dst = static_cast<char *>(transfer.dst);
    out_move->src = static_cast<const char *>(transfer.src);
    out_move->nbytes = transfer.nbytes;
    out_move->run = transfer.run;
    out_move->ndim = transfer.ndim;
    std::copy_n(transfer.axes, transfer.ndim, out_move->axes);
}

void make_pinned_order(const Transfer &transfer, PinnedRoute route, PackedOrder *out_order) {
    const bool to_device = is_to_device(transfer);
    make_packed_order(transfer, to_device ? Major::Src : Major::Dst, !to_device, out_order);
    out_order->raw = route == PinnedRoute::Raw;
}

Slab first_piece(const PackedOrder &order, int64_t scratch_bytes) {
    const int64_t room = buffer_bytes(order, whole(order));
    const double share = as_double(scratch_bytes) / as_double(std::max(room, scratch_bytes));
    const int64_t most = std::max<int64_t>(static_cast<int64_t>(as_double(order.nbytes) * share), 1);
    return cut_slab(order, 0, order.nbytes, most, most);
}

void describe_pinned(const Transfer &transfer, const PinnedCopyPlan &plan, int64_t capacity, char *out_text) {
    const auto size = static_cast<size_t>(capacity);
    const auto number = [](int64_t value) { return static_cast<long long>(value); };
    if (plan.route == PinnedRoute::Rows) {
        (void)std::snprintf(out_text, size, "%lld rows of %lld bytes by a copy engine, in %lld call%s",
                            number(transfer.nbytes / transfer.run), number(transfer.run), number(plan.calls),
                            plan.calls > 1 ? "s" : "");
        return;
    }
    (void)std::snprintf(
        out_text, size, "%lld bytes %s by a copy engine, %lld at a time, and a kernel", number(plan.link_bytes),
        plan.route == PinnedRoute::Raw ? "with the gaps between them" : "packed", number(plan.scratch_bytes));
}

}  // namespace via::cuda
