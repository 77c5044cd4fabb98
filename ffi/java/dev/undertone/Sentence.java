package dev.undertone;

import java.util.Arrays;
import java.util.Optional;

/**
 * A sentence of a text, with its place: as private as the text. {@link Document#pushText} finds the
 * same sentences.
 *
 * <p>A keyboard keeps what was typed, and takes from it the sentences that are finished:
 *
 * <pre>{@code
 * for (Optional<Sentence> next = Sentence.nextFinished(typed, 0); next.isPresent();
 *         next = Sentence.nextFinished(typed, next.get().end())) {
 *     document.pushSentence(next.get().text());
 * }
 * }</pre>
 */
public final class Sentence {
    private final int start;
    private final int end;
    private final String text;

    private Sentence(int start, int end, String text) {
        this.start = start;
        this.end = end;
        this.text = text;
    }

    /**
     * The next sentence of a text; nothing if none is left. Any text: a surrogate without its other
     * half separates words.
     *
     * @param text the whole text, also on later calls
     * @param start 0, or the {@link #end} of the sentence before
     * @throws IllegalArgumentException if the start is negative
     */
    public static Optional<Sentence> next(String text, int start) {
        return find(text, start, false);
    }

    /**
     * The next sentence of a text that is still being typed: as {@link #next}, but a sentence is
     * found only once nothing typed after it can change it.
     *
     * @param text the whole text so far, also on later calls
     * @param start 0, or the {@link #end} of the sentence before
     * @throws IllegalArgumentException if the start is negative
     */
    public static Optional<Sentence> nextFinished(String text, int start) {
        return find(text, start, true);
    }

    private static Optional<Sentence> find(String text, int start, boolean finished) {
        if (start < 0) {
            throw new IllegalArgumentException("start " + start + " is negative");
        }
        byte[] bytes = Native.utf8(text);
        if (finished && !text.isEmpty() && Character.isHighSurrogate(text.charAt(text.length() - 1))) {
            // Half of a pair may become any character, such as a small letter: not U+FFFD, the
            // three bytes that stand for it.
            byte[] before = Arrays.copyOf(bytes, bytes.length - 3);
            Arrays.fill(bytes, (byte) 0);
            bytes = before;
        }
        long[] range = new long[2];
        try {
            Native.check(Native.sentenceNext(bytes, bytesOf(bytes, start), finished, range));
            if (range[1] == 0) {
                return Optional.empty();
            }
            int from = charsOf(bytes, (int) range[0]);
            int to = charsOf(bytes, (int) (range[0] + range[1]));
            return Optional.of(new Sentence(from, to, text.substring(from, to)));
        } finally {
            Arrays.fill(bytes, (byte) 0);
        }
    }

    /**
     * The number of chars that begin at a byte of UTF-8: 0 at a continuation, 2 at the first of
     * four bytes.
     */
    private static int chars(byte first) {
        return (first & 0xc0) == 0x80 ? 0 : (first & 0xf8) == 0xf0 ? 2 : 1;
    }

    private static int charsOf(byte[] bytes, int count) {
        int chars = 0;
        for (int i = 0; i < count; i++) {
            chars += chars(bytes[i]);
        }
        return chars;
    }

    /** The number of bytes of {@code chars} chars, or of the whole text if it has fewer. */
    private static int bytesOf(byte[] bytes, int chars) {
        int i = 0;
        for (int passed = 0; i < bytes.length && (passed < chars || chars(bytes[i]) == 0); i++) {
            passed += chars(bytes[i]);
        }
        return i;
    }

    /** Where the sentence starts in the text, without the spaces before it. */
    public int start() {
        return start;
    }

    /** Where it ends, without the spaces after it. */
    public int end() {
        return end;
    }

    /** The sentence. */
    public String text() {
        return text;
    }
}
