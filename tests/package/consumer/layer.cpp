#include <viaduct/viaduct.hpp>

#include <cstdint>
#include <iostream>
#include <utility>
#include <vector>

// The sum of a column of a matrix that the array alone still owns.
static double sum_of_column(const viaduct::Array &matrix, std::int64_t column) {
    const viaduct::Array view = matrix.select(1, column);
    const viaduct::Array dense = viaduct::Array::empty(view.dtype(), view.shape());
    viaduct::copy(dense, view);
    double sum = 0;
    for (const double each : viaduct::elements<double>(dense)) {
        sum += each;
    }
    return sum;
}

int main() {
    std::vector<double> values = {1, 2, 3, 4, 5, 6};
    double *first = values.data();
    viaduct::require();
    const viaduct::Array matrix = viaduct::Array::adopt(std::move(values), first, {3, 2});
    try {
        static_cast<void>(matrix.select(1, 2));
        return 1;
    } catch (const viaduct::IndexError &) {
    }
    if (sum_of_column(matrix, 1) != 12) {
        return 1;
    }
    std::cout << "viaduct " << viaduct::version() << '\n';
}
