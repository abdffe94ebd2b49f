#include "archive/archive_read.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "archive/tensor_conversion.hpp"
#include "copy/copy_check.hpp"
#include "core/array/access_tracker.hpp"
#include "core/async/task.hpp"
#include "core/base/copy_contiguous.hpp"
#include "core/base/first_failure.hpp"
#include "core/base/rounding.hpp"
#include "core/system/thread_count.hpp"
#include "cuda/convert_transfer.hpp"
#include "cuda/device.hpp"
#include "cuda/io_endpoint.hpp"
#include "cuda/stream_access.hpp"
#include "file/file_transfer.hpp"
#include "file/io_chunks.hpp"

namespace via {
namespace {

// Bytes that are adjacent in the buffer, and in a file unless they are rows.
struct Segment {
    int32_t file;
    int64_t offset;  // in the whole file
    int64_t nbytes;
    int64_t place;                                                   // in the buffer
    int64_t placed_bytes;                                            // there
    ExtentIo *rows = nullptr;                                        // of bytes that are adjacent in the buffer only
    std::shared_ptr<const TransferConversion> conversion = nullptr;  // nullptr: elements stay as they are

    int64_t end() const { return place + placed_bytes; }
};

// A read under way. Holds what it needs of the archive, to which tensors may be added meanwhile.
class ArchiveReader final : public cuda::IoEndpoint {
public:
    // Consumes no reference.
    ArchiveReader(via_archive *archive, via_array *buffer);
    ArchiveReader(const ArchiveReader &) = delete;
    ArchiveReader &operator=(const ArchiveReader &) = delete;

    // Reads all segments. Stores the fence at which a device ends the read; nullptr if it is complete.
    VIA_NODISCARD Status run(via_task *task, Fence **out_fence);

    // Reads bytes of a segment as the file has them. Called by several threads.
    VIA_NODISCARD Status fetch_as_is(const Segment &segment, char *memory, int64_t first, int64_t nbytes);

    // Reads bytes of the buffer to memory. Fills gaps between tensors with zeros. Called by several threads.
    VIA_NODISCARD Status read(void *memory, int64_t offset, int64_t nbytes) override;

    int32_t workers() const;

private:
    // A file that is being read.
    struct Source {
        Source(const ArchiveFile &given, int32_t page_cache, bool own_memory)
            : file(given), open(given.file->hold_open()), io(open.get(), page_cache, false, own_memory) {}
        ArchiveFile file;
        UniqueOpenFile open;
        FileIo io;
    };

    // Rows of a sliced tensor.
    struct Rows {
        Rows(FileIo &file_io, const std::shared_ptr<const FileExtents> &given)
            : extents(given), io(file_io, *extents) {}
        std::shared_ptr<const FileExtents> extents;
        ExtentIo io;
    };

    // Segments [first, last) that are read together.
    struct Group {
        size_t first;
        size_t last;
    };

    VIA_NODISCARD Status check_unchanged() const;
    VIA_NODISCARD Status move(via_task *task, Fence **out_fence);
    VIA_NODISCARD Status move_to_host(via_task *task);
    VIA_NODISCARD Status move_to_device(via_task *task, Fence **out_fence);
    VIA_NODISCARD Status move_to_convert(via_task *task, Fence **out_fence);
    VIA_NODISCARD Status bounce(int64_t first, int64_t end, via_task *task);
    Group group_at(size_t first, int64_t end) const;
    VIA_NODISCARD Status fetch_group(const Group &group, char *memory, int64_t offset, int64_t end);
    VIA_NODISCARD Status fetch_one(const Segment &segment, char *memory, int64_t offset, int64_t end);
    VIA_NODISCARD Status fetch_converted(const Segment &segment, char *memory, int64_t from, int64_t to);
    void add_segment(const ArchiveTensor &tensor);
    void add_part(const Segment &segment, int64_t next_place);

    via_array *const buffer_;
    const UniqueArray held_;  // released even if the constructor fails
    std::vector<std::unique_ptr<Source>> sources_;
    std::deque<Rows> rows_;
    std::vector<Segment> segments_;
    const int64_t device_place_;                       // bytes of the buffer before what a device converts
    std::vector<cuda::JoinedConversion::Part> parts_;  // of the last segments, which a device converts
    int64_t parts_nbytes_ = 0;
};

// Segments of less are copied out of one read with their neighbours.
constexpr int64_t kShort = int64_t{64} << 10;
// Reading so many bytes that nobody wants costs less than another system call.
constexpr int64_t kMostGap = int64_t{16} << 10;
constexpr int64_t kMostGroup = int64_t{1} << 20;
// Bytes that are read before they are converted: they stay in a core's cache.
constexpr int64_t kConvertedBytes = int64_t{256} << 10;

bool continues(const Segment &segment, const ArchiveTensor &tensor) {
    return segment.rows == nullptr && tensor.rows == nullptr && segment.conversion == nullptr &&
           !tensor.is_converted() && segment.file == tensor.file && segment.offset + segment.nbytes == tensor.offset &&
           segment.place + segment.nbytes == tensor.place;
}

ArchiveReader::ArchiveReader(via_archive *archive, via_array *buffer)
    : buffer_(buffer), held_(retained(buffer)), device_place_(archive->device_place) {
    const bool own_memory = buffer->device_type == VIA_DEVICE_CUDA;
    for (const ArchiveFile &file : archive->files) {
        sources_.push_back(std::make_unique<Source>(file, archive->options.page_cache, own_memory));
    }
    for (const int64_t number : archive->by_place) {
        const ArchiveTensor &tensor = archive->tensors[static_cast<size_t>(number)];
        if (tensor.nbytes > 0) {
            add_segment(tensor);
        }
    }
    for (size_t i = 0; i < segments_.size(); ++i) {
        if (buffer->device_type == VIA_DEVICE_CUDA && segments_[i].place >= device_place_) {
            add_part(segments_[i], i + 1 < segments_.size() ? segments_[i + 1].place : buffer->size);
        }
    }
}

void ArchiveReader::add_segment(const ArchiveTensor &tensor) {
    if (!segments_.empty() && continues(segments_.back(), tensor)) {
        segments_.back().nbytes += tensor.nbytes;
        segments_.back().placed_bytes += tensor.nbytes;
        return;
    }
    Segment segment{tensor.file, tensor.offset, tensor.nbytes, tensor.place, tensor.buffer_nbytes()};
    if (tensor.rows != nullptr) {
        segment.rows = &rows_.emplace_back(sources_[static_cast<size_t>(tensor.file)]->io, tensor.rows).io;
    }
    segment.conversion = tensor.elements;
    segments_.push_back(std::move(segment));
}

void ArchiveReader::add_part(const Segment &segment, int64_t next_place) {
    const TransferConversion &conversion = *segment.conversion;
    parts_.push_back({parts_nbytes_, static_cast<char *>(buffer_->data) + segment.place,
                      segment.nbytes / conversion.file_item, conversion.file_item, conversion.plan.elements(),
                      next_place - segment.end()});
    parts_nbytes_ = round_up(parts_nbytes_ + segment.nbytes, kAlignment);
}

Status ArchiveReader::check_unchanged() const {
    for (const auto &source : sources_) {
        FileStamp now{};
        VIA_TRY(name_file(source->file.file.get(), stamp_of(source->open.get(), &now)));
        if (now != source->file.stamp) {
            return fail_with_code(VIA_ERROR_IO, ESTALE,
                                  "%.400s has changed since the archive was opened: ESTALE (Stale file handle); "
                                  "expected a file that nobody writes",
                                  source->file.file->path);
        }
    }
    return VIA_OK;
}

int32_t ArchiveReader::workers() const {
    int32_t most = 1;
    int64_t sum = 0;
    for (size_t i = 0; i < segments_.size();) {
        const int32_t file = segments_[i].file;
        int64_t begin = segments_[i].offset;
        int64_t end = begin;
        // What a device converts comes last, wherever it is in the file.
        for (; i < segments_.size() && segments_[i].file == file; ++i) {
            begin = std::min(begin, segments_[i].offset);
            end = std::max(end, segments_[i].offset + segments_[i].nbytes);
        }
        const int32_t here =
            sources_[static_cast<size_t>(file)]->io.readers(begin, std::min(end - begin, buffer_->size));
        most = std::max(most, here);
        sum += here;
    }
    return std::max(most, static_cast<int32_t>(std::min<int64_t>(sum, num_threads())));
}

Status ArchiveReader::fetch_one(const Segment &segment, char *memory, int64_t offset, int64_t end) {
    const int64_t from = std::max(offset, segment.place);
    const int64_t to = std::min(end, segment.end());
    char *to_memory = memory + (from - offset);
    return segment.conversion != nullptr ? fetch_converted(segment, to_memory, from - segment.place, to - segment.place)
                                         : fetch_as_is(segment, to_memory, from - segment.place, to - from);
}

// Reads bytes of the segment as the file has them.
Status ArchiveReader::fetch_as_is(const Segment &segment, char *memory, int64_t first, int64_t nbytes) {
    Source &source = *sources_[static_cast<size_t>(segment.file)];
    return name_file(source.file.file.get(), segment.rows != nullptr
                                                 ? segment.rows->read(memory, first, nbytes)
                                                 : source.io.read(memory, segment.offset + first, nbytes));
}

// Reads elements, and converts them while a core's cache holds them. The ends may cut an element.
Status ArchiveReader::fetch_converted(const Segment &segment, char *memory, int64_t from, int64_t to) {
    const TransferConversion &conversion = *segment.conversion;
    const int64_t item = conversion.array_item;
    const int64_t most = kConvertedBytes / std::max(item, conversion.file_item);
    Buffer read(sources_[static_cast<size_t>(segment.file)]->io.buffers());
    Buffer cut(sources_[static_cast<size_t>(segment.file)]->io.buffers());
    VIA_TRY(read.acquire());
    for (int64_t at = from; at < to;) {
        const int64_t first = at / item;
        const int64_t count = std::min((to - 1) / item + 1 - first, most);
        const int64_t end = std::min((first + count) * item, to);
        VIA_TRY(fetch_as_is(segment, read.get(), first * conversion.file_item, count * conversion.file_item));
        if (at % item == 0 && end % item == 0) {
            convert_adjacent(conversion, memory + (at - from), read.get(), count);
        } else {
            VIA_TRY(cut.get() == nullptr ? cut.acquire() : VIA_OK);
            convert_adjacent(conversion, cut.get(), read.get(), count);
            std::memcpy(memory + (at - from), cut.get() + (at - first * item), static_cast<size_t>(end - at));
        }
        at = end;
    }
    return VIA_OK;
}

ArchiveReader::Group ArchiveReader::group_at(size_t first, int64_t end) const {
    size_t last = first + 1;
    const Segment &begin = segments_[first];
    const auto joins = [&](const Segment &before, const Segment &next) {
        return next.rows == nullptr && next.file == begin.file && next.nbytes <= kShort && next.end() <= end &&
               next.offset - before.offset - before.nbytes <= kMostGap &&
               next.offset + next.nbytes - begin.offset <= kMostGroup;
    };
    while (begin.rows == nullptr && begin.nbytes <= kShort && last < segments_.size() &&
           joins(segments_[last - 1], segments_[last])) {
        last++;
    }
    return {first, last};
}

// Reads whole segments with the gaps between them to a buffer, and copies them to their places.
Status ArchiveReader::fetch_group(const Group &group, char *memory, int64_t offset, int64_t end) {
    const Segment &first = segments_[group.first];
    const Segment &last = segments_[group.last - 1];
    if (group.last - group.first == 1 || first.place < offset) {
        for (size_t i = group.first; i < group.last; ++i) {
            VIA_TRY(fetch_one(segments_[i], memory, offset, end));
        }
        return VIA_OK;
    }
    Source &source = *sources_[static_cast<size_t>(first.file)];
    Buffer buffer(source.io.buffers());
    VIA_TRY(buffer.acquire());
    VIA_TRY(name_file(source.file.file.get(),
                      source.io.read(buffer.get(), first.offset, last.offset + last.nbytes - first.offset)));
    for (size_t i = group.first; i < group.last; ++i) {
        const Segment &each = segments_[i];
        const char *from = buffer.get() + (each.offset - first.offset);
        if (each.conversion != nullptr) {
            const TransferConversion &conversion = *each.conversion;
            convert_adjacent(conversion, memory + (each.place - offset), from, each.nbytes / conversion.file_item);
        } else {
            copy_contiguous(memory + (each.place - offset), from, each.nbytes);
        }
    }
    return VIA_OK;
}

Status ArchiveReader::read(void *to, int64_t offset, int64_t nbytes) {
    auto *memory = static_cast<char *>(to);
    const int64_t end = offset + nbytes;
    const auto found = std::partition_point(segments_.begin(), segments_.end(),
                                            [&](const Segment &segment) { return segment.end() <= offset; });
    int64_t at = offset;
    for (auto number = static_cast<size_t>(found - segments_.begin());
         number < segments_.size() && segments_[number].place < end;) {
        const Group group = group_at(number, end);
        for (; number < group.last; ++number) {
            const Segment &segment = segments_[number];
            if (segment.place > at) {
                std::memset(memory + (at - offset), 0, static_cast<size_t>(segment.place - at));
            }
            at = std::min(segment.end(), end);
        }
        VIA_TRY(fetch_group(group, memory, offset, end));
    }
    if (end > at) {
        std::memset(memory + (at - offset), 0, static_cast<size_t>(end - at));
    }
    return VIA_OK;
}

Status ArchiveReader::move_to_host(via_task *task) {
    return read_adjacent(*this, 0, buffer_->data, buffer_->size, {workers(), 0, buffer_->size, task});
}

Status ArchiveReader::move_to_device(via_task *task, Fence **out_fence) {
    if (device_place_ == 0) {
        return VIA_OK;
    }
    UniqueArray front;
    bool is_done = false;
    const int64_t begin = segments_.empty() ? 0 : segments_[0].offset;
    VIA_TRY(view_bytes(buffer_, 0, device_place_, front.out()));
    VIA_TRY(move_staged(front.get(), Direction::Read, this, begin, {workers(), 0, buffer_->size, task}, &is_done,
                        out_fence));
    return is_done ? VIA_OK : bounce(0, device_place_, task);
}

// What a device converts, as the file has it: the tensors one after the other, each from a multiple of 64 bytes on.
class RawEndpoint final : public cuda::IoEndpoint {
public:
    RawEndpoint(ArchiveReader &reader, const Segment *segments, const std::vector<cuda::JoinedConversion::Part> &parts)
        : reader_(reader), segments_(segments), parts_(parts) {}

    Status read(void *slot, int64_t offset, int64_t nbytes) override {
        const int64_t end = offset + nbytes;
        auto part = std::upper_bound(parts_.begin(), parts_.end(), offset,
                                     [](int64_t at, const auto &each) { return at < each.offset; });
        for (part -= part != parts_.begin() ? 1 : 0; part != parts_.end() && part->offset < end; ++part) {
            const Segment &segment = segments_[part - parts_.begin()];
            const int64_t from = std::max(offset - part->offset, int64_t{0});
            const int64_t to = std::min(end - part->offset, segment.nbytes);
            if (from < to) {
                VIA_TRY(reader_.fetch_as_is(segment, static_cast<char *>(slot) + (part->offset + from - offset), from,
                                            to - from));
            }
        }
        return VIA_OK;
    }

private:
    ArchiveReader &reader_;
    const Segment *segments_;  // one for each part
    const std::vector<cuda::JoinedConversion::Part> &parts_;
};

// Elements cross the link as they are. Without a ring or kernels the host converts.
Status ArchiveReader::move_to_convert(via_task *task, Fence **out_fence) {
    if (parts_.empty()) {
        return VIA_OK;
    }
    const auto count = static_cast<int64_t>(parts_.size());
    RawEndpoint endpoint(*this, &segments_[segments_.size() - parts_.size()], parts_);
    bool is_done = false;
    VIA_TRY(cuda::convert_joined({parts_.data(), count, parts_nbytes_, buffer_, &endpoint, workers(), task}, &is_done,
                                 out_fence));
    return is_done ? VIA_OK : bounce(device_place_, buffer_->size, task);
}

// Reads a part of the buffer that cannot be staged.
Status ArchiveReader::bounce(int64_t first, int64_t end, via_task *task) {
    UniqueArray part;
    VIA_TRY(view_bytes(buffer_, first, end - first, part.out()));
    return bounce_slabs(part.get(), Direction::Read, [&](char *memory, int64_t offset, int64_t nbytes) {
        return read_adjacent(*this, first + offset, memory, nbytes, {workers(), first + offset, buffer_->size, task});
    });
}

Status ArchiveReader::move(via_task *task, Fence **out_fence) {
    if (buffer_->size == 0) {
        return VIA_OK;
    }
    if (buffer_->device_type != VIA_DEVICE_CUDA) {
        return move_to_host(task);
    }
    // Both run on streams of their own.
    Fence *fences[2] = {};
    Status status = move_to_device(task, &fences[0]);
    int32_t count = fences[0] != nullptr ? 1 : 0;
    status = status == VIA_OK ? move_to_convert(task, &fences[count]) : status;
    count += fences[count] != nullptr ? 1 : 0;
    return first_failure(status, [&] { return join_or_wait(fences, count, out_fence); });
}

// A device may still read slots after a change was found: the fence is stored on failure too.
Status ArchiveReader::run(via_task *task, Fence **out_fence) {
    VIA_TRY(check_unchanged());
    VIA_TRY(move(task, out_fence));
    return check_unchanged();
}

Status check_read(via_archive *archive, via_array *buffer) {
    VIA_TRY(require_all(archive));
    VIA_TRY(check_buffer(archive, buffer));
    VIA_TRY(check_writable(buffer));
    return is_plain(buffer) ? VIA_OK : cuda::need("a transfer of CUDA's memory");
}

struct ArchiveWork final : TaskWork {
    ArchiveWork(via_archive *archive, via_array *buffer) : reader(archive, buffer) {}

    Status run(via_task *task, Fence **out_fence) override { return reader.run(task, out_fence); }

    ArchiveReader reader;
};

}  // namespace

Status read_archive(via_archive *archive, via_array *buffer, via_stream *stream) {
    VIA_TRY(check_read(archive, buffer));
    ArchiveReader reader(archive, buffer);
    VIA_TRY(await_transfer(buffer, stream));
    UniqueFence fence;
    const Status status = reader.run(nullptr, fence.out());
    return first_failure(status, [&] { return fence.get() != nullptr ? fence.get()->wait() : VIA_OK; });
}

Status submit_archive(via_archive *archive, via_array *buffer, via_stream *stream, via_task **out_task) {
    VIA_TRY(check_read(archive, buffer));
    auto work = std::make_unique<ArchiveWork>(archive, buffer);
    UniqueFence dependency;
    VIA_TRY(dependency_of_arrays(stream, cuda::device_at_hand(buffer), {buffer}, dependency.out()));
    const auto note = [&](Fence *end) { return set_last_write(buffer->storage, end); };
    return submit_work(work.release(), buffer->size, dependency.get(), false, note, out_task);
}

Status load_archive(via_archive *archive, via_memory *memory, via_stream *stream, via_array **out_buffer) {
    UniqueArray buffer;
    VIA_TRY(require_all(archive));
    const int64_t nbytes = settle_places(archive);
    VIA_TRY(make_empty(memory, VIA_UINT8, 1, &nbytes, 0, stream, buffer.out()));
    VIA_TRY(read_archive(archive, buffer.get(), stream));
    *out_buffer = buffer.release();
    return VIA_OK;
}

}  // namespace via
