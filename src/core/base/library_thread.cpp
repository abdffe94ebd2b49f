#include "core/base/library_thread.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace via {
namespace {

// The default of a program's own threads: callbacks may enter interpreters and virtual machines. Only touched pages
// take memory.
constexpr size_t kStackBytes = size_t{8} << 20;
constexpr size_t kSmallStackBytes = size_t{1} << 20;

constinit std::atomic<int32_t> own_threads{0};
constinit std::atomic<bool> main_thread_has_left{false};
constinit std::atomic<bool> has_signal_taker{false};

void forget_threads() {
    own_threads = 0;
    main_thread_has_left = false;
    has_signal_taker = false;
}

[[maybe_unused]] const bool guarded = pthread_atfork(nullptr, nullptr, forget_threads) == 0;

struct Beginning {
    const char *name;
    void (*body)();
};

// Counts a running thread, also one that an interpreter ends from inside a callback.
struct Counted {
    ~Counted() { own_threads--; }
};

void *begin_counted(void *given) {
    const Counted scope;
    const Beginning beginning = *static_cast<Beginning *>(given);
    std::free(given);
    pthread_setname_np(pthread_self(), beginning.name);
    beginning.body();
    return nullptr;
}

// Receives signals while it sleeps. A thread of the library that starts after the last check of own_threads finds
// has_signal_taker set; hence the second check.
void *take_signals(void *) {
    pthread_setname_np(pthread_self(), "viaduct-signal");
    constexpr auto kBetweenLooks = std::chrono::milliseconds(100);
    do {
        while (own_threads > 0) {
            std::this_thread::sleep_for(kBetweenLooks);
        }
        has_signal_taker = false;
    } while (own_threads > 0 && !has_signal_taker.exchange(true));
    return nullptr;
}

// glibc's, for runtimes of languages: the bytes of a stack that it takes itself, the program's thread-local variables
// included. Looked up as the library is loaded: a forked child may wait for ever for the loader's lock.
using LeastStack = size_t (*)(const pthread_attr_t *attributes);
const auto least_stack = reinterpret_cast<LeastStack>(dlsym(RTLD_DEFAULT, "__pthread_get_minstack"));

size_t taken_bytes(const pthread_attr_t *attributes) { return least_stack != nullptr ? least_stack(attributes) : 0; }

bool create_detached(void *(*begin)(void *), void *context, size_t stack_bytes) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) {
        return false;
    }
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, stack_bytes + taken_bytes(&attributes));
    pthread_t thread;
    const bool created = pthread_create(&thread, &attributes, begin, context) == 0;
    pthread_attr_destroy(&attributes);
    return created;
}

void start_signal_taker_if_needed() {
    if (!main_thread_has_left || own_threads == 0 || has_signal_taker.exchange(true)) {
        return;
    }
    if (!create_detached(take_signals, nullptr, kStackBytes)) {
        has_signal_taker = false;
    }
}

bool create_with_signals_blocked(Beginning *beginning, size_t stack_bytes) {
    sigset_t blocked;
    sigset_t before;
    sigfillset(&blocked);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
        sigdelset(&blocked, fault);
    }
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    const bool created = create_detached(begin_counted, beginning, stack_bytes);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return created;
}

bool start(const char *name, void (*body)(), size_t stack_bytes) {
    auto *beginning = static_cast<Beginning *>(std::malloc(sizeof(Beginning)));
    if (beginning == nullptr) {
        return false;
    }
    *beginning = {name, body};
    own_threads++;
    if (!create_with_signals_blocked(beginning, stack_bytes)) {
        own_threads--;
        std::free(beginning);
        return false;
    }
    start_signal_taker_if_needed();
    return true;
}

}  // namespace

bool start_library_thread(const char *name, void (*body)()) { return start(name, body, kStackBytes); }

bool start_small_thread(const char *name, void (*body)()) { return start(name, body, kSmallStackBytes); }

void note_main_thread_leaves() {
    main_thread_has_left = true;
    start_signal_taker_if_needed();
}

}  // namespace via
