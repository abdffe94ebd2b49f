using System;
using System.Diagnostics;
using System.Globalization;
using System.Runtime.InteropServices;

namespace Viaduct.Bench
{
    /// <summary>
    /// What the smallest calls from C# cost: rows of JSON, one a line, for bench.py. An empty P/Invoke call with a
    /// SafeHandle and the same work in C are timed in turns with ours, so that a slower moment of the machine falls on
    /// all.
    /// </summary>
    internal static class BenchCSharp
    {
        private const int Calls = 100000;
        private const int WarmUp = 5;
        private const int Repetitions = 41;
        private const string EmptyCall = "empty P/Invoke call (SafeHandle)";

        private static readonly long[] Shape = { 64, 64 };
        private static readonly ViaArray Exported = ViaArray.Empty(DType.Float32, 64, 64);
        private static readonly ViaArray Small = ViaArray.Empty(DType.UInt8, 16);
        private static readonly ViaArray Large = ViaArray.Empty(DType.UInt8, 256 << 20);
        private static readonly IntPtr Pixels = Exported.Address;
        private static readonly SafeHandle Handle = ViaHandle.Of(Exported, "exported");

        // The sum of the loops, so that none of them is left out.
        private static long sink;

        [DllImport("bench_csharp")]
        private static extern void bench_empty(SafeHandle handle);

        [DllImport("bench_csharp")]
        private static extern int bench_wrap_and_release(int count);

        private static void EmptyCalls(int count)
        {
            for (int i = 0; i < count; ++i)
            {
                bench_empty(Handle);
            }
        }

        private static void Getters(int count)
        {
            for (int i = 0; i < count; ++i)
            {
                sink += Exported.Size;
            }
        }

        private static void WrapsAndCloses(int count)
        {
            for (int i = 0; i < count; ++i)
            {
                ViaArray.Wrap(Pixels, DType.Float32, Shape).Dispose();
            }
        }

        private static void Exports(int count)
        {
            for (int i = 0; i < count; ++i)
            {
                ViaArray.DeleteDlpack(Exported.ToDlpack());
            }
        }

        private static void Spans(ViaArray array, int count)
        {
            for (int i = 0; i < count; ++i)
            {
                sink += array.AsSpan<byte>().Length;
            }
        }

        // What three times the work in C and two empty calls take, as one loop.
        private static void ThreeTimesCAndTwoCalls(int count)
        {
            for (int i = 0; i < 3; ++i)
            {
                if (bench_wrap_and_release(count) < 0)
                {
                    throw new InvalidOperationException("a wrap in C failed");
                }
            }
            EmptyCalls(2 * count);
        }

        private static double PerCall(Action<int> loop)
        {
            Stopwatch watch = Stopwatch.StartNew();
            loop(Calls);
            return watch.Elapsed.TotalMilliseconds * 1e6 / Calls;
        }

        private static string MedianOf(double[] values)
        {
            Array.Sort(values);
            return values[values.Length / 2].ToString("F2", CultureInfo.InvariantCulture);
        }

        // Nanoseconds of ours and of the peer's, of repetitions that take turns.
        private static void Row(string name, Action<int> ours, string peer, Action<int> peers, string target)
        {
            var mine = new double[Repetitions];
            var theirs = new double[Repetitions];
            for (int i = -WarmUp; i < Repetitions; ++i)
            {
                theirs[Math.Max(i, 0)] = PerCall(peers);
                mine[Math.Max(i, 0)] = PerCall(ours);
            }
            Console.WriteLine(
                "{\"case\": \"C#: " + name + "\", \"unit\": \"ns\", \"viaduct\": " + MedianOf(mine) + ", \"peers\": {\""
                + peer + "\": " + MedianOf(theirs) + "}, \"limit\": null, \"target\": " + target + "}");
        }

        private static string NoMoreThan(string peer, string ratio)
        {
            return "{\"peer\": \"" + peer + "\", \"at_most\": " + ratio + "}";
        }

        private static void Main()
        {
            const string Sum = "3 x C + 2 empty calls";
            Row("array.Size", Getters, EmptyCall, EmptyCalls, NoMoreThan(EmptyCall, "1.6"));
            Row("wrap + close, 2-D", WrapsAndCloses, Sum, ThreeTimesCAndTwoCalls, NoMoreThan(Sum, "1"));
            Row("DLPack export + delete", Exports, EmptyCall, EmptyCalls, "null");
            Row(
                "array.AsSpan of 256 MiB", count => Spans(Large, count), "of 16 bytes", count => Spans(Small, count),
                NoMoreThan("of 16 bytes", "1.5"));
        }
    }
}
