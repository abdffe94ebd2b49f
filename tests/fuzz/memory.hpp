// Memory that descriptions point into: the host's, and, where a CUDA driver answers, a device's, pinned and managed.
#pragma once

#include "bytes.hpp"

inline constexpr int64_t kMemoryBytes = 4096;

struct Memory {
    int32_t kind;
    char *start;
};

class Memories {
public:
    Memories() {
        for (int64_t i = 0; i < kMemoryBytes; ++i) {
            host_[i] = static_cast<char>(i * 37 + i / 256);
        }
        add(VIA_DEVICE_CPU, host_);
        for (const int32_t kind : {VIA_MEMORY_DEVICE, VIA_MEMORY_PINNED, VIA_MEMORY_MANAGED}) {
            allocate(kind);
        }
    }

    const Memory &host() const { return memories_[0]; }
    const Memory &pick(Bytes *bytes) const { return memories_[bytes->byte() % count_]; }

private:
    void add(int32_t kind, char *start) { memories_[count_++] = {kind, start}; }

    // Kept for good.
    void allocate(int32_t kind) {
        via_memory *memory = nullptr;
        via_array *&array = kept_[count_];
        const int64_t shape[] = {kMemoryBytes};
        if (via_memory_create(kind, 0, &memory) != VIA_OK) {
            return;
        }
        EXPECT(via_empty(memory, VIA_UINT8, 1, shape, nullptr, &array) == VIA_OK);
        add(via_array_device_type(array), static_cast<char *>(via_array_data(array)));
        via_memory_release(memory);
    }

    int32_t count_ = 0;
    Memory memories_[4];
    via_array *kept_[4] = {};
    alignas(64) char host_[kMemoryBytes];
};
