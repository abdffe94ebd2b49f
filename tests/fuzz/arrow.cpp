// Arrow columns with anything in their fields that memory allows to be there: each is taken if and only if it is sound,
// with the values in their places, and both structs are released exactly once.
#include <algorithm>
#include <iterator>
#include <memory>
#include <string_view>

#include "description.hpp"
#include "exchange/arrow_abi.hpp"
#include "memory.hpp"

namespace {

constexpr int32_t kMostLevels = 5;
constexpr size_t kMostText = 64;

// Metadata of tensors: what is to be made of it, or nothing that is.
struct Tensor {
    const char *json;
    int32_t ndim;  // -1: to be refused
    int64_t shape[3];
    int32_t permutation[3];
};

constexpr Tensor kTensors[] = {
    {"{\"shape\":[2,3]}", 2, {2, 3}, {0, 1}},
    {"{ \"shape\" : [ 7 ] }", 1, {7}, {0}},
    {"{\"shape\":[]}", 0, {}, {}},
    {"{\"shape\":[2,3],\"permutation\":[1,0]}", 2, {2, 3}, {1, 0}},
    {"{\"permutation\":[2,0,1],\"shape\":[1,7,1],\"dim_names\":null}", 3, {1, 7, 1}, {2, 0, 1}},
    {"{\"shape\":[0,3],\"permutation\":[1,0]}", 2, {0, 3}, {1, 0}},
    {"{\"shape\":[2,3],\"permutation\":[1,1]}", -1, {}, {}},
    {"{\"shape\":[2,3],\"dim_names\":[\"a\"]}", -1, {}, {}},
    {"{\"shape\":[2,3]", -1, {}, {}},
    {"", -1, {}, {}},
};

struct Level {
    ArrowSchema schema;
    ArrowArray column;  // not used of the first level
    ArrowSchema *schema_children[2];
    ArrowArray *column_children[2];
    const void *buffers[3];
    char format[16];
};

// A column of lists in lists; the first level is the one that is offered.
struct Offer {
    Level levels[kMostLevels];
    ArrowDeviceArray device;
    ArrowSchema dictionary_schema;
    ArrowArray dictionary;
    std::unique_ptr<char[]> metadata;
    const Memory *memory;
    int32_t count;
    int schemas_released;
    int columns_released;

    ArrowArray &column(int32_t level) { return level == 0 ? device.array : levels[level].column; }
};

void release_schema(ArrowSchema *schema) {
    static_cast<Offer *>(schema->private_data)->schemas_released++;
    schema->release = nullptr;
}

void release_column(ArrowArray *column) {
    static_cast<Offer *>(column->private_data)->columns_released++;
    column->release = nullptr;
}

void choose_format(Bytes *bytes, bool is_last, char (&format)[16]) {
    constexpr const char *kValues[] = {"i",   "c", "C", "s", "S",   "I",   "l",
                                       "L",   "e", "f", "g", "w:3", "w:1", "w:1073741824",
                                       "w:0", "u", "b", "",  "+s",  "w:",  "+l"};
    constexpr const char *kLists[] = {"+w:1", "+w:2", "+w:3", "+w:7", "+w:0", "+w:2147483647", "+w:4000"};
    const int32_t kind = bytes->between(0, 15);
    if (kind > 1) {
        std::snprintf(format, sizeof format, "%s", is_last ? bytes->pick(kValues) : bytes->pick(kLists));
        return;
    }
    if (kind == 1) {
        std::snprintf(format, sizeof format, "+w:%d", bytes->between(0, 255));
        return;
    }
    size_t length = 0;
    const char *text = bytes->text(sizeof format - 1, &length);
    std::memcpy(format, text, length);
    format[length] = '\0';
}

char *put(char *at, const void *bytes, size_t count) {
    std::memcpy(at, bytes, count);
    return at + count;
}

char *put_text(char *at, const char *text, size_t length, int32_t said) {
    at = put(at, &said, sizeof said);
    return put(at, text, length);
}

constexpr char kNameKey[] = "ARROW:extension:name";
constexpr char kJsonKey[] = "ARROW:extension:metadata";
constexpr char kTensorName[] = "arrow.fixed_shape_tensor";

// Pairs of keys and values whose lengths are true, or below 0, which holds no text; in a block of its own that ends
// with them.
void choose_metadata(Bytes *bytes, Offer *offer) {
    constexpr const char *kTexts[] = {kNameKey, kJsonKey, kTensorName, "k"};
    char whole[4 + 6 * (kMostText + 4)];
    const int32_t pairs = bytes->between(0, 4) - 1;
    char *at = put(whole, &pairs, sizeof pairs);
    for (int32_t i = 0; i < 2 * pairs; ++i) {
        size_t length = 0;
        const int32_t kind = bytes->between(0, 15);
        const char *text = kind == 0   ? bytes->text(kMostText, &length)
                           : kind <= 8 ? kTexts[kind % 4]
                                       : kTensors[bytes->byte() % std::size(kTensors)].json;
        length = kind == 0 ? length : kind == 1 ? 0 : std::strlen(text);
        at = put_text(at, text, length, kind == 1 ? -bytes->between(1, 255) : static_cast<int32_t>(length));
    }
    const auto size = static_cast<size_t>(at - whole);
    offer->metadata.reset(new char[size]);
    std::memcpy(offer->metadata.get(), whole, size);
    offer->levels[0].schema.metadata = offer->metadata.get();
}

void choose_children(Bytes *bytes, Offer *offer, int32_t level) {
    Level &made = offer->levels[level];
    const bool is_last = level + 1 == offer->count;
    made.schema.n_children = made.schema_children[0] != nullptr ? 1 : 0;
    offer->column(level).n_children = made.schema.n_children;
    const int32_t odd = bytes->between(0, 63);
    made.schema.n_children = odd == 1 ? bytes->number() : made.schema.n_children;
    offer->column(level).n_children = odd == 2 ? bytes->number() : offer->column(level).n_children;
    made.schema.children = is_last || odd == 3 ? nullptr : made.schema_children;
    offer->column(level).children = is_last || odd == 4 ? nullptr : made.column_children;
    made.schema_children[0] = odd == 5 ? nullptr : made.schema_children[0];
    made.column_children[0] = odd == 6 ? nullptr : made.column_children[0];
    made.schema.dictionary = odd == 7 ? &offer->dictionary_schema : nullptr;
    offer->column(level).dictionary = odd == 8 ? &offer->dictionary : nullptr;
    made.schema.release = odd == 9 ? nullptr : release_schema;
    offer->column(level).release = odd == 10 ? nullptr : release_column;
    made.schema.format = odd == 11 ? nullptr : made.format;
}

// A validity bitmap, unless it would have to be longer than there is memory.
void choose_buffers(Bytes *bytes, const Memories &memories, Offer *offer, int32_t level) {
    ArrowArray &column = offer->column(level);
    const bool is_last = level + 1 == offer->count;
    const bool fits =
        column.length >= 0 && column.offset >= 0 && Wide{column.length} + column.offset <= Wide{kMemoryBytes} * 8;
    const int32_t kind = bytes->between(0, 15);
    offer->levels[level].buffers[0] = fits && kind < 4 ? memories.host().start : nullptr;
    offer->levels[level].buffers[1] = is_last && kind != 4 ? offer->memory->start : nullptr;
    column.n_buffers = kind == 5 ? bytes->between(0, 3) : is_last ? 2 : 1;
    column.buffers = kind == 6 ? nullptr : offer->levels[level].buffers;
    column.null_count = kind < 4 || kind == 7 ? bytes->between(0, 3) - 2 : 0;
}

void choose_level(Bytes *bytes, const Memories &memories, Offer *offer, int32_t level, int64_t *length) {
    Level &made = offer->levels[level];
    const bool is_last = level + 1 == offer->count;
    made.schema_children[0] = is_last ? nullptr : &offer->levels[level + 1].schema;
    made.column_children[0] = is_last ? nullptr : &offer->levels[level + 1].column;
    made.schema.private_data = offer->column(level).private_data = offer;
    choose_format(bytes, is_last, made.format);
    offer->column(level).length = bytes->between(0, 7) != 0 ? *length : bytes->number();
    offer->column(level).offset = bytes->between(0, 3) != 0 ? 0 : bytes->number();
    int64_t list = 0;
    *length = std::sscanf(made.format, "+w:%ld", &list) == 1 && *length >= 0 && *length < 1000 && list < 100000
                  ? *length * list
                  : *length;
    choose_buffers(bytes, memories, offer, level);
    choose_children(bytes, offer, level);
}

void choose_offer(Bytes *bytes, const Memories &memories, Offer *offer) {
    *offer = {};
    offer->memory = &memories.pick(bytes);
    offer->count = bytes->between(1, kMostLevels);
    int64_t length = bytes->number();
    for (int32_t level = 0; level < offer->count; ++level) {
        choose_level(bytes, memories, offer, level, &length);
    }
    if (bytes->flag()) {
        choose_metadata(bytes, offer);
    }
    const int32_t odd = bytes->between(0, 7);
    offer->device.device_type = odd == 0 ? bytes->between(0, 16) : offer->memory->kind;
    offer->device.device_id = odd == 1 ? bytes->number() : offer->memory->kind == VIA_DEVICE_CPU ? -1 : 0;
}

// The whole number that ends the text; -1 for anything else, and for one of more than 31 bits.
int64_t number_at_end(const char *text) {
    int64_t value = *text == '\0' ? -1 : 0;
    for (; *text != '\0'; ++text) {
        const bool is_digit = *text >= '0' && *text <= '9' && value >= 0;
        value = is_digit && value * 10 + (*text - '0') <= INT32_MAX ? value * 10 + (*text - '0') : -1;
    }
    return value;
}

int64_t list_size_of(const char *format) {
    return std::strncmp(format, "+w:", 3) == 0 ? number_at_end(format + 3) : -1;
}

int32_t value_dtype_of(const char *format) {
    constexpr char kLetters[] = "cCsSiIlLefg";
    constexpr int32_t kDtypes[] = {VIA_INT8,  VIA_UINT8,  VIA_INT16,   VIA_UINT16,  VIA_INT32,  VIA_UINT32,
                                   VIA_INT64, VIA_UINT64, VIA_FLOAT16, VIA_FLOAT32, VIA_FLOAT64};
    if (std::strncmp(format, "w:", 2) == 0) {
        return via_dtype_record(number_at_end(format + 2));
    }
    const char *found = format[0] != '\0' && format[1] == '\0' ? std::strchr(kLetters, format[0]) : nullptr;
    return found != nullptr ? kDtypes[found - kLetters] : 0;
}

// Whether `rows` of the column from `first` on hold no null.
bool has_no_nulls(const ArrowArray &column, int64_t first, int64_t rows) {
    const void *bitmap = column.n_buffers > 0 ? column.buffers[0] : nullptr;
    const bool is_counted = column.null_count != -1 && (column.null_count <= 0 || rows == column.length);
    if (is_counted || bitmap == nullptr) {
        return column.null_count == 0 || column.null_count == -1;
    }
    const auto *bits = static_cast<const unsigned char *>(bitmap);
    for (int64_t i = first; i < first + rows; ++i) {
        if ((bits[i / 8] >> (i % 8) & 1) == 0) {
            return false;
        }
    }
    return true;
}

bool is_sound_level(const ArrowSchema &schema, const ArrowArray &column) {
    return schema.release != nullptr && column.release != nullptr && schema.format != nullptr &&
           schema.dictionary == nullptr && column.dictionary == nullptr && column.length >= 0 && column.offset >= 0 &&
           Wide{column.length} + column.offset <= kMost && (column.n_buffers <= 0 || column.buffers != nullptr);
}

bool has_one_child(const ArrowSchema &schema, const ArrowArray &column) {
    return schema.n_children == 1 && schema.children != nullptr && schema.children[0] != nullptr &&
           column.n_children == 1 && column.children != nullptr && column.children[0] != nullptr;
}

// What the column says, its lists as axes; false if it says nothing sound.
bool describe(Offer *offer, int64_t *shape, Description *out) {
    const ArrowSchema *schema = &offer->levels[0].schema;
    const ArrowArray *column = &offer->device.array;
    Wide first = column->offset;
    Wide rows = column->length;
    *out = {nullptr, 0, false, 1, shape, nullptr, Unit::RowMajor};
    shape[0] = column->length;
    if (!is_sound_level(*schema, *column) || !has_no_nulls(*column, column->offset, column->length)) {
        return false;
    }
    for (int64_t list = 0; (list = list_size_of(schema->format)) >= 0;) {
        shape[out->ndim++] = list;
        if (!has_one_child(*schema, *column)) {
            return false;
        }
        schema = schema->children[0];
        column = column->children[0];
        first *= list;
        rows *= list;
        if (!is_sound_level(*schema, *column) || first > kMost || rows > kMost || first + rows > column->length) {
            return false;
        }
        first += column->offset;
        if (!has_no_nulls(*column, static_cast<int64_t>(first), static_cast<int64_t>(rows))) {
            return false;
        }
    }
    out->dtype = value_dtype_of(schema->format);
    if (out->dtype == 0 || column->n_buffers != 2 || (column->buffers[1] == nullptr && rows > 0)) {
        return false;
    }
    const Wide at = reinterpret_cast<uintptr_t>(column->buffers[1]) + first * (via_dtype_bits(out->dtype) / 8);
    out->address = reinterpret_cast<const void *>(static_cast<uintptr_t>(at));
    return first * (via_dtype_bits(out->dtype) / 8) <= kMost && at <= Wide{UINT64_MAX};
}

// What the metadata says of the column.
enum class Metadata { NoTensor, Tensor, Lie, Unknown };

std::string_view take_text(const char **at) {
    int32_t length = 0;
    std::memcpy(&length, *at, sizeof length);
    const std::string_view text(*at + sizeof length, static_cast<size_t>(std::max(length, 0)));
    *at = text.data() + text.size();
    return text;
}

Metadata read_metadata(const char *metadata, const Tensor **out_tensor) {
    int32_t pairs = 0;
    if (metadata != nullptr) {
        std::memcpy(&pairs, metadata, sizeof pairs);
        metadata += sizeof pairs;
    }
    bool is_tensor = false;
    std::string_view json;
    for (int32_t i = 0; i < pairs; ++i) {
        const std::string_view key = take_text(&metadata);
        const std::string_view value = take_text(&metadata);
        is_tensor = is_tensor || (key == kNameKey && value == kTensorName);
        json = key == kJsonKey ? value : json;
    }
    if (!is_tensor) {
        return Metadata::NoTensor;
    }
    const auto *found = std::find_if(std::begin(kTensors), std::end(kTensors),
                                     [&](const Tensor &tensor) { return json == tensor.json; });
    *out_tensor = found;
    return found == std::end(kTensors) ? Metadata::Unknown : found->ndim < 0 ? Metadata::Lie : Metadata::Tensor;
}

// The axes of tensors in the place of the list's; false if they do not make it up.
bool describe_tensors(const Tensor &tensor, int64_t *shape, int64_t *strides, Description *given) {
    int64_t size = 1;
    std::for_each_n(tensor.shape, tensor.ndim, [&](int64_t extent) { size *= extent; });
    if (given->ndim != 2 || size != shape[1]) {
        return false;
    }
    int64_t stride = 1;
    for (int32_t i = tensor.ndim - 1; i >= 0; --i) {
        const auto *logical = std::find(tensor.permutation, tensor.permutation + tensor.ndim, i);
        shape[1 + (logical - tensor.permutation)] = tensor.shape[i];
        strides[1 + (logical - tensor.permutation)] = stride;
        stride *= std::max<int64_t>(tensor.shape[i], 1);
    }
    strides[0] = stride;
    given->ndim = tensor.ndim + 1;
    given->strides = strides;
    given->unit = Unit::Elements;
    return true;
}

// Of JSON that only a parser would understand: as many values as the list has.
void expect_size(via_array *array, const Description &given) {
    EXPECT(via_array_dtype(array) == given.dtype && via_array_shape(array)[0] == given.shape[0]);
    EXPECT(Wide{via_array_size(array)} == (given.has_no_elements() ? 0 : extent_product(given, 1)));
}

bool is_of_host(const Offer &offer) { return offer.device.device_type == VIA_DEVICE_CPU; }

void check_taken(Offer *offer, via_array *array, Metadata metadata, const Description &given) {
    EXPECT(offer->levels[0].schema.release == nullptr && offer->device.array.release == nullptr);
    EXPECT((via_array_flags(array) & VIA_ARRAY_READ_ONLY) != 0);
    if (metadata == Metadata::Unknown) {
        expect_size(array, given);
    } else {
        expect_described(array, given);
        if (is_of_host(*offer) && offer->memory->kind != VIA_DEVICE_CUDA &&
            lies_within(given, offer->memory->start, kMemoryBytes, 64)) {
            expect_copied(array, given);
        }
    }
    EXPECT(offer->schemas_released == 0 && offer->columns_released == 0);
    via_array_release(array);
    EXPECT(offer->schemas_released == 1 && offer->columns_released == 1);
}

void end_untaken(Offer *offer) {
    EXPECT(offer->schemas_released == 0 && offer->columns_released == 0);
    const int schemas = offer->levels[0].schema.release != nullptr ? 1 : 0;
    const int columns = offer->device.array.release != nullptr ? 1 : 0;
    via_arrow_release(&offer->levels[0].schema, &offer->device);
    EXPECT(offer->schemas_released == schemas && offer->columns_released == columns);
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const Memories memories;
    static const via_stats_info before = count_alive();
    Bytes bytes(data, size);
    static Offer offer;
    choose_offer(&bytes, memories, &offer);
    int64_t shape[VIA_MAX_NDIM];
    int64_t strides[VIA_MAX_NDIM];
    Description given{};
    const Tensor *tensor = nullptr;
    bool sound = describe(&offer, shape, &given);
    const Metadata metadata = read_metadata(offer.levels[0].schema.metadata, &tensor);
    sound = sound && metadata != Metadata::Lie &&
            (metadata != Metadata::Tensor || describe_tensors(*tensor, shape, strides, &given)) && is_sound(given);
    via_array *array = nullptr;
    via_stream *stream = is_of_host(offer) ? nullptr : via_stream_no_sync();
    const via_status status = via_from_arrow_device(&offer.levels[0].schema, &offer.device, stream, &array);
    EXPECT((array != nullptr) == (status == VIA_OK));
    EXPECT(!is_of_host(offer) || sound == (status == VIA_OK) || (sound && metadata == Metadata::Unknown));
    if (status == VIA_OK) {
        check_taken(&offer, array, metadata, given);
    } else {
        expect_reported(status, "via_from_arrow_device");
        end_untaken(&offer);
    }
    expect_alive(before);
    return 0;
}
