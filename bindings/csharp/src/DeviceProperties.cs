using System;

namespace Viaduct
{
    /// <summary>What is known of a device.</summary>
    public sealed class DeviceProperties
    {
        internal unsafe DeviceProperties(DevicePropertiesLayout* found)
        {
            Device = new Device((DeviceType)found->device_type, found->device_id);
            ComputeCapability = found->compute_capability;
            DriverVersion = found->driver_version;
            NumThreads = found->num_threads;
            TotalBytes = found->total_bytes;
            StagingBytes = found->staging_bytes;
            Name = Utf8.Text((IntPtr)found->name);
            Routes = Utf8.Text((IntPtr)found->routes);
        }

        /// <summary>Which one.</summary>
        public Device Device { get; }

        /// <summary>Major * 10 + minor for a CUDA device, else 0.</summary>
        public int ComputeCapability { get; }

        /// <summary>As the CUDA driver numbers it (13000 for 13.0), else 0.</summary>
        public int DriverVersion { get; }

        /// <summary>Threads that a host copy may use.</summary>
        public int NumThreads { get; }

        /// <summary>Memory of the device; for the CPU, what the process may have of the machine's.</summary>
        public long TotalBytes { get; }

        /// <summary>Pinned memory that copies of that device may hold, else 0.</summary>
        public long StagingBytes { get; }

        /// <summary>Its name.</summary>
        public string Name { get; }

        /// <summary>A line for each route of a copy: on, or off and why.</summary>
        public string Routes { get; }

        /// <summary>Every field, for a log.</summary>
        public override string ToString()
        {
            return Device + " " + Name + ", " + TotalBytes + " bytes, " + NumThreads + " threads"
                + (Device.Type == DeviceType.Cuda ? ", compute capability " + ComputeCapability + ", driver "
                + DriverVersion : "");
        }
    }
}
