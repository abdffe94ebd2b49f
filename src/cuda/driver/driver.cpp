#include "cuda/driver/driver.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "core/base/lock.hpp"
#include "core/base/utf8.hpp"
#include "core/diagnostics/log.hpp"
#include "cuda/device.hpp"

namespace via::cuda {
namespace {

// A child that is forked while a thread is inside dl_iterate_phdr waits for ever for the lock that it holds there.
ForkSafeMutex counting;

// Counts closed libraries too, so that no number comes twice.
uint64_t count_opened() noexcept {
    const std::lock_guard lock(counting);
    uint64_t count = 0;
    (void)dl_iterate_phdr(
        [](dl_phdr_info *info, size_t, void *out_count) {
            *static_cast<uint64_t *>(out_count) = info->dlpi_adds;
            return 1;
        },
        &count);
    return count;
}

const link_map *entry_of(void *library) {
    const link_map *entry = nullptr;
    return library != nullptr && dlinfo(library, RTLD_DI_LINKMAP, &entry) == 0 ? entry : nullptr;
}

// Returns the last entry of the loader's list and keeps it open, or returns nullptr. The loader appends, so nothing has
// been opened while that entry is the last one. It belongs to the program or to a library that this one needs, which
// stay open anyhow.
const link_map *hold_last() noexcept {
    const link_map *last = entry_of(dlopen(nullptr, RTLD_NOW));  // the program itself, the first of the list
    while (last != nullptr && last->l_next != nullptr) {
        last = last->l_next;
    }
    const int already_open = RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE;
    return last != nullptr && entry_of(dlopen(last->l_name, already_open)) == last ? last : nullptr;
}

const link_map *const last_at_load = hold_last();
const uint64_t opened_at_load = count_opened();

// Returns a number that differs whenever a library has been opened since an earlier call. Takes a nanosecond as long as
// none has been opened since this library was loaded, and about ten from then on.
uint64_t loader_generation() {
    const bool none_since =
        last_at_load != nullptr && __atomic_load_n(&last_at_load->l_next, __ATOMIC_ACQUIRE) == nullptr;
    return none_since ? opened_at_load : count_opened();
}

Driver table{};
char reason[256] = "";
// 0 not tried, 1 usable, 2 not usable; `reason` and `table` are written before it leaves 0.
std::atomic<int32_t> state{0};
std::atomic<bool> begun{false};
std::atomic<bool> forked{false};
std::mutex loading;

constexpr int32_t kUntried = 0;
constexpr int32_t kUsable = 1;
constexpr int32_t kUnusable = 2;

struct Wanted {
    const char *name;
    int32_t version;
    bool required;
    size_t offset;
};

constexpr Wanted kWanted[] = {
#define VIA_CUDA_REQUIRED(name, version) {#name, version, true, offsetof(Driver, name)},
#define VIA_CUDA_OPTIONAL(name, version) {#name, version, false, offsetof(Driver, name)},
#include "cuda/driver/driver_functions.def"
#undef VIA_CUDA_REQUIRED
#undef VIA_CUDA_OPTIONAL
};

// cuGetProcAddress in the form of 12.0, or of 11.3 for drivers before it.
class Lookup {
public:
    explicit Lookup(void *library)
        : newer_(reinterpret_cast<PFN_cuGetProcAddress_v12000>(dlsym(library, "cuGetProcAddress_v2"))),
          older_(reinterpret_cast<PFN_cuGetProcAddress_v11030>(dlsym(library, "cuGetProcAddress"))) {}

    bool there() const { return newer_ != nullptr || older_ != nullptr; }

    // A missing name may come back as success with a null pointer.
    void *find(const Wanted &wanted) const {
        void *function = nullptr;
        const cuuint64_t flags = CU_GET_PROC_ADDRESS_LEGACY_STREAM;
        CUdriverProcAddressQueryResult found{};
        const CUresult result = newer_ != nullptr ? newer_(wanted.name, &function, wanted.version, flags, &found)
                                                  : older_(wanted.name, &function, wanted.version, flags);
        return result == CUDA_SUCCESS ? function : nullptr;
    }

private:
    PFN_cuGetProcAddress_v12000 newer_;
    PFN_cuGetProcAddress_v11030 older_;
};

bool refuse(const char *format, const char *first, const char *second = "") __attribute__((format(printf, 1, 0)));
bool refuse(const char *format, const char *first, const char *second) {
    std::snprintf(reason, sizeof reason, format, first, second);
    (void)make_utf8(reason, sizeof reason);  // dlerror() has the locale's encoding, and a path any bytes
    return false;
}

bool find_functions(void *library, const char *path) {
    const Lookup lookup(library);
    if (!lookup.there()) {
        return refuse("%s has no cuGetProcAddress; expected a driver of CUDA 11.4 or newer%s", path);
    }
    for (const Wanted &wanted : kWanted) {
        void *function = lookup.find(wanted);
        if (function == nullptr && wanted.required) {
            return refuse("%s has no %s; expected a driver of CUDA 11.4 or newer", path, wanted.name);
        }
        std::memcpy(reinterpret_cast<char *>(&table) + wanted.offset, &function, sizeof function);
    }
    return true;
}

bool call_succeeded(CUresult result, const char *call) {
    if (result == CUDA_SUCCESS) {
        return true;
    }
    const char *name = nullptr;
    (void)table.cuGetErrorName(result, &name);
    return refuse("%s answered %s", call, name != nullptr ? name : "an unknown error");
}

// Initialises the driver: a container may have its library and no device.
bool initialise() {
    return call_succeeded(table.cuInit(0), "cuInit") &&
           call_succeeded(table.cuDriverGetVersion(&table.version), "cuDriverGetVersion") &&
           call_succeeded(table.cuDeviceGetCount(&table.device_count), "cuDeviceGetCount") &&
           (table.device_count > 0 || refuse("%s", "the CUDA driver finds no device"));
}

const char *driver_path() {
    const char *given = secure_getenv("VIADUCT_LIBCUDA");
    return given != nullptr && *given != '\0' ? given : "libcuda.so.1";
}

bool load() {
    const char *path = driver_path();
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char *error = dlerror();
        return refuse("the CUDA driver could not be opened: %s", error != nullptr ? error : path);
    }
    return find_functions(library, path) && initialise();
}

using CountDevices = PFN_cuDeviceGetCount_v2000;
std::atomic<CountDevices> count_devices{nullptr};  // of a driver that somebody has loaded
std::atomic<uint64_t> opened_without{0};           // loader_generation() when the driver was last found missing

CountDevices find_loaded_driver() {
    const uint64_t opened = loader_generation();
    if (opened == opened_without.load(std::memory_order_relaxed)) {
        return nullptr;
    }
    // Never closed again, so that the function stays where it is.
    void *library = dlopen(driver_path(), RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) {
        opened_without.store(opened, std::memory_order_relaxed);
        return nullptr;
    }
    auto function = reinterpret_cast<CountDevices>(dlsym(library, "cuDeviceGetCount"));
    count_devices.store(function, std::memory_order_relaxed);
    return function;
}

bool somebody_uses_driver() {
    CountDevices function = count_devices.load(std::memory_order_relaxed);
    if (function == nullptr) {
        function = find_loaded_driver();
    }
    if (function == nullptr) {
        return false;
    }
    int count = 0;
    return function(&count) != CUDA_ERROR_NOT_INITIALIZED;
}

// Runs in a forked child. If another thread was loading the driver, its locks are never released, and the child must
// not try.
void note_fork() {
    const bool is_half_loaded = begun.load() && state.load() == kUntried;
    if (is_half_loaded) {
        state.store(kUsable);
    }
    forked.store(state.load() == kUsable, std::memory_order_relaxed);
}

// Registers at the start of the library: another thread might fork while the driver is loaded for the first time.
[[maybe_unused]] const bool guarded = pthread_atfork(nullptr, nullptr, note_fork) == 0;

int32_t load_once() {
    begun.store(true);
    const std::lock_guard<std::mutex> lock(loading);
    if (state.load() == kUntried) {
        const bool usable = load();
        if (usable) {
            VIA_NOTE("CUDA driver %s: version %d, %d devices", driver_path(), table.version, table.device_count);
        }
        if (!usable) {
            VIA_NOTE("no CUDA: %s", reason);
        }
        state.store(usable ? kUsable : kUnusable, std::memory_order_release);
    }
    return state.load();
}

Status status_of(CUresult result) {
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        return VIA_ERROR_OUT_OF_MEMORY;
    }
    const bool capture =
        result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    return capture ? VIA_ERROR_STREAM_CAPTURE : VIA_ERROR_CUDA;
}

}  // namespace

bool is_forked_child() { return forked.load(std::memory_order_relaxed); }

bool driver_is_usable(bool load_now) {
    int32_t now = state.load(std::memory_order_acquire);
    if (now == kUntried && load_now) [[unlikely]] {
        now = load_once();
    }
    return now == kUsable && !is_forked_child();
}

// Loads the driver only if the process has initialised it already: that takes a tenth of a second, and CUDA away from
// later forked children.
bool is_in_use() {
    if (state.load(std::memory_order_acquire) == kUntried && !somebody_uses_driver()) {
        return false;
    }
    return driver_is_usable(true);
}

const char *why_none() {
    if (driver_is_usable(true)) {
        return "";
    }
    return is_forked_child() ? "CUDA was used before this process was forked" : reason;
}

Status need_driver(const char *what) {
    if (driver_is_usable(true)) [[likely]] {
        return VIA_OK;
    }
    if (is_forked_child()) {
        return fail(VIA_ERROR_FORKED,
                    "%s needs CUDA, which was used before this process was forked; expected a process that was spawned",
                    what);
    }
    return fail(VIA_ERROR_UNSUPPORTED, "%s needs CUDA; expected a usable driver: %s", what, reason);
}

const Driver &driver() { return table; }

Status copy_adjacent(void *dst, bool dst_on_device, const void *src, bool src_on_device, int64_t nbytes,
                     CUstream stream) {
    const auto size = static_cast<size_t>(nbytes);
    if (dst_on_device && src_on_device) {
        VIA_TRY_CUDA(cuMemcpyDtoDAsync(number_of(dst), number_of(src), size, stream));
    } else if (dst_on_device) {
        VIA_TRY_CUDA(cuMemcpyHtoDAsync(number_of(dst), src, size, stream));
    } else if (src_on_device) {
        VIA_TRY_CUDA(cuMemcpyDtoHAsync(dst, number_of(src), size, stream));
    } else {
        VIA_TRY_CUDA(cuMemcpyAsync(number_of(dst), number_of(src), size, stream));
    }
    return VIA_OK;
}

Status driver_failure(CUresult result, const char *call) {
    const char *name = nullptr;
    const char *text = nullptr;
    (void)table.cuGetErrorName(result, &name);
    (void)table.cuGetErrorString(result, &text);
    const auto length = static_cast<int>(std::strcspn(call, "("));
    return fail_with_code(status_of(result), static_cast<int32_t>(result), "%.*s: %s (%s)", length, call,
                          name != nullptr ? name : "unknown error", text != nullptr ? text : "no description");
}

}  // namespace via::cuda
