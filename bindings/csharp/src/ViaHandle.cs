using System;
using System.Runtime.InteropServices;

namespace Viaduct
{
    /// <summary>
    /// A reference to an object of the library. Closing it (<see cref="Dispose"/>) drops the reference, once, from any
    /// thread; a call under way on another thread is finished first. Used after that it throws an
    /// <see cref="ObjectDisposedException"/>. What is not closed is given up after it has been collected.
    /// </summary>
    public abstract class ViaHandle : IDisposable
    {
        private readonly SafeHandle handle;

        internal ViaHandle(SafeHandle handle)
        {
            this.handle = handle;
        }

        /// <summary>Whether it has been closed.</summary>
        public bool IsClosed
        {
            get { return handle.IsClosed; }
        }

        /// <summary>Gives up the share; does nothing the second time.</summary>
        public virtual void Dispose()
        {
            handle.Dispose();
        }

        /// <summary>Returns what a call of the native layer takes for an argument, which must be open.</summary>
        internal static SafeHandle Of(ViaHandle given, string name)
        {
            if (given == null)
            {
                throw new ArgumentNullException(name);
            }
            given.RefuseClosed();
            return given.handle;
        }

        /// <summary>Retains the native handle (via_array * and so on), and returns its address.</summary>
        internal IntPtr Retained(Action<IntPtr> retain)
        {
            using (var held = new Hold(this))
            {
                retain(held.Address);
                return held.Address;
            }
        }

        private void RefuseClosed()
        {
            if (handle.IsClosed)
            {
                throw new ObjectDisposedException(GetType().FullName);
            }
        }

        /// <summary>
        /// Keeps a handle open while what it exports is used: closing it on another thread gives it up after this.
        /// </summary>
        internal struct Hold : IDisposable
        {
            private readonly SafeHandle held;

            internal Hold(ViaHandle given)
            {
                bool taken = false;
                given.RefuseClosed();
                given.handle.DangerousAddRef(ref taken);
                held = given.handle;
            }

            internal IntPtr Address
            {
                get { return held.DangerousGetHandle(); }
            }

            public void Dispose()
            {
                held.DangerousRelease();
            }
        }

        /// <summary>The address of a native handle, released once; each class says how.</summary>
        internal abstract class OwnedHandle : SafeHandle
        {
            internal OwnedHandle(IntPtr address)
                : base(IntPtr.Zero, true)
            {
                SetHandle(address);
            }

            public sealed override bool IsInvalid
            {
                get { return handle == IntPtr.Zero; }
            }
        }
    }
}
