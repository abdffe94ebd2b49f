package org.viaduct;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Conversions: at once, as a task, refused by the rule, explained. */
class ConvertTest {
    @Test
    void elementsAreConverted() {
        try (ViaArray floats = Samples.grid();
                ViaArray doubles = ViaArray.empty(DType.FLOAT64, floats.shape());
                ViaArray back = ViaArray.empty(DType.FLOAT32, floats.shape())) {
            Viaduct.convert(doubles, floats, ConvertOptions.DEFAULT, null);
            Viaduct.submitConvert(back, doubles, ConvertOptions.DEFAULT, null).await();
            assertArrayEquals(Samples.elements(floats), Samples.elements(back));
            String text = Viaduct.explainConvert(doubles, floats, ConvertOptions.DEFAULT);
            assertTrue(text.contains("float32") && text.contains("float64"), text);
        }
    }

    @Test
    void numbersAreScaledAndOffset() {
        try (ViaArray floats = Samples.grid();
                ViaArray doubles = ViaArray.empty(DType.FLOAT64, floats.shape())) {
            float[] numbers = Samples.elements(floats);
            int columns = (int) floats.shape()[1];
            float[] offsets = new float[columns];
            for (int i = 0; i < columns; ++i) {
                offsets[i] = 10 * i;
            }
            Viaduct.convert(doubles, floats, ConvertOptions.DEFAULT.scaled(new float[] {2}, offsets, -1), null);
            java.nio.DoubleBuffer found = doubles.buffer().order(java.nio.ByteOrder.nativeOrder()).asDoubleBuffer();
            for (int i = 0; i < numbers.length; ++i) {
                assertEquals(numbers[i] * 2 + 10 * (i % columns), found.get(i));
            }
            Viaduct.convert(doubles, floats, ConvertOptions.DEFAULT.scaled(-1, 0.5F), null);
            assertEquals(0.5 - numbers[1], found.get(1));
            ConvertOptions wrong = ConvertOptions.DEFAULT.scaled(new float[] {1, 2, 3, 4, 5, 6, 7}, null, 1);
            String text = assertThrows(ViaductException.class, () -> Viaduct.convert(doubles, floats, wrong, null))
                    .getMessage();
            assertTrue(text.contains("options.scale_count is 7"), text);
            ConvertOptions uneven = ConvertOptions.DEFAULT.scaled(new float[2], new float[3], 1);
            assertThrows(ViaductException.class, () -> Viaduct.convert(doubles, floats, uneven, null));
        }
    }

    @Test
    void whatLosesInformationIsRefused() {
        try (ViaArray floats = Samples.grid();
                ViaArray whole = ViaArray.empty(DType.INT32, floats.shape())) {
            String text = assertThrows(
                            ViaductException.class,
                            () -> Viaduct.convert(whole, floats, ConvertOptions.DEFAULT, null))
                    .getMessage();
            assertTrue(text.contains("float32") && text.contains("int32") && text.contains("unsafe"), text);
            Viaduct.convert(whole, floats, ConvertOptions.DEFAULT.casting(Casting.UNSAFE), null);
            assertEquals(1, whole.buffer().order(java.nio.ByteOrder.nativeOrder()).getInt(4));
        }
        assertTrue(DType.FLOAT32.canCast(DType.FLOAT64, Casting.SAFE));
        assertFalse(DType.FLOAT64.canCast(DType.FLOAT32, Casting.SAFE));
    }
}
