using System;

namespace Viaduct
{
    /// <summary>What concerns the library as a whole.</summary>
    public static class ViaLibrary
    {
        static ViaLibrary()
        {
            NativeLibraryFile.Load();
        }

        /// <summary>
        /// Receives what a release or another callback of the library threw: there is no caller to throw it to.
        /// Without a listener it is written to the standard error stream. On whichever thread made the call.
        /// </summary>
        public static event Action<Exception> CallbackFailed;

        /// <summary>The version of the library.</summary>
        public static Version Version
        {
            get
            {
                int version = Native.via_version();
                return new Version(version / 1000000, version / 1000 % 1000, version % 1000);
            }
        }

        /// <summary>How many threads one host copy may use; 0 goes back to the default.</summary>
        public static int NumThreads
        {
            get { return Native.via_num_threads(); }
            set { Native.via_set_num_threads(value); }
        }

        /// <summary>Checks that the library serves a program written for this version.</summary>
        public static void Require(int major, int minor)
        {
            Native.via_require(major, minor);
        }

        /// <summary>The name that C has for a status, as in "VIA_ERROR_SHAPE".</summary>
        public static string StatusName(ViaStatus status)
        {
            return Utf8.Text(Native.via_status_name((int)status));
        }

        /// <summary>How many devices of a type can be used.</summary>
        public static int DeviceCount(DeviceType type)
        {
            Native.via_device_count((int)type, out int count);
            return count;
        }

        /// <summary>Describes one device.</summary>
        public static unsafe DeviceProperties DeviceInfo(Device device)
        {
            DevicePropertiesLayout layout = default(DevicePropertiesLayout);
            layout.struct_size = sizeof(DevicePropertiesLayout);
            Native.via_device_info((int)device.Type, device.Id, &layout);
            return new DeviceProperties(&layout);
        }

        /// <summary>Returns what an address points to.</summary>
        public static unsafe PointerInfo QueryPointer(IntPtr address)
        {
            PointerInfoLayout layout = default(PointerInfoLayout);
            layout.struct_size = sizeof(PointerInfoLayout);
            Native.via_pointer_query(address, &layout);
            return new PointerInfo(layout);
        }

        /// <summary>Counts what is alive.</summary>
        public static unsafe LibraryStats Stats()
        {
            StatsLayout layout = default(StatsLayout);
            layout.struct_size = sizeof(StatsLayout);
            Native.via_stats(&layout);
            return new LibraryStats(layout);
        }

        /// <summary>Loads now what is otherwise loaded at the first use of a CUDA device.</summary>
        public static void WarmUpCuda(int deviceId)
        {
            Native.via_cuda_warmup(deviceId);
        }

        /// <summary>Measures where one copy route becomes faster than another; takes seconds.</summary>
        public static void Calibrate(int deviceId)
        {
            Native.via_calibrate(deviceId);
        }

        /// <summary>Saves what <see cref="Calibrate"/> found.</summary>
        public static void SaveCalibration(string path)
        {
            Native.via_calibration_save(Utf8.Bytes(path, "path"));
        }

        /// <summary>Restores what <see cref="SaveCalibration"/> wrote.</summary>
        public static void LoadCalibration(string path)
        {
            Native.via_calibration_load(Utf8.Bytes(path, "path"));
        }

        /// <summary>
        /// Copies bytes between two addresses, each of host, pinned, managed or device memory. Without a stream it is
        /// done on return; with one the memory must live until the stream has got there.
        /// </summary>
        public static void CopyBytes(IntPtr destination, IntPtr source, long nbytes, ViaStream stream = null)
        {
            Native.via_memcpy(destination, source, nbytes, stream ?? ViaStream.None);
        }

        internal static void Report(Exception failure)
        {
            try
            {
                Action<Exception> reported = CallbackFailed;
                if (reported != null)
                {
                    reported(failure);
                    return;
                }
                Console.Error.WriteLine("Viaduct: a callback failed: " + failure);
            }
            catch (Exception)
            {
                // A listener that fails too has nobody left to report to.
            }
        }
    }
}
