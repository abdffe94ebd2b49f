using System;
using System.Globalization;
using System.Runtime.InteropServices;
using System.Threading.Tasks;
using Viaduct;

/// <summary>
/// A GPU array to the CPU by pointers: at once, on a stream, and one field of an array of structs. Next to each call, the
/// CUDA runtime's, by P/Invoke: it takes bytes which lie together, and memory that does not move, so that a managed
/// array has to be pinned for it by hand. Without a GPU both ends are host memory, and the same calls serve.
/// </summary>
internal static class GpuToHost
{
    private const int Count = 1 << 16;

    [StructLayout(LayoutKind.Sequential)]
    private struct Particle
    {
        internal float X;
        internal float Y;
        internal int Id;
        internal double Mass;
    }

    private static void Main()
    {
        bool onGpu = ViaLibrary.DeviceCount(DeviceType.Cuda) > 0;
        Say(onGpu ? "the particles are on a GPU"
            : "there is no CUDA device, so the particles are in host memory instead");
        long[] shape = { Count };
        DType particle = DType.Record(Marshal.SizeOf(typeof(Particle)));
        using (ViaMemory memory = ViaMemory.Create(onGpu ? MemoryKind.Device : MemoryKind.Host))
        using (ViaArray simulation = ViaArray.Empty(particle, shape, memory))
        {
            Simulate(simulation);
            AtOnce(simulation.Address);
            OnAStream(simulation, onGpu ? ViaStream.Legacy : null).Wait();
            OneField(simulation);
        }
    }

    private static void Say(FormattableString text)
    {
        Console.WriteLine(text.ToString(CultureInfo.InvariantCulture));
    }

    private static void Say(string text)
    {
        Console.WriteLine(text);
    }

    private static void Simulate(ViaArray simulation)
    {
        var start = new Particle[Count];
        for (int i = 0; i < Count; ++i)
        {
            start[i] = new Particle { X = i, Y = 2 * i, Id = i, Mass = i / 2.0 };
        }
        using (ViaArray particles = ViaArray.Wrap(start))
        {
            particles.CopyTo(simulation);
        }
    }

    // cudaMemcpy(host, device, nbytes, cudaMemcpyDeviceToHost)
    private static void AtOnce(IntPtr device)
    {
        var host = new Particle[Count];
        using (ViaArray pinned = ViaArray.Wrap(host)) // until it is closed
        {
            ViaLibrary.CopyBytes(pinned.Address, device, pinned.NBytes);
        }
        Say($"at once: number 9 has x {host[9].X}, mass {host[9].Mass}");
    }

    // cudaMemcpyAsync(host, device, nbytes, cudaMemcpyDeviceToHost, stream), which waits if `host` is not pinned
    private static async Task OnAStream(ViaArray simulation, ViaStream stream)
    {
        var host = new Particle[Count];
        using (ViaArray pinned = ViaArray.Wrap(host))
        {
            await simulation.CopyToAsync(pinned, stream); // after the stream's work so far; no thread waits
        }
        Say($"after the stream's work: number 10 has y {host[10].Y}");
    }

    // cudaMemcpy2D(masses, 8, device + 16, 24, 8, count, cudaMemcpyDeviceToHost)
    private static void OneField(ViaArray simulation)
    {
        var masses = new double[Count];
        long offset = Marshal.OffsetOf(typeof(Particle), "Mass").ToInt64();
        using (ViaArray field = simulation.Field(offset, DType.Float64))
        using (ViaArray pinned = ViaArray.Wrap(masses))
        {
            field.CopyTo(pinned);
            Say($"the masses alone, {pinned.NBytes} of {simulation.NBytes} bytes: number 11 has {masses[11]}");
        }
    }
}
