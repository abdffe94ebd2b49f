// Files of one format of archives, ARCHIVE_FORMAT: what is accepted has its tensors at their offsets, without overlap,
// each is the same in a buffer as in its window, and so is each part.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "archive_slice.hpp"
#include "bytes.hpp"

namespace {

constexpr std::string_view kFormat = ARCHIVE_FORMAT;
constexpr std::string_view kGguf = "GGUF";
constexpr std::string_view kZipEntry("PK\x03\x04");
constexpr std::string_view kEmptyZip("PK\x05\x06");

// The input with the first bytes of the format, so that each one is for its reader. What is neither GGUF nor ZIP is
// for that of safetensors.
std::string as_format(std::string_view input) {
    std::string file(input);
    const bool is_zip = input.starts_with(kZipEntry) || input.starts_with(kEmptyZip);
    if (kFormat == "safetensors") {
        if (is_zip || input.starts_with(kGguf)) {
            file[0] = 0;
        }
    } else if (kFormat == "gguf" || !is_zip) {
        const std::string_view start = kFormat == "gguf" ? kGguf : kZipEntry;
        file.resize(std::max(file.size(), start.size()));
        file.replace(0, start.size(), start);
    }
    return file;
}

// A file in memory, and a path to it.
class Scratch {
public:
    Scratch() : descriptor_(memfd_create("archive", MFD_CLOEXEC)) {
        std::snprintf(path_, sizeof path_, "/proc/self/fd/%d", descriptor_);
    }

    const char *put(const uint8_t *content, size_t size) {
        EXPECT(ftruncate(descriptor_, 0) == 0);
        EXPECT(pwrite(descriptor_, content, size, 0) == static_cast<ssize_t>(size));
        return path_;
    }

private:
    int descriptor_;
    char path_[32];
};

// Compares a tensor's bytes with those of the file at the offset of its window. Returns their number.
int64_t compare_tensor(via_archive *archive, int64_t number, via_array *buffer, const uint8_t *content, size_t size) {
    int64_t found = -1;
    EXPECT(via_archive_find(archive, via_archive_name(archive, number), &found) == VIA_OK && found == number);
    via_array *array = nullptr;
    EXPECT(via_archive_array(archive, number, buffer, &array) == VIA_OK);
    const int64_t nbytes = via_array_nbytes(array);
    EXPECT(via_archive_type_name(archive, number) != nullptr);
    via_file *window = nullptr;
    const via_status status = via_archive_file(archive, number, &window);
    EXPECT(status == VIA_OK || status == VIA_ERROR_UNSUPPORTED);
    if (status == VIA_OK) {
        via_file_properties properties = VIA_FILE_PROPERTIES_INIT;
        EXPECT(via_file_info(window, &properties) == VIA_OK);
        EXPECT(properties.dtype == via_array_dtype(array) && properties.ndim == via_array_ndim(array));
        EXPECT(properties.byte_offset >= 8 && properties.byte_offset + nbytes <= static_cast<int64_t>(size));
        EXPECT(nbytes == 0 ||
               std::memcmp(via_array_data(array), content + properties.byte_offset, static_cast<size_t>(nbytes)) == 0);
    }
    via_file_release(window);
    via_array_release(array);
    return nbytes;
}

// Makes an archive of the tensors that may be read. Expects others to be refused by every read.
via_archive *readable(via_archive *archive) {
    std::vector<int64_t> numbers;
    for (int64_t i = 0; i < via_archive_size(archive); ++i) {
        via_file *window = nullptr;
        if (via_archive_file(archive, i, &window) != VIA_ERROR_DTYPE) {
            numbers.push_back(i);
        }
        via_file_release(window);
    }
    if (static_cast<int64_t>(numbers.size()) < via_archive_size(archive)) {
        via_array *buffer = nullptr;
        EXPECT(via_archive_load(archive, nullptr, nullptr, &buffer) == VIA_ERROR_DTYPE && buffer == nullptr);
    }
    via_archive *selection = nullptr;
    EXPECT(via_archive_select(archive, static_cast<int32_t>(numbers.size()), numbers.data(), &selection) == VIA_OK);
    return selection;
}

void read_all(via_archive *archive, const uint8_t *content, size_t size) {
    via_array *buffer = nullptr;
    EXPECT(via_archive_load(archive, nullptr, nullptr, &buffer) == VIA_OK);
    int64_t nbytes = 0;
    for (int64_t i = 0; i < via_archive_size(archive); ++i) {
        nbytes += compare_tensor(archive, i, buffer, content, size);
    }
    EXPECT(nbytes <= via_archive_nbytes(archive) && nbytes + 10 <= static_cast<int64_t>(size));
    Bytes choices(content + size / 2, size - size / 2);
    slice_all(&choices, archive, buffer);
    via_array_release(buffer);
    int64_t length = 0;
    EXPECT(via_archive_metadata(archive, 0, nullptr, &length) == VIA_OK && length >= 2);
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static Scratch scratch;
    static const via_stats_info before = count_alive();
    const std::string file = as_format({reinterpret_cast<const char *>(data), size});
    const auto *content = reinterpret_cast<const uint8_t *>(file.data());
    via_archive *archive = nullptr;
    const via_status status = via_archive_open(scratch.put(content, file.size()), nullptr, &archive);
    if (status == VIA_OK) {
        via_archive *selection = readable(archive);
        read_all(selection, content, file.size());
        via_archive_release(selection);
        via_archive_release(archive);
    } else {
        EXPECT(archive == nullptr);
        expect_reported(status, "via_archive_open");
    }
    expect_alive(before);
    return 0;
}
