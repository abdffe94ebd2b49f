// DLPack tensors of both forms with anything in their fields: each is taken if and only if it is sound, as what it
// says, and deleted exactly once; what is taken can be exported again.
#include <dlpack/dlpack.h>

#include "description.hpp"
#include "memory.hpp"

namespace {

constexpr uint64_t kKnownFlags =
    DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED | DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;

// The same tensor in both forms; which one is offered is up to the input.
struct Offer {
    DLManagedTensorVersioned versioned;
    DLManagedTensor legacy;
    int64_t shape[VIA_MAX_NDIM + 2];
    int64_t strides[VIA_MAX_NDIM + 2];
    const Memory *memory;
    bool is_legacy;
    int deleted;

    DLTensor &tensor() { return versioned.dl_tensor; }
};

void delete_versioned(DLManagedTensorVersioned *self) { static_cast<Offer *>(self->manager_ctx)->deleted++; }
void delete_legacy(DLManagedTensor *self) { static_cast<Offer *>(self->manager_ctx)->deleted++; }

DLDataType choose_dtype(Bytes *bytes) {
    constexpr DLDataType kTypes[] = {{kDLFloat, 32, 1}, {kDLInt, 8, 1},           {kDLInt, 64, 1},
                                     {kDLUInt, 16, 1},  {kDLFloat, 32, 4},        {kDLComplex, 128, 1},
                                     {kDLInt, 4, 1},    {kDLFloat4_e2m1fn, 4, 1}, {kDLFloat6_e2m3fn, 6, 1},
                                     {kDLUInt, 1, 1},   {kDLInt, 4, 2},           {kDLBfloat, 16, 32767}};
    if (bytes->between(0, 3) != 0) {
        return bytes->pick(kTypes);
    }
    const auto code = static_cast<uint8_t>(bytes->between(0, 20));
    const uint8_t bits = bytes->byte();
    return {code, bits, static_cast<uint16_t>(bytes->number())};
}

DLDevice choose_device(Bytes *bytes, const Memory &memory) {
    if (bytes->between(0, 3) != 0) {
        return {static_cast<DLDeviceType>(memory.kind), 0};
    }
    const int32_t type = bytes->between(0, 16);
    return {static_cast<DLDeviceType>(type), bytes->number32()};
}

void choose_layout(Bytes *bytes, Offer *offer) {
    const int32_t rank = bytes->between(0, 255);
    offer->tensor().ndim = rank < 240 ? rank % 6 : rank < 250 ? 60 + rank % 7 : bytes->number32();
    offer->tensor().shape = bytes->between(0, 31) != 0 ? offer->shape : nullptr;
    offer->tensor().strides = bytes->flag() ? offer->strides : nullptr;
    for (int32_t i = 0; i < std::min(offer->tensor().ndim, VIA_MAX_NDIM + 2); ++i) {
        offer->shape[i] = bytes->number();
        offer->strides[i] = offer->tensor().strides != nullptr ? bytes->number() : 0;
    }
}

void choose_header(Bytes *bytes, DLManagedTensorVersioned *tensor) {
    const int32_t kind = bytes->between(0, 15);
    tensor->version = {kind != 0 ? 1U : bytes->byte(), kind != 1 ? 3U : bytes->byte()};
    tensor->flags = kind < 8 ? 0 : kind < 15 ? bytes->byte() % 8 : static_cast<uint64_t>(bytes->number());
}

void choose_offer(Bytes *bytes, const Memories &memories, Offer *offer) {
    *offer = {};
    offer->is_legacy = bytes->flag();
    offer->memory = &memories.pick(bytes);
    choose_header(bytes, &offer->versioned);
    DLTensor &tensor = offer->tensor();
    tensor.device = choose_device(bytes, *offer->memory);
    tensor.dtype = choose_dtype(bytes);
    tensor.data = bytes->between(0, 15) != 0 ? offer->memory->start : nullptr;
    tensor.byte_offset = static_cast<uint64_t>(bytes->flag() ? bytes->number() : kMemoryBytes / 2);
    choose_layout(bytes, offer);
    offer->versioned.manager_ctx = offer->legacy.manager_ctx = offer;
    offer->versioned.deleter = delete_versioned;
    offer->legacy.deleter = delete_legacy;
    offer->legacy.dl_tensor = tensor;
}

// Whether the fields can be read as a description of host memory.
bool describe(const Offer &offer, Description *out) {
    const DLTensor &tensor = offer.versioned.dl_tensor;
    const int64_t dtype = tensor.dtype.code | tensor.dtype.bits << 8 | int64_t{tensor.dtype.lanes} << 16;
    if (dtype > INT32_MAX || via_dtype_is_valid(static_cast<int32_t>(dtype)) == 0 || tensor.ndim < 0 ||
        tensor.ndim > VIA_MAX_NDIM || (tensor.shape == nullptr && tensor.ndim > 0)) {
        return false;
    }
    const bool narrow = via_dtype_bits(static_cast<int32_t>(dtype)) % 8 != 0;
    *out = {nullptr,
            static_cast<int32_t>(dtype),
            !offer.is_legacy && narrow && (offer.versioned.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0,
            tensor.ndim,
            tensor.shape,
            tensor.strides,
            tensor.strides != nullptr ? Unit::Elements : Unit::RowMajor};
    const auto start = reinterpret_cast<uintptr_t>(tensor.data);
    if (tensor.data == nullptr) {
        return out->has_no_elements();
    }
    out->address = reinterpret_cast<const void *>(start + tensor.byte_offset);
    return tensor.byte_offset <= INT64_MAX && start + tensor.byte_offset >= start;
}

bool has_sound_header(const Offer &offer) {
    const DLManagedTensorVersioned &tensor = offer.versioned;
    return offer.is_legacy ||
           (tensor.version.major == 1 && (tensor.version.minor > 3 || (tensor.flags & ~kKnownFlags) == 0));
}

bool is_of_host(const Offer &offer) {
    return offer.versioned.dl_tensor.device.device_type == kDLCPU && offer.versioned.dl_tensor.device.device_id >= 0;
}

// Whether the host may read the elements: its word about an address is taken on trust. Those of whole bytes alone are
// compared.
bool may_read(const Offer &offer, const Description &given) {
    return is_of_host(offer) && offer.memory->kind != VIA_DEVICE_CUDA && !given.is_packed() && !given.padded &&
           lies_within(given, offer.memory->start, kMemoryBytes, 64);
}

// Device memory is taken as it is: to order it after the work queued on a stream would leave work behind.
via_status take(Offer *offer, const via_dlpack_options &options, via_array **array) {
    via_stream *stream = is_of_host(*offer) ? nullptr : via_stream_no_sync();
    return offer->is_legacy ? via_from_dlpack_legacy(&offer->legacy, &options, stream, array)
                            : via_from_dlpack(&offer->versioned, &options, stream, array);
}

void expect_same_tensor(const DLTensor &tensor, const Description &given, int32_t device_type) {
    EXPECT(static_cast<int32_t>(tensor.device.device_type) == device_type);
    EXPECT(tensor.ndim == given.ndim);
    EXPECT((tensor.dtype.code | tensor.dtype.bits << 8 | int32_t{tensor.dtype.lanes} << 16) == given.dtype);
    EXPECT(given.has_no_elements() || static_cast<const char *>(tensor.data) + tensor.byte_offset == given.address);
    for (int32_t i = 0; i < given.ndim; ++i) {
        EXPECT(tensor.shape[i] == given.shape[i]);
    }
}

// Exported again, the tensor is as the array is; it keeps the memory alive on its own.
void export_again(via_array *array, const Description &given, int32_t device_type) {
    DLManagedTensorVersioned *tensor = nullptr;
    via_dlpack_options options = VIA_DLPACK_OPTIONS_INIT;
    options.copy = VIA_COPY_NEVER;
    const bool misaligned = (via_array_flags(array) & VIA_ARRAY_MISALIGNED) != 0;
    const via_status status = via_to_dlpack(array, &options, via_stream_no_sync(), &tensor);
    EXPECT(status == (misaligned ? VIA_ERROR_NEEDS_COPY : VIA_OK));
    if (misaligned) {
        return;
    }
    expect_same_tensor(tensor->dl_tensor, given, device_type);
    EXPECT((tensor->flags & ~kKnownFlags) == 0);
    EXPECT(((tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0) ==
           ((via_array_flags(array) & VIA_ARRAY_READ_ONLY) != 0));
    via_dlpack_delete(tensor);
}

void end_untaken(Offer *offer) {
    EXPECT(offer->deleted == 0);
    offer->is_legacy ? via_dlpack_delete_legacy(&offer->legacy) : via_dlpack_delete(&offer->versioned);
    EXPECT(offer->deleted == 1);
}

void check_taken(Offer *offer, via_array *array, const Description &given, bool copied) {
    if (copied) {
        EXPECT(offer->deleted == 1);
        EXPECT((via_array_flags(array) & VIA_ARRAY_COPIED) != 0);
        EXPECT(std::equal(given.shape, given.shape + given.ndim, via_array_shape(array)));
        expect_content(array, given);
    } else {
        EXPECT(offer->deleted == 0);
        expect_described(array, given);
        export_again(array, given, offer->tensor().device.device_type);
        if (may_read(*offer, given)) {
            expect_copied(array, given);
        }
    }
    via_array_release(array);
    EXPECT(offer->deleted == 1);
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const Memories memories;
    static const via_stats_info before = count_alive();
    Bytes bytes(data, size);
    static Offer offer;
    choose_offer(&bytes, memories, &offer);
    Description given{};
    const bool sound = has_sound_header(offer) && describe(offer, &given) && is_sound(given);
    via_dlpack_options options = VIA_DLPACK_OPTIONS_INIT;
    options.copy =
        sound && may_read(offer, given) ? bytes.between(VIA_COPY_IF_NEEDED, VIA_COPY_ALWAYS) : VIA_COPY_NEVER;
    via_array *array = nullptr;
    const via_status status = take(&offer, options, &array);
    EXPECT((array != nullptr) == (status == VIA_OK));
    EXPECT(sound || status != VIA_OK);
    EXPECT(!is_of_host(offer) || sound == (status == VIA_OK));
    if (status == VIA_OK) {
        check_taken(&offer, array, given, options.copy == VIA_COPY_ALWAYS);
    } else {
        expect_reported(status, offer.is_legacy ? "via_from_dlpack_legacy" : "via_from_dlpack");
        end_untaken(&offer);
    }
    expect_alive(before);
    return 0;
}
