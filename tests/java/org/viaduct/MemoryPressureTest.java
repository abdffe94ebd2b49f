package org.viaduct;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Memory that only garbage holds is given back before an allocation is refused, and before the machine is full. */
class MemoryPressureTest {
    private static final int BLOCK = 64 << 20;
    private static final long ROOM = 4L * BLOCK;
    private static final int ROUNDS = 40;

    @BeforeEach
    void collect() {
        Samples.collectUntil(() -> Viaduct.stats().liveArrays() == 0);
    }

    @AfterEach
    void liftTheLimit() {
        TestLibrary.limitGrowth(-1);
    }

    @Test
    void aClosedArrayWhoseBufferIsForgottenMakesRoomForTheNext() {
        assumeTrue(TestLibrary.limitGrowth(ROOM));
        for (int i = 0; i < ROUNDS; ++i) {
            try (ViaArray array = ViaArray.empty(DType.UINT8, BLOCK)) {
                ByteBuffer bytes = array.buffer();
                bytes.put(0, (byte) i);
                assertEquals((byte) i, bytes.get(0));
            }
        }
    }

    @Test
    void aForgottenArrayMakesRoomForTheNext() {
        assumeTrue(TestLibrary.limitGrowth(ROOM));
        try (ViaMemory host = ViaMemory.create(MemoryKind.HOST, 0)) {
            for (int i = 0; i < ROUNDS; ++i) {
                assertEquals(BLOCK, host.empty(DType.UINT8, BLOCK).nbytes());
            }
        }
    }

    @Test
    void aForgottenMapMakesRoomForTheNext(@TempDir Path folder) throws IOException {
        Path path = folder.resolve("block.raw");
        try (ViaFile file = ViaFile.create(path, DType.UINT8, BLOCK)) {
            assumeTrue(TestLibrary.limitGrowth(ROOM));
            for (int i = 0; i < ROUNDS; ++i) {
                assertEquals(BLOCK, file.map(0, DType.UINT8, BLOCK).nbytes());
            }
        }
        Files.delete(path);
    }

    /** The system promises more than it has: what is not collected in time is not refused, it ends the process. */
    @Test
    void garbageNeverHoldsAsMuchAsTheMachineHas() {
        long machine = Viaduct.deviceInfo(Device.CPU).totalBytes();
        long most = 0;
        for (int i = 0; i < 24; ++i) {
            try (ViaArray array = ViaArray.empty(DType.UINT8, machine / 12)) {
                array.buffer(0, 1);
                most = Math.max(most, Viaduct.stats().hostBytes());
            }
        }
        assertTrue(most < machine, most + " bytes of " + machine);
    }

    @Test
    void memoryThatIsInUseIsRefusedInTheEnd() {
        assumeTrue(TestLibrary.limitGrowth(ROOM));
        Thread.currentThread().interrupt();
        assertThrows(OutOfMemoryException.class, () -> ViaArray.empty(DType.UINT8, 64 * ROOM));
        assertTrue(Thread.interrupted(), "an interrupt that came meanwhile is kept");
    }
}
