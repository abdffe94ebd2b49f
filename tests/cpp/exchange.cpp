// To other libraries and back: tensors have one owner until somebody takes them.
#include <cstddef>
#include <utility>
#include <vector>

#include <dlpack/dlpack.h>

#include "support.hpp"

// Arrow's structs, as its C device interface lays them out.
struct ArrowSchema {
    const char *format, *name, *metadata;
    std::int64_t flags, n_children;
    ArrowSchema **children, *dictionary;
    void (*release)(ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    std::int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    ArrowArray **children, *dictionary;
    void (*release)(ArrowArray *);
    void *private_data;
};

struct ArrowDeviceArray {
    ArrowArray array;
    std::int64_t device_id;
    std::int32_t device_type;
    void *sync_event;
    std::int64_t reserved[3];
};

using namespace viaduct;

namespace {

float values[6] = {0, 1, 2, 3, 4, 5};

void a_tensor_that_nobody_takes_is_deleted_by_its_owner(void **) {
    Array array = Array::wrap(values, {2, 3});
    DlpackTensor tensor = to_dlpack(array);
    array.reset();
    assert_ptr_equal(tensor.get()->dl_tensor.data, values);
    assert_int_equal(count_alive().outstanding_exports, 1);
    tensor = DlpackTensor();
    assert_int_equal(count_alive().outstanding_exports, 0);
}

void a_tensor_is_taken_over_by_an_import(void **) {
    DlpackTensor tensor = to_dlpack(Array::wrap(values, {2, 3}).permute());
    const Array array = from_dlpack(std::move(tensor));
    assert_null(tensor.get());
    assert_ptr_equal(array.data(), values);
    expect_numbers(array.shape(), {3, 2});
    expect_numbers(array.strides(), {1, 3});
}

void a_tensor_handed_on_is_the_consumers(void **) {
    DLManagedTensorVersioned *taken = to_dlpack(Array::wrap(values, {6})).release();
    assert_int_equal(count_alive().outstanding_exports, 1);
    const Array array = from_dlpack(taken);
    expect_numbers(array.shape(), {6});
}

void a_tensor_that_is_refused_stays_with_its_owner(void **) {
    DlpackTensor tensor = to_dlpack(Array::wrap(values, {6}));
    tensor.get()->version.major = 9;
    expect_thrown<VersionError>("9.", [&] { return from_dlpack(std::move(tensor)); });
    assert_non_null(tensor.get());
}

void the_form_before_one_is_exchanged_alike(void **) {
    DlpackLegacyTensor tensor = to_dlpack_legacy(Array::wrap(values, {2, 3}));
    assert_ptr_equal(tensor.get()->dl_tensor.data, values);
    const Array array = from_dlpack_legacy(std::move(tensor));
    assert_null(tensor.get());
    assert_ptr_equal(array.data(), values);
    DLManagedTensor *taken = to_dlpack_legacy(array).release();
    assert_ptr_equal(from_dlpack_legacy(taken).data(), values);
}

void options_ask_for_a_copy(void **) {
    via_dlpack_options options = dlpack_options();
    assert_int_equal(options.struct_size, sizeof options);
    options.copy = VIA_COPY_ALWAYS;
    const Array array = from_dlpack(to_dlpack(Array::wrap(values, {6}), {}, options));
    assert_ptr_not_equal(array.data(), values);
    assert_int_equal(array.flags() & VIA_ARRAY_COPIED, VIA_ARRAY_COPIED);
    assert_memory_equal(array.data(), values, sizeof values);
}

void an_array_interface_describes_and_is_wrapped(void **) {
    const Array array = Array::wrap(values, {2, 3});
    const via_array_interface description = to_array_interface(array);
    assert_string_equal(description.typestr, "<f4");
    const Array again = from_array_interface(description);
    assert_ptr_equal(again.data(), values);
    expect_numbers(again.shape(), {2, 3});
}

void an_interface_of_cudas_is_refused_for_ordinary_memory(void **) {
    const Array array = Array::wrap(values, {6});
    expect_thrown<Error>("via_to_cuda_array_interface", [&] { return to_cuda_array_interface(array); });
    const via_array_interface description = to_array_interface(array);
    expect_thrown<Error>("via_from_cuda_array_interface", [&] { return from_cuda_array_interface(description); });
}

void a_column_of_arrows_goes_out_and_comes_back(void **) {
    ArrowSchema schema;
    ArrowDeviceArray column;
    to_arrow_device(Array::wrap(values, {6}), &schema, &column);
    assert_string_equal(schema.format, "f");
    const Array array = from_arrow_device(&schema, &column);
    assert_ptr_equal(array.data(), values);
    assert_null(reinterpret_cast<void *>(schema.release));
    to_arrow_device(array, &schema, &column);
    arrow_release(&schema, &column);
    assert_null(reinterpret_cast<void *>(column.array.release));
}

void another_process_learns_of_an_array_and_finds_the_same_memory(void **) {
    const Array array = Array::empty(Memory::create(VIA_MEMORY_SHARED), VIA_FLOAT32, {2, 3});
    const std::vector<std::byte> description = export_ipc(array.permute());
    const Array taken = import_ipc(description);
    expect_numbers(taken.shape(), {3, 2});
    static_cast<float *>(array.data())[5] = 5;
    assert_true(static_cast<const float *>(taken.data())[5] == 5);
    expect_thrown<UnsupportedError>("VIA_MEMORY_SHARED", [&] { return export_ipc(Array::wrap(values, {6})); });
    expect_thrown<ExchangeError>("no description", [] { return import_ipc({std::byte{1}}); });
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        leaving_nothing(a_tensor_that_nobody_takes_is_deleted_by_its_owner),
        leaving_nothing(a_tensor_is_taken_over_by_an_import),
        leaving_nothing(a_tensor_handed_on_is_the_consumers),
        leaving_nothing(a_tensor_that_is_refused_stays_with_its_owner),
        leaving_nothing(the_form_before_one_is_exchanged_alike),
        leaving_nothing(options_ask_for_a_copy),
        leaving_nothing(an_array_interface_describes_and_is_wrapped),
        leaving_nothing(an_interface_of_cudas_is_refused_for_ordinary_memory),
        leaving_nothing(a_column_of_arrows_goes_out_and_comes_back),
        leaving_nothing(another_process_learns_of_an_array_and_finds_the_same_memory),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
