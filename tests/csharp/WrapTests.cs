using System;
using System.Collections.Generic;
using System.Numerics;
using System.Runtime.InteropServices;
using NUnit.Framework;

namespace Viaduct.Tests
{
    [TestFixture]
    public class WrapTests
    {
        private struct Pixel
        {
            public float Depth;
            public byte Red;
            public byte Green;
            public short Layer;
        }

        [Test]
        public void An_address_becomes_an_array_without_a_copy()
        {
            IntPtr block = Marshal.AllocHGlobal(6 * sizeof(float));
            using (ViaArray array = ViaArray.Wrap(block, DType.Float32, 2, 3))
            {
                Span<float> span = array.AsSpan<float>();
                span[4] = 7;
                Assert.That(array.Address, Is.EqualTo(block));
                Assert.That(array.DType, Is.EqualTo(DType.Float32));
                Assert.That(array.NDim, Is.EqualTo(2));
                Assert.That(Support.Shape(array), Is.EqualTo(new long[] { 2, 3 }));
                Assert.That(array.Strides.ToArray(), Is.EqualTo(new long[] { 3, 1 }));
                Assert.That(array.ByteStrides.ToArray(), Is.EqualTo(new long[] { 12, 4 }));
                Assert.That(array.Device, Is.EqualTo(Device.Cpu));
                Assert.That(array.Size, Is.EqualTo(6));
                Assert.That(array.NBytes, Is.EqualTo(24));
                Assert.That(array.Flags, Is.EqualTo(ArrayFlags.None));
                Assert.That(array.IsReady, Is.True);
                Assert.That(array.ToString(), Is.EqualTo("float32 [2, 3] Cpu:0"));
            }
            var read = new float[6];
            Marshal.Copy(block, read, 0, 6);
            Assert.That(read[4], Is.EqualTo(7));
            Marshal.FreeHGlobal(block);
        }

        private static ViaArray Bounded(IntPtr block, long[] shape, long[] strides, long nbytes)
        {
            return ViaArray.Wrap(block, DType.Float32, shape, strides, nbytes: nbytes);
        }

        [Test]
        public void No_element_lies_outside_of_the_bytes_that_the_caller_names()
        {
            IntPtr block = Marshal.AllocHGlobal(48);
            long[] shape = { 3, 4 };
            long[] narrow = { 3, 2 };
            long[] steps = { 4, 2 };
            using (ViaArray whole = Bounded(block, shape, null, 48))
            using (ViaArray some = Bounded(block, narrow, steps, 44))
            using (ViaArray none = Bounded(block, new long[] { 3, 0 }, null, 0))
            {
                Assert.That(whole.Size + some.Size + none.Size, Is.EqualTo(18));
            }
            Assert.That(
                () => Bounded(block, shape, null, 47),
                Throws.TypeOf<ViaPointerException>().With.Message.Contains("nbytes is 47; expected 48 or more"));
            Assert.That(
                () => Bounded(block, narrow, steps, 43),
                Throws.TypeOf<ViaPointerException>().With.Message.Contains("nbytes is 43; expected 44 or more"));
            Assert.That(
                () => Bounded(block + 12, new long[] { 4 }, new long[] { -1 }, 48),
                Throws.TypeOf<ViaPointerException>().With.Message.Contains("strides reach 12 bytes before the address"));
            Assert.That(
                () => Bounded(block, new[] { 1L << 30, 1L << 30 }, null, 48),
                Throws.TypeOf<ViaOverflowException>().With.Message.Contains("shape reaches over"));
            Assert.That(() => Bounded(block, shape, null, -1), Throws.TypeOf<ViaInvalidArgumentException>());
            Marshal.FreeHGlobal(block);
        }

        [Test]
        public void Release_runs_once_when_array_and_views_are_closed()
        {
            int released = 0;
            IntPtr block = Marshal.AllocHGlobal(64);
            ViaArray array = ViaArray.Wrap(
                block, DType.Float64, new long[] { 8 }, null, null, WrapFlags.None, () => ++released);
            ViaArray view = array.SliceAxis(0, 2, 3);
            array.Dispose();
            Assert.That(released, Is.EqualTo(0));
            view.Dispose();
            Assert.That(released, Is.EqualTo(1));
            view.Dispose();
            Assert.That(released, Is.EqualTo(1));
            Marshal.FreeHGlobal(block);
        }

        [Test]
        public void A_refused_wrap_does_not_call_release()
        {
            int released = 0;
            Assert.Throws<ViaPointerException>(() => ViaArray.Wrap(
                (IntPtr)8, DType.Float64, new long[] { 8 }, null, null, WrapFlags.Probe, () => ++released));
            Assert.Throws<ViaDTypeException>(() => ViaArray.Wrap(
                (IntPtr)8, default(DType), new long[] { 8 }, null, null, WrapFlags.None, () => ++released));
            Support.Collect();
            Assert.That(released, Is.EqualTo(0));
        }

        [Test]
        public void Strides_may_be_given_in_elements_and_in_bytes()
        {
            var numbers = Support.Numbers(12);
            using (ViaArray whole = ViaArray.Wrap(numbers))
            using (ViaArray transposed = ViaArray.Wrap(
                whole.Address, DType.Float64, new long[] { 4, 3 }, new long[] { 1, 4 }))
            using (ViaArray same = ViaArray.Wrap(
                whole.Address, DType.Float64, new long[] { 4, 3 }, new long[] { 8, 32 }, null, WrapFlags.ByteStrides))
            {
                double[] wanted = { 0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11 };
                Assert.That(transposed.ToArray<double>(), Is.EqualTo(wanted));
                Assert.That(same.ToArray<double>(), Is.EqualTo(transposed.ToArray<double>()));
                Assert.That(transposed.IsContiguous(), Is.False);
                Assert.That(transposed.IsContiguous(MemoryOrder.ColumnMajor), Is.True);
                Assert.That(transposed.IsContiguous(MemoryOrder.Any), Is.True);
            }
        }

        [Test]
        public void One_stride_for_each_extent_is_asked_for()
        {
            var error = Assert.Throws<ViaShapeException>(() => ViaArray.Wrap(
                (IntPtr)64, DType.Int8, new long[] { 2, 3 }, new long[] { 1 }));
            Assert.That(error.Message, Is.EqualTo("strides has 1 entries; expected one for each of 2 axes"));
            Assert.Throws<ArgumentNullException>(() => ViaArray.Wrap((IntPtr)64, DType.Int8, null, null));
        }

        [Test]
        public void A_managed_array_keeps_its_rank_and_its_place()
        {
            var table = new int[2, 3, 4];
            using (ViaArray array = ViaArray.Wrap(table))
            {
                Assert.That(Support.Shape(array), Is.EqualTo(new long[] { 2, 3, 4 }));
                Support.Collect();
                Span<int> span = array.AsSpan<int>();
                span[23] = 5;
                Assert.That(table[1, 2, 3], Is.EqualTo(5));
                Assert.That(array.Owner, Is.SameAs(table));
            }
        }

        [Test]
        public void A_shape_that_reaches_past_a_managed_array_is_refused()
        {
            Assert.Throws<ViaShapeException>(() => ViaArray.Wrap(new int[6], 7));
            Assert.Throws<ViaShapeException>(() => ViaArray.Wrap(new int[6], -2, -3));
            Assert.Throws<ViaShapeException>(() => ViaArray.Wrap(new int[6], 1L << 40, 1L << 40, 1L << 40));
            Assert.Throws<ArgumentNullException>(() => ViaArray.Wrap((Array)null));
            using (ViaArray none = ViaArray.Wrap(new int[6], 1L << 40, 0))
            {
                Assert.That(none.Size, Is.EqualTo(0));
            }
            using (ViaArray part = ViaArray.Wrap(new int[6], 2, 2))
            {
                Assert.That(part.Size, Is.EqualTo(4));
            }
        }

        [Test]
        public void Memory_is_wrapped_from_where_it_starts()
        {
            double[] numbers = Support.Numbers(10);
            using (ViaArray array = ViaArray.Wrap(numbers.AsMemory(3, 4), 2, 2))
            using (ViaArray readOnly = ViaArray.Wrap((ReadOnlyMemory<double>)numbers.AsMemory(3, 4)))
            {
                Span<double> span = array.AsSpan<double>();
                span[0] = -1;
                Assert.That(numbers[3], Is.EqualTo(-1));
                Assert.That(readOnly.IsReadOnly, Is.True);
                Assert.That(readOnly.Address, Is.EqualTo(array.Address));
                Assert.That(array.Owner, Is.SameAs(numbers));
                Assert.That(readOnly.Owner, Is.SameAs(numbers));
                Assert.Throws<ViaShapeException>(() => ViaArray.Wrap(numbers.AsMemory(3, 4), 5));
            }
        }

        /// <summary>Memory of no C# array, which counts its pins.</summary>
        private sealed unsafe class NativeBlock : System.Buffers.MemoryManager<double>
        {
            internal readonly IntPtr Address = Marshal.AllocHGlobal(8 * sizeof(double));
            internal int Pins;

            public override Span<double> GetSpan()
            {
                return new Span<double>((void*)Address, 8);
            }

            public override System.Buffers.MemoryHandle Pin(int elementIndex = 0)
            {
                ++Pins;
                return new System.Buffers.MemoryHandle((double*)Address + elementIndex, default(GCHandle), this);
            }

            public override void Unpin()
            {
                --Pins;
            }

            protected override void Dispose(bool disposing)
            {
                Marshal.FreeHGlobal(Address);
            }
        }

        [Test]
        public void Memory_of_no_array_is_pinned_once_and_is_the_owner()
        {
            var block = new NativeBlock();
            Memory<double> memory = block.Memory.Slice(2, 4);
            using (ViaArray array = ViaArray.Wrap(memory, 2, 2))
            {
                Assert.That(array.Address, Is.EqualTo(block.Address + 16));
                Assert.That(block.Pins, Is.EqualTo(1));
                Assert.That(array.Owner, Is.EqualTo((ReadOnlyMemory<double>)memory));
            }
            Assert.That(block.Pins, Is.EqualTo(0));
            Assert.Throws<ViaShapeException>(() => ViaArray.Wrap(memory, 5));
            Assert.That(block.Pins, Is.EqualTo(0));
            ((IDisposable)block).Dispose();
        }

        [Test]
        public void An_owner_that_is_an_action_is_kept_and_not_run()
        {
            int runs = 0;
            Action action = () => ++runs;
            IntPtr block = Marshal.AllocHGlobal(8);
            long[] shape = { 1 };
            using (ViaArray array = ViaArray.Wrap(block, DType.Int64, shape, null, owner: action))
            {
                Assert.That(array.Owner, Is.SameAs(action));
            }
            Assert.That(runs, Is.EqualTo(0));
            using (ViaArray array = ViaArray.Wrap(block, DType.Int64, shape, null, release: action))
            {
                Assert.That(array.Owner, Is.Null);
            }
            Assert.That(runs, Is.EqualTo(1));
            Marshal.FreeHGlobal(block);
        }

        private static long AllocatedBy(Func<ViaArray> wrap)
        {
            const int Times = 100;
            var made = new ViaArray[Times];
            wrap().Dispose(); // what is made once
            long before = GC.GetAllocatedBytesForCurrentThread();
            for (int i = 0; i < Times; ++i)
            {
                made[i] = wrap();
            }
            long allocated = GC.GetAllocatedBytesForCurrentThread() - before;
            Array.ForEach(made, array => array.Dispose());
            return allocated / Times;
        }

        [Test]
        public void A_wrap_allocates_the_array_and_its_handle_and_nothing_else()
        {
            const int TwoObjects = 64; // of two fields and a header of two words each
            IntPtr block = Marshal.AllocHGlobal(64);
            long[] shape = { 2, 4 };
            var owner = new object();
            var cube = new double[2, 4];
            Memory<double> memory = new double[8];
            Action release = () => { };
            var wraps = new Dictionary<string, Func<ViaArray>>
            {
                { "address", () => ViaArray.Wrap(block, DType.Int64, shape) },
                { "release", () => ViaArray.Wrap(block, DType.Int64, shape, null, release: release) },
                { "owner", () => ViaArray.Wrap(block, DType.Int64, shape, null, owner: owner) },
                { "array", () => ViaArray.Wrap(cube, default(ReadOnlySpan<long>)) },
                { "array, shape", () => ViaArray.Wrap(cube, shape) },
                { "memory", () => ViaArray.Wrap(memory, default(ReadOnlySpan<long>)) },
                { "memory, shape", () => ViaArray.Wrap(memory, shape) }
            };
            foreach (KeyValuePair<string, Func<ViaArray>> wrap in wraps)
            {
                Assert.That(AllocatedBy(wrap.Value), Is.EqualTo(TwoObjects), wrap.Key);
            }
            Marshal.FreeHGlobal(block);
        }

        [Test]
        public void The_owner_learns_of_views_too_and_of_nobody_elses_memory()
        {
            var owner = new object();
            IntPtr block = Marshal.AllocHGlobal(64);
            using (ViaArray array = ViaArray.Wrap(
                block, DType.Int64, new long[] { 8 }, null, null, WrapFlags.None, null, owner))
            using (ViaArray view = array.SliceAxis(0, 4, 2))
            using (ViaArray nobodys = ViaArray.Empty(DType.Int64, 8))
            {
                Assert.That(view.Owner, Is.SameAs(owner));
                Assert.That(nobodys.Owner, Is.Null);
            }
            Marshal.FreeHGlobal(block);
        }

        [Test]
        public void Types_of_numbers_are_dtypes_and_structs_are_records()
        {
            Assert.That(DType.Of<sbyte>(), Is.EqualTo(DType.Int8));
            Assert.That(DType.Of<byte>(), Is.EqualTo(DType.UInt8));
            Assert.That(DType.Of<short>(), Is.EqualTo(DType.Int16));
            Assert.That(DType.Of<ushort>(), Is.EqualTo(DType.UInt16));
            Assert.That(DType.Of<int>(), Is.EqualTo(DType.Int32));
            Assert.That(DType.Of<uint>(), Is.EqualTo(DType.UInt32));
            Assert.That(DType.Of<long>(), Is.EqualTo(DType.Int64));
            Assert.That(DType.Of<ulong>(), Is.EqualTo(DType.UInt64));
            Assert.That(DType.Of<float>(), Is.EqualTo(DType.Float32));
            Assert.That(DType.Of<double>(), Is.EqualTo(DType.Float64));
            Assert.That(DType.Of<bool>(), Is.EqualTo(DType.Bool));
            Assert.That(DType.Of<Complex>(), Is.EqualTo(DType.Complex128));
            Assert.That(DType.Of<Pixel>(), Is.EqualTo(DType.Record(8)));
            Assert.That(DType.Record(8).Name, Is.EqualTo("record8"));
        }

        private struct Marked
        {
            public bool IsValid;
            public byte Value;
        }

        private struct Lettered
        {
            public char Letter;
            public byte Value;
        }

        private enum Colour : short
        {
            Red = 1,
            Green = 2
        }

        private struct Pair<T>
        {
            public T First;
            public T Second;
        }

        private struct Named
        {
            public string Name;
        }

        // .NET pins no struct with a bool or a char, as it is marshalled to something else.
        private static void WrapsAsItLies<T>(T[] values, int nbytes)
            where T : struct
        {
            Assert.That(DType.Of<T>(), Is.EqualTo(DType.Record(nbytes)));
            try
            {
                using (ViaArray array = ViaArray.Wrap(values))
                {
                    Assert.That(array.DType, Is.EqualTo(DType.Of<T>()));
                    Assert.That(array.NBytes, Is.EqualTo(nbytes * values.Length));
                    Assert.That(array.AsSpan<T>().ToArray(), Is.EqualTo(values));
                }
            }
            catch (ViaDTypeException)
            {
                Assert.That(Type.GetType("Mono.Runtime"), Is.Null);
            }
        }

        [Test]
        public void Structs_have_the_size_that_they_have_in_the_array()
        {
            WrapsAsItLies(new[] { new Marked { IsValid = true, Value = 7 }, new Marked { Value = 9 } }, 2);
            WrapsAsItLies(new[] { new Lettered { Letter = 'x', Value = 7 }, new Lettered { Value = 9 } }, 4);
            WrapsAsItLies(new[] { Colour.Green, Colour.Red, Colour.Green }, 2);
            WrapsAsItLies(new[] { new Pair<long> { First = 1, Second = 2 }, new Pair<long> { First = 3 } }, 16);
        }

        [Test]
        public void Structs_of_the_runtime_are_records_in_arrays_of_any_rank_and_of_none()
        {
            var ids = new Guid[2, 3];
            ids[1, 2] = Guid.NewGuid();
            using (ViaArray array = ViaArray.Wrap(ids))
            {
                Assert.That(array.DType, Is.EqualTo(DType.Record(16)));
                Assert.That(array.AsSpan<Guid>()[5], Is.EqualTo(ids[1, 2]));
            }
            using (ViaArray none = ViaArray.Wrap(new Guid[0]))
            {
                Assert.That(none.DType, Is.EqualTo(DType.Record(16)));
            }
        }

        [Test]
        public void The_shape_of_an_array_is_a_shape_for_another()
        {
            var numbers = Support.Numbers(12);
            IntPtr block = Marshal.AllocHGlobal(12 * sizeof(double));
            using (ViaMemory host = ViaMemory.Create(MemoryKind.Host))
            using (ViaArray grid = Support.Grid())
            using (ViaArray first = ViaArray.Empty(grid.DType, grid.Shape))
            using (ViaArray second = ViaArray.Empty(grid.DType, grid.Shape, host))
            using (ViaArray third = ViaArray.Wrap(numbers, grid.Shape))
            using (ViaArray fourth = ViaArray.Wrap(new Memory<double>(numbers), grid.Shape))
            using (ViaArray fifth = ViaArray.Wrap(new ReadOnlyMemory<double>(numbers), grid.Shape))
            using (ViaArray sixth = ViaArray.Wrap(block, grid.DType, grid.Shape))
            using (ViaArray flat = ViaArray.Wrap(numbers))
            using (ViaArray seventh = flat.Reshape(grid.Shape))
            using (ViaArray row = grid.Select(0, 0))
            using (ViaArray eighth = row.Broadcast(grid.Shape))
            {
                foreach (ViaArray array in new[] { first, second, third, fourth, fifth, sixth, seventh, eighth })
                {
                    Assert.That(Support.Shape(array), Is.EqualTo(new long[] { 3, 4 }));
                }
                using (ViaArray field = flat.Field(0, DType.Int8, row.Shape))
                {
                    Assert.That(Support.Shape(field), Is.EqualTo(new long[] { 12, 4 }));
                }
            }
            Marshal.FreeHGlobal(block);
        }

        [Test]
        public void Arrays_of_references_are_refused()
        {
            Assert.Throws<ViaDTypeException>(() => ViaArray.Wrap(new[] { "one" }));
            Assert.Throws<ViaDTypeException>(() => ViaArray.Wrap(new object[1]));
            Assert.Throws<ViaDTypeException>(() => ViaArray.Wrap(new int[1][]));
            Assert.Throws<ViaDTypeException>(() => ViaArray.Wrap(new[] { new Named { Name = "one" } }));
        }

        [Test]
        public void A_type_that_holds_references_is_no_element()
        {
            Assert.Throws<ViaDTypeException>(() => DType.Of<Named>());
            Assert.Throws<ViaDTypeException>(() => ViaArray.Wrap(new Memory<Named>(new Named[1])));
            using (ViaArray records = ViaArray.Empty(DType.Record(16), 3))
            {
                Assert.Throws<ViaDTypeException>(() => records.AsSpan<Named>());
                Assert.Throws<ViaDTypeException>(() => records.ToArray<Named>());
                Assert.Throws<ViaDTypeException>(() => records.Fill(default(Named)));
            }
        }

        [Test]
        public void Names_of_dtypes_go_both_ways()
        {
            foreach (var field in typeof(DType).GetFields())
            {
                var dtype = (DType)field.GetValue(null);
                Assert.That(DType.Parse(dtype.Name), Is.EqualTo(dtype), field.Name);
                Assert.That(dtype.IsValid, Is.True, field.Name);
            }
            Assert.That(DType.Float32.Bits, Is.EqualTo(32));
            Assert.That(default(DType).IsValid, Is.False);
            Assert.That(default(DType).ToString(), Is.EqualTo("dtype 0"));
            Assert.Throws<ViaDTypeException>(() => DType.Parse("float33"));
        }

        [Test]
        public void A_field_of_a_record_is_a_view()
        {
            var pixels = new Pixel[3];
            using (ViaArray array = ViaArray.Wrap(pixels))
            using (ViaArray layers = array.Field(Marshal.OffsetOf(typeof(Pixel), "Layer").ToInt64(), DType.Int16))
            {
                layers.Fill<short>(9);
                Assert.That(array.AsSpan<Pixel>()[2].Layer, Is.EqualTo(9));
                Assert.That(pixels[1].Layer, Is.EqualTo(9));
                Assert.That(pixels[1].Green, Is.EqualTo(0));
            }
        }
    }
}
