package org.viaduct;

import java.lang.ref.Reference;
import java.nio.Buffer;
import java.util.Objects;

/**
 * How memory that exists is to be wrapped. Nothing is copied and nothing is touched; the defaults are row-major, host
 * memory, writable, and no owner.
 */
public final class WrapBuilder {
    private final long address;
    private final DType dtype;
    private final long[] shape;
    private final Buffer buffer;
    private final Reach room;
    private long[] strides;
    private Device device = Device.CPU;
    private int flags;
    private Object owner;
    private Runnable release;
    private long function;
    private long context;

    WrapBuilder(long address, DType dtype, long[] shape) {
        this(address, dtype, shape, null, null);
    }

    private WrapBuilder(long address, DType dtype, long[] shape, Buffer buffer, Reach room) {
        this.address = address;
        this.dtype = Objects.requireNonNull(dtype, "dtype");
        this.shape = shape.clone();
        this.buffer = buffer;
        this.room = room;
        this.owner = buffer;
    }

    static WrapBuilder of(Buffer buffer, DType dtype, long[] shape) {
        Objects.requireNonNull(buffer, "buffer");
        return of(buffer, (long) buffer.position() * Buffers.width(buffer), dtype, shape);
    }

    /** Memory of a buffer, the element with index 0 everywhere at a byte of it. */
    static WrapBuilder of(Buffer buffer, long offset, DType dtype, long... shape) {
        long first = Buffers.address(buffer);
        Buffers.requireNativeOrder(buffer, dtype);
        Reach room = new Reach(-offset, (long) buffer.limit() * Buffers.width(buffer) - offset);
        WrapBuilder made = new WrapBuilder(first + offset, dtype, shape, buffer, room);
        return buffer.isReadOnly() ? made.readOnly() : made;
    }

    /** Steps along each axis in elements, where Python's {@code strides} are bytes. */
    public WrapBuilder strides(long... steps) {
        strides = steps.clone();
        flags &= ~ViaConstants.VIA_WRAP_BYTE_STRIDES;
        return this;
    }

    /** Steps along each axis in bytes, as Python's {@code strides}. */
    public WrapBuilder byteStrides(long... steps) {
        strides = steps.clone();
        flags |= ViaConstants.VIA_WRAP_BYTE_STRIDES;
        return this;
    }

    /** Where the memory is; {@link Device#ANY} to find out from the address. */
    public WrapBuilder device(Device where) {
        device = where;
        return this;
    }

    /** Nothing may write through the array, its views or its exports. */
    public WrapBuilder readOnly() {
        flags |= ViaConstants.VIA_WRAP_READ_ONLY;
        return this;
    }

    /** A device's address is not looked up in the driver. */
    public WrapBuilder unchecked() {
        flags |= ViaConstants.VIA_WRAP_UNCHECKED;
        return this;
    }

    /** The first and last byte of host memory must be readable, which takes a system call each. */
    public WrapBuilder probe() {
        flags |= ViaConstants.VIA_WRAP_PROBE;
        return this;
    }

    /**
     * An object that is kept alive until the last view and export is gone; {@link ViaArray#owner} tells it. The owner
     * of a buffer's memory is the buffer until another is named, and the buffer is kept alive whoever is.
     */
    public WrapBuilder owner(Object object) {
        owner = object;
        return this;
    }

    /**
     * Run once, when the last view and export is gone, on whichever thread lets go last or on one of the library; what
     * it throws goes to that thread's handler of uncaught exceptions. Not run if wrapping fails.
     */
    public WrapBuilder release(Runnable action) {
        release = action;
        return this;
    }

    /**
     * The same by a function in C, void (*)(void *context); it takes the place of owner and release. Not for a buffer's
     * memory, which nothing in C can keep alive.
     */
    public WrapBuilder release(long releaseFunction, long releaseContext) {
        if (buffer != null) {
            throw ViaductException.refused(
                    ViaConstants.VIA_ERROR_UNSUPPORTED,
                    "releaseFunction is a function of C for a buffer's memory, which Java keeps alive; "
                            + "expected release(Runnable)");
        }
        function = releaseFunction;
        context = releaseContext;
        return this;
    }

    public ViaArray wrap() {
        requireRoom();
        boolean held = function == 0 && (owner != null || release != null || buffer != null);
        Loan loan = held ? new Loan(owner, release, buffer) : null;
        long reference = held ? Bridge.hold(loan) : context;
        try {
            return new ViaArray(wrapAs(held ? loan.function() : function, reference));
        } catch (Throwable thrown) {
            if (held) {
                Bridge.drop(reference);
            }
            throw thrown;
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    private long wrapAs(long releaseFunction, long releaseContext) {
        return Native.via_wrap(
                address, dtype.code(), shape, strides, device.type(), device.id(), flags, releaseFunction,
                releaseContext);
    }

    private void requireRoom() {
        if (room != null) {
            boolean inBytes = (flags & ViaConstants.VIA_WRAP_BYTE_STRIDES) != 0;
            room.requireWithin(Reach.of(dtype, shape, strides, inBytes));
        }
    }
}
