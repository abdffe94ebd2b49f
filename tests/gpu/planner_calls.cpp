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

void expect_planned(const Counts &before, int64_t copies) {
    const Counts now;
    assert_int_equal(now.forms - before.forms, copies);
    assert_int_equal(now.routes - before.routes, copies);
}

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
            const Counts now;
            assert_int_equal(now.routes - before.routes, 2);
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
    for (const int32_t kind : {VIA_MEMORY_HOST, VIA_MEMORY_DEVICE}) {
        const Array dst(kind, 0, false);
        const Counts before;
        ok(via_file_read(file, 0, dst.get(), nullptr));
        const Counts now;
        assert_true(now.forms - before.forms <= 1);
        assert_true(now.routes - before.routes <= 1);
    }
    via_file_release(file);
    unlink(path);
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
    };
    return run_inside(tests);
}
