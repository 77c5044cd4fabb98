package dev.undertone;

/** How a line of a slot is released. */
public enum LineMechanism {
    /** Epsilon protects all lines of the slot together. */
    WHOLE_TEXT(Numbers.MECHANISM_WHOLE_TEXT),
    /** The same, for counting among many candidates. */
    PROJECTIVE(Numbers.MECHANISM_PROJECTIVE),
    /**
     * Epsilon protects each line, such as a sentence of a text. The grant is for {@link
     * Unit#SENTENCE}.
     */
    DRAWN(Numbers.MECHANISM_DRAWN);

    final int number;

    LineMechanism(int number) {
        this.number = number;
    }
}
