// Every public call makes one normal form and one plan for each copy, and carries them to the end.
#include "staging_inside.hpp"

#include <unistd.h>

#include <string>
#include <vector>

#include "core/base/thread_state.hpp"
#include "viaduct/viaduct.h"

namespace {

using via::Counter;

constexpr int64_t kRows = 512;
constexpr int64_t kColumns = 1024;

#define ok(call) assert_int_equal((call), VIA_OK)

class Array {
public:
    Array(int32_t kind, int32_t device_id, bool strided) {
        via_memory *memory = nullptr;
        if (kind != VIA_MEMORY_HOST) {
            ok(via_memory_create(kind, device_id, &memory));
        }
        const int64_t shape[] = {kRows, kColumns};
        ok(via_empty(memory, VIA_FLOAT32, 2, shape, nullptr, &whole_));
        via_memory_release(memory);
        const int64_t transposed[] = {kColumns, kRows};
        ok(strided ? via_array_permute(whole_, nullptr, &view_) : via_array_reshape(whole_, 2, transposed, &view_));
    }
    ~Array() {
        via_array_release(view_);
        via_array_release(whole_);
    }
    Array(const Array &) = delete;
    Array &operator=(const Array &) = delete;
    via_array *get() const { return view_; }

private:
    via_array *whole_ = nullptr;
    via_array *view_ = nullptr;
};

struct Counts {
    int64_t forms = via::total(Counter::NormalForms);
    int64_t routes = via::total(Counter::PlannedRoutes);
};

void expect_counts(const Counts &before, int64_t forms, int64_t routes) {
    const Counts now;
    assert_int_equal(now.forms - before.forms, forms);
    assert_int_equal(now.routes - before.routes, routes);
}

void expect_planned(const Counts &before, int64_t copies) { expect_counts(before, copies, copies); }

struct Case {
    const char *name;
    int32_t dst_kind;
    int32_t dst_device;
    bool dst_strided;
    int32_t src_kind;
    int32_t src_device;
    bool src_strided;
    const char *route;  // begins so
};

// One case for each kind of plan.
const std::vector<Case> &cases() {
    static const std::vector<Case> all = {
        {"host", VIA_MEMORY_HOST, 0, false, VIA_MEMORY_HOST, 0, true, "route: transpose"},
        {"driver", VIA_MEMORY_DEVICE, 0, false, VIA_MEMORY_PINNED, 0, false, "route: driver copy"},
        {"staged", VIA_MEMORY_DEVICE, 0, false, VIA_MEMORY_HOST, 0, false, "route: staged"},
        {"staged, strided", VIA_MEMORY_HOST, 0, true, VIA_MEMORY_DEVICE, 0, false, "route: staged"},
        {"kernel", VIA_MEMORY_DEVICE, 0, true, VIA_MEMORY_DEVICE, 0, false, "route: kernel"},
        {"pinned, strided", VIA_MEMORY_PINNED, 0, true, VIA_MEMORY_DEVICE, 0, false, "route: "},
        {"strided, pinned", VIA_MEMORY_DEVICE, 0, false, VIA_MEMORY_PINNED, 0, true, "route: "},
        {"peer", VIA_MEMORY_DEVICE, 1, false, VIA_MEMORY_DEVICE, 0, false, "route: peer copy"},
        {"peer, strided", VIA_MEMORY_DEVICE, 1, false, VIA_MEMORY_DEVICE, 0, true, "route: peer copy"},
    };
    return all;
}

template <class Body>
void for_each_case(Body &&body) {
    ok(via_cuda_warmup(0));
    for (const Case &one : cases()) {
        const Array dst(one.dst_kind, one.dst_device, one.dst_strided);
        const Array src(one.src_kind, one.src_device, one.src_strided);
        print_message("  %s\n", one.name);
        body(one, dst.get(), src.get());
    }
}

bool is_host(const Case &one) { return one.dst_kind == VIA_MEMORY_HOST && one.src_kind == VIA_MEMORY_HOST; }

void a_copy_that_is_waited_for_is_planned_once(void **) {
    for_each_case([](const Case &, via_array *dst, via_array *src) {
        const Counts before;
        ok(via_copy(dst, src));
        expect_planned(before, 1);
    });
}

void a_copy_on_a_stream_is_planned_once(void **) {
    via_stream *stream = nullptr;
    ok(via_stream_create(0, &stream));
    for_each_case([=](const Case &, via_array *dst, via_array *src) {
        const Counts before;
        ok(via_copy_async(dst, src, stream));
        expect_planned(before, 1);
        ok(via_stream_synchronize(stream));
    });
    via_stream_release(stream);
}

void a_submitted_copy_is_planned_once(void **) {
    for_each_case([](const Case &, via_array *dst, via_array *src) {
        const Counts before;
        via_task *task = nullptr;
        ok(via_copy_submit(dst, src, nullptr, &task));
        ok(via_task_wait(task));
        expect_planned(before, 1);
        via_task_release(task);
    });
}

void an_explained_copy_is_planned_once_and_takes_the_route_that_the_text_names(void **) {
    for_each_case([](const Case &one, via_array *dst, via_array *src) {
        char text[2048] = "";
        int64_t length = 0;
        const Counts before;
        ok(via_copy_explain(dst, src, sizeof text, text, &length));
        expect_planned(before, 1);
        assert_int_equal(std::string(text).rfind(one.route, 0), 0);
    });
}

void each_copy_of_a_batch_on_a_stream_is_planned_once(void **) {
    via_stream *stream = nullptr;
    ok(via_stream_create(0, &stream));
    for_each_case([=](const Case &one, via_array *dst, via_array *src) {
        if (is_host(one) || one.dst_strided || one.src_strided) {
            const Array other_dst(one.dst_kind, one.dst_device, one.dst_strided);
            via_array *dsts[] = {dst, other_dst.get()};
            via_array *srcs[] = {src, src};
            const Counts before;
            ok(via_copy_batch(2, dsts, srcs, stream));
            // A batch makes the form of a copy that it could fuse. These are too large: the copies make theirs again.
            const std::string name = one.name;
            const bool could_be_fused = name == "kernel" || name.find("pinned") != std::string::npos;
            expect_counts(before, could_be_fused ? 4 : 2, 2);
            ok(via_stream_synchronize(stream));
        }
    });
    via_stream_release(stream);
}

void a_read_from_a_file_is_planned_once(void **) {
    char path[] = "/tmp/viaduct-planner-XXXXXX";
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(ftruncate(descriptor, kRows * kColumns * 4), 0);
    close(descriptor);
    ok(via_cuda_warmup(0));
    via_file *file = nullptr;
    ok(via_file_open(path, nullptr, &file));
    // Bytes of a file go straight into adjacent memory of the host, and always through the ring to a device.
    for (const bool on_device : {false, true}) {
        const Array dst(on_device ? VIA_MEMORY_DEVICE : VIA_MEMORY_HOST, 0, false);
        const Counts before;
        ok(via_file_read(file, 0, dst.get(), nullptr));
        expect_counts(before, on_device ? 1 : 0, 0);
    }
    via_file_release(file);
    unlink(path);
}

// An array of so many elements, on the host or a device.
class Vector {
public:
    Vector(int32_t kind, int32_t device_id, int32_t dtype, int64_t count, int64_t width) {
        via_memory *memory = nullptr;
        if (kind != VIA_MEMORY_HOST) {
            ok(via_memory_create(kind, device_id, &memory));
        }
        const int64_t shape[] = {count, width};
        ok(via_empty(memory, dtype, 2, shape, nullptr, &array_));
        via_memory_release(memory);
    }
    ~Vector() { via_array_release(array_); }
    Vector(const Vector &) = delete;
    Vector &operator=(const Vector &) = delete;
    via_array *get() const { return array_; }

private:
    via_array *array_ = nullptr;
};

struct Sides {
    const char *name;
    int32_t dst_kind;
    int32_t dst_device;
    int32_t src_kind;
    int32_t src_device;
};

constexpr Sides kItemRoutes[] = {
    {"host", VIA_MEMORY_HOST, 0, VIA_MEMORY_HOST, 0},
    {"kernel", VIA_MEMORY_DEVICE, 0, VIA_MEMORY_DEVICE, 0},
    {"pinned", VIA_MEMORY_PINNED, 0, VIA_MEMORY_DEVICE, 0},
    {"staged to the device", VIA_MEMORY_DEVICE, 0, VIA_MEMORY_HOST, 0},
    {"staged to the host", VIA_MEMORY_HOST, 0, VIA_MEMORY_DEVICE, 0},
    {"peer", VIA_MEMORY_DEVICE, 1, VIA_MEMORY_DEVICE, 0},
};

// Calls body for arrays of each route, on a stream, without one and as a task.
template <class Body>
void for_each_way(int32_t dst_dtype, int32_t src_dtype, Body &&body) {
    ok(via_cuda_warmup(0));
    via_stream *stream = nullptr;
    ok(via_stream_create(0, &stream));
    for (const Sides &sides : kItemRoutes) {
        const Vector dst(sides.dst_kind, sides.dst_device, dst_dtype, kRows, kColumns);
        const Vector src(sides.src_kind, sides.src_device, src_dtype, kRows, kColumns);
        print_message("  %s\n", sides.name);
        body(dst.get(), src.get(), nullptr, nullptr);
        body(dst.get(), src.get(), stream, nullptr);
        ok(via_stream_synchronize(stream));
        via_task *task = nullptr;
        body(dst.get(), src.get(), nullptr, &task);
        via_task_release(task);
    }
    via_stream_release(stream);
}

void a_copy_by_index_is_planned_once(void **) {
    std::vector<int64_t> numbers(kRows);
    for (int64_t i = 0; i < kRows; ++i) {
        numbers[static_cast<size_t>(i)] = i * 7 % kRows;
    }
    const int64_t shape[] = {kRows};
    via_array *index = nullptr;
    ok(via_wrap(numbers.data(), VIA_INT64, 1, shape, nullptr, VIA_DEVICE_CPU, 0, 0, nullptr, nullptr, &index));
    for_each_way(VIA_FLOAT32, VIA_FLOAT32, [&](via_array *dst, via_array *src, via_stream *stream, via_task **task) {
        const Counts before;
        if (task == nullptr) {
            ok(via_copy_indexed(dst, nullptr, src, index, 0, nullptr, stream));
        } else {
            ok(via_copy_indexed_submit(dst, nullptr, src, index, 0, nullptr, stream, task));
            ok(via_task_wait(*task));
        }
        // One form is of dst alone, whose rows must not share bytes; the other one is of a row.
        expect_counts(before, 2, 1);
    });
    via_array_release(index);
}

void a_conversion_is_planned_once(void **) {
    for_each_way(VIA_FLOAT16, VIA_FLOAT32, [&](via_array *dst, via_array *src, via_stream *stream, via_task **task) {
        via_convert_options options = VIA_CONVERT_OPTIONS_INIT;
        options.casting = VIA_CASTING_SAME_KIND;
        const Counts before;
        if (task == nullptr) {
            ok(via_convert(dst, src, &options, stream));
        } else {
            ok(via_convert_submit(dst, src, &options, stream, task));
            ok(via_task_wait(*task));
        }
        const Counts now;
        assert_int_equal(now.routes - before.routes, 1);
    });
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_that_is_waited_for_is_planned_once),
        cmocka_unit_test(a_copy_on_a_stream_is_planned_once),
        cmocka_unit_test(a_submitted_copy_is_planned_once),
        cmocka_unit_test(an_explained_copy_is_planned_once_and_takes_the_route_that_the_text_names),
        cmocka_unit_test(each_copy_of_a_batch_on_a_stream_is_planned_once),
        cmocka_unit_test(a_read_from_a_file_is_planned_once),
        cmocka_unit_test(a_copy_by_index_is_planned_once),
        cmocka_unit_test(a_conversion_is_planned_once),
    };
    return run_inside(tests);
}
