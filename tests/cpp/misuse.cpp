// The rows of tests/misuse/table.tsv in C++: those that this layer answers itself, and some that it hands on.
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "support.hpp"

using namespace viaduct;

namespace {

float pixels[12] = {};

Array grid() { return Array::wrap(pixels, {3, 4}); }

// A .npy file of 3 by 4, which goes with the test.
struct NpyFile {
    const char *path = "misuse_cpp.npy";
    File file = File::create(path, VIA_FLOAT32, {3, 4});

    ~NpyFile() { std::remove(path); }
};

Array on_device() { return Array::empty<std::int8_t>(Memory::create(VIA_MEMORY_DEVICE), {64}); }

const std::map<std::string, std::function<void()>> kCalls = {
    {"strides_too_few", [] { static_cast<void>(Array::wrap(pixels, {3, 4}, {{4}})); }},
    {"slice_too_few", [] { static_cast<void>(grid().slice({1})); }},
    {"axes_too_few", [] { static_cast<void>(grid().permute({0})); }},
    {"window_too_few", [] { static_cast<void>(NpyFile().file.window({1})); }},
    {"batch_of_unequal_lists",
     [] {
         const Array one = grid(), other = Array::empty<float>({3, 4});
         copy_batch({other.get()}, {one.get(), one.get()});
     }},
    {"elements_of_another_dtype",
     [] {
         const Array array = grid();
         static_cast<void>(elements<double>(array));
     }},
    {"elements_with_gaps",
     [] {
         const Array array = grid().permute();
         static_cast<void>(elements<float>(array));
     }},
    {"device_memory_as_elements",
     [] {
         const Array array = on_device();
         static_cast<void>(elements<std::int8_t>(array));
     }},
    {"past_the_buffer", [] { static_cast<void>(Array::adopt(std::vector<float>(12), {13})); }},
    {"index_past_the_end", [] { static_cast<void>(grid().select(0, 3)); }},
    {"reshape_off_by_one", [] { static_cast<void>(grid().reshape({13})); }},
    {"unknown_dtype", [] { static_cast<void>(Array::wrap_as(5, pixels, {4})); }},
    {"copy_to_another_dtype", [] { copy(grid().reinterpret(VIA_INT32), grid()); }},
    {"read_only_destination", [] { copy(grid().as_read_only(), grid()); }},
};

std::vector<std::string> cells_of(const std::string &line) {
    std::vector<std::string> cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, '\t');) {
        cells.push_back(cell);
    }
    return cells;
}

// The error's own type says its status, and its text what was found or which function of C refused.
bool answers_as_reported(const std::string &id, const std::string &status) {
    try {
        kCalls.at(id)();
    } catch (const Error &error) {
        const bool reported =
            std::strstr(error.what(), "; expected ") != nullptr || std::strncmp(error.what(), "via_", 4) == 0;
        if (reported && "VIA_ERROR_" + status == error.name()) {
            return true;
        }
        print_error("%s: %s: %s\n", id.c_str(), error.name(), error.what());
    }
    return false;
}

void every_row_of_the_table_is_answered_as_it_says(void **) {
    enum { Id, What, Status, Needs };
    std::ifstream table(VIADUCT_MISUSE_TABLE);
    std::string line;
    assert_true(static_cast<bool>(std::getline(table, line)));
    const std::vector<std::string> names = cells_of(line);
    assert_string_equal(names.back().c_str(), "cpp");
    via_device_properties none = VIA_DEVICE_PROPERTIES_INIT;
    const bool has_device = via_device_info(VIA_DEVICE_CUDA, 0, &none) == VIA_OK;
    std::size_t found = 0, broken = 0;
    while (std::getline(table, line)) {
        const std::vector<std::string> cells = cells_of(line);
        const bool said = cells.back() == "=";
        assert_int_equal(said, kCalls.count(cells[Id]));
        found += said ? 1 : 0;
        if (said && (cells[Needs].empty() || has_device)) {
            broken += answers_as_reported(cells[Id], cells[Status]) ? 0 : 1;
        }
    }
    assert_int_equal(found, kCalls.size());
    assert_int_equal(broken, 0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {leaving_nothing(every_row_of_the_table_is_answered_as_it_says)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
