// The bytes of a range, to and from a device: through its ring of page-locked slots, or a buffer at a time.
#include <algorithm>

#include "copy/copy.hpp"
#include "copy/copy_plan.hpp"
#include "copy/normalise.hpp"
#include "copy/submit.hpp"
#include "cuda/io_endpoint.hpp"
#include "file/device_range.hpp"
#include "file/file_transfer.hpp"
#include "file/parallel_io.hpp"

namespace via {
namespace {

// The rows as the ring's workers know them.
class FileEndpoint final : public cuda::IoEndpoint {
public:
    explicit FileEndpoint(Rows &rows) : rows_(rows) {}
    Status read(void *slot, int64_t offset, int64_t nbytes) override { return rows_.read(slot, offset, nbytes); }
    Status write(const void *slot, int64_t offset, int64_t nbytes) override {
        return rows_.write(slot, offset, nbytes);
    }

private:
    Rows &rows_;
};

bool is_read(const RangeTransfer &transfer) { return transfer.towards == Towards::Memory; }

// The copy that it would be, were the range memory.
Status plan_range(const RangeTransfer &transfer, via_array *dense, CopyPlan *out_plan) {
    via_array *dst = is_read(transfer) ? transfer.array : dense;
    via_array *src = is_read(transfer) ? dense : transfer.array;
    VIA_TRY(normalise_copy(dst, src, &out_plan->loops));
    return make_transfer(out_plan->loops, dst, src, Ask::Never, &out_plan->transfer);
}

int32_t worker_count(const RangeTransfer &transfer, const Rows &rows) {
    const int64_t nbytes = transfer.extents.nbytes;
    return is_read(transfer) ? rows.readers(0, nbytes) : rows.writers(nbytes);
}

Status move_through_ring(const RangeTransfer &transfer, const cuda::Transfer &copy, const cuda::StagedPlan &plan,
                         Fence **out_fence) {
    constexpr int64_t kBorder = int64_t{64} << 10;
    FileIo file_io(transfer.open, transfer.page_cache, transfer.durable, true);
    Rows rows(file_io, transfer.extents);
    VIA_TRY(transfer.reserves ? rows.prepare_write() : VIA_OK);
    FileEndpoint port(rows);
    return cuda::transfer_io(
        {&copy, &port, worker_count(transfer, rows), rows.bytes_from_border(0) % kBorder, transfer.task, plan},
        out_fence);
}

// What a buffer holds at a time, and the device gets or gave.
class Bounce {
public:
    explicit Bounce(const RangeTransfer &transfer)
        : transfer_(transfer),
          io_(transfer.open, transfer.page_cache, transfer.durable, true),
          rows_(io_, transfer.extents),
          boxes_(rows_, transfer.towards, 0, transfer.array, kBytes),
          buffers_(std::max(boxes_.slab_bytes(), kBytes)) {}
    Bounce(const Bounce &) = delete;
    Bounce &operator=(const Bounce &) = delete;

    Status move() {
        Buffer buffer(buffers_);
        VIA_TRY(buffer.take());
        VIA_TRY(transfer_.reserves ? rows_.prepare_write() : VIA_OK);
        for (int64_t i = 0; i < boxes_.count(); ++i) {
            VIA_TRY(move_slab(i, buffer.get()));
        }
        return VIA_OK;
    }

private:
    static constexpr int64_t kBytes = int64_t{8} << 20;

    Status move_slab(int64_t number, char *memory) {
        UniqueArray box;
        UniqueArray dense;
        int64_t offset = 0;
        VIA_TRY(boxes_.view(number, box.out(), &offset));
        VIA_TRY(make_dense(box.get(), memory, dense.out()));
        if (is_read(transfer_)) {
            VIA_TRY(pass(memory, offset, dense.get()->nbytes()));
            return copy_and_wait(box.get(), dense.get());
        }
        VIA_TRY(copy_and_wait(dense.get(), box.get()));
        return pass(memory, offset, dense.get()->nbytes());
    }

    Status pass(char *memory, int64_t offset, int64_t nbytes) {
        AdjacentChunks parts(rows_, transfer_.towards, offset, memory, nbytes);
        return parallel_io(&parts, worker_count(transfer_, rows_), offset, transfer_.extents.nbytes, transfer_.task);
    }

    const RangeTransfer &transfer_;
    FileIo io_;
    Rows rows_;
    SlabParts boxes_;
    Buffers buffers_;
};

}  // namespace

Status move_device_range(const RangeTransfer &transfer, Fence **out_fence) {
    UniqueArray dense;
    CopyPlan plan;
    cuda::StagedPlan staged;
    VIA_TRY(make_stand_in(transfer.array, dense.out()));
    VIA_TRY(plan_range(transfer, dense.get(), &plan));
    if (cuda::can_stage_io(plan.transfer, &staged)) {
        return move_through_ring(transfer, plan.transfer, staged, out_fence);
    }
    Bounce bounce(transfer);
    return bounce.move();
}

}  // namespace via
