// A GPU array to the CPU by pointers: at once, on a stream, and one field of an array of structs. Next to each call,
// the CUDA runtime's: that takes bytes which lie together, and is quick from and to pinned memory only. Without a
// GPU both ends are host memory, and the same calls serve. bindings/c/examples/gpu_to_host.c is the same in C.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "viaduct/viaduct.hpp"

namespace {

struct Particle {
    float x, y;
    std::int32_t id;
    double mass;
};

constexpr std::int64_t kCount = 1 << 16, kBytes = kCount * static_cast<std::int64_t>(sizeof(Particle));

// Where the simulation keeps its particles.
viaduct::Memory find_memory() {
    const bool on_gpu = viaduct::device_count() > 0;
    std::puts(on_gpu ? "the particles are on a GPU"
                     : "there is no CUDA device, so the particles are in host memory instead");
    return viaduct::Memory::create(on_gpu ? VIA_MEMORY_DEVICE : VIA_MEMORY_HOST);
}

viaduct::Array simulate(const viaduct::Memory &memory) {
    std::vector<Particle> start(kCount);
    for (std::int64_t i = 0; i < kCount; ++i) {
        const auto number = static_cast<float>(i);
        start[static_cast<std::size_t>(i)] = {number, 2 * number, static_cast<std::int32_t>(i), number / 2.0};
    }
    viaduct::Array simulation = viaduct::Array::empty(memory, viaduct::dtype_of<Particle>, {kCount});
    viaduct::copy(simulation, viaduct::Array::wrap(start.data(), {kCount}));
    return simulation;
}

// cudaMemcpy(host, device, nbytes, cudaMemcpyDeviceToHost)
void at_once(const void *device, std::vector<Particle> &host) {
    viaduct::memcpy(host.data(), device, kBytes);
    std::printf("at once: number 9 has x %g, mass %g\n", static_cast<double>(host[9].x), host[9].mass);
}

// cudaMemcpyAsync(host, device, nbytes, cudaMemcpyDeviceToHost, stream), which waits if `host` is not pinned
void on_a_stream(const viaduct::Array &simulation, std::vector<Particle> &host) {
    const bool on_gpu = simulation.device().type == VIA_DEVICE_CUDA;
    const viaduct::Stream stream = on_gpu ? viaduct::Stream::create() : viaduct::Stream();
    const viaduct::Array out = viaduct::Array::wrap(host.data(), {kCount});
    const viaduct::Task task =
        viaduct::copy_submit(out, simulation, stream);  // after the stream's work; returns at once
    task.wait();
    std::printf("after the stream's work: number 10 has y %g\n", static_cast<double>(host[10].y));
}

// cudaMemcpy2D(masses, 8, device, 24, 8, count, cudaMemcpyDeviceToHost), from an address in the first struct
void one_field(const viaduct::Array &simulation) {
    const viaduct::Array field = simulation.field(offsetof(Particle, mass), VIA_FLOAT64);
    std::vector<double> masses(kCount);
    viaduct::copy(viaduct::Array::wrap(masses.data(), {kCount}), field);
    std::printf("the masses alone, %zu of %lld bytes: number 11 has %g\n", masses.size() * sizeof(double),
                static_cast<long long>(simulation.nbytes()), masses[11]);
}

void run() {
    viaduct::require();
    const viaduct::Array simulation = simulate(find_memory());
    std::vector<Particle> host(kCount);
    at_once(simulation.data(), host);
    on_a_stream(simulation, host);
    one_field(simulation);
}

}  // namespace

int main() {
    try {
        run();
    } catch (const viaduct::Error &error) {
        std::fprintf(stderr, "%s: %s\n", error.name(), error.what());
        return 1;
    }
    return 0;
}
