package org.viaduct;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import example.GpuToHost;
import example.MirrorFile;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The examples about a GPU's memory do their job, on a device where there is one. */
class PointerExamplesTest {
    private static boolean onGpu() {
        return Viaduct.cudaDeviceCount() > 0;
    }

    @Test
    void structsComeToTheHostWholeBehindAStreamAndByOneField() {
        String where = onGpu()
                ? "the particles are on a GPU"
                : "there is no CUDA device, so the particles are in host memory instead";
        assertEquals(
                where + "\nat once: number 9 has x 9.0, mass 4.5\nafter the stream's work: number 10 has y 20.0\n"
                        + "the masses alone, 524288 of 1572864 bytes: number 11 has 5.5\n",
                GpuToHost.run());
    }

    @Test
    void everyRowOfAFileIsTurnedAroundByBlocks(@TempDir Path folder) {
        long rows = 3 << 10;
        long columns = 1 << 10;
        Path in = folder.resolve("in.npy");
        Path out = folder.resolve("out.npy");
        try (ViaArray table = ViaArray.empty(DType.FLOAT32, rows, columns);
                ViaFile file = ViaFile.create(in, DType.FLOAT32, rows, columns)) {
            for (int i = 0; i < rows * columns; ++i) {
                table.buffer().putFloat(i * Float.BYTES, i);
            }
            file.write(table);
        }
        try (MirrorFile mirror = new MirrorFile(in, out)) {
            String reported = mirror.run();
            assertTrue(reported.startsWith(onGpu() ? "the blocks are on a GPU" : "there is no CUDA device"), reported);
            assertTrue(reported.endsWith("3072 rows in blocks of 2048"), reported);
        }
        try (ViaFile file = ViaFile.open(out);
                ViaArray transposed = file.map()) {
            for (int row = 0; row < rows; ++row) {
                for (int column = 0; column < columns; column += 341) {
                    long at = row * columns + column;
                    assertEquals((row + 1) * columns - 1 - column, transposed.buffer(at, 1).getFloat(0));
                }
            }
        }
    }
}
