using System;
using System.Threading;
using System.Threading.Tasks;

namespace Viaduct
{
    /// <summary>An open file of elements: raw, or NumPy's .npy. Offsets are bytes from the first element on.</summary>
    public sealed class ViaFile : ViaHandle
    {
        static ViaFile()
        {
            NativeLibraryFile.Load();
        }

        internal ViaFile(IntPtr address)
            : base(new Handle(address))
        {
        }

        /// <summary>Opens an existing file.</summary>
        public static unsafe ViaFile Open(string path, ViaFileOptions options = null)
        {
            FileOptionsLayout layout = ViaFileOptions.LayoutOf(options);
            Native.via_file_open(Utf8.Bytes(path, "path"), options == null ? null : &layout, out IntPtr made);
            return new ViaFile(made);
        }

        /// <summary>Creates a file of the size such an array needs, all zeros, or cuts an existing one to it.</summary>
        public static unsafe ViaFile Create(string path, DType dtype, long[] shape, ViaFileOptions options = null)
        {
            if (shape == null)
            {
                throw new ArgumentNullException("shape");
            }
            FileOptionsLayout layout = ViaFileOptions.LayoutOf(options);
            Native.via_file_create(
                Utf8.Bytes(path, "path"), dtype.Value, shape.Length, shape, options == null ? null : &layout,
                out IntPtr made);
            return new ViaFile(made);
        }

        /// <summary>The same, with a shape such as <see cref="ViaArray.Shape"/>.</summary>
        public static ViaFile Create(
            string path, DType dtype, ReadOnlySpan<long> shape, ViaFileOptions options = null)
        {
            return Create(path, dtype, shape.ToArray(), options);
        }

        /// <summary>Returns the current properties of the file.</summary>
        public unsafe FileProperties Info()
        {
            FilePropertiesLayout layout = default(FilePropertiesLayout);
            layout.struct_size = sizeof(FilePropertiesLayout);
            Native.via_file_info(this, &layout);
            return new FileProperties(&layout);
        }

        /// <summary>
        /// A window of a .npy file or of another window: <paramref name="counts"/> indices of each axis, from
        /// <paramref name="starts"/> on, <paramref name="steps"/> apart; null as for <see cref="ViaArray.Slice"/>.
        /// </summary>
        public ViaFile Window(long[] starts, long[] counts = null, long[] steps = null)
        {
            return WindowOf(0, 0, null, Info().Shape.Length, starts, counts, steps);
        }

        /// <summary>The same of what lies from <paramref name="byteOffset"/> on.</summary>
        public ViaFile Window(
            long byteOffset, DType dtype, long[] shape, long[] starts, long[] counts = null, long[] steps = null)
        {
            if (shape == null)
            {
                throw new ArgumentNullException("shape");
            }
            return WindowOf(byteOffset, dtype.Value, shape, shape.Length, starts, counts, steps);
        }

        /// <summary>The same, with a shape such as <see cref="ViaArray.Shape"/>.</summary>
        public ViaFile Window(
            long byteOffset, DType dtype, ReadOnlySpan<long> shape, long[] starts, long[] counts = null,
            long[] steps = null)
        {
            return Window(byteOffset, dtype, shape.ToArray(), starts, counts, steps);
        }

        private ViaFile WindowOf(
            long byteOffset, int dtype, long[] shape, int axes, long[] starts, long[] counts, long[] steps)
        {
            ViaArray.CheckLength(starts, axes, "starts");
            ViaArray.CheckLength(counts, axes, "counts");
            ViaArray.CheckLength(steps, axes, "steps");
            int ndim = shape == null ? 0 : shape.Length;
            Native.via_file_window(this, byteOffset, dtype, ndim, shape, starts, counts, steps, out IntPtr made);
            return new ViaFile(made);
        }

        /// <summary>
        /// A file of the same elements in another type, of a .npy file or a window: reads and writes take arrays of that
        /// type, and convert on the way as <see cref="ViaArray.ConvertTo"/> does.
        /// </summary>
        public unsafe ViaFile Convert(DType dtype, ConvertOptions options = null)
        {
            IntPtr made = IntPtr.Zero;
            ConvertOptions.With(
                options, layout => Native.via_file_convert(this, dtype.Value, layout, out made));
            return new ViaFile(made);
        }

        /// <summary>Maps a .npy file as the array that its header reports; nothing is read until it is touched.</summary>
        public ViaArray Map()
        {
            Native.via_file_array(this, 0, 0, 0, null, out IntPtr made);
            return new ViaArray(made);
        }

        /// <summary>Maps part of the file as an array in the file's order.</summary>
        public ViaArray Map(long byteOffset, DType dtype, params long[] shape)
        {
            if (shape == null)
            {
                throw new ArgumentNullException("shape");
            }
            Native.via_file_array(this, byteOffset, dtype.Value, shape.Length, shape, out IntPtr made);
            return new ViaArray(made);
        }

        /// <summary>The same, with a shape such as <see cref="ViaArray.Shape"/>.</summary>
        public ViaArray Map(long byteOffset, DType dtype, ReadOnlySpan<long> shape)
        {
            return Map(byteOffset, dtype, shape.ToArray());
        }

        /// <summary>Reads elements into an array of any layout, anywhere; returns when they have arrived.</summary>
        public void Read(ViaArray destination, long byteOffset = 0, ViaStream stream = null)
        {
            Native.via_file_read(this, byteOffset, destination, stream ?? ViaStream.None);
        }

        /// <summary>Writes an array's elements; returns when the system has accepted all of them.</summary>
        public void Write(ViaArray source, long byteOffset = 0, ViaStream stream = null)
        {
            Native.via_file_write(this, byteOffset, source, stream ?? ViaStream.None);
        }

        /// <summary>Starts a read after the stream's work so far, at once without a stream; does not wait.</summary>
        public CopyTask SubmitRead(ViaArray destination, long byteOffset = 0, ViaStream stream = null)
        {
            Native.via_file_read_submit(this, byteOffset, destination, stream ?? ViaStream.None, out IntPtr made);
            return new CopyTask(made);
        }

        /// <summary>Starts a write; the array must not be written until it has ended.</summary>
        public CopyTask SubmitWrite(ViaArray source, long byteOffset = 0, ViaStream stream = null)
        {
            Native.via_file_write_submit(this, byteOffset, source, stream ?? ViaStream.None, out IntPtr made);
            return new CopyTask(made);
        }

        /// <summary>A read as a task of .NET.</summary>
        public async Task ReadAsync(
            ViaArray destination,
            long byteOffset = 0,
            ViaStream stream = null,
            CancellationToken cancellationToken = default(CancellationToken),
            IProgress<long> progress = null)
        {
            cancellationToken.ThrowIfCancellationRequested();
            await SubmitRead(destination, byteOffset, stream).Ended(cancellationToken, progress).ConfigureAwait(false);
        }

        /// <summary>A write as a task of .NET.</summary>
        public async Task WriteAsync(
            ViaArray source,
            long byteOffset = 0,
            ViaStream stream = null,
            CancellationToken cancellationToken = default(CancellationToken),
            IProgress<long> progress = null)
        {
            cancellationToken.ThrowIfCancellationRequested();
            await SubmitWrite(source, byteOffset, stream).Ended(cancellationToken, progress).ConfigureAwait(false);
        }

        /// <summary>The same file with a share of its own.</summary>
        public ViaFile Share()
        {
            return new ViaFile(Retained(Native.via_file_retain));
        }

        private sealed class Handle : OwnedHandle
        {
            internal Handle(IntPtr address)
                : base(address)
            {
            }

            protected override bool ReleaseHandle()
            {
                Native.via_file_release(handle);
                return true;
            }
        }
    }
}
