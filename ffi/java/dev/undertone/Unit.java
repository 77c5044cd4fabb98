package dev.undertone;

/** The privacy unit of a release. Every unit has a {@link Ledger} of its own. */
public enum Unit {
    /** Any one sentence may be exchanged: {@link Document#release}. For long texts. */
    SENTENCE(1),
    /**
     * The whole text may be exchanged for any other: {@link Document#releaseWholeText}. For short
     * texts.
     */
    WHOLE_TEXT(2),
    /** A bag of words may be exchanged for one at word mover's distance 1. */
    WORD(3),
    /** A vector may be exchanged for one at distance 1. */
    VECTOR(4);

    final int number;

    Unit(int number) {
        this.number = number;
    }
}
