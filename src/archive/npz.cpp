#include "archive/npz.hpp"

#include <algorithm>
#include <utility>

#include "archive/header_bytes.hpp"
#include "archive/zip_directory.hpp"
#include "core/layout/dtype.hpp"
#include "file/npy.hpp"

namespace via {
namespace {

constexpr std::string_view kSuffix = ".npy";
constexpr int64_t kChunk = 512;

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

// Reads the .npy header of an entry, in as few reads as it takes.
Status read_header(OpenFile *open, const ZipEntry &entry, NpyHeader *out_header) {
    HeaderBytes bytes(open, entry.offset, entry.offset + entry.nbytes, kChunk);
    std::string_view found;
    NpyPreamble preamble{};
    VIA_TRY(bytes.take(static_cast<uint64_t>(std::min(entry.nbytes, kNpyMostPreamble)), &found));
    VIA_TRY(parse_npy_preamble(found, &preamble));
    HeaderBytes text(open, entry.offset + preamble.text_offset, entry.offset + entry.nbytes, kChunk);
    VIA_TRY(text.take(static_cast<uint64_t>(preamble.text_bytes), &found));
    VIA_TRY(parse_npy_text(found, preamble.is_utf8, out_header));
    out_header->data_offset = text.at();
    return VIA_OK;
}

Status add_tensor(OpenFile *open, const ZipEntry &entry, ArchiveTensor tensor, TensorList *list) {
    NpyHeader header{};
    VIA_TRY(check_stored(entry));
    VIA_TRY(read_header(open, entry, &header));
    tensor.dtype = header.dtype;
    tensor.type_name = DtypeName(header.dtype).text;
    tensor.swaps = header.swapped;
    tensor.shape.assign(header.shape, header.shape + header.ndim);
    tensor.is_column_major = header.column_major && header.ndim > 1;
    tensor.offset = header.data_offset;
    tensor.nbytes = entry.offset + entry.nbytes - header.data_offset;
    return list->add(std::move(tensor));
}

Status add_entry(OpenFile *open, const ZipEntry &entry, TensorList *list) {
    if (!entry.name.ends_with(kSuffix)) {
        return fail(VIA_ERROR_FORMAT, "entry '%.80s' is no array; expected a name that ends in .npy",
                    entry.name.c_str());
    }
    ArchiveTensor tensor;
    tensor.name = entry.name.substr(0, entry.name.size() - kSuffix.size());
    VIA_TRY(list->add_name(tensor.name));
    const std::string name = tensor.name;
    return name_tensor(name, add_tensor(open, entry, std::move(tensor), list));
}

}  // namespace

bool is_npz(std::string_view start) { return is_zip(start); }

Status read_npz(OpenFile *open, TensorList *out_list) {
    std::vector<ZipEntry> entries;
    std::vector<EntrySpan> spans;
    int64_t end = 0;
    VIA_TRY(list_zip(open, &entries, &end));
    for (const ZipEntry &entry : entries) {
        spans.push_back({entry.begin, entry.offset + entry.nbytes, entry.name});
    }
    VIA_TRY(check_apart(std::move(spans), end));
    for (const ZipEntry &entry : entries) {
        VIA_TRY(add_entry(open, entry, out_list));
    }
    out_list->sort();
    return VIA_OK;
}

}  // namespace via
