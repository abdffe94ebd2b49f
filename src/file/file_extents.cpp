#include "file/file_extents.hpp"

#include <algorithm>

#include "copy/choose_tiles.hpp"
#include "copy/normalise.hpp"
#include "copy/run.hpp"

namespace via {
namespace {

// Bytes that could be read in the time that any read of a disk takes: 8 us on an H200 host.
constexpr int64_t kColdCallBytes = int64_t{16} << 10;

// Most bytes read together with gaps: they stay in a core's cache until the rows have been copied out.
constexpr int64_t kMostSpan = int64_t{256} << 10;

// Rows from here on are scattered by the system as it reads them: at 4 KiB every 8 KiB of a cached file that takes 0.75
// of the time of copying them out. At 1 KiB it takes longer.
constexpr int64_t kLeastScattered = int64_t{2} << 10;

// Walks the rows of a part. Level i is that of loop i; level ndim is one row.
class Walk {
public:
    Walk(FileIo &file_io, const FileExtents &extents, const ExtentGroups &groups, Direction direction, bool cold)
        : io_(file_io), extents_(extents), groups_(groups), direction_(direction), cold_(cold) {}

    // Moves bytes from `from` on of the loops at `level`, whose first row is at `place`.
    Status part(int32_t level, int64_t place, int64_t from, int64_t nbytes, char *memory) {
        if (level == extents_.ndim) {
            return row(place + from, nbytes, memory);
        }
        const int64_t inner = groups_.bytes[level + 1];
        while (nbytes > 0) {
            const int64_t rest = from % inner;
            const int64_t at = place + from / inner * extents_.steps[level];
            int64_t length = nbytes / inner * inner;
            if (rest != 0 || length == 0) {
                length = std::min(inner - rest, nbytes);
                VIA_TRY(part(level + 1, at, rest, length, memory));
            } else {
                VIA_TRY(whole(level, at, length / inner, memory));
            }
            from += length;
            memory += length;
            nbytes -= length;
        }
        return VIA_OK;
    }

private:
    Status row(int64_t place, int64_t nbytes, char *memory) {
        return direction_ == Direction::Read ? io_.read_row(cold_, memory, place, nbytes)
                                             : io_.write(memory, place, nbytes);
    }

    // Moves `count` indices of the loop, and all loops inside it.
    Status whole(int32_t level, int64_t place, int64_t count, char *memory) {
        if (level == extents_.ndim) {
            return row(place, extents_.row_bytes, memory);
        }
        const bool gathers = direction_ == Direction::Read && level >= groups_.level;
        const int64_t most = !gathers          ? 1
                             : scatters(level) ? kMostRows
                                               : (kMostSpan - groups_.spans[level + 1]) / extents_.steps[level] + 1;
        for (int64_t done = 0; done < count; done += most) {
            const int64_t some = std::min(most, count - done);
            const int64_t at = place + done * extents_.steps[level];
            char *to = memory + done * groups_.bytes[level + 1];
            VIA_TRY(some == 1         ? whole(level + 1, at, count_within(level), to)
                    : scatters(level) ? scatter(level, at, some, to)
                                      : gather(level, at, some, to));
        }
        return VIA_OK;
    }

    int64_t count_within(int32_t level) const { return level + 1 < extents_.ndim ? extents_.counts[level + 1] : 1; }

    // Returns whether the indices of a loop are rows that the system scatters.
    bool scatters(int32_t level) const {
        return !cold_ && level == extents_.ndim - 1 && extents_.row_bytes >= kLeastScattered;
    }

    Status scatter(int32_t level, int64_t place, int64_t count, char *memory) {
        char gap[kMostCachedCallBytes];
        return io_.read_rows(memory, gap, {place, extents_.row_bytes, extents_.steps[level], count});
    }

    // Reads rows with their gaps, and copies the rows out.
    Status gather(int32_t level, int64_t place, int64_t count, char *memory) {
        Buffer buffer(io_.buffers());
        VIA_TRY(buffer.acquire());
        VIA_TRY(
            io_.read_row(cold_, buffer.get(), place, (count - 1) * extents_.steps[level] + groups_.spans[level + 1]));
        Plan plan;
        normalise_bytes(memory, buffer.get(), extents_.row_bytes, &plan);
        plan.nbytes = count * groups_.bytes[level + 1];
        for (int32_t i = extents_.ndim - 1; i >= level; --i) {
            plan.axes[plan.ndim++] = {i == level ? count : extents_.counts[i], groups_.bytes[i + 1], extents_.steps[i]};
        }
        choose_tiles(&plan, 1);
        run_plan(plan);
        return VIA_OK;
    }

    FileIo &io_;
    const FileExtents &extents_;
    const ExtentGroups &groups_;
    const Direction direction_;
    const bool cold_;
};

}  // namespace

ExtentGroups::ExtentGroups(const FileExtents &extents, int64_t call_bytes) : level(extents.ndim) {
    bytes[extents.ndim] = spans[extents.ndim] = extents.row_bytes;
    for (int32_t i = extents.ndim - 1; i >= 0; --i) {
        bytes[i] = bytes[i + 1] * extents.counts[i];
        spans[i] = spans[i + 1] + (extents.counts[i] - 1) * extents.steps[i];
        const bool is_near = extents.steps[i] - spans[i + 1] <= call_bytes && spans[i + 1] <= kMostSpan;
        level = level == i + 1 && is_near ? i : level;
    }
    cost = extents.nbytes / bytes[level] * (spans[level] + call_bytes);
}

// What is adjacent in the file needs no measurement.
ExtentIo::ExtentIo(FileIo &file_io, const FileExtents &extents)
    : io_(file_io),
      extents_(extents),
      cold_(extents, kColdCallBytes),
      cached_(extents, extents.ndim > 0 ? cached_call_bytes() : kColdCallBytes) {}

Status ExtentIo::read(void *memory, int64_t offset, int64_t nbytes) {
    if (is_one()) {
        return io_.read(memory, extents_.offset + offset, nbytes);
    }
    const bool cold = is_cold(offset, nbytes);
    Walk walk(io_, extents_, groups(cold), Direction::Read, cold);
    return walk.part(0, extents_.offset, offset, nbytes, static_cast<char *>(memory));
}

// Writes row by row: gaps belong to others, and are not even rewritten with their content.
Status ExtentIo::write(const void *memory, int64_t offset, int64_t nbytes) {
    Walk walk(io_, extents_, cached_, Direction::Write, false);
    return walk.part(0, extents_.offset, offset, nbytes, static_cast<char *>(const_cast<void *>(memory)));
}

Status ExtentIo::prepare_write() { return is_one() ? io_.prepare_write(extents_.offset, extents_.nbytes) : VIA_OK; }

int64_t ExtentIo::file_offset_of(int64_t offset) const {
    int64_t place = extents_.offset;
    for (int32_t i = 0; i < extents_.ndim; ++i) {
        place += offset / cached_.bytes[i + 1] * extents_.steps[i];
        offset %= cached_.bytes[i + 1];
    }
    return place + offset;
}

// Samples a few rows; fewer of a short part, which takes not much longer to read than to sample.
bool ExtentIo::is_cold(int64_t offset, int64_t nbytes) const {
    constexpr int64_t kSampled = int64_t{512} << 10;
    constexpr int64_t kMostSamples = 4;
    const int64_t samples = std::clamp<int64_t>(nbytes / kSampled, 1, kMostSamples);
    int32_t cold = 0;
    for (int64_t i = 0; i < samples && io_.may_read_past(); ++i) {
        const int64_t at = offset + (nbytes - 1) / samples * i;
        const int64_t left = extents_.row_bytes - at % extents_.row_bytes;
        cold += io_.is_missing(file_offset_of(at), std::min({left, offset + nbytes - at, kColdCallBytes})) ? 1 : 0;
    }
    return 2 * cold > samples;
}

int64_t ExtentIo::piece_bytes() const {
    constexpr int64_t kLeastPiece = int64_t{16} << 10;
    int64_t piece = FileIo::kPieceBytes;
    for (int64_t cost = cold_.cost; cost > extents_.nbytes + kColdCallBytes && piece > kLeastPiece; cost /= 2) {
        piece /= 2;
    }
    return piece;
}

int32_t ExtentIo::workers(Direction direction) const {
    if (direction == Direction::Write) {
        return io_.writers(extents_.row_bytes);
    }
    if (is_one()) {
        return io_.readers(extents_.offset, extents_.nbytes);
    }
    const bool cold = is_cold(0, extents_.nbytes);
    return io_.row_readers(groups(cold).cost, cold);
}

}  // namespace via
