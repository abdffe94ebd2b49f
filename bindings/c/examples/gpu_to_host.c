/*
 * A GPU array to the CPU by pointers: at once, on a stream, and as an array of structs. Next to each call, the CUDA
 * runtime's: that takes bytes which lie together, and is quick from and to pinned memory only. Without a GPU both
 * ends are host memory, and the same calls serve. bindings/python/examples/gpu_to_host.py runs both ways.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "viaduct/viaduct.h"

enum { COUNT = 1 << 16 };

typedef struct particle {
    float x, y;
    int32_t id;
    double mass;
} particle;

static void check(via_status status) {
    if (status != VIA_OK) {
        fprintf(stderr, "%s: %s\n", via_status_name(status), via_last_error());
        exit(1);
    }
}

static particle particle_of(int64_t number) {
    return (particle){(float)number, (float)(2 * number), (int32_t)number, (double)number / 2};
}

/* Where the simulation keeps its particles. */
static via_memory *find_memory(void) {
    int32_t devices = 0;
    via_memory *memory = NULL;
    check(via_device_count(VIA_DEVICE_CUDA, &devices));
    printf(devices > 0 ? "the particles are on a GPU\n"
                       : "there is no CUDA device, so the particles are in host memory instead\n");
    check(via_memory_create(devices > 0 ? VIA_MEMORY_DEVICE : VIA_MEMORY_HOST, 0, &memory));
    return memory;
}

static via_array *simulate(via_memory *memory) {
    const int64_t count = COUNT;
    const int32_t record = via_dtype_record(sizeof(particle));
    particle *start = malloc(COUNT * sizeof *start);
    via_array *simulation = NULL;
    if (start == NULL) {
        exit(1);
    }
    for (int64_t i = 0; i < COUNT; ++i) {
        start[i] = particle_of(i);
    }
    check(via_empty(memory, record, 1, &count, NULL, &simulation));
    check(via_memcpy(via_array_data(simulation), start, COUNT * sizeof *start, NULL));
    free(start);
    return simulation;
}

/* cudaMemcpy(host, device, nbytes, cudaMemcpyDeviceToHost) */
static void at_once(const void *device, particle *host) {
    check(via_memcpy(host, device, COUNT * sizeof *host, NULL));
    printf("at once: number 9 has x %g, mass %g\n", (double)host[9].x, host[9].mass);
}

/* cudaMemcpyAsync(host, device, nbytes, cudaMemcpyDeviceToHost, stream), which waits if `host` is not pinned. */
static void on_a_stream(via_array *simulation, particle *host) {
    const int64_t count = COUNT;
    via_array *out = NULL;
    via_task *task = NULL;
    via_stream *stream = via_array_device_type(simulation) == VIA_DEVICE_CUDA ? via_stream_legacy() : NULL;
    check(via_wrap(host, via_array_dtype(simulation), 1, &count, NULL, VIA_DEVICE_CPU, 0, 0, NULL, NULL, &out));
    check(via_copy_submit(out, simulation, stream, &task)); /* after the stream's work so far; returns at once */
    check(via_task_wait(task));
    printf("after the stream's work: number 10 has y %g\n", (double)host[10].y);
    via_task_release(task);
    via_array_release(out);
}

/* cudaMemcpy2D(masses, 8, device, 24, 8, count, cudaMemcpyDeviceToHost), from an address in the first struct. */
static void one_field(via_array *simulation) {
    const int64_t count = COUNT;
    via_array *field = NULL, *masses = NULL;
    check(via_array_field(simulation, offsetof(particle, mass), VIA_FLOAT64, 0, NULL, &field));
    check(via_empty(NULL, VIA_FLOAT64, 1, &count, NULL, &masses));
    check(via_copy(masses, field));
    printf("the masses alone, %lld of %lld bytes: number 11 has %g\n", (long long)via_array_nbytes(masses),
           (long long)via_array_nbytes(simulation), ((const double *)via_array_data(masses))[11]);
    via_array_release(field);
    via_array_release(masses);
}

int main(void) {
    check(via_require(VIA_VERSION_MAJOR, VIA_VERSION_MINOR));
    via_memory *memory = find_memory();
    via_array *simulation = simulate(memory);
    particle *host = malloc(COUNT * sizeof *host);
    if (host == NULL) {
        return 1;
    }
    at_once(via_array_data(simulation), host);
    on_a_stream(simulation, host);
    one_field(simulation);
    free(host);
    via_array_release(simulation);
    via_memory_release(memory);
    return 0;
}
