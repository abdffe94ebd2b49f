package org.viaduct;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.ref.WeakReference;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;

/** Memory to allocate from, an allocator of Java's among it. */
class MemoryTest {
    /** Counts what it gives. */
    private static final class Counting implements Allocator {
        final Map<Long, Long> alive = new ConcurrentHashMap<>();
        String threadOfFree;

        @Override
        public long allocate(long nbytes, long alignment, long stream) {
            if (nbytes > 1 << 20) {
                throw new IllegalStateException("too much for this allocator");
            }
            long address = TestLibrary.allocate(nbytes, alignment);
            alive.put(address, nbytes);
            return address;
        }

        @Override
        public void free(long address, long nbytes, long stream) {
            assertEquals(nbytes, alive.remove(address));
            threadOfFree = Thread.currentThread().getName();
            TestLibrary.free(address);
        }
    }

    @Test
    void hostMemoryIsAligned() {
        try (ViaMemory host = ViaMemory.create(MemoryKind.HOST, 0);
                ViaArray array = host.empty(DType.UINT8, 100)) {
            assertEquals(0, array.address() % 64);
            assertEquals(Device.CPU, host.device());
        }
        assertThrows(ViaductException.class, () -> ViaMemory.create(MemoryKind.HOST, -1));
    }

    @Test
    void anAllocatorOfJavaGivesAndTakesBack() {
        Counting counting = new Counting();
        ViaArray array;
        try (ViaMemory memory = ViaMemory.custom(Device.CPU, counting)) {
            array = memory.empty(DType.FLOAT32, 10, 10);
        }
        assertEquals(Map.of(array.address(), 400L), counting.alive);
        array.close();
        assertTrue(counting.alive.isEmpty());
    }

    @Test
    void anAllocatorOfJavaTakesBackOnAThreadThatTheJvmDoesNotKnow() {
        Counting counting = new Counting();
        long tensor;
        try (ViaMemory memory = ViaMemory.custom(Device.CPU, counting);
                ViaArray array = memory.empty(DType.FLOAT32, 10)) {
            tensor = array.toDlpack();
        }
        TestLibrary.deleteOnForeignThread(tensor);
        assertEquals("viaduct-native", counting.threadOfFree);
    }

    @Test
    void whatAnAllocatorThrowsIsTheCauseOfTheFailure() {
        try (ViaMemory memory = ViaMemory.custom(Device.CPU, new Counting())) {
            CallbackException failure =
                    assertThrows(CallbackException.class, () -> memory.empty(DType.UINT8, 2 << 20));
            assertEquals("too much for this allocator", failure.getCause().getMessage());
            ShapeException other = assertThrows(ShapeException.class, () -> memory.empty(DType.UINT8, -1));
            assertNull(other.getCause());
        }
    }

    @Test
    void anAllocatorIsKeptAsLongAsAnythingMadeFromIt() {
        Counting counting = new Counting();
        WeakReference<Counting> watched = new WeakReference<>(counting);
        ViaMemory memory = ViaMemory.custom(Device.CPU, counting);
        ViaArray array = memory.empty(DType.UINT8, 16);
        memory.close();
        counting = null;
        for (int i = 0; i < 5; ++i) {
            System.gc();
            Samples.pause(5);
        }
        assertNotNull(watched.get());
        assertEquals(16, array.nbytes());
        array.close();
        Samples.collectUntil(() -> watched.get() == null);
    }
}
