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
    final ByteBuffer bytes;

    final ByteBuffer memory = Native.memory(Numbers.FORM_HANDLE_SIZE);

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
     * The name of an attribute.
     *
     * @param attribute its index, from 0
     * @throws UndertoneException if there is no attribute with this index
     */
    public String attributeName(int attribute) {
        long[] range = new long[2];
        Native.check(Native.formAttributeName(memory, bytes, attribute, range));
        return Native.text(bytes, range);
    }

    /**
     * The name of a category of an attribute.
     *
     * @param category its index in the attribute, from 0
     * @throws UndertoneException if there is no attribute or category with this index
     */
    public String categoryName(int attribute, int category) {
        long[] range = new long[2];
        Native.check(Native.formCategoryName(memory, bytes, attribute, category, range));
        return Native.text(bytes, range);
    }

    /**
     * Writes what a text is about as the answer to the topic of the form: the attribute whose
     * categories are the candidates of the document's pack. Forgets the sentences of the document.
     *
     * <p>The answer is as private as the text. {@link #release} protects the text together with all
     * other answers.
     *
     * @param document the text
     * @param answers as for {@link #release}; that of the topic is replaced, by no answer if the pack
     *     recognises nothing in the text
     * @throws UndertoneException if the number of answers is not the number of attributes, or the
     *     form has no topic for the document's pack; answers and document are unchanged then
     */
    public void answerTopic(Document document, int[] answers) {
        if (answers == null) {
            throw new NullPointerException("answers");
        }
        synchronized (document) {
            Native.check(Native.formAnswerTopic(memory, bytes, document.open(), answers));
        }
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
