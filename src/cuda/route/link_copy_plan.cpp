#include "cuda/route/link_copy_plan.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "core/system/pages.hpp"
#include "cuda/layout/row_copies.hpp"
#include "cuda/memory/pinned_memory.hpp"
#include "cuda/route/link_copy.hpp"
#include "cuda/staging/staging_plan.hpp"

namespace via::cuda {
namespace {

// Costs on PCIe 5 x16, measured on an H200: nanoseconds, and bytes a nanosecond. On a slower link everything that
// crosses costs more alike, so the choice is the same.
constexpr double kLink = 54;
constexpr double kDevice = 800;
constexpr double kCall = 2000;
constexpr double kLaunch = 5000;
constexpr double kScratch = 2000;
constexpr double kRing = 25000;
constexpr double kRow = 1.5;     // of a copy engine, however short
constexpr double kFarRow = 3.5;  // the same where rows are far from one another

// Costs of pageable buffers. The driver copies them on their way to a device, and waits for them on their way from
// there.
constexpr double kBounce = 5000;
constexpr double kBounceToDevice = 10;
constexpr double kBounceWait = 9000;

// Rates of kernels. A kernel reaches 51 across the link. It counts as slower, since its threads wait for the link and
// keep others from working.
constexpr double kPinnedByKernel = 45;
constexpr double kRequest = 1.5;       // for bytes that are apart from others
constexpr double kPartOfSector = 2.0;  // the same, stored to the host where they fill no sector

// Limits for workers of a ring. More of them gain nothing. They take processors from others and cross memory once more,
// so a little time is not worth them.
constexpr int32_t kMostWorkers = 16;
constexpr double kSpared = 1.15;

constexpr int64_t kFar = 512;
constexpr int64_t kSector = 32;
constexpr int64_t kPage = 4096;
constexpr int64_t kScratchBytes = int64_t{32} << 20;

double as_double(int64_t value) { return static_cast<double>(value); }

// The layout of the host's memory in its own order.
struct HostRows {
    int64_t run;           // adjacent bytes
    int64_t step;          // from one such run to the next
    bool in_device_order;  // neighbours in the destination are neighbours there
};

HostRows find_rows(const Transfer &transfer) {
    const bool to_device = is_to_device(transfer);
    const auto step_of = [&](const PackedOrder::Loop &loop) {
        return std::abs(to_device ? loop.src_step : loop.dst_step);
    };
    PackedOrder order;
    make_packed_order(transfer, to_device ? Major::Src : Major::Dst, true, &order);
    int64_t run = 1;
    int32_t i = 0;
    for (; i < order.ndim && step_of(order.loops[i]) == run; ++i) {
        run *= order.loops[i].extent;
    }
    const int64_t fastest = std::abs(to_device ? transfer.axes[0].src_step : transfer.axes[0].dst_step);
    return {run, i < order.ndim ? step_of(order.loops[i]) : run, order.ndim > 1 && fastest == step_of(order.loops[1])};
}

double cost_of_rows(const Move &move, bool to_device) {
    const int64_t pitch = move.ndim > 0 ? (to_device ? move.axes[0].src_step : move.axes[0].dst_step) : 0;
    const double rows = as_double(move.nbytes / move.run) * (pitch > kFar ? kFarRow : kRow);
    return as_double(count_row_calls(move)) * kCall + std::max(as_double(move.nbytes) / kLink, rows);
}

// Returns the bytes of the host's memory that a kernel touches. Runs less than a sector apart are fetched with the
// bytes between them.
double bytes_by_kernel(const Transfer &transfer, const HostRows &rows) {
    if (!is_to_device(transfer)) {
        return as_double(transfer.nbytes);
    }
    const int64_t run = rows.in_device_order ? rows.run : transfer.run;
    const int64_t sectors = round_up(run, kSector);
    const int64_t step = rows.in_device_order ? rows.step : sectors;
    return as_double(transfer.nbytes) / as_double(run) * as_double(std::clamp(step, run, sectors));
}

// Returns the cost of requests across the link. A kernel that reads the host's memory in another order may ask for
// element after element.
double cost_of_requests(const Transfer &transfer, const HostRows &rows) {
    if (!rows.in_device_order) {
        return as_double(transfer.nbytes / transfer.run) * kRequest;
    }
    const bool parts = !is_to_device(transfer) && rows.run < kSector;
    const bool fused = rows.step < rows.run + (parts ? 1 : kSector);
    return fused ? 0 : as_double(transfer.nbytes / rows.run) * (parts ? kPartOfSector : kRequest);
}

void keep_better(LinkRoute route, double nanoseconds, LinkCopyPlan *best) {
    const double microseconds = nanoseconds / 1000;
    if (best->microseconds == 0 || microseconds < best->microseconds) {
        best->route = route;
        best->microseconds = microseconds;
    }
}

double cost_of_scratch(const Transfer &transfer, LinkRoute route) {
    PackedOrder order;
    Move move;
    make_link_order(transfer, route, &order);
    make_host_move(order, is_to_device(transfer), transfer.dst, &move);
    const Slab first = first_piece(order, kScratchBytes);
    const double pieces = as_double((order.nbytes - 1) / first.nbytes + 1);
    return kScratch + pieces * (kCall + kLaunch) + cost_of_rows(move, is_to_device(transfer)) +
           as_double(move.nbytes) / kDevice;
}

// Returns the cost of one thread that gathers or scatters, a buffer at a time.
double cost_of_bounce(const Transfer &transfer) {
    const bool to_device = is_to_device(transfer);
    const BouncePlan plan = plan_bounce(transfer);
    const double buffers = as_double((transfer.nbytes - 1) / kPinnedBufferBytes + 1);
    const double calls = std::max(as_double(count_bounce_calls(transfer, plan)), buffers);
    const double link = as_double(transfer.nbytes) / (to_device ? kBounceToDevice : kLink);
    return kBounce + plan.order.host_time + calls * kCall + buffers * (to_device ? 0 : kBounceWait) + link;
}

// Returns whether all gaps are smaller than a page: a reader of their neighbours may read them.
bool has_small_gaps(const Transfer &transfer) {
    PackedOrder order;
    make_link_order(transfer, LinkRoute::Raw, &order);
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

void try_direct(const Transfer &transfer, const LinkMeans &means, LinkCopyPlan *best) {
    const bool to_device = is_to_device(transfer);
    Move move;
    make_move(transfer, &move);
    keep_better(LinkRoute::Rows, cost_of_rows(move, to_device), best);
    if (means.kernels) {
        const HostRows rows = find_rows(transfer);
        const double link = bytes_by_kernel(transfer, rows) / kPinnedByKernel;
        keep_better(LinkRoute::Kernel, kLaunch + std::max(link, cost_of_requests(transfer, rows)), best);
    }
}

// Tries the routes of the host. Never stages memory that the device reaches and that needs no packing.
void try_host(const Transfer &transfer, const LinkMeans &means, LinkCopyPlan *best) {
    keep_better(LinkRoute::Bounced, cost_of_bounce(transfer), best);
    const StagedPlan plan = plan_staged(transfer, means.kernels);
    if (means.workers > 0 && !(means.pinned && plan.adjacent_on_host)) {
        const int32_t workers = worth_waking(plan.host_time, std::min(means.workers, kMostWorkers));
        const double link = as_double(transfer.nbytes) / kLink;
        const double cost = kRing + std::max(plan.host_time / workers, link);
        keep_better(LinkRoute::Staged, means.pinned ? cost * kSpared : cost, best);
    }
}

// Fills in what a plan says besides its route and its cost.
void fill_in(const Transfer &transfer, LinkCopyPlan *plan) {
    plan->link_bytes = transfer.nbytes;
    if (plan->route == LinkRoute::Rows) {
        Move move;
        make_move(transfer, &move);
        plan->calls = count_row_calls(move);
    } else if (plan->route == LinkRoute::Kernel) {
        plan->link_bytes = static_cast<int64_t>(bytes_by_kernel(transfer, find_rows(transfer)));
    } else if (plan->route == LinkRoute::Packed || plan->route == LinkRoute::Raw) {
        PackedOrder order;
        Move move;
        make_link_order(transfer, plan->route, &order);
        make_host_move(order, is_to_device(transfer), transfer.dst, &move);
        plan->link_bytes = move.nbytes;
        plan->scratch_bytes = std::min(buffer_bytes(order, whole(order)), kScratchBytes);
    }
}

}  // namespace

LinkCopyPlan plan_link_copy(const Transfer &transfer, const LinkMeans &means) {
    LinkCopyPlan best;
    if (means.pinned) {
        try_direct(transfer, means, &best);
    }
    if (means.pinned && means.kernels && means.scratch) {
        keep_better(LinkRoute::Packed, cost_of_scratch(transfer, LinkRoute::Packed), &best);
        if (is_to_device(transfer) && has_small_gaps(transfer)) {
            keep_better(LinkRoute::Raw, cost_of_scratch(transfer, LinkRoute::Raw), &best);
        }
    }
    if (means.host) {
        try_host(transfer, means, &best);
    }
    fill_in(transfer, &best);
    return best;
}

BouncePlan plan_bounce(const Transfer &transfer) { return {plan_staged(transfer, false)}; }

void make_link_order(const Transfer &transfer, LinkRoute route, PackedOrder *out_order) {
    const bool to_device = is_to_device(transfer);
    make_packed_order(transfer, to_device ? Major::Src : Major::Dst, !to_device, out_order);
    out_order->raw = route == LinkRoute::Raw;
}

Slab first_piece(const PackedOrder &order, int64_t scratch_bytes) {
    const int64_t room = buffer_bytes(order, whole(order));
    const double share = as_double(scratch_bytes) / as_double(std::max(room, scratch_bytes));
    const int64_t most = std::max<int64_t>(static_cast<int64_t>(as_double(order.nbytes) * share), 1);
    return cut_slab(order, 0, order.nbytes, most, most);
}

void describe_link(const Transfer &transfer, const LinkCopyPlan &plan, int64_t capacity, char *out_text) {
    const auto size = static_cast<size_t>(capacity);
    const auto number = [](int64_t value) { return static_cast<long long>(value); };
    if (plan.route == LinkRoute::Rows) {
        (void)std::snprintf(out_text, size, "%lld rows of %lld bytes by a copy engine, in %lld call%s",
                            number(transfer.nbytes / transfer.run), number(transfer.run), number(plan.calls),
                            plan.calls > 1 ? "s" : "");
        return;
    }
    (void)std::snprintf(out_text, size, "%lld bytes %s by a copy engine, %lld at a time, and a kernel",
                        number(plan.link_bytes), plan.route == LinkRoute::Raw ? "with the gaps between them" : "packed",
                        number(plan.scratch_bytes));
}

}  // namespace via::cuda
