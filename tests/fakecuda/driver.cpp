#include "driver.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdlib>

namespace fake {
namespace {

constexpr size_t handle_space = size_t{1} << 32;
constexpr size_t handle_step = 64;

// A forked child then finds the lock open and the state whole.
void guard_fork() {
    pthread_atfork([] { driver().mutex.lock(); }, [] { driver().mutex.unlock(); }, [] { driver().mutex.unlock(); });
}

Driver *make_driver() {
    Driver *state = new Driver;
    read_environment(*state);
    add_library_kernels(*state);
    guard_fork();
    return state;
}

int64_t from_environment(const char *name, int64_t otherwise) {
    const char *text = std::getenv(name);
    return text != nullptr && *text != '\0' ? std::strtoll(text, nullptr, 0) : otherwise;
}

}  // namespace

uintptr_t new_handle() {
    static const uintptr_t base = reinterpret_cast<uintptr_t>(
        mmap(nullptr, handle_space, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    static std::atomic<uintptr_t> next{handle_step};
    return base + next.fetch_add(handle_step);
}

Driver &driver() {
    static Driver *const only = make_driver();
    return *only;
}

void read_environment(Driver &state) {
    auto &settings = state.settings;
    settings[FAKE_DEVICES] = from_environment("VIADUCT_FAKECUDA_DEVICES", 1);
    settings[FAKE_DRIVER_VERSION] = from_environment("VIADUCT_FAKECUDA_VERSION", 13000);
    settings[FAKE_DEVICE_MEMORY] = from_environment("VIADUCT_FAKECUDA_MEMORY", int64_t{8} << 30);
    settings[FAKE_CAPABILITY] = from_environment("VIADUCT_FAKECUDA_CAPABILITY", 90);
    settings[FAKE_PEERS] = from_environment("VIADUCT_FAKECUDA_PEERS", 1);
    settings[FAKE_INIT_RESULT] = from_environment("VIADUCT_FAKECUDA_INIT", CUDA_SUCCESS);
    settings[FAKE_MODULE_RESULT] = CUDA_SUCCESS;
    settings[FAKE_FILL] = 0xCD;
    settings[FAKE_FREE_WAITS] = 1;
    settings[FAKE_STAGED_BYTES] = 2 << 20;
    settings[FAKE_WAIT_LIMIT] = 60000;
    settings[FAKE_HOLD_NEW] = 0;
    settings[FAKE_LOAD_UNSAFE] = 0;
    settings[FAKE_JITTER] = from_environment("VIADUCT_FAKECUDA_JITTER", 0);
    settings[FAKE_PAGE_TABLES] = from_environment("VIADUCT_FAKECUDA_PAGE_TABLES", 0);
    settings[FAKE_REVERSED] = from_environment("VIADUCT_FAKECUDA_REVERSED", 0);
}

ThreadState &this_thread() {
    static std::atomic<uint64_t> threads{0};
    // In the thread's own block: what the loader allocates for opened libraries it frees unseen by ThreadSanitizer.
    static thread_local ThreadState state __attribute__((tls_model("initial-exec")));
    if (state.number == 0) {
        state.number = ++threads;
    }
    // Under the lock, or on a thread that is inside a call: the epoch cannot change meanwhile.
    if (state.epoch != driver().epoch) {
        state.epoch = driver().epoch;
        state.stack.clear();
        state.capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    }
    return state;
}

void refuse(CUresult result) { throw Refusal{result}; }

void poison_all(Driver &state, CUresult error) {
    if (state.lost == CUDA_SUCCESS) {
        state.lost = error;
    }
    for (const auto &other : state.contexts.all()) {
        other->error = state.lost;
    }
    state.changed.notify_all();
}

void poison(Context &context, CUresult error) {
    Driver &state = driver();
    poison_all(state, error);
    context.error = state.lost;
}

}  // namespace fake
