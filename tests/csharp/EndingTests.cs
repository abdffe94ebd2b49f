using System;
using System.Diagnostics;
using NUnit.Framework;

namespace Viaduct.Tests
{
    /// <summary>
    /// A program may end while arrays, exports, copies and threads of C are about: it neither crashes nor hangs.
    /// </summary>
    [TestFixture]
    public class EndingTests
    {
        // Mono 6.8 itself aborts about one in a thousand programs that end while a thread calls C, of whatever library.
        private const string MonoAborts = "Cannot transition thread";

        private static string Run(string what, string how)
        {
            string output = "";
            int code = -1;
            string[] arguments = { what, how };
            for (int turn = 0; turn < 3 && (turn == 0 || output.Contains(MonoAborts)); ++turn)
            {
                code = Support.RunProgram(Support.TestProgram("Ending"), arguments, Support.Library, out output);
            }
            Assert.That(code, Is.EqualTo(0), output);
            return output;
        }

        [Test]
        public void Everything_may_be_held([Values("exit", "return")] string how)
        {
            Assert.That(Run("held", how), Is.EqualTo("").Or.EqualTo("released\n"));
        }

        [Test]
        public void Copies_may_run([Values("exit", "return")] string how)
        {
            Assert.That(Run("copies", how), Is.EqualTo(""));
        }

        [Test]
        public void Threads_of_C_may_release([Values("exit", "return")] string how)
        {
            Assert.That(Run("threads", how), Is.EqualTo(""));
        }

        [Test]
        public void A_thread_of_C_that_has_released_and_stays_is_not_waited_for([Values("exit", "return")] string how)
        {
            Stopwatch watch = Stopwatch.StartNew();
            Assert.That(Run("stays", how), Is.EqualTo("released\nreleased\n"));
            Assert.That(watch.Elapsed.TotalSeconds, Is.LessThan(50), "it stays for a minute");
        }

        [Test]
        public void A_library_of_C_may_release_behind_the_runtime([Values("exit", "return")] string how)
        {
            Assert.That(Run("left", how), Is.EqualTo("").Or.EqualTo("released\n"));
        }

        [Test]
        public void A_handler_of_the_end_may_use_the_library([Values("exit", "return")] string how)
        {
            Assert.That(Run("handler", how), Is.EqualTo("12\nreleased\n"));
        }

        [Test]
        public void What_a_release_throws_is_reported_and_the_program_goes_on()
        {
            Assert.That(Run("failure", "return"), Is.EqualTo("refuses to end\nwent on\n"));
        }

        [Test]
        public void Each_AppDomain_gets_its_own_callbacks_and_may_be_unloaded([Values("exit", "return")] string how)
        {
            if (!Support.IsMono)
            {
                Assert.Ignore(".NET has one AppDomain");
            }
            Assert.That(Run("domains", how), Is.EqualTo("released\nreleased\nreleased\n0\n"));
        }
    }
}
