#include "exchange/arrow.hpp"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>

#include "core/array/access_tracker.hpp"
#include "core/base/checked.hpp"
#include "core/base/thread_state.hpp"
#include "core/base/unique_handle.hpp"
#include "cuda/device.hpp"
#include "cuda/event.hpp"
#include "cuda/pointer_attributes.hpp"
#include "cuda/stream.hpp"
#include "cuda/stream_access.hpp"
#include "exchange/arrow_format.hpp"
#include "exchange/stream_order.hpp"

namespace via {
namespace {

using UniqueStream = UniqueHandle<via_stream, cuda::release_stream>;
using UniqueEvent = UniqueHandle<via_event, cuda::release_event>;

// Consumers may move a child out of its parent and release it later. Parent and child therefore share a reference
// counted block; each live struct holds one reference.
struct SchemaBlock {
    std::atomic<int32_t> references{1};
    char format[kArrowFormatCapacity];
    char item_format[kArrowFormatCapacity];
    ArrowSchema item;
    ArrowSchema *children[1];
    char metadata[kTensorMetadataCapacity];
};

struct ColumnBlock {
    std::atomic<int32_t> references{1};
    via_array *array;
    UniqueEvent event;   // reached when the array is ready; nullptr if it is ready
    void *native_event;  // sync_event points here
    const void *no_validity[1];
    const void *buffers[2];
    ArrowArray item;
    ArrowArray *children[1];
};

void destroy(SchemaBlock *block) { delete block; }

void destroy(ColumnBlock *block) {
    via_array *array = block->array;
    delete block;
    count(Counter::Exports, -1);
    release_array(array);
}

// Implements `release` of both structs.
template <class Block, class Struct>
void release_struct(Struct *exported) {
    auto *block = static_cast<Block *>(exported->private_data);
    for (int64_t i = 0; i < exported->n_children; ++i) {
        if (exported->children[i]->release != nullptr) {
            exported->children[i]->release(exported->children[i]);
        }
    }
    exported->release = nullptr;
    if (block->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        destroy(block);
    }
}

constexpr auto release_schema = release_struct<SchemaBlock, ArrowSchema>;
constexpr auto release_column = release_struct<ColumnBlock, ArrowArray>;

// Counts the values in one row of the column; Arrow's list sizes have 32 bits.
Status row_size(via_array *array, int64_t *out_size) {
    int64_t size = 1;
    for (int32_t i = 1; i < array->ndim; ++i) {
        size *= array->shape()[i];
        if (size > INT_MAX || array->shape()[i] > INT_MAX) {
            return fail(VIA_ERROR_OVERFLOW,
                        "a row of the array is larger than an Arrow list; expected at most %d values", INT_MAX);
        }
    }
    *out_size = size;
    return VIA_OK;
}

Status check_expressible(via_array *array) {
    char format[kArrowFormatCapacity];
    if (array->ndim == 0) {
        return fail(VIA_ERROR_EXCHANGE, "the array's ndim is 0; expected 1 or more for an Arrow column");
    }
    if (!arrow_format(array->dtype, format)) {
        return fail(VIA_ERROR_EXCHANGE,
                    "dtype is %s, which Arrow cannot describe; expected integers, float16 to float64 or records",
                    DtypeName(array->dtype).text);
    }
    if (!is_contiguous(array, VIA_ORDER_ROW_MAJOR)) {
        return fail(VIA_ERROR_NEEDS_COPY, "the array is strided; expected a row-major one, or a copy");
    }
    return VIA_OK;
}

void fill_schema(via_array *array, int64_t values, SchemaBlock *block, ArrowSchema *schema) {
    *schema = {block->format, "", nullptr, 0, 0, nullptr, nullptr, release_schema, block};
    arrow_format(array->dtype, block->format);
    if (array->ndim == 1) {
        return;
    }
    std::memcpy(block->item_format, block->format, sizeof block->format);
    std::snprintf(block->format, sizeof block->format, "+w:%d", static_cast<int>(values));
    encode_tensor_metadata(array->ndim - 1, array->shape() + 1, block->metadata);
    block->item = {block->item_format, "item", nullptr, 0, 0, nullptr, nullptr, release_schema, block};
    block->children[0] = &block->item;
    block->references = 2;
    schema->metadata = block->metadata;
    schema->n_children = 1;
    schema->children = block->children;
}

void fill_column(via_array *array, int64_t values, ColumnBlock *block, ArrowArray *column) {
    const int64_t rows = array->shape()[0];
    block->array = array;
    block->no_validity[0] = nullptr;
    block->buffers[0] = nullptr;
    block->buffers[1] = array->data;
    *column = {rows, 0, 0, 2, 0, block->buffers, nullptr, nullptr, release_column, block};
    if (array->ndim == 1) {
        return;
    }
    block->item = {rows * values, 0, 0, 2, 0, block->buffers, nullptr, nullptr, release_column, block};
    block->children[0] = &block->item;
    block->references = 2;
    column->n_buffers = 1;
    column->buffers = block->no_validity;
    column->n_children = 1;
    column->children = block->children;
}

// Arrow's device types have DLPack's numbers; the id of the CPU is -1.
void fill_device(via_array *array, ColumnBlock *block, ArrowDeviceArray *column) {
    via_event *event = block->event.get();
    column->device_type = array->device_type;
    column->device_id = array->device_type == VIA_DEVICE_CPU ? -1 : array->device_id;
    block->native_event = event != nullptr ? cuda::native_event(event) : nullptr;
    column->sync_event = event != nullptr ? &block->native_event : nullptr;
}

// Creates an event that is reached when the array is ready; nullptr if it is ready now. The caller releases it.
Status make_ready_event(via_array *array, via_event **out_event) {
    *out_event = nullptr;
    UniqueFence pending(last_write(array->storage));
    if (pending.get() == nullptr) {
        return VIA_OK;
    }
    // A stream of its own waits, so that no other stream has to.
    const int32_t device_id = cuda::device_at_hand(array);
    UniqueStream stream;
    UniqueEvent event;
    VIA_TRY(cuda::create_stream(device_id, stream.out()));
    VIA_TRY(cuda::create_event(device_id, event.out()));
    VIA_TRY(cuda::order_export(array, stream.get()));
    VIA_TRY(cuda::record_event(event.get(), stream.get()));
    *out_event = event.release();
    return VIA_OK;
}

// Waits on the host for host memory, whose consumers read no event.
Status make_ready(via_array *array, via_event **out_event) {
    return array->device_type == VIA_DEVICE_CUDA ? make_ready_event(array, out_event)
                                                 : order_consumer(array, array->device_type, nullptr);
}

}  // namespace

Status export_arrow(via_array *array, ArrowSchema *out_schema, ArrowDeviceArray *out_column) {
    int64_t values = 0;
    UniqueEvent event;
    VIA_TRY(check_expressible(array));
    VIA_TRY(row_size(array, &values));
    VIA_TRY(make_ready(array, event.out()));
    std::unique_ptr<SchemaBlock> schema_block(new (std::nothrow) SchemaBlock);
    std::unique_ptr<ColumnBlock> column_block(new (std::nothrow) ColumnBlock);
    if (schema_block == nullptr || column_block == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for an Arrow schema and array");
    }
    column_block->event.reset(event.release());
    *out_column = {};
    fill_device(array, column_block.get(), out_column);
    fill_schema(array, values, schema_block.release(), out_schema);
    fill_column(array, values, column_block.release(), &out_column->array);
    retain_array(array);
    count(Counter::Exports, 1);
    return VIA_OK;
}

void release_arrow(ArrowSchema *schema, ArrowDeviceArray *column) {
    const CallbackScope scope;
    if (schema != nullptr && schema->release != nullptr) {
        schema->release(schema);
    }
    if (column != nullptr && column->array.release != nullptr) {
        column->array.release(&column->array);
    }
}

namespace {

// Axes of the array made of a column.
struct Shape {
    int32_t ndim;
    bool is_permuted;  // otherwise row-major, without strides
    int64_t extents[VIA_MAX_NDIM];
    int64_t strides[VIA_MAX_NDIM];
};

// Counts the set bits of [offset, offset + length) of a validity bitmap, least significant bit first.
int64_t count_valid(const void *bitmap, int64_t offset, int64_t length) {
    const auto *bytes = static_cast<const unsigned char *>(bitmap);
    int64_t valid = 0;
    for (int64_t i = offset; i < offset + length; ++i) {
        valid += (bytes[i / 8] >> (i % 8)) & 1;
    }
    return valid;
}

// Checks the rows [first, first + rows) of the column's buffers, which may be a part of it.
Status check_no_nulls(const ArrowArray &column, int64_t first, int64_t rows, bool host_reads) {
    if (column.null_count < -1) {
        return fail(VIA_ERROR_EXCHANGE, "column.null_count is %lld; expected 0, or -1 for unknown",
                    as_printed(column.null_count));
    }
    const void *bitmap = column.n_buffers > 0 ? column.buffers[0] : nullptr;
    const bool counts_others = column.null_count > 0 && rows < column.length && bitmap != nullptr;
    int64_t nulls = counts_others ? -1 : column.null_count;
    if (nulls == -1 && bitmap != nullptr && !host_reads) {
        return fail(VIA_ERROR_EXCHANGE, "column.null_count is %lld with a validity bitmap on a device; expected 0",
                    as_printed(column.null_count));
    }
    if (nulls == -1) {
        nulls = bitmap == nullptr ? 0 : rows - count_valid(bitmap, first, rows);
    }
    if (nulls > 0) {
        return fail(VIA_ERROR_EXCHANGE, "column.null_count is %lld; expected 0", as_printed(nulls));
    }
    return VIA_OK;
}

Status check_struct(const ArrowSchema &schema, const ArrowArray &column) {
    if (schema.release == nullptr || column.release == nullptr) {
        return fail(VIA_ERROR_EXCHANGE, "%s is released; expected one that is not",
                    schema.release ? "column" : "schema");
    }
    if (schema.format == nullptr) {
        return fail(VIA_ERROR_EXCHANGE, "schema.format is NULL; expected a format string");
    }
    if (schema.dictionary != nullptr || column.dictionary != nullptr) {
        return fail(VIA_ERROR_EXCHANGE, "column.dictionary is not NULL; expected plain values");
    }
    int64_t end = 0;
    if (column.length < 0 || column.offset < 0 || !add(column.length, column.offset, &end)) {
        return fail(VIA_ERROR_EXCHANGE,
                    "column.length is %lld and column.offset %lld; expected 0 or more, and a sum below 2^63",
                    as_printed(column.length), as_printed(column.offset));
    }
    if (column.n_buffers > 0 && column.buffers == nullptr) {
        return fail(VIA_ERROR_EXCHANGE, "column.buffers is NULL; expected %lld buffers", as_printed(column.n_buffers));
    }
    return VIA_OK;
}

// Checks a column that all rows are of.
Status check_whole(const ArrowSchema &schema, const ArrowArray &column, bool host_reads) {
    VIA_TRY(check_struct(schema, column));
    return check_no_nulls(column, column.offset, column.length, host_reads);
}

// A level of nested fixed-size lists, from the column down to its values.
struct Walk {
    const ArrowSchema *schema;
    const ArrowArray *column;
    int64_t first;  // in rows of this level
    int64_t rows;   // covered by the result
    bool host_reads;
};

// Goes down one level, whose lists have `list` values each.
Status descend(int64_t list, Walk *walk) {
    const bool has_child = walk->schema->n_children == 1 && walk->schema->children != nullptr &&
                           walk->schema->children[0] != nullptr && walk->column->n_children == 1 &&
                           walk->column->children != nullptr && walk->column->children[0] != nullptr;
    if (!has_child) {
        return fail(VIA_ERROR_EXCHANGE,
                    "column.n_children is %lld and schema.n_children %lld for a fixed-size list; expected 1 of each",
                    as_printed(walk->column->n_children), as_printed(walk->schema->n_children));
    }
    walk->schema = walk->schema->children[0];
    walk->column = walk->column->children[0];
    VIA_TRY(check_struct(*walk->schema, *walk->column));
    int64_t end = 0;
    if (!multiply(walk->first, list, &walk->first) || !multiply(walk->rows, list, &walk->rows) ||
        !add(walk->first, walk->rows, &end)) {
        return fail(VIA_ERROR_OVERFLOW, "the product of the list sizes is over 2^63 - 1; expected fewer values");
    }
    if (end > walk->column->length) {
        return fail(VIA_ERROR_EXCHANGE, "the length of a list's child is %lld; expected %lld",
                    as_printed(walk->column->length), as_printed(end));
    }
    walk->first += walk->column->offset;
    return check_no_nulls(*walk->column, walk->first, walk->rows, walk->host_reads);
}

Status read_values(const Walk &walk, ArraySpec *out_spec) {
    out_spec->dtype = dtype_of_arrow_format(walk.schema->format);
    if (out_spec->dtype == 0) {
        return fail(VIA_ERROR_DTYPE,
                    "schema.format is \"%s\"; expected integers, float16 to float64, fixed-size binary or fixed-size "
                    "lists of those",
                    walk.schema->format);
    }
    if (walk.column->n_buffers != 2) {
        return fail(VIA_ERROR_EXCHANGE, "column.n_buffers is %lld; expected 2", as_printed(walk.column->n_buffers));
    }
    const void *data = walk.column->buffers[1];
    if (data == nullptr && walk.rows > 0) {
        return fail(VIA_ERROR_EXCHANGE, "column.buffers[1] is NULL; expected the memory of %lld values",
                    as_printed(walk.rows));
    }
    int64_t skipped = 0;
    if (!multiply(walk.first, dtype_bits(out_spec->dtype) / 8, &skipped) || !advance(data, skipped, &data)) {
        return fail(VIA_ERROR_OVERFLOW, "column.offset is %lld values; expected an offset inside the address space",
                    as_printed(walk.first));
    }
    out_spec->data = walk.column->buffers[1] == nullptr ? nullptr : const_cast<void *>(data);
    return VIA_OK;
}

// Replaces a list of so many values by the axes of a tensor of them. Computes the strides in elements. Extents of 0
// count as 1, as in any row-major array.
Status permute_axes(const TensorAxes &axes, int64_t list, Shape *shape) {
    int64_t strides[VIA_MAX_NDIM];
    int64_t stride = 1;
    bool fits = true;
    for (int32_t i = axes.ndim - 1; i >= 0; --i) {
        strides[i] = stride;
        fits = fits && multiply(stride, std::max<int64_t>(axes.shape[i], 1), &stride);
    }
    const bool is_empty = has_no_elements(axes.ndim, axes.shape);
    if (is_empty ? list != 0 : !fits || list != stride) {
        return fail(VIA_ERROR_EXCHANGE,
                    "the list size of the column is %lld; expected the product of the extents of %s", as_printed(list),
                    kTensorExtension);
    }
    if (!fits) {
        return fail(VIA_ERROR_OVERFLOW, "the product of the extents of %s is over 2^63 - 1; expected fewer values",
                    kTensorExtension);
    }
    shape->strides[0] = stride;
    for (int32_t i = 0; i < axes.ndim; ++i) {
        shape->extents[i + 1] = axes.shape[axes.permutation[i]];
        shape->strides[i + 1] = strides[axes.permutation[i]];
    }
    shape->ndim = axes.ndim + 1;
    shape->is_permuted = !std::is_sorted(axes.permutation, axes.permutation + axes.ndim);
    return VIA_OK;
}

// Replaces the shape by the axes of the tensors, for a column of tensors.
Status refine_shape(const ArrowSchema &schema, Shape *shape) {
    bool is_tensor = false;
    TensorAxes axes;
    VIA_TRY(read_tensor_metadata(schema.metadata, &is_tensor, &axes));
    if (!is_tensor) {
        return VIA_OK;
    }
    if (shape->ndim != 2) {
        return fail(VIA_ERROR_EXCHANGE, "the column has %d levels of lists; expected 1 for %s", shape->ndim - 1,
                    kTensorExtension);
    }
    return permute_axes(axes, shape->extents[1], shape);
}

// Holds both structs until the array's memory is released.
struct Imported {
    ArrowSchema schema;
    ArrowDeviceArray column;
};

void end_import(const Deleter &deleter) {
    auto *imported = static_cast<Imported *>(deleter.context);
    release_arrow(&imported->schema, &imported->column);
    delete imported;
}

// Arrow's CPU has the id -1; some producers write 0. Pinned and managed memory may have a device's id.
Status read_device(const ArrowDeviceArray &column, ArraySpec *out_spec) {
    const int64_t id = column.device_id;
    out_spec->device_type = column.device_type;
    out_spec->device_id = 0;
    if (column.device_type == VIA_DEVICE_CUDA) {
        if (id < 0 || id > INT32_MAX) {
            return fail(VIA_ERROR_DEVICE, "column.device_id is %lld; expected that of a CUDA device", as_printed(id));
        }
        out_spec->device_id = static_cast<int32_t>(id);
    }
    return cuda::check_any_device("column.", out_spec->device_type, out_spec->device_id);
}

Status read_column(const ArrowSchema &schema, const ArrowDeviceArray &column, via_stream *stream, Shape *shape,
                   ArraySpec *out_spec) {
    VIA_TRY(read_device(column, out_spec));
    // The host could read pinned and managed memory too, but only after the event.
    const bool host_reads = out_spec->device_type == VIA_DEVICE_CPU;
    VIA_TRY(host_reads ? check_no_stream(stream) : VIA_OK);
    VIA_TRY(check_whole(schema, column.array, host_reads));
    Walk walk{&schema, &column.array, column.array.offset, column.array.length, host_reads};
    shape->ndim = 1;
    shape->extents[0] = column.array.length;
    for (int64_t list = 0; (list = arrow_list_size(walk.schema->format)) >= 0;) {
        if (shape->ndim == VIA_MAX_NDIM) {
            return fail(VIA_ERROR_SHAPE, "the column has more than %d levels of lists; expected fewer",
                        VIA_MAX_NDIM - 1);
        }
        shape->extents[shape->ndim++] = list;
        VIA_TRY(descend(list, &walk));
    }
    VIA_TRY(read_values(walk, out_spec));
    VIA_TRY(refine_shape(schema, shape));
    out_spec->ndim = shape->ndim;
    out_spec->shape = shape->extents;
    out_spec->strides = shape->strides;
    out_spec->unit = shape->is_permuted ? StrideUnit::Elements : StrideUnit::RowMajor;
    out_spec->flags = VIA_ARRAY_READ_ONLY;
    return VIA_OK;
}

// Makes an imported array ready at *sync_event (nullptr: after the work queued on the stream so far), and makes
// `stream`, if it is one, wait for that on the device. no_sync orders nothing.
Status follow_event(via_array *array, void *sync_event, via_stream *stream) {
    if (sync_event == nullptr || stream == cuda::no_sync_stream() || array->size == 0) {
        return order_producer(array, sync_event == nullptr && stream == nullptr ? cuda::no_sync_stream() : stream);
    }
    const int32_t device_id = cuda::device_at_hand(array);
    UniqueStream own;
    UniqueEvent event;
    VIA_TRY(cuda::wrap_event(*static_cast<void **>(sync_event), device_id, event.out()));
    if (stream == nullptr) {
        VIA_TRY(cuda::create_stream(device_id, own.out()));
        stream = own.get();
    }
    VIA_TRY(cuda::make_stream_wait(stream, event.get()));
    return cuda::order_import(array, stream);
}

}  // namespace

Status import_arrow(ArrowSchema *schema, ArrowDeviceArray *column, via_stream *stream, via_array **out_array) {
    Shape shape{};
    ArraySpec spec;
    VIA_TRY(read_column(*schema, *column, stream, &shape, &spec));
    std::unique_ptr<Imported> imported(new (std::nothrow) Imported{*schema, *column});
    if (imported == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for an import of %zu bytes", sizeof(Imported));
    }
    const auto finish = [&](via_array *array) -> Status {
        if (array->device_type == VIA_DEVICE_CPU) {
            return VIA_OK;
        }
        VIA_TRY(cuda::check_pointer("column.", array));
        return follow_event(array, column->sync_event, stream);
    };
    VIA_TRY(make_checked_array(spec, Deleter{}, out_array, finish));
    (*out_array)->storage->deleter = {end_import, nullptr, imported.release(), nullptr, 0};
    schema->release = nullptr;
    column->array.release = nullptr;
    return VIA_OK;
}

}  // namespace via
