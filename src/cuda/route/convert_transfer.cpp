#include "cuda/convert_transfer.hpp"

#include <cstdio>

#include "core/array/access_tracker.hpp"
#include "core/async/task.hpp"
#include "cuda/launch/convert_kernel.hpp"
#include "cuda/launch/kernel_copy.hpp"
#include "cuda/launch/module.hpp"
#include "cuda/route/driver_copy.hpp"
#include "cuda/route/packed_parts.hpp"
#include "cuda/route/peer_copy.hpp"
#include "cuda/stream/capture.hpp"
#include "cuda/stream/event_fence.hpp"
#include "cuda/stream/internal_stream.hpp"
#include "cuda/stream/stream_handles.hpp"
#include "cuda/stream_access.hpp"

namespace via::cuda {
namespace {

constexpr char kWhat[] = "a conversion on a device";

// The number of the internal stream for tasks.
constexpr int32_t kTaskStream = 1;

struct Launch {
    const ElementLoops &loops;
    const ElementConversion &elements;
};

Status launch_on(const void *what, const ResolvedStream &stream) {
    const auto &launch = *static_cast<const Launch *>(what);
    return launch_convert(launch.loops, launch.elements, stream);
}

// Launches where the kernel reaches the memory of both sides.
Status launch_part(const Transfer &transfer, const ElementLoops &loops, const ElementConversion &elements,
                   const ResolvedStream &stream) {
    const Launch launch{loops, elements};
    return launch_where_reached(transfer, stream, launch_on, &launch);
}

// Returns a conversion of elements to the same ones, in whatever byte order.
ElementConversion unchanged(int32_t bytes) { return {raw_kind(bytes), raw_kind(bytes), 0, false}; }

// The elements as they cross a link: the narrower ones of both arrays.
class PackedElements final : public PackedItems {
public:
    explicit PackedElements(const ConvertTransfer &transfer)
        : PackedItems(transfer.loops.count, crossing_bytes(transfer.elements)), transfer_(transfer) {
        const bool first = converts_first(transfer.elements);
        before_ = first ? transfer.elements : unchanged(crossing_bytes(transfer.elements));
        after_ = first ? unchanged(crossing_bytes(transfer.elements)) : transfer.elements;
    }

    void pack(int64_t first, int64_t, int64_t offset, int64_t nbytes, char *packed) override {
        transfer_.pack(transfer_.loops, before_, first + offset / item_bytes(), nbytes / item_bytes(), packed);
    }

    void unpack(int64_t first, int64_t, int64_t offset, int64_t nbytes, const char *packed) override {
        transfer_.unpack(transfer_.loops, after_, first + offset / item_bytes(), nbytes / item_bytes(), packed);
    }

    Status pack_on_device(int64_t first, int64_t count, char *packed, const ResolvedStream &stream) override {
        Status status = VIA_OK;
        for_each_box(transfer_.loops, first, count, [&](const ElementLoops &box) {
            const ElementLoops loops = packed_to(box, packed, item_bytes());
            packed += box.count * item_bytes();
            status = status == VIA_OK ? launch_part(with_src_only(transfer_.transfer), loops, before_, stream) : status;
        });
        return status;
    }

    Status unpack_on_device(int64_t first, int64_t count, const char *packed, const ResolvedStream &stream) override {
        Status status = VIA_OK;
        for_each_box(transfer_.loops, first, count, [&](const ElementLoops &box) {
            const ElementLoops loops = unpacked_from(box, packed, item_bytes());
            packed += box.count * item_bytes();
            status = status == VIA_OK ? launch_part(with_dst_only(transfer_.transfer), loops, after_, stream) : status;
        });
        return status;
    }

    char *as_they_cross() const override {
        const bool to_device = is_to_device(transfer_.transfer);
        const bool is_converted =
            to_device ? converts_first(transfer_.elements)
                      : bytes_of(transfer_.elements.src) == item_bytes() && !converts_first(transfer_.elements);
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
    static int32_t crossing_bytes(const ElementConversion &elements) {
        return bytes_of(converts_first(elements) ? elements.dst : elements.src);
    }

    const ConvertTransfer &transfer_;
    ElementConversion before_;
    ElementConversion after_;
};

Status check(const ConvertTransfer &transfer, const ResolvedStream &stream) {
    const Transfer &whole = transfer.transfer;
    const ConvertRoute route = convert_route(whole);
    if (stream.capturing && route != ConvertRoute::Kernel) {
        return fail(VIA_ERROR_STREAM_CAPTURE,
                    "stream is being captured, and %s; expected memory that one device reaches",
                    route == ConvertRoute::Peer   ? "dst and src are on two devices"
                    : is_pageable(whole.dst_side) ? "dst is pageable memory"
                                                  : "src is pageable memory");
    }
    return route == ConvertRoute::Peer ? VIA_OK : prepare_kernel(whole, stream);
}

Status enqueue(const ConvertTransfer &transfer, const ResolvedStream &stream, via_task *task) {
    PackedElements elements(transfer);
    switch (convert_route(transfer.transfer)) {
        case ConvertRoute::Peer:
            return copy_peer_items(transfer.transfer, elements, stream);
        case ConvertRoute::Staged:
            return copy_staged_items(transfer.transfer, elements, stream, task);
        default:
            break;
    }
    VIA_TRY(launch_part(transfer.transfer, transfer.loops, transfer.elements, stream));
    // Pageable memory may go away, or be read, when the call has returned.
    return has_pageable(transfer.transfer) ? wait_for_stream(stream) : VIA_OK;
}

Status wait_before(const ConvertTransfer &transfer, const ResolvedStream &stream) {
    via_array *dst = transfer.transfer.dst_array;
    via_array *src = transfer.transfer.src_array;
    if (convert_route(transfer.transfer) == ConvertRoute::Staged) {
        VIA_TRY(via::wait_until_ready(dst->storage));
        VIA_TRY(via::wait_until_ready(src->storage));
        return await_work(stream);
    }
    VIA_TRY(wait_until_ready(dst, stream));
    return wait_until_ready(src, stream);
}

Status resolve_for(const ConvertTransfer &transfer, via_stream *stream, ResolvedStream *out_stream) {
    VIA_TRY(need_driver(kWhat));
    return resolve(stream, device_of_transfer(transfer.transfer), out_stream);
}

// The graph holds both arrays.
Status capture(const ConvertTransfer &transfer, const ResolvedStream &stream) {
    VIA_TRY(wait_before(transfer, stream));
    VIA_TRY(note_copy(transfer.transfer.dst_array, transfer.transfer.src_array, stream));
    return enqueue(transfer, stream, nullptr);
}

// Orders the stream behind the legacy stream of the other device.
Status order_behind_other_device(const Transfer &transfer, const ResolvedStream &stream) {
    ResolvedStream other;
    const int32_t dst = transfer.dst_side.device_id;
    VIA_TRY(resolve(nullptr, stream.device_id == dst ? transfer.src_side.device_id : dst, &other));
    return is_idle(other) ? VIA_OK : follow(stream, other);
}

}  // namespace

ConvertRoute convert_route(const Transfer &transfer) {
    if (devices_differ(transfer)) {
        return ConvertRoute::Peer;
    }
    return has_pageable(transfer) && !is_straight(transfer) ? ConvertRoute::Staged : ConvertRoute::Kernel;
}

Status check_convert(const ConvertTransfer &transfer) {
    const Transfer &whole = transfer.transfer;
    VIA_TRY(need_driver(kWhat));
    if (convert_route(whole) == ConvertRoute::Peer) {
        VIA_TRY(need_kernels(whole.src_side.device_id, kWhat));
        return need_kernels(whole.dst_side.device_id, kWhat);
    }
    return need_kernels(device_of_transfer(whole), kWhat);
}

Status convert_now(const ConvertTransfer &transfer) {
    ResolvedStream stream;
    VIA_TRY(resolve_for(transfer, nullptr, &stream));
    VIA_TRY(check(transfer, stream));
    if (devices_differ(transfer.transfer)) {
        VIA_TRY(order_behind_other_device(transfer.transfer, stream));
    }
    const RelaxedCapture relaxed;
    VIA_TRY(wait_before(transfer, stream));
    const Status status = enqueue(transfer, stream, nullptr);
    return status != VIA_OK ? end_failed(status, stream) : wait_for_stream(stream);
}

Status convert_on(const ConvertTransfer &transfer, via_stream *stream) {
    ResolvedStream resolved;
    VIA_TRY(resolve_for(transfer, stream, &resolved));
    VIA_TRY(check(transfer, resolved));
    if (resolved.capturing) {
        return capture(transfer, resolved);
    }
    VIA_TRY(wait_before(transfer, resolved));
    VIA_TRY(end_failed(enqueue(transfer, resolved, nullptr), resolved));
    return note_copy(transfer.transfer.dst_array, transfer.transfer.src_array, resolved);
}

Status convert_for_task(const ConvertTransfer &transfer, via_task *task, Fence **out_fence) {
    ResolvedStream stream;
    VIA_TRY(internal_stream(device_of_transfer(transfer.transfer), kTaskStream, &stream));
    const RelaxedCapture relaxed;
    VIA_TRY(check(transfer, stream));
    VIA_TRY(end_failed(enqueue(transfer, stream, task), stream));
    // Waits if no fence can be recorded.
    return record_fence(stream, out_fence) == VIA_OK ? VIA_OK : wait_for_stream(stream);
}

void describe_convert(const ConvertTransfer &transfer, int64_t capacity, char *out_text) {
    const Transfer &whole = transfer.transfer;
    const PackedElements elements(transfer);
    const bool first = converts_first(transfer.elements);
    const auto size = static_cast<size_t>(capacity);
    switch (convert_route(whole)) {
        case ConvertRoute::Kernel: {
            ConvertKernelPlan plan;
            plan_convert_kernel(transfer.loops, transfer.elements, &plan);
            std::snprintf(out_text, size, "kernel %s, %s elements", kernels::info(plan.kernel).name,
                          plan.params.ndim == 0 ? "adjacent" : "strided");
            return;
        }
        case ConvertRoute::Staged:
            std::snprintf(out_text, size, "staged, %s, converted %s by %s, %lld bytes cross%s",
                          is_to_device(whole) ? "host to device" : "device to host", first ? "before" : "after",
                          is_to_device(whole) == first ? "the host" : "a kernel",
                          static_cast<long long>(elements.count() * elements.item_bytes()),
                          elements.as_they_cross() != nullptr ? "" : ", by way of device memory");
            return;
        case ConvertRoute::Peer:
            std::snprintf(out_text, size, "device %d to device %d, converted %s by a kernel, %lld bytes cross",
                          whole.src_side.device_id, whole.dst_side.device_id, first ? "before" : "after",
                          static_cast<long long>(elements.count() * elements.item_bytes()));
            return;
    }
}

}  // namespace via::cuda
