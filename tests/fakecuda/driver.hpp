// The state of the fake driver. One lock guards all of it; only the work of streams, and callbacks, run without.
#ifndef FAKECUDA_DRIVER_HPP
#define FAKECUDA_DRIVER_HPP

#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "cuda_abi.hpp"
#include "handles.hpp"

namespace fake {

struct Context;
struct Stream;
struct Capture;
struct Graph;
struct GraphExec;
struct UserObject;
struct Event;
struct Block;
struct Pool;
struct Physical;
struct Reservation;
struct Module;
struct Function;

using Clock = std::chrono::steady_clock;

// What a stream does when a piece of work comes up: without the lock, in the context of the stream.
using Work = std::function<void(Context &)>;

// A piece of work in a stream.
struct Op {
    std::vector<std::shared_ptr<Op>> after;  // work of other streams that comes first
    Work work;
    std::function<bool()> ready;  // asked under the lock until true
    bool always = false;          // runs in a poisoned context too: it only releases memory
    bool done = false;
    Clock::time_point ended;
};
using OpPtr = std::shared_ptr<Op>;

struct Stream {
    enum class Kind { created, legacy, per_thread };

    CUstream handle = nullptr;
    unsigned long long id = 0;
    Kind kind = Kind::created;
    std::shared_ptr<Context> context;
    unsigned int flags = 0;
    int priority = 0;

    std::deque<OpPtr> queue;
    OpPtr tail;  // the newest piece, ended or not
    bool has_worker = false;
    std::condition_variable posted;  // the worker waits for it while the queue is empty
    bool destroyed = false;
    bool held = false;
    int steps = 0;
    int delay_us = 0;
    std::minstd_rand random;  // for pauses

    std::shared_ptr<Capture> capture;
    std::vector<size_t> capture_tail;  // nodes that the next one comes after

    bool blocking() const { return kind != Kind::legacy && (flags & CU_STREAM_NON_BLOCKING) == 0; }
};

struct Context {
    CUcontext handle = nullptr;
    unsigned long long id = 0;
    int device = 0;
    bool primary = false;
    bool alive = true;
    unsigned int flags = 0;
    CUresult error = CUDA_SUCCESS;
    std::shared_ptr<Stream> legacy;
    std::map<uint64_t, std::shared_ptr<Stream>> per_thread;
    std::vector<std::shared_ptr<Stream>> streams;  // all of them; destroyed ones until their work has ended
    OpPtr fence;                                   // work that everything later in this context comes after
    std::set<CUcontext> peers;
    std::map<CUlimit, size_t> limits;
};

struct Device {
    int ordinal = 0;
    CUcontext primary_handle = nullptr;
    std::shared_ptr<Context> primary;  // while active
    int retains = 0;
    unsigned int primary_flags = 0;
    size_t used = 0;
    std::map<int, int> attributes;
    std::map<int, bool> peers;
    std::shared_ptr<Pool> default_pool, pool;
};

struct Fault {
    enum class Kind { Once, Stays, Poisons };

    std::string function;  // empty for any
    int64_t left = 0;      // calls until it strikes; -1 for all
    CUresult result = CUDA_SUCCESS;
    Kind kind = Kind::Once;
};

enum class Fn {
#define FAKECUDA_FUNCTION(name, symbol, version, when) symbol,
#include "functions.def"
#undef FAKECUDA_FUNCTION
    count
};

struct KernelEntry {
    fake_kernel run = nullptr;
    void *user = nullptr;
    std::vector<size_t> param_sizes;
    std::map<int, int> attributes;
};

struct Driver {
    std::mutex mutex;
    std::condition_variable changed;  // something ended, was released, was queued
    uint64_t epoch = 1;               // counts resets, so that what threads remember can be forgotten
    bool stopping = false;
    int workers = 0;
    std::set<Stream *> idle;  // whose workers wait for work

    std::array<int64_t, FAKE_SETTING_COUNT> settings{};
    std::map<std::pair<int, int>, bool> peer_settings;
    std::map<std::pair<int, int>, int> attribute_settings;
    bool initialised = false;
    int process = 0;               // that called cuInit
    CUresult lost = CUDA_SUCCESS;  // a fault takes every context of the process with it

    std::vector<Device> devices;
    unsigned long long ids = 0;
    Registry<CUcontext, Context> contexts;
    std::map<CUcontext, int> context_devices;  // of dead ones too
    Registry<CUstream, Stream> streams;
    Registry<CUevent, Event> events;
    Registry<CUmemoryPool, Pool> pools;
    Registry<CUgraph, Graph> graphs;
    Registry<CUgraphExec, GraphExec> graph_execs;
    Registry<CUuserObject, UserObject> user_objects;
    Registry<CUmodule, Module> modules;
    Registry<CUfunction, Function> functions;
    std::vector<std::shared_ptr<Capture>> captures;
    std::vector<std::pair<CUhostFn, void *>> dying;  // destructors of user objects that are due

    std::map<CUdeviceptr, std::shared_ptr<Block>> blocks;
    std::map<CUdeviceptr, size_t> freed;
    std::map<CUdeviceptr, std::shared_ptr<Reservation>> reservations;
    std::map<CUmemGenericAllocationHandle, std::pair<std::shared_ptr<Physical>, int>> physicals;
    std::vector<std::pair<void *, size_t>> regions;  // addresses that are given back at the reset

    std::map<std::string, KernelEntry> kernels;
    std::vector<Fault> faults;
    int64_t faults_injected = 0;
    std::array<int64_t, static_cast<size_t>(Fn::count)> fault_counts{};
    std::array<int64_t, static_cast<size_t>(Fn::count)> call_counts{};
    int64_t calls = 0;
    std::deque<std::pair<Fn, CUresult>> call_log;
    std::array<int64_t, FAKE_MISUSE_COUNT> misuse{};
    int64_t bytes_through_host = 0;  // of copies between devices

    int64_t setting(fake_setting which) const { return settings[which]; }
    // The GPU that has this number in this process, or the number of this GPU.
    int renumbered(int device) const {
        return setting(FAKE_REVERSED) != 0 ? static_cast<int>(setting(FAKE_DEVICES)) - 1 - device : device;
    }
    void count(fake_misuse kind) { ++misuse[kind]; }
};

// Never destroyed: threads may still run while the process ends.
Driver &driver();

// What the calling thread remembers.
struct ThreadState {
    uint64_t number = 0;
    uint64_t epoch = 0;
    std::vector<CUcontext> stack;
    CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    int callbacks = 0;           // depth of host functions and destructors it is inside of
    Context *running = nullptr;  // whose work this thread does
    bool spared = false;         // by faults
};
ThreadState &this_thread();

// An answer other than CUDA_SUCCESS, thrown to the entry of the call.
struct Refusal {
    CUresult result;
};
[[noreturn]] void refuse(CUresult result);
inline void require(bool condition, CUresult otherwise = CUDA_ERROR_INVALID_VALUE) {
    if (!condition) {
        refuse(otherwise);
    }
}

// Makes a context fail from here on, and all others with it, those of other devices and those made later included.
void poison(Context &context, CUresult error);
void poison_all(Driver &state, CUresult error);

const char *function_symbol(Fn function);
bool function_is(Fn function, const std::string &name);
bool allowed_anytime(Fn function);
void *find_function(const char *name, int version, CUdriverProcAddressQueryResult *why);

void read_environment(Driver &state);

// Registers the kernels of the library, which every module has.
void add_library_kernels(Driver &state);

// From now on, aborts a process that exits while a module is being loaded. The real driver crashes then.
void watch_exit();

}  // namespace fake

#endif
