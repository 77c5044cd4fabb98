package dev.undertone;

/** How the candidate of a release is selected. It depends on the pack. */
public enum Selector {
    /** By approximate Tukey depth. */
    DEPTH(1),
    /** By bounded scores. */
    SCORES(2);

    final int number;

    Selector(int number) {
        this.number = number;
    }
}
