#include <sys/mman.h>

#include "facts.hpp"

namespace facts {
namespace {

CUdeviceptr number_of(const void *address) { return reinterpret_cast<CUdeviceptr>(address); }

// What the driver says of an address, relative to where its memory begins.
void describe(const std::string &what, CUdeviceptr at, CUdeviceptr base) {
    CUcontext context = nullptr;
    unsigned int type = 99, managed = 99, sync = 99;
    int ordinal = -99, mapped = -99;
    unsigned long long id = 0;
    CUdeviceptr device = 0, start = 0;
    void *host = nullptr;
    size_t size = 0;
    CUmemoryPool pool = nullptr;
    struct {
        const char *name;
        CUpointer_attribute attribute;
        void *into;
    } const questions[] = {
        {"context", CU_POINTER_ATTRIBUTE_CONTEXT, &context},
        {"type", CU_POINTER_ATTRIBUTE_MEMORY_TYPE, &type},
        {"device pointer", CU_POINTER_ATTRIBUTE_DEVICE_POINTER, &device},
        {"host pointer", CU_POINTER_ATTRIBUTE_HOST_POINTER, &host},
        {"sync memops", CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, &sync},
        {"buffer id", CU_POINTER_ATTRIBUTE_BUFFER_ID, &id},
        {"managed", CU_POINTER_ATTRIBUTE_IS_MANAGED, &managed},
        {"ordinal", CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, &ordinal},
        {"start", CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, &start},
        {"size", CU_POINTER_ATTRIBUTE_RANGE_SIZE, &size},
        {"mapped", CU_POINTER_ATTRIBUTE_MAPPED, &mapped},
        {"pool", CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, &pool},
    };
    std::string codes;
    std::vector<CUpointer_attribute> asked;
    std::vector<void *> into;
    for (const auto &question : questions) {
        codes += std::string(" ") + question.name + " " +
                 std::to_string(cu(cuPointerGetAttribute)(question.into, question.attribute, at));
        asked.push_back(question.attribute);
        into.push_back(question.into);
    }
    say(what + " one by one", codes);
    const CUresult together =
        cu(cuPointerGetAttributes)(static_cast<unsigned int>(asked.size()), asked.data(), into.data(), at);
    auto relative = [&](CUdeviceptr value) {
        return value == 0 ? std::string("0") : "base+" + std::to_string(static_cast<long long>(value - base));
    };
    say(what + " together",
        std::to_string(together) + " context " + (context ? "some" : "NULL") + " type " + std::to_string(type) +
            " device " + relative(device) + " host " + relative(number_of(host)) + " sync " + std::to_string(sync) +
            " id " + (id ? "some" : "0") + " managed " + std::to_string(managed) + " ordinal " +
            std::to_string(ordinal) + " start " + relative(start) + " size " + std::to_string(size) + " mapped " +
            std::to_string(mapped) + " pool " + (pool ? "some" : "NULL"));
    CUdeviceptr range = 0;
    size_t length = 0;
    const CUresult ranged = cu(cuMemGetAddressRange)(&range, &length, at);
    say(what + " range",
        ranged == CUDA_SUCCESS ? relative(range) + " " + std::to_string(length) : "error " + std::to_string(ranged));
}

char *pages(size_t bytes) {
    return static_cast<char *>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

void addresses_of_memory() {
    start();
    CUdeviceptr plain = device_memory(1000);
    describe("device", plain, plain);
    describe("device inside", plain + 999, plain);
    describe("device past the end", plain + 1000, plain);
    MUST(cu(cuMemFree)(plain));
    describe("device freed", plain, plain);
    char *pinned = pinned_memory(1000);
    describe("pinned", number_of(pinned), number_of(pinned));
    describe("pinned inside", number_of(pinned) + 10, number_of(pinned));
    MUST(cu(cuMemFreeHost)(pinned));
    void *mapped = nullptr;
    MUST(cu(cuMemHostAlloc)(&mapped, 1000, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
    describe("pinned portable", number_of(mapped), number_of(mapped));
    char *registered = pages(8192);
    MUST(cu(cuMemHostRegister)(registered + 100, 1000, 0));
    describe("registered", number_of(registered) + 100, number_of(registered));
    describe("registered, page before", number_of(registered), number_of(registered));
    describe("registered, page after", number_of(registered) + 2000, number_of(registered));
    MUST(cu(cuMemHostUnregister)(registered + 100));
    describe("unregistered", number_of(registered) + 100, number_of(registered));
    CUdeviceptr managed = 0;
    MUST(cu(cuMemAllocManaged)(&managed, 1000, CU_MEM_ATTACH_GLOBAL));
    describe("managed", managed, managed);
    static char ordinary[64];
    describe("ordinary", number_of(ordinary), number_of(ordinary));
    describe("NULL", 0, 0);
    describe("made up", 0xdead0000, 0xdead0000);
}

// The same addresses, asked about where other contexts are current, or none.
void addresses_where_other_contexts_are_current() {
    CUcontext mine = start();
    CUstream work = stream();
    CUdeviceptr plain = device_memory(1000), pooled = 0, managed = 0;
    MUST(cu(cuMemAllocAsync)(&pooled, 1000, work));
    MUST(cu(cuStreamSynchronize)(work));
    MUST(cu(cuMemAllocManaged)(&managed, 1000, CU_MEM_ATTACH_GLOBAL));
    char *pinned = pinned_memory(1000);
    char *registered = pages(8192);
    MUST(cu(cuMemHostRegister)(registered, 8192, 0));
    void *combined = nullptr;
    MUST(cu(cuMemHostAlloc)(&combined, 1000, CU_MEMHOSTALLOC_WRITECOMBINED));
    const auto describe_all = [&](const std::string &where) {
        describe("device" + where, plain, plain);
        describe("pool" + where, pooled, pooled);
        describe("managed" + where, managed, managed);
        describe("pinned" + where, number_of(pinned), number_of(pinned));
        describe("registered" + where, number_of(registered), number_of(registered));
        describe("write-combined" + where, number_of(combined), number_of(combined));
    };
    std::thread([&] { describe_all(", no context"); }).join();
    CUcontext other = nullptr;
    MUST(cu(cuCtxCreate)(&other, nullptr, 0, 0));
    describe_all(", another context");
    CUdeviceptr theirs = device_memory(1000);
    char *their_pinned = pinned_memory(1000);
    MUST(cu(cuCtxSetCurrent)(mine));
    describe("device of another context", theirs, theirs);
    describe("pinned of another context", number_of(their_pinned), number_of(their_pinned));
}

void addresses_of_pools() {
    start();
    CUstream work = stream();
    CUdeviceptr first = 0, second = 0;
    MUST(cu(cuMemAllocAsync)(&first, 1000, work));
    describe("pool, before it ran", first, first);
    MUST(cu(cuStreamSynchronize)(work));
    describe("pool", first, first);
    MUST(cu(cuMemAllocAsync)(&second, 1000, work));
    describe("pool, second", second, second);
    MUST(cu(cuMemFreeAsync)(first, work));
    describe("pool, free under way", first, first);
    say("free again", cu(cuMemFreeAsync)(first, work));
    MUST(cu(cuStreamSynchronize)(work));
    say("cuMemFree of pool memory", cu(cuMemFree)(second));
    CUdeviceptr plain = device_memory(1000);
    say("cuMemFreeAsync of plain memory", cu(cuMemFreeAsync)(plain, work));
    say("cuMemFreeAsync inside", cu(cuMemFreeAsync)(device_memory(1000) + 16, work));
    say("cuMemFreeAsync NULL", cu(cuMemFreeAsync)(0, work));
    say("cuMemFreeAsync unknown", cu(cuMemFreeAsync)(0xdead0000, work));
    say("alloc of nothing", cu(cuMemAllocAsync)(&first, 0, work));
    CUmemoryPool pool = nullptr, current = nullptr;
    MUST(cu(cuDeviceGetDefaultMemPool)(&pool, 0));
    MUST(cu(cuDeviceGetMemPool)(&current, 0));
    say("current pool is the default", pool == current);
    cuuint64_t threshold = 99;
    MUST(cu(cuMemPoolGetAttribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    say("release threshold", static_cast<long long>(threshold));
    say("destroy of the default pool", cu(cuMemPoolDestroy)(pool));
    CUmemPoolProps properties = {};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    MUST(cu(cuMemPoolCreate)(&pool, &properties));
    MUST(cu(cuMemAllocFromPoolAsync)(&first, 1000, pool, work));
    say("destroy of a pool in use", cu(cuMemPoolDestroy)(pool));
    say("free after its pool", cu(cuMemFreeAsync)(first, work));
    MUST(cu(cuStreamSynchronize)(work));
}

struct Mapping {
    size_t unit = 0;
    CUdeviceptr base = 0;
    CUmemGenericAllocationHandle handles[2] = {};
    CUmemAllocationProp properties = {};
};

Mapping map_two() {
    Mapping made;
    made.properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    made.properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    MUST(cu(cuMemGetAllocationGranularity)(&made.unit, &made.properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    MUST(cu(cuMemAddressReserve)(&made.base, 4 * made.unit, 0, 0, 0));
    for (size_t i = 0; i < 2; ++i) {
        MUST(cu(cuMemCreate)(&made.handles[i], made.unit, &made.properties, 0));
        MUST(cu(cuMemMap)(made.base + i * made.unit, made.unit, 0, made.handles[i], 0));
    }
    return made;
}

void addresses_of_mappings() {
    start();
    Mapping two = map_two();
    say("granularity", static_cast<long long>(two.unit));
    describe("mapped, no access yet", two.base, two.base);
    say("memset without access", cu(cuMemsetD8)(two.base, 1, 64));
    say("create of an odd size", cu(cuMemCreate)(&two.handles[0], two.unit + 1, &two.properties, 0));
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, {0}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    MUST(cu(cuMemSetAccess)(two.base, 2 * two.unit, &access, 1));
    describe("mapped", two.base, two.base);
    describe("mapped second", two.base + two.unit + 5, two.base);
    describe("reserved only", two.base + 2 * two.unit, two.base);
    say("memset across", cu(cuMemsetD8)(two.base, 1, 2 * two.unit));
    static char plain[64];
    say("copy across", cu(cuMemcpyDtoH)(plain, two.base + two.unit - 32, 64));
    say("memset past the end", cu(cuMemsetD8)(two.base, 1, 2 * two.unit + 1));
    say("cuMemFree of a mapping", cu(cuMemFree)(two.base));
    say("map over a mapping", cu(cuMemMap)(two.base, two.unit, 0, two.handles[1], 0));
    say("release while mapped", cu(cuMemRelease)(two.handles[1]));
    say("address free while mapped", cu(cuMemAddressFree)(two.base, 4 * two.unit));
    say("unmap half", cu(cuMemUnmap)(two.base + two.unit, two.unit));
    describe("unmapped", two.base + two.unit, two.base);
    say("unmap again", cu(cuMemUnmap)(two.base + two.unit, two.unit));
}

void allocation() {
    start();
    CUdeviceptr got = 0;
    void *host = nullptr;
    say("alloc of nothing", cu(cuMemAlloc)(&got, 0));
    say("alloc of too much", cu(cuMemAlloc)(&got, size_t{1} << 46));
    say("alloc into NULL", cu(cuMemAlloc)(nullptr, 16));
    say("host alloc of nothing", cu(cuMemHostAlloc)(&host, 0, 0));
    say("managed alloc of nothing", cu(cuMemAllocManaged)(&got, 0, CU_MEM_ATTACH_GLOBAL));
    say("managed alloc without flags", cu(cuMemAllocManaged)(&got, 16, 0));
    CUdeviceptr memory = device_memory(1000);
    say("aligned to 256", memory % 256 == 0);
    say("free inside", cu(cuMemFree)(memory + 256));
    say("free NULL", cu(cuMemFree)(0));
    say("free", cu(cuMemFree)(memory));
    say("free twice", cu(cuMemFree)(memory));
    say("free made up", cu(cuMemFree)(0xdead0000));
    char *pinned = pinned_memory(1000);
    say("cuMemFree of pinned", cu(cuMemFree)(number_of(pinned)));
    say("free host inside", cu(cuMemFreeHost)(pinned + 8));
    say("unregister of allocated", cu(cuMemHostUnregister)(pinned));
    say("free host", cu(cuMemFreeHost)(pinned));
    say("free host twice", cu(cuMemFreeHost)(pinned));
    say("free host NULL", cu(cuMemFreeHost)(nullptr));
    char *plain = pages(16384);
    say("free host of ordinary", cu(cuMemFreeHost)(plain));
    say("register", cu(cuMemHostRegister)(plain, 8192, 0));
    say("register again", cu(cuMemHostRegister)(plain, 8192, 0));
    say("register inside", cu(cuMemHostRegister)(plain + 4096, 4096, 0));
    say("register across", cu(cuMemHostRegister)(plain + 4096, 8192, 0));
    say("register next to in one page", cu(cuMemHostRegister)(plain + 12288, 100, 0));
    say("register next to it in the same page", cu(cuMemHostRegister)(plain + 12288 + 200, 100, 0));
    say("unregister inside", cu(cuMemHostUnregister)(plain + 16));
    say("free host of registered", cu(cuMemFreeHost)(plain));
    CUdeviceptr device = 0;
    say("device pointer", cu(cuMemHostGetDevicePointer)(&device, plain + 10, 0));
    say("is the same", device == number_of(plain + 10));
    unsigned int flags = 99;
    say("flags", cu(cuMemHostGetFlags)(&flags, plain));
    say("flags are", flags);
    say("unregister", cu(cuMemHostUnregister)(plain));
    say("unregister twice", cu(cuMemHostUnregister)(plain));
    say("device pointer of ordinary", cu(cuMemHostGetDevicePointer)(&device, plain, 0));
    say("register nothing", cu(cuMemHostRegister)(plain, 0, 0));
    say("register NULL", cu(cuMemHostRegister)(nullptr, 4096, 0));
    char *gone = pages(8192);
    munmap(gone, 8192);
    say("register unmapped", cu(cuMemHostRegister)(gone, 4096, 0));
    char *constant = pages(8192);
    mprotect(constant, 8192, PROT_READ);
    say("register read-only pages", cu(cuMemHostRegister)(constant, 4096, 0));
    say("register part of device memory",
        cu(cuMemHostRegister)(reinterpret_cast<void *>(device_memory(8192)), 4096, 0));
    size_t pitch = 0;
    MUST(cu(cuMemAllocPitch)(&got, &pitch, 100, 10, 4));
    say("pitch", static_cast<long long>(pitch));
    CUdeviceptr base = 0;
    size_t size = 0;
    MUST(cu(cuMemGetAddressRange)(&base, &size, got));
    say("pitched size", static_cast<long long>(size));
    say("pitch of odd elements", cu(cuMemAllocPitch)(&got, &pitch, 100, 10, 3));
}

void copy_limits() {
    start();
    static char plain[8192];
    CUdeviceptr a = device_memory(1000), b = device_memory(1000);
    char *pinned = pinned_memory(1000);
    CUstream work = stream();
    CUdeviceptr freed = device_memory(8 << 20);
    MUST(cu(cuMemFree)(freed));
    say("h2d past the end", cu(cuMemcpyHtoD)(a, plain, 1001));
    say("d2h past the end", cu(cuMemcpyDtoH)(plain, a, 1001));
    say("d2d past the end", cu(cuMemcpyDtoD)(b, a, 1001));
    say("async past the end", cu(cuMemcpyHtoDAsync)(a, pinned, 1001, work));
    say("h2d from pinned past the pinned end", cu(cuMemcpyHtoDAsync)(a, pinned + 600, 800, work));
    say("memset past the end", cu(cuMemsetD8)(a, 0, 1001));
    say("memset async past the end", cu(cuMemsetD8Async)(a, 0, 1001, work));
    say("inside to the end", cu(cuMemcpyHtoD)(a + 500, plain, 500));
    say("h2d to freed", cu(cuMemcpyHtoD)(freed, plain, 64));
    say("h2d to made up", cu(cuMemcpyHtoD)(0xdead0000, plain, 64));
    say("h2d to NULL", cu(cuMemcpyHtoD)(0, plain, 64));
    say("h2d from NULL", cu(cuMemcpyHtoD)(a, nullptr, 64));
    say("d2h to NULL", cu(cuMemcpyDtoH)(nullptr, a, 64));
    say("h2d to ordinary", cu(cuMemcpyHtoD)(number_of(plain), plain + 4096, 64));
    say("h2d to pinned", cu(cuMemcpyHtoD)(number_of(pinned), plain, 64));
    say("h2d from device", cu(cuMemcpyHtoD)(a, reinterpret_cast<void *>(b), 64));
    say("d2h to device", cu(cuMemcpyDtoH)(reinterpret_cast<void *>(b), a, 64));
    say("d2h from ordinary", cu(cuMemcpyDtoH)(plain, number_of(plain + 4096), 64));
    say("d2d from pinned", cu(cuMemcpyDtoD)(a, number_of(pinned), 64));
    say("d2d from ordinary", cu(cuMemcpyDtoD)(a, number_of(plain), 64));
    say("any, ordinary to ordinary", cu(cuMemcpy)(number_of(plain), number_of(plain + 4096), 64));
    say("any async, ordinary to ordinary", cu(cuMemcpyAsync)(number_of(plain), number_of(plain + 4096), 64, work));
    say("any, ordinary to device", cu(cuMemcpy)(a, number_of(plain), 64));
    say("of nothing", cu(cuMemcpyHtoD)(a, plain, 0));
    say("of nothing to made up", cu(cuMemcpyHtoD)(0xdead0000, plain, 0));
    say("of nothing to NULL", cu(cuMemcpyHtoD)(0, nullptr, 0));
    say("overlapping d2d", cu(cuMemcpyDtoD)(a, a + 8, 64));
    say("memset16 odd", cu(cuMemsetD16)(a + 1, 0, 4));
    say("memset32 odd", cu(cuMemsetD32)(a + 2, 0, 4));
    say("memset of nothing", cu(cuMemsetD8)(a, 0, 0));
    say("memset of ordinary", cu(cuMemsetD8)(number_of(plain), 0, 64));
    say("memset of pinned", cu(cuMemsetD8)(number_of(pinned), 0, 64));
    say("memset2d narrow pitch", cu(cuMemsetD2D8)(a, 8, 0, 16, 4));
    say("memset2d one row, narrow pitch", cu(cuMemsetD2D8)(a, 8, 0, 16, 1));
    say("memset2d past the end", cu(cuMemsetD2D8)(a, 100, 0, 10, 11));
    say("peer on one device", cu(cuMemcpyPeer)(a, nullptr, b, nullptr, 64));
    MUST(cu(cuCtxSynchronize)());
}

CUresult rectangle(size_t source_pitch, size_t target_pitch, size_t width, size_t height, CUdeviceptr target,
                   const void *source, bool aligned = true) {
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = source;
    copy.srcPitch = source_pitch;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = target;
    copy.dstPitch = target_pitch;
    copy.WidthInBytes = width;
    copy.Height = height;
    return aligned ? cu(cuMemcpy2D)(&copy) : cu(cuMemcpy2DUnaligned)(&copy);
}

void rectangles() {
    start();
    static char plain[65536];
    CUdeviceptr a = device_memory(1000);
    say("fits", rectangle(100, 100, 50, 10, a, plain));
    say("last row ends early", rectangle(100, 110, 10, 10, a, plain));
    say("past the end", rectangle(100, 111, 10, 10, a, plain));
    say("narrow source pitch", rectangle(49, 100, 50, 10, a, plain));
    say("narrow target pitch", rectangle(100, 49, 50, 10, a, plain));
    say("zero source pitch", rectangle(0, 50, 50, 4, a, plain));
    say("zero target pitch", rectangle(50, 0, 50, 4, a, plain));
    say("zero width", rectangle(100, 100, 0, 10, a, plain));
    say("zero height", rectangle(100, 100, 10, 0, a, plain));
    say("odd device pitch", rectangle(33, 33, 33, 10, a, plain));
    say("odd device pitch, unaligned", rectangle(33, 33, 33, 10, a, plain, false));
    say("big source pitch", rectangle(size_t{1} << 31, 100, 50, 1, a, plain));
    say("big source pitch, unaligned", rectangle(size_t{1} << 31, 100, 50, 1, a, plain, false));
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy.srcDevice = number_of(plain);
    copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy.dstDevice = a;
    copy.srcPitch = copy.dstPitch = copy.WidthInBytes = 10;
    copy.Height = 2;
    say("unified", cu(cuMemcpy2D)(&copy));
    copy.srcXInBytes = 20;
    say("source offset beyond pitch", cu(cuMemcpy2D)(&copy));
    CUDA_MEMCPY3D solid = {};
    solid.srcMemoryType = CU_MEMORYTYPE_HOST;
    solid.srcHost = plain;
    solid.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    solid.dstDevice = a;
    solid.WidthInBytes = 5;
    solid.Height = 4;
    solid.Depth = 3;
    solid.srcPitch = 10;
    solid.srcHeight = 5;
    solid.dstPitch = 5;
    solid.dstHeight = 4;
    say("3d", cu(cuMemcpy3D)(&solid));
    solid.srcPitch = solid.srcHeight = solid.dstPitch = solid.dstHeight = 0;
    say("3d packed by zeros", cu(cuMemcpy3D)(&solid));
    solid.srcHeight = 3;
    say("3d short source height", cu(cuMemcpy3D)(&solid));
    solid.srcHeight = 0;
    solid.Depth = 51;
    say("3d past the end", cu(cuMemcpy3D)(&solid));
}

void batches() {
    start();
    static char plain[4096];
    CUdeviceptr a = device_memory(1000), b = device_memory(1000);
    char *pinned = pinned_memory(1000);
    CUstream work = stream();
    CUdeviceptr to[2] = {a, a + 100}, from[2] = {b, number_of(pinned)};
    size_t sizes[2] = {50, 50};
    CUmemcpyAttributes attributes = {};
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    size_t first = 0;
    auto batch = [&](size_t count, size_t kinds, CUstream on) {
        return cu(cuMemcpyBatchAsync)(to, from, sizes, count, &attributes, &first, kinds, on);
    };
    say("two", batch(2, 1, work));
    say("none", batch(0, 1, work));
    say("no attributes", batch(2, 0, work));
    say("on NULL", batch(2, 1, nullptr));
    say("on legacy", batch(2, 1, CU_STREAM_LEGACY));
    say("on per thread", batch(2, 1, CU_STREAM_PER_THREAD));
    std::thread([&] {
        say("without a context", batch(2, 1, work));
        say("one copy without a context", cu(cuMemcpyAsync)(to[0], from[0], 50, work));
    }).join();
    first = 1;
    say("first index not 0", batch(2, 1, work));
    first = 0;
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
    say("invalid access order", batch(2, 1, work));
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    sizes[1] = 0;
    say("a size of 0", batch(2, 1, work));
    sizes[1] = 901;
    say("past the end", batch(2, 1, work));
    sizes[1] = 50;
    from[1] = number_of(plain);
    say("from ordinary", batch(2, 1, work));
    say("from ordinary while stalled", returns_while_stalled(work, [&] { batch(2, 1, work); }));
    from[1] = 0xdead0000;
    say("from made up", 0 * batch(1, 1, work));
    to[1] = 0xdead0000;
    from[1] = b;
    to[0] = number_of(plain);
    say("to ordinary", batch(1, 1, work));
    MUST(cu(cuCtxSynchronize)());
}

}  // namespace

const std::vector<Group> memory_groups = {
    {"addresses of memory", addresses_of_memory},
    {"addresses where other contexts are current", addresses_where_other_contexts_are_current},
    {"addresses of pools", addresses_of_pools},
    {"addresses of mappings", addresses_of_mappings},
    {"allocation", allocation},
    {"copy limits", copy_limits},
    {"rectangles", rectangles},
    {"batches", batches},
};

}  // namespace facts
