package org.viaduct;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Copies of every kind between arrays of host memory. */
class CopyTest {
    private static final float[] TRANSPOSED = {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11};

    private static ViaArray room() {
        ViaArray made = ViaArray.empty(DType.FLOAT32, 4, 3);
        Viaduct.fillZero(made, null);
        return made;
    }

    @Test
    void aCopyBringsElementsFromOneLayoutToAnother() {
        try (ViaArray dst = room();
                ViaArray src = Samples.grid().transpose()) {
            Viaduct.copy(dst, src);
            assertArrayEquals(TRANSPOSED, Samples.elements(dst));
            assertTrue(Viaduct.explain(dst, src).startsWith("route: "));
        }
    }

    @Test
    void aTaskEndsAndReportsHowFarItIs() {
        try (ViaArray dst = room();
                ViaArray src = Samples.grid().transpose();
                CopyTask task = Viaduct.submit(dst, src)) {
            task.await();
            assertTrue(task.isDone());
            assertEquals(new Progress(48, 48), task.progress());
            task.cancel();
            assertArrayEquals(TRANSPOSED, Samples.elements(dst));
        }
    }

    /** A task may have ended before anybody asks for its future; then the next one is looked at. */
    private static void untilOnThreadOfTheLibrary(Callable<String> name) throws Exception {
        String found = "";
        for (int tries = 0; tries < 100 && !found.equals("viaduct-native"); ++tries) {
            found = name.call();
        }
        assertEquals("viaduct-native", found);
    }

    @Test
    void aFutureIsCompletedOnAThreadOfTheLibraryThoughTaskAndArraysAreClosed() throws Exception {
        untilOnThreadOfTheLibrary(() -> {
            FloatBuffer result = Samples.counted(1 << 20);
            CompletableFuture<String> thread;
            try (ViaArray dst = ViaArray.wrap(result);
                    ViaArray src = zeros(1 << 20);
                    CopyTask task = Viaduct.submit(dst, src)) {
                assertSame(task.future(), task.future());
                thread = task.future().thenApply(done -> Thread.currentThread().getName());
            }
            String name = thread.get(30, TimeUnit.SECONDS);
            assertEquals(0, result.get((1 << 20) - 1));
            return name;
        });
    }

    @Test
    void theReleaseOfWhatATaskHeldComesFromAThreadOfTheLibrary() throws Exception {
        untilOnThreadOfTheLibrary(() -> {
            CompletableFuture<String> released = new CompletableFuture<>();
            ByteBuffer exported = Samples.direct(4 << 20);
            ViaArray dst = ViaArray.builder(exported, DType.FLOAT32, 1 << 20)
                    .release(() -> released.complete(Thread.currentThread().getName()))
                    .wrap();
            try (ViaArray src = zeros(1 << 20);
                    CopyTask task = Viaduct.submit(dst, src)) {
                dst.close();
                assertFalse(task.isClosed());
            }
            return released.get(30, TimeUnit.SECONDS);
        });
    }

    private static ViaArray zeros(int count) {
        ViaArray made = ViaArray.empty(DType.FLOAT32, count);
        Viaduct.fillZero(made, null);
        return made;
    }

    @Test
    void callbacksOfManyTasksAllArrive() throws Exception {
        CompletableFuture<?>[] futures = new CompletableFuture<?>[500];
        for (int i = 0; i < futures.length; ++i) {
            try (ViaArray dst = room();
                    ViaArray src = Samples.grid().transpose();
                    CopyTask task = Viaduct.submit(dst, src)) {
                futures[i] = task.future();
            }
        }
        CompletableFuture.allOf(futures).get(30, TimeUnit.SECONDS);
    }

    /** Submitted all at once they wait for one another, so that some of them have not begun when they are cancelled. */
    @Test
    void aTaskThatIsCancelledEndsSoAndWithTheTextOfTheLibrary() throws Exception {
        try (ViaArray dst = ViaArray.empty(DType.UINT8, 64 << 20);
                ViaArray src = ViaArray.empty(DType.UINT8, 64 << 20)) {
            ExecutionException ended = null;
            for (int tries = 0; tries < 50 && ended == null; ++tries) {
                ended = cancelled(dst, src);
            }
            assertInstanceOf(CancelledException.class, ended.getCause());
            assertTrue(ended.getCause().getMessage().length() > 10, ended.getCause().getMessage());
        }
    }

    private static ExecutionException cancelled(ViaArray dst, ViaArray src) throws Exception {
        try (CopyTask task = Viaduct.submit(dst, src)) {
            task.cancel();
            task.future().get(30, TimeUnit.SECONDS);
            return null;
        } catch (ExecutionException error) {
            return error;
        }
    }

    @Test
    void cancellingAFutureCancelsItsTask() {
        try (ViaArray dst = ViaArray.empty(DType.UINT8, 64 << 20);
                ViaArray src = ViaArray.empty(DType.UINT8, 64 << 20)) {
            boolean cancelled = false;
            for (int tries = 0; tries < 50 && !cancelled; ++tries) {
                cancelled = cancelledByItsFuture(dst, src);
            }
            assertTrue(cancelled);
        }
    }

    private static boolean cancelledByItsFuture(ViaArray dst, ViaArray src) {
        try (CopyTask task = Viaduct.submit(dst, src)) {
            assertEquals(task.future().cancel(true), task.future().isCancelled());
            task.await();
            return false;
        } catch (CancelledException error) {
            return true;
        }
    }

    /** The library reports that the task was cancelled on a thread of its own, maybe before cancel() has returned. */
    @Test
    void aFutureThatIsCancelledIsSoOrHasTheResultAndNeverFailsByThat() throws Exception {
        try (ViaArray dst = ViaArray.empty(DType.UINT8, 4 << 20);
                ViaArray src = ViaArray.empty(DType.UINT8, 4 << 20)) {
            for (int round = 0; round < 500; ++round) {
                cancelAsItRuns(dst, src);
            }
        }
    }

    private static void cancelAsItRuns(ViaArray dst, ViaArray src) throws Exception {
        try (CopyTask other = Viaduct.submit(dst, src);
                CopyTask task = Viaduct.submit(dst, src)) {
            CompletableFuture<Void> future = task.future();
            boolean cancelled = future.cancel(true);
            other.await();
            future.handle((result, failure) -> result).get(30, TimeUnit.SECONDS);
            assertEquals(cancelled, future.isCancelled());
            assertEquals(cancelled, future.isCompletedExceptionally());
        }
    }

    @Test
    void waitingInsideACallbackIsRefusedUnlessTheTaskHasEnded() throws Exception {
        AtomicReference<Throwable> found = new AtomicReference<>();
        try (ViaArray dst = ViaArray.empty(DType.UINT8, 64 << 20);
                ViaArray src = ViaArray.empty(DType.UINT8, 64 << 20)) {
            for (int tries = 0; tries < 50 && found.get() == null; ++tries) {
                waitBehind(dst, src, found);
            }
        }
        assertInstanceOf(WouldDeadlockException.class, found.get());
    }

    private static void waitBehind(ViaArray dst, ViaArray src, AtomicReference<Throwable> found) throws Exception {
        try (ViaArray small = room();
                ViaArray transposed = Samples.grid().transpose();
                CopyTask first = Viaduct.submit(small, transposed);
                CopyTask other = Viaduct.submit(dst, src)) {
            first.future().thenRun(other::await).exceptionally(thrown -> {
                found.set(thrown.getCause());
                return null;
            }).get(30, TimeUnit.SECONDS);
            other.await();
        }
    }

    @Test
    void aBatchRunsAsOftenAsWanted() {
        try (ViaArray dst = room();
                ViaArray src = Samples.grid().transpose();
                CopyBatch batch = CopyBatch.create()) {
            batch.add(dst.select(0, 0), src.select(0, 0)).add(dst.select(0, 3), src.select(0, 3));
            assertEquals(2, batch.size());
            for (int i = 0; i < 2; ++i) {
                Viaduct.fillZero(dst, null);
                try (CopyTask task = batch.submit(null)) {
                    task.await();
                }
                assertArrayEquals(new float[] {0, 4, 8, 0, 0, 0, 0, 0, 0, 3, 7, 11}, Samples.elements(dst));
            }
            assertThrows(ShapeException.class, () -> batch.add(dst, src.select(0, 0)));
        }
    }

    @Test
    void aBatchConvertsNextToItsCopies() {
        try (ViaArray src = Samples.grid().transpose();
                ViaArray dst = room();
                ViaArray scaled = room();
                ViaArray whole = ViaArray.empty(DType.INT32, src.shape());
                CopyBatch batch = CopyBatch.create()) {
            batch.add(dst, src)
                    .addConvert(whole, src, ConvertOptions.DEFAULT.casting(Casting.UNSAFE))
                    .addConvert(scaled, src, ConvertOptions.DEFAULT.scaled(2, 1));
            batch.submit(null).await();
            assertArrayEquals(Samples.elements(src), Samples.elements(dst));
            assertEquals(11, whole.buffer().getInt(44));
            assertEquals(23, Samples.elements(scaled)[11]);
            assertThrows(DTypeException.class, () -> batch.addConvert(whole, src, null));
            assertEquals(3, batch.size());
        }
    }

    @Test
    void rowsAreCopiedByIndex() {
        try (ViaArray src = Samples.grid();
                ViaArray dst = ViaArray.empty(src.dtype(), src.shape());
                ViaArray rows = ViaArray.empty(DType.INT32, 1);
                CopyBatch batch = CopyBatch.create()) {
            Viaduct.fillZero(dst, null);
            Viaduct.fill(rows, Samples.direct(4).putInt(0, 2), null);
            Viaduct.copyIndexed(dst, null, src, rows, 0, null);
            assertArrayEquals(Samples.elements(src.select(0, 2)), Samples.elements(dst.select(0, 0)));
            try (CopyTask task = Viaduct.submitIndexed(dst, rows, src, null, 1, null)) {
                task.await();
            }
            assertArrayEquals(Samples.elements(src.select(1, 0)), Samples.elements(dst.select(1, 2)));
            batch.addIndexed(dst, rows, src, null, 0).submit(null).await();
            assertArrayEquals(Samples.elements(src.select(0, 0)), Samples.elements(dst.select(0, 2)));
        }
    }

    @Test
    void listsOfABatchMustMatch() {
        ViaArray[] one = {Samples.grid()};
        assertEquals(
                "srcs has 0 arrays; expected 1",
                assertThrows(InvalidArgumentException.class, () -> Viaduct.copyBatch(one, new ViaArray[0], null))
                        .getMessage());
        assertThrows(ViaductException.class, () -> Viaduct.copyBatch(new ViaArray[1], new ViaArray[1], null));
    }

    @Test
    void anElementFillsAnArray() {
        ByteBuffer element = Samples.direct(8);
        element.putFloat(4, 2.5f).position(4);
        try (ViaArray array = room()) {
            Viaduct.fill(array.select(1, 1), element, null);
            assertArrayEquals(new float[] {0, 2.5f, 0, 0, 2.5f, 0, 0, 2.5f, 0, 0, 2.5f, 0}, Samples.elements(array));
            Viaduct.fill(array, Samples.direct(12).putFloat(0, 7).putFloat(4, 8), null);
            assertEquals(7, Samples.elements(array)[11]);
            assertThrows(ShapeException.class, () -> Viaduct.fill(array, element.position(5), null));
            assertThrows(
                    InvalidArgumentException.class, () -> Viaduct.fill(array, ByteBuffer.allocate(4), null));
        }
    }

    @Test
    void bytesAreCopiedBetweenAddresses() {
        FloatBuffer from = Samples.counted(4);
        FloatBuffer to = Samples.counted(4).put(3, -1);
        Viaduct.memcpy(Buffers.address(to), Buffers.address(from), 16, null);
        assertEquals(3, to.get(3));
        assertEquals(3, from.get(3));
    }

    @Test
    void whatMustNotBeIsRefusedByKind() {
        ViaArray array = Samples.grid();
        ViaArray transposed = array.transpose();
        assertThrows(ShapeException.class, () -> Viaduct.copy(transposed, array));
        assertThrows(ReadOnlyException.class, () -> Viaduct.copy(array.asReadOnly(), Samples.grid()));
        assertThrows(OverlapException.class, () -> Viaduct.copy(array.reshape(12).slice(null, new long[] {11}, null),
                array.reshape(12).slice(new long[] {1}, null, null)));
        assertThrows(DTypeException.class, () -> Viaduct.copy(array.reinterpret(DType.INT32), Samples.grid()));
        assertThrows(InvalidArgumentException.class, () -> Viaduct.copy(null, array));
    }
}
