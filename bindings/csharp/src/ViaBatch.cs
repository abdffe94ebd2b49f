using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Viaduct
{
    /// <summary>Many copies prepared as one; it may be run any number of times.</summary>
    public sealed class ViaBatch : ViaHandle
    {
        static ViaBatch()
        {
            NativeLibraryFile.Load();
        }

        internal ViaBatch(IntPtr address)
            : base(new Handle(address))
        {
        }

        /// <summary>Creates an empty batch.</summary>
        public ViaBatch()
            : base(new Handle(Created()))
        {
        }

        /// <summary>Returns the number of copies.</summary>
        public long Count
        {
            get { return Native.via_batch_size(this); }
        }

        /// <summary>Copies pairs of arrays, and returns when it is done.</summary>
        public static void Copy(IReadOnlyList<ViaArray> destinations, IReadOnlyList<ViaArray> sources)
        {
            ViaArray[] dsts, srcs;
            ReadPairs(destinations, sources, out dsts, out srcs);
            using (var batch = new ViaBatch())
            {
                for (int i = 0; i < srcs.Length; ++i)
                {
                    batch.Add(dsts[i], srcs[i]);
                }
                batch.Run();
            }
        }

        /// <summary>Copies pairs of arrays in the order of a stream.</summary>
        public static void Copy(
            IReadOnlyList<ViaArray> destinations, IReadOnlyList<ViaArray> sources, ViaStream stream)
        {
            ViaArray[] dstList, srcList;
            ReadPairs(destinations, sources, out dstList, out srcList);
            using (var dsts = new HeldArrays(dstList, "destinations"))
            using (var srcs = new HeldArrays(srcList, "sources"))
            {
                Native.via_copy_batch(srcs.Addresses.Length, dsts.Addresses, srcs.Addresses, stream);
            }
        }

        /// <summary>Adds one copy, and holds both arrays.</summary>
        public void Add(ViaArray destination, ViaArray source)
        {
            Native.via_batch_add(this, destination, source);
        }

        /// <summary>
        /// Adds one copy by index, and holds all arrays. A null index is 0, 1, 2 ... With options it converts.
        /// </summary>
        public unsafe void AddIndexed(
            ViaArray destination, ViaArray destinationIndex, ViaArray source, ViaArray sourceIndex, int axis = 0,
            ConvertOptions options = null)
        {
            ConvertOptions.With(
                options,
                layout => Native.via_batch_add_indexed(
                    this, destination, destinationIndex ?? ViaArray.NoIndex, source, sourceIndex ?? ViaArray.NoIndex,
                    axis, layout));
        }

        /// <summary>Adds one conversion, as <see cref="ViaArray.ConvertTo"/> does it, and holds both arrays.</summary>
        public unsafe void AddConvert(ViaArray destination, ViaArray source, ConvertOptions options = null)
        {
            ConvertOptions.With(options, layout => Native.via_batch_add_convert(this, destination, source, layout));
        }

        /// <summary>Runs all copies, and returns when they are done. Work of streams is not waited for.</summary>
        public void Run()
        {
            using (CopyTask copies = Submit())
            {
                copies.Wait();
            }
        }

        /// <summary>Runs all copies in the order of a stream.</summary>
        public void Run(ViaStream stream)
        {
            Native.via_batch_run(this, stream);
        }

        /// <summary>Starts all copies after the stream's work so far, and returns without waiting.</summary>
        public CopyTask Submit(ViaStream stream = null)
        {
            Native.via_batch_submit(this, stream ?? ViaStream.None, out IntPtr made);
            return new CopyTask(made);
        }

        /// <summary>The same as a task of .NET.</summary>
        public async Task RunAsync(
            ViaStream stream = null, CancellationToken cancellationToken = default(CancellationToken),
            IProgress<long> progress = null)
        {
            cancellationToken.ThrowIfCancellationRequested();
            await Submit(stream).Ended(cancellationToken, progress).ConfigureAwait(false);
        }

        /// <summary>The same batch with a share of its own.</summary>
        public ViaBatch Share()
        {
            return new ViaBatch(Retained(Native.via_batch_retain));
        }

        private sealed class Handle : OwnedHandle
        {
            internal Handle(IntPtr address)
                : base(address)
            {
            }

            protected override bool ReleaseHandle()
            {
                Native.via_batch_release(handle);
                return true;
            }
        }

        // Once: what is asked of a list again may be another answer.
        private static void ReadPairs(
            IReadOnlyList<ViaArray> destinations, IReadOnlyList<ViaArray> sources, out ViaArray[] dsts,
            out ViaArray[] srcs)
        {
            dsts = destinations?.ToArray();
            srcs = sources?.ToArray();
            if (dsts == null || srcs == null)
            {
                throw new ArgumentNullException(dsts == null ? "destinations" : "sources");
            }
            if (dsts.Length != srcs.Length)
            {
                throw new ViaInvalidArgumentException(
                    "sources has " + srcs.Length + " arrays; expected " + dsts.Length);
            }
        }

        private static IntPtr Created()
        {
            Native.via_batch_create(out IntPtr made);
            return made;
        }
    }
}
