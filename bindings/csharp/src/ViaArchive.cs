using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Viaduct
{
    /// <summary>
    /// Named arrays (tensors) of safetensors, .npz and GGUF files. All of them are read into one buffer of memory, in which
    /// each is a view.
    /// </summary>
    public sealed class ViaArchive : ViaHandle
    {
        static ViaArchive()
        {
            NativeLibraryFile.Load();
        }

        internal ViaArchive(IntPtr address)
            : base(new Handle(address))
        {
        }

        /// <summary>Opens a file, an index or a directory, and reads the headers.</summary>
        public static unsafe ViaArchive Open(string path, ViaFileOptions options = null)
        {
            FileOptionsLayout layout = ViaFileOptions.LayoutOf(options);
            Native.via_archive_open(Utf8.Bytes(path, "path"), options == null ? null : &layout, out IntPtr made);
            return new ViaArchive(made);
        }

        /// <summary>Adds the tensors of another path. Nothing else may use the archive meanwhile.</summary>
        public void Add(string path)
        {
            Native.via_archive_add(this, Utf8.Bytes(path, "path"));
        }

        /// <summary>Returns the number of tensors.</summary>
        public long Count
        {
            get { return Native.via_archive_size(this); }
        }

        /// <summary>Returns the number of bytes of a buffer.</summary>
        public long ByteCount
        {
            get { return Native.via_archive_nbytes(this); }
        }

        /// <summary>Returns the metadata as a JSON object of texts.</summary>
        public string Metadata
        {
            get
            {
                Native.via_archive_metadata(this, 0, null, out long length);
                byte[] text = new byte[length + 1];
                Native.via_archive_metadata(this, text.Length, text, out length);
                return Utf8.Text(text);
            }
        }

        /// <summary>Returns the name of a tensor, or null if the number is out of range.</summary>
        public string Name(long number)
        {
            using (new Hold(this))
            {
                IntPtr name = Native.via_archive_name(this, number);
                return name == IntPtr.Zero ? null : Utf8.Text(name);
            }
        }

        /// <summary>
        /// Returns the name of a tensor's type in its format, such as BF16 or Q4_K, or null if the number is out of range.
        /// </summary>
        public string TypeName(long number)
        {
            using (new Hold(this))
            {
                IntPtr name = Native.via_archive_type_name(this, number);
                return name == IntPtr.Zero ? null : Utf8.Text(name);
            }
        }

        /// <summary>Returns the number of the tensor of a name.</summary>
        public long Find(string name)
        {
            Native.via_archive_find(this, Utf8.Bytes(name, "name"), out long number);
            return number;
        }

        /// <summary>Returns a window of a tensor in its file.</summary>
        public ViaFile File(long number)
        {
            Native.via_archive_file(this, number, out IntPtr made);
            return new ViaFile(made);
        }

        /// <summary>Returns an archive of some tensors, with a buffer of its own.</summary>
        public ViaArchive Select(params long[] numbers)
        {
            if (numbers == null)
            {
                throw new ArgumentNullException("numbers");
            }
            Native.via_archive_select(this, numbers.Length, numbers, out IntPtr made);
            return new ViaArchive(made);
        }

        /// <summary>
        /// Reduces a tensor to some indices of an axis: the rows or columns of one process. Nothing else may use the archive
        /// meanwhile; slice a selection to keep the whole.
        /// </summary>
        public void Slice(long number, int axis, long start, long count)
        {
            Native.via_archive_slice(this, number, axis, start, count);
        }

        /// <summary>
        /// Reads a tensor as another type from now on, converted on the way; -1 means all tensors of floats. Nothing else
        /// may use the archive meanwhile.
        /// </summary>
        public unsafe void Convert(long number, DType dtype, ConvertOptions options = null)
        {
            ConvertOptions.With(options, layout => Native.via_archive_convert(this, number, dtype.Value, layout));
        }

        /// <summary>
        /// Writes arrays by name to a safetensors file, or to several of so many bytes with an index; returns when they
        /// are complete. The metadata is a JSON object of texts. Of the options, durable and page cache count.
        /// </summary>
        public static void Save(
            string path, IReadOnlyDictionary<string, ViaArray> arrays, string metadata = null, long shardBytes = 0,
            ViaFileOptions options = null, ViaStream stream = null)
        {
            Begin(path, arrays, metadata, shardBytes, options, stream, false);
        }

        /// <summary>Starts to write arrays by name after the stream's work so far; does not wait.</summary>
        public static CopyTask SubmitSave(
            string path, IReadOnlyDictionary<string, ViaArray> arrays, string metadata = null, long shardBytes = 0,
            ViaFileOptions options = null, ViaStream stream = null)
        {
            return new CopyTask(Begin(path, arrays, metadata, shardBytes, options, stream, true));
        }

        /// <summary>Returns a view of a tensor in a buffer.</summary>
        public ViaArray Array(long number, ViaArray buffer)
        {
            Native.via_archive_array(this, number, buffer, out IntPtr made);
            return new ViaArray(made);
        }

        /// <summary>Allocates a buffer, in host memory unless another is given, and reads it.</summary>
        public ViaArray Load(ViaMemory memory = null, ViaStream stream = null)
        {
            Native.via_archive_load(this, memory ?? ViaMemory.None, stream ?? ViaStream.None, out IntPtr made);
            return new ViaArray(made);
        }

        /// <summary>Reads all tensors into a buffer; returns when they have arrived.</summary>
        public void Read(ViaArray buffer, ViaStream stream = null)
        {
            Native.via_archive_read(this, buffer, stream ?? ViaStream.None);
        }

        /// <summary>Starts to read all tensors into a buffer after the stream's work so far; does not wait.</summary>
        public CopyTask SubmitRead(ViaArray buffer, ViaStream stream = null)
        {
            Native.via_archive_read_submit(this, buffer, stream ?? ViaStream.None, out IntPtr made);
            return new CopyTask(made);
        }

        /// <summary>A read as a task of .NET.</summary>
        public async Task ReadAsync(
            ViaArray buffer,
            ViaStream stream = null,
            CancellationToken cancellationToken = default(CancellationToken),
            IProgress<long> progress = null)
        {
            cancellationToken.ThrowIfCancellationRequested();
            await SubmitRead(buffer, stream).Ended(cancellationToken, progress).ConfigureAwait(false);
        }

        /// <summary>The same archive with a share of its own.</summary>
        public ViaArchive Share()
        {
            return new ViaArchive(Retained(Native.via_archive_retain));
        }

        private static unsafe IntPtr Begin(
            string path, IReadOnlyDictionary<string, ViaArray> arrays, string metadata, long shardBytes,
            ViaFileOptions options, ViaStream stream, bool submits)
        {
            if (arrays == null)
            {
                throw new ArgumentNullException("arrays");
            }
            IntPtr task = IntPtr.Zero;
            KeyValuePair<string, ViaArray>[] given = arrays.ToArray();
            byte[] to = Utf8.Bytes(path, "path");
            byte[] texts = metadata == null ? null : Utf8.Bytes(metadata, "metadata");
            FileOptionsLayout layout = ViaFileOptions.LayoutOf(options);
            FileOptionsLayout* asked = options == null ? null : &layout;
            ViaStream order = stream ?? ViaStream.None;
            using (var names = new HeldTexts(System.Array.ConvertAll(given, each => each.Key), "arrays"))
            using (var held = new HeldArrays(System.Array.ConvertAll(given, each => each.Value), "arrays"))
            {
                if (submits)
                {
                    Native.via_archive_save_submit(
                        to, given.Length, held.Addresses, names.Addresses, texts, shardBytes, asked, order, out task);
                }
                else
                {
                    Native.via_archive_save(
                        to, given.Length, held.Addresses, names.Addresses, texts, shardBytes, asked, order);
                }
            }
            return task;
        }

        private sealed class Handle : OwnedHandle
        {
            internal Handle(IntPtr address)
                : base(address)
            {
            }

            protected override bool ReleaseHandle()
            {
                Native.via_archive_release(handle);
                return true;
            }
        }
    }
}
