package org.viaduct;

import java.io.IOException;
import java.nio.FloatBuffer;

/** A program that adds 1 to each element of an array of the process that started it; ShareTest does. */
final class Sharing {
    private Sharing() {}

    /** The array's description comes by standard input; the sum of what was there goes out. */
    public static void main(String[] arguments) throws IOException {
        float sum = 0;
        try (ViaArray array = ViaArray.importIpc(System.in.readAllBytes())) {
            FloatBuffer numbers = array.buffer().asFloatBuffer();
            for (int i = 0; i < numbers.limit(); i++) {
                sum += numbers.get(i);
                numbers.put(i, numbers.get(i) + 1);
            }
        }
        System.out.print(sum);
    }
}
