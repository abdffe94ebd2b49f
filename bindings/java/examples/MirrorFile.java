package example;

import java.nio.file.Path;
import org.viaduct.CopyTask;
import org.viaduct.DType;
import org.viaduct.FileInfo;
import org.viaduct.MemoryKind;
import org.viaduct.ViaArray;
import org.viaduct.ViaFile;
import org.viaduct.ViaMemory;
import org.viaduct.ViaStream;
import org.viaduct.Viaduct;

/**
 * A file larger than memory, worked on by blocks on the GPU: `MirrorFile IN.npy OUT.npy` turns the rows of a table
 * around. While one block is worked on the next is read, and the result of the last is written; two blocks and their
 * results are all the memory that it takes, none of it the JVM's heap. The usual loop, FileChannel.read, cudaMemcpy, the
 * work, cudaMemcpy and FileChannel.write, has the disk, the link and the GPU wait for one another. Without a GPU the
 * blocks are host memory.
 */
public final class MirrorFile implements AutoCloseable {
    private static final long BLOCK_BYTES = 8 << 20;

    private final ViaFile in;
    private final ViaFile out;
    private final long rows;
    private final long columns;
    private final long blockRows;
    private final ViaStream stream = Viaduct.cudaDeviceCount() > 0 ? ViaStream.create(0) : null;
    private final Slot[] slots = new Slot[2];

    /** A block, its result, and what is under way with them. */
    private static final class Slot {
        ViaArray block;
        ViaArray result;
        CopyTask read;
        CopyTask write;
    }

    public static void main(String[] arguments) {
        if (arguments.length != 2) {
            System.err.println("usage: MirrorFile IN.npy OUT.npy");
            System.exit(2);
        }
        try (MirrorFile mirror = new MirrorFile(Path.of(arguments[0]), Path.of(arguments[1]))) {
            System.out.println(mirror.run());
        }
    }

    public MirrorFile(Path from, Path to) {
        in = ViaFile.open(from);
        FileInfo found = in.info();
        if (found.shape().length != 2 || found.columnMajor()) {
            throw new IllegalArgumentException("MirrorFile takes a .npy file of rows");
        }
        rows = found.shape()[0];
        columns = found.shape()[1];
        long rowBytes = columns * found.dtype().bits() / 8;
        blockRows = Math.max(1, Math.min(rows, BLOCK_BYTES / Math.max(1, rowBytes)));
        out = ViaFile.create(to, found.dtype(), rows, columns);
        makeSlots(found.dtype());
    }

    private void makeSlots(DType dtype) {
        try (ViaMemory memory = ViaMemory.create(stream == null ? MemoryKind.HOST : MemoryKind.DEVICE, 0)) {
            for (int i = 0; i < slots.length; ++i) {
                slots[i] = new Slot();
                slots[i].block = memory.empty(dtype, blockRows, columns);
                slots[i].result = memory.empty(dtype, blockRows, columns);
            }
        }
    }

    /** Works on the whole file, and says where. */
    public String run() {
        startRead(0);
        for (long first = 0; first < rows; first += blockRows) {
            startRead(first + blockRows);
            Slot slot = slotOf(first);
            settle(slot.read);
            settle(slot.write); // of the result that was here before
            try (ViaArray result = partOf(slot.result, first);
                    ViaFile place = rowsOf(out, first)) {
                turnAround(slot, first, result);
                slot.write = place.submitWrite(result, 0, stream); // after the stream's work
            }
        }
        for (Slot slot : slots) {
            settle(slot.write);
        }
        return (stream == null ? "there is no CUDA device, so the blocks are in host memory instead: "
                        : "the blocks are on a GPU: ")
                + rows + " rows in blocks of " + blockRows;
    }

    private Slot slotOf(long first) {
        return slots[(int) (first / blockRows % slots.length)];
    }

    /** Of the last block there may be less. */
    private ViaArray partOf(ViaArray whole, long first) {
        return whole.slice(new long[] {0, 0}, new long[] {Math.min(blockRows, rows - first), columns}, null);
    }

    private ViaFile rowsOf(ViaFile file, long first) {
        return file.window(new long[] {first, 0}, new long[] {Math.min(blockRows, rows - first), columns}, null);
    }

    private void startRead(long first) {
        if (first < rows) {
            Slot slot = slotOf(first);
            try (ViaArray part = partOf(slot.block, first); // the task holds both
                    ViaFile place = rowsOf(in, first)) {
                slot.read = place.submitRead(part, 0, stream);
            }
        }
    }

    private static void settle(CopyTask task) {
        if (task != null) {
            task.await();
            task.close();
        }
    }

    /**
     * The work, here a copy from a view with its columns backwards: a kernel of yours is launched in its place, on
     * stream.nativeHandle().
     */
    private void turnAround(Slot slot, long first, ViaArray result) {
        try (ViaArray part = partOf(slot.block, first);
                ViaArray backwards = part.slice(new long[] {0, columns - 1}, part.shape(), new long[] {1, -1})) {
            if (stream == null) {
                Viaduct.copy(result, backwards);
            } else {
                Viaduct.copyAsync(result, backwards, stream);
            }
        }
    }

    @Override
    public void close() {
        for (Slot slot : slots) {
            slot.block.close();
            slot.result.close();
        }
        if (stream != null) {
            stream.close();
        }
        out.close();
        in.close();
    }
}
