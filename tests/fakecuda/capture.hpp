// Capture of streams into graphs: what is recorded, what breaks a capture, what a capture forbids.
#ifndef FAKECUDA_CAPTURE_HPP
#define FAKECUDA_CAPTURE_HPP

#include "memory.hpp"

namespace fake {

struct UserObject {
    CUuserObject handle = nullptr;
    void *data = nullptr;
    CUhostFn destroy = nullptr;
    uint64_t references = 0;
};

// References to user objects that a graph, or an executable one, has.
using Holds = std::map<std::shared_ptr<UserObject>, uint64_t>;

struct Node {
    CUgraphNode handle = nullptr;
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    Work work;
    std::vector<size_t> after;
    std::shared_ptr<Context> context;
};

struct Graph {
    CUgraph handle = nullptr;
    std::vector<Node> nodes;
    Holds holds;
    std::vector<BlockPtr> memory;
    std::vector<CUgraphNode> tail_handles;  // what cuStreamGetCaptureInfo exports out
};

// The work of a graph in the order of its capture, which is one of the orders that its edges allow.
struct GraphExec {
    CUgraphExec handle = nullptr;
    std::vector<Node> nodes;
    Holds holds;
    std::vector<BlockPtr> memory;
    int launches = 0;  // under way
    bool destroyed = false;
};

struct Capture {
    unsigned long long id = 0;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    uint64_t thread = 0;
    std::shared_ptr<Graph> graph;
    std::weak_ptr<Stream> origin_stream;
    bool valid = true;
    bool over = false;
};

void break_capture(Driver &state, Capture &capture);

// Refuses a stream whose capture is broken.
void check_capture(const Stream &stream);

// Refuses a stream under capture, breaking that.
void refuse_captured(Driver &state, const Stream &stream);

// Breaks and refuses where the legacy stream would have to wait for a captured one.
void break_captures_before_legacy(Driver &state, const Context &context);
bool legacy_meets_capture(const Context &context);

// Breaks all captures of a context, refusing, if there are any.
void refuse_captures_of(Driver &state, const Context &context);

void forbid_under_capture(Driver &state, const ThreadState &thread);

void add_node(Stream &stream, CUgraphNodeType type, Work work);
void own_in_graph(const Stream &stream, const BlockPtr &block);

// Makes a stream part of a capture, behind the nodes given.
void join_capture(const std::shared_ptr<Stream> &stream, const std::shared_ptr<Capture> &capture,
                  const std::vector<size_t> &after);

// What becomes of a capture when one of its streams is destroyed.
void abandon_capture(Driver &state, Stream &stream);

void retain_all(const Holds &holds);
void release(Driver &state, Holds &holds);
void release_object(Driver &state, const std::shared_ptr<UserObject> &object, uint64_t count);
void drop_graph(Driver &state, Graph &graph);
void end_graph_memory(Driver &state, std::vector<BlockPtr> &memory);

}  // namespace fake

#endif
