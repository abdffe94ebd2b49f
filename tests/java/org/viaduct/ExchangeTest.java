package org.viaduct;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Arrays out of the JVM and into it, by address, to and from C. */
class ExchangeTest {
    private static final double SUM = 66; // of 0 to 11

    /** A second one would count, and wait, for itself. */
    @Test
    void allNativeLibrariesOfTheProcessShareOneViaduct() throws IOException {
        TestLibrary.ended();
        Set<String> mapped = new HashSet<>();
        for (String line : Files.readAllLines(Path.of("/proc/self/maps"))) {
            if (line.contains("/libviaduct.so.")) {
                mapped.add(line.replaceAll("^[^/]*", ""));
            }
        }
        assertEquals(1, mapped.size(), mapped.toString());
    }

    @Test
    void cTakesATensorOverAndWorksOnTheSameMemory() {
        FloatBuffer numbers = Samples.counted(12);
        long tensor;
        try (ViaArray array = ViaArray.wrap(numbers, DType.FLOAT32, 3, 4)) {
            tensor = array.toDlpack();
        }
        assertEquals(SUM, TestLibrary.sumAndDouble(tensor));
        assertEquals(22, numbers.get(11));
    }

    @Test
    void cSeesAViewAsItIsStrided() {
        try (ViaArray array = Samples.grid();
                ViaArray view = array.transpose().slice(null, new long[] {2, 3}, new long[] {2, 1})) {
            assertEquals(0 + 4 + 8 + 2 + 6 + 10, TestLibrary.sumAndDouble(view.toDlpack()));
            assertArrayEquals(new float[] {0, 1, 4, 3, 8, 5, 12, 7, 16, 9, 20, 11}, Samples.elements(array));
        }
    }

    @Test
    void aTensorOfAnotherLibraryBecomesAnArrayAndIsEndedOnce() {
        int ended = TestLibrary.ended();
        ViaArray array = ViaArray.fromDlpack(TestLibrary.export());
        ViaArray view = array.select(0, 2);
        array.close();
        assertArrayEquals(new float[] {8, 9, 10, 11}, Samples.elements(view));
        view.reshape(4).buffer().putFloat(0, 80);
        assertEquals(80, TestLibrary.exportedNumber(8));
        view.close();
        Samples.collectUntil(() -> TestLibrary.ended() == ended + 1);
    }

    @Test
    void anArrayGoesToCAndBackWithoutACopy() {
        try (ViaArray array = Samples.grid();
                ViaArray back = ViaArray.fromDlpack(array.toDlpack())) {
            assertEquals(array.address(), back.address());
            assertArrayEquals(array.shape(), back.shape());
            assertFalse(back.isCopied());
        }
    }

    @Test
    void aTensorThatIsRefusedIsStillTheCallers() {
        int ended = TestLibrary.ended();
        long tensor = TestLibrary.export();
        DlpackOptions device = DlpackOptions.DEFAULT.to(Device.cuda(0)).copy(CopyMode.NEVER);
        assertThrows(ViaductException.class, () -> Exchange.fromDlpack(tensor, device, null));
        assertEquals(ended, TestLibrary.ended());
        Exchange.deleteDlpack(tensor);
        assertEquals(ended + 1, TestLibrary.ended());
        Exchange.deleteDlpack(0);
    }

    @Test
    void optionsReachTheLibrary() {
        try (ViaArray array = Samples.grid()) {
            DlpackOptions options = DlpackOptions.DEFAULT.copy(CopyMode.ALWAYS);
            try (ViaArray copy = ViaArray.fromDlpack(Exchange.toDlpack(array, options, null))) {
                assertTrue(copy.isCopied());
                assertArrayEquals(Samples.elements(array), Samples.elements(copy));
            }
            assertThrows(
                    VersionException.class,
                    () -> Exchange.toDlpack(array, DlpackOptions.DEFAULT.maxVersion(0, 8), null));
        }
    }

    @Test
    void theFormBefore10GoesBothWays() {
        try (ViaArray array = Samples.grid();
                ViaArray back = Exchange.fromDlpackLegacy(Exchange.toDlpackLegacy(array, null, null), null, null)) {
            assertEquals(array.address(), back.address());
            Exchange.deleteDlpackLegacy(Exchange.toDlpackLegacy(array, null, null));
            ViaArray readOnly = array.asReadOnly();
            assertThrows(ExchangeException.class, () -> Exchange.toDlpackLegacy(readOnly, null, null));
        }
    }

    @Test
    void anArrayInterfaceSaysWhatPythonsDictionaryHolds() {
        try (ViaArray array = Samples.grid()) {
            ArrayInterface whole = Exchange.toArrayInterface(array);
            assertEquals(array.address(), whole.address());
            assertEquals("<f4", whole.typestr());
            assertNull(whole.stream());
            ArrayInterface transposed = Exchange.toArrayInterface(array.transpose());
            assertArrayEquals(new long[] {4, 16}, transposed.strides());
            Object owner = new Object();
            try (ViaArray back = Exchange.fromArrayInterface(transposed, owner)) {
                assertArrayEquals(new long[] {4, 3}, back.shape());
                assertSame(owner, back.owner());
                assertArrayEquals(Samples.elements(array.transpose()), Samples.elements(back));
            }
        }
    }

    @Test
    void anArrayInterfaceThatIsWrongIsRefused() {
        ArrayInterface short1 = new ArrayInterface(64, "<f4", new long[] {2, 2}, new long[] {4}, false, null);
        assertThrows(ShapeException.class, () -> Exchange.fromArrayInterface(short1, null));
        ArrayInterface unknown = new ArrayInterface(64, "<q9", new long[] {2}, null, false, null);
        assertThrows(ViaductException.class, () -> Exchange.fromArrayInterface(unknown, new Object()));
        ArrayInterface tooLong = new ArrayInterface(64, "x".repeat(16), new long[] {2}, null, false, null);
        assertThrows(InvalidArgumentException.class, () -> Exchange.fromArrayInterface(tooLong, null));
    }

    /** Bytes of the two structs of Arrow's C device interface. */
    private static final int ARROW_BYTES = 256;

    @Test
    void anArrowColumnGoesBothWays() {
        long schema = Samples.address(2 * ARROW_BYTES);
        long column = schema + ARROW_BYTES;
        try (ViaArray array = ViaArray.wrap(Samples.counted(5))) {
            Exchange.toArrowDevice(array, schema, column);
            try (ViaArray back = Exchange.fromArrowDevice(schema, column, null)) {
                assertEquals(array.address(), back.address());
                assertTrue(back.isReadOnly());
            }
            Exchange.toArrowDevice(array, schema, column);
            Exchange.releaseArrow(schema, column);
            assertThrows(NeedsCopyException.class, () -> {
                ViaArray transposed = Samples.grid().transpose();
                Exchange.toArrowDevice(transposed, schema, column);
            });
        }
    }
}
