// A device's place on the PCI bus, from sysfs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace via::cuda {

constexpr int32_t kPciIdBytes = 32;

// Writes the PCI id as in sysfs: "0000:3b:00.0". Returns false if the driver does not say.
bool pci_id(int32_t device_id, char *out_id);

// Reads a file of the device's folder in sysfs, such as "numa_node". Returns false if there is none.
bool read_pci_file(int32_t device_id, const char *name, char *text, size_t capacity);

// Returns what the link carries one way, in GB/s of raw bits, or 0 if unknown (virtual machines often hide it).
double link_speed(int32_t device_id);

// Computes that from the contents of the two files: "32.0 GT/s PCIe" and "16".
double parse_link_speed(const char *rate, const char *width);

}  // namespace via::cuda
