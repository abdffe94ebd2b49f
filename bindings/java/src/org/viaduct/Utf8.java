package org.viaduct;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Texts as the library takes and gives them; JNI's own are another encoding beyond the basic plane. */
final class Utf8 {
    private Utf8() {}

    static byte[] bytes(String text) {
        if (text == null) {
            return null;
        }
        try {
            ByteBuffer encoded = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
            return Arrays.copyOf(encoded.array(), encoded.limit());
        } catch (CharacterCodingException error) {
            throw new IllegalArgumentException("the text holds half of a surrogate pair", error);
        }
    }

    static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
