package dev.undertone;

import java.nio.charset.StandardCharsets;

/** The version of the library, and numbers from text. */
public final class Undertone {
    private Undertone() {}

    /** The version of the native library, such as "0.2.0". */
    public static String version() {
        return Native.version();
    }

    /**
     * The kernels that the native library chose for this processor: "avx512", "avx2", "neon" or
     * "portable". They differ in speed only.
     */
    public static String backend() {
        return Native.backend();
    }

    /**
     * Reads a decimal number such as "10", "0.5" or "1e-3" as an epsilon in micro-units, exactly,
     * rounding down.
     *
     * @throws UndertoneException if it is not a number, or not between 0.000001 and 1000
     */
    public static long epsilonMicro(String text) {
        return Native.checked(Native.epsilonParse(text.getBytes(StandardCharsets.UTF_8)));
    }
}
