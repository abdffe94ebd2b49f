// Archives: saved and read again, whole and in parts, and .npz and GGUF files by what they contain.
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "../capi/archive_files.h"
#include "support.hpp"

using namespace viaduct;

namespace {

// A file that is removed with its owner.
class Scratch {
public:
    explicit Scratch(const char *name) : path_("/tmp/viaduct_cpp_" + std::to_string(getpid()) + "_" + name) {}
    Scratch(const char *name, const archive_bytes &content) : Scratch(name) {
        FILE *file = std::fopen(path_.c_str(), "wb");
        assert_non_null(file);
        assert_int_equal(std::fwrite(content.bytes, 1, content.length, file), content.length);
        std::fclose(file);
    }
    Scratch(const Scratch &) = delete;
    Scratch &operator=(const Scratch &) = delete;
    ~Scratch() { std::remove(path_.c_str()); }

    const std::string &path() const { return path_; }

private:
    std::string path_;
};

std::vector<float> numbers(std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = static_cast<float>(i);
    }
    return values;
}

NamedArrays two_arrays(std::vector<float> &values) {
    NamedArrays arrays;
    arrays.emplace_back("row", Array::wrap(values.data(), {4}));
    arrays.emplace_back("matrix", Array::wrap(values.data(), {3, 4}));
    return arrays;
}

void what_is_saved_is_loaded_by_name(void **) {
    const Scratch file("saved.safetensors");
    std::vector<float> values = numbers(12);
    SaveOptions options;
    options.metadata = "{\"by\": \"a test\"}";
    save(file.path(), two_arrays(values), options);
    const Archive archive = Archive::open(file.path());
    const Array buffer = archive.load();
    assert_int_equal(archive.size(), 2);
    assert_int_equal(archive.nbytes(), buffer.size());
    assert_string_equal(archive.metadata().c_str(), "{\"by\": \"a test\"}");
    const std::int64_t number = archive.find("matrix");
    assert_string_equal(archive.name(number), "matrix");
    assert_string_equal(archive.type_name(number), "F32");
    assert_null(archive.type_name(2));
    const Array matrix = archive.array(number, buffer);
    expect_numbers(matrix.shape(), {3, 4});
    assert_true(elements<const float>(matrix)[11] == 11);
    expect_thrown<IndexError>("via_archive_find", [&] { return archive.find("none"); });
}

void parts_are_read_alone_and_as_tasks(void **) {
    const Scratch file("parts.safetensors");
    std::vector<float> values = numbers(12);
    save_submit(file.path(), two_arrays(values)).wait();
    const Archive archive = Archive::open(file.path());
    const std::int64_t number = archive.find("matrix");
    const Archive part = archive.select(1, &number);
    part.slice(0, 1, 2, 2);
    assert_int_equal(part.nbytes(), 3 * 2 * 4);
    const Array buffer = Array::empty(VIA_UINT8, {part.nbytes()});
    part.read_submit(buffer).wait();
    const Array columns = part.array(0, buffer);
    expect_numbers(columns.shape(), {3, 2});
    assert_true(elements<const float>(columns)[5] == 11);
    assert_int_equal(archive.file(number).info().ndim, 2);
    expect_thrown<IndexError>("tensor 'matrix'", [&] { part.slice(0, 1, 2, 2); });
}

void tensors_are_read_as_another_dtype(void **) {
    const Scratch file("converted.safetensors");
    std::vector<float> values = numbers(12);
    save(file.path(), two_arrays(values));
    const Archive archive = Archive::open(file.path());
    const std::int64_t number = archive.find("matrix");
    archive.convert(-1, VIA_FLOAT64);
    const Array buffer = archive.load();
    const Array matrix = archive.array(number, buffer);
    assert_true(elements<const double>(matrix)[11] == 11);
    via_convert_options options = convert_options();
    options.casting = VIA_CASTING_UNSAFE;
    archive.convert(number, VIA_INT8, options);
    assert_int_equal(archive.file(number).info().dtype, VIA_INT8);
    assert_int_equal(archive.file(archive.find("row")).info().dtype, VIA_FLOAT64);
    expect_thrown<DTypeError>("tensor 'matrix'", [&] { archive.convert(number, VIA_INT8); });
}

void other_formats_are_found_by_what_they_contain(void **) {
    archive_bytes content;
    make_npz(&content, "a.npy", 0, 5);
    const Scratch npz("npz", content);
    make_gguf(&content, "b", 8, 64, 136);
    const Scratch gguf("gguf", content);
    const Archive archive = Archive::open(npz.path());
    archive.add(gguf.path());
    assert_int_equal(archive.size(), 2);
    assert_string_equal(archive.type_name(0), "uint8");
    assert_string_equal(archive.type_name(1), "Q8_0");
    const Array buffer = archive.load();
    const Array blocks = archive.array(1, buffer);
    expect_numbers(blocks.shape(), {2, 68});
    assert_int_equal(elements<const std::uint8_t>(blocks)[135], 136);
    make_npz(&content, "a.npy", 8, 5);
    const Scratch deflated("deflated", content);
    expect_thrown<UnsupportedError>("tensor 'a'", [&] { return Archive::open(deflated.path()); });
    content.length -= 30;
    const Scratch cut("cut", content);
    expect_thrown<FormatError>("cut", [&] { return Archive::open(cut.path()); });
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        leaving_nothing(what_is_saved_is_loaded_by_name),
        leaving_nothing(parts_are_read_alone_and_as_tasks),
        leaving_nothing(tensors_are_read_as_another_dtype),
        leaving_nothing(other_formats_are_found_by_what_they_contain),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
