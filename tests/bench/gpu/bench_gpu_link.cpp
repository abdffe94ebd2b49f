// How fast strided copies between the host and a GPU are: rows of JSON, one a line, for bench.py.
//
// A square of floats, adjacent on the device, is transposed on the host or has gaps there. GB/s count its bytes once.
// The limit is one asynchronous driver copy of as many adjacent pinned bytes, timed in the same turns; next to it,
// where one call can do the same, the driver's own copy of rows.
#include "bench_gpu.hpp"

using namespace bench;

namespace {

constexpr int64_t kItem = 4;
int64_t edge = 8192;

struct Memory {
    char *pageable;
    char *pinned;
    CUdeviceptr device;
    CUstream native;
    via_stream *stream;
};

Memory memory;

int64_t payload() { return edge * edge * kItem; }

void finish() { cu_ok(cu(cuStreamSynchronize)(memory.native)); }

// How the square lies on the host: strides in bytes, and the share of the limit that is wanted of pinned and of
// pageable memory, towards the device and back.
struct View {
    const char *name;
    int64_t row;
    int64_t column;
    double of_pinned;
    double of_pageable;
    double back_of_pinned;
    double back_of_pageable;
};

std::vector<View> views() {
    const int64_t row = edge * kItem;
    return {{"transposed", kItem, row, 0.75, 0.6, 0.75, 0.6},
            {"inner columns", row + row / 4, kItem, 0.75, 0.6, 0.75, 0.6},
            {"every 2nd row", 2 * row, kItem, 0.75, 0.6, 0.75, 0.6},
            {"every 2nd column", 2 * row, 2 * kItem, 0.4, 0.4, 0.3, 0.3}};
}

class Square {
public:
    Square(const void *address, int64_t row, int64_t column, int32_t device_type) {
        const int64_t shape[] = {edge, edge};
        const int64_t strides[] = {row, column};
        check(via_wrap(const_cast<void *>(address), VIA_FLOAT32, 2, shape, strides, device_type, 0,
                       VIA_WRAP_BYTE_STRIDES, nullptr, nullptr, &array_));
    }
    ~Square() { via_array_release(array_); }
    Square(const Square &) = delete;
    Square &operator=(const Square &) = delete;
    via_array *get() const { return array_; }

private:
    via_array *array_ = nullptr;
};

// ------------------------------------------------------------------------------------------------ the driver's own

void pinned_copy(bool to_device) {
    const auto count = static_cast<size_t>(payload());
    cu_ok(to_device ? cu(cuMemcpyHtoDAsync)(memory.device, memory.pinned, count, memory.native)
                    : cu(cuMemcpyDtoHAsync)(memory.pinned, memory.device, count, memory.native));
    finish();
}

void copy_rows(bool to_device, char *host, const View &view) {
    CUDA_MEMCPY2D copy{};
    const auto pitch = static_cast<size_t>(view.row);
    const auto width = static_cast<size_t>(edge * kItem);
    copy.srcMemoryType = to_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    copy.dstMemoryType = to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    copy.srcHost = copy.dstHost = host;
    copy.srcDevice = copy.dstDevice = memory.device;
    copy.srcPitch = to_device ? pitch : width;
    copy.dstPitch = to_device ? width : pitch;
    copy.WidthInBytes = width;
    copy.Height = static_cast<size_t>(edge);
    cu_ok(cu(cuMemcpy2DAsync)(&copy, memory.native));
    finish();
}

// ------------------------------------------------------------------------------------------------ rows

void print_view(const std::string &name, const View &view, char *host, bool to_device, std::vector<Case> cases,
                double of_limit) {
    if (view.column == kItem) {
        cases.push_back({"cuMemcpy2DAsync", [=] { copy_rows(to_device, host, view); }});
    }
    cases.push_back({"pinned", [=] { pinned_copy(to_device); }});
    const std::vector<double> times = compare(cases, 1, 9);
    print_row(name, "GB/s", cases, rates(times, payload()), static_cast<int>(cases.size()) - 1,
              of_limit > 0 ? at_least(of_limit, "pinned") : "null");
}

void view_rows(const View &view, bool pinned, bool to_device) {
    char *host = pinned ? memory.pinned : memory.pageable;
    const Square there(host, view.row, view.column, pinned ? VIA_DEVICE_CUDA_HOST : VIA_DEVICE_CPU);
    const Square here(reinterpret_cast<const void *>(memory.device), edge * kItem, kItem, VIA_DEVICE_CUDA);
    via_array *dst = to_device ? here.get() : there.get();
    via_array *src = to_device ? there.get() : here.get();
    const double of_pinned = to_device ? view.of_pinned : view.back_of_pinned;
    const double of_pageable = to_device ? view.of_pageable : view.back_of_pageable;
    const std::string place = pinned ? "pinned" : "pageable";
    const std::string name = to_device ? place + " to device, " : "device to " + place + ", ";
    print_view(name + view.name + ", " + size_name(payload()), view, host, to_device,
               {{"viaduct", [=] { check(via_copy(dst, src)); }}}, pinned ? of_pinned : of_pageable);
    if (pinned) {
        print_view(name + view.name + ", in stream order, " + size_name(payload()), view, host, to_device,
                   {{"viaduct",
                     [=] {
                         check(via_copy_async(dst, src, memory.stream));
                         finish();
                     }}},
                   0);
    }
}

// What a small copy takes, next to the driver's for as many adjacent bytes.
void small_row(int64_t count, bool pinned, bool to_device) {
    const int64_t before = std::exchange(edge, count);
    const View transposed = views()[0];
    char *host = pinned ? memory.pinned : memory.pageable;
    const Square there(host, transposed.row, transposed.column, pinned ? VIA_DEVICE_CUDA_HOST : VIA_DEVICE_CPU);
    const Square here(reinterpret_cast<const void *>(memory.device), edge * kItem, kItem, VIA_DEVICE_CUDA);
    via_array *dst = to_device ? here.get() : there.get();
    via_array *src = to_device ? there.get() : here.get();
    const std::vector<Case> cases = {{"viaduct", [=] { check(via_copy(dst, src)); }},
                                     {"pinned", [=] { pinned_copy(to_device); }}};
    const std::string place = pinned ? "pinned" : "pageable";
    print_row((to_device ? place + " to device" : "device to " + place) + ", transposed, " + size_name(payload()), "us",
              cases, compare(cases, 10, 41), -1, "null");
    edge = before;
}

}  // namespace

int main(int count, char **arguments) {
    const int64_t most_bytes = count > 1 ? std::atoll(arguments[1]) : payload();
    while (payload() > most_bytes) {
        edge /= 2;
    }
    cu_ok(cu(cuCtxSetCurrent)(primary_context(0)));
    check(via_cuda_warmup(0));
    memory = {touched_memory(2 * payload()), pinned_memory(2 * payload()), device_memory(payload()), nullptr, nullptr};
    cu_ok(cu(cuStreamCreate)(&memory.native, CU_STREAM_NON_BLOCKING));
    check(via_stream_wrap(memory.native, 0, &memory.stream));
    for (const bool pinned : {true, false}) {
        for (const bool to_device : {true, false}) {
            for (const View &view : views()) {
                view_rows(view, pinned, to_device);
            }
            for (int64_t side = 64; side <= 1024 && side < edge; side *= 4) {
                small_row(side, pinned, to_device);
            }
        }
    }
    via_stream_release(memory.stream);
    return 0;
}
