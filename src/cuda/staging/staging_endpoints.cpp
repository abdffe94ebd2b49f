#include "cuda/staging/staging_endpoints.hpp"

#include <algorithm>
#include <cstring>

#include "core/base/rounding.hpp"
#include "cuda/launch/kernel_copy.hpp"
#include "cuda/layout/row_copies.hpp"
#include "cuda/memory/prefault.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace via::cuda {
namespace {

// The limit that NumPy has: smaller arrays may not be worth a huge page.
constexpr int64_t kHugePagesFrom = int64_t{4} << 20;

// A worker takes up to this much at a time where less would be a single row.
constexpr int64_t kMostOfPiece = int64_t{1} << 20;

// Fits the first-level cache, with room for what is read.
constexpr int64_t kGathered = int64_t{32} << 10;

// Non-temporal stores do not read the lines of the slot before they write them, and leave the caches to the caller.
// With eight threads 47 GB/s reach an H200 instead of 33.
using Store = void (*)(char *dst, const char *src, size_t nbytes);

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void store_512(char *dst, const char *src, size_t nbytes) {
    constexpr size_t kStep = 4 * sizeof(__m512i);
    size_t i = 0;
    for (; i + kStep <= nbytes; i += kStep) {
        const auto *from = reinterpret_cast<const __m512i *>(src + i);
        auto *to = reinterpret_cast<__m512i *>(dst + i);
        const __m512i a = _mm512_loadu_si512(from);
        const __m512i b = _mm512_loadu_si512(from + 1);
        const __m512i c = _mm512_loadu_si512(from + 2);
        const __m512i d = _mm512_loadu_si512(from + 3);
        _mm512_stream_si512(to, a);
        _mm512_stream_si512(to + 1, b);
        _mm512_stream_si512(to + 2, c);
        _mm512_stream_si512(to + 3, d);
    }
    std::memcpy(dst + i, src + i, nbytes - i);
    _mm_sfence();
}

// SSE2 is part of x86-64. AVX2 gains nothing over it, since a line takes several stores either way.
void store_128(char *dst, const char *src, size_t nbytes) {
    constexpr size_t kStep = 4 * sizeof(__m128i);
    size_t i = 0;
    for (; i + kStep <= nbytes; i += kStep) {
        const auto *from = reinterpret_cast<const __m128i *>(src + i);
        auto *to = reinterpret_cast<__m128i *>(dst + i);
        const __m128i a = _mm_loadu_si128(from);
        const __m128i b = _mm_loadu_si128(from + 1);
        const __m128i c = _mm_loadu_si128(from + 2);
        const __m128i d = _mm_loadu_si128(from + 3);
        _mm_stream_si128(to, a);
        _mm_stream_si128(to + 1, b);
        _mm_stream_si128(to + 2, c);
        _mm_stream_si128(to + 3, d);
    }
    std::memcpy(dst + i, src + i, nbytes - i);
    _mm_sfence();
}

Store choose_store() noexcept {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") ? store_512 : store_128;
}
#else
void store_plain(char *dst, const char *src, size_t nbytes) { std::memcpy(dst, src, nbytes); }

Store choose_store() noexcept { return store_plain; }
#endif

const Store store = choose_store();

}  // namespace

void store_for_device(void *dst, const void *src, int64_t nbytes) {
    auto *to = static_cast<char *>(dst);
    const auto *from = static_cast<const char *>(src);
    const auto address = reinterpret_cast<intptr_t>(to);
    const int64_t head = std::min(round_up(address, kHostLine) - address, nbytes);
    std::memcpy(to, from, static_cast<size_t>(head));
    store(to + head, from + head, static_cast<size_t>(nbytes - head));
}

StagingEndpoints::StagingEndpoints(const StagedCopy &copy, int64_t slot_bytes, bool helped)
    : copy_(copy),
      helped_(helped),
      order_(make_staged_order(copy.transfer, copy.plan)),
      host_(to_device() ? const_cast<char *>(order_.src) : order_.dst),
      cut_{order_.nbytes, slot_bytes, false, reinterpret_cast<intptr_t>(host_),
           copy.plan.step == DeviceStep::Kernel ? kLeastWithKernel : kLeastChunk} {}

void StagingEndpoints::find_new_pages() {
    new_pages_ = !to_device() && is_adjacent_on_host() && looks_new(host_, cut_.nbytes);
    cut_.by_huge_pages = new_pages_ && copy_.transfer.ndim == 0;
    if (new_pages_ && cut_.nbytes >= kHugePagesFrom) {
        advise_huge_pages(host_, cut_.nbytes);
    }
}

int64_t StagingEndpoints::progress(int64_t done) const {
    if (cut_.nbytes == copy_.transfer.nbytes) {
        return done;
    }
    const double share = static_cast<double>(done) / static_cast<double>(cut_.nbytes);
    return static_cast<int64_t>(share * static_cast<double>(copy_.transfer.nbytes));
}

// Ends the first chunk at a border of the endpoint, so that all others end at one too.
int64_t StagingEndpoints::chunk_length(int64_t offset) const {
    int64_t wanted = via::cuda::chunk_length(cut_, offset);
    if (offset == 0 && copy_.io.phase > 0 && wanted > copy_.io.phase) {
        wanted -= copy_.io.phase;
    }
    return cut_slab(order_, offset, cut_.nbytes, wanted, cut_.slot_bytes).nbytes;
}

int64_t StagingEndpoints::piece_length(int64_t chunk_offset, int64_t chunk_length, int64_t start) const {
    const int64_t wanted = via::cuda::piece_length(cut_, chunk_offset, chunk_length, start);
    if (is_io() || is_adjacent_on_host()) {
        return wanted;
    }
    return cut_slab(order_, chunk_offset + start, chunk_offset + chunk_length, wanted, kMostOfPiece).nbytes;
}

void StagingEndpoints::prepare(int64_t offset, int64_t nbytes) const {
    if (new_pages_) {
        populate_missing(host(offset), nbytes);
    }
}

int64_t StagingEndpoints::whole_piece(int64_t offset) const {
    return cut_slab(order_, offset, cut_.nbytes, cut_.slot_bytes, cut_.slot_bytes).nbytes;
}

Status StagingEndpoints::gather(char *buffer, int64_t offset, int64_t nbytes) const {
    if (is_io()) {
        return copy_.io.endpoint->read(buffer, copy_.io.offset + offset, nbytes);
    }
    copy_.transfer.host_copy(make_packing(order_, slab_of(order_, offset, nbytes), buffer), helped_);
    return VIA_OK;
}

// Gathers into a buffer that stays in the first-level cache, and stores that past the caches: a link reads lines that
// processors have just written more slowly. From sixteen threads an H200 gets 1.1 to 1.2 times the bytes a second.
Status StagingEndpoints::gather_for_device(char *slot, int64_t offset, int64_t nbytes) const {
    alignas(kHostLine) char gathered[kGathered];
    for (int64_t done = 0, part = 0; done < nbytes; done += part) {
        part = cut_slab(order_, offset + done, offset + nbytes, kGathered, kGathered).nbytes;
        VIA_TRY(gather(gathered, offset + done, part));
        store_for_device(slot + done, gathered, part);
    }
    return VIA_OK;
}

Status StagingEndpoints::fill(char *slot, int64_t offset, int64_t nbytes) const {
    if (is_adjacent_on_host()) {
        store_for_device(slot, host(offset), nbytes);
        return VIA_OK;
    }
    return is_io() ? gather(slot, offset, nbytes) : gather_for_device(slot, offset, nbytes);
}

// Uses plain stores: the slot is in the last-level cache as a rule, and the caller reads the destination next.
Status StagingEndpoints::empty(const char *slot, int64_t offset, int64_t nbytes) const {
    if (is_io()) {
        return copy_.io.endpoint->write(slot, copy_.io.offset + offset, nbytes);
    }
    if (is_adjacent_on_host()) {
        std::memcpy(host(offset), slot, static_cast<size_t>(nbytes));
        return VIA_OK;
    }
    copy_.transfer.host_copy(make_unpacking(order_, slab_of(order_, offset, nbytes), slot), helped_);
    return VIA_OK;
}

Status StagingEndpoints::send(void *slot, void *scratch, int64_t offset, int64_t nbytes,
                              const ResolvedStream &stream) const {
    if (!copy_.needs_kernel()) {
        return enqueue_rows(make_unpacking(order_, slab_of(order_, offset, nbytes), slot), true, stream);
    }
    void *packed = scratch != nullptr ? scratch : slot;
    if (packed != slot) {
        VIA_TRY_CUDA(cuMemcpyHtoDAsync(number_of(packed), slot, static_cast<size_t>(nbytes), stream.handle));
    }
    if (copy_.device_part != nullptr) {
        return copy_.device_part->unpack(packed, offset, nbytes, stream);
    }
    const Move move = make_unpacking(order_, slab_of(order_, offset, nbytes), packed);
    return enqueue_move(move.transfer(copy_.transfer.dst_side, kPinned), stream);
}

Status StagingEndpoints::fetch(void *slot, void *scratch, int64_t offset, int64_t nbytes,
                               const ResolvedStream &stream) const {
    if (!copy_.needs_kernel()) {
        return enqueue_rows(make_packing(order_, slab_of(order_, offset, nbytes), slot), false, stream);
    }
    void *packed = scratch != nullptr ? scratch : slot;
    if (copy_.device_part != nullptr) {
        VIA_TRY(copy_.device_part->pack(packed, offset, nbytes, stream));
    } else {
        const Move move = make_packing(order_, slab_of(order_, offset, nbytes), packed);
        VIA_TRY(enqueue_move(move.transfer(kPinned, copy_.transfer.src_side), stream));
    }
    if (packed != slot) {
        VIA_TRY_CUDA(cuMemcpyDtoHAsync(slot, number_of(packed), static_cast<size_t>(nbytes), stream.handle));
    }
    return VIA_OK;
}

}  // namespace via::cuda
