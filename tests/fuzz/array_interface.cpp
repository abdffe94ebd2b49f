// Descriptions of the array interfaces with anything in their fields, of the host's and of the devices' memory: each is
// taken if and only if it is sound, as what it says, and described again as it was.
#include <algorithm>
#include <cstring>

#include "description.hpp"
#include "memory.hpp"

namespace {

struct Offer {
    via_array_interface fields;
    const Memory *memory;
    bool is_cuda;
    int released;
};

void count_release(void *context) { static_cast<Offer *>(context)->released++; }

void choose_typestr(Bytes *bytes, char (&typestr)[16]) {
    constexpr const char *kKnown[] = {"<f4", "<f8", "|u1", "|b1", "<i8",     "<c16",         "|V12",
                                      "<c8", ">i4", "|V0", "|i1", "<f2",     "|V1073741824", "<f16",
                                      "<u2", "=i4", "|S3", "<U4", "|V00001", "|O8",          "<i3"};
    if (bytes->between(0, 3) != 0) {
        std::strncpy(typestr, bytes->pick(kKnown), sizeof typestr);
        return;
    }
    size_t length = 0;
    const char *text = bytes->text(sizeof typestr, &length);
    std::memcpy(typestr, text, length);
}

void choose_layout(Bytes *bytes, via_array_interface *fields) {
    const int32_t rank = bytes->between(0, 255);
    fields->ndim = rank < 240 ? rank % 6 : rank < 250 ? 58 + rank % 7 : bytes->number32();
    fields->has_strides = bytes->between(0, 2);
    for (int32_t i = 0; i < std::min<int32_t>(fields->ndim, VIA_MAX_NDIM); ++i) {
        fields->shape[i] = bytes->number();
        fields->strides[i] = fields->has_strides != 0 ? bytes->number() : 0;
    }
}

// A stream is one of the two that need no owner, or none: others must be alive, which nobody can check.
void choose_stream(Bytes *bytes, via_array_interface *fields) {
    const int32_t kind = bytes->between(0, 63);
    fields->has_stream = kind < 4 ? 1 : 0;
    fields->stream = kind % 4 % 3;
}

void choose_offer(Bytes *bytes, const Memories &memories, Offer *offer) {
    *offer = {};
    offer->is_cuda = bytes->flag();
    offer->memory = &memories.pick(bytes);
    via_array_interface &fields = offer->fields;
    fields.struct_size = sizeof fields;
    fields.version = bytes->between(0, 15) != 0 ? bytes->between(2, 3) : bytes->number32();
    fields.read_only = bytes->between(0, 2);
    const int64_t offset = bytes->flag() ? bytes->number() : kMemoryBytes / 2;
    const auto start = reinterpret_cast<uintptr_t>(offer->memory->start);
    fields.address =
        bytes->between(0, 15) != 0 ? reinterpret_cast<void *>(start + static_cast<uintptr_t>(offset)) : nullptr;
    choose_typestr(bytes, fields.typestr);
    choose_layout(bytes, &fields);
    choose_stream(bytes, &fields);
}

// The dtype of a typestr, read digit by digit; 0 if it is none.
int32_t dtype_of(const char (&typestr)[16]) {
    constexpr char kLetters[] = "iufcbV";
    constexpr int32_t kCodes[] = {0, 1, 2, 5, 6, 0};
    const char *letter = typestr[0] != '\0' && typestr[1] != '\0' ? std::strchr(kLetters, typestr[1]) : nullptr;
    int64_t nbytes = 0;
    size_t at = 2;
    for (; letter != nullptr && at < sizeof typestr && typestr[at] >= '0' && typestr[at] <= '9'; ++at) {
        nbytes = std::min<int64_t>(nbytes * 10 + (typestr[at] - '0'), INT64_MAX / 16);
    }
    if (at == 2 || at == sizeof typestr || typestr[at] != '\0' || std::strchr("<>|", typestr[0]) == nullptr) {
        return 0;
    }
    if (*letter == 'V') {
        return via_dtype_record(nbytes);
    }
    const int64_t dtype = kCodes[letter - kLetters] | nbytes * 8 << 8 | 1 << 16;
    const bool valid = nbytes >= 1 && nbytes <= 16 && via_dtype_is_valid(static_cast<int32_t>(dtype)) != 0 &&
                       dtype != VIA_COMPLEX32 && dtype != (2 | 128 << 8 | 1 << 16);
    return valid && (nbytes == 1 || typestr[0] != '>') ? static_cast<int32_t>(dtype) : 0;
}

// Whether the fields can be read as a description of memory.
bool describe(const via_array_interface &fields, Description *out) {
    *out = {fields.address,
            dtype_of(fields.typestr),
            false,
            fields.ndim,
            fields.shape,
            fields.strides,
            fields.has_strides != 0 ? Unit::Bytes : Unit::RowMajor};
    return (fields.version == 2 || fields.version == 3) && fields.ndim >= 0 && fields.ndim <= VIA_MAX_NDIM &&
           out->dtype != 0;
}

// Described again: the same but for how it is spelled.
void describe_again(via_array *array, const Offer &offer, const Description &given) {
    via_array_interface again = VIA_ARRAY_INTERFACE_INIT;
    EXPECT((offer.is_cuda ? via_to_cuda_array_interface(array, via_stream_no_sync(), &again)
                          : via_to_array_interface(array, &again)) == VIA_OK);
    Description found{};
    EXPECT(again.version == 3 && describe(again, &found));
    EXPECT(found.dtype == given.dtype && found.ndim == given.ndim);
    EXPECT(again.read_only == (offer.fields.read_only != 0 ? 1 : 0));
    expect_described(array, found);
}

via_status take(Offer *offer, via_array **array) {
    const auto function = offer->is_cuda ? via_from_cuda_array_interface : via_from_array_interface;
    return function(&offer->fields, count_release, offer, array);
}

void check_taken(Offer *offer, via_array *array, const Description &given) {
    expect_described(array, given);
    if (offer->fields.has_stream != 0) {
        EXPECT(via_array_synchronize(array) == VIA_OK);
    }
    describe_again(array, *offer, given);
    if (offer->memory->kind != VIA_DEVICE_CUDA && lies_within(given, offer->memory->start, kMemoryBytes, 64)) {
        expect_copied(array, given);
    }
    EXPECT(offer->released == 0);
    via_array_release(array);
    EXPECT(offer->released == 1);
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const Memories memories;
    static const via_stats_info before = count_alive();
    Bytes bytes(data, size);
    static Offer offer;
    choose_offer(&bytes, memories, &offer);
    Description given{};
    const bool sound = describe(offer.fields, &given) && is_sound(given);
    via_array *array = nullptr;
    const via_status status = take(&offer, &array);
    EXPECT((array != nullptr) == (status == VIA_OK));
    EXPECT(sound || status != VIA_OK);
    EXPECT(offer.is_cuda || sound == (status == VIA_OK));
    if (status == VIA_OK) {
        check_taken(&offer, array, given);
    } else {
        expect_reported(status, offer.is_cuda ? "via_from_cuda_array_interface" : "via_from_array_interface");
        EXPECT(offer.released == 0);
    }
    expect_alive(before);
    return 0;
}
