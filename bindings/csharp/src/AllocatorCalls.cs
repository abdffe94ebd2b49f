using System;
using System.Runtime.InteropServices;

namespace Viaduct
{
    /// <summary>The callbacks behind <see cref="IViaAllocator"/>.</summary>
    internal static class AllocatorCalls
    {
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate int AllocateFunction(
            long nbytes, long alignment, IntPtr stream, IntPtr context, out IntPtr address);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate void FreeFunction(IntPtr address, long nbytes, IntPtr stream, IntPtr context);

        // Kept for ever: native code holds their addresses.
        private static readonly AllocateFunction KeptAllocate = Allocate;
        private static readonly FreeFunction KeptFree = Free;

        internal static readonly IntPtr AllocateAddress =
            Native.allocate_callback(Callbacks.Domain, Marshal.GetFunctionPointerForDelegate(KeptAllocate));

        internal static readonly IntPtr FreeAddress =
            Native.free_callback(Callbacks.Domain, Marshal.GetFunctionPointerForDelegate(KeptFree));

        // Called on the thread that asks for memory: what is thrown goes with its failure.
        private static int Allocate(long nbytes, long alignment, IntPtr stream, IntPtr context, out IntPtr address)
        {
            address = IntPtr.Zero;
            try
            {
                address = ((IViaAllocator)Callbacks.Look(context)).Allocate(nbytes, alignment, stream);
                return address == IntPtr.Zero ? 1 : 0;
            }
            catch (Exception failure)
            {
                Failure.Remember(failure);
                return 1;
            }
        }

        private static void Free(IntPtr address, long nbytes, IntPtr stream, IntPtr context)
        {
            try
            {
                ((IViaAllocator)Callbacks.Look(context)).Free(address, nbytes, stream);
            }
            catch (Exception failure)
            {
                ViaLibrary.Report(failure);
            }
        }
    }
}
