// The library: versions, devices, threads, dtypes and addresses.
#ifndef VIADUCT_CPP_LIBRARY_HPP
#define VIADUCT_CPP_LIBRARY_HPP

#include <string>

#include "viaduct/cpp/error.hpp"
#include "viaduct/cpp/memory.hpp"

namespace viaduct {
inline namespace VIADUCT_ERRORS_NAMESPACE {

/** Returns the version of the library, not of this header: major * 1000000 + minor * 1000 + patch. */
inline std::int32_t version() { return via_version(); }

/** Checks that the library supports programs built with these headers. Call it first. */
VIADUCT_CHECKED inline Result<void> require(std::int32_t major = VIA_VERSION_MAJOR,
                                            std::int32_t minor = VIA_VERSION_MINOR) {
    return detail::done(via_require(major, minor));
}

[[nodiscard]] inline Result<std::int32_t> device_count(std::int32_t device_type = VIA_DEVICE_CUDA) {
    return detail::make<std::int32_t>(via_device_count, device_type);
}

[[nodiscard]] inline Result<via_device_properties> device_info(Device device) {
    via_device_properties properties = VIA_DEVICE_PROPERTIES_INIT;
    const via_status status = via_device_info(device.type, device.id, &properties);
    return detail::made<via_device_properties>(status, properties);
}

/** Sets the number of threads of a copy; 0 restores the default. */
VIADUCT_CHECKED inline Result<void> set_num_threads(std::int32_t count) {
    return detail::done(via_set_num_threads(count));
}

inline std::int32_t num_threads() { return via_num_threads(); }

VIADUCT_CHECKED inline Result<void> cuda_warmup(std::int32_t device_id = 0) {
    return detail::done(via_cuda_warmup(device_id));
}

VIADUCT_CHECKED inline Result<void> calibrate(std::int32_t device_id = 0) {
    return detail::done(via_calibrate(device_id));
}

VIADUCT_CHECKED inline Result<void> calibration_save(const std::string &path) {
    return detail::done(via_calibration_save(path.c_str()));
}

VIADUCT_CHECKED inline Result<void> calibration_load(const std::string &path) {
    return detail::done(via_calibration_load(path.c_str()));
}

[[nodiscard]] inline Result<via_stats_info> stats() {
    via_stats_info stats = VIA_STATS_INFO_INIT;
    return detail::made<via_stats_info>(via_stats(&stats), stats);
}

/** Finds out which memory an address points to. */
[[nodiscard]] inline Result<via_pointer_info> pointer_query(const void *address) {
    via_pointer_info info = VIA_POINTER_INFO_INIT;
    return detail::made<via_pointer_info>(via_pointer_query(address, &info), info);
}

/** Returns the dtype of a record of so many bytes; 0 if there is none. dtype_of<T> is that of a C++ type. */
inline std::int32_t dtype_record(std::int64_t nbytes) { return via_dtype_record(nbytes); }

inline bool dtype_is_valid(std::int32_t dtype) { return via_dtype_is_valid(dtype) != 0; }

/** Returns the bits of one element. */
inline std::int64_t dtype_bits(std::int32_t dtype) { return via_dtype_bits(dtype); }

/** Returns whether a rule (VIA_CASTING_...) allows convert() from one dtype to another. */
inline bool dtype_can_cast(std::int32_t dtype, std::int32_t wanted, std::int32_t casting = VIA_CASTING_SAFE) {
    return via_dtype_can_cast(dtype, wanted, casting) != 0;
}

[[nodiscard]] inline Result<std::string> dtype_name(std::int32_t dtype) {
    char name[32] = {};
    const via_status status = via_dtype_name(dtype, sizeof name, name);
    return detail::made<std::string>(status, name);
}

[[nodiscard]] inline Result<std::int32_t> dtype_from_name(const std::string &name) {
    return detail::make<std::int32_t>(via_dtype_from_name, name.c_str());
}

}  // namespace VIADUCT_ERRORS_NAMESPACE
}  // namespace viaduct

#endif
