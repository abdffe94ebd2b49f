// Which way a strided copy across the link goes, for layouts of every kind and whatever there is to do it with.
#include "copy_support.hpp"

#include "core/layout/axes.hpp"
#include "cuda/route/link_copy_plan.hpp"
#include "cuda/staging/staging_plan.hpp"

namespace {

using via::Axis;
using via::cuda::DeviceStep;
using via::cuda::LinkCopyPlan;
using via::cuda::LinkMeans;
using via::cuda::LinkRoute;
using via::cuda::Major;
using via::cuda::StagedPlan;
using via::cuda::Transfer;

constexpr LinkMeans kAll{.pinned = true, .host = true, .kernels = true, .scratch = true, .workers = 16};
constexpr LinkMeans kOnStream{.pinned = true, .host = false, .kernels = true, .scratch = true, .workers = 0};
constexpr LinkMeans kNoScratch{.pinned = true, .host = false, .kernels = true, .scratch = false, .workers = 0};
constexpr LinkMeans kNoKernels{.pinned = true, .host = false, .kernels = false, .scratch = true, .workers = 0};

// A matrix on the host with these steps, and a row-major one on the device.
class Matrix {
public:
    Matrix(bool to_device, int64_t item, int64_t rows, int64_t columns, int64_t row_step, int64_t column_step) {
        const int64_t row = columns * item;
        for (const Axis &axis : {to_device ? Axis{columns, item, column_step} : Axis{columns, column_step, item},
                                 to_device ? Axis{rows, row, row_step} : Axis{rows, row_step, row}}) {
            via::insert_axis(axis, axes_, &ndim_);
        }
        via::merge_axes(&item, axes_, &ndim_);
        const via::cuda::Side device{VIA_DEVICE_CUDA, 0};
        const via::cuda::Side host{VIA_DEVICE_CUDA_HOST, 0};
        transfer_ = {
            memory_, memory_, rows * row, to_device ? device : host, to_device ? host : device, nullptr, nullptr,
            item,    ndim_,   axes_};
    }
    Matrix(const Matrix &) = delete;
    Matrix &operator=(const Matrix &) = delete;

    LinkCopyPlan plan(const LinkMeans &means) const { return via::cuda::plan_link_copy(transfer_, means); }
    LinkRoute route(const LinkMeans &means) const { return plan(means).route; }
    const Transfer &transfer() const { return transfer_; }

private:
    char memory_[1] = {};
    Axis axes_[2] = {};
    int32_t ndim_ = 0;
    Transfer transfer_{};
};

constexpr int64_t kEdge = 8192;
constexpr int64_t kRow = kEdge * 4;

Matrix transposed(bool to_device) { return Matrix(to_device, 4, kEdge, kEdge, 4, kRow); }
Matrix inner_columns(bool to_device) { return Matrix(to_device, 4, kEdge, kEdge, 2 * kRow, 4); }
Matrix second_columns(bool to_device) { return Matrix(to_device, 4, kEdge, kEdge, 2 * kRow, 8); }

void assert_route(const Matrix &matrix, const LinkMeans &means, LinkRoute expected) {
    assert_int_equal(static_cast<int>(matrix.route(means)), static_cast<int>(expected));
}

void what_is_transposed_crosses_as_it_is(void **) {
    for (const bool to_device : {true, false}) {
        const Matrix matrix = transposed(to_device);
        const LinkCopyPlan plan = matrix.plan(kAll);
        assert_int_equal(static_cast<int>(plan.route), static_cast<int>(LinkRoute::Packed));
        assert_int_equal(plan.link_bytes, kEdge * kRow);
        assert_int_in_range(plan.scratch_bytes, 1, 64 << 20);
        assert_route(matrix, kNoScratch, LinkRoute::Kernel);
    }
}

void long_rows_are_copied_by_a_copy_engine(void **) {
    for (const bool to_device : {true, false}) {
        assert_route(inner_columns(to_device), kAll, LinkRoute::Rows);
        assert_route(inner_columns(to_device), kNoKernels, LinkRoute::Rows);
        assert_route(Matrix(to_device, 128, 1 << 19, 1, 256, 128), kAll, LinkRoute::Rows);
    }
}

void short_rows_are_read_or_written_by_a_kernel(void **) {
    for (const bool to_device : {true, false}) {
        assert_route(Matrix(to_device, 64, 1 << 18, 1, 1024, 64), kOnStream, LinkRoute::Kernel);
    }
}

// Gaps come along towards the device, where nobody minds them; those of a destination are never written.
void narrow_elements_bring_their_gaps_along_towards_the_device_only(void **) {
    assert_route(second_columns(true), kAll, LinkRoute::Raw);
    assert_int_equal(second_columns(true).plan(kAll).link_bytes, 2 * kEdge * kRow - 4);
    assert_route(second_columns(false), kAll, LinkRoute::Staged);
    assert_true(second_columns(false).route(kOnStream) != LinkRoute::Raw);
}

// Who says that there is memory between elements that are pages apart? A row here ends after 319996 bytes.
void gaps_of_a_page_are_not_read(void **) {
    assert_route(Matrix(true, 4, 1000, 40000, 319996 + 4095, 8), kOnStream, LinkRoute::Raw);
    assert_true(Matrix(true, 4, 1000, 40000, 319996 + 4096, 8).route(kOnStream) != LinkRoute::Raw);
}

void a_little_is_done_in_one_launch_or_call(void **) {
    for (const bool to_device : {true, false}) {
        assert_route(Matrix(to_device, 4, 40, 40, 4, 160), kAll, LinkRoute::Kernel);
        assert_route(Matrix(to_device, 4, 40, 40, 320, 4), kAll, LinkRoute::Rows);
    }
}

void without_kernels_rows_are_left_and_say_how_many_calls_they_take(void **) {
    const LinkCopyPlan plan = transposed(true).plan(kNoKernels);
    assert_int_equal(static_cast<int>(plan.route), static_cast<int>(LinkRoute::Rows));
    assert_int_equal(plan.calls, kEdge);
    assert_int_equal(inner_columns(true).plan(kNoKernels).calls, 1);
}

void a_plan_is_reported_in_words(void **) {
    char text[160];
    const Matrix rows = inner_columns(true);
    via::cuda::describe_link(rows.transfer(), rows.plan(kAll), sizeof text, text);
    assert_string_equal(text, "8192 rows of 32768 bytes by a copy engine, in 1 call");
    const Matrix turn = transposed(false);
    via::cuda::describe_link(turn.transfer(), turn.plan(kAll), sizeof text, text);
    assert_string_equal(text, "268435456 bytes packed by a copy engine, 33554432 at a time, and a kernel");
    const Matrix raw = second_columns(true);
    via::cuda::describe_link(raw.transfer(), raw.plan(kAll), sizeof text, text);
    assert_string_equal(
        text, "536870908 bytes with the gaps between them by a copy engine, 33554432 at a time, and a kernel");
}

// ---------------------------------------------------------------------------------------------- through the ring

void workers_go_through_the_hosts_memory_in_its_order(void **) {
    for (const bool to_device : {true, false}) {
        const Major of_host = to_device ? Major::Src : Major::Dst;
        const StagedPlan turn = via::cuda::plan_staged(transposed(to_device).transfer(), true);
        assert_true(turn.major == of_host && turn.step == DeviceStep::Kernel);
        assert_true(turn.adjacent_on_host && !turn.narrow_on_host);
        const StagedPlan rows = via::cuda::plan_staged(inner_columns(to_device).transfer(), true);
        assert_true(rows.major == of_host && rows.step == DeviceStep::Engine);
        assert_true(!rows.adjacent_on_host && !rows.narrow_on_host);
        const StagedPlan columns = via::cuda::plan_staged(second_columns(to_device).transfer(), true);
        assert_true(columns.step == DeviceStep::Engine && columns.narrow_on_host);
    }
}

void without_kernels_workers_turn_elements_too(void **) {
    for (const bool to_device : {true, false}) {
        const StagedPlan plan = via::cuda::plan_staged(transposed(to_device).transfer(), false);
        assert_true(plan.major == (to_device ? Major::Dst : Major::Src) && plan.step == DeviceStep::Engine);
        assert_false(plan.adjacent_on_host);
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(what_is_transposed_crosses_as_it_is),
        cmocka_unit_test(long_rows_are_copied_by_a_copy_engine),
        cmocka_unit_test(short_rows_are_read_or_written_by_a_kernel),
        cmocka_unit_test(narrow_elements_bring_their_gaps_along_towards_the_device_only),
        cmocka_unit_test(gaps_of_a_page_are_not_read),
        cmocka_unit_test(a_little_is_done_in_one_launch_or_call),
        cmocka_unit_test(without_kernels_rows_are_left_and_say_how_many_calls_they_take),
        cmocka_unit_test(a_plan_is_reported_in_words),
        cmocka_unit_test(workers_go_through_the_hosts_memory_in_its_order),
        cmocka_unit_test(without_kernels_workers_turn_elements_too),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
