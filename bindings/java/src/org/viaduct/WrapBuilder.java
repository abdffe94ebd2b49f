package org.viaduct;

import java.lang.ref.Reference;
import java.nio.Buffer;
import java.util.Objects;

/**
 * Wraps existing memory. Copies nothing and accesses nothing. The defaults are row-major, host memory, writable, and no
 * owner.
 */
public final class WrapBuilder {
    private final long address;
    private final DType dtype;
    private final long[] shape;
    private final Object memory;
    private final ByteRange room;
    private long nbytes = Long.MAX_VALUE;
    private boolean isBounded;
    private long[] strides;
    private Device device = Device.CPU;
    private int flags;
    private Object owner;
    private Runnable release;
    private boolean isReleaseTaken;
    private long function;
    private long context;

    WrapBuilder(long address, DType dtype, long[] shape) {
        this(address, dtype, shape, null, null);
    }

    private WrapBuilder(long address, DType dtype, long[] shape, Object memory, ByteRange room) {
        this.address = address;
        this.dtype = Objects.requireNonNull(dtype, "dtype");
        this.shape = shape.clone();
        this.memory = memory;
        this.room = room;
        this.owner = memory;
    }

    static WrapBuilder of(Buffer buffer, DType dtype, long[] shape) {
        Objects.requireNonNull(buffer, "buffer");
        return of(buffer, (long) buffer.position() * Buffers.width(buffer), dtype, shape);
    }

    /** Memory of a buffer, the element with index 0 everywhere at a byte of it. */
    static WrapBuilder of(Buffer buffer, long offset, DType dtype, long... shape) {
        long first = Buffers.address(buffer);
        Buffers.requireNativeOrder(buffer, dtype);
        ByteRange room = new ByteRange(-offset, (long) buffer.limit() * Buffers.width(buffer) - offset);
        return of(buffer, first + offset, room, buffer.isReadOnly(), dtype, shape);
    }

    /** Memory that an object of Java's holds, which is kept alive. */
    static WrapBuilder of(Object memory, long address, ByteRange room, boolean readOnly, DType dtype, long[] shape) {
        WrapBuilder made = new WrapBuilder(address, dtype, shape, memory, room);
        return readOnly ? made.readOnly() : made;
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

    /** Requires every element to lie within so many bytes from the address on; for foreign pointers of known size. */
    public WrapBuilder nbytes(long bytes) {
        if (bytes < 0) {
            throw ViaductException.refused(
                    ViaConstants.VIA_ERROR_INVALID_ARGUMENT, "nbytes is " + bytes + "; expected 0 or more");
        }
        nbytes = bytes;
        isBounded = true;
        return this;
    }

    /** Sets the device; {@link Device#ANY} detects it from the address. */
    public WrapBuilder device(Device where) {
        device = where;
        return this;
    }

    /** Makes the array, its views and its exports read-only. */
    public WrapBuilder readOnly() {
        flags |= ViaConstants.VIA_WRAP_READ_ONLY;
        return this;
    }

    /** Does not look a device's address up in the driver. */
    public WrapBuilder unchecked() {
        flags |= ViaConstants.VIA_WRAP_UNCHECKED;
        return this;
    }

    /** Requires the first and last byte of host memory to be readable; costs a system call each. */
    public WrapBuilder probe() {
        flags |= ViaConstants.VIA_WRAP_PROBE;
        return this;
    }

    /**
     * An object that is kept alive until the last view and export is gone; {@link ViaArray#owner} reports it. The owner
     * of a buffer's memory is the buffer until another is named, and the buffer is kept alive whoever is.
     */
    public WrapBuilder owner(Object object) {
        owner = object;
        return this;
    }

    /**
     * Run once, when the last view and export is gone, on whichever thread releases it last or on one of the library; what
     * it throws goes to that thread's handler of uncaught exceptions. Not run if wrapping fails.
     */
    public WrapBuilder release(Runnable action) {
        release = action;
        isReleaseTaken = false;
        return this;
    }

    /**
     * The same by a function in C, void (*)(void *context); it takes the place of owner and release. Not for a buffer's
     * memory, which nothing in C can keep alive.
     */
    public WrapBuilder release(long releaseFunction, long releaseContext) {
        if (memory != null) {
            throw ViaductException.refused(
                    ViaConstants.VIA_ERROR_UNSUPPORTED,
                    "releaseFunction is a function of C for a buffer's memory, which Java keeps alive; "
                            + "expected release(Runnable)");
        }
        function = releaseFunction;
        context = releaseContext;
        isReleaseTaken = false;
        return this;
    }

    /** A release is for one array: another array of the same builder needs one of its own. */
    public ViaArray wrap() {
        requireRoom();
        requireOwnRelease();
        boolean held = function == 0 && (owner != null || release != null || memory != null);
        BorrowedMemory borrowed = held ? new BorrowedMemory(owner, release, memory) : null;
        long reference = held ? Bridge.hold(borrowed) : context;
        try {
            ViaArray array = new ViaArray(wrapAs(held ? borrowed.function() : function, reference));
            isReleaseTaken = release != null || function != 0;
            return array;
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

    private void requireOwnRelease() {
        if (isReleaseTaken) {
            throw ViaductException.refused(
                    ViaConstants.VIA_ERROR_INVALID_ARGUMENT,
                    "release is that of another array; expected one for each array");
        }
    }

    private void requireRoom() {
        if (room == null && !isBounded) {
            return;
        }
        boolean inBytes = (flags & ViaConstants.VIA_WRAP_BYTE_STRIDES) != 0;
        ByteRange wanted = ByteRange.of(dtype, shape, strides, inBytes);
        if (room != null) {
            room.requireWithin(wanted);
        }
        if (isBounded) {
            wanted.requireBound(nbytes);
        }
    }
}
