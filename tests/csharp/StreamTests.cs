using System;
using NUnit.Framework;

namespace Viaduct.Tests
{
    [TestFixture]
    public class StreamTests
    {
        [Test]
        public void Shared_streams_are_there_without_a_device()
        {
            Assert.That(ViaStream.Legacy.NativeHandle, Is.EqualTo((IntPtr)1));
            Assert.That(ViaStream.PerThread.NativeHandle, Is.EqualTo((IntPtr)2));
            Assert.That(ViaStream.NoSync.NativeHandle, Is.EqualTo(IntPtr.Zero));
            using (ViaStream share = ViaStream.Legacy.Share())
            {
                Assert.That(share.NativeHandle, Is.EqualTo((IntPtr)1));
            }
            Assert.That(ViaStream.Legacy.NativeHandle, Is.EqualTo((IntPtr)1));
        }

        [Test]
        public void Shared_streams_stay_open_whoever_closes_them()
        {
            foreach (ViaStream shared in new[] { ViaStream.Legacy, ViaStream.PerThread, ViaStream.NoSync })
            {
                IntPtr before = shared.NativeHandle;
                using (shared)
                {
                }
                shared.Dispose();
                Assert.That(shared.IsClosed, Is.False);
                Assert.That(shared.NativeHandle, Is.EqualTo(before));
            }
            ViaStream share = ViaStream.Legacy.Share();
            share.Dispose();
            Assert.That(share.IsClosed, Is.True);
        }

        [Test]
        public void A_stream_that_is_null_is_an_exception_of_dotnet_where_one_is_needed()
        {
            using (ViaArray array = ViaArray.Empty(DType.Int8, 3))
            {
                Assert.Throws<ArgumentNullException>(() => array.RecordStream(null));
                Assert.Throws<ArgumentNullException>(() => array.SetReady(null));
            }
            Support.NeedsCuda();
            using (ViaEvent marker = ViaEvent.Create(0))
            {
                Assert.Throws<ArgumentNullException>(() => marker.Record(null));
            }
        }

        [Test]
        public void Work_goes_on_in_the_order_of_a_stream()
        {
            Support.NeedsCuda();
            double[] numbers = Support.Numbers(12);
            using (ViaStream stream = ViaStream.Create(0))
            using (ViaMemory device = ViaMemory.Create(MemoryKind.Device))
            using (ViaArray grid = ViaArray.Wrap(numbers, 3, 4))
            using (ViaArray there = ViaArray.Empty(DType.Float64, new long[] { 3, 4 }, device))
            using (ViaArray back = ViaArray.Empty(DType.Float64, 3, 4))
            using (ViaEvent marker = ViaEvent.Create(0))
            {
                grid.CopyTo(there, stream);
                there.RecordStream(stream);
                marker.Record(stream);
                marker.Synchronize();
                Assert.That(marker.IsReached, Is.True);
                there.CopyTo(back, stream);
                stream.Synchronize();
                Assert.That(stream.IsDone, Is.True);
                there.Synchronize();
                Assert.That(back.ToArray<double>(), Is.EqualTo(numbers));
                Assert.That(stream.DeviceId, Is.EqualTo(0));
            }
        }

        [Test]
        public void One_stream_waits_for_what_another_marked()
        {
            Support.NeedsCuda();
            using (ViaStream first = ViaStream.Create(0))
            using (ViaStream second = ViaStream.Create(0))
            using (ViaEvent marker = ViaEvent.Create(0))
            using (ViaEvent share = marker.Share())
            using (ViaMemory device = ViaMemory.Create(MemoryKind.Device))
            using (ViaArray there = ViaArray.Empty(DType.Int32, new long[] { 1000 }, device))
            {
                there.Fill(3, first);
                there.SetReady(first);
                marker.Record(first);
                second.Wait(share);
                second.Synchronize();
                Assert.That(there.IsReady, Is.True);
                Assert.That(there.ToArray<int>()[999], Is.EqualTo(3));
                using (ViaEvent foreign = ViaEvent.Wrap(marker.NativeHandle, 0))
                {
                    Assert.That(foreign.IsReached, Is.True);
                }
            }
        }

        [Test]
        public void A_foreign_stream_is_wrapped_and_a_current_one_set()
        {
            Support.NeedsCuda(2);
            using (ViaStream stream = ViaStream.Create(1))
            using (ViaStream wrapped = ViaStream.Wrap(stream.NativeHandle))
            {
                Assert.That(wrapped.NativeHandle, Is.EqualTo(stream.NativeHandle));
                Assert.That(wrapped.DeviceId, Is.EqualTo(1));
                ViaStream.SetCurrent(1, stream);
                using (ViaStream current = ViaStream.GetCurrent(1))
                {
                    Assert.That(current.NativeHandle, Is.EqualTo(stream.NativeHandle));
                }
                ViaStream.SetCurrent(1, null);
                using (ViaStream current = ViaStream.GetCurrent(1))
                {
                    Assert.That(current.NativeHandle, Is.EqualTo((IntPtr)1));
                }
                Assert.Throws<ViaDeviceException>(() => ViaStream.SetCurrent(0, stream));
            }
        }

        [Test]
        public void Batches_run_in_the_order_of_a_stream()
        {
            Support.NeedsCuda();
            double[] numbers = Support.Numbers(12);
            using (ViaStream stream = ViaStream.Create(0))
            using (ViaMemory device = ViaMemory.Create(MemoryKind.Device))
            using (ViaArray grid = ViaArray.Wrap(numbers, 3, 4))
            using (ViaArray there = ViaArray.Empty(DType.Float64, new long[] { 3, 4 }, device))
            using (ViaArray back = ViaArray.Empty(DType.Float64, 3, 4))
            using (var batch = new ViaBatch())
            {
                batch.Add(there, grid);
                batch.Run(stream);
                ViaBatch.Copy(new[] { back }, new[] { there }, stream);
                stream.Synchronize();
                Assert.That(back.ToArray<double>(), Is.EqualTo(numbers));
                Assert.Throws<ArgumentNullException>(() => batch.Run(null));
                Assert.Throws<ArgumentNullException>(() => ViaBatch.Copy(new[] { back }, new[] { there }, null));
            }
        }

        [Test]
        public void A_copy_to_a_device_can_be_awaited_and_joined()
        {
            Support.NeedsCuda();
            double[] numbers = Support.Numbers(12);
            using (ViaStream stream = ViaStream.Create(0))
            using (ViaMemory device = ViaMemory.Create(MemoryKind.Device))
            using (ViaArray grid = ViaArray.Wrap(numbers, 3, 4))
            using (ViaArray transposed = grid.Transpose())
            using (ViaArray there = ViaArray.Empty(DType.Float64, new long[] { 4, 3 }, device))
            {
                using (CopyTask copy = transposed.SubmitCopyTo(there, stream))
                {
                    copy.Join(stream);
                    stream.Synchronize();
                    copy.AsTask().Wait();
                }
                transposed.CopyToAsync(there, stream).Wait();
                Assert.That(there.ToArray<double>()[1], Is.EqualTo(4));
            }
        }
    }
}
