using System;
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

        // Kept for ever: native code holds their addresses.
        private static readonly ReleaseFunction ReleaseBorrowedFunction = ReleaseBorrowed;
        private static readonly ReleaseFunction ForgetFunction = Forget;

        /// <summary>Ends the <see cref="BorrowedMemory"/> that the context names, and what it pins.</summary>
        internal static readonly IntPtr ReleaseBorrowedAddress =
            Native.release_borrowed_callback(Marshal.GetFunctionPointerForDelegate(ReleaseBorrowedFunction));

        /// <summary>Returns the release function that goes with a context; zero with none.</summary>
        internal static IntPtr ReleaseOf(IntPtr context)
        {
            return context == IntPtr.Zero ? IntPtr.Zero : ReleaseBorrowedAddress;
        }

        /// <summary>Releases the object that the context names.</summary>
        internal static readonly IntPtr ForgetAddress =
            Native.forget_callback(Marshal.GetFunctionPointerForDelegate(ForgetFunction));

        /// <summary>A context that keeps an object alive until it is taken back.</summary>
        internal static IntPtr Give(object target)
        {
            return target == null ? IntPtr.Zero : GCHandle.ToIntPtr(GCHandle.Alloc(target));
        }

        /// <summary>The same for a C# array, which stays where it is until then.</summary>
        internal static IntPtr Pin(Array values)
        {
            try
            {
                return GCHandle.ToIntPtr(GCHandle.Alloc(values, GCHandleType.Pinned));
            }
            catch (ArgumentException refused)
            {
                throw new ViaDTypeException("ViaArray.Wrap: values are " + values.GetType().GetElementType()
                    + "; expected numbers, or structs that the runtime pins", 0, refused);
            }
        }

        internal static object Look(IntPtr context)
        {
            return GCHandle.FromIntPtr(context).Target;
        }

        internal static object Take(IntPtr context)
        {
            GCHandle handle = GCHandle.FromIntPtr(context);
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
    }
}
