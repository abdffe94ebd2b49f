// Structs of any size, with anything behind the fields that this library knows: those that go in mean what their known
// fields say, those that come out are filled as far as they reach, and not a byte further.
#include <sys/mman.h>
#include <unistd.h>

#include <dlpack/dlpack.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "bytes.hpp"

namespace {

constexpr int32_t kMostSize = 4096;

// What the calls are about: an array, and a file of 16 bytes with a path.
struct Subject {
    Subject() {
        const int64_t shape[] = {2, 2};
        EXPECT(via_wrap(values, VIA_FLOAT32, 2, shape, nullptr, VIA_DEVICE_CPU, 0, 0, nullptr, nullptr, &array) ==
               VIA_OK);
        const int descriptor = memfd_create("structs", MFD_CLOEXEC);
        EXPECT(write(descriptor, values, sizeof values) == static_cast<ssize_t>(sizeof values));
        std::snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
        EXPECT(via_file_open(path, nullptr, &file) == VIA_OK);
    }

    float values[4] = {0, 1, 2, 3};
    via_array *array = nullptr;
    via_file *file = nullptr;
    char path[32];
};

const Subject &subject() {
    static const Subject made;
    return made;
}

// How a call with a struct ended, and what it made.
struct Answer {
    via_status status;
    int64_t made[4];

    bool operator==(const Answer &) const = default;
};

Answer export_array(const void *options) {
    DLManagedTensorVersioned *tensor = nullptr;
    Answer answer{via_to_dlpack(subject().array, static_cast<const via_dlpack_options *>(options), nullptr, &tensor),
                  {}};
    if (tensor != nullptr) {
        answer.made[0] = static_cast<int64_t>(tensor->flags);
        answer.made[1] = tensor->dl_tensor.data == subject().values ? 1 : 0;
    }
    via_dlpack_delete(tensor);
    return answer;
}

Answer export_legacy(const void *options) {
    DLManagedTensor *tensor = nullptr;
    Answer answer{
        via_to_dlpack_legacy(subject().array, static_cast<const via_dlpack_options *>(options), nullptr, &tensor), {}};
    answer.made[0] = tensor != nullptr && tensor->dl_tensor.data == subject().values ? 1 : 0;
    via_dlpack_delete_legacy(tensor);
    return answer;
}

Answer take(const void *options) {
    DLManagedTensorVersioned *tensor = nullptr;
    EXPECT(via_to_dlpack(subject().array, nullptr, nullptr, &tensor) == VIA_OK);
    via_array *array = nullptr;
    Answer answer{via_from_dlpack(tensor, static_cast<const via_dlpack_options *>(options), nullptr, &array), {}};
    answer.made[0] = via_array_flags(array);
    answer.made[1] = via_array_data(array) == subject().values ? 1 : 0;
    if (answer.status != VIA_OK) {
        via_dlpack_delete(tensor);
    }
    via_array_release(array);
    return answer;
}

Answer describe(const void *description) {
    via_array *array = nullptr;
    const auto *given = static_cast<const via_array_interface *>(description);
    Answer answer{via_from_array_interface(given, nullptr, nullptr, &array), {}};
    answer.made[0] = via_array_size(array);
    answer.made[1] = via_array_dtype(array);
    answer.made[2] = via_array_flags(array);
    answer.made[3] = via_array_ndim(array) > 0 ? via_array_byte_strides(array)[0] : 0;
    via_array_release(array);
    return answer;
}

Answer open_file(const void *options) {
    via_file *file = nullptr;
    Answer answer{via_file_open(subject().path, static_cast<const via_file_options *>(options), &file), {}};
    via_file_properties found = VIA_FILE_PROPERTIES_INIT;
    if (file != nullptr) {
        EXPECT(via_file_info(file, &found) == VIA_OK);
        answer.made[0] = found.file_format;
        answer.made[1] = found.column_major;
        answer.made[2] = found.nbytes;
    }
    via_file_release(file);
    return answer;
}

constexpr struct {
    Answer (*call)(const void *given);
    const char *function;
    int32_t size;
} kInputs[] = {{export_array, "via_to_dlpack", sizeof(via_dlpack_options)},
               {export_legacy, "via_to_dlpack_legacy", sizeof(via_dlpack_options)},
               {take, "via_from_dlpack", sizeof(via_dlpack_options)},
               {describe, "via_from_array_interface", sizeof(via_array_interface)},
               {open_file, "via_file_open", sizeof(via_file_options)}};

via_status fill_stats(void *out) { return via_stats(static_cast<via_stats_info *>(out)); }

via_status fill_device(void *out) {
    return via_device_info(VIA_DEVICE_CPU, 0, static_cast<via_device_properties *>(out));
}

via_status fill_pointer(void *out) { return via_pointer_query(subject().values, static_cast<via_pointer_info *>(out)); }

via_status fill_description(void *out) {
    return via_to_array_interface(subject().array, static_cast<via_array_interface *>(out));
}

via_status fill_file(void *out) { return via_file_info(subject().file, static_cast<via_file_properties *>(out)); }

constexpr struct {
    via_status (*call)(void *out);
    const char *function;
    int32_t size;
} kOutputs[] = {{fill_stats, "via_stats", sizeof(via_stats_info)},
                {fill_pointer, "via_pointer_query", sizeof(via_pointer_info)},
                {fill_description, "via_to_array_interface", sizeof(via_array_interface)},
                {fill_file, "via_file_info", sizeof(via_file_properties)},
                {fill_device, "via_device_info", sizeof(via_device_properties)}};

constexpr int32_t kLargestKnown = 1088;
static_assert(sizeof(via_array_interface) <= kLargestKnown && sizeof(via_device_properties) <= kLargestKnown);

// The size of the struct, of an older or a newer one, or any number.
int32_t choose_size(Bytes *bytes, int32_t known) {
    const int32_t kind = bytes->byte();
    return kind < 96 ? known : kind < 240 ? bytes->between(0, 255) * (known + 64) / 255 : bytes->number32();
}

// A block that ends where the struct says that it does.
std::unique_ptr<char[]> make_block(int32_t size, char fill) {
    const auto nbytes = static_cast<size_t>(size);
    std::unique_ptr<char[]> block(new char[nbytes]);
    std::memset(block.get(), fill, nbytes);
    return block;
}

void put_size(char *block, int32_t size) { std::memcpy(block, &size, sizeof size); }

// Small numbers mostly, in fields of 4 bytes; text where a description has its typestr.
void choose_fields(Bytes *bytes, char *block, int32_t size, int32_t known) {
    constexpr int32_t kValues[] = {0, 1, 2, 3, 4, -1, 99, 7};
    const int32_t end = std::min(size, known);
    for (int32_t at = 4; at + 4 <= end && !bytes->is_empty(); at += 4) {
        std::memcpy(block + at, &bytes->pick(kValues), 4);
    }
    constexpr int32_t kTypestr = offsetof(via_array_interface, typestr);
    if (known == sizeof(via_array_interface) && end >= kTypestr + 4) {
        std::memcpy(block + kTypestr, "<f4", 4);
    }
}

// Fields that name CUDA's memory would have it copied there.
void keep_to_host(char *block, int32_t size) {
    via_dlpack_options options = VIA_DLPACK_OPTIONS_INIT;
    std::memcpy(&options, block, std::min<size_t>(static_cast<size_t>(size), sizeof options));
    if (options.target_device_type == VIA_DEVICE_CUDA || options.target_device_type == VIA_DEVICE_CUDA_HOST) {
        options.target_device_type = VIA_DEVICE_CPU;
    }
    std::memcpy(block, &options, std::min<size_t>(static_cast<size_t>(size), sizeof options));
}

void check_input(Bytes *bytes) {
    const auto &input = bytes->pick(kInputs);
    const int32_t size = choose_size(bytes, input.size);
    const int32_t room = size >= 4 && size <= kMostSize ? size : kMostSize;
    const std::unique_ptr<char[]> block = make_block(room, static_cast<char>(bytes->flag() ? 0xA5 : 0));
    choose_fields(bytes, block.get(), room, input.size);
    if (input.size == sizeof(via_dlpack_options)) {
        keep_to_host(block.get(), room);
    }
    put_size(block.get(), size);
    const Answer found = input.call(block.get());
    if (size < 4) {
        EXPECT(found.status == VIA_ERROR_INVALID_ARGUMENT && std::strstr(via_last_error(), "struct_size") != nullptr);
        expect_reported(found.status, input.function);
        return;
    }
    alignas(8) char whole[kLargestKnown] = {};
    std::memcpy(whole, block.get(), static_cast<size_t>(std::min(size, input.size)));
    put_size(whole, input.size);
    EXPECT(found == input.call(whole));
}

void check_output(Bytes *bytes) {
    const auto &output = bytes->pick(kOutputs);
    const int32_t size = choose_size(bytes, output.size);
    const int32_t room = size >= 4 && size <= kMostSize ? size : kMostSize;
    const std::unique_ptr<char[]> block = make_block(room, '\x5A');
    put_size(block.get(), size);
    alignas(8) char whole[kLargestKnown] = {};
    put_size(whole, output.size);
    EXPECT(output.call(whole) == VIA_OK);
    const via_status status = output.call(block.get());
    int32_t filled = 4;
    if (size < 4) {
        EXPECT(status == VIA_ERROR_INVALID_ARGUMENT);
        expect_reported(status, output.function);
    } else {
        EXPECT(status == VIA_OK);
        filled = std::min(size, output.size);
    }
    EXPECT(std::memcmp(block.get(), &size, sizeof size) == 0);
    EXPECT(std::memcmp(block.get() + 4, whole + 4, static_cast<size_t>(filled) - 4) == 0);
    EXPECT(std::all_of(block.get() + filled, block.get() + room, [](char byte) { return byte == '\x5A'; }));
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    (void)subject();
    static const via_stats_info before = count_alive();
    Bytes bytes(data, size);
    bytes.flag() ? check_input(&bytes) : check_output(&bytes);
    expect_alive(before);
    return 0;
}
