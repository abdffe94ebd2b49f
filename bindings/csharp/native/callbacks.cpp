#include "callbacks.hpp"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <initializer_list>

#include "mono.hpp"

namespace viacs {
namespace {

struct Domain {
    via_release_fn release_borrowed;
    via_release_fn forget;
    via_complete_fn complete;
    via_alloc_fn allocate;
    via_free_fn free;
    std::atomic<bool> is_closed;
};

// As many as 16 bits number: what outlives its domain may come back at any time.
constexpr int kDomainShift = 48;
constexpr uint32_t kMostDomains = uint32_t{1} << 16;
Domain g_domains[kMostDomains];
std::atomic<uint32_t> g_opened{0};

const Domain &domain_of(void *context) { return g_domains[reinterpret_cast<uintptr_t>(context) >> kDomainShift]; }

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

// Around a call of a managed function, if there may still be one: not in a domain that is gone, and as the runtime
// ends, on the thread that ends it alone.
class Visit {
public:
    explicit Visit(void *context) : domain_(domain_of(context)), was_managed_(mono::is_managed()) {
        prepare_thread();
        ++own_under_way;
        g_under_way.fetch_add(1);
        is_welcome_ = !domain_.is_closed.load() && (!g_is_ending.load() || is_last_thread());
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
    const Domain *operator->() const { return &domain_; }

private:
    static bool is_last_thread() { return pthread_equal(g_last_thread, pthread_self()) != 0 && !mono::is_over(); }

    const Domain &domain_;
    bool was_managed_;
    bool is_welcome_;
};

// A callback that does not return is not waited for.
void await_others() {
    constexpr int kMostTurns = 10000;
    constexpr timespec kTurn{0, 100000};
    for (int turn = 0; turn < kMostTurns && g_under_way.load() > own_under_way; ++turn) {
        nanosleep(&kTurn, nullptr);
    }
}

void release_borrowed(void *context) {
    const Visit visit(context);
    if (visit.is_welcome()) {
        visit->release_borrowed(context);
    }
}

void forget(void *context) {
    const Visit visit(context);
    if (visit.is_welcome()) {
        visit->forget(context);
    }
}

void complete(int32_t status, const char *text, void *context) {
    const Visit visit(context);
    if (visit.is_welcome()) {
        visit->complete(status, text, context);
    }
}

int32_t allocate(int64_t nbytes, int64_t alignment, void *stream, void *context, void **out_address) {
    const Visit visit(context);
    return visit.is_welcome() ? visit->allocate(nbytes, alignment, stream, context, out_address) : 1;
}

void free_memory(void *address, int64_t nbytes, void *stream, void *context) {
    const Visit visit(context);
    if (visit.is_welcome()) {
        visit->free(address, nbytes, stream, context);
    }
}

}  // namespace

int32_t open_domain() {
    const uint32_t domain = g_opened.fetch_add(1) % kMostDomains;
    g_domains[domain].is_closed.store(false);
    return static_cast<int32_t>(domain);
}

via_release_fn release_borrowed_callback(int32_t domain, via_release_fn managed) {
    g_domains[domain].release_borrowed = managed;
    return release_borrowed;
}

via_release_fn forget_callback(int32_t domain, via_release_fn managed) {
    g_domains[domain].forget = managed;
    return forget;
}

via_complete_fn complete_callback(int32_t domain, via_complete_fn managed) {
    g_domains[domain].complete = managed;
    return complete;
}

via_alloc_fn allocate_callback(int32_t domain, via_alloc_fn managed) {
    g_domains[domain].allocate = managed;
    return allocate;
}

via_free_fn free_callback(int32_t domain, via_free_fn managed) {
    g_domains[domain].free = managed;
    return free_memory;
}

void close_domain(int32_t domain) {
    g_domains[domain].is_closed.store(true);
    await_others();
}

// Of two threads that end it at once the runtime lets one go on.
void runtime_is_ending() {
    g_last_thread = pthread_self();
    g_is_ending.store(true);
    await_others();
}

}  // namespace viacs
