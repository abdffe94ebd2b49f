#include "callbacks.hpp"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <initializer_list>

#include "mono.hpp"

namespace viacs {
namespace {

via_release_fn g_release_borrowed;
via_release_fn g_forget;
via_complete_fn g_complete;
via_alloc_fn g_allocate;
via_free_fn g_free;

// Faults, and what Mono and .NET stop threads with.
void let_signals_through() {
    sigset_t needed;
    sigemptyset(&needed);
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGPWR, SIGXCPU}) {
        sigaddset(&needed, number);
    }
    for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) {
        sigaddset(&needed, number);
    }
    pthread_sigmask(SIG_UNBLOCK, &needed, nullptr);
}

std::atomic<int> g_under_way{0};
std::atomic<bool> g_is_ending{false};
pthread_t g_last_thread;
thread_local int own_under_way = 0;

// Before the runtime meets the thread, and for good.
void prepare_thread() {
    static thread_local bool prepared = false;
    if (!prepared) {
        prepared = true;
        let_signals_through();
    }
}

// Around a call of a managed function, if there may still be one: as the runtime ends, on the thread that ends it
// alone.
class Visit {
public:
    Visit() : was_managed_(mono::is_managed()) {
        prepare_thread();
        ++own_under_way;
        g_under_way.fetch_add(1);
        is_welcome_ = !g_is_ending.load() || (pthread_equal(g_last_thread, pthread_self()) != 0 && !mono::is_over());
    }
    ~Visit() {
        if (is_welcome_ && !was_managed_) {
            mono::release_thread();
        }
        g_under_way.fetch_sub(1);
        --own_under_way;
    }
    Visit(const Visit &) = delete;
    Visit &operator=(const Visit &) = delete;
    bool is_welcome() const { return is_welcome_; }

private:
    bool was_managed_;
    bool is_welcome_;
};

void release_borrowed(void *context) {
    const Visit visit;
    if (visit.is_welcome()) {
        g_release_borrowed(context);
    }
}

void forget(void *context) {
    const Visit visit;
    if (visit.is_welcome()) {
        g_forget(context);
    }
}

void complete(int32_t status, const char *text, void *context) {
    const Visit visit;
    if (visit.is_welcome()) {
        g_complete(status, text, context);
    }
}

int32_t allocate(int64_t nbytes, int64_t alignment, void *stream, void *context, void **out_address) {
    const Visit visit;
    return visit.is_welcome() ? g_allocate(nbytes, alignment, stream, context, out_address) : 1;
}

void free_memory(void *address, int64_t nbytes, void *stream, void *context) {
    const Visit visit;
    if (visit.is_welcome()) {
        g_free(address, nbytes, stream, context);
    }
}

}  // namespace

via_release_fn release_borrowed_callback(via_release_fn managed) {
    g_release_borrowed = managed;
    return release_borrowed;
}

via_release_fn forget_callback(via_release_fn managed) {
    g_forget = managed;
    return forget;
}

via_complete_fn complete_callback(via_complete_fn managed) {
    g_complete = managed;
    return complete;
}

via_alloc_fn allocate_callback(via_alloc_fn managed) {
    g_allocate = managed;
    return allocate;
}

via_free_fn free_callback(via_free_fn managed) {
    g_free = managed;
    return free_memory;
}

// Of two threads that end it at once the runtime lets one go on. A callback that does not return is not waited for.
void runtime_is_ending() {
    constexpr int kMostTurns = 10000;
    constexpr timespec kTurn{0, 100000};
    g_last_thread = pthread_self();
    g_is_ending.store(true);
    for (int turn = 0; turn < kMostTurns && g_under_way.load() > own_under_way; ++turn) {
        nanosleep(&kTurn, nullptr);
    }
}

}  // namespace viacs
