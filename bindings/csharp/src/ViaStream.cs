using System;

namespace Viaduct
{
    /// <summary>
    /// A queue of work on a CUDA device. Those that every program has (<see cref="Legacy"/>, <see cref="PerThread"/>,
    /// <see cref="NoSync"/>) stay open whoever closes them.
    /// </summary>
    public sealed class ViaStream : ViaHandle
    {
        private readonly bool isEverybodys;

        /// <summary>CUDA's legacy default stream.</summary>
        public static readonly ViaStream Legacy;

        /// <summary>CUDA's per-thread default stream: of the thread that makes the call it is passed to.</summary>
        public static readonly ViaStream PerThread;

        /// <summary>Not a stream: "do not order anything", for exchange.</summary>
        public static readonly ViaStream NoSync;

        /// <summary>NULL, which means what the function says that takes it.</summary>
        internal static readonly ViaStream None = new ViaStream(IntPtr.Zero, true);

        static ViaStream()
        {
            NativeLibraryFile.Load();
            Legacy = new ViaStream(Native.via_stream_legacy(), true);
            PerThread = new ViaStream(Native.via_stream_per_thread(), true);
            NoSync = new ViaStream(Native.via_stream_no_sync(), true);
        }

        internal ViaStream(IntPtr address)
            : this(address, false)
        {
        }

        private ViaStream(IntPtr address, bool isEverybodys)
            : base(new Handle(address))
        {
            this.isEverybodys = isEverybodys;
        }

        /// <summary>A new stream of a device.</summary>
        public static ViaStream Create(int deviceId)
        {
            Native.via_stream_create(deviceId, out IntPtr made);
            return new ViaStream(made);
        }

        /// <summary>
        /// A foreign CUstream, which stays its owner's and must live as long as this is used; device -1 is its own.
        /// </summary>
        public static ViaStream Wrap(IntPtr nativeStream, int deviceId = -1)
        {
            Native.via_stream_wrap(nativeStream, deviceId, out IntPtr made);
            return new ViaStream(made);
        }

        /// <summary>The calling thread's current stream for a device, at first the legacy stream.</summary>
        public static ViaStream GetCurrent(int deviceId)
        {
            Native.via_stream_current(deviceId, out IntPtr made);
            return new ViaStream(made);
        }

        /// <summary>Makes a stream the calling thread's current one for a device; null goes back to the legacy stream.
        /// </summary>
        public static void SetCurrent(int deviceId, ViaStream stream)
        {
            Native.via_stream_set_current(deviceId, stream ?? None);
        }

        /// <summary>The CUstream; 1 and 2 for the legacy and the per-thread stream.</summary>
        public IntPtr NativeHandle
        {
            get { return Native.via_stream_handle(this); }
        }

        /// <summary>The stream's device.</summary>
        public int DeviceId
        {
            get { return Native.via_stream_device_id(this); }
        }

        /// <summary>Returns whether the stream's work so far is done.</summary>
        public bool IsDone
        {
            get
            {
                Native.via_stream_query(this, out int done);
                return done != 0;
            }
        }

        /// <summary>Waits until the stream's work so far is done.</summary>
        public void Synchronize()
        {
            Native.via_stream_synchronize(this);
        }

        /// <summary>Makes later work of the stream wait, on the device, for the point that the event records now.</summary>
        public void Wait(ViaEvent marker)
        {
            Native.via_stream_wait(this, marker);
        }

        /// <summary>The same stream with a share of its own.</summary>
        public ViaStream Share()
        {
            return new ViaStream(Retained(Native.via_stream_retain));
        }

        /// <inheritdoc/>
        public override void Dispose()
        {
            if (!isEverybodys)
            {
                base.Dispose();
            }
        }

        private sealed class Handle : OwnedHandle
        {
            internal Handle(IntPtr address)
                : base(address)
            {
            }

            protected override bool ReleaseHandle()
            {
                Native.via_stream_release(handle);
                return true;
            }
        }
    }
}
