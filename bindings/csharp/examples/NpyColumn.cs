using System;
using System.Globalization;
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
        catch (ViaException failure)
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
        using (ViaFile file = ViaFile.Open(path))
        {
            return file.Map();
        }
    }
}
