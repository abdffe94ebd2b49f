#include "capture.hpp"

#include <algorithm>

#include "stream.hpp"

namespace fake {
namespace {

// Takes all streams out of a capture, which is then no longer under way.
void finish(Driver &state, const std::shared_ptr<Capture> &capture) {
    capture->over = true;
    std::erase(state.captures, capture);
    for (const auto &context : state.contexts.all()) {
        for (const auto &stream : context->streams) {
            if (stream->capture == capture) {
                stream->capture = nullptr;
                stream->capture_tail.clear();
            }
        }
    }
}

void discard(Driver &state, const std::shared_ptr<Capture> &capture) {
    finish(state, capture);
    state.graphs.remove(capture->graph->handle);
    drop_graph(state, *capture->graph);
}

// All that comes before the nodes given, and they themselves.
std::vector<bool> reached_from(const Graph &graph, const std::vector<size_t> &tail) {
    std::vector<bool> reached(graph.nodes.size(), false);
    std::vector<size_t> open = tail;
    while (!open.empty()) {
        const size_t node = open.back();
        open.pop_back();
        if (!reached[node]) {
            reached[node] = true;
            open.insert(open.end(), graph.nodes[node].after.begin(), graph.nodes[node].after.end());
        }
    }
    return reached;
}

// Whether the origin stream comes after all nodes.
bool joined(const Capture &capture, const Stream &origin) {
    const std::vector<bool> reached = reached_from(*capture.graph, origin.capture_tail);
    return std::all_of(reached.begin(), reached.end(), [](bool one) { return one; });
}

bool forbids(const Capture &capture, const ThreadState &thread) {
    if (capture.mode == CU_STREAM_CAPTURE_MODE_RELAXED || thread.capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED) {
        return false;
    }
    return capture.thread == thread.number ||
           (capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL && thread.capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
}

void begin(Call &call, CUstream handle, CUstreamCaptureMode mode) {
    require(handle != nullptr && handle != CU_STREAM_LEGACY, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    const auto stream = call.stream(handle);
    require(mode <= CU_STREAM_CAPTURE_MODE_RELAXED);
    require(stream->capture == nullptr, CUDA_ERROR_ILLEGAL_STATE);
    Driver &state = call.state();
    auto capture = std::make_shared<Capture>();
    capture->id = ++state.ids;
    capture->mode = mode;
    capture->thread = this_thread().number;
    capture->origin_stream = stream;
    capture->graph = std::make_shared<Graph>();
    capture->graph->handle = state.graphs.add(capture->graph);
    state.captures.push_back(capture);
    stream->capture = capture;
    stream->capture_tail.clear();
}

// Why a capture cannot end well here and now; it ends all the same, but for the first two.
CUresult reason_to_fail(const Capture &capture, const Stream &stream) {
    if (capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture.thread != this_thread().number) {
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    }
    if (!capture.valid) {
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    return joined(capture, stream) ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
}

void end(Call &call, CUstream handle, CUgraph *out) {
    if (out != nullptr) {
        *out = nullptr;
    }
    const auto stream = call.stream(handle);
    const auto capture = stream->capture;
    require(capture != nullptr, CUDA_ERROR_ILLEGAL_STATE);
    if (capture->origin_stream.lock() != stream) {
        break_capture(call.state(), *capture);
        refuse(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    }
    if (const CUresult failure = reason_to_fail(*capture, *stream); failure != CUDA_SUCCESS) {
        discard(call.state(), capture);
        refuse(failure);
    }
    finish(call.state(), capture);
    if (out != nullptr) {
        *out = capture->graph->handle;
    } else {
        call.state().graphs.remove(capture->graph->handle);
        drop_graph(call.state(), *capture->graph);
    }
}

// Without breaking anything: a question, not a use.
std::shared_ptr<Stream> stream_to_ask(Call &call, CUstream handle) {
    const auto stream = find_stream(call, handle);
    if (stream->kind == Stream::Kind::legacy) {
        require(!legacy_meets_capture(*stream->context), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    }
    return stream;
}

CUstreamCaptureStatus status_of(const Stream &stream) {
    if (stream.capture == nullptr) {
        return CU_STREAM_CAPTURE_STATUS_NONE;
    }
    return stream.capture->valid ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

struct CaptureInfo {
    CUstreamCaptureStatus *status;
    cuuint64_t *id;
    CUgraph *graph;
    const CUgraphNode **dependencies;
    size_t *count;
};

void report_capture(Call &call, CUstream handle, const CaptureInfo &into) {
    const auto stream = stream_to_ask(call, handle);
    require(into.status != nullptr);
    *into.status = status_of(*stream);
    if (*into.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
        return;
    }
    Graph &graph = *stream->capture->graph;
    graph.tail_handles.clear();
    for (const size_t node : stream->capture_tail) {
        graph.tail_handles.push_back(graph.nodes[node].handle);
    }
    if (into.id != nullptr) {
        *into.id = stream->capture->id;
    }
    if (into.graph != nullptr) {
        *into.graph = graph.handle;
    }
    if (into.dependencies != nullptr) {
        *into.dependencies = graph.tail_handles.data();
    }
    if (into.count != nullptr) {
        *into.count = graph.tail_handles.size();
    }
}

}  // namespace

void break_capture(Driver &state, Capture &capture) {
    if (capture.valid) {
        state.count(FAKE_CAPTURE_BROKEN);
    }
    capture.valid = false;
}

void check_capture(const Stream &stream) {
    require(stream.capture == nullptr || stream.capture->valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

void refuse_captured(Driver &state, const Stream &stream) {
    if (stream.capture != nullptr) {
        break_capture(state, *stream.capture);
        refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
}

bool legacy_meets_capture(const Context &context) {
    return std::any_of(context.streams.begin(), context.streams.end(),
                       [](const auto &stream) { return stream->blocking() && stream->capture != nullptr; });
}

void break_captures_before_legacy(Driver &state, const Context &context) {
    if (!legacy_meets_capture(context)) {
        return;
    }
    for (const auto &stream : context.streams) {
        if (stream->blocking() && stream->capture != nullptr) {
            break_capture(state, *stream->capture);
        }
    }
    refuse(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
}

void refuse_captures_of(Driver &state, const Context &context) {
    bool found = false;
    for (const auto &stream : context.streams) {
        if (stream->capture != nullptr) {
            break_capture(state, *stream->capture);
            found = true;
        }
    }
    require(!found, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

void forbid_under_capture(Driver &state, const ThreadState &thread) {
    bool forbidden = false;
    for (const auto &capture : state.captures) {
        if (forbids(*capture, thread)) {
            break_capture(state, *capture);
            forbidden = true;
        }
    }
    require(!forbidden, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

void add_node(Stream &stream, CUgraphNodeType type, Work work) {
    check_capture(stream);
    Graph &graph = *stream.capture->graph;
    graph.nodes.push_back(
        {reinterpret_cast<CUgraphNode>(new_handle()), type, std::move(work), stream.capture_tail, stream.context});
    stream.capture_tail = {graph.nodes.size() - 1};
}

void own_in_graph(const Stream &stream, const BlockPtr &block) {
    stream.capture->graph->memory.push_back(block);
    ++block->graphs;
}

void join_capture(const std::shared_ptr<Stream> &stream, const std::shared_ptr<Capture> &capture,
                  const std::vector<size_t> &after) {
    stream->capture = capture;
    for (const size_t node : after) {
        if (std::find(stream->capture_tail.begin(), stream->capture_tail.end(), node) == stream->capture_tail.end()) {
            stream->capture_tail.push_back(node);
        }
    }
}

void abandon_capture(Driver &state, Stream &stream) {
    const auto capture = stream.capture;
    if (capture == nullptr) {
        return;
    }
    break_capture(state, *capture);
    if (capture->origin_stream.lock().get() == &stream) {
        discard(state, capture);
    }
    stream.capture = nullptr;
}

}  // namespace fake

using namespace fake;

extern "C" {

CUresult CUDAAPI cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode) {
    return enter(Fn::cuStreamBeginCapture_v2, [&](Call &call) { begin(call, hStream, mode); });
}

CUresult CUDAAPI cuStreamEndCapture(CUstream hStream, CUgraph *phGraph) {
    return enter(Fn::cuStreamEndCapture, [&](Call &call) { end(call, hStream, phGraph); });
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *captureStatus) {
    return enter(Fn::cuStreamIsCapturing, [&](Call &call) {
        const auto stream = stream_to_ask(call, hStream);
        require(captureStatus != nullptr);
        *captureStatus = status_of(*stream);
    });
}

CUresult CUDAAPI cuStreamGetCaptureInfo(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                        cuuint64_t *id_out) {
    return enter(Fn::cuStreamGetCaptureInfo, [&](Call &call) {
        report_capture(call, hStream, {captureStatus_out, id_out, nullptr, nullptr, nullptr});
    });
}

CUresult CUDAAPI cuStreamGetCaptureInfo_v2(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                           cuuint64_t *id_out, CUgraph *graph_out, const CUgraphNode **dependencies_out,
                                           size_t *numDependencies_out) {
    return enter(Fn::cuStreamGetCaptureInfo_v2, [&](Call &call) {
        report_capture(call, hStream, {captureStatus_out, id_out, graph_out, dependencies_out, numDependencies_out});
    });
}

CUresult CUDAAPI cuStreamGetCaptureInfo_v3(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                           cuuint64_t *id_out, CUgraph *graph_out, const CUgraphNode **dependencies_out,
                                           const CUgraphEdgeData **edgeData_out, size_t *numDependencies_out) {
    return enter(Fn::cuStreamGetCaptureInfo_v3, [&](Call &call) {
        report_capture(call, hStream, {captureStatus_out, id_out, graph_out, dependencies_out, numDependencies_out});
        if (edgeData_out != nullptr) {
            *edgeData_out = nullptr;
        }
    });
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
    return enter(Fn::cuThreadExchangeStreamCaptureMode, [&](Call &) {
        require(mode != nullptr);
        std::swap(*mode, this_thread().capture_mode);
    });
}
}
