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
    /** Read in place by the native side, so it must be held as long as the pack is. */
    private final ByteBuffer bytes;

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
     * Checks the remaining bytes of a direct buffer, such as a mapped file, and reads them where they are.
     * They must not change as long as the pack or a document made from it is used: a mapped file must not be
     * written to, but replaced.
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
        return Native.packDimension(memory);
    }

    /** The number of candidates that a release is drawn from; 0 if the pack has none. */
    public int candidateCount() {
        return Native.packCandidateCount(memory);
    }

    /** The number of words in the lexicon, which {@link Document#pushSentence} needs; 0 without one. */
    public int wordCount() {
        return Native.packWordCount(memory);
    }

    /** The number of features of texts, which need the text of a sentence; 0 without them. */
    public int featureCount() {
        return Native.packFeatureCount(memory);
    }

    /**
     * The unit whose releases were right more often where whoever made the pack measured it on public texts; nothing if the
     * pack does not say. It depends on public things only: choose by it before there is a text.
     *
     * @param epsilonMicro that of a grant
     * @param sentences how many the texts of the app have, as a rule; 0: as the public texts
     */
    public Optional<Unit> recommendedUnit(long epsilonMicro, int sentences) {
        int number = Native.packRecommendedUnit(memory, epsilonMicro, sentences);
        return Arrays.stream(Unit.values()).filter(unit -> unit.number == number).findFirst();
    }

    /** The identifier of the pack, eight bytes, which a release carries. */
    public byte[] id() {
        byte[] id = new byte[Release.PACK_ID_BYTES];
        Native.check(Native.packId(memory, id));
        return id;
    }

    /** The name of the encoder whose embeddings the pack was built from. */
    public String encoderName() {
        byte[] name = new byte[33];
        Native.check(Native.packEncoderName(memory, name));
        int len = 0;
        while (name[len] != 0) {
            len++;
        }
        return new String(name, 0, len, StandardCharsets.UTF_8);
    }

    /** The digest that identifies that encoder, 32 bytes. */
    public byte[] encoderDigest() {
        byte[] digest = new byte[32];
        Native.check(Native.packEncoderDigest(memory, digest));
        return digest;
    }
}
