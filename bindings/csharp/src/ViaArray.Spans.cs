using System;
using System.Buffers;

namespace Viaduct
{
    // Dense host arrays as spans of their own memory.
    public sealed partial class ViaArray
    {
        /// <summary>
        /// All elements in place. A span does not keep its array: hold the array open (<c>using</c>) as long as the
        /// span is used, or take <see cref="AsMemory{T}()"/>, which does.
        /// </summary>
        public Span<T> AsSpan<T>()
            where T : struct
        {
            return AsSpan<T>(0, WholeLength());
        }

        /// <summary><paramref name="count"/> elements in place, from <paramref name="offset"/> on in row-major order.
        /// </summary>
        public unsafe Span<T> AsSpan<T>(long offset, int count)
            where T : struct
        {
            RefuseReadOnly("AsSpan");
            return new Span<T>((void*)Located<T>(offset, count), count);
        }

        /// <summary>All elements in place, to be read.</summary>
        public ReadOnlySpan<T> AsReadOnlySpan<T>()
            where T : struct
        {
            return AsReadOnlySpan<T>(0, WholeLength());
        }

        /// <summary>Some elements in place, to be read.</summary>
        public unsafe ReadOnlySpan<T> AsReadOnlySpan<T>(long offset, int count)
            where T : struct
        {
            return new ReadOnlySpan<T>((void*)Located<T>(offset, count), count);
        }

        /// <summary>All elements in place, as memory that has a share of its own: the array may be closed.</summary>
        public Memory<T> AsMemory<T>()
            where T : struct
        {
            return AsMemory<T>(0, WholeLength());
        }

        /// <summary>Some elements in place, as memory that has a share of its own.</summary>
        public Memory<T> AsMemory<T>(long offset, int count)
            where T : struct
        {
            RefuseReadOnly("AsMemory");
            return Kept<T>(offset, count).Memory;
        }

        /// <summary>All elements in place, as memory to be read that has a share of its own.</summary>
        public ReadOnlyMemory<T> AsReadOnlyMemory<T>()
            where T : struct
        {
            return AsReadOnlyMemory<T>(0, WholeLength());
        }

        /// <summary>Some elements in place, as memory to be read that has a share of its own.</summary>
        public ReadOnlyMemory<T> AsReadOnlyMemory<T>(long offset, int count)
            where T : struct
        {
            return Kept<T>(offset, count).Memory;
        }

        /// <summary>All elements in row-major order as a new C# array, from any layout and any device.</summary>
        public T[] ToArray<T>()
            where T : struct
        {
            CheckElement<T>("ToArray");
            T[] copied = new T[WholeLength()];
            using (ViaArray target = Wrap(copied))
            using (ViaArray typed = target.DType == DType ? target.Share() : target.Reinterpret(DType))
            using (ViaArray shaped = typed.Reshape(Shape.ToArray()))
            {
                CopyTo(shaped);
            }
            return copied;
        }

        // The address of an element, once the content is ready and everything about it is as a span needs it. To ask
        // whether it is ready also refuses an array that was closed.
        private IntPtr Located<T>(long offset, int count)
            where T : struct
        {
            if (!IsReady)
            {
                Synchronize();
            }
            CheckElement<T>("AsSpan");
            SpanFacts known = ForSpans;
            if (known.Obstacle != null)
            {
                throw known.Obstacle();
            }
            if (offset < 0 || count < 0 || offset > known.Size - count)
            {
                throw new ViaIndexException("ViaArray.AsSpan: offset is " + offset + " and count is " + count
                    + "; expected them within " + known.Size + " elements");
            }
            return new IntPtr(known.Address + offset * known.ElementBytes);
        }

        // Where it is comes first: a refusal leaves no share behind.
        private ArrayMemory<T> Kept<T>(long offset, int count)
            where T : struct
        {
            IntPtr located = Located<T>(offset, count);
            return new ArrayMemory<T>(Share(), located, count);
        }

        private int WholeLength()
        {
            long size = ForSpans.Size;
            if (size > int.MaxValue)
            {
                throw new ViaOverflowException("ViaArray: the array has " + size + " elements; expected at most "
                    + int.MaxValue + " (or an offset and a count)");
            }
            return (int)size;
        }

        private void RefuseReadOnly(string method)
        {
            if (ForSpans.IsReadOnly)
            {
                throw new ViaReadOnlyException("ViaArray." + method + ": the array is read-only; expected AsReadOnlySpan");
            }
        }

        private void CheckElement<T>(string method)
            where T : struct
        {
            DType wanted = DType.Of<T>();
            DType found = ForSpans.DType;
            bool isRecord = found.Value < 0 || wanted.Value < 0;
            if (wanted != found && !(isRecord && wanted.Bits == found.Bits))
            {
                throw new ViaDTypeException("ViaArray." + method + ": the array has elements of " + found + "; expected "
                    + wanted + ", which " + typeof(T).Name + " is (Reinterpret gives another view of the bytes)");
            }
        }

        private SpanFacts ForSpans
        {
            get { return Known.Span ?? (Known.Span = new SpanFacts(this)); }
        }

        // What spans need to know of an array.
        private sealed class SpanFacts
        {
            internal readonly DType DType;
            internal readonly long ElementBytes;
            internal readonly long Address;
            internal readonly long Size;
            internal readonly bool IsReadOnly;

            // Makes the exception that says why there is no span; null if there may be one.
            internal readonly Func<ViaException> Obstacle;

            internal SpanFacts(ViaArray array)
            {
                DType = array.DType;
                ElementBytes = DType.Bits / 8;
                Address = array.Address.ToInt64();
                Size = array.Size;
                IsReadOnly = array.IsReadOnly;
                if (!array.Device.IsHostAccessible)
                {
                    string found = array.ToString();
                    Obstacle = () => new ViaDeviceException(
                        "ViaArray.AsSpan: the array is " + found + "; expected host memory");
                }
                else if (!array.IsContiguous())
                {
                    string found = array.ToString();
                    Obstacle = () => new ViaNeedsCopyException("ViaArray.AsSpan: the array is " + found
                        + " with gaps or in another order; expected dense row-major elements");
                }
            }
        }
    }
}
