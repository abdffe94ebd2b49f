#include "cuda/topology/pci_topology.hpp"

#include <cctype>
#include <cstdio>
#include <cstdlib>

#include "core/system/small_file.hpp"
#include "cuda/driver/driver.hpp"

namespace via::cuda {

bool pci_id(int32_t device_id, char *out_id) {
    CUdevice device = 0;
    if (driver().cuDeviceGet(&device, device_id) != CUDA_SUCCESS ||
        driver().cuDeviceGetPCIBusId(out_id, kPciIdBytes, device) != CUDA_SUCCESS) {
        return false;
    }
    for (char *c = out_id; *c != '\0'; ++c) {
        *c = static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
    }
    return true;
}

bool read_pci_file(int32_t device_id, const char *name, char *text, size_t capacity) {
    char id[kPciIdBytes];
    char path[128];
    if (!pci_id(device_id, id)) {
        return false;
    }
    std::snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/%s", id, name);
    return read_small_file(path, text, capacity);
}

double parse_link_speed(const char *rate, const char *width) {
    const double transfers = std::strtod(rate, nullptr);  // a bit each, on each lane
    const double lanes = std::strtod(width, nullptr);
    return transfers > 0 && lanes > 0 && lanes <= 64 ? transfers * lanes / 8 : 0;
}

// The most it can do: a link that rests is slowed down.
double link_speed(int32_t device_id) {
    char rate[64];
    char width[64];
    return read_pci_file(device_id, "max_link_speed", rate, sizeof rate) &&
                   read_pci_file(device_id, "max_link_width", width, sizeof width)
               ? parse_link_speed(rate, width)
               : 0;
}

}  // namespace via::cuda
