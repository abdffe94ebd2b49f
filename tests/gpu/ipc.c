/* Memory of a device that other processes use: in place, for as long as they like, whoever ends first. */
#define _GNU_SOURCE /* F_OFD_SETLK */
#include "support.h"

#include <signal.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../capi/ipc_support.h"

enum { count = 100000, offset = 300 };

static const char *const no_settings[] = {NULL};

static via_status import(const description *given, via_array **out_array) {
    return via_array_import_ipc(given->bytes, given->length, out_array);
}

static void send(const other_process *other, const void *bytes, size_t length) {
    assert_int_equal(write(other->to, bytes, length), length);
}

static int32_t answer(const other_process *other) {
    int32_t value = -1;
    assert_int_equal(read(other->from, &value, sizeof value), sizeof value);
    return value;
}

static int32_t ask(const other_process *other, char command) {
    send(other, &command, 1);
    return answer(other);
}

static CUdeviceptr address_of(via_array *array) { return (CUdeviceptr)(uintptr_t)via_array_data(array); }

/* Called once, before the library locks a file the next time. */
static void (*before_lock)(void);

/* In the place of the system's own, for the library too. */
int fcntl(int file, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    if (command == F_OFD_SETLK && before_lock != NULL) {
        void (*visit)(void) = before_lock;
        before_lock = NULL;
        visit();
    }
    return (int)syscall(SYS_fcntl, file, command, argument);
}

/* ------------------------------------------------------------------------------------------------ the other process */

static void reply(int32_t value) { assert_int_equal(write(1, &value, sizeof value), sizeof value); }

/* The same array once more, which is the same memory at the same address. */
static int32_t import_again(const description *given, via_array *array) {
    via_array *again = NULL;
    const via_status status = import(given, &again);
    const int same = status == VIA_OK && via_array_data(again) == via_array_data(array);
    via_array_release(again);
    return same ? VIA_OK : VIA_ERROR_INTERNAL;
}

static int32_t describe_again(via_array *array) {
    description made;
    return via_array_export_ipc(array, sizeof made.bytes, made.bytes, &made.length);
}

static int32_t check_and_write(via_array *array) {
    assert_device_pattern(address_of(array), (size_t)via_array_nbytes(array), 1);
    write_pattern(address_of(array), (size_t)via_array_nbytes(array), 2);
    return VIA_OK;
}

static int32_t obey(char command, const description *given, via_array **array) {
    switch (command) {
        case 'w':
            return check_and_write(*array);
        case 'a':
            return import_again(given, *array);
        case 'd':
            return describe_again(*array);
        case 'n':
            return via_array_device_id(*array);
        default:
            via_array_release(*array);
            *array = NULL;
            return (int32_t)stats_now().live_arrays;
    }
}

/* Imports what it is sent, does as it is asked, and ends without releasing anything. */
static void import_what_comes(void) {
    description given;
    via_array *array = NULL;
    char command = 0;
    assert_true(driver_is_there());
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    assert_int_equal(read(0, &given, sizeof given), sizeof given);
    reply(import(&given, &array));
    while (read(0, &command, 1) == 1) {
        reply(obey(command, &given, &array));
    }
    _exit(0);
}

/* Tries whatever it is sent. */
static void try_what_comes(void) {
    description given;
    assert_true(driver_is_there());
    while (read(0, &given, sizeof given) == sizeof given) {
        via_array *array = NULL;
        reply(import(&given, &array));
        via_array_release(array);
    }
    _exit(0);
}

static void say_and_wait(void) {
    char go_on = 0;
    reply(VIA_OK);
    assert_int_equal(read(0, &go_on, 1), 1);
}

/* Waits between its look for the memory and the lock on it. */
static void import_slowly(void) {
    before_lock = say_and_wait;
    import_what_comes();
}

static void export_until_the_end(void) {
    assert_true(driver_is_there());
    cu_ok(cu(cuCtxSetCurrent)(primary(0)));
    const CUdeviceptr memory = device_memory(count);
    write_pattern(memory, count, 1);
    const description given = describe(wrap_device(memory, count, NULL));
    assert_int_equal(write(1, &given, sizeof given), sizeof given);
    char command = 0;
    assert_int_equal(read(0, &command, 1), 0);
    _exit(0);
}

/* One that has taken the array in. */
static other_process start_importer(via_array *array) {
    const description given = describe(array);
    const other_process other = start_apart(import_what_comes, no_settings);
    send(&other, &given, sizeof given);
    assert_int_equal(answer(&other), VIA_OK);
    return other;
}

/* ------------------------------------------------------------------------------------------------ tests */

static void another_process_uses_the_memory_in_place(void **state) {
    (void)state;
    const CUdeviceptr memory = device_memory(offset + count);
    write_pattern(memory + offset, count, 1);
    via_array *array = wrap_device(memory + offset, count, NULL);
    const other_process other = start_importer(array);
    assert_int_equal(ask(&other, 'w'), VIA_OK);
    assert_device_pattern(memory + offset, count, 2);
    assert_int_equal(end_apart(&other), 0);
    via_array_release(array);
}

static void memory_can_be_taken_in_more_than_once_but_not_handed_on(void **state) {
    (void)state;
    via_array *array = wrap_device(device_memory(count), count, NULL);
    const other_process first = start_importer(array);
    const other_process second = start_importer(array);
    assert_int_equal(ask(&first, 'a'), VIA_OK);
    assert_int_equal(ask(&second, 'a'), VIA_OK);
    assert_int_equal(ask(&first, 'd'), VIA_ERROR_UNSUPPORTED);
    assert_int_equal(end_apart(&first), 0);
    assert_int_equal(end_apart(&second), 0);
    via_array_release(array);
}

static void the_owner_gets_it_back_when_every_importer_has_released(void **state) {
    (void)state;
    atomic_int released = 0;
    via_array *array = wrap_device(device_memory(count), count, &released);
    const other_process first = start_importer(array);
    const other_process second = start_importer(array);
    via_array_release(array);
    assert_int_equal(stats_now().pending_releases, 1);
    assert_int_equal(ask(&first, 'r'), 0);
    usleep(100000);
    assert_int_equal(atomic_load(&released), 0);
    assert_int_equal(ask(&second, 'r'), 0);
    await_count(&released, 1);
    assert_int_equal(end_apart(&first), 0);
    assert_int_equal(end_apart(&second), 0);
}

static void importers_that_end_or_are_killed_release(void **state) {
    (void)state;
    for (int kill_it = 0; kill_it < 2; ++kill_it) {
        note("killed: %d", kill_it);
        atomic_int released = 0;
        via_array *array = wrap_device(device_memory(count), count, &released);
        const other_process other = start_importer(array);
        via_array_release(array);
        assert_int_equal(atomic_load(&released), 0);
        assert_int_equal(kill_it ? kill(other.process, SIGKILL) : 0, 0);
        assert_int_equal(end_apart(&other), kill_it ? -SIGKILL : 0);
        await_count(&released, 1);
    }
}

static void a_release_waits_for_nobody_where_nobody_has_taken_it_in(void **state) {
    (void)state;
    atomic_int released = 0;
    via_array *array = wrap_device(device_memory(count), count, &released);
    const description first = describe(array);
    const description second = describe(array);
    assert_memory_equal(first.bytes, second.bytes, first.length);
    via_array_release(array);
    assert_int_equal(atomic_load(&released), 1);
}

static void whoever_comes_too_late_is_refused(void **state) {
    (void)state;
    atomic_int released = 0;
    via_array *array = wrap_device(device_memory(count), count, &released);
    const other_process other = start_importer(array);
    const description given = describe(array);
    via_array_release(array);
    other_process late = start_apart(import_what_comes, no_settings); /* the first still has it: so may this one */
    send(&late, &given, sizeof given);
    assert_int_equal(answer(&late), VIA_OK);
    assert_int_equal(end_apart(&late) + end_apart(&other), 0);
    await_count(&released, 1);
    late = start_apart(import_what_comes, no_settings);
    send(&late, &given, sizeof given);
    assert_int_equal(answer(&late), VIA_ERROR_EXCHANGE);
    assert_int_equal(end_apart(&late), 0);
}

static void whoever_is_overtaken_by_the_release_is_refused(void **state) {
    (void)state;
    atomic_int released = 0;
    via_array *array = wrap_device(device_memory(count), count, &released);
    const description given = describe(array);
    const other_process slow = start_apart(import_slowly, no_settings);
    send(&slow, &given, sizeof given);
    assert_int_equal(answer(&slow), VIA_OK);
    via_array_release(array);
    assert_int_equal(atomic_load(&released), 1);
    send(&slow, "", 1);
    assert_int_equal(answer(&slow), VIA_ERROR_EXCHANGE);
    assert_int_equal(end_apart(&slow), 0);
}

static void memory_stays_when_the_process_that_made_it_has_ended(void **state) {
    (void)state;
    for (int kill_it = 0; kill_it < 2; ++kill_it) {
        note("killed: %d", kill_it);
        description given;
        via_array *array = NULL;
        via_array *late = NULL;
        const other_process other = start_apart(export_until_the_end, no_settings);
        assert_int_equal(read(other.from, &given, sizeof given), sizeof given);
        ok(import(&given, &array));
        assert_int_equal(kill_it ? kill(other.process, SIGKILL) : 0, 0);
        assert_int_equal(end_apart(&other), kill_it ? -SIGKILL : 0);
        assert_device_pattern(address_of(array), count, 1);
        refused(VIA_ERROR_EXCHANGE, "no longer shared", import(&given, &late));
        via_array_release(array);
    }
}

static void what_is_being_written_is_waited_for(void **state) {
    (void)state;
    const CUdeviceptr memory = device_memory(count);
    via_array *array = wrap_device(memory, count, NULL);
    char *source = pageable_memory(count);
    fill_pattern(source, count, 1);
    via_array *host = wrap_bytes(source, count, VIA_DEVICE_CPU, 0, NULL);
    ok(via_copy_async(array, host, wrap_native(new_stream(), 0)));
    const other_process other = start_importer(array);
    assert_int_equal(ask(&other, 'w'), VIA_OK);
    assert_int_equal(end_apart(&other), 0);
    via_array_release(host);
    via_array_release(array);
}

static void an_array_without_elements_has_no_memory_to_wait_for(void **state) {
    (void)state;
    atomic_int released = 0;
    via_array *same = NULL;
    via_array *array = wrap_device(device_memory(64), 0, &released);
    const description given = describe(array);
    via_array_release(array);
    assert_int_equal(atomic_load(&released), 1);
    ok(import(&given, &same));
    assert_int_equal(via_array_device_type(same), VIA_DEVICE_CUDA);
    assert_int_equal(via_array_size(same), 0);
    via_array_release(same);
}

static void the_process_itself_keeps_its_array(void **state) {
    (void)state;
    via_array *array = wrap_device(device_memory(count), count, NULL);
    via_array *same = NULL;
    const description given = describe(array);
    refused(VIA_ERROR_EXCHANGE, "this process|use the array itself", import(&given, &same));
    assert_null(same);
    via_array_release(array);
}

static void other_memory_is_refused_by_name(void **state) {
    (void)state;
    static const struct {
        int32_t kind;
        const char *words;
    } rows[] = {{VIA_MEMORY_DEVICE_POOL, "pool|VIA_MEMORY_DEVICE"},
                {VIA_MEMORY_PINNED, "pinned|VIA_MEMORY_SHARED"},
                {VIA_MEMORY_MANAGED, "managed|VIA_MEMORY_SHARED"}};
    for (int i = 0; i < LENGTH(rows); ++i) {
        description made = {0};
        via_memory *memory = NULL;
        via_array *array = NULL;
        ok(via_memory_create(rows[i].kind, 0, &memory));
        ok(via_empty(memory, VIA_FLOAT32, 1, SHAPE(100), NULL, &array));
        refused(VIA_ERROR_UNSUPPORTED, rows[i].words,
                via_array_export_ipc(array, sizeof made.bytes, made.bytes, &made.length));
        assert_int_equal(made.length, 0);
        via_array_release(array);
        via_memory_release(memory);
    }
}

static void memory_is_not_unknown_while_the_driver_cannot_be_asked(void **state) {
    (void)state;
    steer();
    description made = {0};
    via_array *array = wrap_device(device_memory(count), count, NULL);
    fake(fake_fail_at)("cuPointerGetAttributes", -1, CUDA_ERROR_NOT_PERMITTED);
    refused(VIA_ERROR_CUDA, "CUDA_ERROR_NOT_PERMITTED",
            via_array_export_ipc(array, sizeof made.bytes, made.bytes, &made.length));
    fake(fake_clear_faults)();
    via_array_release(array);
}

static void a_description_damaged_on_the_way_never_reaches_the_driver(void **state) {
    (void)state;
    steer();
    via_array *array = wrap_device(device_memory(count), count, NULL);
    const description given = describe(array);
    for (int64_t at = 8; at < given.length; ++at) {
        description damaged = given;
        via_array *same = NULL;
        damaged.bytes[at] ^= 0x10;
        refused(VIA_ERROR_EXCHANGE, "no description", import(&damaged, &same));
    }
    via_array_release(array);
}

static void a_made_up_description_leads_nowhere_and_holds_nothing(void **state) {
    (void)state;
    enum { offset_at = 128, extent_at = 152 };
    static const struct {
        int64_t offset;
        int64_t extent;
    } rows[] = {
        {-1, count}, {INT64_MIN, count},     {INT64_MAX, count}, {1LL << 40, count}, {0, 1LL << 40}, {0, INT64_MAX},
        {0, -1},     {INT64_MAX, INT64_MAX}, {-count, 2 * count}};
    atomic_int released = 0;
    via_array *array = wrap_device(device_memory(count), count, &released);
    const description given = describe(array);
    const other_process other = start_apart(try_what_comes, no_settings);
    for (int i = 0; i < LENGTH(rows); ++i) {
        note("row %d", i);
        description made_up = given;
        memcpy(made_up.bytes + offset_at, &rows[i].offset, sizeof rows[i].offset);
        memcpy(made_up.bytes + extent_at, &rows[i].extent, sizeof rows[i].extent);
        put_check_right(&made_up);
        send(&other, &made_up, sizeof made_up);
        const int32_t status = answer(&other);
        assert_true(status == VIA_ERROR_EXCHANGE || status == VIA_ERROR_OVERFLOW || status == VIA_ERROR_SHAPE);
    }
    send(&other, &given, sizeof given);
    assert_int_equal(answer(&other), VIA_OK);
    via_array_release(array);
    await_count(&released, 1);
    assert_int_equal(end_apart(&other), 0);
}

static void a_device_that_the_importer_does_not_see_is_reported(void **state) {
    (void)state;
    need_two_devices();
    via_array *array = wrap_bytes((const void *)(uintptr_t)device_memory_on(1, count), count, VIA_DEVICE_CUDA, 1, NULL);
    const description given = describe(array);
    const char *const first_only[] = {"VIADUCT_FAKECUDA_DEVICES=1", "CUDA_VISIBLE_DEVICES=0", NULL};
    const other_process other = start_apart(import_what_comes, first_only);
    send(&other, &given, sizeof given);
    assert_int_equal(answer(&other), VIA_ERROR_DEVICE);
    assert_int_equal(end_apart(&other), 0);
    via_array_release(array);
}

/* A device is known by what it is, not by its number. */
static void a_process_that_numbers_the_devices_otherwise_finds_the_same_one(void **state) {
    (void)state;
    need_two_devices();
    const char *const reversed[] = {"VIADUCT_FAKECUDA_REVERSED=1", "CUDA_VISIBLE_DEVICES=1,0", NULL};
    for (int device = 0; device < 2; ++device) {
        const CUdeviceptr memory = device_memory_on(device, count);
        write_pattern(memory, count, 1);
        via_array *array = wrap_bytes((const void *)(uintptr_t)memory, count, VIA_DEVICE_CUDA, device, NULL);
        const description given = describe(array);
        const other_process other = start_apart(import_what_comes, reversed);
        send(&other, &given, sizeof given);
        assert_int_equal(answer(&other), VIA_OK);
        assert_int_equal(ask(&other, 'n'), 1 - device);
        assert_int_equal(ask(&other, 'w'), VIA_OK);
        assert_device_pattern(memory, count, 2);
        assert_int_equal(end_apart(&other), 0);
        via_array_release(array);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GPU_TEST(another_process_uses_the_memory_in_place),
        GPU_TEST(memory_can_be_taken_in_more_than_once_but_not_handed_on),
        GPU_TEST(the_owner_gets_it_back_when_every_importer_has_released),
        GPU_TEST(importers_that_end_or_are_killed_release),
        GPU_TEST(a_release_waits_for_nobody_where_nobody_has_taken_it_in),
        GPU_TEST(whoever_comes_too_late_is_refused),
        GPU_TEST(whoever_is_overtaken_by_the_release_is_refused),
        GPU_TEST(memory_stays_when_the_process_that_made_it_has_ended),
        GPU_TEST(what_is_being_written_is_waited_for),
        GPU_TEST(an_array_without_elements_has_no_memory_to_wait_for),
        GPU_TEST(the_process_itself_keeps_its_array),
        GPU_TEST(other_memory_is_refused_by_name),
        GPU_TEST(memory_is_not_unknown_while_the_driver_cannot_be_asked),
        GPU_TEST(a_description_damaged_on_the_way_never_reaches_the_driver),
        GPU_TEST(a_made_up_description_leads_nowhere_and_holds_nothing),
        GPU_TEST(a_device_that_the_importer_does_not_see_is_reported),
        GPU_TEST(a_process_that_numbers_the_devices_otherwise_finds_the_same_one),
    };
    return run_gpu_tests(tests);
}
