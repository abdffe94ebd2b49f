using System;
#if !NET5_0_OR_GREATER
using System.Reflection;
#endif
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Viaduct
{
    /// <summary>What only Mono needs. .NET does without all of it.</summary>
    internal static class MonoRuntime
    {
        /// <summary>Has the library of that path found under its name. Elsewhere the runtime searches by itself.</summary>
        internal static void MakeKnown(byte[] path)
        {
            if (Type.GetType("Mono.Runtime") != null)
            {
                Insert(path);
            }
        }

        // By itself, so that the function is looked up on Mono only.
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Insert(byte[] path)
        {
            mono_dllmap_insert(IntPtr.Zero, "viaduct_csharp", IntPtr.Zero, path, IntPtr.Zero);
        }

        [DllImport("__Internal")]
        private static extern void mono_dllmap_insert(
            IntPtr image, string library, IntPtr function, byte[] path, IntPtr nameThere);

#if NET5_0_OR_GREATER
        /// <summary>.NET refuses to pin what holds references.</summary>
        internal static void RefuseReferences(Type element)
        {
        }
#else
        // Types that were looked at; it keeps none of them.
        private static readonly ConditionalWeakTable<Type, object> WithoutReferences =
            new ConditionalWeakTable<Type, object>();

        /// <summary>Mono pins anything, and never compiles ahead of time what it does not know.</summary>
        internal static void RefuseReferences(Type element)
        {
            WithoutReferences.GetValue(element, looked =>
            {
                if (HoldsReferences(looked))
                {
                    throw new ViaDTypeException("ViaArray.Wrap: values are " + looked
                        + "; expected numbers, or structs without references");
                }
                return looked.Name;
            });
        }

        private static bool HoldsReferences(Type type)
        {
            if (type.IsPrimitive || type.IsEnum || type.IsPointer)
            {
                return false;
            }
            BindingFlags all = BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic;
            return !type.IsValueType || Array.Exists(type.GetFields(all), field => HoldsReferences(field.FieldType));
        }
#endif
    }
}
