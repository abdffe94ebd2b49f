// Memsets: a pattern of one, two or four bytes over rows.
#include <cstring>

#include "capture.hpp"
#include "memory.hpp"
#include "stream.hpp"

namespace fake {
namespace {

struct Fill {
    CUdeviceptr address = 0;
    size_t pitch = 0;
    size_t unit = 1;
    uint32_t value = 0;
    size_t width = 0;  // in units
    size_t height = 1;

    size_t row_bytes() const { return width * unit; }
    size_t reach() const { return (height - 1) * pitch + row_bytes(); }
    bool empty() const { return width == 0 || height == 0; }
};

void fill_row(char *row, const Fill &fill) {
    for (size_t i = 0; i < fill.width; ++i) {
        std::memcpy(row + i * fill.unit, &fill.value, fill.unit);
    }
}

void run(const Fill &fill, Context &context) {
    std::unique_lock lock(driver().mutex);
    const View view = touch(driver(), context, fill.address, fill.reach(), By::kernel);
    lock.unlock();
    if (view.data == nullptr) {
        return;
    }
    for (size_t y = 0; y < fill.height; ++y) {
        fill_row(view.data + y * fill.pitch, fill);
    }
}

void check(Call &call, const Fill &fill, const Context &context) {
    require(fill.height <= 1 || fill.pitch >= fill.row_bytes());
    require(fill.address % fill.unit == 0 && (fill.height <= 1 || fill.pitch % fill.unit == 0));
    if (!fill.empty()) {
        const BlockPtr block = check_range(call.state(), fill.address, fill.reach());
        require(may_touch(context, *block, By::kernel));
    }
}

bool is_pinned(Call &call, CUdeviceptr address) {
    const BlockPtr block = find_block(call.state(), address);
    return block != nullptr && block->host();
}

void fill_on(Call &call, const Fill &fill, CUstream on, bool before_return) {
    const auto stream = call.stream(on);
    check(call, fill, *stream->context);
    check_capture(*stream);
    if (fill.empty()) {
        return;
    }
    const OpPtr op = submit(call, stream, CU_GRAPH_NODE_TYPE_MEMSET, [fill](Context &context) { run(fill, context); });
    if (before_return && is_pinned(call, fill.address)) {
        call.wait_for(op, stream->context);
    }
}

CUresult fill_now(Fn function, const Fill &fill) {
    return enter(function, [&](Call &call) { fill_on(call, fill, CU_STREAM_LEGACY, true); });
}

CUresult fill_later(Fn function, const Fill &fill, CUstream stream) {
    return enter(function, [&](Call &call) { fill_on(call, fill, stream, false); });
}

Fill line(CUdeviceptr address, size_t unit, uint32_t value, size_t count) {
    return {address, 0, unit, value, count, 1};
}

}  // namespace
}  // namespace fake

using namespace fake;

extern "C" {

CUresult CUDAAPI cuMemsetD8_v2(CUdeviceptr dstDevice, unsigned char uc, size_t N) {
    return fill_now(Fn::cuMemsetD8_v2, line(dstDevice, 1, uc, N));
}

CUresult CUDAAPI cuMemsetD16_v2(CUdeviceptr dstDevice, unsigned short us, size_t N) {
    return fill_now(Fn::cuMemsetD16_v2, line(dstDevice, 2, us, N));
}

CUresult CUDAAPI cuMemsetD32_v2(CUdeviceptr dstDevice, unsigned int ui, size_t N) {
    return fill_now(Fn::cuMemsetD32_v2, line(dstDevice, 4, ui, N));
}

CUresult CUDAAPI cuMemsetD2D8_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width,
                                 size_t Height) {
    return fill_now(Fn::cuMemsetD2D8_v2, {dstDevice, dstPitch, 1, uc, Width, Height});
}

CUresult CUDAAPI cuMemsetD2D16_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width,
                                  size_t Height) {
    return fill_now(Fn::cuMemsetD2D16_v2, {dstDevice, dstPitch, 2, us, Width, Height});
}

CUresult CUDAAPI cuMemsetD2D32_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width,
                                  size_t Height) {
    return fill_now(Fn::cuMemsetD2D32_v2, {dstDevice, dstPitch, 4, ui, Width, Height});
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream) {
    return fill_later(Fn::cuMemsetD8Async, line(dstDevice, 1, uc, N), hStream);
}

CUresult CUDAAPI cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream) {
    return fill_later(Fn::cuMemsetD16Async, line(dstDevice, 2, us, N), hStream);
}

CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream) {
    return fill_later(Fn::cuMemsetD32Async, line(dstDevice, 4, ui, N), hStream);
}

CUresult CUDAAPI cuMemsetD2D8Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width,
                                   size_t Height, CUstream hStream) {
    return fill_later(Fn::cuMemsetD2D8Async, {dstDevice, dstPitch, 1, uc, Width, Height}, hStream);
}

CUresult CUDAAPI cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width,
                                    size_t Height, CUstream hStream) {
    return fill_later(Fn::cuMemsetD2D16Async, {dstDevice, dstPitch, 2, us, Width, Height}, hStream);
}

CUresult CUDAAPI cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width,
                                    size_t Height, CUstream hStream) {
    return fill_later(Fn::cuMemsetD2D32Async, {dstDevice, dstPitch, 4, ui, Width, Height}, hStream);
}
}
