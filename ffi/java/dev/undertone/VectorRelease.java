package dev.undertone;

import java.nio.ByteBuffer;
import java.util.Arrays;

/** What leaves the device of a vector: a noisy vector, with the epsilon that was spent. */
public final class VectorRelease {
    private final byte[] bytes;
    private final long[] fields = new long[4];
    private final byte[] packId = new byte[Release.PACK_ID_BYTES];

    /**
     * Reads a release, such as one that came from a device.
     *
     * @throws UndertoneException if the bytes are not the release of a vector that this version
     *     reads
     */
    public VectorRelease(byte[] bytes) {
        this.bytes = bytes.clone();
        Native.check(Native.vectorReleaseRead(this.bytes, fields, packId));
    }

    /** The bytes that are sent. */
    public byte[] toBytes() {
        return bytes.clone();
    }

    /** The coordinates: {@link #steps} times the grid, exactly. */
    public double[] values() {
        ByteBuffer out = Native.room(Double.BYTES * dimension());
        double[] values = new double[Native.checked(Native.vectorReleaseReadValues(bytes, out))];
        out.asDoubleBuffer().get(values);
        return values;
    }

    /** The coordinates in steps of the grid. */
    public int[] steps() {
        ByteBuffer out = Native.room(Integer.BYTES * dimension());
        int[] steps = new int[Native.checked(Native.vectorReleaseReadSteps(bytes, out))];
        out.asIntBuffer().get(steps);
        return steps;
    }

    /** The dimension of the released vector. */
    public int dimension() {
        return (int) fields[0];
    }

    /** What was added to the vector. */
    public Noise noise() {
        return fields[1] == Noise.DISCRETE_LAPLACE.number ? Noise.DISCRETE_LAPLACE : Noise.LAPLACE;
    }

    /** The epsilon that was spent, in micro-units per unit of distance. */
    public long epsilonMicro() {
        return fields[2];
    }

    /** A step of the grid is 2 to this. */
    public int gridExponent() {
        return (int) fields[3];
    }

    /**
     * The identifier of the pack with the projection, as of {@link Pack#id}; zeroes without one.
     */
    public byte[] packId() {
        return packId.clone();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof VectorRelease && Arrays.equals(bytes, ((VectorRelease) other).bytes);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bytes);
    }
}
