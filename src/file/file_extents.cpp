#include "file/file_extents.hpp"

#include <algorithm>

#include "copy/choose_loops.hpp"
#include "copy/normalise.hpp"
#include "copy/run.hpp"

namespace via {
namespace {

// What could be read in the time that a read of anything takes: on one H200's machine 3 us of a system call's, and 8 us
// of a disk's, are about as many bytes.
constexpr int64_t kCallBytes = int64_t{16} << 10;

// What is read with its gaps at a time: it stays in a core's cache until the rows have been taken out.
constexpr int64_t kMostSpan = int64_t{256} << 10;

// A part of the rows on its way. Levels are those of the loops; that of ndim is one row.
class Walk {
public:
    Walk(FileIo &file_io, const FileExtents &extents, const RowGroups &groups, Towards towards, bool cold)
        : io_(file_io), extents_(extents), groups_(groups), towards_(towards), cold_(cold) {}

    // Bytes from `from` on of the loops at `level`, the first row of which is at `place`.
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
        return towards_ == Towards::Memory ? io_.read_row(cold_, memory, place, nbytes)
                                           : io_.write(memory, place, nbytes);
    }

    // So many indices of the loop, and all of those within it.
    Status whole(int32_t level, int64_t place, int64_t count, char *memory) {
        if (level == extents_.ndim) {
            return row(place, extents_.row_bytes, memory);
        }
        const bool gathers = towards_ == Towards::Memory && level >= groups_.level;
        const int64_t most = gathers ? (kMostSpan - groups_.spans[level + 1]) / extents_.steps[level] + 1 : 1;
        for (int64_t done = 0; done < count; done += most) {
            const int64_t some = std::min(most, count - done);
            const int64_t at = place + done * extents_.steps[level];
            char *to = memory + done * groups_.bytes[level + 1];
            VIA_TRY(some > 1 ? gather(level, at, some, to) : whole(level + 1, at, count_within(level), to));
        }
        return VIA_OK;
    }

    int64_t count_within(int32_t level) const { return level + 1 < extents_.ndim ? extents_.counts[level + 1] : 1; }

    // With the gaps, and then without.
    Status gather(int32_t level, int64_t place, int64_t count, char *memory) {
        Buffer buffer(io_.buffers());
        VIA_TRY(buffer.take());
        VIA_TRY(
            io_.read_row(cold_, buffer.get(), place, (count - 1) * extents_.steps[level] + groups_.spans[level + 1]));
        Plan plan;
        normalise_bytes(memory, buffer.get(), extents_.row_bytes, &plan);
        plan.nbytes = count * groups_.bytes[level + 1];
        for (int32_t i = extents_.ndim - 1; i >= level; --i) {
            plan.axes[plan.ndim++] = {i == level ? count : extents_.counts[i], groups_.bytes[i + 1], extents_.steps[i]};
        }
        choose_loops_single(&plan, false);
        run_plan(plan);
        return VIA_OK;
    }

    FileIo &io_;
    const FileExtents &extents_;
    const RowGroups &groups_;
    const Towards towards_;
    const bool cold_;
};

}  // namespace

RowGroups::RowGroups(const FileExtents &extents) : level(extents.ndim) {
    bytes[extents.ndim] = spans[extents.ndim] = extents.row_bytes;
    for (int32_t i = extents.ndim - 1; i >= 0; --i) {
        bytes[i] = bytes[i + 1] * extents.counts[i];
        spans[i] = spans[i + 1] + (extents.counts[i] - 1) * extents.steps[i];
        const bool is_near = extents.steps[i] - spans[i + 1] <= kCallBytes && spans[i + 1] <= kMostSpan;
        level = level == i + 1 && is_near ? i : level;
    }
    cost = extents.nbytes / bytes[level] * (spans[level] + kCallBytes);
}

Status Rows::read(void *memory, int64_t offset, int64_t nbytes) {
    if (is_one()) {
        return io_.read(memory, extents_.offset + offset, nbytes);
    }
    Walk walk(io_, extents_, groups_, Towards::Memory, is_cold(offset, nbytes));
    return walk.part(0, extents_.offset, offset, nbytes, static_cast<char *>(memory));
}

// Gaps are somebody else's: they are not even written with what they hold.
Status Rows::write(const void *memory, int64_t offset, int64_t nbytes) {
    Walk walk(io_, extents_, groups_, Towards::File, false);
    return walk.part(0, extents_.offset, offset, nbytes, static_cast<char *>(const_cast<void *>(memory)));
}

Status Rows::prepare_write() { return is_one() ? io_.prepare_write(extents_.offset, extents_.nbytes) : VIA_OK; }

int64_t Rows::place_of(int64_t offset) const {
    int64_t place = extents_.offset;
    for (int32_t i = 0; i < extents_.ndim; ++i) {
        place += offset / groups_.bytes[i + 1] * extents_.steps[i];
        offset %= groups_.bytes[i + 1];
    }
    return place + offset;
}

// A few rows tell what the others are like.
bool Rows::is_cold(int64_t offset, int64_t nbytes) const {
    constexpr int64_t kExtents = 4;
    int32_t cold = 0;
    for (int64_t i = 0; i < kExtents && io_.may_read_past(); ++i) {
        const int64_t at = offset + (nbytes - 1) / kExtents * i;
        const int64_t left = extents_.row_bytes - at % extents_.row_bytes;
        cold += io_.is_missing(place_of(at), std::min({left, offset + nbytes - at, kCallBytes})) ? 1 : 0;
    }
    return 2 * cold > kExtents;
}

int64_t Rows::piece_bytes() const {
    constexpr int64_t kLeastPiece = int64_t{16} << 10;
    int64_t piece = FileIo::kPieceBytes;
    for (int64_t cost = groups_.cost; cost > extents_.nbytes + kCallBytes && piece > kLeastPiece; cost /= 2) {
        piece /= 2;
    }
    return piece;
}

int32_t Rows::readers(int64_t offset, int64_t nbytes) const {
    if (is_one()) {
        return io_.readers(extents_.offset + offset, nbytes);
    }
    const double share = static_cast<double>(nbytes) / static_cast<double>(extents_.nbytes);
    const auto cost = static_cast<int64_t>(share * static_cast<double>(groups_.cost));
    return io_.row_readers(cost, is_cold(offset, nbytes));
}

int32_t Rows::writers(int64_t nbytes) const { return io_.writers(std::min(nbytes, extents_.row_bytes)); }

}  // namespace via
