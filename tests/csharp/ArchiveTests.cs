using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using NUnit.Framework;

namespace Viaduct.Tests
{
    /// <summary>Archives: opened, listed, read into one buffer, at once and as a task.</summary>
    [TestFixture]
    public class ArchiveTests
    {
        private string path;

        // A safetensors file of three floats, 0 to 2, and two bytes, 7 and 8.
        internal static string Save()
        {
            string path = Support.TemporaryFile("model.safetensors");
            byte[] header = Encoding.UTF8.GetBytes(
                "{\"__metadata__\":{\"by\":\"a test\"},"
                + "\"weights\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]},"
                + "\"flags\":{\"dtype\":\"U8\",\"shape\":[2,1],\"data_offsets\":[12,14]}}");
            var numbers = new[] { 0f, 1f, 2f }.SelectMany(BitConverter.GetBytes);
            byte[] all = BitConverter.GetBytes((long)header.Length).Concat(header).Concat(numbers)
                .Concat(new byte[] { 7, 8 }).ToArray();
            File.WriteAllBytes(path, all);
            return path;
        }

        [SetUp]
        public void SaveFile()
        {
            path = Save();
        }

        [TearDown]
        public void RemoveFile()
        {
            Directory.Delete(Path.GetDirectoryName(path), true);
        }

        [Test]
        public void Tensors_are_views_of_one_buffer()
        {
            using (ViaArchive archive = ViaArchive.Open(path))
            using (ViaArray buffer = archive.Load())
            using (ViaArray weights = archive.Array(archive.Find("weights"), buffer))
            using (ViaArray flags = archive.Array(1, buffer))
            {
                Assert.That(archive.Count, Is.EqualTo(2));
                Assert.That(buffer.Size, Is.EqualTo(archive.ByteCount));
                Assert.That(archive.Name(1), Is.EqualTo("flags"));
                Assert.That(archive.Name(2), Is.Null);
                Assert.That(archive.TypeName(0), Is.EqualTo("F32"));
                Assert.That(archive.TypeName(2), Is.Null);
                Assert.That(archive.Metadata, Is.EqualTo("{\"by\": \"a test\"}"));
                Assert.That(weights.ToArray<float>(), Is.EqualTo(new[] { 0f, 1f, 2f }));
                Assert.That(Support.Shape(flags), Is.EqualTo(new long[] { 2, 1 }));
                Assert.That(flags.ToArray<byte>(), Is.EqualTo(new byte[] { 7, 8 }));
                using (ViaFile window = archive.File(1))
                {
                    Assert.That(window.Info().Shape, Is.EqualTo(new long[] { 2, 1 }));
                }
            }
        }

        [Test]
        public void A_choice_is_read_by_a_task()
        {
            using (ViaArchive archive = ViaArchive.Open(path))
            using (ViaArchive shared = archive.Share())
            using (ViaArchive some = shared.Select(1))
            using (ViaArray buffer = ViaArray.Empty(DType.UInt8, some.ByteCount))
            using (ViaArray flags = some.Array(0, buffer))
            {
                Assert.That(some.Name(0), Is.EqualTo("flags"));
                some.ReadAsync(buffer).Wait();
                Assert.That(flags.ToArray<byte>(), Is.EqualTo(new byte[] { 7, 8 }));
                some.Read(buffer);
                Assert.That(flags.ToArray<byte>(), Is.EqualTo(new byte[] { 7, 8 }));
                Assert.Throws<ArgumentNullException>(() => some.Select(null));
            }
        }

        [Test]
        public void Tensors_are_read_as_another_type()
        {
            using (ViaArchive archive = ViaArchive.Open(path))
            {
                archive.Convert(archive.Find("flags"), DType.Float32);
                archive.Convert(-1, DType.Float64, new ConvertOptions { Casting = Casting.Safe });
                using (ViaArray buffer = archive.Load())
                using (ViaArray weights = archive.Array(0, buffer))
                using (ViaArray flags = archive.Array(1, buffer))
                using (ViaFile window = archive.File(0))
                {
                    Assert.That(weights.ToArray<double>(), Is.EqualTo(new[] { 0.0, 1.0, 2.0 }));
                    Assert.That(flags.ToArray<float>(), Is.EqualTo(new[] { 7f, 8f }));
                    Assert.That(window.Info().DType, Is.EqualTo(DType.Float64));
                }
                Assert.Throws<ViaUnsupportedException>(
                    () => archive.Convert(0, DType.Float32, new ConvertOptions { Scale = new[] { 2.0f } }));
                Assert.Throws<ViaIndexException>(() => archive.Convert(2, DType.Float32));
            }
        }

        [Test]
        public void What_is_wrong_is_named()
        {
            using (ViaArchive archive = ViaArchive.Open(path))
            {
                string text = Assert.Catch<ViaException>(() => archive.Find("biases")).Message;
                Assert.That(text, Contains.Substring("biases"));
                Assert.Catch<ViaException>(() => archive.Add(path));
                Assert.That(archive.Count, Is.EqualTo(2));
            }
            string none = Path.Combine(Path.GetDirectoryName(path), "none.safetensors");
            Assert.That(
                Assert.Catch<ViaException>(() => ViaArchive.Open(none)).Message,
                Contains.Substring("none.safetensors"));
        }

        [Test]
        public void Saved_arrays_come_back_whole_and_in_parts()
        {
            string folder = Path.GetDirectoryName(path);
            string saved = Path.Combine(folder, "saved.safetensors");
            using (ViaArray weights = Support.Grid())
            {
                var arrays = new Dictionary<string, ViaArray> { { "weights", weights } };
                ViaArchive.Save(saved, arrays);
                using (CopyTask task = ViaArchive.SubmitSave(saved, arrays))
                {
                    task.Wait();
                }
                using (ViaArchive archive = ViaArchive.Open(saved))
                {
                    archive.Slice(0, 0, 1, 2);
                    using (ViaArray buffer = archive.Load())
                    using (ViaArray rows = archive.Array(archive.Find("weights"), buffer))
                    {
                        Assert.That(Support.Shape(rows), Is.EqualTo(new long[] { 2, 4 }));
                        Assert.That(rows.ToArray<double>(), Is.EqualTo(Support.Numbers(12).Skip(4)));
                    }
                }
                string one = Path.Combine(folder, "one.npy");
                weights.Save(one);
                using (ViaArray back = ViaArray.Load(one))
                {
                    Assert.That(back.ToArray<double>(), Is.EqualTo(Support.Numbers(12)));
                }
            }
            Assert.Catch<ViaException>(() => ViaArray.Load(Path.Combine(folder, "none.npy")));
        }

        [Test]
        public void Numbers_are_scaled_and_offset()
        {
            using (ViaArray doubles = Support.Grid())
            using (ViaArray floats = ViaArray.Empty(DType.Float32, 3, 4))
            {
                var options = new ConvertOptions
                {
                    Scale = new[] { 2.0f },
                    Offset = new[] { 0.0f, 100.0f, 200.0f },
                    ScaleAxis = 0,
                };
                doubles.ConvertTo(floats, options);
                Assert.That(
                    floats.ToArray<float>(),
                    Is.EqualTo(Enumerable.Range(0, 12).Select(i => (2.0f * i) + (100.0f * (i / 4)))));
                options.ScaleAxis = 1;
                Assert.That(
                    Assert.Catch<ViaException>(() => doubles.ConvertTo(floats, options)).Message,
                    Contains.Substring("options.scale_count is 3"));
                options.Scale = new float[2];
                Assert.Throws<ViaShapeException>(() => doubles.ConvertTo(floats, options));
            }
        }

        [Test]
        public void Elements_are_converted_by_rule()
        {
            using (ViaArray doubles = Support.Grid())
            using (ViaArray floats = ViaArray.Empty(DType.Float32, 3, 4))
            using (ViaArray whole = ViaArray.Empty(DType.Int32, 3, 4))
            {
                doubles.ConvertTo(floats);
                Assert.That(floats.ToArray<float>(), Is.EqualTo(Support.Numbers(12)));
                Assert.That(
                    Assert.Catch<ViaException>(() => doubles.ConvertTo(whole)).Message,
                    Contains.Substring("float64").And.ContainsSubstring("int32").And.ContainsSubstring("unsafe"));
                var options = new ConvertOptions { Casting = Casting.Unsafe };
                using (CopyTask task = doubles.SubmitConvertTo(whole, options))
                {
                    task.Wait();
                }
                Assert.That(whole.ToArray<int>(), Is.EqualTo(Enumerable.Range(0, 12)));
                Assert.That(doubles.ExplainConvertTo(floats), Contains.Substring("float32"));
                Assert.That(DType.Float64.CanCast(DType.Float32), Is.False);
            }
        }
    }
}
