#include "callbacks.hpp"

#include <pthread.h>
#include <signal.h>

#include <initializer_list>

namespace viacs {
namespace {

via_release_fn g_end_loan;
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

// Before the runtime meets the thread, and for good: it remembers the thread until that ends.
void prepare_thread() {
    static thread_local bool prepared = false;
    if (!prepared) {
        prepared = true;
        let_signals_through();
    }
}

void end_loan(void *context) {
    prepare_thread();
    g_end_loan(context);
}

void forget(void *context) {
    prepare_thread();
    g_forget(context);
}

void complete(int32_t status, const char *text, void *context) {
    prepare_thread();
    g_complete(status, text, context);
}

int32_t allocate(int64_t nbytes, int64_t alignment, void *stream, void *context, void **out_address) {
    prepare_thread();
    return g_allocate(nbytes, alignment, stream, context, out_address);
}

void free_memory(void *address, int64_t nbytes, void *stream, void *context) {
    prepare_thread();
    g_free(address, nbytes, stream, context);
}

}  // namespace

via_release_fn end_loan_callback(via_release_fn managed) {
    g_end_loan = managed;
    return end_loan;
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

}  // namespace viacs
