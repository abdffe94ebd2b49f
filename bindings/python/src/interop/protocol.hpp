// Types that every exchange protocol shares.
#pragma once

#include "array/array.hpp"
#include "support/arguments.hpp"

namespace viapy {

// Names of DLPack's capsules. A consumer puts "used_" in front.
inline constexpr char kVersioned[] = "dltensor_versioned";
inline constexpr char kLegacy[] = "dltensor";

// The device and the copy policy that the caller of from_dlpack() asks for.
struct ImportOptions {
    bool has_device = false;
    Device device;
    int32_t copy = VIA_COPY_IF_NEEDED;
};

// Outcome of trying one protocol. Absent: the object does not implement it. Failed: an exception is set.
enum class Outcome { Imported, Absent, Failed };

}  // namespace viapy
