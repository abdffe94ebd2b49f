#include <climits>
#include <cstdio>
#include <cstring>
#include <new>

#include "core/array/access_tracker.hpp"
#include "core/base/thread_state.hpp"
#include "core/base/unique_handle.hpp"
#include "cuda/event.hpp"
#include "cuda/stream.hpp"
#include "cuda/stream_access.hpp"
#include "exchange/arrow_export.hpp"
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
    via_event *event;    // reached when the array is ready; nullptr if it is ready
    void *native_event;  // sync_event points here
    const void *no_validity[1];
    const void *buffers[2];
    ArrowArray item;
    ArrowArray *children[1];
};

void release_schema(ArrowSchema *schema) {
    auto *block = static_cast<SchemaBlock *>(schema->private_data);
    for (int64_t i = 0; i < schema->n_children; ++i) {
        if (schema->children[i]->release != nullptr) {
            schema->children[i]->release(schema->children[i]);
        }
    }
    schema->release = nullptr;
    if (block->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        delete block;
    }
}

void release_column(ArrowArray *column) {
    auto *block = static_cast<ColumnBlock *>(column->private_data);
    for (int64_t i = 0; i < column->n_children; ++i) {
        if (column->children[i]->release != nullptr) {
            column->children[i]->release(column->children[i]);
        }
    }
    column->release = nullptr;
    if (block->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        via_array *array = block->array;
        if (block->event != nullptr) {
            cuda::release_event(block->event);
        }
        delete block;
        count(Counter::Exports, -1);
        release_array(array);
    }
}

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
void fill_device(via_array *array, via_event *event, ColumnBlock *block, ArrowDeviceArray *column) {
    column->device_type = array->device_type;
    column->device_id = array->device_type == VIA_DEVICE_CPU ? -1 : array->device_id;
    block->event = event;
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
    via_event *event = nullptr;
    VIA_TRY(check_expressible(array));
    VIA_TRY(row_size(array, &values));
    VIA_TRY(make_ready(array, &event));
    auto *schema_block = new (std::nothrow) SchemaBlock;
    auto *column_block = new (std::nothrow) ColumnBlock;
    if (schema_block == nullptr || column_block == nullptr) {
        delete schema_block;
        delete column_block;
        if (event != nullptr) {
            cuda::release_event(event);
        }
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for an Arrow schema and array");
    }
    fill_schema(array, values, schema_block, out_schema);
    *out_column = {};
    fill_column(array, values, column_block, &out_column->array);
    fill_device(array, event, column_block, out_column);
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

}  // namespace via
