package dev.undertone;

/** How a candidate is drawn. */
public enum Rule {
    /** The default: never worse than the exponential mechanism at the same epsilon. */
    PERMUTE_AND_FLIP(1),
    /** For accounting in zCDP. */
    EXPONENTIAL(2);

    final int number;

    Rule(int number) {
        this.number = number;
    }
}
