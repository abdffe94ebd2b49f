package org.viaduct;

import java.util.Objects;

/** Memory to allocate from. Arrays made from it keep what they need. */
public final class ViaMemory extends Resource {
    private ViaMemory(long handle) {
        super(handle, Native::via_memory_release);
    }

    /** Memory of a kind; deviceId is the CUDA device, 0 for host memory. */
    public static ViaMemory create(MemoryKind kind, int deviceId) {
        return new ViaMemory(Native.via_memory_create(kind.code, deviceId));
    }

    /** Memory that an allocator of the application's gives, which is kept alive as long as anything made from it. */
    public static ViaMemory custom(Device device, Allocator allocator) {
        long held = Bridge.hold(Objects.requireNonNull(allocator, "allocator"));
        try {
            return new ViaMemory(Native.via_memory_create_custom(
                    device.type(), device.id(), Bridge.ALLOCATE, held, Bridge.FREE, held, Bridge.DROP, held));
        } catch (Throwable thrown) {
            Bridge.drop(held);
            throw thrown;
        }
    }

    public Device device() {
        int type = (int) Calls.get(this, Native::via_memory_device_type);
        return new Device(type, (int) Calls.get(this, Native::via_memory_device_id));
    }

    /** Allocates a row-major array, not initialised; waits for the collector as {@link ViaArray#empty} does. */
    public ViaArray empty(DType dtype, long... shape) {
        return empty(null, dtype, shape);
    }

    /**
     * The same in the order of a stream, for pool memory (null is the legacy stream) and for an allocator of CUDA memory
     * (null is none): later work of the stream may use the memory at once.
     */
    public ViaArray empty(ViaStream stream, DType dtype, long... shape) {
        return new ViaArray(MemoryPressure.allocate(() -> Calls.get(
                this, stream, (memory, order) -> Native.via_empty(memory, dtype.code(), shape, order))));
    }
}
