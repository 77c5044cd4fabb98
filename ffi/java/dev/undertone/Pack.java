package dev.undertone;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;

/**
 * A pack: what the public side built and every device reads.
 *
 * <p>It holds nothing private and needs no closing. One pack may be used by many threads at once.
 */
public final class Pack {
    /**
     * Read in place by the native side, so it must be held as long as the pack is. Each call gets
     * it beside {@link #memory}: a collector may take a pack, and free its buffers, while its last
     * call still runs.
     */
    final ByteBuffer bytes;

    final ByteBuffer memory;

    private Pack(ByteBuffer bytes) {
        this.bytes = bytes;
        memory = ByteBuffer.allocateDirect(Native.packHandleMemory());
        Native.check(Native.packInit(memory, bytes));
    }

    /**
     * Checks the bytes of a pack and copies them.
     *
     * @throws UndertoneException if they are not a pack that this version reads
     */
    public static Pack copyOf(byte[] bytes) {
        ByteBuffer copy = ByteBuffer.allocateDirect(bytes.length);
        copy.put(bytes).flip();
        return new Pack(copy);
    }

    /**
     * Checks the remaining bytes of a direct buffer, such as a mapped file, and reads them where
     * they are. They must not change as long as the pack or a document made from it is used: a
     * mapped file must not be written to, but replaced.
     *
     * @throws IllegalArgumentException if the buffer is not direct
     * @throws UndertoneException if they are not a pack that this version reads
     */
    public static Pack wrap(ByteBuffer bytes) {
        if (!bytes.isDirect()) {
            throw new IllegalArgumentException(
                    "the buffer is not direct: map the file or use ByteBuffer.allocateDirect, or take Pack.copyOf");
        }
        return new Pack(bytes.slice());
    }

    /** The dimension of an embedding. */
    public int dimension() {
        return Native.packDimension(memory, bytes);
    }

    /** The number of candidates that a release is drawn from; 0 if the pack has none. */
    public int candidateCount() {
        return Native.packCandidateCount(memory, bytes);
    }

    /**
     * The number of words in the lexicon, which {@link Document#pushSentence} needs; 0 without one.
     */
    public int wordCount() {
        return Native.packWordCount(memory, bytes);
    }

    /** The number of features of texts, which need the text of a sentence; 0 without them. */
    public int featureCount() {
        return Native.packFeatureCount(memory, bytes);
    }

    /** How a candidate is selected; nothing if the pack has no candidates. */
    public Optional<Selector> selector() {
        int number = Native.packSelector(memory, bytes);
        return Arrays.stream(Selector.values()).filter(selector -> selector.number == number).findFirst();
    }

    /** The largest score that one sentence can give a candidate, 1 to 255; 0 without scores. */
    public int largestScore() {
        return Native.packLargestScore(memory, bytes);
    }

    /**
     * The number of levels of the scores, 2 to 160; 0 without scores. Fewer levels promise more for
     * the whole text ({@link Document#promise}).
     */
    public int levelCount() {
        return Native.packLevelCount(memory, bytes);
    }

    /** The number of projection directions of a pack that selects by depth; 0 for any other. */
    public int directionCount() {
        return Native.packDirectionCount(memory, bytes);
    }

    /**
     * The dimension of a vector released after {@link VectorMechanism#projected}; 0 without a
     * projection.
     */
    public int projectedDimension() {
        return Native.packProjectedDimension(memory, bytes);
    }

    /**
     * The embedding of one sentence by the lexicon of the pack: the vector that {@link
     * Document#pushSentence} adds. It is as private as the sentence.
     *
     * @return {@link #dimension} numbers
     * @throws UndertoneException if the pack has no lexicon
     */
    public float[] embedSentence(String sentence) {
        byte[] text = Native.utf8(sentence);
        ByteBuffer out = Native.room(Float.BYTES * dimension());
        try {
            float[] embedding = new float[Native.checked(Native.packEmbedSentence(memory, bytes, text, out))];
            out.asFloatBuffer().get(embedding);
            return embedding;
        } finally {
            Arrays.fill(text, (byte) 0);
            out.put(new byte[out.capacity()]);
        }
    }

    /** The identifier of the pack, eight bytes, which a release carries. */
    public byte[] id() {
        byte[] id = new byte[Release.PACK_ID_BYTES];
        Native.check(Native.packId(memory, bytes, id));
        return id;
    }

    /** The name of the encoder whose embeddings the pack was built from. */
    public String encoderName() {
        byte[] name = new byte[Numbers.ENCODER_NAME_BYTES];
        Native.check(Native.packEncoderName(memory, bytes, name));
        int len = 0;
        while (name[len] != 0) {
            len++;
        }
        return new String(name, 0, len, StandardCharsets.UTF_8);
    }

    /** The digest that identifies that encoder, 32 bytes. */
    public byte[] encoderDigest() {
        byte[] digest = new byte[Numbers.ENCODER_DIGEST_BYTES];
        Native.check(Native.packEncoderDigest(memory, bytes, digest));
        return digest;
    }
}
