#include "scenario.h"

#include "faults.h"

enum { most_owners = 64 };

static owner owners[most_owners];
static int owner_count;
static int complaint_count;
static char place[256];

void note_place(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(place, sizeof place, format, arguments);
    va_end(arguments);
}

const char *noted_place(void) { return place; }

int complaints(void) { return complaint_count; }

void complain(const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ++complaint_count;
    print_error("%s %s: %s\n", place, what_failed(), text);
}

/* "via_wrap: ...": the name, and something behind it. */
static int names_function(const char *text, const char *call) {
    const size_t length = strcspn(call, "(");
    return strncmp(text, call, length) == 0 && strncmp(text + length, ": ", 2) == 0 && text[length + 2] != '\0';
}

via_status look_at_status(via_status status, const char *call) {
    if (status == VIA_OK) {
        return status;
    }
    if (strcmp(via_status_name(status), "VIA_ERROR_UNKNOWN") == 0 || status == VIA_ERROR_INTERNAL) {
        complain("%s answered %d (%s)", call, (int)status, via_last_error());
    } else if (strncmp(call, "via_", 4) == 0 &&
               (!names_function(via_last_error(), call) || (status == VIA_ERROR_IO && via_last_error_code() == 0))) {
        complain("%s failed with code %d and the text \"%s\"", call, (int)via_last_error_code(), via_last_error());
    }
    return status;
}

owner *new_owner(void *address, int64_t count) {
    assert_true(owner_count < most_owners);
    owner *made = &owners[owner_count++];
    made->address = address;
    made->count = count;
    atomic_store(&made->reported, 0);
    made->exported = 0;
    return made;
}

static size_t piece_of(int64_t left, size_t most) { return (size_t)left < most ? (size_t)left : most; }

void report_owner(void *context) {
    owner *reported = context;
    char bytes[4096];
    memset(bytes, scribble, sizeof bytes);
    for (int64_t at = 0; at < reported->count; at += (int64_t)sizeof bytes) {
        const size_t count = piece_of(reported->count - at, sizeof bytes);
        if (!fake(fake_device_write)((uint64_t)(uintptr_t)(reported->address + at), bytes, count)) {
            memcpy(reported->address + at, bytes, count);
        }
    }
    atomic_fetch_add(&reported->reported, 1);
}

via_status export(void *address, int64_t count, int32_t device_type, int32_t device_id, via_array **out_array) {
    owner *who = new_owner(address, count);
    const via_status status = look_at_status(
        via_wrap(address, VIA_UINT8, 1, &count, NULL, device_type, device_id, 0, report_owner, who, out_array),
        "via_wrap(...)");
    who->exported = status == VIA_OK;
    return status;
}

void forget_complaints(void) { complaint_count = 0; }
void forget_owners(void) { owner_count = 0; }

int owners_are_settled(void) {
    for (int i = 0; i < owner_count; ++i) {
        if (atomic_load(&owners[i].reported) < owners[i].exported) {
            return 0;
        }
    }
    return 1;
}

static int holds_scribble(const owner *of) {
    char bytes[4096];
    for (int64_t at = 0; at < of->count; at += (int64_t)sizeof bytes) {
        const size_t count = piece_of(of->count - at, sizeof bytes);
        if (!fake(fake_device_read)((uint64_t)(uintptr_t)(of->address + at), bytes, count)) {
            memcpy(bytes, of->address + at, count);
        }
        for (size_t i = 0; i < count; ++i) {
            if ((unsigned char)bytes[i] != scribble) {
                return 0;
            }
        }
    }
    return 1;
}

void look_at_owners(int may_be_early) {
    for (int i = 0; i < owner_count; ++i) {
        const int reported = atomic_load(&owners[i].reported);
        if (reported != owners[i].exported) {
            complain("owner %d, which exported %d times, was reported %d times", i, owners[i].exported, reported);
        } else if (reported && !may_be_early && !holds_scribble(&owners[i])) {
            complain("the memory of owner %d was written after it had been given back", i);
        }
    }
}
