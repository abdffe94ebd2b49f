// How fast copies to, from and on a GPU are, next to the driver's own calls: rows of JSON, one a line, for bench.py.
//
// GB/s count the bytes of the array once. The driver's synchronous calls are what cudaMemcpy is made of. The limit of
// a copy between host and device is one asynchronous driver copy of as many pinned bytes, timed in the same turns.
#include "bench_gpu.hpp"

#include <thread>

using namespace bench;

namespace {

constexpr int64_t kKiB = 1 << 10;
constexpr int64_t kMiB = 1 << 20;
constexpr int64_t kGiB = 1 << 30;

struct Memory {
    char *pageable;
    char *pinned;
    CUdeviceptr device;
    CUdeviceptr other;
    CUstream stream;
};

Memory memory;
int64_t most_bytes = kGiB;  // larger rows are left out, for a quick look

std::vector<int64_t> sizes(std::vector<int64_t> all) {
    std::erase_if(all, [](int64_t nbytes) { return nbytes > most_bytes; });
    return all;
}

int turns_for(int64_t nbytes) { return nbytes >= kGiB ? 9 : nbytes >= 64 * kMiB ? 15 : nbytes >= kMiB ? 41 : 101; }

int calls_for(int64_t nbytes) { return nbytes >= 8 * kMiB ? 1 : nbytes >= kMiB ? 10 : 20; }

void finish() { cu_ok(cu(cuStreamSynchronize)(memory.stream)); }

void pinned_to_device(int64_t nbytes) {
    cu_ok(cu(cuMemcpyHtoDAsync)(memory.device, memory.pinned, static_cast<size_t>(nbytes), memory.stream));
    finish();
}

void device_to_pinned(int64_t nbytes) {
    cu_ok(cu(cuMemcpyDtoHAsync)(memory.pinned, memory.device, static_cast<size_t>(nbytes), memory.stream));
    finish();
}

// ------------------------------------------------------------------------------------------------ pageable

struct PageableTargets {
    int64_t nbytes;
    double of_driver_in;  // 0: none
    double of_driver_out;
    double of_pinned;
};

constexpr PageableTargets kPageable[] = {
    {4 * kKiB, 0, 0, 0},    {16 * kKiB, 0, 0, 0},     {64 * kKiB, 0, 0, 0},
    {256 * kKiB, 0, 0, 0},  {1 * kMiB, 0, 0, 0},      {8 * kMiB, 1.5, 1.3, 0},
    {64 * kMiB, 2.5, 2, 0}, {256 * kMiB, 0, 0, 0.85}, {1 * kGiB, 0, 0, 0.88},
};

// Small copies are reported in microseconds and may not be slower; larger ones in GB/s. From pageable memory the
// driver's call returns before the bytes have arrived, ours when they have.
void print_pageable(const std::string &name, int64_t nbytes, const std::vector<Case> &cases, double of_driver,
                    double of_pinned) {
    const std::vector<double> times = compare(cases, calls_for(nbytes), turns_for(nbytes));
    if (nbytes <= kMiB) {
        print_row(name, "us", cases, times, 2, at_most(1 / 0.97, 0.3, cases[1].name.c_str()));
        return;
    }
    const std::string target = of_driver > 0   ? at_least(of_driver, cases[1].name.c_str())
                               : of_pinned > 0 ? at_least(of_pinned, "pinned")
                                               : "null";
    print_row(name, "GB/s", cases, rates(times, nbytes), 2, target);
}

void pageable_in(const PageableTargets &row) {
    const int64_t nbytes = row.nbytes;
    const Bytes host(memory.pageable, nbytes, VIA_DEVICE_CPU);
    const Bytes device(memory.device, nbytes);
    const std::vector<Case> cases = {
        {"viaduct", [&] { check(via_copy(device.get(), host.get())); }},
        {"cuMemcpyHtoD", [=] { cu_ok(cu(cuMemcpyHtoD)(memory.device, memory.pageable, static_cast<size_t>(nbytes))); }},
        {"pinned", [=] { pinned_to_device(nbytes); }},
        {"cuMemcpyHtoD, waited for", [=] {
             cu_ok(cu(cuMemcpyHtoD)(memory.device, memory.pageable, static_cast<size_t>(nbytes)));
             cu_ok(cu(cuStreamSynchronize)(CU_STREAM_LEGACY));
         }}};
    print_pageable("pageable to device, " + size_name(nbytes), nbytes, cases, row.of_driver_in, row.of_pinned);
}

void pageable_out(const PageableTargets &row) {
    const int64_t nbytes = row.nbytes;
    const Bytes host(memory.pageable, nbytes, VIA_DEVICE_CPU);
    const Bytes device(memory.device, nbytes);
    const std::vector<Case> cases = {
        {"viaduct", [&] { check(via_copy(host.get(), device.get())); }},
        {"cuMemcpyDtoH", [=] { cu_ok(cu(cuMemcpyDtoH)(memory.pageable, memory.device, static_cast<size_t>(nbytes))); }},
        {"pinned", [=] { device_to_pinned(nbytes); }}};
    print_pageable("device to pageable, touched, " + size_name(nbytes), nbytes, cases, row.of_driver_out,
                   row.of_pinned);
}

// The destination has no pages yet: they are made in the time that is taken.
void pageable_out_to_new_pages(int64_t nbytes) {
    char *fresh = nullptr;
    const Bytes device(memory.device, nbytes);
    const auto make = [&] { fresh = new_pages(nbytes); };
    const auto drop = [&] { drop_pages(fresh, nbytes); };
    const std::vector<Case> cases = {
        {"viaduct",
         [&] {
             const Bytes host(fresh, nbytes, VIA_DEVICE_CPU);
             check(via_copy(host.get(), device.get()));
         },
         make, drop},
        {"cuMemcpyDtoH", [&] { cu_ok(cu(cuMemcpyDtoH)(fresh, memory.device, static_cast<size_t>(nbytes))); }, make,
         drop},
        {"pinned", [=] { device_to_pinned(nbytes); }}};
    const std::vector<double> times = compare(cases, 1, turns_for(nbytes));
    print_row("device to pageable, new pages, " + size_name(nbytes), "GB/s", cases, rates(times, nbytes), 2, "null");
}

void pageable_rows() {
    for (const PageableTargets &row : kPageable) {
        if (row.nbytes <= most_bytes) {
            pageable_in(row);
            pageable_out(row);
        }
    }
    for (const int64_t nbytes : sizes({8 * kMiB, 64 * kMiB, 256 * kMiB, kGiB})) {
        pageable_out_to_new_pages(nbytes);
    }
}

// ------------------------------------------------------------------------------------------------ pinned

void pinned_rate(int64_t nbytes) {
    const Bytes host(memory.pinned, nbytes, VIA_DEVICE_CUDA_HOST);
    const Bytes device(memory.device, nbytes);
    const std::vector<Case> in = {{"viaduct", [&] { check(via_copy(device.get(), host.get())); }},
                                  {"driver", [=] { pinned_to_device(nbytes); }}};
    const std::vector<Case> out = {{"viaduct", [&] { check(via_copy(host.get(), device.get())); }},
                                   {"driver", [=] { device_to_pinned(nbytes); }}};
    print_row("pinned to device, " + size_name(nbytes), "GB/s", in, rates(compare(in, 1, turns_for(nbytes)), nbytes), 1,
              at_least(0.99, "driver"));
    print_row("device to pinned, " + size_name(nbytes), "GB/s", out, rates(compare(out, 1, turns_for(nbytes)), nbytes),
              1, at_least(0.99, "driver"));
}

// What a call adds to the driver's own, the copy being as good as none.
void pinned_call(int64_t nbytes) {
    const auto count = static_cast<size_t>(nbytes);
    const Bytes host(memory.pinned, nbytes, VIA_DEVICE_CUDA_HOST);
    const Bytes device(memory.device, nbytes);
    const std::vector<Case> in = {
        {"viaduct", [&] { check(via_copy(device.get(), host.get())); }},
        {"cuMemcpyHtoD", [=] { cu_ok(cu(cuMemcpyHtoD)(memory.device, memory.pinned, count)); }}};
    const std::vector<Case> out = {
        {"viaduct", [&] { check(via_copy(host.get(), device.get())); }},
        {"cuMemcpyDtoH", [=] { cu_ok(cu(cuMemcpyDtoH)(memory.pinned, memory.device, count)); }}};
    const std::string size = size_name(nbytes);
    print_row("pinned to device, synchronous call, " + size, "us", in, compare(in, 50, 201), -1,
              plus_at_most(0.25, "cuMemcpyHtoD"));
    print_row("device to pinned, synchronous call, " + size, "us", out, compare(out, 50, 201), -1,
              plus_at_most(0.25, "cuMemcpyDtoH"));
}

void pinned_async_call(via_stream *stream, int64_t nbytes) {
    const auto count = static_cast<size_t>(nbytes);
    const Bytes host(memory.pinned, nbytes, VIA_DEVICE_CUDA_HOST);
    const Bytes device(memory.device, nbytes);
    const std::vector<Case> in = {
        {"viaduct", [&] { check(via_copy_async(device.get(), host.get(), stream)); }, finish, finish},
        {"cuMemcpyHtoDAsync", [=] { cu_ok(cu(cuMemcpyHtoDAsync)(memory.device, memory.pinned, count, memory.stream)); },
         finish, finish}};
    const std::vector<Case> out = {
        {"viaduct", [&] { check(via_copy_async(host.get(), device.get(), stream)); }, finish, finish},
        {"cuMemcpyDtoHAsync", [=] { cu_ok(cu(cuMemcpyDtoHAsync)(memory.pinned, memory.device, count, memory.stream)); },
         finish, finish}};
    const std::string size = size_name(nbytes);
    print_row("pinned to device, asynchronous call, " + size, "us", in, compare(in, 50, 201), -1,
              plus_at_most(0.6, "cuMemcpyHtoDAsync"));
    print_row("device to pinned, asynchronous call, " + size, "us", out, compare(out, 50, 201), -1,
              plus_at_most(0.6, "cuMemcpyDtoHAsync"));
}

// ------------------------------------------------------------------------------------------------ on the device

void device_row(via_stream *stream, int64_t nbytes) {
    const Bytes dst(memory.other, nbytes);
    const Bytes src(memory.device, nbytes);
    const auto count = static_cast<size_t>(nbytes);
    const std::vector<Case> cases = {{"viaduct",
                                      [&] {
                                          check(via_copy_async(dst.get(), src.get(), stream));
                                          finish();
                                      }},
                                     {"cuMemcpyAsync", [=] {
                                          cu_ok(cu(cuMemcpyAsync)(memory.other, memory.device, count, memory.stream));
                                          finish();
                                      }}};
    const std::vector<double> times = compare(cases, calls_for(nbytes), 101);
    const std::string name = "on the device, contiguous, " + size_name(nbytes);
    if (nbytes < kMiB) {
        print_row(name, "us", cases, times, -1, plus_at_most(0.3, "cuMemcpyAsync"));
    } else {
        print_row(name, "GB/s", cases, rates(times, nbytes), 1, at_least(0.99, "cuMemcpyAsync"));
    }
}

// ------------------------------------------------------------------------------------------------ peers

// Without access the driver's own copy goes by way of the host: of large copies much more than that is wanted.
std::string target_of_peers(int64_t nbytes, bool access) {
    return at_least(access ? 0.99 : nbytes >= 64 * kMiB ? 9 : 0.98, "cuMemcpyPeerAsync");
}

void peer_row(via_stream *stream, CUdeviceptr far, CUcontext near_context, CUcontext far_context, int64_t nbytes,
              bool access) {
    const Bytes dst(far, nbytes, 1);
    const Bytes src(memory.device, nbytes);
    const auto count = static_cast<size_t>(nbytes);
    const std::vector<Case> cases = {
        {"viaduct",
         [&] {
             check(via_copy_async(dst.get(), src.get(), stream));
             finish();
         }},
        {"cuMemcpyPeerAsync", [=] {
             cu_ok(cu(cuMemcpyPeerAsync)(far, far_context, memory.device, near_context, count, memory.stream));
             finish();
         }}};
    const std::vector<double> times = compare(cases, 1, 41);
    print_row((access ? "to another device, access on, " : "to another device, access off, ") + size_name(nbytes),
              "GB/s", cases, rates(times, nbytes), 1, target_of_peers(nbytes, access));
}

void peer_rows_with(via_stream *stream, CUdeviceptr far, CUcontext near_context, CUcontext far_context, bool access) {
    for (const int64_t nbytes : sizes({kMiB, 64 * kMiB, 256 * kMiB, kGiB})) {
        peer_row(stream, far, near_context, far_context, nbytes, access);
    }
}

// A copy for each device, all at once, each on a thread of its own.
void at_once(const std::vector<std::function<void()>> &copies) {
    std::vector<std::thread> threads;
    for (const std::function<void()> &copy : copies) {
        threads.emplace_back(copy);
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

// The devices share the processors, and the host's memory. GB/s count the bytes of both.
void feed_row(CUdeviceptr far, int64_t nbytes, bool to_device) {
    const Bytes host(memory.pageable, nbytes, VIA_DEVICE_CPU);
    const std::vector<char> others(static_cast<size_t>(nbytes), 1);
    const Bytes other_host(others.data(), nbytes, VIA_DEVICE_CPU);
    const Bytes device(memory.device, nbytes);
    const Bytes other(far, nbytes, 1);
    const auto copy = [to_device](const Bytes &here, const Bytes &there) {
        check(to_device ? via_copy(here.get(), there.get()) : via_copy(there.get(), here.get()));
    };
    const std::vector<Case> cases = {
        {"viaduct", [&] { at_once({[&] { copy(device, host); }, [&] { copy(other, other_host); }}); }},
        {"one after the other", [&] {
             copy(device, host);
             copy(other, other_host);
         }}};
    const std::string name = to_device ? "pageable to two devices at once, " : "two devices to pageable at once, ";
    print_row(name + size_name(nbytes), "GB/s", cases, rates(compare(cases, 1, turns_for(nbytes)), 2 * nbytes), -1,
              at_least(1.6, "one after the other"));
}

// Peer access belongs to the application: first without, then as an application would switch it on.
void peer_rows(via_stream *stream, CUcontext near_context) {
    int count = 0;
    int direct = 0;
    cu_ok(cu(cuDeviceGetCount)(&count));
    if (count < 2) {
        std::fprintf(stderr, "rows of peers need two devices\n");
        return;
    }
    CUcontext far_context = primary_context(1);
    cu_ok(cu(cuCtxSetCurrent)(far_context));
    const CUdeviceptr far = device_memory(most_bytes);
    cu_ok(cu(cuDeviceCanAccessPeer)(&direct, 0, 1));
    cu_ok(cu(cuCtxSetCurrent)(near_context));
    for (const int64_t nbytes : sizes({64 * kMiB, kGiB})) {
        feed_row(far, nbytes, true);
        feed_row(far, nbytes, false);
    }
    peer_rows_with(stream, far, near_context, far_context, false);
    if (direct != 0) {
        cu_ok(cu(cuCtxEnablePeerAccess)(far_context, 0));
        cu_ok(cu(cuCtxSetCurrent)(far_context));
        cu_ok(cu(cuCtxEnablePeerAccess)(near_context, 0));
        cu_ok(cu(cuCtxSetCurrent)(near_context));
        peer_rows_with(stream, far, near_context, far_context, true);
    }
}

}  // namespace

int main(int count, char **arguments) {
    most_bytes = count > 1 ? std::atoll(arguments[1]) : most_bytes;
    CUcontext context = primary_context(0);
    cu_ok(cu(cuCtxSetCurrent)(context));
    check(via_cuda_warmup(0));
    CUstream native = nullptr;
    cu_ok(cu(cuStreamCreate)(&native, CU_STREAM_NON_BLOCKING));
    memory = {touched_memory(most_bytes), pinned_memory(most_bytes), device_memory(most_bytes),
              device_memory(most_bytes), native};
    via_stream *stream = nullptr;
    check(via_stream_wrap(native, 0, &stream));
    pageable_rows();
    for (const int64_t nbytes : sizes({kMiB, 64 * kMiB, kGiB})) {
        pinned_rate(nbytes);
    }
    pinned_call(4 * kKiB);
    pinned_async_call(stream, 4 * kKiB);
    for (const int64_t nbytes : sizes({4 * kKiB, 64 * kKiB, kMiB, 16 * kMiB, 256 * kMiB, kGiB})) {
        device_row(stream, nbytes);
    }
    peer_rows(stream, context);
    via_stream_release(stream);
    return 0;
}
