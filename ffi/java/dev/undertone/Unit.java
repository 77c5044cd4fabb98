package dev.undertone;

/** The privacy unit of a release. Every unit has a {@link Ledger} of its own. */
public enum Unit {
    /** Any one sentence may be exchanged: {@link Document#release}. For long texts. */
    SENTENCE(Numbers.UNIT_SENTENCE),
    /**
     * The whole text may be exchanged for any other: {@link Document#releaseWholeText}. For short
     * texts.
     */
    WHOLE_TEXT(Numbers.UNIT_WHOLE_TEXT),
    /** A bag of words may be exchanged for one at word mover's distance 1. */
    WORD(Numbers.UNIT_WORD),
    /** A vector may be exchanged for one at distance 1. */
    VECTOR(Numbers.UNIT_VECTOR);

    final int number;

    Unit(int number) {
        this.number = number;
    }
}
