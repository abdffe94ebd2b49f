// What calls about device memory cost: rows of JSON, one a line, for bench.py. The driver's own question about an
// address stands next to them, since no check can be had for less.
#include <dlpack/dlpack.h>

#include "bench_gpu.hpp"

using namespace bench;

namespace {

constexpr int kCalls = 2000;
constexpr int kTurns = 201;

CUdeviceptr device;
via_stream *stream;
via_array *exported;

void wrap_and_release(int32_t device_type, int32_t flags) {
    const int64_t shape[2] = {64, 64};
    via_array *array = nullptr;
    check(via_wrap(reinterpret_cast<void *>(device), VIA_FLOAT32, 2, shape, nullptr, device_type, 0, flags, nullptr,
                   nullptr, &array));
    via_array_release(array);
}

void ask_driver() {
    CUmemorytype type{};
    cu_ok(cu(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device));
}

void query_pointer() {
    via_pointer_info info = VIA_POINTER_INFO_INIT;
    check(via_pointer_query(reinterpret_cast<const void *>(device), &info));
}

void export_and_delete(via_stream *consumer) {
    struct DLManagedTensorVersioned *tensor = nullptr;
    check(via_to_dlpack(exported, nullptr, consumer, &tensor));
    tensor->deleter(tensor);
}

void describe_for_cuda() {
    via_array_interface description = VIA_ARRAY_INTERFACE_INIT;
    check(via_to_cuda_array_interface(exported, via_stream_no_sync(), &description));
}

void wrap_stream() {
    via_stream *handle = nullptr;
    check(via_stream_wrap(via_stream_handle(stream), 0, &handle));
    via_stream_release(handle);
}

void print_calls(const char *name, const std::vector<Case> &cases, const std::string &target) {
    std::vector<double> nanoseconds;
    for (const double time : compare(cases, kCalls, kTurns)) {
        nanoseconds.push_back(time * 1e3);
    }
    print_row(name, "ns", cases, nanoseconds, -1, target);
}

void call_rows() {
    const Case driver = {"cuPointerGetAttribute", ask_driver};
    const Case unchecked = {"unchecked", [] { wrap_and_release(VIA_DEVICE_CUDA, VIA_WRAP_UNCHECKED); }};
    print_calls("C: wrap + release of device memory, checked",
                {{"viaduct", [] { wrap_and_release(VIA_DEVICE_CUDA, 0); }}, unchecked, driver},
                plus_at_most(200, "unchecked"));
    print_calls("C: the same, its place found out",
                {{"viaduct", [] { wrap_and_release(VIA_DEVICE_ANY, 0); }}, unchecked, driver}, "null");
    print_calls("C: via_pointer_query of device memory", {{"viaduct", query_pointer}, driver}, "null");
    print_calls("C: DLPack export + deleter, no stream", {{"viaduct", [] { export_and_delete(via_stream_no_sync()); }}},
                "null");
    print_calls("C: DLPack export + deleter, for a stream", {{"viaduct", [] { export_and_delete(stream); }}}, "null");
    print_calls("C: CUDA array interface", {{"viaduct", describe_for_cuda}}, "null");
    print_calls("C: wrap + release of a stream", {{"viaduct", wrap_stream}}, "null");
}

}  // namespace

int main() {
    cu_ok(cu(cuCtxSetCurrent)(primary_context(0)));
    const int64_t shape[2] = {64, 64};
    CUstream native = nullptr;
    cu_ok(cu(cuStreamCreate)(&native, CU_STREAM_NON_BLOCKING));
    check(via_cuda_warmup(0));
    check(via_stream_wrap(native, 0, &stream));
    device = device_memory(64 * 64 * 4);
    check(via_wrap(reinterpret_cast<void *>(device), VIA_FLOAT32, 2, shape, nullptr, VIA_DEVICE_CUDA, 0, 0, nullptr,
                   nullptr, &exported));
    call_rows();
    via_array_release(exported);
    via_stream_release(stream);
    return 0;
}
