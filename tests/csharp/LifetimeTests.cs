using System;
using System.Diagnostics;
using System.Runtime.InteropServices;
using System.Threading;
using NUnit.Framework;

namespace Viaduct.Tests
{
    [TestFixture]
    public class LifetimeTests
    {
        private static ViaArray Exported(Action release)
        {
            IntPtr block = Marshal.AllocHGlobal(64);
            return ViaArray.Wrap(block, DType.Int64, new long[] { 8 }, null, null, WrapFlags.None, () =>
            {
                Marshal.FreeHGlobal(block);
                release();
            });
        }

        [Test]
        public void A_call_that_refuses_one_argument_holds_none_of_the_others()
        {
            int released = 0;
            ViaArray array = Exported(() => ++released);
            ViaArray source = Exported(() => ++released);
            ViaArray closed = Exported(() => ++released);
            closed.Dispose();
            Assert.That(() => source.CopyTo(array, null), Throws.TypeOf<ArgumentNullException>()
                .With.Property("ParamName").EqualTo("stream"));
            Assert.That(() => closed.CopyTo(array), Throws.TypeOf<ObjectDisposedException>());
            array.Dispose();
            source.Dispose();
            Assert.That(released, Is.EqualTo(3));
        }

        private static long ResidentKilobytes()
        {
            foreach (string line in System.IO.File.ReadAllLines("/proc/self/status"))
            {
                if (line.StartsWith("VmRSS:", StringComparison.Ordinal))
                {
                    return long.Parse(line.Split(new[] { ' ', '\t' }, StringSplitOptions.RemoveEmptyEntries)[1]);
                }
            }
            return 0;
        }

        [Test]
        public void A_view_lives_on_after_its_array_was_collected()
        {
            int released = 0;
            ViaArray view = null;
            Support.Elsewhere(() => { view = Exported(() => ++released).SliceAxis(0, 6, 2); });
            long before = ViaLibrary.Stats().LiveArrays;
            Support.EventuallyCollected(() => ViaLibrary.Stats().LiveArrays < before, "the array is collected");
            Assert.That(released, Is.EqualTo(0));
            view.Fill(5L);
            Assert.That(view.AsSpan<long>()[1], Is.EqualTo(5));
            view.Dispose();
            Assert.That(released, Is.EqualTo(1));
        }

        [Test]
        public void What_nobody_closes_is_given_up_after_it_was_collected()
        {
            int released = 0;
            Support.Elsewhere(() => { Exported(() => ++released); });
            Support.EventuallyCollected(() => released == 1, "the finalizer gives the array up");
        }

        [Test]
        public void A_managed_owner_is_kept_and_release()
        {
            WeakReference owner = null;
            ViaArray array = null;
            Support.Elsewhere(() =>
            {
                var numbers = new double[1000];
                owner = new WeakReference(numbers);
                array = ViaArray.Wrap(numbers);
            });
            Support.Collect();
            Assert.That(owner.IsAlive, Is.True);
            Support.Elsewhere(() =>
            {
                Assert.That(array.AsSpan<double>()[999], Is.EqualTo(0));
                array.Dispose();
            });
            Support.EventuallyCollected(() => !owner.IsAlive, "the owner is collected");
        }

        [Test]
        public void Closing_twice_gives_up_once()
        {
            int released = 0;
            ViaArray array = Exported(() => ++released);
            array.Dispose();
            array.Dispose();
            Support.Collect();
            Assert.That(released, Is.EqualTo(1));
            Assert.That(array.IsClosed, Is.True);
            Assert.That(array.ToString(), Is.EqualTo("closed array"));
        }

        [Test]
        public void Two_shares_are_closed_apart()
        {
            int released = 0;
            ViaArray array = Exported(() => ++released);
            ViaArray share = array.Share();
            array.Dispose();
            Assert.That(share.Size, Is.EqualTo(8));
            Assert.That(released, Is.EqualTo(0));
            share.Dispose();
            Assert.That(released, Is.EqualTo(1));
        }

        [Test]
        public void Any_thread_may_close()
        {
            int released = 0, on = 0;
            ViaArray array = Exported(() =>
            {
                ++released;
                on = Thread.CurrentThread.ManagedThreadId;
            });
            int closer = 0;
            Support.Elsewhere(() =>
            {
                closer = Thread.CurrentThread.ManagedThreadId;
                array.Dispose();
            });
            Assert.That(released, Is.EqualTo(1));
            Assert.That(on, Is.EqualTo(closer));
            Assert.Throws<ObjectDisposedException>(() => array.Share());
        }

        [Test]
        public void Closing_while_others_use_it_gives_up_after_them()
        {
            for (int round = 0; round < 10; ++round)
            {
                int released = 0, refused = 0, wrong = 0;
                ViaArray array = Exported(() => Interlocked.Increment(ref released));
                var start = new ManualResetEvent(false);
                var users = new Thread[2];
                for (int i = 0; i < users.Length; ++i)
                {
                    users[i] = new Thread(() =>
                    {
                        start.WaitOne();
                        try
                        {
                            for (;;)
                            {
                                if (array.Size != 8)
                                {
                                    Interlocked.Increment(ref wrong);
                                }
                            }
                        }
                        catch (ObjectDisposedException)
                        {
                            Interlocked.Increment(ref refused);
                        }
                    });
                    users[i].Start();
                }
                start.Set();
                Thread.Yield();
                array.Dispose();
                foreach (Thread user in users)
                {
                    user.Join();
                }
                Assert.That(wrong, Is.EqualTo(0));
                Assert.That(refused, Is.EqualTo(users.Length));
                Assert.That(released, Is.EqualTo(1));
            }
        }

        /// <summary>Whether an array reports what lies in native memory and behind a handle as it is, or is closed.</summary>
        private static bool IsRightOrClosed(ViaArray array, double[] owner)
        {
            try
            {
                return array.Owner == owner && array.Shape[0] == 3 && array.Strides[0] == 4
                    && array.ByteStrides[0] == 32;
            }
            catch (ObjectDisposedException)
            {
                return true;
            }
        }

        [Test]
        public void What_learns_of_an_array_is_right_though_another_thread_closes_it()
        {
            const int rounds = 20000;
            var owner = new double[12];
            int wrong = 0, turn = 0;
            ViaArray shared = null;
            var asking = new Thread(() =>
            {
                for (int round = 0; round < rounds; ++round)
                {
                    SpinWait.SpinUntil(() => Volatile.Read(ref turn) == 2 * round + 1);
                    wrong += IsRightOrClosed(shared, owner) ? 0 : 1;
                    Interlocked.Increment(ref turn);
                }
            });
            asking.Start();
            for (int round = 0; round < rounds; ++round)
            {
                shared = ViaArray.Wrap(owner, 3, 4);
                Interlocked.Increment(ref turn);
                Thread.SpinWait(round % 200);
                shared.Dispose();
                SpinWait.SpinUntil(() => Volatile.Read(ref turn) == 2 * round + 2);
            }
            asking.Join();
            Assert.That(wrong, Is.EqualTo(0));
        }

        [Test]
        public void Everything_refuses_to_be_used_after_it_was_closed()
        {
            ViaArray closed = Support.Grid();
            closed.Shape.ToArray();
            closed.Dispose();
            using (ViaArray open = Support.Grid())
            using (var batch = new ViaBatch())
            {
                Action[] uses =
                {
                    () => closed.Address.ToString(),
                    () => closed.DType.ToString(),
                    () => closed.Shape.ToArray(),
                    () => closed.Strides.ToArray(),
                    () => closed.Size.ToString(),
                    () => closed.Device.ToString(),
                    () => closed.IsContiguous(),
                    () => closed.Transpose(),
                    () => closed.Slice(null),
                    () => closed.Reshape(12),
                    () => closed.AsSpan<double>(),
                    () => closed.AsMemory<double>(),
                    () => closed.Fill(1.0),
                    () => closed.CopyTo(open),
                    () => open.CopyTo(closed),
                    () => closed.SubmitCopyTo(open),
                    () => closed.ToDlpack(),
                    () => closed.Share(),
                    () => closed.Owner.ToString(),
                    () => batch.Add(open, closed),
                    () => ViaBatch.Copy(new[] { open }, new[] { closed }, ViaStream.NoSync)
                };
                for (int i = 0; i < uses.Length; ++i)
                {
                    Assert.Throws<ObjectDisposedException>(() => uses[i](), "use " + i);
                }
                Assert.That(open.AsSpan<double>()[1], Is.EqualTo(1));
            }
        }

        [Test]
        public void Closed_tasks_batches_streams_and_memory_are_refused()
        {
            using (ViaArray from = Support.Grid())
            using (ViaArray to = from.Copy())
            {
                CopyTask task = from.SubmitCopyTo(to);
                task.Wait();
                task.Dispose();
                Assert.Throws<ObjectDisposedException>(() => task.Wait());
                Assert.Throws<ObjectDisposedException>(() => task.AsTask());
                var batch = new ViaBatch();
                batch.Dispose();
                Assert.Throws<ObjectDisposedException>(() => batch.Run());
                ViaMemory memory = ViaMemory.Create(MemoryKind.Host);
                memory.Dispose();
                Assert.Throws<ObjectDisposedException>(() => ViaArray.Empty(DType.Int8, new long[] { 4 }, memory));
            }
        }

        [Test]
        public void Nothing_is_null_that_must_not_be()
        {
            using (ViaArray grid = Support.Grid())
            {
                Assert.Throws<ArgumentNullException>(() => grid.CopyTo(null));
                Assert.Throws<ArgumentNullException>(() => grid.CopyTo(grid, null));
                Assert.Throws<ArgumentNullException>(() => ViaMemory.Create(Device.Cpu, null));
                Assert.Throws<ArgumentNullException>(() => ViaArray.FromArrayInterface(null));
                Assert.Throws<ArgumentNullException>(() => DType.Parse(null));
            }
        }

        [Test]
        public void A_million_wraps_and_closes_leave_nothing_behind()
        {
            long released = 0;
            IntPtr block = Marshal.AllocHGlobal(64);
            long[] shape = { 8 };
            Action count = () => ++released;
            Action<int> wrap = times =>
            {
                for (int i = 0; i < times; ++i)
                {
                    ViaArray.Wrap(block, DType.Int64, shape, null, null, WrapFlags.None, count).Dispose();
                }
            };
            wrap(1000000); // as many before, so that the collector has found its size
            Support.Collect();
            LibraryStats before = ViaLibrary.Stats();
            long resident = ResidentKilobytes();
            wrap(1000000);
            Support.Collect();
            LibraryStats after = ViaLibrary.Stats();
            Assert.That(released, Is.EqualTo(2000000));
            Assert.That(after.LiveArrays, Is.LessThanOrEqualTo(before.LiveArrays));
            Assert.That(after.LiveStorages, Is.LessThanOrEqualTo(before.LiveStorages));
            Assert.That(ResidentKilobytes() - resident, Is.LessThan(16 * 1024));
            Marshal.FreeHGlobal(block);
        }

        [Test]
        public void Many_that_nobody_closes_are_given_up_as_they_are_collected()
        {
            long released = 0;
            IntPtr block = Marshal.AllocHGlobal(64);
            Support.Elsewhere(() =>
            {
                long[] shape = { 8 };
                Action count = () => Interlocked.Increment(ref released);
                for (int i = 0; i < 100000; ++i)
                {
                    ViaArray.Wrap(block, DType.Int64, shape, null, null, WrapFlags.None, count);
                }
            });
            Support.EventuallyCollected(() => Interlocked.Read(ref released) == 100000, "all are given up");
            Marshal.FreeHGlobal(block);
        }

        [Test]
        public void A_thread_of_c_may_be_the_last_to_release()
        {
            int released = 0, on = 0;
            IntPtr tensor;
            using (ViaArray array = Exported(() =>
            {
                on = Thread.CurrentThread.ManagedThreadId;
                ++released;
            }))
            {
                tensor = array.ToDlpack();
            }
            Assert.That(released, Is.EqualTo(0));
            Assert.That(Probe.probe_delete_on_thread(tensor), Is.EqualTo(0));
            Assert.That(released, Is.EqualTo(1));
            Assert.That(on, Is.Not.EqualTo(Thread.CurrentThread.ManagedThreadId));
        }

        [Test]
        public void What_a_release_throws_is_reported_and_reaches_nobody_else()
        {
            Exception reported = null;
            Action<Exception> listener = failure => reported = failure;
            ViaLibrary.CallbackFailed += listener;
            try
            {
                IntPtr tensor;
                using (ViaArray array = Exported(() => { throw new InvalidOperationException("on purpose"); }))
                {
                    tensor = array.ToDlpack();
                }
                Assert.That(Probe.probe_delete_on_thread(tensor), Is.EqualTo(0));
                Assert.That(reported, Is.InstanceOf<InvalidOperationException>());
                Exported(() => { throw new InvalidOperationException("again"); }).Dispose();
                Assert.That(reported.Message, Is.EqualTo("again"));
            }
            finally
            {
                ViaLibrary.CallbackFailed -= listener;
            }
        }

        [Test]
        public void A_fault_in_a_release_is_an_exception_on_every_thread()
        {
            Exception reported = null;
            Action<Exception> listener = failure => reported = failure;
            string nothing = null;
            ViaLibrary.CallbackFailed += listener;
            try
            {
                IntPtr tensor;
                using (ViaArray array = Exported(() => { nothing.GetHashCode(); }))
                {
                    tensor = array.ToDlpack();
                }
                Assert.That(Probe.probe_delete_on_thread(tensor), Is.EqualTo(0));
                Assert.That(reported, Is.InstanceOf<NullReferenceException>());
            }
            finally
            {
                ViaLibrary.CallbackFailed -= listener;
            }
        }

        [Test]
        public void Threads_of_the_library_that_called_back_hold_up_no_collection()
        {
            using (ViaArray source = ViaArray.Empty(DType.Float64, 3, 4))
            using (ViaArray target = ViaArray.Empty(DType.Float64, 3, 4))
            {
                source.Clear();
                for (int round = 0; round < 200; ++round)
                {
                    using (CopyTask copy = source.SubmitCopyTo(target))
                    {
                        copy.AsTask().Wait();
                    }
                    GC.Collect(0);
                }
            }
            Support.Collect();
        }

        [Test]
        public void A_listener_that_fails_too_does_no_harm()
        {
            Action<Exception> listener = failure => { throw failure; };
            ViaLibrary.CallbackFailed += listener;
            try
            {
                Exported(() => { throw new InvalidOperationException("on purpose"); }).Dispose();
            }
            finally
            {
                ViaLibrary.CallbackFailed -= listener;
            }
        }
    }
}
