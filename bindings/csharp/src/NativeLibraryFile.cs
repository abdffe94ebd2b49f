using System;
using System.Collections.Generic;
using System.IO;
#if !NET5_0_OR_GREATER
using System.Reflection;
#endif
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Viaduct
{
    /// <summary>
    /// Finds libviaduct_csharp.so: where VIADUCT_CSHARP_LIBRARY says, next to this assembly, or where a package has it.
    /// Once opened by its path it is what the runtime finds under its name. Where there is none, the runtime searches.
    /// Mono looks native functions up as soon as it compiles a method that calls one: therefore every type that
    /// somebody may begin with opens the file before any method of Native is called, and what is written by hand calls
    /// no other.
    /// </summary>
    internal static class NativeLibraryFile
    {
        private const string FileName = "libviaduct_csharp.so";
        private const string LayerName = "viaduct_csharp";
        private const string Override = "VIADUCT_CSHARP_LIBRARY";
        private const string Needed = "Linux with glibc 2.28 or newer on x64 or arm64";
        private const int ResolveNow = 2;

        private static readonly object Lock = new object();
        private static bool isLoaded;

        internal static void Load()
        {
            lock (Lock)
            {
                if (!isLoaded)
                {
                    OpenFirst();
                    isLoaded = true;
                }
            }
        }

        private static void OpenFirst()
        {
            string named = Environment.GetEnvironmentVariable(Override);
            if (!string.IsNullOrEmpty(named))
            {
                Open(named, "named by " + Override);
                return;
            }
            foreach (string candidate in Candidates())
            {
                if (File.Exists(candidate))
                {
                    Open(candidate, "found there");
                    return;
                }
            }
        }

        internal static void Begin()
        {
            try
            {
                RequireVersion();
            }
            catch (DllNotFoundException missing)
            {
                string searched = string.Join(", ", Candidates());
                throw Failed(
                    FileName + " was not found: neither " + searched + ", nor where the runtime looks; " + Override
                    + " names it", missing);
            }
            AppDomain.CurrentDomain.ProcessExit += (sender, arguments) => Native.runtime_is_ending();
        }

        // By itself, so that Mono finds the function missing within the `try` above.
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void RequireVersion()
        {
            Native.via_require(Native.VIA_VERSION_MAJOR, Native.VIA_VERSION_MINOR);
        }

        private static IEnumerable<string> Candidates()
        {
            string folder = Folder();
            string platform = "linux-" + RuntimeInformation.ProcessArchitecture.ToString().ToLowerInvariant();
            string packaged = Path.Combine("runtimes", platform, "native", FileName);
            yield return Path.Combine(folder, FileName);
            yield return Path.Combine(folder, packaged);
            yield return Path.Combine(folder, "..", "..", packaged);
        }

        // Of this assembly; of the program where the assembly is part of one file, and has no location.
#if NET5_0_OR_GREATER
        [System.Diagnostics.CodeAnalysis.UnconditionalSuppressMessage(
            "SingleFile", "IL3000", Justification = "An empty location is answered by the program's folder.")]
#endif
        private static string Folder()
        {
            string location = typeof(NativeLibraryFile).Assembly.Location;
            return string.IsNullOrEmpty(location) ? AppContext.BaseDirectory : Path.GetDirectoryName(location);
        }

        private static void Open(string path, string why)
        {
            byte[] name = Utf8.Bytes(path, "path");
            IntPtr opened = IntPtr.Zero;
            string reason;
            try
            {
                opened = Opened(name, out reason);
            }
            catch (DllNotFoundException)
            {
                reason = "there is no libdl.so.2, which glibc has";
            }
            if (opened == IntPtr.Zero)
            {
                throw Failed(path + ", " + why + ", was not loaded: " + reason, null);
            }
            MakeKnown(name, opened);
        }

        private static IntPtr Opened(byte[] name, out string reason)
        {
            // Called before, and with nothing in between: what .NET loads meanwhile would clear what it reports.
            dlerror();
            IntPtr opened = dlopen(name, ResolveNow);
            IntPtr reported = dlerror();
            reason = reported == IntPtr.Zero ? "no reason given" : Utf8.Text(reported);
            return opened;
        }

        // Either runtime would take the file next to the assembly before it asks what has been opened.
#if NET5_0_OR_GREATER
        private static void MakeKnown(byte[] path, IntPtr opened)
        {
            NativeLibrary.SetDllImportResolver(
                typeof(NativeLibraryFile).Assembly,
                (name, assembly, places) => name == LayerName ? opened : IntPtr.Zero);
        }
#else
        private static IntPtr layer;

        // What .NET has for that is not in netstandard2.0.
        private static void MakeKnown(byte[] path, IntPtr opened)
        {
            const string Where = ", System.Runtime.InteropServices";
            Type libraries = Type.GetType("System.Runtime.InteropServices.NativeLibrary" + Where);
            Type resolver = Type.GetType("System.Runtime.InteropServices.DllImportResolver" + Where);
            if (libraries == null || resolver == null)
            {
                MonoRuntime.MakeKnown(path);
                return;
            }
            layer = opened;
            Delegate resolve = Delegate.CreateDelegate(resolver, typeof(NativeLibraryFile), nameof(Resolve));
            libraries.GetMethod("SetDllImportResolver")
                .Invoke(null, new object[] { typeof(NativeLibraryFile).Assembly, resolve });
        }

        private static IntPtr Resolve(string name, Assembly assembly, DllImportSearchPath? places)
        {
            return name == LayerName ? layer : IntPtr.Zero;
        }
#endif

        private static DllNotFoundException Failed(string text, Exception inner)
        {
            return new DllNotFoundException(
                text + "; it needs " + Needed + "; this is " + RuntimeInformation.OSDescription + " with " + Libc() + " on "
                + RuntimeInformation.ProcessArchitecture.ToString().ToLowerInvariant(), inner);
        }

        private static string Libc()
        {
            try
            {
                return "glibc " + Utf8.Text(gnu_get_libc_version());
            }
            catch (TypeLoadException)
            {
                return "no glibc";
            }
        }

        [DllImport("libdl.so.2")]
        private static extern IntPtr dlopen(byte[] path, int flags);

        [DllImport("libdl.so.2")]
        private static extern IntPtr dlerror();

        [DllImport("libc.so.6")]
        private static extern IntPtr gnu_get_libc_version();
    }
}
