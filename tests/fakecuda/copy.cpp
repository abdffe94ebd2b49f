#include "copy.hpp"

#include <cstring>

#include "capture.hpp"
#include "stream.hpp"

namespace fake {
namespace {

// The bytes of one side while a copy runs.
View view_of(Driver &state, Context &context, const Transfer &transfer, const Side &side) {
    if (side.plain) {
        View view;
        view.data = reinterpret_cast<char *>(side.address);
        return view;
    }
    const size_t bytes = side.reach(transfer.width, transfer.height, transfer.depth);
    return touch(state, context, side.address, bytes, By::copy_engine);
}

bool is_reached(const Driver &state, int device, const Block &block) {
    for (const auto &context : state.contexts.all()) {
        if (context->device == device && may_touch(*context, block, By::kernel)) {
            return true;
        }
    }
    return false;
}

// Where neither of two devices reaches what the other has, the driver goes through the host's memory.
bool goes_through_host(const Driver &state, const View &to, const View &from) {
    if (to.keep.empty() || from.keep.empty()) {
        return false;
    }
    const Block &there = *to.keep.front();
    const Block &here = *from.keep.front();
    return !there.host_touchable() && !here.host_touchable() && there.device != here.device &&
           !is_reached(state, here.device, there) && !is_reached(state, there.device, here);
}

void move_rows(const Transfer &transfer, char *to, const char *from) {
    for (size_t z = 0; z < transfer.depth; ++z) {
        for (size_t y = 0; y < transfer.height; ++y) {
            std::memmove(to + z * transfer.to.slice + y * transfer.to.pitch,
                         from + z * transfer.from.slice + y * transfer.from.pitch, transfer.width);
        }
    }
}

Work moving(const Transfer &transfer) {
    return [transfer](Context &context) { run_transfer(transfer, context); };
}

// The source of a pageable copy, read while the caller waits.
std::shared_ptr<std::vector<char>> stage(const Transfer &transfer) {
    auto staged = std::make_shared<std::vector<char>>(transfer.bytes());
    Transfer packed = transfer;
    packed.to.pitch = transfer.width;
    packed.to.slice = transfer.width * transfer.height;
    move_rows(packed, staged->data(), reinterpret_cast<const char *>(transfer.from.address));
    return staged;
}

Work moving_staged(const Transfer &transfer, const std::shared_ptr<std::vector<char>> &staged) {
    Transfer packed = transfer;
    packed.from.address = reinterpret_cast<CUdeviceptr>(staged->data());
    packed.from.pitch = transfer.width;
    packed.from.slice = transfer.width * transfer.height;
    return [packed, staged](Context &context) { run_transfer(packed, context); };
}

// From pageable memory to the device: the source may be reused on return, the target is written in stream order.
void send_staged(Call &call, const std::shared_ptr<Stream> &stream, const Transfer &transfer, When when) {
    const auto limit = static_cast<size_t>(call.state().setting(FAKE_STAGED_BYTES));
    if (when == When::before_return || transfer.bytes() > limit) {
        wait_for_stream(call, stream);
    }
    call.lock().unlock();
    auto staged = stage(transfer);
    call.lock().lock();
    check_usable(*stream->context);
    enqueue(call.state(), stream, moving_staged(transfer, staged));
}

// Whether the caller finds the bytes moved when the call returns. A device that walks the host's page tables leaves
// host memory to the stream, whoever allocated it.
bool must_wait(const Transfer &transfer, When when, bool walks) {
    if ((transfer.to.plain && !walks) || (!transfer.to.device && !transfer.from.device)) {
        return true;
    }
    const bool host_involved = !transfer.to.device || !transfer.from.device;
    return when == When::before_return && host_involved;
}

}  // namespace

void run_transfer(const Transfer &transfer, Context &context) {
    Driver &state = driver();
    std::unique_lock lock(state.mutex);
    const View from = view_of(state, context, transfer, transfer.from);
    const View to = from.data == nullptr ? View() : view_of(state, context, transfer, transfer.to);
    if (to.data != nullptr && goes_through_host(state, to, from)) {
        state.bytes_through_host += static_cast<int64_t>(transfer.bytes());
    }
    lock.unlock();
    if (to.data != nullptr) {
        move_rows(transfer, to.data, from.data);
    }
}

void resolve(Driver &state, const Transfer &transfer, Side &side, Where where) {
    if (transfer.empty()) {
        return;
    }
    require(side.address != 0);
    const BlockPtr block = find_block(state, side.address);
    if (block == nullptr && was_freed(state, side.address)) {
        state.count(FAKE_USE_AFTER_FREE);
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
    if (block == nullptr) {
        require(where == Where::anywhere);
        side.plain = true;
        return;
    }
    check_range(state, side.address, side.reach(transfer.width, transfer.height, transfer.depth));
    side.device = !block->host();
}

Transfer line(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    Transfer made;
    made.to.address = to;
    made.from.address = from;
    made.to.pitch = made.from.pitch = made.to.slice = made.from.slice = bytes;
    made.width = bytes;
    return made;
}

void transfer_on(Call &call, const std::shared_ptr<Stream> &stream, const Transfer &transfer, When when) {
    check_capture(*stream);
    if (transfer.empty()) {
        return;
    }
    const bool walks = walks_page_tables(call.state(), stream->context->device);
    if (stream->capture != nullptr) {
        add_node(*stream, CU_GRAPH_NODE_TYPE_MEMCPY, moving(transfer));
    } else if (transfer.from.plain && transfer.to.device && !walks) {
        send_staged(call, stream, transfer, when);
    } else {
        const OpPtr op = enqueue(call.state(), stream, moving(transfer));
        if (must_wait(transfer, when, walks)) {
            call.wait_for(op, stream->context);
        }
    }
}

}  // namespace fake
