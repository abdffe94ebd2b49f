using System;
using System.IO;
using System.Threading.Tasks;
using NUnit.Framework;

namespace Viaduct.Tests
{
    [TestFixture]
    public class FileTests
    {
        private sealed class Moved : IProgress<long>
        {
            private readonly Action<long> report;

            internal Moved(Action<long> report)
            {
                this.report = report;
            }

            public void Report(long value)
            {
                report(value);
            }
        }

        private string path;

        [SetUp]
        public void NameFile()
        {
            path = Support.TemporaryFile("Tabelle-\U0001F309.npy");
        }

        [TearDown]
        public void RemoveFile()
        {
            Directory.Delete(Path.GetDirectoryName(path), true);
        }

        private void Save(ViaFileOptions options = null)
        {
            using (ViaArray grid = Support.Grid())
            using (ViaFile file = ViaFile.Create(path, DType.Float64, new long[] { 3, 4 }, options))
            {
                file.Write(grid);
            }
        }

        [Test]
        public void What_learns_of_a_file_and_of_the_library_can_be_printed()
        {
            string path = Support.TemporaryFile("printed.npy");
            using (ViaArray grid = Support.Grid())
            using (ViaArray transposed = grid.Transpose())
            using (ViaFile file = ViaFile.Create(path, grid.DType, grid.Shape))
            {
                Assert.That(file.Info().ToString(), Is.EqualTo("Npy float64 [3, 4], 224 bytes, elements at 128"));
                string address = grid.Address.ToString("x");
                Assert.That(transposed.ToArrayInterface().ToString(),
                    Is.EqualTo("<f8 [4, 3] at 0x" + address + ", byte strides [8, 32]"));
                Assert.That(ViaLibrary.Stats().ToString(), Contains.Substring(" arrays, "));
                Assert.That(ViaLibrary.DeviceInfo(Device.Cpu).ToString(), Contains.Substring("Cpu:0 "));
                Assert.That(ViaLibrary.QueryPointer(grid.Address).ToString(), Contains.Substring("Cpu:0 0x"));
            }
            Directory.Delete(Path.GetDirectoryName(path), true);
        }

        [Test]
        public void A_file_reports_what_it_holds()
        {
            Save(new ViaFileOptions { IsColumnMajor = true, IsDurable = true });
            using (ViaFile file = ViaFile.Open(path))
            {
                FileProperties info = file.Info();
                Assert.That(info.Format, Is.EqualTo(FileFormat.Npy));
                Assert.That(info.DType, Is.EqualTo(DType.Float64));
                Assert.That(info.Shape, Is.EqualTo(new long[] { 3, 4 }));
                Assert.That(info.IsColumnMajor, Is.True);
                Assert.That(info.NBytes, Is.EqualTo(new FileInfo(path).Length));
                Assert.That(info.ByteOffset, Is.EqualTo(info.NBytes - 96));
            }
        }

        [Test]
        public void A_mapped_array_outlives_its_file()
        {
            Save();
            ViaArray mapped;
            using (ViaFile file = ViaFile.Open(path))
            using (ViaFile share = file.Share())
            {
                mapped = share.Map();
            }
            using (mapped)
            {
                Assert.That(Support.Shape(mapped), Is.EqualTo(new long[] { 3, 4 }));
                Assert.That(mapped.AsReadOnlySpan<double>()[11], Is.EqualTo(11));
                Assert.Throws<ViaReadOnlyException>(() => mapped.AsSpan<double>());
            }
        }

        [Test]
        public void A_file_converts_what_it_transfers()
        {
            Save();
            ViaFile floats;
            using (ViaFile file = ViaFile.Open(path, new ViaFileOptions { Mode = ViaFileMode.ReadWrite }))
            using (ViaFile scaled = file.Convert(DType.Float64, new ConvertOptions { Scale = new[] { 2.0f } }))
            using (ViaArray found = ViaArray.Empty(DType.Float64, 3, 4))
            {
                floats = file.Convert(DType.Float32);
                scaled.Read(found);
                Assert.That(found.ToArray<double>()[11], Is.EqualTo(22));
                Assert.Throws<ViaDTypeException>(() => floats.Read(found));
                Assert.Throws<ViaUnsupportedException>(() => floats.Map());
            }
            using (floats)
            using (ViaArray array = ViaArray.Empty(DType.Float32, 3, 4))
            using (ViaArray found = ViaArray.Empty(DType.Float64, 3, 4))
            {
                Assert.That(floats.Info().DType, Is.EqualTo(DType.Float32));
                floats.Read(array);
                Assert.That(array.ToArray<float>(), Is.EqualTo(Support.Numbers(12)));
                array.Fill(-1.0f);
                floats.Write(array);
                using (ViaFile file = ViaFile.Open(path))
                {
                    file.Read(found);
                }
                Assert.That(found.ToArray<double>(), Is.All.EqualTo(-1));
            }
        }

        [Test]
        public void Copy_on_write_leaves_the_file_as_it_is()
        {
            Save();
            using (ViaFile file = ViaFile.Open(path, new ViaFileOptions { Mode = ViaFileMode.CopyOnWrite }))
            using (ViaArray mapped = file.Map())
            using (ViaArray read = ViaArray.Empty(DType.Float64, 3, 4))
            {
                mapped.Fill(-1.0);
                file.Read(read);
                Assert.That(read.ToArray<double>(), Is.EqualTo(Support.Numbers(12)));
            }
        }

        [Test]
        public void A_npy_file_is_read_as_what_it_is_unless_it_is_taken_as_bytes()
        {
            Save();
            using (ViaFile file = ViaFile.Open(path))
            using (ViaFile bytes = ViaFile.Open(path, new ViaFileOptions { AsBytes = true }))
            using (ViaArray part = ViaArray.Empty(DType.Float64, 5))
            using (ViaArray other = ViaArray.Empty(DType.Int64, 3, 4))
            {
                Assert.Throws<ViaShapeException>(() => file.Read(part));
                Assert.Throws<ViaDTypeException>(() => file.Read(other));
                Assert.Throws<ViaInvalidArgumentException>(() => file.Read(part, 8));
                bytes.Read(part, 8);
                Assert.That(part.ToArray<double>(), Is.EqualTo(new double[] { 1, 2, 3, 4, 5 }));
            }
        }

        /// <summary>.NET has no text for names that are not UTF-8: what it has in their place is no file.</summary>
        [Test]
        public void A_name_that_is_no_text_is_refused()
        {
            Assert.Throws<ViaInvalidArgumentException>(() => ViaFile.Open("a\0b"));
            Assert.Throws<ViaInvalidArgumentException>(() => ViaFile.Open("a\uD800"));
            Assert.Throws<ViaInvalidArgumentException>(() => ViaFile.Create("a\uDC00", DType.Int8, new long[] { 5 }));
            ViaIoException missing = Assert.Throws<ViaIoException>(() => ViaFile.Open("/tmp/M\uFFFDnze.npy"));
            Assert.That(missing.Message, Is.StringContaining("ENOENT"));
        }

        [Test]
        public void A_window_is_a_file_of_its_own()
        {
            Save();
            ViaFile window;
            using (ViaFile file = ViaFile.Open(path, new ViaFileOptions { Mode = ViaFileMode.ReadWrite }))
            {
                window = file.Window(new long[] { 0, 3 }, new long[] { 3, 2 }, new long[] { 1, -2 });
                Assert.Throws<ViaShapeException>(() => file.Window(new long[1]));
                Assert.Throws<ViaIndexException>(() => file.Window(new long[] { 3, 0 }, new long[] { 1, 1 }));
            }
            using (window)
            using (ViaFile last = window.Window(new long[] { 2, 0 }))
            using (ViaArray all = ViaArray.Empty(DType.Float64, 3, 2))
            {
                window.Read(all);
                Assert.That(all.ToArray<double>(), Is.EqualTo(new double[] { 3, 1, 7, 5, 11, 9 }));
                all.Fill(0.5);
                window.Write(all);
                using (ViaArray mapped = last.Map())
                {
                    Assert.That(mapped.ToArray<double>(), Is.EqualTo(new[] { 0.5, 0.5 }));
                }
            }
        }

        [Test]
        public async Task Any_layout_is_read_and_written_behind_the_callers_back()
        {
            Save();
            var options = new ViaFileOptions { Mode = ViaFileMode.ReadWrite, PageCache = PageCache.Use };
            using (ViaFile file = ViaFile.Open(path, options))
            using (ViaArray target = ViaArray.Empty(DType.Float64, 4, 3))
            using (ViaArray transposed = target.Transpose())
            {
                long moved = 0;
                await file.ReadAsync(transposed, progress: new Moved(bytes => moved = bytes));
                Assert.That(moved, Is.EqualTo(target.NBytes));
                Assert.That(target.AsSpan<double>()[1], Is.EqualTo(4));
                transposed.Fill(5.0);
                await file.WriteAsync(transposed, progress: new Moved(bytes => moved += bytes));
                Assert.That(moved, Is.GreaterThanOrEqualTo(2 * target.NBytes));
                using (ViaArray mapped = file.Map(8, DType.Float64, 2))
                {
                    Assert.That(mapped.ToArray<double>(), Is.EqualTo(new double[] { 5, 5 }));
                }
            }
        }

        [Test]
        public void What_is_awaited_fails_with_the_code_and_the_text_of_a_wait()
        {
            const int notPermitted = 1;
            int memory = Probe.probe_open_file(96);
            var options = new ViaFileOptions { Mode = ViaFileMode.ReadWrite };
            using (ViaArray grid = Support.Grid())
            using (ViaFile file = ViaFile.Open("/proc/self/fd/" + memory, options))
            {
                Assert.That(Probe.probe_seal_file(memory), Is.EqualTo(0));
                var thrown = Assert.Throws<ViaIoException>(() => file.Write(grid));
                Task write = file.WriteAsync(grid);
                var awaited = Assert.Throws<ViaIoException>(() => write.GetAwaiter().GetResult());
                Assert.That(awaited.Code, Is.EqualTo(notPermitted));
                Assert.That(awaited.Code, Is.EqualTo(thrown.Code));
                Assert.That(awaited.Message, Contains.Substring("EPERM"));
            }
            Probe.probe_close_file(memory);
        }

        [Test]
        public void What_goes_wrong_is_reported_by_kind()
        {
            var error = Assert.Throws<ViaIoException>(() => ViaFile.Open(path));
            Assert.That(error.Message, Contains.Substring("\U0001F309"));
            Assert.That(error.Code, Is.EqualTo(2));
            File.WriteAllText(path, "no header");
            Assert.Throws<ViaFormatException>(
                () => ViaFile.Open(path, new ViaFileOptions { Format = FileFormat.Npy }));
            Save();
            using (ViaArray grid = Support.Grid())
            using (ViaFile file = ViaFile.Open(path))
            {
                Assert.Throws<ViaReadOnlyException>(() => file.Write(grid));
                Assert.Throws<ViaInvalidArgumentException>(() => file.Read(grid, 8));
                file.Dispose();
                Assert.Throws<ObjectDisposedException>(() => file.Read(grid));
            }
            Assert.Throws<ArgumentNullException>(() => ViaFile.Open(null));
            Assert.Throws<ArgumentNullException>(() => ViaFile.Create(path, DType.Int8, null));
        }
    }
}
