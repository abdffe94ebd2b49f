package org.viaduct;

import static org.viaduct.ViaConstants.*;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.Objects;

/**
 * The type of an element, by its number: DLPack's code, bits and lanes; negative for a record (a C struct) of that many
 * bytes.
 */
public record DType(int code) {
    public static final DType INT8 = new DType(VIA_INT8);
    public static final DType INT16 = new DType(VIA_INT16);
    public static final DType INT32 = new DType(VIA_INT32);
    public static final DType INT64 = new DType(VIA_INT64);
    public static final DType UINT8 = new DType(VIA_UINT8);
    public static final DType UINT16 = new DType(VIA_UINT16);
    public static final DType UINT32 = new DType(VIA_UINT32);
    public static final DType UINT64 = new DType(VIA_UINT64);
    public static final DType FLOAT16 = new DType(VIA_FLOAT16);
    public static final DType FLOAT32 = new DType(VIA_FLOAT32);
    public static final DType FLOAT64 = new DType(VIA_FLOAT64);
    public static final DType BFLOAT16 = new DType(VIA_BFLOAT16);
    public static final DType COMPLEX64 = new DType(VIA_COMPLEX64);
    public static final DType COMPLEX128 = new DType(VIA_COMPLEX128);
    public static final DType BOOL = new DType(VIA_BOOL);

    /** Returns the type of a name: "float32", "bfloat16", "float8_e4m3fn", "float32x4", "record12". */
    public static DType of(String name) {
        return new DType(Native.via_dtype_from_name(Utf8.bytes(name)));
    }

    /** A record (a C struct) of so many bytes; no valid type if that is below 1 or over 2^30. */
    public static DType record(long nbytes) {
        return new DType(Native.via_dtype_record(nbytes));
    }

    /** Returns whether the number is a type. */
    public boolean isValid() {
        return Native.via_dtype_is_valid(code) != 0;
    }

    /** Returns the bits of one element, lanes included; 0 if the number is not a type. */
    public long bits() {
        return Native.via_dtype_bits(code);
    }

    /** Returns whether a rule allows {@link Viaduct#convert} from this type to another. */
    public boolean canCast(DType to, Casting casting) {
        return Native.via_dtype_can_cast(code, to.code(), casting.code) != 0;
    }

    /** Returns the name that {@link #of(String)} takes. */
    public String name() {
        return Utf8.text(Native.via_dtype_name(code));
    }

    /** What a buffer of numbers holds; bytes are uint8. */
    static DType of(Buffer buffer) {
        if (buffer instanceof ByteBuffer) {
            return UINT8;
        } else if (buffer instanceof FloatBuffer) {
            return FLOAT32;
        } else if (buffer instanceof DoubleBuffer) {
            return FLOAT64;
        } else if (buffer instanceof IntBuffer) {
            return INT32;
        } else if (buffer instanceof LongBuffer) {
            return INT64;
        } else if (buffer instanceof ShortBuffer) {
            return INT16;
        }
        Objects.requireNonNull(buffer, "buffer");
        return UINT16; // of a CharBuffer
    }

    @Override
    public String toString() {
        return isValid() ? name() : "DType(" + code + ")";
    }
}
