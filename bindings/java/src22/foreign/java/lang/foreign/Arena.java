package java.lang.foreign;

/** What is used of JDK 22's class, for compilers of JDKs that have none; no jar holds it. */
public interface Arena {
    static Arena ofAuto() {
        throw new UnsupportedOperationException();
    }
}
