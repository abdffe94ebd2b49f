// What the fuzzers share: choices and numbers made out of the bytes that they are given, and what must hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "viaduct/viaduct.h"

// One input. Returns 0; what does not hold ends the process.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

[[noreturn]] inline void report_broken(const char *file, int line, const char *expected) {
    std::fprintf(stderr, "%s:%d: expected %s\nlast error: %s\n", file, line, expected, via_last_error());
    std::abort();
}

#define EXPECT(condition) ((condition) ? (void)0 : report_broken(__FILE__, __LINE__, #condition))

// Read from front to back; behind the end all bytes are 0, so that every input says something.
class Bytes {
public:
    Bytes(const uint8_t *data, size_t size) : at_(data), end_(data + size) {}

    bool is_empty() const { return at_ == end_; }
    uint8_t byte() { return is_empty() ? uint8_t{0} : *at_++; }
    bool flag() { return byte() % 2 != 0; }

    // From low to high, both included, at most 255 apart.
    int32_t between(int32_t low, int32_t high) { return low + byte() % (high - low + 1); }

    template <class Item, size_t kCount>
    const Item &pick(const Item (&items)[kCount]) {
        static_assert(kCount <= 256);
        return items[byte() % kCount];
    }

    // Mostly a small number; else one where something ends, or any at all.
    int64_t number() {
        constexpr int64_t kEnds[] = {INT64_MAX,
                                     INT64_MIN,
                                     INT64_MIN + 1,
                                     int64_t{1} << 62,
                                     int64_t{1} << 61,
                                     int64_t{1} << 60,
                                     int64_t{1} << 48,
                                     int64_t{1} << 32,
                                     INT32_MAX,
                                     INT32_MIN,
                                     UINT32_MAX,
                                     int64_t{1} << 30,
                                     65536,
                                     32767,
                                     -32768};
        const uint8_t kind = byte();
        if (kind < 160) {
            return int64_t{kind} - 24;
        }
        if (kind < 208) {
            return static_cast<int64_t>(static_cast<uint64_t>(pick(kEnds)) + kind - 184);
        }
        uint64_t value = 0;
        for (int i = 0; i < (kind < 232 ? 4 : 8); ++i) {
            value = value << 8 | byte();
        }
        return static_cast<int64_t>(value);
    }

    int32_t number32() { return static_cast<int32_t>(static_cast<uint64_t>(number())); }

    // At most `most` bytes, as many as the next byte says; *out_length is how many.
    const char *text(size_t most, size_t *out_length) {
        const size_t wanted = byte();
        const auto left = static_cast<size_t>(end_ - at_);
        *out_length = wanted < most ? wanted : most;
        *out_length = *out_length < left ? *out_length : left;
        const auto *start = reinterpret_cast<const char *>(at_);
        at_ += *out_length;
        return start;
    }

private:
    const uint8_t *at_;
    const uint8_t *end_;
};

// A failure must be reported: a status that has a name, and a text that begins with the function's.
inline void expect_reported(via_status status, const char *function) {
    EXPECT(status > VIA_OK && status < VIA_ERROR_INTERNAL);
    EXPECT(std::strncmp(via_last_error(), function, std::strlen(function)) == 0);
    EXPECT(via_last_error()[std::strlen(function)] == ':');
}

inline via_stats_info count_alive() {
    via_stats_info stats = VIA_STATS_INFO_INIT;
    EXPECT(via_stats(&stats) == VIA_OK);
    return stats;
}

// Each input leaves as much alive as it found.
inline void expect_alive(const via_stats_info &before) {
    const via_stats_info now = count_alive();
    EXPECT(now.live_arrays == before.live_arrays);
    EXPECT(now.live_storages == before.live_storages);
    EXPECT(now.outstanding_exports == before.outstanding_exports);
    EXPECT(now.pending_releases == before.pending_releases);
    EXPECT(now.host_bytes == before.host_bytes);
}
