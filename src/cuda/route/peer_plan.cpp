#include "cuda/route/peer_plan.hpp"

#include <algorithm>
#include <iterator>

#include "core/base/text_buffer.hpp"
#include "cuda/launch/kernel_copy.hpp"
#include "cuda/launch/kernel_plan.hpp"
#include "cuda/launch/plan_cache.hpp"
#include "cuda/memory/stream_scratch.hpp"
#include "cuda/stream/piece_relay.hpp"

namespace via::cuda {
namespace {

// ------------------------------------------------------------------------------------------------ access

// A side of a copy between two devices, and its allocation.
struct PeerMemory {
    const void *address;
    int32_t device_id;
    ContextKey primary;  // of the device
    CUcontext context;   // that the memory was allocated in; nullptr for pool memory and mapped memory
    CUmemoryPool pool;   // nullptr for other memory

    // Mapped memory counts as neither: it may continue in a mapping with other access.
    bool is_of_primary() const { return pool != nullptr || context == primary.context; }
};

bool is_pool_open(CUmemoryPool pool, int32_t device_id, bool writes) {
    const unsigned int needed = writes ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_READ;
    CUmemAccess_flags access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    CUmemLocation location{};
    location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    location.id = device_id;
    return driver().cuMemPoolGetAccess != nullptr &&
           driver().cuMemPoolGetAccess(&access, pool, &location) == CUDA_SUCCESS && (access & needed) == needed;
}

// Returns whether kernels of the context reach the address. CU_POINTER_ATTRIBUTE_ACCESS_FLAGS would be the obvious
// question, but says READWRITE of everything (driver API 13.0, two H200s).
bool has_device_pointer(CUcontext context, const void *address) {
    ContextScope scope;
    CUdeviceptr there = 0;
    return scope.enter(context) == VIA_OK &&
           driver().cuPointerGetAttribute(&there, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, number_of(address)) ==
               CUDA_SUCCESS &&
           there == number_of(address);
}

// Asks the driver. Returns false if it cannot say, or if the device has no active primary context.
bool find_peer_memory(const Side &side, const void *address, PeerMemory *out_memory) {
    const CallbackScope quiet;
    *out_memory = {address, side.device_id, {}, nullptr, nullptr};
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE};
    void *values[] = {&out_memory->context, &out_memory->pool};
    static_assert(std::size(names) == std::size(values));
    return driver().cuPointerGetAttributes(std::size(names), names, values, number_of(address)) == CUDA_SUCCESS &&
           find_active_primary(side.device_id, &out_memory->primary);
}

// Returns whether kernels in the primary context of `own`'s device may read `other`, and write it if `writes`. They may
// by peer access between the primary contexts, or if the pool is open to the device. Changes nothing. Returns false if
// the driver cannot say.
bool can_access(const PeerMemory &own, const PeerMemory &other, bool writes) {
    const CallbackScope quiet;
    return other.pool != nullptr ? is_pool_open(other.pool, own.device_id, writes)
                                 : other.is_of_primary() && has_device_pointer(own.primary.context, other.address);
}

// ------------------------------------------------------------------------------------------------ costs

// Costs on NVLink between two H200s: nanoseconds, and bytes a nanosecond. On a slower link everything that crosses
// costs more alike, so the choice is the same.
constexpr double kEngine = 390;
constexpr double kPullStart = 8000;    // of a copy engine of the destination's device
constexpr double kBesideKernel = 350;  // by a copy engine, while a kernel unpacks what has crossed
constexpr double kWithin = 1500;       // by a copy engine within a device
constexpr double kShared = 1000;       // of sectors that a kernel stores in parts
constexpr double kLaunch = 5000;
constexpr double kOtherStream = 6000;  // two events and what waits for them
constexpr double kHandOver = 3000;     // of a piece to the other device's stream
constexpr double kPieces = 10000;      // scratch memory, and events

constexpr int64_t kPieceBytes = int64_t{64} << 20;
constexpr int64_t kLastPiece = int64_t{8} << 20;
constexpr int64_t kFirstPulled = int64_t{8} << 20;  // each later one has up to three times as much as those before

// Pieces are faster than the driver's copy through host memory at every size measured: 64 KiB take 16 us, there 27.
// Opening a pool takes 18 ms once, too much for a few bytes.
constexpr int64_t kLeastInPieces = int64_t{64} << 10;

double as_double(int64_t value) { return static_cast<double>(value); }

bool lies_packed(const Transfer &transfer, Major side) { return find_rows(transfer, side).run == transfer.nbytes; }

double cost_of_stream(int32_t device_id, const Side &side) { return device_id == side.device_id ? 0 : kOtherStream; }

void keep_better(const PeerPlan &plan, PeerPlan *best) {
    if (best->microseconds == 0 || plan.microseconds < best->microseconds) {
        *best = plan;
    }
}

// Plans one kernel. `stream`: the nanoseconds that its stream costs.
PeerPlan one_kernel(const Transfer &transfer, PeerRoute route, double stream) {
    const bool pushes = route == PeerRoute::Push;
    KernelPlan kernel;
    plan_or_recall_kernel(transfer, pushes ? FarSide::Dst : FarSide::Src, &kernel);
    return {.route = route,
            .direct = true,
            .src_kernel = pushes,
            .dst_kernel = !pushes,
            .microseconds = kernel.cost + stream / 1000};
}

double cost_of_kernel(const Move &move, FarSide far_side) {
    KernelPlan kernel;
    plan_or_recall_kernel(move.transfer(kPinned, kPinned), far_side, &kernel);
    return kernel.cost * 1000;
}

// Estimates nanoseconds of bringing a piece across.
double cost_of_filling(const Move &packing, const PeerPlan &plan) {
    return plan.src_kernel ? cost_of_kernel(packing, plan.pulled ? FarSide::None : FarSide::Dst)
                           : kLaunch + as_double(packing.nbytes) / (plan.dst_kernel ? kBesideKernel : kEngine);
}

// Estimates nanoseconds of unpacking a piece. The two sectors that each run of dst shares with its neighbours are read
// and written.
double cost_of_emptying(const Move &unpacking, const PeerPlan &plan) {
    if (!plan.dst_kernel || unpacking.ndim == 0) {
        return kLaunch + as_double(unpacking.nbytes) / (plan.pulled ? kEngine : kWithin);
    }
    const SideRows rows = find_rows(unpacking.transfer(kPinned, kPinned), Major::Dst);
    const int64_t shared = unpacking.nbytes / rows.run * std::min(rows.step, 2 * kSectorBytes);
    return std::max(cost_of_kernel(unpacking, FarSide::None), kLaunch + as_double(shared) / kShared);
}

// Estimates nanoseconds of all pieces. A buffer is filled after it has been emptied, and emptied after the one before.
double cost_of_pieces(const PackedOrder &order, const PeerPlan &plan) {
    char *const buffer = order.dst - number_of(order.dst) % kPlanAlignment;  // any, aligned as buffers are
    double filled = 0;
    double emptied[] = {0, 0};
    int64_t offset = 0;
    for (int64_t number = 0; offset < order.nbytes; ++number) {
        const int64_t most = next_piece(plan, order.nbytes, offset);
        const Slab slab = cut_slab(order, offset, order.nbytes, most, most);
        offset += slab.nbytes;
        const Move packing = make_packing(order, slab, buffer);
        const Move unpacking = make_unpacking(order, slab, buffer);
        double &done = emptied[PieceRelay::buffer_of(number)];
        const double other = emptied[PieceRelay::buffer_of(number + 1)];
        filled = std::max(filled, done) + cost_of_filling(packing, plan);
        done = std::max(filled + kHandOver, other) + cost_of_emptying(unpacking, plan);
    }
    return std::max(emptied[0], emptied[1]);
}

}  // namespace

PeerPlan plan_pieces(const Transfer &transfer, Major major, bool pulled) {
    PeerPlan plan{.route = PeerRoute::Pieces,
                  .direct = true,
                  .unpacks = true,
                  .pulled = pulled,
                  .major = major,
                  .piece_bytes = kPieceBytes};
    const PackedOrder order = make_peer_order(transfer, plan);
    plan.src_kernel = make_packing(order, whole(order), transfer.dst).ndim > 0;
    plan.dst_kernel = make_unpacking(order, whole(order), transfer.src).ndim > 0;
    plan.microseconds = (kPieces + (pulled ? kPullStart : 0) + cost_of_pieces(order, plan)) / 1000;
    return plan;
}

namespace {

// Plans pieces where they may be better than the best plan so far. A last piece may have a few indices of the other
// side's innermost loop, and touch as many sectors as all together: then that side's order is better.
void keep_pieces(const Transfer &transfer, PeerPlan *best) {
    const double least = (kPieces + kLaunch + as_double(transfer.nbytes) / kEngine) / 1000;
    if (best->microseconds != 0 && best->microseconds <= least) {
        return;
    }
    keep_better(plan_pieces(transfer, Major::Src, false), best);
    keep_better(plan_pieces(transfer, Major::Dst, false), best);
    if (lies_packed(transfer, Major::Dst)) {
        keep_better(plan_pieces(transfer, Major::Dst, true), best);
    }
}

PeerPlan plan_strided(const Transfer &transfer, const PeerReach &reach, int32_t device_id) {
    PeerPlan best;
    if (reach.writes) {
        keep_better(one_kernel(transfer, PeerRoute::Push, cost_of_stream(device_id, transfer.src_side)), &best);
    }
    if (reach.reads) {
        keep_better(one_kernel(transfer, PeerRoute::Pull, cost_of_stream(device_id, transfer.dst_side)), &best);
    }
    if (reach.scratch) {
        keep_pieces(transfer, &best);
    }
    return best.route != PeerRoute::Driver ? best : plan_unreached(transfer, device_id);
}

}  // namespace

PeerReach find_reach(const Transfer &transfer, int32_t device_id) {
    PeerMemory dst{};
    PeerMemory src{};
    const int32_t dst_id = transfer.dst_side.device_id;
    const int32_t src_id = transfer.src_side.device_id;
    PeerReach reach{.writes = false,
                    .reads = false,
                    .scratch = can_reach_scratch(dst_id, src_id) && can_reach_scratch(src_id, dst_id)};
    if (!find_peer_memory(transfer.dst_side, transfer.dst, &dst) ||
        !find_peer_memory(transfer.src_side, transfer.src, &src)) {
        return reach;
    }
    const bool is_strided = transfer.ndim > 0;
    reach.writes = (is_strided ? src.is_of_primary() : device_id == src.device_id) && can_access(src, dst, true);
    reach.reads = (is_strided ? dst.is_of_primary() : device_id == dst.device_id) && can_access(dst, src, false);
    return reach;
}

PeerPlan plan_unreached(const Transfer &transfer, int32_t device_id) {
    if (transfer.ndim == 0) {
        return {};
    }
    const bool dst_packed = lies_packed(transfer, Major::Dst);
    const bool src_packed = lies_packed(transfer, Major::Src);
    const bool to_dst = dst_packed && (!src_packed || device_id == transfer.src_side.device_id);
    return {.route = PeerRoute::Pieces,
            .src_kernel = to_dst || !src_packed,
            .dst_kernel = !to_dst,
            .unpacks = !to_dst,
            .major = to_dst ? Major::Dst : Major::Src,
            .piece_bytes = kPieceBytes};
}

bool is_left_to_driver(const Transfer &transfer) { return transfer.ndim == 0 && transfer.nbytes < kLeastInPieces; }

PeerPlan plan_peer_copy(const Transfer &transfer, const PeerReach &reach, int32_t device_id) {
    if (transfer.ndim > 0) {
        return plan_strided(transfer, reach, device_id);
    }
    const bool of_src = device_id == transfer.src_side.device_id;
    const bool of_neither = !of_src && device_id != transfer.dst_side.device_id;
    const bool reached = of_src ? reach.writes : reach.reads && !of_neither;
    const bool crosses_host = !reached && !of_neither && reach.scratch;
    return crosses_host && !is_left_to_driver(transfer) ? plan_pieces(transfer, Major::Src, false)
                                                        : PeerPlan{.direct = reached};
}

PeerPlan plan_packed_pieces(bool direct) {
    return {.route = PeerRoute::Pieces,
            .direct = direct,
            .src_kernel = true,
            .dst_kernel = true,
            .unpacks = true,
            .piece_bytes = kPieceBytes};
}

PackedOrder make_peer_order(const Transfer &transfer, const PeerPlan &plan) {
    return make_packed_order(transfer, plan.major, !plan.unpacks);
}

// Returns the bytes of the next piece of what is left, if the last ones are to be small.
static int64_t part_of(const PeerPlan &plan, int64_t left) {
    return left <= kLastPiece ? left : plan.dst_kernel ? left / 8 * 5 : left / 4 * 3;
}

int64_t largest_piece(const PeerPlan &plan, int64_t nbytes) {
    return std::min(plan.piece_bytes, plan.pulled ? nbytes : part_of(plan, nbytes));
}

// A part of what an uneven cut has left could be larger than the first one.
int64_t next_piece(const PeerPlan &plan, int64_t nbytes, int64_t offset) {
    const int64_t left = nbytes - offset;
    const int64_t pulled = std::max(kFirstPulled, 3 * offset);
    const int64_t wanted = !plan.pulled ? part_of(plan, left) : left <= pulled / 2 * 3 ? left : pulled;
    return std::min(wanted, largest_piece(plan, nbytes));
}

void describe_peer(const Transfer &transfer, const PeerPlan &plan, TextBuffer *text) {
    text->add("%s", plan.direct ? "direct" : "by the driver through host memory");
    if (plan.route == PeerRoute::Pieces) {
        text->add(", in pieces of up to %lld KiB%s%s%s", as_printed(std::min(plan.piece_bytes, transfer.nbytes) >> 10),
                  plan.src_kernel ? ", packed by a kernel" : "", plan.pulled ? ", pulled by a copy engine" : "",
                  plan.dst_kernel ? ", unpacked by a kernel" : "");
    } else if (plan.route != PeerRoute::Driver) {
        const bool pushes = plan.route == PeerRoute::Push;
        text->add(", %s by a kernel of device %d", pushes ? "written" : "read",
                  pushes ? transfer.src_side.device_id : transfer.dst_side.device_id);
    }
}

}  // namespace via::cuda
