package dev.undertone;

/** What a release promises, in micro-units of epsilon; less is more private. */
public final class Promise {
    private final long sentenceMicro;
    private final long wholeTextMicro;

    Promise(long sentenceMicro, long wholeTextMicro) {
        this.sentenceMicro = sentenceMicro;
        this.wholeTextMicro = wholeTextMicro;
    }

    /** What replacing one sentence can cost at most. */
    public long sentenceMicro() {
        return sentenceMicro;
    }

    /** What replacing the whole text by any other can cost at most. */
    public long wholeTextMicro() {
        return wholeTextMicro;
    }
}
