using System;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;

namespace Viaduct
{
    // Copies between arrays of equal shape and dtype, of any layout, wherever they are.
    public sealed partial class ViaArray
    {
        private const int ExplanationLength = 4096;

        // NULL, which means every row.
        internal static readonly ViaArray NoIndex = new ViaArray(IntPtr.Zero);

        /// <summary>Copies every element, and returns when it is done.</summary>
        public void CopyTo(ViaArray destination)
        {
            Native.via_copy(destination, this);
        }

        /// <summary>
        /// Copies in the order of a stream. Both arrays are held until it has run; from pageable memory the source has
        /// been read on return, and to pageable memory the data has arrived.
        /// </summary>
        public void CopyTo(ViaArray destination, ViaStream stream)
        {
            Native.via_copy_async(destination, this, stream);
        }

        /// <summary>
        /// Starts a copy after the stream's work so far (at once without a stream), and returns without waiting. Both
        /// arrays are held until it has ended and may be closed.
        /// </summary>
        public CopyTask SubmitCopyTo(ViaArray destination, ViaStream stream = null)
        {
            Native.via_copy_submit(destination, this, stream ?? ViaStream.None, out IntPtr made);
            return new CopyTask(made);
        }

        /// <summary>The same as a task of .NET.</summary>
        public async Task CopyToAsync(
            ViaArray destination,
            ViaStream stream = null,
            CancellationToken cancellationToken = default(CancellationToken),
            IProgress<long> progress = null)
        {
            cancellationToken.ThrowIfCancellationRequested();
            await SubmitCopyTo(destination, stream).Ended(cancellationToken, progress).ConfigureAwait(false);
        }

        /// <summary>
        /// Copies rows by index along an axis: row <paramref name="sourceIndex"/>[k] of this array to row
        /// <paramref name="destinationIndex"/>[k] of the destination. An index is an array of int32 or int64, and null is
        /// 0, 1, 2 ... Complete on return without a stream, otherwise queued on it. With options it converts, as
        /// <see cref="ConvertTo"/> does; without, both arrays have one type.
        /// </summary>
        public unsafe void CopyIndexedTo(
            ViaArray destination, ViaArray destinationIndex, ViaArray sourceIndex, int axis = 0,
            ViaStream stream = null, ConvertOptions options = null)
        {
            ConvertOptions.With(
                options,
                layout => Native.via_copy_indexed(
                    destination, destinationIndex ?? NoIndex, this, sourceIndex ?? NoIndex, axis, layout,
                    stream ?? ViaStream.None));
        }

        /// <summary>Starts a copy by index after the stream's work so far, and returns without waiting.</summary>
        public unsafe CopyTask SubmitCopyIndexedTo(
            ViaArray destination, ViaArray destinationIndex, ViaArray sourceIndex, int axis = 0,
            ViaStream stream = null, ConvertOptions options = null)
        {
            IntPtr made = IntPtr.Zero;
            ConvertOptions.With(
                options,
                layout => Native.via_copy_indexed_submit(
                    destination, destinationIndex ?? NoIndex, this, sourceIndex ?? NoIndex, axis, layout,
                    stream ?? ViaStream.None, out made));
            return new CopyTask(made);
        }

        /// <summary>
        /// Copies to an array of another dtype, and converts on the way. Complete on return without a stream, otherwise
        /// queued on it.
        /// </summary>
        public unsafe void ConvertTo(ViaArray destination, ConvertOptions options = null, ViaStream stream = null)
        {
            ConvertOptions.With(
                options, layout => Native.via_convert(destination, this, layout, stream ?? ViaStream.None));
        }

        /// <summary>Starts a conversion after the stream's work so far, and returns without waiting.</summary>
        public unsafe CopyTask SubmitConvertTo(
            ViaArray destination, ConvertOptions options = null, ViaStream stream = null)
        {
            IntPtr made = IntPtr.Zero;
            ConvertOptions.With(
                options,
                layout => Native.via_convert_submit(destination, this, layout, stream ?? ViaStream.None, out made));
            return new CopyTask(made);
        }

        /// <summary>How <see cref="ConvertTo"/> would do it, and where, as text. Nothing is converted.</summary>
        public unsafe string ExplainConvertTo(ViaArray destination, ConvertOptions options = null)
        {
            long length;
            byte[] text = new byte[ExplanationLength];
            ConvertOptions.With(
                options,
                layout => Native.via_convert_explain(destination, this, layout, text.Length, text, out length));
            return Utf8.Text(text);
        }

        /// <summary>How <see cref="CopyTo(ViaArray)"/> would do it, as text. Nothing is copied.</summary>
        public string ExplainCopyTo(ViaArray destination)
        {
            byte[] text = new byte[ExplanationLength];
            Native.via_copy_explain(destination, this, text.Length, text, out long length);
            if (length >= text.Length)
            {
                text = new byte[length + 1];
                Native.via_copy_explain(destination, this, text.Length, text, out length);
            }
            return Utf8.Text(text);
        }

        /// <summary>A new dense array of the same elements, in host memory unless another is given.</summary>
        public ViaArray Copy(ViaMemory memory = null)
        {
            ViaArray copied = Empty(DType, Shape.ToArray(), memory);
            try
            {
                CopyTo(copied);
                return copied;
            }
            catch
            {
                copied.Dispose();
                throw;
            }
        }

        /// <summary>Writes the array to a .npy file, or to a raw one, which replaces what had the path.</summary>
        public unsafe void Save(string path, ViaFileOptions options = null)
        {
            FileOptionsLayout layout = ViaFileOptions.LayoutOf(options);
            Native.via_save(Utf8.Bytes(path, "path"), this, options == null ? null : &layout);
        }

        /// <summary>Reads a whole file: the array of a .npy header, otherwise bytes.</summary>
        public static unsafe ViaArray Load(string path, ViaMemory memory = null, ViaFileOptions options = null)
        {
            FileOptionsLayout layout = ViaFileOptions.LayoutOf(options);
            Native.via_load(
                Utf8.Bytes(path, "path"), memory ?? ViaMemory.None, options == null ? null : &layout, out IntPtr made);
            return new ViaArray(made);
        }

        /// <summary>Sets every element; in the order of a stream if one is given, else done on return.</summary>
        public unsafe void Fill<T>(T value, ViaStream stream = null)
            where T : struct
        {
            CheckElement<T>("Fill");
            Span<byte> bytes = MemoryMarshal.AsBytes(new Span<T>(new T[] { value }));
            fixed (byte* element = &MemoryMarshal.GetReference(bytes))
            {
                Native.via_fill(this, (IntPtr)element, stream ?? ViaStream.None);
            }
        }

        /// <summary>Sets every byte to 0; in the order of a stream if one is given, else done on return.</summary>
        public void Clear(ViaStream stream = null)
        {
            Native.via_fill(this, IntPtr.Zero, stream ?? ViaStream.None);
        }
    }
}
