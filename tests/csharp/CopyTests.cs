using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using NUnit.Framework;

namespace Viaduct.Tests
{
    [TestFixture]
    public class CopyTests
    {
        private static readonly double[] Transposed = { 0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11 };

        [Test]
        public void A_copy_takes_any_layout()
        {
            using (ViaArray grid = Support.Grid())
            using (ViaArray transposed = grid.Transpose())
            using (ViaArray target = ViaArray.Empty(DType.Float64, 4, 3))
            {
                transposed.CopyTo(target);
                Assert.That(target.AsSpan<double>().ToArray(), Is.EqualTo(Transposed));
                Assert.That(transposed.ExplainCopyTo(target), Contains.Substring("route: ").And.Contains("bytes: 96"));
            }
        }

        [Test]
        public void Copy_makes_a_dense_array_of_its_own()
        {
            using (ViaArray grid = Support.Grid())
            using (ViaArray transposed = grid.Transpose())
            using (ViaArray copied = transposed.Copy())
            {
                grid.Clear();
                Assert.That(copied.IsContiguous(), Is.True);
                Assert.That(copied.ToArray<double>(), Is.EqualTo(Transposed));
                Assert.That(grid.ToArray<double>(), Is.EqualTo(new double[12]));
            }
        }

        [Test]
        public void What_does_not_fit_is_refused_by_kind()
        {
            using (ViaArray grid = Support.Grid())
            using (ViaArray other = ViaArray.Empty(DType.Float64, 12))
            using (ViaArray narrow = ViaArray.Empty(DType.Float32, 3, 4))
            using (ViaArray readOnly = other.Reshape(3, 4).AsReadOnly())
            using (ViaArray left = grid.SliceAxis(1, 0, 3))
            using (ViaArray right = grid.SliceAxis(1, 1, 3))
            {
                Assert.Throws<ViaShapeException>(() => grid.CopyTo(other));
                Assert.Throws<ViaDTypeException>(() => grid.CopyTo(narrow));
                Assert.Throws<ViaReadOnlyException>(() => grid.CopyTo(readOnly));
                Assert.Throws<ViaOverlapException>(() => left.CopyTo(right));
                Assert.Throws<ViaShapeException>(() => grid.SubmitCopyTo(other));
            }
        }

        [Test]
        public void Rows_are_copied_by_index()
        {
            using (ViaArray grid = Support.Grid())
            using (ViaArray target = grid.Copy())
            using (ViaArray rows = ViaArray.Empty(DType.Int32, 1))
            using (var batch = new ViaBatch())
            {
                rows.Fill(2);
                target.Clear();
                grid.CopyIndexedTo(target, null, rows);
                Assert.That(target.Select(0, 0).ToArray<double>(), Is.EqualTo(grid.Select(0, 2).ToArray<double>()));
                using (CopyTask copy = grid.SubmitCopyIndexedTo(target, rows, null, 1))
                {
                    copy.Wait();
                }
                Assert.That(target.Select(1, 2).Copy().ToArray<double>(),
                    Is.EqualTo(grid.Select(1, 0).Copy().ToArray<double>()));
                batch.AddIndexed(target, rows, grid, null);
                batch.Run();
                Assert.That(target.Select(0, 2).ToArray<double>(), Is.EqualTo(grid.Select(0, 0).ToArray<double>()));
            }
        }

        [Test]
        public void Filling_takes_every_type_of_element()
        {
            using (ViaArray bools = ViaArray.Empty(DType.Bool, 5))
            using (ViaArray shorts = ViaArray.Empty(DType.Int16, 5))
            using (ViaArray records = ViaArray.Empty(DType.Of<Guid>(), 5))
            {
                bools.Fill(true);
                shorts.Fill<short>(-3);
                Guid value = Guid.NewGuid();
                records.Fill(value);
                Assert.That(bools.AsSpan<bool>()[4], Is.True);
                Assert.That(shorts.AsSpan<short>()[4], Is.EqualTo(-3));
                Assert.That(records.AsSpan<Guid>()[4], Is.EqualTo(value));
                records.Clear();
                Assert.That(records.ToArray<Guid>()[4], Is.EqualTo(Guid.Empty));
            }
        }

        [Test]
        public void Bytes_are_copied_between_addresses()
        {
            using (ViaArray grid = Support.Grid())
            using (ViaArray target = ViaArray.Empty(DType.Float64, 12))
            {
                ViaLibrary.CopyBytes(target.Address, grid.Address, 96);
                Assert.That(target.ToArray<double>(), Is.EqualTo(Support.Numbers(12)));
                Assert.Throws<ViaInvalidArgumentException>(
                    () => ViaLibrary.CopyBytes(target.Address, grid.Address, -1));
            }
        }

        [Test]
        public async Task A_copy_can_be_awaited()
        {
            using (ViaArray source = ViaArray.Empty(DType.Float64, 1000, 1000))
            using (ViaArray transposed = source.Transpose())
            using (ViaArray target = ViaArray.Empty(DType.Float64, 1000, 1000))
            {
                source.Fill(2.5);
                await transposed.CopyToAsync(target);
                Assert.That(target.AsSpan<double>()[999999], Is.EqualTo(2.5));
            }
        }

        [Test]
        public async Task Who_awaits_never_goes_on_on_a_thread_of_the_library()
        {
            int caller = Thread.CurrentThread.ManagedThreadId;
            using (ViaArray source = ViaArray.Empty(DType.Float64, 4000000))
            using (ViaArray target = ViaArray.Empty(DType.Float64, 4000000))
            {
                source.Clear();
                await source.CopyToAsync(target).ConfigureAwait(false);
                // Who finds it done already goes on at once.
                bool isCaller = Thread.CurrentThread.ManagedThreadId == caller;
                Assert.That(isCaller || Thread.CurrentThread.IsThreadPoolThread, Is.True);
                // On a thread of the library this would be refused.
                using (CopyTask again = source.SubmitCopyTo(target))
                {
                    again.Wait();
                }
            }
        }

        [Test]
        public async Task Every_task_of_one_copy_is_the_same()
        {
            using (ViaArray grid = Support.Grid())
            using (ViaArray target = ViaArray.Empty(DType.Float64, 3, 4))
            using (CopyTask copy = grid.SubmitCopyTo(target))
            {
                Task first = copy.AsTask();
                Assert.That(copy.AsTask(), Is.SameAs(first));
                await copy;
                await first;
                copy.Wait();
                Assert.That(copy.IsCompleted, Is.True);
                long done, total;
                copy.GetProgress(out done, out total);
                Assert.That(done, Is.EqualTo(96));
                Assert.That(total, Is.EqualTo(96));
                using (CopyTask share = copy.Share())
                {
                    Assert.That(share.AsTask(), Is.SameAs(first));
                }
            }
        }

        [Test]
        public async Task Shares_of_one_copy_are_awaited_in_any_order()
        {
            using (ViaArray grid = Support.Grid())
            using (ViaArray target = ViaArray.Empty(DType.Float64, 3, 4))
            using (CopyTask copy = grid.SubmitCopyTo(target))
            using (CopyTask share = copy.Share())
            using (CopyTask closed = copy.Share())
            {
                closed.Dispose();
                Assert.Throws<ObjectDisposedException>(() => closed.AsTask());
                await share;
                await copy;
                Assert.That(copy.AsTask(), Is.SameAs(share.AsTask()));
            }
        }

        /// <summary>On a thread, asks for the end of a copy as one closes it; null if it was closed.</summary>
        private static Task EndOf(CopyTask share)
        {
            try
            {
                return share.AsTask();
            }
            catch (ObjectDisposedException)
            {
                return null;
            }
        }

        [Test]
        public void A_share_that_is_closed_as_others_ask_leaves_nobody_waiting()
        {
            using (ViaArray grid = Support.Grid())
            using (ViaArray target = ViaArray.Empty(DType.Float64, 3, 4))
            {
                for (int round = 0; round < 300; ++round)
                {
                    using (CopyTask copy = grid.SubmitCopyTo(target))
                    {
                        CopyTask share = copy.Share();
                        Task<Task> asked = Task.Factory.StartNew(() => EndOf(share));
                        Task<Task> askedToo = Task.Factory.StartNew(() => EndOf(copy));
                        share.Dispose();
                        Assert.That(askedToo.Result.Wait(10000), Is.True);
                        Assert.That(asked.Result, Is.Null.Or.SameAs(askedToo.Result));
                    }
                }
            }
        }

        [Test]
        public void A_task_that_was_closed_still_ends()
        {
            Task end;
            using (ViaArray source = ViaArray.Empty(DType.Float64, 2000000))
            using (ViaArray target = ViaArray.Empty(DType.Float64, 2000000))
            {
                source.Clear();
                using (CopyTask copy = source.SubmitCopyTo(target))
                {
                    end = copy.AsTask();
                }
            }
            Assert.That(end.Wait(10000), Is.True);
            Assert.That(end.Status, Is.EqualTo(TaskStatus.RanToCompletion));
        }

        [Test]
        public void Thousands_of_tasks_all_end()
        {
            using (ViaArray grid = Support.Grid())
            {
                var targets = new ViaArray[2000];
                var ends = new Task[targets.Length];
                for (int i = 0; i < targets.Length; ++i)
                {
                    targets[i] = ViaArray.Empty(DType.Float64, 3, 4);
                    ends[i] = grid.CopyToAsync(targets[i]);
                }
                Assert.That(Task.WaitAll(ends, 20000), Is.True);
                foreach (ViaArray target in targets)
                {
                    Assert.That(target.AsSpan<double>()[11], Is.EqualTo(11));
                    target.Dispose();
                }
            }
        }

        [Test]
        public void A_cancelled_copy_is_a_cancelled_task()
        {
            var cancelled = new CancellationTokenSource();
            using (ViaArray source = ViaArray.Empty(DType.Float64, 30, 1000, 1000))
            using (ViaArray transposed = source.Permute(2, 0, 1))
            using (ViaArray target = ViaArray.Empty(DType.Float64, 1000, 30, 1000))
            {
                source.Clear();
                Task end = transposed.CopyToAsync(target, null, cancelled.Token);
                cancelled.Cancel();
                try
                {
                    end.GetAwaiter().GetResult();
                    Assert.Inconclusive("the copy had ended before it could be cancelled");
                }
                catch (OperationCanceledException reason)
                {
                    Assert.That(end.IsCanceled, Is.True);
                    Assert.That(reason.CancellationToken, Is.EqualTo(cancelled.Token));
                }
                Task never = transposed.CopyToAsync(target, null, cancelled.Token);
                Assert.That(never.IsCanceled, Is.True);
            }
        }

        private sealed class Reports : IProgress<long>
        {
            internal readonly List<long> Bytes = new List<long>();

            public void Report(long value)
            {
                Bytes.Add(value);
            }
        }

        [Test]
        public void A_copy_reports_what_it_has_moved()
        {
            var reports = new Reports();
            using (ViaArray source = ViaArray.Empty(DType.Float64, 30, 1000, 1000))
            using (ViaArray transposed = source.Permute(2, 0, 1))
            using (ViaArray target = ViaArray.Empty(DType.Float64, 1000, 30, 1000))
            {
                source.Clear();
                using (CopyTask copy = transposed.SubmitCopyTo(target))
                {
                    Assert.That(copy.AsTask(CancellationToken.None, reports).Wait(20000), Is.True);
                }
                Assert.That(reports.Bytes, Is.Ordered);
                Assert.That(reports.Bytes[reports.Bytes.Count - 1], Is.EqualTo(target.NBytes));
                reports.Bytes.Clear();
                Assert.That(transposed.CopyToAsync(target, progress: reports).Wait(20000), Is.True);
                Assert.That(reports.Bytes[reports.Bytes.Count - 1], Is.EqualTo(target.NBytes));
            }
        }

        [Test]
        public void A_token_may_be_cancelled_after_the_copy_was_closed()
        {
            var cancelled = new CancellationTokenSource();
            using (ViaArray source = ViaArray.Empty(DType.Float64, 30, 1000, 1000))
            using (ViaArray transposed = source.Permute(2, 0, 1))
            using (ViaArray target = ViaArray.Empty(DType.Float64, 1000, 30, 1000))
            {
                CopyTask copy = transposed.SubmitCopyTo(target);
                Task end = copy.AsTask(cancelled.Token);
                copy.Dispose();
                Assert.DoesNotThrow(cancelled.Cancel);
                Support.Eventually(() => end.IsCompleted, "the copy ends");
                Assert.That(end.IsFaulted, Is.False);
            }
        }

        [Test]
        public void Waiting_for_a_cancelled_copy_throws_its_kind()
        {
            using (ViaArray source = ViaArray.Empty(DType.Float64, 30, 1000, 1000))
            using (ViaArray transposed = source.Permute(2, 0, 1))
            using (ViaArray target = ViaArray.Empty(DType.Float64, 1000, 30, 1000))
            {
                source.Clear();
                using (CopyTask copy = transposed.SubmitCopyTo(target))
                {
                    copy.Cancel();
                    Assert.Throws<ViaCancelledException>(() => copy.Wait());
                }
            }
        }

        [Test]
        public async Task A_batch_runs_and_is_awaited_again_and_again()
        {
            using (ViaArray grid = Support.Grid())
            using (ViaArray whole = ViaArray.Empty(DType.Float64, 3, 4))
            using (ViaArray transposed = grid.Transpose())
            using (ViaArray transposedTarget = ViaArray.Empty(DType.Float64, 4, 3))
            using (var batch = new ViaBatch())
            {
                var reports = new Reports();
                batch.Add(whole, grid);
                batch.Add(transposedTarget, transposed);
                Assert.That(batch.Count, Is.EqualTo(2));
                for (int i = 0; i < 3; ++i)
                {
                    whole.Clear();
                    transposedTarget.Clear();
                    await batch.RunAsync(null, CancellationToken.None, reports);
                    Assert.That(reports.Bytes[reports.Bytes.Count - 1], Is.EqualTo(whole.NBytes + transposedTarget.NBytes));
                    Assert.That(whole.ToArray<double>(), Is.EqualTo(Support.Numbers(12)));
                    Assert.That(transposedTarget.ToArray<double>(), Is.EqualTo(Transposed));
                }
                using (ViaBatch share = batch.Share())
                using (CopyTask copies = share.Submit())
                {
                    copies.Wait();
                }
                Assert.Throws<ViaShapeException>(() => batch.Add(whole, transposed));
                Assert.That(batch.Count, Is.EqualTo(2));
            }
        }

        [Test]
        public void A_batch_converts_next_to_its_copies()
        {
            using (ViaArray grid = Support.Grid())
            using (ViaArray target = ViaArray.Empty(DType.Float64, 3, 4))
            using (ViaArray floats = ViaArray.Empty(DType.Float32, 3, 4))
            using (ViaArray whole = ViaArray.Empty(DType.Int32, 3, 4))
            using (var batch = new ViaBatch())
            {
                batch.Add(target, grid);
                batch.AddConvert(floats, grid, new ConvertOptions { Scale = new[] { 2.0f } });
                batch.AddConvert(whole, grid, new ConvertOptions { Casting = Casting.Unsafe });
                batch.Run();
                Assert.That(target.ToArray<double>(), Is.EqualTo(Support.Numbers(12)));
                Assert.That(floats.ToArray<float>(), Is.EqualTo(Support.Numbers(12).Select(one => 2 * one)));
                Assert.That(whole.ToArray<int>(), Is.EqualTo(Support.Numbers(12)));
                Assert.Throws<ViaDTypeException>(() => batch.AddConvert(whole, grid));
                Assert.That(batch.Count, Is.EqualTo(3));
            }
        }

        [Test]
        public void A_batch_holds_its_arrays()
        {
            var target = new double[12];
            using (var batch = new ViaBatch())
            {
                using (ViaArray grid = Support.Grid())
                using (ViaArray wrapped = ViaArray.Wrap(target, 3, 4))
                {
                    batch.Add(wrapped, grid);
                }
                Support.Collect();
                batch.Run();
            }
            Assert.That(target, Is.EqualTo(Support.Numbers(12)));
        }

        /// <summary>A list that another thread changes: each time somebody looks at it there is another array.</summary>
        private sealed class Changing : IReadOnlyList<ViaArray>
        {
            private readonly ViaArray[] arrays;
            private int looks;

            internal Changing(params ViaArray[] arrays)
            {
                this.arrays = arrays;
            }

            public int Count
            {
                get { return 1 + looks; }
            }

            public ViaArray this[int index]
            {
                get { return arrays[looks++]; }
            }

            public IEnumerator<ViaArray> GetEnumerator()
            {
                yield return this[0];
            }

            IEnumerator IEnumerable.GetEnumerator()
            {
                return GetEnumerator();
            }
        }

        private static void CopyChanging(Action<Changing, Changing> copy)
        {
            using (ViaArray grid = Support.Grid())
            using (ViaArray first = ViaArray.Empty(DType.Float64, 3, 4))
            using (ViaArray second = ViaArray.Empty(DType.Float64, 3, 4))
            {
                second.Clear();
                copy(new Changing(first, second), new Changing(grid, second));
                Assert.That(first.ToArray<double>(), Is.EqualTo(Support.Numbers(12)));
                Assert.That(second.ToArray<double>(), Is.EqualTo(new double[12]));
            }
        }

        [Test]
        public void A_list_that_changes_is_read_once()
        {
            CopyChanging((to, from) => ViaBatch.Copy(to, from));
        }

        [Test]
        public void A_list_that_changes_is_read_once_for_a_stream_too()
        {
            Support.NeedsCuda();
            CopyChanging((to, from) => ViaBatch.Copy(to, from, ViaStream.Legacy));
        }

        [Test]
        public void Pairs_are_copied_in_one_call()
        {
            using (ViaArray grid = Support.Grid())
            using (ViaArray first = ViaArray.Empty(DType.Float64, 3, 4))
            using (ViaArray second = ViaArray.Empty(DType.Float64, 3, 4))
            {
                ViaBatch.Copy(new[] { first, second }, new[] { grid, grid });
                Assert.That(second.ToArray<double>(), Is.EqualTo(Support.Numbers(12)));
                Assert.Throws<ViaInvalidArgumentException>(() => ViaBatch.Copy(new[] { first }, new[] { grid, grid }));
                Assert.Throws<ArgumentNullException>(
                    () => ViaBatch.Copy(new[] { first, null }, new[] { grid, grid }));
                Assert.That(
                    Assert.Throws<ArgumentNullException>(
                        () => ViaBatch.Copy(new[] { first, null }, new[] { grid, grid }, ViaStream.Legacy)).Message,
                    Contains.Substring("destinations[1] is null; expected an array"));
            }
        }
    }
}
