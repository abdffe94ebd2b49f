// How fast host copies are, through the public interface: rows of JSON, one a line, for bench.py.
//
// GB/s count the bytes of the array once. Each row compares medians of repetitions that take turns with the peer's, so
// that a slower moment of the machine falls on both.
#include <viaduct/viaduct.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

namespace {

using Work = std::function<void()>;

void check(via_status status) {
    if (status != VIA_OK) {
        std::fprintf(stderr, "%s\n", via_last_error());
        std::exit(1);
    }
}

double now_ns() { return static_cast<double>(std::chrono::steady_clock::now().time_since_epoch().count()); }

double time_of(const Work &work, int calls) {
    const double start = now_ns();
    for (int i = 0; i < calls; ++i) {
        work();
    }
    return (now_ns() - start) / calls;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

struct Case {
    Work work;
    Work before = [] {};  // each turn, and not timed
};

// The median time of each.
std::vector<double> compare(const std::vector<Case> &cases, int calls, int repetitions) {
    std::vector<std::vector<double>> times(cases.size());
    for (int i = 0; i < repetitions; ++i) {
        for (size_t k = 0; k < cases.size(); ++k) {
            cases[k].before();
            if (i == 0) {
                cases[k].work();
            }
            times[k].push_back(time_of(cases[k].work, calls));
        }
    }
    std::vector<double> found;
    std::transform(times.begin(), times.end(), std::back_inserter(found), median);
    return found;
}

// Large blocks of memory with all pages touched, the same for all cases.
constexpr int64_t kMostBytes = int64_t{256} << 20;
char *dst_memory;
char *src_memory;

char *touched_memory() {
    auto *memory = static_cast<char *>(std::aligned_alloc(4096, kMostBytes));
    std::memset(memory, 1, kMostBytes);
    return memory;
}

via_array *wrap(void *data, int32_t dtype, const std::vector<int64_t> &shape, const int64_t *strides = nullptr) {
    via_array *array = nullptr;
    check(via_wrap(data, dtype, static_cast<int32_t>(shape.size()), shape.data(), strides, VIA_DEVICE_CPU, 0, 0,
                   nullptr, nullptr, &array));
    return array;
}

Work memcpy_of(int64_t nbytes) {
    return [=] { std::memcpy(dst_memory, src_memory, static_cast<size_t>(nbytes)); };
}

void contiguous_row(int64_t mebibytes, int32_t threads) {
    const int64_t nbytes = mebibytes << 20;
    via_array *dst = wrap(dst_memory, VIA_UINT8, {nbytes});
    via_array *src = wrap(src_memory, VIA_UINT8, {nbytes});
    check(via_set_num_threads(threads));
    const std::vector<double> times = compare({{[=] { check(via_copy(dst, src)); }}, {memcpy_of(nbytes)}}, 1, 15);
    const auto size = static_cast<double>(nbytes);
    std::printf(
        "{\"case\": \"C: contiguous copy, %lld MiB, %s\", \"unit\": \"GB/s\", \"viaduct\": %.2f, "
        "\"peers\": {\"memcpy\": %.2f}, \"limit\": null, \"target\": %s}\n",
        static_cast<long long>(mebibytes), threads == 1 ? "1 thread" : "default threads", size / times[0],
        size / times[1], threads == 1 ? "null" : "{\"peer\": \"memcpy\", \"at_least\": 1.2}");
    check(via_set_num_threads(0));
    via_array_release(dst);
    via_array_release(src);
}

// Sizes at which it depends on the machine how many threads pay. A call that does not count wakes them in each turn.
void threads_row(int64_t kibibytes) {
    const int64_t nbytes = kibibytes << 10;
    via_array *dst = wrap(dst_memory, VIA_UINT8, {nbytes});
    via_array *src = wrap(src_memory, VIA_UINT8, {nbytes});
    const Work copy = [=] { check(via_copy(dst, src)); };
    const auto warmed = [&](int32_t threads) {
        return [=] {
            check(via_set_num_threads(threads));
            copy();
        };
    };
    const int calls = static_cast<int>((int64_t{16} << 20) / nbytes);
    const std::vector<double> times =
        compare({{copy, warmed(0)}, {memcpy_of(nbytes), memcpy_of(nbytes)}, {copy, warmed(1)}}, calls, 41);
    const auto size = static_cast<double>(nbytes);
    const std::string name =
        kibibytes < 1024 ? std::to_string(kibibytes) + " KiB" : std::to_string(kibibytes >> 10) + " MiB";
    std::printf(
        "{\"case\": \"C: contiguous copy, %s, default threads\", \"unit\": \"GB/s\", \"viaduct\": %.2f, "
        "\"peers\": {\"memcpy\": %.2f, \"1 thread\": %.2f}, \"limit\": null, \"target\": null}\n",
        name.c_str(), size / times[0], size / times[1], size / times[2]);
    check(via_set_num_threads(0));
    via_array_release(dst);
    via_array_release(src);
}

// The destination begins so many bytes further on in its page than the source does, as in arrays that malloc places one
// behind the other.
void distance_row(int64_t distance) {
    constexpr int64_t kBytes = int64_t{256} << 10;
    char *to = dst_memory + distance;
    via_array *dst = wrap(to, VIA_UINT8, {kBytes});
    via_array *src = wrap(src_memory, VIA_UINT8, {kBytes});
    check(via_set_num_threads(1));
    const std::vector<double> times = compare(
        {{[=] { check(via_copy(dst, src)); }}, {[=] { std::memcpy(to, src_memory, static_cast<size_t>(kBytes)); }}}, 64,
        41);
    const auto size = static_cast<double>(kBytes);
    std::printf(
        "{\"case\": \"C: contiguous copy, 256 KiB, 1 thread, dst %lld bytes on in its page\", \"unit\": \"GB/s\", "
        "\"viaduct\": %.2f, \"peers\": {\"memcpy\": %.2f}, \"limit\": null, "
        "\"target\": {\"peer\": \"memcpy\", \"at_least\": 0.95}}\n",
        static_cast<long long>(distance), size / times[0], size / times[1]);
    check(via_set_num_threads(0));
    via_array_release(dst);
    via_array_release(src);
}

// A compiler's best loop for the same rows, their number and length being known.
template <typename Element>
__attribute__((noinline)) void raw_loop(Element *__restrict dst, const Element *__restrict src, int64_t src_step) {
    for (int64_t i = 0; i < 64; ++i) {
        for (int64_t j = 0; j < 64; ++j) {
            dst[i * 64 + j] = src[i * src_step + j];
        }
    }
}

// Part of a larger square array. Rows a multiple of 4 KiB apart fall into the same few sets of the first-level cache,
// which makes any loop over them slow: the raw loop next to shows by how much.
template <typename Element, int64_t kSide>
void small_strided_row(const char *name, int32_t dtype, const char *target) {
    const int64_t strides[2] = {kSide, 1};
    via_array *dst = wrap(dst_memory, dtype, {64, 64});
    via_array *src = wrap(src_memory + 64 * kSide, dtype, {64, 64}, strides);
    const std::vector<double> times = compare({{[=] { check(via_copy(dst, src)); }}, {[=] {
                                                   raw_loop(static_cast<Element *>(via_array_data(dst)),
                                                            static_cast<Element *>(via_array_data(src)), kSide);
                                               }}},
                                              100000, 21);
    std::printf(
        "{\"case\": \"C: 64 x 64 %s of %lld x %lld\", \"unit\": \"ns\", \"viaduct\": %.1f, "
        "\"peers\": {\"raw loop\": %.1f}, \"limit\": null, \"target\": %s}\n",
        name, static_cast<long long>(kSide), static_cast<long long>(kSide), times[0], times[1], target);
    via_array_release(dst);
    via_array_release(src);
}

// What a processor can do in how many nanoseconds depends on how wide its vectors are.
bool has_wide_vectors() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512bw") != 0;
#else
    return false;
#endif
}

}  // namespace

int main() {
    dst_memory = touched_memory();
    src_memory = touched_memory();
    for (const int64_t kibibytes : {256, 1024, 2048, 8192}) {
        threads_row(kibibytes);
    }
    for (const int64_t distance : {0, 8, 16, 64}) {
        distance_row(distance);
    }
    for (const int64_t mebibytes : {64, 256}) {
        contiguous_row(mebibytes, 1);
        contiguous_row(mebibytes, 0);
    }
    const char *at_most = has_wide_vectors() ? "{\"value_at_most\": 150}" : "{\"value_at_most\": 220}";
    constexpr char kNearTheLoop[] = "{\"peer\": \"raw loop\", \"at_most\": 1.25, \"and_plus\": 60}";
    small_strided_row<float, 1000>("float32", VIA_FLOAT32, at_most);
    small_strided_row<float, 1024>("float32", VIA_FLOAT32, at_most);
    small_strided_row<double, 1000>("float64", VIA_FLOAT64, kNearTheLoop);
    small_strided_row<double, 1024>("float64", VIA_FLOAT64, kNearTheLoop);
    return 0;
}
