// What the GPU benchmarks have in common: the driver's own calls as the peer, timing in turns, rows of JSON.
#pragma once

#include <cuda.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include <viaduct/viaduct.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

[[noreturn]] inline void stop(const char *what, const char *why) {
    std::fprintf(stderr, "%s: %s\n", what, why);
    std::exit(1);
}

inline void check(via_status status) {
    if (status != VIA_OK) {
        stop(via_status_name(status), via_last_error());
    }
}

#define BENCH_TEXT_OF(name) #name
#define BENCH_TEXT(name) BENCH_TEXT_OF(name)

// A function of the driver by its name, looked up once: cu(cuMemAlloc)(&memory, 64).
#define cu(function)                                                                             \
    ([] {                                                                                        \
        static auto *const found =                                                               \
            reinterpret_cast<decltype(&(function))>(bench::driver_symbol(BENCH_TEXT(function))); \
        return found;                                                                            \
    }())

#define cu_ok(call) bench::check_driver((call), #call)

inline void *driver_symbol(const char *name) {
    static void *const library = [] {
        const char *given = std::getenv("VIADUCT_LIBCUDA");
        void *opened = dlopen(given != nullptr ? given : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        return opened != nullptr ? opened : (stop("dlopen", dlerror()), nullptr);
    }();
    void *symbol = dlsym(library, name);
    return symbol != nullptr ? symbol : (stop(name, "the driver has none"), nullptr);
}

inline void check_driver(CUresult result, const char *call) {
    if (result != CUDA_SUCCESS) {
        const char *name = "?";
        cu(cuGetErrorName)(result, &name);
        stop(call, name);
    }
}

inline CUcontext primary_context(CUdevice device) {
    CUcontext context = nullptr;
    cu_ok(cu(cuInit)(0));
    cu_ok(cu(cuDevicePrimaryCtxRetain)(&context, device));
    return context;
}

// ------------------------------------------------------------------------------------------------ memory

inline CUdeviceptr device_memory(int64_t nbytes) {
    CUdeviceptr memory = 0;
    cu_ok(cu(cuMemAlloc)(&memory, static_cast<size_t>(nbytes)));
    return memory;
}

inline char *pinned_memory(int64_t nbytes) {
    void *memory = nullptr;
    cu_ok(cu(cuMemHostAlloc)(&memory, static_cast<size_t>(nbytes), CU_MEMHOSTALLOC_PORTABLE));
    return static_cast<char *>(memory);
}

inline char *new_pages(int64_t nbytes) {
    void *memory =
        mmap(nullptr, static_cast<size_t>(nbytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED ? static_cast<char *>(memory) : (stop("mmap", std::strerror(errno)), nullptr);
}

inline void drop_pages(char *memory, int64_t nbytes) { munmap(memory, static_cast<size_t>(nbytes)); }

inline char *touched_memory(int64_t nbytes) {
    char *memory = new_pages(nbytes);
    std::memset(memory, 1, static_cast<size_t>(nbytes));
    return memory;
}

// Bytes as an array, wrapped anew when asked for anew.
class Bytes {
public:
    Bytes(const void *address, int64_t nbytes, int32_t device_type, int32_t device_id = 0) {
        check(via_wrap(const_cast<void *>(address), VIA_UINT8, 1, &nbytes, nullptr, device_type, device_id, 0, nullptr,
                       nullptr, &array_));
    }
    Bytes(CUdeviceptr address, int64_t nbytes, int32_t device_id = 0)
        : Bytes(reinterpret_cast<const void *>(address), nbytes, VIA_DEVICE_CUDA, device_id) {}
    ~Bytes() { via_array_release(array_); }
    Bytes(const Bytes &) = delete;
    Bytes &operator=(const Bytes &) = delete;
    via_array *get() const { return array_; }

private:
    via_array *array_ = nullptr;
};

// ------------------------------------------------------------------------------------------------ timing

inline double now_us() {
    return static_cast<double>(std::chrono::steady_clock::now().time_since_epoch().count()) / 1e3;
}

// One thing to time: what is done before each turn, and what is timed, `calls` times in a row.
struct Case {
    std::string name;
    std::function<void()> work;
    std::function<void()> before = [] {};
    std::function<void()> after = [] {};
};

inline double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

inline double turn_us(const Case &timed, int calls) {
    timed.before();
    const double start = now_us();
    for (int i = 0; i < calls; ++i) {
        timed.work();
    }
    const double spent = now_us() - start;
    timed.after();
    return spent / calls;
}

// The median microseconds of each case, timed in turns so that a slower moment of the machine falls on all; each turn
// begins with another one.
inline std::vector<double> compare(const std::vector<Case> &cases, int calls, int turns) {
    std::vector<std::vector<double>> times(cases.size());
    for (const Case &timed : cases) {
        (void)turn_us(timed, calls);
    }
    for (size_t turn = 0; turn < static_cast<size_t>(turns); ++turn) {
        for (size_t i = 0; i < cases.size(); ++i) {
            const size_t chosen = (i + turn) % cases.size();
            times[chosen].push_back(turn_us(cases[chosen], calls));
        }
    }
    std::vector<double> medians;
    for (const std::vector<double> &values : times) {
        medians.push_back(median(values));
    }
    return medians;
}

// ------------------------------------------------------------------------------------------------ rows

// The first case is ours; `limit` is the number of the case that is the limit, or -1. `target` is JSON.
inline void print_row(const std::string &name, const char *unit, const std::vector<Case> &cases,
                      const std::vector<double> &values, int limit, const std::string &target) {
    std::printf("{\"case\": \"%s\", \"unit\": \"%s\", \"viaduct\": %.5g, \"peers\": {", name.c_str(), unit, values[0]);
    for (size_t i = 1; i < cases.size(); ++i) {
        std::printf("%s\"%s\": %.5g", i > 1 ? ", " : "", cases[i].name.c_str(), values[i]);
    }
    std::printf("}, \"limit\": ");
    limit < 0 ? std::printf("null") : std::printf("%.5g", values[static_cast<size_t>(limit)]);
    std::printf(", \"target\": %s}\n", target.c_str());
    std::fflush(stdout);
}

inline std::vector<double> rates(const std::vector<double> &times_us, int64_t nbytes) {
    std::vector<double> gigabytes;
    for (const double time : times_us) {
        gigabytes.push_back(static_cast<double>(nbytes) / time / 1e3);
    }
    return gigabytes;
}

inline std::string size_name(int64_t nbytes) {
    if (nbytes >= int64_t{1} << 30) {
        return std::to_string(nbytes >> 30) + " GiB";
    }
    return nbytes >= 1 << 20 ? std::to_string(nbytes >> 20) + " MiB" : std::to_string(nbytes >> 10) + " KiB";
}

inline std::string at_least(double ratio, const char *peer) {
    char text[128];
    std::snprintf(text, sizeof text, "{\"peer\": \"%s\", \"at_least\": %g}", peer, ratio);
    return text;
}

// At most `ratio` times the peer, or `plus` more than the peer, whichever is looser.
inline std::string at_most(double ratio, double plus, const char *peer) {
    char text[128];
    std::snprintf(text, sizeof text, "{\"peer\": \"%s\", \"at_most\": %g, \"or_plus\": %g}", peer, ratio, plus);
    return text;
}

inline std::string plus_at_most(double plus, const char *peer) {
    char text[128];
    std::snprintf(text, sizeof text, "{\"peer\": \"%s\", \"plus_at_most\": %g}", peer, plus);
    return text;
}

}  // namespace bench
