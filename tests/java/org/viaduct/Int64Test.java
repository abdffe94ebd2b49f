package org.viaduct;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.viaduct.Samples.BIG;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Every int64_t of the header takes more than 32 bits; what comes back, or the refusal, holds the number. */
class Int64Test {
    private final Map<String, Set<String>> seen = new TreeMap<>();

    private void note(String function, String parameter) {
        seen.computeIfAbsent(function, name -> new TreeSet<>()).add(parameter);
    }

    private static void assertNamed(long number, Executable call) {
        String text = assertThrows(ViaductException.class, call).getMessage();
        assertTrue(text.contains(Long.toString(number)), text);
    }

    @TempDir
    private Path folder;

    @Test
    void everyInt64ParameterTakesMoreThan32Bits() throws IOException {
        long address = Samples.address(64);
        ViaArray lazy = ViaArray.builder(address, DType.INT8, BIG, 0).strides(0, BIG).wrap();
        assertArrayEquals(new long[] {BIG, 0}, lazy.shape());
        note("via_wrap", "shape");
        assertArrayEquals(new long[] {0, BIG}, lazy.strides());
        note("via_wrap", "strides");
        ViaArray repeated = ViaArray.builder(address, DType.INT8, BIG).strides(0).wrap();
        assertEquals(BIG, repeated.size());
        views(repeated);
        ViaArray empty = ViaArray.wrap(address, DType.INT8, 0);
        assertArrayEquals(new long[] {BIG, 0}, empty.reshape(BIG, 0).shape());
        note("via_array_reshape", "shape");
        assertArrayEquals(new long[] {BIG, 0}, ViaArray.empty(DType.INT8, BIG, 0).shape());
        note("via_empty", "shape");
        refusals(address);
        files(address);
        archives();
        assertEquals(parametersOfTheHeader(), seen);
    }

    private void views(ViaArray repeated) {
        assertEquals(1, slice(repeated, BIG - 1, 1, 1).size());
        note("via_array_slice", "start");
        assertEquals(BIG - 7, slice(repeated, 0, BIG - 7, 1).size());
        note("via_array_slice", "count");
        assertEquals(1, slice(repeated, 0, 1, BIG).size());
        note("via_array_slice", "step");
        ViaArray one = repeated.select(0, BIG - 1).reshape(1);
        note("via_array_select", "index");
        assertEquals(BIG, one.broadcast(BIG).size());
        note("via_array_broadcast", "shape");
    }

    private static ViaArray slice(ViaArray array, long start, long count, long step) {
        return array.slice(new long[] {start}, new long[] {count}, new long[] {step});
    }

    private void refusals(long address) {
        assertNamed(BIG, () -> Samples.grid().field(BIG, DType.INT8));
        note("via_array_field", "byte_offset");
        assertNamed(BIG, () -> Samples.grid().field(0, DType.INT8, BIG));
        note("via_array_field", "shape");
        assertEquals(new DType(-12), DType.record(12));
        assertEquals(new DType(0), DType.record((1L << 32) + 12));
        note("via_dtype_record", "nbytes");
        assertNamed(-BIG, () -> Viaduct.memcpy(address, address, -BIG, null));
        note("via_memcpy", "nbytes");
    }

    /** A file with a hole of that size, and one byte behind it. */
    private void files(long address) throws IOException {
        Path path = folder.resolve("wide.raw");
        try (ViaFile file = ViaFile.create(path, DType.INT8, BIG + 1);
                ViaFile opened = ViaFile.open(path); // whose maps set no blocks aside
                ViaArray one = ViaArray.wrap(address, DType.INT8, 1);
                ViaArray back = ViaArray.empty(DType.INT8, 1)) {
            assertEquals(BIG + 1, Files.size(path));
            note("via_file_create", "shape");
            assertEquals(BIG, opened.map(0, DType.INT8, BIG).size());
            note("via_file_array", "shape");
            assertEquals(1, opened.map(BIG, DType.INT8, 1).size());
            note("via_file_array", "byte_offset");
            assertEquals(BIG, windowOf(file, BIG, 1, 0, 1, 1).byteOffset());
            note("via_file_window", "byte_offset");
            assertEquals(BIG - 1, windowOf(file, 0, BIG, BIG - 1, 1, 1).byteOffset());
            note("via_file_window", "shape");
            note("via_file_window", "starts");
            assertEquals(BIG - 7, windowOf(file, 0, BIG, 7, BIG - 7, 1).shape()[0]);
            note("via_file_window", "counts");
            assertEquals(2, windowOf(file, 0, BIG, 0, 2, BIG - 1).shape()[0]);
            note("via_file_window", "steps");
            Viaduct.fill(one, Samples.direct(1).put(0, (byte) 7), null);
            file.write(one, BIG, null);
            note("via_file_write", "byte_offset");
            file.read(back, BIG, null);
            assertEquals(7, back.buffer().get(0));
            note("via_file_read", "byte_offset");
            Viaduct.fillZero(one, null);
            file.submitWrite(one, BIG, null).await();
            note("via_file_write_submit", "byte_offset");
            file.submitRead(back, BIG, null).await();
            assertEquals(0, back.buffer().get(0));
            note("via_file_read_submit", "byte_offset");
        }
    }

    private void archives() throws IOException {
        try (ViaArchive archive = ViaArchive.open(ArchiveTest.save(folder.resolve("wide.safetensors")));
                ViaArray buffer = archive.load(null, null)) {
            assertNull(archive.name(BIG));
            note("via_archive_name", "number");
            assertNull(archive.typeName(BIG));
            note("via_archive_type_name", "number");
            assertNamed(BIG, () -> archive.file(BIG));
            note("via_archive_file", "number");
            assertNamed(BIG, () -> archive.array(BIG, buffer));
            note("via_archive_array", "number");
            assertNamed(BIG, () -> archive.select(BIG));
            note("via_archive_select", "numbers");
            assertNamed(BIG, () -> archive.slice(BIG, 0, 0, 0));
            note("via_archive_slice", "number");
            assertNamed(BIG, () -> archive.slice(0, 0, BIG, 0));
            note("via_archive_slice", "start");
            assertNamed(BIG, () -> archive.slice(0, 0, 0, BIG));
            note("via_archive_slice", "count");
            assertNamed(BIG, () -> archive.convert(BIG, DType.FLOAT32, null));
            note("via_archive_convert", "number");
        }
        Path none = folder.resolve("none.safetensors");
        assertNamed(-BIG, () -> ViaArchive.save(none, Map.of(), null, -BIG, null, null));
        note("via_archive_save", "shard_bytes");
        assertNamed(-BIG, () -> ViaArchive.submitSave(none, Map.of(), null, -BIG, null, null));
        note("via_archive_save_submit", "shard_bytes");
    }

    private static FileInfo windowOf(ViaFile file, long offset, long extent, long start, long count, long step) {
        long[] shape = {extent};
        try (ViaFile window =
                file.window(offset, DType.INT8, shape, new long[] {start}, new long[] {count}, new long[] {step})) {
            return window.info();
        }
    }

    /** But for the lengths of arrays of Java's, which have no more than 31 bits. */
    private static Map<String, Set<String>> parametersOfTheHeader() {
        Map<String, Set<String>> wanted = new TreeMap<>();
        for (Map.Entry<String, List<String>> function : Header.FUNCTIONS.entrySet()) {
            Set<String> names = new TreeSet<>();
            for (String parameter : function.getValue()) {
                boolean counts = parameter.matches("int64_t \\w+|const int64_t \\*\\w+");
                if (counts && !Set.of("capacity", "length").contains(Header.nameOf(parameter))) {
                    names.add(Header.nameOf(parameter));
                }
            }
            if (!names.isEmpty()) {
                wanted.put(function.getKey(), names);
            }
        }
        return wanted;
    }

    @Test
    void fieldsOfStructsAreAsWide() {
        ArrayInterface described =
                new ArrayInterface(64, "|i1", new long[] {BIG, 0}, new long[] {BIG, 1}, false, null);
        ArrayInterface back = Exchange.toArrayInterface(Exchange.fromArrayInterface(described, null));
        assertArrayEquals(new long[] {BIG, 0}, back.shape());
        assertTrue(Viaduct.deviceInfo(Device.CPU).totalBytes() > 0);
    }
}
