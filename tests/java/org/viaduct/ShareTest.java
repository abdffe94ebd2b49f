package org.viaduct;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Arrays that other processes use in place. */
class ShareTest {
    private static ViaArray shared(long... shape) {
        try (ViaMemory memory = ViaMemory.create(MemoryKind.SHARED, 0)) {
            return memory.empty(DType.FLOAT32, shape);
        }
    }

    private static FloatBuffer numbers(ViaArray array) {
        return array.buffer().asFloatBuffer();
    }

    private static String runSharing(byte[] description) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(System.getProperty("java.home") + "/bin/java", "-Xmx256m"));
        if (Runtime.version().feature() >= 22) {
            command.add("--enable-native-access=ALL-UNNAMED");
        }
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), "org.viaduct.Sharing"));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        process.getOutputStream().write(description);
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), output);
        return output;
    }

    @Test
    void anotherProcessWritesToTheSameMemory() throws IOException, InterruptedException {
        try (ViaArray array = shared(3, 4)) {
            for (int i = 0; i < 12; i++) {
                numbers(array).put(i, i);
            }
            assertEquals("66.0", runSharing(array.exportIpc()));
            assertArrayEquals(new float[] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, Samples.elements(array));
        }
    }

    @Test
    void aViewArrivesAsItLiesAndReadOnlyStaysSo() {
        try (ViaArray array = shared(3, 4);
                ViaArray view = array.transpose().asReadOnly();
                ViaArray same = ViaArray.importIpc(view.exportIpc())) {
            numbers(array).put(11, 5);
            assertArrayEquals(new long[] {4, 3}, same.shape());
            assertNotEquals(array.address(), same.address());
            assertTrue(same.isReadOnly());
            assertEquals(5, Samples.elements(same)[11]);
        }
    }

    @Test
    void memoryGoesWithTheLastArray() {
        ViaArray array = shared(4);
        byte[] description = array.exportIpc();
        try (ViaArray same = ViaArray.importIpc(description)) {
            numbers(same).put(3, 1);
            Viaduct.fillZero(array, null);
            array.close();
            assertEquals(0, numbers(same).get(3));
            assertThrows(ExchangeException.class, () -> ViaArray.importIpc(description));
        }
    }

    @Test
    void whatCannotBeSharedOrIsNoDescriptionIsRefused() {
        try (ViaArray array = Samples.grid()) {
            assertThrows(UnsupportedException.class, array::exportIpc);
        }
        for (int length : new int[] {0, 200, 5000}) {
            assertThrows(ExchangeException.class, () -> ViaArray.importIpc(new byte[length]));
        }
    }
}
