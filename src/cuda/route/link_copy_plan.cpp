#include "cuda/route/link_copy_plan.hpp"

#include <algorithm>
#include <bit>

#include "core/base/rounding.hpp"
#include "core/base/text_buffer.hpp"
#include "cuda/launch/kernel_copy.hpp"
#include "cuda/layout/row_copies.hpp"
#include "cuda/memory/pinned_memory.hpp"
#include "cuda/staging/staging_plan.hpp"

namespace via::cuda {
namespace {

// How it works. Every route is priced by what each part of the machine must do: fixed steps that follow one another,
// and bytes that the host's threads, the link and the device move. Where pieces overlap, the slowest part counts;
// otherwise the parts add up. The cheapest route of those that there are means for is taken.
//
// Costs on PCIe 5 x16, measured on an H200: nanoseconds, and bytes a nanosecond. What all routes have in common is left
// out: 5 us of an empty stream's first copy and of waiting for it. `LinkMeans::link` has the rate of copy engines on
// this machine; other rates across the link are in proportion.
constexpr double kDevice = 1000;
constexpr double kCall = 2000;
constexpr double kLaunch = 12000;   // until the last element has crossed the link
constexpr double kScratch = 6000;   // allocating, and a kernel that waits for a copy engine
constexpr double kHandOver = 6000;  // of a piece to another stream and back
constexpr double kRing = 7000;
constexpr double kRow = 1.5;     // of a copy engine, however short
constexpr double kFarRow = 3.5;  // the same where rows are far from one another

// Costs of pageable buffers. The driver copies them on their way to a device, and waits for them on their way from
// there. Rows to or from memory that is not pinned take it long.
constexpr double kBounce = 1000;
constexpr double kPageableRate = 10;
constexpr double kNextBuffer = 9000;
constexpr double kCallOfPageable = 20000;
constexpr double kRowOfPageable = 120;  // 120 to 340

// Costs of kernels. A kernel reaches 51 across the link. It counts as slower, since its threads wait for the link and
// keep others from working. The 32 threads of a warp make one request where their bytes are adjacent, and in copies
// that go element by element (kernel_plan.hpp) these are 32 elements.
constexpr double kByKernel = 45;
constexpr double kRequest = 1.5;
constexpr double kPart = 1;  // of a sixteen, where a row begins or ends within one
constexpr int64_t kMostOfRequest = 128;

// The host's memory, for workers of a ring. They take processors from others, so a little time is not worth them.
constexpr double kHostMemory = 155;
constexpr double kSpared = 1.15;

constexpr int64_t kWord = 16;
constexpr int64_t kFar = 512;
constexpr int64_t kPage = 4096;
constexpr int64_t kScratchBytes = int64_t{16} << 20;  // of a piece; there are two

double as_double(int64_t value) { return static_cast<double>(value); }

// Returns the time of the rows alone.
double time_of_rows(const Move &move, bool host_is_src) {
    const int64_t pitch = move.ndim > 0 ? (host_is_src ? move.axes[0].src_step : move.axes[0].dst_step) : 0;
    return as_double(move.nbytes / move.run) * (pitch > kFar ? kFarRow : kRow);
}

// Returns how many parts of sixteens a kernel writes of a row that begins and ends anywhere: half of those that there
// may be.
double parts_of_row(int64_t element) { return std::countr_zero(static_cast<uint64_t>(kWord / element)); }

// Prices the routes of one transfer, and keeps the cheapest.
class Chooser {
public:
    Chooser(const Transfer &transfer, const LinkMeans &means)
        : transfer_(transfer), means_(means), to_device_(is_to_device(transfer)) {}

    void try_rows() {
        const Move move = make_move(transfer_);
        keep_better(LinkCopyPlan{LinkRoute::Rows, transfer_.nbytes, 0, count_row_calls(move)}, rows_time(move));
    }

    // Runs of the source that are less than a sector apart are fetched with the bytes between them. A kernel that reads
    // the host's memory in another order may ask for element after element.
    void try_kernel() {
        const SideRows rows = find_rows(transfer_, to_device_ ? Major::Src : Major::Dst);
        const int64_t run = rows.in_dst_order ? rows.run : transfer_.run;
        const int64_t step = rows.in_dst_order ? rows.step : round_up(run, kSectorBytes);
        const bool is_coalesced = rows.in_dst_order && (to_device_ ? step < run + kSectorBytes : step == run);
        const int64_t warp = transfer_.nbytes > kMostByElements
                                 ? kMostOfRequest
                                 : std::min(kElementsOfWarp * element_of(transfer_), kMostOfRequest);
        const int64_t request = is_coalesced ? warp : std::min(run, warp);
        const int64_t touched = to_device_ ? std::clamp(step, run, round_up(run, kSectorBytes)) : run;
        const double link = link_time(as_double(transfer_.nbytes) / as_double(run) * as_double(touched), kByKernel);
        const bool in_parts =
            !to_device_ && !is_coalesced && transfer_.nbytes > kMostByElements && rows.step % kWord != 0;
        const double parts =
            in_parts ? as_double(transfer_.nbytes / run) * parts_of_row(element_of(transfer_)) * kPart : 0;
        const double requests = as_double(transfer_.nbytes / request) * kRequest + parts;
        keep_better(KernelCopyPlan{}, kLaunch + std::max(link, requests));
    }

    // Copy engine and kernel overlap, but for one piece.
    void try_scratch(LinkRoute route) {
        const PackedOrder order = make_link_order(transfer_, route);
        const Move move = make_host_move(order, to_device_, transfer_.dst);
        const double pieces = as_double((order.nbytes - 1) / first_piece(order, kScratchBytes).nbytes + 1);
        const int64_t scratch = std::min(buffer_bytes(order, whole(order)), kScratchBytes);
        const double waits = pieces > 1 ? pieces * (kCall + kHandOver) : kCall;
        keep_better(LinkCopyPlan{route, move.nbytes, scratch, 0},
                    kScratch + kLaunch + waits + rows_time(move) + as_double(move.nbytes) / pieces / kDevice);
    }

    // One thread gathers or scatters, a piece at a time. Nothing overlaps. Adjacent bytes need no buffer.
    void try_bounce(bool kernels) {
        const BouncePlan plan{plan_staged(transfer_, kernels)};
        const PackedOrder order = make_staged_order(transfer_, plan.order);
        Move move = make_device_move(order, to_device_, transfer_.dst);
        const double pieces = as_double((order.nbytes - 1) / kBounceBytes + 1);
        const double host = plan.order.adjacent_on_host ? 0 : plan.order.host.nanoseconds;
        const double waits = to_device_ ? 0 : (pieces - 1) * kNextBuffer;
        const bool by_kernel = plan.order.step == DeviceStep::Kernel;
        if (by_kernel && !to_device_ && order.nbytes <= kPinnedBufferBytes) {
            keep_better(plan, kBounce + host + kLaunch + link_time(as_double(order.nbytes), kByKernel));
        } else if (by_kernel) {
            const double unpacked = kScratch + pieces * kLaunch + as_double(move.nbytes) / kDevice;
            move.ndim = 0;
            move.run = move.nbytes = order.nbytes;
            keep_better(plan, kBounce + host + waits + unpacked + bounced_rows_time(move, pieces));
        } else {
            keep_better(plan, kBounce + host + waits + bounced_rows_time(move, pieces));
        }
    }

    // Workers, link and kernels overlap. Memory that the device reaches and that needs no packing is never staged.
    void try_ring() {
        const StagedPlan plan = plan_staged(transfer_, means_.kernels);
        if (means_.workers == 0 || (means_.pinned && plan.adjacent_on_host)) {
            return;
        }
        const int32_t workers = worth_waking(transfer_, plan, means_.workers);
        const double kernel = plan.step == DeviceStep::Kernel ? kLaunch : 0;
        const double time = std::max(
            {plan.host.nanoseconds / workers, plan.host.traffic / kHostMemory, link_time(as_double(transfer_.nbytes))});
        keep_better(plan, (kRing + kernel + time) * (means_.pinned ? kSpared : 1));
    }

    LinkChoice choice() const { return best_; }

private:
    // Returns the time of bytes that cross at this rate on PCIe 5 x16.
    double link_time(double nbytes, double rate = kLink) const { return nbytes / rate * (kLink / means_.link); }

    // Returns the time of copy engines without their calls: the rows of the host's memory, or the bytes.
    double engine_time(const Move &move) const {
        return std::max(link_time(bytes_across(move, to_device_)), time_of_rows(move, to_device_));
    }

    double rows_time(const Move &move) const { return as_double(count_row_calls(move)) * kCall + engine_time(move); }

    // Returns the same for rows of the device's memory and a buffer of the host, which is pinned if it is small and
    // towards the host.
    double bounced_rows_time(const Move &move, double pieces) const {
        const double calls = std::max(as_double(count_row_calls(move)), pieces);
        const bool is_locked = !to_device_ && move.nbytes <= kPinnedBufferBytes;
        if (is_locked || move.ndim == 0) {
            return calls * kCall + (is_locked ? engine_time(move) : as_double(move.nbytes) / kPageableRate);
        }
        return calls * kCallOfPageable +
               std::max(as_double(move.nbytes) / kPageableRate, as_double(move.nbytes / move.run) * kRowOfPageable);
    }

    void keep_better(const TransferPlan &plan, double nanoseconds) {
        const double microseconds = nanoseconds / 1000;
        if (best_.microseconds == 0 || microseconds < best_.microseconds) {
            best_ = {plan, microseconds};
        }
    }

    const Transfer &transfer_;
    const LinkMeans &means_;
    const bool to_device_;
    LinkChoice best_;
};

// Returns whether all gaps are smaller than a page: a reader of their neighbours may read them.
bool has_small_gaps(const Transfer &transfer) {
    const PackedOrder order = make_link_order(transfer, LinkRoute::Raw);
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

}  // namespace

LinkChoice plan_link_copy(const Transfer &transfer, const LinkMeans &means) {
    Chooser chooser(transfer, means);
    if (means.pinned) {
        chooser.try_rows();
    }
    if (means.pinned && means.kernels) {
        chooser.try_kernel();
    }
    if (means.pinned && means.kernels && means.scratch) {
        chooser.try_scratch(LinkRoute::Packed);
        if (is_to_device(transfer) && has_small_gaps(transfer)) {
            chooser.try_scratch(LinkRoute::Raw);
        }
    }
    if (means.host) {
        chooser.try_bounce(false);
        if (means.kernels && means.scratch) {
            chooser.try_bounce(true);
        }
        chooser.try_ring();
    }
    return chooser.choice();
}

PackedOrder make_link_order(const Transfer &transfer, LinkRoute route) {
    const bool to_device = is_to_device(transfer);
    PackedOrder order = make_packed_order(transfer, to_device ? Major::Src : Major::Dst, !to_device);
    order.raw = route == LinkRoute::Raw;
    return order;
}

Slab first_piece(const PackedOrder &order, int64_t scratch_bytes) {
    const int64_t room = buffer_bytes(order, whole(order));
    const double share = as_double(scratch_bytes) / as_double(std::max(room, scratch_bytes));
    const int64_t most = std::max<int64_t>(static_cast<int64_t>(as_double(order.nbytes) * share), 1);
    return cut_slab(order, 0, order.nbytes, most, most);
}

void describe_link(const Transfer &transfer, const LinkCopyPlan &plan, TextBuffer *text) {
    if (plan.route == LinkRoute::Rows) {
        text->add("%lld rows of %lld bytes by a copy engine, in %lld call%s",
                  as_printed(transfer.nbytes / transfer.run), as_printed(transfer.run), as_printed(plan.calls),
                  plan.calls > 1 ? "s" : "");
        return;
    }
    text->add("%lld bytes %s by a copy engine, %lld at a time, and a kernel", as_printed(plan.link_bytes),
              plan.route == LinkRoute::Raw ? "with the gaps between them" : "packed", as_printed(plan.scratch_bytes));
}

}  // namespace via::cuda
