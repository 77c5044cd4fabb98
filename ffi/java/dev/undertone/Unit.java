package dev.undertone;

/** For what a release keeps its epsilon. */
public enum Unit {
    /** Any one sentence may be exchanged: {@link Document#release}. For long texts. */
    SENTENCE(1),
    /** The whole text may be exchanged for any other: {@link Document#releaseWholeText}. For short texts. */
    WHOLE_TEXT(2);

    final int number;

    Unit(int number) {
        this.number = number;
    }
}
