package org.viaduct;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.FloatBuffer;
import java.nio.ReadOnlyBufferException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Direct buffers in and out: by offset and count, with the right order and limits, and never by a copy. */
class BufferTest {
    @Test
    void aBufferIsWrappedFromItsPositionOn() {
        ByteBuffer bytes = Samples.direct(64).position(16);
        try (ViaArray array = ViaArray.wrap(bytes, DType.FLOAT32, 12)) {
            assertEquals(Buffers.address(bytes) + 16, array.address());
        }
        FloatBuffer floats = Samples.counted(16).position(4);
        try (ViaArray array = ViaArray.wrap(floats)) {
            assertEquals(DType.FLOAT32, array.dtype());
            assertArrayEquals(new long[] {12}, array.shape());
            assertEquals(4, Samples.elements(array)[0]);
        }
    }

    @Test
    void everyKindOfBufferHasItsType() {
        ByteBuffer bytes = Samples.direct(64);
        assertEquals(DType.UINT8, ViaArray.wrap(bytes).dtype());
        assertEquals(DType.INT16, ViaArray.wrap(bytes.asShortBuffer()).dtype());
        assertEquals(DType.UINT16, ViaArray.wrap(bytes.asCharBuffer()).dtype());
        assertEquals(DType.INT32, ViaArray.wrap(bytes.asIntBuffer()).dtype());
        assertEquals(DType.INT64, ViaArray.wrap(bytes.asLongBuffer()).dtype());
        assertEquals(DType.FLOAT32, ViaArray.wrap(bytes.asFloatBuffer()).dtype());
        assertEquals(DType.FLOAT64, ViaArray.wrap(bytes.asDoubleBuffer()).dtype());
        assertArrayEquals(new long[] {8}, ViaArray.wrap(bytes.asDoubleBuffer()).shape());
    }

    @Test
    void aBufferIsWrappedByOffsetAndCountWhateverItsPosition() {
        ByteBuffer bytes = Samples.direct(64).position(60);
        try (ViaArray array = ViaArray.wrap(bytes, 8, 14, DType.FLOAT32)) {
            assertEquals(Buffers.address(bytes) + 8, array.address());
            assertEquals(14, array.size());
        }
        assertThrows(ShapeException.class, () -> ViaArray.wrap(bytes, 8, 15, DType.FLOAT32));
        assertThrows(ShapeException.class, () -> ViaArray.wrap(bytes, -4, 1, DType.FLOAT32));
        ExtentOverflowException beyond = assertThrows(
                ExtentOverflowException.class, () -> ViaArray.wrap(bytes, 0, Long.MAX_VALUE, DType.FLOAT32));
        assertTrue(beyond.getMessage().contains("expected an array that the memory holds"), beyond.getMessage());
    }

    @Test
    void aBufferThatIsNoneIsRefusedByName() {
        for (Executable call : List.<Executable>of(
                () -> ViaArray.wrap((ByteBuffer) null, DType.FLOAT32, 6),
                () -> ViaArray.wrap((ByteBuffer) null),
                () -> ViaArray.wrap(null, 0, 6, DType.FLOAT32),
                () -> Viaduct.fill(Samples.grid(), null, null))) {
            assertEquals("buffer", assertThrows(NullPointerException.class, call).getMessage());
        }
    }

    /** The text of a CharBuffer is what it holds. */
    @Test
    void aBufferOnTheHeapIsRefusedWithoutItsContent() {
        InvalidArgumentException refused = assertThrows(
                InvalidArgumentException.class, () -> ViaArray.wrap(CharBuffer.wrap("a long secret")));
        assertEquals("buffer is on the heap; expected a direct buffer", refused.getMessage());
    }

    @Test
    void theLimitOfABufferIsTheArraysToo() {
        ByteBuffer bytes = Samples.direct(64).limit(32);
        ViaArray.wrap(bytes, DType.FLOAT32, 8).close();
        assertThrows(ShapeException.class, () -> ViaArray.wrap(bytes, DType.FLOAT32, 9));
        assertThrows(ShapeException.class, () -> ViaArray.wrap(bytes.position(4), DType.FLOAT32, 8));
    }

    @Test
    void stridesMustStayInsideTheBuffer() {
        ByteBuffer bytes = Samples.direct(64);
        ViaArray.builder(bytes, DType.INT8, 4, 4).strides(20, 1).wrap().close();
        assertThrows(
                ShapeException.class,
                () -> ViaArray.builder(bytes, DType.INT8, 4, 4).strides(21, 1).wrap());
        ByteBuffer last = bytes.position(60);
        ViaArray.builder(last, DType.INT32, 16).strides(-1).wrap().close();
        ViaArray.builder(last, DType.INT32, 16).byteStrides(-4).wrap().close();
        assertThrows(
                ShapeException.class,
                () -> ViaArray.builder(last, DType.INT32, 17).strides(-1).wrap());
        ViaArray.builder(bytes.position(0), DType.INT8, 0, 1000).wrap().close();
    }

    @Test
    void aBufferOnTheHeapIsRefused() {
        assertThrows(InvalidArgumentException.class, () -> ViaArray.wrap(ByteBuffer.allocate(64), DType.INT8, 64));
        assertThrows(InvalidArgumentException.class, () -> ViaArray.wrap(FloatBuffer.allocate(16)));
    }

    @Test
    void aBufferInTheOtherByteOrderIsRefusedUnlessElementsAreBytes() {
        ByteOrder other =
                ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN ? ByteOrder.LITTLE_ENDIAN : ByteOrder.BIG_ENDIAN;
        ByteBuffer bytes = ByteBuffer.allocateDirect(64).order(other);
        ViaArray.wrap(bytes, DType.UINT8, 64).close();
        String text = assertThrows(InvalidArgumentException.class, () -> ViaArray.wrap(bytes, DType.FLOAT32, 16))
                .getMessage();
        assertTrue(text.contains(other.toString()), text);
        assertThrows(InvalidArgumentException.class, () -> ViaArray.wrap(bytes.asFloatBuffer()));
    }

    @Test
    void aReadOnlyBufferMakesAReadOnlyArrayAndTheOtherWayRound() {
        ViaArray array = ViaArray.wrap(Samples.counted(4).asReadOnlyBuffer());
        assertTrue(array.isReadOnly());
        ByteBuffer back = array.buffer();
        assertTrue(back.isReadOnly() && back.order() == ByteOrder.nativeOrder());
        assertThrows(ReadOnlyBufferException.class, () -> back.putFloat(0, 1));
        assertThrows(ReadOnlyException.class, () -> Viaduct.fillZero(array, null));
    }

    @Test
    void aBufferOfAnArrayIsTheSameMemoryInTheMachinesOrder() {
        FloatBuffer numbers = Samples.counted(12);
        ByteBuffer bytes = ViaArray.wrap(numbers).buffer();
        assertEquals(Buffers.address(numbers), Buffers.address(bytes));
        assertEquals(ByteOrder.nativeOrder(), bytes.order());
        assertEquals(48, bytes.capacity());
        bytes.putFloat(8, 77);
        assertEquals(77, numbers.get(2));
    }

    @Test
    void aBufferOfAnArrayIsByOffsetAndCountOfElements() {
        ViaArray array = Samples.grid();
        ByteBuffer part = array.buffer(5, 3);
        assertEquals(12, part.remaining());
        assertEquals(5, part.getFloat(0));
        assertEquals(0, array.buffer(12, 0).capacity());
        assertThrows(OutOfRangeException.class, () -> array.buffer(5, 8));
        assertThrows(OutOfRangeException.class, () -> array.buffer(-1, 2));
        assertThrows(OutOfRangeException.class, () -> array.buffer(0, Long.MAX_VALUE));
    }

    @Test
    void elementsNarrowerThanAByteAreCutAtBytesOnly() {
        ViaArray halves = ViaArray.wrap(Samples.address(8), DType.of("int4"), 15);
        assertEquals(8, halves.buffer().capacity());
        assertEquals(2, halves.buffer(2, 4).capacity());
        assertThrows(NeedsCopyException.class, () -> halves.buffer(1, 4));
    }

    @Test
    void whatIsNoDenseHostMemoryHasNoBuffer() {
        ViaArray array = Samples.grid();
        assertThrows(NeedsCopyException.class, () -> array.transpose().buffer());
        long address = array.address();
        ViaArray far = ViaArray.builder(address, DType.INT8, 4L << 30).wrap();
        assertThrows(ExtentOverflowException.class, far::buffer);
        assertThrows(ExtentOverflowException.class, () -> far.buffer(0, 1L << 31));
        assertEquals(1 << 20, far.buffer(0, 1 << 20).capacity());
    }

    @Test
    void aBufferOfAnEmptyArrayIsEmpty() {
        assertEquals(0, ViaArray.empty(DType.FLOAT32, 0, 4).buffer().capacity());
    }
}
