#include "batch.hpp"

#include <pthread.h>

#include "conversion.hpp"
#include "interop/interop.hpp"
#include "objects/handles.hpp"
#include "objects/stream_argument.hpp"
#include "support/deferred.hpp"
#include "support/scope_list.hpp"
#include "support/wait.hpp"

namespace viapy {

namespace {

const char kDoc[] =
    "Batch()\n--\n\n"
    "Many copies prepared as one, to run any number of times.\n\n"
    "Has a length, and iterates over the (dst, src) pairs that were added. Keeps its arrays alive. The copies "
    "must not overlap one another, which is not checked.";

via_batch *batch_in(PyObject *self) { return static_cast<via_batch *>(handle_in(self)); }

// A batch that a thread uses without the GIL, to which no other thread may add.
struct UnderWay : ScopeList<UnderWay> {
    explicit UnderWay(const via_batch *used) : batch(used) {}
    const via_batch *batch;
};

bool is_under_way(const via_batch *batch) {
    bool found = false;
    UnderWay::for_each([&](const UnderWay &each) { found = found || each.batch == batch; });
    return found;
}

template <class Work>
via_status use(via_batch *batch, Work work) {
    const UnderWay scope(batch);
    return without_gil(true, work);
}

PyObject *create(PyTypeObject *, PyObject *args, PyObject *keywords) {
    static const char *const names[] = {nullptr};
    return PyArg_ParseTupleAndKeywords(args, keywords, ":Batch", const_cast<char **>(names)) != 0
               ? handle_from<via_batch>(HandleKind::Batch, via_batch_create)
               : nullptr;
}

// Returns the list of pairs; NULL with an exception set if there is no memory.
PyObject *pairs_of(PyObject *self) {
    PyObject *&pairs = attached_to(self);
    pairs = pairs != nullptr ? pairs : PyList_New(0);
    return pairs;
}

// Appends to the list first, since removing from it cannot fail.
template <class Add>
PyObject *append(const char *function, PyObject *self, const ArrayPair &arrays, const Add &add_to) {
    if (is_under_way(batch_in(self))) {
        return raise(VIA_ERROR_INVALID_ARGUMENT,
                     "%s: the batch is under way on another thread; expected one that is not running", function);
    }
    PyObject *pairs = pairs_of(self);
    Ref pair(pairs != nullptr ? PyTuple_Pack(2, arrays.dst_object.get(), arrays.src_object.get()) : nullptr);
    if (!pair || PyList_Append(pairs, pair.get()) != 0) {
        return nullptr;
    }
    via_status status = add_to(batch_in(self));
    if (status == VIA_OK) {
        return none();
    }
    raise_status(status);
    ErrorScope errors;
    Py_ssize_t count = PyList_Size(pairs);
    (void)PyList_SetSlice(pairs, count - 1, count, nullptr);
    return nullptr;
}

Signature kAdd = {"Batch.add", 2, 2, {"dst", "src"}};

PyObject *add(PyObject *self, PyObject *(&values)[2]) {
    drain();
    ArrayPair pair;
    if (!pair.parse("Batch.add", values[0], values[1])) {
        return nullptr;
    }
    const auto add_to = [&](via_batch *batch) { return via_batch_add(batch, pair.dst(), pair.src()); };
    return append("Batch.add", self, pair, add_to);
}

Signature kAddIndexed = {"Batch.add_indexed", 5, 4, {INDEXED_PARAMETERS, CONVERSION_OPTIONS}};

PyObject *add_indexed(PyObject *self, PyObject *(&values)[11]) {
    IndexedRows rows;
    drain();
    if (!rows.parse("Batch.add_indexed", values) || !rows.parse_options("Batch.add_indexed", values + 5)) {
        return nullptr;
    }
    const auto add_to = [&](via_batch *batch) {
        return via_batch_add_indexed(batch, rows.dst(), rows.dst_index(), rows.src(), rows.src_index(), rows.axis,
                                     rows.options());
    };
    return append("Batch.add_indexed", self, rows, add_to);
}

Signature kAddConvert = {"Batch.add_convert", 8, 2, {CONVERT_PARAMETERS}};

PyObject *add_convert(PyObject *self, PyObject *(&values)[8]) {
    ConvertArguments given;
    drain();
    if (!given.parse("Batch.add_convert", values)) {
        return nullptr;
    }
    const auto add_to = [&](via_batch *batch) {
        return via_batch_add_convert(batch, given.dst(), given.src(), given.options());
    };
    return append("Batch.add_convert", self, given, add_to);
}

// Waits until the host may read every destination.
bool wait_for_copies(PyObject *self) {
    PyObject *pairs = pairs_of(self);
    for (Py_ssize_t i = 0; pairs != nullptr && i < PyList_Size(pairs); ++i) {
        const Ref dst = Ref::share(PyTuple_GetItem(PyList_GetItem(pairs, i), 0));
        if (!wait_until_ready(handle_of(dst.get()))) {
            return false;
        }
    }
    return pairs != nullptr;
}

Signature kRun = {"Batch.run", 1, 0, {"stream"}};
Signature kSubmit = {"Batch.submit", 1, 0, {"stream"}};

PyObject *run(PyObject *self, PyObject *(&values)[1]) {
    StreamArgument stream;
    drain();
    if (!stream.parse("Batch.run", values[0])) {
        return nullptr;
    }
    via_batch *batch = batch_in(self);
    via_stream *target = stream.get();
    via_status status = use(batch, [=] { return via_batch_run(batch, target); });
    if (status != VIA_OK) {
        return raise_status(status);
    }
    return target != nullptr || wait_for_copies(self) ? none() : nullptr;
}

PyObject *submit(PyObject *self, PyObject *(&values)[1]) {
    StreamArgument stream;
    drain();
    if (!stream.parse("Batch.submit", values[0])) {
        return nullptr;
    }
    via_batch *batch = batch_in(self);
    via_stream *after = stream.get();
    via_task *task = nullptr;
    via_status status = use(batch, [&] { return via_batch_submit(batch, after, &task); });
    return handle_or_raise(HandleKind::Task, status, task);
}

Py_ssize_t length(PyObject *self) { return static_cast<Py_ssize_t>(via_batch_size(batch_in(self))); }

PyObject *iterate(PyObject *self) {
    PyObject *pairs = pairs_of(self);
    return pairs != nullptr ? PyObject_GetIter(pairs) : nullptr;
}

PyObject *repr(PyObject *self) {
    Py_ssize_t count = length(self);
    return PyUnicode_FromFormat("<viaduct.Batch of %zd %s>", count, count == 1 ? "copy" : "copies");
}

PyMethodDef kMethods[] = {
    {"add", parsed<kAdd, add>(), kKeywords,
     "add($self, dst, src)\n--\n\n"
     "Adds a copy between two arrays of equal shape and dtype; each may be any object that asarray() accepts.\n\n"
     "Raises InvalidArgumentError while another thread runs the batch."},
    {"add_indexed", parsed<kAddIndexed, add_indexed>(), kKeywords,
     "add_indexed($self, dst, dst_index, src, src_index, axis=0, *, casting=None, overflow=None, byteorder=None, "
     "scale=None, offset=None, scale_axis=None)\n--\n\n"
     "Adds a copy by index, as copy_indexed() takes it; reads an index of the host now."},
    {"add_convert", parsed<kAddConvert, add_convert>(), kKeywords,
     "add_convert($self, dst, src, *, casting='same_kind', overflow='infinity', byteorder='=', scale=None, "
     "offset=None, scale_axis=0)\n--\n\n"
     "Adds a conversion, as convert() takes it."},
    {"run", parsed<kRun, run>(), kKeywords,
     "run($self, stream=None)\n--\n\n"
     "Runs all copies and returns when they are done; with a stream, once they are queued.\n\n"
     "Needs no device if every array is host memory. The first run plans the copies, and so takes longer."},
    {"submit", parsed<kSubmit, submit>(), kKeywords,
     "submit($self, stream=None)\n--\n\n"
     "Starts all copies as one task, after the stream's work so far, and returns a Task at once."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot kSlots[] = {
    {Py_tp_new, slot(create)},   {Py_tp_methods, kMethods},    {Py_tp_repr, slot(repr)},
    {Py_tp_iter, slot(iterate)}, {Py_sq_length, slot(length)}, {0, nullptr},
};

}  // namespace

bool add_batch_type(PyObject *module) {
    pthread_atfork(nullptr, nullptr, UnderWay::forget);
    return add_handle_type(module, HandleKind::Batch, kDoc, kSlots);
}

}  // namespace viapy
