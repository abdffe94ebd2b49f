using System;

namespace Viaduct
{
    // Arrays as other runtimes of the same process take and give them, by address. Exports hold the array.
    public sealed partial class ViaArray
    {
        /// <summary>
        /// Exports the array as a DLManagedTensorVersioned *. It is to be handed on to one consumer, or ended with
        /// <see cref="DeleteDlpack"/>. The stream waits until the array is ready; null is the legacy stream.
        /// </summary>
        public unsafe IntPtr ToDlpack(DlpackOptions options = null, ViaStream stream = null)
        {
            DlpackOptionsLayout layout = DlpackOptions.LayoutOf(options);
            Native.via_to_dlpack(this, options == null ? null : &layout, stream ?? ViaStream.None, out IntPtr tensor);
            return tensor;
        }

        /// <summary>
        /// Takes a DLManagedTensorVersioned * over. If this throws, the tensor is untouched and still belongs to the caller.
        /// </summary>
        public static unsafe ViaArray FromDlpack(IntPtr tensor, DlpackOptions options = null, ViaStream stream = null)
        {
            DlpackOptionsLayout layout = DlpackOptions.LayoutOf(options);
            Native.via_from_dlpack(tensor, options == null ? null : &layout, stream ?? ViaStream.None, out IntPtr made);
            return new ViaArray(made);
        }

        /// <summary>Ends a tensor that nobody took.</summary>
        public static void DeleteDlpack(IntPtr tensor)
        {
            Native.via_dlpack_delete(tensor);
        }

        /// <summary>As <see cref="ToDlpack"/> in the form before DLPack 1.0, a DLManagedTensor *.</summary>
        public unsafe IntPtr ToDlpackLegacy(DlpackOptions options = null, ViaStream stream = null)
        {
            DlpackOptionsLayout layout = DlpackOptions.LayoutOf(options);
            Native.via_to_dlpack_legacy(
                this, options == null ? null : &layout, stream ?? ViaStream.None, out IntPtr tensor);
            return tensor;
        }

        /// <summary>As <see cref="FromDlpack"/> for the form before DLPack 1.0.</summary>
        public static unsafe ViaArray FromDlpackLegacy(
            IntPtr tensor, DlpackOptions options = null, ViaStream stream = null)
        {
            DlpackOptionsLayout layout = DlpackOptions.LayoutOf(options);
            Native.via_from_dlpack_legacy(
                tensor, options == null ? null : &layout, stream ?? ViaStream.None, out IntPtr made);
            return new ViaArray(made);
        }

        /// <summary>Ends a tensor of the form before DLPack 1.0 that nobody took.</summary>
        public static void DeleteDlpackLegacy(IntPtr tensor)
        {
            Native.via_dlpack_delete_legacy(tensor);
        }

        /// <summary>
        /// What __array_interface__ holds, once the content is ready. It borrows: the array must outlive its use.
        /// </summary>
        public unsafe ArrayInterface ToArrayInterface()
        {
            ArrayInterfaceLayout layout = default(ArrayInterfaceLayout);
            layout.struct_size = sizeof(ArrayInterfaceLayout);
            Native.via_to_array_interface(this, &layout);
            return new ArrayInterface(&layout);
        }

        /// <summary>What __cuda_array_interface__ holds, ready on the stream; null is the legacy stream. It borrows.
        /// </summary>
        public unsafe ArrayInterface ToCudaArrayInterface(ViaStream stream = null)
        {
            ArrayInterfaceLayout layout = default(ArrayInterfaceLayout);
            layout.struct_size = sizeof(ArrayInterfaceLayout);
            Native.via_to_cuda_array_interface(this, stream ?? ViaStream.None, &layout);
            return new ArrayInterface(&layout);
        }

        /// <summary>Wraps host memory that is described so; release and owner as in Wrap.</summary>
        public static unsafe ViaArray FromArrayInterface(
            ArrayInterface description, Action release = null, object owner = null)
        {
            return FromInterface(
                "ViaArray.FromArrayInterface", description, release, owner, Native.via_from_array_interface);
        }

        /// <summary>Wraps CUDA memory that is described so; release and owner as in Wrap.</summary>
        public static unsafe ViaArray FromCudaArrayInterface(
            ArrayInterface description, Action release = null, object owner = null)
        {
            return FromInterface(
                "ViaArray.FromCudaArrayInterface", description, release, owner, Native.via_from_cuda_array_interface);
        }

        /// <summary>
        /// Exports a row-major array of numbers or records through Arrow's C device interface, into an ArrowSchema and
        /// an ArrowDeviceArray of the caller's.
        /// </summary>
        public void ToArrowDevice(IntPtr schema, IntPtr column)
        {
            Native.via_to_arrow_device(this, schema, column);
        }

        /// <summary>Imports an Arrow device array without nulls; if this throws, both are untouched.</summary>
        public static ViaArray FromArrowDevice(IntPtr schema, IntPtr column, ViaStream stream = null)
        {
            Native.via_from_arrow_device(schema, column, stream ?? ViaStream.None, out IntPtr made);
            return new ViaArray(made);
        }

        /// <summary>Releases whichever of the two is not null and not yet released.</summary>
        public static void ReleaseArrow(IntPtr schema, IntPtr column)
        {
            Native.via_arrow_release(schema, column);
        }

        /// <summary>
        /// Describes the array for <see cref="ImportIpc"/> in other processes of the host: memory of
        /// <see cref="MemoryKind.Shared"/> or of a CUDA device's own allocation. An import needs an array here to be
        /// alive. Waits until the content is ready.
        /// </summary>
        public unsafe byte[] ExportIpc()
        {
            long length;
            byte[] bytes = new byte[Native.VIA_IPC_MAX_BYTES];
            fixed (byte* start = bytes)
            {
                Native.via_array_export_ipc(this, bytes.Length, (IntPtr)start, out length);
            }
            Array.Resize(ref bytes, (int)length);
            return bytes;
        }

        /// <summary>
        /// An array on the memory that another process described, in place. It holds the memory, and may outlive that
        /// process. Memory of a device cannot be imported by the process it is of.
        /// </summary>
        public static unsafe ViaArray ImportIpc(byte[] description)
        {
            IntPtr made;
            if (description == null)
            {
                throw new ArgumentNullException("description");
            }
            byte nothing = 0;
            fixed (byte* start = description)
            {
                byte* bytes = description.Length == 0 ? &nothing : start;
                Native.via_array_import_ipc((IntPtr)bytes, description.Length, out made);
            }
            return new ViaArray(made);
        }

        private static unsafe ViaArray FromInterface(
            string function, ArrayInterface description, Action release, object owner, InterfaceImport import)
        {
            IntPtr made;
            if (description == null)
            {
                throw new ArgumentNullException("description");
            }
            ArrayInterfaceLayout layout = description.Layout(function);
            IntPtr context = Callbacks.Give(BorrowedMemory.Of(owner, release));
            try
            {
                import(&layout, Callbacks.ReleaseOf(context), context, out made);
            }
            catch
            {
                Callbacks.TakeBack(context);
                throw;
            }
            return new ViaArray(made);
        }

        private unsafe delegate void InterfaceImport(
            ArrayInterfaceLayout* description, IntPtr release, IntPtr context, out IntPtr made);
    }
}
