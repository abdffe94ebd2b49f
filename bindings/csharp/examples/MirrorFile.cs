using System;
using System.Threading.Tasks;
using Viaduct;

/// <summary>
/// A file larger than memory, worked on by blocks on the GPU: `MirrorFile IN.npy OUT.npy` turns the rows of a table
/// around. While one block is worked on the next is read, and the result of the last is written; two blocks and their
/// results are all the memory that it takes, none of it the collector's. The usual loop, FileStream.Read, cudaMemcpy,
/// the work, cudaMemcpy and FileStream.Write, has the disk, the link and the GPU wait for one another. Without a GPU the
/// blocks are host memory.
/// </summary>
internal sealed class MirrorFile : IDisposable
{
    private const long BlockBytes = 8 << 20;

    private readonly ViaFile input;
    private readonly ViaFile output;
    private readonly long rows;
    private readonly long columns;
    private readonly long blockRows;
    private readonly ViaStream stream;
    private readonly Slot[] slots = { new Slot(), new Slot() };

    /// <summary>A block, its result, and what is under way with them.</summary>
    private sealed class Slot
    {
        internal ViaArray Block;
        internal ViaArray Result;
        internal Task Read = Task.FromResult(0);
        internal Task Write = Task.FromResult(0);
    }

    private MirrorFile(string from, string to)
    {
        input = ViaFile.Open(from);
        FileProperties found = input.Info();
        if (found.Shape.Length != 2 || found.IsColumnMajor)
        {
            throw new ArgumentException("MirrorFile takes a .npy file of rows");
        }
        rows = found.Shape[0];
        columns = found.Shape[1];
        long rowBytes = columns * found.DType.Bits / 8;
        blockRows = Math.Max(1, Math.Min(rows, BlockBytes / Math.Max(1, rowBytes)));
        output = ViaFile.Create(to, found.DType, found.Shape);
        stream = ViaLibrary.DeviceCount(DeviceType.Cuda) > 0 ? ViaStream.Create(0) : null;
        MakeSlots(found.DType);
    }

    private void MakeSlots(DType dtype)
    {
        long[] shape = { blockRows, columns };
        using (ViaMemory memory = ViaMemory.Create(stream == null ? MemoryKind.Host : MemoryKind.Device))
        {
            foreach (Slot slot in slots)
            {
                slot.Block = ViaArray.Empty(dtype, shape, memory);
                slot.Result = ViaArray.Empty(dtype, shape, memory);
            }
        }
    }

    private static int Main(string[] arguments)
    {
        if (arguments.Length != 2)
        {
            Console.Error.WriteLine("usage: MirrorFile IN.npy OUT.npy");
            return 2;
        }
        using (var mirror = new MirrorFile(arguments[0], arguments[1]))
        {
            mirror.Run().Wait();
        }
        return 0;
    }

    private async Task Run()
    {
        Console.WriteLine(stream == null ? "there is no CUDA device, so the blocks are in host memory instead"
            : "the blocks are on a GPU");
        StartRead(0);
        for (long first = 0; first < rows; first += blockRows)
        {
            StartRead(first + blockRows);
            Slot slot = SlotOf(first);
            await slot.Read;
            await slot.Write; // of the result that was here before
            using (ViaArray result = PartOf(slot.Result, first))
            using (ViaFile place = RowsOf(output, first))
            {
                TurnAround(slot, first, result);
                slot.Write = place.WriteAsync(result, 0, stream); // after the stream's work
            }
        }
        await Task.WhenAll(slots[0].Write, slots[1].Write);
        Console.WriteLine(rows + " rows in blocks of " + blockRows);
    }

    private Slot SlotOf(long first)
    {
        return slots[first / blockRows % slots.Length];
    }

    // Of the last block there may be less.
    private ViaArray PartOf(ViaArray whole, long first)
    {
        return whole.SliceAxis(0, 0, Math.Min(blockRows, rows - first));
    }

    private ViaFile RowsOf(ViaFile file, long first)
    {
        return file.Window(new[] { first, 0 }, new[] { Math.Min(blockRows, rows - first), columns });
    }

    private void StartRead(long first)
    {
        if (first < rows)
        {
            Slot slot = SlotOf(first);
            using (ViaArray part = PartOf(slot.Block, first)) // the task holds both
            using (ViaFile place = RowsOf(input, first))
            {
                slot.Read = place.ReadAsync(part, 0, stream);
            }
        }
    }

    // The work, here a copy from a view with its columns backwards: a kernel of yours is launched in its place, on
    // stream.NativeHandle.
    private void TurnAround(Slot slot, long first, ViaArray result)
    {
        using (ViaArray part = PartOf(slot.Block, first))
        using (ViaArray backwards = part.SliceAxis(1, columns - 1, columns, -1))
        {
            if (stream == null)
            {
                backwards.CopyTo(result);
            }
            else
            {
                backwards.CopyTo(result, stream);
            }
        }
    }

    public void Dispose()
    {
        foreach (Slot slot in slots)
        {
            slot.Block.Dispose();
            slot.Result.Dispose();
        }
        if (stream != null)
        {
            stream.Dispose();
        }
        output.Dispose();
        input.Dispose();
    }
}
