// Files: mapped as arrays, read to and written from any array.
#ifndef VIADUCT_CPP_FILE_HPP
#define VIADUCT_CPP_FILE_HPP

#include <string>

#include "viaduct/cpp/array.hpp"
#include "viaduct/cpp/task.hpp"

namespace viaduct {

/** Returns default options for the functions below. */
constexpr via_file_options file_options() noexcept { return VIA_FILE_OPTIONS_INIT; }

inline namespace VIADUCT_ERRORS_NAMESPACE {

/** Owns a via_file. Arrays mapped from it stay valid without it. */
class File : public detail::Handle<File, via_file, via_file_retain, via_file_release> {
public:
    using Handle::Handle;

    /** Opens an existing file; the path is any bytes that the system accepts. */
    [[nodiscard]] static Result<File> open(const std::string &path, const via_file_options &options = file_options()) {
        return detail::make<File>(via_file_open, path.c_str(), &options);
    }

    /** Creates a file of the size of such an array. */
    [[nodiscard]] static Result<File> create(const std::string &path, std::int32_t dtype, Extents shape,
                                             const via_file_options &options = file_options()) {
        return detail::make<File>(via_file_create, path.c_str(), dtype, shape.size(), shape.data(), &options);
    }

    [[nodiscard]] Result<via_file_properties> info() const {
        via_file_properties properties = VIA_FILE_PROPERTIES_INIT;
        return detail::made<via_file_properties>(via_file_info(get(), &properties), properties);
    }

    /**
     * Makes a window of a .npy file or a window: counts[i] indices from starts[i], with step steps[i]; {} as slice().
     */
    [[nodiscard]] Result<File> window(Extents starts, Extents counts = {}, Extents steps = {}) const {
        via_file_properties properties = VIA_FILE_PROPERTIES_INIT;
        const via_status status = via_file_info(get(), &properties);
        if (status != VIA_OK) {
            return detail::made<File>(status, nullptr);
        }
        return window_of({0, 0, {}}, properties.ndim, starts, counts, steps);
    }

    /** Makes a window of the array at byte_offset. */
    [[nodiscard]] Result<File> window(std::int64_t byte_offset, std::int32_t dtype, Extents shape, Extents starts,
                                      Extents counts = {}, Extents steps = {}) const {
        return window_of({byte_offset, dtype, shape}, shape.size(), starts, counts, steps);
    }

    /** Makes a file of the same elements in another dtype, from a .npy file or a window. */
    [[nodiscard]] Result<File> convert(std::int32_t dtype,
                                       const via_convert_options &options = convert_options()) const {
        return detail::make<File>(via_file_convert, get(), dtype, &options);
    }

    /** Maps a .npy file as the array of its header. */
    [[nodiscard]] Result<Array> array() const { return array(0, 0, {}); }

    /** Maps the array at byte_offset. */
    [[nodiscard]] Result<Array> array(std::int64_t byte_offset, std::int32_t dtype, Extents shape) const {
        return detail::make<Array>(via_file_array, get(), byte_offset, dtype, shape.size(), shape.data());
    }

    VIADUCT_CHECKED Result<void> read(const Array &dst, std::int64_t byte_offset = 0, StreamRef stream = {}) const {
        return detail::done(via_file_read(get(), byte_offset, dst.get(), stream.get()));
    }

    VIADUCT_CHECKED Result<void> write(const Array &src, std::int64_t byte_offset = 0, StreamRef stream = {}) const {
        return detail::done(via_file_write(get(), byte_offset, src.get(), stream.get()));
    }

    /** Submits a read as a task, and returns at once. */
    [[nodiscard]] Result<Task> read_submit(const Array &dst, std::int64_t byte_offset = 0,
                                           StreamRef stream = {}) const {
        return detail::make<Task>(via_file_read_submit, get(), byte_offset, dst.get(), stream.get());
    }

    /** Submits a write as a task, and returns at once. */
    [[nodiscard]] Result<Task> write_submit(const Array &src, std::int64_t byte_offset = 0,
                                            StreamRef stream = {}) const {
        return detail::make<Task>(via_file_write_submit, get(), byte_offset, src.get(), stream.get());
    }

private:
    struct Content {
        std::int64_t byte_offset;
        std::int32_t dtype;
        Extents shape;
    };

    Result<File> window_of(const Content &content, std::int32_t axes, Extents starts, Extents counts,
                           Extents steps) const {
        if (!starts.fits(axes)) {
            return detail::refuse_length<File>("window: starts", starts.size(), axes);
        }
        if (!counts.fits(axes)) {
            return detail::refuse_length<File>("window: counts", counts.size(), axes);
        }
        if (!steps.fits(axes)) {
            return detail::refuse_length<File>("window: steps", steps.size(), axes);
        }
        return detail::make<File>(via_file_window, get(), content.byte_offset, content.dtype, content.shape.size(),
                                  content.shape.data(), starts.data(), counts.data(), steps.data());
    }
};

}  // namespace VIADUCT_ERRORS_NAMESPACE
}  // namespace viaduct

#endif
