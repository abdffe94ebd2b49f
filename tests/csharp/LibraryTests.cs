using System;
using System.IO;
using System.Threading;
using NUnit.Framework;

namespace Viaduct.Tests
{
    [TestFixture]
    public class LibraryTests
    {
        [Test]
        public void The_library_reports_its_version()
        {
            Assert.That(ViaLibrary.Version.Major, Is.EqualTo(Native.VIA_VERSION_MAJOR));
            ViaLibrary.Require(1, 0);
            var error = Assert.Throws<ViaVersionException>(() => ViaLibrary.Require(2, 0));
            Assert.That(error.Status, Is.EqualTo(ViaStatus.Version));
        }

        [Test]
        public void Devices_are_described()
        {
            Assert.That(ViaLibrary.DeviceCount(DeviceType.Cpu), Is.EqualTo(1));
            DeviceProperties cpu = ViaLibrary.DeviceInfo(Device.Cpu);
            Assert.That(cpu.Device, Is.EqualTo(Device.Cpu));
            Assert.That(cpu.Name, Is.Not.Empty);
            Assert.That(cpu.Routes, Contains.Substring("\n"));
            Assert.That(cpu.TotalBytes, Is.GreaterThan(1L << 28));
            Assert.That(cpu.NumThreads, Is.EqualTo(ViaLibrary.NumThreads));
            Assert.Throws<ViaDeviceException>(() => ViaLibrary.DeviceInfo(new Device(DeviceType.Cpu, 5)));
        }

        [Test]
        public void A_cuda_device_is_described_and_warmed_up()
        {
            Support.NeedsCuda();
            DeviceProperties cuda = ViaLibrary.DeviceInfo(Device.Cuda(0));
            Assert.That(cuda.ComputeCapability, Is.GreaterThan(0));
            Assert.That(cuda.DriverVersion, Is.GreaterThan(11000));
            ViaLibrary.WarmUpCuda(0);
            Assert.Throws<ViaDeviceException>(() => ViaLibrary.WarmUpCuda(77));
        }

        [Test]
        public void Threads_are_set_and_counted()
        {
            int before = ViaLibrary.NumThreads;
            ViaLibrary.NumThreads = 3;
            Assert.That(ViaLibrary.NumThreads, Is.EqualTo(3));
            ViaLibrary.NumThreads = 0;
            Assert.That(ViaLibrary.NumThreads, Is.EqualTo(before));
            Assert.Throws<ViaInvalidArgumentException>(() => ViaLibrary.NumThreads = -1);
        }

        [Test]
        public void Stats_count_what_is_alive()
        {
            LibraryStats before = ViaLibrary.Stats();
            using (ViaArray.Empty(DType.Int8, 1 << 20))
            {
                LibraryStats now = ViaLibrary.Stats();
                Assert.That(now.HostBytes, Is.GreaterThanOrEqualTo(before.HostBytes + (1 << 20)));
                Assert.That(now.LiveStorages, Is.GreaterThan(0));
            }
        }

        [Test]
        public void A_pointer_is_looked_up()
        {
            using (ViaArray grid = Support.Grid())
            {
                Assert.That(ViaLibrary.QueryPointer(grid.Address).Device, Is.EqualTo(Device.Cpu));
            }
            Assert.Throws<ViaPointerException>(() => ViaLibrary.QueryPointer((IntPtr)8));
        }

        [Test]
        public void Paths_go_beyond_the_basic_plane()
        {
            Support.NeedsCuda();
            string path = Support.TemporaryFile("Übergänge-橋-\U0001F309.txt");
            ViaLibrary.SaveCalibration(path);
            Assert.That(File.Exists(path), Is.True);
            ViaLibrary.LoadCalibration(path);
            var error = Assert.Throws<ViaIoException>(() => ViaLibrary.LoadCalibration(path + "\U0001F30A"));
            Assert.That(error.Message, Contains.Substring("橋-\U0001F309.txt\U0001F30A"));
            Assert.That(error.Code, Is.EqualTo(2));
            Directory.Delete(Path.GetDirectoryName(path), true);
        }

        [Test]
        public void What_is_no_text_is_refused_before_it_is_passed_on()
        {
            Assert.Throws<ViaInvalidArgumentException>(() => DType.Parse("float32\0"));
            Assert.Throws<ViaInvalidArgumentException>(() => DType.Parse("\ud83c"));
        }

        [Test]
        public void Every_status_has_its_exception_and_its_name()
        {
            foreach (ViaStatus status in Enum.GetValues(typeof(ViaStatus)))
            {
                if (status == ViaStatus.Ok)
                {
                    continue;
                }
                ViaException made = Failure.Make(status, "text", 5);
                Assert.That(made.GetType().Name, Is.EqualTo("Via" + status + "Exception"));
                Assert.That(made.Status, Is.EqualTo(status));
                Assert.That(made.Message, Is.EqualTo("text"));
                Assert.That(made.Code, Is.EqualTo(5));
                string name = ViaLibrary.StatusName(status).Replace("VIA_ERROR_", "").Replace("_", "");
                Assert.That(name, Is.EqualTo(status.ToString().ToUpperInvariant()));
            }
            Assert.That(Failure.Make((ViaStatus)99, "text").GetType(), Is.EqualTo(typeof(ViaException)));
        }

        [Test]
        public void An_exception_carries_the_librarys_text()
        {
            using (ViaArray grid = Support.Grid())
            {
                var error = Assert.Throws<ViaShapeException>(() => grid.Reshape(5, 5));
                Assert.That(error.Message, Contains.Substring("via_array_reshape").And.Contains("shape"));
                Assert.That(error.Code, Is.EqualTo(0));
            }
        }

        [Test]
        public void Each_thread_reads_its_own_text()
        {
            int wrong = 0;
            var threads = new Thread[4];
            using (ViaArray grid = Support.Grid())
            {
                for (int i = 0; i < threads.Length; ++i)
                {
                    int extent = 100 + i;
                    threads[i] = new Thread(() =>
                    {
                        for (int round = 0; round < 500; ++round)
                        {
                            try
                            {
                                grid.Reshape(extent);
                            }
                            catch (ViaShapeException error)
                            {
                                wrong += error.Message.Contains(extent.ToString()) ? 0 : 1;
                            }
                        }
                    });
                    threads[i].Start();
                }
                foreach (Thread thread in threads)
                {
                    thread.Join();
                }
            }
            Assert.That(wrong, Is.EqualTo(0));
        }
    }
}
