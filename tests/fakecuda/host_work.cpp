// Work of streams that meets the host: host functions, callbacks, and words that are written or waited for.
#include <cstring>

#include "capture.hpp"
#include "memory.hpp"
#include "stream.hpp"

namespace fake {
namespace {

// Inside, this thread may not call the driver.
template <class Code>
void as_callback(Code code) {
    ThreadState &thread = this_thread();
    ++thread.callbacks;
    code();
    --thread.callbacks;
}

void launch_host(Call &call, CUstream on, CUhostFn function, void *data) {
    const auto stream = call.stream(on);
    require(function != nullptr);
    check_capture(*stream);
    submit(call, stream, CU_GRAPH_NODE_TYPE_HOST,
           [function, data](Context &) { as_callback([&] { function(data); }); });
}

void add_callback(Call &call, CUstream on, CUstreamCallback function, void *data) {
    const auto stream = call.stream(on);
    require(function != nullptr);
    refuse_captured(call.state(), *stream);
    auto op = std::make_shared<Op>();
    op->always = true;
    op->work = [function, data, on](Context &context) { as_callback([&] { function(on, context.error, data); }); };
    enqueue(call.state(), stream, op);
}

template <class Word>
void check_word(Call &call, CUdeviceptr address) {
    require(address % sizeof(Word) == 0);
    check_range(call.state(), address, sizeof(Word));
}

template <class Word>
void write_word(Call &call, CUstream on, CUdeviceptr address, Word value) {
    const auto stream = call.stream(on);
    check_word<Word>(call, address);
    check_capture(*stream);
    submit(call, stream, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, [address, value](Context &context) {
        std::unique_lock lock(driver().mutex);
        const View view = touch(driver(), context, address, sizeof value, By::copy_engine);
        if (view.data != nullptr) {
            __atomic_store_n(reinterpret_cast<Word *>(view.data), value, __ATOMIC_RELEASE);
            driver().changed.notify_all();
        }
    });
}

template <class Word>
bool holds(Word now, Word value, unsigned int flags) {
    switch (flags & 3u) {
        case CU_STREAM_WAIT_VALUE_GEQ:
            return static_cast<std::make_signed_t<Word>>(now - value) >= 0;
        case CU_STREAM_WAIT_VALUE_EQ:
            return now == value;
        case CU_STREAM_WAIT_VALUE_AND:
            return (now & value) != 0;
        default:
            return (now | value) != static_cast<Word>(~Word{0});
    }
}

template <class Word>
void wait_word(Call &call, CUstream on, CUdeviceptr address, Word value, unsigned int flags) {
    const auto stream = call.stream(on);
    check_word<Word>(call, address);
    refuse_captured(call.state(), *stream);
    auto op = std::make_shared<Op>();
    op->ready = [address, value, flags, stream = stream.get()] {
        const View view = peek(driver(), address, sizeof value);
        return view.data == nullptr || stream->context->error != CUDA_SUCCESS ||
               holds(__atomic_load_n(reinterpret_cast<const Word *>(view.data), __ATOMIC_ACQUIRE), value, flags);
    };
    enqueue(call.state(), stream, op);
}

}  // namespace
}  // namespace fake

using namespace fake;

extern "C" {

CUresult CUDAAPI cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData) {
    return enter(Fn::cuLaunchHostFunc, [&](Call &call) { launch_host(call, hStream, fn, userData); });
}

CUresult CUDAAPI cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData, unsigned int flags) {
    return enter(Fn::cuStreamAddCallback, [&](Call &call) {
        require(flags == 0);
        add_callback(call, hStream, callback, userData);
    });
}

CUresult CUDAAPI cuStreamWriteValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int) {
    return enter(Fn::cuStreamWriteValue32, [&](Call &call) { write_word(call, stream, addr, value); });
}

CUresult CUDAAPI cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int) {
    return enter(Fn::cuStreamWriteValue32_v2, [&](Call &call) { write_word(call, stream, addr, value); });
}

CUresult CUDAAPI cuStreamWriteValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int) {
    return enter(Fn::cuStreamWriteValue64, [&](Call &call) { write_word(call, stream, addr, value); });
}

CUresult CUDAAPI cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int) {
    return enter(Fn::cuStreamWriteValue64_v2, [&](Call &call) { write_word(call, stream, addr, value); });
}

CUresult CUDAAPI cuStreamWaitValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags) {
    return enter(Fn::cuStreamWaitValue32, [&](Call &call) { wait_word(call, stream, addr, value, flags); });
}

CUresult CUDAAPI cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags) {
    return enter(Fn::cuStreamWaitValue32_v2, [&](Call &call) { wait_word(call, stream, addr, value, flags); });
}

CUresult CUDAAPI cuStreamWaitValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags) {
    return enter(Fn::cuStreamWaitValue64, [&](Call &call) { wait_word(call, stream, addr, value, flags); });
}

CUresult CUDAAPI cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags) {
    return enter(Fn::cuStreamWaitValue64_v2, [&](Call &call) { wait_word(call, stream, addr, value, flags); });
}
}
