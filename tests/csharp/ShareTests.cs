using System;
using System.Diagnostics;
using NUnit.Framework;

namespace Viaduct.Tests
{
    /// <summary>Arrays that another process uses in place, and what becomes of them when either ends.</summary>
    [TestFixture]
    public class ShareTests
    {
        private static ViaArray Shared()
        {
            using (ViaMemory memory = ViaMemory.Create(MemoryKind.Shared))
            {
                ViaArray array = ViaArray.Empty(DType.Int32, new long[] { 3, 4 }, memory);
                array.Fill(7);
                return array;
            }
        }

        private static Process Start()
        {
            string program = Support.TestProgram("Sharing");
            var start = new ProcessStartInfo(Support.IsMono ? "mono" : "dotnet", "\"" + program + "\"")
            {
                UseShellExecute = false,
                RedirectStandardInput = true,
                RedirectStandardOutput = true
            };
            start.EnvironmentVariables["VIADUCT_CSHARP_LIBRARY"] = Support.Library;
            return Process.Start(start);
        }

        /// <summary>What the other process answers: the description of an array that it holds from then on.</summary>
        private static byte[] Ask(Process other, string line)
        {
            other.StandardInput.WriteLine(line);
            return Convert.FromBase64String(other.StandardOutput.ReadLine() ?? "");
        }

        private static byte[] Report(Process other, ViaArray array)
        {
            return Ask(other, Convert.ToBase64String(array.ExportIpc()));
        }

        /// <summary>Killed, it releases nothing by itself.</summary>
        private static void End(Process other, bool kill)
        {
            if (kill)
            {
                other.Kill();
            }
            other.StandardInput.Close();
            Assert.That(other.WaitForExit(60000), Is.True, "the other process does not end");
            Assert.That(other.ExitCode, kill ? Is.Not.EqualTo(0) : Is.EqualTo(0));
        }

        [Test]
        public void Another_process_writes_to_the_same_memory()
        {
            using (ViaArray array = Shared())
            using (ViaArray transposed = array.Transpose())
            using (Process other = Start())
            {
                Report(other, array);
                Assert.That(transposed.ToArray<int>(), Is.All.EqualTo(8));
                End(other, false);
            }
        }

        [Test]
        public void Memory_outlives_the_process_that_made_it([Values(false, true)] bool killed)
        {
            using (Process other = Start())
            {
                byte[] description = Ask(other, "make");
                using (ViaArray array = ViaArray.ImportIpc(description))
                {
                    End(other, killed);
                    Assert.That(array.ToArray<int>(), Is.All.EqualTo(8));
                    array.Fill(9);
                    Assert.That(array.ToArray<int>(), Is.All.EqualTo(9));
                    Assert.Throws<ViaExchangeException>(() => ViaArray.ImportIpc(description));
                }
            }
        }

        [Test]
        public void An_importer_may_be_killed_and_the_next_one_comes()
        {
            using (ViaArray array = Shared())
            {
                foreach (bool killed in new[] { true, false })
                {
                    using (Process other = Start())
                    {
                        Report(other, array);
                        End(other, killed);
                    }
                }
                Assert.That(array.ToArray<int>(), Is.All.EqualTo(9));
            }
        }

        [Test]
        public void What_was_taken_in_can_be_handed_on_after_this_process_release()
        {
            using (Process first = Start())
            using (Process second = Start())
            {
                byte[] description;
                using (ViaArray array = Shared())
                {
                    description = Report(first, array);
                }
                Ask(second, Convert.ToBase64String(description));
                using (ViaArray back = ViaArray.ImportIpc(description))
                {
                    Assert.That(back.ToArray<int>(), Is.All.EqualTo(9));
                }
                End(first, true);
                End(second, false);
            }
        }
    }
}
