using System;

namespace Viaduct
{
    /// <summary>A place to allocate from.</summary>
    public sealed class ViaMemory : ViaHandle
    {
        /// <summary>NULL: ordinary host memory.</summary>
        internal static readonly ViaMemory None = new ViaMemory(IntPtr.Zero);

        static ViaMemory()
        {
            NativeLibraryFile.Load();
        }

        internal ViaMemory(IntPtr address)
            : base(new Handle(address))
        {
        }

        /// <summary>Memory of one kind; the device is that of CUDA which it is made for.</summary>
        public static ViaMemory Create(MemoryKind kind, int deviceId = 0)
        {
            Native.via_memory_create((int)kind, deviceId, out IntPtr made);
            return new ViaMemory(made);
        }

        /// <summary>The caller's own allocator, kept until the last array made from it is gone.</summary>
        public static ViaMemory Create(Device device, IViaAllocator allocator)
        {
            IntPtr made;
            if (allocator == null)
            {
                throw new ArgumentNullException("allocator");
            }
            IntPtr context = Callbacks.Give(allocator);
            try
            {
                Native.via_memory_create_custom(
                    (int)device.Type, device.Id, AllocatorCalls.AllocateAddress, context, AllocatorCalls.FreeAddress,
                    context, Callbacks.ForgetAddress, context, out made);
            }
            catch
            {
                Callbacks.Take(context);
                throw;
            }
            return new ViaMemory(made);
        }

        /// <summary>Where its memory is.</summary>
        public Device Device
        {
            get
            {
                return new Device((DeviceType)Native.via_memory_device_type(this), Native.via_memory_device_id(this));
            }
        }

        /// <summary>The same memory with a share of its own.</summary>
        public ViaMemory Share()
        {
            return new ViaMemory(Retained(Native.via_memory_retain));
        }

        private sealed class Handle : OwnedHandle
        {
            internal Handle(IntPtr address)
                : base(address)
            {
            }

            protected override bool ReleaseHandle()
            {
                Native.via_memory_release(handle);
                return true;
            }
        }
    }
}
