package org.viaduct;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Arrays: wrapped, looked at, and seen in other ways. */
class ArrayTest {
    private static long[] of(long... numbers) {
        return numbers;
    }

    @Test
    void anArrayReportsWhatItIs() {
        FloatBuffer numbers = Samples.counted(12);
        try (ViaArray array = ViaArray.wrap(numbers, DType.FLOAT32, 3, 4)) {
            assertEquals(Buffers.address(numbers), array.address());
            assertEquals(DType.FLOAT32, array.dtype());
            assertEquals(2, array.ndim());
            assertArrayEquals(of(3, 4), array.shape());
            assertArrayEquals(of(4, 1), array.strides());
            assertArrayEquals(of(16, 4), array.byteStrides());
            assertEquals(Device.CPU, array.device());
            assertEquals(12, array.size());
            assertEquals(48, array.nbytes());
            assertFalse(array.isReadOnly() || array.isCopied() || array.isMisaligned() || array.isSubbytePadded());
            assertTrue(array.isContiguous(MemoryOrder.ROW_MAJOR));
            assertFalse(array.isContiguous(MemoryOrder.COLUMN_MAJOR));
            assertTrue(array.isContiguous(MemoryOrder.ANY));
            assertTrue(array.isReady());
            assertSame(numbers, array.owner());
            assertEquals("ViaArray(float32, [3, 4], cpu)", array.toString());
        }
    }

    @Test
    void theShapeThatIsReportedIsTheCallersToChange() {
        try (ViaArray array = Samples.grid()) {
            assertNotSame(array.shape(), array.shape());
            array.shape()[0] = 7;
            array.strides()[0] = 7;
            assertArrayEquals(of(3, 4), array.shape());
            assertArrayEquals(of(4, 1), array.strides());
        }
    }

    @Test
    void anArrayWithoutDimensionsHasOneElement() {
        try (ViaArray scalar = ViaArray.wrap(Samples.counted(1), DType.FLOAT32)) {
            assertEquals(0, scalar.ndim());
            assertEquals(1, scalar.size());
            assertArrayEquals(of(), scalar.shape());
            assertArrayEquals(of(), scalar.strides());
        }
    }

    @Test
    void anAddressIsWrappedAsItIs() {
        long address = Samples.address(64);
        try (ViaArray array = ViaArray.wrap(address, DType.INT64, 2, 4)) {
            assertEquals(address, array.address());
            assertNull(array.owner());
        }
    }

    @Test
    void stridesMayBeElementsOrBytesAndGoBackwards() {
        long last = Samples.address(64) + 60;
        try (ViaArray array = ViaArray.builder(last, DType.FLOAT32, 16).strides(-1).wrap();
                ViaArray same = ViaArray.builder(last, DType.FLOAT32, 16).byteStrides(-4).wrap()) {
            assertArrayEquals(array.byteStrides(), same.byteStrides());
            assertArrayEquals(of(-1), same.strides());
        }
    }

    @Test
    void stridesThatAreNotWholeElementsAreReportedInBytes() {
        long address = Samples.address(64);
        try (ViaArray array = ViaArray.builder(address, DType.FLOAT64, 3).byteStrides(12).wrap()) {
            assertNull(array.strides());
            assertArrayEquals(of(12), array.byteStrides());
            assertTrue(array.isMisaligned());
        }
    }

    @Test
    void flagsReachTheLibrary() {
        long address = Samples.address(64);
        try (ViaArray array = ViaArray.builder(address, DType.INT8, 64).readOnly().unchecked().wrap()) {
            assertTrue(array.isReadOnly());
        }
        assertThrows(PointerException.class, () -> ViaArray.builder(8, DType.INT8, 64).probe().wrap());
        try (ViaArray found = ViaArray.builder(address, DType.INT8, 64).device(Device.ANY).wrap()) {
            assertEquals(Device.CPU, found.device());
        }
    }

    @Test
    void viewsShareTheMemory() {
        ViaArray array = Samples.grid();
        assertArrayEquals(of(4, 3), array.transpose().shape());
        assertArrayEquals(of(4, 3), array.permute(1, 0).shape());
        assertArrayEquals(of(2, 6), array.reshape(2, -1).shape());
        assertArrayEquals(of(5, 3, 4), array.broadcast(5, 3, 4).shape());
        assertArrayEquals(of(3, 1, 4), array.expand(1).shape());
        assertArrayEquals(of(3, 4), array.expand(1).squeeze().shape());
        assertArrayEquals(of(3, 4), array.expand(1).squeeze(1).shape());
        assertEquals(DType.INT32, array.reinterpret(DType.INT32).dtype());
        assertArrayEquals(of(3, 4, 2), array.field(0, DType.INT16, 2).shape());
        assertTrue(array.asReadOnly().isReadOnly());
        assertEquals(array.address() + 16, array.select(0, 1).address());
        ViaArray back = array.slice(null, of(3, 2), of(1, 2));
        assertArrayEquals(new float[] {0, 2, 4, 6, 8, 10}, Samples.elements(back));
        assertEquals(array.address(), back.address());
    }

    @Test
    void listsOfAnotherLengthThanTheAxesAreRefused() {
        ViaArray array = Samples.grid();
        String text = assertThrows(ShapeException.class, () -> array.slice(of(1), null, null)).getMessage();
        assertEquals("start has 1 entries; expected one for each of 2 axes", text);
        assertThrows(ShapeException.class, () -> array.permute(0, 1, 2));
        long address = array.address();
        assertThrows(ShapeException.class, () -> ViaArray.builder(address, DType.INT8, 2, 2).strides(1).wrap());
    }

    @Test
    void anObjectThatIsNullIsNamed() {
        for (Executable call : List.<Executable>of(
                () -> ViaArray.empty(null, 3),
                () -> ViaArray.wrap(64, null, 3),
                () -> Samples.grid().reinterpret(null),
                () -> ViaFile.create(Path.of("unused.npy"), null, 3))) {
            String text = assertThrows(NullPointerException.class, call).getMessage();
            assertTrue(text.contains("\"dtype\""), text);
        }
    }

    @Test
    void moreAxesThanThereMayBeAreRefusedByTheLibrary() {
        assertThrows(ViaductException.class, () -> ViaArray.empty(DType.INT8, new long[65]));
        assertThrows(ViaductException.class, () -> Samples.grid().reshape(new long[1000]));
    }

    @Test
    void typesHaveNamesAndNumbers() {
        assertEquals(DType.FLOAT32, DType.of("float32"));
        assertEquals("bfloat16", DType.BFLOAT16.name());
        assertEquals(64, DType.COMPLEX64.bits());
        assertEquals("record12", DType.record(12).toString());
        assertEquals(new DType(ViaConstants.VIA_FLOAT4_E2M1FN), DType.of("float4_e2m1fn"));
        assertFalse(new DType(5).isValid());
        assertEquals("DType(5)", new DType(5).toString());
        assertThrows(DTypeException.class, () -> DType.of("nothing"));
    }

    @Test
    void recordsHaveFields() {
        ByteBuffer bytes = Samples.direct(3 * 12);
        bytes.putFloat(12 + 8, 7);
        try (ViaArray records = ViaArray.wrap(bytes, DType.record(12), 3);
                ViaArray field = records.field(8, DType.FLOAT32)) {
            assertArrayEquals(new float[] {0, 7, 0}, Samples.elements(field));
        }
    }

    @Test
    void noElementLiesOutsideOfTheBytesThatTheCallerNames() {
        long address = Buffers.address(Samples.direct(48));
        assertEquals(12, ViaArray.builder(address, DType.FLOAT32, 3, 4).nbytes(48).wrap().size());
        assertEquals(6, ViaArray.builder(address, DType.FLOAT32, 3, 2).strides(4, 2).nbytes(44).wrap().size());
        assertEquals(6, ViaArray.builder(address, DType.FLOAT32, 3, 2).byteStrides(16, 8).nbytes(44).wrap().size());
        assertEquals(0, ViaArray.builder(address, DType.FLOAT32, 3, 0).nbytes(0).wrap().size());
        refusesBound("nbytes is 47; expected 48 or more", ViaArray.builder(address, DType.FLOAT32, 3, 4).nbytes(47));
        refusesBound(
                "nbytes is 43; expected 44 or more",
                ViaArray.builder(address, DType.FLOAT32, 3, 2).strides(4, 2).nbytes(43));
        refusesBound(
                "strides reach 12 bytes before the address",
                ViaArray.builder(address + 12, DType.FLOAT32, 4).strides(-1).nbytes(48));
        assertThrows(
                InvalidArgumentException.class, () -> ViaArray.builder(address, DType.INT8, 1).nbytes(-1).wrap());
    }

    private static void refusesBound(String text, WrapBuilder builder) {
        String message = assertThrows(PointerException.class, builder::wrap).getMessage();
        assertTrue(message.contains(text), message);
    }
}
