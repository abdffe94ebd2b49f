// The way into every driver function: locks, counts, injects faults, checks who may call, turns refusals into answers.
#ifndef FAKECUDA_CALL_HPP
#define FAKECUDA_CALL_HPP

#include <new>

#include "driver.hpp"

namespace fake {

class Call {
public:
    explicit Call(Fn function);

    bool admitted() const { return result_ == CUDA_SUCCESS; }
    CUresult leave(CUresult result);
    CUresult admission() const { return result_; }

    Driver &state() { return state_; }
    std::unique_lock<std::mutex> &lock() { return lock_; }

    // The current context, fit for use.
    std::shared_ptr<Context> context();
    // A context by handle, fit for use; NULL is the current one.
    std::shared_ptr<Context> context(CUcontext handle);
    // The same for questions that a poisoned context still answers.
    std::shared_ptr<Context> context_to_ask(CUcontext handle);
    Device &device(CUdevice ordinal);

    // A stream by handle, fit for use. Naming the legacy stream breaks the captures it would have to wait for.
    std::shared_ptr<Stream> stream(CUstream handle);
    std::shared_ptr<Event> event(CUevent handle);

    // For calls that may not be made while a capture forbids them.
    void unsafe();

    void wait(const std::function<bool()> &until);
    // Waits for work that is queued now; the context's error, if it has one, is the answer.
    void wait_for(const OpPtr &op, const std::shared_ptr<Context> &context);
    void wait_for_context(const std::shared_ptr<Context> &context);
    void wait_for_device(int ordinal);

    // Runs foreign code: without the lock, driver calls inside being refused.
    void outside(const std::function<void()> &code);

private:
    CUresult admit();

    Fn function_;
    Driver &state_;
    std::unique_lock<std::mutex> lock_;
    CUresult result_;
};

void check_usable(const Context &context);

template <class Body>
CUresult enter(Fn function, Body &&body) {
    Call call(function);
    if (!call.admitted()) {
        return call.leave(call.admission());
    }
    try {
        body(call);
        return call.leave(CUDA_SUCCESS);
    } catch (const Refusal &refusal) {
        return call.leave(refusal.result);
    } catch (const std::bad_alloc &) {
        return call.leave(CUDA_ERROR_OUT_OF_MEMORY);
    } catch (const std::exception &) {
        return call.leave(CUDA_ERROR_OPERATING_SYSTEM);
    }
}

// Looks an object up by a handle that the caller passed.
template <class Handle, class Object>
std::shared_ptr<Object> look_up(Call &call, const Registry<Handle, Object> &registry, Handle handle, CUresult otherwise,
                                fake_misuse misuse = FAKE_OTHER_AFTER_DESTROY) {
    std::shared_ptr<Object> found = registry.find(handle);
    if (found == nullptr) {
        if (registry.was_removed(handle)) {
            call.state().count(misuse);
        }
        refuse(otherwise);
    }
    return found;
}

// Takes an object out of its registry, counting a second time as misuse.
template <class Handle, class Object>
std::shared_ptr<Object> take(Call &call, Registry<Handle, Object> &registry, Handle handle, CUresult otherwise,
                             fake_misuse misuse = FAKE_OTHER_AFTER_DESTROY) {
    std::shared_ptr<Object> found = look_up(call, registry, handle, otherwise, misuse);
    registry.remove(handle);
    return found;
}

}  // namespace fake

#endif
