#include "cuda/convert_transfer.hpp"

#include <algorithm>

#include "cuda/launch/convert_kernel.hpp"
#include "cuda/launch/kernel_copy.hpp"
#include "cuda/launch/module.hpp"
#include "cuda/route/packed_parts.hpp"
#include "cuda/staging/staging.hpp"
#include "cuda/stream/event_fence.hpp"
#include "cuda/stream/internal_stream.hpp"

namespace via::cuda {
namespace {

// Launches where the kernel reaches the memory of both sides.
Status launch_part(const Transfer &transfer, const ElementLoops &loops, const ElementConversion &elements,
                   const ResolvedStream &stream) {
    return launch_where_reached(transfer, stream,
                                [&](const ResolvedStream &home) { return launch_convert(loops, elements, home); });
}

// The elements as they cross a link: the narrower ones of both arrays.
class PackedElements final : public PackedItems {
public:
    explicit PackedElements(const ConvertTransfer &transfer)
        : PackedItems(transfer.transfer, transfer.loops.count, transfer.link().bytes, transfer.host, transfer.workers),
          transfer_(transfer),
          link_(transfer.link()) {}

    Status copy_on_device(const ResolvedStream &stream) override {
        return launch_part(transfer_.transfer, transfer_.loops, transfer_.elements, stream);
    }

    char *packed_array() const override {
        const bool to_device = is_to_device(transfer_.transfer);
        const bool is_converted = to_device
                                      ? transfer_.converts_first
                                      : bytes_of(transfer_.elements.src) == item_bytes() && !transfer_.converts_first;
        int64_t step = item_bytes();
        for (int32_t i = 0; i < transfer_.loops.ndim; ++i) {
            const Axis &axis = transfer_.loops.axes[i];
            if ((to_device ? axis.dst_step : axis.src_step) != step) {
                return nullptr;
            }
            step *= axis.extent;
        }
        return !is_converted ? nullptr : to_device ? transfer_.loops.dst : const_cast<char *>(transfer_.loops.src);
    }

private:
    Status pack_items(int64_t first, int64_t count, char *packed, const ResolvedStream &stream) override {
        return launch_boxes(first, count, [&](const ElementLoops &box, int64_t at) {
            return launch_part(with_src_only(reached()), packed_to(box, packed + at, item_bytes()), link_.before,
                               stream);
        });
    }

    Status unpack_items(int64_t first, int64_t count, const char *packed, const ResolvedStream &stream) override {
        return launch_boxes(first, count, [&](const ElementLoops &box, int64_t at) {
            return launch_part(with_dst_only(reached()), unpacked_from(box, packed + at, item_bytes()), link_.after,
                               stream);
        });
    }

    // Launches each box with the offset of its packed bytes.
    template <class Launch>
    Status launch_boxes(int64_t first, int64_t count, const Launch &launch) const {
        Status status = VIA_OK;
        int64_t at = 0;
        for_each_box(transfer_.loops, first, count, [&](const ElementLoops &box) {
            status = status == VIA_OK ? launch(box, at) : status;
            at += box.count * item_bytes();
        });
        return status;
    }

    const ConvertTransfer &transfer_;
    const LinkConversion link_;
};

}  // namespace

Status ConvertTransfer::enqueue(const ResolvedStream &stream, via_task *task, IndexFence **) const {
    PackedElements items(*this);
    return enqueue_items(items, stream, task);
}

Status convert_io(const ConvertTransfer &transfer, via_task *task, Fence **out_fence) {
    ResolvedStream stream;
    VIA_TRY(internal_stream(device_of_transfer(transfer.transfer), kTaskStream, &stream));
    const RelaxedCapture relaxed;
    VIA_TRY(prepare_kernel(transfer.transfer, stream));
    PackedElements elements(transfer);
    VIA_TRY(end_failed(stage_items(elements, stream, task), stream));
    return record_or_wait(stream, out_fence);
}

namespace {

// Converts what a chunk has of each part.
class JoinedParts final : public DevicePart {
public:
    JoinedParts(const JoinedConversion &joined, const Transfer &reached) : DevicePart(reached), joined_(joined) {}

    Status unpack(const void *packed, int64_t offset, int64_t nbytes, const ResolvedStream &stream) override {
        const auto *end = joined_.parts + joined_.part_count;
        const auto *part = std::upper_bound(joined_.parts, end, offset, [](int64_t at, const auto &each) {
            return at < each.offset + each.count * each.src_step;
        });
        for (; part != end && part->offset < offset + nbytes; ++part) {
            VIA_TRY(convert(*part, static_cast<const char *>(packed), offset, nbytes, stream));
        }
        return VIA_OK;
    }

    Status pack(void *, int64_t, int64_t, const ResolvedStream &) override {
        return fail(VIA_ERROR_INTERNAL, "joined conversions go to a device; expected no packing");
    }

private:
    Status convert(const JoinedConversion::Part &part, const char *packed, int64_t offset, int64_t nbytes,
                   const ResolvedStream &stream) const {
        const int64_t item = part.src_step;
        const int64_t first = std::max<int64_t>(offset - part.offset, 0) / item;
        const int64_t last = std::min((offset + nbytes - part.offset) / item, part.count);
        ElementLoops loops{};
        loops.src = packed + (part.offset + first * item - offset);
        loops.dst = part.dst + first * bytes_of(part.elements.dst);
        loops.count = last - first;
        loops.ndim = 1;
        loops.axes[0] = {last - first, bytes_of(part.elements.dst), item};
        VIA_TRY(launch_part(reached(), loops, part.elements, stream));
        return last < part.count ? VIA_OK : clear_gap(part, stream);
    }

    static Status clear_gap(const JoinedConversion::Part &part, const ResolvedStream &stream) {
        if (part.gap == 0) {
            return VIA_OK;
        }
        ContextScope scope;
        VIA_TRY(scope.enter(stream.context));
        const auto gap = reinterpret_cast<CUdeviceptr>(part.dst + part.count * bytes_of(part.elements.dst));
        VIA_TRY_CUDA(cuMemsetD8Async(gap, 0, static_cast<size_t>(part.gap), stream.handle));
        return VIA_OK;
    }

    const JoinedConversion &joined_;
};

}  // namespace

Status convert_joined(const JoinedConversion &joined, bool *out_done, Fence **out_fence) {
    const Side device{VIA_DEVICE_CUDA, joined.dst->device_id};
    const Transfer dense{joined.dst->data, joined.dst->data, joined.nbytes, device, kPageable};
    const Transfer reached = with_dst_only(dense);
    StagedPlan plan;
    *out_done = runs_kernels(device.device_id) && can_stage_io(dense, &plan);
    if (!*out_done) {
        return VIA_OK;
    }
    JoinedParts parts(joined, reached);
    return run_staged({dense, plan, joined.task, {joined.io, joined.workers}, &parts}, out_fence);
}

void describe_convert(const ConvertTransfer &transfer, TextBuffer *text) {
    const Transfer &whole = transfer.transfer;
    const PackedElements elements(transfer);
    const bool first = transfer.converts_first;
    switch (items_route(whole)) {
        case ItemsRoute::Kernel: {
            ConvertKernelPlan plan;
            plan_convert_kernel(transfer.loops, transfer.elements, &plan);
            text->add("kernel %s, %s elements", kernels::info(plan.kernel).name,
                      plan.params.is_adjacent ? "adjacent" : "strided");
            return;
        }
        case ItemsRoute::Staged:
            text->add("staged, %s, converted %s by %s, %lld bytes cross%s",
                      is_to_device(whole) ? "host to device" : "device to host", first ? "before" : "after",
                      is_to_device(whole) == first ? "the host" : "a kernel",
                      static_cast<long long>(elements.count() * elements.item_bytes()),
                      elements.packed_array() != nullptr ? "" : ", by way of device memory");
            return;
        case ItemsRoute::Peer:
            text->add("device %d to device %d, converted %s by a kernel, %lld bytes cross", whole.src_side.device_id,
                      whole.dst_side.device_id, first ? "before" : "after",
                      static_cast<long long>(elements.count() * elements.item_bytes()));
            return;
    }
}

}  // namespace via::cuda
