package org.viaduct;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystems;
import java.nio.file.Path;
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
            ViaductException refused = ViaductException.refused(
                    ViaConstants.VIA_ERROR_INVALID_ARGUMENT, "text holds half of a surrogate pair; expected characters");
            refused.initCause(error);
            throw refused;
        }
    }

    /**
     * A file's name as the system has it, which need not be UTF-8 nor what the locale can say: a path keeps its bytes,
     * and gives them in its URI alone. One of another file system, such as that of a zip file, names no file of this one.
     * A relative one begins where Java says, which need not be where the process is.
     */
    static byte[] bytes(Path path) {
        if (path.getFileSystem() != FileSystems.getDefault()) {
            throw ViaductException.refused(
                    ViaConstants.VIA_ERROR_INVALID_ARGUMENT,
                    "path is " + path + " of another file system; expected one of the default file system");
        }
        String name = path.toAbsolutePath().toString();
        if (name.chars().allMatch(letter -> letter < 0x80)) {
            return bytes(name);
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        String escaped = path.toUri().getRawPath();
        for (int at = 0; at < escaped.length(); at += escaped.charAt(at) == '%' ? 3 : 1) {
            boolean isEscape = escaped.charAt(at) == '%';
            bytes.write(isEscape ? Integer.parseInt(escaped, at + 1, at + 3, 16) : escaped.charAt(at));
        }
        return bytes.toByteArray();
    }

    static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
