package org.viaduct;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.file.Path;

/** The library: copies, and what is known of it and of the machine. All of it may be called from any thread. */
public final class Viaduct {
    private Viaduct() {}

    // ------------------------------------------------------------------------------------------------ copies

    /** Copies between arrays of equal shape and type, of any layout and anywhere; returns when it is done. */
    public static void copy(ViaArray dst, ViaArray src) {
        Calls.run(dst, src, Native::via_copy);
    }

    /** Copies in stream order; null is the legacy stream. Both arrays are held until it has run. */
    public static void copyAsync(ViaArray dst, ViaArray src, ViaStream stream) {
        Calls.run(dst, src, stream, Native::via_copy_async);
    }

    /** Starts a copy, between arrays of host memory too, and returns at once. */
    public static CopyTask submit(ViaArray dst, ViaArray src) {
        return submit(dst, src, null);
    }

    /** Starts a copy after the stream's work so far, and returns at once. */
    public static CopyTask submit(ViaArray dst, ViaArray src, ViaStream stream) {
        return new CopyTask(Calls.get(dst, src, stream, Native::via_copy_submit));
    }

    /** Writes one array to a .npy file, or to a raw one, which replaces what had the path; null is no options. */
    public static void save(Path path, ViaArray array, FileOptions options) {
        byte[] name = Utf8.bytes(path);
        Calls.run(array, of -> FileOptions.with(options, asked -> {
            Native.via_save(name, of, asked);
            return 0;
        }));
    }

    /** Reads a whole file: the array of a .npy header, otherwise bytes. null is host memory, and no options. */
    public static ViaArray load(Path path, ViaMemory memory, FileOptions options) {
        byte[] name = Utf8.bytes(path);
        return new ViaArray(MemoryPressure.retry(() -> Calls.get(
                memory, in -> FileOptions.with(options, asked -> Native.via_load(name, in, asked)))));
    }

    /**
     * Copies rows by index along an axis: row srcIndex[k] of src to row dstIndex[k] of dst. An index is an array of int32
     * or int64, and null is 0, 1, 2 ... Complete on return without a stream, otherwise queued on it.
     */
    public static void copyIndexed(
            ViaArray dst, ViaArray dstIndex, ViaArray src, ViaArray srcIndex, int axis, ViaStream stream) {
        copyIndexed(dst, dstIndex, src, srcIndex, axis, null, stream);
    }

    /** The same to another type, converted as {@link #convert} does; null options stand for one type. */
    public static void copyIndexed(
            ViaArray dst,
            ViaArray dstIndex,
            ViaArray src,
            ViaArray srcIndex,
            int axis,
            ConvertOptions options,
            ViaStream stream) {
        try (Entered arrays = new Entered(new ViaArray[] {dst, dstIndex, src, srcIndex})) {
            long[] of = arrays.handles();
            ConvertOptions.with(options, asked -> {
                Calls.run(stream, order -> Native.via_copy_indexed(of[0], of[1], of[2], of[3], axis, asked, order));
                return 0;
            });
        }
    }

    /** Starts a copy by index after the stream's work so far, and returns at once; a null stream is none. */
    public static CopyTask submitIndexed(
            ViaArray dst, ViaArray dstIndex, ViaArray src, ViaArray srcIndex, int axis, ViaStream stream) {
        return submitIndexed(dst, dstIndex, src, srcIndex, axis, null, stream);
    }

    /** The same to another type; null options stand for one type. */
    public static CopyTask submitIndexed(
            ViaArray dst,
            ViaArray dstIndex,
            ViaArray src,
            ViaArray srcIndex,
            int axis,
            ConvertOptions options,
            ViaStream stream) {
        try (Entered arrays = new Entered(new ViaArray[] {dst, dstIndex, src, srcIndex})) {
            long[] of = arrays.handles();
            return new CopyTask(ConvertOptions.with(options, asked -> Calls.get(
                    stream,
                    order -> Native.via_copy_indexed_submit(of[0], of[1], of[2], of[3], axis, asked, order))));
        }
    }

    /** Copies pairs of arrays in stream order; the pairs must not overlap one another. */
    public static void copyBatch(ViaArray[] dsts, ViaArray[] srcs, ViaStream stream) {
        try (Entered destinations = new Entered(dsts);
                Entered sources = new Entered(srcs)) {
            Calls.run(stream, order -> Native.via_copy_batch(destinations.handles(), sources.handles(), order));
        }
    }

    /**
     * Copies to another type, and converts on the way; null options are the defaults. Complete on return without a
     * stream, otherwise queued on it.
     */
    public static void convert(ViaArray dst, ViaArray src, ConvertOptions options, ViaStream stream) {
        ConvertOptions.with(options, asked -> {
            Calls.run(dst, src, stream, (to, from, order) -> Native.via_convert(to, from, asked, order));
            return 0;
        });
    }

    /** Starts a conversion after the stream's work so far, and returns at once; a null stream is none. */
    public static CopyTask submitConvert(ViaArray dst, ViaArray src, ConvertOptions options, ViaStream stream) {
        return new CopyTask(ConvertOptions.with(options, asked -> Calls.get(
                dst, src, stream, (to, from, order) -> Native.via_convert_submit(to, from, asked, order))));
    }

    /** Returns how {@link #convert} would do it, and where, as text; converts nothing. */
    public static String explainConvert(ViaArray dst, ViaArray src, ConvertOptions options) {
        String[] text = new String[1];
        ConvertOptions.with(options, asked -> {
            text[0] = Calls.object(dst, to ->
                    Utf8.text(Calls.object(src, from -> Native.via_convert_explain(to, from, asked))));
            return 0;
        });
        return text[0];
    }

    /** Copies bytes between two raw addresses, of whichever memory; in stream order if a stream is given. */
    public static void memcpy(long dst, long src, long nbytes, ViaStream stream) {
        Calls.run(stream, order -> Native.via_memcpy(dst, src, nbytes, order));
    }

    /** Sets every byte to 0; in stream order if a stream is given. */
    public static void fillZero(ViaArray dst, ViaStream stream) {
        Calls.run(dst, stream, (array, order) -> Native.via_fill(array, 0, order));
    }

    /** Sets every element to the first bytes that a direct buffer holds from its position on, one element at least. */
    public static void fill(ViaArray dst, ByteBuffer element, ViaStream stream) {
        long address = Buffers.address(element) + element.position();
        requireElement(dst.dtype(), element);
        Calls.run(dst, stream, (array, order) -> Native.via_fill(array, address, order));
        Reference.reachabilityFence(element);
    }

    /** Returns how {@link #copy} would do it, as text; copies nothing. */
    public static String explain(ViaArray dst, ViaArray src) {
        return Calls.object(dst, to -> Utf8.text(Calls.object(src, from -> Native.via_copy_explain(to, from))));
    }

    // ------------------------------------------------------------------------------------------------ the library

    /** The library's version: major * 1000000 + minor * 1000 + patch. */
    public static int version() {
        return Native.via_version();
    }

    /** Checks that the library serves a program written for version major.minor. */
    public static void require(int major, int minor) {
        Native.via_require(major, minor);
    }

    /** The name of a status: "VIA_ERROR_SHAPE". */
    public static String statusName(int status) {
        return Utf8.text(Native.via_status_name(status));
    }

    /**
     * What the calling thread's last failing call found, as its exception said; "" before the first. That thread is the
     * system's: ask the exception on a virtual thread.
     */
    public static String lastError() {
        return Utf8.text(Native.via_last_error());
    }

    /** The errno or CUresult behind it; 0 where there was none. */
    public static int lastErrorCode() {
        return Native.via_last_error_code();
    }

    /** Counts of live objects and bytes. */
    public static Stats stats() {
        return Struct.filled(
                Native.new_via_stats_info(), Native::delete_via_stats_info, Native::via_stats, Stats::read);
    }

    /** Sets how many threads one host copy may use; 0 goes back to the default. */
    public static void setNumThreads(int count) {
        Native.via_set_num_threads(count);
    }

    public static int numThreads() {
        return Native.via_num_threads();
    }

    // ------------------------------------------------------------------------------------------------ the machine

    /** Returns the number of usable CUDA devices; {@link #deviceInfo} of the CPU says why there are none. */
    public static int cudaDeviceCount() {
        return Native.via_device_count(ViaConstants.VIA_DEVICE_CUDA);
    }

    /** Describes {@link Device#CPU} or a CUDA device. */
    public static DeviceInfo deviceInfo(Device device) {
        return Struct.filled(
                Native.new_via_device_properties(),
                Native::delete_via_device_properties,
                struct -> Native.via_device_info(device.type(), device.id(), struct),
                DeviceInfo::read);
    }

    /** Returns what an address points to. */
    public static PointerInfo pointerInfo(long address) {
        return Struct.filled(
                Native.new_via_pointer_info(),
                Native::delete_via_pointer_info,
                struct -> Native.via_pointer_query(address, struct),
                PointerInfo::read);
    }

    /** Loads now, for one CUDA device, what is otherwise loaded at first use. */
    public static void warmUp(int deviceId) {
        Native.via_cuda_warmup(deviceId);
    }

    /** Measures, for seconds, where one copy route becomes faster than another, and uses the result from then on. */
    public static void calibrate(int deviceId) {
        Native.via_calibrate(deviceId);
    }

    /** Saves the results of {@link #calibrate}. */
    public static void saveCalibration(Path file) {
        Native.via_calibration_save(Utf8.bytes(file));
    }

    /** Restores what {@link #saveCalibration} wrote. */
    public static void loadCalibration(Path file) {
        Native.via_calibration_load(Utf8.bytes(file));
    }

    private static void requireElement(DType dtype, ByteBuffer element) {
        Buffers.requireNativeOrder(element, dtype);
        if (element.remaining() * 8L < dtype.bits()) {
            throw ViaductException.refused(
                    ViaConstants.VIA_ERROR_SHAPE,
                    "element has " + element.remaining() + " bytes; expected one element of " + dtype);
        }
    }
}
