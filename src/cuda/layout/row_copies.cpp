#include "cuda/layout/row_copies.hpp"

namespace via::cuda {
namespace {

constexpr int64_t kMostPitch = INT32_MAX;  // CU_DEVICE_ATTRIBUTE_MAX_PITCH of every device there has been

bool is_pitch(int64_t step, int64_t run) { return step >= run && step <= kMostPitch; }

// Planes must be whole rows apart, and at least as many as they are high.
bool is_plane(int64_t step, int64_t pitch, int64_t rows) { return step % pitch == 0 && step / pitch >= rows; }

// Returns how many loops of a move one call takes: rows, and planes of rows. The outer ones take a call for each index.
int32_t loops_of_call(const Move &move) {
    if (move.ndim == 0 || !is_pitch(move.axes[0].dst_step, move.run) || !is_pitch(move.axes[0].src_step, move.run)) {
        return 0;
    }
    const Axis &row = move.axes[0];
    const bool planes = move.ndim > 1 && is_plane(move.axes[1].dst_step, row.dst_step, row.extent) &&
                        is_plane(move.axes[1].src_step, row.src_step, row.extent);
    return planes ? 2 : 1;
}

int64_t count_calls(const Move &move, int32_t loops) {
    int64_t calls = 1;
    for (int32_t i = loops; i < move.ndim; ++i) {
        calls *= move.axes[i].extent;
    }
    return calls;
}

// The addresses of one call. 2-D and 3-D copies of the driver name their members alike.
struct Ends {
    char *dst;
    const char *src;
    bool to_device;

    template <class Copy>
    void fill_in(const Axis &row, int64_t run, Copy *copy) const {
        copy->srcMemoryType = to_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        copy->srcHost = src;
        copy->srcDevice = reinterpret_cast<CUdeviceptr>(src);
        copy->srcPitch = static_cast<size_t>(row.src_step);
        copy->dstMemoryType = to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
        copy->dstHost = dst;
        copy->dstDevice = reinterpret_cast<CUdeviceptr>(dst);
        copy->dstPitch = static_cast<size_t>(row.dst_step);
        copy->WidthInBytes = static_cast<size_t>(run);
        copy->Height = static_cast<size_t>(row.extent);
    }
};

Status copy_rows(const Ends &ends, const Move &move, CUstream stream) {
    CUDA_MEMCPY2D copy{};
    ends.fill_in(move.axes[0], move.run, &copy);
    VIA_TRY_CUDA(cuMemcpy2DAsync(&copy, stream));
    return VIA_OK;
}

Status copy_planes(const Ends &ends, const Move &move, CUstream stream) {
    CUDA_MEMCPY3D copy{};
    ends.fill_in(move.axes[0], move.run, &copy);
    copy.srcHeight = static_cast<size_t>(move.axes[1].src_step / move.axes[0].src_step);
    copy.dstHeight = static_cast<size_t>(move.axes[1].dst_step / move.axes[0].dst_step);
    copy.Depth = static_cast<size_t>(move.axes[1].extent);
    VIA_TRY_CUDA(cuMemcpy3DAsync(&copy, stream));
    return VIA_OK;
}

}  // namespace

int64_t count_row_calls(const Move &move) { return count_calls(move, loops_of_call(move)); }

Status enqueue_rows(const Move &move, bool to_device, const ResolvedStream &stream) {
    ContextScope scope;
    VIA_TRY(scope.enter(stream.context));
    const int32_t loops = loops_of_call(move);
    const int64_t calls = count_calls(move, loops);
    for (int64_t call = 0; call < calls; ++call) {
        Ends ends{move.dst, move.src, to_device};
        int64_t rest = call;
        for (int32_t i = loops; i < move.ndim; ++i) {
            ends.dst += rest % move.axes[i].extent * move.axes[i].dst_step;
            ends.src += rest % move.axes[i].extent * move.axes[i].src_step;
            rest /= move.axes[i].extent;
        }
        VIA_TRY(loops == 0   ? copy_adjacent(ends.dst, to_device, ends.src, !to_device, move.run, stream.handle)
                : loops == 1 ? copy_rows(ends, move, stream.handle)
                             : copy_planes(ends, move, stream.handle));
    }
    return VIA_OK;
}

}  // namespace via::cuda
