package dev.undertone;

/** How a candidate is drawn. */
public enum Rule {
    /** The default: never less accurate than the exponential mechanism at the same epsilon. */
    PERMUTE_AND_FLIP(Numbers.RULE_PERMUTE_AND_FLIP),
    /** For accounting in zCDP. */
    EXPONENTIAL(Numbers.RULE_EXPONENTIAL);

    final int number;

    Rule(int number) {
        this.number = number;
    }
}
