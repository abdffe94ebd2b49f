using System;
using System.Globalization;
using System.IO;
using System.IO.MemoryMappedFiles;
using System.Text;
using System.Text.RegularExpressions;
using Viaduct;

/// <summary>
/// A column of a table that NumPy saved: `NpyColumn TABLE.npy COLUMN`. The file is mapped, not read; the table is a
/// view of it, a column a view of the table, and only the column's elements are copied.
/// </summary>
internal static class NpyColumn
{
    private static int Main(string[] arguments)
    {
        int column;
        if (arguments.Length != 2 || !int.TryParse(arguments[1], out column))
        {
            Console.Error.WriteLine("usage: NpyColumn TABLE.npy COLUMN");
            return 2;
        }
        try
        {
            Describe(arguments[0], column);
            return 0;
        }
        catch (Exception failure) when (failure is ViaException || failure is IOException)
        {
            Console.Error.WriteLine("NpyColumn: " + failure.Message);
            return 1;
        }
    }

    private static void Describe(string path, int column)
    {
        using (ViaArray table = Map(path))
        using (ViaArray chosen = table.Select(1, column))
        using (ViaArray dense = chosen.Copy())
        {
            Console.WriteLine(table + ", column " + column + ":");
            Console.WriteLine(Text(table.AsReadOnlySpan<double>(column, 1)[0]) + " comes first");
            Console.WriteLine(Text(Sum(dense.AsReadOnlySpan<double>())) + " is the sum of " + dense.Size);
        }
    }

    private static double Sum(ReadOnlySpan<double> values)
    {
        double sum = 0;
        foreach (double value in values)
        {
            sum += value;
        }
        return sum;
    }

    private static string Text(double value)
    {
        return value.ToString("R", CultureInfo.InvariantCulture);
    }

    /// <summary>The whole of a .npy file as a read-only array; unmapped once nobody uses it.</summary>
    private static ViaArray Map(string path)
    {
        MemoryMappedFile file =
            MemoryMappedFile.CreateFromFile(path, FileMode.Open, null, 0, MemoryMappedFileAccess.Read);
        MemoryMappedViewAccessor view = file.CreateViewAccessor(0, 0, MemoryMappedFileAccess.Read);
        Action unmap = () =>
        {
            view.SafeMemoryMappedViewHandle.DangerousRelease();
            view.Dispose();
            file.Dispose();
        };
        bool held = false;
        view.SafeMemoryMappedViewHandle.DangerousAddRef(ref held);
        try
        {
            int offset;
            DType dtype;
            long[] shape = ReadHeader(view, new FileInfo(path).Length, out offset, out dtype);
            IntPtr start = view.SafeMemoryMappedViewHandle.DangerousGetHandle();
            return ViaArray.Wrap(
                IntPtr.Add(start, offset), dtype, shape, null, Device.Cpu, WrapFlags.ReadOnly, unmap);
        }
        catch
        {
            unmap();
            throw;
        }
    }

    /// <summary>What version 1.0 of the format has before the elements.</summary>
    private static long[] ReadHeader(MemoryMappedViewAccessor view, long fileLength, out int offset, out DType dtype)
    {
        var head = new byte[10];
        view.ReadArray(0, head, 0, head.Length);
        if (fileLength < head.Length || Encoding.ASCII.GetString(head, 1, 5) != "NUMPY")
        {
            throw new IOException("this is no .npy file");
        }
        var dictionary = new byte[head[8] | head[9] << 8];
        view.ReadArray(head.Length, dictionary, 0, dictionary.Length);
        offset = head.Length + dictionary.Length;
        Match found = Regex.Match(
            Encoding.ASCII.GetString(dictionary),
            @"'descr': '<f8', 'fortran_order': False, 'shape': \((?<rows>\d+), (?<columns>\d+)\)");
        if (!found.Success)
        {
            throw new IOException("expected a table of float64 in row-major order");
        }
        dtype = DType.Float64;
        var shape = new[] { Number(found.Groups["rows"]), Number(found.Groups["columns"]) };
        if (shape[0] * shape[1] * sizeof(double) > fileLength - offset)
        {
            throw new IOException("the file ends before the table does");
        }
        return shape;
    }

    private static long Number(Group digits)
    {
        return long.Parse(digits.Value, CultureInfo.InvariantCulture);
    }
}
