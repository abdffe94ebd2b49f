#include <viaduct/viaduct.h>

#include <array>
#include <cstdint>
#include <iostream>
#include <memory>
#include <vector>

using Array = std::unique_ptr<via_array, decltype(&via_array_release)>;

static Array wrap(std::vector<double> &values, std::array<std::int64_t, 2> shape) {
    via_array *array = nullptr;
    const via_status status =
        via_wrap(values.data(), VIA_FLOAT64, 2, shape.data(), nullptr, VIA_DEVICE_CPU, 0, 0, nullptr, nullptr, &array);
    return Array(status == VIA_OK ? array : nullptr, via_array_release);
}

int main() {
    std::vector<double> values(6);
    const Array array = wrap(values, {3, 2});
    const Array too_large = wrap(values, {INT64_MAX, INT64_MAX});
    if (array == nullptr || via_array_data(array.get()) != values.data() || too_large != nullptr) {
        std::cerr << "the last error: " << via_last_error() << '\n';
        return 1;
    }
    std::cout << "viaduct " << via_version() << '\n';
}
