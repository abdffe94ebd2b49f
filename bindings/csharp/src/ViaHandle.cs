using System;
using System.Runtime.InteropServices;

namespace Viaduct
{
    /// <summary>
    /// A share in something of the library's. Closing it (<see cref="SafeHandle.Dispose()"/>) gives up the share, once,
    /// from any thread; a call under way on another thread is finished first. Used after that it throws an
    /// <see cref="ObjectDisposedException"/>. What is not closed is given up after it has been collected.
    /// </summary>
    public abstract class ViaHandle : SafeHandle
    {
        internal ViaHandle(IntPtr address)
            : base(IntPtr.Zero, true)
        {
            SetHandle(address);
        }

        /// <summary>Whether there is nothing to give up.</summary>
        public sealed override bool IsInvalid
        {
            get { return handle == IntPtr.Zero; }
        }

        /// <summary>Of an argument: that it is there, and open.</summary>
        internal static void Check(ViaHandle given, string name)
        {
            if (given == null)
            {
                throw new ArgumentNullException(name);
            }
            if (given.IsClosed)
            {
                throw new ObjectDisposedException(given.GetType().FullName);
            }
        }

        /// <summary>The address of the native handle (via_array * and so on), with one owner more.</summary>
        internal IntPtr Retained(Action<IntPtr> retain)
        {
            using (new Hold(this))
            {
                retain(handle);
                return handle;
            }
        }

        /// <summary>
        /// Keeps a handle open while what it exports is used: closing it on another thread gives it up after this.
        /// </summary>
        internal struct Hold : IDisposable
        {
            private readonly ViaHandle held;

            internal Hold(ViaHandle given)
            {
                bool taken = false;
                given.DangerousAddRef(ref taken);
                held = given;
            }

            public void Dispose()
            {
                held.DangerousRelease();
            }
        }
    }
}
