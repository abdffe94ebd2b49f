#include "archive/npz.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "archive/archive_paths.hpp"
#include "archive/header_bytes.hpp"
#include "core/base/utf8.hpp"
#include "core/layout/dtype.hpp"
#include "file/npy.hpp"
#include "file/read_write.hpp"

namespace via {
namespace {

// ---- The entries of a ZIP file, with ZIP64's sizes, checked strictly.

struct ZipEntry {
    std::string name;  // UTF-8 without NUL
    int32_t method;    // 0: stored
    bool is_encrypted;
    int64_t begin;   // of its header in the file
    int64_t offset;  // of its data
    int64_t nbytes;  // of its data, stored

    int64_t end() const { return offset + nbytes; }
};

constexpr std::string_view kLocal("PK\x03\x04");
constexpr std::string_view kCentral("PK\x01\x02");
constexpr std::string_view kEnd("PK\x05\x06");
constexpr std::string_view kEnd64("PK\x06\x06");
constexpr std::string_view kLocator64("PK\x06\x07");
constexpr int64_t kEndBytes = 22;
constexpr int64_t kEnd64Bytes = 56;
constexpr int64_t kLocator64Bytes = 20;
constexpr int64_t kMostComment = 0xFFFF;
constexpr int64_t kHeaderChunk = 512;       // holds a local header and that of most arrays
constexpr uint64_t kSmall32 = 0xFFFF'FFFF;  // stands for a number in ZIP64's record

enum Flag : uint64_t { kEncrypted = 1, kSizesFollow = 8, kDirectoryEncrypted = 1 << 13 };

uint64_t number_in(std::string_view bytes, size_t at, size_t width) { return little_endian(bytes.substr(at, width)); }

Status refuse(const char *found, const char *expected) {
    return fail(VIA_ERROR_FORMAT, "the ZIP file %s; expected %s", found, expected);
}

struct Directory {
    uint64_t entries;
    uint64_t nbytes;
    uint64_t offset;
    uint64_t end;  // where it has to end
};

// Finds the record that ends the file, after which comes its comment.
std::optional<size_t> find_end(std::string_view tail) {
    for (size_t at = tail.size() >= kEndBytes ? tail.size() - kEndBytes + 1 : 0; at-- > 0;) {
        const std::string_view record = tail.substr(at);
        if (record.starts_with(kEnd) && number_in(record, 20, 2) == record.size() - kEndBytes) {
            return at;
        }
    }
    return std::nullopt;
}

// Replaces the directory by that of ZIP64's record, if a locator says where it is.
Status read_end64(OpenFile *open, Directory *directory) {
    char locator[kLocator64Bytes];
    char record[kEnd64Bytes];
    const int64_t locator_offset = static_cast<int64_t>(directory->end) - kLocator64Bytes;
    // So many entries may need no ZIP64: their number is compared with the directory later.
    const bool is_needed = directory->nbytes == kSmall32 || directory->offset == kSmall32;
    std::string_view found;
    if (locator_offset >= kEnd64Bytes) {
        VIA_TRY(read_all(open, locator, locator_offset, kLocator64Bytes));
        found = {locator, sizeof locator};
    }
    if (!found.starts_with(kLocator64)) {
        return is_needed ? refuse("has no ZIP64 locator", "one before the end") : VIA_OK;
    }
    const uint64_t offset = number_in(found, 8, 8);
    if (number_in(found, 4, 4) != 0 || number_in(found, 16, 4) > 1 ||
        offset > static_cast<uint64_t>(locator_offset - kEnd64Bytes)) {
        return refuse("has a wrong ZIP64 locator", "that of a record before it");
    }
    VIA_TRY(read_all(open, record, static_cast<int64_t>(offset), kEnd64Bytes));
    const std::string_view end(record, sizeof record);
    const uint64_t entries = number_in(end, 32, 8);
    if (!end.starts_with(kEnd64) || number_in(end, 4, 8) != static_cast<uint64_t>(locator_offset) - offset - 12 ||
        number_in(end, 16, 8) != 0 || number_in(end, 24, 8) != entries) {
        return refuse("has a wrong ZIP64 record", "one of a single file");
    }
    *directory = {entries, number_in(end, 40, 8), number_in(end, 48, 8), offset};
    return VIA_OK;
}

Status find_directory(OpenFile *open, int64_t file_bytes, Directory *out_directory) {
    std::string tail(static_cast<size_t>(std::min(file_bytes, kEndBytes + kMostComment)), '\0');
    const int64_t tail_offset = file_bytes - static_cast<int64_t>(tail.size());
    VIA_TRY(read_all(open, tail.data(), tail_offset, static_cast<int64_t>(tail.size())));
    const std::optional<size_t> at = find_end(tail);
    if (!at.has_value()) {
        return refuse("has no directory", "its end within the last 65,557 bytes: the file may be cut short");
    }
    const std::string_view record = std::string_view(tail).substr(*at);
    const int64_t end = tail_offset + static_cast<int64_t>(*at);
    const uint64_t entries = number_in(record, 10, 2);
    *out_directory = {entries, number_in(record, 12, 4), number_in(record, 16, 4), static_cast<uint64_t>(end)};
    if (number_in(record, 4, 4) != 0 || number_in(record, 8, 2) != entries) {
        return fail(VIA_ERROR_UNSUPPORTED, "the ZIP file is a part of several; expected one file");
    }
    return read_end64(open, out_directory);
}

Status check_directory(const Directory &directory) {
    constexpr uint64_t kLeastEntry = 46;
    if (directory.nbytes > directory.end || directory.offset != directory.end - directory.nbytes) {
        return fail(VIA_ERROR_FORMAT, "the ZIP directory is %llu bytes from %llu on; expected it to end at %llu",
                    static_cast<unsigned long long>(directory.nbytes),
                    static_cast<unsigned long long>(directory.offset), static_cast<unsigned long long>(directory.end));
    }
    const uint64_t most = std::min<uint64_t>(directory.nbytes, kMostArchiveText) / kLeastEntry;
    return directory.entries <= most
               ? VIA_OK
               : fail(VIA_ERROR_FORMAT,
                      "the number of ZIP entries is %llu; expected at most %llu in a directory of "
                      "%llu bytes",
                      static_cast<unsigned long long>(directory.entries), static_cast<unsigned long long>(most),
                      static_cast<unsigned long long>(directory.nbytes));
}

// The numbers of an entry that ZIP64 may store in an extra field, in its order.
struct Sizes {
    uint64_t whole;
    uint64_t stored;
    uint64_t begin;
};

// Replaces numbers that stand for those of the extra field.
Status read_extra(std::string_view extra, Sizes *sizes) {
    bool is_found = false;
    while (!extra.empty()) {
        const uint64_t length = extra.size() < 4 ? extra.size() : number_in(extra, 2, 2);
        if (extra.size() < 4 || length > extra.size() - 4) {
            return refuse("has an extra field cut short", "a whole one");
        }
        if (number_in(extra, 0, 2) == 1) {
            if (is_found) {
                return refuse("has ZIP64's extra field twice", "it once");
            }
            is_found = true;
            std::string_view numbers = extra.substr(4, length);
            for (uint64_t *each : {&sizes->whole, &sizes->stored, &sizes->begin}) {
                if (*each != kSmall32) {
                    continue;
                }
                if (numbers.size() < 8) {
                    return refuse("has ZIP64's extra field cut short", "a number of 8 bytes for each that is 2^32 - 1");
                }
                *each = number_in(numbers, 0, 8);
                numbers.remove_prefix(8);
            }
        }
        extra.remove_prefix(4 + length);
    }
    return VIA_OK;
}

class ZipLister {
public:
    ZipLister(OpenFile *open, const Directory &directory, std::vector<ZipEntry> *entries)
        : open_(open),
          directory_(directory),
          bytes_(open, static_cast<int64_t>(directory.offset), static_cast<int64_t>(directory.end), int64_t{1} << 16),
          entries_(entries) {}

    Status list() {
        for (uint64_t i = 0; i < directory_.entries; ++i) {
            VIA_TRY(read_entry());
        }
        return bytes_.at() == static_cast<int64_t>(directory_.end)
                   ? VIA_OK
                   : refuse("has more bytes in its directory", "as many as its entries take");
    }

private:
    Status read_entry() {
        std::string_view found;
        VIA_TRY(bytes_.take(46, &found));
        if (!found.starts_with(kCentral)) {
            return refuse("has other bytes in its directory", "the next entry");
        }
        const std::string record(found);
        std::string_view text;
        ZipEntry entry{};
        VIA_TRY(bytes_.take(number_in(record, 28, 2), &text));
        entry.name = text;
        if (entry.name.find('\0') != entry.name.npos || utf8_prefix(entry.name) != entry.name.size()) {
            return fail(VIA_ERROR_FORMAT, "the name of a ZIP entry is '%.80s'; expected UTF-8 without NUL",
                        entry.name.c_str());
        }
        VIA_TRY(name_part("entry", entry.name, finish_entry(record, &entry)));
        entries_->push_back(std::move(entry));
        return VIA_OK;
    }

    Status fail_beyond(uint64_t begin, uint64_t nbytes) const {
        return fail(VIA_ERROR_FORMAT,
                    "the entry has %llu bytes from %llu on; expected them before %llu, the "
                    "directory",
                    static_cast<unsigned long long>(nbytes), static_cast<unsigned long long>(begin),
                    static_cast<unsigned long long>(directory_.offset));
    }

    Status finish_entry(std::string_view record, ZipEntry *entry) {
        Sizes sizes{number_in(record, 24, 4), number_in(record, 20, 4), number_in(record, 42, 4)};
        std::string_view extra;
        VIA_TRY(bytes_.take(number_in(record, 30, 2), &extra));
        VIA_TRY(read_extra(extra, &sizes));
        VIA_TRY(bytes_.take(number_in(record, 32, 2), &extra));  // the comment
        const uint64_t flags = number_in(record, 8, 2);
        entry->method = static_cast<int32_t>(number_in(record, 10, 2));
        entry->is_encrypted = (flags & (kEncrypted | kDirectoryEncrypted)) != 0;
        if (number_in(record, 34, 2) != 0) {
            return fail(VIA_ERROR_UNSUPPORTED, "the data are in another part of the ZIP file; expected one file");
        }
        if (sizes.begin >= directory_.offset || sizes.stored > directory_.offset) {
            return fail_beyond(sizes.begin, sizes.stored);
        }
        if (entry->method == 0 && sizes.whole != sizes.stored) {
            return fail(VIA_ERROR_FORMAT, "the entry has %llu bytes and stores %llu; expected as many",
                        static_cast<unsigned long long>(sizes.whole), static_cast<unsigned long long>(sizes.stored));
        }
        entry->begin = static_cast<int64_t>(sizes.begin);
        entry->nbytes = static_cast<int64_t>(sizes.stored);
        return read_local(flags, sizes, entry);
    }

    // Counts the bytes of an entry before its header is parsed: many entries with one large header would take long.
    Status count_bytes(uint64_t header, uint64_t stored) {
        taken_ += header + stored;
        return taken_ <= directory_.offset
                   ? VIA_OK
                   : fail(VIA_ERROR_FORMAT,
                          "the entries up to this one have %llu bytes; expected at most %llu, those before the "
                          "directory, without overlap",
                          static_cast<unsigned long long>(taken_), static_cast<unsigned long long>(directory_.offset));
    }

    // Compares the header before the data. If the sizes follow the data, it may have none.
    Status read_local(uint64_t flags, const Sizes &expected, ZipEntry *entry) {
        HeaderBytes bytes(open_, entry->begin, static_cast<int64_t>(directory_.offset), kHeaderChunk);
        std::string_view found;
        VIA_TRY(bytes.take(30, &found));
        const std::string record(found);
        Sizes sizes{number_in(record, 22, 4), number_in(record, 18, 4), 0};
        VIA_TRY(count_bytes(record.size() + number_in(record, 26, 2) + number_in(record, 28, 2), expected.stored));
        VIA_TRY(bytes.take(number_in(record, 26, 2), &found));
        const bool same_name = found == entry->name;
        VIA_TRY(bytes.take(number_in(record, 28, 2), &found));
        VIA_TRY(read_extra(found, &sizes));
        const bool follow = (flags & kSizesFollow) != 0 && sizes.whole == 0 && sizes.stored == 0;
        const bool same_sizes = sizes.whole == expected.whole && sizes.stored == expected.stored;
        if (!record.starts_with(kLocal) || !same_name || number_in(record, 6, 2) != flags ||
            static_cast<int32_t>(number_in(record, 8, 2)) != entry->method || !(same_sizes || follow)) {
            return fail(VIA_ERROR_FORMAT,
                        "the header at byte %lld differs from the ZIP directory; expected the same "
                        "name, flags, method and sizes",
                        as_printed(entry->begin));
        }
        entry->offset = bytes.at();
        return expected.stored <= directory_.offset - static_cast<uint64_t>(entry->offset)
                   ? VIA_OK
                   : fail_beyond(static_cast<uint64_t>(entry->offset), expected.stored);
    }

    OpenFile *const open_;
    const Directory directory_;
    HeaderBytes bytes_;
    std::vector<ZipEntry> *const entries_;
    uint64_t taken_ = 0;  // bytes of the entries so far
};

Status check_apart(const std::vector<ZipEntry> &sorted) {
    const auto found = std::ranges::adjacent_find(
        sorted, [](const ZipEntry &before, const ZipEntry &next) { return next.begin < before.end(); });
    return found == sorted.end()
               ? VIA_OK
               : fail(VIA_ERROR_FORMAT,
                      "tensor '%.80s': the entry begins at %lld; expected %lld or more, without overlap",
                      found[1].name.c_str(), as_printed(found[1].begin), as_printed(found[0].end()));
}

// Lists the entries in the order of their bytes. Each header is compared with the directory. Errors: VIA_ERROR_FORMAT
// also for entries that overlap, VIA_ERROR_UNSUPPORTED for a part of several files, VIA_ERROR_IO.
Status list_zip(OpenFile *open, std::vector<ZipEntry> *out_entries) {
    int64_t file_bytes = 0;
    Directory directory{};
    VIA_TRY(open->size(&file_bytes));
    VIA_TRY(find_directory(open, file_bytes, &directory));
    VIA_TRY(check_directory(directory));
    VIA_TRY(ZipLister(open, directory, out_entries).list());
    std::ranges::sort(*out_entries, {}, [](const ZipEntry &entry) { return std::tie(entry.begin, entry.name); });
    return check_apart(*out_entries);
}

// ---- The .npy files that they are.

constexpr std::string_view kSuffix = ".npy";

Status check_stored(const ZipEntry &entry) {
    if (entry.is_encrypted) {
        return fail(VIA_ERROR_UNSUPPORTED, "the entry is encrypted; expected plain bytes");
    }
    return entry.method == 0 ? VIA_OK
                             : fail(VIA_ERROR_UNSUPPORTED,
                                    "the entry is compressed, %s %d; expected a stored one, as numpy.savez "
                                    "writes it",
                                    entry.method == 8 ? "deflated by method" : "by method", entry.method);
}

// Lists elements without a dtype, such as Python objects, since other entries may be numbers.
Status refuse_later(Status status, const ZipEntry &entry, ArchiveTensor *tensor) {
    tensor->refusal = std::make_shared<const TensorRefusal>(TensorRefusal{status, last_error_text()});
    tensor->type_name = std::make_shared<const std::string>();
    tensor->offset = entry.offset;
    return VIA_OK;
}

Status read_tensor(OpenFile *open, const ZipEntry &entry, ArchiveTensor *tensor) {
    NpyHeader header{};
    VIA_TRY(check_stored(entry));
    if (const Status status = read_npy(open, entry.offset, entry.end(), &header); status != VIA_OK) {
        return status == VIA_ERROR_DTYPE ? refuse_later(status, entry, tensor) : status;
    }
    tensor->dtype = header.dtype;
    tensor->type_name = std::make_shared<const std::string>(DtypeName(header.dtype).text);
    tensor->swaps = header.swapped;
    tensor->shape.assign(header.shape, header.shape + header.ndim);
    tensor->is_column_major = header.column_major && header.ndim > 1;
    tensor->offset = header.data_offset;
    tensor->nbytes = entry.end() - header.data_offset;
    return VIA_OK;
}

Status add_entry(OpenFile *open, const ZipEntry &entry, TensorList *list) {
    if (!entry.name.ends_with(kSuffix)) {
        return fail(VIA_ERROR_FORMAT, "entry '%.80s' is no array; expected a name that ends in .npy",
                    entry.name.c_str());
    }
    return list->add(std::string_view(entry.name).substr(0, entry.name.size() - kSuffix.size()),
                     [&](ArchiveTensor *tensor) { return read_tensor(open, entry, tensor); });
}

}  // namespace

bool is_npz(std::string_view start) { return start.starts_with(kLocal) || start.starts_with(kEnd); }

Status read_npz(OpenFile *open, TensorList *out_list) {
    std::vector<ZipEntry> entries;
    VIA_TRY(list_zip(open, &entries));
    for (const ZipEntry &entry : entries) {
        VIA_TRY(add_entry(open, entry, out_list));
    }
    return VIA_OK;
}

}  // namespace via
