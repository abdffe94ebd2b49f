#include <algorithm>
#include <cstdio>
#include <cstring>

#include "api/guard.hpp"
#include "copy/copy.hpp"
#include "core/device.hpp"
#include "core/host_probe.hpp"
#include "core/structs.hpp"
#include "core/thread_state.hpp"

using namespace via;

namespace {

constexpr int32_t kVersion = VIA_VERSION_MAJOR * 1000000 + VIA_VERSION_MINOR * 1000 + VIA_VERSION_PATCH;

// A released struct never changes; a new minor version may add fields behind its end.
static_assert(sizeof(via_device_properties) == 680 && offsetof(via_device_properties, total_bytes) == 24 &&
              offsetof(via_device_properties, name) == 40 && offsetof(via_device_properties, routes) == 168);
static_assert(sizeof(via_stats_info) == 80 && offsetof(via_stats_info, live_arrays) == 8 &&
              offsetof(via_stats_info, staged_bytes) == 72);

Status describe_cpu(via_device_properties *properties) {
    properties->device_type = VIA_DEVICE_CPU;
    properties->num_threads = num_threads();
    properties->total_bytes = host_memory_bytes();
    cpu_name(sizeof properties->name, properties->name);
    std::snprintf(properties->routes, sizeof properties->routes,
                  "host to host: on, %d threads\nhost to CUDA device: off, this build has no CUDA",
                  properties->num_threads);
    return VIA_OK;
}

}  // namespace

int32_t via_version(void) { return kVersion; }

via_status via_require(int32_t major, int32_t minor) {
    return guarded(__func__, [&]() -> Status {
        if (major != VIA_VERSION_MAJOR || minor > VIA_VERSION_MINOR || minor < 0) {
            return fail(VIA_ERROR_VERSION, "the library is version %d.%d; the program was built for %d.%d",
                        VIA_VERSION_MAJOR, VIA_VERSION_MINOR, major, minor);
        }
        return VIA_OK;
    });
}

const char *via_status_name(int32_t status) { return status_name(status); }

const char *via_last_error(void) { return last_error_text(); }

int32_t via_last_error_code(void) { return last_error_code(); }

via_status via_device_count(int32_t device_type, int32_t *out_count) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(clear_output("out_count", out_count));
        if (device_type != VIA_DEVICE_CPU && device_type != VIA_DEVICE_CUDA) {
            return fail(VIA_ERROR_INVALID_ARGUMENT, "device_type is %d; expected %d (CPU) or %d (CUDA)", device_type,
                        VIA_DEVICE_CPU, VIA_DEVICE_CUDA);
        }
        *out_count = device_type == VIA_DEVICE_CPU ? 1 : 0;
        return VIA_OK;
    });
}

via_status via_device_info(int32_t device_type, int32_t device_id, via_device_properties *out_properties) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(require("out_properties", out_properties));
        VIA_TRY(check_host_device("", device_type, device_id));
        via_device_properties properties = VIA_DEVICE_PROPERTIES_INIT;
        VIA_TRY(describe_cpu(&properties));
        return write_struct("out_properties", properties, out_properties);
    });
}

via_status via_set_num_threads(int32_t count) {
    return guarded(__func__, [&] { return set_num_threads(count); });
}

int32_t via_num_threads(void) { return num_threads(); }

via_status via_cuda_warmup(int32_t) {
    return guarded(__func__, [] { return no_cuda("warming up a device"); });
}

via_status via_calibrate(int32_t) {
    return guarded(__func__, [] { return no_cuda("calibration"); });
}

via_status via_calibration_save(const char *path) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(require("path", path));
        return no_cuda("calibration");
    });
}

via_status via_calibration_load(const char *path) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(require("path", path));
        return no_cuda("calibration");
    });
}

via_status via_stats(via_stats_info *out_stats) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(require("out_stats", out_stats));
        via_stats_info stats = VIA_STATS_INFO_INIT;
        stats.live_arrays = total(Counter::Arrays);
        stats.live_storages = total(Counter::Storages);
        stats.outstanding_exports = total(Counter::Exports);
        stats.host_bytes = total(Counter::HostBytes);
        return write_struct("out_stats", stats, out_stats);
    });
}

int32_t via_dtype_record(int64_t nbytes) {
    return nbytes >= 1 && nbytes <= kMaxRecordBytes ? static_cast<int32_t>(-nbytes) : 0;
}

int32_t via_dtype_is_valid(int32_t dtype) { return dtype_is_valid(dtype) ? 1 : 0; }

int64_t via_dtype_bits(int32_t dtype) { return dtype_is_valid(dtype) ? dtype_bits(dtype) : 0; }

via_status via_dtype_name(int32_t dtype, int64_t capacity, char *out_name) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(require("out_name", out_name));
        if (capacity < 1) {
            return fail(VIA_ERROR_INVALID_ARGUMENT, "capacity is %lld; expected 1 or more",
                        static_cast<long long>(capacity));
        }
        out_name[0] = '\0';
        VIA_TRY(check_dtype("dtype", dtype));
        const DtypeName name(dtype);
        const auto needed = static_cast<int64_t>(std::strlen(name.text)) + 1;
        if (capacity < needed) {
            return fail(VIA_ERROR_INVALID_ARGUMENT, "capacity is %lld; expected %lld for \"%s\"",
                        static_cast<long long>(capacity), static_cast<long long>(needed), name.text);
        }
        std::memcpy(out_name, name.text, static_cast<size_t>(needed));
        return VIA_OK;
    });
}

via_status via_dtype_from_name(const char *name, int32_t *out_dtype) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(clear_output("out_dtype", out_dtype));
        VIA_TRY(require("name", name));
        *out_dtype = dtype_from_name(name);
        return *out_dtype != 0
                   ? VIA_OK
                   : fail(VIA_ERROR_DTYPE, "name is \"%.64s\"; expected a dtype's, such as \"float32\"", name);
    });
}
