#include "core/own_thread.hpp"

#include <pthread.h>
#include <signal.h>

#include <cstddef>
#include <cstdlib>

namespace via {
namespace {

// What a program's own threads have by default: callbacks may enter interpreters and virtual machines. Only what is
// touched costs memory.
constexpr size_t kStackBytes = size_t{8} << 20;

struct Beginning {
    const char *name;
    void (*body)();
};

void *begin_named(void *given) {
    const Beginning beginning = *static_cast<Beginning *>(given);
    std::free(given);
    pthread_setname_np(pthread_self(), beginning.name);
    beginning.body();
    return nullptr;
}

}  // namespace

// Signals are for threads whose stacks the program knows.
bool create_own_thread(void *(*begin)(void *), void *context, size_t stack_bytes) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) {
        return false;
    }
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, stack_bytes);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    const bool created = pthread_create(&thread, &attributes, begin, context) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    return created;
}

bool start_own_thread(const char *name, void (*body)()) {
    auto *beginning = static_cast<Beginning *>(std::malloc(sizeof(Beginning)));
    if (beginning == nullptr) {
        return false;
    }
    *beginning = {name, body};
    const bool created = create_own_thread(begin_named, beginning, kStackBytes);
    if (!created) {
        std::free(beginning);
    }
    return created;
}

}  // namespace via
