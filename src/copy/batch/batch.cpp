#include "copy/batch.hpp"

#include <cstdlib>
#include <new>
#include <utility>

#include "copy/batch/batch_run.hpp"
#include "copy/copy.hpp"
#include "copy/planned_copy.hpp"
#include "core/base/lock.hpp"
#include "core/diagnostics/handle_registry.hpp"

struct via_batch {
    via::Entries *entries;
    via::PreparedBatch *prepared = nullptr;  // owned; with the lock held
    via::ReferenceCount references = {};

    static void operator delete(void *block) { via::delete_handle(block); }
};

namespace via {
namespace {

constexpr int32_t kMostEntries = 1 << 30;

// Guards `prepared` of all batches. Held for a few instructions only.
ForkSafeMutex mutex;

Status no_memory(const char *what) { return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for %s", what); }

// Makes room for one more copy.
Status make_room(via_batch *batch) {
    Entries *before = batch->entries;
    const int32_t count = before->count;
    if (count < before->capacity) {
        return VIA_OK;
    }
    if (count == kMostEntries) {
        return fail(VIA_ERROR_OVERFLOW, "the batch has %d copies; expected at most %d with this one", count,
                    kMostEntries);
    }
    Entries *entries = make_entries(count * 2);
    if (entries == nullptr) {
        return no_memory("one more copy");
    }
    for (int32_t i = 0; i < count; ++i) {
        entries->append(before->dsts()[i], before->srcs()[i], before->planned()[i]);
    }
    batch->entries = entries;
    release_entries(before);
    return VIA_OK;
}

bool find_prepared(via_batch *batch, int32_t device_id, PreparedBatch **out_prepared) {
    const std::lock_guard lock(mutex);
    if (batch->prepared == nullptr || !batch->prepared->serves(batch->entries->count, device_id)) {
        return false;
    }
    batch->prepared->retain();
    *out_prepared = batch->prepared;
    return true;
}

// Plans at the first use, and again after more copies were added or for a stream of another device.
Status prepare(via_batch *batch, via_stream *stream, PreparedBatch **out_prepared) {
    const int32_t device_id = cuda::device_meant_by(stream);
    if (find_prepared(batch, device_id, out_prepared)) [[likely]] {
        return VIA_OK;
    }
    UniquePreparedBatch prepared;  // then the one before, which is released without the lock
    VIA_TRY(PreparedBatch::make(batch->entries, device_id, prepared.out()));
    prepared.get()->retain();
    *out_prepared = prepared.get();
    const std::lock_guard lock(mutex);
    std::swap(batch->prepared, *prepared.out());
    return VIA_OK;
}

}  // namespace

Status make_batch(via_batch **out_batch) {
    Entries *entries = make_entries(8);
    auto *batch = entries != nullptr ? new (std::nothrow) via_batch{entries} : nullptr;
    if (batch == nullptr) {
        std::free(entries);
        return no_memory("a batch");
    }
    *out_batch = batch;
    return VIA_OK;
}

void retain_batch(via_batch *batch) { batch->references.retain(); }

void release_batch(via_batch *batch) {
    if (!batch->references.release()) {
        return;
    }
    Entries *entries = batch->entries;
    PreparedBatch *prepared = batch->prepared;
    delete batch;
    if (prepared != nullptr) {
        prepared->release();
    }
    release_entries(entries);
}

Status add_to_batch(via_batch *batch, via_array *dst, via_array *src) {
    VIA_TRY(check_copy(dst, src));
    VIA_TRY(check_task_memory(dst, src));
    VIA_TRY(make_room(batch));
    batch->entries->append(dst, src, nullptr);
    return VIA_OK;
}

Status add_planned_to_batch(via_batch *batch, PlannedCopy *copy) {
    VIA_TRY(make_room(batch));
    batch->entries->append(copy->dst(), copy->src(), copy);
    return VIA_OK;
}

int64_t batch_size(via_batch *batch) { return batch->entries->count; }

Status run_batch(via_batch *batch, via_stream *stream) {
    if (batch->entries->count == 1 && batch->entries->planned()[0] != nullptr) {
        return name_entry(0, 1, batch->entries->planned()[0]->run_on(stream));
    }
    if (batch->entries->count < 2) {
        return copy_batch(batch->entries->count, batch->entries->dsts(), batch->entries->srcs(), stream);
    }
    UniquePreparedBatch prepared;
    VIA_TRY(prepare(batch, stream, prepared.out()));
    return prepared.get()->run(stream);
}

Status submit_batch(via_batch *batch, via_stream *stream, via_task **out_task) {
    UniquePreparedBatch prepared;
    VIA_TRY(prepare(batch, stream, prepared.out()));
    return prepared.get()->submit(stream, out_task);
}

}  // namespace via
