// A mutex held while a scope lasts, and mutexes that fork leaves in order.
#pragma once

#include <pthread.h>

namespace via {

class Lock {
public:
    explicit Lock(pthread_mutex_t *mutex) : mutex_(mutex) { pthread_mutex_lock(mutex_); }
    ~Lock() { pthread_mutex_unlock(mutex_); }
    Lock(const Lock &) = delete;
    Lock &operator=(const Lock &) = delete;

private:
    pthread_mutex_t *mutex_;
};

// From now on fork waits until nobody holds the mutex, so that a child finds it free and what it guards whole;
// `in_child` then forgets the threads that the child lacks. Mutexes guarded so are never held two at a time.
template <pthread_mutex_t &mutex, void (*in_child)()>
bool guard_over_fork() noexcept {
    const auto unlock = [] { pthread_mutex_unlock(&mutex); };
    const auto unlock_in_child = [] {
        pthread_mutex_unlock(&mutex);
        in_child();
    };
    return pthread_atfork([] { pthread_mutex_lock(&mutex); }, unlock, unlock_in_child) == 0;
}

}  // namespace via
