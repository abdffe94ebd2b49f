using System;
using NUnit.Framework;

namespace Viaduct.Tests
{
    [TestFixture]
    public class ViewTests
    {
        private static double[] Read(ViaArray view)
        {
            using (view)
            {
                return view.ToArray<double>();
            }
        }

        private static long[] ShapeOf(ViaArray view)
        {
            using (view)
            {
                return Support.Shape(view);
            }
        }

        [Test]
        public void A_slice_shares_the_memory()
        {
            using (ViaArray grid = Support.Grid())
            using (ViaArray window = grid.Slice(new long[] { 1, 1 }, new long[] { 2, 2 }))
            {
                window.Fill(-1.0);
                double[] wanted = { 0, 1, 2, 3, 4, -1, -1, 7, 8, -1, -1, 11 };
                Assert.That(grid.ToArray<double>(), Is.EqualTo(wanted));
            }
        }

        [Test]
        public void Steps_may_go_backwards()
        {
            using (ViaArray grid = Support.Grid())
            {
                Assert.That(Read(grid.Slice(new long[] { 2, 3 }, null, new long[] { -2, -3 })),
                    Is.EqualTo(new double[] { 11, 8, 3, 0 }));
                Assert.That(Read(grid.SliceAxis(-1, 3, 2, -2)), Is.EqualTo(new double[] { 3, 1, 7, 5, 11, 9 }));
            }
        }

        [Test]
        public void Select_permute_and_transpose_view_the_same_elements()
        {
            using (ViaArray grid = Support.Grid())
            {
                Assert.That(Read(grid.Select(0, -1)), Is.EqualTo(new double[] { 8, 9, 10, 11 }));
                Assert.That(Read(grid.Select(1, 2)), Is.EqualTo(new double[] { 2, 6, 10 }));
                double[] transposed = { 0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11 };
                Assert.That(Read(grid.Transpose()), Is.EqualTo(transposed));
                Assert.That(Read(grid.Permute(1, 0)), Is.EqualTo(transposed));
                Assert.That(Read(grid.Permute(0, 1)), Is.EqualTo(Support.Numbers(12)));
            }
        }

        [Test]
        public void Shapes_change_without_a_copy_or_not_at_all()
        {
            using (ViaArray grid = Support.Grid())
            using (ViaArray transposed = grid.Transpose())
            {
                Assert.That(ShapeOf(grid.Reshape(2, -1)), Is.EqualTo(new long[] { 2, 6 }));
                Assert.That(ShapeOf(grid.Expand(1)), Is.EqualTo(new long[] { 3, 1, 4 }));
                Assert.That(ShapeOf(grid.Broadcast(5, 3, 4)), Is.EqualTo(new long[] { 5, 3, 4 }));
                using (ViaArray expanded = grid.Expand(0))
                {
                    Assert.That(ShapeOf(expanded.Squeeze()), Is.EqualTo(new long[] { 3, 4 }));
                    Assert.That(ShapeOf(expanded.Squeeze(0)), Is.EqualTo(new long[] { 3, 4 }));
                    Assert.Throws<ViaShapeException>(() => expanded.Squeeze(1));
                }
                Assert.Throws<ViaNeedsCopyException>(() => transposed.Reshape(12));
                Assert.Throws<ViaShapeException>(() => grid.Reshape(5, 5));
            }
        }

        [Test]
        public void An_array_of_no_dimensions_has_one_element()
        {
            using (ViaArray grid = Support.Grid())
            using (ViaArray row = grid.Select(0, 1))
            using (ViaArray one = row.Select(0, 1))
            using (ViaArray back = one.Reshape(1, 1))
            {
                Assert.That(one.NDim, Is.EqualTo(0));
                Assert.That(Support.Shape(one), Is.Empty);
                Assert.That(one.Strides.Length, Is.EqualTo(0));
                Assert.That(one.ToArray<double>(), Is.EqualTo(new double[] { 5 }));
                Assert.That(Support.Shape(back), Is.EqualTo(new long[] { 1, 1 }));
            }
        }

        [Test]
        public void The_same_bytes_may_be_of_another_dtype()
        {
            using (ViaArray grid = Support.Grid())
            using (ViaArray bytes = grid.Reinterpret(DType.UInt8))
            {
                Assert.That(Support.Shape(bytes), Is.EqualTo(new long[] { 3, 32 }));
                Assert.That(bytes.AsSpan<byte>()[15], Is.EqualTo(0x3F));
            }
        }

        [Test]
        public void Views_of_read_only_arrays_are_read_only()
        {
            using (ViaArray grid = Support.Grid())
            using (ViaArray readOnly = grid.AsReadOnly())
            using (ViaArray row = readOnly.Select(0, 0))
            {
                Assert.That(row.IsReadOnly, Is.True);
                Assert.That(grid.IsReadOnly, Is.False);
                Assert.Throws<ViaReadOnlyException>(() => row.Fill(1.0));
            }
        }

        [Test]
        public void One_number_for_each_axis_is_asked_for_before_the_library_reads_them()
        {
            using (ViaArray grid = Support.Grid())
            {
                string text = Assert.Throws<ViaShapeException>(() => grid.Slice(new long[] { 1 })).Message;
                Assert.That(text, Is.EqualTo("start has 1 entries; expected one for each of 2 axes"));
                text = Assert.Throws<ViaShapeException>(() => grid.Slice(null, new long[] { 1, 1, 1 })).Message;
                Assert.That(text, Is.EqualTo("count has 3 entries; expected one for each of 2 axes"));
                text = Assert.Throws<ViaShapeException>(() => grid.Slice(null, null, new long[0])).Message;
                Assert.That(text, Is.EqualTo("step has 0 entries; expected one for each of 2 axes"));
                text = Assert.Throws<ViaShapeException>(() => grid.Permute(0)).Message;
                Assert.That(text, Is.EqualTo("axes has 1 entries; expected one for each of 2 axes"));
                Assert.Throws<ArgumentNullException>(() => grid.Reshape(null));
                Assert.Throws<ViaIndexException>(() => grid.SliceAxis(2, 0, 1));
                Assert.Throws<ViaIndexException>(() => grid.Select(0, 3));
            }
        }
    }
}
