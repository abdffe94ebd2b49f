// The memory that a kernel compiled for the host may reach. Include it in one source of a program.
#pragma once

#include <algorithm>
#include <array>

#include "copy_support.hpp"
#include "cuda/kernels/device.cuh"

struct Bounds {
    uint64_t low;
    uint64_t high;
    bool holds(uint64_t address, uint64_t nbytes) const { return address >= low && address + nbytes <= high; }
};

inline std::array<Bounds, 5> reachable{};

// What is read and what is written are distinguished by where they are.
inline void *via::kernels::host_view(uint64_t address, uint64_t nbytes) {
    assert_true(std::any_of(reachable.begin(), reachable.end(),
                            [=](const Bounds &bounds) { return bounds.holds(address, nbytes); }));
    assert_int_equal(address % nbytes, 0);
    return reinterpret_cast<void *>(address);
}
