package org.viaduct;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.function.LongUnaryOperator;

/**
 * A strided array on existing memory: a view of it that also keeps it alive. It does not change once made, so
 * any number of threads may use one. Views share the memory and hold it themselves: close them in any order.
 */
public final class ViaArray extends SegmentAccess {
    private Layout layout;

    ViaArray(long handle) {
        super(handle, Native::via_array_release);
    }

    // ------------------------------------------------------------------------------------------------ made of memory

    /** A row-major array of host memory, which outlives every use of it; see {@link WrapBuilder} for all else. */
    public static ViaArray wrap(long address, DType dtype, long... shape) {
        int cpu = ViaConstants.VIA_DEVICE_CPU;
        return new ViaArray(Native.via_wrap(address, dtype.code(), shape, null, cpu, 0, 0, 0, 0));
    }

    /**
     * A row-major array of what a direct buffer holds from its position on, which must be enough. The array keeps the
     * buffer alive, and is read-only if that is. Its byte order must be the machine's, unless elements are bytes.
     *
     * @throws InvalidArgumentException if the buffer is on the heap, of a closed arena or in another byte order
     * @throws ShapeException if the buffer holds less than the array
     */
    public static ViaArray wrap(Buffer buffer, DType dtype, long... shape) {
        return builder(buffer, dtype, shape).wrap();
    }

    /** An array of one dimension of all that a direct buffer of numbers holds from its position to its limit. */
    public static ViaArray wrap(Buffer buffer) {
        return wrap(buffer, DType.of(buffer), buffer.remaining());
    }

    /** An array of `count` elements from byte `offset` of a direct buffer on, whatever the buffer's position. */
    public static ViaArray wrap(ByteBuffer buffer, int offset, long count, DType dtype) {
        return WrapBuilder.of(buffer, offset, dtype, count).wrap();
    }

    /** Returns a builder for strides, devices, owners and flags. */
    public static WrapBuilder builder(long address, DType dtype, long... shape) {
        return new WrapBuilder(address, dtype, shape);
    }

    /** The same for a direct buffer from its position on. */
    public static WrapBuilder builder(Buffer buffer, DType dtype, long... shape) {
        return WrapBuilder.of(buffer, dtype, shape);
    }

    /**
     * Allocates a row-major array in host memory; its elements are not initialised. Where memory cannot be had, the
     * collector is asked for that of forgotten arrays and buffers: a refusal by {@link OutOfMemoryException} takes half
     * a second.
     */
    public static ViaArray empty(DType dtype, long... shape) {
        return new ViaArray(MemoryPressure.allocate(() -> Native.via_empty(0, dtype.code(), shape, 0)));
    }

    // ------------------------------------------------------------------------------------------------ inspected

    /** Returns the address of the element with index 0 on every axis. It is good as long as this array is open. */
    public long address() {
        return layout().address;
    }

    public DType dtype() {
        return layout().dtype;
    }

    public int ndim() {
        return layout().ndim;
    }

    /** Returns the extent of each axis. */
    public long[] shape() {
        return layout().shape.clone();
    }

    /**
     * Returns the step along each axis in elements, where Python's {@code strides} are bytes; null if some step is not a whole
     * number of elements.
     */
    public long[] strides() {
        long[] strides = layout().strides;
        return strides == null ? null : strides.clone();
    }

    /** Returns the step along each axis in bytes, as Python's {@code strides}; null if some step is not whole bytes. */
    public long[] byteStrides() {
        long[] strides = layout().byteStrides;
        return strides == null ? null : strides.clone();
    }

    public Device device() {
        return layout().device;
    }

    /** Returns the number of elements. */
    public long size() {
        return layout().size;
    }

    /** Returns the bytes of all elements, as a dense array would hold them. */
    public long nbytes() {
        return layout().nbytes;
    }

    public boolean isReadOnly() {
        return hasFlag(ViaConstants.VIA_ARRAY_READ_ONLY);
    }

    /** Returns whether an import copied, so that writes do not reach the original. */
    public boolean isCopied() {
        return hasFlag(ViaConstants.VIA_ARRAY_COPIED);
    }

    /** Returns whether an element is off its natural alignment. */
    public boolean isMisaligned() {
        return hasFlag(ViaConstants.VIA_ARRAY_MISALIGNED);
    }

    /** Returns whether elements narrower than a byte have a byte each. */
    public boolean isSubbytePadded() {
        return hasFlag(ViaConstants.VIA_ARRAY_SUBBYTE_PADDED);
    }

    /** Returns whether the array is dense in that order. */
    public boolean isContiguous(MemoryOrder order) {
        return Calls.get(this, array -> Native.via_array_is_contiguous(array, order.code)) != 0;
    }

    /**
     * Returns whether {@link #close} may wait for all work of a device, because it frees device, pinned or managed memory,
     * or ends that of another process: close it on a thread that may wait, without locks that this work needs.
     */
    public boolean closeWaits() {
        return Calls.get(this, Native::via_array_release_waits) != 0;
    }

    /** Returns the owner that the memory was wrapped with in Java, otherwise null. */
    public Object owner() {
        return Calls.object(this, ViaArray::ownerOf);
    }

    /** The context that the memory was wrapped with if `function` is its release function in C, else 0. */
    public long context(long function) {
        return Calls.get(this, array -> Native.via_array_context(array, function));
    }

    // ------------------------------------------------------------------------------------------------ views

    /** `count[i]` elements of axis i, from start[i] on, step[i] apart; null for all, for 0 and for 1. */
    public ViaArray slice(long[] start, long[] count, long[] step) {
        return view(array -> Native.via_array_slice(array, start, count, step));
    }

    /** Returns a view without an axis, at an index along it; negative numbers count from the end. */
    public ViaArray select(int axis, long index) {
        return view(array -> Native.via_array_select(array, axis, index));
    }

    /** Axis i of the view is axis axes[i] of the array. */
    public ViaArray permute(int... axes) {
        return view(array -> Native.via_array_permute(array, axes));
    }

    /** Returns a view with the axes reversed. */
    public ViaArray transpose() {
        return view(array -> Native.via_array_permute(array, null));
    }

    /** Returns a view of the same elements in row-major order with another shape; one extent may be -1. */
    public ViaArray reshape(long... shape) {
        return view(array -> Native.via_array_reshape(array, shape));
    }

    /** Repeats extents of 1, and adds axes in front; read-only. */
    public ViaArray broadcast(long... shape) {
        return view(array -> Native.via_array_broadcast(array, shape));
    }

    /** Returns a view without the named axes of extent 1, or without all of them. */
    public ViaArray squeeze(int... axes) {
        int[] named = axes.length == 0 ? null : axes;
        return view(array -> Native.via_array_squeeze(array, named));
    }

    /** Returns a view with a new axis of extent 1 at position `axis`. */
    public ViaArray expand(int axis) {
        return view(array -> Native.via_array_expand(array, axis));
    }

    /** Returns a view of the same bytes as elements of another type. */
    public ViaArray reinterpret(DType dtype) {
        return view(array -> Native.via_array_reinterpret(array, dtype.code()));
    }

    /** One field of every element, `byteOffset` into it; `shape` adds the axes of a field that is itself an array. */
    public ViaArray field(long byteOffset, DType dtype, long... shape) {
        return view(array -> Native.via_array_field(array, byteOffset, dtype.code(), shape));
    }

    /** Returns a read-only view. */
    public ViaArray asReadOnly() {
        return view(Native::via_array_as_read_only);
    }

    // ------------------------------------------------------------------------------------------------ as buffers

    /** All elements of dense host memory as a direct buffer: see {@link #buffer(long, long)}. */
    public ByteBuffer buffer() {
        return buffer(0, size());
    }

    /**
     * `count` elements from the `offset`-th on as a direct buffer on the same memory, in the machine's byte order, and
     * read-only if the array is. It waits until the content is ready. The buffer, and every slice of it, keeps the
     * memory alive, whether or not the array is closed. For dense row-major host memory, and 2 GiB at most.
     *
     * @throws DeviceException if the memory is a device's
     * @throws NeedsCopyException if the elements are not dense in row-major order, or the ends lie inside a byte
     * @throws ExtentOverflowException if there are more than 2^31 - 1 bytes
     * @throws OutOfRangeException if offset and count are not within the array
     */
    public ByteBuffer buffer(long offset, long count) {
        return Buffers.of(this, offset, count);
    }

    /** Its handle, with a reference that is the caller's to release. */
    long retained() {
        return Calls.get(this, array -> {
            Native.via_array_retain(array);
            return array;
        });
    }

    // ------------------------------------------------------------------------------------------------ exchanged

    /** {@link Exchange#toDlpack} with default options: the address of a DLManagedTensorVersioned. */
    public long toDlpack() {
        return Exchange.toDlpack(this, null, null);
    }

    /** {@link Exchange#fromDlpack} with default options. */
    public static ViaArray fromDlpack(long tensor) {
        return Exchange.fromDlpack(tensor, null, null);
    }

    /**
     * Describes the array for {@link #importIpc} in other processes of the host: memory of {@link MemoryKind#SHARED} or
     * of a CUDA device's own allocation. An import needs an array here to be open. Waits until the content is ready.
     */
    public byte[] exportIpc() {
        return Calls.object(this, Native::via_array_export_ipc);
    }

    /**
     * An array on the memory that another process described, in place. It holds the memory, and may outlive that
     * process. Memory of a device cannot be imported by the process it is of.
     */
    public static ViaArray importIpc(byte[] description) {
        return new ViaArray(MemoryPressure.retry(() -> Native.via_array_import_ipc(description)));
    }

    // ------------------------------------------------------------------------------------------------ ordered

    /** Records that the stream's work so far uses the memory; its release waits for that work. */
    public void recordStream(ViaStream stream) {
        Calls.run(this, stream, Native::via_array_record_stream);
    }

    /** Records that the stream's work so far writes the content; reads and exports wait for it. */
    public void setReady(ViaStream stream) {
        Calls.run(this, stream, Native::via_array_set_ready);
    }

    /** Returns whether no known work still writes the content. */
    public boolean isReady() {
        return Calls.get(this, Native::via_array_is_ready) != 0;
    }

    /** Waits until the content is ready. */
    public void synchronize() {
        Calls.run(this, Native::via_array_synchronize);
    }

    @Override
    public String toString() {
        if (isClosed()) {
            return "ViaArray(closed)";
        }
        return "ViaArray(" + dtype() + ", " + Arrays.toString(shape()) + ", " + device() + ")";
    }

    /** Known once asked for; two threads that ask at once find the same. */
    Layout layout() {
        handle.requireOpen(this);
        Layout known = layout;
        if (known == null) {
            known = Calls.object(this, Layout::new);
            layout = known;
        }
        return known;
    }

    private boolean hasFlag(int flag) {
        return (layout().flags & flag) != 0;
    }

    private ViaArray view(LongUnaryOperator make) {
        return new ViaArray(Calls.get(this, make));
    }

    private static Object ownerOf(long array) {
        long held = Native.via_array_context(array, Bridge.DROP);
        if (held == 0) {
            held = Native.via_array_context(array, Bridge.RELEASE);
        }
        return held != 0 && Bridge.held(held) instanceof BorrowedMemory borrowed ? borrowed.owner() : null;
    }
}
