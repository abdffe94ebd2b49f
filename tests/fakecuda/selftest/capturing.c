/* Capture and graphs: what the recorded facts do not show. */
#include "support.h"

#include <stdatomic.h>

static atomic_int destroyed;

static void CUDA_CB count_destroyed(void *amount) { atomic_fetch_add(&destroyed, *(int *)amount); }

static CUgraphExec instantiate(CUgraph graph) {
    CUgraphExec exec = NULL;
    ok(cu(cuGraphInstantiate)(&exec, graph, 0));
    return exec;
}

static void nothing_captured_runs_before_its_launch(void **state) {
    (void)state;
    const CUstream stream = new_stream();
    const CUdeviceptr a = device_memory(64), b = device_memory(64);
    CUgraph graph = NULL;
    ok(cu(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(cu(cuMemsetD8Async)(a, 1, 64, stream));
    ok(cu(cuMemcpyDtoDAsync)(b, a, 64, stream));
    ok(cu(cuStreamEndCapture)(stream, &graph));
    ok(cu(cuStreamSynchronize)(stream));
    assert_int_not_equal(byte_at(b), 1);
    const CUgraphExec exec = instantiate(graph);
    for (int launch = 0; launch < 2; ++launch) {
        fake(fake_device_write)(b, "x", 1);
        ok(cu(cuGraphLaunch)(exec, stream));
        ok(cu(cuStreamSynchronize)(stream));
        assert_int_equal(byte_at(b), 1);
    }
    ok(cu(cuGraphExecDestroy)(exec));
    ok(cu(cuGraphDestroy)(graph));
    assert_int_equal(fake(fake_live)(FAKE_GRAPHS) + fake(fake_live)(FAKE_GRAPH_EXECS), 0);
}

static void a_captured_pageable_source_is_read_at_every_launch(void **state) {
    (void)state;
    const CUstream stream = new_stream();
    const CUdeviceptr memory = device_memory(64);
    char plain[64] = "a";
    CUgraph graph = NULL;
    ok(cu(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok(cu(cuMemcpyHtoDAsync)(memory, plain, 64, stream));
    ok(cu(cuStreamEndCapture)(stream, &graph));
    plain[0] = 'b';
    ok(cu(cuGraphLaunch)(instantiate(graph), stream));
    ok(cu(cuStreamSynchronize)(stream));
    assert_int_equal(byte_at(memory), 'b');
}

static void forked_and_joined_streams_make_one_graph(void **state) {
    (void)state;
    const CUstream stream = new_stream(), side = new_stream();
    const CUevent fork_event = new_event(), join = new_event();
    const CUdeviceptr memory = device_memory(64);
    CUgraph graph = NULL;
    size_t nodes = 0;
    ok(cu(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(cu(cuMemsetD8Async)(memory, 1, 1, stream));
    ok(cu(cuEventRecord)(fork_event, stream));
    ok(cu(cuStreamWaitEvent)(side, fork_event, 0));
    ok(cu(cuMemsetD8Async)(memory + 1, 2, 1, side));
    ok(cu(cuEventRecord)(join, side));
    ok(cu(cuStreamWaitEvent)(stream, join, 0));
    ok(cu(cuMemsetD8Async)(memory + 2, 3, 1, stream));
    ok(cu(cuStreamEndCapture)(stream, &graph));
    ok(cu(cuGraphGetNodes)(graph, NULL, &nodes));
    assert_int_equal(nodes, 3);
    ok(cu(cuGraphLaunch)(instantiate(graph), NULL));
    ok(cu(cuStreamSynchronize)(NULL));
    assert_int_equal(byte_at(memory + 1), 2);
    assert_int_equal(byte_at(memory + 2), 3);
    ok(cu(cuMemsetD8Async)(memory, 9, 1, side));
}

static void a_user_object_goes_after_the_last_launch_of_its_graph(void **state) {
    (void)state;
    const CUstream stream = new_stream();
    int amount = 1;
    CUuserObject object = NULL;
    CUgraph graph = NULL;
    atomic_store(&destroyed, 0);
    ok(cu(cuUserObjectCreate)(&object, &amount, count_destroyed, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    ok(cu(cuGraphCreate)(&graph, 0));
    ok(cu(cuGraphRetainUserObject)(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    const CUgraphExec exec = instantiate(graph);
    ok(cu(cuGraphDestroy)(graph));
    fake(fake_stream_hold)(stream);
    ok(cu(cuGraphLaunch)(exec, stream));
    ok(cu(cuGraphExecDestroy)(exec));
    assert_int_equal(atomic_load(&destroyed), 0);
    fake(fake_stream_release)(stream);
    ok(cu(cuStreamSynchronize)(stream));
    for (int i = 0; i < 1000 && atomic_load(&destroyed) == 0; ++i) {
        usleep(1000);
    }
    assert_int_equal(atomic_load(&destroyed), 1);
    assert_int_equal(fake(fake_live)(FAKE_USER_OBJECTS), 0);
}

static void a_batch_is_refused_and_the_capture_goes_on(void **state) {
    (void)state;
    const CUstream stream = new_stream();
    CUdeviceptr to = device_memory(8), from = device_memory(8);
    size_t size = 8, first = 0, nodes = 9;
    CUgraph graph = NULL;
    CUmemcpyAttributes attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    ok(cu(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    refused(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
            cu(cuMemcpyBatchAsync)(&to, &from, &size, 1, &attributes, &first, 1, stream));
    ok(cu(cuStreamEndCapture)(stream, &graph));
    ok(cu(cuGraphGetNodes)(graph, NULL, &nodes));
    assert_int_equal(nodes, 0);
    assert_int_equal(fake(fake_misused)(FAKE_CAPTURE_BROKEN), 0);
}

static void *query_event(void *event) {
    ok(cu(cuCtxSetCurrent)(primary(0)));
    return (void *)(uintptr_t)cu(cuEventQuery)(event);
}

static void *query_event_relaxed(void *event) {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    ok(cu(cuThreadExchangeStreamCaptureMode)(&mode));
    return query_event(event);
}

static CUresult query_elsewhere(void *(*query)(void *), CUevent event) {
    pthread_t thread;
    void *result = NULL;
    assert_int_equal(pthread_create(&thread, NULL, query, event), 0);
    pthread_join(thread, &result);
    return (CUresult)(uintptr_t)result;
}

static void another_threads_event_query_breaks_a_global_capture_unless_relaxed(void **state) {
    (void)state;
    const CUstream stream = new_stream();
    const CUevent event = new_event();
    CUgraph graph = NULL;
    ok(cu(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(query_elsewhere(query_event_relaxed, event));
    assert_int_equal(fake(fake_misused)(FAKE_CAPTURE_BROKEN), 0);
    refused(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, query_elsewhere(query_event, event));
    assert_int_equal(fake(fake_misused)(FAKE_CAPTURE_BROKEN), 1);
    refused(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cu(cuStreamEndCapture)(stream, &graph));
    assert_null(graph);
}

static void loading_a_module_can_be_forbidden_under_capture(void **state) {
    (void)state;
    const CUstream stream = new_stream();
    CUmodule module = NULL;
    fake(fake_set)(FAKE_LOAD_UNSAFE, 1);
    ok(cu(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    refused(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu(cuModuleLoadData)(&module, ".version 8.0"));
    assert_int_equal(fake(fake_call_count)("cuModuleLoadData"), 1);
    assert_int_equal(fake(fake_live)(FAKE_MODULES), 0);
}

static void a_graphs_own_memory_lives_between_its_nodes(void **state) {
    (void)state;
    const CUstream stream = new_stream();
    const CUdeviceptr kept = device_memory(64);
    CUdeviceptr scratch = 0;
    CUgraph graph = NULL;
    ok(cu(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok(cu(cuMemAllocAsync)(&scratch, 64, stream));
    ok(cu(cuMemsetD8Async)(scratch, 6, 64, stream));
    ok(cu(cuMemcpyDtoDAsync)(kept, scratch, 64, stream));
    ok(cu(cuMemFreeAsync)(scratch, stream));
    ok(cu(cuStreamEndCapture)(stream, &graph));
    const CUgraphExec exec = instantiate(graph);
    ok(cu(cuGraphDestroy)(graph));
    ok(cu(cuGraphLaunch)(exec, stream));
    ok(cu(cuGraphLaunch)(exec, stream));
    ok(cu(cuStreamSynchronize)(stream));
    assert_int_equal(byte_at(kept), 6);
    ok(cu(cuMemsetD8Async)(scratch, 6, 64, stream));
    refused(CUDA_ERROR_ILLEGAL_ADDRESS, cu(cuStreamSynchronize)(stream));
    assert_int_equal(fake(fake_misused)(FAKE_USE_BEFORE_ALLOC), 1);
}

static void a_graphs_own_memory_goes_with_it(void **state) {
    (void)state;
    const CUstream stream = new_stream();
    CUdeviceptr scratch = 0;
    CUgraph graph = NULL;
    ok(cu(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok(cu(cuMemAllocAsync)(&scratch, 64, stream));
    ok(cu(cuStreamEndCapture)(stream, &graph));
    const CUgraphExec exec = instantiate(graph);
    ok(cu(cuGraphDestroy)(graph));
    assert_int_equal(fake(fake_live)(FAKE_POOL_ALLOCATIONS), 1);
    ok(cu(cuGraphExecDestroy)(exec));
    assert_int_equal(fake(fake_live)(FAKE_POOL_ALLOCATIONS), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(nothing_captured_runs_before_its_launch),
        TEST(a_captured_pageable_source_is_read_at_every_launch),
        TEST(forked_and_joined_streams_make_one_graph),
        TEST(a_user_object_goes_after_the_last_launch_of_its_graph),
        TEST(a_batch_is_refused_and_the_capture_goes_on),
        TEST(another_threads_event_query_breaks_a_global_capture_unless_relaxed),
        TEST(loading_a_module_can_be_forbidden_under_capture),
        TEST(a_graphs_own_memory_lives_between_its_nodes),
        TEST(a_graphs_own_memory_goes_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
