// The kernels of copies by index, compiled for the host: they do what a loop over the rows does, write nothing else,
// read nothing but rows and numbers, and report numbers that are out of range.
#include "kernel_bounds.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "cuda/launch/indexed_kernel.hpp"

namespace {

using via::Axis;
using via::IndexedRows;
using via::IndexList;
using via::cuda::IndexedKernelPlan;
using via::kernels::IndexFault;

std::array<int, 17> launches;  // of words of so many bytes

template <int kBytes>
void run(const IndexedKernelPlan &plan, bool backwards) {
    using Kernel = via::kernels::Indexed<kBytes>;
    ++launches[kBytes];
    const auto shared = std::make_unique<typename Kernel::Shared>();
    for (uint64_t block = 0; block < plan.blocks; ++block) {
        Kernel::run(plan.params, *shared, static_cast<uint32_t>(block), {Kernel::kThreads, backwards});
    }
}

void run_plan(const IndexedKernelPlan &plan, bool backwards) {
    using via::kernels::Id;
    switch (plan.kernel) {
        case Id::via_indexed_1:
            return run<1>(plan, backwards);
        case Id::via_indexed_2:
            return run<2>(plan, backwards);
        case Id::via_indexed_4:
            return run<4>(plan, backwards);
        case Id::via_indexed_8:
            return run<8>(plan, backwards);
        default:
            return run<16>(plan, backwards);
    }
}

struct Block {
    explicit Block(int64_t nbytes) : memory(static_cast<size_t>(nbytes) + 64) {
        start = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64);
    }
    Bounds bounds(int64_t first, int64_t nbytes) const {
        const auto low = reinterpret_cast<uint64_t>(start + first);
        return {low, low + static_cast<uint64_t>(nbytes)};
    }
    std::vector<char> memory;
    char *start;
};

// A random copy: rows of up to two loops, packed or with gaps, forwards or backwards.
class Case {
public:
    explicit Case(Random *random) {
        const int64_t word = int64_t{1} << random->between(0, 4);
        rows_.run = word * (random->chance(4) ? random->between(2000, 6000) / word : random->between(1, 40));
        rows_.ndim = static_cast<int32_t>(random->between(0, 2));
        rows_.count = random->chance(3) ? random->between(250, 600) : random->between(1, 20);
        rows_.row_bytes = rows_.run;
        int64_t dst = rows_.run;
        int64_t src = rows_.run;
        for (int32_t i = 0; i < rows_.ndim; ++i) {
            rows_.axes[i] = {random->between(2, 5), dst + word * random->between(0, 3),
                             src + word * random->between(0, 3)};
            dst = rows_.axes[i].dst_step * rows_.axes[i].extent;
            src = rows_.axes[i].src_step * rows_.axes[i].extent;
            rows_.row_bytes *= rows_.axes[i].extent;
        }
        rows_.dst_extent = rows_.count + random->between(0, 5);
        rows_.src_extent = random->between(1, 30);
        dst_ = std::make_unique<Block>(dst * rows_.dst_extent);
        src_ = std::make_unique<Block>(src * rows_.src_extent);
        random->fill(&dst_->memory);
        random->fill(&src_->memory);
        place(random, dst, src);
        choose_numbers(random);
    }

    void check(bool backwards) {
        const std::vector<char> before = dst_->memory;
        const std::vector<char> expected = naive();
        IndexFault fault{};
        reachable = {{dst_->bounds(0, dst_bytes_),
                      src_->bounds(0, src_bytes_),
                      of(dst_rows_),
                      of(src_rows_),
                      {reinterpret_cast<uint64_t>(&fault), reinterpret_cast<uint64_t>(&fault + 1)}}};
        IndexedKernelPlan plan;
        via::cuda::plan_indexed_kernel(rows_, reinterpret_cast<uint64_t>(&fault), &plan);
        run_plan(plan, backwards);
        assert_true(dst_->memory == expected);
        check_fault(fault);
        dst_->memory = before;
    }

private:
    void place(Random *random, int64_t dst, int64_t src) {
        dst_bytes_ = dst * rows_.dst_extent;
        src_bytes_ = src * rows_.src_extent;
        rows_.dst = dst_->start;
        rows_.src = src_->start;
        rows_.dst_step = dst;
        rows_.src_step = src;
        if (random->chance(4)) {
            rows_.src += (rows_.src_extent - 1) * src;
            rows_.src_step = -src;
        }
    }

    void choose_numbers(Random *random) {
        for (int64_t k = 0; k < rows_.count; ++k) {
            dst_rows_.push_back(k);
            src_rows_.push_back(static_cast<int32_t>(random->between(0, rows_.src_extent - 1)));
        }
        for (size_t k = dst_rows_.size(); k > 1; --k) {
            std::swap(dst_rows_[k - 1],
                      dst_rows_[static_cast<size_t>(random->between(0, static_cast<int64_t>(k) - 1))]);
        }
        if (random->chance(3)) {
            bad_ = random->between(0, rows_.count - 1);
            is_dst_bad_ = random->chance(2);
            const int64_t number = random->chance(2) ? -1 : is_dst_bad_ ? rows_.dst_extent : rows_.src_extent;
            if (is_dst_bad_) {
                dst_rows_[static_cast<size_t>(bad_)] = number;
            } else {
                src_rows_[static_cast<size_t>(bad_)] = static_cast<int32_t>(number);
            }
            bad_number_ = number;
        }
        rows_.dst_index = {dst_rows_.data(), 8, 8};
        rows_.src_index = {src_rows_.data(), 4, 4};
    }

    std::vector<char> naive() const {
        std::vector<char> expected = dst_->memory;
        char *const dst = expected.data() + (rows_.dst - dst_->memory.data());
        for (int64_t k = 0; k < rows_.count; ++k) {
            if (k != bad_) {
                copy_row(dst + rows_.dst_index[k] * rows_.dst_step, rows_.src_row(k), rows_.ndim);
            }
        }
        return expected;
    }

    void copy_row(char *dst, const char *src, int32_t level) const {
        if (level == 0) {
            std::copy_n(src, rows_.run, dst);
            return;
        }
        const Axis &axis = rows_.axes[level - 1];
        for (int64_t i = 0; i < axis.extent; ++i) {
            copy_row(dst + i * axis.dst_step, src + i * axis.src_step, level - 1);
        }
    }

    void check_fault(const IndexFault &fault) const {
        if (bad_ < 0) {
            assert_int_equal(fault.place, 0);
            return;
        }
        assert_int_equal(fault.place, 1 + 2 * bad_ + (is_dst_bad_ ? 1 : 0));
        assert_int_equal(fault.value, bad_number_);
    }

    template <class Number>
    static Bounds of(const std::vector<Number> &numbers) {
        const auto low = reinterpret_cast<uint64_t>(numbers.data());
        return {low, low + numbers.size() * sizeof(Number)};
    }

    IndexedRows rows_{};
    std::unique_ptr<Block> dst_;
    std::unique_ptr<Block> src_;
    int64_t dst_bytes_ = 0;
    int64_t src_bytes_ = 0;
    std::vector<int64_t> dst_rows_;
    std::vector<int32_t> src_rows_;
    int64_t bad_ = -1;
    bool is_dst_bad_ = false;
    int64_t bad_number_ = 0;
};

void random_rows_equal_a_loop_and_bad_numbers_are_skipped_and_reported(void **) {
    Random random(26);
    for (int i = 0; i < QUICK_OR(80, 400); ++i) {
        Case some(&random);
        some.check(i % 2 != 0);
    }
}

void every_size_of_words_has_been_run(void **) {
    for (const int bytes : {1, 2, 4, 8, 16}) {
        assert_true(launches[static_cast<size_t>(bytes)] > 0);
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(random_rows_equal_a_loop_and_bad_numbers_are_skipped_and_reported),
        cmocka_unit_test(every_size_of_words_has_been_run),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
