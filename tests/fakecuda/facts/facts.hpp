// Observations of a CUDA driver, printed one a line, so that two drivers can be compared by comparing text.
#ifndef FAKECUDA_FACTS_HPP
#define FAKECUDA_FACTS_HPP

#include <cuda.h>
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace facts {

void *symbol(const char *name);
void *symbol_or_null(const char *name);

#define FACTS_TEXT_OF(name) #name
#define FACTS_TEXT(name) FACTS_TEXT_OF(name)
// A driver function by the name that cuda.h gives it today: cu(cuMemAlloc) finds cuMemAlloc_v2.
#define cu(function) (reinterpret_cast<decltype(&(function))>(facts::symbol(FACTS_TEXT(function))))

void say(const std::string &what, long long value);
void say(const std::string &what, const std::string &value);
void must(CUresult result, const char *what);
#define MUST(call) facts::must((call), #call)

// One group of facts; each runs in a process of its own, which has not touched the driver yet.
struct Group {
    const char *name;
    void (*run)();
};
extern const std::vector<Group> memory_groups;
extern const std::vector<Group> context_groups;
extern const std::vector<Group> stream_groups;
extern const std::vector<Group> capture_groups;
extern const std::vector<Group> graph_groups;
extern const std::vector<Group> peer_groups;  // need two devices

// Device 0 with its primary context current.
CUcontext start();

// A number that is no enumerator.
template <class Enumeration>
Enumeration nonsense(int number) {
    Enumeration made{};
    static_assert(sizeof made == sizeof number);
    std::memcpy(&made, &number, sizeof made);
    return made;
}

constexpr size_t kilobyte = 1024;

CUdeviceptr device_memory(size_t bytes);
char *pinned_memory(size_t bytes);
CUstream stream(unsigned int flags = CU_STREAM_NON_BLOCKING);
CUevent event(unsigned int flags = CU_EVENT_DISABLE_TIMING);
extern const char test_image[];
CUmodule test_module();
CUfunction kernel(const char *name);

// Work that keeps a stream busy until opened, or until its backoff is over.
class Stall {
public:
    explicit Stall(CUstream on, int patience_ms = 5000);
    ~Stall();
    void open() { open_ = true; }
    bool is_over() const { return over_; }

private:
    static void CUDA_CB wait(void *self);
    std::atomic<bool> open_{false};
    std::atomic<bool> over_{false};
    int patience_ms_;
};

// Whether a call comes back while the stream is stalled.
std::string returns_while_stalled(CUstream on, const std::function<void()> &call);

}  // namespace facts

#endif
