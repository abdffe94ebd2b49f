#include "stream.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <thread>

#include "capture.hpp"

namespace fake {
namespace {

bool ended(const OpPtr &op) { return op == nullptr || op->done; }

bool is_held(const Stream &stream) { return stream.held && stream.steps == 0; }

bool can_run(const Stream &stream) {
    if (stream.queue.empty() || is_held(stream)) {
        return false;
    }
    const Op &op = *stream.queue.front();
    return std::all_of(op.after.begin(), op.after.end(), ended) && (!op.ready || op.ready());
}

bool must_poll(const Stream &stream) { return bool(stream.queue.front()->ready); }

// A random pause shakes the order in which streams get on, differently for every seed.
int pause_before(const Driver &state, Stream &stream) {
    if (state.setting(FAKE_JITTER) == 0) {
        return stream.delay_us;
    }
    return stream.delay_us + static_cast<int>(stream.random() % 4 == 0 ? stream.random() % 400 : 0);
}

void perform(Driver &state, std::unique_lock<std::mutex> &lock, const std::shared_ptr<Stream> &stream, Op &op) {
    const std::shared_ptr<Context> context = stream->context;
    const bool skipped = context->error != CUDA_SUCCESS && !op.always;
    Work work = std::move(op.work);
    const int pause = pause_before(state, *stream);
    ThreadState &thread = this_thread();
    thread.running = context.get();
    lock.unlock();
    if (pause > 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(pause));
    }
    if (work && !skipped) {
        work(*context);
    }
    work = nullptr;
    lock.lock();
    thread.running = nullptr;
}

void run_front(Driver &state, std::unique_lock<std::mutex> &lock, const std::shared_ptr<Stream> &stream) {
    const OpPtr op = stream->queue.front();
    stream->steps -= stream->held ? 1 : 0;
    perform(state, lock, stream, *op);
    stream->queue.pop_front();
    op->after.clear();
    op->ready = nullptr;
    op->done = true;
    op->ended = Clock::now();
    state.changed.notify_all();
    run_destructors(state, lock);
}

void leave_context(const std::shared_ptr<Stream> &stream) {
    auto &streams = stream->context->streams;
    std::erase(streams, stream);
}

// A stream without work is not woken by what others do: there may be hundreds that nobody has destroyed.
void wait_for_turn(Driver &state, std::unique_lock<std::mutex> &lock, Stream &stream) {
    if (stream.queue.empty()) {
        state.idle.insert(&stream);
        stream.posted.wait(lock);
        state.idle.erase(&stream);
    } else if (must_poll(stream)) {
        state.changed.wait_for(lock, std::chrono::milliseconds(1));
    } else {
        state.changed.wait(lock);
    }
}

// The life of a stream's thread.
void work_off(std::shared_ptr<Stream> stream) {
    Driver &state = driver();
    std::unique_lock lock(state.mutex);
    const auto over = [&] { return state.stopping || (stream->queue.empty() && stream->destroyed); };
    while (!over()) {
        if (can_run(*stream)) {
            run_front(state, lock, stream);
        } else {
            wait_for_turn(state, lock, *stream);
        }
    }
    stream->queue.clear();
    leave_context(stream);
    stream.reset();
    --state.workers;
    state.changed.notify_all();
}

// Signals of the program are for its own threads.
void start_worker(Driver &state, const std::shared_ptr<Stream> &stream) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        std::thread(work_off, stream).detach();
    } catch (...) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    stream->has_worker = true;
    ++state.workers;
}

void add_unfinished(std::vector<OpPtr> &into, const OpPtr &op) {
    if (!ended(op)) {
        into.push_back(op);
    }
}

// The legacy stream and the blocking ones wait for one another.
void order_behind_others(Op &op, const Stream &stream) {
    const Context &context = *stream.context;
    add_unfinished(op.after, context.fence);
    if (stream.kind == Stream::Kind::legacy) {
        for (const auto &other : context.streams) {
            if (other->blocking()) {
                add_unfinished(op.after, other->tail);
            }
        }
    } else if (stream.blocking()) {
        add_unfinished(op.after, context.legacy->tail);
    }
}

}  // namespace

std::shared_ptr<Stream> make_stream(Driver &state, const std::shared_ptr<Context> &context, Stream::Kind kind,
                                    unsigned int flags, int priority) {
    auto made = std::make_shared<Stream>();
    made->id = ++state.ids;
    made->kind = kind;
    made->context = context;
    made->flags = flags;
    made->priority = priority;
    made->random.seed(static_cast<uint32_t>(state.setting(FAKE_JITTER)) + static_cast<uint32_t>(made->id));
    made->held = state.setting(FAKE_HOLD_NEW) != 0;
    context->streams.push_back(made);
    return made;
}

std::shared_ptr<Stream> find_stream(Call &call, CUstream handle) {
    if (handle == nullptr || handle == CU_STREAM_LEGACY) {
        return call.context()->legacy;
    }
    if (handle == CU_STREAM_PER_THREAD) {
        const std::shared_ptr<Context> context = call.context();
        auto &mine = context->per_thread[this_thread().number];
        if (mine == nullptr) {
            mine = make_stream(call.state(), context, Stream::Kind::per_thread, CU_STREAM_DEFAULT, 0);
        }
        return mine;
    }
    std::shared_ptr<Stream> found =
        look_up(call, call.state().streams, handle, CUDA_ERROR_INVALID_HANDLE, FAKE_STREAM_AFTER_DESTROY);
    check_usable(*found->context);
    return found;
}

OpPtr enqueue(Driver &state, const std::shared_ptr<Stream> &stream, const OpPtr &op) {
    order_behind_others(*op, *stream);
    if (!stream->has_worker) {
        start_worker(state, stream);
    }
    stream->queue.push_back(op);
    stream->tail = op;
    stream->posted.notify_all();
    state.changed.notify_all();
    return op;
}

OpPtr enqueue(Driver &state, const std::shared_ptr<Stream> &stream, Work work) {
    auto op = std::make_shared<Op>();
    op->work = std::move(work);
    return enqueue(state, stream, op);
}

OpPtr submit(Call &call, const std::shared_ptr<Stream> &stream, CUgraphNodeType type, Work work) {
    if (stream->capture != nullptr) {
        add_node(*stream, type, std::move(work));
        return nullptr;
    }
    return enqueue(call.state(), stream, std::move(work));
}

std::vector<OpPtr> unfinished(const Stream &stream) {
    std::vector<OpPtr> found;
    add_unfinished(found, stream.tail);
    if (stream.kind == Stream::Kind::legacy) {
        for (const auto &other : stream.context->streams) {
            if (other->blocking()) {
                add_unfinished(found, other->tail);
            }
        }
    }
    return found;
}

std::vector<OpPtr> unfinished(const Context &context) {
    std::vector<OpPtr> found;
    for (const auto &stream : context.streams) {
        add_unfinished(found, stream->tail);
    }
    return found;
}

void wait_for_stream(Call &call, const std::shared_ptr<Stream> &stream) {
    for (const OpPtr &op : unfinished(*stream)) {
        call.wait([&] { return op->done; });
    }
    require(stream->context->error == CUDA_SUCCESS, stream->context->error);
}

void defer_release(Driver &state, const std::shared_ptr<Stream> &stream) {
    stream->destroyed = true;
    if (!stream->has_worker) {
        leave_context(stream);
    }
    stream->posted.notify_all();
    state.changed.notify_all();
}

void stop_workers(Driver &state, std::unique_lock<std::mutex> &lock) {
    state.stopping = true;
    for (Stream *stream : state.idle) {
        stream->posted.notify_all();
    }
    state.changed.notify_all();
    state.changed.wait(lock, [&] { return state.workers == 0; });
    state.stopping = false;
}

void run_destructors(Driver &state, std::unique_lock<std::mutex> &lock) {
    while (!state.dying.empty()) {
        const std::vector<std::pair<CUhostFn, void *>> dying = std::move(state.dying);
        state.dying.clear();
        ThreadState &thread = this_thread();
        lock.unlock();
        ++thread.callbacks;
        for (const auto &[destroy, data] : dying) {
            destroy(data);
        }
        --thread.callbacks;
        lock.lock();
    }
}

}  // namespace fake

using namespace fake;

namespace {

void create(Call &call, CUstream *out, unsigned int flags, int priority) {
    const std::shared_ptr<Context> context = call.context();
    require(out != nullptr && (flags & ~CU_STREAM_NON_BLOCKING) == 0);
    const auto made = make_stream(call.state(), context, Stream::Kind::created, flags, priority);
    *out = made->handle = call.state().streams.add(made);
}

// A handle that is a created stream's, and not one of the special ones.
void require_created(CUstream handle) {
    require(handle != nullptr && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD,
            CUDA_ERROR_INVALID_HANDLE);
}

// Even to ask for these of a stream under capture breaks the capture.
std::shared_ptr<Stream> uncaptured(Call &call, CUstream handle) {
    auto stream = call.stream(handle);
    refuse_captured(call.state(), *stream);
    return stream;
}

constexpr int least_priority = 0;
constexpr int greatest_priority = -5;

}  // namespace

extern "C" {

CUresult CUDAAPI cuStreamCreate(CUstream *phStream, unsigned int Flags) {
    return enter(Fn::cuStreamCreate, [&](Call &call) { create(call, phStream, Flags, 0); });
}

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority) {
    return enter(Fn::cuStreamCreateWithPriority, [&](Call &call) {
        create(call, phStream, flags, std::clamp(priority, greatest_priority, least_priority));
    });
}

CUresult CUDAAPI cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority) {
    return enter(Fn::cuCtxGetStreamPriorityRange, [&](Call &call) {
        call.context();
        if (leastPriority != nullptr) {
            *leastPriority = least_priority;
        }
        if (greatestPriority != nullptr) {
            *greatestPriority = greatest_priority;
        }
    });
}

CUresult CUDAAPI cuStreamDestroy_v2(CUstream hStream) {
    return enter(Fn::cuStreamDestroy_v2, [&](Call &call) {
        require_created(hStream);
        const auto stream = find_stream(call, hStream);
        abandon_capture(call.state(), *stream);
        call.state().streams.remove(hStream);
        defer_release(call.state(), stream);
    });
}

CUresult CUDAAPI cuStreamQuery(CUstream hStream) {
    return enter(Fn::cuStreamQuery, [&](Call &call) {
        const auto stream = call.stream(hStream);
        refuse_captured(call.state(), *stream);
        call.unsafe();
        require(unfinished(*stream).empty() && !is_held(*stream), CUDA_ERROR_NOT_READY);
    });
}

CUresult CUDAAPI cuStreamSynchronize(CUstream hStream) {
    return enter(Fn::cuStreamSynchronize, [&](Call &call) {
        const auto stream = call.stream(hStream);
        refuse_captured(call.state(), *stream);
        call.unsafe();
        wait_for_stream(call, stream);
    });
}

CUresult CUDAAPI cuStreamGetFlags(CUstream hStream, unsigned int *flags) {
    return enter(Fn::cuStreamGetFlags, [&](Call &call) {
        require(flags != nullptr);
        *flags = uncaptured(call, hStream)->flags;
    });
}

CUresult CUDAAPI cuStreamGetPriority(CUstream hStream, int *priority) {
    return enter(Fn::cuStreamGetPriority, [&](Call &call) {
        require(priority != nullptr);
        *priority = call.stream(hStream)->priority;
    });
}

CUresult CUDAAPI cuStreamGetId(CUstream hStream, unsigned long long *streamId) {
    return enter(Fn::cuStreamGetId, [&](Call &call) {
        require(streamId != nullptr);
        *streamId = uncaptured(call, hStream)->id;
    });
}

CUresult CUDAAPI cuStreamGetDevice(CUstream hStream, CUdevice *device) {
    return enter(Fn::cuStreamGetDevice, [&](Call &call) {
        require(device != nullptr);
        *device = uncaptured(call, hStream)->context->device;
    });
}

CUresult CUDAAPI cuStreamGetCtx(CUstream hStream, CUcontext *pctx) {
    return enter(Fn::cuStreamGetCtx, [&](Call &call) {
        require(pctx != nullptr);
        const auto stream = call.stream(hStream);
        check_capture(*stream);
        *pctx = stream->context->handle;
    });
}

CUresult CUDAAPI cuStreamGetCtx_v2(CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx) {
    return enter(Fn::cuStreamGetCtx_v2, [&](Call &call) {
        require(pCtx != nullptr);
        const auto stream = call.stream(hStream);
        check_capture(*stream);
        *pCtx = stream->context->handle;
        if (pGreenCtx != nullptr) {
            *pGreenCtx = nullptr;
        }
    });
}
}
