package dev.undertone;

/** How the candidate of a release is selected. It depends on the pack. */
public enum Selector {
    /** By approximate Tukey depth. */
    DEPTH(Numbers.SELECTOR_DEPTH),
    /** By bounded scores. */
    SCORES(Numbers.SELECTOR_SCORES);

    final int number;

    Selector(int number) {
        this.number = number;
    }
}
