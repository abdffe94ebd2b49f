using System;
using System.Runtime.ConstrainedExecution;
using System.Runtime.InteropServices;

namespace Viaduct
{
    /// <summary>
    /// What the library calls, on whichever thread it happens to be, by way of native/callbacks.cpp. Nothing thrown may
    /// reach native code: it goes to <see cref="ViaLibrary.CallbackFailed"/>.
    /// </summary>
    internal static class Callbacks
    {
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate void ReleaseFunction(IntPtr context);

        /// <summary>The number of this AppDomain, which every context carries above the bits of its GCHandle.</summary>
        internal static readonly int Domain = Native.open_domain();

        private const int DomainShift = 48;
        internal static readonly object Last = new LastOfDomain();

        // Kept for ever: native code holds their addresses.
        private static readonly ReleaseFunction ReleaseBorrowedFunction = ReleaseBorrowed;
        private static readonly ReleaseFunction ForgetFunction = Forget;

        /// <summary>Ends the <see cref="BorrowedMemory"/> that the context names, and what it pins.</summary>
        internal static readonly IntPtr ReleaseBorrowedAddress =
            Native.release_borrowed_callback(Domain, Marshal.GetFunctionPointerForDelegate(ReleaseBorrowedFunction));

        /// <summary>Returns the release function that goes with a context; zero with none.</summary>
        internal static IntPtr ReleaseOf(IntPtr context)
        {
            return context == IntPtr.Zero ? IntPtr.Zero : ReleaseBorrowedAddress;
        }

        /// <summary>Releases the object that the context names.</summary>
        internal static readonly IntPtr ForgetAddress =
            Native.forget_callback(Domain, Marshal.GetFunctionPointerForDelegate(ForgetFunction));

        /// <summary>A context that keeps an object alive until it is taken back.</summary>
        internal static IntPtr Give(object target)
        {
            return target == null ? IntPtr.Zero : ContextOf(GCHandle.Alloc(target));
        }

        /// <summary>The same for a C# array, which stays where it is until then.</summary>
        internal static IntPtr Pin(Array values)
        {
            try
            {
                return ContextOf(GCHandle.Alloc(values, GCHandleType.Pinned));
            }
            catch (ArgumentException refused)
            {
                throw new ViaDTypeException("ViaArray.Wrap: values are " + values.GetType().GetElementType()
                    + "; expected numbers, or structs that the runtime pins", 0, refused);
            }
        }

        /// <summary>Returns the object of a context; null if it is one of another AppDomain.</summary>
        internal static object Look(IntPtr context)
        {
            return (ushort)(context.ToInt64() >> DomainShift) == Domain ? HandleOf(context).Target : null;
        }

        internal static GCHandle HandleOf(IntPtr context)
        {
            return GCHandle.FromIntPtr(new IntPtr(context.ToInt64() & ((1L << DomainShift) - 1)));
        }

        private static IntPtr ContextOf(GCHandle handle)
        {
            return new IntPtr(GCHandle.ToIntPtr(handle).ToInt64() | ((long)Domain << DomainShift));
        }

        internal static object Take(IntPtr context)
        {
            GCHandle handle = HandleOf(context);
            object target = handle.Target;
            handle.Free();
            return target;
        }

        /// <summary>Of a call that failed; zero if it had none.</summary>
        internal static void TakeBack(IntPtr context)
        {
            if (context != IntPtr.Zero)
            {
                Take(context);
            }
        }

        private static void ReleaseBorrowed(IntPtr context)
        {
            try
            {
                BorrowedMemory.End(Take(context));
            }
            catch (Exception failure)
            {
                ViaLibrary.Report(failure);
            }
        }

        private static void Forget(IntPtr context)
        {
            try
            {
                Take(context);
            }
            catch (Exception failure)
            {
                ViaLibrary.Report(failure);
            }
        }

        // Finalized after everything else of an AppDomain that is unloaded.
        private sealed class LastOfDomain : CriticalFinalizerObject
        {
            ~LastOfDomain()
            {
                Native.close_domain(Domain);
            }
        }
    }
}
