using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Runtime.InteropServices;
using NUnit.Framework;

namespace Viaduct.Tests
{
    /// <summary>
    /// The rows of tests/misuse/table.tsv in C#: each wrong call is an exception of the kind that the table says.
    /// </summary>
    [TestFixture]
    public class MisuseTests
    {
        private const int Large = 64 << 20;

        private static readonly string[][] Table =
            File.ReadAllLines(Path.Combine(Support.SourceDirectory, "tests/misuse/table.tsv"))
                .Select(line => line.Split('\t')).ToArray();

        private static readonly int Status = Array.IndexOf(Table[0], "status");
        private static readonly int Needs = Array.IndexOf(Table[0], "needs");
        private static readonly int CSharp = Array.IndexOf(Table[0], "csharp");
        private static readonly IntPtr Block = Marshal.AllocHGlobal(64);

        private static readonly Dictionary<string, Action> Calls = new Dictionary<string, Action>
        {
            // handles
            { "null_array", () => Support.Grid().CopyTo(null) },
            {
                "null_in_list", () => ViaBatch.Copy(
                    new[] { Support.Grid(), null }, new[] { Support.Grid(), Support.Grid() })
            },
            { "released_array", () => Closed(Support.Grid()).Transpose() },
            { "released_stream", () => Closed(ViaStream.Create(0)).Synchronize() },
            { "closed_file", () => WithFile(96, (file, path) => Closed(file).Read(Support.Grid())) },

            // addresses
            { "null_address", () => ViaArray.Wrap(IntPtr.Zero, DType.Int8, 4) },
            { "unreadable_address", () => Wrap((IntPtr)4096, Device.Cpu, WrapFlags.Probe, 4) },
            { "freed_host_memory", WrapFreedHostMemory },
            { "freed_device_memory", () => OnDevice(4 << 20, Close, address => Wrap(address, Cuda(0), 0, 4)) },
            { "past_the_allocation", () => OnDevice(4 << 20, Keep, address => Wrap(address, Cuda(0), 0, 3, 2 << 20)) },
            { "past_the_buffer", () => ViaArray.Wrap(new double[12], 13) },
            { "past_the_address_space", () => ViaArray.Wrap((IntPtr)(-64), DType.Float32, 17) },
            { "host_memory_as_a_devices", () => Wrap(Block, Cuda(0), 0, 64) },
            { "memory_of_another_device", () => OnDevice(64, Keep, address => Wrap(address, Cuda(1), 0, 64)) },
            { "device_memory_as_the_hosts", () => OnDevice(64, array => array.ToArrayInterface(), address => { }) },
            { "negative_count", () => ViaLibrary.CopyBytes(Block, Block + 8, -4) },

            // shapes
            { "null_shape", () => ViaArray.Wrap(Block, DType.Int8, null) },
            { "negative_extent", () => ViaArray.Wrap(Block, DType.Int8, 3, -4) },
            { "too_many_axes", () => ViaArray.Wrap(Block, DType.Int8, new long[65]) },
            { "huge_shape", () => ViaArray.Wrap(Block, DType.Int8, 1L << 40, 1L << 40) },
            { "huge_allocation", () => ViaArray.Empty(DType.Int8, 1L << 60) },
            { "row_past_the_end", () =>
                {
                    ViaArray row = ViaArray.Empty(DType.Int32, 1);
                    row.Fill(3);
                    Support.Grid().CopyIndexedTo(Support.Grid(), null, row);
                } },
            { "copy_off_by_one", () => Support.Grid().CopyTo(Support.Grid().SliceAxis(1, 0, 3)) },
            { "reshape_off_by_one", () => Support.Grid().Reshape(13) },
            { "broadcast_off_by_one", () => Support.Grid().Broadcast(3, 5) },
            { "reshape_of_a_transpose", () => Support.Grid().Transpose().Reshape(12) },
            { "index_past_the_end", () => Support.Grid().Select(0, 3) },
            { "slice_past_the_end", () => Support.Grid().SliceAxis(1, 1, 4) },
            { "axis_twice", () => Support.Grid().Permute(1, 1) },
            { "field_past_the_end", () => Support.Grid().Field(1, DType.Float64) },

            // dtypes and options
            { "strides_too_few", () => ViaArray.Wrap(Block, DType.Int8, new long[] { 3, 4 }, new long[] { 4 }) },
            { "slice_too_few", () => Support.Grid().Slice(new long[] { 1 }) },
            { "axes_too_few", () => Support.Grid().Permute(0) },
            {
                "window_too_few", () => WithFile(96, (file, path) =>
                    file.Window(0, DType.Float64, new long[] { 3, 4 }, new long[] { 1 }))
            },
            {
                "batch_of_unequal_lists", () => ViaBatch.Copy(
                    new[] { Support.Grid() }, new[] { Support.Grid(), Support.Grid() })
            },
            { "elements_of_another_dtype", () => Support.Grid().AsSpan<float>() },
            { "elements_with_gaps", () => Support.Grid().Transpose().AsSpan<double>() },
            { "device_memory_as_elements", () => OnDevice(64, array => array.AsSpan<sbyte>(), address => { }) },
            { "unknown_dtype", () => ViaArray.Wrap(Block, new DType(5), 4) },
            { "unknown_dtype_name", () => DType.Parse("float33") },
            { "copy_to_another_dtype", () => Support.Grid().CopyTo(Support.Grid().Reinterpret(DType.Int64)) },
            { "unknown_flag", () => Wrap(Block, Device.Cpu, (WrapFlags)(1 << 30), 4) },
            { "future_version", () => ViaLibrary.Require(ViaLibrary.Version.Major + 1, 0) },
            { "negative_thread_count", () => ViaLibrary.NumThreads = -1 },

            // writes and exchange
            { "read_only_destination", () => Support.Grid().CopyTo(Support.Grid().AsReadOnly()) },
            { "read_only_fill", () => Support.Grid().AsReadOnly().Clear() },
            { "overlap", CopyOntoAPartOfItself },
            { "destination_of_one_element", CopyToOneElement },
            { "read_only_legacy_tensor", () => Support.Grid().AsReadOnly().ToDlpackLegacy() },
            { "null_tensor", () => ViaArray.FromDlpack(IntPtr.Zero) },
            { "tensor_of_a_future_version", TakeATensorOfAFutureVersion },

            // other processes
            { "unshared_memory", () => Support.Grid().ExportIpc() },
            { "null_description", () => ViaArray.ImportIpc(null) },
            { "damaged_description", TakeADamagedDescription },

            // devices
            { "absent_device", () => ViaStream.Create(99) },
            { "stream_of_another_device", () => ViaStream.SetCurrent(0, ViaStream.Create(1)) },
            { "missing_allocator", () => ViaMemory.Create(Device.Cpu, null) },

            // tasks and callbacks
            { "cancelled_task", WaitForACancelledTask },
            {
                "failing_allocator", () => ViaArray.Empty(
                    DType.Int8, new long[] { 4 }, ViaMemory.Create(Device.Cpu, new Failing()))
            },
            { "throwing_release", ReleaseByDividing },

            // files
            { "null_path", () => ViaFile.Open(null) },
            { "path_cut_short", () => ViaFile.Open("numbers\0.raw") },
            { "absent_file", () => ViaFile.Open("/tmp/viaduct-no-such-file") },
            {
                "file_without_a_header", () => WithFile(10, (file, path) =>
                    ViaFile.Open(path, new ViaFileOptions { Format = FileFormat.Npy }))
            },
            { "file_opened_to_read", () => WithFile(0, (file, path) => file.Write(Support.Grid())) },
            { "past_the_end_of_a_file", () => WithFile(10, (file, path) => file.Read(Support.Grid())) },
            { "file_cut_short", () => WithFile(96, ReadWhatWasCutShort) },
            { "archive_without_a_header", () => WithFile(10, (file, path) => ViaArchive.Open(path)) },
            { "absent_tensor", () => WithArchive(archive => archive.Find("v")) },
            { "part_past_a_tensor", () => WithArchive(archive => archive.Slice(0, 0, 1, 3)) },
            {
                "buffer_of_another_size", () => WithArchive(archive => archive.Read(ViaArray.Empty(DType.UInt8, 47)))
            }
        };

        private static IEnumerable<string> Sayable
        {
            get { return Table.Skip(1).Where(row => !row[CSharp].StartsWith("- ")).Select(row => row[0]); }
        }

        private static T Closed<T>(T handle)
            where T : ViaHandle
        {
            handle.Dispose();
            return handle;
        }

        private static Device Cuda(int id)
        {
            return new Device(DeviceType.Cuda, id);
        }

        private static void Wrap(IntPtr address, Device device, WrapFlags flags, params long[] shape)
        {
            ViaArray.Wrap(address, DType.Int8, shape, null, device, flags).Dispose();
        }

        // A block so large that it is the system's again at once.
        private static void WrapFreedHostMemory()
        {
            IntPtr block = Marshal.AllocHGlobal(Large);
            Marshal.FreeHGlobal(block);
            Wrap(block, Device.Cpu, WrapFlags.Probe, Large);
        }

        private static void Close(ViaArray array)
        {
            array.Dispose();
        }

        private static void Keep(ViaArray array)
        {
        }

        // Does something with an array of device memory, then with its address.
        private static void OnDevice(long nbytes, Action<ViaArray> first, Action<IntPtr> then)
        {
            using (ViaMemory memory = ViaMemory.Create(MemoryKind.Device))
            using (ViaArray array = ViaArray.Empty(DType.Int8, new[] { nbytes }, memory))
            {
                IntPtr address = array.Address;
                first(array);
                then(address);
            }
        }

        private static void CopyOntoAPartOfItself()
        {
            ViaArray both = Support.Grid();
            both.SliceAxis(0, 1, 2).CopyTo(both.SliceAxis(0, 0, 2));
        }

        private static void CopyToOneElement()
        {
            var strides = new long[] { 0, 0 };
            Support.Grid().CopyTo(ViaArray.Wrap(Block, DType.Float64, new long[] { 3, 4 }, strides));
        }

        private static void TakeATensorOfAFutureVersion()
        {
            IntPtr tensor = Support.Grid().ToDlpack();
            Probe.probe_set_version(tensor, 2);
            try
            {
                ViaArray.FromDlpack(tensor);
            }
            finally
            {
                ViaArray.DeleteDlpack(tensor);
            }
        }

        private static void TakeADamagedDescription()
        {
            using (ViaMemory memory = ViaMemory.Create(MemoryKind.Shared))
            using (ViaArray array = ViaArray.Empty(DType.Int8, new long[] { 4 }, memory))
            {
                byte[] description = array.ExportIpc();
                description[description.Length - 1] ^= 1;
                ViaArray.ImportIpc(description);
            }
        }

        // Large copies, one after another, until one was still under way when it was cancelled.
        private static void WaitForACancelledTask()
        {
            using (ViaArray source = ViaArray.Empty(DType.UInt8, Large))
            using (ViaArray target = ViaArray.Empty(DType.UInt8, Large))
            {
                for (int tries = 0; tries < 50; ++tries)
                {
                    using (CopyTask copy = source.SubmitCopyTo(target))
                    {
                        copy.Cancel();
                        copy.Wait();
                    }
                }
            }
        }

        private sealed class Failing : IViaAllocator
        {
            public IntPtr Allocate(long nbytes, long alignment, IntPtr stream)
            {
                throw new InvalidOperationException("no " + nbytes + " bytes");
            }

            public void Free(IntPtr address, long nbytes, IntPtr stream)
            {
            }
        }

        private static void ReleaseByDividing()
        {
            int nothing = 0;
            Exception reported = null;
            Action<Exception> listener = failure => reported = failure;
            ViaLibrary.CallbackFailed += listener;
            try
            {
                var shape = new long[] { 64 };
                ViaArray.Wrap(Block, DType.Int8, shape, null, null, 0, () => nothing = 1 / nothing).Dispose();
            }
            finally
            {
                ViaLibrary.CallbackFailed -= listener;
            }
            throw reported;
        }

        // Does something with a file of so many bytes, opened to read.
        private static void WithArchive(Action<ViaArchive> use)
        {
            WithFile(0, (file, path) =>
            {
                ViaArchive.Save(path, new Dictionary<string, ViaArray> { { "w", Support.Grid() } });
                using (ViaArchive archive = ViaArchive.Open(path))
                {
                    use(archive);
                }
            });
        }

        private static void WithFile(int nbytes, Action<ViaFile, string> use)
        {
            string path = Support.TemporaryFile("numbers.raw");
            try
            {
                File.WriteAllBytes(path, new byte[nbytes]);
                using (ViaFile file = ViaFile.Open(path))
                {
                    use(file, path);
                }
            }
            finally
            {
                Directory.Delete(Path.GetDirectoryName(path), true);
            }
        }

        private static void ReadWhatWasCutShort(ViaFile file, string path)
        {
            using (FileStream stream = File.OpenWrite(path))
            {
                stream.SetLength(88);
            }
            file.Read(Support.Grid());
        }

        private static bool IsA(string name, Type kind)
        {
            return kind != null && (kind.Name == name || IsA(name, kind.BaseType));
        }

        [Test, TestCaseSource("Sayable")]
        public void A_wrong_call_is_reported_as_the_table_says(string id)
        {
            string[] row = Table.Single(each => each[0] == id);
            if (row[Needs].Contains("device"))
            {
                Support.NeedsCuda(row[Needs].Contains("two") ? 2 : 1);
            }
            Exception reported = Assert.Catch(() => Calls[id]());
            Assert.That(reported.Message, Is.Not.Empty);
            if (row[CSharp] == "=")
            {
                Assert.That(reported, Is.InstanceOf<ViaException>());
                string status = ViaLibrary.StatusName(((ViaException)reported).Status);
                Assert.That(status, Is.EqualTo("VIA_ERROR_" + row[Status]), reported.Message);
            }
            else
            {
                Assert.That(IsA(row[CSharp], reported.GetType()), reported.ToString());
            }
        }

        [Test]
        public void No_row_is_forgotten_and_none_is_made_up()
        {
            Assert.That(Calls.Keys, Is.EquivalentTo(Sayable));
        }
    }
}
