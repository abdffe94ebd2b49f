#include "archive/archive_save.hpp"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <memory>
#include <new>
#include <set>

#include "copy/copy_plan.hpp"
#include "core/array/access_tracker.hpp"
#include "core/array/memory.hpp"
#include "core/async/task.hpp"
#include "core/base/first_failure.hpp"
#include "cuda/cuda_memory.hpp"
#include "cuda/device.hpp"
#include "cuda/stream_access.hpp"
#include "file/atomic_replace.hpp"
#include "file/file_transfer.hpp"
#include "file/io_chunks.hpp"
#include "file/read_write.hpp"

namespace via {
namespace {

// The buffers are as large as the largest block, up to so many bytes, or one element.
constexpr int64_t kMostBlock = int64_t{64} << 20;
// Gathering costs less than a write of its own.
constexpr int64_t kLeastAlone = int64_t{1} << 20;
// At least the alignment of direct I/O: bytes have the same place in a buffer's page as in the file's.
constexpr int64_t kPage = 4096;

// An array to be written. Packed elements are taken as bytes.
struct Source {
    explicit Source(via_array *given) : array(given), slabs(given, kMostBlock) {}
    UniqueArray array;
    Slabs slabs;
    bool is_alone() const {
        return is_plain(array.get()) && array.get()->nbytes() >= kLeastAlone &&
               is_contiguous(array.get(), VIA_ORDER_ROW_MAJOR);
    }
};

// A slab of a source, and where it goes.
struct Piece {
    size_t source;
    int64_t slab;
    int64_t offset;  // in the file
};

// Adjacent bytes of a file: pieces [first, last), or a source as it is.
struct Block {
    size_t file;
    int64_t offset;
    int64_t nbytes;
    size_t first;
    size_t last;
    const Source *alone;
};

// A file that is being written. Removed unless it is committed.
struct Target {
    Target(UniqueFile *owned, const via_file_options &options)
        : file(owned->release()), replacement(file.get()), options_(options) {}
    Status begin(const PlannedFile &planned);
    FileIo &io(bool own_memory) { return own_memory ? *own_ : *callers_; }

    UniqueFile file;
    AtomicReplace replacement;

private:
    const via_file_options &options_;
    std::unique_ptr<FileIo> own_;
    std::unique_ptr<FileIo> callers_;
};

Status Target::begin(const PlannedFile &planned) {
    VIA_TRY(replacement.begin({}));
    const bool is_durable = options_.durable != 0;
    own_ = std::make_unique<FileIo>(replacement.open(), options_.page_cache, is_durable, true);
    callers_ = std::make_unique<FileIo>(replacement.open(), options_.page_cache, is_durable, false);
    // Without direct I/O, reserved blocks could stay empty after a power cut: see write_range.
    if (is_durable || options_.page_cache == VIA_PAGE_CACHE_AVOID) {
        VIA_TRY(own_->prepare_write(0, planned.offsets.back()));
    }
    return write_all(replacement.open(), planned.text.data(), 0, static_cast<int64_t>(planned.text.size()));
}

// A copy that a device may still run.
struct Queued {
    CopyPlan plan;
    UniqueFence fence;
};

// A buffer, and the copies that fill it.
class GatherBuffer {
public:
    GatherBuffer() = default;
    ~GatherBuffer() { (void)settle(); }
    GatherBuffer(const GatherBuffer &) = delete;
    GatherBuffer &operator=(const GatherBuffer &) = delete;

    Status allocate(via_memory *memory, int64_t nbytes) {
        const int64_t with_borders = nbytes + 2 * kPage;
        return make_empty(memory, VIA_UINT8, 1, &with_borders, 0, array_.out());
    }
    char *place(int64_t file_offset, const Block &block) const {
        const auto start = reinterpret_cast<intptr_t>(array_.get()->data);
        const intptr_t to_page = (kPage - start % kPage) % kPage;
        return static_cast<char *>(array_.get()->data) + to_page + block.offset % kPage + (file_offset - block.offset);
    }
    Status queue(via_array *slab, char *to);
    // Waits until all bytes are there.
    Status settle();

private:
    UniqueArray array_;
    std::deque<Queued> queued_;
};

Status GatherBuffer::queue(via_array *slab, char *to) {
    UniqueArray like;
    UniqueArray dense;
    VIA_TRY(make_dense(slab, slab->dtype, to, like.out()));
    VIA_TRY(make_view(array_.get(), to, slab->dtype, layout_of(like.get()), 0, dense.out()));
    Queued &copy = queued_.emplace_back();
    VIA_TRY(plan_task_copy(dense.get(), slab, &copy.plan));
    return run_in_task(&copy.plan, 0, nullptr, copy.fence.out());
}

Status GatherBuffer::settle() {
    Status status = VIA_OK;
    for (Queued &copy : queued_) {
        status = first_failure(status, [&] { return copy.fence.get() != nullptr ? copy.fence.get()->wait() : VIA_OK; });
    }
    queued_.clear();
    return status;
}

class ArchiveWriter {
public:
    ArchiveWriter() = default;
    ArchiveWriter(const ArchiveWriter &) = delete;
    ArchiveWriter &operator=(const ArchiveWriter &) = delete;

    // Checks everything, and holds the arrays. Touches no file.
    VIA_NODISCARD Status prepare(const SaveRequest &request);

    // Makes relative paths absolute: a task writes where they led when it was submitted.
    VIA_NODISCARD Status anchor_paths();

    VIA_NODISCARD Status await(via_stream *stream) const;
    VIA_NODISCARD Status find_dependency(via_stream *stream, Fence **out_dependency) const;

    // Writes all files.
    VIA_NODISCARD Status run(via_task *task);

    int64_t nbytes() const { return nbytes_; }
    std::vector<Storage *> storages() const;

private:
    VIA_NODISCARD Status add_source(via_array *array, size_t file, int64_t offset);
    void add_slabs(size_t file, int64_t offset);
    VIA_NODISCARD Status create_files();
    VIA_NODISCARD Status allocate_buffers();
    VIA_NODISCARD Status fill(size_t number);
    VIA_NODISCARD Status write(size_t number, via_task *task);
    VIA_NODISCARD Status write_blocks(via_task *task);
    VIA_NODISCARD Status commit();
    static constexpr size_t kBuffers = 2;  // one is filled while the other is written
    GatherBuffer &buffer_of(size_t block) { return buffers_[block % kBuffers]; }

    via_file_options options_{};
    std::vector<PlannedFile> files_;
    std::deque<Source> sources_;
    std::vector<Piece> pieces_;
    std::vector<Block> blocks_;
    int64_t nbytes_ = 0;
    int64_t written_ = 0;
    std::deque<Target> targets_;
    GatherBuffer buffers_[kBuffers];
};

Status view_source(via_array *array, via_array **out_view) {
    if (!array->is_packed()) {
        retain_array(array);
        *out_view = array;
        return VIA_OK;
    }
    return view_bytes(array, 0, array->nbytes(), out_view);
}

Status ArchiveWriter::prepare(const SaveRequest &request) {
    options_ = request.options;
    options_.atomic_write = 1;
    options_.file_format = VIA_FORMAT_RAW;
    VIA_TRY(plan_save(request, &files_));
    for (size_t i = 0; i < files_.size(); ++i) {
        for (size_t k = 0; k < files_[i].arrays.size(); ++k) {
            via_array *array = request.arrays[files_[i].arrays[k]];
            VIA_TRY(is_plain(array) ? VIA_OK : cuda::need("a transfer of CUDA's memory"));
            VIA_TRY(add_source(array, i, files_[i].offsets[k]));
        }
    }
    return VIA_OK;
}

Status ArchiveWriter::anchor_paths() {
    for (PlannedFile &planned : files_) {
        if (planned.path.starts_with('/')) {
            continue;
        }
        char *target = nullptr;
        VIA_TRY(resolve_target(planned.path.c_str(), &target));
        const std::unique_ptr<char, decltype(&std::free)> held(target, std::free);
        planned.path = target;
    }
    return VIA_OK;
}

Status ArchiveWriter::add_source(via_array *array, size_t file, int64_t offset) {
    UniqueArray view;
    VIA_TRY(view_source(array, view.out()));
    const int64_t nbytes = array->nbytes();
    if (nbytes == 0) {
        return VIA_OK;
    }
    sources_.emplace_back(view.release());
    nbytes_ += nbytes;
    if (sources_.back().is_alone()) {
        blocks_.push_back({file, offset, nbytes, pieces_.size(), pieces_.size(), &sources_.back()});
    } else {
        add_slabs(file, offset);
    }
    return VIA_OK;
}

void ArchiveWriter::add_slabs(size_t file, int64_t offset) {
    const Slabs &slabs = sources_.back().slabs;
    for (int64_t i = 0; i < slabs.count(); ++i) {
        const int64_t start = offset + slabs.offset(i);
        const int64_t nbytes = slabs.offset(i + 1) - slabs.offset(i);
        const Block *last = blocks_.empty() ? nullptr : &blocks_.back();
        if (last == nullptr || last->file != file || last->alone != nullptr || last->nbytes + nbytes > kMostBlock) {
            blocks_.push_back({file, start, 0, pieces_.size(), pieces_.size(), nullptr});
        }
        pieces_.push_back({sources_.size() - 1, i, start});
        blocks_.back().nbytes += nbytes;
        blocks_.back().last++;
    }
}

Status ArchiveWriter::create_files() {
    for (const PlannedFile &planned : files_) {
        UniqueFile file;
        const FileContent content{VIA_UINT8, 1, &planned.offsets.back()};
        VIA_TRY(name_path(planned.path.c_str(), create_file(planned.path.c_str(), content, options_, file.out())));
        Target &target = targets_.emplace_back(&file, options_);
        VIA_TRY(name_file(target.file.get(), target.begin(planned)));
    }
    return VIA_OK;
}

// Pinned if a device fills the buffers. Any device reaches what is pinned for one of them.
Status ArchiveWriter::allocate_buffers() {
    int64_t most[kBuffers] = {};
    for (size_t i = 0; i < blocks_.size(); ++i) {
        int64_t &nbytes = most[i % kBuffers];
        nbytes = blocks_[i].alone == nullptr ? std::max(nbytes, blocks_[i].nbytes) : nbytes;
    }
    UniqueMemory pinned;
    const auto device = std::find_if(sources_.begin(), sources_.end(), [](const Source &source) {
        return source.array.get()->device_type == VIA_DEVICE_CUDA;
    });
    const bool has_pinned =
        device != sources_.end() &&
        cuda::make_cuda_memory(VIA_MEMORY_PINNED, device->array.get()->device_id, pinned.out()) == VIA_OK;
    for (size_t i = 0; i < kBuffers; ++i) {
        const bool done = most[i] == 0 || (has_pinned && buffers_[i].allocate(pinned.get(), most[i]) == VIA_OK);
        VIA_TRY(done ? VIA_OK : buffers_[i].allocate(host_memory(), most[i]));
    }
    return VIA_OK;
}

// Starts to gather a block.
Status ArchiveWriter::fill(size_t number) {
    if (number >= blocks_.size() || blocks_[number].alone != nullptr) {
        return VIA_OK;
    }
    const Block &block = blocks_[number];
    for (size_t i = block.first; i < block.last; ++i) {
        const Piece &piece = pieces_[i];
        UniqueArray slab;
        VIA_TRY(sources_[piece.source].slabs.view(piece.slab, slab.out()));
        VIA_TRY(buffer_of(number).queue(slab.get(), buffer_of(number).place(piece.offset, block)));
    }
    return VIA_OK;
}

Status ArchiveWriter::write(size_t number, via_task *task) {
    const Block &block = blocks_[number];
    Target &target = targets_[block.file];
    void *memory =
        block.alone != nullptr ? block.alone->array.get()->data : buffer_of(number).place(block.offset, block);
    const FileExtents extents = adjacent_extents({block.offset, block.nbytes});
    ExtentIo extent_io(target.io(block.alone == nullptr), extents);
    const IoRun run{extent_io.workers(Direction::Write), written_, nbytes_, task};
    const Status status = move_adjacent(extent_io, Direction::Write, 0, memory, block.nbytes, run);
    VIA_TRY(name_file(target.file.get(), status));
    written_ += block.nbytes;
    return VIA_OK;
}

// Blocks that stand alone need no buffer, so every block could use the buffer of its number.
Status ArchiveWriter::write_blocks(via_task *task) {
    VIA_TRY(fill(0));
    for (size_t i = 0; i < blocks_.size(); ++i) {
        VIA_TRY(blocks_[i].alone == nullptr ? buffer_of(i).settle() : VIA_OK);
        VIA_TRY(fill(i + 1));
        VIA_TRY(write(i, task));
    }
    return VIA_OK;
}

// All content is on disk before the first name.
Status ArchiveWriter::commit() {
    for (Target &target : targets_) {
        VIA_TRY(options_.durable != 0 ? make_durable(target.replacement.open()) : VIA_OK);
    }
    for (Target &target : targets_) {
        VIA_TRY(name_file(target.file.get(), target.replacement.commit()));
    }
    return VIA_OK;
}

Status ArchiveWriter::run(via_task *task) {
    VIA_TRY(create_files());
    VIA_TRY(allocate_buffers());
    VIA_TRY(write_blocks(task));
    return commit();
}

Status ArchiveWriter::await(via_stream *stream) const {
    for (const Source &source : sources_) {
        VIA_TRY(await_transfer(source.array.get(), stream));
    }
    return VIA_OK;
}

std::vector<Storage *> ArchiveWriter::storages() const {
    std::vector<Storage *> found;
    std::transform(sources_.begin(), sources_.end(), std::back_inserter(found),
                   [](const Source &source) { return source.array.get()->storage; });
    return found;
}

Status ArchiveWriter::find_dependency(via_stream *stream, Fence **out_dependency) const {
    const std::vector<Storage *> all = storages();
    std::set<int32_t> devices;  // each has a legacy stream
    for (const Source &source : sources_) {
        devices.insert(cuda::device_at_hand(source.array.get()));
    }
    UniqueFence before;
    VIA_TRY(last_writes(all.data(), static_cast<int64_t>(all.size()), {}, before.out()));
    for (const int32_t device : devices) {
        Fence *both[2] = {};
        VIA_TRY(dependency_of_stream(stream, device, &both[0]));
        both[1] = before.release();
        VIA_TRY(join_fences(both, std::size(both), before.out()));
    }
    *out_dependency = before.release();
    return VIA_OK;
}

struct SaveWork final : TaskWork {
    Status run(via_task *task, Fence **) override {
        try {
            return writer.run(task);
        } catch (const std::bad_alloc &) {
            return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory to write an archive");
        }
    }

    ArchiveWriter writer;
};

}  // namespace

Status save_archive(const SaveRequest &request, via_stream *stream) {
    ArchiveWriter writer;
    VIA_TRY(writer.prepare(request));
    VIA_TRY(writer.await(stream));
    return writer.run(nullptr);
}

Status submit_save(const SaveRequest &request, via_stream *stream, via_task **out_task) {
    auto work = std::make_unique<SaveWork>();
    ArchiveWriter &writer = work->writer;
    VIA_TRY(writer.prepare(request));
    VIA_TRY(writer.anchor_paths());
    UniqueFence dependency;
    VIA_TRY(writer.find_dependency(stream, dependency.out()));
    const std::vector<Storage *> storages = writer.storages();  // held by the caller, even if the task ends first
    const auto note = [&](Fence *end) {
        return add_accesses(storages.data(), static_cast<int64_t>(storages.size()), end);
    };
    return submit_work(work.release(), writer.nbytes(), dependency.get(), false, note, out_task);
}

}  // namespace via
