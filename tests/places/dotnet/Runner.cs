using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Threading.Tasks;
using NUnit.Framework;

namespace Viaduct.Tests
{
    /// <summary>
    /// Runs NUnit's tests of this assembly on .NET where there is no network to have an adapter from: the attributes that
    /// tests/csharp uses, and no more. An argument is part of the names of those to run.
    /// </summary>
    internal static class Runner
    {
        private const BindingFlags Anything =
            BindingFlags.Static | BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic;

        private static int passed;
        private static int failed;
        private static int skipped;

        private static int Main(string[] arguments)
        {
            Type[] types = typeof(Runner).Assembly.GetTypes();
            foreach (Type fixture in types.Where(type => type.GetCustomAttribute<TestFixtureAttribute>() != null))
            {
                foreach (MethodInfo method in fixture.GetMethods().Where(each => arguments.All(each.Name.Contains)))
                {
                    foreach (object[] values in Cases(fixture, method))
                    {
                        Run(fixture, method, values);
                    }
                }
            }
            Console.WriteLine(passed + " passed, " + failed + " failed, " + skipped + " skipped");
            return failed == 0 && passed > 0 ? 0 : 1;
        }

        private static IEnumerable<object[]> Cases(Type fixture, MethodInfo method)
        {
            IEnumerable<object[]> given = method.GetCustomAttributes<TestCaseAttribute>().Select(each => each.Arguments);
            IEnumerable<object[]> listed = method.GetCustomAttributes<TestCaseSourceAttribute>()
                .SelectMany(each => Listed(each.SourceType ?? fixture, each.SourceName));
            object[][] cases = given.Concat(listed).ToArray();
            bool isTest = method.GetCustomAttribute<TestAttribute>() != null;
            return cases.Length > 0 || !isTest ? cases : Combined(method);
        }

        private static IEnumerable<object[]> Listed(Type type, string name)
        {
            MemberInfo member = type.GetMember(name, Anything)[0];
            var property = member as PropertyInfo;
            var field = member as FieldInfo;
            object source = property != null ? property.GetValue(null)
                : field != null ? field.GetValue(null) : ((MethodInfo)member).Invoke(null, null);
            return ((IEnumerable)source).Cast<object>()
                .Select(each => (each as TestCaseData)?.Arguments ?? each as object[] ?? new[] { each });
        }

        // Every value of each parameter with every one of the others.
        private static IEnumerable<object[]> Combined(MethodInfo method)
        {
            IEnumerable<object[]> rows = new[] { new object[0] };
            foreach (ParameterInfo parameter in method.GetParameters())
            {
                object[] values = parameter.GetCustomAttribute<ValuesAttribute>().GetData(parameter).Cast<object>().ToArray();
                rows = rows.SelectMany(row => values.Select(value => row.Concat(new[] { value }).ToArray()));
            }
            return rows;
        }

        private static void Run(Type fixture, MethodInfo method, object[] values)
        {
            object instance = Activator.CreateInstance(fixture);
            try
            {
                CallAll<SetUpAttribute>(instance);
                (method.Invoke(instance, Converted(method, values)) as Task)?.GetAwaiter().GetResult();
                ++passed;
            }
            catch (Exception thrown)
            {
                Report(fixture.Name + "." + method.Name, (thrown as TargetInvocationException)?.InnerException ?? thrown);
            }
            finally
            {
                CallAll<TearDownAttribute>(instance);
            }
        }

        private static void Report(string name, Exception thrown)
        {
            if (thrown is IgnoreException || thrown is InconclusiveException)
            {
                ++skipped;
                return;
            }
            ++failed;
            Console.WriteLine("FAILED " + name + ": " + thrown);
        }

        private static void CallAll<T>(object instance)
            where T : Attribute
        {
            foreach (MethodInfo each in instance.GetType().GetMethods().Where(m => m.GetCustomAttribute<T>() != null))
            {
                each.Invoke(instance, null);
            }
        }

        // Numbers are written as int in attributes, whatever the parameter is.
        private static object[] Converted(MethodInfo method, object[] values)
        {
            return method.GetParameters()
                .Select((parameter, i) => parameter.ParameterType.IsPrimitive
                    ? Convert.ChangeType(values[i], parameter.ParameterType) : values[i])
                .ToArray();
        }
    }
}
