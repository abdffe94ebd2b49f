// Streams: queues of work, each worked off by a thread of its own, and the order between them.
#ifndef FAKECUDA_STREAM_HPP
#define FAKECUDA_STREAM_HPP

#include "call.hpp"

namespace fake {

std::shared_ptr<Stream> make_stream(Driver &state, const std::shared_ptr<Context> &context, Stream::Kind kind,
                                    unsigned int flags, int priority);

// The stream that a handle means to this thread, fit for use.
std::shared_ptr<Stream> find_stream(Call &call, CUstream handle);

// Puts work at the end of a stream, behind all that the stream's kind makes it wait for.
OpPtr enqueue(Driver &state, const std::shared_ptr<Stream> &stream, Work work);
OpPtr enqueue(Driver &state, const std::shared_ptr<Stream> &stream, const OpPtr &op);

// The same, or a node of the graph that the stream is captured into: then there is no op.
OpPtr submit(Call &call, const std::shared_ptr<Stream> &stream, CUgraphNodeType type, Work work);

// What has to end before a stream counts as idle.
std::vector<OpPtr> unfinished(const Stream &stream);
std::vector<OpPtr> unfinished(const Context &context);

void wait_for_stream(Call &call, const std::shared_ptr<Stream> &stream);

// No further work will come; what is queued still runs.
void defer_release(Driver &state, const std::shared_ptr<Stream> &stream);

// Ends all threads, dropping what they have not begun.
void stop_workers(Driver &state, std::unique_lock<std::mutex> &lock);

// Calls the destructors of user objects that nothing refers to any more; opens the lock.
void run_destructors(Driver &state, std::unique_lock<std::mutex> &lock);

}  // namespace fake

#endif
