// Archives: named arrays of one or more files, read into one buffer of memory.
#ifndef VIADUCT_CPP_ARCHIVE_HPP
#define VIADUCT_CPP_ARCHIVE_HPP

#include <string>

#include "viaduct/cpp/file.hpp"
#include "viaduct/cpp/memory.hpp"

namespace viaduct {
inline namespace VIADUCT_ERRORS_NAMESPACE {

/** Owns a via_archive. Buffers and views stay valid without it. */
class Archive : public detail::Handle<Archive, via_archive, via_archive_retain, via_archive_release> {
public:
    using Handle::Handle;

    /** Opens a file, an index or a directory, and reads the headers. */
    [[nodiscard]] static Result<Archive> open(const std::string &path,
                                              const via_file_options &options = file_options()) {
        via_archive *archive = nullptr;
        return detail::made<Archive>(via_archive_open(path.c_str(), &options, &archive), archive);
    }

    /** Adds the tensors of another path. */
    VIADUCT_CHECKED Result<void> add(const std::string &path) const {
        return detail::done(via_archive_add(get(), path.c_str()));
    }

    /** Returns the number of tensors. */
    [[nodiscard]] std::int64_t size() const noexcept { return via_archive_size(get()); }

    /** Returns the number of bytes of a buffer. */
    [[nodiscard]] std::int64_t nbytes() const noexcept { return via_archive_nbytes(get()); }

    /** Returns the name of a tensor, borrowed from the archive; nullptr if there is none. */
    [[nodiscard]] const char *name(std::int64_t number) const noexcept { return via_archive_name(get(), number); }

    /** Returns the number of the tensor of a name. */
    [[nodiscard]] Result<std::int64_t> find(const std::string &name) const {
        std::int64_t number = 0;
        const via_status status = via_archive_find(get(), name.c_str(), &number);
        return detail::made<std::int64_t>(status, number);
    }

    /** Returns the metadata as a JSON object of texts. */
    [[nodiscard]] Result<std::string> metadata() const {
        std::int64_t length = 0;
        const via_status status = via_archive_metadata(get(), 0, nullptr, &length);
        std::string text(static_cast<std::size_t>(length) + 1, '\0');
        const via_status filled =
            status == VIA_OK ? via_archive_metadata(get(), length + 1, &text[0], &length) : status;
        text.pop_back();
        return detail::made<std::string>(filled, std::move(text));
    }

    /** Makes a window of a tensor in its file. */
    [[nodiscard]] Result<File> file(std::int64_t number) const {
        via_file *file = nullptr;
        return detail::made<File>(via_archive_file(get(), number, &file), file);
    }

    /** Makes an archive of some tensors, with a buffer of its own. */
    [[nodiscard]] Result<Archive> select(std::int32_t count, const std::int64_t *numbers) const {
        via_archive *selection = nullptr;
        return detail::made<Archive>(via_archive_select(get(), count, numbers, &selection), selection);
    }

    /** Makes a view of a tensor in a buffer. */
    [[nodiscard]] Result<Array> array(std::int64_t number, const Array &buffer) const {
        via_array *array = nullptr;
        return detail::made<Array>(via_archive_array(get(), number, buffer.get(), &array), array);
    }

    /** Allocates a buffer of host memory, and reads it. */
    [[nodiscard]] Result<Array> load() const {
        via_array *buffer = nullptr;
        return detail::made<Array>(via_archive_load(get(), nullptr, nullptr, &buffer), buffer);
    }

    /** Allocates a buffer, and reads it. */
    [[nodiscard]] Result<Array> load(const Memory &memory, StreamRef stream = {}) const {
        via_array *buffer = nullptr;
        return detail::made<Array>(via_archive_load(get(), memory.get(), stream.get(), &buffer), buffer);
    }

    VIADUCT_CHECKED Result<void> read(const Array &buffer, StreamRef stream = {}) const {
        return detail::done(via_archive_read(get(), buffer.get(), stream.get()));
    }

    /** Submits a read as a task, and returns at once. */
    [[nodiscard]] Result<Task> read_submit(const Array &buffer, StreamRef stream = {}) const {
        via_task *task = nullptr;
        return detail::made<Task>(via_archive_read_submit(get(), buffer.get(), stream.get(), &task), task);
    }
};

}  // namespace VIADUCT_ERRORS_NAMESPACE
}  // namespace viaduct

#endif
