package dev.undertone;

import java.io.Closeable;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * The words of one private text: words go in, one private release comes out, and the bag is empty
 * again.
 *
 * <p>It lives outside the Java heap. Close it to wipe it; its memory goes with the object. Threads
 * may share a bag; they use it in turn.
 */
public final class Bag implements Closeable {
    /** The most words that a bag keeps of a text; the rest is left out. */
    public static final int MAX_WORDS = Numbers.MAX_BAG_WORDS;

    /** The most words in a release. */
    public static final int MAX_RELEASED_WORDS = Numbers.MAX_RELEASED_WORDS;

    /** The bag reads the bytes of its pack, so it is held as long as the bag. */
    private final Vocabulary vocabulary;

    private final ByteBuffer memory;
    private boolean closed;

    /** An empty bag of words of a vocabulary. */
    public Bag(Vocabulary vocabulary) {
        this.vocabulary = vocabulary;
        ByteBuffer vocabularyMemory = vocabulary.memory;
        memory = Native.memory(Numbers.BAG_HANDLE_SIZE);
        Native.check(Native.bagInit(memory, vocabularyMemory, vocabulary.pack().bytes));
    }

    private ByteBuffer open() {
        if (closed) {
            throw new IllegalStateException("the bag is closed");
        }
        return memory;
    }

    /**
     * Adds one word. One that the vocabulary does not have counts as its {@link
     * Vocabulary#fallback}, and so does anything that is not one word. A word is letters and
     * digits, with apostrophes inside. A bag with {@link #MAX_WORDS} words stays as it is.
     */
    public void push(String word) {
        push(word, false);
    }

    /**
     * Adds every word of a text, including stop words. To leave those out, push the words that
     * matter one by one. Words of more than 48 bytes of UTF-8 are left out.
     */
    public void pushText(String text) {
        push(text, true);
    }

    private synchronized void push(String text, boolean wholeText) {
        byte[] bytes = Native.utf8(text);
        try {
            Native.check(Native.bagPush(open(), bytes, wholeText));
        } finally {
            Arrays.fill(bytes, (byte) 0);
        }
    }

    /** Forgets all words and wipes them. */
    public synchronized void reset() {
        Native.check(Native.bagReset(open()));
    }

    /** {@link #release(Grant, int, WordMethod)} by {@link WordMethod#PERMUTE_AND_FLIP}. */
    public BagRelease release(Grant grant, int words) {
        return release(grant, words, WordMethod.PERMUTE_AND_FLIP);
    }

    /**
     * Draws words of the bag by frequency, replaces each by a word of the vocabulary, and forgets
     * all words.
     *
     * <p>The promise is metric. For two bags of {@code words} words at word mover's distance W, the
     * probability of any release differs by at most a factor of e^(epsilon*words*(W + q)), q being
     * 2 to {@link Vocabulary#unitExponent}. For words far apart that may limit nothing. Several
     * releases of the same text add up. The pack, the number of words, epsilon and the method must
     * be chosen without looking at the text. A bag without words counts as the fallback word.
     *
     * @param grant for {@link Unit#WORD}, of the epsilon of each word; for no fewer words
     * @param words 1 to {@link #MAX_RELEASED_WORDS}
     * @throws UndertoneException if the number of words is out of range, the grant is for another
     *     unit or fewer words, or was spent; or if the method is {@link WordMethod#LAPLACE_NEAREST}
     *     and epsilon is below 0.1. The bag keeps its words then
     */
    public synchronized BagRelease release(Grant grant, int words, WordMethod method) {
        ByteBuffer bag = open();
        int number = method.number;
        ByteBuffer out = Native.room(Native.bagReleaseLength(words));
        byte[] entropy = Native.entropy();
        try {
            synchronized (grant) {
                int length = Native.checked(Native.bagRelease(bag, grant.memory, words, number, entropy, out));
                return new BagRelease(Native.bytes(out, length));
            }
        } finally {
            Arrays.fill(entropy, (byte) 0);
        }
    }

    /** Wipes the bag, which cannot be used afterwards. Closing it again does nothing. */
    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            Native.check(Native.bagReset(memory));
        }
    }

    /** The vocabulary that the bag was made from. */
    public Vocabulary vocabulary() {
        return vocabulary;
    }
}
