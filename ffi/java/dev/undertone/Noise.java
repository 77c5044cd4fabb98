package dev.undertone;

/** What is added to a vector. */
public enum Noise {
    /** Laplace noise in as many dimensions as the vector has, the default: the least noise. */
    LAPLACE(Numbers.NOISE_LAPLACE),
    /**
     * Discrete Laplace noise on each coordinate: no delta and integers only, for about 1.5 times
     * the noise.
     */
    DISCRETE_LAPLACE(Numbers.NOISE_DISCRETE_LAPLACE);

    final int number;

    Noise(int number) {
        this.number = number;
    }
}
