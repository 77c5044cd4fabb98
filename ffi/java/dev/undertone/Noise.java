package dev.undertone;

/** What is added to a vector. */
public enum Noise {
    /** Laplace noise in as many dimensions as the vector has, the default: the least noise. */
    LAPLACE(3),
    /**
     * Discrete Laplace noise on each coordinate: no delta and integers only, for about 1.5 times
     * the noise.
     */
    DISCRETE_LAPLACE(4);

    final int number;

    Noise(int number) {
        this.number = number;
    }
}
