using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using NUnit.Framework;

namespace Viaduct.Tests
{
    /// <summary>What needs more than 32 bits arrives whole, in every parameter of 64 bits in the header.</summary>
    [TestFixture]
    public class WideNumberTests
    {
        private const long Big = 1L << 40;

        private static readonly byte[] One = { 7 };

        private static readonly Dictionary<string, ViaArray> Nothing = new Dictionary<string, ViaArray>();

        // One byte, again and again: an array of any size.
        private static ViaArray Repeated(ViaArray one, params long[] shape)
        {
            return ViaArray.Wrap(one.Address, DType.UInt8, shape, new long[shape.Length]);
        }

        private static long[] ShapeOf(ViaArray made)
        {
            using (made)
            {
                return Support.Shape(made);
            }
        }

        private static string RefusalOf(TestDelegate refused)
        {
            return Assert.Catch<ViaException>(refused).Message;
        }

        // Each carries the number through one parameter: it comes back in a result, or the refusal holds it.
        private static readonly Dictionary<string, Action<ViaArray>> Carried = new Dictionary<string, Action<ViaArray>>
        {
            {
                "via_wrap shape", one => Assert.That(
                    ShapeOf(ViaArray.Wrap(one.Address, DType.UInt8, Big, 0)), Is.EqualTo(new[] { Big, 0 }))
            },
            {
                "via_wrap strides", one =>
                {
                    using (ViaArray wide = ViaArray.Wrap(
                        one.Address, DType.UInt8, new long[] { 1, 0 }, new[] { Big + 3, Big }))
                    {
                        Assert.That(wide.Strides.ToArray(), Is.EqualTo(new[] { Big + 3, Big }));
                    }
                }
            },
            {
                "via_array_slice start", one => Sliced(one, array => array.Slice(new[] { Big - 1 }), 1)
            },
            {
                "via_array_slice count", one => Sliced(one, array => array.Slice(null, new[] { Big - 7 }), Big - 7)
            },
            {
                "via_array_slice step",
                one => Sliced(one, array => array.Slice(null, null, new[] { Big - 1 }), 2)
            },
            {
                "via_array_select index", one =>
                {
                    using (ViaArray array = Repeated(one, Big))
                    using (ViaArray last = array.Select(0, Big - 1))
                    {
                        Assert.That(last.NDim, Is.EqualTo(0));
                        Assert.That(RefusalOf(() => array.Select(0, Big)), Contains.Substring(Big.ToString()));
                    }
                }
            },
            {
                "via_array_reshape shape", one =>
                {
                    using (ViaArray none = Repeated(one, 0))
                    {
                        Assert.That(ShapeOf(none.Reshape(Big, 0)), Is.EqualTo(new[] { Big, 0 }));
                    }
                }
            },
            {
                "via_array_broadcast shape", one =>
                {
                    Assert.That(ShapeOf(one.Broadcast(Big)), Is.EqualTo(new[] { Big }));
                    using (ViaArray wide = one.Broadcast(Big))
                    {
                        Assert.That(wide.Size, Is.EqualTo(Big));
                        Assert.That(wide.NBytes, Is.EqualTo(Big));
                    }
                }
            },
            {
                "via_array_field byte_offset",
                one => Assert.That(RefusalOf(() => one.Field(Big, DType.Int8)), Contains.Substring(Big.ToString()))
            },
            {
                "via_array_field shape",
                one => Assert.That(RefusalOf(() => one.Field(0, DType.Int8, Big)), Contains.Substring(Big.ToString()))
            },
            {
                "via_empty shape", one => Assert.That(
                    ShapeOf(ViaArray.Empty(DType.UInt8, Big, 0)), Is.EqualTo(new[] { Big, 0 }))
            },
            {
                "via_dtype_record nbytes", one =>
                {
                    Assert.That(DType.Record(12).Value, Is.EqualTo(-12));
                    Assert.Throws<ViaDTypeException>(() => DType.Record(Big + 12));
                }
            },
            {
                "via_dtype_name capacity",
                one =>
                {
                    var name = new byte[32];
                    Native.via_dtype_name(DType.Float32.Value, Big, name);
                    Assert.That(Utf8.Text(name), Is.EqualTo("float32"));
                }
            },
            {
                "via_convert_explain capacity",
                one =>
                {
                    long length;
                    var text = new byte[4096];
                    using (ViaArray target = ViaArray.Empty(DType.Float32, 1))
                    {
                        unsafe
                        {
                            Native.via_convert_explain(target, one, null, Big, text, out length);
                        }
                    }
                    Assert.That(Utf8.Text(text).Length, Is.EqualTo(length));
                }
            },
            {
                "via_copy_explain capacity",
                one =>
                {
                    long length;
                    var text = new byte[4096];
                    using (ViaArray target = ViaArray.Empty(DType.UInt8, 1))
                    {
                        Native.via_copy_explain(target, one, Big, text, out length);
                    }
                    Assert.That(Utf8.Text(text).Length, Is.EqualTo(length));
                }
            },
            { "via_array_export_ipc capacity", one => WithDescription((array, bytes, length) => { }) },
            {
                "via_array_import_ipc length", one => WithDescription((array, bytes, length) =>
                {
                    IntPtr made; // cut to 32 bits, the length would be that of the description
                    Assert.Throws<ViaExchangeException>(
                        () => Native.via_array_import_ipc(bytes, (1L << 32) + length, out made));
                })
            },
            {
                "via_file_create shape", one => WithFile(Big, (file, path) =>
                    Assert.That(new System.IO.FileInfo(path).Length, Is.EqualTo(Big)))
            },
            {
                "via_file_window byte_offset", one => WithFile(Big + 1, (file, path) =>
                    Assert.That(Windowed(file, Big, 1, 0, 1, 1).ByteOffset, Is.EqualTo(Big)))
            },
            {
                "via_file_window shape", one => WithFile(Big, (file, path) =>
                    Assert.That(Windowed(file, 0, Big, Big - 1, 1, 1).ByteOffset, Is.EqualTo(Big - 1)))
            },
            {
                "via_file_window starts", one => WithFile(Big, (file, path) =>
                    Assert.That(Windowed(file, 0, Big, Big - 1, 1, 1).ByteOffset, Is.EqualTo(Big - 1)))
            },
            {
                "via_file_window counts", one => WithFile(Big, (file, path) =>
                    Assert.That(Windowed(file, 0, Big, 7, Big - 7, 1).Shape, Is.EqualTo(new[] { Big - 7 })))
            },
            {
                "via_file_window steps", one => WithFile(Big, (file, path) =>
                    Assert.That(Windowed(file, 0, Big, 0, 2, Big - 1).Shape, Is.EqualTo(new[] { 2L })))
            },
            {
                "via_file_array shape", one => WithFile(Big, (file, path) =>
                    Assert.That(ShapeOf(file.Map(0, DType.UInt8, Big)), Is.EqualTo(new[] { Big })))
            },
            {
                "via_file_array byte_offset", one => WithFile(Big + 1, (file, path) =>
                    Assert.That(ShapeOf(file.Map(Big, DType.UInt8, 1)), Is.EqualTo(new[] { 1L })))
            },
            {
                "via_file_write byte_offset", one => WithFile(Big + 1, (file, path) => Written(one, file, false))
            },
            {
                "via_file_read byte_offset", one => WithFile(Big + 1, (file, path) => Written(one, file, false))
            },
            {
                "via_file_write_submit byte_offset", one => WithFile(Big + 1, (file, path) => Written(one, file, true))
            },
            {
                "via_file_read_submit byte_offset", one => WithFile(Big + 1, (file, path) => Written(one, file, true))
            },
            {
                "via_archive_name number", one => WithArchive(archive => Assert.That(archive.Name(Big), Is.Null))
            },
            {
                "via_archive_type_name number",
                one => WithArchive(archive => Assert.That(archive.TypeName(Big), Is.Null))
            },
            {
                "via_archive_file number", one => WithArchive(archive => Assert.That(
                    RefusalOf(() => archive.File(Big)), Contains.Substring(Big.ToString())))
            },
            {
                "via_archive_select numbers", one => WithArchive(archive => Assert.That(
                    RefusalOf(() => archive.Select(Big)), Contains.Substring(Big.ToString())))
            },
            {
                "via_archive_array number", one => WithArchive(archive =>
                {
                    using (ViaArray buffer = archive.Load())
                    {
                        Assert.That(
                            RefusalOf(() => archive.Array(Big, buffer)), Contains.Substring(Big.ToString()));
                    }
                })
            },
            {
                "via_archive_metadata capacity", one => WithArchive(archive =>
                {
                    long length;
                    var text = new byte[256];
                    Native.via_archive_metadata(archive, Big, text, out length);
                    Assert.That(Utf8.Text(text).Length, Is.EqualTo(length));
                })
            },
            {
                "via_archive_slice number", one => WithArchive(archive => Assert.That(
                    RefusalOf(() => archive.Slice(Big, 0, 0, 0)), Contains.Substring(Big.ToString())))
            },
            {
                "via_archive_slice start", one => WithArchive(archive => Assert.That(
                    RefusalOf(() => archive.Slice(0, 0, Big, 0)), Contains.Substring(Big.ToString())))
            },
            {
                "via_archive_slice count", one => WithArchive(archive => Assert.That(
                    RefusalOf(() => archive.Slice(0, 0, 0, Big)), Contains.Substring(Big.ToString())))
            },
            {
                "via_archive_convert number", one => WithArchive(archive => Assert.That(
                    RefusalOf(() => archive.Convert(Big, DType.Float32)), Contains.Substring(Big.ToString())))
            },
            {
                "via_archive_save shard_bytes", one => Assert.That(
                    RefusalOf(() => ViaArchive.Save("none.safetensors", Nothing, null, -Big)),
                    Contains.Substring((-Big).ToString()))
            },
            {
                "via_archive_save_submit shard_bytes", one => Assert.That(
                    RefusalOf(() => ViaArchive.SubmitSave("none.safetensors", Nothing, null, -Big)),
                    Contains.Substring((-Big).ToString()))
            },
            {
                "via_memcpy nbytes", one => Assert.That(
                    RefusalOf(() => ViaLibrary.CopyBytes(one.Address, one.Address, -Big)),
                    Contains.Substring((-Big).ToString()))
            }
        };

        // Of an array that can be shared, with room for any number of bytes, it was said.
        private static void WithDescription(Action<ViaArray, IntPtr, long> use)
        {
            using (ViaMemory memory = ViaMemory.Create(MemoryKind.Shared))
            using (ViaArray array = ViaArray.Empty(DType.Int8, new long[] { 4 }, memory))
            using (ViaArray room = ViaArray.Empty(DType.UInt8, Native.VIA_IPC_MAX_BYTES))
            {
                long length;
                IntPtr made;
                Native.via_array_export_ipc(array, 1L << 32, room.Address, out length);
                Native.via_array_import_ipc(room.Address, length, out made);
                new ViaArray(made).Dispose();
                use(array, room.Address, length);
            }
        }

        private static void WithArchive(Action<ViaArchive> use)
        {
            string path = ArchiveTests.Save();
            try
            {
                using (ViaArchive archive = ViaArchive.Open(path))
                {
                    use(archive);
                }
            }
            finally
            {
                System.IO.Directory.Delete(System.IO.Path.GetDirectoryName(path), true);
            }
        }

        // A file with a hole of that size.
        private static void WithFile(long nbytes, Action<ViaFile, string> use)
        {
            string path = Support.TemporaryFile("wide.raw");
            try
            {
                ViaFile.Create(path, DType.UInt8, new[] { nbytes }).Dispose();
                // Maps of an opened file set no blocks aside.
                using (ViaFile file = ViaFile.Open(path, new ViaFileOptions { Mode = ViaFileMode.ReadWrite }))
                {
                    use(file, path);
                }
            }
            finally
            {
                System.IO.Directory.Delete(System.IO.Path.GetDirectoryName(path), true);
            }
        }

        // What a window says of itself.
        private static FileProperties Windowed(
            ViaFile file, long offset, long extent, long start, long count, long step)
        {
            var shape = new[] { extent };
            using (ViaFile window =
                file.Window(offset, DType.UInt8, shape, new[] { start }, new[] { count }, new[] { step }))
            {
                return window.Info();
            }
        }

        // The last byte of a file, there and back.
        private static void Written(ViaArray one, ViaFile file, bool submitted)
        {
            using (ViaArray back = ViaArray.Empty(DType.UInt8, 1))
            {
                if (submitted)
                {
                    file.WriteAsync(one, Big).Wait();
                    file.ReadAsync(back, Big).Wait();
                }
                else
                {
                    file.Write(one, Big);
                    file.Read(back, Big);
                }
                Assert.That(back.ToArray<byte>(), Is.EqualTo(One));
            }
        }

        private static void Sliced(ViaArray one, Func<ViaArray, ViaArray> slice, long extent)
        {
            using (ViaArray array = Repeated(one, Big))
            {
                Assert.That(ShapeOf(slice(array)), Is.EqualTo(new[] { extent }));
            }
        }

        [Test]
        public void Every_wide_parameter_carries_more_than_32_bits()
        {
            using (ViaArray one = ViaArray.Wrap(One))
            {
                foreach (var carried in Carried)
                {
                    carried.Value(one);
                }
            }
        }

        [Test]
        public void No_wide_parameter_is_left_out()
        {
            var wide =
                from method in typeof(Native).GetMethods(BindingFlags.Public | BindingFlags.Static)
                from parameter in method.GetParameters()
                where parameter.ParameterType == typeof(long) || parameter.ParameterType == typeof(ReadOnlySpan<long>)
                select method.Name + " " + parameter.Name;
            Assert.That(Carried.Keys, Is.EquivalentTo(wide));
        }

        [Test]
        public void Descriptions_carry_them_too()
        {
            using (ViaArray one = ViaArray.Wrap(One))
            {
                var description = new ArrayInterface
                {
                    Address = one.Address,
                    TypeString = "|u1",
                    Shape = new[] { Big, 2 },
                    ByteStrides = new[] { 0, Big + 1 }
                };
                using (ViaArray made = ViaArray.FromArrayInterface(description))
                {
                    Assert.That(made.ByteStrides.ToArray(), Is.EqualTo(new[] { 0, Big + 1 }));
                    ArrayInterface back = made.ToArrayInterface();
                    Assert.That(back.Shape, Is.EqualTo(new[] { Big, 2 }));
                    Assert.That(back.ByteStrides, Is.EqualTo(new[] { 0, Big + 1 }));
                }
            }
        }
    }
}
