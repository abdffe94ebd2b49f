// Arrays of any dtype and layout, saved in shards of any size and read again: all arrays that can be saved come back,
// and so do parts of them.
#include <string>
#include <vector>

#include "archive_slice.hpp"
#include "bytes.hpp"

namespace {

constexpr int32_t kMostArrays = 6;
constexpr int64_t kBlockBytes = 12288;

// A folder of memory that goes with the process.
class Folder {
public:
    Folder() {
        char path[] = "/dev/shm/viaduct-fuzz-XXXXXX";
        EXPECT(mkdtemp(path) != nullptr);
        path_ = path;
    }
    Folder(const Folder &) = delete;
    Folder &operator=(const Folder &) = delete;
    ~Folder() { EXPECT(std::remove(path_.c_str()) == 0); }

    std::string file(const char *name) const { return path_ + "/" + name; }

    // Removes what a save has written.
    void clear(int32_t most) const {
        (void)std::remove(file("m.safetensors").c_str());
        (void)std::remove(file("m.safetensors.index.json").c_str());
        for (int32_t count = 1; count <= most; ++count) {
            for (int32_t number = 1; number <= count; ++number) {
                char name[64];
                std::snprintf(name, sizeof name, "m-%05d-of-%05d.safetensors", number, count);
                (void)std::remove(file(name).c_str());
            }
        }
    }

    const std::string &path() const { return path_; }

private:
    std::string path_;
};

struct Given {
    std::vector<via_array *> arrays;
    std::vector<std::string> names;
};

// Makes an array in the block: dense, or with gaps, reversed or permuted.
via_array *make_array(Bytes *bytes, char *block) {
    constexpr int32_t kDtypes[] = {VIA_BOOL,    VIA_UINT8,   VIA_INT16,     VIA_FLOAT16,      VIA_BFLOAT16,
                                   VIA_FLOAT32, VIA_FLOAT64, VIA_COMPLEX64, VIA_COMPLEX128,   VIA_FLOAT8_E4M3FN,
                                   VIA_INT64,   -3,          VIA_INT4,      VIA_FLOAT4_E2M1FN};
    const int32_t dtype = bytes->pick(kDtypes);
    const int64_t bits = via_dtype_bits(dtype);
    const int32_t ndim = bytes->between(0, 3);
    int64_t shape[3] = {1, 1, 1};
    int64_t strides[3] = {};
    int64_t step = 1;
    const bool is_reversed = bytes->flag() && bits % 8 == 0;
    for (int32_t i = ndim - 1; i >= 0; --i) {
        shape[i] = bytes->between(0, 8);
        strides[i] = step;
        step *= std::max<int64_t>(shape[i], 1) + (bits % 8 == 0 ? bytes->between(0, 1) : 0);
    }
    if (is_reversed) {
        std::reverse(shape, shape + ndim);
        std::reverse(strides, strides + ndim);
    }
    EXPECT(step * ((bits + 7) / 8) <= kBlockBytes);
    via_array *array = nullptr;
    EXPECT(via_wrap(block, dtype, ndim, shape, strides, VIA_DEVICE_CPU, 0, 0, nullptr, nullptr, &array) == VIA_OK);
    return array;
}

Given make_all(Bytes *bytes, char *block) {
    Given given;
    for (int32_t left = bytes->between(0, kMostArrays); left > 0; --left) {
        size_t length = 0;
        const char *name = bytes->text(4, &length);
        given.names.emplace_back(name, length);
        given.names.back().resize(std::strlen(given.names.back().c_str()));
        given.arrays.push_back(make_array(bytes, block));
    }
    return given;
}

bool is_saved(const std::vector<std::string> &names) {
    std::vector<std::string> sorted = names;
    std::sort(sorted.begin(), sorted.end());
    return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
}

void expect_arrays(const Given &given, via_archive *archive, via_array *buffer) {
    EXPECT(via_archive_size(archive) == static_cast<int64_t>(given.arrays.size()));
    for (size_t i = 0; i < given.arrays.size(); ++i) {
        int64_t number = -1;
        via_array *found = nullptr;
        EXPECT(via_archive_find(archive, given.names[i].c_str(), &number) == VIA_OK);
        EXPECT(via_archive_array(archive, number, buffer, &found) == VIA_OK);
        EXPECT(via_array_ndim(found) == via_array_ndim(given.arrays[i]));
        via_array *dense = dense_copy(given.arrays[i]);
        if (via_dtype_bits(via_array_dtype(found)) % 8 == 0) {
            expect_same_bytes(found, dense);
        }
        via_array_release(dense);
        via_array_release(found);
    }
}

void read_again(Bytes *bytes, const Given &given, const Folder &folder) {
    via_archive *archive = nullptr;
    via_array *buffer = nullptr;
    EXPECT(via_archive_open(folder.path().c_str(), nullptr, &archive) == VIA_OK);
    EXPECT(via_archive_load(archive, nullptr, nullptr, &buffer) == VIA_OK);
    expect_arrays(given, archive, buffer);
    slice_all(bytes, archive, buffer);
    via_array_release(buffer);
    via_archive_release(archive);
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const Folder folder;
    static const via_stats_info before = count_alive();
    alignas(64) static char block[kBlockBytes];
    for (int64_t i = 0; i < kBlockBytes; ++i) {
        block[i] = static_cast<char>(i * 31 + i / 251);
    }
    Bytes bytes(data, size);
    const int64_t shard_bytes = bytes.flag() ? bytes.byte() : 0;
    const Given given = make_all(&bytes, block);
    std::vector<const char *> names;
    for (const std::string &name : given.names) {
        names.push_back(name.c_str());
    }
    const via_status status =
        via_archive_save(folder.file("m.safetensors").c_str(), static_cast<int32_t>(names.size()), given.arrays.data(),
                         names.data(), nullptr, shard_bytes, nullptr, nullptr);
    if (status == VIA_OK) {
        EXPECT(is_saved(given.names));
        read_again(&bytes, given, folder);
    } else {
        expect_reported(status, "via_archive_save");
    }
    folder.clear(kMostArrays);
    for (via_array *array : given.arrays) {
        via_array_release(array);
    }
    expect_alive(before);
    return 0;
}
