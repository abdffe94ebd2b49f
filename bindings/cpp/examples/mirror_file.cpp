// A file larger than memory, worked on by blocks on the GPU: mirror_file IN.npy OUT.npy turns the rows of a table
// around. While one block is worked on the next is read, and the result of the last is written; two blocks and their
// results are all the memory that it takes. The usual loop, a read into pinned memory, cudaMemcpy, the work,
// cudaMemcpy and a write, has the disk, the link and the GPU wait for one another. Without a GPU the blocks are host
// memory.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <vector>

#include "viaduct/viaduct.hpp"

namespace {

constexpr std::int64_t kBlockBytes = 8 << 20;

// A block, its result, and what is under way with them.
struct Slot {
    viaduct::Array block, result;
    viaduct::Task read, write;
};

void settle(viaduct::Task &task) {
    if (task) {
        task.wait();
        task.reset();
    }
}

class Mirror {
public:
    Mirror(const char *from, const char *to) : in_(viaduct::File::open(from)), on_gpu_(viaduct::device_count() > 0) {
        const via_file_properties found = in_.info();
        if (found.ndim != 2 || found.column_major != 0) {
            throw std::invalid_argument("mirror_file takes a .npy file of rows");
        }
        rows_ = found.shape[0];
        columns_ = found.shape[1];
        const std::int64_t row_bytes = columns_ * viaduct::dtype_bits(found.dtype) / 8;
        block_rows_ = std::max<std::int64_t>(1, std::min(rows_, kBlockBytes / std::max<std::int64_t>(1, row_bytes)));
        out_ = viaduct::File::create(to, found.dtype, {rows_, columns_});
        stream_ = on_gpu_ ? viaduct::Stream::create() : viaduct::Stream();
        const viaduct::Memory memory = viaduct::Memory::create(on_gpu_ ? VIA_MEMORY_DEVICE : VIA_MEMORY_HOST);
        for (Slot &slot : slots_) {
            slot.block = viaduct::Array::empty(memory, found.dtype, {block_rows_, columns_});
            slot.result = viaduct::Array::empty(memory, found.dtype, {block_rows_, columns_});
        }
    }

    void run() {
        std::puts(on_gpu_ ? "the blocks are on a GPU"
                          : "there is no CUDA device, so the blocks are in host memory instead");
        start_read(0);
        for (std::int64_t first = 0; first < rows_; first += block_rows_) {
            start_read(first + block_rows_);
            Slot &slot = slot_of(first);
            settle(slot.read);
            settle(slot.write);  // of the result that was here before
            const viaduct::Array result = part_of(slot.result, first);
            turn_around(part_of(slot.block, first), result);
            slot.write = rows_of(out_, first).write_submit(result, 0, stream_);  // after the stream's work
        }
        for (Slot &slot : slots_) {
            settle(slot.write);
        }
        std::printf("%lld rows in blocks of %lld\n", static_cast<long long>(rows_),
                    static_cast<long long>(block_rows_));
    }

private:
    Slot &slot_of(std::int64_t first) { return slots_[first / block_rows_ % 2]; }

    // Of the last block there may be less.
    viaduct::Array part_of(const viaduct::Array &whole, std::int64_t first) const {
        return whole.slice({0, 0}, {std::min(block_rows_, rows_ - first), columns_});
    }

    viaduct::File rows_of(const viaduct::File &file, std::int64_t first) const {
        return file.window({first, 0}, {std::min(block_rows_, rows_ - first), columns_});
    }

    void start_read(std::int64_t first) {
        if (first < rows_) {
            Slot &slot = slot_of(first);
            slot.read = rows_of(in_, first).read_submit(part_of(slot.block, first), 0, stream_);
        }
    }

    // The work, here a copy from a view with its columns backwards: a kernel of yours is launched in its place, on
    // stream_.native_handle().
    void turn_around(const viaduct::Array &block, const viaduct::Array &result) const {
        const viaduct::Array backwards = block.slice({0, columns_ - 1}, block.shape(), {1, -1});
        if (on_gpu_) {
            viaduct::copy_async(result, backwards, stream_);
        } else {
            viaduct::copy(result, backwards);
        }
    }

    viaduct::File in_, out_;
    bool on_gpu_;
    viaduct::Stream stream_;
    std::int64_t rows_ = 0, columns_ = 0, block_rows_ = 0;
    Slot slots_[2];
};

}  // namespace

int main(int argc, char **argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: %s IN.npy OUT.npy\n", argv[0]);
        return 2;
    }
    try {
        viaduct::require();
        Mirror(argv[1], argv[2]).run();
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
