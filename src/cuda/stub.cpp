// Answers for this room in a build without the Toolkit's headers: every function that the rooms above call reports that
// there is no CUDA. The shared streams exist everywhere, as values to compare with.
#include "core/base/text_buffer.hpp"
#include "cuda/convert_transfer.hpp"
#include "cuda/cuda_memory.hpp"
#include "cuda/custom_cuda_memory.hpp"
#include "cuda/device.hpp"
#include "cuda/device_batch.hpp"
#include "cuda/device_fill.hpp"
#include "cuda/event.hpp"
#include "cuda/indexed_transfer.hpp"
#include "cuda/io_endpoint.hpp"
#include "cuda/ipc_handle.hpp"
#include "cuda/pointer_attributes.hpp"
#include "cuda/stream.hpp"
#include "cuda/stream_access.hpp"
#include "cuda/transfer.hpp"
#include "cuda/transfer_plan.hpp"

struct via_stream {
    intptr_t handle;
};

namespace via::cuda {
namespace {

constinit via_stream legacy{1};
constinit via_stream per_thread{2};
constinit via_stream no_sync{0};

constexpr char kWhy[] = "this build has no CUDA";

}  // namespace

// ------------------------------------------------------------------------------------------------ devices

Status need(const char *what) { return fail(VIA_ERROR_UNSUPPORTED, "%s needs CUDA; expected a build with CUDA", what); }
bool was_started() { return false; }
bool is_in_use() { return false; }
int32_t device_count() { return 0; }
const char *why_none() { return kWhy; }

Status check_device(const char *argument, int32_t device_type, int32_t) {
    return fail(VIA_ERROR_UNSUPPORTED, "%sdevice_type is %s, which needs CUDA; expected a build with CUDA", argument,
                DeviceTypeName(device_type).text);
}

bool loads_kernels(int32_t) { return false; }
Status describe_device(int32_t, via_device_properties *) { return need("a CUDA device"); }
Status warm_up(int32_t) { return need("warming up a device"); }

// ------------------------------------------------------------------------------------------------ pointers, memory

Status query_pointer(const void *, PointerAttributes *out_attributes) {
    *out_attributes = {};
    return VIA_OK;
}

Status check_pointer(const char *argument, via_array *array) {
    return check_device(argument, array->device_type, array->device_id);
}

Status detect_pointer(via_array *, bool) { return VIA_OK; }

Status make_cuda_memory(int32_t kind, int32_t, via_memory **) {
    return fail(VIA_ERROR_UNSUPPORTED, "kind is %s, which needs CUDA; expected a build with CUDA", name_of_kind(kind));
}

Status make_custom_cuda_memory(int32_t, int32_t, const AllocatorCallbacks &, via_memory **) {
    return need("memory of this kind");
}

// ------------------------------------------------------------------------------------------------ other processes

Status name_device(int32_t, SharedMemory *) { return need("memory of a device"); }
Status share_memory(const void *, int32_t, SharedMemory *, int64_t *) { return need("memory of a device"); }
Status find_named_device(const SharedMemory &, int32_t *) { return need("memory of a device"); }

Status open_memory(const SharedMemory &, int32_t *, void **, int64_t *, OpenedMemory **) {
    return need("memory of a device");
}

void close_memory(OpenedMemory *, void (*)(void *), void *) {}

// ------------------------------------------------------------------------------------------------ streams, events

via_stream *legacy_stream() { return &legacy; }
via_stream *per_thread_stream() { return &per_thread; }
via_stream *no_sync_stream() { return &no_sync; }
bool is_shared_stream(via_stream *) { return true; }
Status create_stream(int32_t, via_stream **) { return need("a stream"); }
Status wrap_stream(void *, int32_t, via_stream **) { return need("a stream"); }
void retain_stream(via_stream *) {}
void release_stream(via_stream *) {}

void *native_stream(via_stream *stream) {
    return stream != nullptr ? reinterpret_cast<void *>(stream->handle) : nullptr;
}

int32_t device_of_stream(via_stream *) { return 0; }
Status synchronize_stream(via_stream *) { return need("a stream"); }
Status query_stream(via_stream *, int32_t *) { return need("a stream"); }
Status set_current_stream(int32_t, via_stream *) { return need("a stream"); }
Status current_stream(int32_t, via_stream **) { return need("a stream"); }
Status create_event(int32_t, via_event **) { return need("an event"); }
Status wrap_event(void *, int32_t, via_event **) { return need("an event"); }
void retain_event(via_event *) {}
void release_event(via_event *) {}
void *native_event(via_event *) { return nullptr; }
Status record_event(via_event *, via_stream *) { return need("an event"); }
Status query_event(via_event *, int32_t *) { return need("an event"); }
Status synchronize_event(via_event *) { return need("an event"); }
Status make_stream_wait(via_stream *, via_event *) { return need("a stream"); }

// ------------------------------------------------------------------------------------------------ order

int32_t device_at_hand(via_array *) { return 0; }
Status record_use(via_array *, via_stream *) { return need("a stream"); }
Status record_ready(via_array *, via_stream *) { return need("a stream"); }

// Exported and imported arrays are ready, since there are no streams.
Status order_export(via_array *, via_stream *) { return VIA_OK; }
Status order_import(via_array *, via_stream *) { return VIA_OK; }
Status join(via_stream *, Fence *) { return need("a stream"); }

// ------------------------------------------------------------------------------------------------ transfers

// Names all memory as the host's.
Status find_sides(Transfer *transfer) {
    for (Side *side : {&transfer->dst_side, &transfer->src_side}) {
        if (side->device_type == VIA_DEVICE_ANY) {
            *side = kPageable;
        }
    }
    return VIA_OK;
}

Status find_raw_sides(Transfer *transfer) { return find_sides(transfer); }
int32_t device_of_transfer(const Transfer &) { return 0; }
Status plan_for_text(const Transfer &, TransferPlan *) { return need("this copy"); }

void describe_transfer(const Transfer &, const TransferPlan &, TextBuffer *text) { text->add("none: %s", kWhy); }

Status transfer_now(const Transfer &) { return need("this copy"); }
Status transfer_on(const Transfer &, via_stream *) { return need("a stream"); }
Status transfer_on(const Transfer &, const TransferPlan &, via_stream *) { return need("a stream"); }
Status plan_on(const Transfer &, via_stream *, TransferPlan *) { return need("a stream"); }
Status plan_for_task(const Transfer &, TransferPlan *) { return need("this copy"); }
Status transfer_for_task(const Transfer &, const TransferPlan &, via_task *, Fence **) { return need("this copy"); }
bool is_immediate(const Transfer &, const TransferPlan &) { return false; }
ItemsRoute items_route(const Transfer &) { return ItemsRoute::Kernel; }
bool can_stage_io(const Transfer &, StagedPlan *) { return false; }
Status transfer_io(const Transfer &, const StagedPlan &, const IoPart &, via_task *, Fence **) {
    return need("this transfer");
}
Status stream_fence(via_stream *, int32_t, Fence **) { return need("a stream"); }
Status await_stream(via_stream *, bool *) { return need("a stream"); }
Status is_capturing(via_stream *, int32_t, bool *) { return need("a stream"); }
Status fill_now(const Fill &) { return need("this fill"); }
Status fill_on(const Fill &, via_stream *) { return need("a stream"); }

// ------------------------------------------------------------------------------------------------ items

Status check_items(const ItemsTransfer &) { return need("this copy"); }
Status prepare_items(const ItemsTransfer &, via_stream *) { return need("a stream"); }
Status items_now(const ItemsTransfer &) { return need("this copy"); }
Status items_on(const ItemsTransfer &, via_stream *) { return need("a stream"); }
Status items_for_task(const ItemsTransfer &, via_task *, Fence **) { return need("this copy"); }
Status make_index_table(IndexTable **) { return need("this copy"); }
void end_index_table(IndexTable *) {}
Status IndexedTransfer::enqueue(const ResolvedStream &, via_task *, IndexFence **) const { return need("this copy"); }
void IndexedTransfer::note_run(Fence *) const {}
Status ConvertTransfer::enqueue(const ResolvedStream &, via_task *, IndexFence **) const { return need("this copy"); }
Status convert_io(const ConvertTransfer &, via_task *, Fence **) { return need("this conversion"); }
Status convert_joined(const JoinedConversion &, bool *, Fence **) { return need("this conversion"); }
void describe_convert(const ConvertTransfer &, TextBuffer *text) { text->add("none: %s", kWhy); }

// ------------------------------------------------------------------------------------------------ batches

// Only device_meant_by and end_batch are ever called: no array is on a device.
int32_t device_meant_by(via_stream *) { return -1; }
Status make_batch(int32_t, int32_t, Batch **) { return need("this copy"); }
bool can_reach(Batch *, const void *, const void *, LinkDirection) { return false; }
Status add_copy(Batch *, void *, const void *, int64_t, LinkDirection) { return need("this copy"); }
List<Storage *> *storages_of(Batch *) { return nullptr; }
Status finish_batch(Batch *) { return need("this copy"); }
void end_batch(Batch *, Fence *) {}
Status can_run_on(Batch *, via_stream *, bool *, Timeline *) { return need("a stream"); }
bool can_run_in_task(Batch *) { return false; }
Status run_batch_on(Batch *, Fence *, via_stream *, Fence **) { return need("a stream"); }
Status run_batch_for_task(Batch *, Fence **) { return need("this copy"); }

// ------------------------------------------------------------------------------------------------ calibration

Status calibrate(int32_t) { return need("calibration"); }
Status save_calibration(const char *) { return need("calibration"); }
Status load_calibration(const char *) { return need("calibration"); }

}  // namespace via::cuda
