package dev.undertone;

import java.nio.ByteBuffer;

/**
 * The public vocabulary of private words: the words of a pack's lexicon, by number.
 *
 * <p>It holds nothing private and needs no closing. One vocabulary may be used by many threads at
 * once.
 */
public final class Vocabulary {
    /** The vocabulary reads its bytes, so it is held as long as the vocabulary. */
    private final Pack pack;

    final ByteBuffer memory;
    private final long[] description = new long[2];

    /**
     * The vocabulary of a pack. One pass over the words' vectors.
     *
     * @throws UndertoneException if the pack has no lexicon
     */
    public Vocabulary(Pack pack) {
        this.pack = pack;
        ByteBuffer packMemory = pack.memory;
        memory = Native.memory(Numbers.VOCABULARY_HANDLE_SIZE);
        Native.check(Native.vocabularyInit(memory, packMemory, pack.bytes));
        Native.check(Native.vocabularyDescribe(memory, pack.bytes, description));
    }

    /** The number of words, 1 to 65536. */
    public int wordCount() {
        return Native.vocabularyWordCount(memory, pack.bytes);
    }

    /** The public word that all unknown words map to, by number. */
    public int fallback() {
        return (int) description[0];
    }

    /** The step q of the promise of {@link Bag#release(Grant, int, WordMethod)} is 2 to this. */
    public int unitExponent() {
        return (int) description[1];
    }

    /**
     * The text of a word.
     *
     * @param word its number, such as one of {@link BagRelease#words}
     * @throws UndertoneException if there is no word with this number
     */
    public String word(int word) {
        long[] range = new long[2];
        Native.check(Native.vocabularyWord(memory, pack.bytes, word, range));
        return Native.text(pack.bytes, range);
    }

    /** The pack that the vocabulary was made from. */
    public Pack pack() {
        return pack;
    }
}
