// Files that may be .npy ones: what is read of a header can be written and read again, and means the same when the
// file is opened.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "bytes.hpp"
#include "core/layout/dtype.hpp"
#include "file/npy.hpp"

namespace {

// A file in memory, and a path to it.
class Scratch {
public:
    Scratch() : descriptor_(memfd_create("npy", MFD_CLOEXEC)) {
        std::snprintf(path_, sizeof path_, "/proc/self/fd/%d", descriptor_);
    }

    const char *put(std::string_view content) {
        EXPECT(ftruncate(descriptor_, 0) == 0);
        EXPECT(pwrite(descriptor_, content.data(), content.size(), 0) == static_cast<ssize_t>(content.size()));
        return path_;
    }

private:
    int descriptor_;
    char path_[32];
};

bool is_same(const via::NpyHeader &a, const via::NpyHeader &b) {
    return a.dtype == b.dtype && a.ndim == b.ndim && a.column_major == b.column_major &&
           std::equal(a.shape, a.shape + a.ndim, b.shape);
}

// The header that begins the file; false if it is none.
bool read_header(std::string_view content, via::NpyHeader *out_header) {
    via::NpyPreamble preamble{};
    if (via::parse_npy_preamble(content.substr(0, via::kNpyMostPreamble), &preamble) != VIA_OK) {
        return false;
    }
    EXPECT(preamble.text_offset >= 10 && preamble.text_offset <= via::kNpyMostPreamble);
    EXPECT(preamble.text_bytes >= 0 && preamble.text_bytes <= via::kNpyMostText);
    const std::string_view rest = content.substr(static_cast<size_t>(preamble.text_offset));
    const auto text_bytes = static_cast<size_t>(preamble.text_bytes);
    if (rest.size() < text_bytes ||
        via::parse_npy_text(rest.substr(0, text_bytes), preamble.is_utf8, out_header) != VIA_OK) {
        return false;
    }
    out_header->data_offset = preamble.text_offset + preamble.text_bytes;
    return true;
}

void expect_sound(const via::NpyHeader &header) {
    EXPECT(via_dtype_is_valid(header.dtype) != 0);
    EXPECT(header.ndim >= 0 && header.ndim <= VIA_MAX_NDIM);
    EXPECT(std::all_of(header.shape, header.shape + header.ndim, [](int64_t extent) { return extent >= 0; }));
}

// Every dtype that a header names can be named in one.
void write_again(const via::NpyHeader &header) {
    via::NpyHeader again = header;
    char bytes[via::kNpyMostWritten];
    EXPECT(via::write_npy(&again, bytes) == VIA_OK);
    EXPECT(again.data_offset % 64 == 0 && again.data_offset <= via::kNpyMostWritten);
    via::NpyHeader found{};
    EXPECT(read_header({bytes, static_cast<size_t>(again.data_offset)}, &found));
    EXPECT(is_same(header, found) && found.data_offset == again.data_offset);
}

// Opened, the file is refused only because it does not hold all of its elements.
void open_file(const char *path, const via::NpyHeader &header, size_t size) {
    int64_t nbytes = 0;
    EXPECT(via::check_shape(header.dtype, header.ndim, header.shape, 0, &nbytes) == VIA_OK);
    nbytes = via::dense_bytes(nbytes, via::dtype_bits(header.dtype));
    via_file *file = nullptr;
    const via_status status = via_file_open(path, nullptr, &file);
    EXPECT(status == (nbytes <= static_cast<int64_t>(size) - header.data_offset ? VIA_OK : VIA_ERROR_FORMAT));
    if (status != VIA_OK) {
        expect_reported(status, "via_file_open");
        return;
    }
    via_file_properties found = VIA_FILE_PROPERTIES_INIT;
    EXPECT(via_file_info(file, &found) == VIA_OK);
    EXPECT(found.file_format == VIA_FORMAT_NPY && found.dtype == header.dtype && found.ndim == header.ndim);
    EXPECT(found.column_major == (header.column_major ? 1 : 0) && found.byte_offset == header.data_offset);
    EXPECT(std::equal(header.shape, header.shape + header.ndim, found.shape));
    via_file_release(file);
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static Scratch scratch;
    static const via_stats_info before = count_alive();
    const std::string_view content(reinterpret_cast<const char *>(data), size);
    via::NpyHeader header{};
    if (read_header(content, &header)) {
        expect_sound(header);
        write_again(header);
        open_file(scratch.put(content), header, size);
    }
    expect_alive(before);
    return 0;
}
