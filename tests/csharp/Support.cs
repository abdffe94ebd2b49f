using System;
using System.Diagnostics;
using System.IO;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using NUnit.Framework;

namespace Viaduct.Tests
{
    /// <summary>The C library on the other side: probe.c.</summary>
    internal static class Probe
    {
        [DllImport("viaduct_csharp_probe")]
        internal static extern double probe_double_and_delete(IntPtr tensor);

        [DllImport("viaduct_csharp_probe")]
        internal static extern IntPtr probe_make_tensor();

        [DllImport("viaduct_csharp_probe")]
        internal static extern void probe_set_version(IntPtr tensor, int major);

        [DllImport("viaduct_csharp_probe")]
        internal static extern int probe_deleted();

        [DllImport("viaduct_csharp_probe")]
        internal static extern int probe_delete_on_thread(IntPtr tensor);

        [DllImport("viaduct_csharp_probe")]
        internal static extern int probe_open_file(int nbytes);

        [DllImport("viaduct_csharp_probe")]
        internal static extern int probe_seal_file(int file);

        [DllImport("viaduct_csharp_probe")]
        internal static extern void probe_close_file(int file);

        [DllImport("viaduct_csharp_probe")]
        internal static extern int probe_offset(string layout, string name);

        [DllImport("viaduct_csharp_probe")]
        internal static extern int probe_field_count(string layout);
    }

    internal static class Support
    {
        internal static string SourceDirectory
        {
            get { return Environment.GetEnvironmentVariable("VIADUCT_SOURCE_DIR"); }
        }

        internal static string AssemblyDirectory
        {
            get { return Environment.GetEnvironmentVariable("VIADUCT_CSHARP_DIR"); }
        }

        internal static double[] Numbers(int count)
        {
            var numbers = new double[count];
            for (int i = 0; i < count; ++i)
            {
                numbers[i] = i;
            }
            return numbers;
        }

        /// <summary>A 3 x 4 array of float64, 0 to 11.</summary>
        internal static ViaArray Grid()
        {
            return ViaArray.Wrap(Numbers(12), 3, 4);
        }

        internal static long[] Shape(ViaArray array)
        {
            return array.Shape.ToArray();
        }

        /// <summary>Waits for what another thread does; the test fails after ten seconds.</summary>
        internal static void Eventually(Func<bool> holds, string what)
        {
            Stopwatch watch = Stopwatch.StartNew();
            while (!holds())
            {
                Assert.That(watch.ElapsedMilliseconds, Is.LessThan(10000), what);
                Thread.Sleep(1);
            }
        }

        /// <summary>Until it holds, collects what nobody refers to, finalizers included.</summary>
        internal static void EventuallyCollected(Func<bool> holds, string what)
        {
            Eventually(() => { Collect(); return holds(); }, what);
        }

        internal static void Collect()
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }

        /// <summary>
        /// Runs something in a frame, on a thread, that is gone afterwards: a collector that scans stacks
        /// conservatively finds nothing of it.
        /// </summary>
        internal static void Elsewhere(Action action)
        {
            Exception thrown = null;
            var thread = new Thread(() =>
            {
                try
                {
                    action();
                }
                catch (Exception failure)
                {
                    thrown = failure;
                }
            });
            thread.Start();
            thread.Join();
            Assert.That(thrown, Is.Null);
        }

        internal static void NeedsCuda(int devices = 1)
        {
            int found = ViaLibrary.DeviceCount(DeviceType.Cuda);
            if (found == 0)
            {
                Assert.Ignore("there is no CUDA device, and the fake driver was not built");
            }
            else if (found < devices)
            {
                Assert.Ignore("there is one device");
            }
        }

        internal static bool IsMono
        {
            get { return Type.GetType("Mono.Runtime") != null; }
        }

        /// <summary>A program of the tests: as Mono's compiler builds it, or as .NET's.</summary>
        internal static string TestProgram(string name)
        {
            return Path.Combine(AssemblyDirectory, IsMono ? name + ".exe" : "tests/" + name + ".dll");
        }

        /// <summary>Runs one with Mono, or with .NET; returns how it ended and what it said.</summary>
        internal static int RunProgram(string program, string[] arguments, string library, out string output)
        {
            var start = new ProcessStartInfo(IsMono ? "mono" : "dotnet")
            {
                Arguments = "\"" + program + "\" \"" + string.Join("\" \"", arguments) + "\"",
                UseShellExecute = false,
                RedirectStandardOutput = true,
                RedirectStandardError = true
            };
            start.EnvironmentVariables["VIADUCT_CSHARP_LIBRARY"] = library;
            using (Process process = Process.Start(start))
            {
                output = process.StandardOutput.ReadToEnd() + process.StandardError.ReadToEnd();
                process.WaitForExit();
                return process.ExitCode;
            }
        }

        /// <summary>The native layer.</summary>
        internal static string Library
        {
            get { return Environment.GetEnvironmentVariable("VIADUCT_CSHARP_LIBRARY"); }
        }

        internal static string TemporaryFile(string name)
        {
            string folder = Path.Combine(Path.GetTempPath(), "viaduct-" + Guid.NewGuid().ToString("N"));
            Directory.CreateDirectory(folder);
            return Path.Combine(folder, name);
        }
    }
}
