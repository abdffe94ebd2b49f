// Archives: named arrays of one or more files, read into one buffer of memory.
#ifndef VIADUCT_CPP_ARCHIVE_HPP
#define VIADUCT_CPP_ARCHIVE_HPP

#include <string>
#include <utility>
#include <vector>

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
        return detail::make<Archive>(via_archive_open, path.c_str(), &options);
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

    /** Returns the name of a tensor's type in its format, borrowed from the archive; nullptr if there is no tensor. */
    [[nodiscard]] const char *type_name(std::int64_t number) const noexcept {
        return via_archive_type_name(get(), number);
    }

    /** Returns the number of the tensor of a name. */
    [[nodiscard]] Result<std::int64_t> find(const std::string &name) const {
        return detail::make<std::int64_t>(via_archive_find, get(), name.c_str());
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
        return detail::make<File>(via_archive_file, get(), number);
    }

    /** Makes an archive of some tensors, with a buffer of its own. */
    [[nodiscard]] Result<Archive> select(std::int32_t count, const std::int64_t *numbers) const {
        return detail::make<Archive>(via_archive_select, get(), count, numbers);
    }

    /** Reduces a tensor to `count` indices of an axis, from `start` on. Nothing else may use the archive meanwhile. */
    VIADUCT_CHECKED Result<void> slice(std::int64_t number, std::int32_t axis, std::int64_t start,
                                       std::int64_t count) const {
        return detail::done(via_archive_slice(get(), number, axis, start, count));
    }

    /** Reads a tensor as another dtype from now on; -1 means all tensors of floats. Nothing else may use the archive.
     */
    VIADUCT_CHECKED Result<void> convert(std::int64_t number, std::int32_t dtype,
                                         const via_convert_options &options = convert_options()) const {
        return detail::done(via_archive_convert(get(), number, dtype, &options));
    }

    /** Makes a view of a tensor in a buffer. */
    [[nodiscard]] Result<Array> array(std::int64_t number, const Array &buffer) const {
        return detail::make<Array>(via_archive_array, get(), number, buffer.get());
    }

    /** Allocates a buffer of host memory, and reads it. */
    [[nodiscard]] Result<Array> load() const { return detail::make<Array>(via_archive_load, get(), nullptr, nullptr); }

    /** Allocates a buffer, and reads it. */
    [[nodiscard]] Result<Array> load(const Memory &memory, StreamRef stream = {}) const {
        return detail::make<Array>(via_archive_load, get(), memory.get(), stream.get());
    }

    VIADUCT_CHECKED Result<void> read(const Array &buffer, StreamRef stream = {}) const {
        return detail::done(via_archive_read(get(), buffer.get(), stream.get()));
    }

    /** Submits a read as a task, and returns at once. */
    [[nodiscard]] Result<Task> read_submit(const Array &buffer, StreamRef stream = {}) const {
        return detail::make<Task>(via_archive_read_submit, get(), buffer.get(), stream.get());
    }
};

/** Arrays by name, to be saved. */
using NamedArrays = std::vector<std::pair<std::string, Array>>;

/** Settings of a save. */
struct SaveOptions {
    std::string metadata = "{}";            /**< a JSON object of texts */
    std::int64_t shard_bytes = 0;           /**< bytes of a file; 0: one file */
    via_file_options file = file_options(); /**< durable and page_cache count */
};

namespace detail {

struct SaveLists {
    explicit SaveLists(const NamedArrays &given) {
        for (const auto &each : given) {
            names.push_back(each.first.c_str());
            arrays.push_back(each.second.get());
        }
    }
    std::int32_t count() const noexcept { return static_cast<std::int32_t>(arrays.size()); }
    std::vector<const char *> names;
    std::vector<via_array *> arrays;
};

}  // namespace detail

/** Writes arrays to a safetensors file, or to several with an index. */
VIADUCT_CHECKED inline Result<void> save(const std::string &path, const NamedArrays &arrays,
                                         const SaveOptions &options = SaveOptions(), StreamRef stream = {}) {
    const detail::SaveLists lists(arrays);
    return detail::done(via_archive_save(path.c_str(), lists.count(), lists.arrays.data(), lists.names.data(),
                                         options.metadata.c_str(), options.shard_bytes, &options.file, stream.get()));
}

/** Submits a save as a task, and returns at once. */
[[nodiscard]] inline Result<Task> save_submit(const std::string &path, const NamedArrays &arrays,
                                              const SaveOptions &options = SaveOptions(), StreamRef stream = {}) {
    const detail::SaveLists lists(arrays);
    return detail::make<Task>(via_archive_save_submit, path.c_str(), lists.count(), lists.arrays.data(),
                              lists.names.data(), options.metadata.c_str(), options.shard_bytes, &options.file,
                              stream.get());
}

/** Writes one array to a .npy file, or to a raw one, which replaces what had the path. */
VIADUCT_CHECKED inline Result<void> save(const std::string &path, const Array &array,
                                         const via_file_options &options = file_options()) {
    return detail::done(via_save(path.c_str(), array.get(), &options));
}

/** Reads a whole file to host memory: the array of a .npy header, otherwise bytes. */
[[nodiscard]] inline Result<Array> load(const std::string &path, const via_file_options &options = file_options()) {
    return detail::make<Array>(via_load, path.c_str(), nullptr, &options);
}

/** Reads a whole file to other memory. */
[[nodiscard]] inline Result<Array> load(const std::string &path, const Memory &memory,
                                        const via_file_options &options = file_options()) {
    return detail::make<Array>(via_load, path.c_str(), memory.get(), &options);
}

}  // namespace VIADUCT_ERRORS_NAMESPACE
}  // namespace viaduct

#endif
