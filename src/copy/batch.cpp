#include "copy/batch.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "copy/copy.hpp"
#include "core/checked.hpp"
#include "core/joined_mark.hpp"
#include "core/order.hpp"
#include "core/task.hpp"
#include "core/thread_state.hpp"

namespace via {
namespace {

constexpr int32_t kMostEntries = 1 << 30;

// Followed in its block by `capacity` destinations and as many sources, which it holds. Shared by a batch and its
// tasks: a task looks at as many as there were when it was made, so that the batch may add behind them.
struct Entries {
    ReferenceCount references;
    int32_t count;
    int32_t capacity;

    via_array **dsts() { return reinterpret_cast<via_array **>(this + 1); }
    via_array **srcs() { return dsts() + capacity; }

    void append(via_array *dst, via_array *src) {
        retain_array(dst);
        retain_array(src);
        dsts()[count] = dst;
        srcs()[count++] = src;
    }
};

Entries *make_entries(int32_t capacity) {
    const size_t pointers = 2 * static_cast<size_t>(capacity) * sizeof(via_array *);
    void *block = std::malloc(sizeof(Entries) + pointers);
    return block != nullptr ? new (block) Entries{{}, 0, capacity} : nullptr;
}

void release_entries(Entries *entries) {
    if (!entries->references.release()) {
        return;
    }
    for (int32_t i = 0; i < entries->count; ++i) {
        release_array(entries->dsts()[i]);
        release_array(entries->srcs()[i]);
    }
    std::free(entries);
}

}  // namespace
}  // namespace via

struct via_batch {
    via::ReferenceCount references;
    via::Entries *entries;
};

namespace via {
namespace {

Status no_memory(const char *what) { return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for %s", what); }

// Room for one more.
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
        entries->append(before->dsts()[i], before->srcs()[i]);
    }
    batch->entries = entries;
    release_entries(before);
    return VIA_OK;
}

// All copies of a batch as one task.
struct BatchWork : TaskWork {
    BatchWork(Entries *given, int32_t number) : TaskWork{run_work, end_work}, entries(given), count(number) {
        entries->references.retain();
    }

    static Status run_work(TaskWork *work, via_task *task, Mark **out_mark);

    static void end_work(TaskWork *work) {
        auto *batch = static_cast<BatchWork *>(work);
        release_entries(batch->entries);
        std::free(batch->marks);
        delete batch;
    }

    via_array *dst(int32_t i) const { return entries->dsts()[i]; }
    via_array *src(int32_t i) const { return entries->srcs()[i]; }

    Entries *entries;
    int32_t count;
    Mark **marks = nullptr;  // room for one more than there are copies
};

Status copy_each(BatchWork *batch, via_task *task, int32_t *out_marks) {
    int64_t done = 0;
    for (int32_t i = 0; i < batch->count; ++i) {
        if (is_cancelled(task)) {
            return fail(VIA_ERROR_CANCELLED, "the task was cancelled after %d of %d copies", i, batch->count);
        }
        Mark *mark = nullptr;
        const Status status = copy_in_task(batch->dst(i), batch->src(i), done, task, &mark);
        if (mark != nullptr) {
            batch->marks[(*out_marks)++] = mark;
        }
        VIA_TRY(name_entry(i, batch->count, status));
        done += batch->dst(i)->nbytes();
        if (*out_marks == 0) {
            report_progress(task, done);
        }
    }
    return VIA_OK;
}

// Gives the marks away as one. Where there is no memory for that, what they stand for is waited for.
Status join_or_wait(Mark **marks, int32_t count, Mark **out_mark) {
    std::for_each_n(marks, count, [](Mark *mark) { mark->retain(); });
    Status status = VIA_OK;
    if (join_marks(marks, count, out_mark) != VIA_OK) {
        for (int32_t i = 0; i < count; ++i) {
            const Status one = marks[i]->wait();
            status = status == VIA_OK ? one : status;
        }
    }
    std::for_each_n(marks, count, [](Mark *mark) { mark->release(); });
    return status;
}

Status BatchWork::run_work(TaskWork *work, via_task *task, Mark **out_mark) {
    auto *batch = static_cast<BatchWork *>(work);
    int32_t marks = 0;
    const Status status = copy_each(batch, task, &marks);
    const ErrorRecord failure = thread_state().record();
    const Status joined = join_or_wait(batch->marks, marks, out_mark);
    if (status != VIA_OK) {
        thread_state().record() = failure;
    }
    return status != VIA_OK ? status : joined;
}

bool same_place(via_array *a, via_array *b) { return a->device_type == b->device_type && a->device_id == b->device_id; }

// The gates of all copies, as many as there are in *out_count. The stream's own is asked for once for neighbours that
// lie alike: where a special stream stands for one of each device, it is the same one.
Status collect_gates(const BatchWork &batch, via_stream *stream, int32_t *out_count) {
    for (int32_t i = 0; i < batch.count; ++i) {
        const bool is_like_last =
            i > 0 && same_place(batch.dst(i), batch.dst(i - 1)) && same_place(batch.src(i), batch.src(i - 1));
        const Status status =
            gate_of_copy(batch.dst(i), batch.src(i), is_like_last ? nullptr : stream, &batch.marks[*out_count]);
        VIA_TRY(name_entry(i, batch.count, status));
        *out_count += batch.marks[*out_count] != nullptr ? 1 : 0;
    }
    return VIA_OK;
}

Status make_gate(const BatchWork &batch, via_stream *stream, Mark **out_gate) {
    int32_t count = 0;
    if (const Status status = collect_gates(batch, stream, &count); status != VIA_OK) {
        std::for_each_n(batch.marks, count, [](Mark *mark) { mark->release(); });
        return status;
    }
    return join_marks(batch.marks, count, out_gate);
}

// As for one copy: readers of destinations wait for the task, and so does the release of any array.
Status mark_arrays(Entries *entries, int32_t count, via_task *task) {
    const MarkHolder mark(task_mark(task));
    for (int32_t i = 0; i < count; ++i) {
        VIA_TRY(set_ready_mark(entries->dsts()[i]->storage, mark.get()));
        VIA_TRY(add_use_mark(entries->srcs()[i]->storage, mark.get()));
    }
    return VIA_OK;
}

Status start_batch(BatchWork *work, via_stream *stream, via_task **out_task) {
    int64_t nbytes = 0;
    bool immediate = true;
    for (int32_t i = 0; i < work->count; ++i) {
        if (!add(nbytes, work->dst(i)->nbytes(), &nbytes)) {
            return fail(VIA_ERROR_OVERFLOW, "the copies have more than 2^63 - 1 bytes together");
        }
        immediate = immediate && is_immediate_copy(work->dst(i), work->src(i));
    }
    MarkHolder gate;
    VIA_TRY(make_gate(*work, stream, gate.out()));
    return start_task(work, nbytes, gate.get(), immediate, out_task);
}

Status make_work(Entries *entries, int32_t count, BatchWork **out_work) {
    auto *work = new (std::nothrow) BatchWork(entries, count);
    if (work == nullptr) {
        return no_memory("a task");
    }
    work->marks = static_cast<Mark **>(std::calloc(static_cast<size_t>(count) + 1, sizeof(Mark *)));
    if (work->marks == nullptr) {
        BatchWork::end_work(work);
        return no_memory("a task");
    }
    *out_work = work;
    return VIA_OK;
}

}  // namespace

Status make_batch(via_batch **out_batch) {
    Entries *entries = make_entries(8);
    auto *batch = entries != nullptr ? new (std::nothrow) via_batch{{}, entries} : nullptr;
    if (batch == nullptr) {
        std::free(entries);
        return no_memory("a batch");
    }
    *out_batch = batch;
    return VIA_OK;
}

void retain_batch(via_batch *batch) { batch->references.retain(); }

void release_batch(via_batch *batch) {
    if (batch->references.release()) {
        Entries *entries = batch->entries;
        delete batch;
        release_entries(entries);
    }
}

Status add_to_batch(via_batch *batch, via_array *dst, via_array *src) {
    VIA_TRY(check_task_copy(dst, src));
    VIA_TRY(make_room(batch));
    batch->entries->append(dst, src);
    return VIA_OK;
}

int64_t batch_size(via_batch *batch) { return batch->entries->count; }

Status run_batch(via_batch *batch, via_stream *stream) {
    return copy_batch(batch->entries->count, batch->entries->dsts(), batch->entries->srcs(), stream);
}

Status submit_batch(via_batch *batch, via_stream *stream, via_task **out_task) {
    Entries *entries = batch->entries;
    BatchWork *work = nullptr;
    VIA_TRY(make_work(entries, entries->count, &work));
    via_task *task = nullptr;
    if (const Status status = start_batch(work, stream, &task); status != VIA_OK) {
        BatchWork::end_work(work);
        return status;
    }
    if (const Status status = mark_arrays(entries, entries->count, task); status != VIA_OK) {
        cancel_task(task);
        release_task(task);
        return status;
    }
    *out_task = task;
    return VIA_OK;
}

Status name_entry(int32_t index, int32_t count, Status status) {
    if (status == VIA_OK) {
        return VIA_OK;
    }
    const ErrorRecord failure = thread_state().record();
    return fail_with_code(status, failure.code, "copy %d of %d: %s", index, count, failure.text);
}

}  // namespace via
