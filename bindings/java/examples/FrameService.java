package example;

import java.nio.ByteBuffer;
import org.viaduct.DType;
import org.viaduct.ViaArray;
import org.viaduct.Viaduct;

/**
 * A service in Java that fills frames, and a library in C that puts one colour of each on the GPU: the frame crosses as
 * an address, without a copy, and what comes back is memory of the device.
 */
public final class FrameService {
    private static final int ROWS = 480;
    private static final int COLUMNS = 640;
    private static final int COLOURS = 4;
    private static final int RED = 0;

    private FrameService() {}

    /** In frame_sink.c: consumes a tensor, and exports another. */
    private static native long keepColour(long tensor, long colour);

    public static void main(String[] arguments) {
        System.out.println(serve(arguments[0]));
    }

    /** Serves one frame by the native library at that path, and says what has become of it. */
    public static String serve(String library) {
        System.load(library);
        try (ViaArray kept = ViaArray.fromDlpack(kept(filled()));
                ViaArray back = ViaArray.empty(DType.UINT8, kept.shape())) {
            Viaduct.copy(back, kept);
            return kept + ": the last red is " + Byte.toUnsignedInt(back.buffer().get(ROWS * COLUMNS - 1));
        }
    }

    private static long kept(ByteBuffer pixels) {
        try (ViaArray frame = ViaArray.wrap(pixels, DType.UINT8, ROWS, COLUMNS, COLOURS)) {
            long tensor = keepColour(frame.toDlpack(), RED);
            if (tensor == 0) {
                throw new IllegalStateException(Viaduct.lastError());
            }
            return tensor;
        }
    }

    /** Each red says how far from the first pixel it is, modulo 251. */
    private static ByteBuffer filled() {
        ByteBuffer pixels = ByteBuffer.allocateDirect(ROWS * COLUMNS * COLOURS);
        for (int i = 0; i < ROWS * COLUMNS; ++i) {
            pixels.put(i * COLOURS + RED, (byte) (i % 251));
        }
        return pixels;
    }
}
