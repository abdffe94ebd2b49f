#include "call.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "capture.hpp"
#include "event.hpp"
#include "stream.hpp"

namespace fake {
namespace {

constexpr size_t log_length = 4096;

// What a fault does whose time has come: the result of the call, CUDA_SUCCESS if it goes its way.
CUresult strike(Driver &state, std::vector<Fault>::iterator fault) {
    const CUresult result = fault->result;
    const Fault::Kind kind = fault->kind;
    if (kind == Fault::Kind::Stays) {
        fault->left = -1;
    } else if (fault->left == 0) {
        state.faults.erase(fault);
    }
    if (kind == Fault::Kind::Poisons) {
        poison_all(state, result);
        return CUDA_SUCCESS;
    }
    return result;
}

// The result that an injected fault asks of this call, CUDA_SUCCESS for none.
CUresult injected(Driver &state, Fn function) {
    if (this_thread().spared) {
        return CUDA_SUCCESS;
    }
    for (auto fault = state.faults.begin(); fault != state.faults.end(); ++fault) {
        if (!fault->function.empty() && !function_is(function, fault->function)) {
            continue;
        }
        if (fault->left > 0 && --fault->left > 0) {
            continue;
        }
        ++state.faults_injected;
        ++state.fault_counts[static_cast<size_t>(function)];
        return strike(state, fault);
    }
    return CUDA_SUCCESS;
}

[[noreturn]] void give_up(Driver &state, Fn function) {
    int held = 0;
    for (const auto &context : state.contexts.all()) {
        for (const auto &stream : context->streams) {
            held += stream->held && !stream->queue.empty();
        }
    }
    std::fprintf(stderr, "fakecuda: %s waited %lld ms for work that does not end; %d stream(s) with work are held\n",
                 function_symbol(function), static_cast<long long>(state.setting(FAKE_WAIT_LIMIT)), held);
    std::abort();
}

}  // namespace

Call::Call(Fn function) : function_(function), state_(driver()), lock_(state_.mutex), result_(admit()) {}

CUresult Call::admit() {
    ++state_.calls;
    ++state_.call_counts[static_cast<size_t>(function_)];
    const bool anytime = allowed_anytime(function_);
    if (!anytime && state_.initialised && state_.process != getpid()) {
        state_.count(FAKE_CALL_IN_FORKED_CHILD);
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (!anytime && this_thread().callbacks > 0) {
        // By this one a library may find out where it is: it is always refused there, and does nothing.
        if (function_ != Fn::cuCtxGetCurrent) {
            state_.count(FAKE_CALL_IN_HOST_FUNCTION);
        }
        return CUDA_ERROR_NOT_PERMITTED;
    }
    if (const CUresult fault = injected(state_, function_); fault != CUDA_SUCCESS) {
        return fault;
    }
    if (!anytime && function_ != Fn::cuInit && !state_.initialised) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    return CUDA_SUCCESS;
}

CUresult Call::leave(CUresult result) {
    if (!lock_.owns_lock()) {
        lock_.lock();
    }
    state_.call_log.emplace_back(function_, result);
    if (state_.call_log.size() > log_length) {
        state_.call_log.pop_front();
    }
    run_destructors(state_, lock_);
    lock_.unlock();
    return result;
}

void check_usable(const Context &context) {
    require(context.alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    require(context.error == CUDA_SUCCESS, context.error);
}

// The handle of a context that is gone may be asked about: the real driver knows that it is.
std::shared_ptr<Context> Call::context_to_ask(CUcontext handle) {
    const ThreadState &thread = this_thread();
    if (handle == nullptr && !thread.stack.empty()) {
        handle = thread.stack.back();
    }
    std::shared_ptr<Context> found = state_.contexts.find(handle);
    require(found != nullptr || !state_.contexts.was_removed(handle), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    require(found != nullptr, CUDA_ERROR_INVALID_CONTEXT);
    require(found->alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return found;
}

std::shared_ptr<Context> Call::context(CUcontext handle) {
    const ThreadState &thread = this_thread();
    const CUcontext meant = handle == nullptr && !thread.stack.empty() ? thread.stack.back() : handle;
    if (state_.contexts.find(meant) == nullptr && state_.contexts.was_removed(meant)) {
        state_.count(FAKE_CONTEXT_AFTER_DESTROY);
    }
    std::shared_ptr<Context> found = context_to_ask(handle);
    check_usable(*found);
    return found;
}

std::shared_ptr<Context> Call::context() { return context(nullptr); }

Device &Call::device(CUdevice ordinal) {
    require(ordinal >= 0 && static_cast<size_t>(ordinal) < state_.devices.size(), CUDA_ERROR_INVALID_DEVICE);
    return state_.devices[static_cast<size_t>(ordinal)];
}

std::shared_ptr<Stream> Call::stream(CUstream handle) {
    std::shared_ptr<Stream> found = find_stream(*this, handle);
    if (found->kind == Stream::Kind::legacy) {
        break_captures_before_legacy(state_, *found->context);
    }
    return found;
}

std::shared_ptr<Event> Call::event(CUevent handle) {
    std::shared_ptr<Event> found =
        look_up(*this, state_.events, handle, CUDA_ERROR_INVALID_HANDLE, FAKE_EVENT_AFTER_DESTROY);
    check_usable(*found->context);
    return found;
}

void Call::unsafe() { forbid_under_capture(state_, this_thread()); }

void Call::wait(const std::function<bool()> &until) {
    const auto limit = std::chrono::milliseconds(state_.setting(FAKE_WAIT_LIMIT));
    if (!state_.changed.wait_for(lock_, limit, until)) {
        give_up(state_, function_);
    }
}

void Call::wait_for(const OpPtr &op, const std::shared_ptr<Context> &context) {
    if (op != nullptr) {
        wait([&] { return op->done; });
    }
    require(context->error == CUDA_SUCCESS, context->error);
}

void Call::wait_for_context(const std::shared_ptr<Context> &context) {
    for (const OpPtr &op : unfinished(*context)) {
        wait([&] { return op->done; });
    }
    require(context->error == CUDA_SUCCESS, context->error);
}

void Call::wait_for_device(int ordinal) {
    for (const auto &context : state_.contexts.all()) {
        if (context->device == ordinal) {
            for (const OpPtr &op : unfinished(*context)) {
                wait([&] { return op->done; });
            }
        }
    }
}

void Call::outside(const std::function<void()> &code) {
    ThreadState &thread = this_thread();
    lock_.unlock();
    ++thread.callbacks;
    code();
    --thread.callbacks;
    lock_.lock();
}

}  // namespace fake
