package org.viaduct;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** The rows of tests/misuse/table.tsv in Java: each wrong call is an exception of the kind that the table says. */
class MisuseTest {
    private static final List<String[]> TABLE = Header.read(Header.ROOT.resolve("tests/misuse/table.tsv"))
            .lines()
            .map(line -> line.split("\t", -1))
            .toList();
    private static final int STATUS = column("status");
    private static final int NEEDS = column("needs");
    private static final int JAVA = column("java");
    private static final int LARGE = 64 << 20;

    @TempDir
    private Path folder;

    private final Map<String, Executable> calls = new TreeMap<>();

    MisuseTest() {
        addHandles();
        addAddresses();
        addShapes();
        addOptions();
        addWritesAndExchange();
        addOtherProcesses();
        addDevicesAndCallbacks();
        addFiles();
    }

    private static int column(String name) {
        return Arrays.asList(TABLE.get(0)).indexOf(name);
    }

    private static Stream<String[]> sayable() {
        return TABLE.stream().skip(1).filter(row -> !row[JAVA].startsWith("- "));
    }

    private static ViaArray grid() {
        return Samples.grid();
    }

    private static WrapBuilder builder(DType dtype, long... shape) {
        return ViaArray.builder(Samples.direct(64), dtype, shape);
    }

    private static ViaArray onDevice(long nbytes) {
        try (ViaMemory memory = ViaMemory.create(MemoryKind.DEVICE, 0)) {
            return memory.empty(DType.INT8, nbytes);
        }
    }

    private static <T extends Resource> T closed(T object) {
        object.close();
        return object;
    }

    private Path fileOf(int nbytes) throws IOException {
        return Files.write(folder.resolve("numbers.raw"), new byte[nbytes]);
    }

    private ViaArchive archiveOf() {
        Path path = folder.resolve("one.safetensors");
        ViaArchive.save(path, Map.of("w", grid()));
        return ViaArchive.open(path);
    }

    // ------------------------------------------------------------------------------------------------ handles

    private void addHandles() {
        calls.put("null_array", () -> Viaduct.copy(grid(), null));
        calls.put("null_in_list", () -> Viaduct.copyBatch(
                new ViaArray[] {grid(), null}, new ViaArray[] {grid(), grid()}, null));
        calls.put("released_array", () -> closed(grid()).transpose());
        calls.put("released_stream", () -> closed(ViaStream.create(0)).synchronize());
        calls.put("closed_file", () -> closed(ViaFile.open(fileOf(48))).read(grid()));
    }

    // ------------------------------------------------------------------------------------------------ addresses

    private void addAddresses() {
        calls.put("null_address", () -> ViaArray.wrap(0, DType.INT8, 4));
        calls.put("unreadable_address", () -> ViaArray.builder(4096, DType.INT8, 4).probe().wrap());
        calls.put("freed_host_memory", MisuseTest::wrapFreedHostMemory);
        calls.put("freed_device_memory", () -> wrapOnDevice(addressOf(onDevice(4 << 20)), 0, 4));
        calls.put("past_the_allocation", () -> {
            try (ViaArray owner = onDevice(4 << 20)) {
                wrapOnDevice(owner.address(), 0, 3, 2 << 20);
            }
        });
        calls.put("past_the_buffer", () -> ViaArray.wrap(Samples.direct(48), DType.FLOAT32, 13));
        calls.put("past_the_address_space", () -> ViaArray.wrap(-64, DType.FLOAT32, 17));
        calls.put("host_memory_as_a_devices", () -> builder(DType.FLOAT32, 12).device(Device.cuda(0)).wrap());
        calls.put("memory_of_another_device", () -> {
            try (ViaArray owner = onDevice(64)) {
                wrapOnDevice(owner.address(), 1, 64);
            }
        });
        calls.put("device_memory_as_the_hosts", () -> Exchange.toArrayInterface(onDevice(64)));
        calls.put("negative_count", () -> {
            long address = Samples.address(64);
            Viaduct.memcpy(address, address + 4, -4, null);
        });
    }

    /** A block so large that it is the system's again at once. */
    private static void wrapFreedHostMemory() {
        long block = TestLibrary.allocate(LARGE, 4096);
        TestLibrary.free(block);
        ViaArray.builder(block, DType.INT8, LARGE).probe().wrap();
    }

    private static long addressOf(ViaArray array) {
        long address = array.address();
        array.close();
        return address;
    }

    private static void wrapOnDevice(long address, int device, long... shape) {
        ViaArray.builder(address, DType.INT8, shape).device(Device.cuda(device)).wrap();
    }

    // ------------------------------------------------------------------------------------------------ shapes

    private void addShapes() {
        calls.put("null_shape", () -> ViaArray.wrap(Samples.address(64), DType.INT8, (long[]) null));
        calls.put("negative_extent", () -> builder(DType.INT8, 3, -4).wrap());
        calls.put("too_many_axes", () -> builder(DType.INT8, new long[65]).wrap());
        calls.put("huge_shape", () -> ViaArray.wrap(64, DType.INT8, 1L << 40, 1L << 40));
        calls.put("huge_allocation", () -> ViaArray.empty(DType.INT8, 1L << 60));
        calls.put("row_past_the_end", () -> {
            ViaArray row = ViaArray.empty(DType.INT32, 1);
            Viaduct.fill(row, Samples.direct(4).putInt(0, 3), null);
            Viaduct.copyIndexed(grid(), null, grid(), row, 0, null);
        });
        calls.put("copy_off_by_one", () -> Viaduct.copy(grid().slice(null, new long[] {3, 3}, null), grid()));
        calls.put("reshape_off_by_one", () -> grid().reshape(13));
        calls.put("broadcast_off_by_one", () -> grid().broadcast(3, 5));
        calls.put("reshape_of_a_transpose", () -> grid().transpose().reshape(12));
        calls.put("index_past_the_end", () -> grid().select(0, 3));
        calls.put("slice_past_the_end", () -> grid().slice(new long[] {0, 1}, new long[] {3, 4}, null));
        calls.put("axis_twice", () -> grid().permute(1, 1));
        calls.put("field_past_the_end", () -> grid().field(1, DType.FLOAT32));
    }

    // ------------------------------------------------------------------------------------------------ dtypes, options

    private void addOptions() {
        calls.put("strides_too_few", () -> builder(DType.INT8, 3, 4).strides(4).wrap());
        calls.put("slice_too_few", () -> grid().slice(new long[] {1}, null, null));
        calls.put("axes_too_few", () -> grid().permute(0));
        calls.put("window_too_few", () -> {
            try (ViaFile file = ViaFile.open(fileOf(48))) {
                file.window(0, DType.FLOAT32, new long[] {3, 4}, new long[] {1}, null, null);
            }
        });
        calls.put("batch_of_unequal_lists", () ->
                Viaduct.copyBatch(new ViaArray[] {grid()}, new ViaArray[] {grid(), grid()}, null));
        calls.put("elements_with_gaps", () -> grid().transpose().buffer());
        calls.put("device_memory_as_elements", () -> onDevice(64).buffer());
        calls.put("unknown_dtype", () -> builder(new DType(5), 4).wrap());
        calls.put("unknown_dtype_name", () -> DType.of("float33"));
        calls.put("copy_to_another_dtype", () -> Viaduct.copy(grid().reinterpret(DType.INT32), grid()));
        calls.put("future_version", () -> Viaduct.require(ViaConstants.VIA_VERSION_MAJOR + 1, 0));
        calls.put("negative_thread_count", () -> Viaduct.setNumThreads(-1));
    }

    // ------------------------------------------------------------------------------------------------ writes, exchange

    private void addWritesAndExchange() {
        calls.put("read_only_destination", () -> Viaduct.copy(grid().asReadOnly(), grid()));
        calls.put("read_only_fill", () -> Viaduct.fillZero(grid().asReadOnly(), null));
        calls.put("overlap", () -> {
            ViaArray both = grid();
            long[] rows = {2, 4};
            Viaduct.copy(both.slice(null, rows, null), both.slice(new long[] {1, 0}, rows, null));
        });
        calls.put("destination_of_one_element", () ->
                Viaduct.copy(builder(DType.FLOAT32, 3, 4).strides(0, 0).wrap(), grid()));
        calls.put("read_only_legacy_tensor", () -> Exchange.toDlpackLegacy(grid().asReadOnly(), null, null));
        calls.put("null_tensor", () -> ViaArray.fromDlpack(0));
        calls.put("tensor_of_a_future_version", () -> {
            long tensor = grid().toDlpack();
            Bridge.buffer(tensor, 4).order(ByteOrder.nativeOrder()).putInt(0, 2);
            try {
                ViaArray.fromDlpack(tensor);
            } finally {
                Exchange.deleteDlpack(tensor);
            }
        });
    }

    private void addOtherProcesses() {
        calls.put("unshared_memory", () -> grid().exportIpc());
        calls.put("null_description", () -> ViaArray.importIpc(null));
        calls.put("damaged_description", () -> {
            byte[] description = ViaMemory.create(MemoryKind.SHARED, 0).empty(DType.INT8, 4).exportIpc();
            description[description.length - 1] ^= 1;
            ViaArray.importIpc(description);
        });
    }

    // ------------------------------------------------------------------------------------------------ devices

    private void addDevicesAndCallbacks() {
        calls.put("absent_device", () -> ViaStream.create(99));
        calls.put("stream_of_another_device", () -> ViaStream.setCurrent(0, ViaStream.create(1)));
        calls.put("missing_allocator", () -> ViaMemory.custom(Device.CPU, null));
        calls.put("cancelled_task", () -> untilOneIsThrown(MisuseTest::waitForACancelledTask));
        calls.put("wait_in_a_callback", () -> untilOneIsThrown(MisuseTest::waitInACallback));
        calls.put("failing_allocator", () -> ViaMemory.custom(Device.CPU, new Failing()).empty(DType.INT8, 4));
        calls.put("throwing_release", MisuseTest::releaseByDividing);
    }

    private interface WithArrays {
        void call(ViaArray dst, ViaArray src) throws Throwable;
    }

    /** Large copies, one after another, until one was still under way when that mattered. */
    private static void untilOneIsThrown(WithArrays wrong) throws Throwable {
        try (ViaArray dst = ViaArray.empty(DType.UINT8, LARGE);
                ViaArray src = ViaArray.empty(DType.UINT8, LARGE)) {
            for (int tries = 0; tries < 50; ++tries) {
                wrong.call(dst, src);
            }
        }
    }

    private static void waitForACancelledTask(ViaArray dst, ViaArray src) {
        try (CopyTask task = Viaduct.submit(dst, src)) {
            task.cancel();
            task.await();
        }
    }

    private static void waitInACallback(ViaArray dst, ViaArray src) throws Throwable {
        try (ViaArray room = ViaArray.empty(DType.FLOAT32, 3, 4);
                CopyTask small = Viaduct.submit(room, grid());
                CopyTask other = Viaduct.submit(dst, src)) {
            small.future().thenRun(other::await).get(30, TimeUnit.SECONDS);
        } catch (ExecutionException thrown) {
            throw thrown.getCause();
        }
    }

    private static final class Failing implements Allocator {
        @Override
        public long allocate(long nbytes, long alignment, long stream) {
            throw new IllegalStateException("no " + nbytes + " bytes");
        }

        @Override
        public void free(long address, long nbytes, long stream) {}
    }

    private static void releaseByDividing() throws Throwable {
        Throwable[] reported = {null};
        Thread thread = Thread.currentThread();
        thread.setUncaughtExceptionHandler((on, thrown) -> reported[0] = thrown);
        try {
            builder(DType.INT8, 48).release(() -> Math.floorDiv(1, 0)).wrap().close();
        } finally {
            thread.setUncaughtExceptionHandler(null);
        }
        throw reported[0];
    }

    // ------------------------------------------------------------------------------------------------ files

    private void addFiles() {
        calls.put("null_path", () -> ViaFile.open((String) null, null));
        calls.put("path_cut_short", () -> ViaFile.open(folder + "/numbers\0.raw", null));
        calls.put("absent_file", () -> ViaFile.open(folder.resolve("absent.raw")));
        calls.put("file_without_a_header", () ->
                ViaFile.open(fileOf(10), FileOptions.DEFAULT.format(FileFormat.NPY)));
        calls.put("file_opened_to_read", () -> {
            try (ViaFile file = ViaFile.open(fileOf(0))) {
                file.write(grid());
            }
        });
        calls.put("past_the_end_of_a_file", () -> {
            try (ViaFile file = ViaFile.open(fileOf(10))) {
                file.read(grid());
            }
        });
        calls.put("archive_without_a_header", () -> ViaArchive.open(fileOf(10)));
        calls.put("absent_tensor", () -> {
            try (ViaArchive archive = archiveOf()) {
                archive.find("v");
            }
        });
        calls.put("part_past_a_tensor", () -> {
            try (ViaArchive archive = archiveOf()) {
                archive.slice(0, 0, 1, 3);
            }
        });
        calls.put("buffer_of_another_size", () -> {
            try (ViaArchive archive = archiveOf();
                    ViaArray buffer = ViaArray.empty(DType.UINT8, 47)) {
                archive.read(buffer, null);
            }
        });
        calls.put("file_cut_short", () -> {
            Path path = fileOf(48);
            try (ViaFile file = ViaFile.open(path);
                    FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
                channel.truncate(40);
                file.read(grid());
            }
        });
    }

    // ------------------------------------------------------------------------------------------------ the table

    private void checkRow(String[] row) throws ReflectiveOperationException {
        assumeTrue(!row[NEEDS].contains("device") || Viaduct.cudaDeviceCount() > 0, "there is no CUDA driver");
        assumeTrue(!row[NEEDS].contains("two") || Viaduct.cudaDeviceCount() > 1, "there is one device");
        Throwable reported = assertThrows(Throwable.class, calls.get(row[0]));
        assertFalse(reported.getMessage().isEmpty());
        if (row[JAVA].equals("=")) {
            int status = ViaConstants.class.getField("VIA_ERROR_" + row[STATUS]).getInt(null);
            assertEquals(ViaductException.of(status, 0, new byte[0]).getClass(), reported.getClass(), reported.toString());
        } else {
            assertTrue(isA(row[JAVA], reported.getClass()), reported.toString());
        }
    }

    private static boolean isA(String name, Class<?> kind) {
        return kind != null && (kind.getSimpleName().equals(name) || isA(name, kind.getSuperclass()));
    }

    @TestFactory
    Stream<DynamicTest> aWrongCallIsReportedAsTheTableSays() {
        return sayable().map(row -> DynamicTest.dynamicTest(row[0], () -> checkRow(row)));
    }

    @Test
    void noRowIsForgottenAndNoneIsMadeUp() {
        Set<String> wanted = sayable().map(row -> row[0]).collect(Collectors.toSet());
        assertEquals(wanted, calls.keySet());
    }
}
