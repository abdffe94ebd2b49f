// Files: created, mapped, read and written from arrays of any layout.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "support.hpp"

using namespace viaduct;

namespace {

std::string path_of(const char *name) { return "/tmp/viaduct_cpp_" + std::to_string(getpid()) + "_" + name; }

// A file of 0, 1, 2, ... that is removed with its owner.
class Counted {
public:
    explicit Counted(const char *name) : path_(path_of(name)), file_(File::create(path_, VIA_FLOAT32, {2, 3})) {
        for (std::size_t i = 0; i < values_.size(); ++i) {
            values_[i] = static_cast<float>(i);
        }
        file_.write(Array::wrap(values_.data(), {2, 3}));
    }
    Counted(const Counted &) = delete;
    Counted &operator=(const Counted &) = delete;
    ~Counted() { std::remove(path_.c_str()); }

    const std::string &path() const { return path_; }
    const File &file() const { return file_; }
    const std::vector<float> &values() const { return values_; }

private:
    std::string path_;
    std::vector<float> values_ = std::vector<float>(6);
    File file_;
};

void a_file_of_numpys_is_mapped_by_its_header(void **) {
    const Counted counted("mapped.npy");
    const File file = File::open(counted.path());
    const via_file_properties properties = file.info();
    assert_int_equal(properties.file_format, VIA_FORMAT_NPY);
    assert_int_equal(properties.dtype, VIA_FLOAT32);
    const Array array = file.array();
    expect_numbers(array.shape(), {2, 3});
    assert_true(elements<const float>(array)[5] == 5);
}

void a_raw_file_is_mapped_as_what_it_is_said_to_be(void **) {
    const Counted counted("mapped.raw");
    File file = File::open(counted.path());
    const Array array = file.array(4, VIA_FLOAT32, {5});
    file.reset();
    assert_true(elements<const float>(array)[0] == 1);
    expect_thrown<InvalidArgumentError>("via_file_array", [&] { return counted.file().array(8, VIA_FLOAT32, {5}); });
}

void elements_are_read_into_any_layout(void **) {
    const Counted counted("read.npy");
    std::vector<float> transposed(6);
    const Array array = Array::wrap(transposed.data(), {3, 2});
    counted.file().read(array.permute());
    assert_true((transposed == std::vector<float>{0, 3, 1, 4, 2, 5}));
}

void windows_are_files_of_their_own(void **) {
    const Counted counted("window.npy");
    File window = File::open(counted.path()).window({0, 1}, {2, 2});
    std::vector<float> read(4);
    window.read(Array::wrap(read.data(), {2, 2}));
    assert_true((read == std::vector<float>{1, 2, 4, 5}));
    expect_numbers(window.window({1, 0}).array().shape(), {1, 2});
    const Array part = counted.file().window(4, VIA_FLOAT32, {5}, {1}, {3}).array();
    assert_true(elements<const float>(part)[0] == 2 && part.shape()[0] == 3);
    expect_thrown<ShapeError>("window: starts has 1 entries; expected one for each of 2 axes",
                              [&] { return window.window({1}); });
    expect_thrown<IndexError>("start[1]", [&] { return window.window({0, 3}); });
}

void a_file_converts_what_it_transfers(void **) {
    const Counted counted("converted.npy");
    File doubles = counted.file().convert(VIA_FLOAT64);
    std::vector<double> read(6);
    doubles.read(Array::wrap(read.data(), {2, 3}));
    assert_true((read == std::vector<double>{0, 1, 2, 3, 4, 5}));
    assert_int_equal(doubles.info().dtype, VIA_FLOAT64);
    float scales[] = {2, 1, -1};
    via_convert_options options = convert_options();
    options.scale = scales;
    options.scale_count = 3;
    options.scale_axis = 1;
    std::vector<float> scaled(6);
    counted.file().convert(VIA_FLOAT32, options).read(Array::wrap(scaled.data(), {2, 3}));
    assert_true((scaled == std::vector<float>{0, 1, -2, 6, 4, -5}));
    const std::vector<std::int16_t> given = {9, 8, 7, 6, 5, 4};
    counted.file().convert(VIA_INT16).write(Array::wrap(given.data(), {2, 3}));
    doubles.read(Array::wrap(read.data(), {2, 3}));
    assert_true(std::equal(given.begin(), given.end(), read.begin()));
    expect_thrown<UnsupportedError>("converts float32 to float64", [&] { return doubles.array(); });
    options.casting = VIA_CASTING_EQUIV;
    expect_thrown<DTypeError>("casting is equiv", [&] { return counted.file().convert(VIA_FLOAT64, options); });
}

void transfers_go_on_behind_the_caller(void **) {
    const Counted counted("submitted.npy");
    std::vector<float> values(6, 9), read(6);
    counted.file().write_submit(Array::wrap(values.data(), {2, 3})).wait();
    counted.file().read_submit(Array::wrap(read.data(), {2, 3})).wait();
    assert_true(read == values);
}

void options_are_read(void **) {
    const Counted counted("options.npy");
    via_file_options options = file_options();
    options.mode = VIA_MODE_COPY_ON_WRITE;
    const Array array = File::open(counted.path(), options).array();
    elements<float>(array)[0] = 7;
    const Array untouched = counted.file().array();
    assert_true(elements<const float>(untouched)[0] == 0);
}

void a_file_that_is_not_there_is_an_error_of_the_system(void **) {
    expect_thrown<IoError>("ENOENT", [] { return File::open("/nowhere/at all.npy"); });
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        leaving_nothing(a_file_of_numpys_is_mapped_by_its_header),
        leaving_nothing(a_raw_file_is_mapped_as_what_it_is_said_to_be),
        leaving_nothing(elements_are_read_into_any_layout),
        leaving_nothing(windows_are_files_of_their_own),
        leaving_nothing(a_file_converts_what_it_transfers),
        leaving_nothing(transfers_go_on_behind_the_caller),
        leaving_nothing(options_are_read),
        leaving_nothing(a_file_that_is_not_there_is_an_error_of_the_system),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
