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
#include <string>
#include <thread>
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

struct Times {
    double ours;
    double peer;
};

Times compare(const Work &ours, const Work &peer, int calls, int repetitions) {
    std::vector<double> our_times;
    std::vector<double> peer_times;
    ours();
    peer();
    for (int i = 0; i < repetitions; ++i) {
        our_times.push_back(time_of(ours, calls));
        peer_times.push_back(time_of(peer, calls));
    }
    return {median(our_times), median(peer_times)};
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

void memcpy_with_two_threads(int64_t nbytes) {
    const auto half = static_cast<size_t>(nbytes / 2);
    std::thread other([half] { std::memcpy(dst_memory + half, src_memory + half, half); });
    std::memcpy(dst_memory, src_memory, half);
    other.join();
}

via_array *wrap(void *data, int32_t dtype, const std::vector<int64_t> &shape, const int64_t *strides = nullptr) {
    via_array *array = nullptr;
    check(via_wrap(data, dtype, static_cast<int32_t>(shape.size()), shape.data(), strides, VIA_DEVICE_CPU, 0, 0,
                   nullptr, nullptr, &array));
    return array;
}

void contiguous_row(int64_t mebibytes, int32_t threads) {
    const int64_t nbytes = mebibytes << 20;
    via_array *dst = wrap(dst_memory, VIA_UINT8, {nbytes});
    via_array *src = wrap(src_memory, VIA_UINT8, {nbytes});
    check(via_set_num_threads(threads));
    const Times times = compare([=] { check(via_copy(dst, src)); },
                                [=] { std::memcpy(dst_memory, src_memory, static_cast<size_t>(nbytes)); }, 1, 15);
    const auto size = static_cast<double>(nbytes);
    std::printf(
        "{\"case\": \"C: contiguous copy, %lld MiB, %s\", \"unit\": \"GB/s\", \"viaduct\": %.2f, "
        "\"peers\": {\"memcpy\": %.2f}, \"limit\": null, \"target\": %s}\n",
        static_cast<long long>(mebibytes), threads == 1 ? "1 thread" : "default threads", size / times.ours,
        size / times.peer, threads == 1 ? "null" : "{\"peer\": \"memcpy\", \"at_least\": 1.2}");
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
// which makes any loop over them slow: the raw loop beside shows by how much.
template <typename Element, int64_t kSide>
void small_strided_row(const char *name, int32_t dtype, const char *target) {
    const int64_t strides[2] = {kSide, 1};
    via_array *dst = wrap(dst_memory, dtype, {64, 64});
    via_array *src = wrap(src_memory + 64 * kSide, dtype, {64, 64}, strides);
    const Times times = compare([=] { check(via_copy(dst, src)); },
                                [=] {
                                    raw_loop(static_cast<Element *>(via_array_data(dst)),
                                             static_cast<Element *>(via_array_data(src)), kSide);
                                },
                                100000, 21);
    std::printf(
        "{\"case\": \"C: 64 x 64 %s of %lld x %lld\", \"unit\": \"ns\", \"viaduct\": %.1f, "
        "\"peers\": {\"raw loop\": %.1f}, \"limit\": null, \"target\": %s}\n",
        name, static_cast<long long>(kSide), static_cast<long long>(kSide), times.ours, times.peer, target);
    via_array_release(dst);
    via_array_release(src);
}

// A row-major copy of an array whose axes are the source's, in another order.
void permute_row(const char *name, int32_t dtype, const std::vector<int64_t> &shape, const std::vector<int32_t> &order,
                 const char *target) {
    via_array *whole = wrap(src_memory, dtype, shape);
    via_array *src = nullptr;
    check(via_array_permute(whole, order.data(), &src));
    const std::vector<int64_t> turned(via_array_shape(src), via_array_shape(src) + shape.size());
    via_array *dst = wrap(dst_memory, dtype, turned);
    const int64_t nbytes = via_array_nbytes(dst);
    const Times times = compare([=] { check(via_copy(dst, src)); }, [=] { memcpy_with_two_threads(nbytes); }, 1, 31);
    const auto size = static_cast<double>(nbytes);
    std::printf(
        "{\"case\": \"C: %s\", \"unit\": \"GB/s\", \"viaduct\": %.2f, \"peers\": {\"memcpy, all threads\": %.2f}, "
        "\"limit\": null, "
        "\"target\": %s}\n",
        name, size / times.ours, size / times.peer, target);
    via_array_release(dst);
    via_array_release(src);
    via_array_release(whole);
}

void permute_rows() {
    constexpr char kTarget[] = "{\"peer\": \"memcpy, all threads\", \"at_least\": 0.7}";
    permute_row("transpose 8192 x 8192 uint8", VIA_UINT8, {8192, 8192}, {1, 0}, "null");
    permute_row("transpose 8192 x 8192 float16", VIA_FLOAT16, {8192, 8192}, {1, 0}, "null");
    permute_row("transpose 4096 x 4096 float32", VIA_FLOAT32, {4096, 4096}, {1, 0}, kTarget);
    permute_row("transpose 5000 x 5003 float32", VIA_FLOAT32, {5000, 5003}, {1, 0}, "null");
    permute_row("transpose 4096 x 4096 float64", VIA_FLOAT64, {4096, 4096}, {1, 0}, "null");
    permute_row("transpose 3000 x 3000 complex128", VIA_COMPLEX128, {3000, 3000}, {1, 0}, "null");
    permute_row("(256, 256, 512) -> (2, 1, 0) float32", VIA_FLOAT32, {256, 256, 512}, {2, 1, 0}, "null");
    permute_row("(256, 256, 512) -> (0, 2, 1) float32", VIA_FLOAT32, {256, 256, 512}, {0, 2, 1}, "null");
    permute_row("(256, 256, 512) -> (1, 0, 2) float32", VIA_FLOAT32, {256, 256, 512}, {1, 0, 2}, "null");
    permute_row("NCHW (16, 64, 128, 128) -> NHWC float32", VIA_FLOAT32, {16, 64, 128, 128}, {0, 2, 3, 1}, "null");
    permute_row("CHW (3, 2048, 2048) -> HWC uint8", VIA_UINT8, {3, 2048, 2048}, {1, 2, 0}, "null");
    permute_row("(17, 33, 65, 31, 29) -> (4, 2, 0, 3, 1) float32", VIA_FLOAT32, {17, 33, 65, 31, 29}, {4, 2, 0, 3, 1},
                "null");
}

}  // namespace

int main() {
    dst_memory = touched_memory();
    src_memory = touched_memory();
    for (const int64_t mebibytes : {64, 256}) {
        contiguous_row(mebibytes, 1);
        contiguous_row(mebibytes, 0);
    }
    small_strided_row<float, 1000>("float32", VIA_FLOAT32, "{\"value_at_most\": 150}");
    small_strided_row<float, 1024>("float32", VIA_FLOAT32, "{\"value_at_most\": 150}");
    small_strided_row<double, 1000>("float64", VIA_FLOAT64, "null");
    small_strided_row<double, 1024>("float64", VIA_FLOAT64, "null");
    permute_rows();
    return 0;
}
