package org.viaduct;

import java.util.function.LongUnaryOperator;

/**
 * Options for opening or creating a file.
 *
 * @param mode whether it may be read or written; not read where a file is created
 * @param columnMajor whether the elements are in Fortran order; not read where there is a .npy header already
 * @param durable whether a write returns when the data would survive a power cut
 * @param atomic whether a write replaces the file whole, or not at all
 * @param asBytes whether a transfer need not have the shape and the element type of the .npy file or the window
 */
public record FileOptions(
        FileMode mode,
        FileFormat format,
        boolean columnMajor,
        boolean durable,
        boolean atomic,
        PageCache pageCache,
        boolean asBytes) {
    /** The default: an existing file, to read. */
    public static final FileOptions DEFAULT =
            new FileOptions(FileMode.READ, FileFormat.AUTO, false, false, false, PageCache.AUTO, false);

    public FileOptions mode(FileMode chosen) {
        return new FileOptions(chosen, format, columnMajor, durable, atomic, pageCache, asBytes);
    }

    public FileOptions format(FileFormat chosen) {
        return new FileOptions(mode, chosen, columnMajor, durable, atomic, pageCache, asBytes);
    }

    public FileOptions columnMajor(boolean chosen) {
        return new FileOptions(mode, format, chosen, durable, atomic, pageCache, asBytes);
    }

    public FileOptions durable(boolean chosen) {
        return new FileOptions(mode, format, columnMajor, chosen, atomic, pageCache, asBytes);
    }

    public FileOptions atomic(boolean chosen) {
        return new FileOptions(mode, format, columnMajor, durable, chosen, pageCache, asBytes);
    }

    public FileOptions pageCache(PageCache chosen) {
        return new FileOptions(mode, format, columnMajor, durable, atomic, chosen, asBytes);
    }

    public FileOptions asBytes(boolean chosen) {
        return new FileOptions(mode, format, columnMajor, durable, atomic, pageCache, chosen);
    }

    /** Makes a call with the struct of the options; with NULL for null. */
    static long with(FileOptions options, LongUnaryOperator call) {
        if (options == null) {
            return call.applyAsLong(0);
        }
        long struct = Native.new_via_file_options();
        return Struct.used(struct, Native::delete_via_file_options, at -> {
            options.write(at);
            return call.applyAsLong(at);
        });
    }

    private void write(long struct) {
        Native.via_file_options_mode_set(struct, mode.code);
        Native.via_file_options_file_format_set(struct, format.code);
        Native.via_file_options_column_major_set(struct, columnMajor ? 1 : 0);
        Native.via_file_options_durable_set(struct, durable ? 1 : 0);
        Native.via_file_options_atomic_write_set(struct, atomic ? 1 : 0);
        Native.via_file_options_page_cache_set(struct, pageCache.code);
        Native.via_file_options_as_bytes_set(struct, asBytes ? 1 : 0);
    }
}
