package example;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.viaduct.CopyTask;
import org.viaduct.DType;
import org.viaduct.MemoryKind;
import org.viaduct.ViaArray;
import org.viaduct.ViaMemory;
import org.viaduct.ViaStream;
import org.viaduct.Viaduct;

/**
 * A GPU array to the CPU by pointers: at once, on a stream, and one field of an array of C structs. Next to each call,
 * that of JCuda, whose Pointer and cudaStream_t are addresses as well: it takes bytes which lie together. Without a GPU
 * both ends are host memory, and the same calls serve.
 */
public final class GpuToHost {
    private static final int COUNT = 1 << 16;

    /** struct particle { float x, y; int32_t id; double mass; } */
    private static final int X = 0, Y = 4, ID = 8, MASS = 16, PARTICLE = 24;

    private GpuToHost() {}

    public static void main(String[] arguments) {
        System.out.print(run());
    }

    /** What has arrived, line by line. */
    public static String run() {
        boolean onGpu = Viaduct.cudaDeviceCount() > 0;
        ByteBuffer host = newBuffer();
        try (ViaMemory memory = ViaMemory.create(onGpu ? MemoryKind.DEVICE : MemoryKind.HOST, 0);
                ViaArray simulation = memory.empty(DType.record(PARTICLE), COUNT)) {
            simulate(simulation);
            return (onGpu ? "the particles are on a GPU\n"
                            : "there is no CUDA device, so the particles are in host memory instead\n")
                    + atOnce(simulation.address(), host)
                    + onAStream(simulation, host, onGpu ? ViaStream.LEGACY : null)
                    + oneField(simulation);
        }
    }

    private static ByteBuffer newBuffer() {
        return ByteBuffer.allocateDirect(COUNT * PARTICLE).order(ByteOrder.nativeOrder());
    }

    /** A buffer's memory as an array of structs. */
    private static ViaArray structs(ByteBuffer buffer) {
        return ViaArray.wrap(buffer, DType.record(PARTICLE), COUNT);
    }

    private static void simulate(ViaArray simulation) {
        ByteBuffer start = newBuffer();
        for (int i = 0; i < COUNT; ++i) {
            start.putFloat(i * PARTICLE + X, i);
            start.putFloat(i * PARTICLE + Y, 2 * i);
            start.putInt(i * PARTICLE + ID, i);
            start.putDouble(i * PARTICLE + MASS, i / 2.0);
        }
        try (ViaArray particles = structs(start)) {
            Viaduct.copy(simulation, particles);
        }
    }

    /** cudaMemcpy(Pointer.to(host), device, nbytes, cudaMemcpyDeviceToHost) */
    private static String atOnce(long device, ByteBuffer host) {
        try (ViaArray out = ViaArray.wrap(host)) {
            Viaduct.memcpy(out.address(), device, out.nbytes(), null);
        }
        return "at once: number 9 has x " + host.getFloat(9 * PARTICLE + X) + ", mass "
                + host.getDouble(9 * PARTICLE + MASS) + "\n";
    }

    /** cudaMemcpyAsync(Pointer.to(host), device, nbytes, kind, stream), which waits, the buffer not being pinned. */
    private static String onAStream(ViaArray simulation, ByteBuffer host, ViaStream stream) {
        try (ViaArray out = structs(host);
                CopyTask task = Viaduct.submit(out, simulation, stream)) { // after the stream's work; returns at once
            task.future().join(); // or thenRunAsync(...): no thread has to wait
        }
        return "after the stream's work: number 10 has y " + host.getFloat(10 * PARTICLE + Y) + "\n";
    }

    /** cudaMemcpy2D(masses, 8, device + 16, 24, 8, count, cudaMemcpyDeviceToHost) */
    private static String oneField(ViaArray simulation) {
        ByteBuffer masses = ByteBuffer.allocateDirect(COUNT * Double.BYTES).order(ByteOrder.nativeOrder());
        try (ViaArray field = simulation.field(MASS, DType.FLOAT64);
                ViaArray out = ViaArray.wrap(masses, DType.FLOAT64, COUNT)) {
            Viaduct.copy(out, field);
            return "the masses alone, " + out.nbytes() + " of " + simulation.nbytes() + " bytes: number 11 has "
                    + masses.getDouble(11 * Double.BYTES) + "\n";
        }
    }
}
