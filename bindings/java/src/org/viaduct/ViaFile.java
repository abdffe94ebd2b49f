package org.viaduct;

import java.nio.file.Path;

/**
 * An open file of elements: raw, or NumPy's .npy. Offsets are bytes from the first element on. Any number of threads may
 * use one; which of two transfers of the same bytes comes first is not said. Where options may be given, null is the
 * usual, and so it is where a stream may be: then a transfer is ordered as {@link Viaduct#copy}, a submitted one by
 * nothing.
 */
public final class ViaFile extends Resource {
    ViaFile(long handle) {
        super(handle, Native::via_file_release);
    }

    // ------------------------------------------------------------------------------------------------ opened

    /** Opens an existing file to read. */
    public static ViaFile open(Path path) {
        return open(path, null);
    }

    /** Opens an existing file. */
    public static ViaFile open(Path path, FileOptions options) {
        return open(Utf8.bytes(path), options);
    }

    /** The same by a name of any characters, whatever the locale, to which a {@link Path} is bound. */
    public static ViaFile open(String path, FileOptions options) {
        return open(Utf8.bytes(path), options);
    }

    private static ViaFile open(byte[] name, FileOptions options) {
        return new ViaFile(FileOptions.with(options, asked -> Native.via_file_open(name, asked)));
    }

    /** Creates a file of the size that such an array needs, all zeros, or cuts an existing one to it. */
    public static ViaFile create(Path path, DType dtype, long... shape) {
        return create(path, null, dtype, shape);
    }

    /** The same with options; of a raw file type and shape say the size only. */
    public static ViaFile create(Path path, FileOptions options, DType dtype, long... shape) {
        return create(Utf8.bytes(path), options, dtype, shape);
    }

    /** The same by a name of any characters, as {@link #open(String, FileOptions)}. */
    public static ViaFile create(String path, FileOptions options, DType dtype, long... shape) {
        return create(Utf8.bytes(path), options, dtype, shape);
    }

    private static ViaFile create(byte[] name, FileOptions options, DType dtype, long... shape) {
        return new ViaFile(
                FileOptions.with(options, asked -> Native.via_file_create(name, dtype.code(), shape, asked)));
    }

    /** Returns the current properties of the file. */
    public FileInfo info() {
        return Struct.filled(
                Native.new_via_file_properties(),
                Native::delete_via_file_properties,
                struct -> Calls.run(this, file -> Native.via_file_info(file, struct)),
                FileInfo::read);
    }

    // ------------------------------------------------------------------------------------------------ windows

    /**
     * A window of a .npy file, or of another window: {@code counts} indices of each axis, from {@code starts} on,
     * {@code steps} apart; null as for {@link ViaArray#slice}. It is a file of its own, read, written and mapped as a
     * whole, and holds this one.
     */
    public ViaFile window(long[] starts, long[] counts, long[] steps) {
        return window(0, new DType(0), new long[0], info().shape().length, starts, counts, steps);
    }

    /** The same of what lies from an offset on. */
    public ViaFile window(
            long byteOffset, DType dtype, long[] shape, long[] starts, long[] counts, long[] steps) {
        return window(byteOffset, dtype, shape, shape.length, starts, counts, steps);
    }

    private ViaFile window(
            long byteOffset, DType dtype, long[] shape, int axes, long[] starts, long[] counts, long[] steps) {
        ViaductException.requireOneForEachAxis("starts", starts, axes);
        ViaductException.requireOneForEachAxis("counts", counts, axes);
        ViaductException.requireOneForEachAxis("steps", steps, axes);
        return new ViaFile(Calls.get(
                this, file -> Native.via_file_window(file, byteOffset, dtype.code(), shape, starts, counts, steps)));
    }

    /**
     * A file of the same elements in another type, of a .npy file or a window: reads and writes take arrays of that type,
     * and convert on the way as {@link Viaduct#convert} does; null options are the defaults.
     */
    public ViaFile convert(DType dtype, ConvertOptions options) {
        return new ViaFile(ConvertOptions.with(options, asked ->
                Calls.get(this, file -> Native.via_file_convert(file, dtype.code(), asked))));
    }

    // ------------------------------------------------------------------------------------------------ mapped

    /**
     * Maps a .npy file as the array that its header reports, or a window; nothing is read until it is touched. The array
     * outlives this object. It is read-only if the file was opened for reading, or with atomic writes. Touching it when
     * the file has been cut short ends the process, where {@link #read} fails.
     */
    public ViaArray map() {
        return map(0, new DType(0));
    }

    /** Maps part of the file as an array in the file's order. */
    public ViaArray map(long byteOffset, DType dtype, long... shape) {
        return new ViaArray(MemoryPressure.retry(() ->
                Calls.get(this, file -> Native.via_file_array(file, byteOffset, dtype.code(), shape))));
    }

    // ------------------------------------------------------------------------------------------------ read and written

    /** Reads elements from the first on into an array of any layout, anywhere; returns when they have arrived. */
    public void read(ViaArray dst) {
        read(dst, 0, null);
    }

    /** The same from an offset on, after the stream's work so far. */
    public void read(ViaArray dst, long byteOffset, ViaStream stream) {
        Calls.run(this, dst, stream, (file, array, order) -> Native.via_file_read(file, byteOffset, array, order));
    }

    /** Writes an array's elements from the first on; returns when the system has accepted all of them. */
    public void write(ViaArray src) {
        write(src, 0, null);
    }

    /** The same from an offset on, after the stream's work so far. A raw file grows with it. */
    public void write(ViaArray src, long byteOffset, ViaStream stream) {
        Calls.run(this, src, stream, (file, array, order) -> Native.via_file_write(file, byteOffset, array, order));
    }

    /** Starts a read, and returns at once; the file may be closed before it ends. */
    public CopyTask submitRead(ViaArray dst) {
        return submitRead(dst, 0, null);
    }

    /** Starts a read from an offset on, after the stream's work so far, and returns at once. */
    public CopyTask submitRead(ViaArray dst, long byteOffset, ViaStream stream) {
        return new CopyTask(Calls.get(this, dst, stream, (file, array, order) ->
                Native.via_file_read_submit(file, byteOffset, array, order)));
    }

    /** Starts a write, and returns at once; the array must not be written until it has ended. */
    public CopyTask submitWrite(ViaArray src) {
        return submitWrite(src, 0, null);
    }

    /** Starts a write from an offset on, after the stream's work so far, and returns at once. */
    public CopyTask submitWrite(ViaArray src, long byteOffset, ViaStream stream) {
        return new CopyTask(Calls.get(this, src, stream, (file, array, order) ->
                Native.via_file_write_submit(file, byteOffset, array, order)));
    }
}
