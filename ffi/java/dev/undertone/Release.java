package dev.undertone;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * The bytes that leave the device: they name one candidate of a pack, or a point, with the epsilon
 * that was spent.
 */
public final class Release {
    /** The length of a release. */
    public static final int BYTES = Numbers.RELEASE_BYTES;

    static final int PACK_ID_BYTES = Numbers.PACK_ID_BYTES;

    private final byte[] bytes;
    private final long[] fields = new long[5];
    private final byte[] packId = new byte[PACK_ID_BYTES];

    /**
     * Reads a release, such as one that came from a device.
     *
     * @throws UndertoneException if the bytes are not a release that this version reads
     */
    public Release(byte[] bytes) {
        this.bytes = bytes.clone();
        Native.check(Native.releaseRead(this.bytes, fields, packId));
    }

    /** A native function that draws a release. */
    interface Draw {
        int draw(ByteBuffer grant, byte[] entropy, byte[] out);
    }

    static Release drawn(Grant grant, Draw draw) {
        byte[] entropy = Native.entropy();
        byte[] release = new byte[BYTES];
        try {
            synchronized (grant) {
                Native.check(draw.draw(grant.memory, entropy, release));
            }
        } finally {
            Arrays.fill(entropy, (byte) 0);
        }
        return new Release(release);
    }

    /** The bytes that are sent. */
    public byte[] toBytes() {
        return bytes.clone();
    }

    /**
     * The index of the candidate drawn, or the number of a point if there is an {@link #order}; see
     * {@link #isNothingKnown}. Compare it with {@link Pack#candidateCount} if the release came from
     * elsewhere: it can be forged.
     */
    public int candidate() {
        return (int) fields[0];
    }

    /** The epsilon that was spent, in micro-units. */
    public long epsilonMicro() {
        return fields[1];
    }

    /** How the candidate was drawn. */
    public Rule rule() {
        return fields[2] == Rule.EXPONENTIAL.number ? Rule.EXPONENTIAL : Rule.PERMUTE_AND_FLIP;
    }

    /** The privacy unit of the release. */
    public Unit unit() {
        return fields[3] == Unit.WHOLE_TEXT.number ? Unit.WHOLE_TEXT : Unit.SENTENCE;
    }

    /**
     * Returns true for a release of the whole text, or of a drawn sentence, whose outcome is that
     * the pack recognised nothing in it. {@link #candidate} then names no candidate. The noise may have picked
     * this outcome.
     */
    public boolean isNothingKnown(Pack pack) {
        return (unit() == Unit.WHOLE_TEXT) == (order() == 0) && candidate() == pack.nothingKnown;
    }

    /**
     * The order of the geometry, if the release is by {@link Document#releaseProjective} or an
     * answer ({@link Form#release}): {@link #candidate} is the number of a point, and of an answer
     * 2^24 times the number of the question plus that of the point. The number of places, if the
     * release is a {@link LineMechanism#DRAWN} sentence. 0 for all others.
     */
    public int order() {
        return (int) fields[4];
    }

    /** The identifier of the pack whose candidates the index counts, as of {@link Pack#id}. */
    public byte[] packId() {
        return packId.clone();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Release && Arrays.equals(bytes, ((Release) other).bytes);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bytes);
    }
}
