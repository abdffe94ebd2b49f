#include "event.hpp"

#include "capture.hpp"
#include "stream.hpp"

namespace fake {
namespace {

constexpr unsigned int known_flags = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

void create(Call &call, CUevent *out, unsigned int flags) {
    const auto context = call.context();
    require(out != nullptr && (flags & ~known_flags) == 0);
    require((flags & CU_EVENT_INTERPROCESS) == 0 || (flags & CU_EVENT_DISABLE_TIMING) != 0);
    auto made = std::make_shared<Event>();
    made->context = context;
    made->flags = flags;
    *out = made->handle = call.state().events.add(made);
}

// A record that a graph makes when it is launched.
Work record_later(const std::shared_ptr<Event> &event) {
    return [event](Context &) {
        auto op = std::make_shared<Op>();
        op->done = true;
        op->ended = Clock::now();
        const std::lock_guard lock(driver().mutex);
        event->op = op;
    };
}

void record(Call &call, CUevent handle, CUstream on, unsigned int flags) {
    const auto event = call.event(handle);
    const auto stream = call.stream(on);
    require((flags & ~CU_EVENT_RECORD_EXTERNAL) == 0);
    require(event->context == stream->context, CUDA_ERROR_INVALID_HANDLE);
    check_capture(*stream);
    if (stream->capture == nullptr) {
        event->capture = nullptr;
        event->op = enqueue(call.state(), stream, Work());
    } else if ((flags & CU_EVENT_RECORD_EXTERNAL) != 0) {
        add_node(*stream, CU_GRAPH_NODE_TYPE_EVENT_RECORD, record_later(event));
    } else {
        event->capture = stream->capture;
        event->nodes = stream->capture_tail;
    }
}

// An event recorded into a capture is no point in time.
void refuse_captured_event(Driver &state, const Event &event) {
    if (event.capture == nullptr) {
        return;
    }
    require(!event.capture->over);
    break_capture(state, *event.capture);
    refuse(CUDA_ERROR_CAPTURED_EVENT);
}

void wait_for_captured(Driver &state, const std::shared_ptr<Stream> &stream, const Event &event) {
    require(!event.capture->over);
    if (stream->kind == Stream::Kind::legacy) {
        break_capture(state, *event.capture);
        refuse(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    }
    if (stream->capture != nullptr && stream->capture != event.capture) {
        break_capture(state, *stream->capture);
        break_capture(state, *event.capture);
        refuse(CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    join_capture(stream, event.capture, event.nodes);
}

// A captured stream can wait for what is outside of its capture only where a graph may: at the launch.
void wait_in_capture(Driver &state, Stream &stream, const std::shared_ptr<Event> &event, unsigned int flags) {
    if ((flags & CU_EVENT_WAIT_EXTERNAL) != 0) {
        add_node(stream, CU_GRAPH_NODE_TYPE_WAIT_EVENT, [event](Context &) {
            Driver &all = driver();
            std::unique_lock lock(all.mutex);
            const OpPtr op = event->op;
            all.changed.wait(lock, [&] { return op == nullptr || op->done || all.stopping; });
        });
    } else if (event->op != nullptr) {
        break_capture(state, *stream.capture);
        refuse(CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    }
}

void wait(Call &call, CUstream on, CUevent handle, unsigned int flags) {
    const auto stream = call.stream(on);
    const auto event = call.event(handle);
    require((flags & ~CU_EVENT_WAIT_EXTERNAL) == 0);
    check_capture(*stream);
    if (event->capture != nullptr) {
        wait_for_captured(call.state(), stream, *event);
    } else if (stream->capture != nullptr) {
        wait_in_capture(call.state(), *stream, event, flags);
    } else {
        auto op = std::make_shared<Op>();
        if (event->op != nullptr && !event->op->done) {
            op->after.push_back(event->op);
        }
        enqueue(call.state(), stream, op);
    }
}

std::shared_ptr<Event> event_to_ask(Call &call, CUevent handle) {
    const auto event = call.event(handle);
    refuse_captured_event(call.state(), *event);
    call.unsafe();
    return event;
}

bool timed(const Event &event) { return (event.flags & CU_EVENT_DISABLE_TIMING) == 0; }

void elapsed(Call &call, float *out, CUevent first_handle, CUevent second_handle) {
    const auto first = call.event(first_handle), second = call.event(second_handle);
    require(out != nullptr);
    for (const auto &event : {first, second}) {
        require(timed(*event) && event->op != nullptr && event->context == first->context, CUDA_ERROR_INVALID_HANDLE);
    }
    require(first->op->done && second->op->done, CUDA_ERROR_NOT_READY);
    *out = std::chrono::duration<float, std::milli>(second->op->ended - first->op->ended).count();
}

}  // namespace
}  // namespace fake

using namespace fake;

extern "C" {

CUresult CUDAAPI cuEventCreate(CUevent *phEvent, unsigned int Flags) {
    return enter(Fn::cuEventCreate, [&](Call &call) { create(call, phEvent, Flags); });
}

CUresult CUDAAPI cuEventDestroy_v2(CUevent hEvent) {
    return enter(Fn::cuEventDestroy_v2, [&](Call &call) {
        call.event(hEvent);
        call.state().events.remove(hEvent);
    });
}

CUresult CUDAAPI cuEventRecord(CUevent hEvent, CUstream hStream) {
    return enter(Fn::cuEventRecord, [&](Call &call) { record(call, hEvent, hStream, 0); });
}

CUresult CUDAAPI cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags) {
    return enter(Fn::cuEventRecordWithFlags, [&](Call &call) { record(call, hEvent, hStream, flags); });
}

CUresult CUDAAPI cuEventQuery(CUevent hEvent) {
    return enter(Fn::cuEventQuery, [&](Call &call) {
        const auto event = event_to_ask(call, hEvent);
        require(event->op == nullptr || event->op->done, CUDA_ERROR_NOT_READY);
    });
}

CUresult CUDAAPI cuEventSynchronize(CUevent hEvent) {
    return enter(Fn::cuEventSynchronize, [&](Call &call) {
        const auto event = event_to_ask(call, hEvent);
        call.wait_for(event->op, event->context);
    });
}

CUresult CUDAAPI cuEventElapsedTime(float *pMilliseconds, CUevent hStart, CUevent hEnd) {
    return enter(Fn::cuEventElapsedTime, [&](Call &call) { elapsed(call, pMilliseconds, hStart, hEnd); });
}

CUresult CUDAAPI cuEventElapsedTime_v2(float *pMilliseconds, CUevent hStart, CUevent hEnd) {
    return enter(Fn::cuEventElapsedTime_v2, [&](Call &call) { elapsed(call, pMilliseconds, hStart, hEnd); });
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags) {
    return enter(Fn::cuStreamWaitEvent, [&](Call &call) { wait(call, hStream, hEvent, Flags); });
}
}
