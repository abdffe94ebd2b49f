// The control interface: settings, streams that stand still, faults, counts.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "capture.hpp"
#include "event.hpp"
#include "memory.hpp"
#include "stream.hpp"

namespace fake {
namespace {

using Guard = std::lock_guard<std::mutex>;

// A stream as the calling thread names it; none if there is no such stream.
std::shared_ptr<Stream> named(void *handle) {
    Driver &state = driver();
    const auto stream = static_cast<CUstream>(handle);
    if (stream != nullptr && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD) {
        return state.streams.find(stream);
    }
    const ThreadState &thread = this_thread();
    const auto context = thread.stack.empty() ? nullptr : state.contexts.find(thread.stack.back());
    if (context == nullptr || !context->alive) {
        return nullptr;
    }
    if (stream != CU_STREAM_PER_THREAD) {
        return context->legacy;
    }
    auto &mine = context->per_thread[thread.number];
    if (mine == nullptr) {
        mine = make_stream(state, context, Stream::Kind::per_thread, CU_STREAM_DEFAULT, 0);
    }
    return mine;
}

void hold(Stream &stream, bool held) {
    stream.held = held;
    stream.steps = 0;
    driver().changed.notify_all();
}

void hold_all(bool held) {
    for (const auto &context : driver().contexts.all()) {
        for (const auto &stream : context->streams) {
            hold(*stream, held);
        }
    }
}

void forget_objects(Driver &state) {
    for (const auto &context : state.contexts.all()) {
        for (const auto &stream : context->streams) {
            stream->context = nullptr;
            stream->capture = nullptr;
        }
        context->streams.clear();
        context->legacy = nullptr;
        context->per_thread.clear();
    }
    state.contexts.clear();
    state.context_devices.clear();
    state.streams.clear();
    state.events.clear();
    state.pools.clear();
    state.graphs.clear();
    state.graph_execs.clear();
    state.user_objects.clear();
    state.modules.clear();
    state.functions.clear();
    state.captures.clear();
    state.devices.clear();
}

void forget_memory(Driver &state) {
    state.blocks.clear();
    state.freed.clear();
    state.reservations.clear();
    state.physicals.clear();
    for (const auto &[address, size] : state.regions) {
        munmap(address, size);
    }
    state.regions.clear();
}

void forget_control(Driver &state) {
    state.kernels.clear();
    state.faults.clear();
    state.faults_injected = 0;
    state.fault_counts.fill(0);
    state.call_counts.fill(0);
    state.calls = 0;
    state.call_log.clear();
    state.misuse.fill(0);
    state.peer_settings.clear();
    state.attribute_settings.clear();
    state.dying.clear();
    read_environment(state);
    add_library_kernels(state);
}

int64_t count_blocks(const Driver &state, Block::Kind kind) {
    return std::count_if(state.blocks.begin(), state.blocks.end(),
                         [&](const auto &entry) { return entry.second->kind == kind; });
}

int64_t count_contexts(const Driver &state) {
    const auto all = state.contexts.all();
    return std::count_if(all.begin(), all.end(), [](const auto &context) { return context->alive; });
}

int64_t count_retains(const Driver &state) {
    int64_t sum = 0;
    for (const Device &device : state.devices) {
        sum += device.retains;
    }
    return sum;
}

int64_t count_pools(const Driver &state) {
    const auto all = state.pools.all();
    return std::count_if(all.begin(), all.end(), [](const auto &pool) { return !pool->is_default; });
}

int64_t live(const Driver &state, fake_kind kind) {
    switch (kind) {
        case FAKE_CONTEXTS:
            return count_contexts(state);
        case FAKE_PRIMARY_RETAINS:
            return count_retains(state);
        case FAKE_STREAMS:
            return static_cast<int64_t>(state.streams.size());
        case FAKE_EVENTS:
            return static_cast<int64_t>(state.events.size());
        case FAKE_DEVICE_ALLOCATIONS:
            return count_blocks(state, Block::Kind::device);
        case FAKE_POOL_ALLOCATIONS:
            return count_blocks(state, Block::Kind::pool);
        case FAKE_MANAGED_ALLOCATIONS:
            return count_blocks(state, Block::Kind::managed);
        case FAKE_PINNED_ALLOCATIONS:
            return count_blocks(state, Block::Kind::pinned);
        case FAKE_HOST_REGISTRATIONS:
            return count_blocks(state, Block::Kind::registered);
        case FAKE_RESERVATIONS:
            return static_cast<int64_t>(state.reservations.size());
        case FAKE_MAPPINGS:
            return count_blocks(state, Block::Kind::mapping);
        case FAKE_PHYSICAL_HANDLES:
            return static_cast<int64_t>(state.physicals.size());
        case FAKE_POOLS:
            return count_pools(state);
        case FAKE_MODULES:
            return static_cast<int64_t>(state.modules.size());
        case FAKE_GRAPHS:
            return static_cast<int64_t>(state.graphs.size());
        case FAKE_GRAPH_EXECS:
            return static_cast<int64_t>(state.graph_execs.size());
        case FAKE_USER_OBJECTS:
            return static_cast<int64_t>(state.user_objects.size());
        default:
            return 0;
    }
}

const char *const kind_names[FAKE_KIND_COUNT] = {
    "contexts",
    "primary retains",
    "streams",
    "events",
    "device allocations",
    "pool allocations",
    "managed allocations",
    "pinned allocations",
    "host registrations",
    "address reservations",
    "mappings",
    "physical handles",
    "pools",
    "modules",
    "graphs",
    "executable graphs",
    "user objects",
};

size_t give_text(const std::string &text, char *out, size_t capacity) {
    if (out != nullptr && capacity > 0) {
        std::snprintf(out, capacity, "%s", text.c_str());
    }
    return text.size();
}

void add_fault(const char *function, int64_t n, int32_t result, Fault::Kind kind) {
    const Guard lock(driver().mutex);
    driver().faults.push_back({function == nullptr ? "" : function, n, static_cast<CUresult>(result), kind});
}

using Counts = std::array<int64_t, static_cast<size_t>(Fn::count)>;

// Of all forms of a function.
int64_t sum_of(const Counts &counts, const char *function) {
    int64_t sum = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
        sum += function_is(static_cast<Fn>(i), function) ? counts[i] : 0;
    }
    return sum;
}

int32_t move_bytes(uint64_t address, size_t count, const std::function<void(char *)> &move) {
    const Guard lock(driver().mutex);
    const View view = peek(driver(), address, count);
    if (view.data == nullptr) {
        return 0;
    }
    move(view.data);
    return 1;
}

}  // namespace
}  // namespace fake

using namespace fake;

extern "C" {

void fake_reset(void) {
    Driver &state = driver();
    std::unique_lock lock(state.mutex);
    if (!state.initialised || state.process == getpid()) {
        stop_workers(state, lock);
    }
    forget_objects(state);
    forget_memory(state);
    forget_control(state);
    state.initialised = false;
    state.lost = CUDA_SUCCESS;
    ++state.epoch;
}

void fake_set(fake_setting setting, int64_t value) {
    const Guard lock(driver().mutex);
    if (setting >= 0 && setting < FAKE_SETTING_COUNT) {
        driver().settings[setting] = value;
    }
}

int64_t fake_get(fake_setting setting) {
    const Guard lock(driver().mutex);
    return setting >= 0 && setting < FAKE_SETTING_COUNT ? driver().settings[setting] : 0;
}

void fake_set_peer(int32_t device, int32_t peer, int32_t can_access) {
    const Guard lock(driver().mutex);
    driver().peer_settings[{device, peer}] = can_access != 0;
}

void fake_set_attribute(int32_t device, int32_t attribute, int32_t value) {
    const Guard lock(driver().mutex);
    driver().attribute_settings[{device, attribute}] = value;
}

void fake_stream_hold(void *stream) {
    const Guard lock(driver().mutex);
    if (const auto found = named(stream)) {
        hold(*found, true);
    }
}

void fake_stream_release(void *stream) {
    const Guard lock(driver().mutex);
    if (const auto found = named(stream)) {
        hold(*found, false);
    }
}

void fake_stream_step(void *stream, int32_t count) {
    const Guard lock(driver().mutex);
    if (const auto found = named(stream)) {
        found->steps += count;
        driver().changed.notify_all();
    }
}

int32_t fake_stream_pending(void *stream) {
    const Guard lock(driver().mutex);
    const auto found = named(stream);
    return found == nullptr ? 0 : static_cast<int32_t>(found->queue.size());
}

void fake_stream_delay(void *stream, int32_t microseconds) {
    const Guard lock(driver().mutex);
    if (const auto found = named(stream)) {
        found->delay_us = microseconds;
    }
}

int32_t fake_streams(void **out_streams, int32_t capacity) {
    const Guard lock(driver().mutex);
    int32_t count = 0;
    for (const auto &stream : driver().streams.all()) {
        if (count < capacity) {
            out_streams[count] = stream->handle;
        }
        ++count;
    }
    return count;
}

void fake_hold_all(void) {
    const Guard lock(driver().mutex);
    hold_all(true);
}

void fake_release_all(void) {
    const Guard lock(driver().mutex);
    hold_all(false);
}

int32_t fake_device_read(uint64_t address, void *out_bytes, size_t count) {
    return move_bytes(address, count, [&](const char *view) { std::memcpy(out_bytes, view, count); });
}

int32_t fake_device_write(uint64_t address, const void *bytes, size_t count) {
    return move_bytes(address, count, [&](char *view) { std::memcpy(view, bytes, count); });
}

int64_t fake_device_used(int32_t device) {
    const Guard lock(driver().mutex);
    const auto &devices = driver().devices;
    const auto at = static_cast<size_t>(device);
    return at < devices.size() ? static_cast<int64_t>(devices[at].used) : 0;
}

void fake_register_kernel(const char *name, fake_kernel kernel, void *user, int32_t param_count,
                          const size_t *param_sizes) {
    const Guard lock(driver().mutex);
    KernelEntry &entry = driver().kernels[name];
    entry.run = kernel;
    entry.user = user;
    entry.param_sizes.assign(param_sizes, param_sizes + param_count);
}

void fake_set_kernel_attribute(const char *name, int32_t attribute, int32_t value) {
    const Guard lock(driver().mutex);
    driver().kernels[name].attributes[attribute] = value;
}

void *fake_device_address(uint64_t address, size_t count) {
    const Guard lock(driver().mutex);
    Context *context = this_thread().running;
    return context == nullptr ? nullptr : touch(driver(), *context, address, count, By::kernel).data;
}

void fake_fail_at(const char *function, int64_t n, int32_t result) {
    add_fault(function, n, result, Fault::Kind::Once);
}

void fake_fail_from(const char *function, int64_t n, int32_t result) {
    add_fault(function, n, result, Fault::Kind::Stays);
}

void fake_poison_at(const char *function, int64_t n, int32_t result) {
    add_fault(function, n, result, Fault::Kind::Poisons);
}

void fake_spare_thread(int32_t spared) {
    const Guard lock(driver().mutex);
    this_thread().spared = spared != 0;
}

void fake_clear_faults(void) {
    const Guard lock(driver().mutex);
    driver().faults.clear();
}

int64_t fake_faults_injected(void) {
    const Guard lock(driver().mutex);
    return driver().faults_injected;
}

int64_t fake_fault_count(const char *function) {
    const Guard lock(driver().mutex);
    return sum_of(driver().fault_counts, function);
}

void fake_poison(int32_t result) {
    const Guard lock(driver().mutex);
    const auto &stack = this_thread().stack;
    if (const auto context = stack.empty() ? nullptr : driver().contexts.find(stack.back())) {
        poison(*context, static_cast<CUresult>(result));
    }
}

int64_t fake_call_count(const char *function) {
    const Guard lock(driver().mutex);
    if (function == nullptr) {
        return driver().calls;
    }
    return sum_of(driver().call_counts, function);
}

int64_t fake_calls(char *out_text, size_t capacity) {
    const Guard lock(driver().mutex);
    std::string text;
    for (auto call = driver().call_log.rbegin(); call != driver().call_log.rend(); ++call) {
        const std::string one = std::string(function_symbol(call->first)) + " = " + std::to_string(call->second) + "\n";
        if (text.size() + one.size() >= capacity) {
            break;
        }
        text.insert(0, one);
    }
    give_text(text, out_text, capacity);
    return driver().calls;
}

int64_t fake_live(fake_kind kind) {
    const Guard lock(driver().mutex);
    return live(driver(), kind);
}

int64_t fake_live_objects(void) {
    const Guard lock(driver().mutex);
    int64_t sum = 0;
    for (int kind = 0; kind < FAKE_KIND_COUNT; ++kind) {
        sum += live(driver(), static_cast<fake_kind>(kind));
    }
    return sum;
}

size_t fake_live_text(char *out_text, size_t capacity) {
    const Guard lock(driver().mutex);
    std::string text;
    for (int kind = 0; kind < FAKE_KIND_COUNT; ++kind) {
        const int64_t count = live(driver(), static_cast<fake_kind>(kind));
        if (count > 0) {
            text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + kind_names[kind];
        }
    }
    return give_text(text, out_text, capacity);
}

int64_t fake_misused(fake_misuse misuse) {
    const Guard lock(driver().mutex);
    return misuse >= 0 && misuse < FAKE_MISUSE_COUNT ? driver().misuse[misuse] : 0;
}

int64_t fake_bytes_through_host(void) {
    const Guard lock(driver().mutex);
    return driver().bytes_through_host;
}

int64_t fake_misuse_total(void) {
    const Guard lock(driver().mutex);
    int64_t sum = 0;
    for (int misuse = 0; misuse < FAKE_MISUSE_COUNT; ++misuse) {
        sum += misuse == FAKE_CAPTURE_BROKEN ? 0 : driver().misuse[misuse];
    }
    return sum;
}
}
