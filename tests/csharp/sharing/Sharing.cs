using System;

namespace Viaduct.Tests
{
    /// <summary>A process that shares an array with the one that started it; ShareTests does. It ends as it is asked to.</summary>
    internal static class Sharing
    {
        private static ViaArray Made()
        {
            using (ViaMemory memory = ViaMemory.Create(MemoryKind.Shared))
            {
                ViaArray array = ViaArray.Empty(DType.Int32, new long[] { 12 }, memory);
                array.Fill(7);
                return array;
            }
        }

        private static void AddOne(ViaArray array)
        {
            Span<int> numbers = array.AsSpan<int>();
            for (int i = 0; i < numbers.Length; ++i)
            {
                ++numbers[i];
            }
        }

        /// <summary>Describes an array of its own, or adds 1 to one whose description it gets; holds it for another line.</summary>
        private static void Main(string[] arguments)
        {
            string reported = Console.ReadLine();
            using (ViaArray array = reported == "make" ? Made() : ViaArray.ImportIpc(Convert.FromBase64String(reported)))
            {
                AddOne(array);
                Console.WriteLine(Convert.ToBase64String(array.ExportIpc()));
                Console.ReadLine();
            }
        }
    }
}
