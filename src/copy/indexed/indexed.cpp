#include "copy/indexed.hpp"

#include <algorithm>
#include <memory>
#include <new>

#include "copy/copy_plan.hpp"
#include "copy/element_plan.hpp"
#include "copy/indexed/check_indexed.hpp"
#include "copy/indexed/host_converted_rows.hpp"
#include "copy/indexed/host_rows.hpp"
#include "copy/normalise.hpp"
#include "copy/planned_copy.hpp"
#include "core/array/access_tracker.hpp"
#include "core/array/view.hpp"
#include "core/base/thread_state.hpp"
#include "cuda/convert_transfer.hpp"
#include "cuda/indexed_transfer.hpp"

namespace via {
namespace {

// Of a kernel's loops, without that of the rows.
constexpr int32_t kMostRowAxes = 60;

// Returns row 0, with an axis of extent 1 in place of the rows'.
Status first_row(via_array *array, int32_t axis, via_array **out_row) {
    int64_t extents[VIA_MAX_NDIM];
    std::copy_n(array->shape(), array->ndim, extents);
    extents[axis] = 1;
    return slice_view(array, nullptr, extents, nullptr, out_row);
}

// Returns the distance of two rows, in bits for packed elements. There is none with a single row.
int64_t row_step(via_array *array, int32_t axis) {
    const int64_t step = array->shape()[axis] > 1 ? array->steps()[axis] : 0;
    return array->is_packed() ? step * array->item_bits : step;
}

// Checks the conversion of a row, also if there are none.
Status check_conversion(const IndexedArguments &arguments) {
    const via_convert_options &options = *arguments.options;
    const int32_t scaled = options.scale_axis + (options.scale_axis < 0 ? arguments.dst->ndim : 0);
    if (is_affine(options) && options.scale_count > 1 && scaled == arguments.axis) {
        return fail(VIA_ERROR_UNSUPPORTED, "options.scale_axis is %d, the axis of the rows; expected another one",
                    options.scale_axis);
    }
    UniqueArray dst;
    UniqueArray src;
    const bool has_rows = arguments.dst->shape()[arguments.axis] > 0 && arguments.src->shape()[arguments.axis] > 0;
    VIA_TRY(check_convert_options(options));
    VIA_TRY(check_cast(arguments.src->dtype, arguments.dst->dtype, options.casting));
    if (!has_rows) {
        return VIA_OK;
    }
    VIA_TRY(first_row(arguments.dst, arguments.axis, dst.out()));
    VIA_TRY(first_row(arguments.src, arguments.axis, src.out()));
    return check_convert_request(dst.get(), src.get(), options);
}

IndexList list_of(via_array *list) {
    return {list->data, list->byte_strides()[0], static_cast<int32_t>(list->item_bytes())};
}

// Makes the steps of packed elements bits again, for rows that do not come in whole bytes.
void to_bits(Plan *row) {
    if (row->in_bits) {
        return;
    }
    row->in_bits = true;
    row->run = row->run * 8 + row->trailing_bits;
    row->trailing_bits = 0;
    row->dst_bit = row->src_bit = 0;
    for (int32_t i = 0; i < row->ndim; ++i) {
        row->axes[i].dst_step *= 8;
        row->axes[i].src_step *= 8;
    }
}

// One copy by index: checked and planned, to be run once or again and again.
class IndexedCopy final : public PlannedCopy, cuda::IoEndpoint {
public:
    // Checks everything but numbers on a device. Reads lists of host memory.
    VIA_NODISCARD static Status make(const IndexedArguments &arguments, PlannedCopy **out_copy);

    explicit IndexedCopy(const IndexedArguments &arguments)
        : PlannedCopy("a copy by index by the host", arguments.dst, arguments.src, arguments.dst_index,
                      arguments.src_index),
          given_(arguments) {}
    ~IndexedCopy() override { cuda::end_index_table(table_); }

    VIA_NODISCARD Status run_on(via_stream *stream) override;
    VIA_NODISCARD Status run_now() override;
    VIA_NODISCARD Status run_in_task(int64_t done_before, via_task *task, Fence **out_fence) override;
    bool is_immediate() const override { return !fetches_ && PlannedCopy::is_immediate(); }

private:
    VIA_NODISCARD Status plan(int64_t count);
    VIA_NODISCARD Status plan_rows();
    VIA_NODISCARD Status plan_converted(via_array *dst_row, via_array *src_row);
    const ConvertedRows *converted() const { return elements_ != nullptr ? &converted_ : nullptr; }
    VIA_NODISCARD Status find_route();
    void set_rows();
    VIA_NODISCARD Status read_lists();
    VIA_NODISCARD Status read_list(const char *name, via_array *list, int64_t extent, IndexNumbers *numbers,
                                   IndexList *out_list);
    VIA_NODISCARD Status check_lists() const;

    void run_on_host() override;
    VIA_NODISCARD Status run_in_pieces(int64_t done_before, via_task *task) override;

    // The host's part of a copy that involves a device: rows as they cross the link.
    VIA_NODISCARD Status read(void *slot, int64_t offset, int64_t nbytes) override;
    VIA_NODISCARD Status write(const void *slot, int64_t offset, int64_t nbytes) override;

    // Runs the copy with lists that were fetched from a device for this run.
    template <class Run>
    VIA_NODISCARD Status with_fetched(const Run &run);
    VIA_NODISCARD Status fetch(const char *name, via_array *list, int64_t extent, IndexNumbers *numbers,
                               IndexList *out_list) const;

    IndexedArguments given_;
    bool fetches_ = false;  // lists from a device, at each run
    bool has_same_rows_ = false;
    IndexedRows rows_{};
    Plan row_{};  // row 0 in normal form; of packed elements that are no whole bytes, in bits
    // Of a conversion: the elements of row 0, and the rows.
    std::shared_ptr<const ElementPlan> elements_;
    ConvertedRows converted_{};
    IndexNumbers dst_numbers_{.different = true};
    IndexNumbers src_numbers_;
    cuda::IndexedTransfer transfer_{};
    cuda::IndexTable *table_ = nullptr;
};

}  // namespace

Status IndexedCopy::make(const IndexedArguments &arguments, PlannedCopy **out_copy) {
    IndexedArguments checked = arguments;
    int64_t count = 0;
    VIA_TRY(check_indexed(&checked, &count));
    VIA_TRY(checked.options != nullptr ? check_conversion(checked) : VIA_OK);
    IndexedCopy *copy = nullptr;
    VIA_TRY(make_object("a copy by index", &copy, checked));
    UniquePlannedCopy holder(copy);
    VIA_TRY(copy->plan(count));
    copy->given_.options = nullptr;  // the caller's
    *out_copy = holder.release();
    return VIA_OK;
}

Status IndexedCopy::plan(int64_t count) {
    rows_.count = count;
    rows_.dst_extent = given_.dst->shape()[given_.axis];
    rows_.src_extent = given_.src->shape()[given_.axis];
    rows_.dst_step = row_step(given_.dst, given_.axis);
    rows_.src_step = row_step(given_.src, given_.axis);
    is_empty_ = count == 0 || given_.dst->size == 0 || given_.src->size == 0;
    VIA_TRY(is_empty_ ? VIA_OK : plan_rows());
    VIA_TRY(is_empty_ ? VIA_OK : find_route());
    return read_lists();
}

Status IndexedCopy::plan_rows() {
    UniqueArray dst;
    UniqueArray src;
    VIA_TRY(first_row(given_.dst, given_.axis, dst.out()));
    VIA_TRY(first_row(given_.src, given_.axis, src.out()));
    if (given_.options != nullptr && !is_copy(dst.get(), src.get(), *given_.options)) {
        return plan_converted(dst.get(), src.get());
    }
    VIA_TRY(normalise_copy(dst.get(), src.get(), &row_));
    if (given_.dst->is_packed()) {
        if (row_.in_bits || row_.trailing_bits != 0 || (rows_.dst_step | rows_.src_step) % 8 != 0) {
            to_bits(&row_);
        } else {
            rows_.dst_step /= 8;
            rows_.src_step /= 8;
        }
    }
    rows_.dst = row_.dst;
    rows_.src = row_.src;
    rows_.run = row_.run;
    rows_.row_bytes = std::max<int64_t>(row_.nbytes, 1);
    rows_.ndim = row_.ndim;
    std::copy_n(row_.axes, row_.ndim, rows_.axes);
    return check_memory(given_, row_, rows_, &has_same_rows_);
}

// A conversion along the axis of the rows would take a number for each row.
Status IndexedCopy::plan_converted(via_array *dst_row, via_array *src_row) {
    auto plan = std::make_shared<ElementPlan>();
    VIA_TRY(plan->make(dst_row, src_row, *given_.options, LoopOrder::OfDst));
    if (plan->loops().ndim > kMostRowAxes) {
        return fail(VIA_ERROR_UNSUPPORTED, "dst has rows of %d axes; expected at most %d", plan->loops().ndim,
                    kMostRowAxes);
    }
    rows_.dst = plan->loops().dst;
    rows_.src = plan->loops().src;
    rows_.run = given_.dst->item_bytes();
    rows_.row_bytes = plan->loops().count * bytes_of(plan->elements().dst);
    converted_ = {rows_, plan->loops(), plan->elements()};
    elements_ = std::move(plan);
    return check_converted_memory(given_, converted_);
}

Status IndexedCopy::find_route() {
    nbytes_ = rows_.nbytes();
    VIA_TRY(make_transfer(rows_.dst, rows_.src, &transfer_.transfer));
    transfer_.transfer.run = rows_.run;
    transfer_.transfer.ndim = 1;
    transfer_.transfer.axes = rows_.axes;
    const bool device = cuda::has_device(transfer_.transfer);
    if (device && row_.in_bits) {
        return fail(VIA_ERROR_UNSUPPORTED,
                    "dst has rows of packed %s that are no whole bytes; expected whole bytes on a "
                    "device",
                    DtypeName(given_.dst->dtype).text);
    }
    const bool reaches_lists =
        device && elements_ == nullptr && cuda::items_route(transfer_.transfer) == cuda::ItemsRoute::Kernel;
    fetches_ = !reaches_lists && (is_on_device(given_.dst_index) || is_on_device(given_.src_index));
    if (!device) {
        count(Counter::PlannedRoutes, 1);
        return VIA_OK;
    }
    device_ = &transfer_;
    return cuda::make_index_table(&table_);
}

// Reads a list of host memory now. One on a device is read by the kernel, or fetched later.
Status IndexedCopy::read_list(const char *name, via_array *list, int64_t extent, IndexNumbers *numbers,
                              IndexList *out_list) {
    if (list == nullptr) {
        return VIA_OK;
    }
    *out_list = list_of(list);
    if (is_on_device(list)) {
        return VIA_OK;
    }
    VIA_TRY(wait_for_last_write(list->storage));
    VIA_TRY(read_numbers(name, list_of(list), rows_.count, extent, numbers));
    *out_list = numbers->list;
    return VIA_OK;
}

Status IndexedCopy::read_lists() {
    VIA_TRY(read_list("src_index", given_.src_index, rows_.src_extent, &src_numbers_, &rows_.src_index));
    VIA_TRY(read_list("dst_index", given_.dst_index, rows_.dst_extent, &dst_numbers_, &rows_.dst_index));
    set_rows();
    transfer_.dst_index = is_on_device(given_.dst_index) ? given_.dst_index : nullptr;
    transfer_.src_index = is_on_device(given_.src_index) ? given_.src_index : nullptr;
    return check_lists();
}

void IndexedCopy::set_rows() {
    transfer_.rows = rows_;
    converted_.rows = rows_;
    transfer_.converted = converted();
    transfer_.host = this;
    transfer_.table = table_;
}

// Rows of one array may be copied to others of it if all numbers are known.
Status IndexedCopy::check_lists() const {
    if (is_empty_ || !has_same_rows_) {
        return VIA_OK;
    }
    if (is_on_device(given_.dst_index) || is_on_device(given_.src_index)) {
        return fail(VIA_ERROR_OVERLAP,
                    "dst shares bytes with src; expected separate memory, or an index in host memory");
    }
    return check_disjoint(rows_);
}

// Copies a list from a device, and checks it. Everything before has been waited for.
Status IndexedCopy::fetch(const char *name, via_array *list, int64_t extent, IndexNumbers *numbers,
                          IndexList *out_list) const {
    if (!is_on_device(list)) {
        return VIA_OK;
    }
    const std::unique_ptr<char[]> block(
        new (std::nothrow) char[static_cast<size_t>(std::max<int64_t>(list->nbytes(), 1))]);
    if (block == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for %lld numbers of %s", as_printed(list->size), name);
    }
    UniqueArray there;
    const ArraySpec spec{.data = block.get(), .dtype = list->dtype, .ndim = 1, .shape = list->shape()};
    VIA_TRY(make_array(spec, Deleter{}, there.out()));
    VIA_TRY(list->size > 0 ? copy_and_wait(there.get(), list) : VIA_OK);
    VIA_TRY(read_numbers(name, list_of(there.get()), rows_.count, extent, numbers));
    *out_list = numbers->list;
    return VIA_OK;
}

// Makes a copy of the same rows whose lists are in host memory.
template <class Run>
Status IndexedCopy::with_fetched(const Run &run) {
    IndexedCopy fetched(given_);
    fetched.rows_ = rows_;
    fetched.row_ = row_;
    fetched.nbytes_ = nbytes_;
    fetched.transfer_ = transfer_;
    fetched.elements_ = elements_;
    fetched.converted_ = converted_;
    IndexedRows &rows = fetched.rows_;
    VIA_TRY(fetch("src_index", given_.src_index, rows.src_extent, &fetched.src_numbers_, &rows.src_index));
    VIA_TRY(fetch("dst_index", given_.dst_index, rows.dst_extent, &fetched.dst_numbers_, &rows.dst_index));
    fetched.transfer_.dst_index = fetched.transfer_.src_index = nullptr;
    if (device_ != nullptr) {
        fetched.device_ = &fetched.transfer_;
        VIA_TRY(cuda::make_index_table(&fetched.table_));
    }
    fetched.set_rows();
    return run(&fetched);
}

Status IndexedCopy::read(void *slot, int64_t offset, int64_t nbytes) {
    auto *packed = static_cast<char *>(slot);
    if (elements_ != nullptr) {
        pack_converted_rows(converted_.with(cuda::link_of(converted_.elements).before), offset, nbytes, packed);
    } else {
        pack_rows(rows_, offset, nbytes, packed);
    }
    return VIA_OK;
}

Status IndexedCopy::write(const void *slot, int64_t offset, int64_t nbytes) {
    const auto *packed = static_cast<const char *>(slot);
    if (elements_ != nullptr) {
        unpack_converted_rows(converted_.with(cuda::link_of(converted_.elements).after), offset, nbytes, packed);
    } else {
        unpack_rows(rows_, offset, nbytes, packed);
    }
    return VIA_OK;
}

void IndexedCopy::run_on_host() {
    if (row_.in_bits) {
        copy_rows_of_bits(row_, rows_);
    } else if (elements_ != nullptr) {
        convert_rows(converted_);
    } else {
        copy_rows(rows_);
    }
}

Status IndexedCopy::run_in_pieces(int64_t done_before, via_task *task) {
    if (row_.in_bits) {
        copy_rows_of_bits(row_, rows_);
        report_progress(task, done_before + nbytes());
        return VIA_OK;
    }
    return elements_ != nullptr ? convert_rows_in_pieces(converted_, done_before, task)
                                : copy_rows_in_pieces(rows_, done_before, task);
}

Status IndexedCopy::run_on(via_stream *stream) {
    if (!fetches_) {
        return PlannedCopy::run_on(stream);
    }
    VIA_TRY(prepare_on(stream));
    VIA_TRY(await_before(stream));
    return with_fetched([&](IndexedCopy *fetched) { return fetched->run_on(stream); });
}

Status IndexedCopy::run_now() {
    if (!fetches_) {
        return PlannedCopy::run_now();
    }
    VIA_TRY(await_before(nullptr));
    return with_fetched([](IndexedCopy *fetched) { return fetched->run_now(); });
}

Status IndexedCopy::run_in_task(int64_t done_before, via_task *task, Fence **out_fence) {
    if (!fetches_) {
        return PlannedCopy::run_in_task(done_before, task, out_fence);
    }
    return with_fetched([&](IndexedCopy *fetched) { return fetched->run_in_task(done_before, task, out_fence); });
}

Status copy_indexed(const IndexedArguments &arguments, via_stream *stream) {
    UniquePlannedCopy copy;
    VIA_TRY(IndexedCopy::make(arguments, copy.out()));
    return stream != nullptr ? copy.get()->run_on(stream) : copy.get()->run_now();
}

Status plan_indexed(const IndexedArguments &arguments, PlannedCopy **out_copy) {
    VIA_TRY(check_task_memory(arguments.dst, arguments.src, arguments.dst_index, arguments.src_index));
    return IndexedCopy::make(arguments, out_copy);
}

Status submit_indexed(const IndexedArguments &arguments, via_stream *stream, via_task **out_task) {
    UniquePlannedCopy copy;
    VIA_TRY(plan_indexed(arguments, copy.out()));
    return submit_planned(copy.get(), stream, out_task);
}

}  // namespace via
