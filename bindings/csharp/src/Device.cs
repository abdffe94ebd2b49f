using System;

namespace Viaduct
{
    /// <summary>Where memory is.</summary>
    public struct Device : IEquatable<Device>
    {
        /// <summary>Ordinary host memory.</summary>
        public static readonly Device Cpu = new Device(DeviceType.Cpu, 0);

        /// <summary>Pinned host memory.</summary>
        public static readonly Device Pinned = new Device(DeviceType.CudaHost, 0);

        /// <summary>CUDA managed memory.</summary>
        public static readonly Device Managed = new Device(DeviceType.CudaManaged, 0);

        /// <summary>Wherever the address turns out to be.</summary>
        public static readonly Device Any = new Device(DeviceType.Any, 0);

        /// <summary>A device of a type.</summary>
        public Device(DeviceType type, int id)
        {
            Type = type;
            Id = id;
        }

        /// <summary>The kind of memory.</summary>
        public DeviceType Type { get; }

        /// <summary>Which device; 0 for host, pinned and managed memory.</summary>
        public int Id { get; }

        /// <summary>Whether the CPU can read the memory.</summary>
        public bool IsHostAccessible
        {
            get { return Type == DeviceType.Cpu || Type == DeviceType.CudaHost || Type == DeviceType.CudaManaged; }
        }

        /// <summary>Memory of a CUDA device.</summary>
        public static Device Cuda(int id)
        {
            return new Device(DeviceType.Cuda, id);
        }

        /// <inheritdoc/>
        public bool Equals(Device other)
        {
            return Type == other.Type && Id == other.Id;
        }

        /// <inheritdoc/>
        public override bool Equals(object other)
        {
            return other is Device && Equals((Device)other);
        }

        /// <inheritdoc/>
        public override int GetHashCode()
        {
            return ((int)Type << 16) ^ Id;
        }

        /// <summary>As in "Cuda:1".</summary>
        public override string ToString()
        {
            return Type + ":" + Id;
        }

        /// <summary>Whether both are the same.</summary>
        public static bool operator ==(Device left, Device right)
        {
            return left.Equals(right);
        }

        /// <summary>Whether they differ.</summary>
        public static bool operator !=(Device left, Device right)
        {
            return !left.Equals(right);
        }
    }
}
