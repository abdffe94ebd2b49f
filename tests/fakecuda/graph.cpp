#include <utility>

#include "capture.hpp"
#include "stream.hpp"

namespace fake {
namespace {

std::shared_ptr<Graph> graph_of(Call &call, CUgraph handle) {
    return look_up(call, call.state().graphs, handle, CUDA_ERROR_INVALID_VALUE);
}

void retain_memory(const std::vector<BlockPtr> &memory) {
    for (const BlockPtr &block : memory) {
        ++block->graphs;
    }
}

void instantiate(Call &call, CUgraphExec *out, CUgraph handle) {
    require(out != nullptr);
    const auto graph = graph_of(call, handle);
    call.unsafe();
    auto made = std::make_shared<GraphExec>();
    made->nodes = graph->nodes;
    made->holds = graph->holds;
    made->memory = graph->memory;
    retain_all(made->holds);
    retain_memory(made->memory);
    *out = made->handle = call.state().graph_execs.add(made);
}

void end_exec(Driver &state, GraphExec &exec) {
    if (exec.destroyed && exec.launches == 0) {
        release(state, exec.holds);
        end_graph_memory(state, exec.memory);
        exec.nodes.clear();
    }
}

// In the context of the stream that it was captured on, which may be another device's.
void run_node(const Node &node) {
    Context &context = *node.context;
    if (node.work && context.alive && context.error == CUDA_SUCCESS) {
        Context *const before = std::exchange(this_thread().running, &context);
        node.work(context);
        this_thread().running = before;
    }
}

Work run_exec(const std::shared_ptr<GraphExec> &exec) {
    return [exec](Context &context) {
        for (const Node &node : exec->nodes) {
            if (context.error == CUDA_SUCCESS) {
                run_node(node);
            }
        }
        const std::lock_guard lock(driver().mutex);
        --exec->launches;
        end_exec(driver(), *exec);
    };
}

void launch(Call &call, CUgraphExec handle, CUstream on) {
    const auto stream = call.stream(on);
    const auto exec = look_up(call, call.state().graph_execs, handle, CUDA_ERROR_INVALID_VALUE);
    check_capture(*stream);
    refuse_captured(call.state(), *stream);
    ++exec->launches;
    auto op = std::make_shared<Op>();
    op->always = true;
    op->work = run_exec(exec);
    enqueue(call.state(), stream, op);
}

std::shared_ptr<UserObject> object_of(Call &call, CUuserObject handle) {
    return look_up(call, call.state().user_objects, handle, CUDA_ERROR_INVALID_VALUE);
}

void retain_in_graph(Call &call, CUgraph graph_handle, CUuserObject handle, unsigned int count, unsigned int flags) {
    require(count > 0 && (flags & ~CU_GRAPH_USER_OBJECT_MOVE) == 0);
    const auto graph = graph_of(call, graph_handle);
    const auto object = object_of(call, handle);
    graph->holds[object] += count;
    if ((flags & CU_GRAPH_USER_OBJECT_MOVE) == 0) {
        object->references += count;
    }
}

}  // namespace

void retain_all(const Holds &holds) {
    for (const auto &[object, count] : holds) {
        object->references += count;
    }
}

void release_object(Driver &state, const std::shared_ptr<UserObject> &object, uint64_t count) {
    object->references -= std::min(object->references, count);
    if (object->references == 0 && state.user_objects.remove(object->handle) != nullptr) {
        state.dying.emplace_back(object->destroy, object->data);
    }
}

void release(Driver &state, Holds &holds) {
    for (const auto &[object, count] : holds) {
        release_object(state, object, count);
    }
    holds.clear();
}

// Memory of a graph's own ends with the last graph that can bring it to life.
void end_graph_memory(Driver &state, std::vector<BlockPtr> &memory) {
    for (const BlockPtr &block : memory) {
        if (--block->graphs == 0 && block->state != Block::State::gone) {
            end_block(state, block);
        }
    }
    memory.clear();
}

void drop_graph(Driver &state, Graph &graph) {
    release(state, graph.holds);
    graph.nodes.clear();
    end_graph_memory(state, graph.memory);
}

}  // namespace fake

using namespace fake;

extern "C" {

CUresult CUDAAPI cuGraphCreate(CUgraph *phGraph, unsigned int flags) {
    return enter(Fn::cuGraphCreate, [&](Call &call) {
        require(phGraph != nullptr && flags == 0);
        auto made = std::make_shared<Graph>();
        *phGraph = made->handle = call.state().graphs.add(made);
    });
}

CUresult CUDAAPI cuGraphClone(CUgraph *phGraphClone, CUgraph originalGraph) {
    return enter(Fn::cuGraphClone, [&](Call &call) {
        require(phGraphClone != nullptr);
        const auto original = graph_of(call, originalGraph);
        auto made = std::make_shared<Graph>(*original);
        retain_all(made->holds);
        retain_memory(made->memory);
        *phGraphClone = made->handle = call.state().graphs.add(made);
    });
}

CUresult CUDAAPI cuGraphDestroy(CUgraph hGraph) {
    return enter(Fn::cuGraphDestroy, [&](Call &call) {
        const auto graph = take(call, call.state().graphs, hGraph, CUDA_ERROR_INVALID_VALUE);
        drop_graph(call.state(), *graph);
    });
}

CUresult CUDAAPI cuGraphGetNodes(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes) {
    return enter(Fn::cuGraphGetNodes, [&](Call &call) {
        require(numNodes != nullptr);
        const auto graph = graph_of(call, hGraph);
        if (nodes != nullptr) {
            for (size_t i = 0; i < *numNodes; ++i) {
                nodes[i] = i < graph->nodes.size() ? graph->nodes[i].handle : nullptr;
            }
        }
        *numNodes = graph->nodes.size();
    });
}

CUresult CUDAAPI cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type) {
    return enter(Fn::cuGraphNodeGetType, [&](Call &call) {
        require(type != nullptr);
        for (const auto &graph : call.state().graphs.all()) {
            for (const Node &node : graph->nodes) {
                if (node.handle == hNode) {
                    *type = node.type;
                    return;
                }
            }
        }
        refuse(CUDA_ERROR_INVALID_VALUE);
    });
}

CUresult CUDAAPI cuGraphInstantiate(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *, char *, size_t) {
    return enter(Fn::cuGraphInstantiate, [&](Call &call) { instantiate(call, phGraphExec, hGraph); });
}

CUresult CUDAAPI cuGraphInstantiate_v2(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *, char *, size_t) {
    return enter(Fn::cuGraphInstantiate_v2, [&](Call &call) { instantiate(call, phGraphExec, hGraph); });
}

CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph, unsigned long long) {
    return enter(Fn::cuGraphInstantiateWithFlags, [&](Call &call) { instantiate(call, phGraphExec, hGraph); });
}

CUresult CUDAAPI cuGraphUpload(CUgraphExec hGraphExec, CUstream hStream) {
    return enter(Fn::cuGraphUpload, [&](Call &call) {
        const auto stream = call.stream(hStream);
        look_up(call, call.state().graph_execs, hGraphExec, CUDA_ERROR_INVALID_VALUE);
        refuse_captured(call.state(), *stream);
        enqueue(call.state(), stream, Work());
    });
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream) {
    return enter(Fn::cuGraphLaunch, [&](Call &call) { launch(call, hGraphExec, hStream); });
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec hGraphExec) {
    return enter(Fn::cuGraphExecDestroy, [&](Call &call) {
        const auto exec = take(call, call.state().graph_execs, hGraphExec, CUDA_ERROR_INVALID_VALUE);
        exec->destroyed = true;
        end_exec(call.state(), *exec);
    });
}

CUresult CUDAAPI cuUserObjectCreate(CUuserObject *object_out, void *ptr, CUhostFn destroy, unsigned int initialRefcount,
                                    unsigned int flags) {
    return enter(Fn::cuUserObjectCreate, [&](Call &call) {
        require(object_out != nullptr && destroy != nullptr && initialRefcount > 0);
        require(flags == CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
        auto made = std::make_shared<UserObject>();
        made->data = ptr;
        made->destroy = destroy;
        made->references = initialRefcount;
        *object_out = made->handle = call.state().user_objects.add(made);
    });
}

CUresult CUDAAPI cuUserObjectRetain(CUuserObject object, unsigned int count) {
    return enter(Fn::cuUserObjectRetain, [&](Call &call) {
        require(count > 0);
        object_of(call, object)->references += count;
    });
}

CUresult CUDAAPI cuUserObjectRelease(CUuserObject object, unsigned int count) {
    return enter(Fn::cuUserObjectRelease, [&](Call &call) {
        require(count > 0);
        release_object(call.state(), object_of(call, object), count);
    });
}

CUresult CUDAAPI cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count, unsigned int flags) {
    return enter(Fn::cuGraphRetainUserObject, [&](Call &call) { retain_in_graph(call, graph, object, count, flags); });
}

CUresult CUDAAPI cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count) {
    return enter(Fn::cuGraphReleaseUserObject, [&](Call &call) {
        const auto holder = graph_of(call, graph);
        const auto held = holder->holds.find(object_of(call, object));
        require(held != holder->holds.end() && held->second >= count);
        held->second -= count;
        release_object(call.state(), held->first, count);
        if (held->second == 0) {
            holder->holds.erase(held);
        }
    });
}
}
