using System;
using System.Runtime.InteropServices;
using NUnit.Framework;

namespace Viaduct.Tests
{
    [TestFixture]
    public class MemoryTests
    {
        private sealed class Allocator : IViaAllocator
        {
            internal int Allocated { get; private set; }

            internal long FreedBytes { get; private set; }

            internal Func<long, IntPtr> Give { get; set; } = nbytes => Marshal.AllocHGlobal((IntPtr)nbytes);

            public IntPtr Allocate(long nbytes, long alignment, IntPtr stream)
            {
                ++Allocated;
                return Give(nbytes);
            }

            public void Free(IntPtr address, long nbytes, IntPtr stream)
            {
                FreedBytes += nbytes;
                Marshal.FreeHGlobal(address);
            }
        }

        [Test]
        public void Host_memory_is_the_default()
        {
            using (ViaArray array = ViaArray.Empty(DType.Float32, 2, 3))
            using (ViaMemory host = ViaMemory.Create(MemoryKind.Host))
            using (ViaMemory share = host.Share())
            using (ViaArray other = ViaArray.Empty(DType.Float32, new long[] { 2, 3 }, share))
            {
                Assert.That(array.Device, Is.EqualTo(Device.Cpu));
                Assert.That(array.Address.ToInt64() % 64, Is.EqualTo(0));
                Assert.That(host.Device, Is.EqualTo(Device.Cpu));
                Assert.That(other.NBytes, Is.EqualTo(24));
            }
        }

        [Test]
        public void An_array_outlives_the_memory_it_was_made_from()
        {
            var allocator = new Allocator();
            ViaArray array;
            using (ViaMemory memory = ViaMemory.Create(Device.Cpu, allocator))
            {
                array = ViaArray.Empty(DType.Int64, new long[] { 16 }, memory);
            }
            Support.Collect();
            array.Fill(4L);
            Assert.That(array.AsSpan<long>()[15], Is.EqualTo(4));
            Assert.That(allocator.Allocated, Is.EqualTo(1));
            Assert.That(allocator.FreedBytes, Is.EqualTo(0));
            array.Dispose();
            Assert.That(allocator.FreedBytes, Is.EqualTo(128));
        }

        [Test]
        public void An_allocator_is_kept_as_long_as_it_may_be_asked()
        {
            WeakReference kept = null;
            ViaMemory memory = null;
            Support.Elsewhere(() =>
            {
                var allocator = new Allocator();
                kept = new WeakReference(allocator);
                memory = ViaMemory.Create(Device.Cpu, allocator);
            });
            Support.Collect();
            Assert.That(kept.IsAlive, Is.True);
            memory.Dispose();
            Support.EventuallyCollected(() => !kept.IsAlive, "the allocator is collected");
        }

        [Test]
        public void What_an_allocator_throws_is_the_inner_exception()
        {
            var allocator = new Allocator
            {
                Give = nbytes => { throw new InvalidOperationException("the pool is dry"); }
            };
            using (ViaMemory memory = ViaMemory.Create(Device.Cpu, allocator))
            {
                var error = Assert.Throws<ViaCallbackException>(
                    () => ViaArray.Empty(DType.Int64, new long[] { 16 }, memory));
                Assert.That(error.InnerException, Is.InstanceOf<InvalidOperationException>());
                Assert.That(error.InnerException.Message, Is.EqualTo("the pool is dry"));
                allocator.Give = nbytes => IntPtr.Zero;
                error = Assert.Throws<ViaCallbackException>(
                    () => ViaArray.Empty(DType.Int64, new long[] { 16 }, memory));
                Assert.That(error.InnerException, Is.Null);
            }
        }

        [Test]
        public void An_allocator_hears_of_more_than_32_bits()
        {
            long asked = 0;
            var allocator = new Allocator { Give = nbytes => { asked = nbytes; return IntPtr.Zero; } };
            using (ViaMemory memory = ViaMemory.Create(Device.Cpu, allocator))
            {
                Assert.Throws<ViaCallbackException>(
                    () => ViaArray.Empty(DType.Int8, new long[] { 1L << 40 }, memory));
            }
            Assert.That(asked, Is.EqualTo(1L << 40));
        }

        [TestCase(MemoryKind.Pinned, DeviceType.CudaHost)]
        [TestCase(MemoryKind.Device, DeviceType.Cuda)]
        [TestCase(MemoryKind.DevicePool, DeviceType.Cuda)]
        [TestCase(MemoryKind.Managed, DeviceType.CudaManaged)]
        public void Every_kind_takes_what_the_host_has_and_gives_it_back(MemoryKind kind, DeviceType type)
        {
            Support.NeedsCuda();
            double[] numbers = Support.Numbers(12);
            using (ViaMemory memory = ViaMemory.Create(kind))
            using (ViaArray grid = ViaArray.Wrap(numbers, 3, 4))
            using (ViaArray there = grid.Copy(memory))
            {
                Assert.That(there.Device.Type, Is.EqualTo(type));
                Assert.That(memory.Device.Type, Is.EqualTo(type));
                Assert.That(there.ToArray<double>(), Is.EqualTo(numbers));
                Assert.That(there.DisposeWaits, Is.EqualTo(kind != MemoryKind.DevicePool));
                Assert.That(grid.DisposeWaits, Is.False);
                Assert.That(ViaLibrary.QueryPointer(there.Address).Device.Type, Is.EqualTo(type));
            }
        }

        [Test]
        public void Memory_that_is_not_there_is_refused()
        {
            Assert.Throws<ViaInvalidArgumentException>(() => ViaMemory.Create((MemoryKind)99));
            Assert.Throws<ViaDeviceException>(() => ViaMemory.Create(Device.Any, new Allocator()));
        }
    }
}
