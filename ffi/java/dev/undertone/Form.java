package dev.undertone;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * A form: a public file of attributes, each with categories, for answers that the app has.
 *
 * <p>It holds nothing private and needs no closing. One form may be used by many threads at once.
 */
public final class Form {
    /** An answer that is no category of any attribute. */
    public static final int NO_ANSWER = -1;

    /** Read in place by the native side, as those of a {@link Pack}. */
    private final ByteBuffer bytes;

    private final ByteBuffer memory = ByteBuffer.allocateDirect(Native.formHandleMemory());

    private Form(ByteBuffer bytes) {
        this.bytes = bytes;
        Native.check(Native.formInit(memory, bytes));
    }

    /**
     * Checks the bytes of a form and copies them.
     *
     * @throws UndertoneException if they are not a form that this version reads
     */
    public static Form copyOf(byte[] bytes) {
        ByteBuffer copy = ByteBuffer.allocateDirect(bytes.length);
        copy.put(bytes).flip();
        return new Form(copy);
    }

    /**
     * Releases the answer to one question of the form, which is drawn without looking at any
     * answer.
     *
     * <p>Any two lists of answers give every release with probabilities within a factor of
     * e^epsilon of each other, so epsilon is for all answers of the form together. Several releases
     * add up. That there is a release, its form and epsilon must not depend on an answer.
     *
     * @param answers for each attribute the number of a category, from 0. Any other number is no
     *     answer, such as {@link #NO_ANSWER}
     * @param grant for {@link Unit#WHOLE_TEXT}
     * @throws UndertoneException if the number of answers is not the number of attributes, or the
     *     grant was spent or is for another unit. No exception depends on an answer
     */
    public Release release(int[] answers, Grant grant) {
        if (answers == null) {
            throw new NullPointerException("answers");
        }
        return Release.drawn(grant, (permission, entropy, out) ->
                Native.formRelease(memory, bytes, answers, permission, entropy, out));
    }
}
