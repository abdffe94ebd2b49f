// The routes of strided copies between two devices, called directly, so that each is taken by small copies too, in many
// pieces. On the fake driver also: what they reach, and what happens when any call of the driver fails.
#include "strided_trial.hpp"

#include <string>

#include "core/base/text_buffer.hpp"
#include "cuda/launch/kernel_cost.hpp"
#include "cuda/route/peer_copy.hpp"
#include "cuda/stream/internal_stream.hpp"

namespace {

using via::cuda::Major;
using via::cuda::PeerPlan;
using via::cuda::PeerReach;
using via::cuda::PeerRoute;

Route by_peers(const PeerReach &reach, int64_t piece_bytes) {
    return [=](const Transfer &transfer, const ResolvedStream &stream) {
        PeerPlan plan = via::cuda::plan_peer_copy(transfer, reach, stream.device_id);
        plan.piece_bytes = piece_bytes;
        return via::cuda::enqueue_peer_copy(transfer, plan, stream);
    };
}

Route by_pieces(Major major, bool pulled, int64_t piece_bytes) {
    return [=](const Transfer &transfer, const ResolvedStream &stream) {
        const bool is_packed = via::cuda::find_rows(transfer, Major::Dst).run == transfer.nbytes;
        PeerPlan plan = via::cuda::plan_pieces(transfer, major, pulled && is_packed);
        plan.piece_bytes = piece_bytes;
        return via::cuda::enqueue_peer_copy(transfer, plan, stream);
    };
}

// Of memory that nobody touches: for planners. Keeps to the layout's axes.
Transfer planned(const StridedSample &layout) {
    alignas(256) static char memory[1];  // as the driver aligns it
    return {memory,  memory,  layout.nbytes, kDevice,       kOtherDevice,
            nullptr, nullptr, layout.run,    layout.ndim(), layout.axes.data()};
}

// Leaves nothing in the pools of either.
void reset_devices() {
    for (const int32_t device_id : {0, 1}) {
        assert_int_equal(cu(cuDevicePrimaryCtxReset)(device_id), CUDA_SUCCESS);
        load(device_id);
    }
}

constexpr PeerReach kNothingReached{};
constexpr PeerReach kScratchReached{.writes = false, .reads = false, .scratch = true};

// Peer access between the primary contexts of two devices, both ways, for as long as a scope lasts.
class PeerAccess {
public:
    PeerAccess() {
        change([](CUcontext peer) { return cu(cuCtxEnablePeerAccess)(peer, 0); });
    }
    ~PeerAccess() {
        change([](CUcontext peer) { return cu(cuCtxDisablePeerAccess)(peer); });
    }
    PeerAccess(const PeerAccess &) = delete;
    PeerAccess &operator=(const PeerAccess &) = delete;

private:
    template <class Call>
    static void change(const Call &call) {
        for (const int32_t device_id : {0, 1}) {
            CUcontext peer = nullptr;
            assert_int_equal(via::cuda::primary_context(1 - device_id, &peer), VIA_OK);
            via::cuda::ContextScope scope;
            enter_device(device_id, &scope);
            assert_int_equal(call(peer), CUDA_SUCCESS);
        }
    }
};

void need_two_devices() {
    if (device_count() < 2) {
        skip();
    }
    load(0);
    load(1);
}

void two_devices_copy_any_layout_on_a_stream_of_either(void **) {
    need_two_devices();
    for (unsigned seed = 0; seed < 60; ++seed) {
        Random random(seed);
        const StridedSample layout = random_sample(&random, 40, 4, 9);
        const int64_t piece = random.between(1, layout.nbytes);
        const int32_t device_id = static_cast<int32_t>(seed % 2);
        for (const Route &route :
             {by_peers(kNothingReached, piece), by_peers(kScratchReached, piece), by_pieces(Major::Src, false, piece),
              by_pieces(Major::Dst, false, piece), by_pieces(Major::Dst, true, piece)}) {
            check(layout, kDevice, kOtherDevice, route, &random, device_id);
            check(layout, kOtherDevice, kDevice, route, &random, device_id);
        }
    }
}

void pieces_are_captured_on_a_stream_of_either(void **) {
    need_two_devices();
    Random random(26);
    const StridedSample layout = matrix_sample(false, 4, 300, 400, 4, 1200);
    for (const int32_t device_id : {0, 1}) {
        for (const Route &route : {by_pieces(Major::Src, false, 100000), by_pieces(Major::Dst, false, 100000),
                                   by_pieces(Major::Dst, true, 100000)}) {
            check_captured(layout, kDevice, kOtherDevice, route, &random, device_id);
        }
    }
}

void with_peer_access_one_kernel_copies_any_layout(void **) {
    need_two_devices();
    const PeerAccess access;
    for (unsigned seed = 0; seed < 60; ++seed) {
        Random random(seed);
        const StridedSample layout = random_sample(&random, 40, 4, 9);
        for (const bool writes : {true, false}) {
            const PeerReach reach{.writes = writes, .reads = !writes, .scratch = false};
            check(layout, kDevice, kOtherDevice, by_peers(reach, 1), &random, static_cast<int32_t>(seed % 2));
        }
    }
}

// The fake driver notices who touches what it does not reach, and what goes through the host.
void what_devices_reach_is_what_the_driver_says(void **) {
    need_fake_driver();
    need_two_devices();
    Random random(21);
    const Trial trial(matrix_sample(false, 4, 300, 400, 4, 1200), kDevice, kOtherDevice, &random);
    const auto reach = [&] { return via::cuda::find_reach(trial.transfer(), 0); };
    assert_true(!reach().writes && !reach().reads && reach().scratch);
    const PeerAccess access;
    assert_true(reach().writes && reach().reads);
}

void pieces_cross_without_the_host_though_nobody_has_switched_access_on(void **) {
    need_fake_driver();
    need_two_devices();
    Random random(22);
    const int64_t before = fake(fake_bytes_through_host)();
    for (const int32_t device_id : {0, 1}) {
        for (const StridedSample &layout : matrices(false)) {
            check(layout, kDevice, kOtherDevice, by_peers(kScratchReached, layout.nbytes / 5), &random, device_id);
        }
    }
    assert_int_equal(fake(fake_bytes_through_host)(), before);
    const Transfer plain{nullptr, nullptr, 1, kDevice, kOtherDevice};
    assert_int_equal(via::cuda::plan_peer_copy(plain, kScratchReached, 0).route, PeerRoute::Driver);
    assert_int_equal(fake(fake_misuse_total)(), 0);
}

// Where a pool is not opened, has no room, or is not reached all the same, the driver's way serves.
void what_cannot_be_opened_goes_through_the_host(void **) {
    need_fake_driver();
    need_two_devices();
    Random random(23);
    const StridedSample layout = matrix_sample(false, 4, 300, 400, 4, 1200);
    const struct {
        const char *function;
        CUresult result;
    } refusals[] = {{"cuMemPoolSetAccess", CUDA_ERROR_TOO_MANY_PEERS},
                    {"cuMemAllocFromPoolAsync", CUDA_ERROR_OUT_OF_MEMORY},
                    {"cuMemcpyAsync", CUDA_ERROR_INVALID_VALUE},
                    {"cuLaunchKernel", CUDA_ERROR_INVALID_VALUE}};
    const auto refuse = [&](const auto &refusal, int32_t stream_device) {
        reset_devices();
        const std::string text = via_last_error();
        const Route refused = [&](const Transfer &transfer, const ResolvedStream &stream) {
            fake(fake_fail_at)(refusal.function, 1, refusal.result);
            const Status status = by_peers(kScratchReached, 50000)(transfer, stream);
            fake(fake_clear_faults)();
            return status;
        };
        const int64_t before = fake(fake_faults_injected)();
        const int64_t crossed = fake(fake_bytes_through_host)();
        check(layout, kDevice, kOtherDevice, refused, &random, stream_device);
        assert_int_equal(fake(fake_faults_injected)(), before + 1);
        assert_true(fake(fake_bytes_through_host)() > crossed);
        assert_string_equal(via_last_error(), text.c_str());
    };
    for (const auto &refusal : refusals) {
        refuse(refusal, 0);
        refuse(refusal, 1);
    }
}

// The side that has whole rows leaves them to the link; what has none is transposed within the source's memory, and
// pulled.
void rows_are_left_to_the_link(void **) {
    const StridedSample transposed = matrix_sample(false, 4, 3000, 4000, 4, 12000);
    const StridedSample gaps_in_src = matrix_sample(false, 4, 3000, 4000, 32000, 8);
    const StridedSample gaps_in_dst = matrix_sample(true, 4, 3000, 4000, 32000, 8);
    const auto plan_of = [](const StridedSample &layout, const PeerReach &reach, int32_t device_id) {
        return via::cuda::plan_peer_copy(planned(layout), reach, device_id);
    };
    constexpr PeerReach kAll{true, true, true};
    for (const int32_t device_id : {0, 1}) {
        assert_int_equal(plan_of(gaps_in_src, kAll, device_id).route, PeerRoute::Push);
        const PeerPlan scattered = plan_of(gaps_in_dst, kAll, device_id);
        assert_true(scattered.route == PeerRoute::Pull || (scattered.unpacks && !scattered.src_kernel));
        const PeerPlan packed = plan_of(gaps_in_src, kScratchReached, device_id);
        assert_true(packed.direct && packed.src_kernel && !packed.dst_kernel && packed.unpacks);
        const PeerPlan pulled = plan_of(transposed, kScratchReached, device_id);
        assert_true(pulled.direct && pulled.pulled && pulled.src_kernel && !pulled.dst_kernel);
    }
    assert_true(!plan_of(transposed, kNothingReached, 0).src_kernel && plan_of(transposed, kNothingReached, 0).unpacks);
    assert_true(plan_of(transposed, kNothingReached, 1).src_kernel && !plan_of(transposed, kNothingReached, 1).unpacks);
    for (const int32_t device_id : {0, 1}) {
        const PeerPlan in = plan_of(gaps_in_src, kNothingReached, device_id);
        const PeerPlan out = plan_of(gaps_in_dst, kNothingReached, device_id);
        assert_true(in.src_kernel && !in.unpacks && !out.src_kernel && out.unpacks && !in.direct && !out.direct);
    }
}

// Pieces in the order of a source whose outermost loop is the innermost of the destination would store a few elements
// of each of its runs.
void pieces_keep_the_runs_of_the_destination_whole(void **) {
    const auto cost_of = [](int64_t rows, int64_t columns, Major major) {
        const StridedSample layout = matrix_sample(false, 4, rows, columns, 4, 4 * rows);
        return via::cuda::plan_pieces(planned(layout), major, false).microseconds;
    };
    assert_true(cost_of(4000000, 10, Major::Dst) < cost_of(4000000, 10, Major::Src));
    assert_true(cost_of(10, 4000000, Major::Src) < cost_of(10, 4000000, Major::Dst));
}

void the_description_says_what_moves_the_pieces(void **) {
    const StridedSample layout = matrix_sample(false, 2, 3000, 4000, 2, 6000);
    const auto text_of = [&](bool pulled) {
        char text[200] = "";
        via::TextBuffer buffer(text, sizeof text);
        const PeerPlan plan = via::cuda::plan_pieces(planned(layout), Major::Dst, pulled);
        via::cuda::describe_peer(planned(layout), plan, &buffer);
        return std::string(text);
    };
    assert_string_equal(text_of(true).c_str(),
                        "direct, in pieces of up to 23437 KiB, packed by a kernel, pulled by a copy engine");
    assert_string_equal(text_of(false).c_str(), "direct, in pieces of up to 23437 KiB, packed by a kernel");
}

// Indices of the outermost loop do not halve evenly, and a last piece may have more than the one before.
void pieces_fit_their_buffers(void **) {
    need_fake_driver();
    need_two_devices();
    Random random(24);
    reset_devices();  // whose pools keep nothing then that a piece could run into
    const int64_t before = fake(fake_bytes_through_host)();
    const StridedSample transposed = matrix_sample(false, 4, 161, 20885, 4, 644);
    const StridedSample wide = matrix_sample(false, 4, 3, 1000000, 4, 12);
    constexpr int64_t kMost = int64_t{64} << 20;
    for (const StridedSample &layout : {transposed, wide}) {
        for (const Route &route : {by_pieces(Major::Src, false, kMost), by_pieces(Major::Dst, false, kMost),
                                   by_pieces(Major::Dst, true, kMost)}) {
            check(layout, kDevice, kOtherDevice, route, &random);
        }
    }
    assert_int_equal(fake(fake_bytes_through_host)(), before);
    assert_int_equal(fake(fake_misuse_total)(), 0);
}

// Up to 2 MiB a kernel goes element by element. Its threads walk along the axis that src is fast along, so that a block
// uses whole sectors of it: a source in another order is not asked for each element across the link.
void a_little_is_read_in_whole_sectors_from_the_other_device(void **) {
    const auto plan_of = [](int64_t rows, int64_t columns) {
        StridedSample layout = matrix_sample(false, 4, rows, columns, 4, 4 * rows);
        for (via::Axis &axis : layout.axes) {
            axis.dst_step *= 2;
        }
        return via::cuda::plan_peer_copy(planned(layout), {false, true, true}, 1);
    };
    for (const int64_t rows : {400, 1200}) {
        const via::cuda::PeerPlan plan = plan_of(rows, 1000);
        const double link = static_cast<double>(4 * rows * 1000) / via::cuda::link_bytes(4);
        assert_int_equal(plan.route, PeerRoute::Pull);
        assert_true(plan.microseconds < 10 + 2 * link);
    }
}

// As many as were ever under way at once, and of those no more than a few: a copy takes one that is idle.
void streams_for_the_other_device_are_kept(void **) {
    need_fake_driver();
    need_two_devices();
    Random random(24);
    const StridedSample layout = matrix_sample(false, 4, 30, 40, 4, 120);
    check(layout, kDevice, kOtherDevice, by_peers(kScratchReached, 1000), &random);
    const int64_t streams = fake(fake_live)(FAKE_STREAMS);
    const int64_t made = fake(fake_call_count)("cuStreamCreate");
    for (int i = 0; i < 10; ++i) {
        check(layout, kDevice, kOtherDevice, by_peers(kScratchReached, 1000), &random);
    }
    assert_int_equal(fake(fake_call_count)("cuStreamCreate"), made);
    assert_int_equal(fake(fake_live)(FAKE_STREAMS), streams);
}

void either_device_may_be_reset_between_two_copies(void **) {
    need_fake_driver();
    need_two_devices();
    Random random(25);
    const StridedSample layout = matrix_sample(false, 4, 300, 400, 4, 1200);
    for (const int32_t device_id : {0, 1, 0, 1}) {
        const int64_t before = fake(fake_bytes_through_host)();
        check(layout, kDevice, kOtherDevice, by_peers(kScratchReached, 50000), &random, device_id);
        check(layout, kOtherDevice, kDevice, by_peers(kScratchReached, 50000), &random, device_id);
        check(layout, kDevice, kOtherDevice, by_pieces(Major::Dst, true, 50000), &random, device_id);
        assert_int_equal(fake(fake_bytes_through_host)(), before);
        assert_int_equal(cu(cuDevicePrimaryCtxReset)(device_id), CUDA_SUCCESS);
        load(device_id);
    }
    assert_int_equal(fake(fake_misuse_total)(), 0);
}

void any_failing_call_between_devices_is_reported_and_leaves_nothing_behind(void **) {
    need_fake_driver();
    need_two_devices();
    enter_primary();
    StridedSample both = matrix_sample(true, 4, 20, 30, 240, 8);
    for (via::Axis &axis : both.axes) {
        axis.src_step *= 2;
    }
    both.src_bytes *= 2;
    const StridedSample transposed = matrix_sample(false, 4, 20, 30, 4, 80);
    for (const int32_t device_id : {0, 1}) {
        fail_every_call(transposed, kDevice, kOtherDevice, by_pieces(Major::Dst, true, 900), device_id);
        fail_every_call(both, kDevice, kOtherDevice, by_peers(kNothingReached, 900), device_id);
        fail_every_call(both, kDevice, kOtherDevice, by_peers(kScratchReached, 900), device_id);
    }
    const PeerAccess access;
    fail_every_call(both, kDevice, kOtherDevice, by_peers({.writes = true, .reads = false, .scratch = false}, 0), 0);
    leave_primary();
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(two_devices_copy_any_layout_on_a_stream_of_either),
        cmocka_unit_test(pieces_are_captured_on_a_stream_of_either),
        cmocka_unit_test(with_peer_access_one_kernel_copies_any_layout),
        cmocka_unit_test(what_devices_reach_is_what_the_driver_says),
        cmocka_unit_test(pieces_cross_without_the_host_though_nobody_has_switched_access_on),
        cmocka_unit_test(pieces_fit_their_buffers),
        cmocka_unit_test(what_cannot_be_opened_goes_through_the_host),
        cmocka_unit_test(streams_for_the_other_device_are_kept),
        cmocka_unit_test(either_device_may_be_reset_between_two_copies),
        cmocka_unit_test(any_failing_call_between_devices_is_reported_and_leaves_nothing_behind),
    };
    const CMUnitTest tests_without_kernels[] = {
        cmocka_unit_test(rows_are_left_to_the_link),
        cmocka_unit_test(pieces_keep_the_runs_of_the_destination_whole),
        cmocka_unit_test(the_description_says_what_moves_the_pieces),
        cmocka_unit_test(a_little_is_read_in_whole_sectors_from_the_other_device),
    };
    return run_routes(tests_without_kernels, tests);
}
