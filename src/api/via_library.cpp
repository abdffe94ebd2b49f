#include <cstring>

#include "api/guard.hpp"
#include "core/array/device_type.hpp"
#include "core/base/text_buffer.hpp"
#include "core/base/thread_state.hpp"
#include "core/system/address_probe.hpp"
#include "core/system/thread_count.hpp"
#include "cuda/device.hpp"

using namespace via;

namespace {

constexpr int32_t kVersion = VIA_VERSION_MAJOR * 1000000 + VIA_VERSION_MINOR * 1000 + VIA_VERSION_PATCH;

// The layout of a released struct is fixed; a minor version may add fields at its end.
static_assert(sizeof(via_device_properties) == 680 && offsetof(via_device_properties, total_bytes) == 24 &&
              offsetof(via_device_properties, name) == 40 && offsetof(via_device_properties, routes) == 168);
static_assert(sizeof(via_stats_info) == 88 && offsetof(via_stats_info, live_arrays) == 8 &&
              offsetof(via_stats_info, staged_bytes) == 72 && offsetof(via_stats_info, pending_tasks) == 80);

Status describe_cpu(via_device_properties *properties) {
    properties->device_type = VIA_DEVICE_CPU;
    properties->total_bytes = usable_memory();
    cpu_name(sizeof properties->name, properties->name);
    TextBuffer routes(properties->routes, sizeof properties->routes);
    routes.add_line("host to host: on, %d threads", properties->num_threads);
    const int32_t devices = cuda::device_count();
    if (devices > 0) {
        routes.add_line("host to CUDA device: on, %d device%s", devices, devices == 1 ? "" : "s");
    } else {
        routes.add_line("host to CUDA device: off, %s", cuda::why_none());
    }
    return VIA_OK;
}

Status check_device_type(Status status, int32_t device_type) {
    return device_type == VIA_DEVICE_CPU || device_type == VIA_DEVICE_CUDA
               ? VIA_OK
               : fail(status, "device_type is %s; expected VIA_DEVICE_CPU or VIA_DEVICE_CUDA",
                      DeviceTypeName(device_type).text);
}

}  // namespace

int32_t via_version(void) {
    VIA_TRACE_API(via_version);
    return kVersion;
}

via_status via_require(int32_t major, int32_t minor) {
    VIA_TRACE_API(via_require, major, minor);
    return guarded(__func__, [&]() -> Status {
        if (major != VIA_VERSION_MAJOR || minor > VIA_VERSION_MINOR || minor < 0) {
            return fail(VIA_ERROR_VERSION,
                        "major.minor is %d.%d; expected %d.%d, the library's version, or an older minor one", major,
                        minor, VIA_VERSION_MAJOR, VIA_VERSION_MINOR);
        }
        return VIA_OK;
    });
}

const char *via_status_name(int32_t status) {
    VIA_TRACE_API(via_status_name, status);
    return status_name(status);
}

const char *via_last_error(void) {
    VIA_TRACE_API(via_last_error);
    return known_thread_state().last_error().text;
}

int32_t via_last_error_code(void) {
    VIA_TRACE_API(via_last_error_code);
    return known_thread_state().last_error().code;
}

via_status via_device_count(int32_t device_type, int32_t *out_count) {
    VIA_TRACE_API(via_device_count, device_type, out_count);
    return guarded(__func__, output("out_count", out_count), [&]() -> Status {
        VIA_TRY(check_device_type(VIA_ERROR_INVALID_ARGUMENT, device_type));
        *out_count = device_type == VIA_DEVICE_CPU ? 1 : cuda::device_count();
        return VIA_OK;
    });
}

via_status via_device_info(int32_t device_type, int32_t device_id, via_device_properties *out_properties) {
    VIA_TRACE_API(via_device_info, device_type, device_id, out_properties);
    return guarded(__func__, required("out_properties", out_properties), [&]() -> Status {
        // Pinned and managed memory are kinds of memory, not devices.
        VIA_TRY(check_device_type(VIA_ERROR_DEVICE, device_type));
        VIA_TRY(cuda::check_any_device("", device_type, device_id));
        via_device_properties properties = VIA_DEVICE_PROPERTIES_INIT;
        properties.num_threads = num_threads();
        VIA_TRY(device_type == VIA_DEVICE_CPU ? describe_cpu(&properties)
                                              : cuda::describe_device(device_id, &properties));
        return write_struct("out_properties", properties, out_properties);
    });
}

via_status via_set_num_threads(int32_t count) {
    VIA_TRACE_API(via_set_num_threads, count);
    return guarded(__func__, [&] { return set_num_threads(count); });
}

int32_t via_num_threads(void) {
    VIA_TRACE_API(via_num_threads);
    return num_threads();
}

via_status via_cuda_warmup(int32_t device_id) {
    VIA_TRACE_API(via_cuda_warmup, device_id);
    return guarded(__func__, [&] { return cuda::warm_up(device_id); });
}

via_status via_calibrate(int32_t device_id) {
    VIA_TRACE_API(via_calibrate, device_id);
    return guarded(__func__, [&] { return cuda::calibrate(device_id); });
}

via_status via_calibration_save(const char *path) {
    VIA_TRACE_API(via_calibration_save, path);
    return guarded(__func__, required("path", path), [&] { return cuda::save_calibration(path); });
}

via_status via_calibration_load(const char *path) {
    VIA_TRACE_API(via_calibration_load, path);
    return guarded(__func__, required("path", path), [&] { return cuda::load_calibration(path); });
}

via_status via_stats(via_stats_info *out_stats) {
    VIA_TRACE_API(via_stats, out_stats);
    return guarded(__func__, required("out_stats", out_stats), [&]() -> Status {
        via_stats_info stats = VIA_STATS_INFO_INIT;
        stats.live_arrays = total(Counter::Arrays);
        stats.live_storages = total(Counter::Storages);
        stats.outstanding_exports = total(Counter::Exports);
        stats.pending_releases = total(Counter::PendingReleases);
        stats.host_bytes = total(Counter::HostBytes);
        stats.pinned_bytes = total(Counter::PinnedBytes);
        stats.device_bytes = total(Counter::DeviceBytes);
        stats.managed_bytes = total(Counter::ManagedBytes);
        stats.staged_bytes = total(Counter::StagedBytes);
        stats.pending_tasks = total(Counter::PendingTasks);
        return write_struct("out_stats", stats, out_stats);
    });
}

int32_t via_dtype_record(int64_t nbytes) {
    VIA_TRACE_API(via_dtype_record, nbytes);
    return nbytes >= 1 && nbytes <= kMaxRecordBytes ? static_cast<int32_t>(-nbytes) : 0;
}

int32_t via_dtype_is_valid(int32_t dtype) {
    VIA_TRACE_API(via_dtype_is_valid, dtype);
    return dtype_is_valid(dtype) ? 1 : 0;
}

int64_t via_dtype_bits(int32_t dtype) {
    VIA_TRACE_API(via_dtype_bits, dtype);
    return dtype_is_valid(dtype) ? dtype_bits(dtype) : 0;
}

via_status via_dtype_name(int32_t dtype, int64_t capacity, char *out_name) {
    VIA_TRACE_API(via_dtype_name, dtype, capacity, out_name);
    return guarded(__func__, text_output("out_name", out_name, capacity), [&]() -> Status {
        VIA_TRY(check_dtype("dtype", dtype));
        const DtypeName name(dtype);
        const auto needed = static_cast<int64_t>(std::strlen(name.text)) + 1;
        if (capacity < needed) {
            return fail(VIA_ERROR_INVALID_ARGUMENT, "capacity is %lld; expected %lld for \"%s\"", as_printed(capacity),
                        as_printed(needed), name.text);
        }
        std::memcpy(out_name, name.text, static_cast<size_t>(needed));
        return VIA_OK;
    });
}

via_status via_dtype_from_name(const char *name, int32_t *out_dtype) {
    VIA_TRACE_API(via_dtype_from_name, name, out_dtype);
    return guarded(__func__, output("out_dtype", out_dtype), required("name", name), [&]() -> Status {
        *out_dtype = dtype_from_name(name);
        return *out_dtype != 0 ? VIA_OK
                               : fail(VIA_ERROR_DTYPE,
                                      "name is \"%.64s\"; expected the name of a dtype, such as \"float32\"", name);
    });
}
