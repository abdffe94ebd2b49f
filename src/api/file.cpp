#include "api/guard.hpp"

using namespace via;

// This version maps and transfers no files: none can be opened, so that there is none to act on.

namespace {

static_assert(sizeof(via_file_options) == 24 && offsetof(via_file_options, atomic_write) == 20);
static_assert(sizeof(via_file_properties) == 552 && offsetof(via_file_properties, nbytes) == 24);

Status no_files() {
    return fail(VIA_ERROR_UNSUPPORTED, "files are not part of this build; expected memory that the caller has read");
}

// What every call on an open file comes to.
Status refuse(const char *function, via_file *file) {
    return guarded(function, [&]() -> Status {
        VIA_TRY(require("file", file));
        return no_files();
    });
}

template <class Output>
Status refuse(const char *function, const char *argument, const void *given, const char *output, Output *out) {
    return guarded(function, [&]() -> Status {
        VIA_TRY(clear_output(output, out));
        VIA_TRY(require(argument, given));
        return no_files();
    });
}

}  // namespace

via_status via_file_open(const char *path, const via_file_options *, via_file **out_file) {
    return refuse(__func__, "path", path, "out_file", out_file);
}

via_status via_file_create(const char *path, int32_t, int32_t, const int64_t *, const via_file_options *,
                           via_file **out_file) {
    return refuse(__func__, "path", path, "out_file", out_file);
}

void via_file_retain(via_file *) {}

void via_file_release(via_file *) {}

via_status via_file_info(via_file *file, via_file_properties *) { return refuse(__func__, file); }

via_status via_file_array(via_file *file, int64_t, int32_t, int32_t, const int64_t *, via_array **out_array) {
    return refuse(__func__, "file", file, "out_array", out_array);
}

via_status via_file_read(via_file *file, int64_t, via_array *, via_stream *) { return refuse(__func__, file); }

via_status via_file_write(via_file *file, int64_t, via_array *, via_stream *) { return refuse(__func__, file); }

via_status via_file_read_submit(via_file *file, int64_t, via_array *, via_stream *, via_task **out_task) {
    return refuse(__func__, "file", file, "out_task", out_task);
}

via_status via_file_write_submit(via_file *file, int64_t, via_array *, via_stream *, via_task **out_task) {
    return refuse(__func__, "file", file, "out_task", out_task);
}
