using System;
using System.Runtime.InteropServices;
using NUnit.Framework;

namespace Viaduct.Tests
{
    [TestFixture]
    public class ExchangeTests
    {
        [Test]
        public void C_works_on_an_array_of_this_process_in_place()
        {
            double[] numbers = Support.Numbers(12);
            using (ViaArray array = ViaArray.Wrap(numbers, 3, 4))
            {
                Assert.That(Probe.probe_double_and_delete(array.ToDlpack()), Is.EqualTo(132));
            }
            Assert.That(numbers[11], Is.EqualTo(22));
        }

        [Test]
        public void An_array_of_c_comes_in_and_goes_back()
        {
            int deleted = Probe.probe_deleted();
            ViaArray array = ViaArray.FromDlpack(Probe.probe_make_tensor());
            using (ViaArray row = array.Select(0, 1))
            {
                Assert.That(Support.Shape(array), Is.EqualTo(new long[] { 2, 3 }));
                Assert.That(array.DType, Is.EqualTo(DType.Int32));
                array.Dispose();
                Assert.That(row.ToArray<int>(), Is.EqualTo(new[] { 3, 4, 5 }));
                Assert.That(row.Owner, Is.Null);
                Assert.That(Probe.probe_deleted(), Is.EqualTo(deleted));
            }
            Assert.That(Probe.probe_deleted(), Is.EqualTo(deleted + 1));
        }

        [Test]
        public void A_refused_tensor_is_still_the_callers()
        {
            int deleted = Probe.probe_deleted();
            IntPtr tensor = Probe.probe_make_tensor();
            Probe.probe_set_version(tensor, 99);
            Assert.Throws<ViaVersionException>(() => ViaArray.FromDlpack(tensor));
            Assert.That(Probe.probe_deleted(), Is.EqualTo(deleted));
            ViaArray.DeleteDlpack(tensor);
            Assert.That(Probe.probe_deleted(), Is.EqualTo(deleted + 1));
        }

        [Test]
        public void What_another_process_learns_of_is_the_same_memory()
        {
            using (ViaMemory memory = ViaMemory.Create(MemoryKind.Shared))
            using (ViaArray array = ViaArray.Empty(DType.Int32, new long[] { 3, 4 }, memory))
            using (ViaArray transposed = array.Transpose())
            {
                array.Fill(7);
                byte[] description = transposed.ExportIpc();
                using (ViaArray same = ViaArray.ImportIpc(description))
                {
                    Assert.That(same.Address, Is.Not.EqualTo(array.Address));
                    Assert.That(Support.Shape(same), Is.EqualTo(new long[] { 4, 3 }));
                    same.Fill(8);
                    Assert.That(array.ToArray<int>(), Is.All.EqualTo(8));
                }
                array.Dispose();
                transposed.Dispose();
                Assert.Throws<ViaExchangeException>(() => ViaArray.ImportIpc(description));
            }
        }

        [Test]
        public void What_cannot_be_shared_or_is_no_description_is_refused()
        {
            using (ViaArray grid = Support.Grid())
            {
                Assert.Throws<ViaUnsupportedException>(() => grid.ExportIpc());
            }
            Assert.Throws<ArgumentNullException>(() => ViaArray.ImportIpc(null));
            Assert.Throws<ViaExchangeException>(() => ViaArray.ImportIpc(new byte[0]));
            Assert.Throws<ViaExchangeException>(() => ViaArray.ImportIpc(new byte[5000]));
        }

        [Test]
        public void The_round_trip_is_the_same_memory()
        {
            using (ViaArray grid = Support.Grid())
            using (ViaArray back = ViaArray.FromDlpack(grid.ToDlpack()))
            using (ViaArray legacy = ViaArray.FromDlpackLegacy(grid.ToDlpackLegacy()))
            {
                Assert.That(back.Address, Is.EqualTo(grid.Address));
                Assert.That(legacy.Address, Is.EqualTo(grid.Address));
            }
            using (ViaArray grid = Support.Grid())
            {
                ViaArray.DeleteDlpackLegacy(grid.ToDlpackLegacy());
            }
        }

        [Test]
        public void Options_are_heard()
        {
            using (ViaArray grid = Support.Grid())
            using (ViaArray readOnly = grid.AsReadOnly())
            {
                var copy = new DlpackOptions { Copy = CopyPolicy.Always };
                using (ViaArray copied = ViaArray.FromDlpack(grid.ToDlpack(copy)))
                {
                    Assert.That(copied.Address, Is.Not.EqualTo(grid.Address));
                    Assert.That(copied.Flags & ArrayFlags.Copied, Is.EqualTo(ArrayFlags.Copied));
                }
                Assert.Throws<ViaVersionException>(
                    () => grid.ToDlpack(new DlpackOptions { MaxMajor = 0, MaxMinor = 8 }));
                Assert.Throws<ViaExchangeException>(
                    () => readOnly.ToDlpackLegacy(new DlpackOptions { Copy = CopyPolicy.Never }));
            }
        }

        [Test]
        public void A_device_that_is_not_there_is_no_target()
        {
            Support.NeedsCuda();
            using (ViaArray grid = Support.Grid())
            {
                Assert.Throws<ViaDeviceException>(
                    () => grid.ToDlpack(new DlpackOptions { Target = Device.Cuda(77) }));
            }
        }

        [Test]
        public void The_array_interface_says_what_numpy_says()
        {
            using (ViaArray grid = Support.Grid())
            using (ViaArray transposed = grid.Transpose().AsReadOnly())
            {
                ArrayInterface description = transposed.ToArrayInterface();
                Assert.That(description.Version, Is.EqualTo(3));
                Assert.That(description.Address, Is.EqualTo(grid.Address));
                Assert.That(description.TypeString, Is.EqualTo("<f8"));
                Assert.That(description.Shape, Is.EqualTo(new long[] { 4, 3 }));
                Assert.That(description.ByteStrides, Is.EqualTo(new long[] { 8, 32 }));
                Assert.That(description.IsReadOnly, Is.True);
                Assert.That(description.Stream, Is.Null);
                int released = 0;
                var owner = new object();
                ViaArray back = ViaArray.FromArrayInterface(description, () => ++released, owner);
                Assert.That(back.ToArray<double>(), Is.EqualTo(transposed.ToArray<double>()));
                Assert.That(back.IsReadOnly, Is.True);
                Assert.That(back.Owner, Is.SameAs(owner));
                back.Dispose();
                Assert.That(released, Is.EqualTo(1));
            }
        }

        [Test]
        public void A_description_that_cannot_be_is_refused()
        {
            int released = 0;
            var description = new ArrayInterface { Shape = new long[] { 4 }, TypeString = "<q9", Address = (IntPtr)64 };
            Assert.Throws<ViaDTypeException>(() => ViaArray.FromArrayInterface(description, () => ++released));
            description.TypeString = "a type string that is too long";
            Assert.Throws<ViaInvalidArgumentException>(() => ViaArray.FromArrayInterface(description, () => ++released));
            description.TypeString = "<f4";
            description.ByteStrides = new long[] { 1, 2 };
            Assert.Throws<ViaShapeException>(() => ViaArray.FromArrayInterface(description, () => ++released));
            description.ByteStrides = null;
            description.Shape = new long[65];
            Assert.Throws<ViaShapeException>(() => ViaArray.FromArrayInterface(description, () => ++released));
            Assert.That(released, Is.EqualTo(0));
        }

        [Test]
        public void Arrow_takes_a_column_and_gives_it_back()
        {
            IntPtr schema = Marshal.AllocHGlobal(256);
            IntPtr column = Marshal.AllocHGlobal(256);
            using (ViaArray grid = Support.Grid())
            {
                grid.ToArrowDevice(schema, column);
                using (ViaArray back = ViaArray.FromArrowDevice(schema, column))
                {
                    Assert.That(back.Address, Is.EqualTo(grid.Address));
                    Assert.That(back.IsReadOnly, Is.True);
                }
                grid.ToArrowDevice(schema, column);
                ViaArray.ReleaseArrow(schema, column);
                ViaArray.ReleaseArrow(schema, column);
                using (ViaArray transposed = grid.Transpose())
                {
                    Assert.Throws<ViaNeedsCopyException>(() => transposed.ToArrowDevice(schema, column));
                }
            }
            Marshal.FreeHGlobal(schema);
            Marshal.FreeHGlobal(column);
        }

        [Test]
        public void The_cuda_array_interface_names_its_stream()
        {
            Support.NeedsCuda();
            using (ViaMemory device = ViaMemory.Create(MemoryKind.Device))
            using (ViaArray array = ViaArray.Empty(DType.Float32, new long[] { 2, 3 }, device))
            {
                ArrayInterface description = array.ToCudaArrayInterface();
                Assert.That(description.Stream, Is.EqualTo(1));
                Assert.That(description.ByteStrides, Is.Null);
                using (ViaArray back = ViaArray.FromCudaArrayInterface(description, null, array))
                {
                    Assert.That(back.Address, Is.EqualTo(array.Address));
                    Assert.That(back.Device, Is.EqualTo(Device.Cuda(0)));
                    Assert.That(back.Owner, Is.SameAs(array));
                }
                Assert.Throws<ViaExchangeException>(() => array.ToArrayInterface());
            }
        }
    }
}
