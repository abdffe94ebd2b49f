#include "cuda/device.hpp"

#include <cstdio>

#include "core/base/text_buffer.hpp"
#include "cuda/driver/context.hpp"
#include "cuda/launch/module.hpp"
#include "cuda/staging/staging.hpp"
#include "cuda/stream/event_fence.hpp"
#include "cuda/stream/internal_stream.hpp"
#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {
namespace {

void describe_pool(CUdevice device, TextBuffer *lines) {
    if (driver().cuMemAllocAsync == nullptr || driver().cuMemFreeAsync == nullptr) {
        lines->add_line("stream-ordered memory: off, the driver is older than CUDA 11.2");
    } else if (device_attribute(device, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) == 0) {
        lines->add_line("stream-ordered memory: off, the device has no memory pools");
    } else {
        lines->add_line("stream-ordered memory: on");
    }
}

void describe_peers(CUdevice device, TextBuffer *lines) {
    char on[96];
    TextBuffer peers(on, sizeof on);
    for (int32_t peer = 0; peer < driver().device_count && peers.length() < 80; ++peer) {
        int reaches = 0;
        if (peer != device && driver().cuDeviceCanAccessPeer(&reaches, device, peer) == CUDA_SUCCESS && reaches != 0) {
            peers.add(" %d", peer);
        }
    }
    if (driver().device_count == 1) {
        lines->add_line("peer to peer: off, there is one device");
    } else if (peers.length() == 0) {
        lines->add_line("peer to peer: off, the device reaches no other; copies go through the host");
    } else {
        lines->add_line("peer to peer: on, device%s", on);
    }
}

void describe_staging(via_device_properties *properties, TextBuffer *lines) {
    char why[160] = "";
    properties->staging_bytes = ring_bytes(sizeof why, why);
    if (properties->staging_bytes == 0) {
        lines->add_line("staging of pageable memory: off, %s", why);
    } else {
        lines->add_line("staging of pageable memory: on, up to %lld MiB pinned",
                        static_cast<long long>(properties->staging_bytes >> 20));
    }
}

void describe_pageable(CUdevice device, TextBuffer *lines) {
    const bool reaches = device_attribute(device, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS) != 0;
    const bool walks = device_attribute(device, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES) != 0;
    lines->add_line("pageable memory on the device: %s", walks ? "on, by the host's page tables; copies go straight"
                                                         : reaches
                                                             ? "on"
                                                             : "off, the device reaches only memory that CUDA knows");
}

void describe_kernels(int32_t device_id, TextBuffer *lines) {
    const char *why = why_no_kernels(device_id);
    if (*why == '\0') {
        lines->add_line("kernels: on, built with CUDA %d.%d", kernels::toolkit_version / 1000,
                        kernels::toolkit_version % 1000 / 10);
    } else {
        lines->add_line("kernels: off, %s", why);
    }
}

// Makes the stream, and the event of a fence on it, which later fences reuse.
Status make_stream_ready(int32_t device_id, int32_t number) {
    ResolvedStream stream{};
    VIA_TRY(internal_stream(device_id, number, &stream));
    UniqueFence fence;
    return record_fence(stream, fence.out());
}

bool loads_kernels_quietly(const ResolvedStream &stream) {
    const CallbackScope quiet;
    return load_kernels(stream) == VIA_OK;
}

// Loads the kernels. Succeeds if the driver cannot load them: the device then has none.
Status make_kernels_ready(int32_t device_id) {
    if (!runs_kernels(device_id)) {
        return VIA_OK;
    }
    ResolvedStream stream{};
    VIA_TRY(internal_stream(device_id, 0, &stream));
    const bool settled = loads_kernels_quietly(stream) || !runs_kernels(device_id);
    return settled ? VIA_OK : load_kernels(stream);
}

}  // namespace

bool loads_kernels(int32_t device_id) { return make_kernels_ready(device_id) == VIA_OK && runs_kernels(device_id); }

Status need(const char *what) { return need_driver(what); }

bool was_started() { return is_in_use() || is_forked_child(); }

int32_t device_count() { return driver_is_usable(true) ? driver().device_count : 0; }

Status check_device(const char *argument, int32_t device_type, int32_t device_id) {
    if (!driver_is_usable(true)) [[unlikely]] {
        char what[128];
        std::snprintf(what, sizeof what, "%sdevice_type is %s, which", argument, DeviceTypeName(device_type).text);
        return need_driver(what);
    }
    const int32_t count = device_type == VIA_DEVICE_CUDA ? driver().device_count : 1;
    if (device_id >= 0 && device_id < count) [[likely]] {
        return VIA_OK;
    }
    if (device_type != VIA_DEVICE_CUDA) {
        return fail(VIA_ERROR_DEVICE, "%sdevice_id is %d; expected 0 for pinned and managed memory", argument,
                    device_id);
    }
    return fail(VIA_ERROR_DEVICE, "%sdevice_id is %d; expected 0 to %d", argument, device_id, count - 1);
}

Status describe_device(int32_t device_id, via_device_properties *out_properties) {
    VIA_TRY(need_driver("a CUDA device"));
    CUdevice device = 0;
    VIA_TRY(find_device(device_id, &device));
    size_t total = 0;
    VIA_TRY_CUDA(cuDeviceTotalMem(&total, device));
    VIA_TRY_CUDA(cuDeviceGetName(out_properties->name, sizeof out_properties->name, device));
    out_properties->device_type = VIA_DEVICE_CUDA;
    out_properties->device_id = device_id;
    out_properties->compute_capability = device_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
                                         device_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    out_properties->driver_version = driver().version;
    out_properties->total_bytes = static_cast<int64_t>(total);
    TextBuffer lines(out_properties->routes, sizeof out_properties->routes);
    lines.add_line("driver copies: on, CUDA %d.%d", driver().version / 1000, driver().version % 1000 / 10);
    describe_staging(out_properties, &lines);
    describe_peers(device, &lines);
    describe_pool(device, &lines);
    describe_pageable(device, &lines);
    describe_kernels(device_id, &lines);
    return VIA_OK;
}

Status warm_up(int32_t device_id) {
    VIA_TRY(need_driver("warming up a device"));
    CUcontext context = nullptr;
    VIA_TRY(primary_context(device_id, &context));
    for (int32_t number = 0; number < kInternalStreams; ++number) {
        VIA_TRY(make_stream_ready(device_id, number));
    }
    VIA_TRY(make_kernels_ready(device_id));
    return prepare_ring(device_id);
}

}  // namespace via::cuda
