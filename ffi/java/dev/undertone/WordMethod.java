package dev.undertone;

/** How a word is replaced. */
public enum WordMethod {
    /** Selection by permute-and-flip, the default. */
    PERMUTE_AND_FLIP(Numbers.WORD_METHOD_PERMUTE_AND_FLIP),
    /** Selection by the exponential mechanism. */
    EXPONENTIAL(Numbers.WORD_METHOD_EXPONENTIAL),
    /** Noise on a word's vector, then the nearest word, as published; for comparison. */
    LAPLACE_NEAREST(Numbers.WORD_METHOD_LAPLACE_NEAREST);

    final int number;

    WordMethod(int number) {
        this.number = number;
    }
}
