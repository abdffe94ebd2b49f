using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Runtime.InteropServices;
using System.Text.RegularExpressions;
using NUnit.Framework;

namespace Viaduct.Tests
{
    /// <summary>The native layer against the header it was made of.</summary>
    [TestFixture]
    public class HeaderTests
    {
        private const BindingFlags Everything = BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Static;

        private static readonly Dictionary<string, string[]> Functions = ReadFunctions();

        private static string Header()
        {
            string text = File.ReadAllText(Path.Combine(Support.SourceDirectory, "include/viaduct/viaduct.h"));
            return Regex.Replace(Regex.Replace(text, @"/\*.*?\*/", "", RegexOptions.Singleline), @"\s+", " ");
        }

        private static Dictionary<string, string[]> ReadFunctions()
        {
            var found = new Dictionary<string, string[]>();
            foreach (Match match in Regex.Matches(Header(), @"VIA_(?:API|CHECKED) [\w ]+?[ *]+(via_\w+)\(([^;]*?)\);"))
            {
                string list = match.Groups[2].Value;
                found[match.Groups[1].Value] = list == "void" ? new string[0] : Regex.Split(list, ", ");
            }
            return found;
        }

        private static string NameOf(string parameter)
        {
            return Regex.Match(parameter, @"(\w+)$").Value;
        }

        private static MethodInfo[] NativeMethods(Type layer)
        {
            return layer.GetMethods(Everything).Where(method => method.Name.StartsWith("via_")).ToArray();
        }

        private static string HandWritten()
        {
            string folder = Path.Combine(Support.SourceDirectory, "bindings/csharp/src");
            return string.Concat(Directory.GetFiles(folder, "*.cs").Select(File.ReadAllText));
        }

        [Test]
        public void Every_function_of_the_library_has_a_counterpart()
        {
            Assert.That(Functions.Count, Is.GreaterThan(100));
            string[] wanted = Functions.Keys.ToArray();
            Assert.That(NativeMethods(typeof(NativeCalls)).Select(method => method.Name), Is.EquivalentTo(wanted));
            Assert.That(NativeMethods(typeof(Native)).Select(method => method.Name), Is.EquivalentTo(wanted));
        }

        [Test]
        public void Every_function_is_used_by_what_is_written_by_hand()
        {
            string text = HandWritten();
            foreach (MethodInfo method in NativeMethods(typeof(Native)))
            {
                Assert.That(Regex.IsMatch(text, @"\bNative\." + method.Name + @"\b"), Is.True, method.Name);
            }
            Assert.That(text.Contains("NativeCalls."), Is.False);
        }

        [Test]
        public void Parameters_keep_their_names_so_none_is_a_keyword()
        {
            foreach (MethodInfo method in NativeMethods(typeof(Native)))
            {
                if (Regex.IsMatch(method.Name, "^via_[a-z]+_(retain|release)$") && method.Name != "via_arrow_release")
                {
                    continue;
                }
                Assert.That(
                    method.GetParameters().Select(parameter => parameter.Name),
                    Is.EqualTo(Functions[method.Name].Select(NameOf)), method.Name);
            }
        }

        [Test]
        public void Every_number_has_the_width_that_the_header_says()
        {
            int wide = 0;
            foreach (MethodInfo method in NativeMethods(typeof(NativeCalls)))
            {
                ParameterInfo[] parameters = method.GetParameters();
                for (int i = 0; i < parameters.Length; ++i)
                {
                    Type wanted = TypeOf(Functions[method.Name][i]);
                    if (wanted != null)
                    {
                        ++wide;
                        Assert.That(parameters[i].ParameterType, Is.EqualTo(wanted), method.Name + " " + i);
                    }
                }
            }
            Assert.That(wide, Is.GreaterThan(60));
        }

        private static Type TypeOf(string parameter)
        {
            string type = parameter.Substring(0, parameter.Length - NameOf(parameter).Length).Trim();
            bool isOutput = NameOf(parameter).StartsWith("out_");
            switch (type)
            {
                case "int32_t": return typeof(int);
                case "int64_t": return typeof(long);
                case "const int32_t *": return typeof(int).MakePointerType();
                case "const int64_t *": return typeof(long).MakePointerType();
                case "int32_t *": return isOutput ? typeof(int).MakeByRefType() : null;
                case "int64_t *": return isOutput ? typeof(long).MakeByRefType() : null;
                default: return null;
            }
        }

        [Test]
        public void Every_constant_has_the_value_of_the_header()
        {
            int seen = 0;
            foreach (Match match in Regex.Matches(Header(), @"\b(VIA_[A-Z0-9_]+) = (-?\w+)"))
            {
                string name = match.Groups[1].Value, digits = match.Groups[2].Value;
                int value = digits.StartsWith("0x") ? Convert.ToInt32(digits, 16) : int.Parse(digits);
                FieldInfo field = typeof(Native).GetField(name, Everything) ?? typeof(via_status).GetField(name);
                Assert.That(field, Is.Not.Null, name);
                Assert.That(Convert.ToInt32(field.GetRawConstantValue()), Is.EqualTo(value), name);
                ++seen;
            }
            Assert.That(seen, Is.GreaterThan(80));
        }

        [Test]
        public void Every_constant_can_be_said_in_csharp()
        {
            string text = HandWritten();
            Regex internals = new Regex("^VIA_VERSION_");
            foreach (FieldInfo field in typeof(Native).GetFields(Everything).Concat(typeof(via_status).GetFields()))
            {
                bool isPublicConstant = field.Name.StartsWith("VIA_") && !internals.IsMatch(field.Name);
                Assert.That(!isPublicConstant || Regex.IsMatch(text, @"\b" + field.Name + @"\b"), Is.True, field.Name);
            }
        }

        [Test]
        public void Structs_lie_as_c_lays_them_out()
        {
            Type[] layouts =
            {
                typeof(DevicePropertiesLayout), typeof(StatsLayout), typeof(PointerInfoLayout),
                typeof(DlpackOptionsLayout), typeof(ArrayInterfaceLayout), typeof(FileOptionsLayout),
                typeof(FilePropertiesLayout), typeof(ConvertOptionsLayout)
            };
            foreach (Type layout in layouts)
            {
                FieldInfo[] fields = layout.GetFields(BindingFlags.Public | BindingFlags.Instance);
                Assert.That(fields.Length, Is.EqualTo(Probe.probe_field_count(layout.Name)), layout.Name);
                Assert.That(Marshal.SizeOf(layout), Is.EqualTo(Probe.probe_offset(layout.Name, "")), layout.Name);
                foreach (FieldInfo field in fields)
                {
                    Assert.That(
                        Marshal.OffsetOf(layout, field.Name).ToInt32(),
                        Is.EqualTo(Probe.probe_offset(layout.Name, field.Name)), layout.Name + "." + field.Name);
                }
            }
        }
    }
}
