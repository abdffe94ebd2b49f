package org.viaduct;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Memory lives exactly as long as somebody has a share in it, and each release runs once. */
class LifetimeTest {
    private Stats before;

    @BeforeEach
    void countWhatIsAlive() {
        // What earlier tests have forgotten would go in the middle of this one.
        Samples.collectUntil(() -> Viaduct.stats().equals(nothing()), nothing());
        before = Viaduct.stats();
    }

    @AfterEach
    void nothingIsLeft() {
        Samples.collectUntil(() -> Viaduct.stats().equals(before), before);
    }

    /** Nothing is alive; memory for staging stays. */
    private static Stats nothing() {
        return new Stats(0, 0, 0, 0, 0, 0, 0, 0, Viaduct.stats().stagedBytes(), 0);
    }

    @Test
    void aViewKeepsTheBufferWhoseArrayAndNameAreGone() {
        FloatBuffer numbers = Samples.counted(12);
        WeakReference<FloatBuffer> watched = new WeakReference<>(numbers);
        ViaArray array = ViaArray.wrap(numbers);
        ViaArray view = array.reshape(3, 4).transpose();
        array.close();
        array = null;
        numbers = null;
        for (int i = 0; i < 5; ++i) {
            System.gc();
            Samples.pause(5);
        }
        assertNotNull(watched.get());
        assertEquals(11, Samples.elements(view)[11]);
        view.close();
        Samples.collectUntil(() -> watched.get() == null);
    }

    /** The buffer is kept though it is not the owner: its memory would be the system's again under a live array. */
    @Test
    void aBufferIsKeptWhoeverOwnsTheArray() {
        List<UnaryOperator<WrapBuilder>> changes =
                List.of(made -> made.owner("another"), made -> made.owner(null), made -> made.release(() -> {}),
                        made -> made.owner(null).release(() -> {}));
        for (UnaryOperator<WrapBuilder> change : changes) {
            FloatBuffer numbers = Samples.counted(12);
            WeakReference<FloatBuffer> watched = new WeakReference<>(numbers);
            ViaArray array = change.apply(ViaArray.builder(numbers, DType.FLOAT32, 12)).wrap();
            numbers = null;
            for (int i = 0; i < 5; ++i) {
                System.gc();
                Samples.pause(5);
            }
            assertNotNull(watched.get());
            assertEquals(11, Samples.elements(array)[11]);
            array.close();
            Samples.collectUntil(() -> watched.get() == null);
        }
    }

    @Test
    void anOwnerIsReportedInPlaceOfTheBuffer() {
        FloatBuffer numbers = Samples.counted(12);
        try (ViaArray another = ViaArray.builder(numbers, DType.FLOAT32, 12).owner("another").wrap();
                ViaArray none = ViaArray.builder(numbers, DType.FLOAT32, 12).owner(null).wrap()) {
            assertEquals("another", another.owner());
            assertNull(none.owner());
        }
    }

    /** A second array of the same release would free the memory twice. */
    @Test
    void aReleaseIsForOneArray() {
        AtomicInteger released = new AtomicInteger();
        WrapBuilder builder =
                ViaArray.builder(Samples.counted(12), DType.FLOAT32, 12).release(released::incrementAndGet);
        builder.wrap().close();
        assertThrows(InvalidArgumentException.class, builder::wrap);
        assertEquals(1, released.get());
        builder.release(released::incrementAndGet).wrap().close();
        assertEquals(2, released.get());
    }

    @Test
    void aReleaseFunctionOfCIsRefusedForABuffer() {
        WrapBuilder builder = ViaArray.builder(Samples.counted(12), DType.FLOAT32, 12);
        long function = TestLibrary.freeFunction();
        assertThrows(UnsupportedException.class, () -> builder.release(function, 0));
        builder.wrap().close();
    }

    @Test
    void aMappedBufferOutlivesItsFileItsArrayAndTheName(@TempDir Path folder) throws IOException {
        Path path = folder.resolve("mapped.raw");
        Files.write(path, new byte[] {1, 2, 3, 4});
        ByteBuffer bytes = ViaFile.open(path).map(0, DType.INT8, 4).buffer();
        Files.delete(path);
        for (int i = 0; i < 5; ++i) {
            System.gc();
            Samples.pause(5);
        }
        assertEquals(4, bytes.get(3));
    }

    @Test
    void aForgottenFileIsClosedByTheCollector(@TempDir Path folder) throws IOException {
        Path path = folder.resolve("forgotten.raw");
        Files.write(path, new byte[4]);
        long before = openDescriptorsOf(path);
        assertNotNull(ViaFile.open(path).info());
        Samples.collectUntil(() -> openDescriptorsOf(path) == before);
    }

    private static long openDescriptorsOf(Path path) {
        try (var descriptors = Files.list(Path.of("/proc/self/fd"))) {
            return descriptors.filter(each -> isLinkTo(each, path)).count();
        } catch (IOException error) {
            throw new AssertionError(error);
        }
    }

    private static boolean isLinkTo(Path link, Path path) {
        try {
            return Files.readSymbolicLink(link).equals(path.toAbsolutePath());
        } catch (IOException gone) {
            return false;
        }
    }

    @Test
    void aBufferKeepsTheMemoryOfAnArrayThatIsClosed() {
        ViaArray array = ViaArray.empty(DType.FLOAT32, 4);
        FloatBuffer part = array.buffer(1, 3).slice().asFloatBuffer();
        array.close();
        for (int i = 0; i < 5; ++i) {
            System.gc();
            Samples.pause(5);
        }
        assertEquals(before.hostBytes() + 16, Viaduct.stats().hostBytes());
        part.put(2, 5);
        assertEquals(5, part.get(2));
    }

    @Test
    void aBufferKeepsTheMemoryOfAnArrayThatIsForgotten() {
        ByteBuffer bytes = ViaArray.empty(DType.FLOAT32, 4).buffer().asReadOnlyBuffer();
        for (int i = 0; i < 5; ++i) {
            System.gc();
            Samples.pause(5);
        }
        assertEquals(before.hostBytes() + 16, Viaduct.stats().hostBytes());
        assertEquals(16, bytes.remaining());
    }

    @Test
    void closingTwiceReleasesOnce() {
        AtomicInteger released = new AtomicInteger();
        ViaArray array = exported(released);
        array.close();
        array.close();
        assertTrue(array.isClosed());
        assertEquals(1, released.get());
    }

    @Test
    void theReleaseRunsAfterTheLastViewAndExport() {
        AtomicInteger released = new AtomicInteger();
        ViaArray array = exported(released);
        ViaArray view = array.select(0, 1);
        array.close();
        long tensor = view.toDlpack();
        view.close();
        assertEquals(0, released.get());
        Exchange.deleteDlpack(tensor);
        assertEquals(1, released.get());
    }

    @Test
    void aForgottenArrayIsReleasedByTheCollector() {
        AtomicInteger released = new AtomicInteger();
        assertNotNull(exported(released).reshape(12));
        Samples.collectUntil(() -> released.get() == 1);
    }

    @Test
    void closingOnAnotherThreadIsClosing() throws InterruptedException {
        AtomicInteger released = new AtomicInteger();
        ViaArray array = exported(released);
        Thread other = new Thread(array::close);
        other.start();
        other.join();
        assertEquals(1, released.get());
        assertThrows(IllegalStateException.class, array::ndim);
    }

    @Test
    void useAfterCloseIsAnExceptionAndSoIsEveryOtherCall() {
        ViaArray array = Samples.grid();
        array.ndim();
        array.close();
        IllegalStateException error = assertThrows(IllegalStateException.class, array::ndim);
        assertEquals("ViaArray: the handle is closed; expected an open one", error.getMessage());
        assertThrows(IllegalStateException.class, array::address);
        assertThrows(IllegalStateException.class, array::transpose);
        assertThrows(IllegalStateException.class, array::buffer);
        assertThrows(IllegalStateException.class, array::toDlpack);
        assertThrows(IllegalStateException.class, array::owner);
        assertEquals("ViaArray(closed)", array.toString());
        try (ViaArray open = Samples.grid()) {
            assertThrows(IllegalStateException.class, () -> Viaduct.copy(open, array));
            assertThrows(IllegalStateException.class, () -> Viaduct.copy(array, open));
            ViaArray[] both = {open, array};
            assertThrows(IllegalStateException.class, () -> Viaduct.copyBatch(both, both, null));
            assertEquals(12, open.size());
        }
    }

    @Test
    void aCallUnderWayOutlivesACloseOnAnotherThread() {
        ViaMemory[] memory = new ViaMemory[1];
        memory[0] = ViaMemory.custom(Device.CPU, new Allocator() {
            @Override
            public long allocate(long nbytes, long alignment, long stream) {
                Thread closing = new Thread(memory[0]::close);
                closing.start();
                joined(closing);
                assertTrue(memory[0].isClosed());
                return TestLibrary.allocate(nbytes, alignment);
            }

            @Override
            public void free(long address, long nbytes, long stream) {
                TestLibrary.free(address);
            }
        });
        try (ViaArray array = memory[0].empty(DType.FLOAT32, 1000)) {
            Viaduct.fillZero(array, null);
            assertEquals(0, array.buffer().getFloat(0));
        }
        assertThrows(IllegalStateException.class, () -> memory[0].device());
    }

    private static void joined(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException error) {
            throw new AssertionError(error);
        }
    }

    @Test
    void manyThreadsCloseAndUseOneArray() throws InterruptedException {
        for (int round = 0; round < 200; ++round) {
            AtomicInteger released = new AtomicInteger();
            ViaArray array = exported(released);
            Thread[] threads = new Thread[4];
            for (int i = 0; i < threads.length; ++i) {
                boolean closes = i % 2 == 0;
                threads[i] = new Thread(() -> useOrClose(array, closes));
                threads[i].start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            assertEquals(1, released.get());
        }
    }

    private static void useOrClose(ViaArray array, boolean closes) {
        try {
            for (int i = 0; i < 50 && !closes; ++i) {
                array.transpose().close();
            }
            array.close();
        } catch (IllegalStateException closed) {
            assertTrue(array.isClosed());
        }
    }

    @Test
    void aReleaseOnAThreadThatTheJvmDoesNotKnowReachesJava() {
        Thread[] thread = new Thread[1];
        String[] name = new String[1];
        long tensor;
        long address = Samples.address(48);
        try (ViaArray array = ViaArray.builder(address, DType.FLOAT32, 12)
                .release(() -> {
                    thread[0] = Thread.currentThread();
                    name[0] = thread[0].getName();
                })
                .wrap()) {
            tensor = array.toDlpack();
        }
        TestLibrary.deleteOnForeignThread(tensor);
        assertEquals("viaduct-native", name[0]);
        assertFalse(Thread.getAllStackTraces().containsKey(thread[0]), "the thread is still known to the JVM");
    }

    /** Who attaches and detaches a thread that is attached already detaches it for the library as well. */
    @Test
    void aReleaseReachesJavaOnAThreadThatOthersHaveDetached() {
        List<Thread> threads = new ArrayList<>();
        TestLibrary.deleteAroundADetach(exportedFor(threads), exportedFor(threads));
        assertEquals(2, threads.size());
        for (Thread thread : threads) {
            assertEquals("viaduct-native", thread.getName());
            assertFalse(Thread.getAllStackTraces().containsKey(thread), "the thread is still known to the JVM");
        }
    }

    /** A tensor whose release reports its thread. */
    private static long exportedFor(List<Thread> threads) {
        try (ViaArray array = ViaArray.builder(Samples.direct(48), DType.FLOAT32, 12)
                .release(() -> threads.add(Thread.currentThread()))
                .wrap()) {
            return array.toDlpack();
        }
    }

    @Test
    void whatAReleaseThrowsGoesToTheHandlerOfUncaughtExceptions() {
        Throwable[] caught = new Throwable[1];
        long address = Samples.address(48);
        ViaArray array = ViaArray.builder(address, DType.INT8, 48)
                .release(() -> {
                    throw new IllegalArgumentException("not today");
                })
                .wrap();
        Thread.currentThread().setUncaughtExceptionHandler((thread, thrown) -> caught[0] = thrown);
        try {
            array.close();
        } finally {
            Thread.currentThread().setUncaughtExceptionHandler(null);
        }
        assertEquals("not today", caught[0].getMessage());
    }

    @Test
    void aWrapThatFailsReleasesNothingAndKeepsNothing() {
        AtomicInteger released = new AtomicInteger();
        byte[] owner = new byte[16];
        WeakReference<byte[]> watched = new WeakReference<>(owner);
        assertThrows(
                DTypeException.class,
                () -> ViaArray.builder(64, new DType(5), 4).owner(watched.get()).release(released::incrementAndGet).wrap());
        owner = null;
        Samples.collectUntil(() -> watched.get() == null);
        assertEquals(0, released.get());
    }

    @Test
    void aReleaseFunctionOfCIsCalledAndDistinguished() {
        long block = TestLibrary.allocate(64, 64);
        try (ViaArray array =
                ViaArray.builder(block, DType.INT8, 64).release(TestLibrary.freeFunction(), block).wrap()) {
            assertEquals(block, array.context(TestLibrary.freeFunction()));
            assertEquals(0, array.context(4096));
        }
    }

    @Test
    void aMillionWrapsAndClosesLeaveNothing() throws IOException {
        ByteBuffer bytes = Samples.direct(64 * 64 * 4);
        long address = Buffers.address(bytes);
        wrapAndClose(address, 300_000);
        long resident = residentPages();
        wrapAndClose(address, 1_000_000);
        long grown = (residentPages() - resident) * 4096;
        assertTrue(grown < 8 << 20, grown + " bytes more");
        assertEquals(before.liveArrays(), Viaduct.stats().liveArrays());
    }

    private static void wrapAndClose(long address, int count) {
        for (int i = 0; i < count; ++i) {
            try (ViaArray array = ViaArray.wrap(address, DType.FLOAT32, 64, 64)) {
                assertFalse(array.isClosed());
            }
        }
    }

    private static long residentPages() throws IOException {
        return Long.parseLong(Files.readString(Path.of("/proc/self/statm")).split(" ")[1]);
    }

    @Test
    void aHundredThousandForgottenArraysAreReleased() {
        FloatBuffer numbers = Samples.counted(12);
        for (int i = 0; i < 100_000; ++i) {
            ViaArray.wrap(numbers);
        }
        Samples.collectUntil(() -> Viaduct.stats().liveArrays() == before.liveArrays());
    }

    private static ViaArray exported(AtomicInteger released) {
        FloatBuffer numbers = Samples.counted(12);
        return ViaArray.builder(Buffers.address(numbers), DType.FLOAT32, 3, 4)
                .owner(numbers)
                .release(released::incrementAndGet)
                .wrap();
    }
}
