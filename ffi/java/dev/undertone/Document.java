package dev.undertone;

import java.io.Closeable;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * A private document: sentences go in, one private release comes out, and the document is empty
 * again.
 *
 * <p>It lives outside the Java heap, and holds counts or sums, never a sentence. Close it to wipe
 * it; its memory goes with the object. Threads may share a document; they use it in turn.
 */
public final class Document implements Closeable {
    /** The most sentences in a document. */
    public static final int MAX_SENTENCES = Numbers.MAX_SENTENCES;

    /** The document reads its bytes, so it is held as long as the document. */
    private final Pack pack;

    private final ByteBuffer memory;
    private boolean closed;

    /**
     * An empty document for the candidates of a pack.
     *
     * @throws UndertoneException if the pack has no candidates, or more than a document can hold
     */
    public Document(Pack pack) {
        this.pack = pack;
        ByteBuffer packMemory = pack.memory;
        memory = Native.memory(Numbers.DOCUMENT_HANDLE_SIZE);
        Native.check(Native.documentInit(memory, packMemory, pack.bytes));
    }

    ByteBuffer open() {
        if (closed) {
            throw new IllegalStateException("the document is closed");
        }
        return memory;
    }

    /**
     * Adds one sentence by its embedding. Any floats: a coordinate that is not finite counts as 0.
     * It must come from the encoder that the pack names, which must have seen this sentence alone.
     *
     * @throws UndertoneException if it has not {@link Pack#dimension} coordinates, the document is
     *     full, or the pack has features of texts; the document is unchanged then
     */
    public synchronized void push(float[] embedding) {
        if (embedding == null) {
            throw new NullPointerException("embedding");
        }
        Native.check(Native.documentPush(open(), embedding));
    }

    /**
     * Adds several sentences by their embeddings, until the document is full; the rest is left out.
     * Equals {@link #push} for each, but is faster.
     *
     * @param embeddings one after another, each of {@link Pack#dimension} numbers
     * @return the number of sentences added, which is private and must not leave the device
     * @throws UndertoneException if the length is not a multiple of the dimension, or the pack has
     *     features of texts; the document is unchanged then
     */
    public synchronized int pushAll(float[] embeddings) {
        if (embeddings == null) {
            throw new NullPointerException("embeddings");
        }
        return Native.checked(Native.documentPushAll(open(), embeddings));
    }

    /**
     * Adds one sentence by its text and its embedding, for a pack that was built with a neural
     * encoder and has {@link Pack#featureCount features} of texts. Without features, this is {@link
     * #push}.
     *
     * @throws UndertoneException if the embedding has not {@link Pack#dimension} coordinates, or
     *     the document is full; the document is unchanged then
     */
    public synchronized void pushEncoded(String sentence, float[] embedding) {
        if (embedding == null) {
            throw new NullPointerException("embedding");
        }
        byte[] text = Native.utf8(sentence);
        try {
            Native.check(Native.documentPushEncoded(open(), text, embedding));
        } finally {
            Arrays.fill(text, (byte) 0);
        }
    }

    /**
     * Adds one sentence by its text, through the lexicon and the features in the pack. Any text: a
     * surrogate without its other half separates words. A sentence without a known word counts as
     * the zero vector.
     *
     * @throws UndertoneException if the pack reads no text, or the document is full; the document
     *     is unchanged then
     */
    public synchronized void pushSentence(String sentence) {
        byte[] text = Native.utf8(sentence);
        try {
            Native.check(Native.documentPushSentence(open(), text));
        } finally {
            Arrays.fill(text, (byte) 0);
        }
    }

    /**
     * Adds the sentences of a text, as {@link #pushSentence} does, until the document is full.
     * Takes any text, as {@link #pushSentence} does.
     *
     * @return the number of sentences added, which is private and must not leave the device
     * @throws UndertoneException if the pack reads no text; the document is unchanged then
     */
    public synchronized int pushText(String text) {
        byte[] bytes = Native.utf8(text);
        try {
            return Native.checked(Native.documentPushText(open(), bytes));
        } finally {
            Arrays.fill(bytes, (byte) 0);
        }
    }

    /** The number of sentences in the document. It is private and must not leave the device. */
    public synchronized int sentenceCount() {
        return Native.documentSentenceCount(open());
    }

    /** Forgets all sentences and wipes what they left. */
    public synchronized void reset() {
        Native.check(Native.documentReset(open()));
    }

    /** {@link #release(Grant, Rule)} by {@link Rule#PERMUTE_AND_FLIP}. */
    public Release release(Grant grant) {
        return release(grant, Rule.PERMUTE_AND_FLIP);
    }

    /**
     * The promise of a release, which does not depend on the sentences. Call this before a ledger
     * spends: it refuses a pack that has no whole-text release.
     *
     * @throws UndertoneException if epsilon is out of range, or the pack has no such release
     */
    public synchronized Promise promise(Unit unit, long epsilonMicro) {
        long[] micro = new long[2];
        Native.check(Native.documentPromise(open(), unit.number, epsilonMicro, micro));
        return new Promise(micro[0], micro[1]);
    }

    /**
     * Draws a release that protects each sentence, and forgets all sentences. For long texts;
     * choose between this and {@link #releaseWholeText} without looking at the text, nor at its
     * length.
     *
     * <p>For any pack, replacing any one sentence changes the probability of any release by at most
     * a factor of e^epsilon; adding or removing one, by at most e^(epsilon/2). Several releases of
     * the same sentences add up. The pack, epsilon and the rule must be chosen without looking at
     * the document. A document without sentences releases a uniformly random candidate.
     *
     * @throws UndertoneException if the grant was spent; the sentences are still there then
     */
    public synchronized Release release(Grant grant, Rule rule) {
        int number = rule.number;
        return Release.drawn(grant, (memory, entropy, out) ->
                Native.documentRelease(open(), memory, number, entropy, out));
    }

    /**
     * Draws a release that protects the whole text, and forgets all sentences. For short texts: a
     * message, a search, a line that is typed.
     *
     * <p>For any pack, exchanging the whole text for any other changes the probability of any
     * release by at most a factor of e^epsilon. Several releases add up. The pack, epsilon and that
     * it is this release must be chosen without looking at the document. If the pack recognised
     * nothing in the text, {@link Release#isNothingKnown} returns true.
     *
     * @throws UndertoneException if the pack selects by depth or has too many candidates, or the
     *     grant was spent; the sentences are still there then
     */
    public synchronized Release releaseWholeText(Grant grant) {
        return Release.drawn(grant, (memory, entropy, out) ->
                Native.documentReleaseWholeText(open(), memory, false, entropy, out));
    }

    /**
     * Draws a release that protects the whole text and is made for counting, and forgets all
     * sentences. It promises what {@link #releaseWholeText} promises, but names a point that many
     * candidates prefer ({@link Release#order}): one release reveals little, and shares estimated
     * from many releases err less if there are many candidates.
     *
     * <p>For any pack, exchanging the whole text for any other changes the probability of any
     * release by at most a factor of e^epsilon. Several releases add up. The pack, epsilon and that
     * it is this release must be chosen without looking at the document.
     *
     * @throws UndertoneException as {@link #releaseWholeText}
     */
    public synchronized Release releaseProjective(Grant grant) {
        return Release.drawn(grant, (memory, entropy, out) ->
                Native.documentReleaseWholeText(open(), memory, true, entropy, out));
    }

    /** Wipes the document, which cannot be used afterwards. Closing it again does nothing. */
    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            Native.check(Native.documentReset(memory));
        }
    }

    /** The pack that the document was made from. */
    public Pack pack() {
        return pack;
    }
}
