package dev.undertone;

import java.nio.ByteBuffer;
import java.util.Arrays;

/** What leaves the device of a {@link Bag}: words, by number, with the epsilon that was spent. */
public final class BagRelease {
    private final byte[] bytes;
    private final long[] fields = new long[3];
    private final byte[] packId = new byte[Release.PACK_ID_BYTES];

    /**
     * Reads a release, such as one that came from a device.
     *
     * @throws UndertoneException if the bytes are not the release of a bag that this version reads
     */
    public BagRelease(byte[] bytes) {
        this.bytes = bytes.clone();
        Native.check(Native.bagReleaseRead(this.bytes, fields, packId));
    }

    /** The bytes that are sent. */
    public byte[] toBytes() {
        return bytes.clone();
    }

    /**
     * The words, by number, in ascending order; repeated words are repeated. A number in a release
     * that was forged may be too large: {@link Vocabulary#word} refuses it.
     */
    public int[] words() {
        ByteBuffer out = Native.room(Integer.BYTES * wordCount());
        int[] words = new int[Native.checked(Native.bagReleaseReadWords(bytes, out))];
        out.asIntBuffer().get(words);
        return words;
    }

    /** The number of words. */
    public int wordCount() {
        return (int) fields[0];
    }

    /** How words were replaced. */
    public WordMethod method() {
        return Arrays.stream(WordMethod.values())
                .filter(method -> method.number == fields[1])
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("method " + fields[1] + " of a newer native library"));
    }

    /** The epsilon that was spent on each word, in micro-units. */
    public long epsilonMicro() {
        return fields[2];
    }

    /** The identifier of the pack whose words are counted, as of {@link Pack#id}. */
    public byte[] packId() {
        return packId.clone();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof BagRelease && Arrays.equals(bytes, ((BagRelease) other).bytes);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bytes);
    }
}
