#include "cuda/staging/calibration.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/base/no_cancellation.hpp"
#include "core/system/regular_file.hpp"
#include "core/system/thread_count.hpp"
#include "cuda/device.hpp"
#include "cuda/topology/topology.hpp"

namespace via::cuda {
namespace {

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;
constexpr double kSlowLink = 20;  // GB/s: PCIe 3 x16 carries 16, PCIe 4 x16 carries 32
constexpr double kSlowestLink = 1;

struct State {
    std::atomic<int64_t> to_device{0};  // 0: nothing was measured
    std::atomic<int64_t> to_host{0};
    std::atomic<int64_t> link{-1};  // GB/s; -1: not asked yet
};

State states[kMostDevices];

int64_t known_link(int32_t device_id) {
    std::atomic<int64_t> &link = states[device_id].link;
    int64_t known = link.load(std::memory_order_relaxed);
    if (known < 0) {
        known = static_cast<int64_t>(link_speed(device_id));
        link.store(known, std::memory_order_relaxed);
    }
    return known;
}

void print_size(int64_t nbytes, char (&text)[32]) {
    if (nbytes == kNeverStaged) {
        std::snprintf(text, sizeof text, "never");
    } else {
        std::snprintf(text, sizeof text, "%" PRId64, nbytes);
    }
}

bool parse_size(const char *text, int64_t *out_nbytes) {
    if (std::strcmp(text, "never") == 0) {
        *out_nbytes = kNeverStaged;
        return true;
    }
    char *end = nullptr;
    *out_nbytes = std::strtoll(text, &end, 10);
    return end != text && *end == '\0' && *out_nbytes > 0;
}

}  // namespace

// Measured on an H200 with PCIe 5 x16. Towards the device the driver copies 10 to 18 GB/s, and so does one worker: 72
// us for 512 KiB where the driver takes 82. Towards the host one worker is faster from 128 KiB on: 21 us where the
// driver takes 22 to 35. A slower link leaves less to gain.
StagingThresholds shipped_thresholds(double link, int32_t workers) {
    if (workers < 2) {
        return {.to_device = kNeverStaged, .to_host = kNeverStaged};
    }
    const bool slow = link > 0 && link < kSlowLink;
    return {.to_device = slow ? 2 * kMiB : 512 * kKiB, .to_host = slow ? 2 * kMiB : 128 * kKiB};
}

int64_t find_threshold(const RouteTimes *times, int32_t count) {
    int64_t found = kNeverStaged;
    for (int32_t i = count - 1; i >= 0 && times[i].staged < times[i].driver; --i) {
        found = std::max(times[i].nbytes, kLeastStaged);
    }
    return found;
}

bool reaches_threshold(Direction direction, int64_t nbytes, int32_t device_id) {
    StagingThresholds measured{};
    if (measured_thresholds(device_id, &measured)) {
        return nbytes >= std::max(measured.of(direction), kLeastStaged);
    }
    const int32_t workers = num_threads();
    const auto reaches = [&](double link) { return nbytes >= shipped_thresholds(link, workers).of(direction); };
    // To ask a device for its link takes about 0.1 ms. Large copies are staged over any.
    return reaches(kSlowestLink) || reaches(static_cast<double>(known_link(device_id)));
}

double link_rate(int32_t device_id) {
    constexpr double kPcie5 = 64;
    constexpr double kRateOfPcie5 = 54;
    const int64_t link = known_link(device_id);
    return link > 0 ? static_cast<double>(link) * (kRateOfPcie5 / kPcie5) : kRateOfPcie5;
}

void set_thresholds(int32_t device_id, const StagingThresholds &measured) {
    states[device_id].to_host.store(measured.to_host, std::memory_order_relaxed);
    states[device_id].to_device.store(measured.to_device, std::memory_order_release);
}

bool measured_thresholds(int32_t device_id, StagingThresholds *out_measured) {
    out_measured->to_device = states[device_id].to_device.load(std::memory_order_acquire);
    out_measured->to_host = states[device_id].to_host.load(std::memory_order_relaxed);
    return out_measured->to_device != 0;
}

void print_thresholds(const char *pci_id, const StagingThresholds &thresholds, char *out_line) {
    char to_device[32];
    char to_host[32];
    print_size(thresholds.to_device, to_device);
    print_size(thresholds.to_host, to_host);
    std::snprintf(out_line, kCalibrationLine, "%s to_device %s to_host %s", pci_id, to_device, to_host);
}

bool parse_thresholds(const char *line, char *out_pci_id, StagingThresholds *out_crossovers) {
    char to_device[32];
    char to_host[32];
    int end = 0;
    return std::sscanf(line, "%31s to_device %31s to_host %31s%n", out_pci_id, to_device, to_host, &end) == 3 &&
           line[end] == '\0' && parse_size(to_device, &out_crossovers->to_device) &&
           parse_size(to_host, &out_crossovers->to_host);
}

namespace {

constexpr char kHeader[] = "viaduct calibration 1\n";
constexpr int64_t kLeastSize = int64_t{128} << 10;
constexpr int32_t kSizes = 8;  // each twice the one before: up to 16 MiB
constexpr int64_t kMostSize = kLeastSize << (kSizes - 1);
constexpr int32_t kRounds = 9;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Owns memory on both sides during a calibration.
class Bench {
public:
    Bench() = default;
    ~Bench() {
        if (device_ != 0) {
            (void)driver().cuMemFree(device_);
        }
        if (host_ != MAP_FAILED) {
            munmap(host_, kMostSize);
        }
    }
    Bench(const Bench &) = delete;
    Bench &operator=(const Bench &) = delete;

    Status open(int32_t device_id) {
        device_id_ = device_id;
        CUcontext context = nullptr;
        VIA_TRY(primary_context(device_id, &context));
        VIA_TRY(scope_.enter(context));
        host_ = mmap(nullptr, kMostSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (host_ == MAP_FAILED) {
            return fail_with_code(VIA_ERROR_OUT_OF_MEMORY, errno, "no memory to calibrate with");
        }
        std::memset(host_, 1, kMostSize);
        return check_driver(driver().cuMemAlloc(&device_, kMostSize), "cuMemAlloc");
    }

    // Alternates, so that a disturbance hits both, and returns the medians. The first round warms up.
    Status compare(Direction direction, int64_t nbytes, RouteTimes *out_times) {
        double driver_times[kRounds];
        double staged_times[kRounds];
        for (int32_t round = -1; round < kRounds; ++round) {
            const int32_t at = std::max(round, 0);
            const double start = now();
            VIA_TRY(by_driver(direction, nbytes));
            const double between = now();
            VIA_TRY(by_staging(direction, nbytes));
            driver_times[at] = between - start;
            staged_times[at] = now() - between;
        }
        std::nth_element(driver_times, driver_times + kRounds / 2, driver_times + kRounds);
        std::nth_element(staged_times, staged_times + kRounds / 2, staged_times + kRounds);
        *out_times = {nbytes, driver_times[kRounds / 2], staged_times[kRounds / 2]};
        return VIA_OK;
    }

private:
    Status by_driver(Direction direction, int64_t nbytes) {
        const auto size = static_cast<size_t>(nbytes);
        if (direction == Direction::ToHost) {
            return check_driver(driver().cuMemcpyDtoH(host_, device_, size), "cuMemcpyDtoH");
        }
        VIA_TRY(check_driver(driver().cuMemcpyHtoD(device_, host_, size), "cuMemcpyHtoD"));
        return check_driver(driver().cuStreamSynchronize(CU_STREAM_LEGACY), "cuStreamSynchronize");
    }

    Status by_staging(Direction direction, int64_t nbytes) {
        const Side side{VIA_DEVICE_CUDA, device_id_};
        void *device = reinterpret_cast<void *>(device_);
        const Transfer transfer = direction == Direction::ToDevice ? Transfer{device, host_, nbytes, side, kPageable}
                                                                   : Transfer{host_, device, nbytes, kPageable, side};
        UniqueFence fence;
        VIA_TRY(run_staged({transfer}, fence.out()));
        return fence.get() != nullptr ? fence.get()->wait() : VIA_OK;
    }

    int32_t device_id_ = 0;
    RelaxedCapture relaxed_;
    ContextScope scope_;
    CUdeviceptr device_ = 0;
    void *host_ = MAP_FAILED;
};

Status measure(Bench *bench, Direction direction, int64_t *out_crossover) {
    RouteTimes times[kSizes];
    for (int32_t i = 0; i < kSizes; ++i) {
        VIA_TRY(bench->compare(direction, kLeastSize << i, &times[i]));
    }
    *out_crossover = find_threshold(times, kSizes);
    return VIA_OK;
}

Status io_failure(const char *what, const char *path) {
    return fail_with_errno(VIA_ERROR_IO, errno, "%s %.400s", what, path);
}

// Writes one line for each device that was measured.
void print_calibration(FILE *file) {
    std::fputs(kHeader, file);
    for (int32_t i = 0; i < std::min(driver().device_count, kMostDevices); ++i) {
        StagingThresholds measured{};
        char id[kPciIdBytes];
        char line[kCalibrationLine];
        if (measured_thresholds(i, &measured) && pci_id(i, id)) {
            print_thresholds(id, measured, line);
            std::fprintf(file, "%s\n", line);
        }
    }
}

// Checks the file size limit: the kernel kills a process that exceeds it (SIGXFSZ).
bool may_write_all() {
    if (most_file_bytes() >= sizeof kHeader + size_t{kMostDevices} * kCalibrationLine) {
        return true;
    }
    errno = EFBIG;
    return false;
}

// Closes the descriptor.
bool write_whole(int descriptor) {
    FILE *file = may_write_all() ? fdopen(descriptor, "w") : nullptr;
    if (file == nullptr) {
        close_descriptor(descriptor);
        return false;
    }
    print_calibration(file);
    const bool written = std::fflush(file) == 0 && fsync(descriptor) == 0;
    return std::fclose(file) == 0 && written;
}

// Writes a temporary file in the same folder and renames it: a reader never sees half of it.
Status write_calibration(const char *path) {
    char temporary[4096];
    if (std::snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= static_cast<int>(sizeof temporary)) {
        errno = ENAMETOOLONG;
        return io_failure("opening", path);
    }
    const int descriptor = mkostemp(temporary, O_CLOEXEC);
    if (descriptor < 0) {
        return io_failure("opening", path);
    }
    (void)fchmod(descriptor, 0644);
    const bool written = write_whole(descriptor);
    if (written && std::rename(temporary, path) == 0) {
        return VIA_OK;
    }
    const Status status = io_failure(written ? "renaming" : "writing", path);
    (void)unlink(temporary);
    return status;
}

// Replaces regular files only. Follows symbolic links.
Status save_to(const char *path) {
    struct stat found{};
    const std::unique_ptr<char, decltype(&std::free)> target(find_target(path), std::free);
    if (target == nullptr) {
        return errno == ENOMEM ? fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a path") : io_failure("opening", path);
    }
    return stat(target.get(), &found) != 0 || S_ISREG(found.st_mode)
               ? write_calibration(target.get())
               : fail(VIA_ERROR_FORMAT, "%s is %s; expected a regular file, or none", path,
                      name_of_kind(found.st_mode));
}

int32_t device_of_pci_id(const char *wanted) {
    for (int32_t i = 0; i < std::min(driver().device_count, kMostDevices); ++i) {
        char id[kPciIdBytes];
        if (pci_id(i, id) && std::strcmp(id, wanted) == 0) {
            return i;
        }
    }
    return -1;
}

struct Entry {
    char pci_id[kPciIdBytes];
    StagingThresholds thresholds;
};

// Opens regular files only: others may block for ever.
Status open_calibration(const char *path, FILE **out_file) {
    const char *kind = nullptr;
    const int descriptor = open_regular(path, O_RDONLY, &kind);
    if (kind != nullptr) {
        return fail(VIA_ERROR_FORMAT, "%s is %s; expected a file that via_calibration_save wrote", path, kind);
    }
    *out_file = descriptor >= 0 ? fdopen(descriptor, "r") : nullptr;
    if (*out_file != nullptr) {
        return VIA_OK;
    }
    const Status status = io_failure("opening", path);
    if (descriptor >= 0) {
        close_descriptor(descriptor);
    }
    return status;
}

Status read_entries(FILE *file, const char *path, Entry *out_entries, int32_t *out_count) {
    char line[kCalibrationLine];
    if (std::fgets(line, sizeof line, file) == nullptr || std::strcmp(line, kHeader) != 0) {
        return std::ferror(file) != 0
                   ? io_failure("reading", path)
                   : fail(VIA_ERROR_FORMAT, "%s: expected \"viaduct calibration 1\" in line 1", path);
    }
    int32_t count = 0;
    while (std::fgets(line, sizeof line, file) != nullptr) {
        line[std::strcspn(line, "\n")] = '\0';
        if (count == kMostDevices ||
            !parse_thresholds(line, out_entries[count].pci_id, &out_entries[count].thresholds)) {
            return fail(VIA_ERROR_FORMAT, "%s: line %d is \"%.80s\"; expected a device and two sizes", path, count + 2,
                        line);
        }
        count++;
    }
    *out_count = count;
    return std::ferror(file) != 0 ? io_failure("reading", path) : VIA_OK;
}

}  // namespace

Status calibrate(int32_t device_id) {
    VIA_TRY(need_device("calibration", device_id));
    char why[160];
    if (ring_bytes(sizeof why, why) == 0) {
        return fail(VIA_ERROR_UNSUPPORTED, "nothing to calibrate: staging is off, %s", why);
    }
    Bench bench;
    VIA_TRY(bench.open(device_id));
    StagingThresholds found{};
    VIA_TRY(measure(&bench, Direction::ToDevice, &found.to_device));
    VIA_TRY(measure(&bench, Direction::ToHost, &found.to_host));
    set_thresholds(device_id, found);
    return VIA_OK;
}

Status save_calibration(const char *path) {
    VIA_TRY(need_driver("calibration"));
    return save_to(path);
}

// Applies the whole file or nothing of it. Skips devices that are not here.
Status load_calibration(const char *path) {
    VIA_TRY(need_driver("calibration"));
    FILE *file = nullptr;
    VIA_TRY(open_calibration(path, &file));
    Entry entries[kMostDevices];
    int32_t count = 0;
    const Status status = read_entries(file, path, entries, &count);
    std::fclose(file);
    VIA_TRY(status);
    for (int32_t i = 0; i < count; ++i) {
        const int32_t device_id = device_of_pci_id(entries[i].pci_id);
        if (device_id >= 0) {
            set_thresholds(device_id, entries[i].thresholds);
        }
    }
    return VIA_OK;
}

}  // namespace via::cuda
