using System;
using System.Collections.Generic;
using System.Numerics;
using System.Runtime.InteropServices;

namespace Viaduct
{
    /// <summary>
    /// An element type: DLPack's code, bits and lanes in one number; a negative number is a record (a struct) of that
    /// many bytes.
    /// </summary>
    public struct DType : IEquatable<DType>
    {
#pragma warning disable 1591 // the names say it
        public static readonly DType Int4 = new DType(Native.VIA_INT4);
        public static readonly DType Int8 = new DType(Native.VIA_INT8);
        public static readonly DType Int16 = new DType(Native.VIA_INT16);
        public static readonly DType Int32 = new DType(Native.VIA_INT32);
        public static readonly DType Int64 = new DType(Native.VIA_INT64);
        public static readonly DType UInt4 = new DType(Native.VIA_UINT4);
        public static readonly DType UInt8 = new DType(Native.VIA_UINT8);
        public static readonly DType UInt16 = new DType(Native.VIA_UINT16);
        public static readonly DType UInt32 = new DType(Native.VIA_UINT32);
        public static readonly DType UInt64 = new DType(Native.VIA_UINT64);
        public static readonly DType Float16 = new DType(Native.VIA_FLOAT16);
        public static readonly DType Float32 = new DType(Native.VIA_FLOAT32);
        public static readonly DType Float64 = new DType(Native.VIA_FLOAT64);
        public static readonly DType Opaque64 = new DType(Native.VIA_OPAQUE64);
        public static readonly DType BFloat16 = new DType(Native.VIA_BFLOAT16);
        public static readonly DType Complex32 = new DType(Native.VIA_COMPLEX32);
        public static readonly DType Complex64 = new DType(Native.VIA_COMPLEX64);
        public static readonly DType Complex128 = new DType(Native.VIA_COMPLEX128);
        public static readonly DType Bool = new DType(Native.VIA_BOOL);
        public static readonly DType Float8E3M4 = new DType(Native.VIA_FLOAT8_E3M4);
        public static readonly DType Float8E4M3 = new DType(Native.VIA_FLOAT8_E4M3);
        public static readonly DType Float8E4M3B11Fnuz = new DType(Native.VIA_FLOAT8_E4M3B11FNUZ);
        public static readonly DType Float8E4M3FN = new DType(Native.VIA_FLOAT8_E4M3FN);
        public static readonly DType Float8E4M3Fnuz = new DType(Native.VIA_FLOAT8_E4M3FNUZ);
        public static readonly DType Float8E5M2 = new DType(Native.VIA_FLOAT8_E5M2);
        public static readonly DType Float8E5M2Fnuz = new DType(Native.VIA_FLOAT8_E5M2FNUZ);
        public static readonly DType Float8E8M0Fnu = new DType(Native.VIA_FLOAT8_E8M0FNU);
        public static readonly DType Float6E2M3FN = new DType(Native.VIA_FLOAT6_E2M3FN);
        public static readonly DType Float6E3M2FN = new DType(Native.VIA_FLOAT6_E3M2FN);
        public static readonly DType Float4E2M1FN = new DType(Native.VIA_FLOAT4_E2M1FN);
#pragma warning restore 1591

        // System.Half is not part of .NET Standard.
        private static readonly Dictionary<string, DType> OfPrimitives = new Dictionary<string, DType>
        {
            { typeof(sbyte).FullName, Int8 },
            { typeof(byte).FullName, UInt8 },
            { typeof(short).FullName, Int16 },
            { typeof(ushort).FullName, UInt16 },
            { typeof(char).FullName, UInt16 },
            { typeof(int).FullName, Int32 },
            { typeof(uint).FullName, UInt32 },
            { typeof(long).FullName, Int64 },
            { typeof(ulong).FullName, UInt64 },
            { typeof(float).FullName, Float32 },
            { typeof(double).FullName, Float64 },
            { typeof(bool).FullName, Bool },
            { typeof(Complex).FullName, Complex128 },
            { "System.Half", Float16 }
        };

        static DType()
        {
            NativeLibraryFile.Load();
        }

        /// <summary>The dtype of a number as the library has it.</summary>
        public DType(int value)
        {
            Value = value;
        }

        /// <summary>The number as the library has it.</summary>
        public int Value { get; }

        /// <summary>Whether it is a dtype at all.</summary>
        public bool IsValid
        {
            get { return Native.via_dtype_is_valid(Value) != 0; }
        }

        /// <summary>Bits of one element, lanes included; 0 if this is no dtype.</summary>
        public long Bits
        {
            get { return Native.via_dtype_bits(Value); }
        }

        /// <summary>NumPy's name where NumPy has one ("float32"), else ml_dtypes' ("bfloat16"); "record12".</summary>
        public string Name
        {
            get
            {
                byte[] name = new byte[64];
                Native.via_dtype_name(Value, name.Length, name);
                return Utf8.Text(name);
            }
        }

        /// <summary>Whether a rule allows <see cref="ViaArray.ConvertTo"/> to another dtype.</summary>
        public bool CanCast(DType to, Casting casting = Casting.Safe)
        {
            return Native.via_dtype_can_cast(Value, to.Value, (int)casting) != 0;
        }

        /// <summary>The dtype of a name that <see cref="Name"/> gives.</summary>
        public static DType Parse(string name)
        {
            Native.via_dtype_from_name(Utf8.Bytes(name, "name"), out int value);
            return new DType(value);
        }

        /// <summary>A record (a C struct) of <paramref name="nbytes"/> bytes.</summary>
        public static DType Record(long nbytes)
        {
            int value = Native.via_dtype_record(nbytes);
            if (value == 0)
            {
                throw new ViaDTypeException(
                    "DType.Record: nbytes is " + nbytes + "; expected 1 to 2^30");
            }
            return new DType(value);
        }

        /// <summary>The dtype of a C# type: numbers by their kind, other structs as records of their size.</summary>
        public static DType Of<T>()
            where T : struct
        {
            if (ElementOf<T>.DType.Value == 0)
            {
                throw new ViaDTypeException(
                    "DType.Of: T is " + typeof(T) + "; expected a number, or a struct without references");
            }
            return ElementOf<T>.DType;
        }

        // As elements lie in an array, which is not how they would be marshalled: a bool has a byte there, not four. The
        // array is pinned, so that the distance of two elements is their size. Reflection would not do: a program
        // compiled ahead of time has no code for a type that it learns of as it runs.
        internal static DType OfPinned(Array values)
        {
            DType primitive;
            Type element = values.GetType().GetElementType();
            if (OfPrimitives.TryGetValue(element.FullName ?? "", out primitive))
            {
                return primitive;
            }
            MonoRuntime.RefuseReferences(element);
            long first = Marshal.UnsafeAddrOfPinnedArrayElement(values, 0).ToInt64();
            return Record(Marshal.UnsafeAddrOfPinnedArrayElement(values, 1).ToInt64() - first);
        }

        internal static DType OfElement<T>()
            where T : struct
        {
            DType primitive;
            if (OfPrimitives.TryGetValue(typeof(T).FullName ?? "", out primitive))
            {
                return primitive;
            }
            try
            {
                return Record(MemoryMarshal.AsBytes(new Span<T>(new T[1])).Length);
            }
            catch (ArgumentException)
            {
                return default(DType);
            }
        }

        /// <inheritdoc/>
        public bool Equals(DType other)
        {
            return Value == other.Value;
        }

        /// <inheritdoc/>
        public override bool Equals(object other)
        {
            return other is DType && Equals((DType)other);
        }

        /// <inheritdoc/>
        public override int GetHashCode()
        {
            return Value;
        }

        /// <summary>The name, or the number of what is no dtype.</summary>
        public override string ToString()
        {
            return IsValid ? Name : "dtype " + Value;
        }

        /// <summary>Whether both are the same.</summary>
        public static bool operator ==(DType left, DType right)
        {
            return left.Equals(right);
        }

        /// <summary>Whether they differ.</summary>
        public static bool operator !=(DType left, DType right)
        {
            return !left.Equals(right);
        }

        // Looked up once for each type. A struct that holds references has no dtype: AsBytes refuses it, and the number is
        // 0. What an initializer throws would reach the caller inside another exception.
        private static class ElementOf<T>
            where T : struct
        {
            internal static readonly DType DType = OfElement<T>();
        }
    }
}
