using System;
using System.Diagnostics;
using System.IO;
using System.Text;
using NUnit.Framework;

namespace Viaduct.Tests
{
    /// <summary>What runs in a process of its own: the examples, and how the native layer is found.</summary>
    [TestFixture]
    public class ProgramTests
    {
        private string folder;

        [SetUp]
        public void MakeFolder()
        {
            folder = Path.GetDirectoryName(Support.TemporaryFile("unused"));
        }

        [TearDown]
        public void RemoveFolder()
        {
            Directory.Delete(folder, true);
        }

        private static int Run(string[] arguments, string library, out string output)
        {
            return RunExample("NpyColumn", arguments, library, out output);
        }

        private static int RunExample(string name, string[] arguments, string library, out string output)
        {
            string program = Support.IsMono ? name + ".exe" : "example/" + name + ".dll";
            return Support.RunProgram(Path.Combine(Support.AssemblyDirectory, program), arguments, library, out output);
        }

        private static string Where(string what)
        {
            return ViaLibrary.DeviceCount(DeviceType.Cuda) > 0 ? "the " + what + " are on a GPU\n"
                : "there is no CUDA device, so the " + what + " are in host memory instead\n";
        }

        // A table as numpy.save writes it.
        private string Saved(string name, int rows, int columns)
        {
            string dictionary = "{'descr': '<f8', 'fortran_order': False, 'shape': (" + rows + ", " + columns + "), }";
            int padding = 64 - (10 + dictionary.Length + 1) % 64;
            byte[] header = Encoding.ASCII.GetBytes(dictionary + new string(' ', padding) + "\n");
            string path = Path.Combine(folder, name);
            using (var file = new BinaryWriter(File.Create(path)))
            {
                file.Write(new byte[] { 0x93 });
                file.Write(Encoding.ASCII.GetBytes("NUMPY"));
                file.Write(new byte[] { 1, 0, (byte)header.Length, (byte)(header.Length >> 8) });
                file.Write(header);
                for (int i = 0; i < rows * columns; ++i)
                {
                    file.Write((double)i);
                }
            }
            return path;
        }

        [Test]
        public void A_column_of_a_mapped_table_is_summed()
        {
            string output;
            string path = Saved("Tabelle-\U0001F309.npy", 1000, 3);
            int code = Run(new[] { path, "2" }, Support.Library, out output);
            Assert.That(output, Is.EqualTo(
                "float64 [1000, 3] Cpu:0, column 2:\n2 comes first\n1500500 is the sum of 1000\n"));
            Assert.That(code, Is.EqualTo(0));
        }

        [Test]
        public void A_column_that_is_not_there_is_refused_by_the_library()
        {
            string output;
            int code = Run(new[] { Saved("table.npy", 4, 3), "3" }, Support.Library, out output);
            Assert.That(output, Contains.Substring("NpyColumn: via_array_select: "));
            Assert.That(code, Is.EqualTo(1));
        }

        [Test]
        public void A_file_that_is_cut_short_is_refused()
        {
            string path = Saved("short.npy", 4, 3);
            using (FileStream file = File.OpenWrite(path))
            {
                file.SetLength(file.Length - 8);
            }
            string output;
            Assert.That(Run(new[] { path, "0" }, Support.Library, out output), Is.EqualTo(1));
            Assert.That(output, Contains.Substring("NpyColumn: via_file_open: "));
        }

        [Test]
        public void A_native_layer_that_does_not_load_says_everything()
        {
            string wrong = Path.Combine(folder, "libviaduct_csharp.so");
            File.WriteAllText(wrong, "this is no library, whatever its name says");
            string output;
            int code = Run(new[] { Saved("table.npy", 4, 3), "0" }, wrong, out output);
            Assert.That(code, Is.Not.EqualTo(0));
            Assert.That(output, Contains.Substring("DllNotFoundException").And.Contains(wrong)
                .And.Contains("VIADUCT_CSHARP_LIBRARY").And.Contains("file too short"));
        }

        [Test]
        public void The_layer_named_by_the_override_is_taken_wherever_the_assembly_is()
        {
            bool isMono = Support.IsMono;
            string from = isMono ? Support.AssemblyDirectory : Path.Combine(Support.AssemblyDirectory, "example");
            foreach (string file in Directory.GetFiles(from))
            {
                if (Path.GetFileName(file).StartsWith("NpyColumn.") || Path.GetFileName(file) == "Viaduct.dll")
                {
                    File.Copy(file, Path.Combine(folder, Path.GetFileName(file)));
                }
            }
            string output;
            string program = Path.Combine(folder, isMono ? "NpyColumn.exe" : "NpyColumn.dll");
            string[] arguments = { Saved("table.npy", 4, 3), "0" };
            Assert.That(Support.RunProgram(program, arguments, Support.Library, out output), Is.EqualTo(0), output);
            Assert.That(Support.RunProgram(program, arguments, "", out output), Is.Not.EqualTo(0));
            Assert.That(output, Contains.Substring("DllNotFoundException"));
        }

        [Test]
        public void The_layer_named_by_the_override_is_taken_although_there_is_one_next_to_the_assembly()
        {
            string program = Support.TestProgram("Ending");
            string named = Path.Combine(folder, "another-libviaduct_csharp.so");
            File.Copy(Support.Library, named);
            string output;
            Assert.That(Support.RunProgram(program, new[] { "layers", "return" }, named, out output), Is.EqualTo(0));
            Assert.That(output, Is.EqualTo(named + "\n"));
        }

        [Test]
        public void Without_an_override_the_layer_next_to_the_assembly_is_taken()
        {
            string output;
            int code = Run(new[] { Saved("table.npy", 4, 3), "0" }, "", out output);
            Assert.That(code, Is.EqualTo(0), output);
        }

        [Test]
        public void Structs_come_to_the_host_whole_after_a_stream_and_by_one_field()
        {
            string output;
            Assert.That(RunExample("GpuToHost", new string[0], Support.Library, out output), Is.EqualTo(0), output);
            Assert.That(output, Is.EqualTo(Where("particles")
                + "at once: number 9 has x 9, mass 4.5\nafter the stream's work: number 10 has y 20\n"
                + "the masses alone, 524288 of 1572864 bytes: number 11 has 5.5\n"));
        }

        [Test]
        public void Every_row_of_a_file_is_turned_around_by_blocks()
        {
            string output;
            string[] paths = { Saved("in.npy", 3000, 512), Path.Combine(folder, "out.npy") };
            Assert.That(RunExample("MirrorFile", paths, Support.Library, out output), Is.EqualTo(0), output);
            Assert.That(output, Is.EqualTo(Where("blocks") + "3000 rows in blocks of 2048\n"));
            using (ViaFile file = ViaFile.Open(paths[1]))
            using (ViaArray transposed = file.Map())
            {
                ReadOnlySpan<double> values = transposed.AsReadOnlySpan<double>();
                for (int row = 0; row < 3000; ++row)
                {
                    Assert.That(values[row * 512], Is.EqualTo(row * 512 + 511));
                    Assert.That(values[row * 512 + 500], Is.EqualTo(row * 512 + 11));
                }
            }
        }
    }
}
