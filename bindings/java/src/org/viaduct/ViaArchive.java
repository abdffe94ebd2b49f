package org.viaduct;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Named arrays (tensors) of safetensors, .npz and GGUF files. All of them are read into one buffer of memory, in which
 * each is a view. Any number of threads may use one, but not while {@link #add} runs.
 */
public final class ViaArchive extends Resource {
    private ViaArchive(long handle) {
        super(handle, Native::via_archive_release);
    }

    /** Opens a file, an index or a directory, and reads the headers. */
    public static ViaArchive open(Path path) {
        return open(path, null);
    }

    /** The same with options, of which mode and page cache count; null is the usual. */
    public static ViaArchive open(Path path, FileOptions options) {
        byte[] name = Utf8.bytes(path);
        return new ViaArchive(FileOptions.with(options, asked -> Native.via_archive_open(name, asked)));
    }

    /** Adds the tensors of another path. */
    public void add(Path path) {
        byte[] name = Utf8.bytes(path);
        Calls.run(this, archive -> Native.via_archive_add(archive, name));
    }

    /** Returns the number of tensors. */
    public long size() {
        return Calls.get(this, Native::via_archive_size);
    }

    /** Returns the number of bytes of a buffer. */
    public long nbytes() {
        return Calls.get(this, Native::via_archive_nbytes);
    }

    /** Returns the name of a tensor, or null if the number is out of range. */
    public String name(long number) {
        return Calls.object(this, archive -> {
            byte[] name = Native.via_archive_name(archive, number);
            return name == null ? null : Utf8.text(name);
        });
    }

    /** Returns the name of a tensor's type in its format, such as BF16 or Q4_K, or null if the number is out of range. */
    public String typeName(long number) {
        return Calls.object(this, archive -> {
            byte[] name = Native.via_archive_type_name(archive, number);
            return name == null ? null : Utf8.text(name);
        });
    }

    /** Returns the number of the tensor of a name. */
    public long find(String name) {
        byte[] bytes = Utf8.bytes(name);
        return Calls.get(this, archive -> Native.via_archive_find(archive, bytes));
    }

    /** Returns the metadata as a JSON object of texts. */
    public String metadata() {
        return Calls.object(this, archive -> Utf8.text(Native.via_archive_metadata(archive)));
    }

    /** Returns a window of a tensor in its file. */
    public ViaFile file(long number) {
        return new ViaFile(Calls.get(this, archive -> Native.via_archive_file(archive, number)));
    }

    /** Returns an archive of some tensors, with a buffer of its own. */
    public ViaArchive select(long... numbers) {
        return new ViaArchive(Calls.get(this, archive -> Native.via_archive_select(archive, numbers)));
    }

    /**
     * Reduces a tensor to some indices of an axis: the rows or columns of one process. Nothing else may use the archive
     * meanwhile; slice a selection to keep the whole.
     */
    public void slice(long number, int axis, long start, long count) {
        Calls.run(this, archive -> Native.via_archive_slice(archive, number, axis, start, count));
    }

    /**
     * Reads a tensor as another type from now on, converted on the way; -1 means all tensors of floats. Null options are
     * the defaults. Nothing else may use the archive meanwhile.
     */
    public void convert(long number, DType dtype, ConvertOptions options) {
        ConvertOptions.with(options, asked -> {
            Calls.run(this, archive -> Native.via_archive_convert(archive, number, dtype.code(), asked));
            return 0;
        });
    }

    /** Writes arrays by name to a safetensors file, and returns when it is complete. */
    public static void save(Path path, Map<String, ViaArray> arrays) {
        save(path, arrays, null, 0, null, null);
    }

    /**
     * The same with metadata, a JSON object of texts; to files of so many bytes with an index, unless shardBytes is 0; of
     * the options durable and page cache count.
     */
    public static void save(
            Path path,
            Map<String, ViaArray> arrays,
            String metadata,
            long shardBytes,
            FileOptions options,
            ViaStream stream) {
        begin(path, arrays, metadata, options, stream, (to, of, names, texts, asked, order) -> {
            Native.via_archive_save(to, of, names, texts, shardBytes, asked, order);
            return 0;
        });
    }

    /** Starts to write arrays by name after the stream's work so far, and returns at once. */
    public static CopyTask submitSave(
            Path path,
            Map<String, ViaArray> arrays,
            String metadata,
            long shardBytes,
            FileOptions options,
            ViaStream stream) {
        return new CopyTask(begin(
                path,
                arrays,
                metadata,
                options,
                stream,
                (to, of, names, texts, asked, order) ->
                        Native.via_archive_save_submit(to, of, names, texts, shardBytes, asked, order)));
    }

    private interface Save {
        long run(byte[] path, long[] arrays, byte[][] names, byte[] metadata, long options, long stream);
    }

    private static long begin(
            Path path,
            Map<String, ViaArray> arrays,
            String metadata,
            FileOptions options,
            ViaStream stream,
            Save save) {
        Map<String, ViaArray> given = new LinkedHashMap<>(arrays);
        byte[][] names = given.keySet().stream().map(Utf8::bytes).toArray(byte[][]::new);
        byte[] to = Utf8.bytes(path);
        byte[] texts = Utf8.bytes(metadata);
        try (Entered of = new Entered(given.values().toArray(new ViaArray[0]))) {
            return Calls.get(
                    stream,
                    order -> FileOptions.with(
                            options, asked -> save.run(to, of.handles(), names, texts, asked, order)));
        }
    }

    /** Returns a view of a tensor in a buffer. */
    public ViaArray array(long number, ViaArray buffer) {
        return new ViaArray(Calls.get(this, buffer, (archive, of) -> Native.via_archive_array(archive, number, of)));
    }

    /** Allocates a buffer, and reads it; null is host memory, and no stream. */
    public ViaArray load(ViaMemory memory, ViaStream stream) {
        return new ViaArray(MemoryPressure.retry(() -> Calls.get(this, memory, stream, Native::via_archive_load)));
    }

    /** Reads all tensors into a buffer; returns when they have arrived. */
    public void read(ViaArray buffer, ViaStream stream) {
        Calls.run(this, buffer, stream, Native::via_archive_read);
    }

    /** Starts to read all tensors into a buffer after the stream's work so far, and returns at once. */
    public CopyTask submitRead(ViaArray buffer, ViaStream stream) {
        return new CopyTask(Calls.get(this, buffer, stream, Native::via_archive_read_submit));
    }
}
