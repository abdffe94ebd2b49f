using System;

namespace Viaduct
{
    /// <summary>The allocation that an address points to.</summary>
    public sealed class PointerInfo
    {
        internal PointerInfo(PointerInfoLayout found)
        {
            Device = new Device((DeviceType)found.device_type, found.device_id);
            IsReadOnly = found.read_only != 0;
            BaseAddress = found.base_address;
            NBytes = found.nbytes;
        }

        /// <summary>Where the memory is; the CPU for memory that no device knows.</summary>
        public Device Device { get; }

        /// <summary>Whether it cannot be written.</summary>
        public bool IsReadOnly { get; }

        /// <summary>The start of the allocation; zero if the driver does not say.</summary>
        public IntPtr BaseAddress { get; }

        /// <summary>Its size; 0 if the driver does not say.</summary>
        public long NBytes { get; }

        /// <summary>Every field, for a log.</summary>
        public override string ToString()
        {
            return Device + (IsReadOnly ? " read-only" : "") + " 0x" + BaseAddress.ToString("x") + ", " + NBytes
                + " bytes";
        }
    }
}
