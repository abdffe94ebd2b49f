// Adjacent bytes, wherever source and destination begin within a page.
#include "core/base/copy_contiguous.hpp"

#include <cstring>
#include <vector>

#include "copy_support.hpp"

namespace {

constexpr int64_t kPage = 4096;
constexpr int64_t kMost = 3 * kPage;
constexpr char kUntouched = 0x5a;

char byte_at(int64_t i) { return static_cast<char>(i * 7 + i / 251); }

alignas(kPage) char src_pages[kMost + 2 * kPage];
alignas(kPage) char dst_pages[kMost + 4 * kPage];

// Copies to an address that lies `distance` bytes on in its page, and compares all bytes, those around them included.
void check_copy(int64_t begin, int64_t distance, int64_t nbytes) {
    const char *src = src_pages + begin;
    char *dst = dst_pages + kPage + begin + distance;
    std::memset(dst_pages, kUntouched, sizeof dst_pages);
    via::copy_contiguous(dst, src, nbytes);
    assert_memory_equal(dst, src, static_cast<size_t>(nbytes));
    std::memset(dst, kUntouched, static_cast<size_t>(nbytes));
    static const std::vector<char> untouched(sizeof dst_pages, kUntouched);
    assert_memory_equal(dst_pages, untouched.data(), sizeof dst_pages);
}

void bytes_arrive_at_any_distance(void **) {
    for (int64_t i = 0; i < static_cast<int64_t>(sizeof src_pages); ++i) {
        src_pages[i] = byte_at(i);
    }
    for (const int64_t begin : {0, 1, 16, 63}) {
        for (const int64_t distance : {-64, -1, 0, 1, 8, 16, 47, 64, 129, 255, 256, 300, 2048, 4095}) {
            for (const int64_t nbytes : {0, 1, 64, 1023, 1024, 1025, 1279, 1280, 1343, 1344, 4096, 5000, 12288}) {
                check_copy(begin, distance, nbytes);
            }
        }
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(bytes_arrive_at_any_distance),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
