package dev.undertone;

/** How a word is replaced. */
public enum WordMethod {
    /** Selection by permute-and-flip, the default. */
    PERMUTE_AND_FLIP(1),
    /** Selection by the exponential mechanism. */
    EXPONENTIAL(2),
    /** Noise on a word's vector, then the nearest word, as published; for comparison. */
    LAPLACE_NEAREST(3);

    final int number;

    WordMethod(int number) {
        this.number = number;
    }
}
