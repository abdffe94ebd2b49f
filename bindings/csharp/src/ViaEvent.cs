using System;

namespace Viaduct
{
    /// <summary>A point in a stream.</summary>
    public sealed class ViaEvent : ViaHandle
    {
        static ViaEvent()
        {
            NativeLibraryFile.Load();
        }

        internal ViaEvent(IntPtr address)
            : base(new Handle(address))
        {
        }

        /// <summary>A new event of a device, without timing.</summary>
        public static ViaEvent Create(int deviceId)
        {
            Native.via_event_create(deviceId, out IntPtr made);
            return new ViaEvent(made);
        }

        /// <summary>A foreign CUevent, which stays its owner's and must live as long as this is used.</summary>
        public static ViaEvent Wrap(IntPtr nativeEvent, int deviceId)
        {
            Native.via_event_wrap(nativeEvent, deviceId, out IntPtr made);
            return new ViaEvent(made);
        }

        /// <summary>The CUevent.</summary>
        public IntPtr NativeHandle
        {
            get { return Native.via_event_handle(this); }
        }

        /// <summary>Returns whether the recorded point has been reached.</summary>
        public bool IsReached
        {
            get
            {
                Native.via_event_query(this, out int done);
                return done != 0;
            }
        }

        /// <summary>Records the end of the stream's work so far, replacing the point before.</summary>
        public void Record(ViaStream stream)
        {
            Native.via_event_record(this, stream);
        }

        /// <summary>Waits until the recorded point has been reached.</summary>
        public void Synchronize()
        {
            Native.via_event_synchronize(this);
        }

        /// <summary>The same event with a share of its own.</summary>
        public ViaEvent Share()
        {
            return new ViaEvent(Retained(Native.via_event_retain));
        }

        private sealed class Handle : OwnedHandle
        {
            internal Handle(IntPtr address)
                : base(address)
            {
            }

            protected override bool ReleaseHandle()
            {
                Native.via_event_release(handle);
                return true;
            }
        }
    }
}
