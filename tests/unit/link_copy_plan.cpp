// Which way a strided copy across the link goes, for layouts of every kind and whatever there is to do it with.
#include "copy_support.hpp"

#include <string>

#include "core/base/text_buffer.hpp"
#include "core/layout/axes.hpp"
#include "cuda/launch/kernel_copy.hpp"
#include "cuda/launch/kernel_plan.hpp"
#include "cuda/route/link_copy_plan.hpp"
#include "cuda/staging/staging_plan.hpp"

namespace {

using via::Axis;
using via::cuda::BouncePlan;
using via::cuda::DeviceStep;
using via::cuda::KernelCopyPlan;
using via::cuda::KernelPlan;
using via::cuda::KernelRoute;
using via::cuda::LinkCopyPlan;
using via::cuda::LinkMeans;
using via::cuda::LinkRoute;
using via::cuda::Major;
using via::cuda::StagedPlan;
using via::cuda::Transfer;
using via::cuda::TransferPlan;

constexpr LinkMeans kAll{.pinned = true, .host = true, .kernels = true, .scratch = true, .workers = 16};
constexpr LinkMeans kOnStream{.pinned = true, .host = false, .kernels = true, .scratch = true, .workers = 0};
constexpr LinkMeans kNoScratch{.pinned = true, .host = false, .kernels = true, .scratch = false, .workers = 0};
constexpr LinkMeans kNoKernels{.pinned = true, .host = false, .kernels = false, .scratch = true, .workers = 0};

std::string name_of(const TransferPlan &plan) {
    if (const auto *engines = std::get_if<LinkCopyPlan>(&plan)) {
        return engines->route == LinkRoute::Rows ? "rows" : engines->route == LinkRoute::Packed ? "packed" : "raw";
    }
    if (const auto *bounce = std::get_if<BouncePlan>(&plan)) {
        return bounce->order.step == DeviceStep::Kernel ? "bounced by a kernel" : "bounced";
    }
    return via::cuda::is_a<KernelCopyPlan>(plan) ? "kernel" : via::cuda::is_a<StagedPlan>(plan) ? "staged" : "?";
}

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

    TransferPlan plan(const LinkMeans &means) const { return via::cuda::plan_link_copy(transfer_, means).plan; }
    LinkCopyPlan engines(const LinkMeans &means) const { return std::get<LinkCopyPlan>(plan(means)); }
    std::string route(const LinkMeans &means) const { return name_of(plan(means)); }
    const Transfer &transfer() const { return transfer_; }

private:
    alignas(64) char memory_[1] = {};
    Axis axes_[2] = {};
    int32_t ndim_ = 0;
    Transfer transfer_{};
};

constexpr int64_t kEdge = 8192;
constexpr int64_t kRow = kEdge * 4;

Matrix transposed(bool to_device) { return Matrix(to_device, 4, kEdge, kEdge, 4, kRow); }
Matrix inner_columns(bool to_device) { return Matrix(to_device, 4, kEdge, kEdge, 2 * kRow, 4); }
Matrix second_columns(bool to_device) { return Matrix(to_device, 4, kEdge, kEdge, 2 * kRow, 8); }

void assert_route(const Matrix &matrix, const LinkMeans &means, const char *expected) {
    assert_string_equal(matrix.route(means).c_str(), expected);
}

void what_is_transposed_crosses_as_it_is(void **) {
    for (const bool to_device : {true, false}) {
        const Matrix matrix = transposed(to_device);
        const LinkCopyPlan plan = matrix.engines(kAll);
        assert_route(matrix, kAll, "packed");
        assert_int_equal(plan.link_bytes, kEdge * kRow);
        assert_int_in_range(plan.scratch_bytes, 1, 64 << 20);
        assert_route(matrix, kNoScratch, "kernel");
    }
}

void long_rows_are_copied_by_a_copy_engine(void **) {
    for (const bool to_device : {true, false}) {
        assert_route(inner_columns(to_device), kAll, "rows");
        assert_route(inner_columns(to_device), kNoKernels, "rows");
        assert_route(Matrix(to_device, 128, 1 << 19, 1, 256, 128), kAll, "rows");
    }
}

void short_rows_are_read_or_written_by_a_kernel(void **) {
    for (const bool to_device : {true, false}) {
        assert_route(Matrix(to_device, 64, 1 << 18, 1, 1024, 64), kOnStream, "kernel");
    }
}

// Gaps come along towards the device, where nobody minds them; those of a destination are never written. Workers, where
// the caller waits for them, read or write only lines of the host's memory.
void narrow_elements_bring_their_gaps_along_towards_the_device_only(void **) {
    assert_route(second_columns(true), kOnStream, "raw");
    assert_int_equal(second_columns(true).engines(kOnStream).link_bytes, 2 * kEdge * kRow - 4);
    assert_true(second_columns(false).route(kOnStream) != "raw");
    for (const bool to_device : {true, false}) {
        assert_route(second_columns(to_device), kAll, "staged");
    }
}

// Those that begin and end within sixteens are written in parts, of which small elements have more.
void rows_that_begin_anywhere_are_not_stored_to_the_host_by_a_kernel(void **) {
    constexpr LinkMeans kKernelOrHost{.pinned = true, .host = true, .kernels = true, .scratch = false, .workers = 16};
    assert_route(Matrix(false, 1, 96, 1 << 20, 1, 101), kKernelOrHost, "staged");
    assert_route(Matrix(false, 1, 96, 1 << 20, 1, 112), kKernelOrHost, "kernel");
}

// Rows of fewer bytes than a sector are not stored to the host by a kernel, one by one.
void nothing_crosses_element_by_element_while_the_host_can_help(void **) {
    for (const int64_t item : {1, 2, 4}) {
        for (const int64_t row_step : {7, 13, 100}) {
            assert_route(Matrix(false, item, 1 << 22, 6, row_step * item, item), kAll, "staged");
        }
        assert_route(Matrix(false, item, 6, 1 << 22, item, 6 * item), kAll, "packed");
    }
}

// Who says that there is memory between elements that are pages apart? A row here ends after 319996 bytes.
void gaps_of_a_page_are_not_read(void **) {
    assert_route(Matrix(true, 4, 1000, 40000, 319996 + 4095, 8), kOnStream, "raw");
    assert_true(Matrix(true, 4, 1000, 40000, 319996 + 4096, 8).route(kOnStream) != "raw");
}

void a_little_is_done_in_one_launch_or_call(void **) {
    for (const bool to_device : {true, false}) {
        assert_route(Matrix(to_device, 4, 40, 40, 4, 160), kOnStream, "kernel");
        assert_route(Matrix(to_device, 4, 40, 40, 4, 160), kAll, "bounced");
        assert_route(Matrix(to_device, 4, 40, 40, 320, 4), kAll, "rows");
    }
}

// Waking threads takes longer than 50 KiB on one, whatever they look like.
void workers_are_left_alone_for_a_little(void **) {
    constexpr int32_t kMost = 16;
    for (const bool to_device : {true, false}) {
        for (const int64_t item : {1, 3, 4, 8, 12, 100}) {
            const int64_t rows = (50 << 10) / item / 16;
            for (const int64_t gap : {0, 1, 50}) {
                const Matrix padded(to_device, item, rows, 16, (16 + gap) * item, item);
                const Matrix matrix(to_device, item, rows, 16, item, (rows + gap) * item);
                for (const Matrix *each : {&padded, &matrix}) {
                    const StagedPlan plan = via::cuda::plan_staged(each->transfer(), true);
                    assert_int_equal(via::cuda::worth_waking(each->transfer(), plan, kMost), 1);
                }
            }
        }
    }
}

// One launch is quicker than a call for each plane of the device's memory.
void a_kernel_places_what_would_take_many_calls(void **) {
    constexpr LinkMeans kPageable{.pinned = false, .host = true, .kernels = true, .scratch = true, .workers = 0};
    for (const bool to_device : {true, false}) {
        const Axis dense[] = {{30, 12, 12}, {40, 360, 360}};
        const Axis planes[] = {{30, 24, 12}, {40, 1000, 360}};
        Transfer transfer = Matrix(to_device, 4, 40, 40, 4, 160).transfer();
        transfer.nbytes = 30 * 40 * 12;
        transfer.run = 12;
        Axis axes[2];
        for (int32_t i = 0; i < 2; ++i) {
            const Axis &axis = planes[i];
            axes[i] = to_device ? axis : Axis{axis.extent, axis.src_step, axis.dst_step};
        }
        transfer.axes = axes;
        transfer.ndim = 2;
        assert_string_equal(name_of(via::cuda::plan_link_copy(transfer, kPageable).plan).c_str(),
                            "bounced by a kernel");
        transfer.axes = dense;
        assert_string_equal(name_of(via::cuda::plan_link_copy(transfer, kPageable).plan).c_str(), "bounced");
    }
}

// Adjacent bytes of the host, and on the device rows of a few bytes.
class Rows {
public:
    Rows(bool to_device, int64_t rows, int64_t run, int64_t pitch)
        : axis_{rows, to_device ? pitch : run, to_device ? run : pitch},
          transfer_(Matrix(to_device, 4, 40, 40, 4, 160).transfer()) {
        transfer_.nbytes = rows * run;
        transfer_.run = run;
        transfer_.ndim = 1;
        transfer_.axes = &axis_;
    }
    Rows(const Rows &) = delete;
    Rows &operator=(const Rows &) = delete;
    TransferPlan plan(const LinkMeans &means) const { return via::cuda::plan_link_copy(transfer_, means).plan; }

private:
    Axis axis_;
    Transfer transfer_;
};

// A copy engine takes one call for them, and time for each row.
void many_short_rows_of_the_device_are_left_to_a_kernel(void **) {
    constexpr LinkMeans kPageable{.pinned = false, .host = true, .kernels = true, .scratch = true, .workers = 0};
    for (const bool to_device : {true, false}) {
        assert_string_equal(name_of(Rows(to_device, 16752, 4, 8).plan(kPageable)).c_str(), "bounced by a kernel");
        assert_string_equal(name_of(Rows(to_device, 100, 256, 512).plan(kPageable)).c_str(), "bounced");
    }
    // The driver takes much longer for a row of pageable memory than of the pinned buffer that serves towards the host.
    assert_string_equal(name_of(Rows(true, 488, 116, 120).plan(kPageable)).c_str(), "bounced by a kernel");
    assert_string_equal(name_of(Rows(false, 488, 116, 120).plan(kPageable)).c_str(), "bounced");
}

// The host touches nothing but adjacent bytes, and has no buffer.
void what_is_dense_on_the_host_is_transposed_by_the_device(void **) {
    constexpr LinkMeans kPageable{.pinned = false, .host = true, .kernels = true, .scratch = true, .workers = 0};
    for (const bool to_device : {true, false}) {
        const Matrix matrix(to_device, 4, 300, 400, 4, 1200);
        assert_route(matrix, kPageable, "bounced by a kernel");
        assert_true(std::get<BouncePlan>(matrix.plan(kPageable)).order.adjacent_on_host);
        const Matrix gaps(to_device, 4, 300, 400, 8, 2400);
        assert_false(std::get<BouncePlan>(gaps.plan(kPageable)).order.adjacent_on_host);
    }
}

// The caller copies 512 KiB before helpers wake. All of these wake at once, so of a mebibyte eight gain more than two.
void workers_of_dense_memory_are_woken_for_what_they_save(void **) {
    for (const bool to_device : {true, false}) {
        const auto workers = [&](int64_t rows) {
            const Matrix matrix(to_device, 4, rows, 1024, 4, rows * 4);
            return via::cuda::worth_waking(matrix.transfer(), via::cuda::plan_staged(matrix.transfer(), true), 64);
        };
        assert_int_equal(workers(128), 1);
        assert_int_in_range(workers(320), 8, 13);
        assert_int_equal(workers(8192), to_device ? via::cuda::kMostWorkers : via::cuda::kMostWorkersOfSlow);
    }
}

void without_kernels_rows_are_left_and_say_how_many_calls_they_take(void **) {
    assert_route(transposed(true), kNoKernels, "rows");
    assert_int_equal(transposed(true).engines(kNoKernels).calls, kEdge);
    assert_int_equal(inner_columns(true).engines(kNoKernels).calls, 1);
}

void assert_text(const Transfer &transfer, const via::cuda::LinkCopyPlan &plan, const char *expected) {
    char text[160];
    via::TextBuffer described(text, sizeof text);
    via::cuda::describe_link(transfer, plan, &described);
    assert_string_equal(text, expected);
}

void a_plan_is_reported_in_words(void **) {
    const Matrix rows = inner_columns(true);
    assert_text(rows.transfer(), rows.engines(kAll), "8192 rows of 32768 bytes by a copy engine, in 1 call");
    const Matrix turn = transposed(false);
    assert_text(turn.transfer(), turn.engines(kAll),
                "268435456 bytes packed by a copy engine, 16777216 at a time, and a kernel");
    const Matrix raw = second_columns(true);
    assert_text(raw.transfer(), raw.engines(kOnStream),
                "536870908 bytes with the gaps between them by a copy engine, 16777216 at a time, and a kernel");
}

// Costs of kernels across a link know from which size on they do not go element by element.
void kernels_go_element_by_element_at_most_up_to_the_size_that_plans_know(void **) {
    const auto route_of = [](int64_t rows) {
        Transfer transfer = Matrix(true, 4, rows, 1024, 4, rows * 4).transfer();
        const Axis axes[] = {{1024, 4, rows * 4}, {rows, 4096, 4}};
        transfer.axes = axes;
        KernelPlan plan;
        via::cuda::plan_kernel(transfer, &plan);
        return plan.route;
    };
    const int64_t rows = via::cuda::kMostByElements / 4096;
    assert_true(route_of(rows / 8) == KernelRoute::Elements);
    assert_true(route_of(rows + 16) != KernelRoute::Elements);
}

// ---------------------------------------------------------------------------------------------- through the ring

void workers_go_through_the_hosts_memory_in_its_order(void **) {
    for (const bool to_device : {true, false}) {
        const Major of_host = to_device ? Major::Src : Major::Dst;
        const StagedPlan turn = via::cuda::plan_staged(transposed(to_device).transfer(), true);
        assert_true(turn.major == of_host && turn.step == DeviceStep::Kernel);
        assert_true(turn.adjacent_on_host);
        const StagedPlan rows = via::cuda::plan_staged(inner_columns(to_device).transfer(), true);
        assert_true(rows.major == of_host && rows.step == DeviceStep::Engine);
        assert_true(!rows.adjacent_on_host);
        const StagedPlan columns = via::cuda::plan_staged(second_columns(to_device).transfer(), true);
        assert_true(columns.step == DeviceStep::Engine && columns.host.nanoseconds > rows.host.nanoseconds);
    }
}

// Of rows that begin anywhere in a slot more bytes cross the link, by a copy engine. A kernel costs some time too.
void rows_of_the_device_that_fill_whole_lines_of_a_slot_need_no_kernel(void **) {
    for (const bool to_device : {true, false}) {
        const auto step_of = [&](int64_t run, int64_t rows) {
            const Axis axes[] = {to_device ? Axis{rows, run + 12, run} : Axis{rows, run, run + 12}};
            Transfer transfer = inner_columns(to_device).transfer();
            transfer.nbytes = rows * run;
            transfer.run = run;
            transfer.ndim = 1;
            transfer.axes = axes;
            return via::cuda::plan_staged(transfer, true).step;
        };
        assert_true(step_of(192, 1 << 18) == DeviceStep::Engine);
        assert_true(step_of(132, 1 << 18) == DeviceStep::Kernel);
        assert_true(step_of(132, 1 << 10) == DeviceStep::Engine);
        assert_true(step_of(4100, 1 << 10) == DeviceStep::Engine);
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
        cmocka_unit_test(rows_that_begin_anywhere_are_not_stored_to_the_host_by_a_kernel),
        cmocka_unit_test(nothing_crosses_element_by_element_while_the_host_can_help),
        cmocka_unit_test(a_little_is_done_in_one_launch_or_call),
        cmocka_unit_test(workers_are_left_alone_for_a_little),
        cmocka_unit_test(a_kernel_places_what_would_take_many_calls),
        cmocka_unit_test(many_short_rows_of_the_device_are_left_to_a_kernel),
        cmocka_unit_test(what_is_dense_on_the_host_is_transposed_by_the_device),
        cmocka_unit_test(workers_of_dense_memory_are_woken_for_what_they_save),
        cmocka_unit_test(without_kernels_rows_are_left_and_say_how_many_calls_they_take),
        cmocka_unit_test(a_plan_is_reported_in_words),
        cmocka_unit_test(kernels_go_element_by_element_at_most_up_to_the_size_that_plans_know),
        cmocka_unit_test(workers_go_through_the_hosts_memory_in_its_order),
        cmocka_unit_test(rows_of_the_device_that_fill_whole_lines_of_a_slot_need_no_kernel),
        cmocka_unit_test(without_kernels_workers_turn_elements_too),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
