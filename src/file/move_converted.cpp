#include "file/move_converted.hpp"

#include <algorithm>

#include "cuda/convert_transfer.hpp"
#include "file/file_conversion.hpp"
#include "file/io_chunks.hpp"

namespace via {
namespace {

// Bytes that are read before they are converted: they stay in a core's cache.
constexpr int64_t kReadBytes = int64_t{256} << 10;

// The elements of the file, in the order of the loops.
class FileElements final : public cuda::IoEndpoint {
public:
    FileElements(const TransferConversion &conversion, ExtentIo &extent_io, bool converts_first)
        : conversion_(conversion), io_(extent_io), link_(conversion.plan.elements(), converts_first) {}

    int64_t file_bytes(int64_t elements) const { return elements * conversion_.file_item; }

    // Reads elements of the file, and converts them for the array.
    Status read(int64_t first, int64_t count) {
        return read_parts(first, count, [&](const ElementLoops &loops, int64_t at, int64_t some) {
            convert_part(loops, conversion_.plan.elements(), at, some);
        });
    }

    // Converts elements of the array, and writes them to the file.
    Status write(int64_t first, int64_t count) {
        return write_parts(first, count, [&](const ElementLoops &loops, int64_t at, int64_t some) {
            convert_part(loops, conversion_.plan.elements(), at, some);
        });
    }

    // Read and write elements as they cross the link of a device.
    Status read(void *packed, int64_t offset, int64_t nbytes) override {
        const int64_t item = link_.bytes;
        const int64_t first = offset / item;
        const int64_t count = nbytes / item;
        if (changes_nothing(link_.before) && item == conversion_.file_item) {
            return io_.read(packed, file_bytes(first), file_bytes(count));
        }
        return read_parts(first, count, [&](const ElementLoops &loops, int64_t at, int64_t some) {
            convert_to_packed(loops, link_.before, at, some, static_cast<char *>(packed) + (at - first) * item);
        });
    }

    Status write(const void *packed, int64_t offset, int64_t nbytes) override {
        const int64_t item = link_.bytes;
        const int64_t first = offset / item;
        const int64_t count = nbytes / item;
        if (changes_nothing(link_.after) && item == conversion_.file_item && conversion_.swapped_after == 1) {
            return io_.write(packed, file_bytes(first), file_bytes(count));
        }
        return write_parts(first, count, [&](const ElementLoops &loops, int64_t at, int64_t some) {
            convert_from_packed(loops, link_.after, at, some, static_cast<const char *>(packed) + (at - first) * item);
        });
    }

private:
    // Calls convert(loops, first, count) for parts that a core's cache holds, whose loops have a buffer in place of the
    // file: after the part has been read, or before it is written.
    template <class Convert>
    Status read_parts(int64_t first, int64_t count, const Convert &convert) {
        return in_parts(first, count, kReadBytes, [&](char *buffer, int64_t at, int64_t some) {
            ElementLoops loops = conversion_.plan.loops();
            loops.src = buffer - file_bytes(at);
            VIA_TRY(io_.read(buffer, file_bytes(at), file_bytes(some)));
            convert(loops, at, some);
            return VIA_OK;
        });
    }

    template <class Convert>
    Status write_parts(int64_t first, int64_t count, const Convert &convert) {
        return in_parts(first, count, io_.buffers().nbytes(), [&](char *buffer, int64_t at, int64_t some) {
            ElementLoops loops = conversion_.plan.loops();
            loops.dst = buffer - file_bytes(at);
            convert(loops, at, some);
            if (conversion_.swapped_after > 1) {
                swap_bytes(buffer, buffer, file_bytes(some), conversion_.swapped_after);
            }
            return io_.write(buffer, file_bytes(at), file_bytes(some));
        });
    }

    template <class Move>
    Status in_parts(int64_t first, int64_t count, int64_t most_bytes, const Move &move) const {
        Buffer buffer(io_.buffers());
        VIA_TRY(buffer.acquire());
        const int64_t each = std::max<int64_t>(most_bytes / conversion_.file_item, 1);
        for (int64_t done = 0; done < count; done += each) {
            VIA_TRY(move(buffer.get(), first + done, std::min(each, count - done)));
        }
        return VIA_OK;
    }

    const TransferConversion &conversion_;
    ExtentIo &io_;
    const cuda::LinkConversion link_;
};

// Converts where that moves fewer bytes over the link; on the device, if both are as many.
bool converts_first(const RangeTransfer &transfer) {
    const ElementConversion &elements = transfer.conversion->plan.elements();
    return transfer.is_read() ? bytes_of(elements.dst) < bytes_of(elements.src) : cuda::is_no_wider(elements);
}

Status move_to_or_from_device(const RangeTransfer &transfer, FileElements &elements, int32_t workers,
                              Fence **out_fence) {
    const ElementPlan &plan = transfer.conversion->plan;
    const cuda::Side device{VIA_DEVICE_CUDA, transfer.array->device_id};
    cuda::ConvertTransfer convert{};
    convert.loops = plan.loops();
    convert.elements = plan.elements();
    convert.transfer = {plan.loops().dst, plan.loops().src, plan.loops().count * bytes_of(plan.elements().dst),
                        transfer.is_read() ? device : cuda::kPageable, transfer.is_read() ? cuda::kPageable : device};
    convert.converts_first = converts_first(transfer);
    convert.host = &elements;
    convert.workers = workers;
    return cuda::convert_io(convert, transfer.task, out_fence);
}

}  // namespace

Status move_converted(const RangeTransfer &transfer, ExtentIo &extent_io, int32_t workers, Fence **out_fence) {
    FileElements elements(*transfer.conversion, extent_io, converts_first(transfer));
    if (transfer.array->device_type == VIA_DEVICE_CUDA) {
        return move_to_or_from_device(transfer, elements, workers, out_fence);
    }
    const TransferConversion &conversion = *transfer.conversion;
    // Progress counts the bytes of the array.
    const auto move = [&](int64_t first, int64_t count, int64_t *out_nbytes) {
        *out_nbytes = count * conversion.array_item;
        return transfer.is_read() ? elements.read(first, count) : elements.write(first, count);
    };
    // Chunks end at borders of blocks in the file.
    const int64_t each = std::max<int64_t>(extent_io.piece_bytes() / conversion.file_item, 1);
    const int64_t before = extent_io.bytes_from_border(0) / conversion.file_item;
    return aligned_io(conversion.plan.loops().count, each, before, move,
                      {workers, 0, transfer.array->nbytes(), transfer.task});
}

}  // namespace via
