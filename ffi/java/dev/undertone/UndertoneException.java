package dev.undertone;

/**
 * A refused call. The message names the fault and the remedy, and never depends on the content of a
 * private text.
 */
public final class UndertoneException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final int status;

    UndertoneException(int status, String message) {
        super(message);
        this.status = status;
    }

    /**
     * One of the numbers in {@link Status}, or another if the native library is newer than these
     * classes.
     */
    public int status() {
        return status;
    }
}
