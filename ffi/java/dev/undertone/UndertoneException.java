package dev.undertone;

/**
 * A call was refused. The message says what is wrong and what to do; it never depends on what a private
 * text says.
 */
public final class UndertoneException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final int status;

    UndertoneException(int status, String message) {
        super(message);
        this.status = status;
    }

    /**
     * What is wrong: one of the numbers in {@link Status}, or another one if the native library is newer than these
     * classes.
     */
    public int status() {
        return status;
    }
}
