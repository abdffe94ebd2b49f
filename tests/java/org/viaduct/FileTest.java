package org.viaduct;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files: created, mapped, read and written, at once and as tasks. */
class FileTest {
    /** Four bytes of UTF-8, two chars of Java. */
    private static final String BEYOND = "\uD83C\uDF09";

    @TempDir
    private Path folder;

    private Path path;

    @BeforeEach
    void nameTheFile() {
        path = folder.resolve("table.npy");
    }

    /** Writes the numbers 0 to 11, as 3 by 4. */
    private void save(FileOptions options) {
        try (ViaArray grid = Samples.grid();
                ViaFile file = ViaFile.create(path, options, DType.FLOAT32, 3, 4)) {
            file.write(grid);
        }
    }

    private void save() {
        save(null);
    }

    private static ViaFile openToWrite(Path path) {
        return ViaFile.open(path, FileOptions.DEFAULT.mode(FileMode.READ_WRITE));
    }

    private static float[] counted(int count) {
        float[] numbers = new float[count];
        Samples.counted(count).get(numbers);
        return numbers;
    }

    @Test
    void aFileReportsWhatItHolds() throws IOException {
        save(FileOptions.DEFAULT.columnMajor(true).durable(true));
        try (ViaFile file = ViaFile.open(path)) {
            FileInfo info = file.info();
            assertEquals(FileFormat.NPY, info.format());
            assertEquals(DType.FLOAT32, info.dtype());
            assertArrayEquals(new long[] {3, 4}, info.shape());
            assertTrue(info.columnMajor());
            assertEquals(Files.size(path), info.nbytes());
            assertEquals(info.nbytes() - 48, info.byteOffset());
        }
    }

    @Test
    void theBytesOnTheDiskAreNumPysFormat() throws IOException {
        save();
        byte[] bytes = Files.readAllBytes(path);
        String text = new String(bytes, StandardCharsets.ISO_8859_1);
        assertTrue(text.startsWith("\u0093NUMPY"), text);
        assertTrue(text.contains("'descr': '<f4'") && text.contains("'shape': (3, 4)"), text);
        ByteBuffer elements = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        assertEquals(11, elements.getFloat(bytes.length - 4));
    }

    @Test
    void aRawFileIsElementsAndNothingElse() throws IOException {
        path = folder.resolve("numbers.raw");
        save();
        assertEquals(48, Files.size(path));
        try (ViaFile file = openToWrite(path);
                ViaArray grid = Samples.grid();
                ViaArray tail = file.map(44, DType.FLOAT32, 1)) {
            FileInfo info = file.info();
            assertEquals(FileFormat.RAW, info.format());
            assertFalse(info.dtype().isValid());
            assertEquals(0, info.shape().length);
            assertEquals(11, tail.buffer().getFloat(0));
            assertThrows(InvalidArgumentException.class, file::map);
            file.write(grid, 48, null); // grows
            assertEquals(96, file.info().nbytes());
        }
    }

    @Test
    void whatAFileIsCanBePrinted() {
        save();
        try (ViaFile file = ViaFile.open(path)) {
            String text = file.info().toString();
            assertTrue(text.contains("dtype=float32") && text.contains("shape=[3, 4]"), text);
        }
        ArrayInterface description =
                new ArrayInterface(64, "<f4", new long[] {2, 3}, new long[] {12, 4}, false, null);
        assertTrue(description.toString().contains("shape=[2, 3], strides=[12, 4]"), description.toString());
    }

    @Test
    void aWindowIsAFileOfItsOwn() {
        save();
        ViaFile window;
        try (ViaFile file = openToWrite(path)) {
            window = file.window(new long[] {0, 3}, new long[] {3, 2}, new long[] {1, -2});
            assertThrows(ShapeException.class, () -> file.window(new long[1], null, null));
            assertThrows(OutOfRangeException.class, () -> file.window(new long[] {3, 0}, new long[] {1, 1}, null));
        }
        try (window;
                ViaFile last = window.window(new long[] {2, 0}, null, null);
                ViaArray all = ViaArray.empty(DType.FLOAT32, 3, 2);
                ViaArray mapped = last.map()) {
            assertArrayEquals(new long[] {3, 2}, window.info().shape());
            window.read(all);
            assertEquals(3, all.buffer().getFloat(0));
            assertEquals(9, all.buffer().getFloat(20));
            Viaduct.fillZero(all, null);
            window.write(all);
            assertArrayEquals(new long[] {1, 2}, mapped.shape());
            try (ViaFile file = ViaFile.open(path); ViaArray whole = file.map()) {
                assertEquals(10, whole.buffer().getFloat(40));
                assertEquals(0, whole.buffer().getFloat(44));
            }
        }
    }

    @Test
    void aFileConvertsWhatItTransfers() {
        save();
        ViaFile doubles;
        try (ViaFile file = openToWrite(path);
                ViaFile halves = file.convert(DType.FLOAT32, ConvertOptions.DEFAULT.scaled(0.5F, 1));
                ViaArray found = ViaArray.empty(DType.FLOAT32, 3, 4)) {
            doubles = file.convert(DType.FLOAT64, null);
            halves.read(found);
            assertEquals(6.5F, found.buffer().getFloat(44));
            assertThrows(DTypeException.class, () -> doubles.read(found));
            assertThrows(UnsupportedException.class, doubles::map);
        }
        try (doubles;
                ViaArray array = ViaArray.empty(DType.FLOAT64, 3, 4);
                ViaArray found = ViaArray.empty(DType.FLOAT32, 3, 4)) {
            assertEquals(DType.FLOAT64, doubles.info().dtype());
            doubles.read(array);
            assertEquals(11, array.buffer().getDouble(88));
            Viaduct.fillZero(array, null);
            doubles.write(array);
            try (ViaFile file = ViaFile.open(path)) {
                file.read(found);
            }
            assertArrayEquals(new float[12], Samples.elements(found));
        }
    }

    @Test
    void aMappedArrayOutlivesItsFile() {
        save();
        ViaArray mapped;
        try (ViaFile file = ViaFile.open(path)) {
            mapped = file.map();
        }
        try (mapped) {
            assertArrayEquals(new long[] {3, 4}, mapped.shape());
            assertEquals(11, mapped.buffer().getFloat(44));
            assertTrue(mapped.buffer().isReadOnly());
            assertThrows(ReadOnlyException.class, () -> Viaduct.fillZero(mapped, null));
        }
    }

    @Test
    void aMappedArrayThatMayBeWrittenIsTheFile() {
        save();
        try (ViaFile file = openToWrite(path);
                ViaArray mapped = file.map();
                ViaArray read = ViaArray.empty(DType.FLOAT32, 3, 4)) {
            mapped.buffer().putFloat(4, -1);
            file.read(read);
            assertEquals(-1, read.buffer().getFloat(4));
        }
    }

    @Test
    void copyOnWriteLeavesTheFileAsItIs() {
        save();
        try (ViaFile file = ViaFile.open(path, FileOptions.DEFAULT.mode(FileMode.COPY_ON_WRITE));
                ViaArray mapped = file.map();
                ViaArray read = ViaArray.empty(DType.FLOAT32, 3, 4)) {
            Viaduct.fillZero(mapped, null);
            file.read(read);
            assertArrayEquals(counted(12), Samples.elements(read));
        }
    }

    @Test
    void anyLayoutIsReadAndWritten() {
        save();
        FileOptions options = FileOptions.DEFAULT.mode(FileMode.READ_WRITE).pageCache(PageCache.USE);
        try (ViaFile file = ViaFile.open(path, options);
                ViaArray target = ViaArray.empty(DType.FLOAT32, 4, 3);
                ViaArray transposed = target.transpose()) {
            file.read(transposed);
            assertArrayEquals(new float[] {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}, Samples.elements(target));
            Viaduct.fill(target, Samples.direct(4).putFloat(0, 5), null);
            file.write(transposed);
            try (ViaArray mapped = file.map(4, DType.FLOAT32, 2)) {
                assertArrayEquals(new float[] {5, 5}, Samples.elements(mapped));
            }
        }
    }

    @Test
    void aNpyFileIsReadAsWhatItIsUnlessItIsTakenAsBytes() {
        save();
        try (ViaFile file = ViaFile.open(path);
                ViaFile bytes = ViaFile.open(path, FileOptions.DEFAULT.asBytes(true));
                ViaArray part = ViaArray.empty(DType.FLOAT32, 5);
                ViaArray other = ViaArray.empty(DType.INT32, 3, 4)) {
            assertThrows(ShapeException.class, () -> file.read(part));
            assertThrows(DTypeException.class, () -> file.read(other));
            assertThrows(InvalidArgumentException.class, () -> file.read(part, 4, null));
            bytes.read(part, 4, null);
            assertArrayEquals(new float[] {1, 2, 3, 4, 5}, Samples.elements(part));
        }
    }

    @Test
    void tasksReadAndWriteThoughTheFileIsClosed() throws Exception {
        save();
        try (ViaArray target = ViaArray.empty(DType.FLOAT32, 3, 4)) {
            CopyTask read;
            try (ViaFile file = ViaFile.open(path)) {
                read = file.submitRead(target);
            }
            try (read) {
                read.future().get(30, TimeUnit.SECONDS);
                assertEquals(new Progress(48, 48), read.progress());
            }
            assertArrayEquals(counted(12), Samples.elements(target));
            Viaduct.fillZero(target, null);
            try (ViaFile file = openToWrite(path);
                    CopyTask written = file.submitWrite(target);
                    ViaArray mapped = file.map()) {
                written.await();
                assertArrayEquals(new float[12], Samples.elements(mapped));
            }
        }
    }

    @Test
    void anAtomicWriteReplacesTheFileWhole() {
        save();
        try (ViaFile before = ViaFile.open(path);
                ViaArray kept = before.map()) {
            try (ViaArray zeros = ViaArray.empty(DType.FLOAT32, 3, 4);
                    ViaFile file = ViaFile.create(path, FileOptions.DEFAULT.atomic(true), DType.FLOAT32, 3, 4)) {
                Viaduct.fillZero(zeros, null);
                file.write(zeros);
            }
            assertArrayEquals(counted(12), Samples.elements(kept));
            try (ViaFile after = ViaFile.open(path);
                    ViaArray found = after.map()) {
                assertArrayEquals(new float[12], Samples.elements(found));
            }
        }
    }

    @Test
    void aDevicesMemoryIsReadAndWrittenBehindAStream() {
        assumeTrue(Viaduct.cudaDeviceCount() > 0, "there is no CUDA driver with a device");
        save();
        try (ViaFile file = openToWrite(path);
                ViaStream stream = ViaStream.create(0);
                ViaMemory memory = ViaMemory.create(MemoryKind.DEVICE, 0);
                ViaArray device = memory.empty(DType.FLOAT32, 3, 4);
                ViaArray row = device.select(0, 1)) {
            file.read(device, 0, stream);
            assertArrayEquals(counted(12), Samples.elements(device));
            Viaduct.fillZero(row, stream);
            try (ViaFile second = file.window(new long[] {1, 0}, new long[] {1, 4}, null);
                    CopyTask task = second.submitWrite(row, 0, stream)) {
                task.await();
            }
            try (ViaArray mapped = file.map()) {
                assertArrayEquals(new float[] {0, 1, 2, 3, 0, 0, 0, 0, 8, 9, 10, 11}, Samples.elements(mapped));
            }
        }
    }

    @Test
    void aPathCrossesBeyondTheBasicPlane() {
        path = folder.resolve("Tabelle-" + BEYOND + ".npy");
        save();
        assertTrue(Files.exists(path));
        try (ViaFile file = ViaFile.open(path);
                ViaArray mapped = file.map()) {
            assertEquals(12, mapped.size());
        }
    }

    /** Java has no text for such names, and yet a Path of them. */
    @Test
    void aNameThatIsNotUtf8IsOpenedByItsPath() throws IOException {
        String escaped = folder.toUri().getRawPath() + "M%FCnze%20%25%23.npy";
        Path odd = Path.of(java.net.URI.create("file://" + escaped));
        ViaFile.create(odd, DType.INT8, 5).close();
        try (Stream<Path> names = Files.list(folder)) {
            Path found = names.filter(name -> name.toString().contains("%#")).findFirst().orElseThrow();
            assertEquals(odd, found);
            try (ViaFile file = ViaFile.open(found)) {
                assertArrayEquals(new long[] {5}, file.info().shape());
            }
        }
        Files.delete(odd);
        FileException missing = assertThrows(FileException.class, () -> ViaFile.open(odd));
        assertTrue(missing.getMessage().contains("M\\xfcnze %#.npy"), missing.getMessage());
    }

    @Test
    void aNameThatWouldBeCutShortIsRefused() {
        assertThrows(InvalidArgumentException.class, () -> ViaFile.open("a\0b", null));
        assertThrows(InvalidArgumentException.class, () -> ViaFile.open("a\uD800", null));
        assertThrows(InvalidArgumentException.class, () -> ViaFile.create("a\0b", null, DType.INT8, 5));
    }

    /** A JVM that is started with -Duser.dir begins relative paths there, and not where its process is. */
    @Test
    void aRelativePathIsTheFileThatJavaTakesItFor() {
        Path relative = Path.of("a.npy");
        assertEquals(relative.toAbsolutePath().toString(), Utf8.text(Utf8.bytes(relative)));
    }

    /** The file of the same name in the machine's own file system is another. */
    @Test
    void aPathOfAnotherFileSystemIsRefused() throws IOException {
        save();
        byte[] before = Files.readAllBytes(path);
        URI zip = URI.create("jar:" + folder.resolve("tables.zip").toUri());
        try (FileSystem inside = FileSystems.newFileSystem(zip, Map.of("create", "true"))) {
            Path same = inside.getPath(path.toString());
            assertThrows(InvalidArgumentException.class, () -> ViaFile.create(same, DType.INT8, 5));
            assertThrows(InvalidArgumentException.class, () -> ViaFile.open(same));
        }
        assertArrayEquals(before, Files.readAllBytes(path));
    }

    @Test
    void aNameMayHoldWhatTheLocaleHasNot() {
        String name = folder + "/" + BEYOND + "\u00E9.npy";
        ViaFile.create(name, null, DType.INT8, 5).close();
        try (ViaFile file = ViaFile.open(name, null)) {
            assertArrayEquals(new long[] {5}, file.info().shape());
        }
        FileException missing = assertThrows(FileException.class, () -> ViaFile.open(name + BEYOND, null));
        assertTrue(missing.getMessage().contains(BEYOND + "\u00E9.npy" + BEYOND), missing.getMessage());
    }

    @Test
    void whatGoesWrongIsReportedByKind() throws IOException {
        FileException missing = assertThrows(FileException.class, () -> ViaFile.open(path));
        assertEquals(2, missing.code()); // ENOENT
        assertTrue(missing.getMessage().contains("table.npy"), missing.getMessage());
        Files.writeString(path, "no header");
        FileOptions npy = FileOptions.DEFAULT.format(FileFormat.NPY);
        assertThrows(FormatException.class, () -> ViaFile.open(path, npy));
        save();
        ViaFile closed;
        try (ViaArray grid = Samples.grid();
                ViaFile file = ViaFile.open(path)) {
            assertThrows(ReadOnlyException.class, () -> file.write(grid));
            assertThrows(InvalidArgumentException.class, () -> file.read(grid, 8, null));
            assertThrows(InvalidArgumentException.class, () -> file.map(4, DType.FLOAT32, 12));
            assertThrows(InvalidArgumentException.class, () -> file.read(null));
            closed = file;
        }
        assertThrows(IllegalStateException.class, () -> closed.read(null));
        assertThrows(IllegalStateException.class, closed::info);
        assertThrows(IllegalStateException.class, closed::map);
        assertThrows(InvalidArgumentException.class, () -> ViaFile.open((String) null, null));
        assertThrows(NullPointerException.class, () -> ViaFile.open((Path) null));
        assertThrows(DTypeException.class, () -> ViaFile.create(path, new DType(5), 3));
    }

    @Test
    void aFileCutShortIsAFailureOfTheSystem() throws IOException {
        save();
        try (ViaFile file = ViaFile.open(path);
                ViaArray target = ViaArray.empty(DType.FLOAT32, 3, 4)) {
            try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
                channel.truncate(channel.size() - 4);
            }
            assertThrows(FileException.class, () -> file.read(target));
            assertThrows(FileException.class, () -> file.submitRead(target));
        }
    }
}
