using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;

namespace Viaduct.Tests
{
    /// <summary>A program that ends in the middle of things; EndingTests runs it in a process of its own.</summary>
    internal static class Ending
    {
        private static readonly List<object> Held = new List<object>();
        private static readonly IntPtr Memory = Marshal.AllocHGlobal(48);

        [DllImport("viaduct_csharp_probe")]
        private static extern int probe_delete_behind(IntPtr tensor);

        [DllImport("viaduct_csharp_probe")]
        private static extern int probe_delete_and_stay(IntPtr first, IntPtr second);

        [DllImport("viaduct_csharp_probe")]
        private static extern void probe_delete_at_exit(IntPtr tensor);

        private sealed class Blocks : IViaAllocator
        {
            public IntPtr Allocate(long nbytes, long alignment, IntPtr stream)
            {
                long address = (long)Marshal.AllocHGlobal((IntPtr)(nbytes + alignment));
                return (IntPtr)((address + alignment - 1) / alignment * alignment);
            }

            public void Free(IntPtr address, long nbytes, IntPtr stream)
            {
            }
        }

        private static ViaArray Exported(Action release)
        {
            return ViaArray.Wrap(Memory, DType.Float32, new long[] { 12 }, null, null, WrapFlags.None, release);
        }

        private static ViaArray Reported()
        {
            return Exported(() => Console.WriteLine("released"));
        }

        private static void HoldEverything()
        {
            ViaArray array = Reported();
            Held.Add(array);
            Held.Add(array.Slice(new long[] { 1 }, null, null));
            Held.Add(array.ToDlpack());
            Held.Add(ViaArray.Wrap(new double[1000]));
            Held.Add(ViaArray.Empty(DType.UInt8, new long[] { 1 << 10 }, ViaMemory.Create(Device.Cpu, new Blocks())));
        }

        private static void Background(Action work)
        {
            new Thread(() => work()) { IsBackground = true }.Start();
        }

        private static void CopyOnAndOn()
        {
            ViaArray source = ViaArray.Empty(DType.UInt8, 64 << 20);
            ViaArray target = ViaArray.Empty(DType.UInt8, 64 << 20);
            Background(() =>
            {
                while (true)
                {
                    source.CopyTo(target);
                }
            });
            Held.Add(source.SubmitCopyTo(target).AsTask().ContinueWith(done => Console.Write("")));
        }

        private static void LeaveOnAndOn()
        {
            Background(() =>
            {
                while (true)
                {
                    using (ViaArray array = Exported(() => { }))
                    {
                        probe_delete_behind(array.ToDlpack());
                    }
                }
            });
            Thread.Sleep(50);
        }

        private static void LeaveToAThreadThatStays()
        {
            using (ViaArray first = Reported())
            using (ViaArray second = Reported())
            {
                IntPtr exported = first.ToDlpack();
                IntPtr exportedToo = second.ToDlpack();
                first.Dispose();
                second.Dispose();
                probe_delete_and_stay(exported, exportedToo);
            }
        }

        private static void LeaveToC()
        {
            using (ViaArray array = Reported())
            using (ViaArray own = ViaArray.Empty(DType.Float32, 12))
            {
                probe_delete_at_exit(array.ToDlpack());
                probe_delete_at_exit(own.ToDlpack());
            }
        }

        private static void UseInAHandler()
        {
            AppDomain.CurrentDomain.ProcessExit += (sender, arguments) =>
            {
                using (ViaArray array = Reported())
                using (ViaArray copied = ViaArray.Empty(DType.Float32, 12))
                {
                    array.CopyTo(copied);
                    Console.WriteLine(copied.Size);
                }
            };
        }

        private static void FailInARelease()
        {
            ViaLibrary.CallbackFailed += failure => Console.WriteLine(failure.Message);
            Exported(() => { throw new InvalidOperationException("refuses to end"); }).Dispose();
            Console.WriteLine("went on");
        }

        private static void ReportLayers()
        {
            ViaLibrary.Stats();
            var paths = File.ReadLines("/proc/self/maps").Select(line => line.Substring(line.LastIndexOf(' ') + 1));
            foreach (string path in paths.Where(path => path.EndsWith("libviaduct_csharp.so")).Distinct())
            {
                Console.WriteLine(path);
            }
        }

        /// <summary>Uses the library in an AppDomain of its own.</summary>
        private sealed class Guest : MarshalByRefObject
        {
            public IntPtr Export()
            {
                using (ViaArray array = Reported())
                using (ViaArray target = ViaArray.Empty(DType.Float32, 12))
                {
                    array.CopyToAsync(target).Wait();
                    return array.ToDlpack();
                }
            }
        }

        // What the first domain has begun ends in it, what outlives the other is let go, and the memory of both.
        private static void UnloadADomain()
        {
#pragma warning disable SYSLIB0024 // of Mono only
            ViaArray before = Reported();
            AppDomain domain = AppDomain.CreateDomain("guest");
            var guest = (Guest)domain.CreateInstanceAndUnwrap(typeof(Guest).Assembly.FullName, typeof(Guest).FullName);
            ViaArray.DeleteDlpack(guest.Export());
            IntPtr left = guest.Export();
            before.Dispose();
            AppDomain.Unload(domain);
#pragma warning restore SYSLIB0024
            ViaArray.DeleteDlpack(left);
            ViaArray.DeleteDlpack(new Guest().Export());
            Console.WriteLine(ViaLibrary.Stats().LiveStorages);
        }

        private static void Start(string what)
        {
            switch (what)
            {
                case "held": HoldEverything(); break;
                case "copies": CopyOnAndOn(); break;
                case "threads": LeaveOnAndOn(); break;
                case "stays": LeaveToAThreadThatStays(); break;
                case "left": LeaveToC(); break;
                case "layers": ReportLayers(); break;
                case "handler": UseInAHandler(); break;
                case "failure": FailInARelease(); break;
                case "domains": UnloadADomain(); break;
                default: throw new ArgumentException(what);
            }
        }

        /// <summary>What is begun, and how the program ends: by "exit" or "return".</summary>
        private static void Main(string[] arguments)
        {
            Start(arguments[0]);
            if (arguments[1] == "exit")
            {
                Environment.Exit(0);
            }
        }
    }
}
