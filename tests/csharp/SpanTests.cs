using System;
using System.Runtime.InteropServices;
using NUnit.Framework;

namespace Viaduct.Tests
{
    [TestFixture]
    public class SpanTests
    {
        private static IntPtr AddressOf<T>(ReadOnlySpan<T> span)
            where T : struct
        {
            unsafe
            {
                fixed (byte* first = &MemoryMarshal.GetReference(MemoryMarshal.AsBytes(span)))
                {
                    return (IntPtr)first;
                }
            }
        }

        [Test]
        public void A_span_is_the_arrays_own_memory()
        {
            using (ViaArray grid = Support.Grid())
            {
                Span<double> all = grid.AsSpan<double>();
                Assert.That(all.Length, Is.EqualTo(12));
                Assert.That(AddressOf<double>(all), Is.EqualTo(grid.Address));
                all[5] = -5;
                Assert.That(grid.AsReadOnlySpan<double>(5, 1)[0], Is.EqualTo(-5));
            }
        }

        [Test]
        public void Offset_and_count_choose_elements()
        {
            using (ViaArray grid = Support.Grid())
            {
                Span<double> some = grid.AsSpan<double>(4, 3);
                Assert.That(some.ToArray(), Is.EqualTo(new double[] { 4, 5, 6 }));
                Assert.That(AddressOf<double>(some), Is.EqualTo(IntPtr.Add(grid.Address, 32)));
                Assert.That(grid.AsSpan<double>(12, 0).Length, Is.EqualTo(0));
            }
        }

        [TestCase(-1, 1)]
        [TestCase(0, -1)]
        [TestCase(0, 13)]
        [TestCase(12, 1)]
        [TestCase(long.MaxValue, 1)]
        [TestCase(long.MinValue, 1)]
        public void What_lies_outside_is_refused(long offset, int count)
        {
            using (ViaArray grid = Support.Grid())
            {
                Assert.Throws<ViaIndexException>(() => grid.AsSpan<double>(offset, count));
                Assert.Throws<ViaIndexException>(() => grid.AsReadOnlySpan<double>(offset, count));
                Assert.Throws<ViaIndexException>(() => grid.AsMemory<double>(offset, count));
                Assert.Throws<ViaIndexException>(() => grid.AsReadOnlyMemory<double>(offset, count));
            }
        }

        [Test]
        public void The_offset_may_need_more_than_32_bits()
        {
            using (ViaArray one = ViaArray.Wrap(new byte[] { 7 }))
            using (ViaArray endless = ViaArray.Wrap(one.Address, DType.UInt8, 1L << 40))
            {
                Span<byte> far = endless.AsSpan<byte>((1L << 40) - 1, 1);
                Assert.That(far.Length, Is.EqualTo(1));
                Assert.Throws<ViaOverflowException>(() => endless.AsSpan<byte>());
            }
        }

        [Test]
        public void Elements_of_another_type_are_refused_by_name()
        {
            using (ViaArray grid = Support.Grid())
            {
                var error = Assert.Throws<ViaDTypeException>(() => grid.AsSpan<float>());
                Assert.That(error.Message, Contains.Substring("float64").And.Contains("float32"));
                Assert.Throws<ViaDTypeException>(() => grid.AsSpan<long>());
                Assert.Throws<ViaDTypeException>(() => grid.Fill(1));
                Assert.Throws<ViaDTypeException>(() => grid.ToArray<float>());
            }
        }

        [Test]
        public void A_span_has_no_gaps()
        {
            using (ViaArray grid = Support.Grid())
            using (ViaArray transposed = grid.Transpose())
            using (ViaArray column = grid.Select(1, 0))
            using (ViaArray rows = grid.SliceAxis(0, 1, 2))
            {
                Assert.Throws<ViaNeedsCopyException>(() => transposed.AsSpan<double>());
                Assert.Throws<ViaNeedsCopyException>(() => column.AsSpan<double>());
                Assert.That(rows.AsSpan<double>().Length, Is.EqualTo(8));
                Assert.That(column.ToArray<double>(), Is.EqualTo(new double[] { 0, 4, 8 }));
            }
        }

        [Test]
        public void Read_only_arrays_give_read_only_spans_alone()
        {
            using (ViaArray grid = Support.Grid())
            using (ViaArray readOnly = grid.AsReadOnly())
            {
                Assert.That(readOnly.AsReadOnlySpan<double>()[11], Is.EqualTo(11));
                Assert.That(readOnly.AsReadOnlyMemory<double>(3, 2).Span[1], Is.EqualTo(4));
                Assert.That(readOnly.AsReadOnlyMemory<double>().Span[11], Is.EqualTo(11));
                Assert.Throws<ViaReadOnlyException>(() => readOnly.AsSpan<double>());
                Assert.Throws<ViaReadOnlyException>(() => readOnly.AsMemory<double>());
            }
        }

        [Test]
        public void Memory_keeps_what_its_array_gave_up()
        {
            int released = 0;
            Support.Elsewhere(() =>
            {
                IntPtr block = Marshal.AllocHGlobal(32);
                ViaArray array = ViaArray.Wrap(
                    block, DType.Int64, new long[] { 4 }, null, null, WrapFlags.None, () => { ++released; });
                Memory<long> memory = array.AsMemory<long>();
                array.Dispose();
                Span<long> span = memory.Span;
                span[3] = 8;
                using (var pinned = memory.Pin())
                {
                    unsafe
                    {
                        Assert.That(((long*)pinned.Pointer)[3], Is.EqualTo(8));
                    }
                }
                Assert.That(released, Is.EqualTo(0));
            });
            Support.EventuallyCollected(() => released == 1, "the memory is given up once it has been collected");
        }

        [Test]
        public void Memory_that_is_refused_keeps_nothing()
        {
            int released = 0;
            IntPtr block = Marshal.AllocHGlobal(32);
            ViaArray array = ViaArray.Wrap(
                block, DType.Int64, new long[] { 4 }, null, null, WrapFlags.None, () => { ++released; });
            Assert.Throws<ViaIndexException>(() => array.AsMemory<long>(3, 2));
            Assert.Throws<ViaIndexException>(() => array.AsReadOnlyMemory<long>(3, 2));
            Assert.Throws<ViaDTypeException>(() => array.AsReadOnlyMemory<int>(0, 4));
            array.Dispose();
            Assert.That(released, Is.EqualTo(1));
            Marshal.FreeHGlobal(block);
        }

        [Test]
        public void A_span_of_pending_content_waits_for_it()
        {
            Support.NeedsCuda();
            using (ViaMemory pinned = ViaMemory.Create(MemoryKind.Pinned))
            using (ViaMemory device = ViaMemory.Create(MemoryKind.Device))
            using (ViaStream stream = ViaStream.Create(0))
            using (ViaArray there = ViaArray.Empty(DType.Int32, new long[] { 1 << 20 }, device))
            using (ViaArray back = ViaArray.Empty(DType.Int32, new long[] { 1 << 20 }, pinned))
            {
                there.Clear();
                back.Fill(1);
                there.CopyTo(back, stream);
                Assert.That(back.AsSpan<int>()[(1 << 20) - 1], Is.EqualTo(0));
                Assert.Throws<ViaDeviceException>(() => there.AsSpan<int>());
            }
        }
    }
}
