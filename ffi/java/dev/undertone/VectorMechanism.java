package dev.undertone;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * The mechanism that releases private vectors, with its public parameters.
 *
 * <p>It holds nothing private and needs no closing. One mechanism may be used by many threads at
 * once.
 */
public final class VectorMechanism {
    /** The most coordinates of a released vector. */
    public static final int MAX_DIMENSION = Numbers.MAX_VECTOR_DIMENSION;

    /**
     * The mechanism may read its bytes, so it is held as long as the mechanism; null without a
     * projection.
     */
    private final Pack pack;

    private final ByteBuffer memory;

    private VectorMechanism(Pack pack) {
        this.pack = pack;
        memory = Native.memory(Numbers.VECTOR_MECHANISM_HANDLE_SIZE);
    }

    /**
     * A mechanism that releases vectors as they are. All parameters must be chosen without looking
     * at private vectors.
     *
     * @param dimension 1 to {@link #MAX_DIMENSION}
     * @param boundExponent coordinates are clamped to plus or minus 2 to this; 0 is enough for
     *     vectors of norm 1
     * @param epsilonMicro epsilon in micro-units per unit of distance, 100,000 to 1,000,000,000
     * @throws UndertoneException if a parameter is out of range
     */
    public VectorMechanism(int dimension, int boundExponent, long epsilonMicro, Noise noise) {
        this(null);
        Native.check(Native.vectorMechanismInit(memory, dimension, boundExponent, noise.number, epsilonMicro));
    }

    /**
     * A mechanism that projects vectors with the projection of a pack before it releases them. Keep
     * it: making it takes a second or so for the largest projection on a phone.
     *
     * @param epsilonMicro epsilon in micro-units per unit of distance, 100,000 to 1,000,000,000
     * @throws UndertoneException if the pack has no projection or one that stretches distances by
     *     more than 4096, or epsilon is out of range
     */
    public static VectorMechanism projected(Pack pack, long epsilonMicro, Noise noise) {
        ByteBuffer packMemory = pack.memory;
        VectorMechanism mechanism = new VectorMechanism(pack);
        Native.check(Native.vectorMechanismInitProjected(
                mechanism.memory, packMemory, pack.bytes, noise.number, epsilonMicro));
        return mechanism;
    }

    /** The dimension of a vector that goes in. */
    public int dimension() {
        return Native.vectorMechanismDimension(memory, pack);
    }

    /** The length of a release in bytes. */
    public int releaseLength() {
        return Native.vectorMechanismReleaseLength(memory, pack);
    }

    /**
     * Draws the release of one private vector.
     *
     * <p>The promise is metric. For two vectors at distance D, the probability of any release
     * differs by at most a factor of e^(epsilon*D), up to a grid step and, with {@link
     * Noise#LAPLACE}, a delta of about (1 + e^(epsilon*D))*2^-60. For vectors far apart that may
     * limit nothing. Several releases of the same vector add up. On processors that emulate double
     * precision the time of Laplace noise depends on it, so keep release timing hidden on such
     * devices.
     *
     * @param grant for {@link Unit#VECTOR}, of the epsilon of the mechanism
     * @param vector any numbers: one that is not finite counts as 0
     * @throws UndertoneException if the vector has not {@link #dimension} coordinates, or the grant
     *     is for another unit or epsilon, or was spent
     */
    public VectorRelease release(Grant grant, float[] vector) {
        if (vector == null) {
            throw new NullPointerException("vector");
        }
        ByteBuffer out = Native.room(releaseLength());
        byte[] entropy = Native.entropy();
        try {
            synchronized (grant) {
                int length = Native.checked(
                        Native.vectorMechanismRelease(memory, pack, grant.memory, vector, entropy, out));
                return new VectorRelease(Native.bytes(out, length));
            }
        } finally {
            Arrays.fill(entropy, (byte) 0);
        }
    }

    /** The pack with the projection; null without one. */
    public Pack pack() {
        return pack;
    }
}
