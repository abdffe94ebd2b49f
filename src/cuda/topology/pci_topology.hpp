// What the kernel knows of a device's place on the bus.
#pragma once

#include <cstddef>
#include <cstdint>

namespace via::cuda {

constexpr int32_t kPciIdBytes = 32;

// "0000:3b:00.0", as in sysfs; false if the driver does not say.
bool pci_id(int32_t device_id, char *out_id);

// Reads a file of the device's folder in sysfs, such as "numa_node"; false if there is none.
bool read_pci_file(int32_t device_id, const char *name, char *text, size_t capacity);

// What the link can carry one way, in GB/s of raw bits; 0 if it cannot be told (virtual machines often hide it).
double link_speed(int32_t device_id);

// The same from the two files' contents: "32.0 GT/s PCIe" and "16".
double parse_link_speed(const char *rate, const char *width);

}  // namespace via::cuda
