package org.viaduct;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Archives: opened, listed, read into one buffer, at once and as a task. */
class ArchiveTest {
    @TempDir
    private Path folder;

    /** A safetensors file of three floats, 0 to 2, and two bytes, 7 and 8. */
    static Path save(Path path) throws IOException {
        String header = "{\"__metadata__\":{\"by\":\"a test\"},"
                + "\"weights\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]},"
                + "\"flags\":{\"dtype\":\"U8\",\"shape\":[2,1],\"data_offsets\":[12,14]}}";
        byte[] text = header.getBytes(StandardCharsets.UTF_8);
        ByteBuffer bytes = ByteBuffer.allocate(8 + text.length + 14).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putLong(text.length).put(text);
        bytes.putFloat(0).putFloat(1).putFloat(2).put((byte) 7).put((byte) 8);
        return Files.write(path, bytes.array());
    }

    private static byte[] content(ViaArray array) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        ByteBuffer buffer = array.buffer();
        while (buffer.hasRemaining()) {
            bytes.write(buffer.get());
        }
        return bytes.toByteArray();
    }

    @Test
    void tensorsAreViewsOfOneBuffer() throws IOException {
        try (ViaArchive archive = ViaArchive.open(save(folder.resolve("model.safetensors")));
                ViaArray buffer = archive.load(null, null);
                ViaArray weights = archive.array(archive.find("weights"), buffer);
                ViaArray flags = archive.array(1, buffer)) {
            assertEquals(2, archive.size());
            assertEquals(archive.nbytes(), buffer.size());
            assertEquals("flags", archive.name(1));
            assertNull(archive.name(2));
            assertEquals("F32", archive.typeName(0));
            assertNull(archive.typeName(2));
            assertEquals("{\"by\": \"a test\"}", archive.metadata());
            assertArrayEquals(new float[] {0, 1, 2}, Samples.elements(weights));
            assertArrayEquals(new long[] {2, 1}, flags.shape());
            assertArrayEquals(new byte[] {7, 8}, content(flags));
            try (ViaFile window = archive.file(1)) {
                assertArrayEquals(new long[] {2, 1}, window.info().shape());
            }
        }
    }

    @Test
    void aChoiceIsReadByATask() throws IOException {
        try (ViaArchive archive = ViaArchive.open(save(folder.resolve("model.safetensors")), FileOptions.DEFAULT);
                ViaArchive some = archive.select(1);
                ViaArray buffer = ViaArray.empty(DType.UINT8, some.nbytes());
                ViaArray flags = some.array(0, buffer)) {
            assertEquals("flags", some.name(0));
            some.submitRead(buffer, null).await();
            assertArrayEquals(new byte[] {7, 8}, content(flags));
            Viaduct.fillZero(buffer, null);
            some.read(buffer, null);
            assertArrayEquals(new byte[] {7, 8}, content(flags));
        }
    }

    @Test
    void tensorsAreReadAsAnotherType() throws IOException {
        try (ViaArchive archive = ViaArchive.open(save(folder.resolve("model.safetensors")))) {
            archive.convert(archive.find("flags"), DType.FLOAT32, null);
            archive.convert(-1, DType.FLOAT64, ConvertOptions.DEFAULT.casting(Casting.SAFE));
            try (ViaArray buffer = archive.load(null, null);
                    ViaArray weights = archive.array(0, buffer);
                    ViaArray flags = archive.array(1, buffer);
                    ViaFile window = archive.file(0)) {
                assertArrayEquals(new float[] {7, 8}, Samples.elements(flags));
                assertEquals(2, weights.buffer().getDouble(16));
                assertEquals(DType.FLOAT64, window.info().dtype());
            }
            ConvertOptions scaled = ConvertOptions.DEFAULT.scaled(2, 0);
            assertThrows(UnsupportedException.class, () -> archive.convert(0, DType.FLOAT32, scaled));
            assertThrows(OutOfRangeException.class, () -> archive.convert(2, DType.FLOAT32, null));
        }
    }

    @Test
    void whatIsWrongIsNamed() throws IOException {
        try (ViaArchive archive = ViaArchive.open(save(folder.resolve("model.safetensors")))) {
            String text = assertThrows(ViaductException.class, () -> archive.find("biases")).getMessage();
            assertTrue(text.contains("biases"), text);
            Path again = save(folder.resolve("again.safetensors"));
            assertThrows(ViaductException.class, () -> archive.add(again));
            assertEquals(2, archive.size());
        }
        Path none = folder.resolve("none.safetensors");
        String text = assertThrows(ViaductException.class, () -> ViaArchive.open(none)).getMessage();
        assertTrue(text.contains("none.safetensors"), text);
    }

    @Test
    void savedArraysComeBackWholeAndInParts() throws IOException {
        Path path = folder.resolve("saved.safetensors");
        try (ViaArray weights = Samples.grid()) {
            ViaArchive.save(path, Map.of("weights", weights));
            CopyTask task = ViaArchive.submitSave(path, Map.of("weights", weights), null, 0, null, null);
            task.await();
            try (ViaArchive archive = ViaArchive.open(path)) {
                archive.slice(0, 0, 1, 2);
                try (ViaArray buffer = archive.load(null, null);
                        ViaArray rows = archive.array(archive.find("weights"), buffer)) {
                    assertArrayEquals(new long[] {2, 4}, rows.shape());
                    assertArrayEquals(new float[] {4, 5, 6, 7, 8, 9, 10, 11}, Samples.elements(rows));
                }
            }
            Path one = folder.resolve("one.npy");
            Viaduct.save(one, weights, null);
            try (ViaArray back = Viaduct.load(one, null, null)) {
                assertArrayEquals(Samples.elements(weights), Samples.elements(back));
            }
        }
        assertThrows(ViaductException.class, () -> Viaduct.load(folder.resolve("none.npy"), null, null));
    }
}
