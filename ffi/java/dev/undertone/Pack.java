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

    private final int dimension;
    private final int candidateCount;
    final int nothingKnown;
    private final int selector;
    private final int largestScore;
    private final int levelCount;
    private final int featureCount;
    private final int directionCount;
    private final int wordCount;
    private final int projectedDimension;
    private final byte[] id;
    private final byte[] encoderDigest;
    private final byte[] encoderName;

    private Pack(ByteBuffer bytes) {
        this.bytes = bytes;
        memory = Native.memory(Numbers.PACK_HANDLE_SIZE);
        Native.check(Native.packInit(memory, bytes));
        // In the order of undertone_pack_description.
        ByteBuffer fields = Native.room(128);
        Native.check(Native.packDescribe(memory, bytes, fields));
        dimension = fields.getInt();
        candidateCount = fields.getInt();
        nothingKnown = fields.getInt();
        selector = fields.getInt();
        largestScore = fields.getInt();
        levelCount = fields.getInt();
        featureCount = fields.getInt();
        directionCount = fields.getInt();
        wordCount = fields.getInt();
        projectedDimension = fields.getInt();
        id = Native.bytes(fields, Numbers.PACK_ID_BYTES);
        encoderDigest = Native.bytes(fields, Numbers.ENCODER_DIGEST_BYTES);
        encoderName = Native.bytes(fields, Numbers.ENCODER_NAME_BYTES);
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
        return dimension;
    }

    /** The number of candidates that a release is drawn from; 0 if the pack has none. */
    public int candidateCount() {
        return candidateCount;
    }

    /**
     * The number of words in the lexicon, which {@link Document#pushSentence} needs; 0 without one.
     */
    public int wordCount() {
        return wordCount;
    }

    /** The number of features of texts, which need the text of a sentence; 0 without them. */
    public int featureCount() {
        return featureCount;
    }

    /** How a candidate is selected; nothing if the pack has no candidates. */
    public Optional<Selector> selector() {
        return Arrays.stream(Selector.values()).filter(it -> it.number == selector).findFirst();
    }

    /** The largest score that one sentence can give a candidate, 1 to 255; 0 without scores. */
    public int largestScore() {
        return largestScore;
    }

    /**
     * The number of levels of the scores, 2 to 160; 0 without scores. Fewer levels promise more for
     * the whole text ({@link Document#promise}).
     */
    public int levelCount() {
        return levelCount;
    }

    /** The number of projection directions of a pack that selects by depth; 0 for any other. */
    public int directionCount() {
        return directionCount;
    }

    /**
     * The dimension of a vector released after {@link VectorMechanism#projected}; 0 without a
     * projection.
     */
    public int projectedDimension() {
        return projectedDimension;
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
        return id.clone();
    }

    /** The name of the encoder whose embeddings the pack was built from. */
    public String encoderName() {
        return new String(encoderName, StandardCharsets.UTF_8).replace("\0", "");
    }

    /** The digest that identifies that encoder, 32 bytes. */
    public byte[] encoderDigest() {
        return encoderDigest.clone();
    }
}
