package org.viaduct;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.lang.model.SourceVersion;
import org.junit.jupiter.api.Test;

/** The package has what the header has. */
class HeaderTest {
    private static Map<String, Method> generated() {
        Map<String, Method> found = new TreeMap<>();
        for (Method method : Native.class.getDeclaredMethods()) {
            found.put(method.getName(), method);
        }
        return found;
    }

    private static Set<String> wanted() {
        return new TreeSet<>(Header.FUNCTIONS.keySet());
    }

    @Test
    void theHeaderWasUnderstood() {
        assertTrue(Header.FUNCTIONS.size() > 120);
        assertTrue(Header.enumerators().size() > 80);
        assertEquals(List.of("int64_t nbytes"), Header.FUNCTIONS.get("via_dtype_record"));
    }

    @Test
    void everyFunctionHasANativeMethod() {
        Set<String> found = new TreeSet<>(generated().keySet());
        found.retainAll(Header.FUNCTIONS.keySet());
        assertEquals(wanted(), found);
    }

    @Test
    void everyFunctionIsCalledByTheHandWrittenClassesButForRetain() {
        Set<String> missing = wanted();
        missing.removeAll(named("\\bNative(?:\\.|::)(via_\\w+)", Header.handWritten("src")));
        missing.removeAll(named("\\b(via_\\w+)\\(", Header.handWritten("native")));
        missing.removeIf(name -> name.endsWith("_retain"));
        assertEquals(Set.of(), missing);
    }

    private static Set<String> named(String pattern, String text) {
        Set<String> found = new TreeSet<>();
        Matcher each = Pattern.compile(pattern).matcher(text);
        while (each.find()) {
            found.add(each.group(1));
        }
        return found;
    }

    @Test
    void noParameterIsAKeywordOfJava() {
        for (List<String> parameters : Header.FUNCTIONS.values()) {
            for (String parameter : parameters) {
                assertFalse(SourceVersion.isKeyword(Header.nameOf(parameter)), parameter);
            }
        }
    }

    @Test
    void everyConstantHasItsValue() throws ReflectiveOperationException {
        for (Map.Entry<String, Long> each : Header.enumerators().entrySet()) {
            assertEquals(
                    each.getValue().intValue(), ViaConstants.class.getField(each.getKey()).getInt(null), each.getKey());
        }
    }

    @Test
    void everyErrorHasAnExceptionOfItsOwnAndOthersTheBase() {
        Set<Class<?>> kinds = new TreeSet<>((a, b) -> a.getName().compareTo(b.getName()));
        int errors = 0;
        for (Map.Entry<String, Long> each : Header.enumerators().entrySet()) {
            if (each.getKey().startsWith("VIA_ERROR_")) {
                kinds.add(ViaductException.of(each.getValue().intValue(), 0, new byte[0]).getClass());
                ++errors;
            }
        }
        assertEquals(errors, kinds.size());
        assertFalse(kinds.contains(ViaductException.class));
        assertEquals(ViaductException.class, ViaductException.of(999, 0, new byte[0]).getClass());
    }

    /** In the order of the header; counts and lengths come with the list or the bytes, and outputs are results. */
    private static List<Class<?>> crossing(List<String> parameters) {
        List<Class<?>> types = new ArrayList<>();
        for (int i = 0; i < parameters.size(); ++i) {
            String parameter = parameters.get(i);
            String next = i + 1 < parameters.size() ? parameters.get(i + 1) : "";
            boolean counted = parameter.matches("int32_t (ndim|count)") && next.matches("const \\w+ \\*\\w+|.*\\*(dsts|arrays)");
            boolean sized = parameter.matches("int64_t (capacity|length)");
            if (!counted && !sized && !isResult(parameter)) {
                types.add(crossing(parameter));
            }
        }
        return types;
    }

    /** Structs are filled where the caller has them. */
    private static boolean isResult(String parameter) {
        boolean filled = parameter.matches("(struct Arrow\\w+|via_\\w+_(info|properties|interface)) \\*out_\\w+");
        return parameter.matches(".*\\bout_\\w+") && !filled;
    }

    private static Class<?> crossing(String parameter) {
        if (parameter.matches("int32_t \\w+")) {
            return int.class;
        } else if (parameter.matches("const int64_t \\*\\w+|via_array \\*const \\*\\w+")) {
            return long[].class;
        } else if (parameter.matches("const int32_t \\*\\w+")) {
            return int[].class;
        } else if (parameter.matches("const char \\*const \\*\\w+")) {
            return byte[][].class;
        } else if (parameter.matches("const char \\*\\w+|const void \\*bytes")) {
            return byte[].class;
        }
        return long.class;
    }

    @Test
    void everyParameterCrossesAsWideAsItIs() {
        Map<String, Method> methods = generated();
        for (String name : wanted()) {
            List<Class<?>> found = Arrays.asList(methods.get(name).getParameterTypes());
            assertEquals(crossing(Header.FUNCTIONS.get(name)), found, name);
        }
    }
}
